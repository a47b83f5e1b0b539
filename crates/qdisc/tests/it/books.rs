//! Tests of every discipline's invariants, under arbitrary arrivals.

use packet::{
    Backlog, DropReason, FateSink, Flags, FlowId, FlowTable, FlowTuple, LinkView, MarkReason, PacketMeta, Point,
};
use proptest::prelude::*;
use qdisc::{Context, LawSpec, QDISCS, Queue, Spec};
use units::{BitRate, Duration, Limit, Rng, Time};

#[derive(Clone, Debug)]
enum Op {
    Enqueue { size: u16, flow: u32, tos: u8, reverse: bool },
    Dequeue,
    Wait(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        3 => (40u16..=1514, 0u32..8, 0u8..3, any::<bool>()).prop_map(|(size, flow, ecn, reverse)| {
            // each flow has one code point: 0, 1 or 2
            Op::Enqueue { size, flow, tos: (flow as u8 % 3) << 2 | ecn, reverse }
        }),
        2 => Just(Op::Dequeue),
        1 => (0u64..60_000_000).prop_map(Op::Wait),
    ];
    prop::collection::vec(op, 1..400)
}

/// Settings for code paths that the defaults do not reach.
const MORE: &[&str] = &[
    r#"{"droptail":{"limit":"21p","ns2_off_by_one":true}}"#,
    r#"{"droptail":{"limit":"9KB","drop_head":true}}"#,
    r#"{"droptail":{"limit":"50ms"}}"#,
    r#"{"droptail":{"limit":"9p","super_segment":3}}"#,
    r#"{"droptail":{"limit":"9p","super_segment":2,"drop_head":true}}"#,
    r#"{"codel":{"limit":"40p","ecn":true,"ce_threshold":"1ms","variant":"linux"}}"#,
    r#"{"codel":{"limit":"60KB","variant":"kmn","target":"1ms","interval":"10ms"}}"#,
    r#"{"red":{"limit":"13p","weight":0.5,"ecn":true}}"#,
    r#"{"red":{"limit":"50p","variant":"ns2","ecn":true,"harddrop":false}}"#,
    r#"{"red":{"limit":"20KB","variant":"altq","min":"3KB","max":"9KB","weight":0.1,"byte_mode":"scaled"}}"#,
    r#"{"ared":{"limit":"30p","interval":"10ms","weight":0.1,"ecn":true}}"#,
    r#"{"ared":{"limit":"30p","adaptation":"feng1999","min":"2p","max":"9p","weight":0.3}}"#,
    r#"{"wred":{"limit":"30p","ladder_max":"20p","weight":0.3,"ecn":true}}"#,
    r#"{"wred":{"limit":"13p","weight":0.3,"rio":{"in_dscp":[0],"in":{"min":"2p","max":"9p","probability":0.1},
        "out":{"min":"2p","max":"9p","probability":0.5}}}}"#,
    r#"{"pie":{"limit":"40p","ecn":true,"max_burst":"0s","tuning":"none","tupdate":"5ms"}}"#,
    r#"{"pie":{"limit":"40p","variant":"linux","activation":0.3,"bytemode":true,"tuning":"none"}}"#,
    r#"{"pie":{"limit":"40p","variant":"draft2013","dq_threshold":2000,"max_burst":"10ms"}}"#,
    r#"{"docsis_pie":{"limit":"60KB","max_burst":"20ms","burst_reset_timeout":"30ms"}}"#,
    r#"{"lred":{"limit":"30p","min_th":"5ms","max_th":"9ms","p_min":0.1,"p_max":0.5}}"#,
    r#"{"lred":{"limit":"30p","min_th":"5p","max_th":"9p","curve":"10a","weight":0.3}}"#,
    r#"{"lred":{"limit":"50ms","min_th":"5ms","max_th":"19ms","curve":"10b"}}"#,
    r#"{"cobalt":{"limit":"13p","ecn":true,"p_inc":0.2,"ce_threshold":"3ms","interval":"10ms"}}"#,
    r#"{"cobalt":{"limit":"50ms","blue_threshold":"20ms","target":"1ms"}}"#,
    r#"{"sfq":{"variant":"ns2"}}"#,
    r#"{"sfq_hss":{"limit":"40p","law":{"pie":{"ecn":true,"max_burst":"0s","tuning":"none","tupdate":"5ms"}}}}"#,
    r#"{"sfq":{"limit":"40p","law":{"lred":{"min_th":"5ms","max_th":"9ms","p_min":0.1,"p_max":0.5}}}}"#,
    r#"{"sfq":{"variant":"linux","limit":"20p","queue_limit":"5p"}}"#,
    r#"{"sfq":{"limit":"30p","queues":3,"perturb":"50ms"}}"#,
    r#"{"sfq_hss":{"limit":"50ms","groups":2,"ways":2,"when_full":"least_loaded","timeout":"100ms"}}"#,
    r#"{"sfq_hss":{"limit":"9KB","groups":1,"ways":3,"when_full":"hashed"}}"#,
    r#"{"perfect":{"limit":"20p","shared_dscp":[1,2],"overflow":{"longest":{"by":"packets","from":"tail"}}}}"#,
    r#"{"fq_codel":{"limit":"1000p","memory_limit":"9KB","flows":2,"drop_batch":3,"quantum":300}}"#,
    r#"{"fq_codel":{"limit":"30p","drop_batch":64,"target":"1ms","interval":"10ms"}}"#,
    r#"{"sfq_codel":{"limit":"20p","quantum":500,"target":"1ms","interval":"10ms"}}"#,
    r#"{"cake":{"bandwidth":"2mbit","limit":"30p","diffserv":"diffserv8","ack_filter":"aggressive"}}"#,
    r#"{"cake":{"bandwidth":"1mbit","memory_limit":"9KB","ingress":true,"isolation":"hosts","diffserv":"precedence","rtt":"5ms"}}"#,
    r#"{"cake":{"diffserv":"diffserv4","limit":"50ms","isolation":"flowblind","wash":true,"target":"1ms","rtt":"10ms"}}"#,
    r#"{"fred":{"limit":"21p","min_th":"3p","max_th":"9p","weight":0.1}}"#,
    r#"{"fred":{"limit":"9KB","min_th":"3p","max_th":"9p","weight":0.1,"many_flows":"drop_all"}}"#,
    r#"{"cbt":{"limit":"21p","classes":[
        {"name":"a","match":{"flow":[0,1,2]},"test":{"red":{"min_th":"3p","max_th":"9p"}},"weight":0.1},
        {"name":"b","match":{"flow":[3,4]},"test":{"threshold":"4KB"},"weight":1.0,"sampling":"time"},
        {"name":"c","test":{"threshold":"2p"},"weight":0.1}]}}"#,
    r#"{"dcbt":{"limit":"9KB","min_th":"2KB","weight":0.1,"active_for":"20ms","classes":[
        {"name":"a","match":{"flow":[0,1,2]},"test":{"red":{"min_th":"3p","max_th":"9p"}},"weight":0.1},
        {"name":"b","match":{"dscp":[1],"flow":[4,7]},"test":{"share":{"slack":2.0}},"weight":0.1},
        {"name":"c","test":{"share":{"slack":1.0}},"weight":0.1}]}}"#,
    r#"{"dualpi2":{"variant":"rfc9332","limit":"13p"}}"#,
    r#"{"dualpi2":{"variant":"rfc9332","limit":"9KB","time_shift":"5ms","target":"1ms","rtt_max":"10ms"}}"#,
    r#"{"docsis_lld":{"l_limit":"4p","max_th":"200us","queue_protection":false}}"#,
    r#"{"docsis_lld":{"l_dscp":[1],"max_th":"100us","lg_range":10,"critical_ql":"1us","critical_ql_score":"1us","bucket_id_size":1,
        "l_limit":"9KB","classic":{"limit":"9KB","target":"1ms"}}}"#,
    r#"{"dualpi2":{"limit":"50ms","drop_early":true,"target":"1ms","alpha":20,"beta":200,"l_dscp":[1]}}"#,
    r#"{"dualpi2":{"memory_limit":"9KB","step_thresh":"2p","min_qlen_step":1,"l_dscp":[2],"l_dscp_exempt":true}}"#,
    r#"{"cbq":{"classes":[
        {"name":"a","match":{"flow":[0,1,2]},"share":0.7,"limit":"11p","red":{"min_th":"3p","max_th":"9p"},"weight":0.1},
        {"name":"b","match":{"flow":[3,4]},"share":0.2,"limit":"5p"},
        {"name":"c","share":0.1,"limit":"9KB"}]}}"#,
];

