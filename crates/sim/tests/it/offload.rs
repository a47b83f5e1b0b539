//! Large packets that hold several segments (`tso`), in complete simulations: sizes and times are as calculated, links
//! split large packets into segments where they should, and the links' packet counters balance.

use crate::common::{Ear, number, read, run, said};
use record::{Mask, Record};
use sim::World;
use units::Duration;

/// The TCP stack of the transfers, without tail loss probes. The only RTT sample comes from the small SYN, so the RTT
/// seems short. A tail loss probe would be due after two such RTTs, and would retransmit a large packet that is still
/// being sent.
const HOSTS: &str = "tcp.tso = { preset = 'linux-6', tso = true, gso_max_segs = 65535, ack_pushed = true, \
    loss_detection = 'dupthresh', undo = 'none', frto = false }\n";

/// Returns a scenario of links without delay: a -- neck -- b -- 10 Mbit/s -- c. `how` contains the keys of link `neck`: its rate,
/// and a queue, shaper or modem. `flows` transfers of `bytes` bytes each run from a to c.
fn scenario(how: &str, flows: u32, bytes: &str) -> String {
    format!(
        "duration = '20s'\n{HOSTS}\
         link.neck = {{ from = 'a', to = 'b', {how} }}\n\
         link.next = {{ from = 'b', to = 'c', rate = '10mbit' }}\n\
         link.back = {{ from = 'c', to = 'a', rate = '1gbit' }}\n\
         app.x = {{ from = 'a', to = ['c'], tcp = 'tso', traffic.ftp = {{ flows = {flows}, size = '{bytes}', count = 1 }} }}\n"
    )
}

fn watched(toml: &str) -> World<Ear> {
    let mut world = World::with_sink(&read(toml), Ear::new(Mask::DEQUEUED.with(Mask::DELIVERED))).unwrap();
    world.run(|_| true);
    for b in world.books() {
        assert_eq!(b.offered, b.delivered + b.dropped + b.queued + b.in_flight, "{b:?}");
    }
    assert_eq!(world.bodies(), 0, "every body was delivered or freed");
    world
}

/// Returns the sequence number, the size and the delay of each data packet that reaches its receiver.
fn home(world: &World<Ear>) -> Vec<(u64, u16, Duration)> {
    let arrivals = world.sink().records.iter().filter_map(|(_, record)| match record {
        Record::Delivered { packet, delay } if !packet.reverse => Some((packet.seq, packet.size, *delay)),
        _ => None,
    });
    arrivals.collect()
}

#[test]
fn a_packet_of_five_segments_is_sent_whole_over_every_link() {
    // ten segments of 1448 bytes with their headers make two packets of 7500 bytes. Each packet takes 6 ms on each of two
    // links, and the second packet also waits 6 ms for the first
    let world = watched(&scenario("rate = '10mbit'", 1, "14480B"));
    let ms = Duration::from_millis;
    assert_eq!(home(&world), [(1, 7500, ms(12)), (7241, 7500, ms(18))]);
}

#[test]
fn where_packets_are_cut() {
    // if large packets are split, the first of the ten segments takes 1.2 ms on each link; the last segment leaves the
    // first link after 12 ms, and takes 1.2 ms on the second link
    let us = Duration::from_micros;
    let whole = |how: &str| {
        let world = watched(&scenario(how, 1, "14480B"));
        let home = home(&world);
        let sizes: Vec<u16> = home.iter().map(|h| h.1).collect();
        assert_eq!(home.iter().map(|h| u32::from(h.1)).sum::<u32>(), 15_000, "{how}");
        assert!(sizes == [7500; 2] || sizes == [1500; 10], "{how}: {sizes:?}");
        if how.contains("queue") && sizes.len() == 10 {
            assert_eq!((home[0].2, home[9].2), (us(2400), us(13_200)), "{how}");
        }
        sizes.len() == 2
    };
    for how in ["", "queue = 'fq_codel', ", "queue = 'pie', ", "queue = 'red limit 300000', ", "queue = 'codel', "] {
        assert!(whole(&format!("{how}rate = '10mbit'")), "{how}");
    }
    assert!(whole("rate = '100mbit', shaper.htb = { rate = '10mbit' }"));
    // with tc's defaults, CAKE and DualPI2 split large packets into segments. At 10 Mbit/s, a queue of ten segments is above CAKE's
    // default target, and CAKE would drop one of them, so `rtt 1s` sets a longer target
    assert!(!whole("rate = '10mbit', queue = 'cake rtt 1s'"));
    assert!(!whole("rate = '10mbit', queue = 'dualpi2'"));
    assert!(whole("rate = '10mbit', queue = 'cake no-split-gso'"));
    assert!(whole("rate = '10mbit', queue = 'dualpi2 no_split_gso'"));
    assert!(whole("queue = 'cake bandwidth 10mbit no-split-gso'"));
    // a token bucket (the downstream of a CMTS), modems and Wi-Fi send one frame per segment, so they split large
    // packets
    assert!(!whole("rate = '10mbit', shaper = { max_sustained_rate = '5mbit' }"));
    assert!(!whole("rate = '30mbit', docsis = { flow = { max_sustained_rate = '5mbit' } }"));
    assert!(!whole("docsis31 = { flow = { max_sustained_rate = '5mbit' } }"));
    assert!(!whole("delivery.wifi = {}"));
}

