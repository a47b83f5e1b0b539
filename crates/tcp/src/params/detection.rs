//! What is lost, and what becomes of a loss that was none.

use super::group::{group, no};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Problem;

group! {
    /// How losses are found and repaired, and taken back.
    pub struct DetectionParams {
        /// Loss recovery.
        pub recovery: Recovery = Recovery::Sack,
        /// What tells a lost segment.
        pub loss_detection: LossDetection = LossDetection::RackTlp,
        /// Duplicate ACKs (or discontiguous SACKed runs) that mean a loss. 3.
        pub dupthresh: u8 = 3,
        /// The first two duplicate ACKs let one new segment out each.   Source: RFC 3042.
        pub limited_transmit: bool = true,
        /// A timeout keeps what was SACKed (RFC 6675 §5.1 allows both; Linux keeps).
        pub keep_sack_after_rto: bool = true,
        /// What becomes of a reduction that proves spurious.
        pub undo: Undo = Undo::Linux,
        /// After a timeout, new data finds out whether it was spurious. Needs `loss_detection = "rack-tlp"`.   Source: RFC 5682 §3.1.
        pub frto: bool = true,
    }

    fn validate(&self) -> Result<(), Problem> {
        if self.dupthresh == 0 {
            return no("dupthresh", "0 is not valid; expected at least 1");
        }
        let word = self.loss_detection.word();
        if self.loss_detection != LossDetection::Dupthresh && self.recovery != Recovery::Sack {
            return no("loss_detection", format!("{word} is not valid without SACK; expected recovery = \"sack\""));
        }
        let needs = Undo::LIVES_WITH.iter().map(|detection| detection.word()).collect::<Vec<_>>().join(" or ");
        for (name, on, is, off) in
            [("undo", self.undo != Undo::None, "\"linux\"", "\"none\""), ("frto", self.frto, "true", "false")]
        {
            if on && !Undo::LIVES_WITH.contains(&self.loss_detection) {
                let with = format!("not valid with loss_detection = \"{word}\": it needs \"{needs}\"");
                return no(name, format!("{is} is {with}; expected {name} = {off}"));
            }
        }
        Ok(())
    }
}

/// How losses are found and repaired after duplicate ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Fast retransmit, fast recovery left at the first new ACK.   Source: RFC 5681 §3.2; guard against repeated fast
    /// retransmits in one window as ns-2's `bugFix_`.
    Reno,
    /// Partial ACKs retransmit the next hole; the impatient variant of the timer.   Source: RFC 6582.
    Newreno,
    /// Scoreboard: pipe, IsLost, NextSeg (1)-(4), rescue retransmission.   Source: RFC 6675.
    Sack,
}

/// What tells a lost segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossDetection {
    /// DupThresh duplicate ACKs, or as much SACKed above it. A retransmission that is lost, too, waits for the timeout.
    /// Source: RFC 5681 §3.2, RFC 6675 §4.
    Dupthresh,
    /// As ns-2's Agent/TCP/Linux, with DupThresh 4. A segment is lost when the highest one SACKed lies DupThresh above it, holes
    /// counted (FACK). A retransmission is lost when something is SACKed that was new after it, or when one more than DupThresh
    /// retransmissions later has been delivered. What is SACKed makes room at once, without limit. A loss found after a timeout
    /// reduces again; the end of a recovery forgets what was SACKed above it, that of a timeout's repair takes the window to
    /// ssthresh, but not above in flight + 3. Needs recovery by SACK.   Source: Mathis & Mahdavi 1996; traces of ns-2 2.35.
    ForwardAck,
    /// Time: something that was sent later has been delivered, and a reordering window has passed. A flight whose end is lost
    /// is probed after two round trips. Needs recovery by SACK.   Source: RFC 8985.
    RackTlp,
}

impl LossDetection {
    /// Its word in a scenario.
    pub fn word(self) -> &'static str {
        match self {
            Self::Dupthresh => "dupthresh",
            Self::ForwardAck => "forward-ack",
            Self::RackTlp => "rack-tlp",
        }
    }
}

/// What becomes of a reduction that proves to have been for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Undo {
    /// It stands.
    None,
    /// The window and ssthresh are again what they were, once D-SACK has told of everything that was sent again, or a time
    /// stamp says that the first original arrived. Needs `loss_detection = "rack-tlp"`.   Source: RFC 2883, RFC 3522, RFC 4015 as in Linux.
    Linux,
}

impl Undo {
    /// The detections that it and F-RTO can live with: they tell what was sent only once, and take back what they called lost.
    pub(crate) const LIVES_WITH: &[LossDetection] = &[LossDetection::RackTlp];
}
