//! The world: a network, connections, applications and one clock, stepped event by event.
//!
//! A step takes the earliest event, lets its target act, and then lets applications hear what happened to them. A test, a
//! trace and a run are the same loop over [`World::step`]; [`World::run`] adds only the end and a way to stop.
//!
//! Nothing here depends on anything but the scenario and its seed.

use crate::conn::{Conn, End, Heard, Notice, Rest, Use, Way, What, Wire, inline_delay};
use crate::event::Target;
use crate::host::AppHost;
use crate::net::{Kind, Net, is_sack};
use measure::Tally;
use packet::{DropReason, Flags, FlowId, PacketMeta};
use port::Change;
use record::{Mask, Record, Sink};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use tcp::{Endpoint, PlainData, TcpParams};
use traffic::{Application, ConnId, Side};
use units::{Duration, Rng, Time, prefetch};

/// An application in its host.
pub(crate) struct AppSlot {
    pub machine: traffic::App,
}

/// What the host keeps for an application.
pub(crate) struct AppDesk {
    pub rng: Rng,
    /// Seed of its connections' controllers.
    pub controllers: u64,
    /// Timers by (moment, order of asking): token.
    pub timers: BinaryHeap<Reverse<(Time, u64, u64)>>,
    pub asked: u64,
    /// The moment of its earliest event in the event set.
    pub pending: Time,
    /// The first of its ways: two for each server, there and back.
    pub first_way: u16,
    /// Objects of a whole page, if it loads pages.
    pub page_objects: u32,
    pub stop: Time,
    /// First of its rows of counters, how many it has, and which are in use.
    pub first_row: u32,
    pub rows_used: Vec<bool>,
    /// Flows opened so far.
    pub opened: u32,
    /// All rows before this one are in use.
    pub rows_full: usize,
    /// The UDP flow to each server, opened when first used.
    pub udp: Vec<Option<FlowId>>,
}

/// Everything but the applications' machines, so that a machine can act on the rest.
pub(crate) struct Core<S> {
    pub net: Net<S>,
    pub conns: Vec<Conn>,
    /// What flows have in common: by application and server, there and back.
    pub ways: Vec<Way>,
    pub free_slots: Vec<u32>,
    pub stacks: Vec<TcpParams>,
    /// Header bytes of a plain data segment, by stack.
    pub headers: Vec<u16>,
    pub desks: Vec<AppDesk>,
    pub notices: VecDeque<Notice>,
    pub tally: Tally,
    pub next_port: u16,
}

/// Something that the world's own clock does.
#[derive(Clone, Debug)]
pub(crate) enum Chore {
    /// The warm-up is over.
    Begin,
    /// Change this link.
    Change(u16, Change),
}

/// A simulated world.
pub struct World<S: Sink = ()> {
    pub(crate) apps: Vec<AppSlot>,
    pub(crate) core: Core<S>,
    pub(crate) end: Time,
    /// [`World::run`] has come to the end.
    pub(crate) over: bool,
    pub(crate) bin: Duration,
    pub(crate) next_sample: Time,
    /// What is to be done at which moment, last first.
    pub(crate) chores: Vec<(Time, Chore)>,
}

/// What became of the packets that were offered to a link: `offered = delivered + dropped + queued + in_flight`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Books {
    /// Arrivals at its queue.
    pub offered: u64,
    /// Arrivals at its far end.
    pub delivered: u64,
    /// Drops, whatever the reason.
    pub dropped: u64,
    /// In its queue now.
    pub queued: u64,
    /// Being sent, in a modem's transmit queue, or on the wire.
    pub in_flight: u64,
}

/// What segments in flight take, at one moment and over all connections.
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
    /// Because the caller said so.
    Cancelled,
}

/// Events between two looks at the caller's wish to stop: a few milliseconds of work.
const EVENTS_PER_LOOK: u32 = 65_536;

impl<S: Sink> World<S> {
    /// The current moment.
    pub fn now(&self) -> Time {
        self.core.net.now()
    }

    /// How many events have happened.
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

