//! Compares the results of applications in complete simulations (pings, bursts, datagrams and others) with calculated
//! values.

use crate::common::{Dice, number, run, series};

/// Returns a scenario with 5 Mbit/s from a to b and 10 Mbit/s back, 20 ms each way, and queues of 100 packets.
fn line(seconds: u32, apps: &str) -> String {
    format!(
        "duration = \"{seconds}s\"\n[link.up]\nfrom = \"a\"\nto = \"b\"\nrate = \"5mbit\"\ndelay = \"20ms\"\n\
         queue.droptail = {{ limit = \"100p\" }}\n[link.down]\nfrom = \"b\"\nto = \"a\"\nrate = \"10mbit\"\n\
         delay = \"20ms\"\nqueue.droptail = {{ limit = \"100p\" }}\n{apps}"
    )
}

#[test]
fn a_ping_measures_the_empty_line_exactly() {
    let outcome = run(&line(
        10,
        "[app.ping]\nfrom = \"a\"\nto = [\"b\"]\ntraffic.ping = { interval = \"100ms\", size = \"125B\" }\n",
    ));
    // a ping of 125 B takes 0.2 ms at 5 Mbit/s, its reply 0.1 ms at 10 Mbit/s, and propagation takes 40 ms. Pings leave at 0,
    // 0.1 ... 9.9 s, and all are answered
    let rtt = |key: &str| number(&outcome, &format!("apps.ping.ping.{key}"));
    assert_eq!((rtt("sent"), rtt("answered"), rtt("lost"), rtt("lost_percent")), (100.0, 100.0, 0.0, 0.0));
    assert_eq!((rtt("rtt_ms.min"), rtt("rtt_ms.max")), (40.3, 40.3));
    let each = series(&outcome, "pings", "rtt_ms", "app", "ping");
    assert_eq!(each, [40.3; 100]);
    assert_eq!(series(&outcome, "pings", "t_s", "app", "ping")[99], 9.9);
}

#[test]
fn a_ping_sees_the_full_buffer_and_its_drops() {
    // 1500-B datagrams arrive at 6 Mbit/s and leave at 5 Mbit/s, so the queue of 100 packets is full after 1.2 s. From
    // then on, a ping that is not dropped waits for the packet in service and for up to 99 other packets: 100 x 2.4 ms
    // = 240 ms
    let apps = "[app.cbr]\nfrom = \"a\"\nto = [\"b\"]\ntraffic.cbr = { rate = \"6mbit\", size = 1500 }\n\
                [app.ping]\nfrom = \"a\"\nto = [\"b\"]\nstart = \"5s\"\ntraffic.ping = { interval = \"50.3ms\" }\n";
    let outcome = run(&line(60, apps));
    let rtt = |key: &str| number(&outcome, &format!("apps.ping.ping.{key}"));
    assert!(rtt("rtt_ms.max") <= 240.0 + 2.4 + 40.3 && rtt("rtt_ms.min") >= 230.0 + 40.0, "{}", rtt("rtt_ms.min"));
    // a ping that is neither answered nor counted as lost was sent in the last 283 ms, the longest round trip. So there
    // are at most 6 such pings
    let open = rtt("sent") - rtt("answered") - rtt("lost");
    assert!(rtt("lost") > 50.0 && (0.0..=6.0).contains(&open), "{} lost, {open} open", rtt("lost"));
    // in the table, the RTT of a ping without a reply is NaN
    let each = series(&outcome, "pings", "rtt_ms", "app", "ping");
    assert_eq!(each.iter().filter(|r| r.is_nan()).count() as f64, rtt("lost") + open);
}

