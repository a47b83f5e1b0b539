//! BLUE: a drop probability that rises on overflow and falls when the link finds the queue empty.
//!
//! ```text
//! overflow     p <- min(1, p + increment)    link idle    p <- max(0, p - decrement)
//! p changes    at most once per freeze_time          arrival      dropped (or marked) with probability p
//! ```
//!
//! Source: Feng, Kandlur, Saha & Shin, "BLUE: A New Class of Active Queue Management Algorithms", 1999.
//! Departs: none known. The paper uses several sets of constants. The default steps are one of these sets, quoted from
//! memory and not verified. The ratio of 10 between the steps, and `freeze_time`, are those of NITK's ns-3 port of
//! Feng's ns-1.1 code, where the steps are 0.0025 and 0.00025. Linux's sch_sfb has steps of 1/1000 and 1/6000, and no
//! freeze time.

use super::{Law, LawParams, Verdict, View};
use crate::declared::params;
use packet::{Ecn, MarkReason, PacketMeta, Reading};
use units::{Duration, Limit, Prob, Problem, Rng, Time, ensure};

params! {
    /// Parameters of BLUE. It drops or marks each arrival with a probability that starts at 0. The probability rises
    /// when the queue overflows, and falls when the link finds the queue empty.
    pub struct BlueParams {
        /// Maximum length of the queue; an arrival that does not fit is dropped. Null: 1000p; in a fair discipline
        /// none, because its queues share one limit.
        limit: Option<Limit> = None,
        /// d1, the increase of the probability when the queue overflows.
        increment: Prob = Prob::constant(0.02),
        /// d2, the decrease of the probability when the link finds the queue empty. It may not exceed `increment`, and
        /// is usually much smaller.
        decrement: Prob = Prob::constant(0.002),
        /// Minimum time between two changes of the probability.
        freeze_time: Duration = Duration::from_millis(100),
        /// Marks ECN-capable packets instead of dropping them.
        ecn: bool = false,
    }
}

impl LawParams for BlueParams {
    type Law = Blue;
    fn validate(&self) -> Result<(), Problem> {
        let (up, down) = (self.increment, self.decrement);
        ensure!(down <= up, "decrement", "{down} is not valid; expected at most increment ({up})");
        Ok(())
    }
    fn law(&self) -> Blue {
        Blue { params: self.clone(), p: 0.0, last_update: None }
    }
    fn limit(&self) -> Option<Limit> {
        self.limit
    }
}

/// BLUE's state for one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Blue {
    params: BlueParams,
    p: f64,
    /// Time of the last step, even if `p` was already 0 or 1 and did not change.
    last_update: Option<Time>,
}

impl Blue {
    /// Adds `step` to the probability, unless the last step was less than `freeze_time` ago.
    fn update(&mut self, step: f64, now: Time) {
        if self.last_update.is_none_or(|t| now.since(t) >= self.params.freeze_time) {
            self.p = (self.p + step).clamp(0.0, 1.0);
            self.last_update = Some(now);
        }
    }
}

impl Law for Blue {
    #[inline]
    fn arrive(&mut self, packet: &PacketMeta, _view: &View<'_>, rng: &mut Rng) -> Verdict {
        match rng.chance(self.p) {
            true if self.params.ecn && packet.ecn() != Ecn::NotEct => Verdict::Mark(MarkReason::Law),
            true => Verdict::Drop,
            false => Verdict::Pass,
        }
    }
    fn overflow(&mut self, now: Time) {
        self.update(self.params.increment.get(), now);
    }
    fn empty(&mut self, now: Time) {
        self.update(-self.params.decrement.get(), now);
    }
    fn probe(&self, out: &mut Reading<'_>) {
        out.number("p", self.p);
        out.moment("last_update", self.last_update);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflow_raises_idle_lowers_and_freeze_time_spaces_them() {
        let mut blue = BlueParams::default().law();
        let at = |ms: u64| Time(ms * 1_000_000);
        // although the queue overflows every 10 ms, p rises by 0.02 only at 0, 100, 200 ... 900 ms, ten times
        (0..100).for_each(|i| blue.overflow(at(10 * i)));
        assert!((blue.p - 0.2).abs() < 1e-12, "{}", blue.p);
        // an idle link subtracts 0.002 at 1000 ms; at 1050 ms, p is still frozen
        blue.empty(at(1000));
        blue.empty(at(1050));
        assert!((blue.p - 0.198).abs() < 1e-12, "{}", blue.p);
        // p never leaves the range from 0 to 1
        (2..200).for_each(|i| blue.empty(at(1000 * i)));
        assert_eq!(blue.p, 0.0);
    }
}