    /// Packets that a run that looks at packets has under way.
    pub fn covered(&self) -> usize {
        self.core.net.covers.len()
    }

    /// Slots of the connection table, free ones included: as many as there were connections at once.
    pub fn slots(&self) -> usize {
        self.core.conns.len()
    }

    /// Every link's account at this moment.
    pub fn books(&self) -> impl Iterator<Item = Books> {
        self.core.net.links.iter().map(|link| {
            let (queued, in_flight) = link.holds();
            let m = &link.meter;
            let [offered, delivered, dropped] = [m.offered, m.delivered, m.dropped].map(|c| c.packets);
            Books { offered, delivered, dropped, queued, in_flight }
        })
    }

    /// What segments in flight take now.
    pub fn in_flight(&self) -> InFlight {
        let mut sum = InFlight::default();
        for end in self.core.conns.iter().flat_map(|conn| &conn.ends) {
            let (segments, bytes) = end.tcp.footprint();
            sum.segments += segments as u64;
            sum.bytes += bytes as u64;
        }
        sum
    }

    /// Lets the next event happen, if there is one by the end of the run.
    pub fn step(&mut self) -> bool {
        self.advance(self.last())
    }

    /// Lets the next event happen, if there is one by `last`.
    #[inline(always)]
    fn advance(&mut self, last: Time) -> bool {
        let Some(target) = self.core.net.events.take(last) else { return false };
        match target {
            Target::Link(i) => {
                if let Some(packet) = self.core.net.link_event(i) {
                    self.core.expect_more(i);
                    self.core.deliver(packet);
                } else if !self.core.net.landed.is_empty() {
                    let mut landed = std::mem::take(&mut self.core.net.landed);
                    for packet in landed.drain(..) {
                        self.core.deliver(packet);
                    }
                    self.core.net.landed = landed;
                }
            }
            Target::Port(i) => self.core.net.port_work(i),
            Target::Timer(i) => {
                self.core.expect_timer();
                self.core.timer(i);
            }
            Target::App(i) => self.app_timer(i),
            Target::Clock => self.clock(),
        }
        while let Some(notice) = self.core.notices.pop_front() {
            self.tell(notice);
        }
        if !self.core.net.after_apps.is_empty() {
            let mut waiting = std::mem::take(&mut self.core.net.after_apps);
            for (node, packet) in waiting.drain(..) {
                self.core.net.send(node, packet);
            }
            self.core.net.after_apps = waiting;
        }
        true
    }

    /// Runs to the end of the scenario. `look` is called now and then with the fraction done; false stops the run.
    pub fn run(&mut self, mut look: impl FnMut(f64) -> bool) -> Ended {
        self.run_watched(|world| look(world.now().secs() / world.end.secs()))
    }

