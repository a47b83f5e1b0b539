//! SEARCH: ends the first slow start once the bytes delivered in a window of time no longer double from one round trip to the
//! next.
//!
//! ```text
//! window = 3.5 INITIAL_RTT = W bins,  W = 10;  INITIAL_RTT = first round trip of the connection
//! each ACK:            cwnd += N, the segments newly acknowledged
//! at the end of a bin: curr_delv = bytes delivered in the last W bins
//!                      prev_delv = bytes delivered in W bins that ended one round trip (the newest sample) earlier;
//!                                  if a round trip is not a whole number of bins, only a part of each outer bin counts
//!                      norm_diff = (2 prev_delv - curr_delv) / (2 prev_delv)
//!                      norm_diff >= 0.35 --> cwnd -= bytes delivered in the last floor(2 INITIAL_RTT / bin) bins;  ssthresh = cwnd
//! ```
//!
//! While each round trip delivers twice as much as the one before, norm_diff is 0. Long after the link is full, norm_diff is 1/2.
//! With a constant round trip, norm_diff reaches 0.35 about 2.2 round trips after the link is full. If a queue grows, the
//! round-trip samples exceed INITIAL_RTT by about half of the time since the link became full. Then prev_delv covers an
//! earlier time, and norm_diff reaches 0.35 only about 5.3 INITIAL_RTT after the link is full. If a drop-tail buffer holds
//! less than about 2.2 bandwidth-delay products, a loss is detected earlier and ends slow start. When norm_diff ends
//! slow start, cwnd returns to the value that it had about two INITIAL_RTT earlier. No test runs before there are
//! enough bins, or if the round trip is 16 bins (5.6 INITIAL_RTT) or longer.
//!
//! Source: draft-chung-ccwg-search, SEARCH 3.0 (June 2024), §3. Later versions of the draft compare curr_delv with bytes sent,
//! instead of bytes delivered, and replace the single reduction with a phase that drains the queue. Later versions are not
//! modelled.
//! Departs: the draft's listing clears the newest complete bin whenever a bin ends, so only one bin would hold data. Here, as in
//! the draft's text, only bins that ended without an ACK are cleared. One more bin is stored, because otherwise the oldest bin
//! would be overwritten if the round trip is 15 bins long. As with HyStart++, only the first slow start is observed.
//! The draft does not say whether the reduction may go below the initial window. Here it does not.

use super::control::{AckSample, Stack, Window};
use packet::{Reading, Unit};
use units::{Duration, Time};

/// Length of the time window in which deliveries are counted, as a percentage of INITIAL_RTT.
const WINDOW_PERCENT: u64 = 350;
/// W: number of bins in a window.
const W: usize = 10;
/// EXTRA_BINS: the test does not run if the round trip contains more than this number of whole bins.
const EXTRA_BINS: usize = 15;
/// Number of bins stored: EXTRA_BINS for the longest round trip, the W bins of prev_delv before it, and one more,
/// because the window of prev_delv may begin and end in the middle of a bin.
const NUM_BINS: usize = W + EXTRA_BINS + 1;
/// THRESH: slow start ends when norm_diff reaches this value.
const THRESH: f64 = 0.35;

/// SEARCH's state for one flow.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Search {
    mss: f64,
    /// The initial window in segments. The reduction at the end of slow start does not go below it.
    initial_window: f64,
    /// INITIAL_RTT: the first RTT sample, or zero if there is no sample so far.
    initial_rtt: Duration,
    /// Newest RTT sample.
    rtt: Duration,
    /// End of the current bin; `NEVER` before the first sample.
    bin_end: Time,
    /// Bytes delivered in each bin; the bin with number `n` is at `n % NUM_BINS`.
    bins: [u64; NUM_BINS],
    /// Number of complete bins; the newest is number `complete - 1`.
    complete: usize,
    /// SND.UNA at the end of the newest complete bin.
    prev_una: u64,
    /// Result of the newest test.
    norm_diff: Option<f64>,
}

impl Search {
    pub(super) fn new(stack: &Stack<'_>) -> Self {
        Self {
            mss: f64::from(stack.mss),
            initial_window: stack.initial_window,
            initial_rtt: Duration::default(),
            rtt: Duration::default(),
            bin_end: Time::NEVER,
            bins: [0; NUM_BINS],
            complete: 0,
            prev_una: 0,
            norm_diff: None,
        }
    }

