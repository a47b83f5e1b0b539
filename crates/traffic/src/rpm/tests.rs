//! Tests of the whole application on a network that adds only delay.

use super::*;
use crate::Params;
use crate::tests::fake::Fake;
use units::Bytes;

const MS: u64 = 1_000_000;

fn figure(app: &Rpm, name: &str) -> f64 {
    app.figures(Time::ZERO, Time::NEVER).into_iter().find(|f| f.0 == name).unwrap().1
}

/// Runs the test with a round trip of 40 ms. Each load-generating connection delivers 1250 B every ms (10 Mbit/s).
fn run(p: RpmParams, seconds: u64) -> (Rpm, Fake) {
    p.validate().unwrap();
    let mut fake = Fake::new(&[40 * MS]);
    (fake.streaming, fake.piece, fake.gap) = (true, 1250, MS);
    let mut app = p.build();
    fake.run(&mut app, Time(seconds * 1000 * MS));
    (app, fake)
}

/// Returns parameters with messages that each fit into one piece, so that every step of a probe takes one round trip.
fn small() -> RpmParams {
    let one = Bytes(1250);
    let interval = Duration::from_secs(1);
    RpmParams {
        server_hello: one,
        request: one,
        response: one,
        notsent_lowat: Bytes(0),
        most: 1,
        interval,
        ..Default::default()
    }
}

#[test]
fn an_empty_line_has_the_round_trips_of_its_delay() {
    for tls in [true, false] {
        for direction in [Load::Up, Load::Down, Load::Both] {
            let (app, _) = run(RpmParams { direction, tls, ..small() }, 40);
            // every step takes 40 ms; the message of a self probe also waits for the piece that is being sent, at most 1 ms
            assert_eq!([figure(&app, "tcp_ms"), figure(&app, "http_foreign_ms")], [40.0; 2]);
            assert_eq!(figure(&app, "foreign_rpm"), 1500.0);
            let own = figure(&app, "http_loaded_ms");
            assert!((40.0..=42.0).contains(&own), "{own}");
            assert_eq!(app.confidence(), ["high", "high"]);
        }
    }
}

#[test]
fn a_self_probe_waits_for_the_unsent_bytes_of_its_socket() {
    // a self probe shares a socket with the load. In either direction, one of its messages waits until the 125 kB of
    // load in the socket have been sent, which takes 100 ms at 1250 B/ms. Foreign probes do not wait, because they have
    // their own sockets
    for direction in [Load::Up, Load::Down] {
        let (app, _) = run(RpmParams { direction, notsent_lowat: Bytes(125_000), ..small() }, 40);
        let own = figure(&app, "http_loaded_ms");
        assert!((140.0..=142.0).contains(&own), "{own}");
        assert_eq!(figure(&app, "http_foreign_ms"), 40.0);
    }
}

#[test]
fn the_stages_take_the_intervals_that_their_averages_need() {
    // a moving average of the goodput always divides by four, so the first three averages, which cover fewer than four
    // intervals, are too low. The 4th to the 7th average agree within 5 %, so the goodput stage takes seven intervals.
    // The responsiveness stage then takes another four
    let (app, _) = run(small(), 60);
    assert_eq!((figure(&app, "intervals"), app.rpm.values.len(), app.stage), (11.0, 4, Stage::Over));
    // in this network, each connection adds 10 Mbit/s, so the goodput never becomes stable, and the goodput stage ends
    // after ten intervals, the default of `stage_intervals`. The responsiveness stage takes four intervals
    let (app, _) = run(RpmParams { most: 1000, ..small() }, 60);
    assert_eq!((figure(&app, "intervals"), app.confidence()), (14.0, ["medium", "high"]));
    // with fewer than four intervals, confidence is low
    assert_eq!(run(small(), 3).0.confidence(), ["low"; 2]);
    let unsettled = |n| Progress { values: vec![1.0; n], stable: false }.confidence(4);
    assert_eq!([unsettled(3), unsettled(4)], ["low", "medium"]);
}

#[test]
fn connections_are_added_up_to_the_most() {
    let p = RpmParams { initial: 2, add: 3, most: 7, direction: Load::Both, tolerance: 1e-9, ..small() };
    let (app, _) = run(p, 6);
    let columns = app.columns();
    // in each direction, 2 connections are open in the first interval, then 5, then 7 (the maximum). The column
    // counts both directions together
    assert_eq!(columns[1].1, [4.0, 10.0, 14.0, 14.0, 14.0]);
    assert_eq!(columns[0].1, [1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn probes_take_their_share_at_most() {
    // the goodput of one connection is 10 Mbit/s. 5 % of this goodput is 62.5 kB/s, or 10.4 pairs of probes per second
    // (5000 B for the foreign probe and 1000 B for the self probe). `self_probes` is the number of probes answered in
    // the last 4 intervals, which are 1 s long
    let (app, _) = run(RpmParams { direction: Load::Down, ..small() }, 40);
    let pairs = figure(&app, "self_probes") / 4.0;
    assert!((pairs - 62_500.0 / 6000.0).abs() < 0.5, "{pairs}");
    // probes may use the whole goodput, so only the maximum of 50 pairs per second (`probes_per_second`) limits their
    // number
    let p = RpmParams { direction: Load::Down, probe_share: 1.0, probes_per_second: 50, ..small() };
    let pairs = figure(&run(p, 40).0, "foreign_probes") / 4.0;
    assert!((pairs - 50.0).abs() < 1.5, "{pairs}");
}

#[test]
fn every_probe_closes_its_connection() {
    let (app, fake) = run(RpmParams { direction: Load::Down, ..small() }, 40);
    assert_eq!((app.probes, app.failed, fake.open_now()), (0, 0, 1));
}

#[test]
fn refusals_name_the_field() {
    let bad = |p: RpmParams| p.validate().unwrap_err().path;
    let d = RpmParams::default;
    assert_eq!(bad(RpmParams { most: 0, ..d() }), "most");
    assert_eq!(bad(RpmParams { initial: 17, ..d() }), "initial");
    assert_eq!(bad(RpmParams { moving_average: 1, ..d() }), "moving_average");
    assert_eq!(bad(RpmParams { stage_intervals: 3, ..d() }), "stage_intervals");
    assert_eq!(bad(RpmParams { probes_per_second: 0, ..d() }), "probes_per_second");
    assert_eq!(bad(RpmParams { interval: Duration::ZERO, ..d() }), "interval");
    assert_eq!(bad(RpmParams { trim: f64::NAN, ..d() }), "trim");
    assert_eq!(bad(RpmParams { tolerance: 0.0, ..d() }), "tolerance");
    assert_eq!(bad(RpmParams { probe_share: f64::INFINITY, ..d() }), "probe_share");
    assert_eq!(bad(RpmParams { request: Bytes(0), ..d() }), "request");
    assert_eq!(bad(RpmParams { notsent_lowat: Bytes(u64::MAX), ..d() }), "notsent_lowat");
}
