//! PIE's parameters, and the published versions that give them.

use crate::declared::params;
use crate::law::pi::{Gains, Tuning};
use PieVariant::{Draft2013, Linux, Rfc8033};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Limit, Prob};

/// A published version: presets for the parameters that are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PieVariant {
    /// RFC 8033 (2017), without its optional parts: 15 ms, 15 ms, burst 150 ms, the full tuning table.
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

/// Events that use up the burst allowance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllowanceClock {
    /// Each update takes `tupdate` from it (RFC 8033 §4.4).
    Updates,
    /// Each departure takes the time since the previous one, so an idle link keeps it (Linux; needs `delay = "timestamp"`).
    Departures,
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

params! {
    /// Parameters of PIE. Those that default to null take the value of `variant`.
    pub struct PieParams as p {
        /// Published version that gives the parameters below.
        variant: PieVariant = PieVariant::Rfc8033,
        /// Limit of the queue, as in droptail; null: 1000p.
        limit: Option<Limit> = None,
        /// QDELAY_REF, the delay aimed at; null: 15ms, 20ms (draft2013).
        target: Option<Duration> = None => ms(if p.variant == Draft2013 { 20 } else { 15 }),
        /// T_UPDATE, time between updates of the probability, at least 100us; null: 15ms, 30ms (draft2013).
        tupdate: Option<Duration> = None => ms(if p.variant == Draft2013 { 30 } else { 15 }),
        /// Weight of the distance from the target, in 1/s (tc's unit is 1/16 of it: 0.125 is tc's 2).
        alpha: f64 = 0.125,
        /// Weight of the change since the last update, in 1/s (1.25 is tc's 20).
        beta: f64 = 1.25,
        /// MAX_BURST: time without drops after a quiet period; null: 150ms, 100ms (draft2013).
        max_burst: Option<Duration> = None => ms(if p.variant == Draft2013 { 100 } else { 150 }),
        /// Marks ECN-capable packets instead of dropping them, below `mark_ecnth`.
        ecn: bool = false,
        /// Probability from which on ECN-capable packets are dropped too.
        mark_ecnth: Prob = Prob::new(0.1).unwrap_or_default(),
        /// Scales the probability by packet size / avpkt.
        bytemode: bool = false,
        /// MEAN_PKTSIZE, the mean packet size; null: 1000 bytes, 1514 (linux).
        avpkt: Option<Bytes> = None => Bytes(if p.variant == Linux { 1514 } else { 1000 }),
        /// No early drop while at most this many bytes wait; null: 2 avpkt, or 2 avpkt - 1 (linux: fewer than two packets).
        spared: Option<Bytes> = None => Bytes(2 * p.avpkt().0 - u64::from(p.variant == Linux)),
        /// The delay that must be below target/2 for an arrival to be kept; null: last_update, present (linux).
        judged_by: Option<JudgedBy> = None => if p.variant == Linux { JudgedBy::Present } else { JudgedBy::LastUpdate },
        /// Events that use up the burst allowance; null: updates, departures (linux).
        allowance: Option<AllowanceClock> = None => match (p.variant, p.delay()) {
            (Linux, DelayEstimate::Timestamp) => AllowanceClock::Departures,
            _ => AllowanceClock::Updates,
        },
        /// The source of the delay; null: timestamp, departure_rate (draft2013).
        delay: Option<DelayEstimate> = None => match p.variant {
            Draft2013 => DelayEstimate::DepartureRate,
            _ => DelayEstimate::Timestamp,
        },
        /// Backlog from which the departure rate is measured, and length of a measuring cycle; null: 16384 bytes, 10000 (draft2013).
        dq_threshold: Option<Bytes> = None => Bytes(if p.variant == Draft2013 { 10_000 } else { 1 << 14 }),
        /// Weight of a cycle in the average time per byte; null: 0.25 (RFC 8033: DQ_THRESHOLD/2^16), 0.5 (draft2013).
        dq_weight: Option<f64> = None => if p.variant == Draft2013 { 0.5 } else { 0.25 },
        /// De-randomised drops: none while the probabilities since the last drop sum to less than 0.85, a certain one at 8.5; null:
        /// no, yes (linux).
        derandomize: Option<bool> = None => p.variant == Linux,
        /// Share of `limit` that the backlog must reach for PIE to become active (RFC 8033 §5.3: 1/3); 0: always. Needs `limit`.
        activation: Prob = Prob::default(),
        /// Scaling of steps; null: rfc8033, coarse (draft2013).
        tuning: Option<Tuning> = None => if p.variant == Draft2013 { Tuning::Coarse } else { Tuning::Rfc8033 },
        /// Delay above which each update adds 0.02; null: never (rfc8033), 250ms (linux), 200ms (draft2013).
        delay_high: Option<Duration> = None,
    }
}

impl PieParams {
    pub(super) fn gains(&self) -> Gains {
        Gains { alpha: self.alpha, beta: self.beta, target: self.target(), tuning: self.tuning() }
    }

    /// Factor of drop_prob at an update without delay.
    pub(super) fn decay(&self) -> f64 {
        if self.variant == Linux { 1.0 - 1.0 / 64.0 } else { 0.98 }
    }

    /// Delay above which drop_prob grows faster; `None` for never.
    pub(super) fn delay_high(&self) -> Option<Duration> {
        self.delay_high.or(match self.variant {
            Rfc8033 => None,
            Linux => Some(ms(250)),
            Draft2013 => Some(ms(200)),
        })
    }

    /// The backlog that activates PIE, rounded up; `None`: it is always active.
    pub(super) fn threshold(&self) -> Option<Limit> {
        let part = |n: u64| (n as f64 * self.activation.get()).ceil() as u64;
        self.limit.filter(|_| self.activation.get() > 0.0).map(|limit| limit.map(part))
    }

    /// Returns true if the delay is derived from the departure rate.
    pub(crate) fn measures_departures(&self) -> bool {
        self.delay() == DelayEstimate::DepartureRate
    }
}
