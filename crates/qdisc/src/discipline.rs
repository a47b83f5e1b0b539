//! The interface of a queue discipline, and its inputs.

use crate::counts::ClassProbe;
use packet::{Aggregate, Backlog, FateSink, FlowTable, LinkView, PacketMeta, Reading, ServiceFlow};
use units::{Rng, Time};

/// The inputs of `enqueue`, `dequeue` and `wake`.
pub struct Context<'a> {
    /// Time of the call; never decreases.
    pub now: Time,
    /// The queue's own random stream.
    pub rng: &'a mut Rng,
    /// The link behind the queue.
    pub link: &'a LinkView,
    /// 5-tuples of the flows, and the frame sizes of flows with segmentation offload.
    pub flows: &'a FlowTable,
    /// Receives the drops and marks that the discipline decides.
    pub fate: &'a mut dyn FateSink,
}

/// A queue that decides which packets to accept, mark and drop.
///
/// Contract with the host, which is the code that calls the discipline: while the host must hold packets back, it does
/// not call `dequeue`. The host calls `wake` at `next_wake` and then, if the link is idle, `dequeue`. So a discipline
/// whose `dequeue` returns `None` although packets are queued must set `next_wake`. Every packet passed to `enqueue` is
/// either returned by `dequeue` (or `dequeue_of`) or reported to `cx.fate` as dropped, exactly once. `packet.stamp` is
/// the time of arrival, set by [`Queue`](crate::Queue) before it calls `enqueue`. The reasons
/// [`DropReason::TailFull`](packet::DropReason::TailFull) and `EarlyTail` are used for every arrival that the
/// discipline refuses, and for no other drop.
pub trait QueueDiscipline: Send {
    /// Accepts or drops `packet`. The discipline may also drop queued packets, for example to make room.
    fn enqueue(&mut self, packet: PacketMeta, cx: &mut Context<'_>);
    /// Removes and returns the next packet to send. The discipline may first drop packets at the heads of its queues.
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Option<PacketMeta>;
    /// Returns the time at which the host must call `wake` next, for example to update a control law; `None` if no call
    /// is needed.
    fn next_wake(&self) -> Option<Time> {
        None
    }
    /// Handles the timer's expiry.
    fn wake(&mut self, _cx: &mut Context<'_>) {}
    /// Returns the packets and bytes queued.
    fn backlog(&self) -> Backlog;
    /// Returns the earliest arrival time among the packets at the heads of the queues; `None` if no packet waits, or if the
    /// time is not known.
    fn head_arrival(&self) -> Option<Time> {
        None
    }
    /// Reports the discipline's state. The values have the names that the discipline's source (an RFC, a paper or an
    /// implementation) uses; every call reports the same names in the same order. If [`Reading::queues`] is set, the
    /// state of every active queue, or of every class, follows.
    fn probe(&self, out: &mut Reading<'_>);
    /// Returns the packet counts of each class; empty for a discipline without classes.
    fn classes(&self) -> Vec<ClassProbe<'_>> {
        Vec::new()
    }
    /// Returns the queues for the two service flows of a modem, if the discipline has them.
    fn service_flows(&self) -> Option<&dyn ServiceFlows> {
        None
    }
    /// Like [`Self::service_flows`], but the result is mutable.
    fn service_flows_mut(&mut self) -> Option<&mut dyn ServiceFlows> {
        None
    }
}

/// A discipline with a queue for each of the two service flows of a modem, L and C.
pub trait ServiceFlows {
    /// Sets the aggregate's parameters. Called at most once, before any packet; only by a DOCSIS 3.1 link.
    fn aggregate(&mut self, of: &Aggregate);
    /// Removes and returns the next packet of `flow`: upstream, the service flow for which the modem has a grant;
    /// downstream, the service flow that the CMTS serves next.
    fn dequeue_of(&mut self, flow: ServiceFlow) -> Option<PacketMeta>;
    /// Returns the backlog of each service flow in bytes, with the MAC header of each frame. A modem
    /// requests grants for these bytes.
    fn frames(&self) -> [u64; 2];
    /// Returns the size in bytes of the IP packet at the head of each queue; 0 for an empty queue.
    fn head_bytes(&self) -> [u64; 2];
}
