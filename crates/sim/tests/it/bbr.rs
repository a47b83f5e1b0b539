//! Tests BBR through a bottleneck: the length of its queue, which CSC458 measured, and the estimates of its model.

use crate::common::{number, run, series};

/// Returns a scenario of `seconds` seconds: one upload over 10 Mbit/s with a round trip of 4 ms.
fn upload(cc: &str, seconds: u32, queue: &str) -> String {
    format!(
        "duration = \"{seconds}s\"\n[record]\nwarm_up = \"5s\"\n\
         [link.up]\nfrom = \"a\"\nto = \"b\"\nrate = \"10mbit\"\ndelay = \"2ms\"\nqueue = {queue}\n\
         [link.down]\nfrom = \"b\"\nto = \"a\"\nrate = \"1gbit\"\ndelay = \"2ms\"\n\
         [tcp.mine]\npreset = \"linux-6\"\ncongestion_control = \"{cc}\"\n\
         [app.ftp]\nfrom = \"a\"\nto = [\"b\"]\ntcp = \"mine\"\ntraffic.ftp = {{}}\n"
    )
}

const DEEP: &str = "{ droptail = { limit = \"100p\" } }";

#[test]
fn a_deep_buffer_stays_nearly_empty_and_the_link_full() {
    let bbr = run(&upload("bbr", 60, DEEP));
    let reno = run(&upload("reno", 60, DEEP));
    let sent = |o| number(o, "links.up.utilisation");
    assert!(sent(&bbr) > 0.95, "{}", sent(&bbr));
    let queue = |o| number(o, "links.up.queue_packets.mean");
    // CSC458 §5: Reno's queue fills between half and all of the buffer, and BBR's queue is a fraction of Reno's
    assert!(queue(&reno) > 50.0 && queue(&bbr) < 0.3 * queue(&reno), "{} {}", queue(&bbr), queue(&reno));
    // BBR loses no packet, not even in the warm-up
    assert!(series(&bbr, "queue_series", "dropped_packets", "link", "up").iter().all(|n| *n == 0.0));
}

#[test]
fn the_model_knows_the_path() {
    let out = run(&upload("bbr", 60, DEEP));
    let (t, bw) =
        (series(&out, "model_series", "t_s", "app", "ftp"), series(&out, "model_series", "btl_bw_bps", "app", "ftp"));
    let rt = series(&out, "model_series", "rt_prop_ms", "app", "ftp");
    // payload rate of a full link of 10 Mbit/s: 1448 of a packet's 1500 bytes are payload
    let truth = 10e6 * 1448.0 / 1500.0;
    let settled: Vec<f64> = t.iter().zip(bw).filter(|(t, _)| **t > 2.0).map(|(_, bw)| bw).collect();
    // BBR's bandwidth is the maximum over ten rounds. ProbeRTT empties the pipe. If the pipe has not been full in any of
    // the last ten rounds, the estimate is too low for a short time
    let near = settled.iter().filter(|bw| (*bw / truth - 1.0).abs() < 0.05).count();
    assert!(near as f64 > 0.95 * settled.len() as f64, "{near} of {}", settled.len());
    // for ten seconds, the minimum is the RTT of the handshake: 4 ms of propagation, and 48 us to send 60 bytes at 10
    // Mbit/s
    let (early, late): (Vec<_>, Vec<_>) = t.iter().zip(rt).partition(|(t, _)| **t < 10.0);
    assert!(early.iter().all(|(_, rt)| (4.04..=4.06).contains(rt)), "{early:?}");
    // from then on, the minimum is 4 ms plus the transmission of a segment, 1.2 ms. The estimate may be higher for 0.3 s in every
    // 10 s, after the old minimum has expired and before ProbeRTT finds the new minimum
    let known = late.iter().filter(|(_, rt)| (5.0..=9.0).contains(rt)).count();
    assert!(known as f64 > 0.95 * late.len() as f64, "{known} of {}", late.len());
}

#[test]
fn a_small_buffer_costs_losses_but_not_the_rate() {
    let out = run(&upload("bbr", 60, "{ droptail = { limit = \"5p\" } }"));
    assert!(number(&out, "links.up.dropped_packets") > 100.0);
    assert!(number(&out, "links.up.utilisation") > 0.7, "{}", number(&out, "links.up.utilisation"));
}
