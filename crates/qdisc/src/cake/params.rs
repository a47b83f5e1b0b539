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
    /// One tin for all traffic.
    Besteffort,
    /// Three tins: bulk, best effort, voice.
    Diffserv3,
    /// Four tins: bulk, best effort, video, voice.
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
    /// A queue for each pair of sending and receiving host.
    Hosts,
    /// A queue for each flow.
    Flows,
    /// A queue for each flow. Sending hosts get equal shares of the link.
    DualSrchost,
    /// A queue for each flow. Receiving hosts get equal shares of the link.
    DualDsthost,
    /// A queue for each flow. Both sending hosts and receiving hosts get equal shares of the link. For this purpose,
    /// CAKE counts the bulk flows of a flow's sending host and of its receiving host. It divides the bytes that the
    /// flow may send per turn by the larger number. A flow is bulk if it has packets after its first turn.
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
    /// Parameters of CAKE, with tc's defaults. tc has no `header`, `instances`, `limit` or `target`. tc's `memlimit` is
    /// called `memory_limit` here. The values of `diffserv`, `framing` and `isolation` are tc's keywords, with `_`
    /// instead of `-`. One value has another name: `framing = "none"` is tc's `noatm`.
    pub struct CakeParams {
        /// Rate of CAKE's own shaper, at most the link's rate; null: no shaper, so CAKE sends at the link's rate.
        bandwidth: Option<BitRate> = None,
        /// The tins (classes of traffic). A packet's code point (DSCP) selects its tin.
        diffserv: Diffserv = Diffserv::Diffserv3,
        /// Determines which packets share a queue, and which hosts get equal shares of the link.
        isolation: Isolation = Isolation::TripleIsolate,
        /// Round-trip time for which CAKE's law, COBALT, is tuned. It is COBALT's `interval`, except that the interval
        /// is longer in slow tins, or if `target` is more than half of `rtt`. tc has keywords for some values:
        /// datacentre 100us, lan 1ms, metro 10ms, regional 30ms, internet 100ms, oceanic 300ms, satellite 1s.
        rtt: Duration = Duration::from_millis(100),
        /// Queueing delay that CAKE accepts. With `bandwidth`, the target of a tin is at least the time that 1.5 full
        /// frames take at the tin's rate, and the tin also accepts any delay up to the time of four full frames. Null:
        /// 1/20 of `rtt`.
        target: Option<Duration> = None,
        /// Number of bytes, -64 to 256, that the line adds to each IP packet; null: no bytes are added or subtracted,
        /// as with tc's `raw`.
        overhead: Option<i16> = None,
        /// Minimum size of a packet on the line, 0 to 256 bytes.
        mpu: u16 = 0,
        /// Framing of the line. It determines the bytes that ATM cells or PTM add to each packet.
        framing: Framing = Framing::None,
        /// Size of the link-layer header that the packet sizes in the scenario already include, 0 to 256 bytes. For
        /// Ethernet frames, it is 14. CAKE subtracts it before it adds `overhead`. If `overhead` is not given, this key
        /// has no effect.
        header: u16 = 0,
        /// Filter that drops ACKs made redundant by newer ACKs.
        ack_filter: AckFilter = AckFilter::Off,
        /// Ingress mode, for a shaper behind the bottleneck. Dropped packets count as sent, because they have already
        /// used the bottleneck. In addition, a tin with n bulk flows accepts the time of 2n full frames as queueing
        /// delay, if that is longer than the delay that it accepts otherwise (`target`). A flow is bulk if it has
        /// packets after its first turn.
        ingress: bool = false,
        /// Sets the code point (DSCP) of each packet to 0. Before that, the original code point selects the packet's
        /// tin.
        wash: bool = false,
        /// Splits packets of several segments (`tcp.NAME.tso`) on arrival. If false, such a packet stays whole, and
        /// CAKE adds the overhead of every segment to the packet's size. A link with a modem, a token bucket or
        /// `delivery` splits the packets in either case.
        split_gso: bool = true,
        /// Number of instances of CAKE that share `bandwidth`, from 1 to 64 (Linux's cake_mq). Each instance serves one
        /// transmit queue of the device, and a hash assigns flows to instances. `limit` and `memory_limit` apply to
        /// each instance.
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
