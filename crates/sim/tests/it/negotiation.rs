//! Tests of connections whose two ends have different TCP stacks.

use crate::common::{number, run};
use sim::Outcome;

/// Runs one download of 20 s through a queue of 5 Mbit/s.
fn download(queue: &str, client: &str, server: &str) -> Outcome {
    run(&format!(
        "duration = '20s'\n[link.wire]\nfrom = 'a'\nto = 'b'\nboth_ways = true\nrate = '5mbit'\n\
         delay = '10ms'\nqueue = {queue}\n[tcp.classic]\npreset = 'linux-6'\necn = true\n\
         [tcp.newreno]\npreset = 'linux-6'\nrecovery = 'newreno'\nloss_detection = 'dupthresh'\n\
         undo = 'none'\nfrto = false\n[app.x]\nfrom = 'a'\nto = ['b']\ntcp = '{client}'\ntcp_server = '{server}'\n\
         traffic.ftp = {{ direction = 'down' }}\n"
    ))
}

/// A classic server sends ECN-capable packets once it has accepted ECN. So a client with Prague, which needs
/// AccECN, must report marks as RFC 3168 describes.
#[test]
fn marks_reach_a_classic_server_of_a_prague_client() {
    let out = download("'dualpi2'", "prague", "classic");
    let (marked, reported) = (number(&out, "links.~wire.marked_packets"), number(&out, "apps.x.ce_packets"));
    assert!(marked > 20.0 && reported >= marked, "{reported} of {marked}");
}

/// A sender whose peer has no SACK detects losses by duplicate ACKs, and a receiver sends no SACK blocks to such a peer.
/// So one such end has the same effect as two.
#[test]
fn losses_are_repaired_if_only_one_end_has_sack() {
    let [both, server, client] = [("newreno", "newreno"), ("newreno", "linux-6"), ("linux-6", "newreno")]
        .map(|(client, server)| download("'pfifo limit 20'", client, server));
    assert!(number(&both, "apps.x.fast_recoveries") > 5.0);
    for key in ["goodput_mbit_reverse", "timeouts", "fast_recoveries", "retransmits"] {
        let key = format!("apps.x.{key}");
        assert_eq!([&server, &client].map(|out| number(out, &key)), [number(&both, &key); 2], "{key}");
    }
}
