//! Control laws: rules that mark and drop packets. A law holds no packets; the discipline that holds them is its host.

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

/// The part of the host's state that a law can read.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The time of the call.
    pub now: Time,
    /// The backlog without the packet to be decided on: an arrival has not yet joined the queue, and a head has already
    /// been removed from it. In a fair discipline, the parameter `law_sees` selects the backlog of this queue or of all
    /// queues; in a missed update, the backlog is 0.
    pub backlog: Backlog,
    /// Time that the packet has waited; zero for an arrival or a tick.
    pub sojourn: Duration,
    /// The link behind the queue.
    pub link: &'a LinkView,
}

/// The decision that a law makes for one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Keep or send the packet.
    Pass,
    /// Mark the packet with CE, and then keep or send it. Only for ECN-capable packets.
    Mark(MarkReason),
    /// Mark the packet like `Mark`, for two reasons, [`MarkReason::Law`] and [`MarkReason::Step`], and count both marks.
    /// Only from `head`.
    MarkTwice,
    /// Drop the packet.
    Drop,
}

/// A rule that marks and drops early.
///
/// Contract: after [`Verdict::Drop`] from `head`, the host at once passes the next head of the same queue to `head`, or
/// calls `empty` if there is none. The host also calls `empty` when the link finds the queue empty, or (in a fair
/// discipline) when the queue becomes idle. The host calls `tick` at `next_tick`, and `tick` then sets `next_tick` to a
/// later time or to `None`. A fair discipline calls `tick` only while the queue is active, and runs the missed updates,
/// one by one, when the queue becomes active again. So `next_tick` should be `None` once the queue is empty and updates
/// would change nothing.
pub trait Law: Send {
    /// Decides whether to pass, mark or drop an arrival. Called before the limit is tested.
    #[inline]
    fn arrive(&mut self, _packet: &PacketMeta, _view: &View<'_>, _rng: &mut Rng) -> Verdict {
        Verdict::Pass
    }
    /// Decides whether to pass, mark or drop the packet at the head, which is about to be sent. The backlog in `view` no
    /// longer includes it.
    #[inline]
    fn head(&mut self, _packet: &PacketMeta, _view: &View<'_>, _rng: &mut Rng) -> Verdict {
        Verdict::Pass
    }
    /// Updates the state after a packet has left for the link.
    #[inline]
    fn left(&mut self, _packet: &PacketMeta, _view: &View<'_>) {}
    /// Updates the state when the link finds the queue empty or, in a fair discipline, when the queue becomes idle.
    #[inline]
    fn empty(&mut self, _now: Time) {}
    /// Returns true if the scheduler may treat the queue, which has been idle until `now`, like the queue of a new
    /// flow.
    #[inline]
    fn at_rest(&mut self, _now: Time) -> bool {
        true
    }
    /// Updates the state after a packet of the queue was dropped because a limit was reached: the limit of this queue,
    /// or the limit that several queues share.
    #[inline]
    fn overflow(&mut self, _now: Time) {}
    /// Returns the time at which `tick` is due. `None` means that the law has no timer, or that its timer has stopped
    /// because updates would change nothing.
    #[inline]
    fn next_tick(&self) -> Option<Time> {
        None
    }
    /// Runs the update that is due at `next_tick`.
    #[inline]
    fn tick(&mut self, _view: &View<'_>) {}
    /// Reports the state variables under the names that the law's source uses. Every call reports the same names in the
    /// same order.
    fn probe(&self, out: &mut Reading<'_>);
}

/// The parameters of a law. Each law can be used alone, as a discipline with one FIFO (`single::managed`), or in any
/// fair discipline with a parameter `law` (`law = { NAME = {..} }`), where each queue has its own instance of the law.
pub trait LawParams {
    /// The law, with its state for one queue.
    type Law: Law + Clone + PartialEq;
    /// Checks the law's parameters except `limit`, which the discipline that uses the law checks.   Errors: the first
    /// invalid parameter, by field name.
    fn validate(&self) -> Result<(), Problem>;
    /// Builds a law in its initial state. The parameters must be valid.
    fn law(&self) -> Self::Law;
    /// Returns the limit of the queue. If it is `None`, a law that is used alone has [`LawParams::default_limit`], and
    /// the queues of a fair discipline have only the limits that the discipline itself sets.
    fn limit(&self) -> Option<Limit>;
    /// Returns the limit of a stand-alone queue if the parameters omit `limit`; it may differ between published
    /// versions.
    fn default_limit(&self) -> Limit {
        Limit::Packets(1000)
    }
}
