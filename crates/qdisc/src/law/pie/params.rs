//! PIE's parameters, and their values in the published versions.

use crate::declared::params;
use crate::law::pi::{Gains, Tuning};
use PieVariant::{Draft2013, Linux, Rfc8033};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Limit, Prob};

/// A published version. It determines the values of the parameters that are omitted (null).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PieVariant {
    /// RFC 8033 (2017) without its optional parts. `target` is 15 ms, updates are 15 ms apart, `max_burst` is 150 ms,
    /// and the table of factors (`tuning`) is complete.
    Rfc8033,
    /// Linux sch_pie: like `rfc8033`, with these differences. Drops are de-randomised (`derandomize`). If there is no
    /// delay and the queue is empty, an update multiplies the probability by 63/64. (RFC 8033 multiplies it by 0.98 if
    /// there is no delay, even if packets wait.) While the delay exceeds 250 ms, each update adds a further 0.02 to the
    /// probability. The probability may exceed 1: after a long overload of a slow link, everything is dropped until the
    /// probability is below 1 again. The current delay, not the delay at the last update, can prevent early drops
    /// (`judged_by`). `avpkt` is 1514 bytes, and there is no early drop while fewer than 2 × `avpkt` bytes are queued.
    /// Departures use up the burst allowance (`allowance`). The sum of the probabilities (`derandomize`) returns to 0
    /// also when the allowance is refilled. A mark at a sum of 8.5 or more does not set it to 0. With `delay =
    /// "departure_rate"`, the departure rate is averaged, not the time per byte (`dq_weight`).
    Linux,
    /// draft-pan-aqm-pie-00 and its ns-2 code (2013), as cited by ARRIS 2013: `target` 20 ms, updates every 30 ms,
    /// `max_burst` 100 ms. The delay is estimated from the departure rate, in cycles of 10 KB. While the delay exceeds
    /// 200 ms, each update adds a further 0.02 to the probability. The table of factors (`tuning`) has only two steps,
    /// at probabilities of 1 % and 10 %.
    Draft2013,
}

/// Estimation of qdelay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelayEstimate {
    /// The sojourn time of the packet that left last; 0 if the queue is empty.
    Timestamp,
    /// The backlog divided by the measured departure rate (tc `dq_rate_estimator`).
    DepartureRate,
}

/// The delay that is compared with half of the target to decide whether an arrival is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgedBy {
    /// The delay at the last update, qdelay_old (RFC 8033 §4.1).
    LastUpdate,
    /// The current delay (Linux).
    Present,
}

/// Events that use up the burst allowance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllowanceClock {
    /// Each update subtracts `tupdate` (RFC 8033 §4.4).
    Updates,
    /// Each departure subtracts the time since the previous departure (Linux). So an idle time counts only at the next
    /// departure. With `delay = "departure_rate"`, each completed measuring cycle subtracts its duration instead.
    Departures,
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

