//! The bench, sans-I/O: real packets go in and come out, with every queue of the scenario between them.
//!
//! ```text
//! arrive(now, side, bytes) -> header, flow -> port -> port ... -> advance(now) -> (side, bytes, due)
//! ```
//!
//! Packets move through the ports of the links in the order of the ports' deadlines. Every transmission, drop and hand-over has
//! its exact virtual time, however late the caller calls `advance`. Only the last step, in which a packet leaves the bench, has to
//! wait for the caller. `due` is the time at which the packet should have left, so that the caller can measure its own lateness.
//!
//! The simulator runs the same [`port::Port`]; tests replay a simulation's arrivals through the bench on a fake clock
//! and compare the fate of every packet.

use crate::flows::Flows;
use crate::plan::{Plan, Side};
use crate::store::Store;
use crate::tun::MTU;
use measure::LinkMeter;
use packet::header::Header;
use packet::{DropReason, FateSink, Flags, MarkReason, NodeId, PacketMeta, Point, header};
use port::{Env, Link, Port};
use record::{Mask, Record, Sink};
use scenario::{NO_LINK, Routes, Scenario, Task};
use std::net::IpAddr;
use units::{Duration, Problem, Time};

/// Totals of one link since the run began, for the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Packets that left the queue.
    pub packets: u64,
    /// Bytes of the packets that left the queue.
    pub bytes: u64,
    /// Sum of the sojourn times of these packets, ns.
    pub sojourn_ns: u64,
    /// Maximum sojourn time, ns.
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
            Record::Dequeued { packet, sojourn, .. } => {
                self.packets += 1;
                self.bytes += u64::from(packet.size);
                self.sojourn_ns += sojourn.0;
                self.sojourn_max_ns = self.sojourn_max_ns.max(sojourn.0);
            }
            Record::Dropped { .. } => self.dropped += 1,
            _ => {}
        }
    }
}

/// A dropped packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedPacket {
    /// Time of the drop.
    pub at: Time,
    /// Slot of the packet's flow.
    pub flow: usize,
    /// True if the packet travelled from the flow's responder to its initiator.
    pub back: bool,
}

/// Handles dropped packets: frees their bytes, counts the drops, and adds them to the list for the caller.
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
    /// The namespace that the packet enters.
    pub side: Side,
    /// Bytes for the kernel, including the ECN mark if there is one.
    pub bytes: &'a [u8],
    /// Time at which the packet should have left the bench.
    pub due: Time,
    /// Time at which the packet entered the bench.
    pub entered: Time,
    /// Slot of the packet's flow.
    pub flow: usize,
    /// True if the packet travels from the flow's responder to its initiator.
    pub back: bool,
    /// Payload bytes after the transport header.
    pub payload: usize,
}

/// The result of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The packet is in the bench, or the first queue has dropped it.
    Taken {
        /// Slot of the packet's flow.
        flow: usize,
        /// True for the first packet of the flow.
        new: bool,
        /// True for a client's SYN.
        syn: bool,
    },
    /// The packet is discarded: it has no route to a host on the other side (for example multicast, or a packet that is
    /// not IP), or is longer than the MTU.
    Foreign,
}

/// The sinks of a port's records: the totals that the terminal shows, the link's meter (if there is one) and the run's
/// own sink.
type Tap<'a, S> = (&'a mut Totals, (Option<&'a mut LinkMeter>, &'a mut S));

/// The network of ports between the two namespaces.
#[derive(Debug)]
pub struct Bench<S: Sink = ()> {
    /// Every directed link.
    pub links: Vec<Link>,
    /// Totals of each link, for the terminal.
    pub totals: Vec<Totals>,
    routes: Routes,
    side: Vec<Option<Side>>,
    /// The flows of all 5-tuples that have entered the bench so far.
    pub flows: Flows,
    store: Store,
    /// Arrival time and payload size in bytes of each packet in the bench. The index is the index of the packet's bytes
    /// in `store`.
    entered: Vec<(Time, u16)>,
    /// Future tasks, latest first.
    tasks: Vec<(Time, Task)>,
    /// Reusable buffer for the packets that leave a port in one poll.
    scratch: Vec<PacketMeta>,
    /// Drops that the caller has not yet processed.
    pub drops: Vec<DroppedPacket>,
    /// Packets discarded as [`Arrival::Foreign`].
    pub foreign: u64,
    /// The run's own sink, for the records of all links.
    pub sink: S,
}

impl<S: Sink> Bench<S> {
    /// Builds a bench with the scenario's links, which are idle. `duration` is the length of the links' time series.
    ///
    /// Errors: those of [`Port::build`] and [`LinkMeter::new`].
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

