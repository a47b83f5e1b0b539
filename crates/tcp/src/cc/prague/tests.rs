//! Unit tests of Prague. They call the controller directly, with one made-up ACK after another.

use super::*;
use crate::cc::control::RateSample;
use crate::cc::{TcpParams, stack};
use units::Rng;

const MS: u64 = 1_000_000;

fn params() -> TcpParams {
    TcpParams::preset("prague").unwrap().with(|p| p.wire.mss = 1500)
}

fn prague() -> Prague {
    Prague::new(&params().control.prague, &stack(&params()))
}

/// A flow with a constant round-trip time and an ACK per segment.
struct Flow {
    c: Prague,
    w: Window,
    una: u64,
    now: f64,
    rtt: f64,
}

impl Flow {
    /// Creates a flow that has left slow start, with a window of `cwnd` segments.
    fn new(cwnd: f64, rtt: f64) -> Self {
        let mut c = prague();
        (c.w, c.rounds, c.round_until) = (cwnd, TRANSITION, 1500 * cwnd as u64);
        Self { c, w: Window { cwnd, ssthresh: 2.0 }, una: 1, now: 1.0, rtt }
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
        let d = self.c.on_ack(self.w, &s);
        self.w.follow(&d);
    }

    /// Returns the mean number of segments acknowledged per 25 ms, measured over `secs` seconds after a warm-up.
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
        // V is the number of segments sent in 25 ms. In 25 ms, V grows by 1 - p, and marks reduce it by p / 2 of its
        // size. In equilibrium V = 2 (1 - p) / p, which is 18 for p = 0.1 and 98 for p = 0.02
        let want = 2.0 * (1.0 - p) / p;
        for rtt in [0.005, 0.0125, 0.025] {
            let got = Flow::new(20.0, rtt).rate(60.0, even(p));
            assert!((got / want - 1.0).abs() < 0.1, "p {p}, rtt {rtt}: {got} for {want}");
        }
        // an RTT of 100 ms gives the same window as an RTT of 25 ms, but this window is sent in 100 ms. So only a
        // quarter of its segments is sent in 25 ms
        let got = Flow::new(20.0, 0.1).rate(120.0, even(p));
        assert!((4.0 * got / want - 1.0).abs() < 0.1, "p {p}: {got}");
        // with random marks, some virtual round trips contain no mark, and the window is then not cut. In equilibrium the window
        // is x/p, where x (1 - (1 - p)^(x/p)) = 2 (1 - p): x = 2.04 for p = 0.1 and 2.20 for p = 0.02
        let mut rng = Rng::named(3, "marks");
        let got = Flow::new(20.0, 0.025).rate(300.0, || rng.chance(p));
        let x = if p == 0.1 { 2.04 } else { 2.20 };
        assert!((got * p / x - 1.0).abs() < 0.1, "p {p}: {got}");
    }
}

#[test]
fn with_round_trips_of_its_own_a_shorter_one_is_faster() {
    // the window is 2 (1 - p) / p = 98 segments in each round trip of 12.5 ms, so 196 in 25 ms
    let mut f = Flow::new(20.0, 0.0125);
    (f.c.transition, f.c.rounds) = (u32::MAX, LATE_TRANSITION);
    let got = f.rate(60.0, even(0.02));
    assert!((got / 196.0 - 1.0).abs() < 0.1, "{got}");
    // with "scaled-late", short round trips count as 25 ms after 500 rounds
    let p = TcpParams::preset("prague").unwrap().with(|p| p.control.prague.prague_rtt = PragueRtt::ScaledLate);
    assert_eq!(Prague::new(&p.control.prague, &stack(&p)).transition, 500);
}

