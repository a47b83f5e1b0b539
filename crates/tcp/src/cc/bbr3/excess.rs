//! BBR.extra_acked: data acknowledged at once in excess of bw.
//!
//! ```text
//! expected = bw * (now - start);  an interval starts, with nothing acknowledged, when no more than expected was acknowledged
//! extra    = min(acknowledged since start - expected, cwnd)
//! extra_acked = max of extra:  in Startup over a round;  then over 10 rounds (draft), or the last 5 to 10 (Linux)
//! ```
//!
//! Source: draft-ietf-ccwg-bbr-04 §5.5.9.

use super::params::Bbr3Form;
use units::Time;

/// BBR.ExtraAckedFilterLen.
const ROUNDS: usize = 10;

/// The current interval, and the filter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Excess {
    interval_start: Time,
    delivered: f64,
    /// Largest excess of each part of the window, newest first.
    parts: [f64; ROUNDS],
    /// Rounds in the newest part.
    rounds: u32,
}

impl Excess {
    /// Starts an interval now.
    pub(super) fn restart(&mut self, now: Time) {
        (self.interval_start, self.delivered) = (now, 0.0);
    }

    /// BBR.extra_acked.
    pub(super) fn extra_acked(&self) -> f64 {
        self.parts.iter().fold(0.0, |most, e| most.max(*e))
    }

    /// Starts a round. The form sets the rounds of a part, and the parts of the window.
    pub(super) fn on_round(&mut self, form: Bbr3Form, full_bw_reached: bool) {
        let (rounds, parts) = match (form, full_bw_reached) {
            (Bbr3Form::Draft, false) => (1, 1),
            (Bbr3Form::Draft, true) => (1, ROUNDS),
            (Bbr3Form::Linux, false) => (1, 2),
            (Bbr3Form::Linux, true) => (5, 2),
        };
        self.rounds += 1;
        if self.rounds >= rounds {
            self.rounds = 0;
            self.parts.copy_within(..ROUNDS - 1, 1);
            self.parts[0] = 0.0;
            self.parts[parts..].fill(0.0);
        }
    }

    /// UpdateACKAggregation(): `newly` bytes are acknowledged.
    pub(super) fn on_ack(&mut self, now: Time, newly: f64, bw: f64, cwnd: f64) {
        let mut expected = bw * now.since(self.interval_start).secs();
        if self.delivered <= expected {
            self.restart(now);
            expected = 0.0;
        }
        self.delivered += newly;
        self.parts[0] = self.parts[0].max((self.delivered - expected).clamp(0.0, cwnd));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_remembered_for_its_rounds() {
        for (form, reached, rounds) in
            [(Bbr3Form::Draft, true, 10), (Bbr3Form::Draft, false, 1), (Bbr3Form::Linux, true, 10)]
        {
            let mut e = Excess::default();
            e.restart(Time(0));
            // a megabyte per second; 5000 bytes at once after 2 ms without any: a new interval starts, and all of them are excess
            e.on_ack(Time(2_000_000), 5000.0, 1e6, 1e9);
            assert_eq!(e.extra_acked(), 5000.0);
            // 1000 bytes more after a millisecond add no excess
            e.on_ack(Time(3_000_000), 1000.0, 1e6, 1e9);
            assert_eq!(e.extra_acked(), 5000.0);
            let mut kept = 0;
            while e.extra_acked() > 0.0 {
                e.on_round(form, reached);
                kept += 1;
            }
            assert_eq!(kept, rounds, "{form:?} {reached}");
        }
    }

    #[test]
    fn never_more_than_the_window() {
        let mut e = Excess::default();
        e.on_ack(Time(2_000_000), 5000.0, 1e6, 3000.0);
        assert_eq!(e.extra_acked(), 3000.0);
    }
}
