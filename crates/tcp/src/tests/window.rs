//! Tests of the receive window advertised to the sender.

use super::names::*;
use super::net::{Fate, Net};
use super::{exact, pass, preset};
use packet::{Flags, Item, Reading, Unit, Value};
use units::{Bytes, Duration, Time};

const MSS: u64 = 1448;

/// Returns Linux's stack with an auto-tuned receive window. `default` and `max` are the initial and the maximum memory
/// of the receive buffer, in bytes.
fn tuned(default: u64, max: u64) -> TcpParams {
    let rmem = Some(Rmem { default: Bytes(default), max: Bytes(max) });
    exact().with(|p| {
        p.receiver.receive_window = ReceiveWindow::AUTO;
        p.receiver.rmem = rmem;
        p.control.shared.hystart = HyStart::Off;
    })
}

/// Returns the data segments sent by end 0: time, first byte and length.
fn data(n: &Net<'_>) -> Vec<(Time, u64, u32)> {
    n.log.iter().filter(|l| l.1 == 0 && l.2.len > 0).map(|l| (l.0, l.2.seq, l.2.len)).collect()
}

/// Returns the changes of the window advertised by end 1: the time in ms, and the new window.
fn advertised(n: &Net<'_>) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = vec![];
    for (at, window) in n.log.iter().filter(|l| l.1 == 1).filter_map(|l| Some((l.0, l.2.window()?))) {
        if all.last().is_none_or(|(_, last)| *last != u64::from(window)) {
            all.push((at.0 / 1_000_000, window.into()));
        }
    }
    all
}

#[test]
fn the_first_window_is_that_of_linux() {
    // half of 131072 bytes holds 44 segments of 1460 bytes: 1448 bytes of payload, and 12 of the time stamp option. The
    // scale is 7, so windows are in units of 128 bytes
    let p = exact().with(|p| p.receiver.receive_window = ReceiveWindow::AUTO);
    p.validate().unwrap();
    assert_eq!((p.first_window(), p.receiver.most_window(), p.receiver.window_scale()), (64_240, 3_145_728, 7));
    assert_eq!(tuned(1 << 20, 1 << 20).first_window(), 65_535);
    let fixed = exact();
    assert_eq!((fixed.first_window(), fixed.receiver.most_window()), (6_291_456, 6_291_456));
}

#[test]
fn invalid_windows_are_refused() {
    let refusal = |p: TcpParams| p.validate().unwrap_err();
    let e = refusal(tuned(5_839, 6_000_000));
    assert_eq!(
        (e.path.as_str(), e.message),
        ("rmem.default", "5839B is not valid; expected 5840B (four segments) to 2GiB".into())
    );
    let e = refusal(tuned(131_072, 131_071));
    assert_eq!(
        (e.path.as_str(), e.message),
        ("rmem.max", "131071B is not valid; expected 131072B (rmem.default) to 2GiB".into())
    );
    let e = refusal(exact().with(|p| p.receiver.rmem = Some(Rmem::default())));
    assert_eq!(e.path, "rmem");
    let e = refusal(exact().with(|p| {
        p.receiver.receive_window = ReceiveWindow::AUTO;
        p.wire.mss = 40_000;
    }));
    assert_eq!(e.path, "receive_window");
    for (text, valid) in
        [("\"auto\"", true), ("\"64KiB\"", true), ("65536", true), ("\"automatic\"", false), ("true", false)]
    {
        let read = serde_json::from_value::<TcpParams>(format!("{{\"receive_window\": {text}}}").parse().unwrap());
        assert_eq!(read.is_ok(), valid, "{text}");
        if let Ok(p) = read {
            assert_eq!(serde_json::from_value::<TcpParams>(serde_json::to_value(&p).unwrap()).unwrap(), p);
        } else {
            assert!(read.unwrap_err().to_string().contains("expected \"auto\", or a size"), "{text}");
        }
    }
}

