//! Tests of response functions (the mean window at a given loss rate), a comparison of the sender's fast path with its
//! general path, and a property test: whatever the pipe loses, delays or marks, random stacks deliver each byte exactly
//! once.

use super::names::*;
use super::net::{Fate, Net};
use super::preset;
use crate::cc::control::Feedback;
use crate::cc::foreign::tests::{Renos, with};
use crate::steer::Steer;
use proptest::prelude::*;
use units::{Duration, Rng};

/// Returns the mean window of an endless flow, measured as the number of segments delivered per round trip. Each data packet
/// is lost with probability `loss`.
fn mean_window(params: &TcpParams, loss: f64, secs: f64, seed: u64) -> f64 {
    let mut rng = Rng::named(seed, "loss");
    let mut n = Net::new(
        params,
        50,
        move |from, _, s| {
            if from == 0 && s.len > 0 && rng.chance(loss) { Fate::Drop } else { Fate::Pass }
        },
    );
    n.checked = false;
    n.connect(u64::MAX, false);
    n.run(secs);
    n.received[1] as f64 / f64::from(params.wire.mss) / (secs / 0.1)
}

/// `send_full` sends the segments that the general path would send, at the same times, whatever the pipe loses. The
/// reference is the same sender after a program has set its pacing rate to `None`. It is not paced, but sends every
/// segment on the general path.
#[test]
fn full_segments_are_those_of_the_general_path() {
    for (name, seed) in ["rfc", "ns2-reno", "ns2-fulltcp-sack", "ns2-cubic-2.6.22"]
        .into_iter()
        .flat_map(|n| (0..8).map(move |i| (n, i)))
    {
        let p = preset(name);
        let log = |general: bool| {
            let mut rng = Rng::named(seed, "fates");
            let loss = [0.0, 0.01, 0.05, 0.2][seed as usize % 4];
            let mut n =
                Net::new(&p, 20, move |_, _, s| if s.len > 0 && rng.chance(loss) { Fate::Drop } else { Fate::Pass });
            for i in (0..2).filter(|_| general) {
                n.call(i, |e, p, now, io| e.steer(p, now, Steer::PacingRate(None), io));
            }
            n.answer = Some((100_000, 200_000 + 999 * seed));
            // with even seeds, the last segment of the transfer is full. The preset rfc sends the FIN with this segment
            n.connect(280 * u64::from(p.wire.mss) + 777 * (seed % 2), true);
            n.run(60.0);
            n.log
        };
        let (fast, general) = (log(false), log(true));
        assert!(fast.len() > 500, "{name}: {}", fast.len());
        let differ = fast.iter().zip(&general).find(|(a, b)| a != b);
        assert!(differ.is_none() && fast.len() == general.len(), "{name}, seed {seed}: {differ:?}");
    }
}

#[test]
fn response_function_of_reno() {
    // with an ACK for every segment, W = sqrt(3/2) / sqrt(p) = 1.2247 / sqrt(0.01) = 12.25. PFTK's formula, which includes
    // timeouts, gives 11.7
    let p = preset("ns2-reno").with(|p| {
        p.detection.recovery = Recovery::Sack;
        p.detection.limited_transmit = true;
    });
    let w: f64 = (1..=4).map(|seed| mean_window(&p, 0.01, 2000.0, seed)).sum::<f64>() / 4.0;
    assert!((w / 12.25 - 1.0).abs() < 0.15, "{w}");
    // with an ACK for every second segment and growth of 1/cwnd per ACK, the mean window is W = sqrt(3/4) / sqrt(p) =
    // 0.866 / sqrt(0.01) = 8.66
    let p = p.with(|p| {
        p.receiver.ack_every = 2;
        p.window.abc_limit = 1;
    });
    let w: f64 = (1..=4).map(|seed| mean_window(&p, 0.01, 2000.0, seed)).sum::<f64>() / 4.0;
    assert!((w / 8.66 - 1.0).abs() < 0.2, "{w}");
}

#[test]
fn response_function_of_cubic() {
    // RFC 9438 §5.1: W = 1.054 (RTT / p)^0.75 = 1.054 * (0.1 / 1e-4)^0.75 = 187
    let p = preset("linux-6").with(|p| {
        p.control.shared.hystart = HyStart::Off;
        p.receiver.ack_every = 1;
        p.receiver.receive_window = ReceiveWindow::fixed(units::Bytes(1 << 30));
    });
    let p = p.with(|p| p.control.cubic.cubic_form = CubicForm::Rfc9438);
    let w: f64 = (1..=3).map(|seed| mean_window(&p, 1e-4, 1000.0, seed)).sum::<f64>() / 3.0;
    assert!((w / 187.4 - 1.0).abs() < 0.25, "{w}");
}

