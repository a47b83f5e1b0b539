//! PIE's parameters, the published versions that give them, and the constants that they resolve to.

use crate::law::pi::{Gains, Tuning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Limit, Prob};

/// A published version: presets for the parameters that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PieVariant {
    /// RFC 8033 (2017), without its optional parts: 15 ms, 15 ms, burst 150 ms, the full tuning table.
    #[default]
    Rfc8033,
    /// Linux sch_pie: as RFC 8033, de-randomised, decay 1 - 1/64, +0.02 while the delay exceeds 250 ms, avpkt 1514; an arrival is
    /// judged by the current delay, fewer than two packets are spared, and departures use up the burst allowance.
    Linux,
    /// draft-pan-aqm-pie-00 and its ns-2 code (2013), as cited by ARRIS 2013: target 20 ms, every 30 ms, burst 100 ms, delay
    /// from the departure rate (10 KB), +0.02 above 200 ms, tuning only below 1 % and 10 %.
    Draft2013,
}

/// The source of qdelay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelayEstimate {
    /// The sojourn time of the packet that left last.
    Timestamp,
    /// The backlog over the measured departure rate (tc `dq_rate_estimator`).
    DepartureRate,
}

/// The delay that decides, with the probability, about an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgedBy {
    /// The delay at the last update, qdelay_old (RFC 8033 §4.1).
    LastUpdate,
    /// The delay now (Linux).
    Present,
}

/// How the burst allowance is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllowanceClock {
    /// Each update takes `tupdate` from it (RFC 8033 §4.4).
    Updates,
    /// Each departure takes the time since the previous one, so an idle link keeps it (Linux; needs `delay = "timestamp"`).
    Departures,
}

/// Parameters of PIE. Those that default to null take the value of `variant`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PieParams {
    /// Published version that gives the parameters below.
    pub variant: PieVariant,
    /// How much may wait, as in droptail; null: 1000p.
    pub limit: Option<Limit>,
    /// QDELAY_REF, the delay aimed at; null: 15ms, 20ms (draft2013).
    pub target: Option<Duration>,
    /// T_UPDATE, time between updates of the probability, at least 100us; null: 15ms, 30ms (draft2013).
    pub tupdate: Option<Duration>,
    /// Weight of the distance from the target, in 1/s (tc's unit is 1/16 of it: 0.125 is tc's 2).
    pub alpha: f64,
    /// Weight of the change since the last update, in 1/s (1.25 is tc's 20).
    pub beta: f64,
    /// MAX_BURST: time without drops after a quiet period; null: 150ms, 100ms (draft2013).
    pub max_burst: Option<Duration>,
    /// Mark ECN-capable packets instead of dropping them, below `mark_ecnth`.
    pub ecn: bool,
    /// From this probability on, ECN-capable packets are dropped too.
    pub mark_ecnth: Prob,
    /// Scale the probability by packet size / avpkt.
    pub bytemode: bool,
    /// MEAN_PKTSIZE; null: 1000 bytes, 1514 (linux).
    pub avpkt: Option<Bytes>,
    /// No early drop while at most this many bytes wait; null: 2 avpkt, or 2 avpkt - 1 (linux: fewer than two packets).
    pub spared: Option<Bytes>,
    /// The delay that must be below target/2 for an arrival to be kept; null: last_update, present (linux).
    pub judged_by: Option<JudgedBy>,
    /// How the burst allowance is used up; null: updates, departures (linux).
    pub allowance: Option<AllowanceClock>,
    /// The source of the delay; null: timestamp, departure_rate (draft2013).
    pub delay: Option<DelayEstimate>,
    /// Backlog from which the departure rate is measured, and length of a measuring cycle; null: 16384 bytes, 10000 (draft2013).
    pub dq_threshold: Option<Bytes>,
    /// Weight of a cycle in the average time per byte; null: 0.25 (RFC 8033: DQ_THRESHOLD/2^16), 0.5 (draft2013).
    pub dq_weight: Option<f64>,
    /// De-randomise: no drop while the probabilities since the last sum to less than 0.85, a drop at 8.5; null: no, yes (linux).
    pub derandomize: Option<bool>,
    /// Share of `limit` that the backlog must reach for PIE to become active (RFC 8033 §5.3: 1/3); 0: always. Needs `limit`.
    pub activation: Prob,
    /// How steps are scaled; null: rfc8033, coarse (draft2013).
    pub tuning: Option<Tuning>,
    /// Add 0.02 per update while the delay exceeds this; null: never (rfc8033), 250ms (linux), 200ms (draft2013).
    pub delay_high: Option<Duration>,
}