#[test]
fn bytes_are_conserved_over_links_that_cut_drop_and_lose() {
    for queue in
        ["cake no-split-gso", "cake", "dualpi2", "dualpi2 no_split_gso", "fq_codel", "pie", "codel", "pfifo limit 5"]
    {
        for loss in ["0", "0.02"] {
            let how = format!("rate = '10mbit', loss = {loss}, delay = '5ms', queue = '{queue}'");
            let world = watched(&scenario(&how, 4, "3MB"));
            let last = home(&world).iter().map(|h| h.0).max();
            // every byte has been acknowledged, so no segment is in flight any more, and data from the end of a
            // transfer has arrived
            assert!(world.in_flight().segments == 0, "{how}");
            assert!(last.is_some_and(|seq| seq > 2_900_000), "{how}: {last:?}");
        }
    }
}

#[test]
fn a_flow_fills_its_link_with_them_and_counts_what_was_sent() {
    // at 10 Mbit/s, 1448 of every 1500 bytes are payload, whether large packets are split into segments or not
    let out = |tcp: &str, queue: &str| {
        run(&format!(
            "duration = '20s'\nrecord.warm_up = '5s'\ntcp.a = {{ preset = 'linux-6', {tcp} }}\n\
             link.up = {{ from = 'a', to = 'b', rate = '10mbit', delay = '10ms', queue = '{queue}' }}\n\
             link.down = {{ from = 'b', to = 'a', rate = '1gbit', delay = '10ms' }}\n\
             app.x = {{ from = 'a', to = ['b'], tcp = 'a', traffic.ftp = {{}} }}\n"
        ))
    };
    let of = |tcp: &str, queue: &str| {
        let out = out(tcp, queue);
        let goodput = number(&out, "apps.x.goodput_bytes") * 8.0 / 15e6;
        // after a drop by CAKE, the link is idle for a moment, so the goodput is a little lower
        let most = if queue == "cake" { 0.15 } else { 0.02 };
        assert!((goodput - 10.0 * 1448.0 / 1500.0).abs() < most, "{tcp} {queue}: {goodput}");
        let [packets, bytes] = ["packets", "bytes"].map(|of| number(&out, &format!("links.up.delivered_{of}")));
        (packets, bytes / packets)
    };
    let single = of("gso_max_segs = 65535", "pfifo limit 200");
    let whole = of("gso_max_segs = 65535, tso = true", "pfifo limit 200");
    let cut = of("gso_max_segs = 65535, tso = true", "cake");
    assert!((single.0 - 12_500.0).abs() < 20.0 && whole.0 < 0.6 * single.0, "{single:?} {whole:?}");
    assert!(single.1 == 1500.0 && whole.1 > 2500.0 && cut.1 == 1500.0, "{single:?} {whole:?} {cut:?}");
}

/// A capture holds the packets as they were sent, and does not change the run.
#[test]
fn a_run_that_is_captured_is_the_same() {
    let toml = scenario("rate = '10mbit', loss = 0.01, queue = 'dualpi2'", 3, "1MB");
    let (s, plain) = (read(&toml), run(&toml));
    let files = [Vec::new(), Vec::new()];
    let mut capture = sim::capture::Capture::new(&s, Some("neck"), files, 128).unwrap();
    let mut world = World::with_sink(&s, &mut capture).unwrap();
    world.run(|_| true);
    assert_eq!(said(&world.outcome(&s)), said(&plain));
    assert_eq!(world.tagged(), 0);
}
