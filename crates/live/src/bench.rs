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
use measure::LinkMeter;
use packet::{DropReason, FateSink, Flags, MarkReason, NodeId, PacketMeta, Point, header};
use port::{Env, Link, Port};
use record::{Mask, Record, Sink};
use scenario::{NO_LINK, Routes, Scenario, Task};
use std::net::IpAddr;
use units::{Duration, Problem, Time};

/// What has left the queue of a link, and what was dropped, since the run began: for the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
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

impl Sink for Totals {
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

/// A packet that was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedPacket {
    /// When.
    pub at: Time,
    /// Its flow.
    pub flow: usize,
    /// Whether it travelled from the flow's responder to its initiator.
    pub back: bool,
}

/// Frees what dropped packets own, and counts them.
struct Release<'a> {
    now: Time,
    store: &'a mut Store,
    flows: &'a mut [crate::flows::Flow],
    drops: &'a mut Vec<DroppedPacket>,
}

impl FateSink for Release<'_> {
    fn dropped(&mut self, packet: &PacketMeta, _: DropReason, _: Point) {
        self.store.free(packet.body);
        let (flow, back) = (packet.flow.slot(), packet.flags.has(Flags::REVERSE));
        self.drops.push(DroppedPacket { at: self.now, flow, back });
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
    pub entered: Time,
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

/// Where a port's records go: to the terminal's totals, the link's meter and the run's own sink.
type Tap<'a, S> = (&'a mut Totals, (Option<&'a mut LinkMeter>, &'a mut S));

/// The network of ports between the two namespaces.
#[derive(Debug)]
pub struct Bench<S: Sink = ()> {
    /// Every directed link.
    pub links: Vec<Link>,
    /// What the terminal shows of each.
    pub totals: Vec<Totals>,
    routes: Routes,
    side: Vec<Option<Side>>,
    /// Every 5-tuple seen.
    pub flows: Flows,
    store: Store,
    /// When each packet inside came in, and its payload, by body.
    entered: Vec<(Time, u16)>,
    /// Tasks to come, last first.
    tasks: Vec<(Time, Task)>,
    /// Packets that leave a port in one poll.
    scratch: Vec<PacketMeta>,
    /// Drops that the caller has not taken out yet.
    pub drops: Vec<DroppedPacket>,
    /// Packets that came for nobody.
    pub foreign: u64,
    /// Takes every record.
    pub sink: S,
}

