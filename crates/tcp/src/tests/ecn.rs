//! Tests of ECN: the result of the handshake, which packets are ECN-capable, the reduction after a mark, and the property that
//! every mark is counted once.

use super::names::*;
use super::net::{Fate, Net};
use super::preset;
use crate::feedback::EcnUse::{self, Accurate, Classic, Echo, Off};
use packet::{Ecn, Flags};
use proptest::prelude::*;
use units::{Rng, Time};

impl Io for (Vec<Segment>, ()) {
    fn send(&mut self, segment: &Segment) {
        self.0.push(*segment);
    }
    fn event(&mut self, _: Event) {}
}

/// Runs a handshake. Returns the ECN bits (AE, CWR and ECE) of the SYN, the SYN-ACK and the next packet, and the kind
/// of ECN that the client and the server use after the handshake. `marks` has two flags: whether the network marks the
/// SYN, and whether it marks the SYN-ACK.
fn handshake(client: &TcpParams, server: &TcpParams, marks: [bool; 2]) -> ([u8; 3], [EcnUse; 2]) {
    let (mut c, mut s) = (Endpoint::new(client, 100_000), Endpoint::new(server, 100_000));
    let (mut out, now) = ((Vec::new(), ()), Time(1_000_000));
    let marked = |mut segment: Segment, marks: bool| {
        if marks && segment.ecn != Ecn::NotEct {
            segment.ecn = Ecn::Ce;
        }
        segment
    };
    c.connect(client, now, &mut out);
    let syn = out.0[0];
    s.on_segment(server, now, &marked(syn, marks[0]), &mut out);
    let answer = out.0[1];
    c.on_segment(client, now, &marked(answer, marks[1]), &mut out);
    let third = out.0[2];
    s.on_segment(server, now, &third, &mut out);
    ([syn, answer, third].map(|s| s.flags.ace()), [c.ecn(), s.ecn()])
}

#[test]
fn both_ends_use_what_both_support() {
    let none = preset("linux-6");
    let old = preset("linux-6").with(|p| p.ecn.ecn = true);
    let accecn = old.clone().with(|p| p.ecn.ecn_feedback = EcnFeedback::Accecn);
    let all = accecn.clone().with(|p| p.ecn.ect_on = Some(EctOn::All));
    let l4s = all.clone().with(|p| p.ecn.ect = Some(Ect::Ect1));
    let prague = preset("prague");
    let quiet = [false; 2];
    for (client, server, marks, bits, used) in [
        (&none, &accecn, quiet, [0b000, 0b000, 0b000], [Off, Off]),
        (&old, &none, quiet, [0b011, 0b000, 0b000], [Off, Off]),
        (&old, &old, quiet, [0b011, 0b001, 0b000], [Classic, Classic]),
        (&old, &accecn, quiet, [0b011, 0b001, 0b000], [Classic, Classic]),
        // a client with AccECN falls back to RFC 3168's ECN, or to no ECN
        (&accecn, &old, quiet, [0b111, 0b001, 0b000], [Classic, Classic]),
        (&accecn, &none, quiet, [0b111, 0b000, 0b000], [Off, Off]),
        // the SYN and the SYN-ACK are not ECN-capable in the first of these five cases, but are in the other four. The
        // network marks the SYN in the fourth case, and the SYN-ACK in the fifth
        (&accecn, &accecn, quiet, [0b111, 0b010, 0b010], [Accurate, Accurate]),
        (&all, &all, quiet, [0b111, 0b100, 0b100], [Accurate, Accurate]),
        (&l4s, &l4s, quiet, [0b111, 0b011, 0b011], [Accurate, Accurate]),
        (&all, &all, [true, false], [0b111, 0b110, 0b100], [Accurate, Accurate]),
        (&all, &all, [false, true], [0b111, 0b100, 0b110], [Accurate, Accurate]),
        // Prague needs AccECN. If the peer supports only RFC 3168's ECN, Prague's end sends no ECN-capable packets after
        // the handshake, but its ACKs report the marks of the peer's packets
        (&prague, &accecn, quiet, [0b111, 0b011, 0b010], [Accurate, Accurate]),
        (&prague, &old, quiet, [0b111, 0b001, 0b000], [Echo, Classic]),
        (&old, &prague, quiet, [0b011, 0b001, 0b000], [Classic, Echo]),
    ] {
        assert_eq!(handshake(client, server, marks), (bits, used));
    }
}

