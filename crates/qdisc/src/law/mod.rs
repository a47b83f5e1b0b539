//! Control laws: they hold no queue and are hosted by many.

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

/// What a law sees of its host.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The moment of the call.
    pub now: Time,
    /// What waits, without the packet in question: before an arrival joins, behind a head that has been taken out.
    pub backlog: Backlog,
    /// How long the packet in question has waited; zero for an arrival or a tick.
    pub sojourn: Duration,
    /// The link behind the queue.
    pub link: &'a LinkView,
}

/// What a law decides about one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let it go on.
    Pass,
    /// Mark it with CE and let it go on. Only for packets that are ECN-capable.
    Mark(MarkReason),
    /// Drop it.
    Drop,
}

/// A rule that marks and drops early.
///
/// Contract: after [`Verdict::Drop`] from `head`, the host at once shows the next head of the same queue, or calls `empty`.
/// `empty` is also called when the link asks and nothing is there, or (in a fair discipline) when the queue leaves the
/// schedule. `tick` is called at `next_tick`, and moves that past now; in a fair discipline only while the queue is active, and
/// for the time in between, update by update, when it becomes active again. So a law with nothing left to do while its queue is
/// empty says so.
pub trait Law: Send {
    /// A packet arrives; called before the limit is tested.
    #[inline]
    fn arrive(&mut self, _packet: &PacketMeta, _view: &View<'_>, _rng: &mut Rng) -> Verdict {
        Verdict::Pass
    }
    /// A packet has come to the head and been taken out, to be sent.
    #[inline]
    fn head(&mut self, _packet: &PacketMeta, _view: &View<'_>, _rng: &mut Rng) -> Verdict {
        Verdict::Pass
    }
    /// A packet has left for the link.
    #[inline]
    fn left(&mut self, _packet: &PacketMeta, _view: &View<'_>) {}
    /// The link asked and nothing was there.
    #[inline]
    fn empty(&mut self, _now: Time) {}
    /// Its queue has been idle until `now`: whether that was long enough for it to count as new.
    #[inline]
    fn at_rest(&mut self, _now: Time) -> bool {
        true
    }
    /// The limit refused an arrival.
    #[inline]
    fn overflow(&mut self, _now: Time) {}
    /// When `tick` wants to be called; `None` for never (a law with nothing to do while idle says so).
    #[inline]
    fn next_tick(&self) -> Option<Time> {
        None
    }
    /// The timer has come.
    #[inline]
    fn tick(&mut self, _view: &View<'_>) {}
    /// Tells its state, in the names of its source: always the same ones, in the same order.
    fn probe(&self, out: &mut Reading<'_>);
}

/// The parameters of a law. The law then is a discipline of its own (one FIFO, `single::managed`) and the choice `law = { NAME =
/// {..} }` of every fair discipline, which gives each of its queues a law of its own.
pub trait LawParams {
    /// The law with its state for one queue.
    type Law: Law + Clone + PartialEq;
    /// The first thing that is wrong with the law's own parameters, by field name; `limit` is tested by the host.
    fn validate(&self) -> Result<(), Problem>;
    /// A law that has seen nothing. Only valid parameters are built.
    fn law(&self) -> Self::Law;
    /// How much may wait in its queue; `None`: [`LawParams::default_limit`] on its own, no limit but the shared one when hosted.
    fn limit(&self) -> Option<Limit>;
    /// The limit of a stand-alone queue whose parameters leave it out (it may differ between published versions).
    fn default_limit(&self) -> Limit {
        Limit::Packets(1000)
    }
}