/// Returns the settings in [`MORE`] and, for each discipline in [`QDISCS`], its defaults and (if valid) its defaults
/// with a limit of 13 packets, so that the queue overflows. A discipline whose law is a parameter is also combined with
/// every law.
fn specs() -> Vec<Spec> {
    // Some disciplines refuse a limit of 13 packets, either because their thresholds are higher, or because each of
    // their classes or queues has its own limit and there is no common limit. `MORE` has tight limits for these
    // disciplines.
    let read = |value: serde_json::Value| serde_json::from_value::<Spec>(value).ok().filter(|s| s.validate().is_ok());
    let mut specs: Vec<Spec> = MORE.iter().map(|s| serde_json::from_value(s.parse().unwrap()).unwrap()).collect();
    for info in QDISCS {
        let plain = Spec::named(info.name).unwrap();
        let tight = serde_json::json!({ info.name: { "limit": "13p" } });
        let tight = read(tight);
        assert!(tight.is_some() || ["fred", "cbt", "dcbt", "cbq", "docsis_lld"].contains(&info.name), "{}", info.name);
        for spec in std::iter::once(plain).chain(tight) {
            let laws = QDISCS.iter().filter(|law| law.law).filter_map(|law| LawSpec::named(law.name));
            specs.extend(laws.filter_map(|law| spec.clone().with_law(law)));
            specs.push(spec);
        }
    }
    for spec in &specs {
        spec.validate().unwrap_or_else(|p| panic!("{p}"));
    }
    specs
}