#[test]
fn a_transfer_of_a_length_leaves_the_line_idle() {
    for (stack, loss, way) in [
        ("linux-6", 0.0, "up"),
        ("linux-6", 0.01, "down"),
        ("ns2-reno", 0.01, "up"),
        ("bbr3", 0.01, "up"),
        ("prague", 0.0, "up"),
    ] {
        let app = format!(
            "[app.load]\nfrom = \"a\"\nto = [\"b\"]\nstart = \"1s\"\nstart_spread = \"0s\"\ntcp = \"{stack}\"\n\
             traffic.ftp = {{ flows = 2, length = \"5s\", direction = \"{way}\" }}\n"
        );
        let net = line(20, &app).replace("[link.down]", &format!("loss = {loss}\n[link.down]"));
        let outcome = run(&net);
        // the transfers end at 6 s. Draining a full queue (at most 240 ms) and retransmitting take less than 3 s, so no
        // packets are sent from 9 s on
        let (bins, sent) = (
            series(&outcome, "queue_series", "t_s", "link", way),
            series(&outcome, "queue_series", "sent_bytes", "link", way),
        );
        let after: f64 = bins.iter().zip(&sent).filter(|(t, _)| **t >= 9.0).map(|(_, bytes)| *bytes).sum();
        let during: f64 =
            bins.iter().zip(&sent).filter(|(t, _)| (5.0..6.0).contains(*t)).map(|(_, bytes)| *bytes).sum();
        let rate = if way == "up" { 625_000.0 } else { 1_250_000.0 };
        assert_eq!(after, 0.0, "{stack}");
        assert!(during > if loss > 0.0 { 0.2 } else { 0.9 } * rate, "{stack} sends to the end: {during}");
        for link in ["up", "down"] {
            let held = |what: &str| number(&outcome, &format!("links.{link}.{what}_packets"));
            assert_eq!((held("backlog"), held("in_flight")), (0.0, 0.0), "{stack}");
        }
    }
}

#[test]
fn datagrams_go_down_the_line() {
    let apps = "[app.cbr]\nfrom = \"a\"\nto = [\"b\"]\ntraffic.cbr = { rate = \"8mbit\", size = 1000, direction = \"down\" }\n\
                [app.voip]\nfrom = \"a\"\nto = [\"b\"]\ntraffic.voip = { direction = \"down\" }\n";
    let outcome = run(&line(10, apps));
    // no datagrams are sent up; 1000 B are sent down every ms. Datagram k arrives at k + 20.8 ms, or up to 0.2 ms later if it
    // waits for a frame of the call. So datagrams 0 to 9979 arrive before 10 s
    assert_eq!(number(&outcome, "links.up.offered_packets"), 0.0);
    assert_eq!(number(&outcome, "apps.cbr.packets"), 0.0);
    assert_eq!(number(&outcome, "apps.cbr.packets_reverse"), 9980.0);
    // each of the 500 frames of 218 B takes 20 ms of propagation and 0.1744 ms of transmission, and waits up to 0.8 ms for a
    // datagram; the last frame is in flight at the end
    assert_eq!(number(&outcome, "apps.voip.voip.judged"), 499.0);
    assert_eq!(number(&outcome, "apps.voip.voip.lost_percent"), 0.0);
    let delay = number(&outcome, "apps.voip.voip.delay_ms.max");
    assert!((20.17..=20.98).contains(&delay), "{delay}");
}

/// Both sides speak while a flood fills the queue from `a` to `b`. Each direction has its own statistics.
#[test]
fn a_call_both_ways_is_judged_twice() {
    let apps = "[app.blast]\nfrom = \"a\"\nto = [\"b\"]\ntraffic.cbr = { rate = \"20mbit\", size = 1000 }\n\
                [app.voip]\nfrom = \"a\"\nto = [\"b\"]\ntraffic.voip = { direction = \"both\" }\n";
    let outcome = run(&line(10, apps));
    let of = |stream: &str, key: &str| number(&outcome, &format!("apps.voip.{stream}.{key}"));
    assert_eq!((of("voip", "sent"), of("voip_reverse", "sent")), (500.0, 500.0));
    // the last of the 500 frames is in flight at the end, so 499 are judged. There is no other traffic from `b` to `a`, so none
    // is lost
    assert_eq!((of("voip_reverse", "judged"), of("voip_reverse", "plr_percent")), (499.0, 0.0));
    assert!(of("voip_reverse", "mos") > 4.3, "{}", of("voip_reverse", "mos"));
    assert!(of("voip", "plr_percent") > 40.0 && of("voip", "mos") < 1.5, "{}", of("voip", "plr_percent"));
    // drops are counted by direction
    let lost = of("voip", "judged") * of("voip", "lost_percent") / 100.0;
    assert!((lost - number(&outcome, "apps.voip.dropped_packets")).abs() < 1e-6, "{lost}");
}