    /// Handles a packet from the kernel of `side`. `now` must not decrease from call to call.
    pub fn arrive(&mut self, now: Time, side: Side, bytes: &[u8], out: &mut impl FnMut(Leaving<'_>)) -> Arrival {
        // work due before `now` is done first, and so is the end of the warm-up if it is due at `now`. The packet's
        // first port decides whether its other work due exactly at `now` comes before or after the arrival
        self.work(now, false, out);
        let Some((h, link, to)) = self.route(side, bytes) else {
            self.foreign += 1;
            return Arrival::Foreign;
        };
        let (flow, back, new) = self.flows.find(&h);
        let pure = h.flags.has(Flags::PURE_ACK);
        let seq = self.flows.unwrap(flow, back, pure, &h);
        let body = self.put(now, h.payload as u16, bytes);
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

    /// Returns three things about a packet that comes from `side`: its header, the first link of its route, and its
    /// destination node. Returns `None` if the packet cannot be parsed, is longer than the MTU, or has no route from a
    /// host of `side` to a host of the other side.
    fn route(&self, side: Side, bytes: &[u8]) -> Option<(Header, u16, NodeId)> {
        let h = header::parse(bytes).filter(|_| bytes.len() <= MTU)?;
        let (from, to) = (self.host(h.src, side)?, self.host(h.dst, side.other())?);
        let link = self.routes.next(from, to);
        (link != NO_LINK).then_some((h, link, to))
    }

    /// Does all work due by `now`, in time order, and passes the packets that leave to `out`.
    pub fn advance(&mut self, now: Time, out: &mut impl FnMut(Leaving<'_>)) {
        self.work(now, true, out);
    }

    /// Returns the next time at which [`Bench::advance`] has work to do.
    pub fn deadline(&self) -> Time {
        self.links.iter().map(|l| l.carrier.deadline()).fold(self.next_task(), Time::min)
    }

    fn next_task(&self) -> Time {
        self.tasks.last().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// Returns the number of packets in the bench, in queues and on links.
    pub fn inside(&self) -> usize {
        self.store.len()
    }

    /// Ends the run at `now` and completes the measures of all links.
    pub fn finish(&mut self, now: Time) {
        // if the run ends during the warm-up, the warm-up ends at `now`, too, so that the links' measures exclude
        // everything that happened before
        let in_warm_up = self.tasks.iter().any(|(_, task)| *task == Task::Begin);
        for link in &mut self.links {
            if in_warm_up {
                link.begin(now);
            }
            link.finish(now);
        }
    }

    /// Advances virtual time until no packet moves any more. Returns the number of packets that are left; they wait in
    /// the queues of stopped links.
    ///
    /// Asserts that every remaining packet is in a queue, which shows that no packet's bytes have leaked.
    pub fn drain(&mut self) -> usize {
        self.tasks.clear();
        // no packet enters, so at every deadline, either a packet moves or a timer fires. A stopped link's timers may
        // fire forever, so the loop is bounded
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

    /// Returns the node that has `address`, if this node is a host of `side`.
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

    /// Does the work due before `now` in time order; with `inclusive`, also the work due at `now`.
    ///
    /// Bound: each iteration either removes a task from the list or moves a port past its deadline.
    fn work(&mut self, now: Time, inclusive: bool, out: &mut impl FnMut(Leaving<'_>)) {
        loop {
            let task = self.next_task();
            let ports = (0..).zip(&self.links).map(|(i, l)| (l.carrier.deadline(), i));
            let (at, link) = ports.min().unwrap_or((Time::NEVER, 0));
            let next = at.min(task);
            // if the end of the warm-up and other work are due at the same time, the end of the warm-up comes first. So
            // if the warm-up ends at `now`, it ends in this call even if `inclusive` is false
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

    /// Calls `act` with the port of a link and its environment.
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

    /// Polls one port, and forwards the packets that have reached its far end.
    fn poll(&mut self, at: Time, link: u16, out: &mut impl FnMut(Leaving<'_>)) {
        let mut scratch = std::mem::take(&mut self.scratch);
        self.act(at, link, |port, env| port.poll(at, env, &mut |p| scratch.push(p)));
        let node = self.links[usize::from(link)].to;
        for packet in scratch.drain(..) {
            let twice = self.links[usize::from(link)].carrier.duplicates();
            let copy = twice.then(|| self.copy(packet));
            for packet in [Some(packet), copy].into_iter().flatten() {
                if node == packet.dst {
                    self.leave(at, packet, out);
                } else {
                    self.offer(at, self.routes.next(node, packet.dst), packet);
                }
            }
        }
        self.scratch = scratch;
    }

    /// Returns a copy of a packet. The bytes are copied too, because each of the two packets later frees its own bytes.
    #[cold]
    fn copy(&mut self, packet: PacketMeta) -> PacketMeta {
        let bytes = self.store.get_mut(packet.body).to_vec();
        let (entered, payload) = self.entered[packet.body as usize];
        PacketMeta { body: self.put(entered, payload, &bytes), ..packet }
    }

    /// Stores the bytes of a packet that entered the bench at the time `entered`. Returns the index of these bytes in
    /// `store`.
    fn put(&mut self, entered: Time, payload: u16, bytes: &[u8]) -> u32 {
        let body = self.store.put(bytes);
        if self.entered.len() <= body as usize {
            self.entered.resize(body as usize + 1, (Time::ZERO, 0));
        }
        self.entered[body as usize] = (entered, payload);
        body
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
        // the destination is a host, and every host has a side
        if let Some(side) = self.side[usize::from(packet.dst.0)] {
            out(Leaving { side, bytes, due, entered, flow, back, payload: usize::from(payload) });
        }
        self.store.free(packet.body);
    }
}

/// Maximum number of deadlines that draining handles.
const DRAIN: u32 = 1_000_000;
