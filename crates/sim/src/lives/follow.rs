//! Follows a packet through a run: it arrives at a queue, leaves the queue, is marked or dropped, reaches the far end and is
//! acknowledged.

use super::table::{Key, Leg, Life, NONE};
use super::{Arriving, DirectedFlow, Lives, MOST_BYTES, Phase, Slot};
use packet::{DropReason, FlowId, Point};
use record::{CapturedPacket, FlowOwner, LinkId, PacketId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{Duration, Time};

impl Lives {
    /// Returns the row (the index in `flows`) of a flow and direction; adds a row if the flow and direction are new.
    pub(super) fn flow(&mut self, flow: FlowId, reverse: bool) -> u32 {
        if self.slots.len() <= flow.slot() {
            self.slots.resize_with(flow.slot() + 1, Slot::unused);
        }
        if self.slots[flow.slot()].flow != flow {
            let ended = std::mem::replace(&mut self.slots[flow.slot()], Slot { flow, ..Slot::unused() });
            ended.unacknowledged.into_iter().flatten().for_each(|Reverse((_, row))| self.settle(row));
        }
        let row = &mut self.slots[flow.slot()].rows[usize::from(reverse)];
        if *row == NONE {
            *row = self.flows.len() as u32;
            let owner = FlowOwner { app: u16::MAX, flow: u32::MAX, connection: u32::MAX };
            self.flows.push(DirectedFlow { id: flow, owner, reverse, least: Duration(u64::MAX) });
        }
        *row
    }

    /// Ends the window now if the tables hold too many packets or take up too much memory. If the window has not begun,
    /// it ends at its start.
    pub(super) fn bound(&mut self, now: Time) {
        let bytes = self.table.bytes() + self.senders.bytes();
        if now < self.until && (self.table.len() > self.most_packets || bytes > MOST_BYTES) {
            self.shortened = true;
            self.until = now.max(self.from);
            self.next = self.next.min(self.until);
        }
    }

    /// Begins the leg of a packet that enters the queue of `key.link`: the packet that has just arrived there, or one
    /// segment of that packet. Returns the leg; `None` if the packet has no row yet and the window has ended.
    fn begin(&mut self, now: Time, key: Key) -> Option<u32> {
        let arriving = self.arriving.take_if(|a| a.key == key);
        let (row, marked) = match arriving {
            Some(Arriving { row: Some(row), marked, .. }) => (row, marked),
            _ if now >= self.until => return None,
            Some(Arriving { life, tag, marked, .. }) => {
                let row = self.table.add(life);
                self.table.tag(tag, row);
                if life.end > 0 {
                    let slot = &mut self.slots[key.flow.slot()];
                    slot.unacknowledged[usize::from(key.reverse)].push(Reverse((life.end, row)));
                }
                (row, marked)
            }
            None => (self.piece(now, key), Time::NEVER),
        };
        let leg = self.table.enter(key, row, now);
        self.table.leg(leg).marked = marked;
        self.bound(now);
        Some(leg)
    }

    /// Adds a row for one segment of a packet of several segments (GSO). The segment's `flags`, `ecn` and `end` are not
    /// known here, so they are 0.
    fn piece(&mut self, now: Time, key: Key) -> u32 {
        let flow = self.flow(key.flow, key.reverse);
        let Key { seq, size, .. } = key;
        let (sent, never) = (now, Time::NEVER);
        let life = Life {
            flow,
            seq,
            end: 0,
            size,
            flags: 0,
            ecn: 0,
            again: false,
            sent,
            arrived: never,
            acknowledged: never,
            last: NONE,
            tag: NONE,
            used: true,
        };
        self.table.add(life)
    }

    pub(super) fn enqueued(&mut self, now: Time, link: LinkId, packet: &PacketId) {
        if let Some(leg) = self.begin(now, Key::new(link, packet)) {
            self.entered = leg;
        }
    }

    pub(super) fn dequeued(&mut self, now: Time, link: LinkId, packet: &PacketId, entered: Time) {
        let key = Key::new(link, packet);
        let waits = |leg: &Leg| leg.left == Time::NEVER;
        let leg = self.table.find(&key, |leg| waits(leg) && leg.entered == entered);
        if let Some(leg) = leg.or_else(|| self.table.find(&key, waits)) {
            self.table.leg(leg).left = now;
        }
    }

    pub(super) fn dropped(
        &mut self,
        now: Time,
        link: LinkId,
        packet: &PacketId,
        (reason, point, entered): (DropReason, Point, Time),
    ) {
        let key = Key::new(link, packet);
        let on_the_way = matches!(reason, DropReason::LinkLoss | DropReason::TransmitQueueFull);
        let is = |leg: &Leg| on_the_way == (leg.left != Time::NEVER);
        let arrives = point == Point::Enqueue && matches!(reason, DropReason::TailFull | DropReason::EarlyTail);
        let leg = match &self.arriving {
            Some(arriving) if arrives && arriving.key == key => None,
            _ => self.table.find(&key, |leg| is(leg) && leg.entered == entered).or_else(|| self.table.find(&key, is)),
        };
        let Some(leg) = leg.or_else(|| self.begin(now, key)) else { return };
        let row = self.table.leg(leg);
        (row.dropped, row.drop_reason) = (now, reason as u8);
        let packet = row.packet;
        self.table.end(&key, leg);
        self.ended(packet);
    }

    pub(super) fn marked(&mut self, now: Time, link: LinkId, packet: &PacketId, point: Point) {
        let key = Key::new(link, packet);
        match &mut self.arriving {
            Some(arriving) if point == Point::Enqueue && arriving.key == key => arriving.marked = now,
            _ => {
                let waits = |leg: &Leg| leg.left == Time::NEVER && leg.marked == Time::NEVER;
                if let Some(leg) = self.table.find(&key, waits) {
                    self.table.leg(leg).marked = now;
                }
            }
        }
    }

    /// Handles a packet that needs no further ACK. Before the window begins, the rows of such a packet are freed: now
    /// if the packet has ended, otherwise when it ends. Later, all rows are kept.
    fn settle(&mut self, packet: u32) {
        if self.phase == Phase::Before {
            self.table.packet(packet).end = 0;
            if self.table.has_ended(packet) {
                self.table.forget(packet);
            }
        }
    }

    /// Handles a packet that has arrived at its destination or was dropped. Before the window begins, its rows are
    /// freed, unless an ACK is still expected.
    fn ended(&mut self, packet: u32) {
        self.table.untag(packet);
        // the rows of a packet with payload are kept until its ACK arrives
        if self.phase == Phase::Before && self.table.packet(packet).end == 0 {
            self.table.forget(packet);
        }
    }

    /// Handles a packet that arrives at the queue of a link.
    pub(super) fn arrives(&mut self, now: Time, captured: &CapturedPacket<'_>) {
        let packet = captured.packet;
        let id = PacketId::from(packet);
        let flow = self.flow(id.flow, id.reverse);
        let row = self.table.passing(now, packet, flow);
        let segment = captured.segment;
        let life = Life {
            flow,
            seq: packet.seq,
            end: segment.filter(|s| s.len > 0).map_or(0, |s| s.seq + u64::from(s.len)),
            size: packet.size,
            flags: packet.flags.0,
            ecn: packet.tos & 3,
            again: segment.is_some_and(|s| s.retransmission),
            sent: now,
            arrived: Time::NEVER,
            acknowledged: Time::NEVER,
            last: NONE,
            tag: NONE,
            used: true,
        };
        let key = Key::new(captured.link, &id);
        self.arriving = Some(Arriving { key, row, life, tag: packet.body, marked: Time::NEVER });
    }

    /// Handles a packet that reaches the far end of a link.
    pub(super) fn reaches(&mut self, now: Time, captured: &CapturedPacket<'_>) {
        let packet = captured.packet;
        let id = PacketId::from(packet);
        let key = Key::new(captured.link, &id);
        let home = packet.dst == self.ends[usize::from(captured.link.0)];
        if let Some(leg) = self.table.find(&key, |leg| leg.left != Time::NEVER) {
            self.table.leg(leg).arrived = now;
            let row = self.table.leg(leg).packet;
            self.table.end(&key, leg);
            self.table.tag(packet.body, row);
            if home {
                let life = self.table.packet(row);
                life.arrived = now;
                let least = &mut self.flows[life.flow as usize].least;
                *least = (*least).min(now.since(life.sent));
                self.ended(row);
            }
        }
        if home && let Some(segment) = captured.segment.filter(|s| s.has_ack) {
            self.acknowledge(now, id.flow, !id.reverse, segment.ack);
        }
    }

    /// Handles an ACK that has reached the sender of the acknowledged data. `reverse` is the direction of this data.
    fn acknowledge(&mut self, now: Time, flow: FlowId, reverse: bool, ack: u64) {
        while let Some(row) = self.slots.get_mut(flow.slot()).and_then(|slot| slot.covered(flow, reverse, ack)) {
            let packet = self.table.packet(row);
            if packet.arrived != Time::NEVER {
                packet.acknowledged = now;
            }
            self.settle(row);
        }
    }

    pub(super) fn seen(&mut self, now: Time) {
        if now > self.from && self.found.is_none() {
            self.found = Some(now);
        }
    }
}

impl Slot {
    fn unused() -> Self {
        Self { flow: FlowId(u32::MAX), rows: [NONE; 2], unacknowledged: Default::default() }
    }

    /// Removes and returns the row of the next packet that is covered by an ACK of this flow with the acknowledgment
    /// number `ack`, if there is one.
    fn covered(&mut self, flow: FlowId, reverse: bool, ack: u64) -> Option<u32> {
        let waiting = &mut self.unacknowledged[usize::from(reverse)];
        let Reverse((end, row)) = *waiting.peek().filter(|_| self.flow == flow)?;
        (end <= ack).then(|| {
            waiting.pop();
            row
        })
    }

    pub(super) fn is_acknowledged(&self) -> bool {
        self.unacknowledged.iter().all(BinaryHeap::is_empty)
    }
}
