//! The fate of a packet in a queue. A drop is a fact; a loss is a sender's inference and lives in `tcp`.

use crate::PacketMeta;
use units::Time;

/// Where in a queue the decision was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    /// On arrival.
    Enqueue,
    /// At the head, on departure.
    Dequeue,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// No room in the queue: the arrival is dropped.
    TailFull,
    /// No room in the queue: a packet at the head is dropped for the arrival.
    HeadFull,
    /// A control law dropped the arrival.
    EarlyTail,
    /// A control law dropped the head.
    EarlyHead,
    /// No room in the modem's transmit queue.
    TransmitQueueFull,
    /// The link lost it (random loss).
    LinkLoss,
    /// It arrived for a flow that no longer exists.
    FlowGone,
    /// No room in the queue: a packet waiting at the tail is dropped for the arrival.
    PushOut,
    /// A newer ACK waiting behind it makes it redundant (CAKE's ACK filter).
    AckFilter,
}

impl DropReason {
    /// Every reason, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::TailFull,
        Self::HeadFull,
        Self::EarlyTail,
        Self::EarlyHead,
        Self::TransmitQueueFull,
        Self::LinkLoss,
        Self::FlowGone,
        Self::PushOut,
        Self::AckFilter,
    ];

    /// The column name of this reason's counter.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TailFull => "tail_full",
            Self::HeadFull => "head_full",
            Self::EarlyTail => "early_tail",
            Self::EarlyHead => "early_head",
            Self::TransmitQueueFull => "transmit_queue_full",
            Self::LinkLoss => "link_loss",
            Self::FlowGone => "flow_gone",
            Self::PushOut => "push_out",
            Self::AckFilter => "ack_filter",
        }
    }
}

/// Why a packet was marked with CE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MarkReason {
    /// A control law marked instead of dropping.
    Law,
    /// A step threshold on sojourn time (`ce_threshold`).
    Step,
}

impl MarkReason {
    /// Its name in a table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Law => "law",
            Self::Step => "step",
        }
    }
}

/// Receives the fates that a discipline decides. The host frees what the packet owned.
pub trait FateSink {
    /// `packet` was dropped at `point`.
    fn dropped(&mut self, packet: &PacketMeta, reason: DropReason, point: Point);
    /// `packet` was marked at `point` and stays.
    fn marked(&mut self, packet: &PacketMeta, reason: MarkReason, point: Point);
    /// The last bit of `packet`, which its socket counts ([`Flags::LOCAL`](crate::Flags::LOCAL)), leaves at `at`.
    fn left(&mut self, _packet: &PacketMeta, _at: Time) {}
}

/// Discards every fate: for benchmarks and tests that do not need them.
impl FateSink for () {
    fn dropped(&mut self, _: &PacketMeta, _: DropReason, _: Point) {}
    fn marked(&mut self, _: &PacketMeta, _: MarkReason, _: Point) {}
}
