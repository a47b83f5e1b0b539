//! DropTail: one FIFO that drops when it is full.
//!
//! Drop an arrival of s bytes iff q + 1 > limit (packets), bytes + s > limit (bytes), or bytes + s > span x rate / 8 (time).
//! With `drop_head` the oldest packets go instead, until the arrival fits.
//!
//! Source: SPEC 1.1 (ns-2 queue/drop-tail.cc; tc pfifo, bfifo).
//! Departs: `drop_head` with a limit in bytes drops as many heads as the arrival needs, where ns-2 drops one.

use crate::{Cx, Fifo, Params, QueueDiscipline, Room};
use packet::{Backlog, DropReason, PacketMeta, Point};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Limit, Problem};

/// Parameters of drop-tail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DroptailParams {
    /// How much may wait: packets ("417p"), bytes ("600KB") or time at the link's sustained rate ("50ms").
    pub limit: Limit,
    /// Store one packet (or byte) less than `limit`, as ns-2's DropTail does (its test is `q + 1 >= limit`).
    pub ns2_off_by_one: bool,
    /// Drop from the head to make room, instead of the arrival.
    pub drop_head: bool,
}

impl Default for DroptailParams {
    /// tc pfifo on an Ethernet interface: txqueuelen 1000 packets.
    fn default() -> Self {
        Self { limit: Limit::Packets(1000), ns2_off_by_one: false, drop_head: false }
    }
}

impl Params for DroptailParams {
    type Discipline = DropTail;
    fn validate(&self) -> Result<(), Problem> {
        Room::validate(self.limit, self.ns2_off_by_one)
    }
    fn build(&self) -> DropTail {
        DropTail { room: Room::new(self.limit, self.ns2_off_by_one), drop_head: self.drop_head, fifo: Fifo::default() }
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
}

impl QueueDiscipline for DropTail {
    #[inline]
    fn enqueue(&mut self, packet: PacketMeta, cx: &mut Cx<'_>) {
        // bound: every turn but the last removes a stored packet
        while !self.room.fits(self.fifo.backlog(), &packet, cx.link) {
            match if self.drop_head { self.fifo.pop() } else { None } {
                Some(head) => cx.fate.dropped(&head, DropReason::HeadFull, Point::Enqueue),
                None => return cx.fate.dropped(&packet, DropReason::TailFull, Point::Enqueue),
            }
        }
        self.fifo.push(packet);
    }

    #[inline]
    fn dequeue(&mut self, _cx: &mut Cx<'_>) -> Option<PacketMeta> {
        self.fifo.pop()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}