#[test]
fn the_buffer_follows_what_is_read_in_a_round_trip() {
    // the RTT is 100 ms, and packets have no transmission time, so a whole window arrives at once. The SYN leaves at 0 ms, the
    // SYN-ACK at 50; data leaves at 100 and arrives at 150
    let p = tuned(131_072, 6_291_456).with(|p| {
        p.opening.initial_window = InitialWindow::Segments(10_000);
        p.receiver.ack_every = 1;
    });
    let mut n = Net::new(&p, 50, pass);
    n.connect(2_000 * MSS, false);
    n.run(0.26);
    let arrived = |ms: u64| data(&n).iter().filter(|d| d.0.0 / 1_000_000 == ms).map(|d| u64::from(d.2)).sum::<u64>();
    // the first window of 64240 bytes allows a first flight of 44 segments
    assert_eq!(arrived(100), 44 * MSS);
    let windows = advertised(&n);
    // a segment raises the window by 2896 bytes, but not above half of the memory of the receive buffer, 65536 bytes.
    // The first segment, at 150 ms, reaches this limit
    assert_eq!(windows.iter().filter(|w| w.0 == 150).map(|w| w.1).max(), Some(65_536));
    assert!(windows.iter().all(|w| w.0 != 150 || w.1 >= 64_256));
    // the segment that arrives first at 250 ms ends a round trip in which the application read 44 + 1 segments (65160
    // bytes). `before`, the maximum so far, was ten segments (14480 bytes), so the formula in `receiver/space.rs` gives
    // wish = 130320 + 2 x 130320 x (65160 - 14480) / 14480 = 130320 + 912240 = 1042560. Each later segment raises the
    // window, which starts at 65536 bytes, by 2896 bytes. The last ACK of the flight is for the 45th segment: its
    // window is 65536 + 44 x 2896 = 192960 bytes, rounded up to 193024, a multiple of 128
    assert_eq!(arrived(200), 45 * MSS);
    assert_eq!(windows.iter().filter(|w| w.0 == 250).map(|w| w.1).max(), Some(193_024));
    // the ACKs of the first flight have announced a window of 65536 bytes, and the sender's trace reports this window
    let mut window = None;
    let mut note = |item: Item<'_>| {
        if let Item::Value("snd_wnd", Unit::Bytes, Value::Number(bytes)) = item {
            window = bytes;
        }
    };
    n.ends[0].read(&p, &mut Reading::new(n.now, false, &mut note));
    assert_eq!(window, Some(65_536.0));
}

#[test]
fn a_tuned_window_does_not_limit_slow_start() {
    // In slow start, the number of bytes that the application reads at most doubles in each round trip. If it doubles,
    // the buffer grows to allow a window of 2 x `copied` x (1 + 2 x 1) bytes, where `copied` is the number of bytes
    // read in the last round trip (see `receiver/space.rs`). So the window may be six times as large as the data read.
    for delay in [5, 50, 150] {
        let run = |p: TcpParams| {
            let mut n = Net::new(&p, delay, pass);
            n.connect(1_000 * MSS, true);
            n.run(10.0);
            assert!(n.has(1, Event::PeerFinished));
            data(&n)
        };
        let fixed = tuned(1 << 20, 1 << 20).with(|p| {
            p.receiver.receive_window = ReceiveWindow::fixed(Bytes(1 << 30));
            (p.receiver.rmem, p.receiver.ack_every) = (None, 1);
        });
        // a receiver whose window grows acknowledges every segment; with `ack_every` = 1, both stacks do
        let tuned = tuned(131_072, 6_291_456).with(|p| p.receiver.ack_every = 1);
        assert!(run(tuned) == run(fixed), "{delay} ms");
    }
}

#[test]
fn a_window_at_its_maximum_limits_the_rate() {
    // 64 KiB of payload per RTT of 40 ms allows 65536 x 8 / 40 ms = 13.1 Mbit/s. In whole segments, that is 45 per RTT, and there
    // are 25 RTTs per second
    let p = tuned(131_072, 131_072).with(|p| p.receiver.ack_every = 1);
    let mut n = Net::new(&p, 20, pass);
    n.connect(10_000 * MSS, false);
    n.run(4.0);
    let sent = data(&n);
    let between = |from: u64, to: u64| {
        let of = |d: &&(Time, u64, u32)| (from..to).contains(&(d.0.0 / 1_000_000));
        sent.iter().filter(of).map(|d| u64::from(d.2)).sum::<u64>()
    };
    assert_eq!(between(2_000, 3_000), 25 * 45 * MSS);
    // the data in flight never exceeds the advertised window
    for (at, from, s) in &n.log {
        if *from == 0 && s.len > 0 {
            let delivered =
                sent.iter().filter(|d| d.0 + Duration::from_millis(40) <= *at).map(|d| u64::from(d.2)).sum::<u64>();
            assert!(s.seq + u64::from(s.len) <= 1 + delivered + 65_536);
        }
    }
}

#[test]
fn data_above_a_hole_opens_the_window() {
    // the 21st segment is lost once. The window continues to open, and all data is delivered
    let p = tuned(131_072, 6_291_456);
    let mut lost = false;
    let fate = move |from: usize, _: usize, s: &Segment| {
        let drop = from == 0 && s.seq == 1 + 20 * MSS && !lost;
        lost |= drop;
        if drop { Fate::Drop } else { Fate::Pass }
    };
    let mut n = Net::new(&p, 20, fate);
    n.connect(1_000 * MSS, true);
    n.run(10.0);
    assert!(n.has(1, Event::PeerFinished));
    // the window's right edge never moves back
    let mut edge = 0;
    for now in n.log.iter().filter(|l| l.1 == 1).filter_map(|l| Some(l.2.ack + u64::from(l.2.window()?))) {
        assert!(now >= edge);
        edge = now;
    }
}