    /// Returns BIN_DURATION.
    fn bin(&self) -> Duration {
        Duration((self.initial_rtt.0 * WINDOW_PERCENT / 100 / W as u64).max(1))
    }

    /// Takes the first RTT sample, `us` microseconds, and begins the first bin. Later calls have no effect.
    pub(super) fn begin(&mut self, now: Time, us: u32) {
        if self.bin_end == Time::NEVER {
            self.initial_rtt = Duration::from_micros(u64::from(us));
            self.rtt = self.initial_rtt;
            self.bin_end = now + self.bin();
        }
    }

    /// Processes an ACK of the first slow start. `credit` is the number of acknowledged segments that count towards
    /// growth.
    pub(super) fn on_ack(&mut self, w: &mut Window, s: &AckSample, credit: f64) {
        if let Some(us) = s.rtt_us {
            self.begin(s.now, us);
            self.rtt = Duration::from_micros(u64::from(us));
        }
        if self.prev_una == 0 {
            self.prev_una = s.una.saturating_sub(s.delivered);
        }
        if s.cwnd_limited {
            w.cwnd += credit;
        }
        if self.bin_end != Time::NEVER && s.now > self.bin_end {
            self.update_bins(s);
            self.test(w);
        }
    }

    /// Ends the current bin, and the later bins that passed without an ACK.
    fn update_bins(&mut self, s: &AckSample) {
        let bin = self.bin();
        let passed = s.now.since(self.bin_end).0 / bin.0 + 1;
        self.bin_end += Duration(bin.0 * passed);
        // each bin is cleared at most once, even if the pause was longer than all stored bins together
        let first = self.complete;
        self.complete += passed as usize;
        for n in first.max(self.complete.saturating_sub(NUM_BINS))..self.complete {
            self.bins[n % NUM_BINS] = 0;
        }
        self.bins[(self.complete - 1) % NUM_BINS] = s.una - self.prev_una;
        self.prev_una = s.una;
    }

    /// Returns the bytes delivered in the bins from `from` to `to`. A share `fraction` of the bin `from` counts, and a
    /// share `1 - fraction` of the bin `to`. The bins between them count in full.
    fn sum_bins(&self, from: usize, to: usize, fraction: f64) -> f64 {
        let bin = |n: usize| self.bins[n % NUM_BINS] as f64;
        let inner: f64 = (from + 1..to).map(bin).sum();
        inner + bin(from) * fraction + bin(to) * (1.0 - fraction)
    }

    fn test(&mut self, w: &mut Window) {
        let (curr, bin) = (self.complete - 1, self.bin().0);
        let back = (self.rtt.0 / bin) as usize;
        if back > EXTRA_BINS || curr < back + W {
            return;
        }
        let (prev, fraction) = (curr - back, (self.rtt.0 % bin) as f64 / bin as f64);
        let curr_delv = self.sum_bins(curr - W, curr, 0.0);
        let expected = 2.0 * self.sum_bins(prev - W, prev, fraction);
        if expected == 0.0 {
            return;
        }
        let norm_diff = (expected - curr_delv) / expected;
        self.norm_diff = Some(norm_diff);
        if norm_diff >= THRESH {
            let overshoot = self.sum_bins(curr - (2 * self.initial_rtt.0 / bin) as usize, curr, 0.0) / self.mss;
            w.cwnd = (w.cwnd - overshoot).max(self.initial_window);
            w.ssthresh = w.cwnd;
        }
    }

