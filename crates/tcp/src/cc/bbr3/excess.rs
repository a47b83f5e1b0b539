//! BBR.extra_acked: the data acknowledged in excess of what bw delivers in the elapsed time.
//!
//! ```text
//! expected = bw * (now - start);  a new interval starts, with nothing acknowledged, once acknowledged <= expected
//! extra    = min(acknowledged since start - expected, cwnd)
//! extra_acked = max of extra:  in Startup over 1 round (draft) or 2 (Linux);  later over 10 (draft) or 5 to 10 (Linux)
//! ```
//!
//! Source: draft-ietf-ccwg-bbr-06 §5.5.9.

use super::params::Bbr3Form;
use units::Time;

/// BBR.ExtraAckedFilterLen: length of the filter in rounds.
const ROUNDS: usize = 10;

/// The current interval, and the largest excesses of the recent rounds. The excess is the number of bytes acknowledged
/// since the interval began, minus the number of bytes that a path of bandwidth bw delivers in the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Excess {
    interval_start: Time,
    delivered: f64,
    /// Maximum excess in each part of the filter, newest first.
    parts: [f64; ROUNDS],
    /// Number of rounds that have ended since the newest part of the filter began.
    rounds: u32,
}

impl Excess {
    pub(super) fn restart(&mut self, now: Time) {
        (self.interval_start, self.delivered) = (now, 0.0);
    }

    /// Returns BBR.extra_acked.
    pub(super) fn extra_acked(&self) -> f64 {
        self.parts.iter().fold(0.0, |most, e| most.max(*e))
    }

    /// Processes the start of a round. The filter consists of parts that cover one or more rounds each. `form` (draft
    /// or Linux) and `full_bw_reached` determine the number of parts, and the number of rounds in each.
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

    /// UpdateACKAggregation(): processes an ACK of `newly` bytes.
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
            // bw is 1 MB/s. After 2 ms without ACKs, 5000 bytes are acknowledged at once: a new interval starts, and all of them
            // are excess
            e.on_ack(Time(2_000_000), 5000.0, 1e6, 1e9);
            assert_eq!(e.extra_acked(), 5000.0);
            // 1 ms later, 1000 bytes more are acknowledged, as expected, so the excess stays the same
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
