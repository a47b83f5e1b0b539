//! Compares the summary's numbers for flows and delays with calculated values.

use crate::common::{number, run, series};

/// Returns a scenario with 1 Mbit/s and 10 ms each way between a and b.
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
fn fairness_of_flows_that_have_more_to_send() {
    // `done` sends one file, and `late` never starts, so neither counts
    let late = app("late", "ftp = {}") + "start = \"10s\"\n";
    let done = app("done", "ftp = { size = \"10kB\", count = 1 }");
    let outcome = run(&line(10, &(app("two", "ftp = { flows = 2 }") + &done + &late)));
    assert!(number(&outcome, "apps.done.goodput_mbit") > 0.0);
    let cv = number(&outcome, "apps.two.flow_goodput_mbit.cv");
    assert!((number(&outcome, "apps.two.fairness") - 1.0 / (1.0 + cv * cv)).abs() < 1e-12);
    assert_eq!(number(&outcome, "fairness"), number(&outcome, "apps.two.fairness"));
    // flows that send one file after another without end count, too
    let long = app("long", "ftp = { flows = 2, size = \"10kB\" }");
    assert!(number(&run(&line(10, &long)), "apps.long.fairness") > 0.5);
    let alone = run(&line(10, &app("one", "ftp = {}")));
    assert!(alone.summary["fairness"].is_null());
}

#[test]
fn goodput_of_flows_that_carry_known_amounts() {
    // four flows transfer a file of 10 kB each, and one flow a file of 40 kB; all files arrive long before the end
    let apps = app("four", "ftp = { flows = 4, size = \"10kB\", count = 1 }")
        + &app("one", "ftp = { size = \"40kB\", count = 1 }")
        + &app("ping", "ping = {}");
    let outcome = run(&line(10, &apps));
    assert!(outcome.summary["apps"]["four"]["fairness"].is_null(), "these flows have one file each");
    assert!(outcome.summary["apps"]["one"].get("fairness").is_none(), "a single flow has no fairness");
    assert!(outcome.summary["fairness"].is_null());
    // 10 kB in 10 s is 8 kbit/s, or 0.008 Mbit/s
    for (key, mbit) in [
        ("apps.four.flow_goodput_mbit.min", 0.008),
        ("apps.four.flow_goodput_mbit.mean", 0.008),
        ("apps.four.flow_goodput_mbit.max", 0.008),
        ("apps.four.flow_goodput_mbit.cv", 0.0),
        ("apps.four.flow_goodput_mbit.each.0", 0.008),
        ("apps.four.flow_goodput_mbit.each.3", 0.008),
        ("apps.four.goodput_mbit", 0.032),
        ("apps.one.goodput_mbit", 0.032),
        ("apps.one.goodput_mbit_reverse", 0.0),
    ] {
        assert!((number(&outcome, key) - mbit).abs() < 1e-12, "{key}");
    }
    let rates = series(&outcome, "flows", "goodput_mbit", "app", "four");
    assert_eq!(rates, [0.008, 0.0].repeat(4));
}

#[test]
fn goodput_of_flows_that_open_a_connection_for_each_file() {
    // four flows, 2 s apart, with a file of 10 kB every 10 s: a file takes about 0.1 s, so no two connections are open
    // at a time. Each flow has 4 files in 40 s, or 8 kbit/s
    let files = "ftp = { flows = 4, size = \"10kB\", interval = \"10s\", stagger = \"2s\" }";
    let outcome = run(&line(40, &app("four", files)));
    assert_eq!(series(&outcome, "flows", "goodput_mbit", "app", "four"), [0.008, 0.0].repeat(4));
    // without pauses, a file starts before the connection of the preceding file has closed. The link's queue is fair,
    // so the flows have about the same goodput
    let fair = line(40, &app("four", "ftp = { flows = 4, size = \"10kB\" }"))
        .replace("both_ways", "queue = \"fq_codel\"\nboth_ways");
    assert!(number(&run(&fair), "apps.four.fairness") > 0.99);
}

