//! Tests of FRED, CBT, D-CBT and CBQ with unresponsive sources on a link: shares, thresholds, and the example of MMCN 1999.

use crate::common::{Bench, Source};
use packet::Protocol;
use qdisc::{Params, Spec};

fn spec(text: &str) -> Spec {
    let spec: Spec = serde_json::from_value(text.parse().unwrap()).unwrap();
    spec.validate().unwrap();
    spec
}

const MBIT: f64 = 1e6;
/// The link's rate in MMCN 1999.
const LINK: f64 = 10.0 * MBIT;

/// Returns six sessions of 210 kbit/s, with datagrams of 700 B and code point AF41.
fn sessions() -> Vec<Source> {
    (0..6).map(|_| Source::udp(0.21 * MBIT, 700).dscp(34)).collect()
}

/// Runs MMCN 1999's example, unresponsive flows of 10 and 1 Mbit/s on a link of 9.9 Mbit/s, and returns the share of packets
/// that each flow loses.
fn two_flows(queue: &str) -> (f64, f64) {
    let sources = [Source::udp(10.0 * MBIT, 1000), Source::udp(MBIT, 1000)];
    let run = Bench::new(spec(queue), 9.9 * MBIT).run(&sources, 5.0, 60.0);
    (run.loss(0), run.loss(1))
}

#[test]
fn red_cuts_both_alike_and_fred_leaves_the_light_one_alone() {
    // 11 Mbit/s arrives at a link of 9.9 Mbit/s, so one tenth must be dropped. CBT with a single class under RED
    // behaves like plain RED. It drops a tenth of each flow: 10 Mbit/s becomes 9, and 1 Mbit/s becomes 0.9.
    let red = r#"{"cbt":{"classes":[{"name":"all","test":{"red":{"min_th":"15p","max_th":"30p","max_p":0.1}}}]}}"#;
    let (heavy, light) = two_flows(red);
    assert!((heavy - 0.1).abs() < 0.02 && (light - 0.1).abs() < 0.02, "RED: {heavy} {light}");
    for reading in ["two_packets", "drop_all"] {
        let (heavy, light) = two_flows(&format!(r#"{{"fred":{{"many_flows":"{reading}"}}}}"#));
        // the light flow loses nothing, so 8.9 Mbit/s is left for the heavy flow, which loses (10 - 8.9) / 10 = 0.11
        assert!(light < 0.005, "FRED {reading}: the light one loses {light}");
        assert!((heavy - 0.11).abs() < 0.01, "FRED {reading}: the heavy one loses {heavy}");
    }
}

#[test]
fn the_share_of_a_class_is_its_share_of_the_queued_bytes() {
    // The rate of class c is B_c = C q_c / sum q, where C is the rate of the link and q_c is the number of bytes that
    // the class has queued. All three classes exceed their thresholds. The first queue has thresholds in packets, the
    // second in bytes.
    let queues = [
        r#"{"cbt":{}}"#,
        r#"{"cbt":{"limit":"90KB","classes":[
            {"name":"tcp","match":{"protocol":["tcp"]},"test":{"red":{"min_th":"15KB","max_th":"30KB"}}},
            {"name":"tagged","match":{"protocol":["udp","icmp"],"dscp":[34]},"test":{"threshold":"6KB"}},
            {"name":"other","test":{"threshold":"3KB"}}]}}"#,
    ];
    for queue in queues {
        let mut sources = vec![Source::tcp(9.0 * MBIT, 1500).poisson(), Source::udp(10.0 * MBIT, 1000).poisson()];
        sources.push(Source::udp(4.0 * MBIT, 700).dscp(34).poisson());
        let run = Bench::new(spec(queue), LINK).run(&sources, 5.0, 120.0);
        let queued: f64 = (0..3).map(|i| run.mean_bytes(i)).sum();
        for i in 0..3 {
            let (rate, share) = (run.rate(i) / LINK, run.mean_bytes(i) / queued);
            assert!((rate / share - 1.0).abs() < 0.05, "{queue}: source {i}: {rate} of the link, {share} of the queue");
        }
        let all: f64 = (0..3).map(|i| run.rate(i)).sum();
        assert!((all / LINK - 1.0).abs() < 0.001);
    }
}

