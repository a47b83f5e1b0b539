//! Tests of packets that carry several segments: scripted cases, ECN marks, and a property test that every byte arrives
//! exactly once, whichever packets are split, lost or retransmitted.

use super::names::*;
use super::net::{Fate, Net};
use super::{exact, pass};
use packet::Flags;
use proptest::prelude::*;
use units::{Duration, Rng};

fn tso() -> TcpParams {
    exact().with(|p| {
        p.pacing.tso = true;
        p.pacing.gso_max_segs = 65_535;
        p.receiver.ack_pushed = true;
    })
}

/// Returns the data packets sent by end 0: time in ms, first byte and length.
fn data(n: &Net<'_>) -> Vec<(u64, u64, u32)> {
    n.log.iter().filter(|l| l.1 == 0 && l.2.len > 0).map(|l| (l.0.0 / 1_000_000, l.2.seq, l.2.len)).collect()
}

#[test]
fn a_burst_is_one_packet_and_has_one_ack() {
    // TSO autosizing: the pacing rate is 2 x 10 segments per RTT of 2 ms, so the sender may send 14 140 bytes in 1/1024
    // s. At this RTT, a burst may have 64 KB / 8 = 8192 bytes more. This makes 22 332 bytes, or 15 segments, but a
    // burst is also limited to half of the window, which is 5 segments.
    let p = tso();
    let mut n = Net::new(&p, 1, pass);
    n.connect(14_480, true);
    n.run(1.0);
    assert_eq!(data(&n), [(2, 1, 7240), (2, 7241, 7240)]);
    let acks: Vec<u64> = n.log.iter().filter(|l| l.1 == 1 && l.2.flags == Flags::PURE_ACK).map(|l| l.2.ack).collect();
    // the last segment carries the FIN, which occupies one more sequence number
    assert_eq!(acks, [7241, 14_482]);
    let first = n.log.iter().find(|l| l.2.len > 0).unwrap().2;
    assert_eq!((first.segments(), p.wire.packet_size(&first)), (5, 5 * 1500));
    assert!(first.flags.has(Flags::GSO.with(Flags::PSH)));
}

#[test]
fn a_packet_is_cut_into_its_segments() {
    let flags = Flags::GSO.with(Flags::PSH).with(Flags::FIN).with(Flags::CWR);
    let s = Segment { seq: 101, len: 2500, gso_size: 1000, flags, ts_val: 7, ..Segment::default() };
    let pieces: Vec<Segment> = s.cut().collect();
    let seen: Vec<_> = pieces.iter().map(|s| (s.seq, s.len, s.gso_size, s.flags)).collect();
    let end = Flags::PSH.with(Flags::FIN);
    assert_eq!(seen, [(101, 1000, 0, Flags::CWR), (1101, 1000, 0, Flags::default()), (2101, 500, 0, end)]);
    assert!(pieces.iter().all(|s| s.ts_val == 7));
    // every segment has AccECN's counter
    let counted = Segment { flags: Flags::GSO.with(Flags::ACE).with_ace(7), ..s };
    assert!(counted.cut().all(|s| s.flags == Flags::ACE.with_ace(7)));
    let one = Segment { gso_size: 0, flags: end, ..s };
    assert_eq!(one.cut().collect::<Vec<_>>(), [one]);
    let p = tso().with(|p| p.wire.mss = 1000);
    assert_eq!(pieces.iter().map(|s| p.wire.packet_size(s)).sum::<u16>(), p.wire.packet_size(&s));
}

/// The sender sends two packets of five segments each, and the second packet is lost. (`count` is 0 for the SYN.) A tail
/// loss probe resends the last segment, and its SACK shows that the other four are lost. PRR retransmits them as the
/// window allows, with adjacent segments joined in one packet.
#[test]
fn a_lost_packet_is_five_lost_segments() {
    let mut n = Net::new(&tso(), 1, |from, count, _| if from == 0 && count == 2 { Fate::Drop } else { Fate::Pass });
    n.connect(14_480, true);
    n.run(5.0);
    let again: u32 = n.log.iter().filter(|l| l.2.retransmission).map(|l| l.2.len).sum();
    assert_eq!((again, n.ends[0].stats().retransmits), (7240, 5), "{:?}", data(&n));
    let packets = n.log.iter().filter(|l| l.2.retransmission).count();
    assert!(packets < 5, "{packets}: {:?}", data(&n));
    assert_eq!(n.received[1], 14_480);
}

