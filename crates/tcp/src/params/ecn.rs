//! What a stack does by ECN: one enum for each choice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// Whose DCTCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DctcpForm {
    /// As described: shares of bytes, one cut at the end of each window that had marks, growth otherwise.   Source: RFC 8257 §3.3.
    Rfc8257,
    /// As Linux runs it: alpha in 1024ths, shares and cuts of whole segments, no growth in the round after a mark.
    Linux,
}