/// Adds an unresponsive flow of `offered` Mbit/s to TCP and the tagged sessions. Returns the mean number of packets that this
/// flow has in the queue, and the share of tagged packets lost.
fn blast(queue: &str, offered: f64) -> (f64, f64) {
    let mut sources = vec![Source::tcp(9.0 * MBIT, 1500).poisson(), Source::udp(offered * MBIT, 1000)];
    sources.extend(sessions());
    let run = Bench::new(spec(queue), LINK).run(&sources, 10.0, 120.0);
    let (sent, lost) = (2..8).fold((0, 0), |(s, l), i| (s + run.offered(i), l + run.dropped(i)));
    // the tagged class stays below its threshold of ten packets
    let queued: f64 = (2..8).map(|i| run.mean_packets(i)).sum();
    assert!(queued < 10.0, "{offered} Mbit/s: {queued} tagged packets");
    (run.mean_packets(1), f64::from(lost) / f64::from(sent))
}

#[test]
fn the_unresponsive_class_is_held_to_its_threshold_whatever_it_offers() {
    let by_time = r#"{"cbt":{"classes":[
        {"name":"tcp","match":{"protocol":["tcp"]},"test":{"red":{}}},
        {"name":"tagged","match":{"protocol":["udp","icmp"],"dscp":[34]},"test":{"threshold":"10p"}},
        {"name":"other","test":{"threshold":"2p"},"sampling":"time"}]}}"#;
    for offered in [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0] {
        // The class's threshold is two packets. CBT averages over arrivals, so the mean over time may differ from the
        // threshold; the bound allows three packets. If the class offers the link's rate, 10 Mbit/s, the mean is two.
        let (queued, lost) = blast(r#"{"cbt":{}}"#, offered);
        assert!(queued < 3.0 * 1.05, "{offered} Mbit/s: {queued} packets");
        assert!(offered != 10.0 || (queued - 2.0).abs() < 0.2, "{queued} packets");
        assert!(lost < 0.02, "{offered} Mbit/s: {lost} of the tagged packets");
        // if CBT averages over time, the class has two packets queued at any offered rate
        let (queued, lost) = blast(by_time, offered);
        assert!((queued - 2.0).abs() < 0.2, "{offered} Mbit/s by time: {queued} packets");
        assert!(lost < 0.02, "{offered} Mbit/s by time: {lost} of the tagged packets");
    }
}

