//! Explicit congestion notification.

use super::group::{group, no, words};
use units::Problem;

/// Size in bytes of an AccECN option with all counters, including the padding.
const ACCECN_BYTES: u32 = 12;

group! {
    /// Explicit congestion notification.
    pub struct EcnParams {
        /// If true, the stack uses ECN: a client requests it, and a server accepts it.   Source: RFC 3168; RFC 9768
        /// with `ecn_feedback = "accecn"`.
        pub ecn: bool = false,
        /// ECN code point of ECN-capable packets. Default: `ect1` for prague, otherwise `ect0`.
        pub ect: Option<Ect> = None,
        /// The kinds of packets that are sent as ECN-capable. Default: `all` for dctcp and prague; for other
        /// controllers, `established` with `ecn_feedback = "accecn"` (as in Linux), otherwise `data`.
        pub ect_on: Option<EctOn> = None,
        /// How ACKs report CE marks.
        pub ecn_feedback: EcnFeedback = EcnFeedback::Rfc3168,
        /// If true, segments also carry AccECN's byte counters. Without these counters, the number of marks is
        /// ambiguous when an ACK covers more than seven segments. The sender then assumes the largest possible number
        /// (RFC 9768 §A.2). But if ACKs cover more than four segments on average, it assumes the smallest, as Linux
        /// does. The counters take 12 bytes of options, so a packet of 1500 bytes carries 1436 bytes of payload.
        /// Needs `ecn_feedback = "accecn"`. Source: RFC 9768 §3.2.3.
        pub accecn_option: bool = false,
    }

    fn validate(&self) -> Result<(), Problem> {
        if self.accecn_option && self.ecn_feedback != EcnFeedback::Accecn {
            return no(
                "accecn_option",
                "true is not valid without ecn_feedback = \"accecn\"; expected false",
            );
        }
        Ok(())
    }
}

impl EcnParams {
    /// Returns the number of bytes by which AccECN's option reduces the payload of every segment.
    pub(crate) fn option_bytes(&self) -> u32 {
        if self.ecn && self.accecn_option { ACCECN_BYTES } else { 0 }
    }
}

words! {
    /// How a receiver reports CE marks, if ECN is in use.
    pub enum EcnFeedback {
        /// ACKs report only that there was a mark. After a mark, every ACK carries the flag ECE until the sender
        /// responds with the flag CWR. Source: RFC 3168 §6.1.3.
        "rfc3168" Rfc3168,
        /// Exact counts: an ACK carries the flag ECE if the segments that it acknowledges had CE. When the CE state
        /// changes from one segment to the next, up to two ACKs are sent at once: one for the segments before the
        /// change, if they still await an ACK, and one for the first segment after it.   Source: RFC 8257 §3.2.
        "dctcp" Dctcp,
        /// Every segment carries a 3-bit counter of marks. The sender's count is exact if ACKs cover up to seven
        /// segments, or with `accecn_option`. Otherwise, it is an estimate. The handshake negotiates AccECN. If the
        /// peer supports only RFC 3168, both ends use the feedback of RFC 3168. If the controller of an end needs
        /// AccECN, as prague does, this end then sends no ECN-capable packets. If the peer does not support ECN, ECN is
        /// off. Source: RFC 9768.
        "accecn" Accecn,
    }

    /// The ECN codepoint that declares a packet ECN-capable.
    pub enum Ect {
        /// ECT(0): classic ECN. In the standard, a sender responds to a mark as to a loss.   Source: RFC 3168 §5.
        "ect0" Ect0,
        /// ECT(1): L4S (low latency, low loss, scalable throughput).   Source: RFC 9331 §2.
        "ect1" Ect1,
    }

    /// The packets that are sent as ECN-capable.
    pub enum EctOn {
        /// Only new data.   Source: RFC 3168 §6.1.
        "data" Data,
        /// All packets after the handshake, including retransmissions and pure ACKs.   Source: Linux with AccECN.
        "established" Established,
        /// All packets, including SYN and SYN-ACK.   Source: Linux with DCTCP; draft-ietf-tcpm-generalized-ecn.
        "all" All,
    }
}
