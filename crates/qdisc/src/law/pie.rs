//! PIE: proportional integral controller enhanced.
//!
//! ```text
//! every tupdate   p = alpha (qdelay - target) + beta (qdelay - qdelay_old), scaled by Tuning, at most 0.02 if drop_prob >= 10 %
//!                 drop_prob <- drop_prob + p, x 0.98 if qdelay = qdelay_old = 0, or + 0.02 if qdelay > delay_high,
//!                              bounded to [0, 1]
//!                                    (Linux: x 63/64, and only if the queue is empty too. It may exceed 1, but
//!                                    becomes 1 again when it reaches 256, where its 64 bits overflow)
//!                 burst_allowance <- burst_allowance - tupdate (Linux: departures reduce it instead),
//!                                    or max_burst if drop_prob = 0 and qdelay and qdelay_old < target/2
//!                                    (Linux: also accu_prob <- 0)
//! on arrival      keep while burst_allowance > 0
//!                 keep if (qdelay_old < target/2 and drop_prob < 0.2) or q <= 2 packets   (Linux: qdelay, and q < 2 packets)
//!                 otherwise drop with probability drop_prob (or mark, if drop_prob < mark_ecnth)
//! accu_prob       0 after a drop or mark. Linux: not after a mark that was certain (accu_prob >= 8.5), so packets are
//!                 marked until a drop, until drop_prob = 0, or until accu_prob wraps to 0 at 256 (overflow of 64 bits)
//! qdelay          the sojourn time of the last departure (0 when the queue is empty), or q / measured departure rate
//! ```
//!
//! Source: RFC 8033; draft-pan-aqm-pie-00 and ns-2's PIE of 2013; Linux sch_pie.
//! Departs: updates run at multiples of `tupdate` since the start of the run. They stop while the queue is empty and
//! drop_prob and both delays are 0, because an update would then change nothing (§5.3's "inactive"). After such a stop,
//! the measurement of the departure rate starts again (variant linux: it starts again when the burst allowance is
//! refilled). The packet that starts a measuring cycle does not count towards the departure rate; ns-2 counts it. The
//! time per byte is averaged, as in the RFC; ns-2 averages the rate. The variant linux counts and averages like Linux
//! (see `Departures`).

mod params;

pub use params::{AllowanceClock, DelayEstimate, JudgedBy, PieParams, PieVariant};

use super::pi::{self, Dice, Gains, LINUX_OVERFLOW};
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

/// Duration of a tick of Linux's packet scheduler.   Unit: ns.
const TICK: u64 = 64;
/// Linux's unit of the departure rate is one byte per tick, divided by this number.
const LINUX_RATE: f64 = 256.0;

/// The estimate of the departure rate.
///
/// The rate is measured over cycles of at least `dq_threshold` bytes. A cycle starts only while this number of bytes is
/// queued.
///
/// RFC 8033 averages the time per byte, and does not count the packet that starts a cycle. Linux counts this packet
/// unless the cycle directly follows another one. Linux averages the rate, in whole numbers: rate <- rate - rate/8 +
/// sample/8, where both quotients are rounded down. At low link rates, these are small numbers: 10 Mbit/s is 20, and an
/// average below 8 cannot fall.
/// Source: RFC 8033 §5.2; Linux sch_pie.c (facts only).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Departures {
    /// Time at which the current cycle started, and the number of bytes that have left since then.
    cycle: Option<(Time, u64)>,
    /// Average time per byte in ns; with the variant linux, average rate in [`LINUX_RATE`]'s unit.
    average: Option<f64>,
}

impl Departures {
    /// Counts a packet of `bytes` bytes that left. Returns the duration of the cycle if the packet completes one.
    fn left(&mut self, p: &PieParams, bytes: u64, backlog: u64, now: Time) -> Option<Duration> {
        let linux = p.variant == PieVariant::Linux;
        if linux && self.cycle.is_none() && backlog >= p.dq_threshold().0 {
            self.cycle = Some((now, 0));
        }
        let mut took = None;
        if let Some((start, count)) = &mut self.cycle {
            *count += bytes;
            let gap = now.since(*start);
            let ticks = now.0 / TICK - start.0 / TICK;
            if *count >= p.dq_threshold().0 && !(linux && ticks == 0) {
                let (w, count) = (p.dq_weight(), *count as f64);
                self.average = if linux {
                    let sample = (count * LINUX_RATE / ticks as f64).floor();
                    let average = self.average.map_or(sample, |avg| avg - (avg * w).floor() + (sample * w).floor());
                    Some(average).filter(|avg| *avg > 0.0)
                } else {
                    let sample = gap.0 as f64 / count;
                    Some(self.average.map_or(sample, |avg| avg + w * (sample - avg)))
                };
                self.cycle = None;
                took = Some(gap);
            }
        }
        if self.cycle.is_none() && backlog >= p.dq_threshold().0 {
            self.cycle = Some((now, 0));
        }
        took
    }

    /// Returns the average time per byte, in ns.
    fn ns_per_byte(&self, p: &PieParams) -> Option<f64> {
        let linux = p.variant == PieVariant::Linux;
        self.average.map(|avg| if linux { LINUX_RATE * TICK as f64 / avg } else { avg })
    }
}

