//! Control laws: they hold no packets, and many disciplines can host them.

pub mod ared;
pub(crate) mod blue;
pub mod cobalt;
pub mod codel;
pub mod docsis_pie;
pub mod early;
pub mod foreign;
pub(crate) mod list;
pub mod lred;
pub mod pi;
pub mod pie;
pub mod red;
mod selector;
pub mod wred;

pub use selector::Selector;

use packet::{Backlog, LinkView, MarkReason, PacketMeta, Reading};
use units::{Duration, Limit, Problem, Rng, Time};

/// The host's state as a law sees it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The moment of the call.
    pub now: Time,
    /// The backlog without the packet in question: before an arrival joins, or after the head has been removed.
    pub backlog: Backlog,
    /// Time that the packet in question has waited; zero for an arrival or a tick.
    pub sojourn: Duration,
    /// The link behind the queue.
    pub link: &'a LinkView,
}

/// A law's decision about one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Keep or send it.
    Pass,
    /// Mark it with CE, then keep or send it. Only for ECN-capable packets.
    Mark(MarkReason),
    /// Drop it.
    Drop,
}

/// A rule that marks and drops early.
///
/// Contract: after [`Verdict::Drop`] from `head`, the host at once passes the next head of the same queue, or calls `empty`.
/// `empty` is also called when the link finds the queue empty, or (in a fair discipline) when the queue leaves the
/// schedule. `tick` is called at `next_tick`, and moves that past now. A fair discipline calls it only while the queue is
/// active, and makes up for missed updates, one by one, when the queue becomes active again. So `next_tick` should be `None`
/// once an empty queue leaves the law nothing to do.
pub trait Law: Send {
    /// Decides about an arrival; called before the limit is tested.
    #[inline]
    fn arrive(&mut self, _packet: &PacketMeta, _view: &View<'_>, _rng: &mut Rng) -> Verdict {
        Verdict::Pass
    }
    /// Decides about a packet that has been taken from the head to be sent.
    #[inline]
    fn head(&mut self, _packet: &PacketMeta, _view: &View<'_>, _rng: &mut Rng) -> Verdict {
        Verdict::Pass
    }
    /// Called after a packet has left for the link.
    #[inline]
    fn left(&mut self, _packet: &PacketMeta, _view: &View<'_>) {}
    /// Called when the link finds the queue empty.
    #[inline]
    fn empty(&mut self, _now: Time) {}
    /// Returns true if its queue, idle until `now`, has been idle long enough to count as new.
    #[inline]
    fn at_rest(&mut self, _now: Time) -> bool {
        true
    }
    /// Called when the limit has refused an arrival.
    #[inline]
    fn overflow(&mut self, _now: Time) {}
    /// When `tick` is due; `None` for never (as for a law with nothing to do while idle).
    #[inline]
    fn next_tick(&self) -> Option<Time> {
        None
    }
    /// Runs the update that is due at `next_tick`.
    #[inline]
    fn tick(&mut self, _view: &View<'_>) {}
    /// Reports its state under the names of its source, always the same ones in the same order.
    fn probe(&self, out: &mut Reading<'_>);
}

/// The parameters of a law. Each law is a stand-alone discipline (one FIFO, `single::managed`) and a choice of every fair
/// discipline (`law = { NAME = {..} }`), with separate state for each queue.
pub trait LawParams {
    /// The law with its state for one queue.
    type Law: Law + Clone + PartialEq;
    /// Checks the law's own parameters; the host checks `limit`.   Errors: the first invalid one, by field name.
    fn validate(&self) -> Result<(), Problem>;
    /// A law in its initial state. Only valid parameters are built.
    fn law(&self) -> Self::Law;
    /// The limit of its queue; `None`: [`LawParams::default_limit`] if stand-alone, only the shared limit if hosted.
    fn limit(&self) -> Option<Limit>;
    /// The limit of a stand-alone queue if its parameters omit it (it may differ between published versions).
    fn default_limit(&self) -> Limit {
        Limit::Packets(1000)
    }
}
