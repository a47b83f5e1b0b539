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

/// A shaper with two token buckets: one for the sustained rate, and one for the peak rate. In a modem, it shapes a
/// service flow (the traffic that DOCSIS shapes as one unit), or an aggregate of two service flows. The DOCSIS
/// specification MULPI (MAC and Upper Layer Protocols Interface) defines these parameters. A TLV number is the code of
/// a parameter in the modem's configuration file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShaperParams {
    /// Maximum Sustained Traffic Rate: the long-term rate. Tokens arrive in its bucket at this rate. MULPI C.2.2.7.2
    /// (TLV 24.8, 25.8). Unit: bit/s.
    pub max_sustained_rate: BitRate,
    /// Maximum Traffic Burst: depth of the bucket for the sustained rate. MULPI C.2.2.7.3 (TLV 24.9, 25.9). Unit:
    /// bytes. Default 3044. A DOCSIS 3.0 modem with `model = "docsis_link_2013"` requests at most this number of bytes
    /// per MAP. With the default burst and MAP interval, it carries at most 12.2 Mbit/s. Tokens that arrive in a full
    /// bucket are lost, and up to two MAP intervals (4 ms by default) pass from one request to the next. So this modem
    /// surely reaches `max_sustained_rate` only if the bucket holds the tokens of two MAP intervals: 25 kB at 50 Mbit/s.
    #[serde(default = "max_traffic_burst")]
    pub max_traffic_burst: Bytes,
    /// Peak Traffic Rate: highest rate while the bucket for the sustained rate has tokens; null for no limit. MULPI
    /// C.2.2.7.10 (TLV 24.27, 25.27). Unit: bit/s.
    #[serde(default)]
    pub peak_traffic_rate: Option<BitRate>,
    /// Depth of the bucket for the peak rate. MULPI C.2.2.7.10. Unit: bytes. The default, 1522, is the size of the
    /// largest Ethernet frame. This key has no effect without `peak_traffic_rate`, or with
    /// `model = "docsis_link_2013"`.
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
    /// CableLabs 2012: packets pass from the managed queue (the link's `queue`) through a shaper into a transmit queue.
    /// Grants are requested for the packets in the transmit queue.
    #[default]
    #[serde(rename = "two_queue_2012")]
    TwoQueue2012,
    /// CableLabs' DocsisLink for ns-2 (2013): there is no transmit queue. Grants take packets directly from the managed
    /// queue (the link's `queue`).
    #[serde(rename = "docsis_link_2013")]
    DocsisLink2013,
}

/// The clock that determines when MAPs are sent (2012 model).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MapClock {
    /// A MAP is sent at `map_offset`, and at every `map_interval` after that, even if no packet waits.
    #[default]
    FreeRunning,
    /// The clock starts when a packet arrives in an empty transmit queue. A MAP is sent at every `map_interval` until
    /// the queue is empty again. So the first packet waits for a whole number of intervals.
    FromFirstPacket,
}

/// The bytes that REQ(1) holds when a MAP moves it into REQ(0) (2012 model).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestVector {
    /// REQ(1) holds the bytes that were waiting, and not yet requested, at the previous MAP. A packet waits until the
    /// next MAP, and then for two more intervals: 4 to 6 ms with the default `map_interval`.
    #[default]
    Recorded,
    /// REQ(1) holds the bytes that are waiting, and not yet requested, at this MAP ("REQ(1) tracks the occupancy of the
    /// queue"). A packet that starts the clock (`from_first_packet`) waits as long as with `recorded`. Any other packet
    /// waits for one interval less.
    Live,
}

/// Behaviour of a full transmit queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransmitOverflow {
    /// Packets stay in the managed queue until the transmit queue has room, as in a real modem (CableLabs 2012 §2.2.3
    /// b).
    #[default]
    BackPressure,
    /// The transmit queue drops a packet that arrives when it is full, as in the simulated modem of CableLabs 2012. The
    /// queue discipline does not see this drop.
    Drop,
}

/// The upstream of a DOCSIS 3.0 modem. The modem shapes one service flow, and requests transmission time for its
/// packets. The CMTS, at the operator's end of the cable, grants the modem bytes in messages called MAPs. The link's
/// `rate` is the rate of the channel. Keys marked "2012 model" have no effect with `model = "docsis_link_2013"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocsisParams {
    /// Rate shaping of the service flow.
    pub flow: ShaperParams,
    /// The model of the upstream.
    #[serde(default)]
    pub model: Model,
    /// Time between MAPs. MULPI 7.2.1. The default is the value of CableLabs 2012.
    #[serde(default = "map_interval")]
    pub map_interval: Duration,
    /// Time from the start of the run to the first MAP. Further MAPs follow at whole intervals. In the 2012 model, this
    /// key has no effect with `map_clock = "from_first_packet"`. Default 0.
    #[serde(default)]
    pub map_offset: Duration,
    /// The clock that determines when MAPs are sent (2012 model).
    #[serde(default)]
    pub map_clock: MapClock,
    /// The modem keeps its requests in two entries, REQ(0) and REQ(1) (2012 model). Each MAP grants bytes from REQ(0),
    /// and then adds REQ(1) to REQ(0), so that later MAPs can grant these bytes. This key selects the bytes in REQ(1):
    /// `recorded` or `live`.
    #[serde(default)]
    pub request_vector: RequestVector,
    /// Largest grant in a MAP, in bytes; null: no limit. If `grant_variation` is set, this is the mean of the limit.
    /// With no limit, the channel is uncongested; a low limit models a congested channel. With
    /// `model = "docsis_link_2013"`, grants always have a limit. Its default is the number of bytes that the peak rate
    /// (without a peak rate: the channel's rate) carries in a MAP interval. In CableLabs 2012: `maxgrant_`.
    #[serde(default)]
    pub max_grant: Option<Bytes>,
    /// Relative variation x of the largest grant. For each MAP, the largest grant is drawn uniformly from 1 - x to 1 +
    /// x times its mean (see `max_grant`). With `model = "two_queue_2012"`, this key needs `max_grant`. In CableLabs
    /// 2012: `mgvar_`.
    #[serde(default)]
    pub grant_variation: Prob,
    /// Limit of the transmit queue, in packets or bytes (2012 model). The default, 32p, is the value of CableLabs 2012.
    /// A packet waits 4 to 6 ms for its grant, so 32 packets of 1500 bytes are enough for 64 to 96 Mbit/s. A faster
    /// modem needs a higher limit.
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