/// A burst fills the upstream queue. Packets of the game that wait more than 50 ms are late; downstream, no packet is late.
#[test]
fn a_game_is_late_one_way() {
    let apps = "[app.game]\nfrom = \"a\"\nto = [\"b\"]\ntraffic.game = {}\n\
                [app.burst]\nfrom = \"a\"\nto = [\"b\"]\nstart = \"5s\"\n\
                traffic.burst = { bytes = \"150KB\", transport = \"udp\" }\n";
    let outcome = run(&line(10, apps));
    let of = |key: &str| number(&outcome, &format!("apps.game.game.{key}"));
    // the burst takes 240 ms (100 packets of 1500 B at 5 Mbit/s), so packets of the game that arrive in the first 190
    // ms of the burst wait more than 50 ms. The game sends a packet every 18.29 ms on average, and 547 packets in all,
    // so the expected share of late packets is 190 / 18.29 / 547, give or take one packet
    let expected = 100.0 * 190.0 / 18.29 / 547.0;
    assert!((of("up.late_percent") - expected).abs() < 100.0 / 547.0, "{} for {expected}", of("up.late_percent"));
    assert_eq!((of("up.lost_percent"), of("down.late_percent"), of("down.lost_percent")), (0.0, 0.0, 0.0));
    let packets = number(&outcome, "apps.game.packets_reverse");
    assert!((packets / 661.0 - 1.0).abs() < 0.05, "{packets}");
    assert!(number(&outcome, "apps.game.jitter_ms") > number(&outcome, "apps.game.jitter_ms_reverse"));
}

