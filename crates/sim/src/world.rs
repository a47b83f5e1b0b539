//! The world: a network, connections, applications and one clock, stepped event by event.
//!
//! A step takes the earliest event, lets its target act, and then delivers the resulting events to applications. Tests, traces
//! and runs share this loop; [`World::run`] only adds the end of the run and a way to stop it.
//!
//! A run proceeds in slices, and calls its observer between them. The work of a slice is bounded, even if simulated
//! time does not advance. A slice ends after [`WORK_PER_SLICE`] events; if several packets reach their host in one
//! event, each of them counts as an event. A slice also ends when idle links have counted the delivery opportunities
//! that they missed in the last [`CATCH_UP`]. The check of the scenario bounds the work of one event
//! (crates/scenario/src/work.rs).
//!
//! The result depends only on the scenario and its seed.

use crate::conn::{AppEvent, AppEventKind, SlotUse};
use crate::engine::Engine;
use crate::event::Target;
use crate::host::AppHost;
use crate::queue_delays::QueueDelays;
use packet::Packed;
use port::Carries;
use record::Sink;
use scenario::Task;
use traffic::{Application, ConnId, Role};
use units::{Duration, Time};

/// A simulated world. Apart from a user's own objects, its state is plain data: a clone continues exactly like the
/// original, and neither affects the other.
#[derive(Clone, Debug)]
pub struct World<S: Sink = ()> {
    pub(crate) apps: Vec<traffic::App>,
    pub(crate) engine: Engine<S>,
    pub(crate) end: Time,
    /// True once the run has ended.
    pub(crate) over: bool,
    pub(crate) bin: Duration,
    /// The end of the bin that is sampled next; [`Time::NEVER`] if there is none.
    pub(crate) next_sample: Time,
    /// Time at which idle links next count the delivery opportunities that they have missed; [`Time::NEVER`] if no link has
    /// opportunities.
    pub(crate) next_catch_up: Time,
    /// Scheduled tasks and their times, latest first.
    pub(crate) tasks: Vec<(Time, Task)>,
}

/// The account of the packets offered to a link: `offered = delivered + dropped + queued + in_flight`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Books {
    /// Packets that arrived at the link's queue.
    pub offered: u64,
    /// Packets that arrived at the link's far end.
    pub delivered: u64,
    /// Packets dropped, for any reason.
    pub dropped: u64,
    /// Packets in the link's queue now.
    pub queued: u64,
    /// Packets that have left the queue, but have neither reached the far end nor been dropped. They wait for tokens or
    /// for a grant, are being sent, or are on the wire.
    pub in_flight: u64,
}

/// Segments in flight, and the memory that TCP uses outside the table of connections: sums over all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InFlight {
    /// Segments sent and not yet acknowledged cumulatively, including SACKed and lost segments.
    pub segments: u64,
    /// Bytes reserved outside the table of connections, including unused bytes: for these segments, and for the state of
    /// receivers that does not fit into the table.
    pub bytes: u64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The run reached its duration.
    Finished,
    /// The caller stopped the run.
    Cancelled,
}

/// Work after which a slice of a run ends, in events. Packets that reach their host together in one event are counted
/// individually. A slice takes a few milliseconds.
pub const WORK_PER_SLICE: u32 = 65_536;
/// Interval at which idle links count the delivery opportunities that they missed. In this time, an LTE link has up to
/// 10 000 opportunities, which take about a millisecond to count.
pub(crate) const CATCH_UP: Duration = Duration(10_000_000_000);

impl<S: Sink> World<S> {
    /// Returns the current time.
    pub fn now(&self) -> Time {
        self.engine.net.now()
    }

    /// Returns the number of events that have been processed so far.
    pub fn events(&self) -> u64 {
        self.engine.net.events.taken()
    }

    /// Returns the sink of the run.
    pub fn sink(&self) -> &S {
        &self.engine.net.sink
    }

    /// Consumes the world; returns the sink of the run.
    pub fn into_sink(self) -> S {
        self.engine.net.sink
    }

    /// Returns the number of bodies stored in the arena. (A body is the part of a packet that only end hosts read.) A
    /// packet in flight or in a queue has at most one body there.
    pub fn bodies(&self) -> usize {
        self.engine.net.bodies.len()
    }

    /// Returns the number of packets in the network that have a tag, which stores the whole segment for a capture: all
    /// packets if the sink captures packets, otherwise none.
    pub fn tagged(&self) -> usize {
        self.engine.net.tags.len()
    }

    /// Returns the number of slots in the connection table, including free slots. This is about the largest number of
    /// connections so far that were open, or had packets in the network, at the same time.
    pub fn slots(&self) -> usize {
        self.engine.conns.len()
    }

