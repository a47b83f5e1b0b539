//! COBALT: CoDel whose count falls gradually, and BLUE for unresponsive flows.
//!
//! ```text
//! CoDel   sojourn > target   when this begins: drop_next <- now + interval / sqrt(count); the first time: drop_next <- now
//!                            when drop_next is due: drop (or mark), count + 1, drop_next + interval / sqrt(count)
//!         otherwise          while drop_next is due: count - 1, drop_next + interval / sqrt(count)
//!         empty queue        as in the previous line, but at most one step
//!         overflow           drop_next <- now, count at least 1
//! rest    count = 0: drop_next <- now + interval;  otherwise, if drop_next is past and nothing was dropped: drop_next <- now
//! BLUE    overflow: p + 1/256; empty queue: p - 1/4096; steps are more than `target` apart; every head is dropped with
//!         probability p, even if it is ECN-capable
//! ```
//!
//! The line `rest` is applied after every decision on a head. If drop_next is still past after a drop or mark, more drops
//! are overdue. After a drop, `rest` leaves drop_next unchanged, so the overdue drops hit the next packets. After a mark,
//! which does not count as a drop here, `rest` sets drop_next to now, and the schedule restarts there. When the delay
//! rises above target and count is 0, `rest` tests the old value of drop_next, which is past if there was no packet for
//! more than an interval. Then the first packet above target sets drop_next to now, and the second packet is dropped.
//!
//! CAKE stores 1/sqrt(count) and computes it only when count is incremented or decremented. Until the first such step of a
//! queue, the stored value is 0, so CAKE adds no time to drop_next: it drops the second packet above target. ns-3 starts
//! with 1 (`first_interval`).
//!
//! Source: CAKE (sch_cake, cobalt_should_drop, cobalt_queue_empty), ns-3 cobalt-queue-disc.
//! Departs: 1/sqrt is correctly rounded; CAKE computes it with 32 bits by Newton's method, and exactly for counts below 16. As in
//! ns-3, the delay is compared with `target` only; CAKE, and so the discipline `cake`, also requires the delay to exceed four
//! packet times (in ingress mode, also two per bulk flow). At 5 Mbit/s, two packets take 4.8 ms. With an RTT of 30 ms,
//! ten Reno flows then leave 4 % of the link unused, but only 1 % with a target of 10 ms. As in CAKE, the last packet of a queue
//! is never dropped at the head.

use super::codel::interval_over_root;
use super::{Law, LawParams, Verdict, View};
use crate::declared::params;
use packet::{Ecn, MarkReason, PacketMeta, Reading};
use units::{Duration, Limit, Prob, Problem, Rng, Time, positive};

params! {
    /// Parameters of COBALT, which combines CoDel with BLUE. BLUE drops packets at random, to limit flows that do not
    /// respond to CoDel. Its drop probability rises when the queue overflows, and falls when the queue is empty. The
    /// defaults are CAKE's, except those of `limit`, `holds_queue` and `ecn` (CAKE marks ECN-capable packets).
    pub struct CobaltParams {
        /// Maximum length of the queue; an arrival that does not fit is dropped. Null: 1000p; in a fair discipline
        /// none, because its queues share one limit.
        limit: Option<Limit> = None,
        /// Queueing delay that COBALT accepts.
        target: Duration = Duration::from_millis(5),
        /// The time between CoDel's drops is `interval` / sqrt(count). The number count grows by 1 with each drop, and
        /// falls step by step while the delay is at most `target`. Set `interval` to about the longest round-trip time
        /// that you expect.
        interval: Duration = Duration::from_millis(100),
        /// Marks ECN-capable packets instead of dropping them. This applies to CoDel only; BLUE always drops.
        ecn: bool = false,
        /// Applies when the delay first rises above `target`. If true, CoDel waits for `interval` before it drops
        /// (ns-3). If false, it drops the second packet whose delay is above `target` (CAKE).
        first_interval: bool = false,
        /// Increase of BLUE's drop probability when the queue overflows, by default 1/256. The probability changes at
        /// most once per `target`.
        p_inc: Prob = Prob::constant(1.0 / 256.0),
        /// Decrease of BLUE's drop probability when the queue is empty, by default 1/4096. The probability changes at
        /// most once per `target`.
        p_dec: Prob = Prob::constant(1.0 / 4096.0),
        /// Sojourn time above which BLUE's drop probability rises even if the queue does not overflow. ns-3 uses 400ms.
        /// Null: never, as in CAKE.
        blue_threshold: Option<Duration> = None,
        /// Sojourn time above which ECN-capable packets are marked, unless they are dropped; null: off.
        ce_threshold: Option<Duration> = None,
        /// Selects when an empty queue that receives a packet counts as new. Used only with the schedulers
        /// `drr_plus_plus` and `new_first`, which serve new queues before old ones. If false, the queue always counts
        /// as new. If true (CAKE), it counts as new only if CoDel's count and BLUE's drop probability have fallen to 0.
        /// Otherwise, it counts as old and, with `drr_plus_plus`, keeps its remaining credit.
        holds_queue: bool = false,
    }
}

