//! Tests with ACKs that an honest receiver would not send.

use super::names::*;
use packet::Flags;
use units::Time;

#[derive(Default)]
struct Out(Vec<Segment>);
impl Io for Out {
    fn send(&mut self, segment: &Segment) {
        self.0.push(*segment);
    }
    fn event(&mut self, _: Event) {}
}

/// Returns a sender that has written ten segments and sent its first window, and the sequence number at which the first
/// segment ends.
fn sending(p: &TcpParams, now: Time, out: &mut Out) -> (Endpoint, u64) {
    let mut end = Endpoint::new(p, p.first_window());
    end.connect(p, now, out);
    end.write(p, now, 10 * u64::from(p.wire.mss), out);
    (end, 1 + u64::from(p.wire.mss))
}

fn ack(at: u64, start: u64, end: u64) -> Segment {
    let flags = Flags::PURE_ACK.with(Flags::SACK);
    let mut segment = Segment { ack: at, has_ack: true, flags, ..Segment::default() };
    segment.sack.push(SackBlock { start, end });
    segment
}

#[test]
fn a_head_that_is_sacked_and_never_acknowledged_is_sent_again() {
    // RFC 2018 §5: after a timeout, the sender must retransmit the first outstanding segment even if it was SACKed,
    // because the receiver may have discarded it
    for (name, _) in PRESETS {
        let p = TcpParams::preset(name).unwrap().with(|p| {
            p.opening.handshake = false;
            p.rto.retries = None;
        });
        let (mut now, mut out) = (Time(1_000_000_000), Out::default());
        let (mut end, first) = sending(&p, now, &mut out);
        end.on_segment(&p, now, &ack(1, 1, first), &mut out);
        out.0.clear();
        for _ in 0..4 {
            now = now.max(end.deadline());
            end.on_timer(&p, now, &mut out);
        }
        assert!(out.0.iter().any(|s| s.seq == 1), "{name}: {:?}", out.0);
    }
}

#[test]
fn an_ack_within_a_sacked_segment_is_no_more_than_it_says() {
    for (name, _) in PRESETS {
        let p = TcpParams::preset(name).unwrap().with(|p| p.opening.handshake = false);
        let (now, mut out) = (Time(1_000_000_000), Out::default());
        let (mut end, first) = sending(&p, now, &mut out);
        end.on_segment(&p, now, &ack(1, 1, first), &mut out);
        end.on_segment(&p, now, &ack(first / 2, first / 2, first), &mut out);
        assert_eq!(end.acked(), first / 2 - 1, "{name}");
        assert!(end.probe(&p).cwnd_bytes < 20 * u64::from(p.wire.mss), "{name}: {:?}", end.probe(&p));
    }
}
