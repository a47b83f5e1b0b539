//! Tests CAKE with TCP: the shares of hosts on a link, the gain of the ACK filter, and a call among bulk flows.

use crate::common::{number, run};

/// Returns the total goodput of four downloads and of four uploads in Mbit/s, over a link of 30 Mbit/s down and 1 Mbit/s up
/// with DOCSIS overhead and a round trip of 20 ms. `ack_filter` applies to the uplink.
fn asymmetric(ack_filter: &str, seed: u32) -> [f64; 2] {
    let out = run(&format!(
        "duration = '40s'\nseed = {seed}\nrecord.warm_up = '10s'\n\
         link.down = {{ from = 'net', to = 'home', delay = '10ms', queue = 'cake bandwidth 30mbit docsis' }}\n\
         link.up = {{ from = 'home', to = 'net', delay = '10ms', queue = 'cake bandwidth 1mbit docsis {ack_filter}' }}\n\
         tcp.stamps = {{ preset = 'linux-6', header_bytes = 52 }}\n\
         app.down = {{ from = 'net', to = ['home'], tcp = 'stamps', traffic.ftp = {{ flows = 4 }} }}\n\
         app.up = {{ from = 'home', to = ['net'], tcp = 'stamps', traffic.ftp = {{ flows = 4 }} }}\n"
    ));
    ["down", "up"].map(|app| number(&out, &format!("apps.{app}.goodput_bytes")) * 8.0 / 30e6)
}

/// The CAKE paper reports about 15 % more download with the filter, on a 30 : 1 link with four flows each way (quoted from a
/// secondary source). Here the gain is larger: 28 % (normal) and 23 % (aggressive), the mean of these four seeds.
#[test]
fn the_ack_filter_raises_a_download_on_a_thin_uplink() {
    let mean = |filter: &str| {
        let runs: Vec<[f64; 2]> = (1..=4).map(|seed| asymmetric(filter, seed)).collect();
        [0, 1].map(|i| runs.iter().map(|r| r[i]).sum::<f64>() / 4.0)
    };
    let (off, normal, aggressive) = (mean("no-ack-filter"), mean("ack-filter"), mean("ack-filter-aggressive"));
    let [gain, more] = [normal, aggressive].map(|on| on[0] / off[0] - 1.0);
    println!("download {off:?}, {normal:?}, {aggressive:?}: {:.1} and {:.1} % more", 100.0 * gain, 100.0 * more);
    assert!(gain > 0.10 && more > 0.10, "{gain} {more}");
    assert!(normal[1] > off[1], "the uploads use the rate that ACKs no longer need");
}

/// Returns the share of the link that a host with one upload receives while another host has eight uploads.
fn lone(isolation: &str, delay: &str) -> f64 {
    let out = run(&format!(
        "duration = '60s'\nrecord.warm_up = '10s'\n\
         link.a = {{ from = 'a', to = 'home', both_ways = true }}\n\
         link.b = {{ from = 'b', to = 'home', both_ways = true }}\n\
         link.up = {{ from = 'home', to = 'net', delay = '{delay}', queue = 'cake bandwidth 10mbit {isolation}' }}\n\
         link.down = {{ from = 'net', to = 'home', rate = '100mbit', delay = '{delay}' }}\n\
         link.c = {{ from = 'net', to = 'c', both_ways = true }}\n\
         link.d = {{ from = 'net', to = 'd', both_ways = true }}\n\
         app.eight = {{ from = 'a', to = ['c'], tcp = 'linux-6', traffic.ftp = {{ flows = 8 }} }}\n\
         app.one = {{ from = 'b', to = ['d'], tcp = 'linux-6', traffic.ftp = {{}} }}\n"
    ));
    let of = |app: &str| number(&out, &format!("apps.{app}.goodput_bytes"));
    of("one") / (of("one") + of("eight"))
}

#[test]
fn hosts_share_a_link_under_tcp_as_far_as_one_flow_can_fill_its_half() {
    // with a target of 15 ms, CUBIC's reduction to 0.7 of the window does not empty the queue
    let even = lone("triple-isolate oceanic", "10ms");
    assert!((even - 0.5).abs() < 0.02, "{even}");
    // with a target of 5 ms, the lone flow's queue becomes empty at times, and the other host uses that time. A Linux 7.3
    // kernel gives the lone flow a share of 0.444 (4.24 of 9.55 Mbit/s)
    let dry = lone("triple-isolate", "10ms");
    assert!((dry - 0.444).abs() < 0.02, "{dry}");
    let flows = lone("flows", "10ms");
    assert!((flows - 1.0 / 9.0).abs() < 0.01, "{flows}");
}

#[test]
fn a_call_of_2_mbit_keeps_its_rate_in_its_tin() {
    // a call of 2 Mbit/s shares 10 Mbit/s with 32 uploads. In best effort, the call's fair share is 1/33 of the link. In
    // the voice tin, the call gets its full rate and finds no queue
    let call = |mode: &str, dscp: u8| {
        let out = run(&format!(
            "duration = '30s'\nrecord.warm_up = '10s'\n\
             link.up = {{ from = 'home', to = 'net', delay = '20ms', queue = 'cake bandwidth 10mbit {mode}' }}\n\
             link.down = {{ from = 'net', to = 'home', rate = '100mbit', delay = '20ms' }}\n\
             app.bulk = {{ from = 'home', to = ['net'], tcp = 'linux-6', traffic.ftp = {{ flows = 32 }} }}\n\
             app.call = {{ from = 'home', to = ['net'], dscp = {dscp}, traffic.cbr = {{ rate = '2mbit', size = 1250 }} }}\n"
        ));
        let lost = number(&out, "apps.call.dropped_packets") / number(&out, "apps.call.datagrams_sent");
        (lost, number(&out, "apps.call.delay_ms.p99"))
    };
    let (lost, _) = call("besteffort", 46);
    assert!(lost > 0.55, "the paper: about 70 %; {lost}");
    let (lost, delay) = call("diffserv4", 46);
    assert!(lost == 0.0 && delay < 25.0, "{lost}, {delay} ms");
}