#[test]
fn a_constant_window_does_not_stop_an_end_from_reading_a_tuned_one() {
    // a sender with a constant receive window still obeys the window of its peer, and echoes the time stamps by which the peer
    // measures the RTT
    let (fixed, auto) = (exact(), tuned(131_072, 6_291_456));
    let mut a = Endpoint::new(&fixed, auto.first_window());
    let mut segments: Vec<Segment> = vec![];
    a.connect(&fixed, Time::ZERO, &mut segments);
    let answer = Segment { ack: 1, has_ack: true, flags: Flags::SYN, ts_val: 5, ..Segment::default() };
    a.write(&fixed, Time::ZERO, 100 * MSS, &mut segments);
    a.on_segment(&fixed, Time(20_000_000), &answer, &mut segments);
    segments.clear();
    let mut ack = Segment {
        seq: 1,
        ack: 1 + 10 * MSS,
        ts_val: 40_000,
        ts_ecr: 20_000,
        has_ack: true,
        flags: Flags::PURE_ACK,
        ..Segment::default()
    };
    ack.set_window(4 * MSS as u32);
    a.on_segment(&fixed, Time(40_000_000), &ack, &mut segments);
    // the first window of 64240 bytes allowed 44 segments. The window's right edge never moves back, so slow start can send 20
    // segments, although the new window has room for only four
    assert!(segments.len() == 20 && segments.iter().all(|s| s.ts_ecr == 40_000 && s.flags.has(Flags::WINDOW)));
}

#[test]
fn each_segment_is_acknowledged_while_the_window_grows() {
    // The congestion window is 10 segments at first, and the RTT is 100 ms. The SYN leaves at 0 ms, data from 100 ms on, and its
    // ACKs from 150 ms on.
    // At 350 ms, 40 segments arrive. A receiver with a constant window acknowledges every second one
    let steps = |p: TcpParams| {
        let mut n = Net::new(&p, 50, pass);
        n.connect(2_000 * MSS, false);
        n.run(0.36);
        let at = |e: &&(Time, usize, Segment)| e.1 == 1 && e.0.0 / 1_000_000 == 350;
        let acks: Vec<_> = n.log.iter().filter(at).map(|e| (e.2.ack - 1) / MSS).collect();
        acks.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()
    };
    let fixed = exact().with(|p| p.receiver.receive_window = ReceiveWindow::fixed(Bytes(1 << 30)));
    assert_eq!(steps(fixed), [2; 19]);
    // The first segment at 350 ms ends a round trip in which the application read 20 segments. The maximum so far was 11, so the buffer
    // now allows 2 x 20 x 1448 x (1 + 2 x 9 / 11) = 152698 bytes. The window was 65536, half of the default memory, and each segment
    // after the first adds 2896 bytes until the buffer's limit is reached: (152698 - 65536) / 2896 = 30.1, so 31 segments raise it
    let grows = steps(tuned(131_072, 6_291_456));
    assert_eq!(grows[..30], [1; 30]);
    assert!(grows[30..].iter().all(|step| *step == 2), "{grows:?}");
}

#[test]
fn the_peers_window_is_not_a_limit_of_the_application() {
    // The peer's window allows 50 segments per RTT of 100 ms, 724 kB/s. In its startup, BBR paces at nearly 2.9 times this rate. It
    // ends its startup only if samples do not count as application-limited. As in Linux (tcp_rate_check_app_limited), they count
    // as such only if less than a segment waits to be sent
    let p = preset("bbr").with(|p| p.receiver.receive_window = ReceiveWindow::fixed(Bytes(50 * MSS)));
    let mut n = Net::new(&p, 50, pass);
    n.connect(5_000 * MSS, false);
    n.run(4.0);
    let rate = n.ends[0].pacing_rate().unwrap();
    assert!(n.received[1] > 1_500 * MSS && rate < 1.26 * 724_000.0, "{rate}");
}

#[test]
fn an_old_window_update_is_not_echoed_half_an_hour_later() {
    // time stamps are compared modulo 2^32 us, 71.6 minutes
    for first in [1, 40, 71] {
        let p = tuned(131_072, 6_291_456).with(|p| p.opening.handshake = false);
        let (mut end, mut sent) = (Endpoint::new(&p, 1 << 20), Vec::<Segment>::new());
        end.listen(&p, Time::ZERO, &mut sent);
        // returns the difference between the echo and the time stamp of the segment, in minutes
        let mut echo = |minute: u64, seq: u64, len: u32| {
            let now = Time(minute * 60_000_000_000);
            let flags = if len == 0 { Flags::PURE_ACK } else { Flags::default() };
            let mut segment =
                Segment { seq, len, flags, ack: 1, ts_val: micros(now), has_ack: true, ..Segment::default() };
            segment.set_window(65_536);
            sent.clear();
            end.on_segment(&p, now, &segment, &mut sent);
            sent.last().map(|ack| (ack.ts_ecr.wrapping_sub(micros(now)) as i32) / 60_000_000)
        };
        assert_eq!((echo(first, 1, 100), echo(first + 1, 101, 0)), (Some(0), None), "{first}");
        for k in 0..20 {
            assert_eq!(echo(first + 2 + 10 * k, 101 + 100 * k, 100), Some(0), "{first} {k}");
        }
    }
}
