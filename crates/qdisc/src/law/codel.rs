//! CoDel: controlled delay.
//!
//! ```text
//! above(p)   sojourn >= target and bytes behind p > maxpacket, without a break for at least `interval`
//! drop       while above: at t0, then t_{n+1} = t_n + interval / sqrt(count), count = 1, 2, 3 ...
//! re-entry   soon after the last drop, count starts higher than 1; its start depends on the last cycle (see Reentry)
//!
//!        above, drop one                      not above, or empty
//! idle -------------------> dropping ------------------------------> idle
//!                           now >= drop_next: drop (or mark), count++
//! ```
//!
//! Source: RFC 8289; draft-nichols-tsvwg-codel-01; Nichols & Jacobson, ACM Queue 10(5) 2012.
//! The law receives one head at a time, so it cannot loop as the published pseudo-code does. Instead, the state
//! [`Turn`] records where in those loops the next head is examined.
//! Departs: Linux measures time in units of 1024 ns, this model in ns. All other differences between the variants are parameters,
//! except that only the variant `linux` counts two marks for one packet (`MarkTwice`).

mod params;

pub use params::{CodelParams, CountStep, Entry, InverseSqrt, Reentry, Sojourn, Variant};

use super::{Law, LawParams, Verdict, View};
use packet::{Ecn, MarkReason, PacketMeta, Reading};
use units::{Duration, Limit, Problem, Rng, Time, ensure, positive};

/// Initial value of a learned maxpacket. Source: draft-nichols-tsvwg-codel-01 and ns-2.   Unit: bytes.
const LEARNED_MAX_PACKET_START: u64 = 256;
/// If count - 2 exceeds this value when CoDel enters the dropping state again soon after leaving it, ns-2's kmn
/// revision resumes with [`KMN_KEEP`] x count instead of count - 2. At a count of 128, both give 126.
const KMN_KNEE: u32 = 126;
/// Fraction of the count that the kmn revision keeps above [`KMN_KNEE`].
const KMN_KEEP: f64 = 0.9844;

impl LawParams for CodelParams {
    type Law = Codel;
    fn validate(&self) -> Result<(), Problem> {
        positive("target", self.target)?;
        positive("interval", self.interval)?;
        let selector = self.ce_threshold_selector.is_none() || self.ce_threshold.is_some();
        ensure!(selector, "ce_threshold_selector", "needs a ce_threshold; expected both or neither");
        Ok(())
    }
    fn law(&self) -> Codel {
        let params = Self { max_packet: self.max_packet(), ..self.resolved() };
        Codel { params, state: CodelState::default() }
    }
    fn limit(&self) -> Option<Limit> {
        self.limit
    }
}

/// The point in the loops of the published pseudo-code at which the next head is examined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Turn {
    /// The next head is the first of a dequeue.
    #[default]
    First,
    /// The last head was dropped, which began the dropping state. The next head is sent, whatever its sojourn time.
    Entered,
    /// The last head was dropped in the dropping state.
    Dropped,
}

/// CoDel's state for one queue. Names are RFC 8289's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodelState {
    /// The end of the interval for which the delay must stay above target before CoDel may drop. `partial_parole` can
    /// shorten this interval, and the entry `at_second_interval` can require a second one. `None` while the delay is below
    /// target, or while so few bytes are queued that CoDel never drops.
    pub first_above_time: Option<Time>,
    /// Time of the next drop. Outside the dropping state, the time at which the next drop would have been due if the
    /// last cycle (stay in the dropping state) had not ended. But if the cycle ended right after a drop (not its first),
    /// the time at which that drop was due.
    pub drop_next: Time,
    /// The number that determines the drop rate. A cycle begins with 1 or, soon after another cycle, with the number
    /// that `reentry` specifies. Each further drop or mark adds 1; with `if_still_above`, a drop does so only if the next
    /// head is still above target. With `overflow_counts`, a drop at a limit also adds 1.
    pub count: u32,
    /// Value of `count` when CoDel last entered the dropping state.
    pub lastcount: u32,
    /// True in the dropping state.
    pub dropping: bool,
    turn: Turn,
    /// Approximation of 1/sqrt(count), in units of 2^-16. Only `newton16` uses it.
    inv_sqrt: u16,
    /// Size of the largest packet that has reached the head, but at least [`LEARNED_MAX_PACKET_START`], in bytes.
    max_seen: u64,
}

