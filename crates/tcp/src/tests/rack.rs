//! Tests of RACK-TLP: which segments it marks as lost, and when each retransmission leaves.
//!
//! Unless stated otherwise, the one-way delay is 50 ms, packets have no transmission time, and segments are full. RTT and SRTT are
//! 100 ms, so PTO = 2 SRTT + 2 = 202 ms if several segments are in flight. The reordering window is min RTT / 4 = 25 ms, and its
//! timer waits 2 ms longer, as in Linux. Times in comments are in ms after the message is written.

use super::names::*;
use super::net::{Fate, Net};
use super::{pass, preset};
use units::Duration;

/// Returns Linux's stack with an initial window of ten that idle periods do not reduce, exact timers, and an ACK for every
/// segment.
pub(super) fn stack() -> TcpParams {
    let timer_tick = Duration::ZERO;
    preset("linux-6").with(|p| {
        p.receiver.ack_every = 1;
        p.window.idle_restart = IdleRestart::Off;
        p.rto.timer_tick = timer_tick;
    })
}

/// Returns the number of a data segment, counted from 0.
pub(super) fn index(p: &TcpParams, s: &Segment) -> u64 {
    (s.seq.max(1) - 1) / u64::from(p.wire.mss)
}

/// Returns a fate function that drops the first `times` transmissions of data segment `i`, for each pair (`i`, `times`)
/// in the list.
pub(super) fn lose(p: &TcpParams, list: &'static [(u64, u32)]) -> impl FnMut(usize, usize, &Segment) -> Fate + use<> {
    let p = p.clone();
    let mut sent = std::collections::BTreeMap::<u64, u32>::new();
    move |from, _, s| {
        if from != 0 || s.len == 0 {
            return Fate::Pass;
        }
        let i = index(&p, s);
        let nth = sent.entry(i).or_default();
        *nth += 1;
        if list.iter().any(|&(at, times)| at == i && *nth <= times) { Fate::Drop } else { Fate::Pass }
    }
}

/// Sends a message of `segments` segments without a FIN, on a connection that is established and idle and whose SRTT
/// equals the RTT. Returns a pair for each retransmission: its time in milliseconds after the message was written (at 1
/// s), and the number of its segment.
pub(super) fn message<'a>(
    p: &TcpParams,
    segments: u64,
    fate: impl FnMut(usize, usize, &Segment) -> Fate + 'a,
) -> (Net<'a>, Vec<(u64, u64)>) {
    let mut n = Net::new(p, 50, fate);
    n.connect(0, false);
    n.run(1.0);
    n.write(0, segments * u64::from(p.wire.mss), false);
    n.run(10.0);
    assert_eq!(n.received[1], segments * u64::from(p.wire.mss));
    let again = n.log.iter().filter(|l| l.1 == 0 && l.2.retransmission);
    let again = again.map(|l| (l.0.0 / 1_000_000 - 1000, index(p, &l.2))).collect();
    (n, again)
}

#[test]
fn a_lost_tail_is_probed_after_two_round_trips() {
    let p = stack();
    // segments 8 and 9 of ten are lost. The ACK of 7 arrives at 100, so the PTO ends at 100 + 202 = 302. The probe is segment 9.
    // At 402, its SACK shows that 8, sent earlier, is lost
    let (n, again) = message(&p, 10, lose(&p, &[(8, 1), (9, 1)]));
    assert_eq!(again, [(302, 9), (402, 8)]);
    let st = n.ends[0].stats();
    assert_eq!((st.timeouts, st.probes, st.fast_recoveries), (0, 1, 1));
    // without probes, segment 8 is sent again at a timeout, at least 200 + 100 ms after the last ACK
    let p = p.with(|p| {
        p.detection.loss_detection = LossDetection::Dupthresh;
        p.detection.undo = Undo::None;
        p.detection.frto = false;
    });
    let (n, again) = message(&p, 10, lose(&p, &[(8, 1), (9, 1)]));
    assert_eq!(again[0].1, 8);
    assert!(again[0].0 >= 400, "{again:?}");
    assert_eq!((n.ends[0].stats().timeouts, n.ends[0].stats().probes), (1, 0));
}

