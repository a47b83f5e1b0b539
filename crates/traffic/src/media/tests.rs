//! Tests of a media flow over the scripted host, which has delays and losses but no queue.

use super::*;
use crate::tests::fake::Fake;
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;

fn media(text: &str) -> MediaParams {
    let params: MediaParams = serde_json::from_str(text).unwrap();
    params.validate().unwrap();
    params
}

fn figure(app: &Media, at: u64, name: &str) -> f64 {
    app.figures(Time(at), Time::NEVER).into_iter().find(|f| f.0 == name).unwrap().1
}

#[test]
fn a_fixed_flow_sends_its_rate_and_reports() {
    // 1 Mbit/s at 25 frames per second is 5000 B per frame: four packets of 1160 B and one of 360 B of payload
    let params =
        media(r#"{ "control": "fixed", "start_rate": "1mbit", "frame_rate": 25, "size_spread": 0, "key_size": 1 }"#);
    let mut fake = Fake::new(&[60 * MS]);
    let mut app = params.build();
    fake.run(&mut app, Time(10 * S));
    let video: Vec<_> = fake.datagrams.iter().filter(|d| d.1 == Role::Client).collect();
    assert_eq!(video.len(), 250 * 5);
    assert!(video.chunks(5).enumerate().all(|(k, frame)| {
        frame.iter().map(|d| d.2).eq([1200, 1200, 1200, 1200, 400]) && frame.iter().all(|d| d.0.0 == k as u64 * 40 * MS)
    }));
    assert!(video.iter().enumerate().all(|(i, d)| d.3 == i as u64));
    // each frame that arrives causes a report. The first report covers five packets (48 + 10, rounded up to 60 B), the others
    // ten packets (68 B)
    let reports: Vec<_> = fake.datagrams.iter().filter(|d| d.1 == Role::Server).collect();
    assert_eq!((reports.len(), reports[0].2, reports[1].2), (250, 60, 68));
    assert!(reports.iter().enumerate().all(|(k, d)| d.0.0 == (k as u64 * 40 + 30) * MS && d.3 == k as u64));
    // every frame takes half a round trip
    let figures =
        ["frames_sent", "frames_whole", "frame_delay_p50_ms", "frame_delay_p99_ms", "freezes", "lost_percent"];
    assert_eq!(figures.map(|name| figure(&app, 10 * S, name)), [250.0, 250.0, 30.0, 30.0, 0.0, 0.0]);
    assert_eq!(figure(&app, 10 * S, "rate_mbit"), 1.0);
    assert_eq!(app.sender.srtt, Some(Duration::from_millis(60)));
}

#[test]
fn lost_packets_make_frames_incomplete() {
    let params =
        media(r#"{ "control": "fixed", "start_rate": "1mbit", "frame_rate": 25, "size_spread": 0, "key_size": 1 }"#);
    // datagrams 0 to 4 are frame 0, datagram 5 is the report on it, and datagrams 6 to 10 are frame 1. Datagram 7 is lost
    let mut fake = Fake::new(&[2 * MS]);
    fake.lost = [7].into();
    let mut app = params.build();
    fake.run(&mut app, Time(S));
    assert_eq!(fake.datagrams[7].1, Role::Client);
    let figures = ["frames_sent", "frames_whole", "freezes"].map(|name| figure(&app, S, name));
    assert_eq!(figures, [25.0, 24.0, 0.0]);
    assert!((figure(&app, S, "lost_percent") - 100.0 / 125.0).abs() < 0.01);
}

#[test]
fn a_pause_is_no_freeze_and_ends_with_a_key_frame() {
    let params = media(
        r#"{ "control": "fixed", "start_rate": "1mbit", "frame_rate": 25, "size_spread": 0, "key_size": 3,
             "pauses": [{ "from": "2s", "to": "5s" }] }"#,
    );
    let mut fake = Fake::new(&[60 * MS]);
    let mut app = params.build();
    fake.run(&mut app, Time(10 * S));
    let video: Vec<_> = fake.datagrams.iter().filter(|d| d.1 == Role::Client).collect();
    assert!(video.iter().all(|d| d.0.0 < 2 * S || d.0.0 >= 5 * S));
    // a frame of 15 000 B takes thirteen packets
    let at = |t: u64| video.iter().filter(|d| d.0.0 == t).count();
    assert_eq!([at(0), at(40 * MS), at(5 * S), at(5 * S + 40 * MS)], [13, 5, 13, 5]);
    assert_eq!(figure(&app, 10 * S, "freezes"), 0.0);
    // in the seven seconds outside the pause, the flow sends 7 Mbit, and 80 kbit more for each of the two key frames
    assert!((figure(&app, 10 * S, "rate_mbit") - 7.16 / 7.0).abs() < 1e-9);
    // if the run ends within the pause, only two seconds lie outside the pause, and there is only one key frame
    let mut app = params.build();
    Fake::new(&[60 * MS]).run(&mut app, Time(4 * S));
    assert_eq!(figure(&app, 4 * S, "freezes"), 0.0);
    assert!((figure(&app, 4 * S, "rate_mbit") - 2.08 / 2.0).abs() < 1e-9);
}

#[test]
fn an_outage_after_a_pause_is_a_freeze() {
    let params = media(
        r#"{ "control": "fixed", "start_rate": "1mbit", "frame_rate": 25, "size_spread": 0, "key_size": 1,
             "pauses": [{ "from": "2s", "to": "5s" }] }"#,
    );
    // before the pause, there are 300 datagrams: 50 frames of 5 packets, and a report on each frame. So datagram 300 is
    // the first of the frame captured at 5 s. The first 25 frames after the pause are lost, so whole frames arrive at
    // 1.99 s and 6.03 s. The pause takes up 3 s of the time between them
    let mut fake = Fake::new(&[60 * MS]);
    fake.lost = (300..425).collect();
    let mut app = params.build();
    fake.run(&mut app, Time(10 * S));
    assert_eq!(["frames_whole", "freezes", "frozen_s"].map(|name| figure(&app, 10 * S, name)), [150.0, 1.0, 1.04]);
    // the last 13 frames before the pause are lost: whole frames arrive at 1.47 s and 5.03 s
    let mut fake = Fake::new(&[60 * MS]);
    fake.lost = (37 * 6..37 * 6 + 65).collect();
    let mut app = params.build();
    fake.run(&mut app, Time(10 * S));
    assert_eq!(["frames_whole", "freezes", "frozen_s"].map(|name| figure(&app, 10 * S, name)), [162.0, 1.0, 0.56]);
    // the pause is not a freeze even if the delay, 400 ms, is longer than the gap that counts as a freeze, 190 ms
    let mut app = params.build();
    Fake::new(&[800 * MS]).run(&mut app, Time(10 * S));
    assert_eq!([3, 4, 5, 6, 10].map(|at| figure(&app, at * S, "freezes")), [0.0; 5]);
}

