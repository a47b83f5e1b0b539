//! What every queue discipline does, and what it is told.

use crate::counts::ClassProbe;
use packet::{Aggregate, Backlog, FateSink, FlowTable, LinkView, PacketMeta, Reading, ServiceFlow};
use units::{Rng, Time};

/// What a discipline is told on every call.
pub struct Cx<'a> {
    /// The moment of the call; never goes back.
    pub now: Time,
    /// The queue's own random stream.
    pub rng: &'a mut Rng,
    /// The link behind the queue.
    pub link: &'a LinkView,
    /// 5-tuples, for classifiers.
    pub flows: &'a FlowTable,
    /// Takes drops and marks.
    pub fate: &'a mut dyn FateSink,
}

/// A queue and the decisions about who waits in it.
///
/// Contract: the host never calls `enqueue` into a stage that it holds back; back-pressure is the host not calling
/// `dequeue`. `None` with a backlog means "ask again at `next_wake`"; after `wake`, an idle link calls `dequeue` once.
/// Every packet given to `enqueue` either comes out of `dequeue` or goes to `cx.fate` as dropped, exactly once.
/// `packet.stamp` is the moment of arrival, written by [`Queue`](crate::Queue) before `enqueue` sees the packet. An arrival that is
/// refused is reported with [`DropReason::TailFull`](packet::DropReason::TailFull) or `EarlyTail`, and nothing else is.
pub trait QueueDiscipline: Send {
    /// Takes `packet` or drops it (and possibly others, to make room).
    fn enqueue(&mut self, packet: PacketMeta, cx: &mut Cx<'_>);
    /// The next packet to send; may drop several heads first.
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<PacketMeta>;
    /// When `wake` wants to be called (a timer of the law); `None` for never.
    fn next_wake(&self) -> Option<Time> {
        None
    }
    /// The timer has come.
    fn wake(&mut self, _cx: &mut Cx<'_>) {}
    /// Packets and bytes that wait.
    fn backlog(&self) -> Backlog;
    /// Tells its state, in the names of its source: always the same ones, in the same order. Where [`Reading::queues`] asks for it,
    /// every queue in service, or class, follows.
    fn probe(&self, out: &mut Reading<'_>);
    /// What became of each class's packets; empty for a discipline without classes.
    fn classes(&self) -> Vec<ClassProbe<'_>> {
        Vec::new()
    }
    /// Its queues for the two service flows of a modem, if it has such.
    fn service_flows(&self) -> Option<&dyn ServiceFlows> {
        None
    }
    /// The same, to be changed.
    fn service_flows_mut(&mut self) -> Option<&mut dyn ServiceFlows> {
        None
    }
}

/// A discipline with a queue for each of the two service flows of a modem, L and C.
pub trait ServiceFlows {
    /// What it must know of them, once and before any packet.
    fn aggregate(&mut self, of: &Aggregate);
    /// The next packet of one, for a modem that has a grant for it.
    fn dequeue_of(&mut self, flow: ServiceFlow) -> Option<PacketMeta>;
    /// What waits in each, in bytes as a modem sends them, for its requests.
    fn frames(&self) -> [u64; 2];
    /// The IP packets that come next of each, in bytes; 0 for an empty queue.
    fn head_bytes(&self) -> [u64; 2];
}
