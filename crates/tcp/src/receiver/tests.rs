//! Unit tests of the receiver.

use super::*;
use crate::CongestionControl;
use crate::params::{EcnFeedback, ReceiveWindow, SackCompression};
use packet::Ecn;
use units::{Bytes, Duration};

#[derive(Default)]
struct Log(Vec<Event>);
impl Io for Log {
    fn send(&mut self, _: &Segment) {}
    fn event(&mut self, event: Event) {
        self.0.push(event);
    }
}

fn data(i: u64) -> Segment {
    Segment { seq: 1 + i * 500, len: 500, ..Segment::default() }
}
fn blocks(r: &mut Receiver, p: &TcpParams) -> Vec<(u64, u64)> {
    let mut s = Segment::default();
    r.stamp(p, Time(0), &mut s);
    s.sack.as_slice().iter().map(|b| ((b.start - 1) / 500, (b.end - 1) / 500)).collect()
}

#[test]
fn rfc_2018_order() {
    let p = TcpParams::preset("rfc").unwrap();
    let (mut r, mut io, mut st) = (Receiver::new(&p), Log::default(), Counters::default());
    r.open(0);
    // RFC 2018 §7 case 3: every second segment is lost, and blocks are reported from the newest to the oldest
    for i in [1, 3, 5, 7] {
        r.on_data(&p, Time(0), &data(i), &Rtt::new(&p), &mut st, &mut io);
    }
    // a segment has room for three blocks beside a time stamp
    assert_eq!(blocks(&mut r, &p), [(7, 8), (5, 6), (3, 4)]);
    // segment 4 fills the hole between 3 and 5, so segments 3 to 5 are one block, which is now the most recent
    r.on_data(&p, Time(0), &data(4), &Rtt::new(&p), &mut st, &mut io);
    assert_eq!(blocks(&mut r, &p), [(3, 6), (7, 8), (1, 2)]);
    // a duplicate also makes its block the most recent
    r.on_data(&p, Time(0), &data(7), &Rtt::new(&p), &mut st, &mut io);
    assert_eq!(blocks(&mut r, &p), [(7, 8), (3, 6), (1, 2)]);
    assert_eq!(st.duplicates_received, 1);
    assert_eq!(io.0, []);
    r.on_data(&p, Time(0), &data(0), &Rtt::new(&p), &mut st, &mut io);
    assert_eq!(io.0, [Event::Received { bytes: 1000 }]);
    assert_eq!(blocks(&mut r, &p), [(7, 8), (3, 6)]);
    for i in [2, 6] {
        r.on_data(&p, Time(0), &data(i), &Rtt::new(&p), &mut st, &mut io);
    }
    assert_eq!(blocks(&mut r, &p), []);
    assert_eq!(r.received(), 8 * 500);
    let p = p.with(|p| p.wire.timestamps = false);
    for i in [9, 11, 13, 15, 17] {
        r.on_data(&p, Time(0), &data(i), &Rtt::new(&p), &mut st, &mut io);
    }
    assert_eq!(blocks(&mut r, &p), [(17, 18), (15, 16), (13, 14), (11, 12)]);
}

#[test]
fn rfc_2883_duplicates() {
    let p = TcpParams::preset("rfc").unwrap().with(|p| p.receiver.dsack = true);
    let (mut r, mut io, mut st) = (Receiver::new(&p), Log::default(), Counters::default());
    r.open(0);
    let mut arrive = |r: &mut Receiver, list: &[u64]| {
        for &i in list {
            r.on_data(&p, Time(0), &data(i), &Rtt::new(&p), &mut st, &mut io);
        }
        blocks(r, &p)
    };
    // RFC 2883 §4.1.1: the ACK of segment 1 was lost, so segment 1 arrives a second time. Only one ACK reports the
    // duplicate
    assert_eq!(arrive(&mut r, &[0, 1]), []);
    assert_eq!(arrive(&mut r, &[1]), [(1, 2)]);
    assert_eq!(arrive(&mut r, &[]), []);
    // §4.1.2: segment 3 is above a hole, and segment 0, below the ACK, arrives again. The duplicate is the first block
    assert_eq!(arrive(&mut r, &[3]), [(3, 4)]);
    assert_eq!(arrive(&mut r, &[0]), [(0, 1), (3, 4)]);
    // §4.1.3: if a duplicate lies within a block above the ACK, the first block reports the duplicate, and the second
    // is the block that contains it
    assert_eq!(arrive(&mut r, &[4, 5]), [(3, 6)]);
    assert_eq!(arrive(&mut r, &[4]), [(4, 5), (3, 6)]);
    // three blocks fit beside a time stamp, so the oldest is left out
    assert_eq!(arrive(&mut r, &[7]), [(7, 8), (3, 6)]);
    assert_eq!(arrive(&mut r, &[9]), [(9, 10), (7, 8), (3, 6)]);
    assert_eq!(arrive(&mut r, &[7]), [(7, 8), (7, 8), (9, 10)]);
    // data beyond the window is not a duplicate
    assert_eq!(arrive(&mut r, &[1 << 40]), [(7, 8), (9, 10), (3, 6)]);
}

