//! Tests the length and the delay of the queue under each control law, with TCP at 10 Mbit/s.

use crate::common::{number, run};

/// Results of the upstream link from 10 s to 60 s.
struct Seen {
    sojourn_ms: f64,
    queue_packets: f64,
    early_tail: f64,
    early_head: f64,
    tail_full: f64,
    marked: f64,
    utilisation: f64,
}

/// Runs `flows` endless uploads for 60 s; the base RTT is 40 ms, so the bandwidth-delay product is 33 packets.
fn bottleneck(queue: &str, flows: u32) -> Seen {
    uploads(queue, flows, false)
}

fn uploads(queue: &str, flows: u32, ecn: bool) -> Seen {
    let outcome = run(&format!(
        "duration = \"60s\"\nrecord.warm_up = \"10s\"\n\
         [link.up]\nfrom = \"a\"\nto = \"b\"\nrate = \"10mbit\"\ndelay = \"20ms\"\nqueue = {{ {queue} }}\n\
         [link.down]\nfrom = \"b\"\nto = \"a\"\nrate = \"100mbit\"\ndelay = \"20ms\"\n\
         [tcp.own]\npreset = \"linux-6\"\necn = {ecn}\n\
         [app.ftp]\nfrom = \"a\"\nto = [\"b\"]\ntcp = \"own\"\ntraffic.ftp = {{ flows = {flows} }}\n"
    ));
    let n = |path: &str| number(&outcome, &format!("links.up.{path}"));
    let drops = |reason: &str| outcome.summary["links"]["up"]["drops"][reason].as_f64().unwrap_or(0.0);
    Seen {
        sojourn_ms: n("sojourn_ms.mean"),
        queue_packets: n("queue_packets.mean"),
        early_tail: drops("early_tail"),
        early_head: drops("early_head"),
        tail_full: drops("tail_full"),
        marked: n("marked_packets"),
        utilisation: n("utilisation"),
    }
}

#[test]
fn pie_holds_its_target() {
    // PIE contains an integrator, so it has no steady-state error: the mean delay equals the target for any number of
    // flows. In a measurement of 50 s, the sawtooth of the windows may shift the mean by up to a tenth of the target
    for (queue, flows, target) in [
        ("pie = {}", 1, 15.0),
        ("pie = {}", 10, 15.0),
        ("pie = { variant = \"linux\" }", 10, 15.0),
        ("pie = { variant = \"draft2013\" }", 10, 20.0),
        ("pie = { target = \"30ms\" }", 10, 30.0),
        ("docsis_pie = { limit = \"250ms\" }", 10, 10.0),
    ] {
        let seen = bottleneck(queue, flows);
        assert!((seen.sojourn_ms - target).abs() < target / 10.0, "{queue}, {flows}: {} ms", seen.sojourn_ms);
        assert!(seen.utilisation > 0.98, "{queue}, {flows}: {}", seen.utilisation);
        assert!(seen.early_tail > 0.0 && seen.early_head == 0.0);
    }
}

#[test]
fn red_keeps_the_queue_between_its_thresholds() {
    for (queue, min, max) in [
        ("red = { variant = \"altq\" }", 15.0, 30.0),
        ("red = { min = \"10p\", max = \"40p\" }", 10.0, 40.0),
        ("wred = {}", 20.0, 40.0),
        // the target band is the middle of the range from 10 to 30 packets: 18 to 22 packets
        ("ared = { min = \"10p\", max = \"30p\" }", 18.0, 22.0),
    ] {
        let seen = bottleneck(queue, 10);
        assert!((min..max).contains(&seen.queue_packets), "{queue}: {} packets", seen.queue_packets);
        assert!(seen.early_tail > 0.0 && seen.early_head == 0.0 && seen.utilisation > 0.98);
    }
}

#[test]
fn lred_settles_near_min_th() {
    // below MINth = 200 ms, nothing is dropped. Above MINth, the drop probability is at least Pmin = 1 %, which exceeds the
    // drop rate that ten flows need (0.6 % of all packets are dropped). So the sojourn time oscillates around MINth
    let seen = bottleneck("lred = {}", 10);
    assert!((190.0..230.0).contains(&seen.sojourn_ms), "{} ms", seen.sojourn_ms);
    assert!(seen.early_head > 0.0 && seen.early_tail == 0.0 && seen.tail_full == 0.0);
}

#[test]
fn cobalt_keeps_a_shorter_queue_than_codel_by_not_forgetting() {
    let (codel, cobalt) = (bottleneck("codel = {}", 10), bottleneck("cobalt = {}", 10));
    assert!(cobalt.sojourn_ms < codel.sojourn_ms, "{} and {} ms", cobalt.sojourn_ms, codel.sojourn_ms);
    assert!(cobalt.utilisation > 0.98 && cobalt.early_head > 0.0);
}

#[test]
fn marks_do_what_drops_do() {
    // with ECN, these laws mark the packets of an ECN-capable TCP, and drop only SYNs and retransmissions, which are
    // not ECN-capable. With its default settings, PIE would also drop ECN-capable packets while its drop probability is
    // above mark_ecnth, which happens in the overshoot of the first second, so this test sets mark_ecnth to 1
    for queue in [
        "red = { variant = \"altq\", limit = \"1000p\", ecn = true, harddrop = false }",
        "ared = { min = \"10p\", max = \"30p\", ecn = true, harddrop = false }",
        "wred = { ecn = true, harddrop = false }",
        "pie = { ecn = true, mark_ecnth = 1.0 }",
        "codel = { ecn = true }",
        "cobalt = { ecn = true }",
    ] {
        let (marks, drops) = (uploads(queue, 10, true), uploads(queue, 10, false));
        assert!(marks.marked > 100.0 && drops.marked == 0.0, "{queue}: {} marks", marks.marked);
        let early = |seen: &Seen| seen.early_tail + seen.early_head;
        assert!(early(&marks) < early(&drops) / 10.0, "{queue}: {} and {} drops", early(&marks), early(&drops));
    }
}