#[test]
fn the_window_answers_a_loss_that_the_probe_repaired() {
    let p = stack().with(|p| p.control.congestion_control = CongestionControl::Reno);
    // only the last segment is lost. The probe repairs this loss, but only a later ACK shows that there was a loss. With one
    // segment in flight, a PTO of 2 SRTT + 200 ms after the ACK at 100 would expire at 500. The RTO expires earlier,
    // at 400, so the probe is sent then
    let (mut n, again) = message(&p, 10, lose(&p, &[(9, 1)]));
    assert_eq!(again, [(400, 9)]);
    // the sender is in slow start. The window has grown from 10 to 20: by one for each of the nine segments
    // acknowledged, and by one for the segment that the probe delivered
    let before = n.ends[0].probe(&p);
    assert_eq!((before.cwnd_bytes / 1448, before.ssthresh_bytes), (20, u64::MAX));
    n.write(0, 1448, false);
    n.run(20.0);
    let after = n.ends[0].probe(&p);
    // the ACK of the segment that was just written shows that there was a loss. The window is halved, and then grows
    // again
    assert_eq!((after.ssthresh_bytes / 1448, n.ends[0].stats().retransmits), (10, 1));
    assert!(after.cwnd_bytes / 1448 <= 11);

    // no segment is lost, but the last segment arrives 350 ms late. The segment and its probe are acknowledged separately,
    // so the window is not reduced
    let q = p.clone();
    let (mut n, again) = message(&p, 10, move |from, _, s| {
        let last = from == 0 && s.len > 0 && index(&q, s) == 9 && !s.retransmission;
        if last { Fate::Late(Duration::from_millis(350)) } else { Fate::Pass }
    });
    assert_eq!(again, [(400, 9)]);
    n.write(0, 1448, false);
    n.run(20.0);
    assert_eq!(n.ends[0].probe(&p).ssthresh_bytes, u64::MAX);
}

