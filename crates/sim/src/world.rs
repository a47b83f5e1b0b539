//! The world: a network, connections, applications and one clock, stepped event by event.
//!
//! A step takes the earliest event, lets its target act, and then delivers the resulting events to applications. A test, a
//! trace and a run are the same loop over [`World::step`]; [`World::run`] adds only the end and a way to stop.
//!
//! Between two calls of its `look` a run does a bounded amount of work, whether simulated time moves or not: [`WORK_PER_LOOK`]
//! events and packets that arrive together, and [`CATCH_UP`] of idle links. The work of one event is bounded when the scenario
//! is checked (`scenario/work.rs`).
//!
//! Nothing here depends on anything but the scenario and its seed.

use crate::conn::{AppEvent, AppEventKind, Use};
use crate::event::Target;
use crate::host::AppHost;
use crate::queue_delays::QueueDelays;
use crate::table::Core;
use port::Carries;
use record::Sink;
use scenario::Task;
use traffic::{Application, ConnId, Role};
use units::{Duration, Time};

/// An application in its host.
pub(crate) struct AppSlot {
    pub machine: traffic::App,
}

/// A simulated world.
pub struct World<S: Sink = ()> {
    pub(crate) apps: Vec<AppSlot>,
    pub(crate) core: Core<S>,
    pub(crate) end: Time,
    /// [`World::run`] has reached the end.
    pub(crate) over: bool,
    pub(crate) bin: Duration,
    pub(crate) next_sample: Time,
    /// When links with opportunities are next brought up to now; [`Time::NEVER`] if there are none.
    pub(crate) next_catch_up: Time,
    /// Scheduled tasks and their times, latest first.
    pub(crate) tasks: Vec<(Time, Task)>,
}

/// The account of the packets offered to a link: `offered = delivered + dropped + queued + in_flight`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Books {
    /// Arrivals at its queue.
    pub offered: u64,
    /// Arrivals at its far end.
    pub delivered: u64,
    /// Drops, for any reason.
    pub dropped: u64,
    /// In its queue now.
    pub queued: u64,
    /// Being sent, in a modem's transmit queue, or on the wire.
    pub in_flight: u64,
}

/// Memory used by segments in flight, at one moment and over all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InFlight {
    /// Segments that were sent and are neither acknowledged nor given up, SACKed ones included.
    pub segments: u64,
    /// Bytes that the ends keep for them outside the table of connections, room that is empty now included.
    pub bytes: u64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// At its duration.
    Finished,
    /// Stopped by the caller.
    Cancelled,
}

/// Events, and packets that arrive together in one event, between two calls of `look`: a few milliseconds of work.
pub const WORK_PER_LOOK: u32 = 65_536;
/// Simulated time after which an idle link counts the opportunities that passed: 10 000 of LTE, about a millisecond of work.
pub(crate) const CATCH_UP: Duration = Duration(10_000_000_000);

impl<S: Sink> World<S> {
    /// The current moment.
    pub fn now(&self) -> Time {
        self.core.net.now()
    }

    /// Number of events so far.
    pub fn events(&self) -> u64 {
        self.core.net.events.taken()
    }

    /// The sink of the run.
    pub fn sink(&self) -> &S {
        &self.core.net.sink
    }

    /// Packets that bodies in the arena belong to: all of them in flight or queued.
    pub fn bodies(&self) -> usize {
        self.core.net.bodies.len()
    }

    /// Packets under way that carry a tag: all, in a run that looks at packets.
    pub fn tagged(&self) -> usize {
        self.core.net.tags.len()
    }

    /// Slots of the connection table, free ones included: as many as there were connections at once.
    pub fn slots(&self) -> usize {
        self.core.conns.len()
    }

    /// Every link's account at this moment.
    pub fn books(&self) -> impl Iterator<Item = Books> {
        self.core.net.links.iter().map(|link| {
            let c = link.carrier.counts(self.now());
            let [offered, delivered, dropped] = [c.offered, c.delivered, c.dropped].map(|c| c.packets);
            Books { offered, delivered, dropped, queued: c.backlog.packets.into(), in_flight: c.in_flight }
        })
    }

    /// Starts sampling the queueing delay in each queue of dual-queue disciplines, for [`World::queue_delays`].
    pub fn sample_queue_delays(&mut self) {
        let net = &mut self.core.net;
        net.queue_delays = net.ports.iter().map(|link| QueueDelays::new(*link)).collect();
    }

    /// Queueing delay in each queue of dual-queue disciplines, by link name: at the end of each bin so far, if any application
    /// has series and [`World::sample_queue_delays`] was called; empty otherwise.
    pub fn queue_delays(&self) -> impl Iterator<Item = (&str, &QueueDelays)> {
        let net = &self.core.net;
        let sampled = net.queue_delays.iter().filter(|of| !of.ms[0].is_empty());
        sampled.map(|of| (&*net.links[usize::from(of.link)].name, of))
    }

    /// Memory used by segments in flight now.
    pub fn in_flight(&self) -> InFlight {
        let mut sum = InFlight::default();
        for end in self.core.conns.iter().flat_map(|conn| &conn.ends) {
            let (segments, bytes) = end.tcp.footprint();
            sum.segments += segments as u64;
            sum.bytes += bytes as u64;
        }
        sum
    }

    /// Processes the next event, if there is one by the end of the run.
    pub fn step(&mut self) -> bool {
        self.advance(self.last()) > 0
    }

