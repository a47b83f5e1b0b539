//! Tests of whole endpoints. Most have two endpoints with a lossy pipe between them; some feed a single endpoint with scripted
//! segments. Some measure response functions. Property tests with random losses check that stacks deliver each byte
//! exactly once.

mod ecn;
mod hostile;
mod net;
mod offload;
mod opening;
mod outside;
mod pacing;
mod params;
mod property;
mod rack;
mod rtt;
mod script;
mod undo;
mod window;

/// Names used by tests of whole stacks.
mod names {
    pub(super) use crate::cc::cubic::CubicForm;
    pub(super) use crate::cc::dctcp::DctcpForm;
    pub(super) use crate::cc::prague::{PragueCut, PragueRtt};
    pub(super) use crate::cc::shared::HyStart;
    pub(super) use crate::params::*;
    pub(super) use crate::*;
}

use names::*;
use net::{Fate, Net};
use packet::Flags;
use units::{Duration, Time};

fn preset(name: &str) -> TcpParams {
    TcpParams::preset(name).unwrap()
}
/// Returns Linux's stack with exact timers.
fn exact() -> TcpParams {
    preset("linux-6").with(|p| p.rto.timer_tick = Duration::ZERO)
}
fn pass(_: usize, _: usize, _: &Segment) -> Fate {
    Fate::Pass
}

#[test]
fn sizes() {
    // together with the 32 bytes before it, an endpoint fills at most 8 cache lines (crates/sim/src/conn.rs)
    assert!(size_of::<Endpoint>() <= 480, "{}", size_of::<Endpoint>());
    assert!(size_of::<Segment>() <= 112, "{}", size_of::<Segment>());
}

#[test]
fn syn_waits_double_up_to_a_minute() {
    // the first SYN leaves at 1 s; the waits after it are 3, 6, 12, 24, 48, 60, 60, ... s
    let mut n = Net::new(&preset("ns2-fulltcp-sack"), 10, |_, _, _| Fate::Drop);
    n.now = Time(1_000_000_000);
    n.connect(1000, false);
    n.run(300.0);
    assert_eq!(n.times(0, |_| true), [1.0, 4.0, 10.0, 22.0, 46.0, 94.0, 154.0, 214.0, 274.0]);
}

#[test]
fn a_connection_that_never_opens_fails() {
    // as Linux's ip-sysctl documents, the SYN is sent again four times after a second each, and then six times after 1,
    // 2, 4, 8, 16 and 32 s. The last SYN leaves at 67 s, and the connection fails 64 s later
    let mut n = Net::new(&exact(), 10, |_, _, _| Fate::Drop);
    n.connect(1000, false);
    n.run(130.0);
    assert_eq!(n.times(0, |_| true), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 11.0, 19.0, 35.0, 67.0]);
    assert!(!n.has(0, Event::Failed));
    n.run(200.0);
    assert!(n.has(0, Event::Failed));
    // before Linux 6.5, there are six retries at 1, 3, 7, 15, 31 and 63 s, and the connection fails at 127 s
    let mut n = Net::new(&exact().with(|p| p.opening.syn_linear_timeouts = 0), 10, |_, _, _| Fate::Drop);
    n.connect(1000, false);
    n.run(126.0);
    assert_eq!(n.times(0, |_| true), [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0]);
    assert!(!n.has(0, Event::Failed));
    n.run(200.0);
    assert_eq!(n.events[0], [Event::Failed, Event::Closed]);
    assert!(n.ends[0].is_closed() && n.ends[0].deadline() == Time::NEVER);
}

