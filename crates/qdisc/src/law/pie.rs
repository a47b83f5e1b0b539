//! PIE: proportional integral controller enhanced.
//!
//! ```text
//! every tupdate   p = alpha (qdelay - target) + beta (qdelay - qdelay_old), scaled by Tuning, at most +0.02 from 10 % on
//!                 drop_prob <- drop_prob + p, bounded to [0, 1];  x 0.98 if qdelay = qdelay_old = 0
//!                 burst_allowance <- burst_allowance - tupdate;  max_burst if drop_prob = 0 and both delays < target/2
//! on arrival      keep while burst_allowance > 0;  keep if (qdelay_old < target/2 and drop_prob < 0.2) or q <= 2 packets;
//!                 (Linux: the present qdelay, q < 2 packets)
//!                 else drop with drop_prob (or mark, below mark_ecnth)
//! qdelay          the sojourn time of the last departure (0 when the queue is empty), or q / measured departure rate
//! ```
//!
//! Source: RFC 8033; draft-pan-aqm-pie-00 and ns-2's PIE of 2013; Linux sch_pie.
//! Departs: the clock of the updates is a grid of `tupdate` from the start of the run and is suspended while the queue is empty
//! and drop_prob and both delays are 0, when an update changes nothing (§5.3's "inactive"; the departure rate is then measured
//! from scratch). A measuring cycle of the departure rate does not count the packet that starts it; ns-2 counts it, and averages
//! the rate where the RFC (and this) averages time.

mod params;

use params::PieConfig;
pub use params::{AllowanceClock, DelayEstimate, JudgedBy, PieParams, PieVariant};

use super::pi::Dice;
use super::{Law, LawParams, Verdict, View, early};
use packet::{Ecn, MarkReason, PacketMeta, Reading};
use units::{Bytes, Duration, Limit, Problem, Rng, Time};

impl LawParams for PieParams {
    type Law = Pie;
    fn validate(&self) -> Result<(), Problem> {
        if self.target.is_some_and(Duration::is_zero) {
            return Err(Problem::new("target", "0s is not valid; expected a positive duration"));
        }
        self.tupdate.map_or(Ok(()), |d| check_step("tupdate", d))?;
        for (name, gain) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !(gain > 0.0 && gain.is_finite()) {
                return Err(Problem::new(name, format!("{gain} is not valid; expected a positive number (1/s)")));
            }
        }
        for (name, b) in [("avpkt", self.avpkt), ("dq_threshold", self.dq_threshold)] {
            if b == Some(Bytes(0)) {
                return Err(Problem::new(name, "0B is not valid; expected a positive size"));
            }
        }
        if self.activation.get() > 0.0 && self.limit.is_none() {
            let message = format!("{} is a share of `limit`; expected a limit beside it", self.activation);
            return Err(Problem::new("activation", message));
        }
        if self.config().allowance == AllowanceClock::Departures && self.config().delay == DelayEstimate::DepartureRate
        {
            let message = "departures is not valid where the delay comes from the departure rate; expected updates";
            return Err(Problem::new("allowance", message));
        }
        self.dq_weight.map_or(Ok(()), |w| early::weight("dq_weight", w))
    }
    fn law(&self) -> Pie {
        Pie::new(self.config())
    }
    fn limit(&self) -> Option<Limit> {
        self.limit
    }
}

/// Estimates the departure rate, as time per byte.
///
/// Source: RFC 8033 §5.2: cycles of `dq_threshold` bytes, started while the backlog is at least that.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Departures {
    /// Start of the cycle and the bytes that have left in it.
    cycle: Option<(Time, u64)>,
    /// Average time per byte, ns.
    ns_per_byte: Option<f64>,
}

impl Departures {
    fn left(&mut self, cfg: &PieConfig, bytes: u64, backlog: u64, now: Time) {
        if let Some((start, count)) = &mut self.cycle {
            *count += bytes;
            if *count >= cfg.dq_threshold {
                let sample = now.since(*start).0 as f64 / *count as f64;
                let avg = self.ns_per_byte.map_or(sample, |avg| avg + cfg.dq_weight * (sample - avg));
                self.ns_per_byte = Some(avg);
                self.cycle = None;
            }
        }
        if self.cycle.is_none() && backlog >= cfg.dq_threshold {
            self.cycle = Some((now, 0));
        }
    }
}

/// PIE's state for one queue. Names are RFC 8033's.
#[derive(Clone, Debug, PartialEq)]
pub struct PieState {
    /// Probability that an arrival is dropped.
    pub drop_prob: f64,
    /// Delay at the last update.
    pub qdelay_old: Duration,
    /// Time for which nothing is dropped.
    pub burst_allowance: Duration,
    /// The de-randomisation, with its accu_prob.
    pub dice: Dice,
    /// False while the queue has not reached the activation threshold.
    pub active: bool,
    /// Sojourn time of the last departure.
    sojourn: Duration,
    /// The last departure since the allowance was full.
    left_at: Option<Time>,
    departures: Departures,
    next: Option<Time>,
}

/// PIE as the law of one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Pie {
    cfg: PieConfig,
    state: PieState,
}

impl Pie {
    /// A law in its initial state.
    fn new(cfg: PieConfig) -> Self {
        let state = PieState {
            drop_prob: 0.0,
            qdelay_old: Duration::ZERO,
            burst_allowance: cfg.max_burst,
            dice: Dice::default(),
            active: cfg.activation.is_none(),
            sojourn: Duration::ZERO,
            left_at: None,
            departures: Departures::default(),
            next: None,
        };
        Self { cfg, state }
    }

