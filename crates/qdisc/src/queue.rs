//! A wrapper that counts the packets offered to a discipline, and those that the discipline sends, marks and drops.

use crate::{Context, Discipline, QueueDiscipline, ServiceFlows};
use packet::{Backlog, Count, DropReason, FateSink, MarkReason, PacketMeta, Point, ServiceFlow};
use units::Time;

/// Counts of packets offered to a queue, by fate.
///
/// After every call, offered = delivered + dropped + queued, in packets and in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Arrivals.
    pub offered: Count,
    /// Departures towards the link.
    pub delivered: Count,
    /// Drops, indexed by the reason (in the order of [`DropReason::ALL`]) and the point (enqueue, dequeue).
    pub dropped: [[Count; 2]; DropReason::ALL.len()],
    /// Marks, indexed by the reason (law, step) and the point (enqueue, dequeue).
    pub marked: [[u64; 2]; 2],
}

impl Counters {
    /// Returns the sum of all drops, in packets and bytes.
    pub fn dropped_total(&self) -> Count {
        self.dropped.iter().flatten().fold(Count::default(), |sum, c| sum.plus(*c))
    }

    /// Returns true if offered = delivered + dropped + `queued`.
    pub fn balance(&self, queued: Backlog) -> bool {
        let queued = Count { packets: u64::from(queued.packets), bytes: queued.bytes };
        self.offered == self.delivered.plus(self.dropped_total()).plus(queued)
    }

    #[inline]
    fn refused(&self) -> u64 {
        let at_tail = |reason: DropReason| self.dropped[reason as usize][Point::Enqueue as usize].packets;
        at_tail(DropReason::TailFull) + at_tail(DropReason::EarlyTail)
    }
}

/// A sink that counts drops and marks, and passes them on to the host.
struct Tally<'a> {
    counters: &'a mut Counters,
    backlog: &'a mut Backlog,
    host: &'a mut dyn FateSink,
}

impl FateSink for Tally<'_> {
    fn dropped(&mut self, packet: &PacketMeta, reason: DropReason, point: Point) {
        self.counters.dropped[reason as usize][point as usize].add(packet);
        self.backlog.remove(packet.bytes());
        self.host.dropped(packet, reason, point);
    }
    fn marked(&mut self, packet: &PacketMeta, reason: MarkReason, point: Point) {
        self.counters.marked[reason as usize][point as usize] += 1;
        self.host.marked(packet, reason, point);
    }
}

/// A discipline with its counters. It stamps arrivals, counts packets by fate and, in debug builds, checks the balance on every
/// call.
///
/// The backlog and the wake time change only during calls. Both are stored here, because the host reads them more often
/// than it calls the discipline.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue<D = Discipline> {
    discipline: D,
    counters: Counters,
    backlog: Backlog,
    wake: Time,
}

impl<D: QueueDiscipline> Queue<D> {
    /// Wraps a discipline, which must be empty.
    pub fn new(discipline: D) -> Self {
        let wake = discipline.next_wake().unwrap_or(Time::NEVER);
        Self { backlog: discipline.backlog(), discipline, counters: Counters::default(), wake }
    }

    /// Offers `packet`. Returns false if the discipline refused the packet. The discipline may also have dropped other
    /// packets, for example to make room.
    #[inline]
    pub fn enqueue(&mut self, mut packet: PacketMeta, cx: &mut Context<'_>) -> bool {
        // A packet from a chain of links already has the right stamp. Writing the stamp just before the packet is
        // copied would stall the processor.
        if packet.stamp != cx.now {
            packet.stamp = cx.now;
        }
        self.counters.offered.add(&packet);
        self.backlog.add(packet.bytes());
        let refused = self.counters.refused();
        self.call(cx, |d, cx| d.enqueue(packet, cx));
        self.check();
        self.counters.refused() == refused
    }

    /// Fills an empty queue with the packets in `waiting`, which are in order of arrival and keep their stamps. The
    /// discipline must accept all of them. `counters` counts all packets so far, including these.
    pub fn refill(&mut self, waiting: &[PacketMeta], counters: Counters, cx: &mut Context<'_>) {
        for packet in waiting {
            self.backlog.add(packet.bytes());
            self.call(cx, |d, cx| d.enqueue(*packet, cx));
        }
        self.counters = counters;
        self.check();
    }

    /// Returns the next packet to send. The packet's `stamp` still contains its time of arrival.
    #[inline]
    pub fn dequeue(&mut self, cx: &mut Context<'_>) -> Option<PacketMeta> {
        let packet = self.call(cx, |d, cx| d.dequeue(cx));
        self.delivered(packet)
    }

    #[inline]
    fn delivered(&mut self, packet: Option<PacketMeta>) -> Option<PacketMeta> {
        if let Some(packet) = &packet {
            self.counters.delivered.add(packet);
            self.backlog.remove(packet.bytes());
        }
        self.check();
        packet
    }

    /// Returns the next packet of one service flow. In a discipline without service flows, returns the next packet of the whole
    /// queue.
    pub fn dequeue_of(&mut self, flow: ServiceFlow, cx: &mut Context<'_>) -> Option<PacketMeta> {
        let packet = self.call(cx, |d, cx| match d.service_flows_mut() {
            Some(flows) => flows.dequeue_of(flow),
            None => d.dequeue(cx),
        });
        self.delivered(packet)
    }

    /// Returns the backlog of a modem's two service flows, L (low latency) and C (classic), in bytes of frames with the
    /// MAC header. For a discipline without service flows, returns 0 for L and the whole backlog for C.
    pub fn frames(&self) -> [u64; 2] {
        let all = || [0, self.discipline.backlog().docsis_frames()];
        self.discipline.service_flows().map_or_else(all, ServiceFlows::frames)
    }

    /// Returns the size in bytes of the IP packet at the head of each service flow; 0 for an empty queue and for a discipline
    /// without service flows.
    pub fn head_bytes(&self) -> [u64; 2] {
        self.discipline.service_flows().map_or([0; 2], ServiceFlows::head_bytes)
    }

    /// Returns the time at which the host must next call `wake`; `None` if no timer is set.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        (self.wake != Time::NEVER).then_some(self.wake)
    }

    /// Handles the expiry of the discipline's timer.
    pub fn wake(&mut self, cx: &mut Context<'_>) {
        self.call(cx, |d, cx| d.wake(cx));
        self.check();
    }

    /// Returns the packets and bytes queued.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Returns the counts so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the wrapped discipline, for probes.
    pub fn discipline(&self) -> &D {
        &self.discipline
    }

    #[inline]
    fn call<T>(&mut self, cx: &mut Context<'_>, f: impl FnOnce(&mut D, &mut Context<'_>) -> T) -> T {
        let Self { discipline, counters, backlog, wake } = self;
        let mut tally = Tally { counters, backlog, host: &mut *cx.fate };
        let mut cx = Context { now: cx.now, rng: &mut *cx.rng, link: cx.link, flows: cx.flows, fate: &mut tally };
        let result = f(discipline, &mut cx);
        *wake = discipline.next_wake().unwrap_or(Time::NEVER);
        result
    }

    #[inline]
    fn check(&self) {
        debug_assert!(self.balances(), "the books do not balance: {:?} against {:?}", self.counters, self.backlog);
    }

    /// Returns true if the discipline holds exactly the packets that were offered and neither delivered nor dropped.
    fn balances(&self) -> bool {
        self.backlog == self.discipline.backlog() && self.counters.balance(self.backlog)
    }
}