#[test]
fn the_grade_of_a_burst_among_pings() {
    // Pings of 125 B (1 ms) at 0, 1, 2, 3 s have a round trip of 22 ms. Ten datagrams of 1250 B (10 ms each) arrive at 1.99 s,
    // and have all been sent at 2.09 s, so the third ping waits 90 ms. The mean is 44.5 ms, 22.5 ms above the minimum; the 99th
    // percentile of four pings is the maximum, 90 ms above the minimum. The grade applies to the percentile; the mean would be
    // graded A.
    let ping = app("ping", "ping = { size = 125 }");
    let burst = "[app.burst]\nfrom = \"a\"\nto = [\"b\"]\nstart = \"1990ms\"\n\
                 traffic.burst = { transport = \"udp\", bytes = 12500, packet = 1250 }\n";
    let outcome = run(&line(4, &format!("{ping}{burst}")));
    assert!((number(&outcome, "apps.ping.ping.induced_ms") - 22.5).abs() < 1e-9);
    assert!((number(&outcome, "apps.ping.ping.induced_p99_ms") - 90.0).abs() < 1e-9);
    assert_eq!(outcome.summary["apps"]["ping"]["ping"]["grade"], "C");
    let latency = &outcome.summary["latency"];
    assert!((number(&outcome, "latency.induced_ms") - 22.5).abs() < 1e-9);
    assert_eq!((latency["grade"].as_str(), latency["from"].as_str()), (Some("C"), Some("app.ping")));
    assert!((number(&outcome, "latency.induced_p99_ms") - 90.0).abs() < 1e-9);
    // the waits in the queue are 0, 10, ... 90 ms for the datagrams, and 0, 0, 90, 0 ms for the pings; their mean is (450 + 90)
    // / 14 ms
    assert!((number(&outcome, "links.up.sojourn_ms.mean") - 540.0 / 14.0).abs() < 1e-6);
    assert_eq!(outcome.summary["links"]["up"]["grade"], "C");
    // the squares of the 14 waits above, in ms^2, are 0, 100, ... 8100 for the burst (28 500 together), 8100 for the
    // third ping, and 0 for the other pings. The mean wait is 540 / 14 ms
    let mean: f64 = 540.0 / 14.0;
    let variance = (28_500.0 + 8_100.0) / 14.0 - mean * mean;
    let cv = variance.sqrt() / mean;
    assert!((number(&outcome, "links.up.sojourn_ms.cv") / cv - 1.0).abs() < 0.01, "{cv}");
    assert_eq!(number(&outcome, "links.up.sojourn_ms.p99_9"), 90.0);
    // without pings, the queue with the longest waits is graded: mean 45 ms, maximum 90 ms
    let alone = run(&line(4, burst));
    assert!((number(&alone, "latency.induced_ms") - 45.0).abs() < 1e-6);
    assert_eq!(
        (alone.summary["latency"]["grade"].as_str(), alone.summary["latency"]["from"].as_str()),
        (Some("C"), Some("link.up"))
    );
    // without any packets, there is no grade
    let empty = run(&line(1, ""));
    assert!(empty.summary["latency"]["grade"].is_null() && empty.summary["latency"]["from"].is_null());
}

#[test]
fn a_queue_in_which_more_wait_than_have_left_has_no_grade() {
    // At 1 Mbit/s, a packet of 1250 B takes 10 ms, so packets every 100 ms do not wait. At 100 bit/s, a packet takes 100 s: the
    // first leaves the queue at once, and all others wait until the end of the run
    let apps = app("x", "cbr = { rate = \"100kbit\", size = \"1250B\" }");
    let quick = run(&line(4, &apps));
    assert_eq!(
        (&quick.summary["links"]["up"]["grade"], &quick.summary["latency"]["grade"]),
        (&"A+".into(), &"A+".into())
    );
    let slow = run(&line(4, &apps).replace("1mbit", "100bit"));
    let up = &slow.summary["links"]["up"];
    assert_eq!((&up["sojourn_ms"]["count"], &up["backlog_packets"]), (&1.into(), &39.into()));
    assert!(up["grade"].is_null() && slow.summary["latency"]["grade"].is_null());
    assert!(slow.summary["latency"]["from"].is_null());
}