#[test]
fn shares_of_the_queue_follow_active_flows_under_dcbt() {
    // Each of seven flows offers more than a seventh of the link. Four flows are TCP, which is controlled by RED; two
    // are tagged, and one belongs to the class `other`. A share is a seventh of the average length of the whole queue.
    // The flow of class `other` may have one share queued, and each tagged flow two shares.
    let mut sources: Vec<Source> = (0..4).map(|_| Source::tcp(2.2 * MBIT, 1000).poisson()).collect();
    sources.extend((0..2).map(|_| Source::udp(4.0 * MBIT, 1000).dscp(46).poisson()));
    sources.push(Source::udp(10.0 * MBIT, 1000).poisson());
    let run = Bench::new(spec(r#"{"dcbt":{"weight":0.02}}"#), LINK).run(&sources, 10.0, 120.0);
    let per_flow =
        |r: std::ops::Range<usize>| r.clone().map(|i| run.rate(i)).sum::<f64>() / r.len() as f64 / LINK * 7.0;
    let (tcp, tagged, other) = (per_flow(0..4), per_flow(4..6), per_flow(6..7));
    // the flow of class `other` has about one share (not exactly, because the average follows the queue slowly), a
    // tagged flow has about two, and TCP has the rest
    assert!((0.7..1.1).contains(&other), "{tcp} {tagged} {other}");
    assert!((1.4..2.1).contains(&tagged), "{tcp} {tagged} {other}");
    assert!((tcp * 4.0 + tagged * 2.0 + other - 7.0).abs() < 0.01);
}

#[test]
fn cbq_gives_shares_and_lends_what_is_left() {
    let queue = |borrow: bool| {
        spec(&format!(
            r#"{{"cbq":{{"classes":[
            {{"name":"tcp","match":{{"protocol":["tcp"]}},"share":0.5}},
            {{"name":"tagged","match":{{"protocol":["udp","icmp"],"dscp":[46]}},"share":0.3}},
            {{"name":"other","share":0.2,"borrow":{borrow}}}]}}}}"#
        ))
    };
    let all = [Source::tcp(9.0 * MBIT, 1500), Source::udp(8.0 * MBIT, 700).dscp(46), Source::udp(10.0 * MBIT, 1000)];
    for borrow in [true, false] {
        // if every class offers more than its share, each gets its share, to within 1 % of the link
        let run = Bench::new(queue(borrow), LINK).run(&all, 2.0, 30.0);
        for (i, share) in [0.5, 0.3, 0.2].into_iter().enumerate() {
            assert!((run.rate(i) / LINK - share).abs() < 0.01, "{borrow}: source {i} has {}", run.rate(i) / LINK);
        }
        // TCP's share is 5 Mbit/s, but TCP sends only 2. If the class `other` may borrow, `other` and `tagged` share
        // the remaining 8 Mbit/s in the ratio 2 : 3. Otherwise, `other` keeps its share of 2 Mbit/s, and `tagged` gets
        // 6.
        let some = [Source::tcp(2.0 * MBIT, 1500), all[1].clone(), all[2].clone()];
        let run = Bench::new(queue(borrow), LINK).run(&some, 2.0, 30.0);
        let expected = if borrow { [2.0, 4.8, 3.2] } else { [2.0, 6.0, 2.0] };
        for (i, mbit) in expected.into_iter().enumerate() {
            assert!((run.rate(i) / MBIT - mbit).abs() < 0.1, "{borrow}: source {i} has {}", run.rate(i));
        }
        assert!(run.loss(0) < 1e-9);
        // here only `other` has traffic. If `other` may not borrow, it gets only its share, and the link is idle for
        // the rest of the time
        let run = Bench::new(queue(borrow), LINK).run(&all[2..], 2.0, 30.0);
        let alone = if borrow { 10.0 } else { 2.0 };
        assert!((run.rate(0) / MBIT - alone).abs() < 0.02, "{borrow}: alone {}", run.rate(0));
    }
}

