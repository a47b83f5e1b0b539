//! Recognises spurious reductions.
//!
//! ```text
//! begin    a fast recovery or a timeout begins: undo_marker = SND.UNA;  cwnd and max(ssthresh, 3/4 cwnd) are stored,
//!          unless an ECN echo has already reduced the window
//! D-SACK   D-SACKs have reported all segments retransmitted since then: nothing was lost                   RFC 2883, RFC 3708
//! Eifel    an ACK of new data echoes a time before the first retransmission: the original arrived    RFC 3522
//! F-RTO    after a timeout, the sender answers the first ACK that advances SND.UNA with new data, not retransmissions.
//!          If an ACK then delivers data that was sent before the timeout and never retransmitted, the timeout was spurious
//!          If the new data is delivered first, the timeout was not spurious                          RFC 5682 §3.1
//! undo     cwnd and ssthresh are raised to the stored values                                         RFC 4015, Linux
//! ```
//!
//! D-SACK counts even after the recovery has ended.
//!
//! Source: the RFCs as Linux combines them.
//! Departs: a D-SACK counts by its length, regardless of which retransmission it reports.

use crate::cc::control::Window;
use crate::params::{TcpParams, Undo as UndoAxis};
use crate::segment::{SackBlock, Segment};

/// State for undoing the reduction of the window by the last recovery or timeout.
#[derive(Clone, Debug, Default)]
pub(crate) struct Undo {
    /// SND.UNA when the recovery or timeout began; `None` if there is nothing to undo.
    marker: Option<u64>,
    /// Number of retransmissions that D-SACK has not reported: those in flight when the recovery or timeout began, and
    /// all later ones. `None` before the first of them.
    resent: Option<u32>,
    /// Time of the first retransmission since the recovery or timeout began, microseconds modulo 2^32. If
    /// retransmissions were still in flight then, the time of the first of them or of an earlier one.
    first_resent: Option<u32>,
    /// The window before the reduction; `None` if an ECN echo had already reduced the window.
    before: Option<Window>,
    /// True while F-RTO is in progress.
    pub(crate) frto: bool,
    /// True if F-RTO responds to the current ACK by sending new data before the lost data is retransmitted.
    pub(crate) new_first: bool,
    /// Number of recoveries and timeouts that proved spurious.
    pub(crate) undone: u32,
}

/// The evidence that the last reduction was spurious.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Evidence {
    /// True if D-SACK has reported every retransmission as a duplicate.
    pub(crate) duplicates: bool,
    /// True if an echoed time stamp is older than the first retransmission, which shows that the original segment had
    /// arrived.
    pub(crate) delayed: bool,
}

impl Undo {
    /// Returns true if the sender needs this state: its stack undoes reductions or runs F-RTO.
    pub(crate) fn is_kept(p: &TcpParams) -> bool {
        p.detection.undo != UndoAxis::None || p.detection.frto
    }

    /// Returns true if a reduction may still prove spurious.
    pub(crate) fn is_open(&self) -> bool {
        self.marker.is_some() || self.frto
    }

    /// Records that a fast recovery or a timeout begins while SND.UNA is `una`. `out` is the number of earlier
    /// retransmissions that are still in flight; later D-SACKs may report them. `before` is the window before the
    /// reduction, or `None` if the window is not reduced.
    pub(crate) fn begin(&mut self, una: u64, out: u32, before: Option<Window>) {
        *self = Self {
            marker: Some(una),
            resent: (out > 0).then_some(out),
            first_resent: self.first_resent.filter(|_| out > 0),
            before: before.map(|w| Window { cwnd: w.cwnd, ssthresh: w.ssthresh.max(0.75 * w.cwnd) }),
            undone: self.undone,
            ..Self::default()
        };
    }

    /// Records that there is nothing to undo.
    pub(crate) fn forget(&mut self) {
        (self.marker, self.resent, self.before) = (None, None, None);
    }

    pub(crate) fn note_resent(&mut self, now_us: u32) {
        self.resent = Some(self.resent.unwrap_or(0) + 1);
        self.first_resent.get_or_insert(now_us);
    }

    /// Records that a D-SACK reports `segments` retransmitted segments as duplicates. The D-SACK is ignored if its
    /// block, which ends at `end`, lies below the marker, because this data was acknowledged before the reduction.
    pub(crate) fn on_dsack(&mut self, end: u64, segments: u32) {
        if self.marker.is_some_and(|marker| end > marker) {
            self.resent = self.resent.map(|n| n.saturating_sub(segments));
        }
    }

    /// Returns the evidence that the last reduction was spurious, after an ACK that echoes `ts_ecr`. There is none if
    /// the stack does not undo reductions, or if there is nothing to undo (`marker` is `None`).
    /// Source: RFC 3522 §3.2.
    pub(crate) fn evidence(&self, p: &TcpParams, ts_ecr: u32) -> Evidence {
        if p.detection.undo != UndoAxis::Linux || self.marker.is_none() {
            return Evidence::default();
        }
        let echo = if p.wire.timestamps { ts_ecr } else { 0 };
        let before = |first: u32| (echo.wrapping_sub(first) as i32) < 0;
        Evidence { duplicates: self.resent == Some(0), delayed: echo != 0 && self.first_resent.is_some_and(before) }
    }

    /// Records that the reduction is undone. Returns the window before the reduction.
    pub(crate) fn close(&mut self) -> Option<Window> {
        (self.marker, self.resent, self.frto) = (None, None, false);
        self.undone += 1;
        self.before.take()
    }
}

/// Returns the SACK block that reports a duplicate, if there is one. It is the first block, and lies below the ACK or within the
/// second block.   Source: RFC 2883 §4.
pub(crate) fn duplicate(segment: &Segment) -> Option<SackBlock> {
    let blocks = segment.sack.as_slice();
    let first = *blocks.first()?;
    let inside = blocks.get(1).is_some_and(|b| b.start <= first.start && first.end <= b.end);
    (first.start < first.end && (first.start < segment.ack || inside)).then_some(first)
}