#[test]
fn handshake_request_answer_and_end() {
    // the one-way delay is 10 ms: the SYN leaves at 0 ms, the SYN-ACK at 10, the ACK with the request at 20, the answer at 30
    let p = preset("ns2-fulltcp-sack").with(|p| {
        p.window.nagle = false;
        p.quirks.fin_after_data = false;
        p.quirks.bare_handshake_ack = false;
        p.quirks.short_segments_wait = false;
    });
    let mut n = Net::new(&p, 10, pass);
    n.answer = Some((250, 4000));
    n.connect(250, false);
    n.run(0.06);
    assert_eq!(n.times(0, |s| s.len > 0), [0.02]);
    assert_eq!(n.received, [4000, 250]);
    assert!(n.has(0, Event::PeerFinished) && !n.has(0, Event::Closed));
    n.write(0, 0, true);
    n.run(10.0);
    for i in 0..2 {
        assert!(n.has(i, Event::Connected) && n.has(i, Event::PeerFinished) && n.has(i, Event::Closed));
        assert_eq!(n.events[i].iter().filter(|&&e| e == Event::Closed).count(), 1);
    }
    // the initial window is 2. So two segments leave at once, and the third segment, with the FIN, leaves after an ACK
    assert_eq!(n.times(1, |s| s.len > 0), [0.03, 0.03, 0.05]);
    assert!(n.log.iter().any(|l| l.1 == 1 && l.2.len == 4000 - 2920 && l.2.flags.has(Flags::FIN)));
    assert_eq!(n.ends[0].stats().retransmits + n.ends[1].stats().retransmits, 0);
}

#[test]
fn full_tcp_holds_the_short_segment_its_ack_and_the_fin() {
    // the one-way delay is 10 ms and the initial window 2. The answer has segments of 1460, 1460 and 1080 bytes. The first two
    // leave at 30 ms and are acknowledged at 40 ms
    let mut n = Net::new(&preset("ns2-fulltcp-sack"), 10, pass);
    n.answer = Some((250, 4000));
    n.connect(250, false);
    n.run(10.0);
    // the ACK of the SYN-ACK is separate, and the request follows it
    let first: Vec<u32> = n.log.iter().filter(|l| l.1 == 0 && l.0.secs() == 0.02).map(|l| l.2.len).collect();
    assert_eq!(first, [0, 250]);
    // the last segment, of 1080 bytes, waits until both full segments are acknowledged, even if the window has room for
    // all three segments
    assert_eq!(n.times(1, |s| s.len > 0), [0.03, 0.03, 0.05]);
    let wide = preset("ns2-fulltcp-sack").with(|p| p.opening.initial_window = InitialWindow::Segments(4));
    let mut m = Net::new(&wide, 10, pass);
    m.answer = Some((250, 4000));
    m.connect(250, false);
    m.run(10.0);
    assert_eq!(m.times(1, |s| s.len > 0), [0.03, 0.03, 0.05]);
    // the short segment arrives at 60 ms and is acknowledged 100 ms later, at 160 ms. Then the FIN is sent, at 170 ms, and
    // acknowledged at once
    assert_eq!(n.times(0, |s| s.ack == 4001), [0.16]);
    assert_eq!(n.times(1, |s| s.flags.has(Flags::FIN)), [0.17]);
    assert_eq!(n.times(0, |s| s.ack == 4002), [0.18]);
}

#[test]
fn one_way_agents_start_at_once_and_send_no_fin() {
    let mut n = Net::new(&preset("ns2-reno"), 10, pass);
    n.connect(20 * 1460, true);
    assert_eq!(n.log.len(), 2);
    n.run(10.0);
    assert_eq!(n.received[1], 29_200);
    assert!(n.has(0, Event::Closed));
    assert!(n.log.iter().all(|l| !l.2.flags.any(Flags::SYN.with(Flags::FIN))));
}

#[test]
fn slow_start_doubles_and_avoidance_adds_one() {
    let p = preset("ns2-reno").with(|p| p.opening.initial_ssthresh = Some(16.0));
    let mut n = Net::new(&p, 50, pass);
    n.connect(u64::MAX, false);
    n.run(0.999);
    // in rounds of 100 ms, 2, 4, 8 and 16 segments are sent. After that, each round sends one more segment than the last round, or
    // sometimes the same number, because the sum of 1/cwnd over a round is slightly less than 1
    let mut rounds = [0; 10];
    n.times(0, |_| true).iter().for_each(|t| rounds[(t * 10.0 + 0.01) as usize] += 1);
    assert_eq!(rounds[..5], [2, 4, 8, 16, 16]);
    for r in 5..9 {
        assert!((0..=1).contains(&(rounds[r + 1] - rounds[r])), "{rounds:?}");
    }
    assert!((20..=21).contains(&rounds[9]), "{rounds:?}");
}

