//! Tests the rules of BBR version 3 one by one, against numbers worked out in comments. Runs of whole connections are in
//! crates/sim/tests/it/bbr3.rs.

use super::bounds::{inflight_at_loss, is_inflight_too_high};
use super::*;
use crate::cc::control::{AckSample, Control, LostSegment, RateSample, Window};
use crate::cc::stack;
use crate::params::TcpParams;
use units::Time;

const MSS: u32 = 1000;

fn machine(form: Bbr3Form) -> Bbr3 {
    let p = TcpParams::preset("bbr3").unwrap().with(|p| {
        p.wire.mss = MSS;
        p.control.bbr3.bbr3_form = form;
    });
    Bbr3::new(&p.control.bbr3, &stack(&p))
}

/// Returns a connection in ProbeBW whose model has a bandwidth of `bw` bytes per second and a minimum round-trip time
/// of `rtt_us` microseconds.
fn on_path(bw: f64, rtt_us: u32) -> Bbr3 {
    let mut b = machine(Bbr3Form::Draft);
    (b.path.max_bw_filter, b.path.bw, b.path.min_rtt, b.path.full_bw_reached) = ([bw, bw], bw, Some(rtt_us), true);
    b.start_probe_bw_down(Time(0));
    b
}

fn rate(bytes: u64, lost: u64, tx_in_flight: u64) -> RateSample {
    RateSample {
        bytes,
        interval: Duration::from_millis(10),
        prior_delivered: 0,
        app_limited: false,
        rtt_us: Some(10_000),
        compressed: false,
        tx_in_flight,
        lost,
    }
}

#[test]
fn the_forms_differ_where_they_are_said_to() {
    let gains = |form, phase| Bbr3 { phase, ..machine(form) }.gains();
    for (phase, draft, linux) in [
        (Phase::Startup, (2.77, 2.0), (2.77, 2.0)),
        (Phase::Drain, (0.5, 2.0), (0.347, 2.0)),
        (Phase::ProbeBwDown, (0.9, 2.0), (0.91, 2.0)),
        (Phase::ProbeBwCruise, (1.0, 2.0), (1.0, 2.0)),
        (Phase::ProbeBwRefill, (1.0, 2.0), (1.0, 2.0)),
        (Phase::ProbeBwUp, (1.25, 2.25), (1.25, 2.25)),
        (Phase::ProbeRtt, (1.0, 0.5), (1.0, 0.5)),
    ] {
        assert_eq!((gains(Bbr3Form::Draft, phase), gains(Bbr3Form::Linux, phase)), (draft, linux), "{phase:?}");
    }
}

#[test]
fn reno_would_need_sixty_two_rounds_at_25_mbit_and_30_ms() {
    // The BDP is 25e6 / 8 * 0.03 = 93 750 bytes, or 62.5 segments of 1500 bytes. Reno would need 62 rounds of 30 ms (1.9 s) to
    // grow by this amount.
    let mut b = on_path(25e6 / 8.0, 30_000);
    b.mss = 1500.0;
    let mut rounds = 0;
    b.cycle.rounds_since_probe_up = 0;
    while !b.is_reno_coexistence_probe_time(1e9) {
        b.cycle.rounds_since_probe_up += 1;
        rounds += 1;
    }
    assert_eq!(rounds, 62);
    // after 10 rounds, it is time to probe if the window is 10 segments, but not yet if it is 11 segments. With a large
    // BDP, the wait is 63 rounds, the maximum
    b.cycle.rounds_since_probe_up = 10;
    assert!(b.is_reno_coexistence_probe_time(15_000.0) && !b.is_reno_coexistence_probe_time(16_500.0));
    b.path.bw *= 100.0;
    b.cycle.rounds_since_probe_up = 62;
    assert!(!b.is_reno_coexistence_probe_time(1e9));
    b.cycle.rounds_since_probe_up = 63;
    assert!(b.is_reno_coexistence_probe_time(1e9));
}

#[test]
fn probes_are_two_to_three_seconds_apart() {
    let mut b = on_path(1e6, 10_000);
    let (mut least, mut most, mut ones) = (f64::INFINITY, 0.0f64, 0);
    for _ in 0..1000 {
        b.start_probe_bw_down(Time(0));
        let wait = b.cycle.bw_probe_wait.secs();
        (least, most) = (least.min(wait), most.max(wait));
        ones += b.cycle.rounds_since_probe_up;
    }
    assert!((2.0..2.01).contains(&least) && (2.99..=3.0).contains(&most), "{least} {most}");
    assert!((420..580).contains(&ones), "{ones}");
}