/// Returns a table of eight flows: four between one pair of hosts, and four between another.
fn flows() -> FlowTable {
    let mut table = FlowTable::default();
    for i in 0..8u16 {
        let tuple = FlowTuple { src: 1 + u32::from(i / 4), dst: 9, sport: 1000 + i, dport: 80, ..Default::default() };
        table.set(FlowId(u32::from(i)), tuple);
    }
    table
}

/// The dropped packets, and the number of the packet marked last.
#[derive(Default)]
struct Gone(Vec<(u64, DropReason, Point)>, Option<u64>);

impl FateSink for Gone {
    fn dropped(&mut self, packet: &PacketMeta, reason: DropReason, point: Point) {
        self.0.push((packet.seq, reason, point));
    }
    fn marked(&mut self, packet: &PacketMeta, _: MarkReason, _: Point) {
        assert_eq!(packet.tos & 3, 3);
        self.1 = Some(packet.seq);
    }
}

/// Returns true if the backlog is within the specified limit. The comparison does not use the code that enforces the
/// limit, because the test checks that code.
fn within(spec: &Spec, b: Backlog) -> bool {
    let (short, segments) = match spec {
        Spec::Droptail(p) => (u32::from(p.ns2_off_by_one), u32::from(p.super_segment)),
        _ => (0, 1),
    };
    match spec.limit() {
        Some(Limit::Packets(n)) => b.packets <= (n - short) * segments,
        Some(Limit::Bytes(n)) => b.bytes <= n.0,
        // the link's rate is 5 Mbit/s
        Some(Limit::Time(t)) => b.bytes as f64 <= t.secs() * 5e6 / 8.0,
        None => true,
    }
}

