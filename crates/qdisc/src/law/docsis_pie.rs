//! DOCSIS-PIE: the PIE of cable modems, which predicts the queue's delay from the service flow's token bucket.
//!
//! ```text
//! qdelay          q / PEAK_RATE if q <= msr_tokens, otherwise msr_tokens / PEAK_RATE + (q - msr_tokens) / MSR
//! every 16 ms     while burst_allowance > 0: drop_prob = 0, burst_allowance - 16 ms
//!                 after that:                drop_prob + PI step (whose gains depend on drop_prob), x 0.98 if this delay and
//!                                            the last are < 5 ms, or + 0.02 if this delay is > 200 ms,
//!                                            bounded to [0, 0.85 x 1024 / 64]
//! on arrival      no drop while INACTIVE or burst_allowance > 0, if qdelay_old < target/2 and drop_prob < 0.2, or if q <= 2048 B
//!                 p1 = min(drop_prob x size / 1024, 0.85);  accu_prob + p1;
//!                 accu_prob < 0.85: no drop;  accu_prob >= 8.5: drop;  otherwise: drop with probability p1
//!
//!             q >= buffer/3               first drop: burst_allowance = 142 ms
//! INACTIVE ----------------> QUENCH ---------------------------------------> PROTECT
//!     ^                      |    ^                                              |
//!     +--- quiet for 1 s ----+    +-------------------- quiet -------------------+
//!
//! quiet           this delay and the last < target/2, drop_prob = 0, burst_allowance = 0
//! ```
//!
//! Source: RFC 8034 Appendix A; CableLabs' ns-2 PIE in DOCSIS mode, from which the states take their names (the appendix calls
//! them INACTIVE, QUENCHING_BURST and PROTECT_BURST). DOCSIS-PIE does not mark: DOCSIS 3.1 defines no ECN for it.
//! Departs: on a link without a token bucket, the predicted delay is q / rate. Updates run at multiples of INTERVAL since the
//! start of the run, and stop while they would change nothing (INACTIVE, empty queue, drop_prob 0, last delay 0).

use super::pi::{self, Dice, Gains, PROB_LOW, Tuning};
use super::pie::{check_step, next_on_grid};
use super::{Law, LawParams, Verdict, View, early};
use crate::declared::params;
use packet::{PacketMeta, Reading};
use units::{Duration, Limit, Problem, Rng, Time, positive};

/// MEAN_PKTSIZE: the packet size to which drop_prob applies.   Unit: bytes. Source: RFC 8034 §A.1.
const MEAN_PKTSIZE: u64 = 1024;
/// MIN_PKTSIZE: the size of the smallest packet. At the upper bound of drop_prob, p1 of such a packet is PROB_LOW.
/// Unit: bytes. Source: RFC 8034 §A.1.
const MIN_PKTSIZE: u64 = 64;
/// LATENCY_LOW: the delay below which drop_prob decays. Source: RFC 8034 §A.1.
const LATENCY_LOW: Duration = Duration::from_millis(5);
/// LATENCY_HIGH: the delay above which drop_prob grows by an extra 0.02 per update. Source: RFC 8034 §A.1.
const LATENCY_HIGH: Duration = Duration::from_millis(200);
/// The Target Buffer if no limit is given. Source: current MULPI.
const TARGET_BUFFER: Limit = Limit::Time(Duration::from_millis(100));

