//! Tests of links that change on a schedule, of routes, and of links without delay or rate.

use crate::common::{number, run, series};

/// Returns the number of bytes that link `up` began to transmit in [from, to) seconds.
fn sent(outcome: &sim::Outcome, from: f64, to: f64) -> f64 {
    let t = series(outcome, "queue_series", "t_s", "link", "up");
    let bytes = series(outcome, "queue_series", "sent_bytes", "link", "up");
    t.iter().zip(bytes).filter(|(t, _)| **t > from - 1e-6 && **t < to - 1e-6).map(|(_, b)| b).sum()
}

#[test]
fn a_rate_changes_and_stops_and_comes_back() {
    let outcome = run(r#"
        duration = "10s"
        record.interval = "10ms"
        [link.up]
        from = "a"
        to = "b"
        rate = "10mbit"
        queue.droptail = { limit = "50p" }
        changes = [{ at = "3s", rate = "4mbit" }, { at = "6s", rate = "0bit" }, { at = "8s", rate = "16mbit" }]
        [link.down]
        from = "b"
        to = "a"
        [app.cbr]
        from = "a"
        to = ["b"]
        traffic.cbr = { rate = "20mbit", size = 1250 }
        "#);
    // in the four periods, the link's rate is 1.25, 0.5, 0 and 2 MB/s. The bytes sent may differ by up to three
    // packets, because a packet may be in transmission when a period begins or ends
    for (from, to, bytes) in [(0.0, 3.0, 3.75e6), (3.0, 6.0, 1.5e6), (6.0, 8.0, 0.0), (8.0, 10.0, 4e6)] {
        let sent = sent(&outcome, from, to);
        assert!((sent - bytes).abs() <= 3.0 * 1250.0, "{from} to {to}: {sent}");
    }
}

#[test]
fn a_shorter_delay_reorders_nothing() {
    // the delay falls from 100 to 5 ms, and later from 200 to 0 ms. Packets sent after such a change still arrive after
    // the earlier packets, so there are no gaps and no duplicate ACKs
    let outcome = run(r#"
        duration = "20s"
        [tcp.narrow]
        preset = "rfc"
        receive_window = "60000B"
        [link.up]
        from = "a"
        to = "b"
        rate = "10mbit"
        delay = "100ms"
        changes = [{ at = "5s", delay = "5ms" }, { at = "10s", delay = "200ms" }, { at = "15s", delay = "0s" }]
        [link.down]
        from = "b"
        to = "a"
        delay = "10ms"
        [app.ftp]
        from = "a"
        to = ["b"]
        tcp = "narrow"
        traffic.ftp = {}
        [app.voip]
        from = "a"
        to = ["b"]
        traffic.voip = {}
        "#);
    assert_eq!(number(&outcome, "apps.ftp.retransmits") + number(&outcome, "apps.ftp.fast_recoveries"), 0.0);
    // in the first and third period, round trips take 110 and 210 ms, and a window of 60 kB per round trip gives 0.54
    // and 0.28 MB/s. In the other two periods, with round trips of 15 and 10 ms, the link's rate is the limit: 1.25
    // MB/s, or 1.21 MB/s without headers
    let goodput = series(&outcome, "flow_series", "goodput_bytes", "app", "ftp");
    let t = series(&outcome, "flow_series", "t_s", "app", "ftp");
    for (from, to, rate) in [(1.0, 5.0, 0.54), (6.0, 10.0, 1.21), (11.0, 15.0, 0.28), (16.0, 20.0, 1.21)] {
        let bytes: f64 = t.iter().zip(&goodput).filter(|(t, _)| (from..to).contains(*t)).map(|(_, b)| b).sum();
        let got = bytes / (to - from) / 1e6;
        assert!((got - rate).abs() < 0.05 * rate, "{from} to {to}: {got} MB/s");
    }
    assert_eq!(number(&outcome, "apps.voip.packets"), 999.0); // one packet every 20 ms; the last is still in flight
}

#[test]
fn loss_comes_and_goes() {
    let outcome = run(r#"
        duration = "30s"
        record.interval = "100ms"
        [link.up]
        from = "a"
        to = "b"
        rate = "10mbit"
        changes = [{ at = "10s", loss = 0.3 }, { at = "20s", loss = 0 }]
        [link.down]
        from = "b"
        to = "a"
        [app.cbr]
        from = "a"
        to = ["b"]
        traffic.cbr = { rate = "4mbit", size = 1000 }
        "#);
    let dropped = series(&outcome, "queue_series", "dropped_packets", "link", "up");
    let by_time = |from: usize, to: usize| dropped[10 * from..10 * to].iter().sum::<f64>();
    assert_eq!(by_time(0, 10) + by_time(20, 30), 0.0);
    // 1500 of 5000 packets are expected to be lost, with a standard deviation of 32
    assert!((by_time(10, 20) - 1500.0).abs() < 130.0, "{}", by_time(10, 20));
    assert_eq!(number(&outcome, "links.up.drops.link_loss"), by_time(10, 20));
}

/// Runs pings, a transfer and a call from a to b. Link `up` leads from a to b, and has 20 ms of delay, no queue, and
/// the settings in `link`. Link `down` leads back, and has 20 ms of delay.
fn shaken(link: &str) -> sim::Outcome {
    run(&format!(
        "duration = \"60s\"\n[link.up]\nfrom = \"a\"\nto = \"b\"\ndelay = \"20ms\"\n{link}\n\
         [link.down]\nfrom = \"b\"\nto = \"a\"\ndelay = \"20ms\"\n\
         [tcp.narrow]\npreset = \"linux-6\"\nreceive_window = \"30000B\"\n\
         [app.ftp]\nfrom = \"a\"\nto = [\"b\"]\ntcp = \"narrow\"\ntraffic.ftp = {{}}\n\
         [app.ping]\nfrom = \"a\"\nto = [\"b\"]\ntraffic.ping = {{ interval = \"100ms\" }}\n\
         [app.voip]\nfrom = \"a\"\nto = [\"b\"]\ntraffic.voip = {{}}\n"
    ))
}

#[test]
fn jitter_delays_and_reorders_only_if_asked() {
    let quiet = shaken("");
    let kept = shaken("jitter = \"10ms\"");
    let free = shaken("jitter = \"10ms\"\nreorder = true");
    let rtt = |o: &sim::Outcome, key: &str| number(o, &format!("apps.ping.ping.rtt_ms.{key}"));
    assert_eq!((rtt(&quiet, "min"), rtt(&quiet, "max")), (40.0, 40.0));
    for shaken in [&kept, &free] {
        assert!(rtt(shaken, "min") >= 40.0 && rtt(shaken, "max") <= 50.0);
    }
    // jitter is distributed uniformly between 0 and 10 ms: 5 ms on average, with a standard error of 2.9 / sqrt(600) =
    // 0.12 ms. If packets must keep their order, some wait for earlier packets, so the mean is larger
    assert!((rtt(&free, "mean") - rtt(&quiet, "mean") - 5.0).abs() < 0.6, "{}", rtt(&free, "mean"));
    assert!(rtt(&kept, "mean") > rtt(&free, "mean") + 0.5, "{}", rtt(&kept, "mean"));
    // packets in order leave no gaps, so there are no duplicate ACKs; packets out of order make the sender assume losses
    let again = |o: &sim::Outcome| number(o, "apps.ftp.retransmits");
    assert_eq!((again(&quiet), again(&kept)), (0.0, 0.0));
    assert!(again(&free) > 0.0 && number(&free, "links.up.dropped_packets") == 0.0);
    for outcome in [&quiet, &kept, &free] {
        assert_eq!(number(outcome, "apps.voip.voip.lost_percent"), 0.0);
    }
}

#[test]
fn a_late_segment_is_sent_again_only_until_reordering_is_seen() {
    // about 80 segments are held back for 10 ms, and 16 other segments overtake each of them. The reordering window is a quarter of
    // the round trip of 40 ms, and nothing is lost
    let outcome = run("duration = \"10s\"\n[link.up]\nfrom = \"a\"\nto = \"b\"\nrate = \"20mbit\"\ndelay = \"20ms\"\n\
         queue.droptail = { limit = \"2000p\" }\nimpairments.reordering = { chance = \"0.5%\", by = \"10ms\" }\n\
         [link.down]\nfrom = \"b\"\nto = \"a\"\nrate = \"20mbit\"\ndelay = \"20ms\"\n\
         [app.ftp]\nfrom = \"a\"\nto = [\"b\"]\ntraffic.ftp = {}\n");
    assert_eq!(number(&outcome, "links.up.dropped_packets"), 0.0);
    let again = number(&outcome, "apps.ftp.retransmits");
    assert!((1.0..10.0).contains(&again), "{again}");
}

/// Two routes from a to b: a direct route, and a route through c and d.
const TWO_WAYS: &str = r#"
duration = "2s"
[link.straight]
from = "a"
to = "b"
both_ways = true
rate = "10mbit"
delay = "30ms"
[link.ac]
from = "a"
to = "c"
both_ways = true
rate = "10mbit"
delay = "1ms"
[link.cd]
from = "c"
to = "d"
both_ways = true
rate = "10mbit"
delay = "1ms"
[link.db]
from = "d"
to = "b"
both_ways = true
rate = "10mbit"
delay = "1ms"
[app.ftp]
from = "a"
to = ["b"]
traffic.ftp = { size = "100KB", count = 1 }
"#;

#[test]
fn an_explicit_route_overrides_the_shortest_path() {
    let delivered = |o: &sim::Outcome, link: &str| number(o, &format!("links.{link}.delivered_packets"));
    // the default route has the fewest links, even if another route has less delay
    let o = run(TWO_WAYS);
    assert_eq!(delivered(&o, "ac"), 0.0);
    assert!(delivered(&o, "straight") > 69.0 && delivered(&o, "~straight") > 30.0);
    assert!(number(&o, "apps.ftp.delay_ms.min") >= 30.0);
    // with the configured routes, packets take the longer route forward, which is faster here, and the direct route back
    let long = [("a", "ac"), ("c", "cd"), ("d", "db")];
    let routes: String =
        long.iter().map(|(at, via)| format!("[[route]]\nat = \"{at}\"\nto = \"b\"\nvia = \"{via}\"\n")).collect();
    let o = run(&format!("{TWO_WAYS}{routes}"));
    assert_eq!((delivered(&o, "straight"), delivered(&o, "~ac")), (0.0, 0.0));
    assert!(delivered(&o, "db") > 69.0 && delivered(&o, "~straight") > 30.0);
    assert_eq!((delivered(&o, "ac"), delivered(&o, "cd")), (delivered(&o, "db"), delivered(&o, "db")));
    // each of the three links takes 1 ms of delay and 1.2 ms of transmission
    let min = number(&o, "apps.ftp.delay_ms.min");
    assert!((6.0..7.0).contains(&min), "{min}");
    assert_eq!(number(&o, "apps.ftp.goodput_bytes"), 100_000.0);
}

#[test]
fn a_chain_without_delay_or_rate_takes_no_time() {
    let mut toml = "duration = \"1s\"\n".to_owned();
    for i in 0..5 {
        toml += &format!("[link.l{i}]\nfrom = \"n{i}\"\nto = \"n{}\"\nboth_ways = true\n", i + 1);
    }
    toml += "[app.cbr]\nfrom = \"n0\"\nto = [\"n5\"]\ntraffic.cbr = { rate = \"1mbit\", count = 100 }\n";
    toml += "[app.ftp]\nfrom = \"n5\"\nto = [\"n0\"]\ntraffic.ftp = { size = \"1MB\", count = 1 }\n";
    let o = run(&toml);
    assert_eq!((number(&o, "apps.cbr.packets"), number(&o, "apps.cbr.delay_ms.max")), (100.0, 0.0));
    assert_eq!((number(&o, "apps.ftp.goodput_bytes"), number(&o, "apps.ftp.files.mean_s")), (1e6, 0.0));
    assert_eq!(number(&o, "apps.ftp.retransmits"), 0.0);
}

#[test]
fn packets_of_one_moment_meet_a_queue_together() {
    // 24 SYNs leave and arrive at the same time: one is sent, `limit` of them wait, and the others are dropped. The result is the
    // same on a plain link, with a shaper whose bucket would admit all of them at once, and with a modem.
    for (kind, limit) in [
        ("rate = \"1mbit\"", 10),
        ("shaper = { max_sustained_rate = \"5mbit\", max_traffic_burst = \"10MB\" }", 10),
        ("docsis.flow = { max_sustained_rate = \"5mbit\", max_traffic_burst = \"10MB\" }\nrate = \"100mbit\"", 21),
        ("docsis.flow = { max_sustained_rate = \"5mbit\", max_traffic_burst = \"10MB\" }\nrate = \"100mbit\"", 22),
        ("docsis.flow = { max_sustained_rate = \"5mbit\", max_traffic_burst = \"10MB\" }\nrate = \"100mbit\"", 23),
    ] {
        for before in ["", "delay = \"3ms\"", "delay = \"3ms\"\nchanges = [{ at = \"1us\", delay = \"3ms\" }]"] {
            let o = run(&format!(
                r#"
                duration = "5ms"
                [link.before]
                from = "home"
                to = "modem"
                {before}
                [link.up]
                from = "modem"
                to = "far"
                queue.droptail = {{ limit = "{limit}p" }}
                {kind}
                [link.down]
                from = "far"
                to = "home"
                delay = "1s"
                [app.ftp]
                from = "home"
                to = ["far"]
                traffic.ftp = {{ flows = 24 }}
                "#
            ));
            let (offered, dropped) = (number(&o, "links.up.offered_packets"), number(&o, "links.up.dropped_packets"));
            assert_eq!((offered, dropped), (24.0, 24.0 - 1.0 - f64::from(limit)), "{kind} {before}");
        }
    }
}