#[test]
fn the_same_burst_on_other_scales() {
    // As in `the_grade_of_a_burst_among_pings`, the round trips of the pings are 22, 22, 112 and 22 ms, and a burst
    // begins at 1.99 s. The idle round trip is 22 ms (the first two pings). Under load it is (112 + 22) / 2 = 67 ms, 45
    // ms more: 60 000 / 67 = 895.5 round trips per minute.
    let ping = app("ping", "ping = { size = 125 }");
    let burst = "[app.burst]\nfrom = \"a\"\nto = [\"b\"]\nstart = \"1990ms\"\n\
                 traffic.burst = { transport = \"udp\", bytes = 12500, packet = 1250 }\n";
    let on = |scale: &str| run(&line(4, &format!("{ping}{burst}[grade]\nscale = {scale}\n")));
    let own = r#"[{ grade = "play", below = "20ms" }, { grade = "talk", below = "23ms" }, { grade = "wait" }]"#;
    for (scale, name, added, grade, queue) in [
        ("'dslreports'", "dslreports", 22.5, "A", Some("B")),
        ("'waveform'", "waveform", 45.0, "B", Some("B")),
        ("'vrecipes'", "vrecipes", 45.0, "A", Some("A")),
        ("'rpm'", "rpm", 22.5, "fair", None),
        (own, "own", 22.5, "talk", Some("wait")),
    ] {
        let outcome = on(scale);
        let (latency, pings) = (&outcome.summary["latency"], &outcome.summary["apps"]["ping"]["ping"]);
        assert_eq!((latency["scale"].as_str(), latency["grade"].as_str()), (Some(name), Some(grade)));
        assert!((number(&outcome, "latency.induced_ms") - added).abs() < 1e-9, "{scale}");
        assert_eq!((pings["grade"].as_str(), latency["from"].as_str()), (Some(grade), Some("app.ping")));
        assert_eq!(outcome.summary["links"]["up"]["grade"].as_str(), queue, "{scale}");
    }
    assert!((number(&on("'rpm'"), "latency.rpm") - 60_000.0 / 67.0).abs() < 1e-6);
    // a link's queue has waits but no round trips, so it has no grade on this scale
    let alone = run(&line(4, &format!("{burst}[grade]\nscale = 'rpm'\n")));
    assert!(alone.summary["latency"]["grade"].is_null() && alone.summary["latency"]["from"].is_null());
}

/// A cable modem with the rates and the burst of examples/cable-modem.toml. All other keys have their default values.
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
    // until the tokens of the burst are used up, packets leave the shaper faster than the channel can carry them, so
    // the transmit queue is full for seconds
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
    // in 60 s at 5 Mbit/s, the capacity is 37.5 MB. A source at half of this rate uses 18.75 MB, less at most two datagrams
    // that are in flight at the end.
    let half = run(&modem(60, UPSTREAM, &app("cbr", "cbr = { rate = \"2500kbit\", size = 1250 }")));
    let used = number(&half, "links.up.utilisation");
    assert!((0.5 - 2.0 * 1250.0 / 37.5e6..=0.5).contains(&used), "{used}");
    // a faster source also uses the burst of 10 MB (max_traffic_burst), so the link sends 37.5 + 10 = 47.5 MB, which is
    // more than its capacity of 37.5 MB
    let all = run(&modem(60, UPSTREAM, &app("cbr", "cbr = { rate = \"30mbit\", size = 1250 }")));
    assert!((number(&all, "links.up.utilisation") - 47.5 / 37.5).abs() < 0.001);
    // a shaper with the same rate gives the same capacity. The capacity of a plain link follows its rate: 5 Mbit/s for 30 s, then
    // 10 Mbit/s for 30 s
    let shaper = "shaper = { max_sustained_rate = \"5mbit\" }";
    let shaped = run(&modem(60, shaper, &app("cbr", "cbr = { rate = \"30mbit\", size = 1250 }")));
    assert!((number(&shaped, "links.up.utilisation") - 1.0).abs() < 0.001);
    let changed = "queue.droptail = { limit = \"10p\" }\nchanges = [{ at = \"0s\", rate = \"5mbit\" }, { at = \"30s\", rate = \"10mbit\" }]";
    let half = run(&modem(60, changed, &app("cbr", "cbr = { rate = \"2500kbit\", size = 1250 }")));
    assert!((number(&half, "links.up.utilisation") - 1.0 / 3.0).abs() < 0.001);
}

/// A link of 1 Mbit/s and 10 ms with a queue of ten packets, offered twice its rate: a datagram of 1250 B (10 ms) arrives every 5
/// ms.
const OVERLOADED: &str = r#"
duration = "20s"
record.warm_up = "10s"
[link.up]
from = "a"
to = "b"
rate = "1mbit"
delay = "10ms"
both_ways = true
queue.droptail = { limit = "10p" }
[app.cbr]
from = "a"
to = ["b"]
traffic.cbr = { rate = "2mbit", size = 1250 }
"#;