/// Returns a fate function that drops the first transmission of each of end 0's data segments whose number, counted
/// from 0, is in `list`.
fn lose(p: &TcpParams, list: &'static [u64]) -> impl FnMut(usize, usize, &Segment) -> Fate + use<> {
    let mss = u64::from(p.wire.mss);
    move |from, _, s| {
        let lost = from == 0 && !s.retransmission && s.len > 0 && list.contains(&((s.seq - 1) / mss));
        if lost { Fate::Drop } else { Fate::Pass }
    }
}

#[test]
fn fast_retransmit_halves_once_for_a_window() {
    for (recovery, timeouts) in [(Recovery::Sack, 0), (Recovery::Newreno, 0), (Recovery::Reno, 1)] {
        let p = preset("ns2-reno").with(|p| {
            p.detection.recovery = recovery;
            p.opening.initial_window = InitialWindow::Segments(20);
        });
        let p = p.with(|p| p.opening.initial_ssthresh = Some(20.0));
        let mut n = Net::new(&p, 50, lose(&p, &[3, 7, 11]));
        n.connect(200 * 1460, true);
        n.run(60.0);
        assert_eq!(n.received[1], 200 * 1460, "{recovery:?}");
        let st = n.ends[0].stats();
        assert_eq!((st.fast_recoveries, st.timeouts), (1, timeouts), "{recovery:?}");
        if timeouts == 0 {
            assert_eq!(st.retransmits, 3, "{recovery:?}");
            // three ACKs in congestion avoidance have raised the window from 20 to 20.15; ssthresh is half of the
            // window
            assert!((n.ends[0].probe(&p).ssthresh_bytes as f64 / 1460.0 - 10.07).abs() < 0.05);
        }
    }
}

#[test]
fn newreno_repairs_one_hole_per_round_trip_and_sack_all_at_once() {
    for (recovery, span) in [(Recovery::Newreno, 0.2), (Recovery::Sack, 0.0)] {
        let p = preset("ns2-reno").with(|p| {
            p.detection.recovery = recovery;
            p.opening.initial_window = InitialWindow::Segments(20);
        });
        let p = p.with(|p| p.opening.initial_ssthresh = Some(20.0));
        let mut n = Net::new(&p, 50, lose(&p, &[1, 2, 3]));
        n.connect(100 * 1460, true);
        n.run(60.0);
        let t = n.times(0, |s| s.retransmission);
        assert_eq!(t.len(), 3);
        assert!((t[2] - t[0] - span).abs() < 0.001, "{recovery:?}: {t:?}");
    }
}

#[test]
fn limited_transmit_sends_on_the_first_two_duplicates() {
    // with a window of 3, the loss of the first segment leaves two duplicate ACKs, too few for fast retransmit. Limited transmit
    // (RFC 3042) adds the third; without it, there is a timeout
    for (limited_transmit, timeouts) in [(true, 0), (false, 1)] {
        for recovery in [Recovery::Sack, Recovery::Newreno] {
            let p = preset("ns2-reno").with(|p| {
                p.detection.limited_transmit = limited_transmit;
                p.detection.recovery = recovery;
            });
            let p = p.with(|p| {
                p.opening.initial_window = InitialWindow::Segments(3);
                p.opening.initial_ssthresh = Some(3.0);
                p.window.window_clamp = Some(3);
            });
            let mut n = Net::new(&p, 50, lose(&p, &[0]));
            n.connect(30 * 1460, true);
            n.run(60.0);
            assert_eq!(n.received[1], 30 * 1460);
            assert_eq!(n.ends[0].stats().timeouts, timeouts, "{recovery:?}");
        }
    }
}

