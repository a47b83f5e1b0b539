//! Unit tests of BBR, driven by ACKs.

use super::*;
use crate::cc::control::{Congestion, Control, Origin, RateSample, Silence};
use crate::cc::shared::NoParams;
use crate::cc::stack;
use crate::params::TcpParams;

const MSS: u32 = 1000;

fn params() -> TcpParams {
    TcpParams::preset("bbr").unwrap().with(|p| p.wire.mss = MSS)
}

fn machine() -> Bbr {
    Bbr::new(&NoParams {}, &stack(&params()))
}

fn step(b: &mut Bbr, w: &mut Window, s: &AckSample) {
    w.follow(&b.on_ack(*w, s));
}

/// Runs BBR on a path that delivers the first segment after 11 ms and then one per millisecond: BtlBw is 1 MB/s. With
/// an RTT of 10 ms, the BDP is 10 segments.
fn run(acks: u64, rtt_us: u32) -> (Bbr, Window) {
    let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
    let mut b = machine();
    for k in 1..=acks {
        let now = Time(10_000_000 + k * 1_000_000);
        let in_flight = (w.cwnd as u64).min(10) * 1000;
        step(&mut b, &mut w, &ack(now, k * 1000, in_flight, rtt_us));
    }
    (b, w)
}

fn ack(now: Time, total_delivered: u64, in_flight: u64, rtt_us: u32) -> AckSample {
    AckSample {
        now,
        delivered: 1000,
        total_delivered,
        flight_before: in_flight + 1000,
        in_flight,
        rate: Some(RateSample {
            bytes: 10_000,
            interval: Duration::from_millis(10),
            prior_delivered: total_delivered.saturating_sub(10_000),
            app_limited: false,
            rtt_us: Some(rtt_us),
            compressed: false,
            tx_in_flight: 0,
            lost: 0,
        }),
        ..AckSample::default()
    }
}

#[test]
fn the_model_finds_bandwidth_and_round_trip() {
    let (b, w) = run(200, 10_000);
    assert!((b.btl_bw() - 1e6).abs() < 1.0 && b.rt_prop == Some(10_000));
    assert!(matches!(b.mode, Mode::ProbeBw(_)), "{:?}", b.mode);
    // twice the BDP is 20 segments. Three bursts of two segments are added, which makes 26. The window is rounded up to
    // an even number of segments, which 26 already is. Aggregation may add a few segments
    assert!((24.0..=30.0).contains(&w.cwnd), "{}", w.cwnd);
    assert_eq!(b.burst(), 2);
}

#[test]
fn the_handshake_is_the_first_round_trip_until_it_expires() {
    let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
    let mut b = machine();
    b.on_handshake(w, Time(5_000_000), 4_000);
    assert_eq!(b.rt_prop, Some(4_000));
    // the window of ten segments per 4 ms is 2 500 000 bytes/s. As in Linux, the gain is 739/256, and the margin 1 %
    assert!((b.pacing_rate - 7_144_628.9).abs() < 0.1, "{}", b.pacing_rate);
    // the round trip of a segment takes 10 ms, including 6 ms of transmission; the small packets of the handshake took
    // only 4 ms
    for k in 1..=10_000 {
        let now = Time(5_000_000 + k * 1_000_000);
        step(&mut b, &mut w, &ack(now, k * 1000, 10_000, 10_000));
        assert_eq!(b.rt_prop, Some(4_000), "{k} ms");
    }
    step(&mut b, &mut w, &ack(Time(10_006_000_000), 10_001_000, 10_000, 10_000));
    assert_eq!(b.rt_prop, Some(10_000));
}

#[test]
fn the_gains_of_a_cycle_average_one() {
    assert_eq!(CYCLE.iter().sum::<f64>(), 8.0);
    let (mut b, mut w) = run(200, 10_000);
    let mut seen = [false; 8];
    for k in 201..400 {
        // 30 segments are in flight. A probing phase aims for only 22 (1.25 BDP plus `quanta`), so it ends after
        // RTprop, as the other phases do
        let mut a = ack(Time(10_000_000 + k * 1_000_000), k * 1000, 30_000, 10_000);
        a.lost = 0;
        step(&mut b, &mut w, &a);
        let Mode::ProbeBw(phase) = b.mode else { panic!("{:?}", b.mode) };
        seen[usize::from(phase)] = true;
        let rate = CYCLE[usize::from(phase)] * PACING_MARGIN * 1e6;
        assert!((b.pacing_rate - rate).abs() < 1.0);
    }
    assert_eq!(seen, [true; 8]);
}