#[test]
fn everything_in_the_summary_begins_after_the_warm_up() {
    // The link is busy from 0 on: transmissions begin at 0, 10, 20 ms ..., and each packet reaches the far end 20 ms later. A
    // datagram that arrives when a transmission begins takes the slot that becomes free, and the datagram 5 ms later is dropped. In
    // [10, 20) s, 2000 are offered, 1000 dropped, and 1000 reach the far end.
    let expected = [
        ("links.up.offered_packets", 2000.0),
        ("links.up.delivered_packets", 1000.0),
        ("links.up.delivered_bytes", 1.25e6),
        ("links.up.dropped_packets", 1000.0),
        ("links.up.drops.tail_full", 1000.0),
        ("links.up.utilisation", 1.0),
        // at 10 s and at 20 s, ten packets wait, one is being sent and one is on the wire
        ("links.up.at_start_packets", 12.0),
        ("links.up.backlog_packets", 10.0),
        ("links.up.in_flight_packets", 2.0),
        ("links.up.queue_packets.mean", 10.0),
        ("links.up.queue_packets.max", 10.0),
        // each packet waits for the nine packets ahead of it in the queue, and for the packet whose transmission begins
        // at the moment of its arrival: 10 x 10 ms
        ("links.up.sojourn_ms.min", 100.0),
        ("links.up.sojourn_ms.max", 100.0),
        ("links.up.sojourn_ms.count", 1000.0),
        ("apps.cbr.datagrams_sent", 2000.0),
        ("apps.cbr.packets", 1000.0),
        ("apps.cbr.dropped_packets", 1000.0),
        // 1222 of a datagram's 1250 bytes are payload
        ("apps.cbr.goodput_bytes", 1.222e6),
        ("apps.cbr.goodput_mbit", 0.9776),
        ("apps.cbr.delay_ms.min", 120.0),
        ("apps.cbr.delay_ms.max", 120.0),
        ("apps.cbr.jitter_ms", 0.0),
        ("warm_up_s", 10.0),
    ];
    // two runs must give the same results. The first run simulates the link on the fast path for plain links, and the
    // second run simulates the link as a full port, because its rate changes (to the same value)
    for way in [
        OVERLOADED.to_owned(),
        OVERLOADED.replace("delay = ", "changes = [{ at = \"1s\", rate = \"1mbit\" }]\ndelay = "),
    ] {
        let outcome = run(&way);
        for (path, value) in expected {
            assert!((number(&outcome, path) - value).abs() < 1e-9, "{path}: {} is not {value}", number(&outcome, path));
        }
        assert_eq!(series(&outcome, "flows", "packets", "app", "cbr"), [1000.0, 0.0]);
        assert_eq!(series(&outcome, "links", "offered_packets", "link", "up"), [2000.0]);
        // series cover the whole run, including the warm-up
        let sent: f64 = series(&outcome, "queue_series", "sent_bytes", "link", "up").iter().sum();
        assert_eq!(sent, 2000.0 * 1250.0);
    }
}

/// A lossy bottleneck with a transfer that continues after the warm-up, files, pages, pings and a call.
const ACROSS: &str = r#"
duration = "20s"
record.warm_up = "5s"
record.interval = "1s"
[link.up]
from = "a"
to = "b"
rate = "5mbit"
delay = "10ms"
loss = 0.01
both_ways = true
queue.codel = { limit = "100p" }
[app.long]
from = "a"
to = ["b"]
traffic.ftp = { flows = 2 }
[app.files]
from = "b"
to = ["a"]
traffic.ftp = { size = "50kB", pause = "100ms" }
[app.ping]
from = "a"
to = ["b"]
traffic.ping = { interval = "100ms" }
[app.web]
from = "a"
to = ["b"]
traffic.web = { servers = 1, think = "1s", page = { uniform = { html = "10KB", per_server = 2, size = "1KB" } } }
[app.voip]
from = "a"
to = ["b"]
traffic.voip = {}
"#;

