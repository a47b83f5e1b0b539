//! Tests of paced senders: how many segments leave together.

use super::names::*;
use super::preset;
use packet::Flags;
use units::{Duration, Time};

/// Returns a sender with BBR and offloads, after its first ten segments of 1000 bytes have left at 1 ms. The handshake took
/// `rtt_ms`, so the pacing rate is 2.887 x 0.99 x 10 segments per `rtt_ms`.
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