    /// Returns the counts of each link's packets, in the order of the links' numbers. During a run, a link's counts may
    /// be those of an earlier time, but they always balance.
    pub fn books(&self) -> impl Iterator<Item = Books> {
        self.engine.net.links.iter().map(|link| {
            let c = link.carrier.counts(self.now());
            let [offered, delivered, dropped] = [c.offered, c.delivered, c.dropped].map(|c| c.packets);
            Books { offered, delivered, dropped, queued: c.backlog.packets.into(), in_flight: c.in_flight }
        })
    }

    /// Starts sampling the queueing delays in both queues of every dual-queue discipline, for [`World::queue_delays`].
    pub fn sample_queue_delays(&mut self) {
        let net = &mut self.engine.net;
        net.queue_delays = net.ports.iter().map(|link| QueueDelays::new(*link)).collect();
    }

    /// Returns, for each link with a dual-queue discipline, the link's name and the queueing delay in each of its two
    /// queues at the end of each bin so far. The result is empty unless an application has series and
    /// [`World::sample_queue_delays`] was called.
    pub fn queue_delays(&self) -> impl Iterator<Item = (&str, &QueueDelays)> {
        let net = &self.engine.net;
        let sampled = net.queue_delays.iter().filter(|of| !of.ms[0].is_empty());
        sampled.map(|of| (&*net.links[usize::from(of.link)].name, of))
    }

    /// Returns the segments in flight now, and the memory that TCP uses outside the table of connections.
    pub fn in_flight(&self) -> InFlight {
        let mut sum = InFlight::default();
        for end in self.engine.conns.iter().flat_map(|conn| &conn.ends) {
            let (segments, bytes) = end.tcp.footprint();
            sum.segments += segments as u64;
            sum.bytes += bytes as u64;
        }
        sum
    }

    /// Processes the next event of the run. Returns false if there is no event before the end.
    pub fn step(&mut self) -> bool {
        self.advance(self.last()) > 0
    }

    /// Processes the next event if it is due by `last`. Returns the amount of work: 0 if no event was due; the number
    /// of packets if the event delivers several at once; [`WORK_PER_SLICE`] if idle links count their missed
    /// opportunities; otherwise 1.
    #[inline(always)]
    pub(crate) fn advance(&mut self, last: Time) -> u32 {
        let Some(target) = self.engine.net.events.take(last) else { return 0 };
        let mut work = 1;
        if self.engine.net.sink.probes() && self.engine.net.sink.next_reading() <= self.now() {
            self.engine.read_probes(self.now(), &self.apps);
        }
        match target {
            Target::Link(i) => {
                if let Some((stamp, Packed { seq, flow_body, rest })) = self.engine.net.link_event(i) {
                    self.engine.prefetch_next(i);
                    self.engine.deliver(stamp, seq, flow_body, rest);
                } else if !self.engine.net.arrived.is_empty() {
                    let mut arrived = std::mem::take(&mut self.engine.net.arrived);
                    work = u32::try_from(arrived.len()).unwrap_or(u32::MAX);
                    for packet in arrived.drain(..) {
                        let Packed { seq, flow_body, rest } = packet.packed();
                        self.engine.deliver(packet.stamp, seq, flow_body, rest);
                    }
                    self.engine.net.arrived = arrived;
                }
            }
            Target::Port(i) => self.engine.net.port_work(i),
            Target::Timer(i) => {
                self.engine.prefetch_timer();
                self.engine.timer(i);
            }
            Target::App(i) => self.app_timer(i),
            Target::Left => self.engine.left(),
            Target::Clock => work = self.clock(),
        }
        while let Some(event) = self.engine.app_events.pop_front() {
            self.notify(event);
        }
        if !self.engine.deferred_acks.is_empty() {
            let mut acks = std::mem::take(&mut self.engine.deferred_acks);
            for (node, packet) in acks.drain(..) {
                self.engine.net.send(node, packet);
            }
            self.engine.deferred_acks = acks;
        }
        work
    }

    /// Runs to the end of the scenario. Between slices, calls `progress` with the fraction done; the run stops if
    /// `progress` returns false.
    pub fn run(&mut self, mut progress: impl FnMut(f64) -> bool) -> Ended {
        self.run_observed(|world| progress(world.now().secs() / world.end.secs()))
    }

    /// Runs to the end like [`World::run`], but passes the world itself to `observe`.
    pub fn run_observed(&mut self, observe: impl FnMut(&Self) -> bool) -> Ended {
        let ended = self.run_before(self.end, observe);
        if ended == Ended::Finished {
            self.finish();
        }
        ended
    }

