//! What every discipline keeps, whatever arrives.

use packet::{DropReason, FateSink, FlowId, FlowTable, LinkView, MarkReason, PacketMeta, Point};
use proptest::prelude::*;
use qdisc::{Cx, Queue, Spec};
use units::{BitRate, Duration, Rng, Time};

#[derive(Clone, Debug)]
enum Op {
    Enqueue { size: u16, flow: u32, ecn: u8 },
    Dequeue,
    Wait(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        3 => (40u16..=1514, 0u32..8, 0u8..3).prop_map(|(size, flow, ecn)| Op::Enqueue { size, flow, ecn }),
        2 => Just(Op::Dequeue),
        1 => (0u64..60_000_000).prop_map(Op::Wait),
    ];
    prop::collection::vec(op, 1..400)
}

/// One specification of each discipline, small enough to overflow; a new discipline enters here.
fn specs() -> Vec<Spec> {
    [
        r#"{"droptail":{"limit":"21p"}}"#,
        r#"{"droptail":{"limit":"21p","ns2_off_by_one":true}}"#,
        r#"{"droptail":{"limit":"9KB","drop_head":true}}"#,
        r#"{"droptail":{"limit":"50ms"}}"#,
        r#"{"codel":{"limit":"40p"}}"#,
        r#"{"codel":{"limit":"40p","ecn":true,"ce_threshold":"1ms","variant":"linux"}}"#,
        r#"{"codel":{"limit":"60KB","variant":"kmn","target":"1ms","interval":"10ms"}}"#,
    ]
    .iter()
    .map(|s| serde_json::from_str(s).unwrap())
    .collect()
}

#[derive(Default)]
struct Gone(Vec<(u64, DropReason, Point)>);

impl FateSink for Gone {
    fn dropped(&mut self, packet: &PacketMeta, reason: DropReason, point: Point) {
        self.0.push((packet.seq, reason, point));
    }
    fn marked(&mut self, packet: &PacketMeta, _: MarkReason, _: Point) {
        assert_eq!(packet.tos & 3, 3);
    }
}

fn run(spec: &Spec, ops: &[Op]) -> (Queue, Vec<PacketMeta>, Gone) {
    let mut queue = Queue::new(spec.build());
    let (mut rng, link, flows) = (Rng::named(1, "q"), LinkView::plain(BitRate(5_000_000)), FlowTable::default());
    let (mut now, mut seq, mut gone, mut out) = (Time(0), 0, Gone::default(), Vec::new());
    for op in ops {
        let cx = &mut Cx { now, rng: &mut rng, link: &link, flows: &flows, fate: &mut gone };
        match *op {
            Op::Enqueue { size, flow, ecn } => {
                let p = PacketMeta { seq, size, flow: FlowId(flow), tos: ecn, ..Default::default() };
                let before = queue.backlog();
                let kept = queue.enqueue(p, cx);
                let refused = gone.0.last().is_some_and(|g| {
                    g.0 == seq && matches!(g.1, DropReason::TailFull | DropReason::EarlyTail) && g.2 == Point::Enqueue
                });
                assert_eq!(kept, !refused, "{spec:?}");
                assert!(!refused || queue.backlog() == before);
                seq += 1;
            }
            Op::Dequeue => out.extend(queue.dequeue(cx)),
            Op::Wait(ns) => now += Duration(ns),
        }
        assert!(queue.counters().balance(queue.backlog()), "{spec:?}");
    }
    (queue, out, gone)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_packet_has_exactly_one_fate(ops in ops()) {
        for spec in specs() {
            let (mut queue, mut out, mut gone) = run(&spec, &ops);
            let (mut rng, link, flows) = (Rng::named(1, "q"), LinkView::plain(BitRate(5_000_000)), FlowTable::default());
            let cx = &mut Cx { now: Time(1 << 60), rng: &mut rng, link: &link, flows: &flows, fate: &mut gone };
            while let Some(p) = queue.dequeue(cx) {
                out.push(p);
            }
            prop_assert_eq!(queue.backlog(), packet::Backlog::default());
            let mut seen: Vec<u64> = out.iter().map(|p| p.seq).chain(gone.0.iter().map(|g| g.0)).collect();
            seen.sort_unstable();
            let arrivals = ops.iter().filter(|o| matches!(o, Op::Enqueue { .. })).count() as u64;
            prop_assert_eq!(seen, (0..arrivals).collect::<Vec<_>>());
            let bytes: u64 = out.iter().map(PacketMeta::bytes).sum();
            prop_assert_eq!(queue.counters().delivered.bytes, bytes);
        }
    }

    #[test]
    fn single_queues_keep_order_and_their_limit(ops in ops()) {
        for spec in specs() {
            let (queue, out, _) = run(&spec, &ops);
            prop_assert!(out.windows(2).all(|w| w[0].seq < w[1].seq));
            let b = queue.backlog();
            let (limit, short) = match &spec {
                Spec::Droptail(p) => (p.limit, u32::from(p.ns2_off_by_one)),
                spec => (spec.limit().unwrap(), 0),
            };
            let within = match limit {
                units::Limit::Packets(n) => b.packets <= n - short,
                units::Limit::Bytes(n) => b.bytes <= n.0,
                // 50 ms at 5 Mbit/s
                units::Limit::Time(_) => b.bytes <= 31_250,
            };
            prop_assert!(within, "{:?} holds {:?}", spec, b);
        }
    }

    #[test]
    fn two_runs_are_equal(ops in ops()) {
        for spec in specs() {
            let (a, b) = (run(&spec, &ops), run(&spec, &ops));
            prop_assert_eq!(a.0, b.0);
            prop_assert_eq!(a.1, b.1);
        }
    }
}
