//! Tests that the RTT sample comes from the right segment. Four full segments are sent at 0, 1, 2 and 3 ms, and an ACK
//! arrives at 50 ms.

use super::names::*;
use packet::Flags;
use units::{Duration, Time};

fn ms(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

/// Returns SRTT in ms after a single ACK. The ACK acknowledges all segments below `below`, SACKs the segments from
/// `sack.0` up to but not including `sack.1`, and echoes a time stamp of `echo` ms. If `again` is true, the first
/// segment is retransmitted at 46 ms, before the ACK arrives.
fn measured(source: RttSource, below: u64, sack: Option<(u64, u64)>, echo: u32, again: bool) -> u64 {
    let p = TcpParams::preset("linux-6").unwrap().with(|p| {
        p.rto.rtt_source = source;
        p.opening.handshake = false;
        p.rto.timer_tick = Duration::ZERO;
        p.rto.initial_rto = Duration::from_millis(46);
        p.detection.loss_detection = LossDetection::Dupthresh;
        p.detection.undo = Undo::None;
        p.detection.frto = false;
    });
    p.validate().unwrap();
    let (mss, mut sent) = (u64::from(p.wire.mss), Vec::<Segment>::new());
    let mut end = Endpoint::new(&p, p.first_window());
    end.connect(&p, Time::ZERO, &mut sent);
    (0..4).for_each(|n| end.write(&p, ms(n), mss, &mut sent));
    assert_eq!(sent.len(), 4);
    if again {
        end.on_timer(&p, end.deadline(), &mut sent);
        assert_eq!((sent.len(), sent[4].seq), (5, 1), "the timeout sends the first segment again");
    }
    let byte = |segment: u64| 1 + segment * mss;
    let mut ack = Segment {
        ack: byte(below),
        has_ack: true,
        flags: Flags::PURE_ACK,
        ts_val: 50_000,
        ts_ecr: echo * 1000,
        ..Segment::default()
    };
    if let Some((from, to)) = sack {
        ack.flags = ack.flags.with(Flags::SACK);
        ack.sack.push(SackBlock { start: byte(from), end: byte(to) });
    }
    end.on_segment(&p, ms(50), &ack, &mut sent);
    end.probe(&p).srtt.0 / 1_000_000
}

#[test]
fn the_sample_is_from_the_oldest_segment_or_the_echo() {
    use RttSource::{Echo, SendTime};
    // one ACK covers the first three segments and echoes the time stamp of the third. The first segment was sent 50 ms ago, and
    // the third 48 ms ago
    assert_eq!([SendTime, Echo].map(|source| measured(source, 3, None, 2, false)), [50, 48]);
    // If an ACK SACKs only the third and the fourth segment, the send time of the third segment gives the sample,
    // because the third was sent earlier than the fourth. With `Echo`, there is no sample, because no new data is
    // acknowledged.
    assert_eq!([SendTime, Echo].map(|source| measured(source, 0, Some((2, 4)), 1, false)), [48, 0]);
    // acknowledged segments take precedence over SACKed segments
    assert_eq!(measured(SendTime, 1, Some((2, 3)), 3, false), 50);
}

#[test]
fn a_segment_sent_twice_gives_no_sample() {
    use RttSource::{Echo, SendTime};
    // the ACK covers two segments, of which the first was sent twice. As in Linux, send times then give no
    // sample, not even that of the second segment. So with both sources, the sample comes from the echoed time stamp, 1
    // ms: 50 - 1 = 49 ms
    assert_eq!([SendTime, Echo].map(|source| measured(source, 2, None, 1, true)), [49, 49]);
    // the third segment, which is SACKed, was sent once, 48 ms ago
    assert_eq!(measured(SendTime, 1, Some((2, 3)), 1, true), 48);
}