fn any_params() -> impl Strategy<Value = TcpParams> {
    (
        prop::sample::select(PRESETS).prop_map(|(name, _)| preset(name)),
        prop::sample::select(vec![Recovery::Reno, Recovery::Newreno, Recovery::Sack]),
        prop::sample::select(vec![
            Reduction::Instant,
            Reduction::RateHalving,
            Reduction::HeldRateHalving,
            Reduction::Prr,
        ]),
        any::<[bool; 22]>(),
        1u32..4,
        prop::sample::select(CongestionControl::ALL),
    )
        .prop_map(|(base, recovery, reduction, b, ack_every, congestion_control)| {
            let outside = congestion_control == CongestionControl::Python;
            let base = base.with(|p| p.control.congestion_control = congestion_control);
            let base = if outside { with(base, Renos::default()) } else { base };
            let needs = base.control.needs();
            let recovery = if needs.rates { Recovery::Sack } else { recovery };
            (base, recovery, reduction, b, ack_every, needs)
        })
        .prop_map(|(base, recovery, reduction, b, ack_every, needs)| {
            let feedback = base.control.ecn().feedback;
            let (counts, accecn) = (feedback > Feedback::Any, feedback == Feedback::Accecn);
            base.with(|p| {
                p.detection.recovery = recovery;
                p.detection.loss_detection = match (recovery, b[7], b[13]) {
                    (Recovery::Sack, true, _) => LossDetection::RackTlp,
                    (Recovery::Sack, false, true) => LossDetection::ForwardAck,
                    _ => LossDetection::Dupthresh,
                };
                p.detection.undo = if recovery == Recovery::Sack && b[7] { p.detection.undo } else { Undo::None };
                p.detection.frto = recovery == Recovery::Sack && b[7] && p.detection.frto;
                p.quirks.fin_after_data = b[8];
                p.quirks.bare_handshake_ack = b[9];
                p.quirks.short_segments_wait = b[10];
                p.quirks.any_ack_restarts_timer = b[11];
                p.quirks.every_timeout_reduces = b[12];
                p.quirks.rtt_from_every_ack = b[14];
                p.quirks.damped_rttvar = b[15];
                p.quirks.backoff_until_new_data = b[16];
                let starts = [HyStart::Hystart, HyStart::Off, HyStart::Rfc9406, HyStart::Search, HyStart::RapidStart];
                p.control.shared.hystart =
                    starts[(4 * usize::from(b[14]) + 2 * usize::from(b[15]) + usize::from(b[16])) % 5];
                p.window.idle_restart = if b[17] { IdleRestart::OneAfterAck } else { p.window.idle_restart };
                p.reduction.reduction = reduction;
                p.opening.handshake = b[0];
                p.wire.timestamps = b[1] || needs.ack_time;
                p.detection.limited_transmit = b[2];
                p.detection.keep_sack_after_rto = b[3];
                p.window.nagle = b[4];
                p.ecn.ecn = b[5] || counts;
                p.ecn.ecn_feedback = match (b[18] || accecn, b[19] || counts) {
                    (true, _) => EcnFeedback::Accecn,
                    (_, true) => EcnFeedback::Dctcp,
                    _ => EcnFeedback::Rfc3168,
                };
                p.ecn.accecn_option = b[20] && (b[18] || accecn);
                p.control.dctcp.dctcp_form = if b[21] { DctcpForm::Rfc8257 } else { DctcpForm::Linux };
                p.control.prague.prague_rtt = [PragueRtt::Scaled, PragueRtt::Own][usize::from(b[21])];
                p.control.prague.prague_cut = [PragueCut::Rounds, PragueCut::Marks][usize::from(b[20])];
                p.ecn.ect_on = [None, Some(EctOn::All)][usize::from(b[18] ^ b[19])];
                p.reduction.reduce_from_flight = b[6];
                p.receiver.ack_every = ack_every;
                p.rto.retries = None;
                p.opening.syn_retries = None;
                p.rto.max_rto = Duration::from_secs(20);
                p.receiver.receive_window = ReceiveWindow::fixed(units::Bytes(100_000));
            })
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whichever segments are dropped, delayed or marked, every byte is delivered in order exactly once, the running counters are
    /// correct after every call (`Net::call`), and both ends finish.
    #[test]
    fn every_byte_once(
        p in any_params(),
        seed: u64,
        loss in 0.0..0.25f64,
        late in 0.0..0.3f64,
        request in 1u64..20_000,
        answer in 0u64..150_000,
        pieces in 1u64..5,
    ) {
        let mut rng = Rng::named(seed, "pipe");
        let mut n = Net::new(&p, 20, move |_, count, _| {
            // the pipe stops losing packets at some point, so that the test ends
            if count < 2000 && rng.chance(loss) {
                Fate::Drop
            } else if rng.chance(late) {
                Fate::Late(Duration(rng.below(60_000_000)))
            } else if rng.chance(0.05) {
                Fate::Mark
            } else {
                Fate::Pass
            }
        });
        n.answer = Some((request, answer));
        n.connect(request / pieces, false);
        for i in 1..pieces {
            n.run(0.3 * i as f64);
            let last = i == pieces - 1;
            n.write(0, if last { request - request / pieces * (pieces - 1) } else { request / pieces }, last);
        }
        if pieces == 1 {
            n.write(0, 0, true);
        }
        n.run(100_000.0);
        prop_assert_eq!(n.received, [answer, request], "{:?}", n.ends);
        if p.opening.handshake {
            for i in 0..2 {
                prop_assert!(n.has(i, Event::Connected) && n.has(i, Event::PeerFinished));
            }
        }
        for i in 0..2 {
            prop_assert!(n.has(i, Event::Closed), "end {} is open: {:?}", i, n.ends[i]);
            prop_assert!(!n.has(i, Event::Failed));
            prop_assert_eq!(n.events[i].iter().filter(|&&e| e == Event::Closed).count(), 1);
        }
    }
}
