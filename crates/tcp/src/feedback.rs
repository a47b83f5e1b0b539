//! What a receiver's ACKs tell of CE marks.
//!
//! ```text
//! rfc3168   ECE from a mark on, until a segment brings CWR
//! dctcp     ECE = DCTCP.CE, the mark of the last segment;  when it changes: what is unacknowledged is acknowledged at once with the
//!           old ECE, then the segment itself with the new one
//! ```
//!
//! With DCTCP's, the bytes that ACKs with ECE acknowledge are those that came marked, delayed ACKs or not.
//!
//! Source: RFC 3168 §6.1.3; RFC 8257 §3.2, with the two ACKs that it allows.

use crate::params::EcnFeedback;
use crate::segment::Segment;
use packet::{Ecn, Flags};

/// What a segment's mark is to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Nothing new.
    Same,
    /// The first of an echo.
    Begins,
    /// Another than the last segment's: ACKs must not mix the two.
    Changes,
}

impl EcnFeedback {
    /// A segment with payload arrives while ACKs carry ECE or do not (`echo`): whether they do from now on, and what that means.
    #[inline]
    pub(crate) fn hear(self, echo: bool, segment: &Segment) -> (bool, Mark) {
        let marked = segment.ecn == Ecn::Ce;
        match self {
            Self::Rfc3168 => {
                let echo = echo && !segment.flags.has(Flags::CWR);
                (echo || marked, if marked && !echo { Mark::Begins } else { Mark::Same })
            }
            Self::Dctcp => (marked, if marked == echo { Mark::Same } else { Mark::Changes }),
        }
    }
}
