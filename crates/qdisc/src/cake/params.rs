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

/// Isolation between flows and hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// No isolation: one queue in each tin.
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
    /// A queue for each flow; equal shares for sending and for receiving hosts, by whichever host of a flow has more flows.
    #[default]
    TripleIsolate,
}

impl Isolation {
    /// Returns whether turns are shared among the flows of a sending host, and among those of a receiving host.
    pub(crate) fn shares_hosts(self) -> (bool, bool) {
        let triple = self == Self::TripleIsolate;
        (triple || self == Self::DualSrchost, triple || self == Self::DualDsthost)
    }
}

/// Parameters of CAKE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CakeParams {
    /// Rate of CAKE's own shaper, at most the link's; null: unlimited, at the link's rate.
    pub bandwidth: Option<BitRate>,
    /// How packets are sorted into tins.
    pub diffserv: Diffserv,
    /// Isolation between flows and hosts.
    pub isolation: Isolation,
    /// The round-trip time assumed by the law: COBALT's interval. tc's keywords: datacentre 100us, lan 1ms, metro 10ms,
    /// regional 30ms, internet 100ms, oceanic 300ms, satellite 1s.
    pub rtt: Duration,
    /// Acceptable standing delay; slow tins use the time of 1.5 packets at their rate if that is longer; null: a 20th of `rtt`.
    pub target: Option<Duration>,
    /// Bytes that the line adds to each IP packet, -64 to 256; null: packet sizes are used unchanged (raw).
    pub overhead: Option<i16>,
    /// Minimum bytes on the line for a packet, 0 to 256.
    pub mpu: u16,
    /// The framing of the line: none, ATM cells, or PTM's extra byte for each 64.
    pub framing: Framing,
    /// Bytes before the IP header that a packet's size includes: 14 where sizes are those of Ethernet frames. `overhead` counts
    /// from the IP header on.
    pub header: u16,
    /// Drop ACKs that newer ones make redundant.
    pub ack_filter: AckFilter,
    /// The shaper is behind the bottleneck: packets dropped here count as sent, and a flow keeps two packets.
    pub ingress: bool,
    /// Clear the code points of packets once they are sorted.
    pub wash: bool,
    /// Split packets of several segments (`tso`) on arrival; false: each is one packet in its queue, with the overhead of each
    /// segment.
    pub split_gso: bool,
    /// Most bytes that may wait; null: four times the bytes of `bandwidth` in `rtt`, at least 4 MiB.
    pub memory_limit: Option<Bytes>,
    /// Total that may wait.
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

/// Least default of `memory_limit`, bytes.
const LEAST_MEMORY: u64 = 4 << 20;

impl CakeParams {
    /// The target before adjustment to a tin's rate.
    pub(crate) fn target(&self) -> Duration {
        self.target.unwrap_or(Duration((self.rtt.0 / 20).max(1)))
    }

    /// Most bytes that may wait.
    pub(crate) fn memory(&self) -> Bytes {
        let own = || {
            let carried = self.bandwidth.map_or(0, |b| b.bytes_in(self.rtt));
            Bytes(carried.saturating_mul(4).max(LEAST_MEMORY))
        };
        self.memory_limit.unwrap_or_else(own)
    }

    /// The overhead compensation.
    pub(crate) fn compensation(&self) -> Overhead {
        let add = self.overhead.map_or(0, |o| i64::from(o) - i64::from(self.header));
        Overhead { add, mpu: u64::from(self.mpu), framing: self.framing }
    }

    /// Reports the first invalid parameter, by field name.
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

    /// Reports the first parameter that is invalid on a link of this rate. A shaper faster than its link would not shape, and
    /// the link would be the bottleneck.
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
