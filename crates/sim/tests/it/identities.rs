//! Compares results of whole runs with values that follow from the parameters alone.

use crate::common::{Ear, modem, number, read, run, series};
use record::{Mask, Record};
use scenario::read::set;
use sim::{Outcome, World};

/// Returns a scenario with a link from a to b, to which `up` adds further keys in TOML, and a link from b to a that is
/// never the bottleneck.
fn line(seconds: u32, up: &str, delay_ms: f64, apps: &str) -> String {
    format!(
        "duration = \"{seconds}s\"\n[link.up]\nfrom = \"a\"\nto = \"b\"\ndelay = \"{delay_ms}ms\"\n{up}\n\
         [link.down]\nfrom = \"b\"\nto = \"a\"\ndelay = \"{delay_ms}ms\"\n{apps}"
    )
}

/// Returns the bytes that link `up` sent in [from, to) seconds.
fn sent(outcome: &Outcome, from: f64, to: f64) -> f64 {
    let t = series(outcome, "queue_series", "t_s", "link", "up");
    let bytes = series(outcome, "queue_series", "sent_bytes", "link", "up");
    t.iter().zip(bytes).filter(|(t, _)| **t > from - 1e-6 && **t < to - 1e-6).map(|(_, b)| b).sum()
}

#[test]
fn the_ceiling_of_600_seconds() {
    let apps = "[app.ftp]\nfrom = \"home\"\nto = [\"web1\"]\ntcp = \"ns2-cubic-2.6.22\"\ntraffic.ftp = {}\n";
    let s = read(&modem("droptail = { limit = \"417p\" }", 600, apps));
    let mut world = World::build(&s).unwrap();
    world.run(|_| true);
    let outcome = world.outcome(&s);
    // the buckets admit 10 MB + 5e6/8 B/s x 600 s = 385.000 MB. Tokens are lost only while the link idles with a full
    // bucket: for about the first second, because the initial window is small
    let delivered = number(&outcome, "links.up.delivered_bytes");
    assert!(delivered <= 385.0e6, "{delivered}");
    assert!(delivered > 384.5e6, "{delivered}");
    // packets that left in the last 9 ms are still on the next link: 3.75 packets at 5 Mbit/s. The test allows 12
    let behind = delivered - number(&outcome, "apps.ftp.wire_bytes");
    assert!((0.0..=12.0 * 1500.0).contains(&behind), "{behind}");
    let drops = number(&outcome, "links.up.drops.tail_full") + number(&outcome, "links.up.drops.transmit_queue_full");
    assert_eq!(drops, number(&outcome, "apps.ftp.dropped_packets"));
    assert!(world.books().all(|b| b.offered == b.delivered + b.dropped + b.queued + b.in_flight));
}

#[test]
fn the_burst_phase() {
    // the bucket of 10 MB empties at 20 - 5 Mbit/s, in 10 MB / ((20 - 5)/8 MB/s) = 5.333 s. Until then, 13.333 MB is sent at 20
    // Mbit/s; after that, the rate is 5 Mbit/s
    let apps = "record.interval = \"1ms\"\n";
    let cbr = "[app.cbr]\nfrom = \"home\"\nto = [\"web1\"]\ntraffic.cbr = { rate = \"40mbit\", size = 1500 }\n";
    let toml =
        modem("droptail = { limit = \"417p\" }", 10, cbr).replacen("[link.lan]", &format!("{apps}[link.lan]"), 1);
    let outcome = run(&toml);
    let burst = sent(&outcome, 0.0, 5.333);
    assert!((burst - 13.3325e6).abs() < 4000.0, "{burst}");
    for (from, to) in [(5.343, 6.343), (8.0, 9.0)] {
        assert!((sent(&outcome, from, to) - 625_000.0).abs() <= 1500.0, "{from}: {}", sent(&outcome, from, to));
    }
}

