//! Parameters of the Low Latency DOCSIS pair, and their checks.

use super::protection::Limits;
use crate::Room;
use crate::law::LawParams;
use crate::law::docsis_pie::DocsisPieParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Limit, Problem};

/// Longest MAXTH: its TLV has 16 bits, in microseconds.
const LONGEST: Duration = Duration(65_535_000);

/// How the delay of the Low Latency queue is estimated when a packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelayEstimate {
    /// The bytes in the queue at MAX_RATE: in a CMTS, and in a modem before 2023.
    Bytes,
    /// A virtual queue that drains at MAX_RATE: bytes that wait for the request loop's grants do not count as delay.
    VirtualQueue,
}

/// Parameters of the two coupled queues of Low Latency DOCSIS. The modem or shaper behind them sets the rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DocsisLldParams {
    /// Code points that go to the Low Latency queue regardless of their ECN field: non-queue-building (NQB) traffic. Operators
    /// often add 46 (EF).
    pub l_dscp: Vec<u8>,
    /// MAXTH: delay of the Low Latency queue from which every packet is marked. A slow link raises it, by the time of two packets
    /// of 2000 bytes.
    pub max_th: Duration,
    /// LG_RANGE: the ramp of marks begins 2^lg_range ns below MAXTH.
    pub lg_range: u8,
    /// How the Low Latency queue's delay is estimated; null: virtual_queue in a modem, which must request grants, else bytes.
    pub delay_estimate: Option<DelayEstimate>,
    /// k: the Low Latency queue is marked with at least k times the square root of the Classic queue's drop probability.
    pub coupling_factor: f64,
    /// Buffer of the Low Latency queue; null: 10ms at the aggregate's rate, at least 40000B.
    pub l_limit: Option<Limit>,
    /// Share of the Low Latency queue while both wait, in 256ths: its share of a link without grants, and its greatest share in
    /// the estimate of the Classic queue's delay. In a modem the grants divide the link, by the modem's own weight.
    pub scheduling_weight: u8,
    /// Queue protection: packets of flows that build the queue go to the Classic queue while it is long.
    pub queue_protection: bool,
    /// CRITICALqL: no packet is sanctioned up to this delay; null: the effective MAXTH.
    pub critical_ql: Option<Duration>,
    /// CRITICALqLSCORE: score above which a flow is sanctioned at a delay of CRITICALqL; at twice the delay, half of it.
    pub critical_ql_score: Duration,
    /// LG_AGING: congested bytes age at 2^lg_aging bytes per 2^30 ns. Default 0.49 MB/s.
    pub lg_aging: u8,
    /// BI_SIZE: 2^bucket_id_size buckets for flows that build the queue, and one more that the others share.
    pub bucket_id_size: u8,
    /// ATTEMPTS: buckets that are tried for a flow.
    pub attempts: u8,
    /// DOCSIS-PIE on the Classic queue. Its limit: null is 100ms at the peak rate.
    pub classic: DocsisPieParams,
}

impl Default for DocsisLldParams {
    fn default() -> Self {
        Self {
            l_dscp: vec![45],
            max_th: Duration::from_micros(1000),
            lg_range: 19,
            delay_estimate: None,
            coupling_factor: 2.0,
            l_limit: None,
            scheduling_weight: 230,
            queue_protection: true,
            critical_ql: None,
            critical_ql_score: Duration::from_micros(4000),
            lg_aging: 19,
            bucket_id_size: 5,
            attempts: 2,
            classic: DocsisPieParams::default(),
        }
    }
}

/// Refuses a number outside `least` to `most`.
fn within(name: &str, value: u8, least: u8, most: u8) -> Result<(), Problem> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Problem::new(name, format!("{value} is not valid; expected {least} to {most}")))
}

impl DocsisLldParams {
    pub(super) fn limits(&self) -> Limits {
        Limits {
            critical_score: self.critical_ql_score,
            lg_aging: self.lg_aging,
            bucket_id_size: self.bucket_id_size,
            attempts: self.attempts,
        }
    }

    /// Reports the first invalid parameter, by field name.
    pub(super) fn check(&self) -> Result<(), Problem> {
        if let Some(dscp) = self.l_dscp.iter().find(|d| **d > 63) {
            return Err(Problem::new("l_dscp", format!("{dscp} is not valid; expected 0 to 63")));
        }
        for (name, d) in [("max_th", Some(self.max_th)), ("critical_ql", self.critical_ql)] {
            if let Some(d) = d.filter(|d| *d > LONGEST) {
                return Err(Problem::new(name, format!("{d} is not valid; expected at most {LONGEST}")));
            }
        }
        within("lg_range", self.lg_range, 0, 25)?;
        let k = self.coupling_factor;
        if !(0.0..=25.5).contains(&k) {
            return Err(Problem::new("coupling_factor", format!("{k} is not valid; expected 0 to 25.5")));
        }
        if let Some(limit) = self.l_limit {
            Room::validate(limit, false).map_err(|p| Problem::new("l_limit", p.message))?;
        }
        within("scheduling_weight", self.scheduling_weight, 1, 255)?;
        within("lg_aging", self.lg_aging, 1, 30)?;
        within("bucket_id_size", self.bucket_id_size, 0, 14)?;
        within("attempts", self.attempts, 1, 8)?;
        if self.attempts * self.bucket_id_size > 32 {
            let message = format!(
                "{} is not valid: a hash has 32 bits for attempts x bucket_id_size; expected at most {}",
                self.attempts,
                32 / self.bucket_id_size
            );
            return Err(Problem::new("attempts", message));
        }
        let limit = self.classic.limit.map_or(Ok(()), |limit| Room::validate(limit, false));
        self.classic.validate().and(limit).map_err(|p| p.under("classic"))
    }
}
