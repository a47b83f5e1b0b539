//! Parameters of a DOCSIS 3.1 modem: its (aggregate) service flow, the OFDMA channel and the delays of the request/grant loop.
//! The parameters of the CMTS's downstream to such a modem are also here.
//!
//! ```text
//! channel           minislots x minislot_bytes per frame
//! MAP               the whole number of frames nearest to map_interval
//! MinReqGntDelay    ceil((CM MAP processing + frame (K+1)/K + plant RTT + downstream interleaver + CMTS MAP processing
//!                   + downstream pipeline) / frame) + upstream pipeline, in frames;  K is the number of symbols in a frame
//! ```
//!
//! Source: MULPIv3.1 (names) and docsis-ns3 (defaults).

mod check;

use crate::params::defaults;
use crate::{DownstreamParams, ShaperParams};
use packet::{Aggregate, MAC_HEADER, RequestLoop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Prob};

/// The Low Latency service flow of an aggregate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LowLatencyParams {
    /// Guaranteed Grant Rate: the rate that the CMTS grants without requests (proactive grant service, PGS), even if
    /// the modem does not use it; null: no proactive grants, only requests, as for the Classic flow. Unit: bit/s.
    pub guaranteed_grant_rate: Option<BitRate>,
    /// Guaranteed Grant Interval: longest time between two proactive grants, rounded down to whole frames; null: the
    /// MAP interval. Needs `guaranteed_grant_rate`.
    pub guaranteed_grant_interval: Option<Duration>,
    /// Share of the Low Latency service flow while both flows have packets, in 256ths: 230 is 90 %. Upstream, it is the
    /// share of the grants in a MAP that has no room for all requests. Downstream, it is the share of the bytes.
    pub scheduling_weight: u8,
    /// Rate shaping of the Low Latency service flow alone; null: only the aggregate's rates apply. The discipline
    /// `docsis_lld` marks packets on a ramp that depends on MAX_RATE. MAX_RATE is the `max_sustained_rate` of this flow
    /// or of the aggregate, whichever is lower.
    pub flow: Option<ShaperParams>,
    /// Rate shaping of the Classic service flow alone; null: only the aggregate's rates apply. Unless `classic.limit`
    /// of `docsis_lld` is set, the buffer of the Classic flow is 100ms at the higher of the flow's `max_sustained_rate`
    /// and `peak_traffic_rate`. Without `classic_flow`, the aggregate's rates are used instead.
    pub classic_flow: Option<ShaperParams>,
}

impl Default for LowLatencyParams {
    fn default() -> Self {
        Self {
            guaranteed_grant_rate: None,
            guaranteed_grant_interval: None,
            scheduling_weight: 230,
            flow: None,
            classic_flow: None,
        }
    }
}