#[test]
fn every_second_segment_or_the_timer_or_a_hole() {
    let timer_tick = units::Duration::ZERO;
    let p = TcpParams::preset("linux-6").unwrap().with(|p| {
        p.receiver.quick_acks = 0;
        p.rto.timer_tick = timer_tick;
    });
    let (mut r, mut io, mut st) = (Receiver::new(&p), Log::default(), Counters::default());
    r.open(0);
    let now = Time(1_000_000);
    r.on_data(&p, now, &data(0), &Rtt::new(&p), &mut st, &mut io);
    assert!(!r.ack_now());
    assert_eq!(r.ack_at, now + p.receiver.delayed_ack);
    r.on_data(&p, now, &data(1), &Rtt::new(&p), &mut st, &mut io);
    assert!(r.ack_now());
    r.stamp(&p, now, &mut Segment::default());
    assert_eq!((r.ack_now(), r.ack_at), (false, Time::NEVER));
    r.on_data(&p, now, &data(3), &Rtt::new(&p), &mut st, &mut io);
    assert!(r.ack_now(), "out of order");
    r.stamp(&p, now, &mut Segment::default());
    r.on_data(&p, now, &data(2), &Rtt::new(&p), &mut st, &mut io);
    assert!(r.ack_now(), "fills a hole");
}

#[test]
fn the_echo_is_that_of_the_first_segment_not_acknowledged() {
    // RFC 7323 §4.3: a delayed ACK of two segments echoes the time stamp of the earlier segment. While there is a hole, ACKs
    // repeat this echo
    let p = TcpParams::preset("linux-6").unwrap().with(|p| p.receiver.quick_acks = 0);
    let (mut r, mut io, mut st) = (Receiver::new(&p), Log::default(), Counters::default());
    r.open(7);
    let mut ecr = |r: &mut Receiver, list: &[(u64, u32)]| {
        for &(i, ts_val) in list {
            r.on_data(&p, Time(0), &Segment { ts_val, ..data(i) }, &Rtt::new(&p), &mut st, &mut io);
        }
        let mut s = Segment::default();
        r.stamp(&p, Time(0), &mut s);
        s.ts_ecr
    };
    assert_eq!(ecr(&mut r, &[(0, 10), (1, 20)]), 10);
    assert_eq!(ecr(&mut r, &[(3, 40)]), 10);
    assert_eq!(ecr(&mut r, &[(2, 90)]), 90);
}

#[test]
fn acks_at_once_return_after_a_mark_and_a_duplicate() {
    for (returns, want) in [(true, [0, 1, 3, 5, 6, 8, 0, 9, 11].as_slice()), (false, &[0, 1, 3, 5, 7, 0, 10])] {
        let p = TcpParams::preset("linux-6").unwrap().with(|p| {
            p.receiver.quick_acks = 2;
            p.quirks.quick_acks_return = returns;
        });
        let mut r = Receiver::new(&p);
        r.open(0);
        r.ecn = EcnUse::Classic;
        let mut acked = vec![];
        // segment 5 carries a mark, and segment 0 arrives a second time after segment 8. With `quick_acks_return`, each
        // of these two events causes two ACKs that leave at once: after the mark, the ACKs sent when 5 and 6 arrive;
        // after the duplicate, the ACKs sent when 0 and 9 arrive
        for i in [0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 9, 10, 11] {
            let ecn = if i == 5 { Ecn::Ce } else { Ecn::Ect0 };
            r.on_data(
                &p,
                Time(1),
                &Segment { ecn, ..data(i) },
                &Rtt::new(&p),
                &mut Counters::default(),
                &mut Log::default(),
            );
            if r.ack_now() {
                r.stamp(&p, Time(1), &mut Segment::default());
                acked.push(i);
            }
        }
        assert_eq!(acked, want, "{returns}");
    }
}