    /// Handles all events before `until`, which must not be later than the end of the run. Calls `observe` between
    /// slices, and stops if `observe` returns false.
    pub fn run_before(&mut self, until: Time, mut observe: impl FnMut(&Self) -> bool) -> Ended {
        let Some(last) = until.0.checked_sub(1).map(Time) else { return Ended::Finished };
        loop {
            let mut left = WORK_PER_SLICE;
            while left > 0 {
                let work = self.advance(last);
                if work == 0 {
                    return Ended::Finished;
                }
                left = left.saturating_sub(work);
            }
            if !observe(self) {
                return Ended::Cancelled;
            }
        }
    }

    /// Returns the last nanosecond of the run. The run covers [0, duration).
    pub(crate) fn last(&self) -> Time {
        Time(self.end.0 - 1)
    }

    /// Ends the run: takes the last readings and samples, and closes the accounts of all links and connections.
    pub(crate) fn finish(&mut self) {
        self.over = true;
        if self.engine.net.sink.probes() {
            self.engine.read_probes(self.last(), &self.apps);
        }
        self.sample_if_due(self.end);
        self.engine.net.finish(self.last(), self.end);
        for slot in 0..self.engine.conns.len() {
            self.engine.collect_drops(slot, self.last());
        }
        for conn in self.engine.conns.iter().filter(|c| c.used() != SlotUse::Free) {
            conn.retire(&mut self.engine.tally);
        }
    }

    fn app_timer(&mut self, i: u16) {
        let now = self.now();
        let state = &mut self.engine.apps[usize::from(i)];
        if state.pending != now {
            return;
        }
        state.pending = Time::NEVER;
        // bounded: each iteration takes one timer that is due, including timers that are set for `now` meanwhile
        while let Some((_, due)) = self.engine.apps[usize::from(i)].timers.take(now) {
            due.call(&mut self.apps[usize::from(i)], &mut AppHost { engine: &mut self.engine, app: i });
        }
        self.engine.arm_app(i);
        if self.engine.net.sink.probes() {
            self.engine.read_changed_app(i, &self.apps[usize::from(i)]);
        }
    }

    fn notify(&mut self, event: AppEvent) {
        let machine = &mut self.apps[usize::from(event.app)];
        let conn = ConnId(event.flow.0);
        let side = if event.side == 0 { Role::Client } else { Role::Server };
        let host = &mut AppHost { engine: &mut self.engine, app: event.app };
        match event.kind {
            AppEventKind::Connected => machine.connected(conn, side, host),
            AppEventKind::Received(bytes) => machine.received(conn, side, bytes, host),
            AppEventKind::Datagram(number, ecn) => {
                machine.datagram_received(side, number, ecn, host);
                if self.engine.net.sink.probes() {
                    self.engine.read_changed_app(event.app, machine);
                }
            }
            AppEventKind::Failed => self.engine.abort(event.flow),
            AppEventKind::Closed => {
                if self.engine.release(event.flow) {
                    let host = &mut AppHost { engine: &mut self.engine, app: event.app };
                    machine.closed(conn, host);
                }
            }
        }
    }

    /// Samples the series if a bin ends at `now`, and schedules the next sample. The caller must not have handled any
    /// event at `now`, because a bin contains only what happens before its end.
    pub(crate) fn sample_if_due(&mut self, now: Time) {
        if now < self.next_sample {
            return;
        }
        self.engine.sample(now);
        self.next_sample = if now < self.end { self.end.min(now + self.bin) } else { Time::NEVER };
        self.schedule_sample();
    }

    /// Schedules the next sample if it is due before the end of the run. A sample precedes all other events at its time.
    pub(crate) fn schedule_sample(&mut self) {
        if self.next_sample < self.end {
            self.engine.net.events.push_ranked(self.next_sample, 0, Target::Clock);
        }
    }

    /// Handles the world's own clock: samples, scheduled tasks and idle links. Returns the amount of work:
    /// [`WORK_PER_SLICE`] if idle links count their missed opportunities, otherwise 1.
    fn clock(&mut self) -> u32 {
        let now = self.now();
        self.sample_if_due(now);
        while let Some((at, task)) = self.tasks.pop_if(|(at, _)| *at <= now) {
            debug_assert_eq!(at, now, "tasks happen at their own times");
            match task {
                Task::Begin => self.engine.begin(),
                Task::Change(link, change) => self.engine.net.change(link, change),
            }
        }
        if now < self.next_catch_up {
            return 1;
        }
        self.engine.net.catch_up();
        self.next_catch_up = now + CATCH_UP;
        self.engine.net.events.push(self.next_catch_up, Target::Clock);
        WORK_PER_SLICE
    }
}
