//! Parameters of a service flow and of the upstream channel.

use packet::LEAST_BYTES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Limit, Prob, Problem, ensure, positive, within};

/// Maximum depth of a bucket in bytes. The tokens of a bucket of this depth, 1e-9 bit each, still fit into 63 bits.
pub const MAX_BURST: u64 = 1_000_000_000;

/// Declares functions that return defaults, for serde and for constructors such as [`DocsisParams::new`].
macro_rules! defaults {
    ($($key:ident: $Type:ty = $value:expr;)+) => {
        $(fn $key() -> $Type {
            $value
        })+
    };
}
pub(crate) use defaults;

/// Two token buckets that shape one service flow: one bucket for the sustained rate, and one for the peak rate. MULPI
/// is the DOCSIS specification of these parameters (MAC and Upper Layer Protocols Interface). The TLV numbers are the
/// codes of these parameters in the modem's configuration file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShaperParams {
    /// Maximum Sustained Traffic Rate: the long-term rate, at which tokens arrive in the bucket. MULPI C.2.2.7.2 (TLV
    /// 24.8, 25.8). Unit: bit/s.
    pub max_sustained_rate: BitRate,
    /// Maximum Traffic Burst: depth of the sustained rate's bucket. MULPI C.2.2.7.3 (TLV 24.9, 25.9). Unit: bytes.
    /// Default 3044. With `model = "docsis_link_2013"`, a modem requests at most this many bytes per MAP, and tokens
    /// that arrive in a full bucket are lost. So the modem reaches `max_sustained_rate` only if the burst is at least
    /// the tokens of two MAP intervals (4 ms by default), for example 25 kB at 50 Mbit/s. With the default burst and
    /// MAP interval, it carries at most 12.2 Mbit/s.
    #[serde(default = "max_traffic_burst")]
    pub max_traffic_burst: Bytes,
    /// Peak Traffic Rate: highest rate while the sustained rate's bucket has tokens; null for no limit. MULPI
    /// C.2.2.7.10 (TLV 24.27, 25.27). Unit: bit/s.
    #[serde(default)]
    pub peak_traffic_rate: Option<BitRate>,
    /// Depth of the peak rate's bucket. MULPI C.2.2.7.10. Unit: bytes. The default, 1522, is the largest Ethernet
    /// frame. Has no effect without `peak_traffic_rate`, nor with `model = "docsis_link_2013"`.
    #[serde(default = "peak_burst")]
    pub peak_burst: Bytes,
}

defaults! {
    max_traffic_burst: Bytes = Bytes(3044);
    peak_burst: Bytes = Bytes(1522);
    map_interval: Duration = Duration::from_millis(2);
    transmit_limit: Limit = Limit::Packets(32);
}

impl ShaperParams {
    /// Checks the parameters. The error names the first invalid field.
    pub fn validate(&self) -> Result<(), Problem> {
        positive("max_sustained_rate", self.max_sustained_rate)?;
        let (least, peak) = (self.max_sustained_rate, self.peak_traffic_rate.unwrap_or(self.max_sustained_rate));
        ensure!(
            peak >= least,
            "peak_traffic_rate",
            "{peak} is not valid; expected at least max_sustained_rate, {least}, or null for no limit"
        );
        within("max_traffic_burst", self.max_traffic_burst, Bytes(1), Bytes(MAX_BURST))?;
        within("peak_burst", self.peak_burst, Bytes(1), Bytes(MAX_BURST))
    }
}

/// The model of the upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Model {
    /// CableLabs 2012: packets pass from the managed queue (the link's `queue`) through a shaper into a transmit queue,
    /// which requests grants.
    #[default]
    #[serde(rename = "two_queue_2012")]
    TwoQueue2012,
    /// CableLabs' ns-2 DocsisLink (2013): there is no transmit queue; grants take packets directly from the managed
    /// queue.
    #[serde(rename = "docsis_link_2013")]
    DocsisLink2013,
}

/// The clock that determines when MAPs are sent (2012 model).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MapClock {
    /// The channel's own clock sends MAPs at `map_offset` and at every interval after that, even if no packet waits.
    #[default]
    FreeRunning,
    /// A clock starts when a packet arrives in an empty transmit queue. It sends a MAP every interval until the queue
    /// is empty again, as in a simulation that starts its timer on demand. So the first packet waits for a whole number
    /// of intervals.
    FromFirstPacket,
}

/// The bytes that REQ(1) holds when a MAP moves it into REQ(0) (2012 model).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestVector {
    /// The bytes that were waiting and not yet requested at the previous MAP. A packet waits until the next MAP, and
    /// then for two more intervals: 4 to 6 ms with the default `map_interval`.
    #[default]
    Recorded,
    /// The bytes that are waiting and not yet requested at this MAP ("REQ(1) tracks the occupancy of the queue"). A packet
    /// waits for one interval less than with `recorded`.
    Live,
}