/// Returns the ACKs that a receiver sends for segments with these marks, if it uses DCTCP's feedback and acknowledges
/// every second segment. Each ACK is a pair: the number of segments acknowledged, and the ECE flag.
fn dctcp(marks: &[bool]) -> Vec<(u64, bool)> {
    #[derive(Default)]
    struct Acks(Vec<Segment>);
    impl Io for Acks {
        fn send(&mut self, segment: &Segment) {
            self.0.push(*segment);
        }
        fn event(&mut self, _: Event) {}
    }
    let p = TcpParams::preset("linux-6").unwrap().with(|p| {
        p.receiver.quick_acks = 0;
        p.ecn.ecn_feedback = EcnFeedback::Dctcp;
    });
    let (mut r, mut acks) = (Receiver::new(&p), Acks::default());
    r.open(0);
    r.ecn = EcnUse::Classic;
    for (i, &marked) in marks.iter().enumerate() {
        let ecn = if marked { Ecn::Ce } else { Ecn::Ect0 };
        r.on_data(&p, Time(1), &Segment { ecn, ..data(i as u64) }, &Rtt::new(&p), &mut Counters::default(), &mut acks);
        if r.ack_now() {
            let mut s = Segment::default();
            r.stamp(&p, Time(1), &mut s);
            acks.0.push(s);
        }
    }
    acks.0.iter().map(|s| ((s.ack - 1) / 500, s.flags.has(Flags::ECE))).collect()
}

#[test]
fn dctcp_reports_which_segments_were_marked() {
    // RFC 8257 §3.2: one ACK covers the unmarked segments 0 and 1. Segment 2 is marked, so it is acknowledged at once. One ACK
    // covers 3 and 4. Segment 5 waits until the unmarked segment 6 triggers an ACK of 5, and then an ACK of 6
    let marks = [false, false, true, true, true, true, false, false];
    assert_eq!(dctcp(&marks), [(2, false), (3, true), (5, true), (6, true), (7, false)]);
    // if every second segment is marked, each segment is acknowledged separately
    assert_eq!(dctcp(&[false, true, false, true]), [(1, false), (2, true), (3, false), (4, true)]);
    // with any pattern of marks, ACKs with ECE acknowledge exactly the marked segments
    let mut dice = units::Rng::named(1, "marks");
    for _ in 0..100 {
        let marks: Vec<bool> = (0..50).map(|_| dice.chance(0.3)).collect();
        let mut reached = 0;
        for (up_to, ece) in dctcp(&marks) {
            assert!(marks[reached..up_to as usize].iter().all(|&m| m == ece), "{marks:?}");
            reached = up_to as usize;
        }
        assert!(reached >= 49);
    }
}

#[test]
fn with_accecn_a_receiver_of_dctcp_acknowledges_every_change() {
    // segments 3 to 5 are marked. ACKs leave for 3, the first mark, and for 5, the second mark after the ACK of 3. With
    // DCTCP, 6 is acknowledged separately, because the marks end before it; with CUBIC, one ACK covers 6 and 7
    for (congestion_control, want) in
        [(CongestionControl::Dctcp, [2, 4, 6, 7].as_slice()), (CongestionControl::Cubic, &[2, 4, 6, 8])]
    {
        let p = TcpParams::preset("linux-6").unwrap().with(|p| {
            p.control.congestion_control = congestion_control;
            p.receiver.quick_acks = 0;
        });
        let mut r = Receiver::new(&p);
        r.open(0);
        r.ecn = EcnUse::Accurate;
        r.begin_ecn(&p);
        let mut acked = vec![];
        for (i, marked) in [false, false, false, true, true, true, false, false].into_iter().enumerate() {
            let ecn = if marked { Ecn::Ce } else { Ecn::Ect0 };
            r.on_data(
                &p,
                Time(1),
                &Segment { ecn, ..data(i as u64) },
                &Rtt::new(&p),
                &mut Counters::default(),
                &mut Log::default(),
            );
            if r.ack_now() {
                r.stamp(&p, Time(1), &mut Segment::default());
                acked.push(i + 1);
            }
        }
        assert_eq!(acked, want);
    }
}