#[test]
fn a_repeated_syn_ack_reports_no_mark() {
    for name in ["reno", "rfc", "dctcp", "bbr3", "prague"] {
        let p = preset(name).with(|p| p.ecn.ecn = true);
        // the client's ACK of the SYN-ACK is lost, so the server repeats the SYN-ACK. With RFC 3168's ECN, the repeated
        // SYN-ACK has ECE, which does not report a mark
        let mut n = Net::new(&p, 10, |from, count, _| if from == 0 && count == 1 { Fate::Drop } else { Fate::Pass });
        n.connect(0, false);
        n.run(0.5);
        let window = n.ends[0].probe(&p).cwnd_bytes;
        n.run(3.0);
        assert_eq!(n.times(1, |s| s.flags.has(Flags::SYN)).len(), 2, "{name}");
        assert!(n.has(1, Event::Connected), "{name}");
        let (probe, stats) = (n.ends[0].probe(&p), n.ends[0].stats());
        assert_eq!((probe.cwnd_bytes, stats.ecn_reductions, stats.ce_reported), (window, 0, 0), "{name}");
    }
}

/// Returns the ECN fields of a connection's packets, one list each for SYNs, new data, retransmissions and pure ACKs. A
/// run of equal fields is one entry of the list.
fn fields(p: &TcpParams) -> [Vec<Ecn>; 4] {
    let mut dropped = false;
    let mut n = Net::new(p, 10, move |from, _, s| {
        let first = from == 0 && s.seq > 3000 && s.len > 0 && !std::mem::replace(&mut dropped, true);
        if first { Fate::Drop } else { Fate::Pass }
    });
    n.answer = Some((50_000, 5000));
    n.connect(50_000, true);
    n.run(20.0);
    let of = |which: &dyn Fn(&Segment) -> bool| {
        let mut all: Vec<Ecn> = n.log.iter().filter(|l| which(&l.2)).map(|l| l.2.ecn).collect();
        all.dedup();
        assert!(!all.is_empty());
        all
    };
    [
        of(&|s| s.flags.has(Flags::SYN)),
        of(&|s| s.len > 0 && !s.retransmission),
        of(&|s| s.len > 0 && s.retransmission),
        of(&|s| s.flags.has(Flags::PURE_ACK)),
    ]
}

#[test]
fn which_packets_are_capable() {
    let old = preset("linux-6").with(|p| p.ecn.ecn = true);
    let accecn = old.clone().with(|p| p.ecn.ecn_feedback = EcnFeedback::Accecn);
    let (not, ect0, ect1) = (vec![Ecn::NotEct], vec![Ecn::Ect0], vec![Ecn::Ect1]);
    assert_eq!(fields(&old), [&not, &ect0, &not, &not].map(Vec::clone));
    assert_eq!(fields(&accecn), [&not, &ect0, &ect0, &ect0].map(Vec::clone));
    assert_eq!(fields(&preset("dctcp")), [&ect0; 4].map(Vec::clone));
    assert_eq!(fields(&preset("prague")), [&ect1; 4].map(Vec::clone));
}