#[test]
fn a_queue_that_drains_in_a_pause_hides_no_freeze() {
    let params = media(
        r#"{ "control": "fixed", "start_rate": "1mbit", "frame_rate": 25, "size_spread": 0, "key_size": 1,
             "pauses": [{ "from": "2s", "to": "4s" }] }"#,
    );
    // the queue delays the frame captured at 1.96 s by 490 ms, and is empty after the pause. The 15 frames from 4 s on
    // are lost (datagrams 0 to 299 are 50 frames of 5 packets, and their reports). So a frame is due at 4.03 s, but the
    // first whole frame after the pause arrives at 4.63 s
    let mut fake = Fake::new(&[60 * MS]);
    fake.extra = |t| if t.0 < 2 * S { t.0 / 4 } else { 0 };
    fake.lost = (300..375).collect();
    let mut app = params.build();
    fake.run(&mut app, Time(10 * S));
    assert_eq!(["frames_whole", "freezes"].map(|name| figure(&app, 10 * S, name)), [185.0, 1.0]);
    assert!((figure(&app, 10 * S, "frozen_s") - 0.6).abs() < 1e-9);
    // without the losses, neither the queue nor the pause is a freeze
    let mut fake = Fake::new(&[60 * MS]);
    fake.extra = |t| if t.0 < 2 * S { t.0 / 4 } else { 0 };
    let mut app = params.build();
    fake.run(&mut app, Time(10 * S));
    assert_eq!(["frames_whole", "freezes"].map(|name| figure(&app, 10 * S, name)), [200.0, 0.0]);
}