fn run(spec: &Spec, ops: &[Op]) -> (Queue, Vec<PacketMeta>, Gone) {
    let mut queue = Queue::new(spec.build());
    let (mut rng, link, flows) = (Rng::named(1, "q"), LinkView::plain(BitRate(5_000_000)), flows());
    let (mut now, mut seq, mut gone, mut out) = (Time(0), 0, Gone::default(), Vec::new());
    for op in ops {
        let lost = gone.0.len();
        let cx = &mut Context { now, rng: &mut rng, link: &link, flows: &flows, fate: &mut gone };
        match *op {
            Op::Enqueue { size, flow, tos, reverse } => {
                let flags = if reverse { Flags::REVERSE } else { Flags::default() };
                let p = PacketMeta { seq, size, flow: FlowId(flow), tos, flags, ..Default::default() };
                let before = queue.backlog();
                let kept = queue.enqueue(p, cx);
                let refused = gone.0.last().is_some_and(|g| {
                    g.0 == seq && matches!(g.1, DropReason::TailFull | DropReason::EarlyTail) && g.2 == Point::Enqueue
                });
                assert_eq!(kept, !refused, "{spec:?}");
                assert!(kept || gone.1 != Some(seq), "{spec:?} marks a packet that it drops");
                let pushed = gone.0.len() - lost - usize::from(refused);
                let backlog = queue.backlog();
                assert!(!refused || pushed > 0 || backlog == before, "{spec:?}");
                // the work of a call is bounded: besides the arrival, the call drops at most the packets that were
                // queued before the call
                assert!(pushed <= before.packets as usize, "{spec:?}");
                seq += 1;
            }
            Op::Dequeue => out.extend(queue.dequeue(cx)),
            Op::Wait(ns) => {
                let until = now + Duration(ns);
                // bound: at most one call per microsecond, and one more; the assertion below tests this
                let mut calls = 0;
                while let Some(t) = queue.next_wake().filter(|t| *t <= until) {
                    assert!(t >= now, "{spec:?} has a wake time in the past");
                    now = t;
                    queue.wake(&mut Context { now, rng: &mut rng, link: &link, flows: &flows, fate: &mut gone });
                    calls += 1;
                    assert!(calls <= 1 + ns / 1000, "{spec:?} wakes without end");
                }
                now = until;
            }
        }
        assert!(within(spec, queue.backlog()), "{spec:?} holds {:?}", queue.backlog());
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
            let (mut rng, link, flows) = (Rng::named(1, "q"), LinkView::plain(BitRate(5_000_000)), flows());
            let cx = &mut Context { now: Time(1 << 60), rng: &mut rng, link: &link, flows: &flows, fate: &mut gone };
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
    fn order_within_a_flow_is_kept(ops in ops()) {
        // true for each packet that arrived with ECT(1)
        let l4s: Vec<bool> =
            ops.iter().filter_map(|o| if let Op::Enqueue { tos, .. } = o { Some(tos & 3 == 1) } else { None }).collect();
        for spec in specs() {
            let (_, out, _) = run(&spec, &ops);
            let mut last = [None; 32];
            for p in &out {
                // A discipline with two coupled queues, L (low latency) and C (classic), keeps the order of packets
                // only within each queue. In dualpi2, ECT(1) packets are in L. docsis_lld may redirect a packet from L
                // to C, so the packet's class shows in which queue the packet was.
                let queue = match spec {
                    Spec::Dualpi2(_) => usize::from(l4s[p.seq as usize]),
                    Spec::DocsisLld(_) => usize::from(p.class == 1),
                    _ => 0,
                };
                let direction = &mut last[4 * p.flow.slot() + 2 * queue + usize::from(p.flags.has(Flags::REVERSE))];
                prop_assert!(*direction < Some(p.seq), "{:?}: {} after {:?}", spec, p.seq, direction);
                *direction = Some(p.seq);
            }
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

/// At 5 Mbit/s, no packet is sent within 1 us, so no limit of 1 us is valid, whichever part of a discipline it limits.
#[test]
fn every_limit_in_time_is_checked_at_the_rate() {
    for (text, path) in [
        (r#"{"codel":{"limit":"1us"}}"#, "codel.limit"),
        (r#"{"fair":{"limit":"1us"}}"#, "fair.limit"),
        (r#"{"fair":{"queue_limit":"1us"}}"#, "fair.queue_limit"),
        (r#"{"fair":{"law":{"codel":{"limit":"1us"}}}}"#, "fair.law.codel.limit"),
        (r#"{"sfq":{"queue_limit":"1us"}}"#, "sfq.queue_limit"),
        (r#"{"sfq_hss":{"law":{"lred":{"limit":"1us"}}}}"#, "sfq_hss.law.lred.limit"),
        (r#"{"fq_codel":{"limit":"1us"}}"#, "fq_codel.limit"),
        (r#"{"fq_pie":{"pie":{"limit":"1us"}}}"#, "fq_pie.pie.limit"),
        (r#"{"cbq":{"classes":[{"name":"all","share":1,"limit":"1us"}]}}"#, "cbq.classes.0.limit"),
        (r#"{"docsis_lld":{"l_limit":"1us"}}"#, "docsis_lld.l_limit"),
        (r#"{"docsis_lld":{"classic":{"limit":"1us"}}}"#, "docsis_lld.classic.limit"),
        // CAKE converts the time at the rate of its own shaper, where 2 ms are 25 bytes
        (r#"{"cake":{"limit":"2ms","bandwidth":"100kbit"}}"#, "cake.limit"),
    ] {
        let spec = |text: &str| serde_json::from_value::<Spec>(text.parse().unwrap()).unwrap();
        let problem = spec(text).validate_at(BitRate(5_000_000)).unwrap_err();
        assert!(problem.path == path && problem.message.contains("nothing could wait"), "{text}: {problem}");
        let longer = spec(&text.replace("1us", "1ms").replace("2ms", "3ms"));
        assert!(longer.validate_at(BitRate(5_000_000)).is_ok(), "{text}");
    }
}

/// At 1 Mbit/s, a limit of 224 us is 28 bytes, the size of the smallest IP packet. By ns-2's convention, a queue stores
/// one byte less than its limit, so no packet would fit.
#[test]
fn a_drop_tail_limit_in_time_is_checked_by_ns2s_convention() {
    let at = |ns2: bool| {
        let text = format!(r#"{{"droptail":{{"limit":"224us","ns2_off_by_one":{ns2}}}}}"#);
        serde_json::from_value::<Spec>(text.parse().unwrap()).unwrap().validate_at(BitRate(1_000_000))
    };
    assert!(at(false).is_ok());
    assert!(at(true).unwrap_err().message.contains("nothing could wait"));
}