/// Behaviour of a full transmit queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransmitOverflow {
    /// The managed queue keeps its packets until there is room, as in a modem (CableLabs 2012 §2.2.3 b).
    #[default]
    BackPressure,
    /// The transmit queue, behind the queue discipline, drops the arriving packet, as in the simulated modem of CableLabs 2012.
    Drop,
}

/// The upstream service flow of a DOCSIS 3.0 modem: its rate shaping, its requests and grants, and its transmit
/// queue. The CMTS, at the operator's end of the cable, grants bytes to the modem in messages called MAPs. The link's
/// `rate` is the channel's rate. Keys marked "2012 model" have no effect with `model = "docsis_link_2013"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocsisParams {
    /// Rate shaping of the service flow.
    pub flow: ShaperParams,
    /// The model of the upstream.
    #[serde(default)]
    pub model: Model,
    /// Time between MAPs, the CMTS's allocations of the channel. MULPI 7.2.1. The default is the value of CableLabs 2012.
    #[serde(default = "map_interval")]
    pub map_interval: Duration,
    /// Time of the first MAP, from the start of the run; further MAPs follow at whole intervals. Default 0.
    #[serde(default)]
    pub map_offset: Duration,
    /// The clock that determines when MAPs are sent (2012 model).
    #[serde(default)]
    pub map_clock: MapClock,
    /// How the modem fills REQ(1), the second entry of its request vector (2012 model). Each MAP grants bytes from the
    /// first entry, REQ(0), and then adds REQ(1) to it, so that later MAPs can grant these bytes. REQ(1) holds one of
    /// the following.
    #[serde(default)]
    pub request_vector: RequestVector,
    /// Mean of the maximum grant size; null: no limit. Without a limit, the channel is uncongested; a low limit models
    /// a congested channel. Even if this key is not set, the 2013 model limits a grant to the bytes that the peak rate
    /// carries in a MAP interval. If no peak rate is set, the channel's rate is used. In CableLabs 2012: `maxgrant_`.
    /// Unit: bytes.
    #[serde(default)]
    pub max_grant: Option<Bytes>,
    /// Relative variation x of the maximum grant size: the maximum of each MAP is drawn uniformly from 1 - x to 1 + x
    /// times the mean. Needs `max_grant` in the 2012 model. In CableLabs 2012: `mgvar_`.
    #[serde(default)]
    pub grant_variation: Prob,
    /// Limit of the transmit queue, in packets or bytes (2012 model). The default, 32p, is the value of CableLabs
    /// 2012. A packet waits 4 to 6 ms for its grant, so 32 packets of 1500 bytes are enough for 64 to 96 Mbit/s; a
    /// faster modem needs more.
    #[serde(default = "transmit_limit")]
    pub transmit_limit: Limit,
    /// Behaviour of a full transmit queue (2012 model). Default `back_pressure`.
    #[serde(default)]
    pub transmit_queue: TransmitOverflow,
}

impl DocsisParams {
    /// Returns the parameters of an uncongested modem with two queues and this shaping.
    pub fn new(flow: ShaperParams) -> Self {
        Self {
            flow,
            model: Model::default(),
            map_interval: map_interval(),
            map_offset: Duration::ZERO,
            map_clock: MapClock::default(),
            request_vector: RequestVector::default(),
            max_grant: None,
            grant_variation: Prob::default(),
            transmit_limit: transmit_limit(),
            transmit_queue: TransmitOverflow::default(),
        }
    }

    /// Checks the parameters. The error names the first invalid field.
    pub fn validate(&self) -> Result<(), Problem> {
        self.flow.validate().map_err(|p| p.under("flow"))?;
        positive("map_interval", self.map_interval)?;
        let nothing = self.max_grant == Some(Bytes(0));
        ensure!(!nothing, "max_grant", "0B is not valid: nothing could be sent; expected at least 1B or null");
        let varies = self.grant_variation.get() > 0.0 && self.model == Model::TwoQueue2012;
        let limited = !varies || self.max_grant.is_some();
        ensure!(limited, "grant_variation", "needs max_grant: without a limit there is nothing to vary");
        let limit = self.transmit_limit;
        let counted = !matches!(limit, Limit::Time(_));
        ensure!(counted, "transmit_limit", "{limit} is not valid; expected packets (\"32p\") or bytes");
        let empty = matches!(limit, Limit::Packets(0) | Limit::Bytes(Bytes(0..LEAST_BYTES)));
        ensure!(!empty, "transmit_limit", "{limit} is not valid; expected at least 1p or {LEAST_BYTES}B");
        Ok(())
    }
}
