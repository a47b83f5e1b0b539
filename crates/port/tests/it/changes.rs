//! Tests of scheduled changes, of random loss, and of the link as the discipline sees it.

use crate::common::{Bench, FLOW, ms};
use packet::DropReason;
use port::Change;
use units::{BitRate, Bytes, Duration, Prob, Time};

fn stamps(b: &Bench) -> Vec<Time> {
    b.out.iter().map(|p| p.stamp).collect()
}

#[test]
fn a_rate_changes_for_the_next_packet() {
    // 1500 B take 2.4 ms at 5 Mbit/s and 1.2 ms at 10 Mbit/s. The packet being sent at 3 ms keeps the old rate, so its
    // transmission ends at 4.8 ms
    let mut b = Bench::new("rate = '5mbit'\nqueue = { droptail = {} }");
    b.burst(ms(0.0), 4, 1500);
    b.run(ms(3.0));
    b.port.change(ms(3.0), Change { rate: Some(BitRate(10_000_000)), ..Change::default() });
    b.run(Time(1 << 40));
    assert_eq!(stamps(&b), [ms(2.4), ms(4.8), ms(6.0), ms(7.2)]);
}

#[test]
fn a_stopped_link_holds_its_queue_and_goes_again() {
    let mut b = Bench::new("rate = '5mbit'\nqueue = { droptail = {} }");
    b.burst(ms(0.0), 2, 1500);
    b.port.change(ms(0.0), Change { rate: Some(BitRate(0)), ..Change::default() });
    b.run(ms(50.0));
    assert_eq!((stamps(&b), b.port.deadline(), b.port.backlog().packets), (vec![ms(2.4)], Time::NEVER, 1));
    b.burst(ms(60.0), 1, 1500);
    b.port.change(ms(100.0), Change { rate: Some(BitRate(5_000_000)), ..Change::default() });
    assert_eq!(b.port.deadline(), ms(100.0));
    b.run(Time(1 << 40));
    assert_eq!(stamps(&b), [ms(2.4), ms(102.4), ms(104.8)]);
}

#[test]
fn a_shorter_delay_does_not_reorder_packets() {
    let mut b = Bench::new("rate = '5mbit'\ndelay = '20ms'\nqueue = { droptail = {} }");
    b.burst(ms(0.0), 2, 1500);
    b.run(ms(2.4));
    b.port.change(ms(2.4), Change { delay: Some(Duration::from_millis(1)), ..Change::default() });
    b.run(ms(30.0));
    b.burst(ms(30.0), 1, 1500);
    b.run(Time(1 << 40));
    // the transmission of the second packet began before the change, so only the third has the new delay
    assert_eq!(stamps(&b), [ms(22.4), ms(24.8), ms(33.4)]);
    let mut b = Bench::new("rate = '5mbit'\ndelay = '20ms'\nqueue = { droptail = {} }");
    b.burst(ms(0.0), 1, 1500);
    b.run(ms(3.0));
    b.port.change(ms(3.0), Change { delay: Some(Duration::ZERO), ..Change::default() });
    b.burst(ms(3.0), 1, 1500);
    b.run(Time(1 << 40));
    assert_eq!(stamps(&b), [ms(22.4), ms(22.4)]);
}

#[test]
fn a_packet_that_waits_for_tokens_waits_at_the_new_rate() {
    let change = |rate: u64| Change { max_sustained_rate: Some(BitRate(rate)), ..Change::default() };
    // the bucket of 3000 B sends two packets at once. The third packet needs tokens for 12 000 bits. At 12 kbit/s, 6000 of
    // them arrive by 500 ms; at 12 Mbit/s, the other 6000 take 0.5 ms. The fourth packet follows 1 ms later
    let bucket =
        "queue = { droptail = {} }\nservice = { shaper = { max_sustained_rate = '12kbit', max_traffic_burst = 3000 } }";
    let times = |text: &str, apart: f64| {
        let mut b = Bench::new(text);
        b.burst(ms(0.0), 4, 1500);
        b.run(ms(apart + 500.0));
        b.port.change(ms(apart + 500.0), change(12_000_000));
        b.run(Time(1 << 40));
        stamps(&b)
    };
    assert_eq!(times(bucket, 0.0), [ms(0.0), ms(0.0), ms(500.5), ms(501.5)]);
    // on a wire of 1 Mbit/s, each packet takes 12 ms. The third packet begins to wait at 24 ms, and the tokens that have
    // arrived by then are in the bucket. So its transmission begins at 500.5 ms, as above, and ends 12 ms later
    let wire = format!("rate = '1mbit'\n{bucket}");
    assert_eq!(times(&wire, 0.0), [ms(12.0), ms(24.0), ms(512.5), ms(524.5)]);
    // the change at 520 ms does not affect the fourth packet, whose transmission began at 512.5 ms
    let mut b = Bench::new(&wire);
    b.burst(ms(0.0), 4, 1500);
    b.run(ms(500.0));
    b.port.change(ms(500.0), change(12_000_000));
    b.run(ms(520.0));
    b.port.change(ms(520.0), change(12_000));
    b.run(Time(1 << 40));
    assert_eq!(stamps(&b)[3], ms(524.5));
    // in the modem of 2012, the third and the fourth packet have their tokens at 500.5 and 501.5 ms. Both are granted at
    // 506 ms, the third MAP after these times
    let flow = "flow = { max_sustained_rate = '12kbit', max_traffic_burst = 3000 }";
    let modem = format!("queue = {{ droptail = {{}} }}\nservice = {{ docsis = {{ {flow} }} }}");
    assert_eq!(times(&modem, 0.0)[2..], [ms(506.0), ms(506.0)]);
    // the downstream of DOCSIS 3.1 counts Ethernet frames of 1518 B. The 3000 B of tokens are enough for the first frame. The
    // second frame lacks 36 B, which arrive in 24 ms at 12 kbit/s. After these 24 ms, the third frame needs 12 144 bits, of
    // which 5712 arrive by 500 ms. At 12 Mbit/s, the rest takes 0.536 ms. The next symbol begins at 500.5575 ms, and the
    // packet arrives 105 us later
    let down = format!("queue = {{ droptail = {{}} }}\nservice = {{ docsis31 = {{ {flow}, downstream = {{}} }} }}");
    assert_eq!(times(&down, 0.0)[2], Time(500_557_500 + 105_000));
}

