//! Tests of spurious reductions. As in [`super::rack`], the one-way delay is 50 ms, SRTT 100 ms and the PTO 202 ms, and times are
//! in ms after the message is written.

use super::names::*;
use super::net::{Fate, Net};
use super::rack::{index, lose, message, stack};
use units::Duration;

fn reno() -> TcpParams {
    stack().with(|p| p.control.congestion_control = CongestionControl::Reno)
}

/// Delays the first transmission of each segment in the list by `ms` milliseconds.
fn late(p: &TcpParams, list: &'static [u64], ms: u64) -> impl FnMut(usize, usize, &Segment) -> Fate + use<> {
    let p = p.clone();
    move |from, _, s| {
        let delayed = from == 0 && s.len > 0 && !s.retransmission && list.contains(&index(&p, s));
        if delayed { Fate::Late(Duration::from_millis(ms)) } else { Fate::Pass }
    }
}

/// Returns ssthresh in segments, and the number of reductions undone.
fn left(n: &Net<'_>) -> (u64, u32) {
    let ssthresh = n.ends[0].probe(&n.p).ssthresh_bytes;
    (if ssthresh == u64::MAX { ssthresh } else { ssthresh / 1448 }, n.ends[0].stats().undone)
}

#[test]
fn a_recovery_for_a_late_segment_is_undone() {
    // segment 7 arrives 40 ms late, so its ACK arrives at 140. The timer of the reordering window expires before that, 25 + 2 ms
    // after the SACKs at 100. So segment 7 is retransmitted at 127, when the congestion window is 17
    let both = reno();
    let (n, again) = message(&both, 10, late(&both, &[7], 40));
    assert_eq!((again, left(&n)), (vec![(127, 7)], (u64::MAX, 1)));
    // the ACK of the original segment echoes a time stamp that is older than the retransmission at 127. This proves,
    // even without D-SACK, that the original arrived
    let eifel = reno().with(|p| p.receiver.dsack = false);
    let (n, _) = message(&eifel, 10, late(&eifel, &[7], 40));
    assert_eq!(left(&n), (u64::MAX, 1));
    // without time stamps, only a D-SACK shows that the retransmission was not needed. The receiver sends this D-SACK
    // at 177, when the retransmission arrives
    let dsack = reno().with(|p| p.wire.timestamps = false);
    let (n, _) = message(&dsack, 10, late(&dsack, &[7], 40));
    assert_eq!(left(&n), (u64::MAX, 1));
    let dsacks = n.log.iter().filter(|l| l.1 == 1 && l.2.sack.as_slice().first().is_some_and(|b| b.start < l.2.ack));
    let dsacks: Vec<_> = dsacks.map(|l| (l.0.0 / 1_000_000 - 1000, l.2.sack.as_slice()[0])).collect();
    assert_eq!(dsacks, [(177, SackBlock { start: 1 + 7 * 1448, end: 1 + 8 * 1448 })]);
    // without time stamps and D-SACK, or without undo, the window is halved and not restored. The window was 17: ten, plus seven
    // segments acknowledged before the SACKs of 8 and 9
    for p in [
        reno().with(|p| {
            p.wire.timestamps = false;
            p.receiver.dsack = false;
        }),
        reno().with(|p| {
            p.detection.undo = Undo::None;
            p.detection.frto = false;
        }),
    ] {
        let (n, again) = message(&p, 10, late(&p, &[7], 40));
        assert_eq!((again, left(&n)), (vec![(127, 7)], (8, 0)));
    }
}

#[test]
fn a_recovery_for_a_lost_segment_stands() {
    for p in [reno(), reno().with(|p| p.wire.timestamps = false)] {
        let (n, again) = message(&p, 10, lose(&p, &[(7, 1)]));
        assert_eq!((again, left(&n)), (vec![(127, 7)], (8, 0)));
        // segment 3 is lost and segment 5 is late, so both are retransmitted. The D-SACK reports only the retransmission of 5,
        // and no ACK of new data echoes a time before the first retransmission
        let q = p.clone();
        let mut both = late(&p, &[5], 40);
        let (n, again) = message(&p, 10, move |from, count, s| {
            let lost = from == 0 && s.len > 0 && !s.retransmission && index(&q, s) == 3;
            if lost { Fate::Drop } else { both(from, count, s) }
        });
        assert_eq!((again.len(), left(&n).1), (2, 0), "{again:?}");
    }
}

