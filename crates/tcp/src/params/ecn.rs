//! Explicit congestion notification.

use super::group::{group, no, words};
use units::Problem;

/// Bytes of a whole AccECN option, padded.
const ACCECN_BYTES: u32 = 12;

group! {
    /// Explicit congestion notification.
    pub struct EcnParams {
        /// ECN: requested by a client, accepted by a server.   Source: RFC 3168; RFC 9768 with `ecn_feedback = "accecn"`.
        pub ecn: bool = false,
        /// Codepoint of ECN-capable packets. Absent: `ect1` for prague, else `ect0`.
        pub ect: Option<Ect> = None,
        /// Which packets are ECN-capable. Absent: `all` for dctcp and prague, `established` with `ecn_feedback = "accecn"`
        /// (Linux), else `data`.
        pub ect_on: Option<EctOn> = None,
        /// How ACKs report CE marks.
        pub ecn_feedback: EcnFeedback = EcnFeedback::Rfc3168,
        /// Segments also carry AccECN's byte counters: 12 bytes of options, taken from the payload (1436 bytes in 1500). They
        /// count marks where an ACK covers more than seven segments. Needs `ecn_feedback = "accecn"`.   Source: RFC 9768 §3.2.3.
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
    /// Payload bytes of every segment that AccECN's option takes.
    pub(crate) fn option_bytes(&self) -> u32 {
        if self.ecn && self.accecn_option { ACCECN_BYTES } else { 0 }
    }
}

words! {
    /// How a receiver reports CE marks, where `ecn` is in use.
    pub enum EcnFeedback {
        /// Presence of a mark: every ACK from a mark on carries ECE, until the sender responds with CWR.   Source: RFC 3168
        /// §6.1.3.
        "rfc3168" Rfc3168,
        /// Exact counts: ECE reflects the CE bit of the acknowledged segments. Where the CE state changes, the segments before
        /// the change are acknowledged at once, by an ACK of their own, and so is the segment that brings it.   Source: RFC
        /// 8257 §3.2.
        "dctcp" Dctcp,
        /// Exact counts, as a 3-bit counter in every segment. Negotiated in the handshake; with a peer that does not support
        /// it, RFC 3168 feedback or none.   Source: RFC 9768.
        "accecn" Accecn,
    }

    /// How ECN-capable packets are marked as such.
    pub enum Ect {
        /// ECT(0): a mark counts as a loss.   Source: RFC 3168 §5.
        "ect0" Ect0,
        /// ECT(1): low latency, low loss, scalable throughput.   Source: RFC 9331 §2.
        "ect1" Ect1,
    }

    /// Which packets are ECN-capable.
    pub enum EctOn {
        /// New data.   Source: RFC 3168 §6.1.
        "data" Data,
        /// All after the handshake, including retransmissions and pure ACKs.   Source: Linux with AccECN.
        "established" Established,
        /// All, including SYN and SYN-ACK.   Source: Linux with DCTCP; draft-ietf-tcpm-generalized-ecn.
        "all" All,
    }
}
