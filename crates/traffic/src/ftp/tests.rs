//! Tests of file transfers on a scripted host.

use super::*;
use crate::tests::fake::Fake;

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;

fn run(params: FtpParams, fake: &mut Fake, until: u64) -> Ftp {
    params.validate().unwrap();
    let mut app = params.build();
    fake.run(&mut app, Time(until));
    app
}

#[test]
fn an_endless_file_writes_once_and_needs_no_byte_events() {
    let mut fake = Fake::new(&[20 * MS]);
    let app = run(FtpParams { flows: 5, ..Default::default() }, &mut fake, 10 * S);
    assert!(!app.counts());
    assert_eq!(fake.opened.len(), 5);
    assert!(fake.writes.iter().all(|w| (w.role, w.bytes) == (Role::Client, u64::MAX)));
    assert_eq!((fake.writes.len(), fake.files.len()), (5, 0));
}

#[test]
fn an_endless_file_ends_after_its_length() {
    let mut fake = Fake::new(&[20 * MS]);
    let (stagger, length) = (Duration::from_secs(2), Some(Duration::from_secs(5)));
    let app = run(FtpParams { flows: 2, stagger, length, ..Default::default() }, &mut fake, 20 * S);
    assert_eq!((app.counts(), fake.writes.len(), fake.open_now()), (false, 2, 0));
    let times: Vec<_> = fake.opened.iter().map(|o| (o.at.0 / S, o.closed.map(|at| at.0 / S))).collect();
    assert_eq!(times, [(0, Some(5)), (2, Some(7))]);
    // each connection fails after 2 s and is reopened 1 s later, but not after the flow has ended at 5 s
    let mut fake = Fake::new(&[20 * MS]).failing(&[0, 1, 2, 3], 2 * S);
    run(FtpParams { length, ..Default::default() }, &mut fake, 20 * S);
    let at: Vec<_> = fake.opened.iter().map(|o| o.at.0 / S).collect();
    assert_eq!(at, [0, 3]);
}

#[test]
fn flows_start_one_after_the_other() {
    let mut fake = Fake::new(&[20 * MS]);
    run(FtpParams { flows: 3, stagger: Duration::from_millis(100), ..Default::default() }, &mut fake, S);
    let at: Vec<u64> = fake.opened.iter().map(|o| o.at.0 / MS).collect();
    assert_eq!(at, [0, 100, 200]);
}

#[test]
fn files_repeat_over_new_connections_and_stop_at_the_count() {
    // in the fake network, the handshake takes 20 ms, and data reaches the receiver after half of this time, 10 ms. So a file
    // takes 30 ms
    let mut fake = Fake::new(&[20 * MS]);
    let params = FtpParams {
        size: Some(Bytes(1000)),
        count: Some(3),
        pause: Duration::from_millis(70),
        direction: Direction::Down,
        ..Default::default()
    };
    let app = run(params, &mut fake, 100 * S);
    assert_eq!(app.files_done(), 3);
    let files: Vec<_> = fake.files.iter().map(|f| (f.0.0 / MS, f.1.0 / MS, f.2)).collect();
    assert_eq!(files, [(0, 30, 1000), (100, 130, 1000), (200, 230, 1000)]);
    assert_eq!(fake.opened.len(), 3);
    assert!(fake.writes.iter().all(|w| w.role == Role::Server));
    assert_eq!(fake.open_now(), 0, "both sides of every connection were closed");
}

#[test]
fn each_file_is_counted_in_the_row_of_its_flow() {
    // three flows start 100 ms apart, and each sends a file every second. Their connections are never open at the same time
    let mut fake = Fake::new(&[20 * MS]);
    let (stagger, interval) = (Duration::from_millis(100), Some(Duration::from_secs(1)));
    run(FtpParams { flows: 3, stagger, interval, size: Some(Bytes(1000)), ..Default::default() }, &mut fake, 3 * S);
    let rows: Vec<_> = fake.opened.iter().map(|o| (o.at.0 / MS, o.row)).collect();
    let at = |second: u64| [(1000 * second, 0), (1000 * second + 100, 1), (1000 * second + 200, 2)];
    assert_eq!(rows, [at(0), at(1), at(2)].concat());
}

#[test]
fn a_kept_connection_carries_all_files_and_closes_after_the_last() {
    let mut fake = Fake::new(&[20 * MS]);
    // the bursty user of CableLabs 2012 §3.2.1 sends 18.75 MB, then pauses for 16 s, over one connection
    let (size, pause) = (Some(Bytes(18_750_000)), Duration::from_secs(16));
    let params = FtpParams { size, pause, new_connection: false, count: Some(3), ..FtpParams::default() };
    let app = run(params, &mut fake, 100 * S);
    // the first file takes 20 + 10 ms, and each later file 10 ms
    let files: Vec<_> = fake.files.iter().map(|f| (f.0.0 / MS, f.1.0 / MS, f.2)).collect();
    assert_eq!(files, [(0, 30, 18_750_000), (16_030, 16_040, 18_750_000), (32_040, 32_050, 18_750_000)]);
    assert_eq!((app.files_done(), fake.opened.len(), fake.open_now()), (3, 1, 0));
}