#[test]
fn sums_after_a_warm_up_are_those_of_the_series_after_it() {
    let outcome = run(ACROSS);
    let after = |table: &str, column: &str, key: &str, name: &str| -> f64 {
        let t = series(&outcome, table, "t_s", key, name);
        let values = series(&outcome, table, column, key, name);
        t.iter().zip(values).filter(|(t, _)| **t >= 5.0).map(|(_, v)| v).sum()
    };
    for app in ["long", "files", "web", "voip", "ping"] {
        let both = |key: &str| {
            number(&outcome, &format!("apps.{app}.{key}")) + number(&outcome, &format!("apps.{app}.{key}_reverse"))
        };
        assert_eq!(both("wire_bytes"), after("flow_series", "wire_bytes", "app", app), "{app}");
        assert_eq!(both("goodput_bytes"), after("flow_series", "goodput_bytes", "app", app), "{app}");
        let dropped = number(&outcome, &format!("apps.{app}.dropped_packets"));
        assert_eq!(dropped, after("flow_series", "dropped_packets", "app", app), "{app}");
    }
    assert_eq!(number(&outcome, "links.up.dropped_packets"), after("queue_series", "dropped_packets", "link", "up"));
    assert!(number(&outcome, "apps.long.dropped_packets") > 10.0);
    for link in ["up", "~up"] {
        let of = |key: &str| number(&outcome, &format!("links.{link}.{key}_packets"));
        assert_eq!(of("at_start") + of("offered"), of("delivered") + of("dropped") + of("backlog") + of("in_flight"));
    }
    // returns the sorted durations of all events that ended after the warm-up of 5 s, from a table of the whole run
    let ended = |table: &str, start: &str, took: &str, app: &str| -> Vec<f64> {
        let start = series(&outcome, table, start, "app", app);
        let took = series(&outcome, table, took, "app", app);
        let mut took: Vec<f64> = start.iter().zip(took).filter(|(s, t)| **s + t >= 5.0).map(|(_, t)| t).collect();
        took.sort_unstable_by(f64::total_cmp);
        took
    };
    let files = ended("files", "start_s", "took_s", "files");
    assert!(files.len() > 10 && files.len() < series(&outcome, "files", "took_s", "app", "files").len());
    assert_eq!(number(&outcome, "apps.files.files.done"), files.len() as f64);
    // percentiles are computed by nearest rank, so each percentile is one of the durations in the list
    assert_eq!(number(&outcome, "apps.files.files.p95_s"), files[(files.len() * 95).div_ceil(100) - 1]);
    assert_eq!(number(&outcome, "apps.files.files.max_s"), files[files.len() - 1]);
    assert_eq!(number(&outcome, "apps.web.web.pages"), ended("pages", "start_s", "load_s", "web").len() as f64);
    // in the 15 s after the warm-up, 150 pings and 750 packets of a call are sent
    assert_eq!(number(&outcome, "apps.ping.ping.sent"), 150.0);
    assert_eq!(number(&outcome, "apps.voip.voip.sent"), 750.0);
    assert_eq!(number(&outcome, "apps.voip.voip.received"), number(&outcome, "apps.voip.packets"));
}

#[test]
fn a_wire_with_impairments_is_no_plain_one() {
    // batches arrive at multiples of 70 ms. A request sent at k s has a delay of 10 ms, so it arrives with the first
    // batch at or after k s + 10 ms. The reply arrives with the next batch, 70 ms after the request
    let text = format!(
        "duration = \"10s\"\n[link.up]\nfrom = \"a\"\nto = \"b\"\nboth_ways = true\ndelay = \"10ms\"\n\
         impairments.batches = \"70ms\"\n{}",
        app("ping", "ping = {}")
    );
    let rtt = series(&run(&text), "pings", "rtt_ms", "app", "ping");
    let expected: Vec<f64> =
        (0..10u64).map(|k| ((k * 1000 + 10).next_multiple_of(70) + 70 - k * 1000) as f64).collect();
    assert_eq!(rtt, expected);
    // the policer's bucket of 10 B is smaller than any packet, so the policer drops all ten requests
    let none = run(&text.replace("batches = \"70ms\"", "policer = { rate = \"1mbit\", burst = \"10B\" }"));
    assert_eq!(number(&none, "links.up.drops.link_loss"), 10.0);
}