#[test]
fn cuts_that_wait_for_a_mark_leave_windows_a_fifth_larger() {
    // after a cut, a round must pass, and then the next mark cuts the window. The mean time between two cuts is
    // therefore 1 + 1 / (p W) rounds, in which the window grows by (1 - p) (1 + 1 / (p W)) segments. Then the cut
    // reduces W by p / 2 of its size. In equilibrium, x = p W is 1 - p + sqrt((1 - p)^2 + 2 (1 - p))
    for (p, x) in [(0.02, 2.69), (0.005, 2.72)] {
        let mut f = Flow::new(2.7 / p, 0.05);
        (f.c.transition, f.c.last_cut) = (u32::MAX, LastCut::At { sent: 0, at: Time::ZERO });
        let mut rng = Rng::named(5, "marks");
        // the RTT is 50 ms, so the window is twice the number of segments in 25 ms
        let got = 2.0 * f.rate(600.0, || rng.chance(p));
        assert!((got * p / x - 1.0).abs() < 0.05, "p {p}: {}", got * p);
    }
    // if short round trips count as 25 ms, at least 25 ms pass between two cuts
    let mut f = Flow::new(20.0, 0.0125);
    f.c.last_cut = LastCut::At { sent: 0, at: Time::ZERO };
    (f.c.saw_ce, f.c.alpha, f.c.rounds) = (true, 0.5, TRANSITION);
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
    // the first mark halves W from 40 to 20, and cwnd moves towards W by one segment per ACK
    assert_eq!((f.c.w, f.c.alpha, f.w.cwnd, f.w.ssthresh), (20.0, 0.0, 39.0, 39.0));
    (0..19).for_each(|_| f.ack(true));
    assert_eq!((f.w.cwnd, f.c.w), (20.0, 20.0));
    // all segments are marked, so alpha is 1 - (15/16)^n after n rounds. The window does not grow, and each round cuts it by
    // alpha / 2
    let before = f.c.alpha;
    while f.c.alpha < 0.4 {
        f.ack(true);
    }
    assert!(before < 0.2 && f.c.w < 20.0 * (1.0 - 0.2 / 2.0) && f.w.cwnd >= 2.0, "{:?}", f.c);
}

#[test]
fn growth_needs_no_rest_and_marked_segments_add_nothing() {
    // with an RTT of 12.5 ms, F = (12.5 / 25)^2 = 1/4. At W = 10, each unmarked segment adds F / W, so ten segments add
    // 0.25, even right after a cut
    let mut f = Flow::new(10.0, 0.0125);
    (f.c.saw_ce, f.c.last_cut, f.c.round_until) = (true, LastCut::Round(true), u64::MAX);
    (0..10).for_each(|_| f.ack(false));
    assert!((f.c.w - 10.25).abs() < 0.01, "{}", f.c.w);
    let before = f.c.w;
    (0..10).for_each(|_| f.ack(true));
    assert_eq!(f.c.w, before);
}

#[test]
fn it_is_paced_in_bursts_of_a_quarter_of_a_millisecond() {
    let mut c = prague();
    // 1000 segments of 1500 bytes in 20 ms is 75 MB/s, or 50 000 segments per second, which is 12 segments in 1/4096 s
    (c.w, c.rounds) = (1000.0, TRANSITION);
    let w = Window { cwnd: 1000.0, ssthresh: 1000.0 };
    c.pace(&w, 0.0, Time(MS), Duration::from_millis(20));
    let d = c.drive(w);
    assert_eq!((d.pacing_rate, d.quantum), (Some(75e6), 12));
    // while cwnd is below half of ssthresh, the pacing rate is doubled, here from 75 to 150 MB/s
    c.pace(&Window { ssthresh: 2001.0, ..w }, 0.0, Time(MS), Duration::from_millis(20));
    assert_eq!(c.pacing_rate, Some(150e6));
    // the flow never sends less than 100 kbit/s, which is 0.25 segments in a round trip of 30 ms, so W becomes 0.25
    c.w = 0.0;
    c.pace(&Window { cwnd: 2.0, ssthresh: 2.0 }, 0.0, Time(MS), Duration::from_millis(30));
    assert!((c.w - 0.25).abs() < 1e-9 && c.pacing_rate == Some(12_500.0));
    // with an RTT of 1 s, 100 kbit/s is 12 500 bytes, or 8.33 segments, per RTT. With cwnd = 4, W is raised to 8.33. With cwnd = 5,
    // W stays at 3, but the pacing rate is 100 kbit/s
    let mut after = |cwnd| {
        c.w = 3.0;
        c.pace(&Window { cwnd, ssthresh: 2.0 }, 0.0, Time(MS), Duration::from_secs(1));
        (c.w, c.pacing_rate)
    };
    let (small, rate) = after(4.0);
    assert!((small - 25.0 / 3.0).abs() < 1e-9 && rate == Some(12_500.0), "{small} {rate:?}");
    assert_eq!(after(5.0), (3.0, Some(12_500.0)));
    // a loss halves W, even before the first mark
    let d = c.on_congestion(Window { cwnd: 9.0, ssthresh: 9.0 }, Congestion::Loss, 9.0);
    assert_eq!(d.ssthresh, 2.0);
}

