//! Parameters of the Low Latency DOCSIS pair, and their checks.

use crate::Room;
use crate::declared::params;
use crate::law::LawParams;
use crate::law::docsis_pie::DocsisPieParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Limit, Problem, ensure, within};

/// Longest MAXTH: its TLV has 16 bits, in microseconds.
const LONGEST: Duration = Duration(65_535_000);

/// Estimate of the Low Latency queue's delay at an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelayEstimate {
    /// The bytes in the queue at MAX_RATE: in a CMTS, and in a modem before 2023.
    Bytes,
    /// A virtual queue that drains at MAX_RATE: bytes that wait for the request loop's grants do not count as delay.
    VirtualQueue,
}

params! {
    /// Parameters of the two coupled queues of Low Latency DOCSIS. The modem or shaper behind them sets the rates.
    pub struct DocsisLldParams {
        /// Code points that go to the Low Latency queue regardless of their ECN field: non-queue-building (NQB) traffic. Operators
        /// often add 46 (EF).
        l_dscp: Vec<u8> = vec![45],
        /// MAXTH: delay of the Low Latency queue from which every packet is marked. A slow link raises it, by the time of two packets
        /// of 2000 bytes.
        max_th: Duration = Duration::from_micros(1000),
        /// LG_RANGE: the ramp of marks begins 2^lg_range ns below MAXTH.
        lg_range: u8 = 19,
        /// Estimate of the Low Latency queue's delay; null: virtual_queue in a modem, which must request grants, else bytes.
        delay_estimate: Option<DelayEstimate> = None,
        /// k: the Low Latency queue is marked with at least k times the square root of the Classic queue's drop probability.
        coupling_factor: f64 = 2.0,
        /// Buffer of the Low Latency queue; null: 10ms at the aggregate's rate, at least 40000B.
        l_limit: Option<Limit> = None,
        /// Share of the Low Latency queue while both wait, in 256ths: its share of a link without grants, and its greatest share in
        /// the estimate of the Classic queue's delay. In a modem the grants divide the link, by the modem's own weight.
        scheduling_weight: u8 = 230,
        /// Queue protection: packets of flows that build the queue go to the Classic queue while it is long.
        queue_protection: bool = true,
        /// CRITICALqL: no packet is sanctioned up to this delay; null: the effective MAXTH.
        critical_ql: Option<Duration> = None,
        /// CRITICALqLSCORE: score above which a flow is sanctioned at a delay of CRITICALqL; at twice the delay, half of it.
        critical_ql_score: Duration = Duration::from_micros(4000),
        /// LG_AGING: congested bytes age at 2^lg_aging bytes per 2^30 ns. Default 0.49 MB/s.
        lg_aging: u8 = 19,
        /// BI_SIZE: 2^bucket_id_size buckets for flows that build the queue, and one more that the others share.
        bucket_id_size: u8 = 5,
        /// ATTEMPTS: buckets that are tried for a flow.
        attempts: u8 = 2,
        /// DOCSIS-PIE on the Classic queue. Its limit: null is 100ms at the peak rate.
        classic: DocsisPieParams = DocsisPieParams::default(),
    }
}

impl DocsisLldParams {
    /// Reports the first invalid parameter, by field name.
    pub(super) fn check(&self) -> Result<(), Problem> {
        self.l_dscp.iter().try_for_each(|dscp| within("l_dscp", *dscp, 0, 63))?;
        for (name, d) in [("max_th", self.max_th), ("critical_ql", self.critical_ql.unwrap_or_default())] {
            ensure!(d <= LONGEST, name, "{d} is not valid; expected at most {LONGEST}");
        }
        within("lg_range", self.lg_range, 0, 25)?;
        within("coupling_factor", self.coupling_factor, 0.0, 25.5)?;
        Room::holds("l_limit", self.l_limit)?;
        within("scheduling_weight", self.scheduling_weight, 1, 255)?;
        within("lg_aging", self.lg_aging, 1, 30)?;
        within("bucket_id_size", self.bucket_id_size, 0, 14)?;
        within("attempts", self.attempts, 1, 8)?;
        let (n, bits) = (self.attempts, self.bucket_id_size);
        ensure!(
            n * bits <= 32,
            "attempts",
            "{n} is not valid: a hash has 32 bits for attempts x bucket_id_size; expected at most {}",
            32 / bits
        );
        let limit = self.classic.limit.map_or(Ok(()), |limit| Room::validate(limit, false));
        self.classic.validate().and(limit).map_err(|p| p.under("classic"))
    }
}
