//! Loss detection, and how a sender undoes reductions that prove spurious.

use super::group::{group, no, require, words};
use units::Problem;

group! {
    /// Loss detection, repair and undo.
    pub struct DetectionParams {
        /// Loss recovery after duplicate ACKs.
        pub recovery: Recovery = Recovery::Sack,
        /// Loss detection.
        pub loss_detection: LossDetection = LossDetection::RackTlp,
        /// DupThresh. With `loss_detection = "dupthresh"`, a segment counts as lost after this number of duplicate
        /// ACKs, or when this number of segments above it are SACKed. With `forward-ack`, DupThresh is a distance in
        /// segments (see `loss_detection`). With `rack-tlp`, this number of SACKed segments sets the reordering window
        /// to zero, unless reordering has been seen. Default 3.
        pub dupthresh: u8 = 3,
        /// Limited transmit: on each of the first two duplicate ACKs, the sender sends one new segment. With
        /// `forward-ack` and `rack-tlp`, it sends a new segment for every segment that is SACKed before a recovery
        /// begins. Source: RFC 3042.
        pub limited_transmit: bool = true,
        /// If true, the sender keeps its SACK information after a timeout, as in Linux, unless the receiver has
        /// discarded SACKed data. RFC 2018 requires the sender to ignore the information; RFC 6675 §5.1 discusses when
        /// the sender may keep it.
        pub keep_sack_after_rto: bool = true,
        /// Response when a reduction of the window proves to be spurious.
        pub undo: Undo = Undo::Linux,
        /// F-RTO: after a timeout, the sender answers the first ACK with new data instead of further retransmissions,
        /// to detect if the timeout was spurious. If it was, the window is restored, even with `undo = "none"`. Needs
        /// `loss_detection = "rack-tlp"`. Source: RFC 5682 §3.1.
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
        /// Fast retransmit, and fast recovery until the first ACK of new data. There is only one fast retransmit per
        /// window, as with ns-2's `bugFix_`.   Source: RFC 5681 §3.2.
        "reno" Reno,
        /// Like `reno`, but a partial ACK does not end the recovery: the sender retransmits the next hole. The
        /// retransmission timer follows the "impatient" variant of the RFC. Source: RFC 6582.
        "newreno" Newreno,
        /// Recovery with a SACK scoreboard, as in RFC 6675. The RFC's function IsLost, and the rules (3) and (4) of its
        /// function NextSeg, apply only with `loss_detection = "dupthresh"`. If the other end has no SACK, this end
        /// uses `newreno` and `dupthresh`, without `undo` and `frto`. DupThresh is then 3 if `loss_detection` was
        /// `forward-ack`. Source: RFC 6675.
        "sack" Sack,
    }

    /// Loss detection.
    pub enum LossDetection {
        /// A segment counts as lost after DupThresh duplicate ACKs, or when DupThresh segments above it are SACKed. If
        /// a retransmission is lost, usually only the timeout repairs it. Source: RFC 5681 §3.2, RFC 6675 §4.
        "dupthresh" Dupthresh,
        /// Forward acknowledgement (FACK). With `dupthresh = 4`, it behaves like ns-2's Agent/TCP/Linux. A segment
        /// counts as lost when the highest SACKed segment is at least DupThresh segments above it, holes included. A
        /// retransmission counts as lost in two cases: when new data sent after it is SACKed, or when a later
        /// retransmission is delivered and at least DupThresh others were sent between the two. SACKed data does not
        /// count as in flight. A loss that is found after a timeout reduces the window again. When a recovery ends,
        /// SACK information about higher data is discarded. When the repair after a timeout ends, the window is raised
        /// at once to ssthresh, but at most to the data in flight + 3 segments. Needs recovery by SACK. Source: Mathis
        /// & Mahdavi 1996; traces of ns-2 2.35.
        "forward-ack" ForwardAck,
        /// By time: a segment counts as lost when a segment sent later has been delivered and a further time, the
        /// reordering window, has passed. If no ACK arrives for about two round trips (200 ms more if only one segment
        /// is in flight), the sender sends a tail loss probe. Needs recovery by SACK.   Source: RFC 8985.
        "rack-tlp" RackTlp,
    }

    /// Response when a reduction of the window proves to be spurious.
    pub enum Undo {
        /// The sender keeps the reduction, unless `frto` shows that a timeout was spurious.
        "none" None,
        /// The sender restores the window and ssthresh in two cases: D-SACK has reported all retransmissions as
        /// duplicates, or a time stamp shows that the original of the first retransmitted segment arrived. Needs
        /// `loss_detection = "rack-tlp"`.   Source: RFC 2883, RFC 3522, RFC 4015 as in Linux.
        "linux" Linux,
    }
}

impl Undo {
    /// The methods of loss detection that support undo and F-RTO. These methods record which data was sent only once, and
    /// can clear the mark of a segment that was declared lost.
    pub(crate) const SUPPORTED_BY: &[LossDetection] = &[LossDetection::RackTlp];
}