#[test]
fn a_timeout_goes_back_and_doubles() {
    // the eight segments of the third round, sent at 0.2 s, are lost
    let p = preset("ns2-reno");
    let mut n = Net::new(&p, 50, pass);
    n.connect(400 * 1460, true);
    n.run(0.22);
    n.flying.clear();
    let first = n.ends[0].deadline();
    n.run(first.secs());
    assert_eq!(n.ends[0].probe(&p).state, State::Loss);
    assert_eq!(n.ends[0].probe(&p).cwnd_bytes, 1460);
    // no more segments are lost. The sender goes back to the first lost segment and sends all data from there in order,
    // in slow start (go-back-N)
    n.run(60.0);
    assert_eq!(n.received[1], 400 * 1460);
    assert_eq!(n.ends[0].stats().timeouts, 1);
    // all eight segments of the third round are sent again
    assert_eq!(n.ends[0].stats().retransmits, 8);
}

#[test]
fn a_full_last_segment_with_its_fin_fits_a_window_of_one() {
    // 1460 bytes of payload and the FIN, which occupy 1461 sequence numbers, are lost once. After the timeout, the window
    // is one segment. It counts only payload, so it has room for the segment
    let p = preset("ns2-fulltcp-sack").with(|p| p.quirks.fin_after_data = false);
    let mut n = Net::new(&p, 10, |from, _, s| {
        if from == 0 && s.flags.has(Flags::FIN) && !s.retransmission { Fate::Drop } else { Fate::Pass }
    });
    n.connect(1460, true);
    n.run(10.0);
    assert_eq!(n.received[1], 1460);
    assert!(n.has(1, Event::PeerFinished));
    assert_eq!((n.ends[0].stats().timeouts, n.ends[0].stats().retransmits), (1, 1));
}

#[test]
fn repeated_timeouts_double_up_to_the_cap_and_then_fail() {
    let p = preset("ns2-reno").with(|p| {
        p.rto.retries = Some(9);
        p.rto.max_rto = Duration::from_secs(10);
    });
    let mut n = Net::new(&p, 50, |from, _, s| if from == 0 && s.seq > 1 { Fate::Drop } else { Fate::Pass });
    n.connect(30 * 1460, false);
    n.run(500.0);
    let t = n.times(0, |s| s.seq == 1461);
    // after an RTT sample of 100 ms, RTO = 100 + 4 * 50 = 300 ms, and the timer restarts with the ACK at 0.1 s. The RTO doubles
    // up to the maximum of 10 s
    let gaps: Vec<f64> = t.windows(2).map(|w| ((w[1] - w[0]) * 1000.0).round()).collect();
    assert_eq!(gaps, [400.0, 600.0, 1200.0, 2400.0, 4800.0, 9600.0, 10000.0, 10000.0, 10000.0]);
    assert!(n.has(0, Event::Failed));
}

#[test]
fn delayed_acks_halve_the_acks() {
    let p = exact().with(|p| p.receiver.quick_acks = 0);
    let mut n = Net::new(&p, 10, pass);
    n.connect(1000 * 1448, true);
    n.run(20.0);
    let acks = n.times(1, |s| s.flags.has(Flags::PURE_ACK)).len();
    assert!((500..530).contains(&acks), "{acks}");
    // the handshake takes 20 ms, and the segment arrives 10 ms later. The receiver delays the ACK by 40 ms, until 70 ms
    let mut n = Net::new(&p, 10, pass);
    n.connect(100, false);
    n.run(1.0);
    assert_eq!(n.times(1, |s| s.flags == Flags::PURE_ACK), [0.07]);
}

