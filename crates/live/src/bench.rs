//! The bench, sans-I/O: real packets in, real packets out, every queue of the scenario between them.
//!
//! ```text
//! arrive(now, side, bytes) -> header, flow -> port -> port ... -> advance(now) -> (side, bytes, due)
//! ```
//!
//! Packets move through the links' ports in the order of the ports' own deadlines: however late the caller calls, every
//! transmission, drop and hand-over happens at its exact moment of virtual time, and only the last step, out of the bench,
//! waits for the caller. Its lateness is the caller's to measure: `due` is when the packet should have come out.
//!
//! The simulator and this module run the same [`port::Port`]; tests replay a simulation's arrivals through the bench on a
//! fake clock and compare every fate.

use crate::flows::Flows;
use crate::plan::{Plan, Side};
use crate::store::Store;
use crate::tun::MTU;
use measure::{ClassCounts, LinkCounts, LinkMeterParams};
use packet::{DropReason, FateSink, Flags, MarkReason, NodeId, PacketMeta, Point, header};
use port::{Change, Env, Port, PortCounters};
use record::{LinkId, Mask, Record, Sink};
use scenario::{NO_LINK, Scenario};
use std::net::IpAddr;
use units::{Duration, Problem, Time};

/// What happened on a link since somebody last looked: for the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// Packets that left the queue.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of their sojourns, ns.
    pub sojourn_ns: u64,
    /// Greatest of their sojourns, ns.
    pub sojourn_max_ns: u64,
    /// Packets dropped.
    pub dropped: u64,
}

impl Sink for Glance {
    fn mask(&self) -> Mask {
        Mask::DEQUEUED.with(Mask::DROPPED)
    }
    fn put(&mut self, _: Time, record: Record) {
        match record {
            Record::Dequeued { size, sojourn, .. } => {
                self.packets += 1;
                self.bytes += u64::from(size);
                self.sojourn_ns += sojourn.0;
                self.sojourn_max_ns = self.sojourn_max_ns.max(sojourn.0);
            }
            Record::Dropped { .. } => self.dropped += 1,
            _ => {}
        }
    }
}

/// One directed link of the scenario.
#[derive(Debug)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Where it leads.
    to: u16,
    /// The queue and the wire.
    pub port: Port,
    /// Series and distributions, if it is recorded.
    pub meter: Option<measure::LinkMeter>,
    /// Since somebody last looked.
    pub glance: Glance,
    /// What had been counted when the warm-up ended.
    pub before: LinkCounts,
}

impl Link {
    /// What it has counted before `now`, and what it holds.
    pub fn counts(&self, now: Time) -> LinkCounts {
        let c = self.port.counters();
        LinkCounts {
            offered: c.queue.offered,
            delivered: c.delivered,
            dropped: c.dropped(),
            drops: drops(&c),
            marked: c.queue.marked.iter().flatten().sum(),
            backlog: self.port.backlog(),
            in_flight: c.in_flight(),
            classes: self.port.classes().iter().map(|c| ClassCounts { counts: c.counts, marked: c.marked }).collect(),
            grants: Vec::new(),
            opportunities: self.port.opportunities(now),
        }
    }
}

/// Dropped packets by reason, in the order of [`DropReason::ALL`].
fn drops(c: &PortCounters) -> [u64; DropReason::ALL.len()] {
    let mut drops = [0; DropReason::ALL.len()];
    for (sum, points) in drops.iter_mut().zip(&c.queue.dropped) {
        *sum = points.iter().map(|p| p.packets).sum();
    }
    drops[DropReason::TransmitQueueFull as usize] += c.transmit_dropped.packets;
    drops[DropReason::LinkLoss as usize] += c.lost.packets;
    drops
}

/// A packet that was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fated {
    /// When.
    pub at: Time,
    /// Its flow.
    pub flow: usize,
    /// Whether it travelled from the flow's responder to its initiator.
    pub back: bool,
}