/// A DOCSIS 3.1 upstream, or a downstream if the table `downstream` is given. It carries a single service flow, or an
/// aggregate of a Classic and a Low Latency service flow. The CMTS, at the operator's end of the cable, grants bytes
/// to the modem in messages called MAPs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Docsis31Params {
    /// Rate shaping of the single service flow or of the aggregate. For an aggregate, `max_sustained_rate` is the
    /// Aggregate Maximum Sustained Rate (AMSR). The rates count Ethernet frames. Upstream, the CMTS fills the buckets
    /// only once per MAP. So each bucket also has room for the tokens of a MAP interval, in addition to its burst.
    pub flow: ShaperParams,
    /// The Low Latency service flow of an aggregate; null: none. An aggregate needs the discipline `docsis_lld`. A
    /// single service flow can have any other discipline.
    #[serde(default)]
    pub low_latency: Option<LowLatencyParams>,
    /// Makes the link a CMTS's downstream, without requests and grants; null: an upstream. A downstream accepts only
    /// this key, `flow`, `low_latency`, `downstream_interleaver` and `downstream_pipeline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downstream: Option<DownstreamParams>,
    /// Time between MAPs, rounded to whole frames: 2ms becomes 15 frames of 135us, and 1ms becomes 7 frames.
    #[serde(default = "map_interval")]
    pub map_interval: Duration,
    /// Time from the start of the run to the first MAP interval. Further intervals follow without gaps.
    #[serde(default)]
    pub map_offset: Duration,
    /// Length of an OFDMA frame. 135us are 6 symbols of 20us, each with a cyclic prefix of 2.5us.
    #[serde(default = "frame")]
    pub frame: Duration,
    /// Number of OFDMA symbols in a frame.
    #[serde(default = "symbols")]
    pub symbols: u32,
    /// Number of minislots in a frame. 235 minislots of 48 bytes make a channel of 668 Mbit/s.
    #[serde(default = "minislots")]
    pub minislots: u32,
    /// Bytes in a minislot.
    #[serde(default = "minislot_bytes")]
    pub minislot_bytes: Bytes,
    /// Mean capacity that other modems leave unused; null: the whole channel. Unit: bit/s.
    #[serde(default)]
    pub free_capacity: Option<BitRate>,
    /// Relative variation x of the free capacity. For each MAP, the free capacity is drawn uniformly from 1 - x to 1 +
    /// x times its mean. Needs `free_capacity`.
    #[serde(default)]
    pub free_capacity_variation: Prob,
    /// Time from the preparation of the modem's burst to the start of the frame. Packets that arrive later miss the
    /// frame.
    #[serde(default = "frame")]
    pub burst_preparation: Duration,
    /// Time that the modem takes to process a MAP.
    #[serde(default = "cm_map_processing")]
    pub cm_map_processing: Duration,
    /// Time that the CMTS takes to generate a MAP.
    #[serde(default = "cmts_map_processing")]
    pub cmts_map_processing: Duration,
    /// Round-trip time on the cable that the CMTS allows for: 1us per 100m of distance. It does not depend on the
    /// link's `delay`.
    #[serde(default = "plant_rtt")]
    pub plant_rtt: Duration,
    /// Delay of the downstream interleaver.
    #[serde(default = "downstream_interleaver")]
    pub downstream_interleaver: Duration,
    /// Delay of the downstream transmitter and receiver: three symbols at a subcarrier spacing of 50 kHz.
    #[serde(default = "downstream_pipeline")]
    pub downstream_pipeline: Duration,
    /// Delay of the upstream receiver, in frames.
    #[serde(default = "upstream_pipeline")]
    pub upstream_pipeline: u32,
    /// Mean packet size that the CMTS assumes when it adds MAC headers (10 bytes per packet) to a rate of Ethernet
    /// frames.
    #[serde(default = "mean_packet")]
    pub mean_packet: Bytes,
}

defaults! {
    map_interval: Duration = Duration::from_millis(2);
    frame: Duration = Duration::from_micros(135);
    symbols: u32 = 6;
    minislots: u32 = 235;
    minislot_bytes: Bytes = Bytes(48);
    cm_map_processing: Duration = Duration::from_micros(600);
    cmts_map_processing: Duration = Duration::from_micros(200);
    plant_rtt: Duration = Duration::from_micros(80);
    downstream_interleaver: Duration = Duration::from_micros(45);
    downstream_pipeline: Duration = Duration::from_micros(60);
    upstream_pipeline: u32 = 3;
    mean_packet: Bytes = Bytes(200);
}

impl Docsis31Params {
    /// Returns the parameters of a single service flow with this shaping, on the default channel.
    pub(crate) fn new(flow: ShaperParams) -> Self {
        Self {
            flow,
            low_latency: None,
            downstream: None,
            map_interval: map_interval(),
            map_offset: Duration::ZERO,
            frame: frame(),
            symbols: symbols(),
            minislots: minislots(),
            minislot_bytes: minislot_bytes(),
            free_capacity: None,
            free_capacity_variation: Prob::default(),
            burst_preparation: frame(),
            cm_map_processing: cm_map_processing(),
            cmts_map_processing: cmts_map_processing(),
            plant_rtt: plant_rtt(),
            downstream_interleaver: downstream_interleaver(),
            downstream_pipeline: downstream_pipeline(),
            upstream_pipeline: upstream_pipeline(),
            mean_packet: mean_packet(),
        }
    }