/// 25 of the 500 frames of a call are lost one after another, at its beginning, in the middle or at its end. If 5 % were lost
/// independently of each other, the mean length of a run of lost frames would be 1 / 0.95.
#[test]
fn an_outage_is_one_run_of_lost_frames() {
    let call = "[app.call]\nfrom = \"a\"\nto = [\"b\"]\ntraffic.voip = {}\n";
    for (loss, changes) in [
        ("1", r#"[{ at = "500ms", loss = 0.0 }]"#),
        ("0", r#"[{ at = "5s", loss = 1.0 }, { at = "5500ms", loss = 0.0 }]"#),
        ("0", r#"[{ at = "9500ms", loss = 1.0 }]"#),
    ] {
        let outcome = run(&format!(
            "duration = \"10s\"\nstart_spread = \"0s\"\nlink.up = {{ from = \"a\", to = \"b\", rate = \"10mbit\", delay = \"1ms\", \
             both_ways = true, loss = {loss}.0, changes = {changes} }}\n{call}"
        ));
        let of = |key: &str| number(&outcome, &format!("apps.call.voip.{key}"));
        assert_eq!((of("judged"), of("lost_percent"), of("burst_ratio")), (500.0, 5.0, 25.0 * 0.95), "{changes}");
    }
}

#[test]
fn a_burst_fills_the_buffer_and_the_rest_is_dropped() {
    // 250 packets of 1500 B arrive at once: one is sent, 100 wait, and 149 are dropped
    let apps = "[app.burst]\nfrom = \"a\"\nto = [\"b\"]\nstart = \"1s\"\n\
                traffic.burst = { bytes = \"375KB\", transport = \"udp\" }\n\
                [app.tcp]\nfrom = \"a\"\nto = [\"b\"]\nstart = \"5s\"\ntraffic.burst = { bytes = \"100KB\" }\n";
    let outcome = run(&line(10, apps));
    let burst = |key: &str| number(&outcome, &format!("apps.burst.{key}"));
    assert_eq!((burst("burst.datagrams_sent"), burst("burst.datagrams_received")), (250.0, 101.0));
    assert_eq!(burst("dropped_packets"), 149.0);
    // the last accepted packet waits for 100 other packets, so its delay is 101 x 2.4 ms + 20 ms
    assert!((burst("delay_ms.max") - 262.4).abs() < 0.01, "{}", burst("delay_ms.max"));
    // 100 kB is 70 segments, sent in windows of 10, 20 and 40 segments. They take 40.2 ms for the handshake, 70 x 2.4 = 168 ms of
    // transmission, 20 ms of propagation, and less than three round trips of 43 ms in which the sender waits for ACKs
    let took = number(&outcome, "apps.tcp.files.mean_s");
    assert!((0.040 + 0.168 + 0.020..0.040 + 0.168 + 0.020 + 3.0 * 0.043).contains(&took), "{took}");
    assert_eq!(series(&outcome, "files", "bytes", "app", "tcp"), [100_000.0]);
}

/// Without a handshake, both ends are established when the client opens the connection.
#[test]
fn a_download_without_a_handshake_begins_at_once() {
    // 2920 B are two segments, which the initial window allows. Each takes 1500 B x 8 / 10 Mbit/s = 1.2 ms, and the way
    // from the server takes 20 ms
    for traffic in [
        "ftp = { direction = \"down\", size = \"2920B\", count = 1 }",
        "burst = { direction = \"down\", bytes = \"2920B\" }",
    ] {
        let outcome = run(&line(
            3,
            &format!("[app.get]\nfrom = \"a\"\nto = [\"b\"]\nstart = \"1s\"\ntcp = \"ns2-reno\"\ntraffic.{traffic}\n"),
        ));
        let took = number(&outcome, "apps.get.files.mean_s");
        assert!((took - 0.0224).abs() < 1e-9, "{traffic}: {took}");
    }
}

#[test]
fn short_flows_finish_on_an_idle_line_in_their_round_trips() {
    // a short flow of 14 kB on an idle link takes 40 ms for the handshake, 40 ms for GET and response, and 12 ms for ten
    // segments of 1500 B at 10 Mbit/s. 14 000 / 1448 = 9.7, so all segments fit into the initial window. Two flows arrive per
    // second
    let apps = "[app.short]\nfrom = \"a\"\nto = [\"b\"]\ntraffic.short = { interval = \"500ms\" }\n";
    let outcome = run(&line(100, apps));
    let files = |key: &str| number(&outcome, &format!("apps.short.files.{key}"));
    assert!((files("median_s") - 0.092).abs() < 0.002, "{}", files("median_s"));
    let arrivals = number(&outcome, "apps.short.short.arrivals");
    // 200 arrivals are expected, with a standard deviation of sqrt(200) = 14
    assert!((140.0..=260.0).contains(&arrivals), "{arrivals}");
    assert!(files("done") >= arrivals - 2.0);
}

#[test]
fn new_applications_keep_the_books_on_random_networks() {
    // on every random network, each packet is delivered, dropped, queued or in flight
    for n in 0..4 {
        let mut toml = Dice::new(9000 + n, crate::common::Numbers::Odd, true).scenario();
        let (from, to) = if toml.contains("\"a0\"") { ("a0", "b0") } else { ("n0", "n1") };
        for (name, traffic) in [
            ("ping", "ping = { interval = \"10ms\" }"),
            ("short", "short = { interval = \"50ms\", size.pareto = {} }"),
            ("burst", "burst = { bytes = \"100KB\", interval = \"1s\", transport = \"udp\", direction = \"down\" }"),
        ] {
            toml += &format!("[app.new_{name}]\nfrom = \"{from}\"\nto = [\"{to}\"]\ntraffic.{traffic}\n");
        }
        let s = crate::common::read(&toml);
        let mut world = sim::World::build(&s).unwrap();
        world.run(|_| true);
        assert!(world.books().all(|b| b.offered == b.delivered + b.dropped + b.queued + b.in_flight));
        let outcome = world.outcome(&s);
        let ping = |key: &str| number(&outcome, &format!("apps.new_ping.ping.{key}"));
        assert_eq!(ping("sent"), 600.0);
        assert!(ping("answered") + ping("lost") <= 600.0 && ping("answered") > 0.0);
    }
}

/// Returns the mean sojourn time in the queue of link `up` over the bins after the first minute, in ms.
fn standing(outcome: &sim::Outcome) -> f64 {
    let t = series(outcome, "queue_series", "t_s", "link", "up");
    let ms = series(outcome, "queue_series", "sojourn_ms_mean", "link", "up");
    let late: Vec<f64> = t.iter().zip(ms).filter(|(t, ms)| **t >= 60.0 && !ms.is_nan()).map(|(_, ms)| ms).collect();
    late.iter().sum::<f64>() / late.len() as f64
}

/// Runs an upload (application `background`) and the applications in `more`. The upload uses the TCP stack `own`, which
/// `tcp` defines. The upstream link has 5 Mbit/s and a buffer of one second.
fn background(seconds: u32, tcp: &str, more: &str) -> sim::Outcome {
    let apps =
        format!("{tcp}\n[app.background]\nfrom = \"a\"\nto = [\"b\"]\ntcp = \"own\"\ntraffic.ftp = {{}}\n{more}");
    run(&line(seconds, &apps).replacen("limit = \"100p\"", "limit = \"1s\"", 1))
}

#[test]
fn ledbat_alone_holds_its_target_in_a_deep_buffer() {
    // RFC 6817: the queueing delay settles at TARGET. Only every second segment is acknowledged, so the delay is lower than
    // TARGET by the transmission time of one segment, 2.4 ms. The link is full and there are no losses.
    for target in [100.0, 50.0, 25.0] {
        let tcp = format!("[tcp.own]\npreset = \"ledbat\"\nledbat = {{ target = \"{target}ms\" }}");
        let outcome = background(180, &tcp, "");
        let queue = standing(&outcome);
        assert!((queue - target).abs() < 0.06 * target + 2.4, "{target}: {queue}");
        assert_eq!(number(&outcome, "links.up.dropped_packets"), 0.0);
        let utilisation = number(&outcome, "links.up.utilisation");
        assert!(utilisation > 0.95, "{target}: {utilisation}");
    }
}

#[test]
fn ledbat_yields_to_reno() {
    // Reno fills the buffer, which takes one second to send. LEDBAT measures a delay of ten times its target, and stays at its
    // minimum window of two segments, 24 kbit per round trip. With Reno's sawtooth, the round trip varies from half a second to
    // one second, so LEDBAT gets at most about 1 % of the rate
    let reno = "[app.reno]\nfrom = \"a\"\nto = [\"b\"]\nstart = \"60s\"\ntcp = \"rfc\"\ntraffic.ftp = {}\n";
    let outcome = background(240, "[tcp.own]\npreset = \"ledbat\"", reno);
    let goodput = |app: &str| {
        let t = series(&outcome, "flow_series", "t_s", "app", app);
        let bytes = series(&outcome, "flow_series", "goodput_bytes", "app", app);
        t.iter().zip(bytes).filter(|(t, _)| **t >= 120.0).map(|(_, b)| b).sum::<f64>()
    };
    let share = goodput("background") / (goodput("background") + goodput("reno"));
    assert!(share < 0.05, "{share}");
    // if the first flow also uses Reno, this flow gets more than half, because it starts 60 s before the other flow
    let outcome = background(240, "[tcp.own]\npreset = \"rfc\"", reno);
    let bytes = |app: &str| number(&outcome, &format!("apps.{app}.goodput_bytes"));
    assert!(bytes("background") > bytes("reno"), "60 s ahead");
}

#[test]
fn a_file_is_faster_beside_ledbat_than_beside_reno() {
    // the stack `linux-6` sends 1 MB every 30 s beside an upload. LEDBAT's standing queue is a tenth of Reno's, which
    // fills the one-second buffer
    let files = "[app.file]\nfrom = \"a\"\nto = [\"b\"]\nstart = \"60s\"\n\
                 traffic.ftp = { size = \"1MB\", interval = \"30s\" }\n";
    let took = ["ledbat", "rfc"].map(|preset| {
        let outcome = background(240, &format!("[tcp.own]\npreset = \"{preset}\""), files);
        assert_eq!(number(&outcome, "apps.file.files.done"), 6.0);
        assert!(number(&outcome, "links.up.utilisation") > 0.9);
        number(&outcome, "apps.file.files.median_s")
    });
    // without the upload, a file would take 1.7 s
    assert!(took[0] > 1.7 && took[0] < 0.7 * took[1], "{took:?}");
}

#[test]
fn every_second_of_a_video_is_accounted_for() {
    // The bottleneck is the downstream link. A player chooses video rates up to 0.8 times the throughput, and the
    // throughput is at most 1448/1500 of the link's rate, so the mean video rate is at most `most` Mbit/s (at 300
    // kbit/s, no rate is low enough, so the lowest rate, 350 kbit/s, is used). Every second since the start was spent
    // in startup, in a stall or in playback, and the seconds played are the media received minus the media still in the
    // buffer. At 500 kbit/s, the test allows stalls: the link can carry the lowest rate, but its queue of 100 packets
    // holds 2.4 s, so the losses of the first slow start may cause a stall.
    for (rate, most, stalls) in [
        ("10mbit", 6.0, Some(false)),
        ("3mbit", 1.5, Some(false)),
        ("500kbit", 0.35, None),
        ("300kbit", 0.35, Some(true)),
    ] {
        let apps = "[app.video]\nfrom = \"a\"\nto = [\"b\"]\ntraffic.video = {}\n";
        let outcome = run(&line(300, apps).replacen("rate = \"10mbit\"", &format!("rate = \"{rate}\""), 1));
        let video = |key: &str| number(&outcome, &format!("apps.video.video.{key}"));
        let played = 4.0 * video("segments") - video("buffer_s");
        let seconds = video("startup_s") + video("stalled_s") + played;
        assert!((seconds - 300.0).abs() < 1e-3, "{rate}: {seconds}");
        assert!(video("mean_bitrate_mbit") <= most, "{rate}: {}", video("mean_bitrate_mbit"));
        assert!(video("mean_bitrate_mbit") >= 0.35);
        assert!(stalls.is_none_or(|s| s == (video("stalls") > 0.0)), "{rate}");
        assert_eq!(video("stalls") > 0.0, video("stalled_s") > 0.0, "{rate}");
        if stalls == Some(true) {
            // 4 s of media at 350 kbit/s takes at least 4.83 s at 300 kbit/s x 1448/1500, so playback stalls for 17 % of the time
            assert!(video("stalled_s") > 0.17 * 280.0, "{}", video("stalled_s"));
        }
        assert_eq!(number(&outcome, "apps.video.files.done"), video("segments"));
    }
}

#[test]
fn a_swarm_on_a_slow_line_has_no_more_blocks_under_way_than_its_pipelines() {
    // At 250 kbit/s, a block takes half a second, so the five blocks of a peer take longer than a round. Before the stop at 100 s,
    // more than 150 blocks arrive. After the stop, only outstanding blocks arrive: at most 4 x 5
    for download in [false, true] {
        let text = |seconds: u32| {
            format!(
                "duration = \"{seconds}s\"\n[link.up]\nfrom = \"a\"\nto = \"b\"\nrate = \"250kbit\"\ndelay = \"10ms\"\n\
                 both_ways = true\n[app.swarm]\nfrom = \"a\"\nto = [\"b\"]\nstop = \"100s\"\n\
                 traffic.bittorrent = {{ peers = 4, active = 2, round = \"1s\", download = {download} }}\n"
            )
        };
        let [at_stop, end] = [100, 400].map(|seconds| run(&text(seconds)));
        let key = if download { "blocks_received" } else { "blocks_sent" };
        let [before, after] = [&at_stop, &end].map(|o| number(o, &format!("apps.swarm.bittorrent.{key}")));
        assert!(before > 150.0 && after > before && after <= before + 20.0, "{key}: {before}, then {after}");
    }
}

#[test]
fn a_swarm_fills_the_line_and_its_tcp_decides_the_queue() {
    let queue = ["ledbat", "linux-6"].map(|preset| {
        let apps = format!("[app.swarm]\nfrom = \"a\"\nto = [\"b\"]\ntcp = \"{preset}\"\ntraffic.bittorrent = {{}}\n");
        let outcome = run(&line(180, &apps).replacen("limit = \"100p\"", "limit = \"1s\"", 1));
        let swarm = |key: &str| number(&outcome, &format!("apps.swarm.{key}"));
        assert_eq!(swarm("bittorrent.connected"), 50.0);
        // the goodput consists of whole blocks of 16 397 B, chokes and unchokes of 5 B, and at most one partial block
        // for each peer
        let blocks = swarm("bittorrent.blocks_sent") * 16_397.0;
        let rest = swarm("goodput_bytes") - blocks;
        assert!((0.0..=50.0 * 16_397.0 + 10_000.0).contains(&rest), "{preset}: {rest}");
        assert!(number(&outcome, "links.up.utilisation") > 0.9, "{preset}");
        standing(&outcome)
    });
    assert!(queue[0] < 0.5 * queue[1], "{queue:?}");
}