/// A mark on a packet of several segments counts once for each of them.   Source: RFC 9768 §3.2.2.
#[test]
fn a_mark_counts_for_every_segment() {
    let accecn = tso()
        .with(|p| {
            p.ecn.ecn = true;
            p.ecn.ecn_feedback = EcnFeedback::Accecn;
            p.ecn.accecn_option = true;
        })
        .with_options();
    let mut n = Net::new(&accecn, 1, |from, _, s| if from == 0 && s.len > 0 { Fate::Mark } else { Fate::Pass });
    n.connect(100 * 1436, true);
    n.run(5.0);
    assert!(n.log.iter().any(|l| l.2.segments() > 4), "{:?}", data(&n));
    assert_eq!(n.ends[0].stats().ce_reported, 100);
}

/// DCTCP's receiver acknowledges the segments before a change of the CE mark separately from the segments after it. If
/// all segments before a marked packet are already acknowledged, the receiver sends no extra ACK, however many segments
/// the marked packet has.
#[test]
fn a_mark_on_a_packet_is_no_reason_for_an_empty_ack() {
    let p = tso().with(|p| {
        p.ecn.ecn = true;
        p.ecn.ecn_feedback = EcnFeedback::Dctcp;
    });
    let mut n = Net::new(&p, 1, |from, count, _| if from == 0 && count == 2 { Fate::Mark } else { Fate::Pass });
    n.connect(14_480, true);
    n.run(1.0);
    let acks: Vec<u64> = n.log.iter().filter(|l| l.1 == 1 && l.2.seq_len() == 0).map(|l| l.2.ack).collect();
    assert_eq!(acks, [7241, 14_482]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Packets are lost as a whole, split and lost in part, delayed or marked. Every byte arrives exactly once, in both
    /// directions.
    #[test]
    fn every_byte_once(
        seed: u64,
        loss in 0.0..0.2f64,
        cut in 0.0..1.0f64,
        b in any::<[bool; 8]>(),
        mss in prop::sample::select(vec![1_u32, 100, 536, 1448, 8948, 65_000]),
        gso_max_segs in prop::sample::select(vec![2_u32, 3, 17, 65_535]),
        request in 1u64..20_000,
        answer in 0u64..200_000,
    ) {
        let (request, answer) = if mss == 1 { (request % 500 + 1, answer % 2000) } else { (request, answer) };
        let congestion_control = [CongestionControl::Cubic, CongestionControl::Bbr, CongestionControl::Reno][usize::from(b[0]) + usize::from(b[1])];
        let ecn_feedback = if b[3] { EcnFeedback::Accecn } else { EcnFeedback::Rfc3168 };
        let p = tso().with(|p| { p.wire.mss = mss; p.pacing.gso_max_segs = gso_max_segs; p.control.congestion_control = congestion_control; p.ecn.ecn = b[2]; p.ecn.ecn_feedback = ecn_feedback; p.ecn.accecn_option = b[3] && b[4]; p.pacing.paced = b[5]; p.window.nagle = b[6]; p.opening.handshake = b[7]; p.receiver.receive_window = ReceiveWindow::fixed(units::Bytes(200_000)); p.rto.retries = None; p.opening.syn_retries = None; p.rto.max_rto = Duration::from_secs(20); });
        let mut rng = Rng::named(seed, "pipe");
        let mut n = Net::new(&p, 20, move |_, count, _| {
            if count < 2000 && rng.chance(loss) {
                Fate::Drop
            } else if count < 2000 && rng.chance(cut) {
                let lost = if rng.chance(0.5) { rng.bits() & rng.bits() } else { 0 };
                Fate::Cut(lost)
            } else if rng.chance(0.1) {
                Fate::Late(Duration(rng.below(60_000_000)))
            } else if rng.chance(0.05) {
                Fate::Mark
            } else {
                Fate::Pass
            }
        });
        n.answer = Some((request, answer));
        n.connect(request, true);
        n.run(100_000.0);
        prop_assert_eq!(n.received, [answer, request], "{:?}", n.ends);
        prop_assert!(n.log.iter().all(|l| l.2.segments() <= gso_max_segs));
        for i in 0..2 {
            prop_assert!(n.has(i, Event::Closed) && !n.has(i, Event::Failed));
        }
    }
}
