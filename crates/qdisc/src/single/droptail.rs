//! DropTail: one FIFO that drops when it is full.
//!
//! An arrival of s bytes is dropped if q + 1 > limit (packets), bytes + s > limit (bytes), or
//! bytes + s > span x rate / 8 (time). With `ns2_off_by_one`, the comparison is >=. With `drop_head`, the oldest packets
//! are dropped instead, until the arrival fits; an arrival that does not fit into an empty queue is dropped too.
//!
//! With `super_segment` = n > 1, packets are counted as in a Linux queue behind a sender with segmentation offload.
//! There, a super-segment of up to n segments counts as one packet towards the limit. So the queue holds up to
//! n x limit segments, and its longest wait is n x limit x MTU x 8 / rate. A segment joins the super-segment in front
//! of it, and needs no additional room, iff part of the super-segment still waits, it has had fewer than n segments, and
//! its last segment belongs to the same TCP flow and direction, has the same size and is adjacent in the stream. Pure
//! ACKs, SYN and FIN never join. A super-segment counts until its last segment has left. In Linux, n is 2 for senders
//! of up to 1.4 MB/s with a round trip of 5 ms or more: `tcp_tso_autosize` fills a super-segment with the bytes of 1 ms
//! at the pacing rate (at most twice the sender's rate), but with at least `tcp_min_tso_segs` = 2 segments. On shorter
//! round trips, it adds more bytes.
//!
//! Source: ns-2 queue/drop-tail.cc; tc pfifo, bfifo (super-segments).
//! Departs: `drop_head` with a limit in bytes drops as many heads as the arrival needs; ns-2 drops one head. Linux
//! queues and frees all segments of a super-segment at once. In this model, they arrive one after another, as the link
//! in front of the queue sends them. So segments that were sent separately may also join, and a segment behind a
//! refused segment is tested on its own.

use crate::declared::params;
use crate::{Context, Fifo, Params, QueueDiscipline, Room};
use packet::{Backlog, DropReason, Flags, FlowTable, PacketMeta, Point, Protocol, Reading};
use std::collections::VecDeque;
use units::{BitRate, Limit, Problem, Time, ensure};

/// Maximum number of segments in a super-segment: an IPv4 datagram of 64 KiB holds 45 segments of 1448 bytes.
const MOST_SEGMENTS: u8 = 45;

params! {
    /// Parameters of drop-tail. The default limit is that of a Linux interface (txqueuelen).
    pub struct DroptailParams {
        /// Maximum length of the queue: packets ("417p"), bytes ("600KB") or time at the link's rate ("50ms").
        limit: Limit = Limit::Packets(1000),
        /// Stores one packet less than `limit` (one byte less if `limit` is in bytes or time), like ns-2's DropTail.
        ns2_off_by_one: bool = false,
        /// Drops the oldest packets to make room for an arrival, instead of dropping the arrival.
        drop_head: bool = false,
        /// Maximum number of consecutive TCP segments that `limit` counts as one packet, 1 (off) to 45. A Linux queue
        /// counts in this way if the sender uses segmentation offload. Segments are counted together only if they
        /// belong to one flow and have the same size. A value above 1 needs a `limit` in packets.
        super_segment: u8 = 1,
    }
}

impl Params for DroptailParams {
    type Discipline = DropTail;
    fn validate(&self) -> Result<(), Problem> {
        let n = self.super_segment;
        let most = MOST_SEGMENTS;
        ensure!((1..=most).contains(&n), "super_segment", "{n} is not valid; expected 1 to {most} segments");
        let (limit, packets) = (self.limit, matches!(self.limit, Limit::Packets(_)));
        ensure!(
            n == 1 || packets,
            "super_segment",
            "{n} needs a limit in packets, and limit is {limit}; expected 1 here, or a limit like \"100p\""
        );
        Room::validate(limit, self.ns2_off_by_one)
    }
    fn validate_at(&self, rate: BitRate) -> Result<(), Problem> {
        Room::validate_at(self.limit, self.ns2_off_by_one, rate)
    }
    fn build(&self) -> DropTail {
        DropTail {
            room: Room::new(self.limit, self.ns2_off_by_one),
            drop_head: self.drop_head,
            fifo: Fifo::default(),
            supers: (self.super_segment > 1).then(|| SuperSegments::new(self.super_segment)),
        }
    }
    fn limit(&self) -> Option<Limit> {
        Some(self.limit)
    }
}