#[test]
fn packets_that_arrive_twice_have_their_share() {
    let text = format!(
        "duration = \"20s\"\n[link.up]\nfrom = \"a\"\nto = \"b\"\nrate = \"10mbit\"\ndelay = \"10ms\"\n\
         queue = {{ droptail = {{ limit = \"100000p\" }} }}\nimpairments.duplicates = 0.2\n[link.back]\nfrom = \"b\"\nto = \"a\"\ndelay = \"10ms\"\n{}",
        app("file", "ftp = {}")
    );
    let twice = run(&text);
    let sent = number(&twice, "links.up.delivered_packets");
    // each packet is copied with a probability of 0.2, and at the end a few packets may be in flight
    let copies = number(&twice, "apps.file.packets") - sent;
    assert!((copies / sent - 0.2).abs() < 5.0 * (0.2 * 0.8 / sent).sqrt(), "{copies} of {sent}");
    // nothing is lost. The ACK of a copy has a D-SACK block (RFC 2883), so the sender does not mistake this ACK for the
    // report of a loss
    assert_eq!(number(&twice, "apps.file.retransmits"), 0.0);
    let once = run(&text.replace("duplicates = 0.2", "duplicates = 0"));
    assert_eq!(number(&twice, "apps.file.goodput_bytes"), number(&once, "apps.file.goodput_bytes"));
}

#[test]
fn a_datagram_that_arrives_twice_counts_once() {
    // half of the packets are copied in each direction. Every request has one answer, and every packet of the call is
    // played once
    let toml = line(10, &(app("ping", "ping = {}") + &app("call", "voip = {}")));
    let toml = toml.replace("both_ways = true", "both_ways = true\nimpairments.duplicates = 0.5");
    let twice = run(&toml);
    assert_eq!(number(&twice, "apps.ping.ping.answered"), 10.0);
    assert_eq!(number(&twice, "apps.call.voip.judged"), number(&twice, "apps.call.voip.sent"));
    let once = run(&toml.replace("duplicates = 0.5", "duplicates = 0"));
    for measure in ["apps.call.goodput_bytes", "apps.call.voip.mos", "apps.ping.ping.rtt_ms.mean"] {
        assert_eq!(number(&twice, measure), number(&once, measure), "{measure}");
    }
}

#[test]
fn chosen_packets_are_lost() {
    // pings are sent at 0, 1, ... 9 s. The third and the seventh request are lost
    let toml = line(10, &app("ping", "ping = {}"));
    let there = "[link.up]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\nlose = [3, 7]\n\
                 [link.down]\nfrom = \"b\"\nto = \"a\"\n";
    let outcome = run(&format!("duration = \"10s\"\n{there}{}", app("ping", "ping = {}")));
    let lost = |outcome| -> Vec<usize> {
        let rtt = series(outcome, "pings", "rtt_ms", "app", "ping");
        (0..rtt.len()).filter(|i| rtt[*i].is_nan()).collect()
    };
    assert_eq!(lost(&outcome), [2, 6]);
    assert_eq!(number(&outcome, "links.up.drops.link_loss"), 2.0);
    assert_eq!(number(&outcome, "apps.ping.ping.lost"), 2.0);
    // with `both_ways`, each direction loses its second packet. The second request is lost, so the second reply answers
    // the third request, and this reply is lost too
    let both = run(&toml.replace("both_ways = true", "both_ways = true\nlose = [2]"));
    assert_eq!(lost(&both), [1, 2]);
    // `lose` does not count packets that the queue drops: of a burst of five, one is sent at once, two wait (limit 2p)
    // and two are dropped. So the third packet is the last packet sent, and it is lost
    let burst = app("burst", "burst = { transport = \"udp\", bytes = 5000, packet = 1000 }");
    let toml = line(1, &burst).replace("both_ways = true", "lose = [3]\nqueue.droptail = { limit = \"2p\" }")
        + "[link.down]\nfrom = \"b\"\nto = \"a\"\n";
    let burst = run(&toml);
    assert_eq!(number(&burst, "links.up.drops.tail_full"), 2.0);
    assert_eq!(number(&burst, "links.up.drops.link_loss"), 1.0);
    assert_eq!(number(&burst, "apps.burst.packets"), 2.0);
}

#[test]
fn a_chosen_loss_costs_one_retransmission() {
    let file = app("file", "ftp = { size = \"500kB\", count = 1 }");
    let whole = run(&line(30, &file));
    // packet 17 from a to b is preceded by the SYN, the ACK of the handshake and 14 segments
    let up = "lose = [17]\n[link.down]\nfrom = \"b\"\nto = \"a\"\ndelay = \"10ms\"\n";
    let one = run(&line(30, &file).replace("both_ways = true", up));
    assert_eq!(number(&whole, "apps.file.retransmits"), 0.0);
    assert_eq!(number(&one, "apps.file.retransmits"), 1.0);
    assert_eq!(number(&one, "apps.file.dropped_packets"), 1.0);
    assert_eq!(number(&one, "apps.file.goodput_bytes"), 500_000.0);
}

