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
/// So one end without SACK has the same effect as two.
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

/// After a pause, a receiver acknowledges each segment at once (quick ACKs). It detects pauses from the send times that
/// simulated segments hold even without the time stamp option. Segments with CWR hold a send time, too, so they do not
/// look like pauses, and there is one ACK for every two segments, apart from the ACKs that marks cause.
#[test]
fn quick_acks_do_not_return_without_a_pause() {
    let out = run("duration = '200s'\n[link.up]\nfrom = 'a'\nto = 'b'\nrate = '5mbit'\ndelay = '20ms'\n\
                   queue = 'codel ecn'\n[link.down]\nfrom = 'b'\nto = 'a'\nrate = '100mbit'\ndelay = '20ms'\n\
                   [tcp.own]\npreset = 'reno'\necn = true\ntimestamps = false\n[app.x]\nfrom = 'a'\nto = ['b']\n\
                   tcp = 'own'\ntraffic = 'ftp'\n");
    let [acks, data, marked] = ["down.offered_packets", "up.delivered_packets", "up.marked_packets"]
        .map(|key| number(&out, &format!("links.{key}")));
    // two ACKs leave at once after each mark
    assert!(marked > 50.0 && acks < 0.5 * data + 2.0 * marked + 20.0, "{acks} ACKs, {data} segments, {marked} marks");
}

/// Datagrams use no stack, so any two stacks may be named.
#[test]
fn datagrams_need_no_common_stack() {
    let out = run("duration = '2s'\n[link.wire]\nfrom = 'a'\nto = 'b'\nboth_ways = true\nrate = '5mbit'\n\
                   delay = '10ms'\n[app.x]\nfrom = 'a'\nto = ['b']\ntcp = 'ns2-reno'\ntcp_server = 'bbr'\n\
                   traffic = 'voip'\n");
    assert!(number(&out, "links.wire.delivered_packets") > 50.0);
}
