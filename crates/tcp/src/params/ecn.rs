//! What a stack does by ECN.

use super::group::{group, no};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Problem;

/// Bytes of a whole AccECN option, padded.
const ACCECN_BYTES: u32 = 12;

group! {
    /// What a stack does by ECN.
    pub struct EcnParams {
        /// ECN: asked for by a client, accepted by a server.   Source: RFC 3168; RFC 9768 with `ecn_feedback = "accecn"`.
        pub ecn: bool = false,
        /// How ECN-capable packets say so. Absent: `ect1` for prague, else `ect0`.
        pub ect: Option<Ect> = None,
        /// Which packets are ECN-capable. Absent: `all` for dctcp and prague, `established` with `ecn_feedback = "accecn"` (Linux), else
        /// `data`.
        pub ect_on: Option<EctOn> = None,
        /// What its ACKs tell of CE marks.
        pub ecn_feedback: EcnFeedback = EcnFeedback::Rfc3168,
        /// Segments carry AccECN's counters of bytes, too: 12 bytes of options, which the payload lacks (1436 bytes in 1500). They tell of
        /// marks where an ACK stands for more than seven segments. Needs `ecn_feedback = "accecn"`.   Source: RFC 9768 §3.2.3.
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
    /// Bytes that AccECN's option takes from the payload of every segment.
    pub(crate) fn option_bytes(&self) -> u32 {
        if self.ecn && self.accecn_option { ACCECN_BYTES } else { 0 }
    }
}

/// What a receiver tells of CE marks, where `ecn` is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnFeedback {
    /// That there was one: every ACK says so from a mark on until the sender answers with CWR.   Source: RFC 3168 §6.1.3.
    Rfc3168,
    /// How many: an ACK says so if what it acknowledges was marked. Where marks begin or end, what came before is acknowledged at
    /// once, by itself, and so is what comes then.   Source: RFC 8257 §3.2.
    Dctcp,
    /// How many, as a number of three bits in every segment. The handshake asks for it; a peer that has it not gets RFC 3168's, or
    /// none.   Source: RFC 9768.
    Accecn,
}

impl EcnFeedback {
    /// Its word in a scenario.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rfc3168 => "rfc3168",
            Self::Dctcp => "dctcp",
            Self::Accecn => "accecn",
        }
    }
}

/// How ECN-capable packets are marked as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ect {
    /// ECT(0): a mark counts as a loss.   Source: RFC 3168 §5.
    Ect0,
    /// ECT(1): low latency, low loss, scalable throughput.   Source: RFC 9331 §2.
    Ect1,
}

/// Which packets are ECN-capable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EctOn {
    /// New data.   Source: RFC 3168 §6.1.
    Data,
    /// All after the handshake: retransmissions and pure ACKs, too.   Source: Linux with AccECN.
    Established,
    /// All: SYN and SYN-ACK, too.   Source: Linux with DCTCP; draft-ietf-tcpm-generalized-ecn.
    All,
}
