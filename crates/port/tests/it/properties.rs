//! Tests of invariants that hold for every port, for any arrivals and any polling times.

use crate::common::{Bench, FLOW};
use packet::DropReason;
use port::Change;
use proptest::prelude::*;
use record::Record;
use units::{BitRate, Duration, Prob, Time};

#[derive(Clone, Debug)]
enum Op {
    Burst { n: usize, size: u16 },
    Wait(u64),
    Change(u8),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => (1usize..60, 40u16..=1514).prop_map(|(n, size)| Op::Burst { n, size }),
        4 => (0u64..20_000_000).prop_map(Op::Wait),
        1 => (0u8..5).prop_map(Op::Change),
    ];
    prop::collection::vec(op, 1..80)
}

fn specs() -> Vec<String> {
    let queues = [
        "droptail = { limit = '21p' }",
        "droptail = { limit = '30KB', drop_head = true }",
        "codel = { limit = '417p', target = '1ms', interval = '10ms' }",
    ];
    let services = [
        "rate = '5mbit'".to_owned(),
        "rate = '1gbit'\nloss = 0.1".to_owned(),
        "loss = '0'".to_owned(),
        "rate = '30mbit'\njitter = '5ms'\nloss = 0.1".to_owned(),
        "rate = '30mbit'\njitter = '5ms'\nreorder = true".to_owned(),
        format!("service = {{ shaper = {FLOW} }}"),
        "service = { delivery = { lte = { way = 'up', handover_every = '1s' } } }".to_owned(),
        "loss = 0.1\nservice = { delivery = { trace = { source = '+1x2 +0 +7 +31x40', start = '3ms' } } }".to_owned(),
        "rate = '5mbit'\nservice = { shaper = 'htb' }".to_owned(),
        "rate = '30mbit'\nservice = { shaper = { htb = { rate = '5mbit', ceil = '20mbit', burst = '100KB' } } }"
            .to_owned(),
        format!("rate = '30mbit'\nservice = {{ docsis = {{ flow = {FLOW}, transmit_queue = 'drop' }} }}"),
        format!(
            "rate = '30mbit'\nservice = {{ docsis = {{ flow = {FLOW}, max_grant = 1250, grant_variation = '20%', transmit_limit = '5p' }} }}"
        ),
        format!(
            "service = {{ docsis = {{ flow = {FLOW}, max_grant = 900, transmit_limit = '4KB', map_offset = '700us', transmit_queue = 'drop' }} }}"
        ),
        format!(
            "rate = '30mbit'\nservice = {{ docsis = {{ flow = {FLOW}, model = 'docsis_link_2013', grant_variation = '20%' }} }}"
        ),
    ];
    queues.iter().flat_map(|q| services.iter().map(move |s| format!("queue = {{ {q} }}\ndelay = '3ms'\n{s}"))).collect()
}

fn change(spec: &str, kind: u8) -> Change {
    let shaped = spec.contains("service");
    match kind {
        0 if !shaped => Change { rate: Some(BitRate(0)), ..Change::default() },
        1 => Change { rate: Some(BitRate(8_000_000)), ..Change::default() },
        2 => Change {
            delay: Some(Duration::from_micros(500)),
            jitter: Some(Duration::from_millis(2)),
            ..Change::default()
        },
        3 if spec.contains("'htb'") => Change { rate: Some(BitRate(1_000_000)), ..Change::default() },
        3 if shaped => Change {
            max_sustained_rate: Some(BitRate(1_000_000)),
            peak_traffic_rate: Some(BitRate(3_000_000)),
            ..Change::default()
        },
        _ => Change { loss: Some(Prob::new(0.01).unwrap()), ..Change::default() },
    }
}

/// Runs `ops` on a port with this `spec`. With `often`, polls at every deadline; otherwise polls only after each wait,
/// before each change, and at the end.
fn run(spec: &str, ops: &[Op], often: bool) -> Bench {
    let mut b = Bench::new(spec);
    let mut now = Time::ZERO;
    for op in ops {
        match *op {
            Op::Burst { n, size } => b.burst(now, n, size),
            Op::Wait(ns) => {
                now += Duration(ns);
                if often {
                    b.run(now);
                }
                b.poll(now);
                assert!(b.port.deadline() > now, "{spec}");
            }
            Op::Change(kind) => {
                b.poll(now);
                b.port.change(now, change(spec, kind));
            }
        }
    }
    // a change to rate 0 may have stopped the link; the next change starts it again
    b.poll(now);
    b.port.change(now, Change { rate: Some(BitRate(8_000_000)), ..Change::default() });
    if often {
        b.run(Time(1 << 50));
    }
    b.poll(Time(1 << 50));
    b
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_packet_has_one_fate_in_order(ops in ops()) {
        for spec in specs() {
            let b = run(&spec, &ops, true);
            prop_assert_eq!(b.port.deadline(), Time::NEVER, "{}", spec);
            prop_assert!(b.out.windows(2).all(|w| w[0].stamp <= w[1].stamp), "{}", spec);
            prop_assert!(spec.contains("reorder") || b.out.windows(2).all(|w| w[0].seq < w[1].seq), "{}", spec);
            let mut seen: Vec<u64> = b.out.iter().map(|p| p.seq).chain(b.fates.0.iter().map(|f| f.0)).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..b.seq).collect::<Vec<_>>(), "{}", spec);
            let c = b.port.counters();
            prop_assert_eq!(c.queue.delivered.bytes, c.delivered.bytes + c.lost.bytes + c.transmit_dropped.bytes);
            prop_assert!(c.queue.balance(b.port.backlog()));
            prop_assert_eq!(c.transmit_dropped.packets as usize, b.dropped(DropReason::TransmitQueueFull));
        }
    }

    #[test]
    fn polling_seldom_or_often_is_the_same(ops in ops()) {
        for spec in specs() {
            let (a, b) = (run(&spec, &ops, true), run(&spec, &ops, false));
            prop_assert_eq!(&a.out, &b.out, "{}", spec);
            prop_assert_eq!(&a.tape.records, &b.tape.records, "{}", spec);
            prop_assert_eq!(a.port, b.port);
        }
    }

    #[test]
    fn records_tell_the_same_story(ops in ops()) {
        for spec in specs() {
            let b = run(&spec, &ops, true);
            let c = b.port.counters();
            let count = |f: fn(&Record) -> bool| b.tape.records.iter().filter(|(_, r)| f(r)).count() as u64;
            prop_assert_eq!(count(|r| matches!(r, Record::Dequeued { .. })), c.queue.delivered.packets);
            prop_assert_eq!(count(|r| matches!(r, Record::Dropped { .. })), b.fates.0.len() as u64);
            prop_assert!(b.tape.records.windows(2).all(|w| w[0].0 <= w[1].0), "in the order of time");
            let refused = |d: &(u64, DropReason)| matches!(d.1, DropReason::TailFull | DropReason::EarlyTail);
            let kept = b.seq - b.fates.0.iter().filter(|d| refused(d)).count() as u64;
            prop_assert_eq!(count(|r| matches!(r, Record::Enqueued { .. })), kept);
        }
    }
}