#[test]
fn startup_ends_three_rounds_after_the_last_growth() {
    let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
    let mut b = machine();
    let mut delivered = 0;
    let mut modes = Vec::new();
    // one ACK per round; the rate doubles three times, then stays the same
    for (k, rate) in [1u64, 2, 4, 8, 8, 8, 8].into_iter().enumerate() {
        delivered += rate * 1000;
        let mut a = ack(Time((k as u64 + 1) * 10_000_000), delivered, 100_000, 10_000);
        a.rate = Some(RateSample {
            bytes: rate * 1000,
            interval: Duration::from_millis(10),
            prior_delivered: delivered - rate * 1000,
            app_limited: false,
            rtt_us: Some(10_000),
            compressed: false,
            tx_in_flight: 0,
            lost: 0,
        });
        step(&mut b, &mut w, &a);
        modes.push(b.mode);
    }
    assert_eq!(modes[5], Mode::Startup);
    assert_eq!(modes[6], Mode::Drain);
}

#[test]
fn a_round_trip_not_seen_for_ten_seconds_is_probed_for() {
    let (mut b, mut w) = run(200, 10_000);
    let before = w.cwnd;
    // from now on the RTT is 12 ms. The minimum of 10 ms was measured by the first ACK of `run`, 11 ms after the start,
    // so it expires after 10.011 s
    let mut k = 200;
    let mut first = None;
    let mut last = None;
    while k < 11_000 {
        k += 1;
        let in_flight = (w.cwnd as u64).min(12) * 1000;
        step(&mut b, &mut w, &ack(Time(10_000_000 + k * 1_000_000), k * 1000, in_flight, 12_000));
        if matches!(b.mode, Mode::ProbeRtt { .. }) {
            first.get_or_insert(k);
            last = Some(k);
            assert_eq!(w.cwnd, MIN_CWND);
        }
    }
    let (first, last) = (first.unwrap(), last.unwrap());
    assert_eq!(first, 10_002);
    // ProbeRtt lasts for 200 ms after the data in flight has dropped to four segments
    assert!((last - first).abs_diff(200) <= 15, "{first} {last}");
    assert_eq!(b.rt_prop, Some(12_000));
    assert!(w.cwnd >= before, "{} {before}", w.cwnd);
}

/// Simulates a pause of 12 s in which the application writes nothing. The minimum RTT of 10 ms, measured at 11 ms, is
/// then out of date. `app_limited` is true if the sender has recorded that it had nothing to send. Returns BBR after
/// the first ACK that follows the pause.
fn after_a_pause(app_limited: bool) -> (Bbr, Window) {
    let (mut b, mut w) = run(200, 10_000);
    let silence = Silence { now: Time(12_210_000_000), idle: Duration::from_secs(12), app_limited };
    w.follow(&b.on_idle(w, silence).unwrap());
    step(&mut b, &mut w, &ack(Time(12_222_000_000), 201_000, 9_000, 12_000));
    (b, w)
}

#[test]
fn a_pause_measures_the_round_trip_without_probing_for_it() {
    // the pause has drained the queue, so the first round trip after it is the new minimum
    let (mut b, mut w) = after_a_pause(true);
    assert!(matches!(b.mode, Mode::ProbeBw(_)), "{:?}", b.mode);
    assert!(b.rt_prop == Some(12_000) && w.cwnd > MIN_CWND, "{:?} {}", b.rt_prop, w.cwnd);
    // the exemption ends with the first ACK: 10 s later, ProbeRtt begins
    step(&mut b, &mut w, &ack(Time(22_223_000_000), 202_000, 9_000, 13_000));
    assert!(matches!(b.mode, Mode::ProbeRtt { .. }), "{:?}", b.mode);
    let (b, w) = after_a_pause(false);
    assert!(matches!(b.mode, Mode::ProbeRtt { .. }) && w.cwnd == MIN_CWND, "{:?} {}", b.mode, w.cwnd);
}

#[test]
fn a_pause_ends_probe_rtt_if_its_time_is_up() {
    let (mut b, mut w) = after_a_pause(false);
    // 4 segments are in flight at 12.25 s, so the 200 ms of ProbeRtt end at 12.45 s
    step(&mut b, &mut w, &ack(Time(12_250_000_000), 202_000, 4_000, 12_000));
    for (ms, in_probe_rtt) in [(12_450, true), (12_451, false)] {
        let silence = Silence { now: Time(ms * 1_000_000), idle: Duration::from_millis(100), app_limited: true };
        w.follow(&b.on_idle(w, silence).unwrap());
        assert_eq!(matches!(b.mode, Mode::ProbeRtt { .. }), in_probe_rtt, "{:?}", b.mode);
        assert_eq!(w.cwnd == MIN_CWND, in_probe_rtt, "{}", w.cwnd);
    }
}

#[test]
fn a_recovery_conserves_packets_for_a_round_and_gives_the_window_back() {
    let (mut b, mut w) = run(200, 10_000);
    let before = w.cwnd;
    b.on_congestion(w, Congestion::Loss, 0.0);
    let mut a = ack(Time(300_000_000), 201_000, 8_000, 10_000);
    a.state = State::Recovery;
    a.lost = 2_000;
    step(&mut b, &mut w, &a);
    // the window is the 8 segments in flight plus the one that this ACK delivers
    assert_eq!(w.cwnd, 9.0);
    let mut out = ack(Time(301_000_000), 202_000, 8_000, 10_000);
    out.rate = None;
    step(&mut b, &mut w, &out);
    assert!(w.cwnd >= before.min(24.0), "{} {before}", w.cwnd);
}