params! {
    /// Parameters of PIE. Some defaults depend on `variant`. PIE drops or marks arrivals at random. At regular updates,
    /// it changes the drop probability so that the delay approaches `target`. Names in capitals are RFC 8033's.
    pub struct PieParams as p {
        /// Published version of the algorithm. The defaults of some parameters depend on it.
        variant: PieVariant = PieVariant::Rfc8033,
        /// Maximum length of the queue; an arrival that does not fit is dropped. Null: 1000p; in a fair discipline
        /// none, because its queues share one limit.
        limit: Option<Limit> = None,
        /// QDELAY_REF, the target delay; null: 15ms, 20ms (draft2013).
        target: Option<Duration> = None => ms(if p.variant == Draft2013 { 20 } else { 15 }),
        /// T_UPDATE, the time between updates of the probability, at least 100us; null: 15ms, 30ms (draft2013).
        tupdate: Option<Duration> = None => ms(if p.variant == Draft2013 { 30 } else { 15 }),
        /// Integral gain, in 1/s: each update adds `alpha` × (delay - `target`) to the drop probability, scaled by
        /// `tuning`. The unit of tc is 1/16 per second, so 0.125 is 2 in tc.
        alpha: f64 = 0.125,
        /// Proportional gain, in 1/s: each update adds `beta` × (delay - delay at the last update) to the drop
        /// probability, scaled by `tuning`. The unit of tc is 1/16 per second, so 1.25 is 20 in tc.
        beta: f64 = 1.25,
        /// MAX_BURST: time without early drops at the start, and again after each quiet update. An update is quiet if
        /// the probability is 0, and both the delay and the delay at the previous update are below half of `target`.
        /// Null: 150ms, 100ms (draft2013).
        max_burst: Option<Duration> = None => ms(if p.variant == Draft2013 { 100 } else { 150 }),
        /// Marks ECN-capable packets instead of dropping them, while the probability is below `mark_ecnth`.
        ecn: bool = false,
        /// Probability at and above which even ECN-capable packets are dropped.
        mark_ecnth: Prob = Prob::new(0.1).unwrap_or_default(),
        /// Multiplies the drop probability of each packet by the packet's size / `avpkt`.
        bytemode: bool = false,
        /// MEAN_PKTSIZE: the mean packet size, which `bytemode` and the default of `spared` use. Null: 1000B, 1514B
        /// (linux).
        avpkt: Option<Bytes> = None => Bytes(if p.variant == Linux { 1514 } else { 1000 }),
        /// While the backlog is at most this many bytes, no arrival is dropped early. Null: 2 × `avpkt`; 2 × `avpkt` - 1
        /// byte (linux).
        spared: Option<Bytes> = None => Bytes(2 * p.avpkt().0 - u64::from(p.variant == Linux)),
        /// The delay that can prevent early drops: no arrival is dropped early while this delay is below half of
        /// `target` and the probability is below 0.2. Null: last_update, present (linux with `delay = "timestamp"`).
        judged_by: Option<JudgedBy> = None => match (p.variant, p.delay()) {
            (Linux, DelayEstimate::Timestamp) => JudgedBy::Present,
            _ => JudgedBy::LastUpdate,
        },
        /// The events that reduce the burst allowance. The burst allowance is the remaining time without early drops;
        /// it starts at `max_burst`. Null: updates, departures (linux).
        allowance: Option<AllowanceClock> = None => match p.variant {
            Linux => AllowanceClock::Departures,
            _ => AllowanceClock::Updates,
        },
        /// How the delay is estimated; null: timestamp, departure_rate (draft2013).
        delay: Option<DelayEstimate> = None => match p.variant {
            Draft2013 => DelayEstimate::DepartureRate,
            _ => DelayEstimate::Timestamp,
        },
        /// Used if `delay` is departure_rate. The rate is measured in cycles, and a cycle ends when this number of
        /// bytes has left. A cycle starts only while at least this number of bytes is queued. Null: 16384B, 10000B
        /// (draft2013).
        dq_threshold: Option<Bytes> = None => Bytes(if p.variant == Draft2013 { 10_000 } else { 1 << 14 }),
        /// Used if `delay` is departure_rate: the weight of the newest measuring cycle in the average time per byte
        /// (linux: in the average rate). RFC 8033 computes this weight as DQ_THRESHOLD/2^16. Null: 0.25, 0.5
        /// (draft2013), 0.125 (linux).
        dq_weight: Option<f64> = None => match p.variant {
            Draft2013 => 0.5,
            Linux => 0.125,
            Rfc8033 => 0.25,
        },
        /// De-randomises drops, so that they are spaced more evenly. The drop probabilities of arrivals are added up
        /// until a drop or mark. While the sum is below 0.85, nothing is dropped or marked early. From a sum of 8.5 on,
        /// a packet is dropped or marked for certain. Null: false, true (linux).
        derandomize: Option<bool> = None => p.variant == Linux,
        /// Share of `limit` that the backlog must reach before PIE becomes active; RFC 8033 §5.3 has 1/3. A share above
        /// 0 needs an explicit `limit`. With 0, PIE is always active.
        activation: Prob = Prob::default(),
        /// Table of factors. An update multiplies the change of the drop probability by a factor from this table. The
        /// factor depends on the current probability: a small probability changes in small steps. While the probability
        /// is 0.1 or more, the product is at most 0.02. Null: rfc8033, coarse (draft2013).
        tuning: Option<Tuning> = None => if p.variant == Draft2013 { Tuning::Coarse } else { Tuning::Rfc8033 },
        /// Delay above which each update adds a further 0.02 to the drop probability. Null: never (rfc8033), 250ms
        /// (linux), 200ms (draft2013).
        delay_high: Option<Duration> = None,
    }
}

impl PieParams {
    pub(super) fn gains(&self) -> Gains {
        Gains { alpha: self.alpha, beta: self.beta, target: self.target(), tuning: self.tuning() }
    }

    /// Returns the factor by which an update multiplies drop_prob if the delay is zero, was zero at the last update
    /// and, with the variant linux, no packet waits.
    pub(super) fn decay(&self) -> f64 {
        if self.variant == Linux { 1.0 - 1.0 / 64.0 } else { 0.98 }
    }

    /// Returns the delay above which each update adds 0.02 to drop_prob; `None` if updates never add it.
    pub(super) fn delay_high(&self) -> Option<Duration> {
        self.delay_high.or(match self.variant {
            Rfc8033 => None,
            Linux => Some(ms(250)),
            Draft2013 => Some(ms(200)),
        })
    }

    /// Returns the backlog that activates PIE, rounded up; `None` if PIE is always active.
    pub(super) fn threshold(&self) -> Option<Limit> {
        let part = |n: u64| (n as f64 * self.activation.get()).ceil() as u64;
        self.limit.filter(|_| self.activation.get() > 0.0).map(|limit| limit.map(part))
    }

    pub(crate) fn measures_departures(&self) -> bool {
        self.delay() == DelayEstimate::DepartureRate
    }
}
