//! Round trips per minute (RPM), measured in the simulator while TCP connections fill the link, and compared with
//! calculated values.

use crate::common::{number, run};

/// Returns a scenario of 10 Mbit/s and 10 ms each way. A load with a fixed window keeps a queue of constant length. The
/// 84 segments of 1500 B in the window take 1.2 ms each, so the round trip is 100.8 ms: 20 ms of propagation, and 80.8
/// ms in the queue and in transmission.
fn line(queue: &str, traffic: &str) -> String {
    format!(
        "duration = \"60s\"\n[link.line]\nfrom = \"server\"\nto = \"home\"\nrate = \"10mbit\"\ndelay = \"10ms\"\n\
         queue = {queue}\n[link.back]\nfrom = \"home\"\nto = \"server\"\ndelay = \"10ms\"\n\
         [tcp.fixed]\npreset = \"linux-6\"\nwindow_clamp = 84\n\
         [app.test]\nfrom = \"home\"\nto = [\"server\"]\ntcp = \"fixed\"\ntraffic.rpm = {{ {traffic} }}\n"
    )
}

const ONE: &str = "direction = \"down\", most = 1, interval = \"1s\", probes_per_second = 5, notsent_lowat = \"0B\"";

/// FQ-CoDel with a queue for each flow. Its target and interval are so long that CoDel never drops a packet in these
/// tests.
const OWN: &str = "{ fq_codel = { target = \"10s\", interval = \"100s\" } }";

fn close(what: &str, seen: f64, expected: f64, within: f64) {
    assert!((seen / expected - 1.0).abs() < within, "{what}: {seen} beside {expected}");
}

#[test]
fn one_queue_delays_all_probes_alike() {
    let outcome = run(&line("{ droptail = { limit = \"1000p\" } }", ONE));
    let of = |key: &str| number(&outcome, &format!("apps.test.rpm.{key}"));
    // A foreign probe opens its own connection, and a self probe uses a connection of the load. Both wait in the same
    // queue as the load, so they have the same round trip: RPM = 60 000 / 100.8 = 595. The tolerances cover two
    // effects: the probes lengthen the queue, and the reply of a TLS handshake has three segments, which take 2.5 ms to
    // send
    close("tcp", of("tcp_ms"), 100.8, 0.03);
    close("http", of("http_foreign_ms"), 100.8, 0.03);
    // a self probe also waits up to 1.2 ms for the ACK that allows its segment to be sent
    close("loaded", of("http_loaded_ms"), 101.4, 0.03);
    close("rpm", of("rpm"), 60_000.0 / 100.8, 0.04);
    assert_eq!(outcome.summary["apps"]["test"]["rpm"]["confidence"], "high");
    assert!((of("idle_ms") - 20.0).abs() < 0.2);
}

#[test]
fn a_queue_of_its_own_lifts_the_foreign_half_alone() {
    let outcome = run(&line(OWN, ONE));
    let of = |key: &str| number(&outcome, &format!("apps.test.rpm.{key}"));
    // RPM = 30 000 / r + 30 000 / (r + d), where r is the round trip of foreign probes and d the additional wait of self probes.
    // Foreign probes wait for at most one packet of the load, so r is 20 ms plus up to 1.2 ms
    assert!((20.0..=21.6).contains(&of("tcp_ms")), "{}", of("tcp_ms"));
    close("loaded", of("http_loaded_ms"), 101.4, 0.03);
    let r = (of("tcp_ms") + of("tls_ms") + of("http_foreign_ms")) / 3.0;
    close("rpm", of("rpm"), 30_000.0 / r + 30_000.0 / 101.4, 0.03);
    assert!(of("foreign_rpm") > 60_000.0 / 24.0);
}

#[test]
fn unsent_bytes_delay_self_probes_alone() {
    // self probes also wait for the 125 kB that their connection still has to send, which takes 103.6 ms at 9.653 Mbit/s (10 Mbit/s
    // x 1448 / 1500)
    let outcome = run(&line(OWN, &ONE.replace("\"0B\"", "\"125KB\"")));
    let of = |key: &str| number(&outcome, &format!("apps.test.rpm.{key}"));
    close("loaded", of("http_loaded_ms"), 101.4 + 103.6, 0.03);
    assert!(of("tcp_ms") < 21.6);
}

/// While CUBIC fills the queue, FQ-CoDel allows many more round trips per minute than a deep FIFO.
#[test]
fn fq_codel_answers_sooner_than_a_deep_fifo() {
    let test = |queue: &str, direction: &str| {
        let traffic = format!("direction = \"{direction}\", interval = \"1s\", most = 4, notsent_lowat = \"0B\"");
        let text = line(queue, &traffic).replace("window_clamp = 84\n", "");
        let outcome = run(&text);
        ["rpm", "foreign_rpm", "loaded_rpm"].map(|key| number(&outcome, &format!("apps.test.rpm.{key}")))
    };
    // The queue is always more than half full, and 250 kB takes 200 ms at 10 Mbit/s. So the round trip of a foreign probe is about
    // 120 to 220 ms. A self probe is delivered after the retransmissions of earlier segments, which may take another round trip
    let fifo = test("{ droptail = { limit = \"250KB\" } }", "down");
    assert!((60_000.0 / 230.0..60_000.0 / 120.0).contains(&fifo[1]), "{fifo:?}");
    assert!((60_000.0 / 440.0..60_000.0 / 120.0).contains(&fifo[2]), "{fifo:?}");
    let fq = test("{ fq_codel = {} }", "down");
    assert!(fq[1] > 2000.0 && fq[2] > 2.0 * fifo[2] && fq[0] > 4.0 * fifo[0], "{fq:?} beside {fifo:?}");
    // even if the load runs in both directions, every round trip passes through the queue of link `line`, which is more
    // than half full, so it takes at least 120 ms
    let up = test("{ droptail = { limit = \"250KB\" } }", "both");
    assert!(up[0] < 60_000.0 / 115.0, "{up:?}");
}
