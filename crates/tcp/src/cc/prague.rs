//! TCP Prague: DCTCP for the Internet. Paced, as fast at any short round trip, and Reno where its marks are not counted.
//!
//! ```text
//! virtual round trip     v = max(srtt, 25 ms)
//! every v and round:     alpha <- 15/16 alpha + 1/16 M,  M = share of segments marked;  alpha 0 at first, and until the first mark
//! the first mark:        W <- W / 2
//! the first mark in v:   W <- W (1 - alpha / 2);  or the first after all that was sent by the last cut (`prague_cut`)
//! each unmarked segment: W <- W + F / W,  F = (srtt / 25 ms)^2 below 25 ms, else 1;
//!                        F = 1 in the first four rounds after slow start (`prague_rtt`);  none while the application has no more to send
//! cwnd                   one segment per ACK towards ceil(W), at least 2           loss: W <- W / 2, no growth while it is repaired
//! pacing                 W mss / srtt, twice that below ssthresh / 2, at least 100 kbit/s;  bursts of 1/4096 s
//!                        cwnd <= 4: W at least 100 kbit/s x srtt, too
//! segments               half of what leaves in v, from 150 bytes to the MSS: below 1 Mbit/s they shrink, and two leave in v
//! ```
//!
//! At marks of share p its rate below 25 ms is that of 2 (1 - p) / p segments in 25 ms, whatever the round trip. Growth goes on in
//! rounds with marks, unlike Linux' DCTCP.
//!
//! Without AccECN it does not send ECT, and is Reno.
//!
//! Source: the authors' description of version 0.7 (L4STeam, tcp_prague.c); RFC 9331 §4;
//! draft-briscoe-iccrg-prague-congestion-control-04.
//! Departs: the window stays at two full segments where segments shrink, as pacing is what holds it down there; after a loss the
//! sender's `reduction` takes the window down; no detection of queues that mark ECT(1) as RFC 3168 has it. A cut may come as soon as
//! alpha is new, as the rate's law has it (`rate` below); Linux counts from the last cut, and then waits for a mark, so that its
//! windows are up to a fifth larger: `prague_cut = "marks"`.

use super::control::{AckSample, Congestion, Control, Drive, Needs, Window};
use super::reno::Reno;
use crate::params::{PragueCut, PragueRtt, TcpParams};
use crate::stats::State;
use packet::Reading;
use units::{Duration, Time};

/// g.
const GAIN: f64 = 1.0 / 16.0;
/// What a shorter round trip counts as.
const TARGET_RTT: Duration = Duration::from_millis(25);
/// Rounds after slow start before it does: version 0.7, 0.6.
const TRANSITION: u32 = 4;
const LATE_TRANSITION: u32 = 500;
/// Smallest window, segments.
const LEAST: f64 = 2.0;
/// Least payload of a segment that shrinks, bytes, and how many leave in a virtual round trip.
const LEAST_SEGMENT: f64 = 150.0;
const SEGMENTS: f64 = 2.0;
/// Smallest pacing rate: 100 kbit/s. Unit: bytes/s.
const LEAST_RATE: f64 = 12_500.0;
/// Bursts in a second: 250 us each.
const BURSTS: f64 = 4096.0;
/// Windows up to this many segments are kept by pacing, which goes this much up and down within a virtual round trip.
const RATE_MODE: f64 = 4.0;
const DITHER: f64 = 4.0 / 128.0;

/// State of one flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Prague {
    mss: f64,
    /// Rounds after slow start before short round trips count as 25 ms.
    transition: u32,
    /// W: the window with its fraction, segments.
    w: f64,
    alpha: f64,
    /// A mark has been seen.
    saw_ce: bool,
    /// Of this round, which lasts 25 ms at least: segments delivered, and marked.
    segments: u64,
    marked: u64,
    /// What was in flight when it began ends here.
    round_until: u64,
    /// Rounds outside slow start.
    rounds: u32,
    alpha_at: Time,
    /// This round has had its cut.
    cut: bool,
    /// Of `PragueCut::Marks`: what had been sent by the last cut ends here, and when that was.
    cut_sent: u64,
    cut_at: Time,
    by_marks: bool,
    /// The window before the loss under repair.
    before_loss: Option<f64>,
    /// AccECN is in use.
    counted: bool,
    pacing_rate: Option<f64>,
    /// Payload of a segment, bytes.
    segment: f64,
}

