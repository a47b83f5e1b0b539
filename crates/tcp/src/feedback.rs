//! ECN feedback: how a receiver's ACKs report CE marks.
//!
//! ```text
//! rfc3168   ECE from a mark on, until a segment brings CWR
//! dctcp     ECE = DCTCP.CE, the mark of the last segment.  When it changes, unacknowledged data is acknowledged at once with
//!           the old ECE, then the segment itself with the new one
//! accecn    a counter: see `accecn.rs`
//! ```
//!
//! With DCTCP's feedback, the bytes acknowledged by ACKs with ECE are exactly the marked ones, with or without delayed ACKs.
//!
//! Source: RFC 3168 §6.1.3; RFC 8257 §3.2, with the two ACKs that it allows.

use crate::params::EcnFeedback;
use crate::segment::Segment;
use packet::{Ecn, Flags};

/// ECN feedback in use on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EcnUse {
    /// None.
    #[default]
    Off,
    /// RFC 3168's or DCTCP's: ECE and CWR are signals.
    Classic,
    /// AccECN's: ECE and CWR are two bits of a counter.
    Accurate,
}

impl EcnUse {
    /// RFC 3168's if `on`, otherwise none.
    pub(crate) fn classic(on: bool) -> Self {
        if on { Self::Classic } else { Self::Off }
    }
}

/// Returns true for an ACK with an ECN echo; false if its ECN bits are AccECN's counter.
#[inline]
pub(crate) fn echoes(ack: &Segment) -> bool {
    ack.flags.and(Flags::ECE.with(Flags::ACE)) == Flags::ECE
}

/// Effect of a segment's ECN field on the echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// No change.
    Same,
    /// An echo begins.
    Begins,
    /// The mark differs from the last segment's: one ACK must not cover both.
    Changes,
}

impl EcnFeedback {
    /// Processes the ECN field of a segment with payload. `echo`: ACKs carry ECE so far. Returns whether they carry it from now
    /// on, and the effect of the segment.
    #[inline]
    pub(crate) fn on_data(self, echo: bool, segment: &Segment) -> (bool, Mark) {
        let marked = segment.ecn == Ecn::Ce;
        match self {
            // also AccECN if the other side does not support it
            Self::Rfc3168 | Self::Accecn => {
                let echo = echo && !segment.flags.has(Flags::CWR);
                (echo || marked, if marked && !echo { Mark::Begins } else { Mark::Same })
            }
            Self::Dctcp => (marked, if marked == echo { Mark::Same } else { Mark::Changes }),
        }
    }
}