#[test]
fn the_bound_is_where_losses_passed_two_percent() {
    // 100 segments are in flight, and this segment is the third to be lost. Before it, 2 of 99 were lost, more than 2 %.
    // So the limit was crossed at 99 + (0.02 * 99 - 2) / 0.98 = 98.9796 segments
    let s = LostSegment {
        bytes: 1000,
        tx_in_flight: 100_000,
        lost: 3000,
        app_limited: false,
        total_delivered: 0,
        adjoins: false,
    };
    assert!((inflight_at_loss(&s) - 98_979.6).abs() < 0.1);
    assert!(is_inflight_too_high(3000, 100_000) && !is_inflight_too_high(2000, 100_000));
    // if more than 2 % of the data in flight is lost during a probe, inflight_longterm becomes the number of bytes in
    // flight at which the losses reached 2 %, or 0.7 times the BDP of 50 segments if that is more. Then ProbeBW_DOWN
    // begins
    for (tx_in_flight, bound) in [(100_000, 98_979.6), (20_000, 35_000.0)] {
        let mut b = on_path(5e6, 10_000);
        (b.phase, b.bounds.is_bw_probe_sample) = (Phase::ProbeBwUp, true);
        b.handle_lost_packet(100_000.0, Time(1), &LostSegment { tx_in_flight, ..s });
        assert!((b.bounds.inflight_longterm - bound).abs() < 0.1, "{}", b.bounds.inflight_longterm);
        assert_eq!(
            (b.phase, b.bounds.prev_probe_too_high, b.bounds.is_bw_probe_sample),
            (Phase::ProbeBwDown, true, false)
        );
    }
}

#[test]
fn below_two_percent_a_probe_goes_on() {
    let mut b = on_path(5e6, 10_000);
    (b.phase, b.bounds.is_bw_probe_sample) = (Phase::ProbeBwUp, true);
    let s = LostSegment {
        bytes: 1000,
        tx_in_flight: 100_000,
        lost: 2000,
        app_limited: false,
        total_delivered: 0,
        adjoins: false,
    };
    b.handle_lost_packet(100_000.0, Time(1), &s);
    assert_eq!((b.phase, b.bounds.inflight_longterm), (Phase::ProbeBwUp, f64::INFINITY));
    assert!(b.bounds.is_loss_in_round);
}

#[test]
fn the_bound_grows_by_1_2_4_and_8_segments_a_round() {
    let mut b = on_path(5e6, 10_000);
    b.start_probe_bw_refill();
    (b.phase, b.bounds.inflight_longterm) = (Phase::ProbeBwUp, 50_000.0);
    b.raise_inflight_longterm_slope(50_000.0);
    let mut grown = Vec::new();
    for _ in 0..4 {
        let before = b.bounds.inflight_longterm;
        // each round has 50 ACKs of one segment each, and the 50th ACK begins the next round. The window grows together
        // with the bound
        for k in 0..50 {
            b.path.round_start = k == 49;
            let s = AckSample { delivered: 1000, window_filled: true, ..AckSample::default() };
            b.adapt_long_term_model(50_000.0f64.max(b.bounds.inflight_longterm), &s, &rate(50_000, 0, 50_000));
        }
        grown.push((b.bounds.inflight_longterm - before) / 1000.0);
    }
    // in the first round, the bound grows by 1 segment. In the next three rounds, it would grow by 2, 4 and 8 segments
    // if a whole window were acknowledged per round. But each round here acknowledges only 50 segments, and the window
    // is now larger, so the growth in a round may be up to one segment smaller
    assert_eq!(grown[0], 1.0);
    for (grown, want) in grown.iter().zip([1.0, 2.0, 4.0, 8.0]) {
        assert!((want - 1.0..=want).contains(grown), "{grown} {want}");
    }
    // the bound does not grow if the window was not filled, or if the window is below the bound
    for (cwnd, window_filled) in [(1e6, false), (40_000.0, true)] {
        let before = b.bounds.inflight_longterm;
        let s = AckSample { delivered: 50_000, window_filled, ..AckSample::default() };
        b.adapt_long_term_model(cwnd, &s, &rate(50_000, 0, 40_000));
        assert_eq!(b.bounds.inflight_longterm, before);
    }
}

#[test]
fn a_round_with_too_many_marks_does_not_raise_the_bound() {
    let mut b = on_path(5e6, 5_000);
    (b.phase, b.bounds.is_bw_probe_sample, b.bounds.inflight_longterm) = (Phase::ProbeBwUp, true, 50_000.0);
    let s = AckSample { ecn: true, delivered: 1000, ce_bytes: 750, ..AckSample::default() };
    b.bounds.marks.on_ack(&s, Some(5_000));
    b.bounds.marks.end_round();
    // the first ACK is for a segment sent with 40 kB in flight, and ends the probe. The second ACK is for a segment
    // sent with 60 kB in flight
    assert!(b.adapt_long_term_model(60_000.0, &s, &rate(40_000, 0, 40_000)));
    b.adapt_long_term_model(60_000.0, &s, &rate(40_000, 0, 60_000));
    assert_eq!((b.phase, b.bounds.inflight_longterm), (Phase::ProbeBwDown, 40_000.0));
}

#[test]
fn marks_lower_the_bound_of_the_data_in_flight_but_not_of_the_rate() {
    let mut b = on_path(5e6, 5_000);
    let s = AckSample { ecn: true, delivered: 1000, ce_bytes: 750, ..AckSample::default() };
    b.bounds.marks.on_ack(&s, Some(5_000));
    b.path.next_round_delivered = 0; // so the next sample ends the round
    b.update_congestion_signals(64_000.0, &rate(25_000, 0, 25_000));
    // alpha = 1 + (0.75 - 1) / 16 = 63/64, and 1 - alpha / 3 = 43/64
    assert_eq!(b.bounds.inflight_shortterm, 43_000.0);
    assert!(b.bounds.bw_shortterm.is_infinite());
}

