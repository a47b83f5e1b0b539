//! What two different stacks negotiate when a connection opens, apart from ECN (`accecn.rs`).
//!
//! ```text
//! SACK, time stamps   used if both stacks have them
//! MSS option          mss + the bytes of the fixed options of the stack's own segments
//! payload             min(mss, the peer's MSS option - the bytes of the fixed options in use)
//!                     if AccECN's option is not in use after all, `mss` first grows by its 12 bytes
//! ```
//!
//! Fixed options are those that every segment carries: time stamps and AccECN's option. The result follows from the
//! two stacks alone, so it is computed before the run, and no connection computes it again.
//!
//! Source: RFC 2018 §2; RFC 7323 §3.2; RFC 9293 §3.7.1; RFC 9768 §3.2.3.
//! Departs: without SACK from the peer, undo and F-RTO are off, because only RACK-TLP supports them here. Linux keeps
//! both. With `receive_window = "auto"`, the first receive window is a multiple of the negotiated segment size. The options
//! of a SYN have `syn_option_bytes` bytes, whatever is negotiated.

use super::group::no;
use super::{LossDetection, Recovery, TcpParams, Undo};
use crate::accecn;
use units::Problem;

/// Size in bytes of a time stamp option: 10, and two NOPs of padding, as in Linux.   Source: RFC 7323 §3.2.
const TIMESTAMP_OPTION: u32 = 12;
/// Number of duplicate ACKs that indicate a loss.   Source: RFC 5681 §3.2.
const DUPTHRESH: u8 = 3;

impl TcpParams {
    /// Returns the value of the MSS option in this stack's SYN. The option does not subtract the bytes of TCP options
    /// (RFC 9293 §3.7.1), but `mss` does.
    pub fn mss_option(&self) -> u32 {
        self.wire.mss + self.fixed_options()
    }

    /// Returns the bytes of the options that every segment carries, as a real host writes them.
    fn fixed_options(&self) -> u32 {
        self.ecn.option_bytes() + if self.wire.timestamps { TIMESTAMP_OPTION } else { 0 }
    }

    /// Returns the stack as it runs with `peer` at the other end.
    ///
    /// Errors: the key in which the two stacks differ, if this stack needs the peer to have the same value; or the key
    /// of a feature that this stack's controller needs and the peer lacks.
    pub fn negotiated(&self, peer: &Self) -> Result<Self, Problem> {
        if self.opening.handshake != peer.opening.handshake {
            return no(
                "handshake",
                "no connection opens if it is false at only one end; expected the same at both ends",
            );
        }
        if !self.opening.handshake && accecn::request(self) != accecn::request(peer) {
            let key = if self.ecn.ecn == peer.ecn.ecn { "ecn_feedback" } else { "ecn" };
            return no(key, "without a handshake, ECN is not negotiated; expected the same ECN at both ends");
        }
        let mut p = self.clone();
        p.wire.timestamps &= peer.wire.timestamps;
        p.ecn.accecn_option &= accecn::request(self) == accecn::request(peer);
        let most = (self.wire.mss + self.ecn.option_bytes()).saturating_sub(p.ecn.option_bytes());
        p.wire.mss = most.min(peer.mss_option().saturating_sub(p.fixed_options())).max(1);
        if self.detection.recovery == Recovery::Sack && peer.detection.recovery != Recovery::Sack {
            p.detection.recovery = Recovery::Newreno;
            if p.detection.loss_detection == LossDetection::ForwardAck {
                // the threshold of `forward-ack` is a distance between segments, so it is replaced by a number of
                // duplicate ACKs
                p.detection.dupthresh = DUPTHRESH;
            }
            p.detection.loss_detection = LossDetection::Dupthresh;
            (p.detection.undo, p.detection.frto) = (Undo::None, false);
        }
        p.validate()?;
        Ok(p)
    }
}