#[test]
fn a_constant_window_is_not_advertised_larger_than_it_is() {
    // the receiver advertises its constant window of 92671 bytes, because the peer's segment carries a window. The
    // window field is in units of 2 bytes, so it must stand for 92670 bytes. If it stood for 92672 bytes, the peer
    // would send 64 segments of 1448 bytes, and the receiver would discard the last
    let p = TcpParams::preset("linux-6").unwrap().with(|p| {
        p.receiver.receive_window = ReceiveWindow::fixed(Bytes(64 * 1448 - 1));
    });
    assert_eq!(p.receiver.window_scale(), 1);
    let mut r = Receiver::new(&p);
    r.open(0);
    r.on_window_field(&p, &data(0));
    let mut s = Segment::default();
    r.stamp(&p, Time(0), &mut s);
    assert_eq!(s.window(), Some(64 * 1448 - 2));
}

/// A log of the ACKs that leave before the arriving segment is processed: for each ACK, the number of the segment that
/// follows its first SACK block. Segments have 500 bytes and are numbered from 0.
#[derive(Default)]
struct Sacks(Vec<u64>);
impl Io for Sacks {
    fn send(&mut self, s: &Segment) {
        self.0.push((s.sack.as_slice()[0].end - 1) / 500);
    }
    fn event(&mut self, _: Event) {}
}

#[test]
fn acks_of_segments_out_of_order_wait_from_the_fourth_on() {
    use SackCompression::{Linux420, Linux619, Off};
    const MS: u64 = 1_000_000;
    // SRTT is 4 ms. With linux-6.19, an ACK waits for min(33 % of SRTT, 1 ms) + 0.01 ms = 1.01 ms; with linux-4.20, for
    // min(5 % of SRTT, 1 ms) + 0.1 ms = 0.3 ms
    for (how, due) in [(Linux619, Some(41_010_000)), (Linux420, Some(40_300_000)), (Off, None)] {
        let p = TcpParams::preset("linux-6").unwrap().with(|p| {
            p.receiver.quick_acks = 0;
            p.receiver.sack_compression = how;
        });
        let mut rtt = Rtt::new(&p);
        rtt.srtt = Duration::from_millis(4);
        let (mut r, mut st, mut io) = (Receiver::new(&p), Counters::default(), Sacks::default());
        r.open(0);
        let arrive = |r: &mut Receiver, st: &mut Counters, io: &mut Sacks, ms: u64, i: u64| {
            r.on_data(&p, Time(ms * MS), &data(i), &rtt, st, io);
            let due = r.ack_at;
            if r.ack_now() {
                r.stamp(&p, Time(ms * MS), &mut Segment::default());
            }
            due
        };
        for round in [0, 20] {
            // the first three are acknowledged at once
            for i in 1..=3 {
                assert_eq!(arrive(&mut r, &mut st, &mut io, 10, round + i), AT_ONCE);
            }
            let due = due.map_or(AT_ONCE, Time);
            assert_eq!([40, 41].map(|ms| arrive(&mut r, &mut st, &mut io, ms, round + ms - 36)), [due, due]);
            // the segment that fills the hole is acknowledged at once. The count of three then begins again, as the
            // second round shows
            assert_eq!(arrive(&mut r, &mut st, &mut io, 42, round), AT_ONCE);
            for i in 6..20 {
                r.on_data(&p, Time(43 * MS), &data(round + i), &rtt, &mut st, &mut io);
            }
            r.stamp(&p, Time(43 * MS), &mut Segment::default());
        }
        assert!(io.0.is_empty());
        // a quick ACK leaves at once, and is not counted as one of the first three
        r.quicken(1);
        assert_eq!(arrive(&mut r, &mut st, &mut io, 50, 41), AT_ONCE);
    }
}