#[test]
fn invalid_combinations_are_refused() {
    let linux = || preset("linux-6");
    let control = |congestion_control, ecn, ecn_feedback| {
        linux().with(|p| {
            p.control.congestion_control = congestion_control;
            p.ecn.ecn = ecn;
            p.ecn.ecn_feedback = ecn_feedback;
        })
    };
    use CongestionControl::{Dctcp, Ledbat, Prague};
    for (p, said) in [
        (control(Prague, false, EcnFeedback::Accecn), "ecn: false is not valid with prague"),
        (control(Prague, true, EcnFeedback::Rfc3168), "ecn_feedback: \"rfc3168\" is not valid with prague"),
        (
            control(Prague, true, EcnFeedback::Accecn).with(|p| p.ecn.ect = Some(Ect::Ect0)),
            "ect: \"ect0\" is not valid with prague",
        ),
        (control(Prague, true, EcnFeedback::Dctcp), "expected \"accecn\""),
        (control(Dctcp, true, EcnFeedback::Rfc3168), "expected \"dctcp\" or \"accecn\""),
        (linux().with(|p| p.ecn.accecn_option = true), "accecn_option: true is not valid without"),
        (
            linux().with(|p| {
                p.control.shared.beta_ecn = Some(0.8);
                p.control.congestion_control = Ledbat;
            }),
            "beta_ecn: 0.8 is not valid with ledbat: it is for reno, cubic; expected nothing",
        ),
        (linux().with(|p| p.control.shared.beta_ecn = Some(1.5)), "beta_ecn: 1.5 is not valid; expected 0.05 to 0.99"),
        (
            preset("bbr").with(|p| p.control.shared.beta = Some(0.8)),
            "0.8 is not valid with bbr: it is for reno, cubic, cubic-2.6.22, ledbat, ledbat++, dctcp; expected nothing",
        ),
    ] {
        let text = p.validate().unwrap_err().to_string();
        assert!(text.contains(said) && !text.contains('\n'), "{text}");
    }
}

/// With `marking_ack_reduces`, the ACK that reports the first mark already belongs to the reduction: the ACK does not
/// grow the window, and the reduction counts the segments that the ACK delivers. Here, this ACK covers two of the ten
/// segments of 1000 bytes in flight.
#[test]
fn an_ack_that_reports_a_mark_counts_for_the_reduction() {
    for at_once in [true, false] {
        let congestion_control = CongestionControl::Reno;
        let p = preset("linux-6").with(|p| {
            p.wire.mss = 1000;
            p.opening.handshake = false;
            p.ecn.ecn = true;
            p.control.congestion_control = congestion_control;
        });
        let p = p.with(|p| p.quirks.marking_ack_reduces = at_once);
        let (mut end, mut out, now) = (Endpoint::new(&p, 100_000), (Vec::new(), ()), Time(20_000_000));
        end.connect(&p, Time(1_000_000), &mut out);
        end.write(&p, Time(1_000_000), u64::MAX, &mut out);
        assert_eq!(out.0.len(), 10);
        let mut ack = |ack: u64, flags: Flags| {
            out.0.clear();
            let segment = Segment { ack, has_ack: true, flags, ts_ecr: 1000, ..Segment::default() };
            end.on_segment(&p, now, &segment, &mut out);
            let probe = end.probe(&p);
            let cwr = out.0.iter().filter(|s| s.flags.has(Flags::CWR)).count();
            (out.0.len(), cwr, probe.state, probe.cwnd_bytes / 1000, probe.ssthresh_bytes / 1000)
        };
        let first = ack(2001, Flags::PURE_ACK.with(Flags::ECE));
        if !at_once {
            // the ACK first grows the window from 10 to 12 segments, so ssthresh is 6, half of the grown window. The
            // sender sends nothing in response to the ACK
            assert_eq!((first.0, first.4), (0, 6));
            continue;
        }
        // ssthresh is half of ten segments. 8 segments are in flight. The ACK delivers two segments, so
        // ceil(2 * 5 / 10) = 1 segment may be sent, and cwnd is 8 + 1 = 9
        assert_eq!(first, (1, 1, State::Cwr, 9, 5));
        // this ACK covers all data sent before the reduction began, but no later data, so the reduction goes on
        assert_eq!(ack(10_001, Flags::PURE_ACK).2, State::Cwr);
        // the ACK of the first segment sent after the reduction began ends the reduction. The same ACK reports a mark,
        // which begins the next reduction: ssthresh is halved from 5 to 2
        let (_, _, state, _, ssthresh) = ack(11_001, Flags::PURE_ACK.with(Flags::ECE));
        assert_eq!((state, ssthresh), (State::Cwr, 2));
    }
}