/// PIE's state for one queue. Variables that RFC 8033 defines have the same names here.
#[derive(Clone, Debug, PartialEq)]
pub struct PieState {
    /// Probability that an arrival is dropped or marked. With the variant linux, it may exceed 1.
    pub drop_prob: f64,
    /// Delay at the last update.
    pub qdelay_old: Duration,
    /// Remaining time during which nothing is dropped early.
    pub burst_allowance: Duration,
    /// The state of de-randomisation, accu_prob.
    pub dice: Dice,
    /// True if PIE is active (RFC 8033 §5.3).
    pub active: bool,
    /// Sojourn time of the last departure; zero if the queue has become empty.
    sojourn: Duration,
    /// Time of the last departure since the burst allowance was filled; used only with [`DelayEstimate::Timestamp`].
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

    /// Activates PIE if the backlog has reached the activation threshold.   Source: RFC 8033 §5.3.
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
                .ns_per_byte(&self.params)
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
        if p.variant == PieVariant::Linux { s.dice.roll_linux(prob, rng) } else { s.dice.roll(prob, rng) }
    }
}

/// Minimum time between updates. It bounds the work of a run: if updates were 2 ns apart, an active queue would run 500
/// million of them in each second. The sources use 15 to 30 ms. 100 us is the transmission time of a packet of 1500 bytes
/// at 120 Mbit/s.
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
        if mark {
            return Verdict::Mark(MarkReason::Law);
        }
        self.state.dice = Dice::default();
        Verdict::Drop
    }

    #[inline]
    fn left(&mut self, packet: &PacketMeta, view: &View<'_>) {
        let (p, s) = (&self.params, &mut self.state);
        let gap = match p.delay() {
            DelayEstimate::Timestamp => {
                s.sojourn = if view.backlog.packets == 0 { Duration::ZERO } else { view.sojourn };
                s.left_at.replace(view.now).map(|t| view.now.since(t))
            }
            DelayEstimate::DepartureRate => s.departures.left(p, packet.bytes(), view.backlog.bytes, view.now),
        };
        if let Some(gap) = gap
            && p.allowance() == AllowanceClock::Departures
        {
            s.burst_allowance = s.burst_allowance.saturating_sub(gap);
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
            s.drop_prob = match p.variant {
                PieVariant::Linux if prob < LINUX_OVERFLOW => prob.max(0.0),
                _ => prob.clamp(0.0, 1.0),
            };
        }
        if p.allowance() == AllowanceClock::Updates {
            s.burst_allowance = s.burst_allowance.saturating_sub(p.tupdate());
        }
        let linux = p.variant == PieVariant::Linux;
        // if Linux estimates the departure rate, it refills the allowance only once it has an estimate, and then
        // discards this estimate
        let known = !(linux && p.measures_departures()) || s.departures.average.is_some();
        if s.drop_prob == 0.0 && self.gains.low(qdelay, s.qdelay_old) && known {
            s.burst_allowance = p.max_burst();
            s.left_at = None;
            if linux {
                s.dice = Dice::default();
                s.departures = Departures::default();
            }
        }
        let quiet = s.drop_prob == 0.0 && qdelay.is_zero() && s.qdelay_old.is_zero();
        s.qdelay_old = qdelay;
        if quiet && p.activation.get() > 0.0 {
            s.active = false;
        }
        if quiet && view.backlog.packets == 0 {
            if !linux {
                s.departures = Departures::default();
            }
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
        out.rate("avg_dq_rate", s.departures.ns_per_byte(&self.params).map(|ns| 8e9 / ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::{Backlog, LinkView};
    use units::BitRate;

    #[test]
    fn in_linux_a_certain_mark_is_followed_by_marks() {
        // drop_prob is 0.01. The first packet raises the sum from 8.495 to 8.505, so it is marked for certain. In the RFC, the
        // sum then starts from 0, and the next 50 packets raise it to 0.5, too little for a mark. In Linux, the sum stays
        // above 8.5.
        for (variant, marks) in [(PieVariant::Rfc8033, 1), (PieVariant::Linux, 51)] {
            let mut law = PieParams { variant, ecn: true, derandomize: Some(true), ..Default::default() }.law();
            law.state = PieState {
                drop_prob: 0.01,
                qdelay_old: Duration::from_millis(50),
                sojourn: Duration::from_millis(50),
                burst_allowance: Duration::ZERO,
                dice: Dice { accu_prob: 8.495 },
                ..law.state
            };
            let link = LinkView::plain(BitRate(10_000_000));
            let backlog = Backlog { packets: 100, bytes: 150_000 };
            let mut rng = Rng::named(1, "q");
            let mut arrive = |law: &mut Pie, ecn| {
                let mut packet = PacketMeta { size: 1500, ..Default::default() };
                packet.set_ecn(ecn);
                let view = View { now: Time(1), backlog, sojourn: Duration::ZERO, link: &link };
                law.arrive(&packet, &view, &mut rng)
            };
            let marked = (0..51).filter(|_| arrive(&mut law, Ecn::Ect0) == Verdict::Mark(MarkReason::Law)).count();
            assert_eq!(marked, marks, "{variant:?}");
            // a drop resets the sum, and so does the overflow of Linux's 64 bits at 256
            law.state.dice.accu_prob = 8.5;
            assert_eq!(arrive(&mut law, Ecn::NotEct), Verdict::Drop);
            assert_eq!(arrive(&mut law, Ecn::Ect0), Verdict::Pass);
            law.state.dice.accu_prob = 255.995;
            let after = if variant == PieVariant::Linux { Verdict::Pass } else { Verdict::Mark(MarkReason::Law) };
            assert_eq!(arrive(&mut law, Ecn::Ect0), after);
        }
    }
}
