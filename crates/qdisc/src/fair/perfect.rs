//! Perfect isolation: a queue for each session, packet round robin, one memory for all.
//!
//! ```text
//! delay of a lone packet = its transmission time + a wait that is uniform on m s / C to (m + 1) s / C,
//!                          while m other queues are backlogged with packets of s bytes
//! ```
//!
//! C is the rate of the link. The lone packet waits for the rest of the packet in transmission and for one packet from
//! each of the m queues, because a queue that becomes active joins the end of the round. To force collisions,
//! `shared_dscp` lists code points: all flows with the same listed code point share one queue.
//!
//! Source: ARRIS 2013 Figures 5 to 7. Departs: none known. The overflow rule is a parameter, because ARRIS 2013 does
//! not specify one.

use super::preset::{Preset, preset};
use super::{ClassifierSpec, FairParams, IsolatedParams, Overflow, Quantum, SchedulerSpec};
use crate::LawSpec;
use crate::declared::params;
use units::{Bytes, Limit};

params! {
    /// Parameters of perfect isolation (ARRIS 2013): each flow has a queue of its own.
    pub struct PerfectParams {
        /// Maximum length of all queues together.
        limit: Limit = Limit::Packets(1000),
        /// Code points (DSCPs, set by `app.NAME.dscp`, 0 to 63) whose flows do not have queues of their own. All flows
        /// with the same listed code point share one queue.
        shared_dscp: Vec<u8> = Vec::new(),
        /// Bytes that a queue may send in one turn; null: one packet per turn.
        quantum: Option<Bytes> = None,
        /// The rule that selects the packets to drop when all queues together reach `limit`. ARRIS 2013 does not
        /// specify one.
        overflow: Overflow = Overflow::Tail,
        /// The AQM of each queue: the name of a law, such as "lred"; a table with its parameters, such as
        /// `{ lred = {..} }`; or "none".
        law: LawSpec = LawSpec::None,
    }
}

impl Preset for PerfectParams {
    fn composition(&self) -> FairParams {
        FairParams {
            limit: self.limit,
            classifier: ClassifierSpec::Isolated(IsolatedParams { shared_dscp: self.shared_dscp.clone() }),
            scheduler: match self.quantum {
                Some(quantum) => SchedulerSpec::ByteRoundRobin(Quantum { quantum }),
                None => SchedulerSpec::PacketRoundRobin,
            },
            law: self.law.clone(),
            overflow: self.overflow,
            ..FairParams::default()
        }
    }
}

preset!(PerfectParams, any_law);
