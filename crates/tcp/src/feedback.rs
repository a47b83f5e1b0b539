//! ECN feedback: how a receiver's ACKs report CE marks.
//!
//! ```text
//! rfc3168   ECE is set after a mark, until a segment with CWR arrives
//! dctcp     ECE = DCTCP.CE, the CE bit of the last segment.  When it changes, unacknowledged data is acknowledged at once with
//!           the old ECE, then the segment itself with the new one
//! accecn    the ECN bits are a counter, see `accecn.rs`
//! ```
//!
//! With DCTCP's feedback, ACKs with ECE acknowledge exactly the marked bytes, with or without delayed ACKs, as long as
//! segments arrive in order and no ACK is lost.
//!
//! Source: RFC 3168 §6.1.3; RFC 8257 §3.2, which allows both ACKs when DCTCP.CE changes.

use crate::params::EcnFeedback;
use crate::segment::Segment;
use packet::{Ecn, Flags};

/// ECN feedback in use on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
pub(crate) enum EcnUse {
    #[default]
    Off,
    /// RFC 3168 feedback for the peer's packets. This end sends no ECN-capable packets, because its controller needs
    /// AccECN and the peer does not support it.
    Echo,
    /// RFC 3168 or DCTCP feedback, in which ECE and CWR are separate flags.
    Classic,
    /// AccECN feedback, in which ECE and CWR are two of the three bits of a counter.
    Accurate,
}

impl EcnUse {
    pub(crate) fn classic(on: bool) -> Self {
        if on { Self::Classic } else { Self::Off }
    }

    /// Returns true if this end sends ECN-capable packets.
    #[inline]
    pub(crate) fn sends(self) -> bool {
        self > Self::Echo
    }
}

/// Returns true if an ACK carries an ECN echo. Returns false if its ECN bits are AccECN's counter.
#[inline]
pub(crate) fn echoes(ack: &Segment) -> bool {
    ack.flags.and(Flags::ECE.with(Flags::ACE)) == Flags::ECE
}

/// How the ECN field of a received segment affects the ECE flag of the ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Same,
    /// ACKs carry ECE from this segment on.
    Begins,
    /// The CE bit differs from the CE bit of the last segment, so one ACK must not cover both segments.
    Changes,
}

impl EcnFeedback {
    /// Processes the ECN field of a segment with payload. `echo` is true if ACKs carried ECE before this segment
    /// arrived. Returns whether ACKs carry ECE from now on, and how the segment affects the ACKs.
    #[inline]
    pub(crate) fn on_data(self, echo: bool, segment: &Segment) -> (bool, Mark) {
        let marked = segment.ecn == Ecn::Ce;
        match self {
            // AccECN falls back to RFC 3168's feedback if the other side does not support it
            Self::Rfc3168 | Self::Accecn => {
                let echo = echo && !segment.flags.has(Flags::CWR);
                (echo || marked, if marked && !echo { Mark::Begins } else { Mark::Same })
            }
            Self::Dctcp => (marked, if marked == echo { Mark::Same } else { Mark::Changes }),
        }
    }
}