    pub(crate) fn frames_per_map(&self) -> u64 {
        ((self.map_interval.0 + self.frame.0 / 2) / self.frame.0).max(1)
    }

    /// Returns the effective MAP interval: a whole number of frames.
    pub fn map(&self) -> Duration {
        Duration(self.frames_per_map() * self.frame.0)
    }

    /// Returns MinReqGntDelay in frames: the time from a request to the earliest possible grant.
    fn min_req_gnt_frames(&self) -> u64 {
        let k = u64::from(self.symbols);
        let received = self.frame.0 * (k + 1) / k;
        let times = [
            self.cm_map_processing,
            self.plant_rtt,
            self.downstream_interleaver,
            self.cmts_map_processing,
            self.downstream_pipeline,
        ];
        let all = times.iter().fold(received, |sum, d| sum + d.0);
        all.div_ceil(self.frame.0) + u64::from(self.upstream_pipeline)
    }

    pub(crate) fn min_req_gnt(&self) -> Duration {
        Duration(self.min_req_gnt_frames() * self.frame.0)
    }

    /// Returns the number of frames from one proactive grant to the next, and the number of minislots in a grant;
    /// `None` if there are no proactive grants.
    pub(crate) fn proactive(&self) -> Option<(u64, u64)> {
        let low_latency = self.low_latency.as_ref()?;
        let rate = self.inflated(low_latency.guaranteed_grant_rate?);
        let frames = (low_latency.guaranteed_grant_interval.unwrap_or(self.map()).0 / self.frame.0).max(1);
        let bits = u128::from(rate.0) * u128::from(frames * self.frame.0);
        let bytes = bits.div_ceil(8_000_000_000) as u64;
        Some((frames, bytes.div_ceil(self.minislot_bytes.0)))
    }

    /// Returns the rate of the proactive grants, which are whole minislots; `None` if there are none.
    pub(crate) fn granted_rate(&self) -> Option<BitRate> {
        let (frames, slots) = self.proactive()?;
        let bits = u128::from(slots) * u128::from(self.minislot_bytes.0) * 8;
        Some(BitRate((bits * 1_000_000_000 / u128::from(frames * self.frame.0)) as u64))
    }

    /// Returns the channel's rate.
    pub fn channel(&self) -> BitRate {
        if let Some(downstream) = &self.downstream {
            return downstream.channel;
        }
        let bits = u128::from(self.minislots) * u128::from(self.minislot_bytes.0) * 8;
        BitRate((bits * 1_000_000_000 / u128::from(self.frame.0)) as u64)
    }

    /// Converts a rate of Ethernet frames to a rate of frames with MAC headers.
    pub(crate) fn inflated(&self, rate: BitRate) -> BitRate {
        let mean = u128::from(self.mean_packet.0);
        BitRate(u64::try_from(u128::from(rate.0) * (mean + u128::from(MAC_HEADER)) / mean).unwrap_or(u64::MAX))
    }