impl Prague {
    /// Short round trips count as 25 ms.
    fn rtt_independent(&self, w: &Window) -> bool {
        !w.slow_start() && self.rounds >= self.transition
    }

    /// A mark.
    fn reduce(&mut self, w: &mut Window, s: &AckSample) {
        if self.may_cut(w, s) {
            self.w *= 1.0 - self.alpha / 2.0;
        }
        if !self.saw_ce {
            self.saw_ce = true;
            self.w *= 0.5;
            w.ssthresh = w.ssthresh.min(w.cwnd);
        }
    }

    /// The window may come down again, and is taken to do so. Linux counts a mark that comes sooner than 25 ms after the last cut,
    /// too: what follows waits for all that had been sent by then.
    fn may_cut(&mut self, w: &Window, s: &AckSample) -> bool {
        if !self.by_marks {
            return !std::mem::replace(&mut self.cut, true);
        }
        if s.una <= self.cut_sent {
            return false;
        }
        self.cut_sent = s.next;
        let due = !self.rtt_independent(w) || s.now.since(self.cut_at) >= TARGET_RTT;
        if due {
            self.cut_at = s.now;
        }
        due
    }

    /// So many segments came without a mark.
    fn grow(&mut self, w: &mut Window, unmarked: f64, srtt: Duration) {
        let mut left = unmarked;
        if w.slow_start() {
            left = w.grow_in_slow_start(left);
            self.w = w.cwnd;
        }
        if left > 0.0 {
            let share = if self.rounds < self.transition { 1.0 } else { (srtt.secs() / TARGET_RTT.secs()).min(1.0) };
            self.w += left * share * share / self.w;
        }
    }

    fn update_alpha(&mut self, w: &Window, s: &AckSample) {
        let young = self.rtt_independent(w) && s.now.since(self.alpha_at) < TARGET_RTT;
        if s.una < self.round_until || young {
            return;
        }
        if self.saw_ce {
            let share = (self.marked as f64 / self.segments.max(1) as f64).min(1.0);
            self.alpha = (1.0 - GAIN) * self.alpha + GAIN * share;
            self.alpha_at = s.now;
            if self.rtt_independent(w) && matches!(s.state, State::Open | State::Cwr) {
                self.size(s.srtt);
            }
        }
        (self.segments, self.marked, self.round_until, self.cut) = (0, 0, s.next, false);
        self.rounds = (self.rounds + u32::from(!w.slow_start())).min(LATE_TRANSITION);
    }

    /// Segments of which two leave in a virtual round trip.
    fn size(&mut self, srtt: Duration) {
        let virtually = srtt.max(TARGET_RTT).secs() / srtt.secs().max(1e-6);
        self.segment = (self.w * virtually * self.mss / SEGMENTS).ceil().max(LEAST_SEGMENT).min(self.mss);
    }

    fn pace(&mut self, w: &Window, in_flight: f64, now: Time, srtt: Duration) {
        if srtt.is_zero() {
            return;
        }
        // the least rate sets a small window only: a larger one comes down by marks, however long they make the round trip
        if w.cwnd <= RATE_MODE {
            self.w = self.w.max(LEAST_RATE * srtt.secs() / self.mss);
        }
        let small = self.saw_ce && self.rtt_independent(w) && w.cwnd <= RATE_MODE;
        let mut rate = if small {
            let half = srtt.max(TARGET_RTT) / 2;
            let dither = if now.since(self.alpha_at) < half { 1.0 + DITHER } else { 1.0 - DITHER };
            self.w * dither
        } else {
            self.w.floor().max(in_flight / self.mss)
        } * self.mss
            / srtt.secs();
        if w.cwnd < w.ssthresh / 2.0 {
            rate *= 2.0;
        }
        self.pacing_rate = Some(rate.max(LEAST_RATE));
    }