#[test]
fn a_service_flow_follows_its_schedule() {
    // the burst is spent in the first 10 s; then the rate is 5, 2.5 and 5 Mbit/s for 10 s each
    let mut b = Bench::new(&format!("queue = {{ droptail = {{ limit = '10p' }} }}\nservice = {{ shaper = {FLOW} }}"));
    let mut marks = Vec::new();
    for (end, rate) in [(10, 5_000_000), (20, 2_500_000), (30, 5_000_000), (40, 5_000_000)] {
        b.saturate(Time((end - 10) * 1_000_000_000), Time(end * 1_000_000_000), 4);
        marks.push(b.port.counters().delivered.bytes);
        let change = Change { max_sustained_rate: Some(BitRate(rate)), ..Change::default() };
        b.port.change(Time(end * 1_000_000_000), change);
    }
    // each of these three rates may be off by two packets in 10 s
    let spans: Vec<f64> = marks.windows(2).map(|w| (w[1] - w[0]) as f64 * 8.0 / 10.0).collect();
    for (rate, expected) in spans.iter().zip([5e6, 2.5e6, 5e6]) {
        assert!((rate - expected).abs() <= 1500.0 * 8.0 / 10.0 * 2.0, "{spans:?}");
    }
}

#[test]
fn a_channel_becomes_congested() {
    let mut b = Bench::new(&format!(
        "rate = '100mbit'\nqueue = {{ droptail = {{ limit = '10p' }} }}\nservice = {{ docsis = {{ flow = {FLOW} }} }}"
    ));
    b.saturate(Time::ZERO, Time(10_000_000_000), 4);
    let before = b.port.counters().delivered.bytes;
    b.port.change(Time(10_000_000_000), Change { max_grant: Some(Bytes(500)), ..Change::default() });
    b.saturate(Time(10_000_000_000), Time(20_000_000_000), 4);
    // 500 B per MAP interval of 2 ms is 2 Mbit/s
    let rate = (b.port.counters().delivered.bytes - before) as f64 * 8.0 / 10.0;
    assert!((rate / 2e6 - 1.0).abs() < 0.005, "{rate}");
}

#[test]
fn the_link_loses_its_share_and_lost_packets_take_their_time() {
    let mut b = Bench::new("rate = '1gbit'\nloss = '10%'\nqueue = { droptail = { limit = '100000p' } }");
    b.burst(ms(0.0), 40_000, 1500);
    b.run(Time(1 << 40));
    // the standard deviation is sqrt(40 000 x 0.1 x 0.9) = 60; the bound is five standard deviations
    let lost = b.dropped(DropReason::LinkLoss);
    assert!((3700..=4300).contains(&lost), "{lost}");
    assert_eq!(b.out.len() + lost, 40_000);
    // a lost packet also takes 12 us of transmission, so the k-th packet always arrives at k x 12 us
    assert!(b.out.iter().all(|p| p.stamp == Time((p.seq + 1) * 12_000)));
    b.port.change(Time(1 << 40), Change { loss: Some(Prob::default()), ..Change::default() });
    b.burst(Time(1 << 40), 100, 1500);
    b.run(Time(1 << 41));
    assert_eq!(b.dropped(DropReason::LinkLoss), lost);
}

#[test]
fn the_discipline_sees_tokens_and_the_delay_behind_it() {
    let mut b = Bench::new(&format!(
        "rate = '100mbit'\nqueue = {{ droptail = {{}} }}\nservice = {{ docsis = {{ flow = {FLOW} }} }}"
    ));
    let view = b.port.link_view(ms(0.0));
    assert_eq!((view.rate, view.peak_rate, view.tokens), (BitRate(5_000_000), BitRate(20_000_000), Bytes(10_000_000)));
    // the tokens cover 10 MB, which take 8 x 10 MB / peak = 4 s at the peak rate. If 12.5 MB is queued, the last 2.5 MB takes 4 s
    // more, at the sustained rate
    assert_eq!(view.expected_delay(10_000_000), Duration::from_secs(4));
    assert_eq!(view.expected_delay(12_500_000), Duration::from_secs(8));
    assert_eq!(view.downstream_delay, Duration::from_millis(4));
    b.burst(ms(0.5), 1, 1500);
    b.poll(ms(0.5));
    // the bucket was full, so it lacks only the charge of 1500 B
    assert_eq!(b.port.link_view(ms(0.5)).tokens, Bytes(9_998_500));
    assert_eq!(b.port.link_view(ms(0.5)).downstream_delay, Duration::from_micros(5500));
}
