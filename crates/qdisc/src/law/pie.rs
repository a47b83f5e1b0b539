//! PIE: proportional integral controller enhanced.
//!
//! ```text
//! every tupdate   p = alpha (qdelay - target) + beta (qdelay - qdelay_old), scaled by Tuning, at most 0.02 if drop_prob >= 10 %
//!                 drop_prob <- drop_prob + p, x 0.98 if qdelay = qdelay_old = 0, bounded to [0, 1]
//!                                    (Linux: x 63/64, and only if the queue is empty)
//!                 burst_allowance <- burst_allowance - tupdate,
//!                                    or max_burst if drop_prob = 0 and qdelay and qdelay_old < target/2
//!                                    (Linux: also accu_prob <- 0)
//! on arrival      keep while burst_allowance > 0
//!                 keep if (qdelay_old < target/2 and drop_prob < 0.2) or q <= 2 packets   (Linux: qdelay, and q < 2 packets)
//!                 otherwise drop with probability drop_prob (or mark, if drop_prob < mark_ecnth)
//! qdelay          the sojourn time of the last departure (0 when the queue is empty), or q / measured departure rate
//! ```
//!
//! Source: RFC 8033; draft-pan-aqm-pie-00 and ns-2's PIE of 2013; Linux sch_pie.
//! Departs: updates run at multiples of `tupdate` since the start of the run. They stop while the queue is empty and
//! drop_prob and both delays are 0, because an update would then change nothing (§5.3's "inactive"). After such a stop,
//! the measurement of the departure rate starts again. The packet that starts a measuring cycle does not count towards
//! the departure rate; ns-2 counts it. The time per byte is averaged, as in the RFC; ns-2 averages the rate.

mod params;

pub use params::{AllowanceClock, DelayEstimate, JudgedBy, PieParams, PieVariant};

use super::pi::{self, Dice, Gains};
use super::{Law, LawParams, Verdict, View, early};
use packet::{Ecn, MarkReason, PacketMeta, Reading};
use units::{Duration, Limit, Problem, Rng, Time, ensure, positive_or_none};

impl LawParams for PieParams {
    type Law = Pie;
    fn validate(&self) -> Result<(), Problem> {
        positive_or_none("target", self.target)?;
        check_step("tupdate", self.tupdate())?;
        pi::gain("alpha", self.alpha)?;
        pi::gain("beta", self.beta)?;
        positive_or_none("avpkt", self.avpkt)?;
        positive_or_none("dq_threshold", self.dq_threshold)?;
        let share = self.activation;
        ensure!(
            share.get() == 0.0 || self.limit.is_some(),
            "activation",
            "{share} is a share of `limit`, which is not given; expected a limit"
        );
        let by_departures = self.allowance() == AllowanceClock::Departures && self.measures_departures();
        ensure!(
            !by_departures,
            "allowance",
            "departures is not valid where the delay comes from the departure rate; expected updates"
        );
        early::weight("dq_weight", self.dq_weight())
    }
    fn law(&self) -> Pie {
        let params = Self { delay_high: self.delay_high(), ..self.resolved() };
        Pie { gains: params.gains(), state: PieState::new(&params), params }
    }
    fn limit(&self) -> Option<Limit> {
        self.limit
    }
}

/// The estimate of the departure rate, stored as its reciprocal, the time per byte.
///
/// The rate is measured over cycles of `dq_threshold` bytes. A cycle starts only while at least this number of bytes is queued.
/// Source: RFC 8033 §5.2.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Departures {
    /// Time at which the current cycle started, and the number of bytes that have left since then.
    cycle: Option<(Time, u64)>,
    /// Average time per byte, ns.
    ns_per_byte: Option<f64>,
}

impl Departures {
    fn left(&mut self, p: &PieParams, bytes: u64, backlog: u64, now: Time) {
        if let Some((start, count)) = &mut self.cycle {
            *count += bytes;
            if *count >= p.dq_threshold().0 {
                let sample = now.since(*start).0 as f64 / *count as f64;
                let avg = self.ns_per_byte.map_or(sample, |avg| avg + p.dq_weight() * (sample - avg));
                self.ns_per_byte = Some(avg);
                self.cycle = None;
            }
        }
        if self.cycle.is_none() && backlog >= p.dq_threshold().0 {
            self.cycle = Some((now, 0));
        }
    }
}

