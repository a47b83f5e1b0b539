//! Tests of a single sender that receives scripted ACKs. Segments are full unless stated otherwise, and numbered from 0. RTT
//! samples come from send times, because there are no time stamps.

use super::names::*;
use packet::Flags;
use units::{Duration, Time};

/// A sender that starts without a handshake, and the segments that it has sent since the last call of `news`.
struct Script {
    p: TcpParams,
    end: Endpoint,
    sent: Vec<Segment>,
}

impl Io for Vec<Segment> {
    fn send(&mut self, segment: &Segment) {
        self.push(*segment);
    }
    fn event(&mut self, _: Event) {}
}

impl Script {
    /// Creates a sender and writes `segments` segments at time 0. The first window, of `iw` segments, is sent at once.
    fn new(p: TcpParams, iw: u32, segments: u64) -> Self {
        let p = p.with(|p| {
            p.opening.handshake = false;
            p.wire.timestamps = false;
            p.rto.timer_tick = Duration::ZERO;
            p.opening.initial_window = InitialWindow::Segments(iw);
        });
        p.validate().unwrap();
        let mut s = Self { end: Endpoint::new(&p, p.first_window()), p, sent: vec![] };
        s.end.connect(&s.p, Time::ZERO, &mut s.sent);
        s.write(0, segments);
        s
    }

    fn byte(&self, segment: u64) -> u64 {
        1 + segment * u64::from(self.p.wire.mss)
    }

    /// Returns the numbers of the segments sent since the last call.
    fn news(&mut self) -> Vec<u64> {
        let mss = u64::from(self.p.wire.mss);
        self.sent.drain(..).map(|s| (s.seq - 1) / mss).collect()
    }

    fn write(&mut self, us: u64, segments: u64) {
        let bytes = segments * u64::from(self.p.wire.mss);
        self.end.write(&self.p, Time(us * 1000), bytes, &mut self.sent);
    }

    /// Delivers an ACK at `us` microseconds that acknowledges all segments below `below`. For each pair in `sack`, the
    /// ACK carries a SACK block of the segments from `.0` up to but not including `.1`. Returns the segments sent in
    /// response.
    fn ack(&mut self, us: u64, below: u64, sack: &[(u64, u64)]) -> Vec<u64> {
        let mut s = Segment { ack: self.byte(below), has_ack: true, flags: Flags::PURE_ACK, ..Segment::default() };
        for &(from, to) in sack {
            s.flags = s.flags.with(Flags::SACK);
            s.sack.push(SackBlock { start: self.byte(from), end: self.byte(to) });
        }
        self.end.on_segment(&self.p, Time(us * 1000), &s, &mut self.sent);
        self.end.check(&self.p);
        self.news()
    }

    /// Runs the next timer. Returns its time in microseconds, and the segments sent in response.
    fn timer(&mut self) -> (u64, Vec<u64>) {
        let at = self.end.deadline();
        self.end.on_timer(&self.p, at, &mut self.sent);
        (at.0 / 1000, self.news())
    }

    fn in_flight(&self) -> u64 {
        self.end.probe(&self.p).in_flight / u64::from(self.p.wire.mss)
    }
}

fn preset(name: &str) -> TcpParams {
    TcpParams::preset(name).unwrap()
}

#[test]
fn after_a_timeout_only_newly_delivered_data_grows_the_window() {
    for name in ["linux-6", "ledbat"] {
        let p = preset(name).with(|p| p.control.congestion_control = CongestionControl::Reno);
        let mut s = Script::new(p, 20, 20);
        assert_eq!(s.news().len(), 20);
        // all segments but the first arrive, and the retransmission of the first is lost
        assert_eq!(s.ack(100_000, 0, &[(1, 20)]), [0], "{name}");
        let (us, sent) = s.timer();
        assert_eq!(sent, [0], "{name}");
        s.write(us, 100);
        assert!(s.news().is_empty());
        // the ACK delivers one segment, not twenty, so the window grows from 1 to 2
        assert_eq!(s.ack(us + 100_000, 20, &[]), [20, 21], "{name}");
    }
}

#[test]
fn a_segment_just_retransmitted_is_not_rescued() {
    // RFC 6675 §5 (4.3): RescueRxt is set to the end of the first retransmission
    for name in ["rfc", "ns2-fulltcp-sack", "ledbat"] {
        let p = preset(name).with(|p| p.control.congestion_control = CongestionControl::Reno);
        let mut s = Script::new(p, 4, 4);
        s.news();
        assert_eq!(s.ack(100_000, 0, &[(1, 4)]), [0], "{name}");
        assert_eq!((s.ack(200_000, 4, &[]), s.end.stats().rescues), (vec![], 0), "{name}");
    }
    // RFC 6675 §4, NextSeg rule (4): if no other rule selects a segment and the ACK has passed RescueRxt, the sender
    // retransmits the highest segment that is not SACKed. It does so only once in a recovery
    let p = preset("rfc").with(|p| p.opening.initial_ssthresh = Some(12.0));
    let mut s = Script::new(p, 12, 12);
    s.news();
    assert_eq!(s.ack(100_000, 0, &[(1, 6), (7, 10)]), [0, 6]);
    assert_eq!(s.ack(200_000, 6, &[(7, 10)]), [11]);
    assert_eq!((s.ack(201_000, 10, &[]), s.end.stats().rescues), (vec![], 1));
}