    /// Processes the next event, if there is one by `last`; returns the work: 0 for no event, 1 for an event, and more for packets
    /// that arrive together in it.
    #[inline(always)]
    fn advance(&mut self, last: Time) -> u32 {
        let Some(target) = self.core.net.events.take(last) else { return 0 };
        let mut work = 1;
        if S::PROBES && self.core.net.sink.next_look() <= self.now() {
            self.core.look(self.now());
        }
        match target {
            Target::Link(i) => {
                if let Some(packet) = self.core.net.link_event(i) {
                    self.core.prefetch_next(i);
                    self.core.deliver(packet);
                } else if !self.core.net.arrived.is_empty() {
                    let mut arrived = std::mem::take(&mut self.core.net.arrived);
                    work = u32::try_from(arrived.len()).unwrap_or(u32::MAX);
                    for packet in arrived.drain(..) {
                        self.core.deliver(packet);
                    }
                    self.core.net.arrived = arrived;
                }
            }
            Target::Port(i) => self.core.net.port_work(i),
            Target::Timer(i) => {
                self.core.prefetch_timer();
                self.core.timer(i);
            }
            Target::App(i) => self.app_timer(i),
            Target::Left => self.core.left(),
            Target::Clock => work = self.clock(),
        }
        while let Some(event) = self.core.app_events.pop_front() {
            self.notify(event);
        }
        if !self.core.deferred_acks.is_empty() {
            let mut acks = std::mem::take(&mut self.core.deferred_acks);
            for (node, packet) in acks.drain(..) {
                self.core.net.send(node, packet);
            }
            self.core.deferred_acks = acks;
        }
        work
    }

    /// Runs to the end of the scenario. `look` is called now and then with the fraction done; false stops the run.
    pub fn run(&mut self, mut look: impl FnMut(f64) -> bool) -> Ended {
        self.run_watched(|world| look(world.now().secs() / world.end.secs()))
    }

    /// Like [`World::run`], but calls `look` with the world itself.
    pub fn run_watched(&mut self, mut look: impl FnMut(&Self) -> bool) -> Ended {
        let last = self.last();
        loop {
            let mut left = WORK_PER_LOOK;
            while left > 0 {
                let work = self.advance(last);
                if work == 0 {
                    self.finish();
                    return Ended::Finished;
                }
                left = left.saturating_sub(work);
            }
            if !look(self) {
                return Ended::Cancelled;
            }
        }
    }

    /// The run ends just before its last moment: [0, duration). Nothing happens after this one.
    fn last(&self) -> Time {
        Time(self.end.0 - 1)
    }

    /// Brings every account up to the end.
    fn finish(&mut self) {
        self.over = true;
        if S::PROBES {
            self.core.look(self.last());
        }
        if self.next_sample == self.end && !self.bin.is_zero() {
            self.core.sample(self.end);
            self.next_sample = Time::NEVER;
        }
        self.core.net.finish(self.last(), self.end);
        for slot in 0..self.core.conns.len() {
            self.core.settle_drops(slot);
        }
        for conn in self.core.conns.iter().filter(|c| c.used() != Use::Free) {
            for (direction, end) in conn.ends.iter().enumerate() {
                let (rx, sender) = end.account();
                self.core.tally.retire(conn.cold.row, direction, rx, sender);
            }
        }
    }

    fn app_timer(&mut self, i: u16) {
        let now = self.now();
        let state = &mut self.core.apps[usize::from(i)];
        if state.pending != now {
            return;
        }
        state.pending = Time::NEVER;
        // bounded: each turn takes one timer that was due when it was set
        while let Some((_, due)) = self.core.apps[usize::from(i)].timers.take(now) {
            due.call(&mut self.apps[usize::from(i)].machine, &mut AppHost { core: &mut self.core, app: i });
        }
        self.core.arm_app(i);
    }

    fn notify(&mut self, event: AppEvent) {
        let machine = &mut self.apps[usize::from(event.app)].machine;
        let conn = ConnId(event.flow.0);
        let side = if event.side == 0 { Role::Client } else { Role::Server };
        let host = &mut AppHost { core: &mut self.core, app: event.app };
        match event.what {
            AppEventKind::Connected => machine.connected(conn, side, host),
            AppEventKind::Received(bytes) => machine.received(conn, side, bytes, host),
            AppEventKind::Datagram(number) => machine.datagram_received(side, number, host),
            AppEventKind::Failed => self.core.abort(event.flow),
            AppEventKind::Closed => {
                if self.core.release(event.flow) {
                    let host = &mut AppHost { core: &mut self.core, app: event.app };
                    machine.closed(conn, host);
                }
            }
        }
    }

    /// Does what is due on the world's own clock; returns the work.
    fn clock(&mut self) -> u32 {
        let now = self.now();
        while let Some((at, task)) = self.tasks.pop_if(|(at, _)| *at <= now) {
            debug_assert_eq!(at, now, "tasks happen at their moment");
            match task {
                Task::Begin => self.core.begin(),
                Task::Change(link, change) => self.core.net.change(link, change),
            }
        }
        if now >= self.next_sample && !self.bin.is_zero() {
            self.core.sample(now);
            self.next_sample = now + self.bin;
            self.core.net.events.push(self.next_sample, Target::Clock);
        }
        if now < self.next_catch_up {
            return 1;
        }
        self.core.net.catch_up();
        self.next_catch_up = now + CATCH_UP;
        self.core.net.events.push(self.next_catch_up, Target::Clock);
        WORK_PER_LOOK
    }
}
