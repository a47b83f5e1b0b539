//! A scripted host for tests. It simulates no network: opening a connection takes a round trip, and data arrives after
//! half a round trip. The test decides which datagrams are lost, delayed or marked, and which connections fail.

use crate::{Application, ConnId, Host, Role};
use packet::Ecn;
use std::collections::{BTreeMap, BTreeSet};
use units::{Duration, Rng, Time};

/// A future event for the application.
#[derive(Clone, Copy, Debug)]
enum Event {
    Connected(ConnId, Role),
    Received(ConnId, Role, u64),
    Closed(ConnId),
    Datagram(Role, u64, Ecn),
    Timer(u64),
    LateTimer(u64),
    /// A piece of an endless write.
    Stream(ConnId, Role),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub(crate) at: Time,
    pub(crate) peer: usize,
    pub(crate) row: usize,
    /// Time at which the second of the two sides closed the connection.
    pub(crate) closed: Option<Time>,
    /// Time at which the application was notified of the connection's end.
    pub(crate) ended: Option<Time>,
}

/// A call to `Host::write`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) role: Role,
    pub(crate) bytes: u64,
}

/// State of a connection id. Ids are reused, as on a real host.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    ordinal: usize,
    peer: usize,
    ready: Time,
    closed: [bool; 2],
    fails: bool,
    /// Bytes that each role has written, not counting endless writes (of `u64::MAX` bytes).
    wrote: [u64; 2],
    /// Start times of endless writes, by role.
    streams: [Option<Time>; 2],
}

pub(crate) struct Fake {
    now: Time,
    pub rng: Rng,
    rtt: Vec<u64>,
    /// Future events, each with the index of its connection (`usize::MAX` for timers and datagrams). The events of a
    /// connection that has ended are skipped.
    queue: BTreeMap<(Time, u64), (Event, usize)>,
    order: u64,
    /// Timers that are due at this time or later are dropped, except late timers.
    pub(crate) stop: Time,
    slots: Vec<Slot>,
    free: BTreeSet<u32>,
    failing: BTreeSet<usize>,
    fails_after: u64,
    /// Probability that a connection breaks, and the maximum time from its opening to the break in nanoseconds.
    breaking: Option<(f64, u64)>,
    /// True if the data of an endless write is delivered, in pieces. If false, none of it is delivered.
    pub(crate) streaming: bool,
    /// Maximum size of the pieces in which bytes arrive.
    pub(crate) piece: u64,
    /// Time between two pieces in nanoseconds.
    pub(crate) gap: u64,
    pub(crate) opened: Vec<Opened>,
    pub(crate) writes: Vec<Write>,
    pub(crate) datagrams: Vec<(Time, Role, u16, u64)>,
    /// Additional delay in nanoseconds of a datagram that leaves at the given time.
    pub(crate) extra: fn(Time) -> u64,
    /// Datagrams that the host drops, by index: datagram 0 is the first one sent.
    pub(crate) lost: BTreeSet<usize>,
    /// ECN field of the datagrams.
    pub(crate) ecn: Ecn,
    /// Datagrams that the host marks CE, by index: datagram 0 is the first one sent.
    pub(crate) marked: BTreeSet<usize>,
    pub(crate) files: Vec<(Time, Time, u64)>,
    pub(crate) pages: Vec<(Time, Time, u32, u64)>,
    pub(crate) probes: Vec<(u64, Option<Duration>)>,
}

impl Fake {
    /// Returns a host with these round-trip times to its servers, in nanoseconds.
    pub(crate) fn new(rtt: &[u64]) -> Self {
        Self {
            now: Time::ZERO,
            rng: Rng::named(1, "fake"),
            rtt: rtt.to_vec(),
            queue: BTreeMap::new(),
            order: 0,
            stop: Time::NEVER,
            slots: Vec::new(),
            free: BTreeSet::new(),
            failing: BTreeSet::new(),
            fails_after: 0,
            breaking: None,
            streaming: false,
            piece: u64::MAX,
            gap: 0,
            opened: Vec::new(),
            writes: Vec::new(),
            datagrams: Vec::new(),
            extra: |_| 0,
            lost: BTreeSet::new(),
            ecn: Ecn::NotEct,
            marked: BTreeSet::new(),
            files: Vec::new(),
            pages: Vec::new(),
            probes: Vec::new(),
        }
    }

    /// Makes the connections with the indices `ordinals` fail: the handshake never completes, and the connection ends
    /// `ns` nanoseconds after its opening.
    pub(crate) fn failing(mut self, ordinals: &[usize], ns: u64) -> Self {
        self.failing = ordinals.iter().copied().collect();
        self.fails_after = ns;
        self
    }

    /// Makes each connection break with probability `p`, at a random time in the `ns` nanoseconds after its opening.
    pub(crate) fn breaking(mut self, p: f64, ns: u64) -> Self {
        self.breaking = Some((p, ns));
        self
    }

    /// Runs `app` from time 0 to `until` (exclusive).
    pub(crate) fn run<A: Application>(&mut self, app: &mut A, until: Time) {
        app.start(self);
        while let Some(((at, _), (event, ordinal))) = self.queue.pop_first() {
            if at >= until {
                break;
            }
            self.now = at;
            if self.opened.get(ordinal).is_some_and(|o| o.ended.is_some()) {
                continue;
            }
            match event {
                Event::Connected(c, role) => app.connected(c, role, self),
                Event::Received(c, role, bytes) => app.received(c, role, bytes, self),
                Event::Timer(_) if at >= self.stop => {}
                Event::Timer(token) | Event::LateTimer(token) => app.timer(token, self),
                Event::Stream(c, role) => {
                    self.push(Time(at.0 + self.gap), event);
                    app.received(c, role, self.piece, self);
                }
                Event::Datagram(role, number, ecn) => app.datagram_received(role, number, ecn, self),
                Event::Closed(c) => {
                    self.opened[ordinal].ended = Some(at);
                    app.closed(c, self);
                    self.free.insert(c.0);
                }
            }
        }
    }