#[test]
fn longest_waits() {
    // a packet of 1500 B that takes the last of the `limit` places in the queue waits limit x 12 000 bit / rate; in
    // ns-2, the queue has one place less. A datagram arrives every 12 us, so some arrive exactly when a place becomes
    // free.
    for (limit, rate, off_by_one, wait) in [
        ("417p", 20, false, 250.2),
        ("417p", 5, false, 1000.8),
        ("21p", 20, false, 12.6),
        ("21p", 5, false, 50.4),
        ("417p", 20, true, 249.6),
        ("417p", 5, true, 998.4),
        ("21p", 20, true, 12.0),
        ("21p", 5, true, 48.0),
        // if the limit is a time, the longest wait is the largest multiple of a packet's transmission time that does
        // not exceed the limit
        ("1000ms", 5, false, 1000.0 - 1000.0 % 2.4),
        ("1000ms", 1, false, 1000.0 - 1000.0 % 12.0),
        ("50ms", 20, false, 50.0 - 50.0 % 0.6),
    ] {
        let up =
            format!("rate = \"{rate}mbit\"\nqueue.droptail = {{ limit = \"{limit}\", ns2_off_by_one = {off_by_one} }}");
        let cbr =
            "[app.cbr]\nfrom = \"a\"\nto = [\"b\"]\ntraffic.cbr = { rate = \"1gbit\", size = 1500, count = 100000 }\n";
        let max = number(&run(&line(2, &up, 0.0, cbr)), "links.up.sojourn_ms.max");
        assert!((max - wait).abs() < 1e-6, "{limit} at {rate} Mbit/s: {max} instead of {wait}");
    }
}

#[test]
fn delays_and_drops_of_a_flow_over_time() {
    // 2 Mbit/s of 1500 B packets (one every 6 ms) enter a link of 1 Mbit/s (12 ms each) with a queue of 10 packets. After 21
    // packets the queue is full, and from then on every second packet is lost. An accepted packet waits for the rest of the
    // packet in service and for all packets before it, which is between 9 x 12 and 10 x 12 ms. Then come 12 ms of transmission
    // and 5 ms of propagation
    let cbr = "[app.cbr]\nfrom = \"a\"\nto = [\"b\"]\ntraffic.cbr = { rate = \"2mbit\", size = 1500 }\n\
               [record]\ninterval = \"1s\"\nwarm_up = \"2s\"\n";
    let outcome = run(&line(6, "rate = \"1mbit\"\nqueue.droptail = { limit = \"10p\" }", 5.0, cbr));
    let of = |column| series(&outcome, "flow_series", column, "app", "cbr");
    let dropped = of("dropped_packets");
    assert_eq!(dropped[2..].iter().sum::<f64>(), number(&outcome, "apps.cbr.dropped_packets"));
    // 1000 / 12 = 83.3 pairs of packets are sent per second, and one packet of each pair is lost
    assert!(dropped[1..].iter().all(|n| (n - 83.3).abs() < 1.0), "{dropped:?}");
    for (mean, max) in of("delay_ms_mean").iter().zip(of("delay_ms_max")).skip(1) {
        assert!(*mean <= max && (125.0..=137.0).contains(mean) && (125.0..=137.0).contains(&max), "{mean} {max}");
    }
    // the first 2 s, in which the queue fills, are in the series but not in the counters or the distribution
    assert!(of("delay_ms_mean")[0] < 125.0);
    assert!(number(&outcome, "apps.cbr.delay_ms.min") > 124.9);
    assert!(number(&outcome, "links.up.sojourn_ms.min") > 107.9);
}

#[test]
fn times_of_a_call_that_nobody_answers() {
    let ftp = "[app.ftp]\nfrom = \"a\"\nto = [\"b\"]\nstart = \"1s\"\ntcp = \"ns2-fulltcp-sack\"\ntraffic.ftp = {}\n";
    let s = read(&line(280, "rate = \"1mbit\"\nloss = 1", 10.0, ftp));
    let mut world = World::with_sink(&s, Ear::new(Mask::ENQUEUED)).unwrap();
    world.run(|_| true);
    let calls = world.sink().records.iter().map(|(now, record)| {
        assert!(matches!(record, Record::Enqueued { packet, .. } if packet.size <= 60), "only SYNs, of 40 to 60 bytes");
        (now.secs() * 1000.0).round() / 1000.0
    });
    assert_eq!(calls.collect::<Vec<_>>(), [1.0, 4.0, 10.0, 22.0, 46.0, 94.0, 154.0, 214.0, 274.0]);
    // a queue with room for the smallest packet (28 bytes), but not for a SYN (60 bytes), drops every SYN
    let ftp = ftp.replace("ns2-fulltcp-sack", "linux-6");
    let s = read(&line(200, "rate = \"1mbit\"\nqueue.droptail = { limit = \"28B\" }", 10.0, &ftp));
    let mut world = World::build(&s).unwrap();
    world.run(|_| true);
    // Linux waits 1, 1, 1, 1, 1, 2, 4, 8, 16, 32 and 64 s after its SYNs, so the SYNs leave at 1, 2, 3, 4, 5, 6, 8, 12,
    // 20, 36 and 68 s, and the connection is aborted at 132 s. A second later, a new connection sends SYNs at 133, 134,
    // 135, 136, 137, 138, 140, 144, 152 and 168 s. That is 21 SYNs in total. The next SYN, at 200 s, is after the end
    // of the run
    assert_eq!(number(&world.outcome(&s), "links.up.dropped_packets"), 21.0);
}

