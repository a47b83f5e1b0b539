//! The thread that moves packets: two TUN devices, the bench between them, and the wall clock.
//!
//! Each turn reads what the kernels have (every packet with its own time), lets the bench do what is due, writes what
//! leaves, and waits for the next deadline or packet: in `ppoll` until [`SPIN`] before the deadline, awake for the rest, but
//! never awake for more than [`AWAKE`]. The thread runs under SCHED_FIFO where it may. How late each packet left is measured against the bench's own due time.

use crate::bench::{Arrival, Bench, Leaving, Totals};
use crate::clock::{Clock, at_most_100ms};
use crate::ends::{Claim, Ends};
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

/// How long before a deadline the thread stops sleeping: about what the kernel takes to wake it.
const SPIN: Duration = Duration::from_micros(60);

/// How long the thread may go on without sleeping, and how long it then sleeps at least. Linux takes a real-time thread off
/// its processor for 50 ms in a second in which others got less than 5 % of it; 100 us in 1.6 ms is 6 %.
const AWAKE: Duration = Duration::from_micros(1500);
const SLEEP: Duration = Duration::from_micros(100);

/// Most packets that are read from one side before the other side, and the bench, have their turn.
const BATCH: usize = 64;

/// Time between two updates of the terminal.
const UPDATE: Duration = Duration::from_millis(100);

/// One link, for the terminal.
#[derive(Clone, Debug, Default)]
pub struct LinkProgress {
    /// In its queue now.
    pub backlog: Backlog,
    /// Since the run began.
    pub totals: Totals,
}

/// What the terminal sees of a run.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// When.
    pub now: Time,
    /// By link.
    pub links: Vec<LinkProgress>,
    /// 99th percentile of the lateness so far.
    pub late_p99: Option<Duration>,
}

/// What the threads of a run share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Everybody ends soon.
    pub stop: AtomicBool,
    /// The latest look.
    pub view: Mutex<View>,
}

/// Everything that the packet thread owns.
#[derive(Debug)]
pub(crate) struct LinkThread<S: Sink> {
    /// The queues.
    pub bench: Bench<S>,
    /// The devices, left and right.
    pub tuns: [Tun; 2],
    /// Applications' counters.
    pub ends: Ends,
    /// Capture files, left and right.
    pub pcaps: [Option<Capture>; 2],
    /// How late packets left.
    pub lateness: Histogram,
    /// Packets that a kernel did not take.
    pub unwritten: u64,
    /// Packets in and out.
    pub handled: u64,
    /// Whether it ran under SCHED_FIFO.
    pub real_time: bool,
    /// When it ended.
    pub ended: Time,
}

/// What happens to a packet that leaves.
struct Exit<'a> {
    clock: Clock,
    tuns: &'a [Tun; 2],
    ends: &'a mut Ends,
    pcaps: &'a mut [Option<Capture>; 2],
    lateness: &'a mut Histogram,
    unwritten: &'a mut u64,
    handled: &'a mut u64,
}

impl Exit<'_> {
    fn leave(&mut self, p: &Leaving<'_>) {
        let written = self.tuns[p.side.index()].write(p.bytes);
        let now = self.clock.now();
        self.lateness.record(now.since(p.due));
        *self.handled += 1;
        if !written {
            *self.unwritten += 1;
            return;
        }
        if let Some(pcap) = &mut self.pcaps[p.side.index()] {
            // its writer takes everything
            let _ = pcap.put(self.clock.epoch_ns + now.0, p.bytes);
        }
        self.ends.delivered(p.flow, p.back, now, p.bytes.len(), p.payload, now.since(p.entered));
    }
}

impl<S: Sink> LinkThread<S> {
    /// Ready to run.
    pub(crate) fn new(bench: Bench<S>, tuns: [Tun; 2], ends: Ends, pcaps: [Option<Capture>; 2]) -> Self {
        Self {
            bench,
            tuns,
            ends,
            pcaps,
            lateness: Histogram::default(),
            unwritten: 0,
            handled: 0,
            real_time: false,
            ended: Time::ZERO,
        }
    }

