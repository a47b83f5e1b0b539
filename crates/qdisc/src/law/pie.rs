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
//! Departs: the clock of the updates is a grid of `tupdate` from the start of the run and stands still while the queue is empty,
//! drop_prob 0 and both delays 0, when an update changes nothing (§5.3's "inactive"; the departure rate is then measured
//! anew). A measuring cycle of the departure
//! rate does not count the packet that starts it; ns-2 counts it, and averages the rate where the RFC (and this) averages time.

use super::pi::{Dice, Gains, Tuning};
use super::{Law, LawParams, Verdict, View, early};
use packet::{Ecn, MarkReason, PacketMeta, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Limit, Prob, Problem, Rng, Time};

/// A published version: presets for the parameters that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PieVariant {
    /// RFC 8033 (2017), without its optional parts: 15 ms, 15 ms, burst 150 ms, the full tuning table.
    #[default]
    Rfc8033,
    /// Linux sch_pie: as RFC 8033, de-randomised, decay 1 - 1/64, +0.02 while the delay exceeds 250 ms, avpkt 1514; an arrival is
    /// judged by the present delay, less than two packets are spared, and departures use up the burst allowance.
    Linux,
    /// draft-pan-aqm-pie-00 and its ns-2 code (2013), which ARRIS 2013 means: target 20 ms, every 30 ms, burst 100 ms, delay
    /// from the departure rate (10 KB), +0.02 above 200 ms, tuning only below 1 % and 10 %.
    Draft2013,
}

/// Where qdelay comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelayEstimate {
    /// The sojourn time of the packet that left last.
    Timestamp,
    /// The backlog over the measured departure rate (tc `dq_rate_estimator`).
    DepartureRate,
}

/// The delay that an arrival is judged by, beside the probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgedBy {
    /// The delay at the last update, qdelay_old (RFC 8033 §4.1).
    LastUpdate,
    /// The delay now (Linux).
    Present,
}

/// What uses up the burst allowance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllowanceClock {
    /// Each update takes `tupdate` from it (RFC 8033 §4.4).
    Updates,
    /// Each departure takes the time since the one before, so an idle link keeps it (Linux; needs `delay = "timestamp"`).
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
    /// MAX_BURST: so long after a quiet time nothing is dropped; null: 150ms, 100ms (draft2013).
    pub max_burst: Option<Duration>,
    /// Mark ECN-capable packets instead of dropping them, below `mark_ecnth`.
    pub ecn: bool,
    /// From this probability on, ECN-capable packets are dropped too.
    pub mark_ecnth: Prob,
    /// Scale the probability by packet size / avpkt.
    pub bytemode: bool,
    /// MEAN_PKTSIZE; null: 1000 bytes, 1514 (linux).
    pub avpkt: Option<Bytes>,
    /// No early drop while at most this many bytes wait; null: 2 avpkt, or 2 avpkt - 1 (linux, which asks for less than two).
    pub spared: Option<Bytes>,
    /// The delay that must be below target/2 for an arrival to be kept; null: last_update, present (linux).
    pub judged_by: Option<JudgedBy>,
    /// What uses up the burst allowance; null: updates, departures (linux).
    pub allowance: Option<AllowanceClock>,
    /// Where the delay comes from; null: timestamp, departure_rate (draft2013).
    pub delay: Option<DelayEstimate>,
    /// Backlog from which the departure rate is measured, and length of a measuring cycle; null: 16384 bytes, 10000 (draft2013).
    pub dq_threshold: Option<Bytes>,
    /// Weight of a cycle in the average time per byte; null: 0.25 (RFC 8033: DQ_THRESHOLD/2^16), 0.5 (draft2013).
    pub dq_weight: Option<f64>,
    /// De-randomise: no drop while the probabilities since the last sum to less than 0.85, a drop at 8.5; null: no, yes (linux).
    pub derandomize: Option<bool>,
    /// Share of `limit` that must have been reached for PIE to become active (RFC 8033 §5.3: 1/3); 0 is always. Needs `limit`.
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
struct PieConfig {
    gains: Gains,
    tupdate: Duration,
    max_burst: Duration,
    /// Mark below this probability; `None`: never.
    mark_ecnth: Option<f64>,
    bytemode: bool,
    avpkt: u64,
    spared: u64,
    judged_by: JudgedBy,
    allowance: AllowanceClock,
    delay: DelayEstimate,
    dq_threshold: u64,
    dq_weight: f64,
    derandomize: bool,
    /// The backlog that activates.
    activation: Option<Limit>,
    decay: f64,
    delay_high: Option<Duration>,
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
    fn config(&self) -> PieConfig {
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
    /// Whether the delay comes from the rate of departures.
    pub(crate) fn measures_departures(&self) -> bool {
        self.config().delay == DelayEstimate::DepartureRate
    }
}

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

/// Measures how long a byte takes to leave.
///
/// Source: RFC 8033 §5.2: cycles of `dq_threshold` bytes, begun while at least as much waits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Departures {
    /// Beginning of the cycle and the bytes that have left in it.
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
    /// The sum of the de-randomisation.
    pub dice: Dice,
    /// False while the queue has not reached the activation threshold.
    pub active: bool,
    /// The delay that the last departure saw.
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
    /// A law that has seen nothing.
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

/// Shortest time between updates. An idle queue is given all that it missed, which takes as long as it was idle: of
/// steps of 2 ns, 500 million a second. Sources have 15 to 30 ms; 100 us is the time of a packet of 1500 bytes at 120 Mbit/s.
const SHORTEST_STEP: Duration = Duration::from_micros(100);

/// Refuses updates that follow each other too closely.
pub(crate) fn check_step(name: &str, step: Duration) -> Result<(), Problem> {
    if step < SHORTEST_STEP {
        return Err(Problem::new(name, format!("{step} is not valid; expected at least {SHORTEST_STEP}")));
    }
    Ok(())
}

/// The first moment after `now` on the grid of `step`.
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