/// Every class offers more than the link's rate, so each has its share, whichever classes may borrow. This is also true
/// if the link is slower than the sustained rate that it announces.
#[test]
fn a_class_that_may_not_borrow_keeps_its_share_beside_those_that_may() {
    let (seconds, sizes) = (60.0, [[1000; 3], [1500, 200, 700], [9000, 1000, 300], [500, 9000, 1500]]);
    let shares = [[0.5, 0.49, 0.01], [0.15, 0.8, 0.05], [0.8, 0.15, 0.05], [0.1, 0.899, 0.001], [0.01, 0.4, 0.59]];
    let borrows = [[false, true, true], [true, false, true], [false, false, true], [false; 3], [true; 3]];
    for case in 0..50 {
        let wire = if case < 25 { LINK } else { [0.9 * LINK, 0.5 * LINK][case % 2] };
        let (shares, borrow, sizes) = (shares[case % 5], borrows[case % 25 / 5], sizes[case % 4]);
        let class = |i: usize, of: &str| {
            let (share, borrow) = (shares[i], borrow[i]);
            format!(r#"{{"name":"{i}"{of},"share":{share},"borrow":{borrow},"limit":"100KB"}}"#)
        };
        let tagged = |dscp| format!(r#","match":{{"dscp":[{dscp}]}}"#);
        let classes = [class(0, &tagged(10)), class(1, &tagged(20)), class(2, "")].join(",");
        let queue = spec(&format!(r#"{{"cbq":{{"classes":[{classes}]}}}}"#));
        let source = |i: usize| Source::udp(12.0 * MBIT, sizes[i]).dscp([10, 20, 0][i]);
        let run = Bench::new(queue, LINK).wire(wire).run(&[source(0), source(1), source(2)], 10.0, 10.0 + seconds);
        let least = shares.iter().copied().fold(1.0, f64::min);
        for i in 0..3 {
            // The bytes that a class sends in the window may differ from its share by one turn: one quantum and one
            // packet. A class that may borrow can send even more, while the others wait for their credit
            let turn = 1500.0 * shares[i] / least + f64::from(sizes[i]);
            let more = (run.rate(i) - shares[i] * wire) * seconds / 8.0;
            let text =
                format!("{wire} {shares:?} {borrow:?} {sizes:?}: source {i} sends {more} B more, a turn is {turn} B");
            assert!(more >= -turn && (borrow[i] || more <= turn), "{text}");
        }
    }
}

#[test]
fn the_debt_of_a_class_that_may_not_borrow_follows_the_rate() {
    let queue = spec(
        r#"{"cbq":{"classes":[{"name":"p","match":{"dscp":[10]},"share":0.05,"borrow":false},
            {"name":"o","share":0.95}]}}"#,
    );
    let mut bench = Bench::new(queue, 20e3);
    bench.flow(0, Protocol::UDP, 10);
    assert!((0..8).all(|_| bench.offer(0)));
    // 5 % of 20 kbit/s are 1 kbit/s, so after a packet of 1000 B, the next may leave 8 s later. At 10 Mbit/s, these
    // 8000 bits take 16 ms
    assert_eq!(bench.take(2), [0]);
    bench.set_rate(LINK);
    assert!(bench.take(2).is_empty());
    bench.wait(16);
    assert_eq!(bench.take(2), [0]);
    // half of the debt is paid after 8 ms at 10 Mbit/s. The other half takes 4 s at 20 kbit/s
    bench.wait(8);
    bench.set_rate(20e3);
    assert!(bench.take(1).is_empty());
    bench.wait(3990);
    assert!(bench.take(1).is_empty());
    bench.wait(10);
    assert_eq!(bench.take(2), [0]);
}

#[test]
fn a_class_that_was_idle_sends_a_burst_of_two_packets() {
    let queue = spec(
        r#"{"cbq":{"classes":[{"name":"p","match":{"dscp":[10]},"share":0.5,"borrow":false},
            {"name":"o","share":0.5}]}}"#,
    );
    let mut bench = Bench::new(queue, LINK);
    bench.flow(0, Protocol::UDP, 10);
    bench.wait(1000);
    assert!((0..9).all(|_| bench.offer(0)));
    // the credit is 3000 B, and a packet of 1000 B may leave while the credit is not negative
    assert_eq!(bench.take(9), [0; 4]);
}

#[test]
fn the_script_of_a_fred_queue() {
    // With weight 1, the average is the queue length that the last accepted packet found, or that the last departure
    // left. min_th is 4 packets, so maxq = 4.
    let queue = r#"{"fred":{"limit":"10p","min_th":"4p","max_th":"8p","max_p":0.0,"weight":1.0,"minq":2}}"#;
    let mut bench = Bench::new(spec(queue), LINK);
    let a = |n| vec![true; n];
    // flow 0 may have four packets queued; each further arrival is dropped and counts as a strike
    assert_eq!((0..6).map(|_| bench.offer(0)).collect::<Vec<_>>(), [a(4), vec![false; 2]].concat());
    // flow 1 has fewer than maxq packets and no strikes, so it is accepted
    assert_eq!((0..3).map(|_| bench.offer(1)).collect::<Vec<_>>(), a(3));
    // flow 0 has two strikes, so from now on avgcq limits it, too
    bench.take(2);
    // five packets of two flows are queued, so avgcq = 5 / 2 = 2.5. Flow 0 has two of these packets, so it may add a
    // third, but not a fourth
    assert_eq!((bench.offer(0), bench.offer(0)), (true, false));
    // when flow 0's last packet has left, its strikes are discarded
    bench.take(6);
    assert_eq!(bench.backlog(), 0);
    assert_eq!((0..5).map(|_| bench.offer(0)).collect::<Vec<_>>(), [a(4), vec![false]].concat());
}