impl LawParams for CobaltParams {
    type Law = Cobalt;
    fn validate(&self) -> Result<(), Problem> {
        positive("target", self.target)?;
        positive("interval", self.interval)
    }
    fn law(&self) -> Cobalt {
        Cobalt { cfg: CobaltParams { limit: None, ..self.clone() }, state: CobaltState::default() }
    }
    fn limit(&self) -> Option<Limit> {
        self.limit
    }
}

/// COBALT's state for one queue. Names are CAKE's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CobaltState {
    /// CoDel's count. It grows by 1 with each drop or mark, and falls step by step while the delay is not above target.
    pub count: u32,
    /// Time of the next drop or, while not dropping, of the next decrement of `count`. While `count` is 0, an interval
    /// after the last head; if `count` fell to 0 while the queue was empty, an interval after that decrement was due.
    pub drop_next: Time,
    /// True while the delay is above target, and after an overflow.
    pub dropping: bool,
    /// True if `count` has been incremented or decremented at least once. The change from 0 to 1, when the delay rises
    /// above target or the queue overflows, is not included, because CAKE does not compute 1/sqrt(count) there.
    stepped: bool,
    /// BLUE's probability.
    pub p_drop: f64,
    /// Time of BLUE's last step.
    pub blue_timer: Time,
}

/// The inputs of COBALT's decision on the head of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub now: Time,
    /// True if the delay is above the target.
    pub over_target: bool,
    /// True if the packet's delay is so high that BLUE must increase its probability even though the queue did not
    /// overflow.
    pub too_late: bool,
    /// True if this is the last packet in the queue, which is never dropped.
    pub last: bool,
}

impl CobaltState {
    /// Raises BLUE's probability by one step if the time since BLUE's last step is longer than `target`.
    fn blue_up(&mut self, cfg: &CobaltParams, now: Time) {
        if now.since(self.blue_timer) > cfg.target {
            self.p_drop = (self.p_drop + cfg.p_inc.get()).min(1.0);
            self.blue_timer = now;
        }
    }

    /// Sets count to `count`, which is one more or one less than before, and adds `interval / sqrt(count)` to
    /// `drop_next`.
    fn step(&mut self, count: u32, interval: Duration) {
        self.count = count;
        self.stepped = true;
        self.drop_next += interval_over_root(interval, count);
    }

    /// Runs CoDel's part of CAKE's `cobalt_should_drop`. The first result is true if the packet must be marked or
    /// dropped. The second result is for [`CobaltState::rest`], which compares it with `now`: the new `drop_next` if a
    /// drop or a decrement of count was due, and the previous `drop_next` if not.
    #[inline]
    fn codel(&mut self, cfg: &CobaltParams, over_target: bool, now: Time) -> (bool, Time) {
        let was = self.drop_next;
        let next_due = self.count > 0 && now >= was;
        if over_target {
            if !self.dropping {
                let waits = self.stepped || cfg.first_interval;
                let wait = if waits { interval_over_root(cfg.interval, self.count) } else { Duration::ZERO };
                self.drop_next = now + wait;
            }
            self.count = self.count.max(1);
        }
        self.dropping = over_target;
        if !next_due {
            return (false, was);
        }
        if over_target {
            self.step(self.count.saturating_add(1), cfg.interval);
        } else {
            // bound: each iteration decrements count, and each packet raises count by at most 1. So there is at most
            // one iteration per packet on average
            while self.count > 0 && now >= self.drop_next {
                self.step(self.count - 1, cfg.interval);
            }
        }
        (over_target, self.drop_next)
    }