#[test]
fn an_overtaken_ack_still_reports_arrivals() {
    for name in ["linux-6", "rfc"] {
        let mut s = Script::new(preset(name), 10, 10);
        s.news();
        s.ack(100_000, 5, &[]);
        assert_eq!(s.in_flight(), 5, "{name}");
        // the ACK of 3 arrives after the ACK of 5, but its SACK block is new and shows that segment 5 is lost
        assert_eq!(s.ack(101_000, 3, &[(6, 10)]), [5], "{name}");
        assert_eq!(s.in_flight(), 1, "{name}");
        // an ACK that arrives out of order and has no new blocks has no effect
        assert!(s.ack(102_000, 3, &[(6, 10)]).is_empty(), "{name}");
        assert_eq!(s.end.probe(&s.p).state, State::Recovery);
    }
}

#[test]
fn a_bounded_timeout_counts_from_the_last_ack() {
    // 414 segments are sent over 5 Mbit/s, one every 2.4 ms, with an unlimited queue. Each ACK arrives 50 ms after its segment
    // has left the queue. The RTT grows with the window, but there must be no timeout
    let p = preset("linux-6").with(|p| {
        p.rto.min_rto_bounds = MinRto::Total;
        p.control.shared.hystart = HyStart::Off;
    });
    let mut s = Script::new(p, 10, 414);
    let (mut free, mut acks) = (0, std::collections::VecDeque::new());
    let (mut now, mut highest) = (0, 0);
    while highest < 414 {
        for segment in s.news() {
            free = now.max(free) + 2_400;
            acks.push_back((free + 50_000, segment + 1));
        }
        let deadline = s.end.deadline().0 / 1000;
        let next = acks.front().map_or(u64::MAX, |&(at, _)| at);
        now = next.min(deadline);
        if next <= deadline {
            let (_, below) = acks.pop_front().unwrap();
            highest = highest.max(below);
            let sent = s.end.acked() / u64::from(s.p.wire.mss);
            assert!(sent <= highest);
            let segment = Segment { ack: s.byte(highest), has_ack: true, flags: Flags::PURE_ACK, ..Segment::default() };
            s.end.on_segment(&s.p, Time(now * 1000), &segment, &mut s.sent);
        } else {
            s.end.on_timer(&s.p, s.end.deadline(), &mut s.sent);
        }
    }
    let stats = s.end.stats();
    assert_eq!((stats.timeouts, stats.retransmits), (0, 0));
}

#[test]
fn a_partial_ack_of_less_than_a_segment_adds_nothing_back() {
    // RFC 6582 §3.2. The window is 10 segments. A segment of 100 bytes and the full segment behind it are lost; the
    // other eight arrive
    let p = preset("ns2-reno").with(|p| p.detection.recovery = Recovery::Newreno);
    let mut s = Script::new(p, 10, 0);
    s.end.write(&s.p, Time::ZERO, 100, &mut s.sent);
    s.write(0, 9);
    s.write(0, 20);
    assert_eq!(s.sent.iter().map(|s| s.len).collect::<Vec<_>>(), [&[100][..], &[1460; 9]].concat());
    s.sent.clear();
    let duplicates: Vec<usize> = (1..=8).map(|n| s.ack(100_000 + n, 0, &[]).len()).collect();
    // the first window has 100 + 9 * 1460 = 13240 bytes, and limited transmit sends 2 * 1460 = 2920. Each duplicate
    // takes 1460 bytes from the data in flight. The third duplicate causes the retransmission and sets the window to 5
    // segments, 7300 bytes. After the eighth duplicate, 4480 bytes are in flight, so a new segment of 1460 bytes may be
    // sent. Then 7300 - 5940 = 1360 bytes of the window remain
    assert_eq!(duplicates, [1, 1, 1, 0, 0, 0, 0, 1]);
    // the partial ACK takes 100 bytes from the window and from the data in flight, so only the segment at the second
    // hole is sent
    let ack = Segment { ack: 101, has_ack: true, flags: Flags::PURE_ACK, ..Segment::default() };
    s.end.on_segment(&s.p, Time(200_000_000), &ack, &mut s.sent);
    assert_eq!(s.sent.iter().map(|s| (s.seq, s.len)).collect::<Vec<_>>(), [(101, 1460)]);
}