#[test]
fn the_wait_of_poisson_arrivals_is_that_of_m_d_1() {
    // Pollaczek-Khinchine for a constant service time 1/mu: the mean wait is rho / (2 mu (1 - rho)). Datagrams of 1250 B take 1
    // ms at 10 Mbit/s.
    for (mbit, rho) in [(3, 0.3_f64), (5, 0.5), (7, 0.7)] {
        let cbr = format!("cbr = {{ rate = \"{mbit}mbit\", size = 1250, arrivals = \"poisson\" }}");
        let toml = line(1000, &app("poisson", &cbr)).replace("1mbit", "10mbit") + "[record]\ninterval = \"1s\"\n";
        let outcome = run(&toml.replace("both_ways", "queue.droptail = { limit = \"100000p\" }\nboth_ways"));
        let wait = rho / (2.0 * (1.0 - rho));
        let mean = number(&outcome, "links.up.sojourn_ms.mean");
        // in 1000 s, 300 000 to 700 000 packets are sent, so the standard error of their mean wait is below 0.5 %
        assert!((mean / wait - 1.0).abs() < 0.02, "{rho}: {mean} is not {wait}");
        // Little's law: packets waiting = arrivals per second x mean wait in seconds
        let waiting = number(&outcome, "links.up.queue_packets.mean");
        let arrived = number(&outcome, "links.up.offered_packets") / 1000.0;
        assert!((waiting / (arrived * mean * 1e-3) - 1.0).abs() < 0.001, "{rho}: {waiting}");
        // the link is busy for a fraction rho of the time
        let share = number(&outcome, "links.up.utilisation");
        assert!((share / rho - 1.0).abs() < 0.01, "{rho}: {share}");
    }
}

/// The state in the last bin is that at the end of the run, whether the last bin is whole (as with 100 ms) or narrower than the
/// others.
#[test]
fn a_narrower_last_bin_has_the_state_at_the_end() {
    let last = |interval: &str, rows: usize| {
        let toml = line(2, &(app("f", "ftp = {}") + "tcp = \"bbr\"\n")) + "[record]\ninterval = \"" + interval + "\"\n";
        let outcome = run(&toml);
        let windows = ["cwnd_bytes", "srtt_ms"].map(|of| series(&outcome, "flow_series", of, "app", "f")[rows - 1]);
        let model = ["pacing_bps", "rt_prop_ms"].map(|of| series(&outcome, "model_series", of, "app", "f"));
        (windows, model.map(|of| (of.len() >= rows).then(|| of[rows - 1])))
    };
    let (windows, model) = last("100ms", 20);
    assert!(windows[0] > 0.0 && model.iter().all(Option::is_some), "{windows:?} {model:?}");
    for (interval, rows) in [("300ms", 7), ("1999999999ns", 2), ("3s", 1)] {
        assert_eq!(last(interval, rows), (windows, model), "{interval}");
    }
}

/// 10 000 datagrams of 100 bytes arrive at 0, and one leaves every 160 us. So the queue has each length from 9999 to 1 for 160 us.
const EMPTYING: &str = r#"
duration = "4s"
[link.up]
from = "a"
to = "b"
rate = "5mbit"
both_ways = true
[app.burst]
from = "a"
to = ["b"]
start_spread = "0s"
traffic.burst = { transport = "udp", bytes = "1MB", packet = "100B" }
"#;

#[test]
fn the_distribution_of_a_long_queue_has_every_length() {
    for queue in [
        "droptail = { limit = \"1MB\" }",
        "droptail = { limit = \"100000p\" }",
        "pie = { limit = \"2s\", target = \"10s\" }",
    ] {
        let outcome = run(&EMPTYING.replace("[app", &format!("queue.{queue}\n[app")));
        let of = |name| series(&outcome, "queue_histogram", name, "link", "up");
        let lengths: Vec<f64> = (0..10_000).map(f64::from).collect();
        assert_eq!(of("packets"), lengths, "{queue}");
        let shares = of("time_share");
        let idle = 4.0 - 9999.0 * 160e-6;
        assert!((shares[0] * 4.0 - idle).abs() < 1e-9, "{queue}: {}", shares[0]);
        assert!(shares[1..].iter().all(|share| (share * 4.0 - 160e-6).abs() < 1e-12), "{queue}");
    }
}
