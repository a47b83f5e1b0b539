//! Tests of paced senders: how many segments leave together.

use super::names::*;
use super::net::{Fate, Net};
use super::preset;
use packet::Flags;
use units::{Duration, Time};

/// Returns a sender with BBR and offloads, after its first ten segments of 1000 bytes have left at 1 ms. The assumed
/// round-trip time is `rtt_ms`. The pacing rate is 10 segments per `rtt_ms`, times BBR's startup gain (2.887) and its
/// pacing margin (0.99).
fn opened(rtt_ms: u64) -> (TcpParams, Endpoint, Vec<Segment>) {
    let p = preset("bbr").with(|p| {
        p.wire.mss = 1000;
        p.opening.handshake = false;
        p.pacing.gso_max_segs = 65_535;
    });
    let (mut end, mut sent, now) = (Endpoint::new(&p, 1 << 20), Vec::new(), Time(1_000_000));
    end.assume_round_trip(&p, now, Duration::from_millis(rtt_ms));
    end.connect(&p, now, &mut sent);
    end.write(&p, now, u64::MAX, &mut sent);
    assert_eq!(sent.len(), 10);
    (p, end, sent)
}

#[test]
fn bbr_sends_single_segments_below_1200_kbit_per_second() {
    // 28.6 kB in 400 ms is 0.57 Mbit/s, and 28.6 kB in 40 ms is 5.7 Mbit/s. The first ACK, of two segments, leaves room for four
    for (rtt_ms, together) in [(400, 1), (40, 2)] {
        let (p, mut end, mut sent) = opened(rtt_ms);
        sent.clear();
        let ack = Segment { ack: 2001, has_ack: true, flags: Flags::PURE_ACK, ts_ecr: 1000, ..Segment::default() };
        end.on_segment(&p, Time((1 + rtt_ms) * 1_000_000), &ack, &mut sent);
        assert_eq!(sent.len(), together, "{rtt_ms} ms");
        end.on_timer(&p, end.deadline(), &mut sent);
        assert_eq!(sent.len(), 2 * together, "{rtt_ms} ms");
    }
}

#[test]
fn a_retransmission_is_a_burst_of_its_own() {
    // at this rate, BBR sends bursts of at least two segments. A retransmission and a new segment would fit into one
    // burst, but each retransmission leaves alone
    let p = preset("bbr");
    let fate = |_: usize, _: usize, s: &Segment| {
        let chosen = s.len > 0 && [200, 260, 320].contains(&((s.seq - 1) / 1448)) && !s.retransmission;
        if chosen { Fate::Drop } else { Fate::Pass }
    };
    let mut n = Net::new(&p, 20, fate);
    n.connect(600 * 1448, false);
    n.run(5.0);
    let sent: Vec<_> = n.log.iter().filter(|l| l.1 == 0 && l.2.len > 0).collect();
    let again: Vec<_> = sent.iter().filter(|l| l.2.retransmission).map(|l| l.0).collect();
    assert_eq!(again.len(), 3);
    for at in again {
        assert_eq!(sent.iter().filter(|l| l.0 == at).count(), 1, "{at:?}");
    }
    // bursts of new data
    assert!(sent.windows(2).filter(|pair| pair[0].0 == pair[1].0).count() > 100);
}

/// Returns an ACK of the segments below `below`. For each pair in `sacks`, the ACK has a SACK block of the segments
/// from `.0` up to but not including `.1`.
fn ack(below: u64, sacks: &[(u64, u64)]) -> Segment {
    let byte = |segment: u64| 1 + 1000 * segment;
    let mut ack =
        Segment { ack: byte(below), has_ack: true, flags: Flags::PURE_ACK, ts_ecr: 1000, ..Segment::default() };
    for &(from, to) in sacks {
        ack.flags = ack.flags.with(Flags::SACK);
        ack.sack.push(SackBlock { start: byte(from), end: byte(to) });
    }
    ack
}

#[test]
fn a_recovery_of_bbr_begins_with_one_paced_retransmission() {
    // Segments 2 and 4 of 10 are lost. The SACKs of 3, 5 and 6 begin a recovery, in which one segment may leave for
    // each segment delivered. So the last of these ACKs permits one retransmission, which leaves when the pacer permits
    // it
    let (p, mut end, mut sent) = opened(40);
    sent.clear();
    let repaired = |sent: &[Segment]| sent.iter().filter(|s| s.retransmission).count();
    for (ms, ack) in [(41, ack(2, &[])), (42, ack(2, &[(3, 4)])), (43, ack(2, &[(3, 4), (5, 6)]))] {
        end.on_segment(&p, Time(ms * 1_000_000), &ack, &mut sent);
    }
    assert_eq!(repaired(&sent), 0);
    end.on_segment(&p, Time(43_100_000), &ack(2, &[(3, 4), (5, 7)]), &mut sent);
    assert_eq!(repaired(&sent), 0);
    end.on_timer(&p, end.deadline(), &mut sent);
    assert_eq!((repaired(&sent), sent.last().unwrap().seq), (1, 1 + 2 * 1000));
    end.on_timer(&p, end.deadline(), &mut sent);
    assert_eq!(repaired(&sent), 1);
}

#[test]
fn a_failed_connection_has_no_timer() {
    // at 100 bytes/s, the second segment waits for 10 s. The connection fails before that, at the second timeout
    let p = preset("linux-6").with(|p| {
        p.wire.mss = 1000;
        p.opening.handshake = false;
        p.rto.retries = Some(1);
    });
    let (mut end, mut sent) = (Endpoint::new(&p, 1 << 20), Vec::<Segment>::new());
    end.connect(&p, Time::ZERO, &mut sent);
    end.steer(&p, Time::ZERO, Steer::PacingRate(Some(100.0)), &mut sent);
    end.write(&p, Time::ZERO, 10_000, &mut sent);
    assert_eq!(sent.len(), 1);
    while !end.is_closed() {
        assert!(end.deadline() < Time(10_000_000_000));
        end.on_timer(&p, end.deadline(), &mut sent);
    }
    assert_eq!(end.deadline(), Time::NEVER);
}