/// A FIFO that drops when it is full.
#[derive(Clone, Debug, PartialEq)]
pub struct DropTail {
    room: Room,
    drop_head: bool,
    fifo: Fifo,
    supers: Option<SuperSegments>,
}

/// The super-segments in the queue. Each of them counts as one packet towards the limit.
#[derive(Clone, Debug, PartialEq)]
struct SuperSegments {
    /// Maximum number of segments in one super-segment.
    most: u8,
    /// Number of segments still in the queue for each super-segment, oldest first; never 0.
    held: VecDeque<u8>,
    /// Number of segments that have joined the newest super-segment, including those that have left.
    taken: u8,
    /// The packet that was accepted last.
    last: PacketMeta,
}

impl SuperSegments {
    fn new(most: u8) -> Self {
        Self { most, held: VecDeque::new(), taken: 0, last: PacketMeta::default() }
    }

    /// Returns true if `packet` is the next segment of the newest super-segment.
    fn joins(&self, packet: &PacketMeta, flows: &FlowTable) -> bool {
        let last = &self.last;
        let data = |p: &PacketMeta| !p.flags.any(Flags::PURE_ACK.with(Flags::SYN).with(Flags::FIN));
        // the packet is the next one in the stream if its sequence number exceeds that of `last` by the payload of
        // `last`. The payload is not stored here, so the code accepts every difference below the whole size of `last`.
        // A gap in the stream that is shorter than the headers is therefore not detected
        let next = packet.seq > last.seq && packet.seq - last.seq < last.bytes();
        !self.held.is_empty()
            && self.taken < self.most
            && (packet.flow, packet.size) == (last.flow, last.size)
            && packet.flags.has(Flags::REVERSE) == last.flags.has(Flags::REVERSE)
            && data(packet)
            && data(last)
            && next
            && flows.get(packet.flow).protocol == Protocol::TCP
    }

    /// Counts an accepted packet: as part of the newest super-segment if `joins` is true, otherwise as the first
    /// segment of a new super-segment.
    fn came(&mut self, packet: PacketMeta, joins: bool) {
        match self.held.back_mut() {
            Some(held) if joins => (*held, self.taken) = (*held + 1, self.taken + 1),
            _ => {
                self.held.push_back(1);
                self.taken = 1;
            }
        }
        self.last = packet;
    }

    /// Updates the counts after the oldest segment has left the queue.
    fn left(&mut self) {
        if let Some(held) = self.held.front_mut() {
            *held -= 1;
            if *held == 0 {
                self.held.pop_front();
            }
        }
    }
}