    /// Returns the parameters that the discipline of an aggregate needs; `None` for a single service flow.
    pub fn aggregate(&self) -> Option<Aggregate> {
        let low_latency = self.low_latency.as_ref()?;
        let (l, c) = (&low_latency.flow, &low_latency.classic_flow);
        let request_loop = RequestLoop {
            delay: self.min_req_gnt() + self.map(),
            sample: Duration((self.map().0 / 2).max(1)),
            guaranteed_rate: low_latency.guaranteed_grant_rate.unwrap_or(BitRate(0)),
            guaranteed_interval: self.proactive().map_or(Duration::ZERO, |(frames, _)| self.frame * frames),
        };
        Some(Aggregate {
            msr: [l, c].map(|flow| flow.as_ref().map(|flow| flow.max_sustained_rate)),
            peak_c: c.as_ref().and_then(|flow| flow.peak_traffic_rate),
            request_loop: self.downstream.is_none().then_some(request_loop),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(mbit: u64) -> Docsis31Params {
        Docsis31Params::new(ShaperParams {
            max_sustained_rate: BitRate(mbit * 1_000_000),
            max_traffic_burst: Bytes(3044),
            peak_traffic_rate: None,
            peak_burst: Bytes(1522),
        })
    }

    #[test]
    fn the_loop_takes_twelve_frames() {
        let p = params(50);
        // the times in MinReqGntDelay add up to 600 + 157.5 + 80 + 45 + 200 + 60 = 1142.5 us. That is 8.46 frames,
        // rounded up to 9, and the upstream pipeline adds 3 frames
        assert_eq!((p.min_req_gnt_frames(), p.min_req_gnt()), (12, Duration::from_micros(1620)));
        // the channel's rate is 235 minislots x 48 B x 8 bit / 135 us
        assert_eq!(p.channel(), BitRate(668_444_444));
        assert_eq!((p.frames_per_map(), p.map()), (15, Duration::from_micros(2025)));
        let short = Docsis31Params { map_interval: Duration::from_millis(1), ..params(50) };
        assert_eq!((short.frames_per_map(), short.map()), (7, Duration::from_micros(945)));
    }

    #[test]
    fn rates_are_inflated_by_the_headers() {
        // MAC headers turn 200 B into 210 B, and therefore 5 Mbit/s into 5.25 Mbit/s. In 15 frames, this rate carries 1328.9 B,
        // so a grant needs 28 minislots
        let low_latency = LowLatencyParams { guaranteed_grant_rate: Some(BitRate(5_000_000)), ..Default::default() };
        let p = Docsis31Params { low_latency: Some(low_latency), ..params(50) };
        assert_eq!(p.inflated(BitRate(50_000_000)), BitRate(52_500_000));
        assert_eq!(p.proactive(), Some((15, 28)));
        assert_eq!(params(50).proactive(), None);
    }

    #[test]
    fn impossible_values_are_refused_by_name() {
        let problem = |p: Docsis31Params| p.validate().unwrap_err().to_string();
        let with = |low_latency| Docsis31Params { low_latency: Some(low_latency), ..params(50) };
        let ggr = |mbit: u64| LowLatencyParams {
            guaranteed_grant_rate: Some(BitRate(mbit * 1_000_000)),
            ..LowLatencyParams::default()
        };
        assert!(params(636).validate().is_ok());
        assert!(problem(params(637)).starts_with("flow.max_sustained_rate: 637mbit is not valid on a channel of 668"));
        assert!(problem(with(ggr(51))).starts_with("low_latency.guaranteed_grant_rate: 51mbit is not valid"));
        assert!(with(ggr(50)).validate().is_ok());
        let interval = Some(Duration::from_micros(134));
        assert!(
            problem(with(LowLatencyParams { guaranteed_grant_interval: interval, ..ggr(5) }))
                .starts_with("low_latency.guaranteed_grant_interval: 134us is not valid; expected 135us to 100ms")
        );
        // 3 Mbit/s, or 3.15 Mbit/s with MAC headers, are 797.3 B per MAP of 2.025 ms. They need 17 minislots, which are 3.2 Mbit/s.
        // Per frame of 135 us, they are 53.2 B and need 2 minislots, which are 5.7 Mbit/s
        let beside = |free: u64, us: u64| Docsis31Params {
            free_capacity: Some(BitRate(free * 1_000_000)),
            ..with(LowLatencyParams { guaranteed_grant_interval: Some(Duration::from_micros(us)), ..ggr(3) })
        };
        assert!(beside(4, 2025).validate().is_ok() && beside(6, 135).validate().is_ok());
        for p in [beside(3, 2025), beside(4, 135)] {
            assert!(problem(p).starts_with("low_latency.guaranteed_grant_rate: 3mbit is not valid"));
        }
        let alone = LowLatencyParams { guaranteed_grant_interval: interval, ..LowLatencyParams::default() };
        assert!(problem(with(alone)).contains("needs guaranteed_grant_rate"));
        assert!(problem(Docsis31Params { frame: Duration(0), ..params(1) }).starts_with("frame: 0s is not valid"));
        let late = Docsis31Params { burst_preparation: Duration::from_millis(2), ..params(1) };
        assert!(problem(late).starts_with("burst_preparation: 2ms is not valid; expected 0s to 1620us"));
    }
}
