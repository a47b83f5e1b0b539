//! Tests of the records that a sink receives.

use crate::common::{Ear, read};
use record::{Mask, Record};
use sim::World;

const LINE: &str = r#"
duration = "10s"
[link.up]
from = "a"
to = "b"
rate = "5mbit"
delay = "20ms"
queue.droptail = { limit = "20p" }
[link.down]
from = "b"
to = "a"
rate = "5mbit"
delay = "20ms"
[app.ftp]
from = "a"
to = ["b"]
tcp = "rfc"
traffic.ftp = {}
"#;

#[test]
fn the_state_of_a_sender_follows_its_conventions() {
    let s = read(LINE);
    let mut world = World::with_sink(&s, Ear::new(Mask::ALL)).unwrap();
    world.run(|_| true);
    let states = |of: bool| {
        let wanted = world.sink().records.iter().filter_map(move |(_, r)| match r {
            Record::Sender { reverse, cwnd, ssthresh, srtt_us, .. } if *reverse == of => {
                Some((*cwnd, *ssthresh, *srtt_us))
            }
            _ => None,
        });
        wanted.collect::<Vec<_>>()
    };
    let client = states(false);
    // before the SYN is answered, there is no RTT sample and no ssthresh
    assert_eq!((client[0].1, client[0].2), (u32::MAX, 0));
    // the first sample is a round trip of 40 ms plus the transmission of two small packets
    let first = client.iter().find(|s| s.2 != 0).unwrap();
    assert!((40_000..41_000).contains(&first.2), "{first:?}");
    // the links hold 17 packets and the queue holds 20; the first loss sets ssthresh to about half of these 37 packets
    let after = client.iter().find(|s| s.1 != u32::MAX).unwrap();
    assert!((8 * 1460..60 * 1460).contains(&after.1), "{after:?}");
    assert!(client.iter().all(|s| s.0 > 0));
    // the other end sends only ACKs, so its ssthresh stays infinite
    let server = states(true);
    assert!(server.iter().all(|s| s.1 == u32::MAX));
}

#[test]
fn records_agree_with_the_counters() {
    let s = read(LINE);
    let mut world = World::with_sink(&s, Ear::new(Mask::ALL)).unwrap();
    world.run(|_| true);
    let count = |kind: Mask| world.sink().records.iter().filter(|(_, r)| r.kind() == kind).count() as u64;
    let outcome = world.outcome(&s);
    let app = &outcome.summary["apps"]["ftp"];
    let sum = |key: &str| {
        outcome.summary["links"].as_object().unwrap().values().map(|l| l[key].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(count(Mask::ENQUEUED) + count(Mask::DROPPED), sum("offered_packets"));
    assert_eq!(count(Mask::ENQUEUED) - count(Mask::DEQUEUED), sum("backlog_packets"));
    assert!(count(Mask::DROPPED) > 0 && count(Mask::DROPPED) == sum("dropped_packets"));
    let arrived = app["packets"].as_u64().unwrap() + app["packets_reverse"].as_u64().unwrap();
    assert_eq!(arrived, sum("delivered_packets"));
    // like the `Delivered` records, `delay_ms` counts only packets with payload
    let told = app["delay_ms"]["count"].as_u64().unwrap();
    assert_eq!(count(Mask::DELIVERED), told);
    assert!(world.sink().records.is_sorted_by_key(|(at, _)| *at));
}