#[test]
fn a_probe_is_new_data_if_there_is_any() {
    // a whole window of four segments is lost. The fifth segment is sent as the probe, and its SACK shows that the four are lost
    let p = stack().with(|p| p.window.window_clamp = Some(4));
    let (n, again) = message(&p, 5, lose(&p, &[(0, 1), (1, 1), (2, 1), (3, 1)]));
    assert_eq!(n.times(0, |s| s.len > 0 && index(&p, s) == 4), [1.202]);
    assert_eq!((again[0], n.ends[0].stats().timeouts), ((302, 0), 0));
    assert_eq!(again.iter().map(|a| a.1).collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[test]
fn a_lone_segment_waits_for_its_delayed_ack() {
    let p = stack().with(|p| {
        p.receiver.quick_acks = 0;
        p.receiver.ack_every = 2;
    });
    // if the segment is lost, a probe is sent after 300 ms: the PTO of 2 SRTT + 200 = 400 ms is limited to the RTO, which is 100
    // + 200 = 300 ms
    let (n, again) = message(&p, 1, lose(&p, &[(0, 1)]));
    assert_eq!(again.len(), 1);
    let rto = again[0].0;
    assert!((300..=400).contains(&rto), "{rto}");
    assert_eq!((n.ends[0].stats().probes, n.ends[0].stats().timeouts), (1, 0));
    // if the segment is not lost, its ACK is delayed by 40 ms, which causes no retransmission
    let (n, again) = message(&p, 1, pass);
    assert_eq!(again, []);
    assert_eq!(n.ends[0].stats().probes, 0);
}

#[test]
fn a_lost_probe_is_followed_by_a_timeout() {
    let p = stack();
    // segments 8 and 9 are lost, and so is the probe at 302. After the probe, a full RTO of 100 + 200 ms passes, without
    // another probe
    let (n, again) = message(&p, 10, lose(&p, &[(8, 1), (9, 2)]));
    assert_eq!(again, [(302, 9), (602, 8), (702, 9)]);
    assert_eq!((n.ends[0].stats().probes, n.ends[0].stats().timeouts), (1, 1));
}

#[test]
fn a_whole_window_lost() {
    let p = stack();
    const ALL: &[(u64, u32)] = &[(0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (7, 1), (8, 1), (9, 1)];
    // the probe at 202 is the last segment. Its SACK at 302 shows that all other segments are lost. They are retransmitted in
    // order, at the rate that PRR allows
    let (n, again) = message(&p, 10, lose(&p, ALL));
    assert_eq!(again[..2], [(202, 9), (302, 0)]);
    assert_eq!(again[1..].iter().map(|a| a.1).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(again.last().unwrap().0 <= 802, "{again:?}");
    assert_eq!(n.ends[0].stats().timeouts, 0);
}

#[test]
fn a_lost_retransmission_is_found_within_a_round_trip_and_a_quarter() {
    // segment 0 is lost twice. The first loss is found at 100, by three SACKs. Data sent after the retransmission at 100 is
    // SACKed from 200 on, which shows the second loss
    let p = stack().with(|p| p.control.congestion_control = CongestionControl::Reno);
    let (n, again) = message(&p, 40, lose(&p, &[(0, 2)]));
    assert_eq!(again.len(), 2, "{again:?}");
    assert_eq!((again[0], again[1].1), ((100, 0), 0));
    assert!((200..=225).contains(&again[1].0), "{again:?}");
    assert_eq!((n.ends[0].stats().timeouts, n.ends[0].stats().fast_recoveries), (0, 1));
    // if segment 0 is lost three times, the third loss is found another round trip later
    let (n, again) = message(&p, 60, lose(&p, &[(0, 3)]));
    assert_eq!((again.len(), n.ends[0].stats().timeouts), (3, 0), "{again:?}");
    assert!(again[2].0 <= 350, "{again:?}");
}

#[test]
fn segments_sent_at_the_same_time_are_ordered_by_their_sending() {
    // ACKs arrive in batches, at 10, 20, ... ms. The ACKs of a batch arrive at the same time, one after the other. The
    // first ACKs of a batch release new data, and a later one releases a retransmission. In the next round, the SACKs
    // of the new data arrive in the same batch as the ACK of the retransmission, but before this ACK
    let batch = Duration::from_millis(10).0;
    for lost in [&[(12, 1)][..], &[(12, 1), (13, 1), (17, 1)], &[(12, 1), (30, 1), (47, 1)]] {
        let p = stack().with(|p| p.control.congestion_control = CongestionControl::Reno);
        let mut n = Net::new(&p, 50, lose(&p, lost));
        n.batch = Duration(batch);
        n.connect(0, false);
        n.run(1.0);
        n.write(0, 200 * 1448, false);
        n.run(10.0);
        assert_eq!(n.received[1], 200 * 1448);
        let again: Vec<u64> =
            n.log.iter().filter(|l| l.1 == 0 && l.2.retransmission).map(|l| index(&p, &l.2)).collect();
        let want: Vec<u64> = lost.iter().map(|(i, _)| *i).collect();
        assert_eq!((again, n.ends[0].stats().timeouts), (want, 0));
    }
}

#[test]
fn reordering_within_a_quarter_of_the_round_trip_is_no_loss() {
    let p = stack();
    // segment 7 arrives 24 ms late, which is within the reordering window. Before that, only segments 8 and 9 are
    // SACKed above segment 7, and two SACKs are fewer than DupThresh (3)
    let late = |ms| {
        let p = stack();
        move |from: usize, _: usize, s: &Segment| {
            let delayed = from == 0 && s.len > 0 && !s.retransmission && index(&p, s) == 7;
            if delayed { Fate::Late(Duration::from_millis(ms)) } else { Fate::Pass }
        }
    };
    let (n, again) = message(&p, 10, late(24));
    assert_eq!((again, n.ends[0].stats().fast_recoveries), (vec![], 0));
    // if segment 7 arrives 40 ms late, its ACK arrives at 140. The timer of the reordering window expires earlier, 25 + 2 ms
    // after the SACKs at 100: at 127
    let (_, again) = message(&p, 10, late(40));
    assert_eq!(again, [(127, 7)]);
    // once reordering has been seen, three or more SACKs no longer indicate a loss at once
    let first = late(24);
    let q = p.clone();
    let mut n = Net::new(&p, 50, move |from: usize, count: usize, s: &Segment| {
        let second = from == 0 && s.len > 0 && index(&q, s) == 12;
        if second { Fate::Late(Duration::from_millis(24)) } else { first(from, count, s) }
    });
    n.connect(0, false);
    n.run(1.0);
    n.write(0, 10 * 1448, false);
    n.run(2.0);
    n.write(0, 10 * 1448, false);
    n.run(9.0);
    assert_eq!(n.received[1], 20 * 1448);
    assert_eq!(n.ends[0].stats().retransmits, 0);
}

#[test]
fn three_sacks_are_a_loss_at_once_while_no_reordering_was_seen() {
    let p = stack();
    // segment 0 is lost. The SACKs of 1, 2 and 3 arrive together at 100
    let (n, again) = message(&p, 10, lose(&p, &[(0, 1)]));
    assert_eq!(again, [(100, 0)]);
    // segment 8 is lost, and only segment 9 is SACKed above it. One SACK does not indicate a loss at once, so segment 8
    // is retransmitted when the timer of the reordering window expires, 25 + 2 ms after the SACK at 100
    let (_, again) = message(&p, 10, lose(&p, &[(8, 1)]));
    assert_eq!(again, [(127, 8)]);
    assert_eq!(n.ends[0].stats().probes, 0);
}

#[test]
fn segments_not_overdue_at_a_timeout_stay_in_flight() {
    let p = stack();
    // the second segment, X, is lost, and so is its probe. The third segment, Y, is sent 50 ms before the timeout that follows
    // the probe
    let mut n = Net::new(&p, 50, lose(&p, &[(1, 2)]));
    n.connect(0, false);
    n.run(1.0);
    n.write(0, 1448, false);
    n.run(2.0);
    n.write(0, 1448, false);
    // a PTO of 2 SRTT + 200 ms would be longer than the RTO, so the probe is sent when an RTO has passed
    let probe_at = n.ends[0].deadline();
    n.run(probe_at.secs() + 0.001);
    assert_eq!((n.ends[0].stats().probes, n.ends[0].stats().timeouts), (1, 0));
    let rto_at = n.ends[0].deadline();
    n.run(rto_at.secs() - 0.05);
    n.write(0, 1448, false);
    n.run(rto_at.secs() + 0.01);
    assert_eq!(n.ends[0].stats().timeouts, 1);
    // X, which was retransmitted, and Y are still in flight
    assert_eq!(n.ends[0].probe(&p).in_flight, 2 * 1448);
    n.run(9.0);
    assert_eq!((n.received[1], n.ends[0].stats().retransmits), (3 * 1448, 2));
}

/// Ten segments of 1000 bytes leave at 1 ms, and one ACK arrives per ms from 51 ms on. Each ACK acknowledges the
/// segments below `.0`, and SACKs the ranges of segments in `.1`. Returns the window in segments and the number of
/// retransmissions after each ACK.
fn after_acks(acks: &[(u64, &[(u64, u64)])]) -> Vec<(u64, u32)> {
    let p = stack().with(|p| {
        p.wire.mss = 1000;
        p.opening.handshake = false;
        p.control.congestion_control = CongestionControl::Reno;
    });
    let (mut end, mut sent) = (Endpoint::new(&p, 1 << 20), Vec::new());
    let ms = |ms: u64| units::Time(ms * 1_000_000);
    end.connect(&p, ms(1), &mut sent);
    end.write(&p, ms(1), u64::MAX, &mut sent);
    assert_eq!(sent.len(), 10);
    let byte = |segment: u64| 1 + 1000 * segment;
    let mut at = 50;
    acks.iter()
        .map(|&(below, sacks)| {
            let flags = packet::Flags::PURE_ACK;
            let mut ack = Segment { ack: byte(below), has_ack: true, flags, ts_ecr: 1000, ..Segment::default() };
            for &(from, to) in sacks {
                ack.flags = ack.flags.with(packet::Flags::SACK);
                ack.sack.push(SackBlock { start: byte(from), end: byte(to) });
            }
            at += 1;
            end.on_segment(&p, ms(at), &ack, &mut sent);
            (end.probe(&p).cwnd_bytes / 1000, end.stats().retransmits)
        })
        .collect()
}

#[test]
fn the_blocks_of_one_ack_show_no_reordering() {
    // segments 0 and 2 are missing, and eight are SACKed by one ACK, because the ACKs before it were lost. In either
    // order of the blocks, both missing segments are sent again at once: pipe is 0 and ssthresh is 5, so PRR allows
    // five segments
    for sacks in [[(1, 2), (3, 10)], [(3, 10), (1, 2)]] {
        assert_eq!(after_acks(&[(0, &sacks)])[0].1, 2, "{sacks:?}");
    }
}

#[test]
fn the_window_grows_on_sacks_once_segments_were_far_out_of_order() {
    // segment 5 overtakes five segments. Afterwards, each delivered segment grows the window once, whether it is SACKed or
    // acknowledged: by 2, 1 and 3 segments. Segments 5 and 6 do not count again when they are acknowledged
    let far: &[(u64, &[(u64, u64)])] = &[(0, &[(5, 6)]), (2, &[(5, 6)]), (2, &[(5, 7)]), (7, &[])];
    assert_eq!(after_acks(far), [(10, 0), (12, 0), (13, 0), (16, 0)]);
    // segment 3 overtakes three, which is no more than DupThresh, so SACKs do not grow the window
    let near: &[(u64, &[(u64, u64)])] = &[(0, &[(3, 4)]), (1, &[(3, 4)]), (1, &[(3, 5)]), (5, &[])];
    assert_eq!(after_acks(near), [(10, 0), (11, 0), (11, 0), (13, 0)]);
}

#[test]
fn the_original_of_a_segment_sent_again_shows_reordering() {
    // after three SACKs, segment 0 is marked as lost and retransmitted. Then its original arrives: the ACK echoes a
    // time before the retransmission. This is reordering, so three SACKs above segment 4 indicate no loss, but grow the
    // window
    let late: &[(u64, &[(u64, u64)])] = &[(0, &[(1, 4)]), (4, &[]), (4, &[(5, 8)])];
    let after = after_acks(late);
    assert_eq!((after[0].1, after[2].1), (1, 1), "{after:?}");
    assert_eq!(after[2].0, after[1].0 + 3, "{after:?}");
}

#[test]
fn a_segment_that_fills_the_last_hole_is_late_by_all_that_is_acknowledged() {
    // segment 1 arrives after segment 2. After this reordering, three SACKs no longer indicate a loss. Segments 4 to 6
    // overtake segment 3, and then one ACK acknowledges segments 3 to 6. So segment 3 was late by four segments, more
    // than DupThresh, and the next SACK grows the window
    let late: &[(u64, &[(u64, u64)])] = &[(1, &[(2, 3)]), (3, &[]), (3, &[(4, 7)]), (7, &[]), (7, &[(8, 9)])];
    let after = after_acks(late);
    assert_eq!(after.iter().map(|a| a.1).max(), Some(0), "{after:?}");
    assert_eq!([after[2].0 - after[1].0, after[4].0 - after[3].0], [0, 1], "{after:?}");
}

#[test]
fn small_segments_are_not_far_out_of_order() {
    // 40 segments of 100 bytes. Segments 0 and 1 are sent again after three SACKs, and then their originals arrive one by one. They
    // were late by at most 400 bytes, which is less than three full segments, so SACKs do not grow the window
    let p = stack().with(|p| {
        p.opening.handshake = false;
        p.window.nagle = false;
        p.window.cwnd_validation = CwndValidation::Off;
        p.control.congestion_control = CongestionControl::Reno;
    });
    let (mut end, mut sent) = (Endpoint::new(&p, 1 << 20), Vec::new());
    let ms = |ms: u64| units::Time(ms * 1_000_000);
    end.connect(&p, ms(1), &mut sent);
    (0..40).for_each(|_| end.write(&p, ms(1), 100, &mut sent));
    assert_eq!(sent.len(), 40);
    let byte = |segment: u64| 1 + 100 * segment;
    let mut windows = Vec::new();
    for (at, below, sacked) in [(51, 0, 5), (52, 1, 5), (53, 2, 5), (54, 5, 5), (55, 5, 36)] {
        let mut ack = Segment {
            ack: byte(below),
            has_ack: true,
            flags: packet::Flags::PURE_ACK,
            ts_ecr: 1000,
            ..Segment::default()
        };
        let start = if sacked > 5 { 6 } else { 2 };
        if below < 3 || sacked > 5 {
            ack.flags = ack.flags.with(packet::Flags::SACK);
            ack.sack.push(SackBlock { start: byte(start), end: byte(sacked) });
        }
        end.on_segment(&p, ms(at), &ack, &mut sent);
        windows.push(end.probe(&p).cwnd_bytes);
    }
    assert_eq!((end.stats().retransmits, end.stats().undone), (2, 1), "{windows:?}");
    assert_eq!(windows[3], windows[4], "{windows:?}");
}