impl<S: Sink> Bench<S> {
    /// The scenario's links at rest; series over `duration`.   Errors: as [`Port::build`].
    pub fn build(scenario: &Scenario, plan: &Plan, duration: Duration, sink: S) -> Result<Self, Problem> {
        let links: Vec<Link> = (0..)
            .zip(&plan.network.links)
            .map(|(i, link)| link.build(i, scenario, duration, link.build_port(i, scenario.seed)?))
            .collect::<Result<_, Problem>>()?;
        Ok(Self {
            totals: vec![Totals::default(); links.len()],
            links,
            routes: plan.network.routes.clone(),
            side: plan.side.clone(),
            flows: Flows::default(),
            store: Store::default(),
            entered: Vec::new(),
            tasks: plan.network.tasks(scenario.record.warm_up),
            scratch: Vec::new(),
            drops: Vec::new(),
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
        let link = self.routes.next(from, to);
        if link == NO_LINK {
            self.foreign += 1;
            return Arrival::Foreign;
        }
        let (flow, back, new) = self.flows.find(&h);
        let pure = h.flags.has(Flags::PURE_ACK);
        let seq = self.flows.unwrap(flow, back, pure, &h);
        let body = self.store.put(bytes);
        if self.entered.len() <= body as usize {
            self.entered.resize(body as usize + 1, (Time::ZERO, 0));
        }
        self.entered[body as usize] = (now, h.payload as u16);
        let packet = PacketMeta {
            stamp: now,
            seq,
            flow,
            body,
            size: bytes.len() as u16,
            dst: to,
            tos: h.tos,
            class: 0,
            flags: if back { h.flags.with(Flags::REVERSE) } else { h.flags },
        };
        self.offer(now, link, packet);
        Arrival::Taken { flow: flow.slot(), new, syn: !back && h.flags.has(Flags::SYN) }
    }

    /// Does everything that is due by `now`, in the order of time, and gives out what leaves.
    pub fn advance(&mut self, now: Time, out: &mut impl FnMut(Leaving<'_>)) {
        self.work(now, true, out);
    }

    /// When [`Bench::advance`] next has something to do.
    pub fn deadline(&self) -> Time {
        self.links.iter().map(|l| l.carrier.deadline()).fold(self.next_task(), Time::min)
    }

    /// When the next task is due.
    fn next_task(&self) -> Time {
        self.tasks.last().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// Packets inside: in queues, on links.
    pub fn inside(&self) -> usize {
        self.store.len()
    }

    /// The run is over at `now`: measures are closed.
    pub fn finish(&mut self, now: Time) {
        // a run that ended in its warm-up has nothing to count
        let in_warm_up = self.tasks.iter().any(|(_, task)| *task == Task::Begin);
        for link in &mut self.links {
            if in_warm_up {
                link.begin(now);
            }
            link.finish(now);
        }
    }

    /// Lets virtual time run until nothing moves any more; returns the packets that are left (behind a stopped link).
    ///
    /// After it no packet's bytes are without an owner: every one left is in a queue.
    pub fn drain(&mut self) -> usize {
        self.tasks.clear();
        // no packet comes in, so that every deadline serves a packet, or is a timer, which may go on behind a stopped link
        for _ in 0..DRAIN {
            let at = self.deadline();
            if self.inside() == 0 || at == Time::NEVER {
                break;
            }
            self.work(at, true, &mut |_| {});
        }
        let queued: u32 = self.links.iter().map(|l| l.carrier.backlog().packets).sum();
        assert!(self.inside() == queued as usize, "{} packets inside, {queued} queued", self.inside());
        self.inside()
    }

    /// The node of an address, if it is a host of `side`.
    fn host(&self, address: IpAddr, side: Side) -> Option<NodeId> {
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
        let node = number.checked_sub(1)?;
        (*self.side.get(usize::from(node))? == Some(side)).then_some(NodeId(node))
    }

    /// Work in the order of time: before `now`, or also at `now`.   Bound: every turn takes a task or moves a port past its deadline.
    fn work(&mut self, now: Time, inclusive: bool, out: &mut impl FnMut(Leaving<'_>)) {
        loop {
            let task = self.next_task();
            let ports = (0..).zip(&self.links).map(|(i, l)| (l.carrier.deadline(), i));
            let (at, link) = ports.min().unwrap_or((Time::NEVER, 0));
            let next = at.min(task);
            // the warm-up ends before all else of its moment
            let begins = next == task && matches!(self.tasks.last(), Some((_, Task::Begin)));
            if next == Time::NEVER || next > now || (next == now && !inclusive && !begins) {
                return;
            }
            if at < task {
                self.poll(at, link, out);
                continue;
            }
            match self.tasks.pop() {
                Some((at, Task::Begin)) => self.links.iter_mut().for_each(|link| link.begin(at)),
                Some((at, Task::Change(link, change))) => {
                    self.poll(at, link, out);
                    self.links[usize::from(link)].carrier.change(at, change);
                }
                None => return,
            }
        }
    }

    /// Lets the port of a link act.
    fn act<T>(&mut self, now: Time, link: u16, act: impl FnOnce(&mut Port, &mut Env<'_, Tap<'_, S>>) -> T) -> T {
        let i = usize::from(link);
        let Self { links, totals, flows, store, drops, sink, .. } = self;
        let Link { carrier, meter, .. } = &mut links[i];
        let mut sink = (&mut totals[i], (meter.as_deref_mut(), sink));
        let fate = &mut Release { now, store, flows: &mut flows.all, drops };
        act(carrier, &mut Env { flows: &flows.table, fate, sink: &mut sink })
    }

    fn offer(&mut self, now: Time, link: u16, packet: PacketMeta) {
        self.act(now, link, |port, env| port.offer(now, packet, env));
    }

    /// Polls one port, and hands on what has reached its far end.
    fn poll(&mut self, at: Time, link: u16, out: &mut impl FnMut(Leaving<'_>)) {
        let mut scratch = std::mem::take(&mut self.scratch);
        self.act(at, link, |port, env| port.poll(at, env, &mut |p| scratch.push(p)));
        let node = self.links[usize::from(link)].to;
        for packet in scratch.drain(..) {
            if node == packet.dst {
                self.leave(at, packet, out);
            } else {
                self.offer(at, self.routes.next(node, packet.dst), packet);
            }
        }
        self.scratch = scratch;
    }

    fn leave(&mut self, due: Time, packet: PacketMeta, out: &mut impl FnMut(Leaving<'_>)) {
        let back = packet.flags.has(Flags::REVERSE);
        let flow = packet.flow.slot();
        if let Some(f) = self.flows.all.get_mut(flow) {
            let direction = &mut f.directions[usize::from(back)];
            direction.packets += 1;
            direction.bytes += packet.bytes();
        }
        let (entered, payload) = self.entered[packet.body as usize];
        let bytes = self.store.get_mut(packet.body);
        header::set_tos(bytes, packet.tos);
        // a host has a side: that is what made the packet's destination one
        if let Some(side) = self.side[usize::from(packet.dst.0)] {
            out(Leaving { side, bytes, due, entered, flow, back, payload: usize::from(payload) });
        }
        self.store.free(packet.body);
    }
}

/// Most deadlines that draining waits for.
const DRAIN: u32 = 1_000_000;
