//! The thread that moves packets between the two TUN devices through the bench, in real time.
//!
//! In each iteration, the thread reads the packets from both devices (each packet with its own arrival time), advances
//! the bench, writes the packets that leave, and waits for the next deadline or packet. The thread waits in `ppoll`
//! until [`SPIN`] before the deadline and then spins, but never longer than [`MAX_AWAKE`] without sleeping. It runs
//! under SCHED_FIFO if permitted. A packet's lateness is the time from its due time in the bench to its departure.

use crate::app_counters::{AppCounters, Claim};
use crate::bench::{Arrival, Bench, Leaving, Totals};
use crate::clock::{Clock, at_most_100ms};
use crate::offload::{Joined, LARGEST, Segments, VNET};
use crate::pcap::Capture;
use crate::plan::Side;
use crate::sys;
use crate::tun::{MTU, Tun};
use measure::Histogram;
use packet::Backlog;
use record::Sink;
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use units::{Duration, Time};

/// The thread stops sleeping this long before a deadline, which is about the time that the kernel needs to wake the
/// thread.
const SPIN: Duration = Duration::from_micros(60);

/// Maximum time without sleeping. Linux suspends a real-time thread for 50 ms in any second in which the thread would
/// leave other threads less than 5 % of the processor. A sleep of 100 us in every 1.6 ms leaves them 6 %.
const MAX_AWAKE: Duration = Duration::from_micros(1500);
/// Minimum sleep after [`MAX_AWAKE`].
const MIN_SLEEP: Duration = Duration::from_micros(100);

/// Number of packets after which reading from one side stops until the bench and the other side have been served. Every
/// segment counts, so a last packet of several segments may exceed this number.
const BATCH: usize = 64;

/// Time between two terminal updates.
const UPDATE: Duration = Duration::from_millis(100);

/// The state of one link, for the terminal.
#[derive(Clone, Debug, Default)]
pub struct LinkProgress {
    /// Current backlog of the link's queue.
    pub backlog: Backlog,
    /// Totals since the run began.
    pub totals: Totals,
}

/// The state of a run, for the terminal.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Time of the update.
    pub now: Time,
    /// State of each link.
    pub links: Vec<LinkProgress>,
    /// 99th percentile of the lateness so far; `None` before the first packet has left.
    pub late_p99: Option<Duration>,
}

/// State shared by a run's threads.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// True once all threads must stop.
    pub stop: AtomicBool,
    /// The latest update for the terminal.
    pub view: Mutex<View>,
}

/// The packet thread's state.
#[derive(Debug)]
pub(crate) struct LinkThread<S: Sink> {
    pub bench: Bench<S>,
    /// The devices and counters through which packets enter and leave the bench.
    pub exits: Exits,
    /// True if the thread ran under SCHED_FIFO.
    pub real_time: bool,
    /// Time at which the run ended: after its full duration, or earlier if it was stopped.
    pub ended: Time,
}

/// A packet that has left the bench and waits, as part of [`Exit::packet`], until it is written to the kernel.
#[derive(Clone, Copy, Debug)]
struct Departure {
    due: Time,
    entered: Time,
    flow: usize,
    back: bool,
    size: usize,
    payload: usize,
}

/// The packet that leaves next on one side.
#[derive(Debug, Default)]
struct Exit {
    packet: Joined,
    /// The individual packets that were joined into `packet`.
    parts: Vec<Departure>,
}

/// The two edges of the bench, left and right: the TUN devices, the captures, and the counters.
#[derive(Debug)]
pub(crate) struct Exits {
    tuns: [Tun; 2],
    exits: [Exit; 2],
    pub app_counters: AppCounters,
    pub pcaps: [Option<Capture>; 2],
    /// Lateness of the packets that have left the bench.
    pub lateness: Histogram,
    /// For each packet that was read from a device, the time since this device was last known to be empty. The packet
    /// may have waited in the device for this long. If the packet woke the thread, the time that waking took is not
    /// included. Packets that the bench discards on arrival, such as multicast of the kernel, do not count: in a run
    /// without applications, they alone would decide whether the run is valid.
    pub unread: Histogram,
    /// Time at which each device was last known to be empty.
    empty: [Time; 2],
    /// Packets that left the bench but could not be written to the kernel.
    pub unwritten: u64,
    /// Packets handled, in and out.
    pub handled: u64,
}

