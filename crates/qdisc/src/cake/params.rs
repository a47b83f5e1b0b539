//! CAKE's parameters, with tc's names and defaults.

use super::ack_filter::AckFilter;
use super::overhead::{Framing, Overhead};
use crate::Room;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Limit, Problem};

/// How packets are sorted into tins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Diffserv {
    /// One tin for all.
    Besteffort,
    /// Bulk, best effort, voice.
    #[default]
    Diffserv3,
    /// Bulk, best effort, video, voice.
    Diffserv4,
    /// Eight, by the classes of RFC 4594.
    Diffserv8,
    /// Eight, by the upper three bits of the code point (IP precedence).
    Precedence,
}

/// Who is kept apart from whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Nobody: one queue in each tin.
    Flowblind,
    /// A queue for each sending host.
    Srchost,
    /// A queue for each receiving host.
    Dsthost,
    /// A queue for each pair of hosts.
    Hosts,
    /// A queue for each flow.
    Flows,
    /// A queue for each flow; sending hosts have equal shares.
    DualSrchost,
    /// A queue for each flow; receiving hosts have equal shares.
    DualDsthost,
    /// A queue for each flow; hosts have equal shares, whichever of the two has more flows.
    #[default]
    TripleIsolate,
}

impl Isolation {
    /// Whether the flows of a sending host share its turn, and those of a receiving one.
    pub(crate) fn shares_hosts(self) -> (bool, bool) {
        let triple = self == Self::TripleIsolate;
        (triple || self == Self::DualSrchost, triple || self == Self::DualDsthost)
    }
}

/// Parameters of CAKE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CakeParams {
    /// Rate of CAKE's own shaper, at most the link's; null: unlimited, the link sets the pace.
    pub bandwidth: Option<BitRate>,
    /// How packets are sorted into tins.
    pub diffserv: Diffserv,
    /// Who is kept apart from whom.
    pub isolation: Isolation,
    /// The round-trip time that the law reckons with: COBALT's interval. tc's words for it: datacentre 100us, lan 1ms, metro
    /// 10ms, regional 30ms, internet 100ms, oceanic 300ms, satellite 1s.
    pub rtt: Duration,
    /// Acceptable standing delay, of tins that need no more than this for one and a half packets; null: a 20th of `rtt`.
    pub target: Option<Duration>,
    /// Bytes that the line adds to each IP packet, -64 to 256; null: packets count as they are (raw).
    pub overhead: Option<i16>,
    /// Least bytes that the line carries for a packet, 0 to 256.
    pub mpu: u16,
    /// How the line carries them: as they are, in ATM cells, or with PTM's byte for each 64.
    pub framing: Framing,
    /// Bytes before its IP header that a packet's size counts: 14 where sizes are those of Ethernet frames. `overhead` counts
    /// from the IP header on.
    pub header: u16,
    /// Whether ACKs that newer ones make superfluous are dropped.
    pub ack_filter: AckFilter,
    /// The shaper stands behind the bottleneck: what is dropped here counts as sent, and a flow keeps two packets.
    pub ingress: bool,
    /// Take code points off packets once they are sorted.
    pub wash: bool,
    /// Cut packets of several segments (`tso`) when they come; false: each is one packet in its queue, with the overhead of each
    /// segment.
    pub split_gso: bool,
    /// How much may wait in bytes; null: four times what `bandwidth` carries in `rtt`, and at least 4 MiB.
    pub memory_limit: Option<Bytes>,
    /// How much may wait in all.
    pub limit: Limit,
}

impl Default for CakeParams {
    /// tc-cake(8).
    fn default() -> Self {
        Self {
            bandwidth: None,
            diffserv: Diffserv::default(),
            isolation: Isolation::default(),
            rtt: Duration::from_millis(100),
            target: None,
            overhead: None,
            mpu: 0,
            framing: Framing::default(),
            header: 0,
            ack_filter: AckFilter::default(),
            ingress: false,
            wash: false,
            split_gso: true,
            memory_limit: None,
            limit: Limit::Packets(10_240),
        }
    }
}

/// Least memory that CAKE takes by itself, bytes.
const LEAST_MEMORY: u64 = 4 << 20;

impl CakeParams {
    /// The delay that every tin may have.
    pub(crate) fn target(&self) -> Duration {
        self.target.unwrap_or(Duration((self.rtt.0 / 20).max(1)))
    }

    /// How many bytes may wait.
    pub(crate) fn memory(&self) -> Bytes {
        let own = || {
            let carried = self.bandwidth.map_or(0, |b| b.bytes_in(self.rtt));
            Bytes(carried.saturating_mul(4).max(LEAST_MEMORY))
        };
        self.memory_limit.unwrap_or_else(own)
    }

    /// What a packet costs on the line.
    pub(crate) fn compensation(&self) -> Overhead {
        let add = self.overhead.map_or(0, |o| i64::from(o) - i64::from(self.header));
        Overhead { add, mpu: u64::from(self.mpu), framing: self.framing }
    }

    /// The first thing that is wrong, by field name.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let refuse = |path: &str, message: String| Err(Problem::new(path, message));
        if self.bandwidth == Some(BitRate(0)) {
            return refuse("bandwidth", "0bit is not valid; expected a positive rate, or null for unlimited".into());
        }
        for (path, d) in [("rtt", Some(self.rtt)), ("target", self.target)] {
            if d.is_some_and(Duration::is_zero) {
                return refuse(path, "0s is not valid; expected a positive duration".into());
            }
        }
        if let Some(o) = self.overhead.filter(|o| !(-64..=256).contains(o)) {
            return refuse("overhead", format!("{o} is not valid; expected -64 to 256 bytes, or null"));
        }
        for (path, n) in [("mpu", self.mpu), ("header", self.header)] {
            if n > 256 {
                return refuse(path, format!("{n} is not valid; expected at most 256 bytes"));
            }
        }
        if let Some(limit) = self.memory_limit {
            Room::validate(Limit::Bytes(limit), false).map_err(|p| Problem::new("memory_limit", p.message.clone()))?;
        }
        Room::validate(self.limit, false)
    }

    /// The first thing that is wrong on a link of this rate: a shaper faster than its link would hold nothing back, and the queue
    /// would be the link's.
    pub(super) fn check_at(&self, rate: BitRate) -> Result<(), Problem> {
        match self.bandwidth {
            Some(b) if b > rate => {
                let message =
                    format!("{b} is not valid on a link of {rate}; expected at most the link's rate, or null");
                Err(Problem::new("bandwidth", message))
            }
            _ => Room::validate_at(self.limit, false, rate),
        }
    }
}