/// PIE's state for one queue. Variables that RFC 8033 defines have the same names here.
#[derive(Clone, Debug, PartialEq)]
pub struct PieState {
    /// Probability that an arrival is dropped.
    pub drop_prob: f64,
    /// Delay at the last update.
    pub qdelay_old: Duration,
    /// Remaining time during which nothing is dropped early.
    pub burst_allowance: Duration,
    /// The state of de-randomisation, accu_prob.
    pub dice: Dice,
    /// True if PIE is active (RFC 8033 §5.3).
    pub active: bool,
    /// Sojourn time of the last departure.
    sojourn: Duration,
    /// Time of the last departure; `None` if no packet has left since the last refill of the burst allowance.
    left_at: Option<Time>,
    departures: Departures,
    next: Option<Time>,
}

impl PieState {
    fn new(p: &PieParams) -> Self {
        Self {
            drop_prob: 0.0,
            qdelay_old: Duration::ZERO,
            burst_allowance: p.max_burst(),
            dice: Dice::default(),
            active: p.activation.get() == 0.0,
            sojourn: Duration::ZERO,
            left_at: None,
            departures: Departures::default(),
            next: None,
        }
    }
}

/// PIE as the law of one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Pie {
    params: PieParams,
    gains: Gains,
    state: PieState,
}

impl Pie {
    /// Returns the state, for probes.
    pub fn state(&self) -> &PieState {
        &self.state
    }

    /// Activates PIE if the backlog has reached its threshold.   Source: RFC 8033 §5.3.
    fn activate(&mut self, view: &View<'_>) {
        if self.state.active {
            return;
        }
        let Some(threshold) = self.params.threshold() else { return };
        if early::Measure::of(threshold).queue(view) >= early::amount(threshold, view.link.rate) {
            self.state = PieState { active: true, next: self.state.next, ..PieState::new(&self.params) };
        }
    }

    fn qdelay(&self, view: &View<'_>) -> Duration {
        match self.params.delay() {
            DelayEstimate::Timestamp => self.state.sojourn,
            DelayEstimate::DepartureRate => self
                .state
                .departures
                .ns_per_byte
                .map_or(Duration::ZERO, |ns| Duration((ns * view.backlog.bytes as f64 + 0.5) as u64)),
        }
    }

    /// Decides whether to drop an arrival (`drop_early`, RFC 8033 §4.1 and §5.4).
    #[inline]
    fn drop_early(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> bool {
        let qdelay = match self.params.judged_by() {
            JudgedBy::LastUpdate => self.state.qdelay_old,
            JudgedBy::Present => self.qdelay(view),
        };
        let (p, s) = (&self.params, &mut self.state);
        if !s.active || !s.burst_allowance.is_zero() {
            return false;
        }
        if self.gains.work_conserving(s.drop_prob, qdelay, view.backlog.bytes, p.spared().0) {
            return false;
        }
        let scale = if p.bytemode { packet.bytes() as f64 / p.avpkt().0 as f64 } else { 1.0 };
        let prob = s.drop_prob * scale;
        if !p.derandomize() {
            return rng.chance(prob);
        }
        if s.drop_prob == 0.0 {
            s.dice = Dice::default();
        }
        s.dice.add(prob);
        s.dice.roll(prob, rng)
    }
}

/// Minimum time between updates. After an idle period, a queue runs all the updates that it has missed: with updates 2
/// ns apart, 500 million for each idle second. The sources use 15 to 30 ms. 100 us is the transmission time of a packet
/// of 1500 bytes at 120 Mbit/s.
const SHORTEST_STEP: Duration = Duration::from_micros(100);

pub(crate) fn check_step(name: &str, step: Duration) -> Result<(), Problem> {
    ensure!(step >= SHORTEST_STEP, name, "{step} is not valid; expected at least {SHORTEST_STEP}");
    Ok(())
}

/// Returns the time of the next update after `now`. Updates run at multiples of `step`.
pub(crate) fn next_on_grid(now: Time, step: Duration) -> Time {
    Time((now.0 / step.0 + 1).saturating_mul(step.0))
}

impl Law for Pie {
    #[inline]
    fn arrive(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
        if self.state.next.is_none() {
            self.state.next = Some(next_on_grid(view.now, self.params.tupdate()));
        }
        self.activate(view);
        if !self.drop_early(packet, view, rng) {
            return Verdict::Pass;
        }
        let p = &self.params;
        let mark = p.ecn && self.state.drop_prob < p.mark_ecnth.get() && packet.ecn() != Ecn::NotEct;
        if mark { Verdict::Mark(MarkReason::Law) } else { Verdict::Drop }
    }

