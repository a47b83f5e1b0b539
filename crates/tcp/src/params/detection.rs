//! Loss detection, and the undo of spurious reductions.

use super::group::{group, no, require, words};
use units::Problem;

group! {
    /// Loss detection, repair and undo.
    pub struct DetectionParams {
        /// Loss recovery.
        pub recovery: Recovery = Recovery::Sack,
        /// Loss detection.
        pub loss_detection: LossDetection = LossDetection::RackTlp,
        /// Duplicate ACKs (or discontiguous SACKed runs) that indicate a loss. 3.
        pub dupthresh: u8 = 3,
        /// The first two duplicate ACKs let one new segment out each.   Source: RFC 3042.
        pub limited_transmit: bool = true,
        /// A timeout keeps SACK information (RFC 6675 §5.1 allows both; Linux keeps it).
        pub keep_sack_after_rto: bool = true,
        /// Response to a reduction that proves spurious.
        pub undo: Undo = Undo::Linux,
        /// After a timeout, new data detects whether it was spurious (F-RTO). Needs `loss_detection = "rack-tlp"`.
        /// Source: RFC 5682 §3.1.
        pub frto: bool = true,
    }

    fn validate(&self) -> Result<(), Problem> {
        require("dupthresh", 0, self.dupthresh > 0, "at least 1")?;
        let word = self.loss_detection.word();
        if self.loss_detection != LossDetection::Dupthresh && self.recovery != Recovery::Sack {
            return no("loss_detection", format!("{word} is not valid without SACK; expected recovery = \"sack\""));
        }
        let needs = Undo::SUPPORTED_BY.iter().map(|detection| detection.word()).collect::<Vec<_>>().join(" or ");
        for (name, on, is, off) in
            [("undo", self.undo != Undo::None, "\"linux\"", "\"none\""), ("frto", self.frto, "true", "false")]
        {
            if on && !Undo::SUPPORTED_BY.contains(&self.loss_detection) {
                let with = format!("not valid with loss_detection = \"{word}\": it needs \"{needs}\"");
                return no(name, format!("{is} is {with}; expected {name} = {off}"));
            }
        }
        Ok(())
    }
}

words! {
    /// Loss recovery after duplicate ACKs.
    pub enum Recovery {
        /// Fast retransmit; fast recovery ends at the first new ACK.   Source: RFC 5681 §3.2; guard against repeated fast
        /// retransmits in one window as ns-2's `bugFix_`.
        "reno" Reno,
        /// Partial ACKs retransmit the next hole; the impatient variant of the timer.   Source: RFC 6582.
        "newreno" Newreno,
        /// Scoreboard: pipe, IsLost, NextSeg (1)-(4), rescue retransmission.   Source: RFC 6675.
        "sack" Sack,
    }

    /// Loss detection.
    pub enum LossDetection {
        /// DupThresh duplicate ACKs, or as much SACKed above it. A lost retransmission waits for the timeout.
        /// Source: RFC 5681 §3.2, RFC 6675 §4.
        "dupthresh" Dupthresh,
        /// As ns-2's Agent/TCP/Linux, with DupThresh 4. A segment is lost when the highest SACKed segment is DupThresh above it,
        /// holes included (FACK). A retransmission is lost when new data sent after it is SACKed, or when one more than DupThresh
        /// retransmissions later has been delivered. SACKed data makes room at once, without limit. A loss found after a timeout
        /// reduces again. The end of a recovery discards the SACK information above it; the end of a timeout's repair sets the
        /// window to ssthresh, but not above in flight + 3. Needs recovery by SACK.   Source: Mathis & Mahdavi 1996; traces of
        /// ns-2 2.35.
        "forward-ack" ForwardAck,
        /// Time: a segment sent later has been delivered, and a reordering window has passed. A flight whose end is lost
        /// is probed after two round trips. Needs recovery by SACK.   Source: RFC 8985.
        "rack-tlp" RackTlp,
    }

    /// Response to a reduction that proves spurious.
    pub enum Undo {
        /// The reduction is kept.
        "none" None,
        /// Restores the window and ssthresh once D-SACK has reported every retransmission, or a timestamp shows that the first
        /// original arrived. Needs `loss_detection = "rack-tlp"`.   Source: RFC 2883, RFC 3522, RFC 4015 as in Linux.
        "linux" Linux,
    }
}

impl Undo {
    /// Loss detections that support undo and F-RTO: they identify data sent only once, and can take back a loss.
    pub(crate) const SUPPORTED_BY: &[LossDetection] = &[LossDetection::RackTlp];
}