    /// Returns the number of open connections.
    pub(crate) fn open_now(&self) -> usize {
        self.opened.iter().filter(|o| o.ended.is_none()).count()
    }

    fn push(&mut self, at: Time, event: Event) {
        self.order += 1;
        let ordinal = match event {
            Event::Connected(c, _) | Event::Received(c, ..) | Event::Stream(c, _) | Event::Closed(c) => {
                self.slots[c.0 as usize].ordinal
            }
            Event::Timer(_) | Event::LateTimer(_) | Event::Datagram(..) => usize::MAX,
        };
        self.queue.insert((at, self.order), (event, ordinal));
    }
}

impl Host for Fake {
    fn now(&self) -> Time {
        self.now
    }
    fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }
    fn open(&mut self, peer: usize, row: usize) -> ConnId {
        let ordinal = self.opened.len();
        let id = self.free.pop_first().unwrap_or(self.slots.len() as u32);
        if id as usize == self.slots.len() {
            self.slots.push(Slot::default());
        }
        let ready = Time(self.now.0 + self.rtt[peer]);
        let fails = self.failing.contains(&ordinal);
        self.slots[id as usize] = Slot { ordinal, peer, ready, fails, ..Slot::default() };
        self.opened.push(Opened { at: self.now, peer, row, closed: None, ended: None });
        if fails {
            self.push(Time(self.now.0 + self.fails_after), Event::Closed(ConnId(id)));
        } else {
            self.push(ready, Event::Connected(ConnId(id), Role::Client));
            self.push(ready, Event::Connected(ConnId(id), Role::Server));
        }
        if let Some((p, ns)) = self.breaking
            && self.rng.chance(p)
        {
            let at = Time(self.now.0 + self.rng.below(ns));
            self.push(at, Event::Closed(ConnId(id)));
        }
        ConnId(id)
    }
    fn write(&mut self, conn: ConnId, role: Role, bytes: u64) {
        self.writes.push(Write { role, bytes });
        let slot = self.slots[conn.0 as usize];
        assert!(!slot.closed[role as usize], "written after close");
        let at = Time(self.now.max(slot.ready).0 + self.rtt[slot.peer] / 2);
        if bytes == u64::MAX && self.streaming && !slot.fails {
            self.slots[conn.0 as usize].streams[role as usize] = Some(self.now.max(slot.ready));
            self.push(at, Event::Stream(conn, role.other()));
        }
        if slot.fails || bytes == u64::MAX {
            return;
        }
        self.slots[conn.0 as usize].wrote[role as usize] += bytes;
        let (mut left, mut at) = (bytes, at);
        while left > 0 {
            let n = left.min(self.piece);
            self.push(at, Event::Received(conn, role.other(), n));
            left -= n;
            at = Time(at.0 + self.gap);
        }
    }
    fn write_offset(&mut self, conn: ConnId, role: Role, notsent_lowat: u64) -> u64 {
        let slot = self.slots[conn.0 as usize];
        // an endless write sends its first piece at once, and then one more piece after each `gap`
        let pieces = slot.streams[role as usize].map_or(0, |began| (self.now.0 - began.0) / self.gap.max(1) + 1);
        slot.wrote[role as usize] + pieces * self.piece + notsent_lowat
    }
    fn close(&mut self, conn: ConnId, role: Role) {
        let slot = &mut self.slots[conn.0 as usize];
        assert!(!slot.closed[role as usize], "closed twice");
        slot.closed[role as usize] = true;
        if slot.closed == [true; 2] && !slot.fails {
            self.opened[slot.ordinal].closed = Some(self.now);
            let at = Time(self.now.0 + self.rtt[slot.peer]);
            self.push(at, Event::Closed(conn));
        }
    }
    fn datagram(&mut self, peer: usize, role: Role, size: u16, number: u64) {
        let at = Time(self.now.0 + self.rtt[peer] / 2 + (self.extra)(self.now));
        if !self.lost.contains(&self.datagrams.len()) {
            let ecn = if self.marked.contains(&self.datagrams.len()) { Ecn::Ce } else { self.ecn };
            self.push(at, Event::Datagram(role.other(), number, ecn));
        }
        self.datagrams.push((self.now, role, size, number));
    }
    fn datagram_ecn(&self) -> Ecn {
        self.ecn
    }
    fn timer(&mut self, at: Time, token: u64) {
        assert!(at >= self.now);
        self.push(at, Event::Timer(token));
    }
    fn late_timer(&mut self, at: Time, token: u64) {
        assert!(at >= self.now);
        self.push(at, Event::LateTimer(token));
    }
    fn stop(&self) -> Time {
        self.stop
    }
    fn page_loaded(&mut self, started: Time, objects: u32, bytes: u64) {
        self.pages.push((started, self.now, objects, bytes));
    }
    fn file_done(&mut self, started: Time, bytes: u64) {
        self.files.push((started, self.now, bytes));
    }
    fn probe(&mut self, number: u64, rtt: Option<Duration>) {
        self.probes.push((number, rtt));
    }
}