    #[inline]
    fn left(&mut self, packet: &PacketMeta, view: &View<'_>) {
        if self.params.allowance() == AllowanceClock::Departures {
            let s = &mut self.state;
            let gap = s.left_at.replace(view.now).map_or(Duration::ZERO, |t| view.now.since(t));
            s.burst_allowance = s.burst_allowance.saturating_sub(gap);
        }
        match self.params.delay() {
            DelayEstimate::Timestamp => {
                self.state.sojourn = if view.backlog.packets == 0 { Duration::ZERO } else { view.sojourn };
            }
            DelayEstimate::DepartureRate => {
                self.state.departures.left(&self.params, packet.bytes(), view.backlog.bytes, view.now);
            }
        }
    }

    #[inline]
    fn empty(&mut self, _now: Time) {
        self.state.sojourn = Duration::ZERO;
    }

    #[inline]
    fn overflow(&mut self, _now: Time) {
        self.state.dice = Dice::default();
    }

    #[inline]
    fn next_tick(&self) -> Option<Time> {
        self.state.next
    }

    /// Updates the probability (`calculate_drop_prob`, RFC 8033 §4.2) and the burst allowance (§4.4).
    fn tick(&mut self, view: &View<'_>) {
        let qdelay = self.qdelay(view);
        let (p, s) = (&self.params, &mut self.state);
        s.next = Some(next_on_grid(view.now, p.tupdate()));
        if s.active {
            let mut prob = self.gains.step(s.drop_prob, qdelay, s.qdelay_old);
            if qdelay.is_zero() && s.qdelay_old.is_zero() {
                if p.variant != PieVariant::Linux || view.backlog.bytes == 0 {
                    prob *= p.decay();
                }
            } else if p.delay_high.is_some_and(|high| qdelay > high) {
                prob += 0.02;
            }
            s.drop_prob = prob.clamp(0.0, 1.0);
        }
        if p.allowance() == AllowanceClock::Updates {
            s.burst_allowance = s.burst_allowance.saturating_sub(p.tupdate());
        }
        if s.drop_prob == 0.0 && self.gains.low(qdelay, s.qdelay_old) {
            s.burst_allowance = p.max_burst();
            s.left_at = None;
            if p.variant == PieVariant::Linux {
                s.dice = Dice::default();
            }
        }
        let quiet = s.drop_prob == 0.0 && qdelay.is_zero() && s.qdelay_old.is_zero();
        s.qdelay_old = qdelay;
        if quiet && p.activation.get() > 0.0 {
            s.active = false;
        }
        if quiet && view.backlog.packets == 0 {
            s.departures = Departures::default();
            s.next = None;
        }
    }

    fn probe(&self, out: &mut Reading<'_>) {
        let s = &self.state;
        out.number("drop_prob", s.drop_prob);
        out.number("accu_prob", s.dice.accu_prob);
        out.duration("qdelay_old", s.qdelay_old);
        out.duration("burst_allowance", s.burst_allowance);
        out.flag("active", s.active);
        out.rate("avg_dq_rate", s.departures.ns_per_byte.map(|ns| 8e9 / ns));
    }
}