#[test]
fn a_call_of_ten_minutes() {
    let voip = "[app.voip]\nfrom = \"home\"\nto = [\"web1\"]\ntraffic.voip = {}\n";
    let outcome = run(&modem("droptail = { limit = \"417p\" }", 600, voip));
    assert_eq!(number(&outcome, "apps.voip.datagrams_sent"), 30_000.0);
    // one frame of 218 bytes is sent every 20 ms, the last at 599.98 s
    assert_eq!(number(&outcome, "apps.voip.packets"), 30_000.0);
    assert_eq!(number(&outcome, "apps.voip.voip.lost_percent"), 0.0);
    assert_eq!(number(&outcome, "apps.voip.dropped_packets"), 0.0);
}

#[test]
fn equal_loss_for_all() {
    // if a full link of capacity C carries an unresponsive load U, of which the fraction p is lost, TCP gets the rest
    // of the link: C - U (1 - p)
    let apps = r#"
        [app.blast]
        from = "a"
        to = ["b"]
        traffic.cbr = { rate = "11.26mbit", size = 1000, randomize = 1 }
        [app.ftp]
        from = "a"
        to = ["b"]
        tcp = "rfc"
        traffic.ftp = { flows = 30 }
        "#;
    let outcome = run(&line(100, "rate = \"10mbit\"\nqueue.droptail = { limit = \"60p\" }", 20.0, apps));
    let sent = number(&outcome, "apps.blast.datagrams_sent");
    let p = number(&outcome, "apps.blast.dropped_packets") / sent;
    let tcp = number(&outcome, "apps.ftp.wire_bytes") * 8.0 / 100.0 / 1e6;
    let law = 10.0 - 11.26 * (1.0 - p);
    assert!((tcp - law).abs() < 0.05 * law, "{tcp} and {law} Mbit/s at a loss of {p}");
    // this law holds for any loss rate p of the blast. The bounds on p show that neither TCP nor the blast is starved.
    // For example, p is 25 % if TCP gets 200 kB/s (1.6 Mbit/s)
    assert!((0.11..0.4).contains(&p) && tcp > 0.0, "{p} {tcp}");
}

#[test]
fn waiting_for_a_constant_service() {
    // in an M/D/1 queue, the mean wait is rho / (2 (1 - rho)) service times. Many slow sources, each jittered over its whole
    // interval, approximate a Poisson stream over times shorter than this interval. The interval is 400 / rho service times long,
    // whereas a busy period takes only about 1 / (1 - rho)^2 service times.
    for (rho, wait) in [(0.5, 0.5), (0.8, 2.0)] {
        let rate = rho * 10e6 / 400.0;
        let mut apps = String::from("[record]\napps = []\ninterval = \"1s\"\n");
        for i in 0..400 {
            apps += &format!(
                "[app.s{i}]\nfrom = \"a\"\nto = [\"b\"]\nstart = \"{}us\"\n\
                 traffic.cbr = {{ rate = \"{rate}bit\", size = 1250, randomize = 1 }}\n",
                i * 997
            );
        }
        let queue = "rate = \"10mbit\"\nqueue.droptail = { limit = \"5000p\" }";
        let mut s = read(&line(100, queue, 0.0, &apps));
        let mean = (1..=3).map(|seed| {
            s.seed = seed;
            let mut world = World::build(&s).unwrap();
            world.run(|_| true);
            number(&world.outcome(&s), "links.up.sojourn_ms.mean")
        });
        let mean = mean.sum::<f64>() / 3.0;
        assert!((mean - wait).abs() < 0.1 * wait, "{rho}: {mean} ms instead of {wait}");
    }
}

/// Returns the share of a 10-Mbit/s link that one flow with a round trip of 100 ms uses from 100 s on. `buffer` is in packets.
fn utilisation(tcp: &str, buffer: u32) -> f64 {
    let queue = format!("rate = \"10mbit\"\nqueue.droptail = {{ limit = \"{buffer}p\" }}");
    let apps = format!(
        "[tcp.one]\npreset = \"{tcp}\"\nack_every = 1\nreceive_window = \"1GB\"\n[app.ftp]\nfrom = \"a\"\nto = [\"b\"]\ntcp = \"one\"\ntraffic.ftp = {{}}\n"
    );
    let outcome = run(&line(300, &queue, 50.0, &apps));
    sent(&outcome, 100.0, 300.0) / 250e6
}