params! {
    /// Parameters of DOCSIS-PIE, the PIE of cable modems. It predicts the delay from the token bucket of the service
    /// flow. The names A and B, the names in capitals, and the defaults of all keys except `limit` are those of RFC
    /// 8034.
    pub struct DocsisPieParams {
        /// BUFFER_SIZE: the Target Buffer of the service flow. PIE becomes active when a third of the buffer is filled.
        /// Null: 100ms at the sustained rate.
        limit: Option<Limit> = None,
        /// LATENCY_TARGET, the target delay.
        target: Duration = Duration::from_millis(10),
        /// INTERVAL, the time between updates of the probability, at least 100us.
        interval: Duration = Duration::from_millis(16),
        /// A, the integral gain, in 1/s: each update adds A × (delay - `target`) to the drop probability, scaled as in
        /// RFC 8034.
        alpha: f64 = 0.25,
        /// B, the proportional gain, in 1/s: each update adds B × (delay - delay at the last update), scaled as in RFC
        /// 8034.
        beta: f64 = 2.5,
        /// MAX_BURST: time after the first drop during which nothing more is dropped early, so that a burst can pass.
        /// The first drop is the first one after PIE became active, or after the queue was quiet (see
        /// `burst_reset_timeout`).
        max_burst: Duration = Duration::from_millis(142),
        /// BURST_RESET_TIMEOUT: after a quiet time longer than this, PIE becomes inactive. It then drops nothing early
        /// until a third of the buffer is filled again. The queue is quiet while the delays at the last two updates are
        /// below half of `target`, the probability is 0, and the time `max_burst` is over.
        burst_reset_timeout: Duration = Duration::from_secs(1),
    }
}

impl LawParams for DocsisPieParams {
    type Law = DocsisPie;
    fn validate(&self) -> Result<(), Problem> {
        positive("target", self.target)?;
        check_step("interval", self.interval)?;
        pi::gain("alpha", self.alpha)?;
        pi::gain("beta", self.beta)
    }
    fn law(&self) -> DocsisPie {
        let Self { alpha, beta, target, .. } = *self;
        DocsisPie {
            gains: Gains { alpha, beta, target, tuning: Tuning::Rfc8034 },
            buffer: self.limit.unwrap_or(TARGET_BUFFER),
            params: self.clone(),
            state: DocsisPieState::default(),
        }
    }
    fn limit(&self) -> Option<Limit> {
        self.limit
    }
    fn default_limit(&self) -> Limit {
        TARGET_BUFFER
    }
}

/// State of the burst protection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Burst {
    /// No drops until the queue reaches a third of the buffer.
    #[default]
    Inactive,
    /// No burst is in progress, and the next drop begins one. In this state, the law also measures how long the queue
    /// has been quiet, and becomes inactive after `burst_reset_timeout`.
    Quench,
    /// A drop has begun a burst. Nothing is dropped until the burst allowance is used up; after that, drops are normal.
    Protect,
}

/// DOCSIS-PIE's state for one queue. Most names are RFC 8034's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocsisPieState {
    /// Drop probability of a packet of 1024 bytes, before p1 is limited to PROB_LOW; may exceed 1.
    pub drop_prob: f64,
    /// Predicted delay at the last update.
    pub qdelay_old: Duration,
    /// Remaining time during which nothing is dropped.
    pub burst_allowance: Duration,
    /// State of the burst protection.
    pub burst: Burst,
    /// Quiet time so far.
    pub burst_reset: Duration,
    /// The sum accu_prob.
    pub dice: Dice,
    next: Option<Time>,
}

/// DOCSIS-PIE as the law of one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct DocsisPie {
    params: DocsisPieParams,
    gains: Gains,
    buffer: Limit,
    state: DocsisPieState,
}

impl DocsisPie {
    /// Returns the state, for probes.
    pub fn state(&self) -> &DocsisPieState {
        &self.state
    }

    pub(crate) fn set_buffer(&mut self, buffer: Limit) {
        self.buffer = buffer;
    }

