//! What a receiver's ACKs tell of CE marks.
//!
//! ```text
//! rfc3168   ECE from a mark on, until a segment brings CWR
//! dctcp     ECE = DCTCP.CE, the mark of the last segment;  when it changes: what is unacknowledged is acknowledged at once with the
//!           old ECE, then the segment itself with the new one
//! accecn    a counter: see `accecn.rs`
//! ```
//!
//! With DCTCP's, the bytes that ACKs with ECE acknowledge are those that came marked, delayed ACKs or not.
//!
//! Source: RFC 3168 §6.1.3; RFC 8257 §3.2, with the two ACKs that it allows.

use crate::params::EcnFeedback;
use crate::segment::Segment;
use packet::{Ecn, Flags};

/// Whose ECN a connection uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EcnUse {
    /// Nobody's.
    Off,
    /// ECE and CWR are signals: RFC 3168's, or DCTCP's.
    Classic,
    /// AccECN's: they are two bits of a counter.
    Accurate,
}

impl EcnUse {
    /// RFC 3168's, or none.
    pub(crate) fn classic(on: bool) -> Self {
        if on { Self::Classic } else { Self::Off }
    }
}

/// An ACK with an ECN echo; not one whose ECN bits are AccECN's counter.
#[inline]
pub(crate) fn echoes(ack: &Segment) -> bool {
    ack.flags.and(Flags::ECE.with(Flags::ACE)) == Flags::ECE
}

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
            // of AccECN's what is left if the other side has it not
            Self::Rfc3168 | Self::Accecn => {
                let echo = echo && !segment.flags.has(Flags::CWR);
                (echo || marked, if marked && !echo { Mark::Begins } else { Mark::Same })
            }
            Self::Dctcp => (marked, if marked == echo { Mark::Same } else { Mark::Changes }),
        }
    }
}