#[test]
fn buffers_that_keep_a_line_busy() {
    // the bandwidth-delay product is 125 kB, or 83 packets of 1500 B
    let reno = [83, 2].map(|b| utilisation("rfc", b));
    assert!(reno[0] > 0.995, "{reno:?}");
    // with almost no buffer, the window varies between half the product and the whole product: 75 % on average
    assert!((0.70..0.82).contains(&reno[1]), "{reno:?}");
    // CUBIC reduces the window to 70 %, so a buffer of 1 / 0.7 - 1 = 0.43 of the product (36 packets) is enough, and 8
    // packets are not. Reno halves the window, so 36 packets are not enough for Reno
    let cubic = [36, 8].map(|b| utilisation("linux-6", b));
    assert!(cubic[0] > 0.985 && cubic[1] < 0.975 && cubic[1] > 0.85, "{cubic:?}");
    let reno = utilisation("rfc", 36);
    assert!(reno < 0.985 && reno > 0.85, "{reno}");
}

#[test]
fn windows_under_random_loss() {
    // the Mathis formula for the mean window: W = sqrt(3 / (2 b p)), with loss p and b packets per ACK
    for (b, p, w) in [(1, 0.001, 38.7), (2, 0.001, 27.4), (1, 0.004, 19.4)] {
        let apps = format!(
            "[tcp.one]\npreset = \"rfc\"\nack_every = {b}\nreceive_window = \"1GB\"\n[app.ftp]\nfrom = \"a\"\nto = [\"b\"]\ntcp = \"one\"\ntraffic.ftp = {{ flows = 4 }}\n"
        );
        let up = format!("rate = \"1gbit\"\nqueue.droptail = {{ limit = \"1000p\" }}\nloss = {p}");
        let outcome = run(&line(300, &up, 50.0, &apps));
        // the mean window is the goodput of one flow in segments per second, times the round trip of 0.1 s
        let window = number(&outcome, "apps.ftp.goodput_bytes") / 4.0 / 1460.0 / 300.0 * 0.1;
        assert!((window - w).abs() < 0.15 * w, "b {b}, p {p}: {window} instead of {w}");
    }
}

#[test]
fn one_cubic_flow_and_codel() {
    // under CoDel, a single flow with the CUBIC of CableLabs 2012 leaves part of the rate unused at a round trip of 100 ms, but
    // almost none of it at 20 ms
    let of = |server: &str| {
        let apps = format!(
            "[app.ftp]\nfrom = \"home\"\nto = [\"{server}\"]\ntcp = \"ns2-cubic-2.6.22\"\ntraffic.ftp = {{}}\n"
        );
        let outcome = run(&modem("codel = { limit = \"417p\" }", 120, &apps));
        // in 120 s, the modem admits 10 MB + 120 s x 625 kB/s = 85 MB
        sent(&outcome, 0.0, 120.0) / 85e6
    };
    let (near, far) = (of("web1"), of("web4"));
    assert!(near > 0.97 && far < near, "{near} {far}");
}

#[test]
fn a_setting_by_its_path_is_that_setting() {
    // the scenario must be the same whether its text contains the rate or `set` sets the rate
    let toml = line(5, "rate = \"5mbit\"", 10.0, "[app.v]\nfrom = \"a\"\nto = [\"b\"]\ntraffic.voip = {}\n");
    let mut tree = scenario::read::parse(&toml, scenario::read::Format::Toml).unwrap();
    set(&mut tree, "link.up.rate", "2mbit").unwrap();
    set(&mut tree, "start_spread", "0s").unwrap(); // as in `read`
    let one = scenario::read::tree(tree).unwrap();
    assert_eq!(one.canonical(), read(&toml.replace("5mbit", "2mbit")).canonical());
}

/// Runs one CUBIC flow with this receive window from a to b, over a link of 10 Mbit/s with a queue of `packets` packets and a
/// round trip of 40 ms.
fn windowed(window: &str, packets: u32) -> Outcome {
    let queue = format!("rate = \"10mbit\"\nqueue.droptail = {{ limit = \"{packets}p\" }}");
    let apps = format!(
        "[tcp.one]\npreset = \"linux-6\"\nhystart = \"off\"\n{window}\n[app.ftp]\nfrom = \"a\"\nto = [\"b\"]\ntcp = \"one\"\ntraffic.ftp = {{}}\n"
    );
    run(&line(30, &queue, 20.0, &apps))
}