#[test]
fn the_rate_includes_the_time_in_which_a_queue_drains() {
    // 1 Mbit/s on a line of 0.5 Mbit/s: the frame captured at 4.96 s arrives 4.96 + 0.03 s later, at 9.95 s. It does so
    // whether the flow stops or pauses at 5 s
    let text = r#""control": "fixed", "start_rate": "1mbit", "frame_rate": 25, "size_spread": 0, "key_size": 1"#;
    let mut fake = Fake::new(&[60 * MS]);
    (fake.stop, fake.extra) = (Time(5 * S), |t: Time| t.0);
    let mut app = media(&format!("{{ {text} }}")).build();
    fake.run(&mut app, Time(20 * S));
    let rate = |(_, rate): &(&str, f64)| *rate;
    let figures = app.figures(Time(20 * S), fake.stop);
    assert!((figures.iter().find(|f| f.0 == "rate_mbit").map(rate).unwrap() - 5.0 / 9.95).abs() < 1e-9);
    // at the receiver, the pause is 0.03 s later than at the sender, and ends at 20.03 s. So the whole time from 9.95 s
    // to 20.03 s is pause. In the remaining 4.97 s, the flow sends 5 Mbit more without a queue
    let mut fake = Fake::new(&[60 * MS]);
    fake.extra = |t| if t.0 < 5 * S { t.0 } else { 0 };
    let mut app = media(&format!(r#"{{ {text}, "pauses": [{{ "from": "5s", "to": "20s" }}] }}"#)).build();
    fake.run(&mut app, Time(25 * S));
    assert!((figure(&app, 25 * S, "rate_mbit") - 10.0 / (9.95 + 4.97)).abs() < 1e-9);
}

#[test]
fn the_rate_leaves_out_pauses_from_their_beginning() {
    // a frame has 62 500 B. Frames leave at 0, 0.5 and 1 s, and from 4.9 s to 9.9 s: 14 frames with 7 Mbit in 10 - 3.8 s
    let params = media(
        r#"{ "control": "fixed", "start_rate": "1mbit", "frame_rate": 2, "size_spread": 0, "key_size": 1,
             "pauses": [{ "from": "1100ms", "to": "4900ms" }] }"#,
    );
    let mut app = params.build();
    Fake::new(&[60 * MS]).run(&mut app, Time(10 * S));
    assert!((figure(&app, 10 * S, "rate_mbit") - 7.0 / 6.2).abs() < 1e-9);
}

#[test]
fn the_time_after_a_stop_does_not_count() {
    let params =
        media(r#"{ "control": "fixed", "start_rate": "1mbit", "frame_rate": 25, "size_spread": 0, "key_size": 1 }"#);
    let mut fake = Fake::new(&[60 * MS]);
    fake.stop = Time(5 * S);
    let mut app = params.build();
    fake.run(&mut app, Time(20 * S));
    let figures: BTreeMap<_, _> = app.figures(Time(20 * S), fake.stop).into_iter().collect();
    assert_eq!((figures["frames_whole"], figures["freezes"], figures["rate_mbit"]), (125.0, 0.0, 1.0));
}

#[test]
fn packets_that_the_sender_has_given_up_still_count_in_the_rate() {
    // the rate is 40 Mbit/s. Packets that leave from 2 s to 5 s are held back until 5 s, for up to 3 s. The sender
    // counts a packet as lost after 1 s. Nothing is dropped, so 40 Mbit/s arrive
    let params = media(r#"{ "control": "fixed", "start_rate": "40mbit", "max_rate": "40mbit", "frame_rate": 25 }"#);
    let mut fake = Fake::new(&[60 * MS]);
    fake.extra = |t| if (2 * S..5 * S).contains(&t.0) { 5 * S - t.0 } else { 0 };
    let mut app = params.build();
    fake.run(&mut app, Time(10 * S));
    let payload: u64 = fake.datagrams.iter().filter(|d| d.1 == Role::Client).map(|d| u64::from(d.2) - HEADERS).sum();
    assert!(payload > 49_000_000 && figure(&app, 10 * S, "lost_percent") > 10.0);
    assert!((figure(&app, 10 * S, "rate_mbit") - payload as f64 * 8e-6 / 10.0).abs() < 1e-9);
    assert!(app.travelling.is_empty());
}

#[test]
fn lost_packets_take_limited_memory() {
    // the first 70 000 packets are lost
    let params = media(r#"{ "control": "fixed", "start_rate": "40mbit", "max_rate": "40mbit", "frame_rate": 25 }"#);
    let mut fake = Fake::new(&[60 * MS]);
    fake.lost = (0..70_000).collect();
    let mut app = params.build();
    fake.run(&mut app, Time(20 * S));
    let newest = fake.datagrams.iter().filter(|d| d.1 == Role::Client).count() as u64 - 1;
    assert!(newest > 80_000);
    let left: Vec<u64> = app.travelling.keys().copied().collect();
    assert!(left.iter().copied().eq(newest - 65_536..70_000), "{newest} {:?} {:?}", left.first(), left.last());
}

#[test]
fn packets_that_all_get_lost_take_limited_memory() {
    let params = media(r#"{ "control": "fixed", "start_rate": "40mbit", "max_rate": "40mbit", "frame_rate": 25 }"#);
    let mut fake = Fake::new(&[60 * MS]);
    fake.lost = (0..400_000).collect();
    let mut app = params.build();
    fake.run(&mut app, Time(80 * S));
    assert!(fake.datagrams.len() > 280_000);
    assert_eq!(app.travelling.len(), 262_144);
}

#[test]
fn frames_captured_before_a_stop_still_leave_and_are_reported() {
    // a frame of 18 750 B is paced over the 100 ms until the next frame. At the stop, at 10.01 s, the frame captured at
    // 10 s has just begun to leave
    let params = media(
        r#"{ "control": { "gcc": { "pacing": 1.0 } }, "frame_rate": 10, "min_rate": "1500kbit", "start_rate": "1500kbit",
             "max_rate": "1500kbit", "key_size": 1, "size_spread": 0 }"#,
    );
    let mut fake = Fake::new(&[60 * MS]);
    fake.stop = Time(10_010 * MS);
    let mut app = params.build();
    fake.run(&mut app, Time(20 * S));
    assert_eq!(["frames_sent", "frames_whole"].map(|name| figure(&app, 20 * S, name)), [101.0, 101.0]);
    let sent = fake.datagrams.iter().filter(|d| d.1 == Role::Client).count() as u64;
    assert_eq!((app.sender.acknowledged, app.sender.lost), (sent, 0));
    assert!(app.columns()[0].1.iter().all(|t| *t < 10.01), "no row after the stop");
    // after the stop, no frame is captured, and the flow soon falls silent: its last datagram is a report
    assert!(fake.datagrams.iter().all(|d| d.0.0 < 10_400 * MS));
}

#[test]
fn after_a_stop_a_full_window_empties_by_time() {
    // every packet is lost. No report arrives, so packets count as lost only because of their age
    let params =
        media(r#"{ "control": "screamv2", "start_rate": "2500kbit", "max_rate": "2500kbit", "frame_rate": 25 }"#);
    let run = |until| {
        let mut fake = Fake::new(&[60 * MS]);
        (fake.stop, fake.lost) = (Time(300 * MS), (0..1000).collect());
        let mut app = params.build();
        fake.run(&mut app, Time(until));
        (fake.datagrams.len() as u64, app)
    };
    let (before, app) = run(300 * MS);
    assert!(!app.sender.idle(), "{before} packets have left");
    let (after, app) = run(20 * S);
    assert!(after > before && app.sender.idle());
    // the packets that left before the stop have counted as lost, which made room for the waiting packets
    assert!(app.sender.acknowledged == 0 && app.sender.lost >= before, "{} {before}", app.sender.lost);
}

#[test]
fn delays_of_frames_are_exact() {
    // every frame takes half a round trip, 30.0617 ms
    let mut app = media(r#"{ "control": "fixed", "start_rate": "150kbit" }"#).build();
    Fake::new(&[60_123_400]).run(&mut app, Time(S));
    let delays = ["frame_delay_p50_ms", "frame_delay_p95_ms", "frame_delay_p99_ms"];
    assert_eq!(delays.map(|name| figure(&app, S, name)), [30.0617; 3]);
    // by nearest rank, the 50th percentile of five delays is the third
    app.count.delays = [562_500, 437_500, 312_500, 187_500, 62_500].map(Duration).into();
    assert_eq!(delays.map(|name| figure(&app, S, name)), [0.3125, 0.5625, 0.5625]);
    app.count.delays.clear();
    assert!(figure(&app, S, delays[0]).is_nan());
}

#[test]
fn the_series_has_ten_rows_per_second() {
    let mut app = media(r#"{ "frame_rate": 50 }"#).build();
    let mut fake = Fake::new(&[60 * MS]);
    fake.run(&mut app, Time(10 * S));
    let columns = app.columns();
    assert!(columns.iter().all(|(_, values)| values.len() == 99));
    let column = |name: &str| &columns.iter().find(|c| c.0 == name).unwrap().1;
    assert!(column("t_s").windows(2).all(|w| (w[1] - w[0] - 0.1).abs() < 1e-9));
    // without congestion, the target rises by 8 % per second from 0.3 Mbit/s
    assert!(column("target_mbit").windows(2).all(|w| w[1] >= w[0]));
    let last = column("target_mbit")[98];
    assert!((last / (0.3 * units::math::pow(1.08, 9.85)) - 1.0).abs() < 0.01, "{last}");
}

#[test]
fn bad_flows() {
    let bad = |text: &str| serde_json::from_str::<MediaParams>(text).unwrap().validate().unwrap_err().to_string();
    assert_eq!(bad(r#"{ "start_rate": "100kbit" }"#), "start_rate: 100kbit is below min_rate, 150kbit");
    assert_eq!(bad(r#"{ "max_rate": "200kbit" }"#), "max_rate: 200kbit is below start_rate, 300kbit");
    assert!(bad(r#"{ "frame_rate": 0 }"#).starts_with("frame_rate: 0 is not valid"));
    assert!(bad(r#"{ "packet": 40 }"#).starts_with("packet: 40B is not valid"));
    assert!(bad(r#"{ "key_interval": "50ms" }"#).starts_with("key_interval: 50ms is 2 frames, too few"));
    assert!(bad(r#"{ "max_rate": "1gbit" }"#).starts_with("max_rate: 1gbit may give a frame of"));
    assert!(bad(r#"{ "control": { "gcc": { "beta": 2 } } }"#).starts_with("control.gcc.beta: 2 is not valid"));
    let pauses = r#"{ "pauses": [{ "from": "2s", "to": "5s" }, { "from": "4s", "to": "6s" }] }"#;
    assert_eq!(bad(pauses), "pauses.1.from: 4s is before the end of the previous pause, 5s");
    assert_eq!(
        bad(r#"{ "pauses": [{ "from": "2s", "to": "2s" }] }"#),
        "pauses.0.to: 2s is not after the beginning of the pause, 2s"
    );
}