impl Default for CodelState {
    fn default() -> Self {
        Self {
            first_above_time: None,
            drop_next: Time::ZERO,
            count: 0,
            lastcount: 0,
            dropping: false,
            turn: Turn::First,
            inv_sqrt: u16::MAX,
            max_seen: LEARNED_MAX_PACKET_START,
        }
    }
}

/// Makes one Newton step towards 1/sqrt(count), x <- x (3 - count x^2) / 2, with 32-bit fractions, and keeps 16 bits.
fn newton_step(inv_sqrt: u16, count: u32) -> u16 {
    let x = u64::from(inv_sqrt) << 16;
    let x2 = (x * x) >> 32;
    // After a jump of count (see `overflow`), this difference may wrap, as in Linux. The resulting x may be far too
    // small or too large, for many steps or until count is 1 again.
    let bracket = (3u64 << 32).wrapping_sub(u64::from(count).wrapping_mul(x2)) >> 2;
    (bracket.wrapping_mul(x) >> 31 >> 16) as u16
}

/// Computes `interval / sqrt(count)`, rounded to the nanosecond, for CoDel and COBALT. A count of 0 is treated as 1.
#[inline]
pub(super) fn interval_over_root(interval: Duration, count: u32) -> Duration {
    Duration((interval.0 as f64 / f64::from(count.max(1)).sqrt() + 0.5) as u64)
}

impl CodelState {
    /// Computes `t + interval / sqrt(count)`.
    fn control_law(&self, p: &CodelParams, t: Time) -> Time {
        let step = match p.inverse_sqrt() {
            InverseSqrt::Exact => interval_over_root(p.interval, self.count),
            InverseSqrt::Newton16 => Duration(((u128::from(p.interval.0) * u128::from(self.inv_sqrt)) >> 16) as u64),
        };
        t + step
    }

    fn set_count(&mut self, count: u32) {
        self.inv_sqrt = if count == 1 { u16::MAX } else { newton_step(self.inv_sqrt, count) };
        self.count = count;
    }

    /// Returns true if the delay has been above target long enough for a drop (`dodequeue`, RFC 8289 §5.6).
    #[inline]
    fn ok_to_drop(&mut self, p: &CodelParams, sojourn: Duration, packet: &PacketMeta, view: &View<'_>) -> bool {
        let now = view.now;
        self.max_seen = self.max_seen.max(packet.bytes());
        if sojourn < p.target || view.backlog.bytes <= p.max_packet.map_or(self.max_seen, |most| most.0) {
            self.first_above_time = None;
            return false;
        }
        match self.first_above_time {
            None => {
                let parole = p.partial_parole() && self.count > 1 && now.since(self.drop_next) < p.soon();
                self.first_above_time = Some(if parole { self.control_law(p, now) } else { now + p.interval });
                false
            }
            Some(t) if p.entry() == Entry::AfterInterval => now > t,
            Some(t) => now >= t,
        }
    }

    /// Enters the dropping state with the first drop or mark of a cycle.
    fn enter(&mut self, p: &CodelParams, capable: bool, now: Time) -> Verdict {
        let soon = now.since(self.drop_next) < p.soon();
        let resumed = match p.reentry() {
            Reentry::Delta => self.count.saturating_sub(self.lastcount),
            // the result may be 0; it is raised to 1 after the match
            Reentry::MinusTwo => self.count.saturating_sub(2),
            Reentry::MinusTwoOrScaled if self.count.saturating_sub(2) > KMN_KNEE => {
                (KMN_KEEP * f64::from(self.count)) as u32
            }
            Reentry::MinusTwoOrScaled => self.count.saturating_sub(2),
        };
        self.set_count(if soon { resumed.max(1) } else { 1 });
        self.lastcount = self.count;
        self.drop_next = self.control_law(p, now);
        self.dropping = true;
        if capable {
            return Verdict::Mark(MarkReason::Law);
        }
        self.turn = Turn::Entered;
        Verdict::Drop
    }