/// Returns the TOML keys of an auto-tuned receive window that uses at most `max` bytes of memory.
fn tuned(max: u64) -> String {
    format!("receive_window = \"auto\"\nrmem = {{ default = \"131072B\", max = \"{max}B\" }}")
}

#[test]
fn a_receive_window_at_its_end_limits_the_queue_or_the_rate() {
    // the window is half of the 400 kB of memory: 138 segments of 1448 bytes, or 207 kB in packets of 1500 bytes. The link
    // holds 50 kB (10 Mbit/s x 40 ms), and the other 157 kB, or 104.7 packets, are in the queue. The queue grows no further,
    // although it has room for 1000 packets
    let limited = windowed(&tuned(400_000), 1000);
    let most = number(&limited, "links.up.queue_packets.max");
    assert!((103.0..=105.0).contains(&most), "{most}");
    // one of the 104.7 packets is being sent, so a packet waits for 103.7 other packets of 1.2 ms each
    assert!((number(&limited, "links.up.sojourn_ms.p50") - 103.7 * 1.2).abs() < 2.0);
    assert_eq!(number(&limited, "links.up.dropped_packets"), 0.0);
    // a window that may grow to 3 MB fills the queue
    let free = windowed(&tuned(6_291_456), 1000);
    assert_eq!(number(&free, "links.up.queue_packets.max"), 1000.0);
    // the window W is half of 80 kB, or 27 segments. The rate is W / RTT. The RTT is 40 ms plus the transmission of a
    // packet (1.2 ms). The reverse link has no rate, so ACKs take no time, and there is almost no queue
    let slow =
        windowed("receive_window = \"auto\"\nrmem = { default = \"80000B\", max = \"80000B\" }\nack_every = 1", 1000);
    let rate = sent(&slow, 10.0, 30.0) * 8.0 / 20.0;
    assert!((rate - 27.0 * 1500.0 * 8.0 / 41.2e-3).abs() < 0.01 * rate, "{rate}");
    assert!(number(&slow, "links.up.sojourn_ms.mean") < 1.2 * 27.0 / 2.0);
}

#[test]
fn a_window_that_never_limits_changes_nothing() {
    // a window that is advertised in every packet, but never limits the sender, gives the same run as a constant window. While the
    // window grows, the receiver acknowledges each segment at once. With `ack_every = 1`, it always does so, in both runs
    let every = "\nack_every = 1\nsack_compression = \"off\"";
    for packets in [40, 1000] {
        let of = |outcome: &Outcome| {
            let series = ["sent_bytes", "dropped_packets", "queue_packets"]
                .map(|name| series(outcome, "queue_series", name, "link", "up"));
            (number(outcome, "apps.ftp.goodput_bytes"), number(outcome, "apps.ftp.retransmits"), series)
        };
        assert_eq!(
            of(&windowed(&(tuned(1 << 30) + every), packets)),
            of(&windowed(&("receive_window = \"512MiB\"".to_string() + every), packets)),
            "{packets}"
        );
    }
}

#[test]
fn an_ack_filter_treats_acks_that_tell_a_window_as_all_others() {
    // the forward link has 4 Mbit/s. The reverse link has 40 kbit/s and filters ACKs, including ACKs with SACK blocks
    let of = |window: &str| {
        let toml = format!(
            "duration = \"30s\"\n[link.up]\nfrom = \"a\"\nto = \"b\"\ndelay = \"10ms\"\nrate = \"4mbit\"\nqueue.droptail = {{ limit = \"30p\" }}\n\
             [link.down]\nfrom = \"b\"\nto = \"a\"\ndelay = \"10ms\"\nqueue.cake = {{ bandwidth = \"40kbit\", ack_filter = \"normal\" }}\n\
             [tcp.one]\npreset = \"linux-6\"\nack_every = 1\n{window}\n[app.ftp]\nfrom = \"a\"\nto = [\"b\"]\ntcp = \"one\"\ntraffic.ftp = {{}}\n"
        );
        let o = run(&toml);
        ["links.down.drops.ack_filter", "links.up.delivered_bytes", "apps.ftp.retransmits"].map(|at| number(&o, at))
    };
    let tuned = of("receive_window = \"auto\"\nrmem = { default = \"64MiB\", max = \"1GiB\" }");
    assert!(tuned[0] > 1000.0 && tuned[2] > 20.0, "{tuned:?}");
    assert_eq!(tuned, of("receive_window = \"512MiB\""));
}
