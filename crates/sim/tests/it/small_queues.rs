//! Tests TCP small queues (`tsq`): if the bottleneck is in the sender's host, data waits in the socket and not in the
//! queue.

use crate::common::{Ear, number, read, run, said};
use record::{Mask, Record};
use sim::World;

/// Returns a scenario of `flows` uploads whose bottleneck, a link of `rate`, is in the sender's own host. `link` and
/// `tcp` are additional keys of the link and of TCP.
fn scenario(rate: &str, flows: u32, link: &str, tcp: &str) -> String {
    format!(
        "duration = '15s'\nrecord.warm_up = '3s'\n\
         tcp.a = {{ preset = 'linux-6', gso_max_segs = 65535, ack_pushed = true, receive_window = '500kB', {tcp} }}\n\
         link.up = {{ from = 'a', to = 'b', rate = '{rate}', delay = '10ms', {link} }}\n\
         link.down = {{ from = 'b', to = 'a', rate = '1gbit', delay = '10ms' }}\n\
         app.x = {{ from = 'a', to = ['b'], tcp = 'a', traffic.ftp = {{ flows = {flows} }} }}\n"
    )
}

/// Returns the maximum backlog of link `up` (link number 1) after the first 3 s, in packets and in bytes.
fn most(toml: &str) -> (u32, u64) {
    let s = read(toml);
    let mut world = World::with_sink(&s, Ear::new(Mask::ENQUEUED)).unwrap();
    world.run(|_| true);
    for b in world.books() {
        assert_eq!(b.offered, b.delivered + b.dropped + b.queued + b.in_flight, "{b:?}");
    }
    let backlogs = world.sink().records.iter().filter_map(|(now, record)| match record {
        Record::Enqueued { link, backlog_packets, backlog_bytes, .. } if link.0 == 1 && now.0 > 3_000_000_000 => {
            Some((*backlog_packets, *backlog_bytes))
        }
        _ => None,
    });
    let (packets, bytes) = backlogs.fold((0, 0), |most, now| (most.0.max(now.0), most.1.max(now.1)));
    assert_eq!(said(&run(toml)), said(&world.outcome(&s)), "an observer changes nothing");
    (packets, bytes)
}

#[test]
fn a_local_bottleneck_holds_two_bursts_of_each_flow_or_a_millisecond() {
    for (rate, mbit) in [("10mbit", 10.0), ("100mbit", 100.0)] {
        for flows in [1_u32, 4] {
            for tso in ["", ", tso = true"] {
                let toml = scenario(rate, flows, "queue = 'pfifo limit 5000'", &format!("tsq = true{tso}"));
                let (packets, bytes) = most(&toml);
                // let r be the flow's share of the link's rate. The link delivers r x RTT in a round trip, so this is
                // the data in flight. In slow start, the window stops growing when it is twice the data in flight
                // (Linux, tcp_is_cwnd_limited), and the flow is paced at two windows per round trip. So its pacing rate
                // is at most 2 x 2 = 4 times r. A burst is what this rate sends in 1/1024 s, but at least two segments
                let burst = (4.0 * mbit * 1e6 / 8.0 / f64::from(flows) / 1024.0 / 1448.0).floor().max(2.0) as u64;
                let most = u64::from(flows) * 2 * burst * 1500;
                println!("{rate}, {flows} flows{tso}: {packets} packets, {bytes} bytes");
                assert!(bytes <= most, "{rate}, {flows} flows{tso}: {packets} packets, {bytes} bytes of {most}");
                let goodput = number(&run(&toml), "apps.x.goodput_bytes") * 8.0 / 12e6;
                assert!(goodput > 0.99 * mbit * 1448.0 / 1500.0, "{rate}, {flows} flows{tso}: {goodput}");
            }
        }
    }
}

#[test]
fn without_them_the_window_waits_in_the_queue() {
    // only 25 kB (10 Mbit/s x 20 ms) of the window of 500 kB is in flight on the link, so the rest waits in the queue
    let (_, bytes) = most(&scenario("10mbit", 1, "queue = 'pfifo limit 5000'", ""));
    assert!(bytes > 400_000, "{bytes}");
}

#[test]
fn nobody_waits_for_ever() {
    for link in
        ["loss = 0.02", "queue = 'pfifo limit 2'", "queue = 'cake'", "queue = 'cake no-split-gso'", "queue = 'dualpi2'"]
    {
        for tcp in [
            "tsq = true",
            "tsq = true, tso = true",
            "tsq = true, congestion_control = 'bbr'",
            "tsq = true, paced = true",
        ] {
            let toml = scenario("10mbit", 3, link, tcp)
                .replace("traffic.ftp = { flows = 3 }", "traffic.ftp = { flows = 3, size = '1MB', count = 1 }");
            let s = read(&toml);
            let mut world = World::build(&s).unwrap();
            world.run(|_| true);
            assert_eq!((world.bodies(), world.in_flight().segments), (0, 0), "{link}, {tcp}");
            let out = read(&toml.replace("record.warm_up = '3s'\n", ""));
            let mut whole = World::build(&out).unwrap();
            whole.run(|_| true);
            assert_eq!(number(&whole.outcome(&out), "apps.x.goodput_bytes"), 3e6, "{link}, {tcp}");
        }
    }
    // the bottleneck is now a modem, and TCP sends single segments
    let modem = "docsis = { flow = { max_sustained_rate = '5mbit' } }";
    let out = run(&scenario("30mbit", 2, modem, "tsq = true").replace("gso_max_segs = 65535", "gso_max_segs = 1"));
    let goodput = number(&out, "apps.x.goodput_bytes") * 8.0 / 12e6;
    assert!(goodput > 4.0, "{goodput}");
}