/// Frees what dropped packets own, and counts them.
struct Fates<'a> {
    now: Time,
    store: &'a mut Store,
    flows: &'a mut [crate::flows::Flow],
    fated: &'a mut Vec<Fated>,
}

impl FateSink for Fates<'_> {
    fn dropped(&mut self, packet: &PacketMeta, _: DropReason, _: Point) {
        self.store.free(packet.body);
        let (flow, back) = (packet.flow.slot(), packet.flags.has(Flags::REVERSE));
        self.fated.push(Fated { at: self.now, flow, back });
        if let Some(flow) = self.flows.get_mut(flow) {
            flow.directions[usize::from(back)].dropped += 1;
        }
    }
    fn marked(&mut self, _: &PacketMeta, _: MarkReason, _: Point) {}
}

/// A packet that leaves the bench.
pub struct Leaving<'a> {
    /// Into which namespace.
    pub side: Side,
    /// As it goes to the kernel, ECN mark included.
    pub bytes: &'a [u8],
    /// When it should have left.
    pub due: Time,
    /// When it came in.
    pub came: Time,
    /// Its flow, and whether it is going back.
    pub flow: usize,
    /// Whether it travels from the flow's responder to its initiator.
    pub back: bool,
    /// Bytes behind its transport header.
    pub payload: usize,
}

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is in the bench (or dropped by its first queue).
    Taken {
        /// Its flow.
        flow: usize,
        /// The flow was not there before.
        new: bool,
        /// It is a client's SYN.
        syn: bool,
    },
    /// Not for a host of the other side: multicast, another address, no IP. It is gone.
    Foreign,
}

/// The network of ports between the two namespaces.
#[derive(Debug)]
pub struct Bench<S: Sink = ()> {
    /// Every directed link.
    pub links: Vec<Link>,
    next: Vec<u16>,
    nodes: usize,
    side: Vec<Option<Side>>,
    /// Every 5-tuple seen.
    pub flows: Flows,
    store: Store,
    /// When each packet inside came in, and its payload, by body.
    came: Vec<(Time, u16)>,
    /// Changes to come, last first.
    changes: Vec<(Time, usize, Change)>,
    /// When the warm-up ends; `NEVER` once it has, or without one.
    begin: Time,
    /// Packets that leave a port in one poll.
    scratch: Vec<PacketMeta>,
    /// Packets that were dropped since somebody last took them out.
    pub fated: Vec<Fated>,
    /// Packets that came for nobody.
    pub foreign: u64,
    /// Takes every record.
    pub sink: S,
}

impl<S: Sink> Bench<S> {
    /// The scenario's links at rest; series over `duration`.   Errors: as [`Port::build`].
    pub fn build(scenario: &Scenario, plan: &Plan, duration: Duration, sink: S) -> Result<Self, Problem> {
        let mut links = Vec::new();
        let mut changes = Vec::new();
        for (i, link) in plan.network.links.iter().enumerate() {
            let id = LinkId(i as u16);
            let at = format!("link.{}", link.name);
            let port = Port::build(&link.port, id, scenario.seed, &at).map_err(|p| p.under(&at))?;
            let bin = scenario.bin();
            let warm_up = Time(scenario.record.warm_up.0);
            let params = LinkMeterParams { link: id, limit: QUEUE_BINS, start: Time::ZERO, duration, bin, warm_up };
            links.push(Link {
                name: link.name.clone(),
                to: link.to,
                port,
                meter: if link.recorded { Some(measure::LinkMeter::new(params)?) } else { None },
                glance: Glance::default(),
                before: LinkCounts::default(),
            });
            changes.extend(link.changes.iter().map(|(at, change)| (*at, i, *change)));
        }
        changes.sort_by_key(|(at, ..)| *at);
        changes.reverse();
        Ok(Self {
            links,
            next: plan.network.next.clone(),
            nodes: plan.network.nodes.len(),
            side: plan.side.clone(),
            flows: Flows::default(),
            store: Store::default(),
            came: Vec::new(),
            changes,
            begin: if scenario.record.warm_up.is_zero() { Time::NEVER } else { Time(scenario.record.warm_up.0) },
            scratch: Vec::new(),
            fated: Vec::new(),
            foreign: 0,
            sink,
        })
    }