    /// Decides whether to drop an arrival (`drop_early`, RFC 8034 §A.3).
    #[inline]
    fn drop_early(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> bool {
        let s = &mut self.state;
        if !s.burst_allowance.is_zero() {
            return false;
        }
        if s.drop_prob == 0.0 {
            s.dice = Dice::default();
        }
        if s.burst == Burst::Inactive {
            let queue = early::Measure::of(self.buffer).queue(view);
            if 3.0 * queue < early::amount(self.buffer, view.link.rate) {
                return false;
            }
            s.burst = Burst::Quench;
        }
        let p1 = (s.drop_prob * packet.bytes() as f64 / MEAN_PKTSIZE as f64).min(PROB_LOW);
        s.dice.add(p1);
        if self.gains.work_conserving(s.drop_prob, s.qdelay_old, view.backlog.bytes, 2 * MEAN_PKTSIZE) {
            return false;
        }
        if !s.dice.roll(p1, rng) {
            return false;
        }
        if s.burst == Burst::Quench {
            s.burst = Burst::Protect;
            s.burst_allowance = self.params.max_burst;
        }
        true
    }

    /// Updates the probability (first half of `calculate_drop_prob`, RFC 8034 §A.2).
    fn update_drop_prob(&mut self, qdelay: Duration) {
        let s = &mut self.state;
        if !s.burst_allowance.is_zero() {
            s.drop_prob = 0.0;
            s.burst_allowance = s.burst_allowance.saturating_sub(self.params.interval);
            return;
        }
        let mut p = self.gains.step(s.drop_prob, qdelay, s.qdelay_old);
        if qdelay < LATENCY_LOW && s.qdelay_old < LATENCY_LOW {
            p *= 0.98;
        } else if qdelay > LATENCY_HIGH {
            p += 0.02;
        }
        s.drop_prob = p.clamp(0.0, PROB_LOW * MEAN_PKTSIZE as f64 / MIN_PKTSIZE as f64);
    }

    /// Updates the state of the burst protection (second half of `calculate_drop_prob`, RFC 8034 §A.2).
    fn update_burst(&mut self, qdelay: Duration) {
        let s = &mut self.state;
        let quiet = self.gains.low(qdelay, s.qdelay_old) && s.drop_prob == 0.0 && s.burst_allowance.is_zero();
        match s.burst {
            Burst::Protect if quiet => {
                s.burst = Burst::Quench;
                s.burst_reset = Duration::ZERO;
            }
            Burst::Quench if quiet => {
                s.burst_reset += self.params.interval;
                if s.burst_reset > self.params.burst_reset_timeout {
                    s.burst_reset = Duration::ZERO;
                    s.burst = Burst::Inactive;
                }
            }
            Burst::Quench => s.burst_reset = Duration::ZERO,
            _ => {}
        }
    }
}

impl Law for DocsisPie {
    #[inline]
    fn arrive(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
        if self.state.next.is_none() {
            self.state.next = Some(next_on_grid(view.now, self.params.interval));
        }
        if self.drop_early(packet, view, rng) { Verdict::Drop } else { Verdict::Pass }
    }

    #[inline]
    fn overflow(&mut self, _now: Time) {
        self.state.dice = Dice::default();
    }

    #[inline]
    fn next_tick(&self) -> Option<Time> {
        self.state.next
    }

    fn tick(&mut self, view: &View<'_>) {
        let qdelay = view.link.expected_delay(view.backlog.bytes);
        self.update_drop_prob(qdelay);
        self.update_burst(qdelay);
        let s = &mut self.state;
        s.qdelay_old = qdelay;
        let still = s.burst == Burst::Inactive && view.backlog.packets == 0 && s.drop_prob == 0.0;
        s.next = if still && qdelay.is_zero() && s.burst_allowance.is_zero() {
            None
        } else {
            Some(next_on_grid(view.now, self.params.interval))
        };
    }

    fn probe(&self, out: &mut Reading<'_>) {
        let s = &self.state;
        out.number("drop_prob", s.drop_prob);
        out.number("accu_prob", s.dice.accu_prob);
        out.duration("qdelay_old", s.qdelay_old);
        out.duration("burst_allowance", s.burst_allowance);
        out.duration("burst_reset", s.burst_reset);
        let burst = match s.burst {
            Burst::Inactive => "inactive",
            Burst::Quench => "quench_burst",
            Burst::Protect => "protect_burst",
        };
        out.word("burst_state", burst);
    }
}