/// Ten segments of 1000 bytes are in flight, and the first ACK, for two of them, reports a mark: ssthresh is half of ten. If
/// `all` is true, another ACK covers all ten, which does not end the reduction. No other ACK arrives. Returns ssthresh in
/// segments after the timeout.
fn ssthresh_after_a_mark_and_a_timeout(all: bool) -> u64 {
    let p = preset("reno").with(|p| {
        p.wire.mss = 1000;
        p.opening.handshake = false;
        p.ecn.ecn = true;
    });
    let (mut end, mut out) = (Endpoint::new(&p, 100_000), (Vec::new(), ()));
    end.connect(&p, Time(1_000_000), &mut out);
    end.write(&p, Time(1_000_000), u64::MAX, &mut out);
    let mut ack = |ack: u64, flags: Flags| {
        let segment = Segment { ack, has_ack: true, flags, ts_ecr: 1000, ..Segment::default() };
        end.on_segment(&p, Time(20_000_000), &segment, &mut out);
    };
    ack(2001, Flags::PURE_ACK.with(Flags::ECE));
    if all {
        ack(10_001, Flags::PURE_ACK);
    }
    assert_eq!((end.probe(&p).state, end.probe(&p).ssthresh_bytes), (State::Cwr, 5000));
    while end.stats().timeouts == 0 {
        end.on_timer(&p, end.deadline(), &mut out);
    }
    assert_eq!(end.probe(&p).state, State::Loss);
    end.probe(&p).ssthresh_bytes / 1000
}

#[test]
fn a_timeout_reduces_a_window_that_a_mark_has_reduced_only_once() {
    assert_eq!(ssthresh_after_a_mark_and_a_timeout(false), 5);
    // the data that times out was sent after the mark's reduction began, so its loss is a second congestion event. The window
    // is 5 segments then, and its half is 2
    assert_eq!(ssthresh_after_a_mark_and_a_timeout(true), 2);
}

#[test]
fn a_segment_with_cwr_is_acknowledged_at_once() {
    for ack_cwr in [true, false] {
        let p = preset("linux-6").with(|p| {
            p.wire.mss = 1000;
            p.opening.handshake = false;
            p.ecn.ecn = true;
            p.receiver.quick_acks = 0;
            p.quirks.ack_cwr = ack_cwr;
        });
        let (mut end, mut out) = (Endpoint::new(&p, 100_000), (Vec::new(), ()));
        end.listen(&p, Time(1_000_000), &mut out);
        for (seq, flags, acks) in [(1, Flags::default(), 0), (1001, Flags::default(), 1), (2001, Flags::CWR, 2)] {
            let segment =
                Segment { seq, len: 1000, has_ack: true, ack: 1, ecn: Ecn::Ect0, flags, ..Segment::default() };
            end.on_segment(&p, Time(1_000_000 + seq), &segment, &mut out);
            assert_eq!(out.0.len(), if seq == 2001 && !ack_cwr { 1 } else { acks });
        }
    }
}