    pub(super) fn probe(&self, out: &mut Reading<'_>) {
        out.duration("initial_rtt", Some(self.initial_rtt).filter(|rtt| !rtt.is_zero()));
        out.value("norm_diff", Unit::One, self.norm_diff);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{TcpParams, stack};

    const RTT: f64 = 0.1;
    const MSS: f64 = 1000.0;

    /// Returns the bytes delivered by `t` seconds. The rate doubles in each RTT until it reaches the link's rate, `full`, at
    /// `until`. After that it stays constant.
    fn delivered(t: f64, until: f64, full: f64) -> f64 {
        let grown = |t: f64| full * RTT / std::f64::consts::LN_2 * (((t - until) / RTT).exp2() - (-until / RTT).exp2());
        grown(t.min(until)) + full * (t - until).max(0.0)
    }

    /// Passes an ACK to SEARCH every millisecond until slow start ends; the ACKs acknowledge the bytes of
    /// [`delivered`]. Returns the time at which slow start ends, and the window before and after the reduction. Returns
    /// `None` if slow start has not ended by `last` seconds.
    fn run(s: &mut Search, until: f64, full: f64, last: f64) -> Option<(f64, f64, f64)> {
        run_with(s, until, full, last, |_| RTT)
    }

    /// Like [`run`], but the round-trip time varies: `rtt` returns the value for a given time.
    fn run_with(s: &mut Search, until: f64, full: f64, last: f64, rtt: impl Fn(f64) -> f64) -> Option<(f64, f64, f64)> {
        let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        s.begin(Time(0), (RTT * 1e6) as u32);
        let mut una = 1;
        for ms in 1u32.. {
            let t = f64::from(ms) / 1000.0;
            if t > last {
                return None;
            }
            let next = 1 + delivered(t, until, full) as u64;
            let (now, rtt_us) = (Time(u64::from(ms) * 1_000_000), Some((rtt(t) * 1e6) as u32));
            let ack =
                AckSample { now, una: next, rtt_us, delivered: next - una, cwnd_limited: true, ..AckSample::default() };
            let before = w.cwnd + (next - una) as f64 / MSS;
            s.on_ack(&mut w, &ack, (next - una) as f64 / MSS);
            una = next;
            if !w.slow_start() {
                return Some((t, before, w.cwnd));
            }
        }
        unreachable!()
    }

    fn search() -> Search {
        let p = TcpParams::preset("linux-6").unwrap().with(|p| p.wire.mss = MSS as u32);
        Search::new(&stack(&p))
    }

    #[test]
    fn slow_start_ends_when_the_closed_form_reaches_the_threshold() {
        // x is the time since the link became full, 1 <= x <= 3.5. In units of the RTT and of the link's rate:
        //   curr_delv = (1 - 2^-(3.5 - x)) / ln 2 + x,   prev_delv = (1 - 2^-(4.5 - x)) / ln 2 + x - 1
        // norm_diff = 1 - curr_delv / (2 prev_delv) reaches 0.35 at x = 2.205. The test runs at the first ACK after the
        // end of a bin. A bin lasts 0.35 RTT and ACKs are 0.01 RTT apart, so slow start ends at most 0.36 RTT later
        let norm_diff = |x: f64| {
            let curr = (1.0 - (x - 3.5).exp2()) / std::f64::consts::LN_2 + x;
            let prev = (1.0 - (x - 4.5).exp2()) / std::f64::consts::LN_2 + x - 1.0;
            1.0 - curr / (2.0 * prev)
        };
        assert!(norm_diff(2.2) < THRESH && norm_diff(2.21) > THRESH);
        for until in [0.95, 1.0, 1.013, 1.2] {
            let (t, before, after) = run(&mut search(), until, 1e7, 3.0).unwrap();
            let x = (t - until) / RTT;
            assert!((2.2..2.21 + 0.36).contains(&x), "{until}: {x}");
            // at 1 MB per RTT, five bins of 0.35 RTT hold 1.75 MB, or 1750 segments
            assert!((before - after - 1750.0).abs() < 15.0, "{until}: {before} to {after}");
        }
    }

    #[test]
    fn a_queue_that_grows_delays_the_end_by_three_round_trips() {
        // once the link is full, a sender that doubles its rate per round trip soon sends at twice the link's rate. If it
        // does so at once, the queue grows by one bandwidth-delay product per RTT. A packet that leaves the queue at x
        // RTTs entered it at x / 2. Its RTT sample is therefore 1 + x / 2 RTTs, and the earlier window ends at
        //   y = x - (1 + x / 2) = x / 2 - 1
        // For x >= 3.5, curr_delv is 3.5, so norm_diff reaches the threshold at x = 5.30:
        //   1 - 3.5 / (2 ((1 - 2^-(3.5 - y)) / ln 2 + y)) = 0.35
        let norm_diff = |x: f64| {
            let y = x / 2.0 - 1.0;
            1.0 - 3.5 / (2.0 * ((1.0 - (y - 3.5).exp2()) / std::f64::consts::LN_2 + y))
        };
        assert!(norm_diff(5.29) < THRESH && norm_diff(5.31) > THRESH);
        for until in [0.95, 1.0, 1.013, 1.2] {
            let rtt = |t: f64| RTT + (t - until).max(0.0) / 2.0;
            let (t, before, after) = run_with(&mut search(), until, 1e7, 3.0, rtt).unwrap();
            let x = (t - until) / RTT;
            assert!((5.29..5.31 + 0.36).contains(&x), "{until}: {x}");
            // the bins have the same length as without a queue, so the reduction is also the same
            assert!((before - after - 1750.0).abs() < 15.0, "{until}: {before} to {after}");
        }
    }

    #[test]
    fn deliveries_that_double_do_not_end_slow_start() {
        let mut s = search();
        assert_eq!(run(&mut s, 9.0, 1e30, 1.5), None);
        // if the rate doubles in each of 15 round trips, norm_diff stays near 0. It is not exactly 0, because SEARCH
        // assumes that the rate is constant within a bin
        assert!(s.norm_diff.unwrap().abs() < 0.01, "{:?}", s.norm_diff);
    }

    #[test]
    fn a_link_that_is_always_full_ends_slow_start_at_the_first_test() {
        // at a constant rate, norm_diff is 1/2. The first test needs a window of W = 10 bins, and then one more round
        // trip. A bin lasts 0.35 round trips, so a round trip is 1 / 0.35 = 2.86 bins. As 10 + 2.86 = 12.86, the test
        // runs after the 13th bin, when the next ACK arrives, at most 1 ms later
        let (t, before, after) = run(&mut search(), 0.0, 1e6, 3.0).unwrap();
        assert!((t - 13.0 * 0.035).abs() < 0.0021, "{t}");
        // the window is reduced by the 175 segments that were delivered in the last five bins
        assert!((before - after - 175.0).abs() < 2.0, "{before} to {after}");
    }

    #[test]
    fn the_window_stays_above_the_initial_one() {
        let mut s = search();
        let (_, _, after) = run(&mut s, 0.0, 1e4, 3.0).unwrap();
        // at 10 segments/s, 4.55 segments are delivered before SEARCH tests the rate, and the reduction is 1.75 segments, so the
        // window is 10 + 4.55 - 1.75 = 12.8 segments
        assert!((after - 12.8).abs() < 0.05, "{after}");
        // A reduction of a window that has not grown would make the window smaller than the initial window, so there is no
        // reduction.
        let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        s.test(&mut w);
        assert_eq!((w.cwnd, w.ssthresh), (10.0, 10.0));
    }

    #[test]
    fn a_round_trip_of_more_than_fifteen_bins_has_no_test() {
        let mut s = search();
        assert!(run(&mut s, 0.0, 1e6, 3.0).is_some());
        for (rtt, tests) in [(15 * 35 + 34, true), (16 * 35, false)] {
            let mut s = s.clone();
            (s.bins, s.complete) = ([1; NUM_BINS], 40);
            (s.norm_diff, s.rtt) = (None, Duration::from_millis(rtt));
            s.test(&mut Window { cwnd: 1000.0, ssthresh: f64::INFINITY });
            assert_eq!(s.norm_diff.is_some(), tests, "{rtt}");
        }
    }

    #[test]
    fn bins_without_an_ack_are_empty() {
        let mut s = search();
        s.begin(Time(0), 100_000);
        let ack = |ms: u64, una: u64| AckSample { now: Time(ms * 1_000_000), una, ..AckSample::default() };
        s.prev_una = 1;
        for (ms, una) in [(36, 101), (71, 301), (36 + 35 * 5, 1001)] {
            s.update_bins(&ack(ms, una));
        }
        // bins end at 35, 70, ... ms. At 211 ms, bins 2 to 4 have ended without an ACK, and bin 5 holds all bytes since bin 1
        assert_eq!((s.complete, &s.bins[..7]), (6, &[100, 200, 0, 0, 0, 700, 0][..]));
        // after a long pause, all bins but the newest are empty
        s.update_bins(&ack(10_000_000, 1201));
        assert_eq!(s.bins.iter().sum::<u64>(), 200);
    }
}
