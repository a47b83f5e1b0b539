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

/// Declares the reasons for a fate: each with its description, its name in a table and its name in Rust.
macro_rules! reasons {
    ($(
        $(#[$meta:meta])*
        enum $Name:ident { $($(#[$doc:meta])* $name:literal $Variant:ident,)+ }
    )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $Name {
            $($(#[$doc])* $Variant,)+
        }

        impl $Name {
            /// All of them, in the order of their numbers.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$Variant),+];

            /// The name in a table.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)+
                }
            }
        }
    )+};
}

reasons! {
    /// Why a packet was dropped.
    enum DropReason {
        /// No room in the queue: the arriving packet is dropped.
        "tail_full" TailFull,
        /// No room in the queue: a packet at the head is dropped for the arriving one.
        "head_full" HeadFull,
        /// A control law dropped the arriving packet.
        "early_tail" EarlyTail,
        /// A control law dropped the packet at the head.
        "early_head" EarlyHead,
        /// No room in the modem's transmit queue.
        "transmit_queue_full" TransmitQueueFull,
        /// The link lost it (random loss).
        "link_loss" LinkLoss,
        /// It arrived for a flow that no longer exists.
        "flow_gone" FlowGone,
        /// No room in the queue: a packet waiting at the tail is dropped for the arriving one.
        "push_out" PushOut,
        /// A newer ACK waiting behind it makes it redundant (CAKE's ACK filter).
        "ack_filter" AckFilter,
    }

    /// Why a packet was marked with CE.
    enum MarkReason {
        /// A control law marked instead of dropping.
        "law" Law,
        /// A step threshold on sojourn time (`ce_threshold`).
        "step" Step,
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