#[test]
fn the_script_of_fred_with_many_flows() {
    // Nine flows have one packet each, so avg reaches max_th. Then, depending on `many_flows`, each flow may have two
    // packets, or every arrival is dropped.
    for (reading, extra) in [("two_packets", true), ("drop_all", false)] {
        let queue = format!(
            r#"{{"fred":{{"limit":"40p","min_th":"4p","max_th":"8p","max_p":0.0,"weight":1.0,"many_flows":"{reading}"}}}}"#
        );
        let mut bench = Bench::new(spec(&queue), LINK);
        // avg is the queue length that the last accepted packet found on arrival. For the ninth packet, this is 8
        assert!((0..9).all(|f| bench.offer(f)), "{reading}");
        assert_eq!(bench.offer(9), extra, "{reading}: a new flow");
        assert_eq!(bench.offer(0), extra, "{reading}: the second packet of a flow");
        assert!(!bench.offer(0), "{reading}: a third");
    }
}

#[test]
fn the_script_of_a_cbt_queue() {
    // with weight 1, the average of a class equals the backlog of the class when a packet arrives, so the thresholds
    // apply to the current queue
    let queue = r#"{"cbt":{"limit":"5p","classes":[
        {"name":"tcp","match":{"protocol":["tcp"]},"weight":1.0,"test":{"threshold":"3p"}},
        {"name":"tagged","match":{"protocol":["udp"],"dscp":[46]},"weight":1.0,"test":{"threshold":"1500B"}},
        {"name":"other","weight":1.0,"test":{"threshold":"1p"}}]}}"#;
    let mut bench = Bench::new(spec(queue), LINK);
    let (tcp, tagged, other) = (0, 1, 2);
    bench.flow(tagged, Protocol::UDP, 46);
    bench.flow(other, Protocol::UDP, 0);
    let offers = [(other, true), (other, false), (tagged, true), (tagged, true), (tagged, false), (tcp, true)];
    for (i, (flow, kept)) in offers.into_iter().enumerate() {
        assert_eq!(bench.offer(flow), kept, "offer {i}");
    }
    // The buffer has room for five packets and holds four. TCP is below its threshold, so its next packet is accepted.
    // The packet after that is refused, because the buffer is full.
    assert_eq!((bench.offer(tcp), bench.offer(tcp)), (true, false));
    // the packet that leaves was the only packet of class `other`, so this class may queue a packet again
    assert_eq!(bench.take(1), [other]);
    bench.wait(1);
    assert_eq!((bench.offer(other), bench.offer(other)), (true, false));
}