    /// A packet comes from the kernel of `side`. `now` never goes back.
    pub fn arrive(&mut self, now: Time, side: Side, bytes: &[u8], out: &mut impl FnMut(Leaving<'_>)) -> Arrival {
        // what is due before now happens before; what is due at now, after, as a port's own order has it
        self.work(now, false, out);
        let Some(h) = header::parse(bytes).filter(|_| bytes.len() <= MTU) else {
            self.foreign += 1;
            return Arrival::Foreign;
        };
        let (from, to) = (self.host(h.src, side), self.host(h.dst, side.other()));
        let (Some(from), Some(to)) = (from, to) else {
            self.foreign += 1;
            return Arrival::Foreign;
        };
        let link = self.next[from * self.nodes + to];
        if link == NO_LINK {
            self.foreign += 1;
            return Arrival::Foreign;
        }
        let (flow, back, new) = self.flows.find(&h);
        let pure = h.flags.has(Flags::PURE_ACK);
        let seq = self.flows.unwrap(flow, back, pure, &h);
        let body = self.store.put(bytes);
        if self.came.len() <= body as usize {
            self.came.resize(body as usize + 1, (Time::ZERO, 0));
        }
        self.came[body as usize] = (now, h.payload as u16);
        let packet = PacketMeta {
            stamp: now,
            seq,
            flow,
            body,
            size: bytes.len() as u16,
            dst: NodeId(to as u16),
            tos: h.tos,
            class: 0,
            flags: if back { h.flags.with(Flags::REVERSE) } else { h.flags },
        };
        self.offer(now, usize::from(link), packet);
        Arrival::Taken { flow: flow.slot(), new, syn: !back && h.flags.has(Flags::SYN) }
    }

    /// Does everything that is due by `now`, in the order of time, and gives out what leaves.
    pub fn advance(&mut self, now: Time, out: &mut impl FnMut(Leaving<'_>)) {
        self.work(now, true, out);
    }

    /// When [`Bench::advance`] next has something to do.
    pub fn deadline(&self) -> Time {
        let change = self.changes.last().map_or(Time::NEVER, |(at, ..)| *at);
        self.links.iter().map(|l| l.port.deadline()).fold(change.min(self.begin), Time::min)
    }

    /// Packets inside: in queues, on links.
    pub fn inside(&self) -> usize {
        self.store.len()
    }

    /// The run is over at `now`: measures are closed.
    pub fn finish(&mut self, now: Time) {
        if self.begin != Time::NEVER {
            // nothing of it was to be counted
            self.begin = self.begin.min(now);
            self.begin();
        }
        for link in &mut self.links {
            if let Some(meter) = &mut link.meter {
                meter.finish(now);
            }
        }
    }

    /// The warm-up is over: every link begins to count.
    fn begin(&mut self) {
        let now = self.begin;
        self.begin = Time::NEVER;
        for link in &mut self.links {
            link.before = link.counts(now);
            if let Some(meter) = &mut link.meter {
                meter.begin();
            }
        }
    }

    /// Lets virtual time run until nothing moves any more; returns the packets that are left (behind a stopped link).
    ///
    /// After it no packet's bytes are without an owner: every one left is in a queue.
    pub fn drain(&mut self) -> usize {
        self.changes.clear();
        self.begin = Time::NEVER;
        // no packet comes in, so that every deadline serves a packet, or is a timer, which may go on behind a stopped link
        for _ in 0..DRAIN {
            let at = self.deadline();
            if self.inside() == 0 || at == Time::NEVER {
                break;
            }
            self.work(at, true, &mut |_| {});
        }
        let queued: u32 = self.links.iter().map(|l| l.port.backlog().packets).sum();
        assert!(self.inside() == queued as usize, "{} packets inside, {queued} queued", self.inside());
        self.inside()
    }

    /// The node of an address, if it is a host of `side`.
    fn host(&self, address: IpAddr, side: Side) -> Option<usize> {
        let number = match address {
            IpAddr::V4(a) => match a.octets() {
                [10, 77, high, low] => u16::from_be_bytes([high, low]),
                _ => return None,
            },
            IpAddr::V6(a) => match a.segments() {
                [0xfd77, 0, 0, 0, 0, 0, 0, low] => low,
                _ => return None,
            },
        };
        let node = usize::from(number.checked_sub(1)?);
        (*self.side.get(node)? == Some(side)).then_some(node)
    }

    /// Work in the order of time: before `now`, or also at `now`.   Bound: every turn moves a port past its deadline.
    fn work(&mut self, now: Time, inclusive: bool, out: &mut impl FnMut(Leaving<'_>)) {
        loop {
            let change = self.changes.last().map_or(Time::NEVER, |(at, ..)| *at);
            let (at, link) =
                self.links.iter().enumerate().map(|(i, l)| (l.port.deadline(), i)).min().unwrap_or((Time::NEVER, 0));
            let next = at.min(change).min(self.begin);
            if next == Time::NEVER || next > now || (next == now && !inclusive && next != self.begin) {
                return;
            }
            if self.begin == next {
                // before all else of its moment
                self.begin();
            } else if change <= at {
                if let Some((at, link, change)) = self.changes.pop() {
                    self.poll(at, link, out);
                    self.links[link].port.change(at, change);
                }
            } else {
                self.poll(at, link, out);
            }
        }
    }

    fn offer(&mut self, now: Time, link: usize, packet: PacketMeta) {
        let slot = &mut self.links[link];
        let mut sink = (&mut slot.glance, (slot.meter.as_mut(), &mut self.sink));
        let fate = &mut Fates { now, store: &mut self.store, flows: &mut self.flows.all, fated: &mut self.fated };
        slot.port.offer(now, packet, &mut Env { flows: &self.flows.table, fate, sink: &mut sink });
    }

    /// Polls one port, and hands on what has reached its far end.
    fn poll(&mut self, at: Time, link: usize, out: &mut impl FnMut(Leaving<'_>)) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let slot = &mut self.links[link];
        let mut sink = (&mut slot.glance, (slot.meter.as_mut(), &mut self.sink));
        let fate = &mut Fates { now: at, store: &mut self.store, flows: &mut self.flows.all, fated: &mut self.fated };
        slot.port.poll(at, &mut Env { flows: &self.flows.table, fate, sink: &mut sink }, &mut |p| scratch.push(p));
        let node = usize::from(slot.to);
        for packet in scratch.drain(..) {
            let to = usize::from(packet.dst.0);
            if node == to {
                self.leave(at, node, packet, out);
            } else {
                let link = usize::from(self.next[node * self.nodes + to]);
                self.offer(at, link, packet);
            }
        }
        self.scratch = scratch;
    }

    fn leave(&mut self, due: Time, node: usize, packet: PacketMeta, out: &mut impl FnMut(Leaving<'_>)) {
        let back = packet.flags.has(Flags::REVERSE);
        let flow = packet.flow.slot();
        if let Some(f) = self.flows.all.get_mut(flow) {
            let direction = &mut f.directions[usize::from(back)];
            direction.packets += 1;
            direction.bytes += packet.bytes();
        }
        let (came, payload) = self.came[packet.body as usize];
        let bytes = self.store.get_mut(packet.body);
        header::set_tos(bytes, packet.tos);
        // a host has a side: that is what made the packet's destination one
        if let Some(side) = self.side[node] {
            out(Leaving { side, bytes, due, came, flow, back, payload: usize::from(payload) });
        }
        self.store.free(packet.body);
    }
}

/// Most deadlines that draining waits for.
const DRAIN: u32 = 1_000_000;

/// Queue lengths that the distribution tells apart.
const QUEUE_BINS: u32 = 4096;
