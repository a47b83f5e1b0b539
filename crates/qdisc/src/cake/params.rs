//! CAKE's parameters, with tc's names and defaults.

use super::ack_filter::AckFilter;
use super::overhead::{Framing, Overhead};
use crate::declared::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Limit};

/// The tins (classes of traffic), and the assignment of code points to tins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Diffserv {
    /// One tin for all.
    Besteffort,
    /// Bulk, best effort, voice.
    Diffserv3,
    /// Bulk, best effort, video, voice.
    Diffserv4,
    /// Eight tins, by the classes of RFC 4594.
    Diffserv8,
    /// Eight tins, by the upper three bits of the code point (IP precedence).
    Precedence,
}

/// The packets that share a queue, and the hosts that get equal shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// A queue for each flow; sending hosts and receiving hosts have equal shares. The bytes that a flow may send per
    /// turn are divided by the number of bulk flows of its sending or its receiving host, whichever number is larger. A
    /// flow is bulk once it has packets after its first turn.
    TripleIsolate,
}

impl Isolation {
    /// Returns whether sending hosts get equal shares, and whether receiving hosts get equal shares.
    pub(crate) fn shares_hosts(self) -> (bool, bool) {
        let triple = self == Self::TripleIsolate;
        (triple || self == Self::DualSrchost, triple || self == Self::DualDsthost)
    }
}

params! {
    /// Parameters of CAKE, with tc's defaults. `header`, `instances`, `limit` and `target` are not in tc. The values of
    /// `diffserv`, `framing` and `isolation` are tc's keywords, with `_` for `-`, except `framing = "none"`, which is
    /// tc's `noatm`. `memory_limit` is tc's `memlimit`.
    pub struct CakeParams {
        /// Rate of CAKE's own shaper, at most the link's rate; null: no shaper, so CAKE sends at the link's rate.
        bandwidth: Option<BitRate> = None,
        /// The tins (classes of traffic), and the assignment of code points to tins.
        diffserv: Diffserv = Diffserv::Diffserv3,
        /// The packets that share a queue, and the hosts that get equal shares.
        isolation: Isolation = Isolation::TripleIsolate,
        /// Round-trip time for which the law is tuned: COBALT's interval. tc's keywords: datacentre 100us, lan 1ms,
        /// metro 10ms, regional 30ms, internet 100ms, oceanic 300ms, satellite 1s.
        rtt: Duration = Duration::from_millis(100),
        /// Acceptable standing delay; null: 1/20 of `rtt`. In a slow tin, it is the transmission time of 1.5 full
        /// frames at the tin's rate, if that is longer.
        target: Option<Duration> = None,
        /// Number of bytes, -64 to 256, that the line adds to each IP packet; null: sizes stay unchanged, as with tc's
        /// `raw`.
        overhead: Option<i16> = None,
        /// Minimum size of a packet on the line, 0 to 256 bytes.
        mpu: u16 = 0,
        /// Framing of the line: the bytes that ATM cells or PTM add to each packet.
        framing: Framing = Framing::None,
        /// Size of the link-layer header that the scenario's packet sizes already include, 0 to 256 bytes: 14 for
        /// Ethernet frames. CAKE subtracts it before it adds `overhead`. Without `overhead`, this key has no effect.
        header: u16 = 0,
        /// Filter that drops ACKs made redundant by newer ACKs.
        ack_filter: AckFilter = AckFilter::Off,
        /// Ingress mode, for a shaper behind the bottleneck. Dropped packets count as sent, because they have already
        /// used the bottleneck. Each bulk flow may keep two packets queued; a flow is bulk once it has packets after
        /// its first turn.
        ingress: bool = false,
        /// Sets the code point of each packet to 0, after it has selected the packet's tin.
        wash: bool = false,
        /// Splits packets of several segments (`tcp.NAME.tso`) on arrival. If false, such a packet stays whole in its
        /// queue, and is charged the overhead of every segment.
        split_gso: bool = true,
        /// Number of instances of CAKE that share `bandwidth`, from 1 to 64 (Linux's cake_mq). Each instance serves one
        /// transmit queue of the device; a hash assigns flows to instances. Limits apply to each instance.
        instances: u16 = 1,
        /// Maximum length of all tins together in bytes, in addition to `limit`; null: four times the bytes that
        /// `bandwidth` carries in `rtt`, but at least 4 MiB and at most 15140 KiB; without `bandwidth`, 15140 KiB.
        memory_limit: Option<Bytes> = None,
        /// Maximum length of all tins together.
        limit: Limit = Limit::Packets(10_240),
    }
}

/// The default of `memory_limit` is at least this number of bytes.
const LEAST_MEMORY: u64 = 4 << 20;
/// The default of `memory_limit` is at most this number of bytes: 10 240 Ethernet frames of 1514 bytes, as in Linux.
const MOST_MEMORY: u64 = 10_240 * 1514;

impl CakeParams {
    /// Returns the minimum of a tin's target. The target is longer if 1.5 full frames take longer at the tin's rate.
    pub(crate) fn target(&self) -> Duration {
        self.target.unwrap_or(Duration((self.rtt.0 / 20).max(1)))
    }

    /// Returns the maximum number of bytes that may be queued.
    pub(crate) fn memory(&self) -> Bytes {
        let own = || {
            let carried = self.bandwidth.map_or(MOST_MEMORY, |b| b.bytes_in(self.rtt));
            Bytes(carried.saturating_mul(4).clamp(LEAST_MEMORY, MOST_MEMORY))
        };
        self.memory_limit.unwrap_or_else(own)
    }

    /// Computes the overhead compensation from the parameters.
    pub(crate) fn compensation(&self) -> Overhead {
        let add = self.overhead.map_or(0, |o| i64::from(o) - i64::from(self.header));
        Overhead { add, mpu: u64::from(self.mpu), framing: self.framing }
    }
}
