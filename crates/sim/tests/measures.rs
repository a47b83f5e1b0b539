//! What a summary says of flows and delays, beside numbers worked by hand.

mod common;
use common::{number, run, series};

/// 1 Mbit/s and 10 ms each way between a and b.
fn line(seconds: u32, apps: &str) -> String {
    format!(
        "duration = \"{seconds}s\"\n[link.up]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\ndelay = \"10ms\"\n\
         both_ways = true\n{apps}"
    )
}

fn app(name: &str, traffic: &str) -> String {
    format!("[app.{name}]\nfrom = \"a\"\nto = [\"b\"]\ntraffic.{traffic}\n")
}

#[test]
fn fairness_of_flows_that_carry_known_amounts() {
    // four flows of one file of 10 kB, and one of a file of 40 kB, all there long before the end
    let apps = app("four", "ftp = { flows = 4, size = \"10kB\", count = 1 }")
        + &app("one", "ftp = { size = \"40kB\", count = 1 }")
        + &app("ping", "ping = {}");
    let outcome = run(&line(10, &apps));
    assert_eq!(number(&outcome, "apps.four.fairness"), 1.0);
    assert!(outcome.summary["apps"]["one"].get("fairness").is_none(), "there is nobody to compare one flow with");
    // (4 x 1 + 4)^2 / (5 (4 x 1 + 16)) = 64 / 100; the pings are in no comparison
    assert!((number(&outcome, "fairness") - 0.64).abs() < 1e-12);
    // 10 kB in 10 s are 8 kbit/s
    for (key, mbit) in [
        ("apps.four.flow_goodput_mbit.min", 0.008),
        ("apps.four.flow_goodput_mbit.max", 0.008),
        ("apps.four.goodput_mbit", 0.032),
        ("apps.one.goodput_mbit", 0.032),
        ("apps.one.goodput_mbit_reverse", 0.0),
    ] {
        assert!((number(&outcome, key) - mbit).abs() < 1e-12, "{key}");
    }
    let rates = series(&outcome, "flows", "goodput_mbit", "app", "four");
    assert_eq!(rates, [0.008, 0.0].repeat(4));
    let alone = run(&line(10, &app("one", "ftp = { size = \"40kB\", count = 1 }")));
    assert!(alone.summary["fairness"].is_null());
}

#[test]
fn the_grade_of_a_burst_among_pings() {
    // Pings of 125 B (1 ms) at 0, 1, 2, 3 s: 22 ms there and back. Ten datagrams of 1250 B (10 ms each) come at 1.99 s and are
    // out at 2.09 s: the third ping waits 90 ms. Mean 44.5 ms, 22.5 above the least.
    let ping = app("ping", "ping = { size = 125 }");
    let burst = "[app.burst]\nfrom = \"a\"\nto = [\"b\"]\nstart = \"1990ms\"\n\
                 traffic.burst = { transport = \"udp\", bytes = 12500, packet = 1250 }\n";
    let outcome = run(&line(4, &format!("{ping}{burst}")));
    assert!((number(&outcome, "apps.ping.ping.induced_ms") - 22.5).abs() < 1e-9);
    assert_eq!(outcome.summary["apps"]["ping"]["ping"]["grade"], "A");
    let latency = &outcome.summary["latency"];
    assert!((number(&outcome, "latency.induced_ms") - 22.5).abs() < 1e-9);
    assert_eq!((latency["grade"].as_str(), latency["from"].as_str()), (Some("A"), Some("app.ping")));
    // the queue's own: datagrams 0, 10, ... 90 ms, pings 0, 0, 90, 0; (450 + 90) / 14
    assert!((number(&outcome, "links.up.sojourn_ms.mean") - 540.0 / 14.0).abs() < 1e-6);
    assert_eq!(outcome.summary["links"]["up"]["grade"], "B");
    // without pings the longest queue speaks: 45 ms
    let alone = run(&line(4, burst));
    assert!((number(&alone, "latency.induced_ms") - 45.0).abs() < 1e-6);
    assert_eq!(
        (alone.summary["latency"]["grade"].as_str(), alone.summary["latency"]["from"].as_str()),
        (Some("B"), Some("link.up"))
    );
    // and without anything there is no grade
    let empty = run(&line(1, ""));
    assert!(empty.summary["latency"]["grade"].is_null() && empty.summary["latency"]["from"].is_null());
}

/// A cable modem as examples/cable-modem.toml has it, with everything that is not said left to its default.
const UPSTREAM: &str = "docsis.flow = { max_sustained_rate = \"5mbit\", max_traffic_burst = \"10MB\", \
                        peak_traffic_rate = \"20mbit\" }";

fn modem(seconds: u32, up: &str, apps: &str) -> String {
    format!(
        "duration = \"{seconds}s\"\n[link.up]\nfrom = \"a\"\nto = \"b\"\nrate = \"100mbit\"\ndelay = \"1ms\"\n{up}\n\
         [link.down]\nfrom = \"b\"\nto = \"a\"\nrate = \"100mbit\"\ndelay = \"19ms\"\n{apps}"
    )
}

#[test]
fn a_modem_drops_nothing_behind_its_queue_discipline() {
    // the channel is congested while tokens last, so the transmit queue is full for seconds
    let up = |queue: &str, more: &str| format!("queue = \"{queue}\"\n{UPSTREAM}\ndocsis.max_grant = \"1250B\"\n{more}");
    let apps = app("files", "ftp = { flows = 5 }");
    for queue in ["codel", "droptail"] {
        let held = run(&modem(20, &up(queue, ""), &apps));
        assert_eq!(number(&held, "links.up.drops.transmit_queue_full"), 0.0, "{queue}");
        let dropped = run(&modem(20, &up(queue, "docsis.transmit_queue = \"drop\""), &apps));
        assert!(number(&dropped, "links.up.drops.transmit_queue_full") > 100.0, "{queue}");
    }
}

#[test]
fn the_utilisation_of_a_modem_is_that_of_its_service_flow() {
    // 60 s at 5 Mbit/s are 37.5 MB. Half of the rate uses half of it: 18.75 MB less the 2 to 8 ms that are on their way.
    let half = run(&modem(60, UPSTREAM, &app("cbr", "cbr = { rate = \"2500kbit\", size = 1250 }")));
    let used = number(&half, "links.up.utilisation");
    assert!((0.5 - 2.0 * 1250.0 / 37.5e6..=0.5).contains(&used), "{used}");
    // a burst is on top: 47.5 MB of 37.5 MB
    let all = run(&modem(60, UPSTREAM, &app("cbr", "cbr = { rate = \"30mbit\", size = 1250 }")));
    assert!((number(&all, "links.up.utilisation") - 47.5 / 37.5).abs() < 0.001);
    // of a shaper the same; of a plain link its rate, and after a change the new one: 30 s at 5 and 30 s at 10 Mbit/s
    let shaper = "shaper = { max_sustained_rate = \"5mbit\" }";
    let shaped = run(&modem(60, shaper, &app("cbr", "cbr = { rate = \"30mbit\", size = 1250 }")));
    assert!((number(&shaped, "links.up.utilisation") - 1.0).abs() < 0.001);
    let changed = "queue.droptail = { limit = \"10p\" }\nchanges = [{ at = \"0s\", rate = \"5mbit\" }, { at = \"30s\", rate = \"10mbit\" }]";
    let half = run(&modem(60, changed, &app("cbr", "cbr = { rate = \"2500kbit\", size = 1250 }")));
    assert!((number(&half, "links.up.utilisation") - 1.0 / 3.0).abs() < 0.001);
}