#[test]
fn the_script_of_a_cbq_round() {
    // the shares are 3 : 1, so the quanta are 4500 and 1500 B; a packet is 1000 B long
    let queue = r#"{"cbq":{"classes":[
        {"name":"tcp","match":{"protocol":["tcp"]},"share":0.75},{"name":"rest","share":0.25}]}}"#;
    let mut bench = Bench::new(spec(queue), LINK);
    bench.flow(1, Protocol::UDP, 0);
    for flow in [1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0] {
        assert!(bench.offer(flow));
    }
    // turn by turn: `rest` has a credit of 1500 B, sends 1 packet and keeps 500 B; `tcp` has 4500 B, sends 4 packets
    // and keeps 500 B; `rest` has 2000 B and sends 2 packets; `tcp` has 5000 B and sends 5; `rest` has 1500 B and
    // sends 1; `tcp` sends its last 3
    assert_eq!(bench.take(16), [1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
}

fn problem(text: &str) -> String {
    match serde_json::from_value::<Spec>(text.parse().unwrap()) {
        Ok(spec) => spec.validate().unwrap_err().to_string(),
        Err(e) => e.to_string(),
    }
}

#[test]
fn bad_classifiers_and_thresholds_are_refused() {
    let cbt = |classes: &str| problem(&format!(r#"{{"cbt":{{"classes":[{classes}]}}}}"#));
    let tcp = r#"{"name":"tcp","match":{"protocol":["tcp"]},"test":{"threshold":"9p"}}"#;
    let marked = r#"{"name":"marked","match":{"dscp":[46]},"test":{"threshold":"9p"}}"#;
    let rest = r#"{"name":"rest","test":{"threshold":"2p"}}"#;
    for (text, path, word) in [
        (cbt(&[tcp, marked, rest].join(",")), "cbt.classes.1.match", "both \"tcp\" and \"marked\""),
        (cbt(tcp), "cbt.classes", "add a class with match = {}"),
        (cbt(&[tcp, tcp, rest].join(",")), "cbt.classes.1.name", "a name of its own"),
        (
            cbt(&[tcp, &rest.replace("2p", "61p")].join(",")),
            "cbt.classes.1.test.threshold",
            "more than the buffer of 60p",
        ),
        (cbt(&[tcp, &rest.replace("2p", "5ms")].join(",")), "cbt.classes.1.test.threshold", "expected packets"),
        (
            cbt(&[tcp, &rest.replace(r#"{"threshold":"2p"}"#, r#"{"share":{"slack":1}}"#)].join(",")),
            "cbt.classes.1.test.share",
            "dcbt",
        ),
        (
            cbt(&[&tcp.replace(r#""test""#, r#""weight":1.5,"test""#), rest].join(",")),
            "cbt.classes.0.weight",
            "at most 1",
        ),
        (problem(r#"{"cbt":{"limit":"0p"}}"#), "cbt.limit", "nothing could wait"),
        (problem(r#"{"cbt":{"limit":"20p"}}"#), "cbt.classes.0.test.red.max_th", "more than the buffer of 20p"),
        (problem(r#"{"fred":{"min_th":"30p"}}"#), "fred.max_th", "more than min_th"),
        (problem(r#"{"fred":{"max_th":"61p"}}"#), "fred.max_th", "more than the buffer"),
        (problem(r#"{"fred":{"minq":0}}"#), "fred.minq", "at least 1"),
    ] {
        assert!(text.starts_with(path) && text.contains(word), "{path}: {text}");
    }
    let cbq = |a: f64, b: f64, extra: &str| {
        problem(&format!(
            r#"{{"cbq":{{"classes":[{{"name":"tcp","match":{{"protocol":["tcp"]}},"share":{a}{extra}}},{{"name":"rest","share":{b}}}]}}}}"#
        ))
    };
    let text = cbq(0.7, 0.2, "");
    assert!(text.starts_with("cbq.classes") && text.contains("add up to 0.9") && text.contains("expected 1"), "{text}");
    assert!(cbq(1.0, 0.0, "").starts_with("cbq.classes.1.share"));
    assert!(cbq(0.5, 0.5, r#","limit":"20p","red":{}"#).starts_with("cbq.classes.0.red.max_th"));
    assert!(
        problem(r#"{"cbt":{"classes":[{"name":"x","match":{"port":[1]},"test":{"threshold":"2p"}}]}}"#)
            .contains("port")
    );
}

#[test]
fn class_accounts_add_up() {
    for queue in [r#"{"cbt":{}}"#, r#"{"dcbt":{}}"#, r#"{"cbq":{}}"#] {
        let mut sources = vec![Source::tcp(9.0 * MBIT, 1500).poisson(), Source::udp(10.0 * MBIT, 1000)];
        sources.extend(sessions());
        let bench = Bench::new(spec(queue), LINK);
        bench.run_and(&sources, 0.0, 20.0, |queue, _| {
            use qdisc::QueueDiscipline;
            let (counters, classes) = (queue.counters(), queue.discipline().classes());
            let sum = |of: fn(&packet::ClassCount) -> packet::Count| {
                classes.iter().fold(packet::Count::default(), |s, c| s.plus(of(&c.counts)))
            };
            assert_eq!(classes.iter().map(|c| c.name).collect::<Vec<_>>(), ["tcp", "tagged", "other"]);
            assert_eq!(sum(|c| c.offered), counters.offered);
            assert_eq!(sum(|c| c.delivered), counters.delivered);
            assert_eq!(sum(|c| c.dropped), counters.dropped_total());
            // each of the six sessions sends 37.5 datagrams per second for 20 s
            assert_eq!(classes[1].counts.offered.packets, 6 * 750);
        });
    }
    assert!(qdisc::class::CbtParams::default().validate().is_ok());
}
