//! Tests of delays, rates and packet counts that can be calculated from the parameters alone. The tests send packets
//! through a whole port and compare the measured values with the calculated values.

use crate::common::{Bench, FLOW, ms};
use packet::DropReason;
use units::{Duration, Time};

#[test]
fn a_plain_link_stores_and_forwards() {
    let mut b = Bench::new("rate = '5mbit'\ndelay = '10ms'\nqueue = { droptail = { limit = '2p' } }");
    // the first packet is sent at once, so it is not in the backlog. Two packets wait, and the fourth is refused
    b.burst(ms(1.0), 4, 1500);
    assert_eq!((b.port.backlog().packets, b.fates.0.clone()), (2, vec![(3, DropReason::TailFull)]));
    assert_eq!(b.port.deadline(), ms(3.4));
    b.run(Time(1 << 40));
    // each packet takes 2.4 ms, and then 10 ms of propagation
    assert_eq!(b.out.iter().map(|p| p.stamp).collect::<Vec<_>>(), [ms(13.4), ms(15.8), ms(18.2)]);
    assert_eq!(b.port.deadline(), Time::NEVER);
    // without a rate, packets are forwarded at once
    let mut b = Bench::new("queue = { droptail = { limit = '1p' } }");
    b.burst(ms(1.0), 3, 1500);
    assert_eq!(b.port.deadline(), ms(1.0));
    b.poll(ms(1.0));
    assert_eq!(b.out.len(), 3);
}

#[test]
fn longest_waits_in_a_full_queue() {
    // the longest wait is limit x 12 000 bit / rate. Under the ns-2 convention, the queue holds one packet fewer
    for (limit, rate, ns2, wait) in [
        (417, 20, false, 250.2),
        (417, 5, false, 1000.8),
        (21, 20, false, 12.6),
        (21, 5, false, 50.4),
        (417, 20, true, 249.6),
        (417, 5, true, 998.4),
        (21, 20, true, 12.0),
        (21, 5, true, 48.0),
    ] {
        let mut b = Bench::new(&format!(
            "rate = '{rate}mbit'\nqueue = {{ droptail = {{ limit = '{limit}p', ns2_off_by_one = {ns2} }} }}"
        ));
        b.burst(ms(0.0), 600, 1500);
        b.run(Time(1 << 40));
        assert_eq!(b.sojourns().last(), Some(&Duration((wait * 1e6) as u64)), "{limit} at {rate}");
        assert_eq!(b.out.len(), limit + usize::from(!ns2));
    }
}

#[test]
fn shaper_ceiling_and_burst_phase() {
    let mut b = Bench::new(&format!("queue = {{ droptail = {{ limit = '100p' }} }}\nservice = {{ shaper = {FLOW} }}"));
    b.saturate(Time::ZERO, Time(600_000_000_000), 2);
    // the burst and the sustained rate admit 10 MB + 5e6/8 B/s x 600 s = 385.000 MB
    let delivered = b.port.counters().delivered.bytes;
    assert!((385_000_000 - 1500..=385_000_000).contains(&delivered), "{delivered}");
    // without the peak bucket, the burst would last 10 MB / ((20 - 5)/8 MB/s) = 5.3333 s and carry 13.333 MB. The peak bucket lets
    // 1522 B pass at once, so the burst lasts (10 MB - 1522 B) / 1.875 MB/s = 5.332 521 s and carries 1522 B + 2.5 MB/s x 5.332 521
    // s = 13.332 826 MB, to within a packet
    let end = b.out.windows(2).position(|w| w[1].stamp.since(w[0].stamp) > Duration::from_micros(600)).unwrap();
    assert!((b.out[end].stamp.secs() - 5.332_521).abs() < 0.0006, "{}", b.out[end].stamp);
    assert!((((end + 1) * 1500) as f64 - 13_332_826.0).abs() < 1500.0, "{}", (end + 1) * 1500);
}

#[test]
fn bursty_file_takes_14_seconds() {
    // the file of 18.75 MB takes 5.333 s at 20 Mbit/s (13.333 MB) and then 8.667 s at 5 Mbit/s (5.417 MB)
    let mut b =
        Bench::new(&format!("queue = {{ droptail = {{ limit = '20000p' }} }}\nservice = {{ shaper = {FLOW} }}"));
    b.burst(ms(0.0), 12_500, 1500);
    b.run(Time(1 << 40));
    assert_eq!((b.out.len(), b.out.last().unwrap().stamp), (12_500, Time(14_000_000_000)));
}

fn modem(limit: &str, more: &str) -> Bench {
    Bench::new(&format!(
        "rate = '100mbit'\ndelay = '1ms'\nqueue = {{ {limit} }}\n[service.docsis]\nflow = {FLOW}\n{more}"
    ))
}

#[test]
fn modem_ceiling() {
    let mut b = modem("droptail = { limit = '417p' }", "");
    b.saturate(Time::ZERO, Time(60_000_000_000), 2);
    let c = b.port.counters();
    // the flow admits 10 MB + 5e6/8 B/s x 60 s = 47.5 MB. At the end, the data that the flow admitted in the last 5 to
    // 7 ms is still on its way: the loop of requests and grants takes 4 to 6 ms, and propagation takes 1 ms
    assert!((47_500_000 - 6_000..=47_500_000).contains(&c.delivered.bytes), "{}", c.delivered.bytes);
    assert_eq!(c.transmit_dropped.packets, 0, "20 Mbit/s leaves 10 packets of 1500 B in a 6 ms loop");
}