    /// The same; `look` is called with the world itself.
    pub fn run_watched(&mut self, mut look: impl FnMut(&Self) -> bool) -> Ended {
        let last = self.last();
        loop {
            for _ in 0..EVENTS_PER_LOOK {
                if !self.advance(last) {
                    self.finish();
                    return Ended::Finished;
                }
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
        if self.next_sample == self.end && !self.bin.is_zero() {
            self.core.sample(self.end);
            self.next_sample = Time::NEVER;
        }
        self.core.net.settle(self.last(), self.end);
        for slot in 0..self.core.conns.len() {
            self.core.settle_fates(slot);
        }
        for conn in self.core.conns.iter().filter(|c| c.used() != Use::Free) {
            for (way, end) in conn.ends.iter().enumerate() {
                let (heard, sender) = end.account();
                self.core.tally.retire(end.rest.row, way, heard, sender);
            }
        }
    }

    fn app_timer(&mut self, i: u16) {
        let now = self.now();
        if self.core.desks[usize::from(i)].pending != now {
            return;
        }
        self.core.desks[usize::from(i)].pending = Time::NEVER;
        // bounded: each turn takes one timer that was due when it was asked for
        while let Some(&Reverse((at, _, token))) = self.core.desks[usize::from(i)].timers.peek() {
            if at > now {
                break;
            }
            self.core.desks[usize::from(i)].timers.pop();
            if at >= self.core.desks[usize::from(i)].stop {
                continue;
            }
            let machine = &mut self.apps[usize::from(i)].machine;
            let host = &mut AppHost { core: &mut self.core, app: i };
            if token == START { machine.start(host) } else { machine.timer(token, host) }
        }
        self.core.arm_app(i);
    }

    fn tell(&mut self, notice: Notice) {
        let machine = &mut self.apps[usize::from(notice.app)].machine;
        let conn = ConnId(notice.flow.0);
        let side = if notice.side == 0 { Side::Client } else { Side::Server };
        let host = &mut AppHost { core: &mut self.core, app: notice.app };
        match notice.what {
            What::Connected => machine.connected(conn, side, host),
            What::Received(bytes) => machine.received(conn, side, bytes, host),
            What::Datagram(number) => machine.datagram_received(side, number, host),
            What::Failed => self.core.give_up(notice.flow),
            What::Closed => {
                if self.core.release(notice.flow) {
                    let host = &mut AppHost { core: &mut self.core, app: notice.app };
                    machine.closed(conn, host);
                }
            }
        }
    }

    fn clock(&mut self) {
        let now = self.now();
        while let Some((at, chore)) = self.chores.pop_if(|(at, _)| *at <= now) {
            debug_assert_eq!(at, now, "chores happen at their moment");
            match chore {
                Chore::Begin => self.core.begin(),
                Chore::Change(link, change) => self.core.net.change(link, change),
            }
        }
        if now >= self.next_sample && !self.bin.is_zero() {
            self.core.sample(now);
            self.next_sample = now + self.bin;
            self.core.net.events.push(self.next_sample, Target::Clock);
        }
    }
}

/// The token of an application's start.
pub(crate) const START: u64 = u64::MAX;

/// Connections that the second level of a cache holds: with more, those of the next packets are asked for.
const HELD: usize = 128;
/// How many packets reach a host before one whose connection is asked for, and before it is asked for what its lines
/// point to.
const AHEAD: [usize; 2] = [5, 2];

impl<S: Sink> Core<S> {
    /// A packet has come to its host over link `i`: asks for the connections of those behind it.
    ///
    /// Of ten thousand connections each is cold when a packet comes for it, and a packet touches half a dozen of their
    /// lines; but the packets of the next moments wait in the link's ring.
    #[inline]
    fn expect_more(&self, i: u16) {
        if self.conns.len() <= HELD {
            return;
        }
        let Kind::Fifo(fifo) = &self.net.links[usize::from(i)].kind else { return };
        if let Some(packet) = fifo.ahead(AHEAD[0]) {
            let end = self.end_of(&packet);
            prefetch(end, 0);
            end.tcp.expect(packet.flags.has(Flags::PURE_ACK), 2);
            self.net.bodies.expect(&packet);
        }
        if let Some(packet) = fifo.ahead(AHEAD[1]) {
            self.end_of(&packet).tcp.expect(packet.flags.has(Flags::PURE_ACK), 1);
        }
    }

    /// The same for the connection of the next timer.
    #[inline]
    fn expect_timer(&self) {
        if self.conns.len() > HELD
            && let Some(i) = self.net.events.next_timer()
        {
            let end = &self.conns[i as usize / 2].ends[i as usize % 2];
            prefetch(end, 0);
            end.tcp.expect(true, 2);
        }
    }

    /// The end that a packet is for.
    #[inline]
    fn end_of(&self, packet: &PacketMeta) -> &End {
        &self.conns[packet.flow.slot()].ends[usize::from(!packet.flags.has(Flags::REVERSE))]
    }

    /// A packet has reached its host.
    #[inline]
    fn deliver(&mut self, mut packet: PacketMeta) {
        if S::PACKETS {
            self.net.covers.take(&mut packet);
        }
        let slot = packet.flow.slot();
        let way = usize::from(packet.flags.has(Flags::REVERSE));
        let side = 1 - way;
        let now = self.net.now();
        let end = &mut self.conns[slot].ends[side];
        if end.flow != packet.flow || end.used != Use::Tcp {
            return self.deliver_other(packet);
        }
        let Way { app, peer_header, series, .. } = self.ways[usize::from(end.way)];
        end.heard.packets += 1;
        end.heard.wire_bytes += packet.bytes();
        if series {
            self.tally.arrived_series(end.rest.row, way, now, packet.size);
        }
        let inline = packet.flags.has(Flags::INLINE);
        if inline && packet.flags.has(Flags::PURE_ACK) {
            self.act(slot, side, |tcp, stack, wire| tcp.on_plain_ack(stack, now, packet.seq, packet.body, wire));
        } else if inline {
            let delay = inline_delay(now, packet.body);
            self.tally.delay(app, way, now, delay);
            if series {
                self.tally.delay_series(self.conns[slot].ends[side].rest.row, way, now, delay);
            }
            self.net.tell_delivered(&packet, delay);
            let len = u32::from(packet.size - peer_header);
            let data = PlainData { seq: packet.seq, len, ts_val: packet.body, ecn: packet.ecn() };
            self.act(slot, side, |tcp, stack, wire| tcp.on_plain_data(stack, now, data, wire));
        } else if is_sack(packet.flags) {
            let segment = self.net.bodies.sacks.take(packet.body).segment(packet.seq, packet.flags);
            self.act(slot, side, |tcp, stack, wire| tcp.on_segment(stack, now, &segment, wire));
        } else {
            let mut body = self.net.bodies.whole.take(packet.body);
            body.segment.ecn = packet.ecn();
            let delay = now.since(body.sent);
            if body.segment.len > 0 {
                self.tally.delay(app, way, now, delay);
                if series {
                    self.tally.delay_series(self.conns[slot].ends[side].rest.row, way, now, delay);
                }
                self.net.tell_delivered(&packet, delay);
            }
            self.act(slot, side, |tcp, stack, wire| tcp.on_segment(stack, now, &body.segment, wire));
        }
        self.after(slot, side);
    }

    /// A packet that no TCP end waits for.
    #[inline(never)]
    fn deliver_other(&mut self, packet: PacketMeta) {
        let side = usize::from(!packet.flags.has(Flags::REVERSE));
        let end = &self.conns[packet.flow.slot()].ends[side];
        if end.flow != packet.flow || end.used == Use::Free {
            return self.flow_gone(&packet);
        }
        let now = self.net.now();
        let delay = inline_delay(now, packet.body);
        let Way { app, counts, .. } = self.ways[usize::from(end.way)];
        self.tally.datagram(end.rest.row, 1 - side, now, &packet, delay);
        self.net.tell_delivered(&packet, delay);
        if counts {
            let what = What::Datagram(packet.seq);
            self.notices.push_back(Notice { app, flow: packet.flow, side: side as u8, what });
        }
    }

    /// Lets one end act, with the wire to its peer.
    #[inline(always)]
    fn act(&mut self, slot: usize, side: usize, act: impl FnOnce(&mut Endpoint, &TcpParams, &mut Wire<'_, S>)) {
        let end = &mut self.conns[slot].ends[side];
        let way = &self.ways[usize::from(end.way)];
        let stack = &self.stacks[usize::from(way.stack)];
        let mut wire = Wire {
            net: &mut self.net,
            flow: end.flow,
            way,
            rest: &mut end.rest,
            stack,
            tally: &mut self.tally,
            notices: &mut self.notices,
            delivered: false,
        };
        act(&mut end.tcp, stack, &mut wire);
    }

    #[cold]
    fn flow_gone(&mut self, packet: &PacketMeta) {
        self.net.bodies.free(packet);
        self.tally.flow_gone += u64::from(self.net.now() >= self.tally.warm_up);
        if self.net.sink.mask().has(Mask::DROPPED) {
            let record = Record::Dropped {
                link: record::LinkId(u16::MAX),
                flow: packet.flow,
                size: packet.size,
                reason: DropReason::FlowGone,
                point: packet::Point::Dequeue,
            };
            self.net.sink.put(self.net.now(), record);
        }
    }

    /// After any call into an end: its timer is scheduled, the sink hears of its state.
    #[inline]
    fn after(&mut self, slot: usize, side: usize) {
        let end = &mut self.conns[slot].ends[side];
        let deadline = end.tcp.deadline();
        if deadline < end.timer {
            end.timer = deadline;
            let at = deadline.max(self.net.now());
            self.net.events.push(at, Target::Timer((2 * slot + side) as u32));
        }
        if self.net.sink.mask().has(Mask::SENDER) {
            let probe = end.tcp.probe(&self.stacks[usize::from(self.ways[usize::from(end.way)].stack)]);
            let record = Record::Sender {
                flow: end.flow,
                reverse: side == 1,
                cwnd: probe.cwnd_bytes.min(u64::from(u32::MAX)) as u32,
                ssthresh: probe.ssthresh_bytes.min(u64::from(u32::MAX)) as u32,
                srtt_us: probe.srtt.0.div_ceil(1000).min(u64::from(u32::MAX)) as u32,
            };
            let now = self.net.now();
            self.net.sink.put(now, record);
        }
    }

    /// Lets one end of a connection do something.
    pub(crate) fn with_end(
        &mut self,
        slot: usize,
        side: usize,
        act: impl FnOnce(&mut Endpoint, &TcpParams, Time, &mut Wire<'_, S>),
    ) {
        let now = self.net.now();
        self.act(slot, side, |tcp, stack, wire| act(tcp, stack, now, wire));
        self.after(slot, side);
    }

    fn timer(&mut self, i: u32) {
        let (slot, side) = (i as usize / 2, i as usize % 2);
        let end = &mut self.conns[slot].ends[side];
        if end.timer != self.net.now() {
            return; // lazy: a later event, or nobody, has taken its place
        }
        end.timer = Time::NEVER;
        if end.tcp.deadline() <= self.net.now() {
            self.with_end(slot, side, |tcp, stack, now, wire| tcp.on_timer(stack, now, wire));
        } else {
            self.after(slot, side);
        }
    }

    /// Schedules an application's earliest timer.
    pub(crate) fn arm_app(&mut self, i: u16) {
        let desk = &mut self.desks[usize::from(i)];
        if let Some(&Reverse((at, ..))) = desk.timers.peek()
            && at < desk.pending
        {
            desk.pending = at;
            self.net.events.push(at, Target::App(i));
        }
    }

    /// A fresh slot for a connection or UDP flow of `app` to `server`.
    pub(crate) fn claim(&mut self, app: u16, server: usize, used: Use) -> FlowId {
        let desk = &mut self.desks[usize::from(app)];
        desk.opened += 1;
        let full = desk.rows_full;
        let free_row = desk.rows_used[full..].iter().position(|used| !used).map(|row| full + row);
        if let Some(row) = free_row {
            desk.rows_used[row] = true;
        }
        desk.rows_full = free_row.map_or(desk.rows_used.len(), |row| row + 1);
        // an application that opens more connections than it has rows shares its last one
        let row = desk.first_row + free_row.unwrap_or(desk.rows_used.len() - 1) as u32;
        let first_way = desk.first_way + 2 * server as u16;
        let (seed, number) = (desk.controllers, desk.opened);
        let rest = Rest { row, number: desk.opened, closed: false };
        let slot = self.free_slots.pop();
        let generation = match slot {
            Some(slot) => {
                self.net.catch_up();
                self.settle_fates(slot as usize);
                self.conns[slot as usize].ends[0].flow.generation().wrapping_add(1)
            }
            None => 0,
        };
        let slot = slot.unwrap_or(self.conns.len() as u32);
        let flow = FlowId::new(slot, generation & 0xfff);
        let end = |way: u16, back: u16| {
            let stack = |way: u16| &self.stacks[usize::from(self.ways[usize::from(way)].stack)];
            let mut tcp = Endpoint::new(stack(way), stack(back).receive_window.0);
            tcp.draw_from(&|| Rng::named(seed, &format!("{number}.{}", way - first_way)));
            End { timer: Time::NEVER, flow, way, used, heard: Heard::default(), tcp, rest }
        };
        let ends = [end(first_way, first_way + 1), end(first_way + 1, first_way)];
        match self.conns.get_mut(slot as usize) {
            Some(conn) => *conn = Conn::new(ends),
            None => self.conns.push(Conn::new(ends)),
        }
        self.tally.rows[row as usize].latest = flow;
        self.net.fated.resize(self.net.fated.len().max(2 * self.conns.len()), 0);
        self.next_port = self.next_port.wrapping_add(1).max(1024);
        let way = &self.ways[usize::from(first_way)];
        let protocol = if used == Use::Udp { packet::Protocol::Udp } else { packet::Protocol::Tcp };
        let tuple = packet::FlowTuple {
            src: 0x0a00_0000 | u32::from(way.at.0),
            dst: 0x0a00_0000 | u32::from(way.peer.0),
            sport: self.next_port,
            dport: 1 + app,
            protocol,
            dscp: way.dscp,
        };
        self.net.flows.set(flow, tuple);
        flow
    }

    /// Packets of a connection that met their fate after its end (a repeated FIN, say) still count as its own.
    fn settle_fates(&mut self, slot: usize) {
        let now = self.net.now();
        for (way, end) in self.conns[slot].ends.iter().enumerate() {
            let fated = std::mem::take(&mut self.net.fated[2 * slot + way]);
            if fated > 0 {
                self.tally.dropped(end.rest.row, way, now, fated);
            }
        }
    }

    /// One side of `flow` has given up: the other is cut off, too, as by a reset.
    fn give_up(&mut self, flow: FlowId) {
        let conn = &mut self.conns[flow.slot()];
        if conn.ends[0].flow == flow {
            for end in &mut conn.ends {
                end.rest.closed = true;
            }
        }
    }

    /// One side of `flow` has finished; true if both have, and the slot has been given back.
    fn release(&mut self, flow: FlowId) -> bool {
        let slot = flow.slot();
        let conn = &mut self.conns[slot];
        if conn.used() == Use::Free || conn.ends[0].flow != flow || !conn.ends.iter().all(|e| e.rest.closed) {
            return false;
        }
        conn.ends.iter_mut().for_each(|e| e.used = Use::Free);
        self.free_slots.push(slot as u32);
        let rest = conn.ends[0].rest;
        let app = self.ways[usize::from(conn.ends[0].way)].app;
        for (way, end) in conn.ends.iter().enumerate() {
            let (heard, sender) = end.account();
            self.tally.retire(rest.row, way, heard, sender);
        }
        self.net.catch_up();
        self.settle_fates(slot);
        let desk = &mut self.desks[usize::from(app)];
        let row = (rest.row - desk.first_row) as usize;
        desk.rows_used[row] = false;
        desk.rows_full = desk.rows_full.min(row);
        true
    }

    /// The warm-up is over just before this moment: what happened so far is left out of every sum.
    fn begin(&mut self) {
        self.net.begin(Time(self.net.now().0 - 1));
        for slot in 0..self.conns.len() {
            self.settle_fates(slot);
        }
        self.tally.begin();
        for conn in self.conns.iter().filter(|c| c.used() != Use::Free) {
            for (way, end) in conn.ends.iter().enumerate() {
                let (heard, sender) = end.account();
                self.tally.under_way(end.rest.row, way, heard, sender);
            }
        }
    }

    /// End of a bin: the senders' windows and the drops go into the series.
    fn sample(&mut self, now: Time) {
        if !self.tally.has_series {
            return;
        }
        self.net.catch_up();
        for slot in 0..self.conns.len() {
            self.settle_fates(slot);
        }
        for conn in self.conns.iter().filter(|c| c.used() == Use::Tcp) {
            // of connections that share a row the latest: which one has the last slot depends on other applications
            let first = &conn.ends[0];
            if self.tally.rows[first.rest.row as usize].latest != first.flow {
                continue;
            }
            for (way, end) in conn.ends.iter().enumerate() {
                let stack = &self.stacks[usize::from(self.ways[usize::from(end.way)].stack)];
                self.tally.sample(end.rest.row, way, now, end.window(stack));
            }
        }
    }
}
