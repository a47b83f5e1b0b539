//! The fate of a packet: a drop or a mark, with its reason. Losses that a sender infers are counted in the crate `tcp`.

use crate::PacketMeta;
use units::Time;

/// The event at which a packet was dropped or marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    /// An arrival at a queue, or at a modem's transmit queue. If the dropped packet was already waiting in the queue,
    /// this is the arrival of another packet.
    Enqueue,
    /// The departure of the packet from the head of the queue. Also used for packets that are lost after this departure.
    Dequeue,
}

/// Declares the reasons for a fate. Each has a description, a name in tables and a name in Rust.
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
            /// All reasons, in the order of their discriminants.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$Variant),+];

            /// Returns the name of this reason in tables.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)+
                }
            }
        }
    )+};
}

reasons! {
    /// The reason why a packet was dropped.
    enum DropReason {
        /// The queue had no room, so the arriving packet was dropped.
        "tail_full" TailFull,
        /// The queue had no room, so a packet at the head was dropped to make room for the arriving packet.
        "head_full" HeadFull,
        /// A control law dropped the arriving packet.
        "early_tail" EarlyTail,
        /// A control law dropped the packet at the head.
        "early_head" EarlyHead,
        /// The modem's transmit queue had no room.
        "transmit_queue_full" TransmitQueueFull,
        /// The link lost the packet, or its policer dropped the packet.
        "link_loss" LinkLoss,
        /// The packet arrived for a flow that no longer exists.
        "flow_gone" FlowGone,
        /// The queue had no room, so a packet waiting at the tail was dropped to make room for the arriving packet.
        "push_out" PushOut,
        /// A newer ACK in the queue makes this ACK redundant (CAKE's ACK filter).
        "ack_filter" AckFilter,
    }

    /// The reason why a packet was marked with CE.
    enum MarkReason {
        /// A control law marked the packet.
        "law" Law,
        /// The delay or the backlog was above a step threshold (such as `ce_threshold`), or the ramp of a dual-queue
        /// discipline selected a packet in L.
        "step" Step,
    }
}

/// Receives the drops and marks of packets: those of a queue discipline and, from a port, also the losses of the link.
/// The host must free the resources of a dropped packet, such as its place in the arena.
pub trait FateSink {
    /// Receives a drop of `packet` at `point`.
    fn dropped(&mut self, packet: &PacketMeta, reason: DropReason, point: Point);
    /// Receives a mark of `packet` at `point`. The packet is not dropped.
    fn marked(&mut self, packet: &PacketMeta, reason: MarkReason, point: Point);
    /// Receives the time `at` at which the last bit of `packet` leaves. Called only for packets with
    /// [`Flags::LOCAL`](crate::Flags::LOCAL), which the sender's socket counts until they leave its host.
    fn left(&mut self, _packet: &PacketMeta, _at: Time) {}
}

/// Discards every fate, for benchmarks and tests that do not need them.
impl FateSink for () {
    fn dropped(&mut self, _: &PacketMeta, _: DropReason, _: Point) {}
    fn marked(&mut self, _: &PacketMeta, _: MarkReason, _: Point) {}
}