#[test]
fn acks_at_once_return_after_a_pause() {
    // 16 of 20 segments are acknowledged at once, and the other four in pairs, which makes 18 ACKs. Quick ACKs resume after a
    // pause of a second, because a second is longer than the receiver's RTO of 20 + 200 ms. They also resume after 40
    // minutes, more than half of the 71.6 minutes after which the time stamps repeat, and after 80 minutes
    for (quick_acks_return, want) in [(true, [18; 4]), (false, [18, 10, 10, 10])] {
        let p = exact().with(|p| {
            p.quirks.quick_acks_return = quick_acks_return;
            p.opening.initial_window = InitialWindow::Segments(20);
        });
        let mut n = Net::new(&p, 10, pass);
        n.connect(0, false);
        let mut acks = [0; 4];
        for (count, pause) in acks.iter_mut().zip([1.0, 1.0, 2400.0, 4800.0]) {
            let before = n.log.len();
            n.run(n.now.secs() + pause);
            n.write(0, 20 * 1448, false);
            n.run(n.now.secs() + 0.2);
            *count = n.log[before..].iter().filter(|l| l.1 == 1 && l.2.flags == Flags::PURE_ACK).count();
        }
        assert_eq!(acks, want);
    }
}

#[test]
fn a_long_hole_is_not_a_pause() {
    // the receiver's RTO is 20 + 200 ms. As in Linux (tcp_event_data_recv), only data in order ends a pause
    let p = exact().with(|p| p.opening.handshake = false);
    let mss = u64::from(p.wire.mss);
    let (mut end, mut sent) = (Endpoint::new(&p, 1 << 20), Vec::<Segment>::new());
    end.assume_round_trip(&p, Time::ZERO, Duration::from_millis(20));
    end.listen(&p, Time::ZERO, &mut sent);
    let mut acks = |ms: u64, i: u64| {
        let now = Time(ms * 1_000_000);
        end.on_timer(&p, now, &mut sent);
        sent.clear();
        let segment = Segment { seq: 1 + i * mss, len: p.wire.mss, ts_val: micros(now), ..Segment::default() };
        end.on_segment(&p, now, &segment, &mut sent);
        sent.len()
    };
    // the first 16 ACKs leave at once, then one for every second segment
    assert_eq!((0..20).map(|i| acks(1000, i)).sum::<usize>(), 16 + 2);
    // segment 20 is lost. The ACKs of the fourth and later segments above the hole wait, even if these segments arrive
    // more than an RTO later
    assert_eq!([21, 22, 23, 24].map(|i| acks(1001, i)), [1, 1, 1, 0]);
    assert_eq!([25, 26, 27].map(|i| acks(1500 + i, i)), [0; 3]);
    // segment 20 fills the hole and ends a pause of 600 ms, so 16 quick ACKs follow: its own and 15 more
    assert_eq!((acks(1600, 20), (28..45).map(|i| acks(1601, i)).sum::<usize>()), (1, 15 + 1));
}

#[test]
fn silence_restarts_the_window() {
    for (idle_restart, segments) in [(IdleRestart::Off, 32), (IdleRestart::Restart, 2), (IdleRestart::Decay, 8)] {
        let p = preset("ns2-reno").with(|p| p.window.idle_restart = idle_restart);
        let mut n = Net::new(&p, 50, pass);
        // 2 + 4 + 8 + 16 segments are acknowledged, so the window is 32
        n.connect(30 * 1460, false);
        // RTT samples of 100 ms have lowered the RTO from 300 ms to its minimum, 200 ms. The last segment was sent at
        // 0.3 s
        n.run(0.5);
        let rto = n.ends[0].probe(&p).rto;
        let before = n.log.len();
        n.now = Time(300_000_000) + rto * 2 + Duration::from_millis(10);
        n.write(0, 100 * 1460, false);
        assert_eq!(n.log.len() - before, segments, "{idle_restart:?}");
    }
}

#[test]
fn silence_after_an_ack_is_a_round_trip_shorter() {
    // the last ACK arrives 100 ms after the last segment was sent
    let sent = |idle_restart, silent_ms: u64| {
        let p = preset("ns2-reno").with(|p| p.window.idle_restart = idle_restart);
        let mut n = Net::new(&p, 50, pass);
        n.connect(30 * 1460, false);
        n.run(0.5);
        let (rto, before) = (n.ends[0].probe(&p).rto, n.log.len());
        n.now = n.log.last().unwrap().0 + rto + Duration::from_millis(silent_ms);
        n.write(0, 100 * 1460, false);
        n.log.len() - before
    };
    // the last entry of the log is the departure of the last ACK, which arrives at the sender 50 ms later. The sender
    // writes again 45 or 55 ms plus one RTO after this departure. This is 5 ms before or 5 ms after an RTO has passed
    // since the ACK arrived
    for (idle_restart, just_before, just_after) in
        [(IdleRestart::Restart, 2, 2), (IdleRestart::InitialAfterAck, 32, 2), (IdleRestart::OneAfterAck, 32, 1)]
    {
        assert_eq!((sent(idle_restart, 45), sent(idle_restart, 55)), (just_before, just_after), "{idle_restart:?}");
    }
}