#[test]
fn marks_take_the_window_down_at_any_round_trip() {
    // With an RTT of 5 s, 100 kbit/s is 42 segments per round trip. All segments are marked, so alpha rises to 1 and
    // each round halves W until it is small. Then the minimum rate of 100 kbit/s raises W for one round.
    let mut f = Flow::new(40.0, 5.0);
    let mut least = f64::MAX;
    (0..4000).for_each(|_| {
        f.ack(true);
        least = least.min(f.w.cwnd);
    });
    assert!(f.c.alpha > 0.99 && least <= 4.0, "alpha {}, cwnd {least}", f.c.alpha);
}

#[test]
fn the_pacing_rate_follows_the_round_trip_while_the_window_rests() {
    let mut c = prague();
    let w = Window { cwnd: 10.0, ssthresh: 10.0 };
    for ms in [100, 50, 40] {
        let srtt = Duration::from_millis(ms);
        let s =
            AckSample { now: Time(MS), segments: 1, credit: 1.0, ecn: true, rests: true, srtt, ..AckSample::default() };
        let d = c.on_ack(w, &s);
        // the sender applies the result although `rests` is set. The window is unchanged, and the pacing rate is 10
        // segments of 1500 bytes per round trip
        assert!(d.converges && (d.cwnd, d.ssthresh) == (10.0, 10.0));
        let rate = d.pacing_rate.unwrap();
        assert!((rate * ms as f64 / 1000.0 - 15_000.0).abs() < 1e-6, "{rate}");
    }
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
        let mut c = prague();
        c.w = 10.0;
        let (srtt, rate) = (Duration::from_millis(30), Some(rate(app_limited)));
        let s = AckSample { now: Time(MS), credit: 1.0, segments: 1, ecn: true, srtt, rate, ..AckSample::default() };
        c.on_ack(Window { cwnd: 10.0, ssthresh: 5.0 }, &s);
        c.w
    };
    // the window does not limit this flow, but an acknowledged segment still adds 1/10 to W = 10. If the application
    // limits the flow, W does not grow
    assert_eq!((grown(false), grown(true)), (10.1, 10.0));
}

#[test]
fn two_segments_leave_in_a_virtual_round_trip_however_slow() {
    let mut c = prague();
    let mut sized = |w: f64, ms: u64| {
        c.w = w;
        c.size(Duration::from_millis(ms));
        c.drive(Window { cwnd: 2.0, ssthresh: 2.0 }).max_payload
    };
    // 0.4 segments in 10 ms is 1500 bytes in 25 ms (480 kbit/s), which makes two segments of 750 bytes
    assert_eq!(sized(0.4, 10), 750);
    // segments do not shrink if the flow sends at least two full segments per virtual round trip, which is 0.96 Mbit/s
    // at 25 ms
    assert_eq!((sized(2.0, 25), sized(0.8, 10), sized(2.0, 100)), (0, 0, 0));
    assert_eq!((sized(1.0, 100), sized(0.01, 25)), (750, 150));
    // at W = 10, an ACK of 1500 unmarked bytes adds 1/10. If it reports one segment of 750 bytes as marked, the other
    // 750 bytes still add half of this, 1/20
    let mut f = Flow::new(10.0, 0.025);
    (f.c.segment, f.c.saw_ce, f.c.last_cut, f.c.round_until) = (750.0, true, LastCut::Round(true), u64::MAX);
    f.ack(true);
    assert!((f.c.w - 10.05).abs() < 1e-9, "{}", f.c.w);
}

#[test]
fn without_accecn_it_is_reno() {
    let mut c = prague();
    let mut reno = Reno::new(&NoParams {}, &stack(&params()));
    let s = AckSample { credit: 1.0, cwnd_limited: true, ..AckSample::default() };
    let w = Window { cwnd: 10.0, ssthresh: 5.0 };
    let d = c.on_ack(w, &s);
    assert_eq!((d, d.pacing_rate), (reno.on_ack(w, &s), None));
    assert_eq!(c.on_congestion(w, Congestion::Loss, 10.0).ssthresh, 5.0);
}