    /// The state, for probes.
    pub fn state(&self) -> &PieState {
        &self.state
    }

    /// RFC 8033 §5.3: PIE becomes active when the backlog reaches its threshold.
    fn activate(&mut self, view: &View<'_>) {
        let Some(threshold) = self.cfg.activation else { return };
        let queue = early::Measure::of(threshold).queue(view);
        if !self.state.active && queue >= early::amount(threshold, view.link.rate) {
            self.state = PieState { active: true, next: self.state.next, ..Self::new(self.cfg.clone()).state };
        }
    }

    fn qdelay(&self, view: &View<'_>) -> Duration {
        match self.cfg.delay {
            DelayEstimate::Timestamp => self.state.sojourn,
            DelayEstimate::DepartureRate => self
                .state
                .departures
                .ns_per_byte
                .map_or(Duration::ZERO, |ns| Duration((ns * view.backlog.bytes as f64 + 0.5) as u64)),
        }
    }

    /// RFC 8033 §4.1 and §5.4 `drop_early`.
    #[inline]
    fn drop_early(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> bool {
        let qdelay = match self.cfg.judged_by {
            JudgedBy::LastUpdate => self.state.qdelay_old,
            JudgedBy::Present => self.qdelay(view),
        };
        let (cfg, s) = (&self.cfg, &mut self.state);
        if !s.active || !s.burst_allowance.is_zero() {
            return false;
        }
        if cfg.gains.work_conserving(s.drop_prob, qdelay, view.backlog.bytes, cfg.spared) {
            return false;
        }
        let scale = if cfg.bytemode { packet.bytes() as f64 / cfg.avpkt as f64 } else { 1.0 };
        let p = s.drop_prob * scale;
        if !cfg.derandomize {
            return rng.chance(p);
        }
        if s.drop_prob == 0.0 {
            s.dice = Dice::default();
        }
        s.dice.add(p);
        s.dice.roll(p, rng)
    }
}

/// Shortest time between updates. An idle queue makes up for every update that it missed: with steps of 2 ns, 500 million
/// per second of idleness. Sources have 15 to 30 ms; 100 us is the time of a packet of 1500 bytes at 120 Mbit/s.
const SHORTEST_STEP: Duration = Duration::from_micros(100);

/// Refuses updates that are too frequent.
pub(crate) fn check_step(name: &str, step: Duration) -> Result<(), Problem> {
    if step < SHORTEST_STEP {
        return Err(Problem::new(name, format!("{step} is not valid; expected at least {SHORTEST_STEP}")));
    }
    Ok(())
}

/// The first time after `now` on the grid of `step`.
pub(crate) fn next_on_grid(now: Time, step: Duration) -> Time {
    Time((now.0 / step.0 + 1).saturating_mul(step.0))
}

impl Law for Pie {
    #[inline]
    fn arrive(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
        if self.state.next.is_none() {
            self.state.next = Some(next_on_grid(view.now, self.cfg.tupdate));
        }
        self.activate(view);
        if !self.drop_early(packet, view, rng) {
            return Verdict::Pass;
        }
        match self.cfg.mark_ecnth {
            Some(th) if self.state.drop_prob < th && packet.ecn() != Ecn::NotEct => Verdict::Mark(MarkReason::Law),
            _ => Verdict::Drop,
        }
    }

    #[inline]
    fn left(&mut self, packet: &PacketMeta, view: &View<'_>) {
        if self.cfg.allowance == AllowanceClock::Departures {
            let s = &mut self.state;
            let gap = s.left_at.replace(view.now).map_or(Duration::ZERO, |t| view.now.since(t));
            s.burst_allowance = s.burst_allowance.saturating_sub(gap);
        }
        match self.cfg.delay {
            DelayEstimate::Timestamp => {
                self.state.sojourn = if view.backlog.packets == 0 { Duration::ZERO } else { view.sojourn };
            }
            DelayEstimate::DepartureRate => {
                self.state.departures.left(&self.cfg, packet.bytes(), view.backlog.bytes, view.now);
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

    /// RFC 8033 §4.2 `calculate_drop_prob`, §4.4 the burst allowance.
    fn tick(&mut self, view: &View<'_>) {
        let qdelay = self.qdelay(view);
        let (cfg, s) = (&self.cfg, &mut self.state);
        s.next = Some(next_on_grid(view.now, cfg.tupdate));
        if s.active {
            let mut p = cfg.gains.step(s.drop_prob, qdelay, s.qdelay_old);
            if qdelay.is_zero() && s.qdelay_old.is_zero() {
                p *= cfg.decay;
            } else if cfg.delay_high.is_some_and(|high| qdelay > high) {
                p += 0.02;
            }
            s.drop_prob = p.clamp(0.0, 1.0);
        }
        if cfg.allowance == AllowanceClock::Updates {
            s.burst_allowance = s.burst_allowance.saturating_sub(cfg.tupdate);
        }
        if s.drop_prob == 0.0 && cfg.gains.low(qdelay, s.qdelay_old) {
            s.burst_allowance = cfg.max_burst;
            s.left_at = None;
        }
        let quiet = s.drop_prob == 0.0 && qdelay.is_zero() && s.qdelay_old.is_zero();
        s.qdelay_old = qdelay;
        if quiet && cfg.activation.is_some() {
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