#[test]
fn files_at_fixed_times_wait_for_the_one_before() {
    // a file takes 20 + 10 ms, and 1 ms for each additional piece of 1000 B: 49 ms for 20 kB, and 229 ms for 200 kB, which is
    // longer than the interval
    for (size, starts) in [(20_000, [0, 100, 200, 300]), (200_000, [0, 229, 458, 687])] {
        let mut fake = Fake::new(&[20 * MS]);
        (fake.piece, fake.gap) = (1000, MS);
        let params = FtpParams {
            size: Some(Bytes(size)),
            count: Some(4),
            interval: Some(Duration::from_millis(100)),
            ..Default::default()
        };
        run(params, &mut fake, 100 * S);
        let at: Vec<u64> = fake.files.iter().map(|f| f.0.0 / MS).collect();
        assert_eq!(at, starts);
    }
}

#[test]
fn pauses_spread_within_their_bounds() {
    let mut fake = Fake::new(&[0]);
    let params = FtpParams {
        size: Some(Bytes(1)),
        count: Some(2001),
        pause: Duration::from_millis(300),
        pause_spread: Duration::from_millis(200),
        ..Default::default()
    };
    run(params, &mut fake, 10_000 * S);
    let gaps: Vec<u64> = fake.files.windows(2).map(|w| (w[1].0.0 - w[0].1.0) / MS).collect();
    assert_eq!(gaps.len(), 2000);
    assert!(gaps.iter().all(|g| (300..=500).contains(g)));
    // the mean is 400 ms, with a standard error of 200 / sqrt(12 * 2000) = 1.3 ms
    let mean = gaps.iter().sum::<u64>() as f64 / 2000.0;
    assert!((mean - 400.0).abs() < 7.0, "{mean}");
}

#[test]
fn a_failed_connection_is_retried_or_given_up() {
    for (on_failure, files) in [(OnFailure::Retry, 1), (OnFailure::GiveUp, 0)] {
        let mut fake = Fake::new(&[20 * MS]).failing(&[0, 1], 5 * S);
        let params = FtpParams { size: Some(Bytes(10)), count: Some(1), on_failure, ..Default::default() };
        run(params, &mut fake, 100 * S);
        assert_eq!(fake.files.len(), files);
        if files == 1 {
            // two connections fail after 5 s each, and each failure is followed by a wait of 1 s
            assert_eq!(fake.files[0].0, Time(12 * S));
        }
    }
}

#[test]
fn refusals_name_the_field() {
    let bad = |p: FtpParams| p.validate().unwrap_err().path;
    assert_eq!(bad(FtpParams { flows: 0, ..Default::default() }), "flows");
    assert_eq!(bad(FtpParams { size: Some(Bytes(0)), ..Default::default() }), "size");
    assert_eq!(bad(FtpParams { count: Some(3), ..Default::default() }), "count");
    assert_eq!(bad(FtpParams { pause: Duration::from_secs(1), ..Default::default() }), "pause");
    assert_eq!(bad(FtpParams { size: Some(Bytes(1)), count: Some(0), ..Default::default() }), "count");
    let second = Duration::from_secs(1);
    assert_eq!(bad(FtpParams { interval: Some(second), ..Default::default() }), "interval");
    let both = FtpParams { size: Some(Bytes(1)), interval: Some(second), pause: second, ..Default::default() };
    assert_eq!(bad(both), "interval");
    let length = Some(second);
    assert_eq!(bad(FtpParams { length, size: Some(Bytes(1)), ..Default::default() }), "length");
    assert_eq!(bad(FtpParams { length: Some(Duration::ZERO), ..Default::default() }), "length");
}

#[test]
fn an_application_writes_at_its_rates() {
    let mut fake = Fake::new(&[20 * MS]);
    let rate =
        |at, mbit: Option<u64>| WriteRate { at: Duration::from_secs(at), rate: mbit.map(|m| BitRate(m * 1_000_000)) };
    let rates = vec![rate(0, Some(8)), rate(2, Some(0)), rate(3, Some(4))];
    let app = run(FtpParams { rates, ..Default::default() }, &mut fake, 5 * S);
    assert!(!app.counts() && !app.params.greedy());
    // the rate is 1 MB/s from 0 to 2 s, and 0.5 MB/s from 3 to 5 s. The application writes once per millisecond, so up
    // to the last write at each rate, it has written the data of 1.999 s: 1380.5 blocks at 1 MB/s, and 690.3 blocks at
    // 0.5 MB/s
    let blocks = fake.writes.iter().map(|w| w.bytes / BLOCK).sum::<u64>();
    assert!(fake.writes.iter().all(|w| w.bytes % BLOCK == 0) && blocks == 1380 + 690, "{blocks}");
}

#[test]
fn limits_are_in_order_and_without_a_size() {
    let bad = |p: FtpParams| p.validate().unwrap_err().path;
    let at = |s| WriteRate { at: Duration::from_secs(s), rate: None };
    assert_eq!(bad(FtpParams { rates: vec![at(2), at(2)], ..Default::default() }), "rates");
    assert_eq!(bad(FtpParams { rates: vec![at(2)], size: Some(Bytes(1)), ..Default::default() }), "rates");
}