#[test]
fn compressed_acks_leave_before_a_third_sack_block_changes_and_after_44_segments() {
    let p = TcpParams::preset("linux-6").unwrap().with(|p| p.receiver.quick_acks = 0);
    let mut rtt = Rtt::new(&p);
    rtt.srtt = Duration::from_millis(40);
    let (mut r, mut st, mut io) = (Receiver::new(&p), Counters::default(), Sacks::default());
    r.open(0);
    let mut arrive = |i: u64| {
        r.on_data(&p, Time(1), &data(i), &rtt, &mut st, &mut io);
        let now = r.ack_now();
        if now {
            r.stamp(&p, Time(1), &mut Segment::default());
        }
        (now, std::mem::take(&mut io.0))
    };
    let at_once = (true, vec![]);
    assert_eq!([1, 3, 5].map(&mut arrive), [at_once.clone(), at_once.clone(), at_once.clone()]);
    // when segment 7 begins the fourth block, no ACK waits, so none leaves. Segment 9 begins the fifth block, so the
    // waiting ACK of segment 7 leaves
    assert_eq!([7, 9].map(&mut arrive), [(false, vec![]), (false, vec![8])]);
    // segment 10 extends the first block. Segment 8 joins the first two blocks, and so does segment 6. None changes the
    // third block or a later one
    assert_eq!([10, 8, 6].map(&mut arrive), [(false, vec![]), (false, vec![]), (false, vec![])]);
    // four segments (9, 10, 8 and 6) wait, so forty more may wait, and then one is acknowledged at once
    let waits = (0..41).map(|i| arrive(11 + i).0).collect::<Vec<_>>();
    assert_eq!((waits.iter().position(|now| *now), waits.len()), (Some(40), 41));
}

/// A log of ACKs: the number of segments of 500 bytes in all SACK blocks of each ACK, and its ECE flag.
#[derive(Default)]
struct Echoes(Vec<(u64, bool)>);
impl Io for Echoes {
    fn send(&mut self, s: &Segment) {
        let bytes: u64 = s.sack.as_slice().iter().map(|b| b.end - b.start).sum();
        self.0.push((bytes / 500, s.flags.has(Flags::ECE)));
    }
    fn event(&mut self, _: Event) {}
}

#[test]
fn a_changed_mark_in_a_third_sack_block_is_reported_at_once() {
    let p = TcpParams::preset("linux-6").unwrap().with(|p| {
        p.receiver.quick_acks = 0;
        p.ecn.ecn_feedback = EcnFeedback::Dctcp;
        p.wire.timestamps = false;
    });
    let mut rtt = Rtt::new(&p);
    rtt.srtt = Duration::from_millis(40);
    let (mut r, mut st, mut io) = (Receiver::new(&p), Counters::default(), Echoes::default());
    r.open(0);
    r.ecn = EcnUse::Classic;
    let mut arrive = |i: u64, ecn: Ecn| {
        r.on_data(&p, Time(1), &Segment { ecn, ..data(i) }, &rtt, &mut st, &mut io);
        if r.ack_now() {
            let mut ack = Segment::default();
            r.stamp(&p, Time(1), &mut ack);
            io.send(&ack);
        }
        std::mem::take(&mut io.0)
    };
    assert_eq!([1, 3, 5].map(|i| arrive(i, Ecn::Ect0)), [1, 2, 3].map(|n| vec![(n, false)]));
    // segment 7 begins a fourth block, and has a mark. No segment awaits an ACK, so one ACK leaves
    assert_eq!(arrive(7, Ecn::Ce), [(4, true)]);
    // segment 4 joins the second and the third block; its ACK waits
    assert_eq!((arrive(8, Ecn::Ce), arrive(4, Ecn::Ce)), (vec![], vec![]));
    // segment 1000 begins another block, and has no mark: an ACK of 8 and 4 leaves, and then the ACK of segment 1000
    assert_eq!(arrive(1000, Ecn::Ect0), [(6, true), (7, false)]);
}

#[test]
fn a_packet_of_several_segments_above_a_hole_counts_once() {
    let p = TcpParams::preset("linux-6").unwrap().with(|p| p.receiver.quick_acks = 0);
    let mut rtt = Rtt::new(&p);
    rtt.srtt = Duration::from_millis(40);
    let (mut r, mut st, mut io) = (Receiver::new(&p), Counters::default(), Sacks::default());
    r.open(0);
    let at_once = |i: &u64| {
        let packet = Segment { len: 40 * 500, gso_size: 500, ..data(1 + 40 * i) };
        r.await_run(&packet);
        r.on_data(&p, Time(1), &packet, &rtt, &mut st, &mut io);
        let now = r.ack_now();
        if now {
            r.stamp(&p, Time(1), &mut Segment::default());
        }
        now
    };
    assert_eq!((0..50).filter(at_once).collect::<Vec<_>>(), [0, 1, 2, 47]);
    assert!(io.0.is_empty());
}