    /// Adjusts `drop_next`, like the last lines of CAKE's `cobalt_should_drop`. Afterwards, `drop_next` is in the past
    /// only if COBALT decided to drop this packet and the next drop is already overdue.
    #[inline]
    fn rest(&mut self, cfg: &CobaltParams, due_at: Time, dropped: bool, now: Time) {
        if self.count == 0 {
            self.drop_next = now + cfg.interval;
        } else if now > due_at && !dropped {
            self.drop_next = now;
        }
    }

    /// Decides whether to pass, mark or drop the head, like CAKE's `cobalt_should_drop`.
    #[inline]
    pub(crate) fn head(&mut self, cfg: &CobaltParams, packet: &PacketMeta, head: Head, rng: &mut Rng) -> Verdict {
        let (due, due_at) = self.codel(cfg, head.over_target, head.now);
        if head.too_late {
            self.blue_up(cfg, head.now);
        }
        let mark = due && cfg.ecn && packet.ecn() != Ecn::NotEct;
        let drop = rng.chance(self.p_drop) || (due && !mark);
        self.rest(cfg, due_at, drop, head.now);
        match (drop && !head.last, mark) {
            (true, _) => Verdict::Drop,
            (false, true) => Verdict::Mark(MarkReason::Law),
            (false, false) => Verdict::Pass,
        }
    }

    /// Updates the state for an empty queue, like CAKE's `cobalt_queue_empty`.
    #[inline]
    pub(crate) fn queue_empty(&mut self, cfg: &CobaltParams, now: Time) {
        if self.p_drop > 0.0 && now.since(self.blue_timer) > cfg.target {
            self.p_drop = (self.p_drop - cfg.p_dec.get()).max(0.0);
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.step(self.count - 1, cfg.interval);
        }
    }

    /// Updates the state after an overflow, like CAKE's `cobalt_queue_full`.
    #[inline]
    pub(crate) fn queue_full(&mut self, cfg: &CobaltParams, now: Time) {
        self.blue_up(cfg, now);
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }
}

/// COBALT as the law of one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Cobalt {
    cfg: CobaltParams,
    state: CobaltState,
}

impl Cobalt {
    /// Returns the state, for probes.
    pub fn state(&self) -> &CobaltState {
        &self.state
    }
}

impl Law for Cobalt {
    #[inline]
    fn head(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
        let cfg = &self.cfg;
        let head = Head {
            now: view.now,
            over_target: view.sojourn > cfg.target,
            too_late: cfg.blue_threshold.is_some_and(|t| view.sojourn > t),
            last: view.backlog.packets == 0,
        };
        match (self.state.head(cfg, packet, head, rng), cfg.ce_threshold) {
            (Verdict::Pass, Some(t)) if packet.ecn() != Ecn::NotEct && view.sojourn > t => {
                Verdict::Mark(MarkReason::Step)
            }
            (verdict, _) => verdict,
        }
    }

    #[inline]
    fn empty(&mut self, now: Time) {
        self.state.queue_empty(&self.cfg, now);
    }

    /// Returns true if count and BLUE's probability are 0, or if the parameter `holds_queue` is false.
    ///
    /// Before the test, `count` is decremented once for each scheduled time (`drop_next`) that passed while the queue
    /// was empty.   Bound: each iteration decrements count.
    ///
    /// Source: J. Morton, cake list, 2016-12-24: a queue is released when its deficit is repaid and the AQM has decayed to rest.
    fn at_rest(&mut self, now: Time) -> bool {
        if !self.cfg.holds_queue {
            return true;
        }
        while self.state.count > 0 && now >= self.state.drop_next {
            self.state.step(self.state.count - 1, self.cfg.interval);
        }
        self.state.count == 0 && self.state.p_drop == 0.0
    }

    #[inline]
    fn overflow(&mut self, now: Time) {
        self.state.queue_full(&self.cfg, now);
    }

    fn probe(&self, out: &mut Reading<'_>) {
        let s = &self.state;
        out.number("count", s.count);
        out.flag("dropping", s.dropping);
        out.moment("drop_next", Some(s.drop_next).filter(|_| s.count > 0));
        out.number("p_drop", s.p_drop);
        out.moment("blue_timer", Some(s.blue_timer).filter(|t| *t > Time::ZERO));
    }
}