#[test]
fn an_option_takes_twelve_bytes_of_every_segment() {
    let p = preset("prague").with(|p| p.ecn.accecn_option = true).with_options();
    assert_eq!(p.wire.mss, 1436);
    let mut n = Net::new(&p, 10, |from, _, s| if from == 0 && s.len > 0 { Fate::Mark } else { Fate::Pass });
    n.connect(20 * 1436, true);
    n.run(10.0);
    let full: Vec<&Segment> = n.log.iter().map(|l| &l.2).filter(|s| s.len == 1436).collect();
    assert!(full.len() >= 20 && full.iter().all(|s| p.wire.packet_size(s) == 1500 && s.accecn().fields == 3));
    // all 20 segments were marked, and the last ACK reports all their bytes
    let last = n.log.iter().rev().find(|l| l.1 == 1).unwrap().2.accecn();
    assert_eq!((last.ceb, last.e1b), (20 * 1436, 1));
    assert_eq!(n.ends[0].stats().ce_reported, 20);
}

/// Sends 400 segments over a path that marks each segment with probability `share` and drops ACKs with probability
/// `loss`. An ACK is dropped only if the next ACK will still acknowledge fewer than seven segments (nine with the AccECN
/// option). Returns three counts (segments received, marks set, marks reported to the sender), and the number of
/// retransmissions.
fn marks(seed: u64, share: f64, loss: f64, ack_every: u32, option: bool) -> ([u64; 3], u32) {
    // BBR's window does not respond to marks. It stays large, so the sender does not stall if ACKs are lost
    let p = preset("bbr").with(|p| {
        p.receiver.ack_every = ack_every;
        p.ecn.ecn = true;
        p.ecn.ecn_feedback = EcnFeedback::Accecn;
        p.ecn.accecn_option = option;
        p.receiver.receive_window = ReceiveWindow::fixed(units::Bytes(100_000));
    });
    let p = p.with_options();
    let mut rng = Rng::named(seed, "pipe");
    let (marks, acked) = (std::rc::Rc::new(std::cell::Cell::new(0)), std::cell::Cell::new(1));
    let count = marks.clone();
    // without the AccECN option, an ACK after lost ACKs covers fewer than seven segments, because the ACE counter wraps
    // at eight; with the option, fewer than nine. The first flight has ten segments, so at least one of its ACKs
    // arrives, and the window grows
    let most = if option { 9 } else { 7 } * u64::from(p.wire.mss);
    let mut n = Net::new(&p, 10, move |from, _, s| {
        if from == 0 && s.len > 0 {
            let mark = rng.chance(share);
            count.set(count.get() + u32::from(mark));
            return if mark { Fate::Mark } else { Fate::Pass };
        }
        let pure = from == 1 && s.flags.has(Flags::PURE_ACK);
        // the path drops an ACK only if the next ACK, which may cover two segments more, would still acknowledge fewer
        // than `most` bytes. The last ACK is never dropped
        if pure
            && s.ack + 2 * u64::from(p.wire.mss) - acked.get() < most
            && s.ack < 400 * u64::from(p.wire.mss)
            && rng.chance(loss)
        {
            return Fate::Drop;
        }
        if pure {
            acked.set(s.ack);
        }
        Fate::Pass
    });
    n.connect(400 * u64::from(n.p.wire.mss), false);
    n.run(1000.0);
    let stats = n.ends[0].stats();
    ([n.received[1] / u64::from(n.p.wire.mss), marks.get().into(), stats.ce_reported.into()], stats.retransmits)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// The sender counts exactly the marks that were set, with one exception. A lost ACK may trigger a tail loss probe, so that
    /// a segment arrives twice. A mark on the second copy is reported only by the ACK of a later segment, and no segment
    /// follows the last segment.
    #[test]
    fn every_mark_is_counted_once(seed: u64, share in 0.0..1.0f64, loss in 0.0..0.9f64, ack_every in 1u32..3, option: bool) {
        let ([segments, marked, reported], retransmits) = marks(seed, share, loss, ack_every, option);
        prop_assert_eq!(segments, 400);
        prop_assert!(reported <= marked && marked - reported <= u64::from(retransmits), "{} of {} with {} twice", reported, marked, retransmits);
    }
}
