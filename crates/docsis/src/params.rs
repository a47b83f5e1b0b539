//! Parameters of a service flow and of the upstream channel.

use packet::LEAST_BYTES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Limit, Prob, Problem};

/// Largest bucket, so that its content in 1e-9 bit fits 63 bits.   Unit: bytes.
pub const MAX_BURST: u64 = 1_000_000_000;

/// The rate shaping of one service flow: two token buckets, sustained and peak.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShaperParams {
    /// Maximum Sustained Traffic Rate: the token rate. MULPI C.2.2.7.2 (TLV 24.8, 25.8). Unit: bit/s. No default.
    pub max_sustained_rate: BitRate,
    /// Maximum Traffic Burst: depth of the token bucket. MULPI C.2.2.7.3 (TLV 24.9, 25.9). Unit: bytes. Default 3044.
    #[serde(default = "default_burst")]
    pub max_traffic_burst: Bytes,
    /// Peak Traffic Rate: limits the rate while tokens last; null for no limit. MULPI C.2.2.7.10 (TLV 24.27, 25.27). Unit: bit/s.
    #[serde(default)]
    pub peak_traffic_rate: Option<BitRate>,
    /// Depth of the peak rate's bucket. MULPI C.2.2.7.10. Unit: bytes. Default 1522, one maximal Ethernet frame.
    #[serde(default = "default_peak_burst")]
    pub peak_burst: Bytes,
}

fn default_burst() -> Bytes {
    Bytes(3044)
}

fn default_peak_burst() -> Bytes {
    Bytes(1522)
}

impl ShaperParams {
    /// The first thing that is wrong, by field name.
    pub fn validate(&self) -> Result<(), Problem> {
        if self.max_sustained_rate.0 == 0 {
            return Err(Problem::new("max_sustained_rate", "0bit is not valid; expected a positive rate"));
        }
        if let Some(peak) = self.peak_traffic_rate.filter(|p| *p < self.max_sustained_rate) {
            let least = self.max_sustained_rate;
            return Err(Problem::new(
                "peak_traffic_rate",
                format!("{peak} is not valid; expected at least max_sustained_rate, {least}, or null for no limit"),
            ));
        }
        for (path, bytes) in [("max_traffic_burst", self.max_traffic_burst), ("peak_burst", self.peak_burst)] {
            if !(1..=MAX_BURST).contains(&bytes.0) {
                return Err(Problem::new(path, format!("{bytes} is not valid; expected 1B to 1GB")));
            }
        }
        Ok(())
    }
}

/// Which model of the upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Model {
    /// CableLabs 2012: the managed queue is shaped into a transmit queue, which requests and is granted.
    #[default]
    #[serde(rename = "two_queue_2012")]
    TwoQueue2012,
    /// CableLabs' ns-2 DocsisLink (2013): the managed queue is drained by the grants themselves.
    #[serde(rename = "docsis_link_2013")]
    DocsisLink2013,
}

/// When MAPs come (2012 model).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MapClock {
    /// At `map_offset` and every interval from there on, whether or not anything waits: the channel's own clock.
    #[default]
    FreeRunning,
    /// Every interval from the arrival of a packet into an empty transmit queue until it is empty again, as a simulation
    /// that schedules a timer on demand has it: the first packet waits a whole number of intervals.
    FromFirstPacket,
}

/// What REQ(1) holds when a MAP moves it into REQ(0) (2012 model).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestVector {
    /// What was unrequested at the MAP before: a packet waits for the next MAP and two intervals more, 4 to 6 ms.
    #[default]
    Recorded,
    /// What is unrequested now ("REQ(1) tracks the occupancy of the queue"): one interval less.
    Live,
}

/// What happens when the transmit queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransmitOverflow {
    /// The managed queue is not asked for packets until there is room, as in a modem (CableLabs 2012, 2.2.3 b).
    #[default]
    BackPressure,
    /// It drops the arrival, behind the queue discipline: the simulated modem of CableLabs 2012.
    Drop,
}

/// An upstream service flow: shaping, request/grant and the transmit queue. The channel's rate is the link's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocsisParams {
    /// Rate shaping.
    pub flow: ShaperParams,
    /// Which model.
    #[serde(default)]
    pub model: Model,
    /// Time between MAPs, the CMTS's allocations of the channel. MULPI 7.2.1. Default 2 ms (CableLabs 2012).
    #[serde(default = "default_map_interval")]
    pub map_interval: Duration,
    /// Moment of the first MAP; the others follow at whole intervals. Default 0.
    #[serde(default)]
    pub map_offset: Duration,
    /// When MAPs come (2012 model).
    #[serde(default)]
    pub map_clock: MapClock,
    /// What a MAP requests (2012 model).
    #[serde(default)]
    pub request_vector: RequestVector,
    /// Mean of the largest grant that the CMTS gives in a MAP; null for no limit (an uncongested channel; the 2013 model then
    /// takes what the peak rate carries in an interval). CableLabs 2012's `maxgrant_`. Unit: bytes.
    #[serde(default)]
    pub max_grant: Option<Bytes>,
    /// The largest grant is drawn anew in each MAP, uniformly within this share of its mean. CableLabs 2012's `mgvar_`.
    #[serde(default)]
    pub grant_variation: Prob,
    /// How much the transmit queue holds, in packets or bytes (2012 model). Default 32p (CableLabs 2012): enough for 64
    /// to 96 Mbit/s, as a packet waits 4 to 6 ms for its grant. A faster modem needs more.
    #[serde(default = "default_transmit_limit")]
    pub transmit_limit: Limit,
    /// What happens when the transmit queue is full (2012 model). Default `back_pressure`.
    #[serde(default)]
    pub transmit_queue: TransmitOverflow,
}

fn default_map_interval() -> Duration {
    Duration::from_millis(2)
}

fn default_transmit_limit() -> Limit {
    Limit::Packets(32)
}

impl DocsisParams {
    /// An uncongested modem of two queues with this shaping.
    pub fn new(flow: ShaperParams) -> Self {
        Self {
            flow,
            model: Model::default(),
            map_interval: default_map_interval(),
            map_offset: Duration::ZERO,
            map_clock: MapClock::default(),
            request_vector: RequestVector::default(),
            max_grant: None,
            grant_variation: Prob::default(),
            transmit_limit: default_transmit_limit(),
            transmit_queue: TransmitOverflow::default(),
        }
    }

    /// The first thing that is wrong, by field name.
    pub fn validate(&self) -> Result<(), Problem> {
        self.flow.validate().map_err(|p| p.under("flow"))?;
        if self.map_interval.is_zero() {
            return Err(Problem::new("map_interval", "0s is not valid; expected a positive duration"));
        }
        if self.max_grant == Some(Bytes(0)) {
            return Err(Problem::new(
                "max_grant",
                "0B is not valid: nothing could be sent; expected at least 1B or null",
            ));
        }
        if self.grant_variation.get() > 0.0 && self.max_grant.is_none() && self.model == Model::TwoQueue2012 {
            return Err(Problem::new("grant_variation", "needs max_grant: without a limit there is nothing to vary"));
        }
        match self.transmit_limit {
            Limit::Packets(0) | Limit::Bytes(Bytes(0..LEAST_BYTES)) => Err(Problem::new(
                "transmit_limit",
                format!("{} is not valid; expected at least 1p or {LEAST_BYTES}B", self.transmit_limit),
            )),
            Limit::Time(d) => {
                Err(Problem::new("transmit_limit", format!("{d} is not valid; expected packets (\"32p\") or bytes")))
            }
            _ => Ok(()),
        }
    }
}