impl Exits {
    fn capture(&mut self, clock: Clock, side: Side, now: Time, bytes: &[u8]) {
        if let Some(pcap) = &mut self.pcaps[side.index()] {
            // writing to memory cannot fail
            let _ = pcap.put(clock.epoch_ns + now.0, bytes);
        }
    }

    /// Accepts a departing packet. Consecutive packets of a connection are joined. If a packet cannot be joined, the
    /// packets joined so far are written first.
    fn leave(&mut self, clock: Clock, p: &Leaving<'_>) {
        if !self.exits[p.side.index()].packet.add(p.bytes) {
            self.flush(clock, p.side);
            self.exits[p.side.index()].packet.add(p.bytes);
        }
        let (size, payload) = (p.bytes.len(), p.payload);
        let Leaving { due, entered, flow, back, .. } = *p;
        self.exits[p.side.index()].parts.push(Departure { due, entered, flow, back, size, payload });
        // a capture contains the individual packets, as they were in the queues, and not the joined packet that the
        // kernel receives
        self.capture(clock, p.side, clock.now(), p.bytes);
    }

    /// Writes the pending packet of one side, if there is one.
    fn flush(&mut self, clock: Clock, side: Side) {
        let Exit { packet, parts } = &mut self.exits[side.index()];
        let Some(bytes) = packet.finish() else { return };
        let written = self.tuns[side.index()].write(bytes);
        packet.clear();
        let now = clock.now();
        self.handled += parts.len() as u64;
        for p in parts.drain(..) {
            self.lateness.record(now.since(p.due));
            if written {
                self.app_counters.delivered(p.flow, p.back, now, p.size, p.payload, p.entered);
            } else {
                self.unwritten += 1;
            }
        }
    }

    fn flush_all(&mut self, clock: Clock) {
        for side in Side::BOTH {
            self.flush(clock, side);
        }
    }
}

impl<S: Sink> LinkThread<S> {
    pub(crate) fn new(bench: Bench<S>, tuns: [Tun; 2], app_counters: AppCounters, pcaps: [Option<Capture>; 2]) -> Self {
        let exits = Exits {
            tuns,
            exits: Default::default(),
            app_counters,
            pcaps,
            lateness: Histogram::default(),
            unread: Histogram::default(),
            empty: [Time::ZERO; 2],
            unwritten: 0,
            handled: 0,
        };
        Self { bench, exits, real_time: false, ended: Time::ZERO }
    }

    /// Moves packets until `end`, or until stopped.   Errors: a device cannot be read.
    pub(crate) fn run(&mut self, clock: Clock, end: Time, shared: &Shared, claims: &Receiver<Claim>) -> io::Result<()> {
        self.real_time = sys::real_time().is_ok();
        sys::sharp_timers();
        let mut next_update = Time::ZERO;
        let mut buffer = vec![0u8; VNET + LARGEST];
        let mut slept = Time::ZERO;
        loop {
            let mut busy = false;
            for side in Side::BOTH {
                busy |= self.read(clock, end, side, &mut buffer, claims)?;
            }
            let now = clock.now();
            self.bench.advance(now.min(end), &mut |p| self.exits.leave(clock, &p));
            self.exits.flush_all(clock);
            self.count_drops();
            if now >= end || shared.stop.load(Ordering::Relaxed) {
                break;
            }
            if now >= next_update {
                self.update_view(now, shared);
                next_update = now + UPDATE;
            }
            let next = self.bench.deadline().min(next_update).min(end);
            if now.since(slept) > MAX_AWAKE {
                // a signal may shorten this sleep, which does no harm
                let _ = poll(&mut [], Some(&at_most_100ms(MIN_SLEEP)));
                slept = clock.now();
            } else if !busy && self.wait(clock, next)? {
                slept = clock.now();
                // both devices were empty when the sleep began. An arriving packet ends the sleep, so the devices
                // stayed empty until the kernel began to wake the thread. The time that waking took is unknown, so it
                // is not counted
                self.exits.empty = [slept; 2];
            }
        }
        self.ended = clock.now().min(end);
        self.bench.finish(self.ended);
        Ok(())
    }