#[test]
fn cruising_leaves_fifteen_percent() {
    let mut b = on_path(5e6, 10_000);
    b.bounds.inflight_longterm = 100_000.0;
    let mut cap = |phase| {
        b.phase = phase;
        b.cwnd_cap()
    };
    assert_eq!([Phase::ProbeBwCruise, Phase::ProbeRtt].map(&mut cap), [85_000.0; 2]);
    assert_eq!([Phase::ProbeBwDown, Phase::ProbeBwRefill, Phase::ProbeBwUp].map(&mut cap), [100_000.0; 3]);
    b.bounds.inflight_longterm = 6000.0;
    b.phase = Phase::ProbeBwCruise;
    assert_eq!(b.cwnd_cap(), 5000.0);
    b.bounds.inflight_longterm = 4000.0;
    assert_eq!(b.cwnd_cap(), 4000.0);
}

/// Simulates a round with a loss, in which `bytes` bytes are delivered in 10 ms.
fn lossy_round(b: &mut Bbr3, bytes: u64) {
    b.note_loss(80_000.0);
    b.bounds.loss_round_delivered = 0;
    (b.bounds.bw_latest, b.bounds.inflight_latest) = (0.0, 0.0);
    let rs = rate(bytes, 1000, 80_000);
    b.update_latest_delivery_signals(&AckSample::default(), &rs);
    b.update_congestion_signals(80_000.0, &rs);
}

#[test]
fn a_round_with_a_loss_lowers_the_short_term_to_what_was_delivered_or_seven_tenths() {
    let mut b = on_path(5e6, 10_000);
    // 45 kB in 10 ms is 4.5 MB/s, above 0.7 * 5 MB/s, so 4.5 MB/s becomes the bound on the rate. The bound on the data in flight
    // becomes 0.7 times the window, 0.7 * 80 kB = 56 kB, which is above 45 kB
    lossy_round(&mut b, 45_000);
    assert_eq!((b.bounds.bw_shortterm, b.bounds.inflight_shortterm), (4.5e6, 56_000.0));
    // 10 kB in 10 ms is 1 MB/s. Both values are less than 0.7 times their bounds, so both bounds are multiplied by 0.7
    lossy_round(&mut b, 10_000);
    assert_eq!((b.bounds.bw_shortterm, b.bounds.inflight_shortterm), (0.7 * 4.5e6, 0.7 * 56_000.0));
    b.bound_bw_for_model();
    assert_eq!((b.path.bw, b.cwnd_cap()), (0.7 * 4.5e6, 0.7 * 56_000.0));
    // REFILL removes the bounds, and losses do not lower them while BBR is probing
    b.start_probe_bw_refill();
    lossy_round(&mut b, 10_000);
    assert!(b.bounds.bw_shortterm.is_infinite() && b.bounds.inflight_shortterm.is_infinite());
}

#[test]
fn what_a_spurious_recovery_took_comes_back() {
    let mut b = on_path(5e6, 10_000);
    (b.phase, b.bounds.is_bw_probe_sample, b.bounds.inflight_longterm) = (Phase::ProbeBwUp, true, 120_000.0);
    let s = LostSegment {
        bytes: 1000,
        tx_in_flight: 60_000,
        lost: 3000,
        app_limited: false,
        total_delivered: 0,
        adjoins: false,
    };
    b.handle_lost_packet(90_000.0, Time(1), &s);
    assert!(b.bounds.inflight_longterm < 60_000.0 && b.phase == Phase::ProbeBwDown);
    let d = b.on_undo(Window { cwnd: 40.0, ssthresh: f64::INFINITY }, None);
    assert_eq!((b.bounds.inflight_longterm, b.phase, d.cwnd), (120_000.0, Phase::ProbeBwRefill, 90.0));
}

#[test]
fn after_a_probe_that_went_too_high_the_next_stops_at_the_bound_and_a_clean_one_probes_again() {
    let mut b = on_path(5e6, 10_000);
    (b.phase, b.bounds.prev_probe_too_high, b.bounds.inflight_longterm) = (Phase::ProbeBwUp, true, 50_000.0);
    let rs = rate(50_000, 0, 50_000);
    let s = AckSample { now: Time(1), in_flight: 50_000, delivered: 1000, ..AckSample::default() };
    b.update_probe_bw_cycle_phase(50_000.0, &s, &rs);
    assert_eq!(
        (b.phase, b.bounds.prev_probe_precautionary, b.bounds.prev_probe_too_high),
        (Phase::ProbeBwDown, true, false)
    );
    // no excessive loss was reported for this probe, so the next probe begins at once, with REFILL
    b.path.round_start = true;
    b.update_probe_bw_cycle_phase(50_000.0, &s, &rs);
    assert_eq!((b.phase, b.bounds.prev_probe_precautionary), (Phase::ProbeBwRefill, false));
}