    fn drive(&self, w: Window) -> Drive {
        let quantum = self.pacing_rate.map_or(u32::MAX, |rate| (rate / self.mss / BURSTS).max(1.0) as u32);
        let segment = if self.segment < self.mss { self.segment as u16 } else { 0 };
        Drive { pacing_rate: self.pacing_rate, quantum, segment, ..w.into() }
    }
}

impl Control for Prague {
    const NEEDS: Needs =
        Needs { rates: true, every_ack: true, answers_marks: true, ecn: true, accecn: true, ..Needs::NONE };

    fn new(p: &TcpParams) -> Self {
        Self {
            mss: f64::from(p.wire.mss),
            transition: match p.control.prague_rtt {
                PragueRtt::Scaled => TRANSITION,
                PragueRtt::ScaledLate => LATE_TRANSITION,
                PragueRtt::Own => u32::MAX,
            },
            w: p.initial_window_segments(),
            alpha: 0.0,
            saw_ce: false,
            segments: 0,
            marked: 0,
            round_until: 0,
            rounds: 0,
            alpha_at: Time::ZERO,
            cut: false,
            cut_sent: 0,
            cut_at: Time::ZERO,
            by_marks: p.control.prague_cut == PragueCut::Marks,
            before_loss: None,
            counted: true,
            pacing_rate: None,
            segment: f64::from(p.wire.mss),
        }
    }

    fn on_handshake(&mut self, w: Window, now: Time, us: u32) -> Drive {
        self.alpha_at = now;
        self.pace(&w, 0.0, now, Duration::from_micros(u64::from(us)));
        self.drive(w)
    }

    fn hear(&mut self, _: &TcpParams, s: &AckSample) {
        self.counted = s.ecn;
        self.segments += u64::from(s.segments);
        self.marked += u64::from(s.ce_packets);
    }

    fn on_ack(&mut self, p: &TcpParams, mut w: Window, s: &AckSample) -> Drive {
        if !self.counted {
            self.pacing_rate = None;
            return Reno.on_ack(p, w, s);
        }
        if let Some(before) = self.before_loss.take()
            && w.cwnd >= before
        {
            // it was none: the sender has put the window back
            self.w = w.cwnd;
        }
        let marked = f64::from(s.ce_packets) * (self.segment / self.mss);
        if marked > 0.0 {
            self.reduce(&mut w, s);
        }
        // paced at W in a round trip, it seldom fills its window: what keeps it from growing is an application without data
        let app_limited = s.rate.is_some_and(|r| r.app_limited);
        if !app_limited && s.credit > marked {
            self.grow(&mut w, s.credit - marked, s.srtt);
        }
        let target = self.w.ceil().max(LEAST);
        if w.cwnd > target {
            w.cwnd = (w.cwnd - 1.0).max(target);
            w.ssthresh = w.cwnd;
        } else if w.cwnd < target && !w.slow_start() {
            w.cwnd = (w.cwnd + 1.0).min(target);
        }
        self.update_alpha(&w, s);
        self.pace(&w, s.in_flight as f64, s.now, s.srtt);
        self.drive(w)
    }

    fn on_congestion(&mut self, p: &TcpParams, w: Window, kind: Congestion, base: f64) -> Drive {
        if !self.counted {
            return Reno.on_congestion(p, w, kind, base);
        }
        self.before_loss = Some(w.cwnd);
        self.w *= 0.5;
        self.drive(Window { ssthresh: self.w.ceil().max(LEAST), ..w })
    }