    /// Reads packets that one side's kernel has sent; returns true if there may be more. A packet that is read after
    /// `end` counts as arriving at `end`.
    fn read(
        &mut self,
        clock: Clock,
        end: Time,
        side: Side,
        buffer: &mut [u8],
        claims: &Receiver<Claim>,
    ) -> io::Result<bool> {
        let mut segment = [0; MTU + 1];
        let mut packets = 0;
        while packets < BATCH {
            let Self { bench, exits, .. } = self;
            let Some(n) = exits.tuns[side.index()].read(buffer)? else {
                exits.empty[side.index()] = clock.now();
                return Ok(false);
            };
            let read = clock.now();
            let now = read.min(end);
            // the packet is captured before it enters the bench, because other packets may leave when it enters, and
            // their time stamps are later
            if exits.pcaps[side.index()].is_some() {
                let mut segments = Segments::new(&buffer[..n]);
                while let Some(n) = segments.next(&mut segment) {
                    exits.capture(clock, side, read, &segment[..n]);
                }
            }
            let mut is_ours = false;
            let mut segments = Segments::new(&buffer[..n]);
            while let Some(n) = segments.next(&mut segment) {
                let bytes = &segment[..n];
                packets += 1;
                exits.handled += 1;
                let arrival = bench.arrive(now, side, bytes, &mut |p| exits.leave(clock, &p));
                if let Arrival::Taken { flow, new, syn } = arrival {
                    is_ours = true;
                    // if a port is reused, it may now belong to another application
                    if new || syn {
                        claims.try_iter().for_each(|c| exits.app_counters.claim(c));
                        if let Some(f) = bench.flows.all.get(flow) {
                            exits.app_counters.appeared(flow, &f.key);
                        }
                    }
                    if syn {
                        exits.app_counters.syn(flow, now);
                    }
                }
            }
            if is_ours {
                exits.unread.record(now.since(exits.empty[side.index()]));
            }
            exits.flush_all(clock);
            self.count_drops();
        }
        Ok(true)
    }

    /// Adds each drop of the bench to the counters of the application that owns the dropped packet.
    fn count_drops(&mut self) {
        for drop in self.bench.drops.drain(..) {
            self.exits.app_counters.dropped(drop.flow, drop.back, drop.at);
        }
    }

    /// Sleeps until shortly before `until`, but at most until a packet arrives or 100 ms have passed; then returns
    /// true. Returns false without sleeping if `until` is too near.
    fn wait(&self, clock: Clock, until: Time) -> io::Result<bool> {
        let left = until.since(clock.now()).saturating_sub(SPIN);
        if left.is_zero() {
            std::hint::spin_loop();
            return Ok(false);
        }
        let [left_tun, right_tun] = &self.exits.tuns;
        let mut fds = [PollFd::new(left_tun, PollFlags::IN), PollFd::new(right_tun, PollFlags::IN)];
        match poll(&mut fds, Some(&at_most_100ms(left))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(true),
            Err(e) => Err(e.into()),
        }
    }

    fn update_view(&self, now: Time, shared: &Shared) {
        if let Ok(mut view) = shared.view.lock() {
            view.now = now;
            view.late_p99 = self.exits.lateness.percentile(99.0);
            view.links.clear();
            let links = self.bench.links.iter().zip(&self.bench.totals);
            view.links.extend(links.map(|(l, t)| LinkProgress { backlog: l.carrier.backlog(), totals: *t }));
        }
    }
}