#[test]
fn first_packet_latency() {
    // the next MAP comes within 2 ms, and the packet is sent two MAP intervals of 2 ms after that MAP, so the packet
    // waits 4 to 6 ms. It reaches the far end 1.12 ms later: transmission takes 120 us at 100 Mbit/s, and propagation
    // takes 1 ms
    for start in [0.0, 0.001, 0.7, 1.999, 2.0, 3.3] {
        let mut b = modem("droptail = {}", "");
        b.burst(ms(start), 1, 1500);
        b.run(Time(1 << 40));
        let mac = b.out[0].stamp.since(ms(start)).millis() - 1.12;
        assert!((3.999_99..=6.000_01).contains(&mac), "{start}: {mac}");
        assert_eq!(b.port.deadline(), Time::NEVER, "no events while idle");
    }
}

#[test]
fn small_packets_overflow_the_transmit_queue_only_behind_a_large_queue() {
    // The transmit queue holds 32 packets. 32 packets of 50 B pass a shaper of 20 Mbit/s in at most 0.64 ms, and all
    // 100 in at most 2 ms. No place becomes free during that time, so a burst of 100 overflows the transmit queue.
    let mut b = modem("droptail = { limit = '417p' }", "transmit_queue = 'drop'");
    b.burst(ms(0.1), 100, 50);
    b.run(Time(1 << 40));
    assert_eq!(b.dropped(DropReason::TransmitQueueFull), 68);
    assert_eq!(b.out.len(), 32);
    // when packets arrive together, the first leaves the small queue at once and 21 others find room in it. The
    // transmit queue has room for all 22
    let mut b = modem("droptail = { limit = '21p' }", "transmit_queue = 'drop'");
    b.burst(ms(0.1), 100, 50);
    b.run(Time(1 << 40));
    assert_eq!((b.dropped(DropReason::TransmitQueueFull), b.dropped(DropReason::TailFull)), (0, 78));
    // when 24 SYNs arrive together, two are dropped (three under the ns-2 convention)
    for (ns2, lost) in [(false, 2), (true, 3)] {
        let mut b =
            modem(&format!("droptail = {{ limit = '21p', ns2_off_by_one = {ns2} }}"), "transmit_queue = 'drop'");
        b.burst(ms(0.1), 24, 50);
        b.run(Time(1 << 40));
        assert_eq!(b.dropped(DropReason::TailFull), lost);
    }
}

#[test]
fn back_pressure_keeps_packets_in_the_managed_queue() {
    let mut b = modem("droptail = { limit = '417p' }", "");
    b.burst(ms(0.1), 100, 50);
    b.run(ms(3.0));
    assert_eq!((b.port.transmit_backlog(ms(3.0)).packets, b.port.backlog().packets), (32, 68));
    b.run(Time(1 << 40));
    assert_eq!((b.out.len(), b.fates.0.len()), (100, 0));
    assert!(b.out.windows(2).all(|w| w[0].seq < w[1].seq && w[0].stamp <= w[1].stamp));
}

#[test]
fn borderline_congestion_fills_the_transmit_queue() {
    // CableLabs 2012 §3.1.3: grants of 1250 B +- 20 % per 2 ms carry about 5 Mbit/s, but the flow sends at 20 Mbit/s while tokens
    // last. So the transmit queue overflows, and the channel carries 5 Mbit/s
    let congested = "max_grant = 1250\ngrant_variation = '20%'";
    let mut b = modem("droptail = { limit = '417p' }", &format!("{congested}\ntransmit_queue = 'drop'"));
    b.saturate(Time::ZERO, Time(20_000_000_000), 2);
    let rate = b.port.counters().delivered.bytes as f64 * 8.0 / 20.0;
    assert!((rate / 5e6 - 1.0).abs() < 0.01, "{rate}");
    assert!(b.dropped(DropReason::TransmitQueueFull) > 1000);
    let mut b = modem("droptail = { limit = '417p' }", congested);
    b.saturate(Time::ZERO, Time(20_000_000_000), 2);
    let held = b.port.counters().delivered.bytes as f64 * 8.0 / 20.0;
    assert!((held / rate - 1.0).abs() < 0.001, "{held} {rate}");
    assert!(b.fates.0.is_empty());
}

#[test]
fn codel_drops_cost_no_tokens() {
    // CoDel drops packets from a standing queue, and the shaper still uses all its tokens
    let mut b = Bench::new(&format!("queue = {{ codel = {{ limit = '417p' }} }}\nservice = {{ shaper = {FLOW} }}"));
    b.saturate(Time::ZERO, Time(20_000_000_000), 300);
    assert!(b.dropped(DropReason::EarlyHead) > 100);
    let delivered = b.port.counters().delivered.bytes;
    assert!((22_500_000 - 1500..=22_500_000).contains(&delivered), "{delivered}");
}

#[test]
fn granted_link_of_2013() {
    let mut b = modem("droptail = { limit = '417p' }", "model = 'docsis_link_2013'");
    b.saturate(Time::ZERO, Time(60_000_000_000), 100);
    let delivered = b.port.counters().delivered.bytes as f64;
    // the flow carries 47.5 MB, or a little less, because requests are rounded and the last bytes are still in the request loop
    assert!((delivered / 47.5e6 - 1.0).abs() < 0.002, "{delivered}");
    assert_eq!(b.fates.0.len(), 0);
    let mut b = modem("droptail = {}", "model = 'docsis_link_2013'");
    b.burst(ms(0.1), 1, 50);
    b.run(Time(1 << 40));
    assert_eq!((b.out.len(), b.port.deadline()), (1, Time::NEVER));
}
