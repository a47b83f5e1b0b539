//! Tests which scenarios can run live, and with which bins.

use live::{Options, Plan, as_run};
use scenario::Scenario;
use scenario::read::{Format, scenario};
use units::{BitRate, Duration};

/// Returns a scenario of 60 s with one application. `app` has lines of the application, `top` has top-level lines.
fn with_app(app: &str, top: &str) -> Scenario {
    let link = r#"[link.wire]
        from = "a"
        to = "b"
        both_ways = true
        rate = "10mbit"
        delay = "5ms""#;
    let text = format!("duration = \"60s\"\n{top}\n{link}\n[app.x]\nfrom = \"a\"\nto = [\"b\"]\n{app}");
    scenario(&text, Format::Toml, &[]).unwrap()
}

/// Returns the reason why a scenario with this application cannot run live; `None` if it can.
fn refused(app: &str) -> Option<String> {
    Plan::new(&with_app(app, ""), None, BitRate(1_000_000_000)).err().map(|p| p.to_string())
}

#[test]
fn every_datagram_fits_into_the_mtu_and_holds_its_number_and_time() {
    // every datagram, even the last of a burst or frame, needs 44 bytes: 40 000 = 27 * 1450 + 850 is valid, and
    // 3030 = 2 * 1500 + 30 is not. By default, a frame has 2425 = 3 * 700 + 325 bytes
    for (traffic, key) in [
        (r#"burst = { transport = "udp", bytes = "40KB", packet = "1450B" }"#, None),
        (r#"burst = { transport = "udp", bytes = "40KB", packet = "1501B" }"#, Some("packet")),
        (r#"burst = { transport = "udp", bytes = "3030B" }"#, Some("bytes")),
        (r#"burst = { transport = "udp", bytes = "43B" }"#, Some("bytes")),
        // over TCP, `packet` has no effect
        (r#"burst = { bytes = "3030B", packet = "4000B" }"#, None),
        ("proshare = {}", None),
        (r#"proshare = { packet = "1501B", frame_size = "1502B" }"#, Some("packet")),
        // a frame that fits into one datagram is sent as one
        (r#"proshare = { packet = "3000B", frame_size = "1500B" }"#, None),
        (r#"proshare = { frame_size = "730B" }"#, Some("frame_size")),
        (r#"proshare = { audio_size = "43B" }"#, Some("audio_size")),
        (r#"proshare = { audio_size = "44B" }"#, None),
        (r#"ping = { size = "43B" }"#, Some("size")),
        (r#"cbr = { rate = "1mbit", size = "1501B" }"#, Some("size")),
        (r#"voip = { size = "43B" }"#, Some("size")),
        ("game = {}", None),
    ] {
        let said = refused(&format!("traffic.{traffic}"));
        let name = traffic.split(' ').next().unwrap();
        let path = key.map(|key| format!("app.x.traffic.{name}.{key}: a datagram of "));
        assert_eq!(said.is_some(), path.is_some(), "{traffic}: {said:?}");
        assert!(said.unwrap_or_default().starts_with(&path.unwrap_or_default()), "{traffic}");
    }
}

#[test]
fn a_burst_of_datagrams_needs_no_stack_of_the_kernel() {
    assert!(refused("tcp = \"rfc\"\ntraffic.burst = {}").unwrap().starts_with("app.x.tcp: "));
    assert_eq!(refused("tcp = \"rfc\"\ntraffic.burst = { transport = \"udp\" }"), None);
}

#[test]
fn bins_are_those_of_the_scenario_unless_its_duration_is_not_that_of_the_run() {
    let of = |top: &str, until_command_ends| {
        let options = Options { until_command_ends, ..Options::default() };
        as_run(&with_app("traffic.ping = {}", top), &options).map(|s| s.bin()).map_err(|p| p.to_string())
    };
    assert_eq!(of("", false), Ok(Duration::from_millis(10))); // 60 s / 6000
    assert_eq!(of("record.interval = \"100us\"", false), Ok(Duration::from_micros(100)));
    // a run that ends with its command lasts at most a day (86 400 s): by default 100 000 bins of 864 ms, and at most a
    // million bins of 86.4 ms
    assert_eq!(of("", true), Ok(Duration::from_millis(864)));
    assert_eq!(of("record.interval = \"2s\"", true), Ok(Duration::from_secs(2)));
    assert_eq!(of("record.interval = \"86400us\"", true), Ok(Duration::from_micros(86_400)));
    let said = of("record.interval = \"10ms\"", true).unwrap_err();
    assert!(said.starts_with("record.interval: 10ms is too short for a run that ends with its command"), "{said}");
    assert!(said.contains("expected at least 86400us, or no interval (864ms)"), "{said}");
}