    /// Runs until `end` or until told to stop.   Errors: a device that cannot be read.
    pub(crate) fn run(&mut self, clock: Clock, end: Time, shared: &Shared, claims: &Receiver<Claim>) -> io::Result<()> {
        self.real_time = sys::real_time().is_ok();
        sys::sharp_timers();
        let mut next_update = Time::ZERO;
        let mut buffer = vec![0u8; MTU + 1];
        let mut slept = Time::ZERO;
        loop {
            let mut busy = false;
            for side in Side::BOTH {
                busy |= self.read(clock, end, side, &mut buffer, claims)?;
            }
            let now = clock.now();
            let (bench, mut exit) = self.split(clock);
            bench.advance(now.min(end), &mut |p| exit.leave(&p));
            self.count_drops();
            if now >= end || shared.stop.load(Ordering::Relaxed) {
                break;
            }
            if now >= next_update {
                self.update_view(now, shared);
                next_update = now + UPDATE;
            }
            let next = self.bench.deadline().min(next_update).min(end);
            if now.since(slept) > AWAKE {
                // a signal only cuts the sleep short
                let _ = poll(&mut [], Some(&at_most_100ms(SLEEP)));
                slept = clock.now();
            } else if !busy && self.wait(clock, next)? {
                slept = clock.now();
            }
        }
        self.ended = clock.now().min(end);
        self.bench.finish(self.ended);
        Ok(())
    }

    /// Takes what the kernel of one side has (at the latest at `end`); true if there may be more.
    fn read(
        &mut self,
        clock: Clock,
        end: Time,
        side: Side,
        buffer: &mut [u8],
        claims: &Receiver<Claim>,
    ) -> io::Result<bool> {
        for _ in 0..BATCH {
            let Some(n) = self.tuns[side.index()].read(buffer)? else { return Ok(false) };
            let now = clock.now().min(end);
            self.handled += 1;
            if let Some(pcap) = &mut self.pcaps[side.index()] {
                let _ = pcap.put(clock.epoch_ns + now.0, &buffer[..n]);
            }
            let (bench, mut exit) = self.split(clock);
            let arrival = bench.arrive(now, side, &buffer[..n], &mut |p| exit.leave(&p));
            if let Arrival::Taken { flow, new, syn } = arrival {
                // a port that is used again may be another application's by now
                if new || syn {
                    claims.try_iter().for_each(|c| self.ends.claim(c));
                    if let Some(f) = self.bench.flows.all.get(flow) {
                        self.ends.appeared(flow, &f.key);
                    }
                }
                if syn {
                    self.ends.syn(flow, now);
                }
            }
            self.count_drops();
        }
        Ok(true)
    }

    /// Counts drops for their applications.
    fn count_drops(&mut self) {
        for drop in self.bench.drops.drain(..) {
            self.ends.dropped(drop.flow, drop.back, drop.at);
        }
    }

    fn split(&mut self, clock: Clock) -> (&mut Bench<S>, Exit<'_>) {
        let Self { bench, tuns, ends, pcaps, lateness, unwritten, handled, .. } = self;
        (bench, Exit { clock, tuns, ends, pcaps, lateness, unwritten, handled })
    }

    /// Waits until shortly before `until`, or until a packet comes; false if that is too soon to sleep.
    fn wait(&self, clock: Clock, until: Time) -> io::Result<bool> {
        let left = until.since(clock.now()).saturating_sub(SPIN);
        if left.is_zero() {
            std::hint::spin_loop();
            return Ok(false);
        }
        let [left_tun, right_tun] = &self.tuns;
        let mut fds = [PollFd::new(left_tun, PollFlags::IN), PollFd::new(right_tun, PollFlags::IN)];
        match poll(&mut fds, Some(&at_most_100ms(left))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(true),
            Err(e) => Err(e.into()),
        }
    }

    fn update_view(&self, now: Time, shared: &Shared) {
        if let Ok(mut view) = shared.view.lock() {
            view.now = now;
            view.late_p99 = self.lateness.percentile(99.0);
            view.links.clear();
            let links = self.bench.links.iter().zip(&self.bench.totals);
            view.links.extend(links.map(|(l, t)| LinkProgress { backlog: l.carrier.backlog(), totals: *t }));
        }
    }
}