    /// Drops or marks the head if the time `drop_next` has been reached; otherwise, lets the head pass. Called only in
    /// the dropping state, and only for a head whose delay has been above target long enough.
    fn continue_dropping(&mut self, p: &CodelParams, capable: bool, now: Time) -> Verdict {
        if now < self.drop_next {
            return Verdict::Pass;
        }
        if capable || p.count_step() == CountStep::WithDrop {
            self.set_count(self.count + 1);
        }
        if capable {
            // a marked packet is sent, and no other head is examined in this dequeue, so the next drop is scheduled here
            self.drop_next = self.control_law(p, self.drop_next);
            return Verdict::Mark(MarkReason::Law);
        }
        self.turn = Turn::Dropped;
        Verdict::Drop
    }

    /// Decides whether to pass, mark or drop `packet`, the packet at the head, which is about to be sent.
    #[inline]
    fn head(&mut self, p: &CodelParams, packet: &PacketMeta, view: &View<'_>) -> Verdict {
        let sojourn = match p.sojourn {
            Sojourn::Queue => view.sojourn,
            Sojourn::QueueAndTransmit => view.sojourn + view.link.downstream_delay,
        };
        let ok = self.ok_to_drop(p, sojourn, packet, view);
        let capable = packet.ecn() != Ecn::NotEct;
        let verdict = match std::mem::take(&mut self.turn) {
            Turn::Entered => Verdict::Pass,
            _ if self.dropping && !ok => {
                self.dropping = false;
                Verdict::Pass
            }
            Turn::First if self.dropping => self.continue_dropping(p, p.ecn && capable, view.now),
            Turn::Dropped => {
                if p.count_step() == CountStep::IfStillAbove {
                    self.set_count(self.count + 1);
                }
                self.drop_next = self.control_law(p, self.drop_next);
                self.continue_dropping(p, p.ecn && capable, view.now)
            }
            Turn::First if ok && self.may_enter(p, view.now) => self.enter(p, p.ecn && capable, view.now),
            Turn::First => Verdict::Pass,
        };
        let Some(t) = p.ce_threshold else { return verdict };
        if !capable || sojourn <= t {
            return verdict;
        }
        let selects = |tos: u8| p.ce_threshold_selector.is_none_or(|s| s.has(tos));
        match verdict {
            Verdict::Pass if selects(packet.tos) => Verdict::Mark(MarkReason::Step),
            // CoDel has marked the packet already, so the selector sees it as CE
            Verdict::Mark(_) if p.variant == Variant::Linux && selects(packet.tos | Ecn::Ce as u8) => {
                Verdict::MarkTwice
            }
            _ => verdict,
        }
    }

    fn may_enter(&self, p: &CodelParams, now: Time) -> bool {
        p.entry() != Entry::AtSecondInterval
            || now.since(self.drop_next) < p.interval
            || self.first_above_time.is_some_and(|t| now >= t + p.interval)
    }

    /// With `overflow_counts`, increments `count` for a packet of this queue that was dropped because a limit was reached.
    /// As in Linux, the stored 1/sqrt(count) is not updated here, but when the law itself next changes count.
    #[inline]
    fn overflow(&mut self, p: &CodelParams) {
        if p.overflow_counts {
            self.count = self.count.saturating_add(1);
        }
    }

    /// Leaves the dropping state, because an empty queue has no delay.
    #[inline]
    fn empty(&mut self) {
        self.first_above_time = None;
        self.dropping = false;
        self.turn = Turn::First;
    }
}

/// CoDel as the law of one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Codel {
    params: CodelParams,
    state: CodelState,
}

impl Codel {
    /// Returns the state, for probes.
    pub fn state(&self) -> &CodelState {
        &self.state
    }
}

impl Law for Codel {
    #[inline]
    fn head(&mut self, packet: &PacketMeta, view: &View<'_>, _rng: &mut Rng) -> Verdict {
        self.state.head(&self.params, packet, view)
    }
    #[inline]
    fn empty(&mut self, _now: Time) {
        self.state.empty();
    }
    #[inline]
    fn overflow(&mut self, _now: Time) {
        self.state.overflow(&self.params);
    }
    fn probe(&self, out: &mut Reading<'_>) {
        let s = &self.state;
        out.number("count", s.count);
        out.number("lastcount", s.lastcount);
        out.flag("dropping", s.dropping);
        out.moment("drop_next", Some(s.drop_next).filter(|_| s.count > 0));
        out.moment("first_above_time", s.first_above_time);
    }
}