#[test]
fn the_reordering_window_grows_by_d_sack() {
    for (dsack, retransmits) in [(true, 1), (false, 2)] {
        let p = reno().with(|p| p.receiver.dsack = dsack);
        let mut n = Net::new(&p, 50, late(&p, &[7, 17], 40));
        n.connect(0, false);
        for at in [1.0, 2.0] {
            n.run(at);
            n.write(0, 10 * 1448, false);
        }
        n.run(9.0);
        assert_eq!(n.received[1], 20 * 1448);
        // the reordering window of 25 ms, plus Linux's 2 ms, is too short for the delay of 40 ms, so segment 7 is
        // retransmitted. A D-SACK for segment 7 doubles the reordering window to 50 ms, two quarters of the RTT. This
        // is long enough, so segment 17 is not retransmitted
        assert_eq!(n.ends[0].stats().retransmits, retransmits, "dsack {dsack}");
    }
}

#[test]
fn a_timeout_for_a_longer_delay_is_undone() {
    // the data of the message arrives 600 ms late. The probe at 202 is new data, and the RTO ends 100 + 200 ms later,
    // at 502. The ACKs of the first window arrive at 700
    let slow = |from: usize, _: usize, s: &Segment| {
        if from == 0 && s.len > 0 { Fate::Late(Duration::from_millis(600)) } else { Fate::Pass }
    };
    let frto = reno().with(|p| {
        p.wire.timestamps = false;
        p.receiver.dsack = false;
        p.detection.undo = Undo::None;
    });
    let (n, again) = message(&frto, 30, slow);
    // F-RTO answers the first ACK, at 700, with new data. The second ACK covers segment 1, which was never
    // retransmitted, so it was only late, and the timeout was spurious
    assert_eq!((again, left(&n)), (vec![(502, 0)], (u64::MAX, 1)));
    // with time stamps, the first ACK shows that the timeout was spurious
    let eifel = reno().with(|p| {
        p.detection.frto = false;
        p.receiver.dsack = false;
    });
    let (n, again) = message(&eifel, 30, slow);
    assert_eq!((again, left(&n)), (vec![(502, 0)], (u64::MAX, 1)));
    // without F-RTO and undo, all data in flight is retransmitted
    let none = frto.with(|p| p.detection.frto = false);
    let (n, again) = message(&none, 30, slow);
    assert!(again.len() > 5, "{again:?}");
    assert_eq!(left(&n).1, 0);
}

#[test]
fn a_timeout_for_a_lost_window_stands() {
    const ALL: &[(u64, u32)] =
        &[(0, 2), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (7, 1), (8, 1), (9, 1), (10, 1)];
    // the first window (segments 0 to 9), the probe (segment 10) and the first retransmission of segment 0 are lost, so
    // there are two timeouts. F-RTO then sends new data; the SACK of this data shows that the loss was real
    for p in [reno(), reno().with(|p| p.wire.timestamps = false)] {
        let (n, again) = message(&p, 30, lose(&p, ALL));
        assert_eq!(left(&n).1, 0, "{again:?}");
        assert_eq!(n.ends[0].stats().timeouts, 2);
        assert_eq!(again.iter().filter(|a| a.1 > 0).count(), 10, "{again:?}");
    }
}

#[test]
fn a_probe_that_was_not_needed_reduces_nothing() {
    // the ACK of the last segment is lost. The probe triggers a cumulative ACK, with a D-SACK if the receiver sends
    // D-SACKs. Without D-SACK, the probe seems to have repaired a loss, so the window is halved
    for (dsack, halved) in [(true, false), (false, true)] {
        let p = reno().with(|p| p.receiver.dsack = dsack);
        let mut lost = false;
        let (mut n, again) = message(&p, 10, move |from, _, s| {
            let last = from == 1 && s.ack == 1 + 10 * 1448 && !lost;
            lost |= last;
            if last { Fate::Drop } else { Fate::Pass }
        });
        assert_eq!(again.len(), 1);
        n.write(0, 1448, false);
        n.run(20.0);
        assert_eq!(left(&n).0 < u64::MAX, halved, "dsack {dsack}");
    }
}