    fn probe(&self, out: &mut Reading<'_>) {
        out.number("alpha", self.alpha);
        out.segments("frac_cwnd", self.w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::control::RateSample;
    use units::Rng;

    const MS: u64 = 1_000_000;

    fn prague() -> (TcpParams, Prague) {
        let p = TcpParams::preset("prague").unwrap().with(|p| p.wire.mss = 1500);
        let c = Prague::new(&p);
        (p, c)
    }

    /// One flow at a constant round trip, an ACK for each segment.
    struct Flow {
        p: TcpParams,
        c: Prague,
        w: Window,
        una: u64,
        now: f64,
        rtt: f64,
    }

    impl Flow {
        /// Out of slow start, at a window of `cwnd`.
        fn new(cwnd: f64, rtt: f64) -> Self {
            let (p, mut c) = prague();
            (c.w, c.rounds, c.round_until) = (cwnd, TRANSITION, 1500 * cwnd as u64);
            Self { p, c, w: Window { cwnd, ssthresh: 2.0 }, una: 1, now: 1.0, rtt }
        }

        fn ack(&mut self, marked: bool) {
            self.una += 1500;
            self.now += self.rtt / self.c.w;
            let s = AckSample {
                now: Time((self.now * 1e9) as u64),
                una: self.una,
                next: self.una + 1500 * self.w.cwnd as u64,
                in_flight: 1500 * self.w.cwnd as u64,
                srtt: Duration::from_secs_f64(self.rtt),
                credit: 1.0,
                segments: 1,
                ce_packets: u32::from(marked),
                marked,
                ecn: true,
                cwnd_limited: true,
                ..AckSample::default()
            };
            self.c.hear(&self.p, &s);
            let d = self.c.on_ack(&self.p, self.w, &s);
            self.w.follow(&d);
        }

        /// Segments in 25 ms, on average over `secs` after a warm-up.
        fn rate(mut self, secs: f64, mut marks: impl FnMut() -> bool) -> f64 {
            while self.now < 21.0 {
                self.ack(marks());
            }
            let from = (self.now, self.una);
            while self.now < from.0 + secs {
                self.ack(marks());
            }
            (self.una - from.1) as f64 / 1500.0 / (self.now - from.0) * 0.025
        }
    }

    fn even(p: f64) -> impl FnMut() -> bool {
        let mut sum = 0.0;
        move || {
            sum += p;
            let hit = sum >= 1.0;
            sum -= if hit { 1.0 } else { 0.0 };
            hit
        }
    }

    #[test]
    fn below_25_ms_the_rate_is_that_of_25_ms() {
        for p in [0.1, 0.02] {
            // growth 1 - p per 25 ms against p / 2 of W: W = 2 (1 - p) / p segments in 25 ms, 18 and 98
            let want = 2.0 * (1.0 - p) / p;
            for rtt in [0.005, 0.0125, 0.025] {
                let got = Flow::new(20.0, rtt).rate(60.0, even(p));
                assert!((got / want - 1.0).abs() < 0.1, "p {p}, rtt {rtt}: {got} for {want}");
            }
            // at 100 ms the same window in 100 ms: a quarter of the rate
            let got = Flow::new(20.0, 0.1).rate(120.0, even(p));
            assert!((4.0 * got / want - 1.0).abs() < 0.1, "p {p}: {got}");
            // random marks leave some virtual round trips without: x (1 - (1 - p)^(x/p)) = 2 (1 - p) at x = 2.05 and 2.21
            let mut rng = Rng::named(3, "marks");
            let got = Flow::new(20.0, 0.025).rate(300.0, || rng.chance(p));
            let x = if p == 0.1 { 2.05 } else { 2.21 };
            assert!((got * p / x - 1.0).abs() < 0.1, "p {p}: {got}");
        }
    }

    #[test]
    fn with_round_trips_of_its_own_a_shorter_one_is_faster() {
        // 2 (1 - p) / p segments in each round trip of 12.5 ms: twice as many in 25 ms
        let mut f = Flow::new(20.0, 0.0125);
        (f.c.transition, f.c.rounds) = (u32::MAX, LATE_TRANSITION);
        let got = f.rate(60.0, even(0.02));
        assert!((got / 196.0 - 1.0).abs() < 0.1, "{got}");
        // late is 500 rounds
        let p = TcpParams::preset("prague").unwrap().with(|p| p.control.prague_rtt = PragueRtt::ScaledLate);
        assert_eq!(Prague::new(&p).transition, 500);
    }

    #[test]
    fn cuts_that_wait_for_a_mark_leave_windows_a_fifth_larger() {
        // a cut of p / 2 each R (1 + 1 / (p W)), in which (1 - p) (1 + 1 / (p W)) come: x = p W is 1 - p + sqrt((1 - p)^2 + 2 (1 - p))
        for (p, x) in [(0.02, 2.69), (0.005, 2.72)] {
            let mut f = Flow::new(2.7 / p, 0.05);
            (f.c.transition, f.c.by_marks) = (u32::MAX, true);
            let mut rng = Rng::named(5, "marks");
            // segments in 25 ms are half a round trip's
            let got = 2.0 * f.rate(600.0, || rng.chance(p));
            assert!((got * p / x - 1.0).abs() < 0.05, "p {p}: {}", got * p);
        }
        // scaled, a cut counts for 25 ms, too
        let mut f = Flow::new(20.0, 0.0125);
        (f.c.by_marks, f.c.saw_ce, f.c.alpha, f.c.rounds) = (true, true, 0.5, TRANSITION);
        f.ack(true);
        let cut = f.c.w;
        assert!((cut - 15.0).abs() < 1e-9, "{cut}");
        (0..30).for_each(|_| f.ack(true));
        assert_eq!(f.c.w, cut);
        (0..60).for_each(|_| f.ack(true));
        assert!(f.c.w < 0.8 * cut, "{}", f.c.w);
    }

    #[test]
    fn the_first_mark_halves_and_later_ones_cut_by_alpha() {
        let mut f = Flow::new(40.0, 0.05);
        f.ack(true);
        // half of 40; the window comes down by one segment per ACK
        assert_eq!((f.c.w, f.c.alpha, f.w.cwnd, f.w.ssthresh), (20.0, 0.0, 39.0, 39.0));
        (0..19).for_each(|_| f.ack(true));
        assert_eq!((f.w.cwnd, f.c.w), (20.0, 20.0));
        // whole rounds are marked: alpha is 1 - (15/16)^n after n of them; nothing grows, and each round cuts by alpha / 2
        let before = f.c.alpha;
        while f.c.alpha < 0.4 {
            f.ack(true);
        }
        assert!(before < 0.2 && f.c.w < 20.0 * (1.0 - 0.2 / 2.0) && f.w.cwnd >= 2.0, "{:?}", f.c);
    }

    #[test]
    fn growth_needs_no_rest_and_marked_segments_add_nothing() {
        // at 12.5 ms F is 1/4: 10 segments at W 10 add 0.25, also right after a cut
        let mut f = Flow::new(10.0, 0.0125);
        (f.c.saw_ce, f.c.cut, f.c.round_until) = (true, true, u64::MAX);
        (0..10).for_each(|_| f.ack(false));
        assert!((f.c.w - 10.25).abs() < 0.01, "{}", f.c.w);
        let before = f.c.w;
        (0..10).for_each(|_| f.ack(true));
        assert_eq!(f.c.w, before);
    }

    #[test]
    fn it_is_paced_in_bursts_of_a_quarter_of_a_millisecond() {
        let (p, mut c) = prague();
        // 1000 segments of 1500 in 20 ms: 75 MB/s, 50 000 a second, 12 in 1/4096 s
        (c.w, c.rounds) = (1000.0, TRANSITION);
        let w = Window { cwnd: 1000.0, ssthresh: 1000.0 };
        c.pace(&w, 0.0, Time(MS), Duration::from_millis(20));
        let d = c.drive(w);
        assert_eq!((d.pacing_rate, d.quantum), (Some(75e6), 12));
        // far below ssthresh twice as fast
        c.pace(&Window { ssthresh: 2001.0, ..w }, 0.0, Time(MS), Duration::from_millis(20));
        assert_eq!(c.pacing_rate, Some(150e6));
        // never below 100 kbit/s, whatever the window: W 0.25 in 30 ms
        c.w = 0.0;
        c.pace(&Window { cwnd: 2.0, ssthresh: 2.0 }, 0.0, Time(MS), Duration::from_millis(30));
        assert!((c.w - 0.25).abs() < 1e-9 && c.pacing_rate == Some(12_500.0));
        // 1 s: 12 500 bytes are 8.33 segments, for a window of 4; one of 5 stays, and is paced at 100 kbit/s
        let mut after = |cwnd| {
            c.w = 3.0;
            c.pace(&Window { cwnd, ssthresh: 2.0 }, 0.0, Time(MS), Duration::from_secs(1));
            (c.w, c.pacing_rate)
        };
        let (small, rate) = after(4.0);
        assert!((small - 25.0 / 3.0).abs() < 1e-9 && rate == Some(12_500.0), "{small} {rate:?}");
        assert_eq!(after(5.0), (3.0, Some(12_500.0)));
        // a loss halves; before slow start has met a mark, too
        let d = c.on_congestion(&p, Window { cwnd: 9.0, ssthresh: 9.0 }, Congestion::Loss, 9.0);
        assert_eq!(d.ssthresh, 2.0);
    }

    #[test]
    fn marks_take_the_window_down_at_any_round_trip() {
        // 5 s, in which 100 kbit/s are 42 segments: each round is marked whole, so that alpha goes to 1 and each round halves W until
        // it is small; then the least rate makes it large for a round
        let mut f = Flow::new(40.0, 5.0);
        let mut least = f64::MAX;
        (0..4000).for_each(|_| {
            f.ack(true);
            least = least.min(f.w.cwnd);
        });
        assert!(f.c.alpha > 0.99 && least <= 4.0, "alpha {}, cwnd {least}", f.c.alpha);
    }

    #[test]
    fn it_grows_unless_the_application_has_no_more() {
        let rate = |app_limited| RateSample {
            bytes: 1500,
            interval: Duration::from_millis(30),
            prior_delivered: 0,
            app_limited,
            rtt_us: Some(30_000),
            compressed: false,
            tx_in_flight: 15_000,
            lost: 0,
        };
        let grown = |app_limited| {
            let (p, mut c) = prague();
            c.w = 10.0;
            let (srtt, rate) = (Duration::from_millis(30), Some(rate(app_limited)));
            let s =
                AckSample { now: Time(MS), credit: 1.0, segments: 1, ecn: true, srtt, rate, ..AckSample::default() };
            c.hear(&p, &s);
            c.on_ack(&p, Window { cwnd: 10.0, ssthresh: 5.0 }, &s);
            c.w
        };
        // the window is not what limits it: half of it is in flight
        assert_eq!((grown(false), grown(true)), (10.1, 10.0));
    }

    #[test]
    fn two_segments_leave_in_a_virtual_round_trip_however_slow() {
        let (_, mut c) = prague();
        let mut sized = |w: f64, ms: u64| {
            c.w = w;
            c.size(Duration::from_millis(ms));
            c.drive(Window { cwnd: 2.0, ssthresh: 2.0 }).segment
        };
        // 0.4 segments in 10 ms are one in 25 ms, 1500 bytes: two of 750, at 480 kbit/s
        assert_eq!(sized(0.4, 10), 750);
        // two in 25 ms, or in 100: full ones, 0.96 Mbit/s
        assert_eq!((sized(2.0, 25), sized(0.8, 10), sized(2.0, 100)), (0, 0, 0));
        assert_eq!((sized(1.0, 100), sized(0.01, 25)), (750, 150));
        // a marked one of 750 bytes takes half a segment of growth with it
        let mut f = Flow::new(10.0, 0.025);
        (f.c.segment, f.c.saw_ce, f.c.cut, f.c.round_until) = (750.0, true, true, u64::MAX);
        f.ack(true);
        assert!((f.c.w - 10.05).abs() < 1e-9, "{}", f.c.w);
    }

    #[test]
    fn without_accecn_it_is_reno() {
        let (p, mut c) = prague();
        let s = AckSample { credit: 1.0, cwnd_limited: true, ..AckSample::default() };
        c.hear(&p, &s);
        let w = Window { cwnd: 10.0, ssthresh: 5.0 };
        let d = c.on_ack(&p, w, &s);
        assert_eq!((d, d.pacing_rate), (Reno.on_ack(&p, w, &s), None));
        assert_eq!(c.on_congestion(&p, w, Congestion::Loss, 10.0).ssthresh, 5.0);
    }
}