impl DropTail {
    /// Returns the backlog as the limit counts it: with `super_segment`, each super-segment is one packet.
    #[inline]
    fn counted(&self) -> Backlog {
        let backlog = self.fifo.backlog();
        match &self.supers {
            None => backlog,
            Some(s) => Backlog { packets: s.held.len() as u32, ..backlog },
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<PacketMeta> {
        let packet = self.fifo.pop();
        if let (Some(_), Some(s)) = (&packet, &mut self.supers) {
            s.left();
        }
        packet
    }
}

impl QueueDiscipline for DropTail {
    #[inline]
    fn enqueue(&mut self, packet: PacketMeta, cx: &mut Context<'_>) {
        let joins = self.supers.as_ref().is_some_and(|s| s.joins(&packet, cx.flows));
        // bound: every iteration removes a stored packet or returns
        while !joins && !self.room.fits(self.counted(), &packet, cx.link) {
            match if self.drop_head { self.pop() } else { None } {
                Some(head) => cx.fate.dropped(&head, DropReason::HeadFull, Point::Enqueue),
                None => return cx.fate.dropped(&packet, DropReason::TailFull, Point::Enqueue),
            }
        }
        if let Some(s) = &mut self.supers {
            s.came(packet, joins);
        }
        self.fifo.push(packet);
    }

    #[inline]
    fn dequeue(&mut self, _cx: &mut Context<'_>) -> Option<PacketMeta> {
        self.pop()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn head_arrival(&self) -> Option<Time> {
        self.fifo.front().map(|p| p.stamp)
    }

    /// Reports nothing: a plain queue has no control state.
    fn probe(&self, _: &mut Reading<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::{FateSink, FlowId, FlowTuple, LinkView, MarkReason};
    use units::{BitRate, Bytes, Rng, Time};

    #[derive(Default)]
    struct Dropped(Vec<u64>);

    impl FateSink for Dropped {
        fn dropped(&mut self, packet: &PacketMeta, _: DropReason, _: Point) {
            self.0.push(packet.seq);
        }
        fn marked(&mut self, _: &PacketMeta, _: MarkReason, _: Point) {}
    }

    struct Script {
        queue: DropTail,
        rng: Rng,
        link: LinkView,
        flows: FlowTable,
        dropped: Dropped,
    }

    /// Creates an empty queue. All flows are TCP except flow 9.
    fn script(limit: u32, super_segment: u8, drop_head: bool) -> Script {
        let params = DroptailParams { limit: Limit::Packets(limit), super_segment, drop_head, ..Default::default() };
        params.validate().unwrap();
        let mut flows = FlowTable::default();
        flows.set(FlowId(9), FlowTuple { protocol: Protocol::UDP, ..Default::default() });
        let link = LinkView::plain(BitRate(10_000_000));
        Script { queue: params.build(), rng: Rng::named(1, "q"), link, flows, dropped: Dropped::default() }
    }

    impl Script {
        fn put(&mut self, packet: PacketMeta) {
            let Self { queue, rng, link, flows, dropped } = self;
            queue.enqueue(packet, &mut Context { now: Time::ZERO, rng, link, flows, fate: dropped });
        }
        /// Offers segment number `n` of a flow: a packet of 1500 bytes with 1448 bytes of payload.
        fn segment(&mut self, flow: u32, n: u64) {
            self.put(PacketMeta { flow: FlowId(flow), seq: n * 1448, size: 1500, ..Default::default() });
        }
        fn pull(&mut self) -> Option<u64> {
            let Self { queue, rng, link, flows, dropped } = self;
            queue.dequeue(&mut Context { now: Time::ZERO, rng, link, flows, fate: dropped }).map(|p| p.seq)
        }
        /// Returns the number of packets that the limit counts, the number of segments in the queue, and the number of
        /// segments dropped so far.
        fn state(&self) -> (u32, u32, usize) {
            (self.queue.counted().packets, self.queue.backlog().packets, self.dropped.0.len())
        }
    }

    #[test]
    fn a_limit_of_3_packets_of_2_segments_holds_6() {
        let mut q = script(3, 2, false);
        (0..8).for_each(|n| q.segment(1, n));
        // segments 0 to 5 form three super-segments of two segments each: 0 1 | 2 3 | 4 5. Segments 6 and 7 find the
        // queue full.
        assert_eq!((q.state(), &q.dropped.0[..]), ((3, 6, 2), &[6 * 1448, 7 * 1448][..]));
        // a super-segment counts towards the limit until its last segment has left
        assert_eq!((q.pull(), q.state().0), (Some(0), 3));
        assert_eq!((q.pull(), q.state().0), (Some(1448), 2));
        // segment 8 follows a hole in the stream, so it starts a new super-segment, which segment 9 joins. Segment 10
        // is dropped: this super-segment already has two segments, and the queue has no room for another super-segment
        [8, 9, 10].into_iter().for_each(|n| q.segment(1, n));
        assert_eq!(q.state(), (3, 6, 3));
        assert_eq!((0..7).map_while(|_| q.pull()).count(), 6);
        assert_eq!(q.state(), (0, 0, 3));
        // the queue is empty, so segment 10 starts a new super-segment
        q.segment(1, 10);
        q.segment(1, 11);
        assert_eq!(q.state(), (1, 2, 3));
    }

    #[test]
    fn the_rest_of_a_packet_whose_head_has_left_still_belongs_to_it() {
        let mut q = script(1, 3, false);
        q.segment(1, 0);
        q.segment(1, 1);
        assert_eq!((q.pull(), q.state()), (Some(0), (1, 1, 0)));
        // segment 2 is the third segment, which completes the super-segment, so segment 3 finds the queue full
        q.segment(1, 2);
        q.segment(1, 3);
        assert_eq!(q.state(), (1, 2, 1));
    }

    #[test]
    fn what_counts_for_itself() {
        let full = PacketMeta { flow: FlowId(1), seq: 1448, size: 1500, ..Default::default() };
        let others = [
            ("another flow", PacketMeta { flow: FlowId(2), ..full }),
            ("the way back", PacketMeta { flags: Flags::REVERSE, ..full }),
            ("a smaller one", PacketMeta { size: 600, ..full }),
            ("a hole of one segment before it", PacketMeta { seq: 2 * 1448, ..full }),
            ("a retransmission of the same", PacketMeta { seq: 0, ..full }),
            ("an ACK", PacketMeta { flags: Flags::PURE_ACK, ..full }),
            ("the end of the stream", PacketMeta { flags: Flags::FIN, ..full }),
        ];
        for (what, packet) in others {
            let mut q = script(9, 2, false);
            q.segment(1, 0);
            q.put(packet);
            assert_eq!(q.state(), (2, 2, 0), "{what}");
        }
        // UDP datagrams do not form super-segments, although their sequence numbers are adjacent
        let mut q = script(9, 2, false);
        (0..2).for_each(|n| q.put(PacketMeta { flow: FlowId(9), seq: n, size: 1500, ..Default::default() }));
        assert_eq!(q.state(), (2, 2, 0));
        // a packet of another flow between two segments separates them
        let mut q = script(9, 2, false);
        q.segment(1, 0);
        q.put(PacketMeta { flow: FlowId(9), seq: 1, size: 98, ..Default::default() });
        q.segment(1, 1);
        assert_eq!(q.state(), (3, 3, 0));
    }

    #[test]
    fn dropped_heads_go_as_whole_packets() {
        let mut q = script(2, 2, true);
        (0..5).for_each(|n| q.segment(1, n));
        assert_eq!((q.state(), &q.dropped.0[..]), ((2, 3, 2), &[0, 1448][..]));
        assert_eq!(q.pull(), Some(2 * 1448));
    }

    #[test]
    fn one_is_a_plain_queue() {
        let mut q = script(3, 1, false);
        (0..5).for_each(|n| q.segment(1, n));
        assert_eq!(q.state(), (3, 3, 2));
    }

    #[test]
    fn refused() {
        let of = |limit, super_segment| DroptailParams { limit, super_segment, ..Default::default() }.validate();
        assert!(of(Limit::Packets(5), 0).unwrap_err().message.contains("1 to 45"));
        assert!(of(Limit::Packets(5), 46).unwrap_err().message.contains("1 to 45"));
        assert!(of(Limit::Bytes(Bytes(9000)), 2).unwrap_err().message.contains("limit in packets"));
        assert!(of(Limit::Bytes(Bytes(9000)), 1).is_ok() && of(Limit::Packets(5), 45).is_ok());
    }
}