#[test]
fn ecn_reduces_once_per_window_and_loses_nothing() {
    for reduction in [Reduction::Instant, Reduction::RateHalving, Reduction::Prr] {
        let p = preset("rfc").with(|p| {
            p.ecn.ecn = true;
            p.reduction.reduction = reduction;
            p.opening.initial_ssthresh = Some(20.0);
        });
        let mss = u64::from(p.wire.mss);
        // two segments of one window are marked
        let mut n = Net::new(&p, 50, move |from, _, s| {
            let i = (s.seq.max(1) - 1) / mss;
            if from == 0 && s.len > 0 && (i == 300 || i == 302) { Fate::Mark } else { Fate::Pass }
        });
        n.connect(600 * mss, true);
        n.run(60.0);
        let st = n.ends[0].stats();
        assert_eq!((st.ecn_reductions, st.retransmits, n.received[1]), (1, 0, 600 * mss), "{reduction:?}");
        assert_eq!(n.log.iter().filter(|l| l.1 == 0 && l.2.flags.has(Flags::CWR) && l.2.len > 0).count(), 1);
        // the echo lasts from the mark until CWR arrives, which is about a round trip
        let echoes = n.times(1, |s| s.flags.has(Flags::ECE) && s.flags.has(Flags::PURE_ACK));
        assert!(echoes.len() > 3 && echoes[echoes.len() - 1] - echoes[0] < 0.11, "{echoes:?}");
    }
}

#[test]
fn dctcp_s_feedback_ends_with_the_marks() {
    // Two segments of one window are marked. Only the ACKs of these two segments have ECE: DCTCP's feedback does not
    // last until CWR arrives, unlike RFC 3168's. There is still only one reduction
    let p = preset("rfc").with(|p| {
        p.ecn.ecn = true;
        p.ecn.ecn_feedback = EcnFeedback::Dctcp;
        p.opening.initial_ssthresh = Some(20.0);
    });
    let mss = u64::from(p.wire.mss);
    let mut n = Net::new(&p, 50, move |from, _, s| {
        let i = (s.seq.max(1) - 1) / mss;
        if from == 0 && s.len > 0 && (i == 300 || i == 302) { Fate::Mark } else { Fate::Pass }
    });
    n.connect(600 * mss, true);
    n.run(60.0);
    let st = n.ends[0].stats();
    assert_eq!((st.ecn_reductions, st.retransmits, n.received[1]), (1, 0, 600 * mss));
    let echoes = n.log.iter().filter(|l| l.1 == 1 && l.2.flags.has(Flags::ECE) && l.2.flags.has(Flags::PURE_ACK));
    assert_eq!(echoes.map(|l| (l.2.ack - 1) / mss).collect::<Vec<_>>(), [301, 303]);
}

#[test]
fn a_lost_last_ack_is_repeated() {
    // the ACK of the passive side's FIN is lost. The active side, already closed, acknowledges the FIN's retransmission
    let mut dropped = false;
    let mut n = Net::new(&preset("rfc"), 10, move |from, _, s| {
        let last = from == 0 && s.flags.has(Flags::PURE_ACK) && s.ack > 1 && !std::mem::replace(&mut dropped, true);
        if last { Fate::Drop } else { Fate::Pass }
    });
    n.connect(500, true);
    n.run(0.2);
    n.write(1, 0, true);
    n.run(30.0);
    assert!(n.ends[0].is_closed() && n.ends[1].is_closed());
    assert_eq!(n.ends[1].stats().retransmits, 1);
}