impl Default for PieParams {
    fn default() -> Self {
        Self {
            variant: PieVariant::default(),
            limit: None,
            target: None,
            tupdate: None,
            alpha: 0.125,
            beta: 1.25,
            max_burst: None,
            ecn: false,
            mark_ecnth: Prob::new(0.1).unwrap_or_default(),
            bytemode: false,
            avpkt: None,
            spared: None,
            judged_by: None,
            allowance: None,
            delay: None,
            dq_threshold: None,
            dq_weight: None,
            derandomize: None,
            activation: Prob::default(),
            tuning: None,
            delay_high: None,
        }
    }
}

/// PIE's constants, resolved.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PieConfig {
    pub gains: Gains,
    pub tupdate: Duration,
    pub max_burst: Duration,
    /// Mark below this probability; `None`: never.
    pub mark_ecnth: Option<f64>,
    pub bytemode: bool,
    pub avpkt: u64,
    pub spared: u64,
    pub judged_by: JudgedBy,
    pub allowance: AllowanceClock,
    pub delay: DelayEstimate,
    pub dq_threshold: u64,
    pub dq_weight: f64,
    pub derandomize: bool,
    /// The backlog that activates PIE.
    pub activation: Option<Limit>,
    pub decay: f64,
    pub delay_high: Option<Duration>,
}

/// `share` of `limit`, rounded up.
fn share_of(limit: Limit, share: f64) -> Limit {
    let part = |n: u64| (n as f64 * share).ceil() as u64;
    match limit {
        Limit::Packets(n) => Limit::Packets(part(u64::from(n)) as u32),
        Limit::Bytes(b) => Limit::Bytes(Bytes(part(b.0))),
        Limit::Time(d) => Limit::Time(Duration(part(d.0))),
    }
}

impl PieParams {
    /// The law's configuration, with the variant's values filled in.
    pub(super) fn config(&self) -> PieConfig {
        use PieVariant::{Draft2013, Linux};
        let v = self.variant;
        let ms = Duration::from_millis;
        let old = v == Draft2013;
        let tuning = self.tuning.unwrap_or(if old { Tuning::Coarse } else { Tuning::Rfc8033 });
        let target = self.target.unwrap_or(ms(if old { 20 } else { 15 }));
        let avpkt = self.avpkt.map_or(if v == Linux { 1514 } else { 1000 }, |b| b.0);
        PieConfig {
            gains: Gains { alpha: self.alpha, beta: self.beta, target, tuning },
            tupdate: self.tupdate.unwrap_or(ms(if old { 30 } else { 15 })),
            max_burst: self.max_burst.unwrap_or(ms(if old { 100 } else { 150 })),
            mark_ecnth: self.ecn.then_some(self.mark_ecnth.get()),
            bytemode: self.bytemode,
            avpkt,
            spared: self.spared.map_or(2 * avpkt - u64::from(v == Linux), |b| b.0),
            judged_by: self.judged_by.unwrap_or(if v == Linux { JudgedBy::Present } else { JudgedBy::LastUpdate }),
            allowance: self.allowance.unwrap_or(match (v, self.delay) {
                (Linux, None | Some(DelayEstimate::Timestamp)) => AllowanceClock::Departures,
                _ => AllowanceClock::Updates,
            }),
            delay: self.delay.unwrap_or(if old { DelayEstimate::DepartureRate } else { DelayEstimate::Timestamp }),
            dq_threshold: self.dq_threshold.map_or(if old { 10_000 } else { 1 << 14 }, |b| b.0),
            dq_weight: self.dq_weight.unwrap_or(if old { 0.5 } else { 0.25 }),
            derandomize: self.derandomize.unwrap_or(v == Linux),
            activation: (self.activation.get() > 0.0)
                .then_some(self.limit)
                .flatten()
                .map(|l| share_of(l, self.activation.get())),
            decay: if v == Linux { 1.0 - 1.0 / 64.0 } else { 0.98 },
            delay_high: self.delay_high.or(match v {
                PieVariant::Rfc8033 => None,
                Linux => Some(ms(250)),
                Draft2013 => Some(ms(200)),
            }),
        }
    }
}

impl PieParams {
    /// Returns true if the delay is derived from the departure rate.
    pub(crate) fn measures_departures(&self) -> bool {
        self.config().delay == DelayEstimate::DepartureRate
    }
}