#[test]
fn flows_that_enter_probe_bw_together_do_not_probe_together() {
    let first = |stream: u64| {
        let mut b = machine();
        let stream = || units::Rng::named(stream, "flow");
        b.introduce(&Origin { stream: &stream, name: &|| "flow".to_owned() });
        let Mode::ProbeBw(phase) = b.enter_probe_bw(Time(1)) else { panic!() };
        phase
    };
    let mut seen = [0; 8];
    (0..700).for_each(|stream| seen[usize::from(first(stream))] += 1);
    // the draining phase is never the first; each of the other seven is drawn about 100 times, with a standard deviation of 9
    assert_eq!(seen[1], 0);
    assert!(seen.iter().enumerate().all(|(i, n)| i == 1 || (60..140).contains(n)), "{seen:?}");
    assert_eq!(first(3), first(3));
}

#[test]
fn a_draining_phase_counts_the_data_in_flight_before_losses() {
    let (mut b, mut w) = run(200, 10_000);
    b.mode = Mode::ProbeBw(1);
    b.phase_at = Time(300_000_000);
    // 19 segments were in flight before this ACK, which delivers one and reports five as lost. The draining phase aims
    // for a BDP of 10 segments plus `quanta`, which makes 16. 19 is more than 16, so the phase does not end yet,
    // although only 13 segments are now in flight
    let mut a = ack(Time(301_000_000), 201_000, 13_000, 10_000);
    (a.flight_before, a.lost) = (19_000, 5_000);
    step(&mut b, &mut w, &a);
    assert_eq!(b.mode, Mode::ProbeBw(1));
    let mut a = ack(Time(302_000_000), 202_000, 15_000, 10_000);
    a.flight_before = 16_000;
    step(&mut b, &mut w, &a);
    assert_eq!(b.mode, Mode::ProbeBw(2));
}

#[test]
fn probe_rtt_keeps_the_largest_window_saved_before() {
    let (mut b, mut w) = run(200, 10_000);
    // an earlier recovery began when the window was 40 segments, so prior_cwnd is 40
    b.on_congestion(Window { cwnd: 40.0, ..w }, Congestion::Loss, 0.0);
    step(&mut b, &mut w, &ack(Time(10_012_000_000), 201_000, 9_000, 12_000));
    assert!(matches!(b.mode, Mode::ProbeRtt { .. }), "{:?}", b.mode);
    assert_eq!(b.prior_cwnd, 40.0);
}

#[test]
fn a_runt_may_have_waited_for_a_delayed_ack() {
    // at 12 s, the minimum RTT is out of date. An ACK of a single segment of 100 bytes has an RTT of 50 ms, but the
    // receiver may have delayed this ACK, so the minimum stays. An ACK of a full segment with the same RTT sets a new
    // minimum
    for (bytes, expected) in [(100, 10_000), (1000, 50_000)] {
        let (mut b, mut w) = run(200, 10_000);
        let mut a = ack(Time(12_000_000_000), 200_000 + bytes, 0, 50_000);
        (a.delivered, a.acked) = (bytes, bytes as f64 / 1000.0);
        a.rate = a.rate.map(|d| RateSample { bytes, prior_delivered: 200_000, ..d });
        step(&mut b, &mut w, &a);
        assert_eq!(b.rt_prop, Some(expected), "{bytes} bytes");
    }
}

#[test]
fn an_undone_reduction_restarts_the_detection_of_a_full_pipe() {
    let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
    let mut b = machine();
    for k in 1..=3 {
        let mut a = ack(Time(k * 10_000_000), k * 10_000, 10_000, 10_000);
        a.rate = a.rate.map(|d| RateSample { prior_delivered: (k - 1) * 10_000, ..d });
        step(&mut b, &mut w, &a);
    }
    assert_eq!((b.full_pipe.bw, b.full_pipe.rounds), (1e6, 2));
    b.on_undo(w, None);
    assert_eq!((b.full_pipe.bw, b.full_pipe.rounds), (0.0, 0));
}

#[test]
fn samples_are_limited_also_on_the_ack_that_ends_probe_rtt() {
    let (mut b, mut w) = after_a_pause(false);
    step(&mut b, &mut w, &ack(Time(12_250_000_000), 202_000, 4_000, 12_000));
    step(&mut b, &mut w, &ack(Time(12_300_000_000), 212_000, 4_000, 12_000));
    let d = b.on_ack(w, &ack(Time(12_451_000_000), 222_000, 4_000, 12_000));
    assert!(!matches!(b.mode, Mode::ProbeRtt { .. }), "{:?}", b.mode);
    assert!(d.probing_delay);
}
