//! Tests of fair disciplines: schedules computed independently of the code, drops on overflow, flows that share a queue
//! by chance or because of `shared_dscp`, and serial search when all queues of a group are in use.

use packet::{
    Backlog, DropReason, FateSink, Flags, FlowId, FlowTable, FlowTuple, LinkView, MarkReason, PacketMeta, Point,
    Protocol,
};
use qdisc::fair::{Fair, FairParams};
use qdisc::law::{Law, View};
use qdisc::{AnyLaw, Context, Params, Queue, Spec};
use std::collections::BTreeSet;
use units::{BitRate, Duration, Rng, Time};

#[derive(Default)]
struct Fates(Vec<(u64, DropReason)>);

impl FateSink for Fates {
    fn dropped(&mut self, packet: &PacketMeta, reason: DropReason, _: Point) {
        self.0.push((packet.seq, reason));
    }
    fn marked(&mut self, _: &PacketMeta, _: MarkReason, _: Point) {}
}

/// A fair discipline that a test controls step by step. Flows are letters, packets are numbered in order of arrival.
struct Bench {
    queue: Queue<Fair>,
    rng: Rng,
    flows: FlowTable,
    fates: Fates,
    now: Time,
    sent: u64,
    /// Number of drops for which a test has already offered replacement packets.
    offered_for_drops: usize,
}

impl Bench {
    fn new(spec: &str) -> Self {
        let spec: Spec = serde_json::from_value(spec.parse().unwrap()).unwrap();
        spec.validate().unwrap();
        let mut flows = FlowTable::default();
        for i in 0..26u16 {
            let tuple = FlowTuple { src: 1, dst: 2, sport: 1000 + i, dport: 80, ..Default::default() };
            flows.set(FlowId(u32::from(i)), tuple);
        }
        let queue = Queue::new(Params::build(&spec.fair().unwrap()));
        Self {
            queue,
            rng: Rng::named(1, "fair"),
            flows,
            fates: Fates::default(),
            now: Time::ZERO,
            sent: 0,
            offered_for_drops: 0,
        }
    }

    fn packet(&mut self, packet: PacketMeta) {
        let link = LinkView::plain(BitRate(5_000_000));
        let packet = PacketMeta { seq: self.sent, ..packet };
        self.sent += 1;
        let fate = &mut self.fates;
        self.queue
            .enqueue(packet, &mut Context { now: self.now, rng: &mut self.rng, link: &link, flows: &self.flows, fate });
    }

    /// Offers a packet of `size` bytes for each letter in `flows`.
    fn offer(&mut self, flows: &str, size: u16) {
        for f in flows.bytes() {
            self.packet(PacketMeta { flow: FlowId(u32::from(f - b'a')), size, ..Default::default() });
        }
    }

    /// Dequeues up to `n` packets, and returns the letters of their flows.
    fn take(&mut self, n: usize) -> String {
        let link = LinkView::plain(BitRate(5_000_000));
        let mut order = String::new();
        for _ in 0..n {
            let fate = &mut self.fates;
            let cx = &mut Context { now: self.now, rng: &mut self.rng, link: &link, flows: &self.flows, fate };
            order.extend(self.queue.dequeue(cx).map(|p| char::from(b'a' + p.flow.slot() as u8)));
        }
        order
    }

    /// Returns the numbers of the packets dropped since the last call, each with the reason for the drop.
    fn dropped(&mut self) -> Vec<(u64, DropReason)> {
        std::mem::take(&mut self.fates.0)
    }

    fn queue_of(&self, flow: char) -> u32 {
        self.queue.discipline().queue_of(FlowId(flow as u32 - 'a' as u32), false).unwrap()
    }

    fn wait(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
    }

    /// Advances the time by a millisecond and runs the laws' timers if they are due.
    fn tick(&mut self) {
        self.wait(1);
        if self.queue.next_wake().is_some_and(|t| t <= self.now) {
            let (link, fate) = (LinkView::plain(BitRate(5_000_000)), &mut self.fates);
            self.queue.wake(&mut Context { now: self.now, rng: &mut self.rng, link: &link, flows: &self.flows, fate });
        }
    }

    /// Returns the law of a flow's queue, for tests in which that law is PIE.
    fn pie(&self, flow: char) -> &AnyLaw {
        self.queue.discipline().queue_law(self.queue_of(flow))
    }
}

#[test]
fn a_refused_packet_starts_the_clock_of_an_empty_queue_in_line() {
    // No dequeue follows the departure of the last packet. This can happen in front of a modem, which dequeues only
    // during a grant. So no dequeue finds the queue empty, and the empty queue stays in the scheduler's list.
    let mut b = Bench::new(r#"{ "fq_pie": { "limit": "1024B" } }"#);
    b.offer("a", 60);
    assert_eq!(b.take(1), "a");
    (0..204).for_each(|_| b.tick());
    assert_eq!(b.queue.next_wake(), None, "nothing waits, and no probability has to decay");
    b.offer("a", 1500);
    assert_eq!(b.dropped(), [(1, DropReason::TailFull)]);
    // updates run at multiples of 15 ms
    assert_eq!(b.queue.next_wake(), Some(Time(210_000_000)));
    (0..1000).for_each(|_| b.tick());
    b.offer("a", 60);
    assert_eq!(b.queue.next_wake(), Some(Time(1_215_000_000)), "not before now");
}

#[test]
fn packet_round_robin_takes_one_of_each_whatever_its_size() {
    let mut b = Bench::new(r#""perfect""#);
    b.offer("aaab", 1500);
    b.offer("bcc", 40);
    assert_eq!(b.take(7), "abcabca");
    // a lone packet waits for at most one packet of each of ten backlogged flows, which is 10 x 2.4 ms = 24 ms at 5 Mbit/s
    b.offer(&"abcdefghij".repeat(5), 1500);
    b.take(3);
    b.offer("z", 1500);
    assert_eq!(b.take(11), "defghijabcz");
}

#[test]
fn drr_deficits_by_hand() {
    // The example of Shreedhar & Varghese: the quantum is 500 B. a has packets of 200, 750 and 20 B, b has packets of 500 and
    // 500 B, and c has packets of 600 and 100 B.
    //  round 1  a has 500, sends 200 and keeps 300 < 750    b has 500 and sends 500    c has 500 < 600
    //  round 2  a has 800, sends 750 and 20: empty          b has 500 and sends 500: empty    c has 1000, sends 600 and 100
    let mut b = Bench::new(r#"{"fair":{"classifier":{"isolated":{}},"scheduler":{"drr":{"quantum":500}}}}"#);
    for (flow, size) in [("a", 200), ("b", 500), ("c", 600), ("a", 750), ("a", 20), ("b", 500), ("c", 100)] {
        b.offer(flow, size);
    }
    assert_eq!(b.take(8), "abaabcc");
    // a queue that becomes empty loses its credit. So flow a starts with 500 B again, not with 30 + 500 B, and its packet
    // of 510 B must wait for a second turn
    b.offer("a", 510);
    b.offer("b", 500);
    assert_eq!(b.take(2), "ba");
}

#[test]
fn byte_round_robin_overdraws_and_pays_back() {
    // The quantum is 1000 B. Flow a sends 600 B, which leaves 400 B of credit, and then 900 B, which leaves -500 B.
    // Flow b does the same. At its next turn, flow a gets 1000 B, so it has 500 B of credit and sends 600 B.
    let mut b = Bench::new(r#"{"sfq":{"variant":"linux","quantum":1000}}"#);
    for size in [600, 900, 600, 600] {
        b.offer("ab", size);
    }
    assert_eq!(b.take(8), "aabbabab");
}

#[test]
fn a_queue_at_its_own_limit_drops_at_the_end_that_the_overflow_rule_names() {
    use DropReason::{HeadFull, TailFull};
    let mut b = Bench::new(r#""sfq limit 1000 depth 3""#);
    b.offer("aaaab", 1500);
    assert_eq!(b.dropped(), [(3, TailFull)]);
    assert_eq!(b.take(9), "aaba");
    let mut b = Bench::new(r#""sfq limit 1000 depth 3 headdrop""#);
    b.offer("aaaab", 1500);
    assert_eq!(b.dropped(), [(0, HeadFull)]);
    assert_eq!(b.queue.backlog(), Backlog { packets: 4, bytes: 6000 });
    assert_eq!(b.take(9), "aaba");
    // the arrival of 1500 B fits behind 1000 B, so two of three packets are dropped. A packet of 4000 B would not fit
    // into an empty queue, so it is refused
    let mut b = Bench::new(r#"{"fair":{"queue_limit":"3000B","overflow":"longest"}}"#);
    b.offer("aaa", 1000);
    b.offer("a", 1500);
    assert_eq!(b.dropped(), [(0, HeadFull), (1, HeadFull)]);
    b.offer("a", 4000);
    assert_eq!(b.dropped(), [(4, TailFull)]);
    assert_eq!(b.queue.backlog(), Backlog { packets: 2, bytes: 2500 });
}

#[test]
fn fq_codel_serves_new_queues_first_and_once() {
    // RFC 8290 §4.2: after one packet of 1500 B, a quantum of 1514 B leaves 14 B of credit, so a second packet is sent, which
    // overdraws the credit
    let mut b = Bench::new(r#""fq_codel""#);
    b.offer(&"ab".repeat(6), 1500);
    // Flows a and b are in the new list. Each sends two packets, which leaves a credit of -1486 B.
    assert_eq!(b.take(4), "aabb");
    // Each flow moves to the old list with one more quantum. The credit is then -1486 + 1514 = 28 B, so it sends one packet.
    assert_eq!(b.take(2), "ab");
    // a new flow is served before a and b, although they have waited longer
    b.offer("s", 100);
    assert_eq!(b.take(1), "s");
    // s is empty now and moves to the end of the old list, which becomes b a s. b has no credit, so it gets a quantum and moves
    // behind s. Then a, which has credit, sends.
    assert_eq!(b.take(1), "a");
    assert_eq!(b.queue.discipline().in_line(), ['a', 's', 'b'].map(|f| b.queue_of(f)));
    // Flow s is in the old list, so it is not new when its next packet arrives. Flow t, which is new, is served first,
    // although its packet arrives later.
    b.offer("st", 100);
    assert_eq!(b.take(2), "ts");
}

#[test]
fn sfq_codel_puts_new_bins_behind_new_ones_and_before_the_rest() {
    let mut b = Bench::new(r#""sfq_codel""#);
    b.offer(&"abc".repeat(4), 1500);
    assert_eq!(b.take(4), "abca");
    // d and e become active. Each sends one packet, in the order of arrival, before b, c and a
    b.offer("dede", 1500);
    assert_eq!(b.take(7), "debcade");
}

#[test]
fn the_longest_queue_pays() {
    // a has packets 0 to 3 of 100 B each, and b has packets 4 to 6 of 1500 B each. The eighth packet, which belongs to c, does
    // not fit, so the longest queue loses its head or its tail. The longest queue is b if bytes are compared, and a if packets
    // are compared.
    let longest = |by: &str, from: &str| {
        let overflow = format!(r#"{{"longest":{{"by":"{by}","from":"{from}"}}}}"#);
        let mut b = Bench::new(&format!(r#"{{"perfect":{{"limit":"7p","overflow":{overflow}}}}}"#));
        b.offer("aaaa", 100);
        b.offer("bbb", 1500);
        b.offer("c", 100);
        b.dropped()
    };
    assert_eq!(longest("bytes", "head"), [(4, DropReason::HeadFull)]);
    assert_eq!(longest("bytes", "tail"), [(6, DropReason::PushOut)]);
    assert_eq!(longest("packets", "head"), [(0, DropReason::HeadFull)]);
    assert_eq!(longest("packets", "tail"), [(3, DropReason::PushOut)]);
    // The arrival counts as part of its flow's queue. If that queue is the longest and drops are made at its tail, the
    // arrival itself is dropped.
    let mut b = Bench::new(r#"{"perfect":{"limit":"3p","overflow":{"longest":{"from":"tail"}}}}"#);
    b.offer("aaba", 1500);
    assert_eq!(b.dropped(), [(3, DropReason::TailFull)]);
    assert_eq!(b.take(4), "aba");
    // with plain tail drop, the arrival is dropped, whatever its flow
    let mut b = Bench::new(r#"{"perfect":{"limit":"3p"}}"#);
    b.offer("aaab", 1500);
    assert_eq!(b.dropped(), [(3, DropReason::TailFull)]);
}

#[test]
fn in_a_tie_linux_sfq_drops_from_the_queue_that_changed_last() {
    let mut b = Bench::new(r#"{ "sfq": { "variant": "linux", "limit": "4p" } }"#);
    let numbers = |b: &mut Bench| b.dropped().into_iter().map(|(seq, _)| seq).collect::<Vec<_>>();
    // a and b have two packets each. The length of b changed last, so when c's packet arrives, the newest packet of b
    // (number 3) is dropped
    b.offer("aabbc", 1500);
    assert_eq!(numbers(&mut b), [3]);
    // a has 2 packets. The next arrivals, of b and of c, make their own queues as long as a's. Each time, the arrival's
    // queue has changed last, so the arrival itself is dropped (numbers 5 and 6).
    b.offer("bc", 1500);
    assert_eq!(numbers(&mut b), [5, 6]);
    // a sends a packet, so a, b and c have one each. Then d arrives. When e arrives, every queue has one packet, so the
    // queue whose turn is next loses its packet. This is a again (number 1): after a packet of 1500 bytes, a has
    // 14 bytes of credit.
    assert_eq!(b.take(1), "a");
    b.offer("de", 1500);
    assert_eq!(numbers(&mut b), [1]);
    // a has left the round, so its next packet joins at the end. The next turn is b's, so b's packet (number 2) is lost
    b.offer("a", 1500);
    assert_eq!(numbers(&mut b), [2]);
    assert_eq!(b.take(4), "cdea");
}

#[test]
fn equal_flows_get_equal_shares_if_the_latest_of_the_longest_loses() {
    // 26 flows share a limit of 20 packets. For each packet that is sent, two packets of random flows arrive. If the
    // queue with the lowest number loses every tie, queues with low numbers get less. Jain's index is 1 for equal shares.
    let jain = |tie: &str| {
        let spec = format!(
            r#"{{ "fair": {{ "limit": "20p", "classifier": {{ "isolated": {{}} }},
                "scheduler": {{ "byte_round_robin": {{ "quantum": 1514 }} }},
                "overflow": {{ "longest": {{ "by": "packets", "from": "tail", "tie": "{tie}" }} }} }} }}"#
        );
        let (mut b, mut rng, mut sent) = (Bench::new(&spec), Rng::named(7, "order"), [0.0f64; 26]);
        for _ in 0..26 * 400 {
            for _ in 0..2 {
                let flow = char::from(b'a' + (rng.unit() * 26.0) as u8);
                b.offer(&flow.to_string(), 1500);
            }
            for f in b.take(1).bytes() {
                sent[usize::from(f - b'a')] += 1.0;
            }
        }
        let (sum, squares) = (sent.iter().sum::<f64>(), sent.iter().map(|n| n * n).sum::<f64>());
        sum * sum / (26.0 * squares)
    };
    let (latest, lowest) = (jain("latest"), jain("lowest"));
    assert!(latest > 0.99 && lowest < 0.97, "{latest} {lowest}");
}

#[test]
fn fq_codel_drops_half_of_the_fattest_but_64_at_most() {
    let drops = |limit: u32, n: usize| {
        let mut b = Bench::new(&format!(r#"{{"fq_codel":{{"limit":"{limit}p"}}}}"#));
        b.offer("b", 1500);
        b.offer(&"a".repeat(n), 1500);
        let dropped = b.dropped();
        assert!(dropped.iter().all(|d| d.1 == DropReason::HeadFull));
        (dropped.first().unwrap().0, dropped.len())
    };
    // the queue has b's packet 0 and 40 packets of a, one more than the limit. So half of a's 60 000 bytes are dropped: 20
    // packets, from packet 1 on.
    assert_eq!(drops(40, 40), (1, 20));
    assert_eq!(drops(1000, 1000), (1, 64));
}

#[test]
fn serial_search_fills_a_group_then_shares() {
    for (rule, fifth) in [("first", 0), ("least_loaded", 2)] {
        let mut b = Bench::new(&format!(r#"{{"sfq_hss":{{"groups":1,"ways":4,"when_full":"{rule}"}}}}"#));
        // The only group has four queues. Flows a to d get them in this order, and c's queue has the fewest bytes.
        b.offer("aabb", 1500);
        b.offer("c", 100);
        b.offer("dd", 1500);
        assert_eq!("abcd".chars().map(|f| b.queue_of(f)).collect::<Vec<_>>(), [0, 1, 2, 3]);
        b.offer("e", 1500);
        assert_eq!(b.queue_of('e'), fifth, "{rule}");
    }
}

#[test]
fn a_session_ends_when_its_queue_is_empty_or_after_the_timeout() {
    let mut b = Bench::new(r#"{"sfq_hss":{"groups":1,"ways":2}}"#);
    b.offer("ab", 1500);
    b.take(1);
    // when a's packet has left, queue 0 is empty, so c takes this queue. Then a finds the group full, and shares the first
    // queue.
    b.offer("c", 1500);
    assert_eq!(b.queue_of('c'), 0);
    b.offer("a", 1500);
    assert_eq!(b.queue_of('a'), 0);
    // b's queue is now free, but flow a stays in the shared queue while one of a's packets waits there
    assert_eq!(b.take(1), "b");
    b.offer("a", 1500);
    assert_eq!(b.queue_of('a'), 0);
    assert_eq!(b.take(3), "caa");

    let mut b = Bench::new(r#"{"sfq_hss":{"groups":1,"ways":2,"timeout":"100ms"}}"#);
    b.offer("a", 1500);
    b.take(1);
    b.wait(99);
    b.offer("b", 1500);
    assert_eq!((b.queue_of('a'), b.queue_of('b')), (0, 1), "queue 0 is still a's");
    b.wait(1);
    b.offer("c", 1500);
    assert_eq!(b.queue_of('c'), 0);
}

#[test]
fn a_drop_at_the_head_is_the_last_activity_of_a_session() {
    let mut b = Bench::new(
        r#"{"fair":{"limit":"1p","classifier":{"serial_search":{"groups":1,"ways":3,"timeout":"10ms"}},
        "overflow":{"longest":{"by":"packets","from":"head"}}}}"#,
    );
    b.offer("a", 1500);
    b.wait(20);
    b.offer("b", 1500);
    assert_eq!(b.dropped(), [(0, DropReason::HeadFull)]);
    b.wait(9);
    b.offer("c", 1500);
    assert_eq!("abc".chars().map(|f| b.queue_of(f)).collect::<Vec<_>>(), [0, 1, 2], "queue 0 is still a's");
    // a drop by the law restarts the timeout of the session, like a departure. CoDel drops a's last packet, because
    // with `total` it also counts the packets of the other queues
    let mut b = Bench::new(
        r#"{"fair":{"limit":"99p","classifier":{"serial_search":{"groups":1,"ways":3,"timeout":"10ms"}},
        "law":{"codel":{"target":"1ms","interval":"10ms"}},"law_sees":"total"}}"#,
    );
    b.offer("aabbbbb", 1500);
    b.wait(5);
    assert_eq!(b.take(1), "a");
    b.wait(20);
    assert_eq!(b.take(2), "bb");
    assert_eq!(b.dropped(), [(1, DropReason::EarlyHead)]);
    b.wait(9);
    b.offer("c", 1500);
    assert_eq!("abc".chars().map(|f| b.queue_of(f)).collect::<Vec<_>>(), [0, 1, 2], "queue 0 is still a's");
}

#[test]
fn forced_collision_joins_the_listed_code_points_only() {
    let mut b = Bench::new(r#"{"perfect":{"shared_dscp":[10]}}"#);
    for (flow, dscp) in [(0, 10), (1, 10), (2, 11), (3, 11), (4, 0)] {
        b.packet(PacketMeta { flow: FlowId(flow), size: 1500, tos: dscp << 2, ..Default::default() });
    }
    assert_eq!(b.queue_of('a'), b.queue_of('b'));
    let mut queues: Vec<u32> = "acde".chars().map(|f| b.queue_of(f)).collect();
    queues.dedup();
    assert_eq!(queues.len(), 4);
    assert_eq!(b.take(5), "acdeb");
}

#[test]
fn the_way_back_is_a_flow_of_its_own() {
    let mut b = Bench::new(r#""perfect""#);
    b.offer("a", 1500);
    b.packet(PacketMeta { flow: FlowId(0), size: 40, flags: Flags::REVERSE, ..Default::default() });
    let fair = b.queue.discipline();
    assert_ne!(fair.queue_of(FlowId(0), false), fair.queue_of(FlowId(0), true));
}

#[test]
fn a_reused_slot_is_another_flow() {
    let mut b = Bench::new(r#"{"perfect":{"law":"codel"}}"#);
    let (old, new) = (FlowId::new(0, 1), FlowId::new(0, 2));
    b.packet(PacketMeta { flow: old, size: 1500, ..Default::default() });
    b.packet(PacketMeta { flow: new, size: 1500, ..Default::default() });
    // The new flow takes over the slot of the old flow while a packet of the old flow still waits. The two flows may
    // share a queue, but no packet is lost or counted twice.
    assert_eq!(b.take(3), "aa");
    assert_eq!(b.queue.backlog(), Backlog::default());
}

#[test]
fn perturbation_moves_a_flow_only_when_nothing_of_it_waits() {
    let mut b = Bench::new(r#"{"sfq":{"queues":1024,"perturb":"1s"}}"#);
    b.offer("a", 1500);
    let before = b.queue_of('a');
    b.wait(5000);
    b.offer("a", 1500);
    assert_eq!(b.queue_of('a'), before);
    b.take(2);
    b.offer("a", 1500);
    // a new salt moves the flow with probability 1023/1024; with this test's seed, it does
    assert_ne!(b.queue_of('a'), before);
}

#[test]
fn datagrams_may_have_a_bin_of_their_own() {
    let mut b = Bench::new(r#"{"sfq_codel":{"queues":3,"isolate_cbr":true}}"#);
    for i in 20..26u16 {
        let tuple = FlowTuple { src: 1, dst: 2, sport: 1000 + i, protocol: Protocol::UDP, ..Default::default() };
        b.flows.set(FlowId(u32::from(i)), tuple);
    }
    b.offer("uabcdefghijklmnopqrstvwxyz", 100);
    let queues = |b: &Bench, flows: &str| flows.chars().map(|f| b.queue_of(f)).collect::<BTreeSet<_>>();
    // the 20 TCP flows share two bins, and the 6 UDP flows are in the third
    let (tcp, udp) = (queues(&b, "abcdefghijklmnopqrst"), queues(&b, "uvwxyz"));
    assert_eq!((tcp.len(), udp.len()), (2, 1));
    assert!(tcp.is_disjoint(&udp));
}

#[test]
fn fq_pie_of_linux_drops_nothing_for_its_memory_limit() {
    // of ten packets of 1500 bytes, six fit into 10 000 bytes, and four do not
    for (variant, drops) in [("rfc8033", 4), ("linux", 0)] {
        let json = format!(
            r#"{{ "fq_pie": {{ "memory_limit": "10000B", "drop_batch": 1, "pie": {{ "variant": "{variant}" }} }} }}"#
        );
        let mut b = Bench::new(&json);
        b.offer("ababababab", 1500);
        assert_eq!(b.dropped().len(), drops, "{variant}");
    }
}

#[test]
fn the_pie_of_a_silent_flow_decays_meanwhile() {
    let probability = |law: &AnyLaw| if let AnyLaw::Pie(pie) = law { pie.state().drop_prob } else { f64::NAN };
    let mut b = Bench::new(r#"{"perfect":{"law":{"pie":{}}}}"#);
    // for a second, two packets arrive for each packet that leaves; after that, the queue drains
    for _ in 0..1000 {
        b.offer("aa", 1500);
        b.take(1);
        b.tick();
    }
    while !b.take(1).is_empty() {}
    let (before, mut clock) = (probability(b.pie('a')), b.pie('a').clone());
    assert!(before > 0.01, "{before}");
    // `clock`, a copy of the law, is updated at every tick. The flow's own law is not updated while its queue is idle, but must
    // equal `clock` after the flow's next packet, 500 ms later
    let link = LinkView::plain(BitRate(5_000_000));
    for _ in 0..500 {
        b.tick();
        if let Some(now) = clock.next_tick().filter(|t| *t <= b.now) {
            let view = View { now, backlog: Backlog::default(), sojourn: Duration::ZERO, link: &link };
            clock.tick(&view);
        }
    }
    assert_eq!(probability(b.pie('a')), before, "an idle queue's law waits for a packet");
    b.offer("a", 1500);
    let after = probability(b.pie('a'));
    assert_eq!(after, probability(&clock));
    // each of the 33 updates, 15 ms apart, multiplies the probability by 0.98 or less, so at most 0.98^33 = 0.51 of it is left
    assert!(after < 0.52 * before, "{after} of {before}");
}

#[test]
fn misfits_are_refused_with_path_and_what_is_valid() {
    for (spec, path, part) in [
        (r#"{"sfq_hss":{"groups":0}}"#, "sfq_hss.groups", "at least 1"),
        (r#"{"sfq_hss":{"ways":0}}"#, "sfq_hss.ways", "at least 1"),
        (r#"{"sfq_hss":{"limit":"0p"}}"#, "sfq_hss.limit", "nothing could wait"),
        (r#"{"sfq":{"queues":0}}"#, "sfq.queues", "at least 1"),
        (r#"{"sfq":{"quantum":0}}"#, "sfq.quantum", "64B to"),
        (r#"{"sfq":{"perturb":"0s"}}"#, "sfq.perturb", "positive"),
        (r#"{"sfq":{"law":{"codel":{"target":"0s"}}}}"#, "sfq.law.codel.target", "more than 0s"),
        (r#"{"sfq":{"variant":"ns2","limit":"50ms"}}"#, "sfq.overflow", "counts packets"),
        (r#"{"drr":{"quantum":10}}"#, "drr.quantum", "64B to"),
        (r#"{"fq_codel":{"flows":0}}"#, "fq_codel.flows", "at least 1"),
        (r#"{"fq_codel":{"drop_batch":0}}"#, "fq_codel.drop_batch", "at least 1"),
        (r#"{"fq_codel":{"target":"0s"}}"#, "fq_codel.target", "more than 0s"),
        (r#"{"fq_pie":{"pie":{"target":"0s"}}}"#, "fq_pie.pie.target", ""),
        (r#"{"sfq_codel":{"interval":"0s"}}"#, "sfq_codel.interval", "more than 0s"),
        (r#"{"perfect":{"shared_dscp":[3,64]}}"#, "perfect.shared_dscp.1", "0 to 63"),
        (r#"{"perfect":{"overflow":"ns2_sfq"}}"#, "perfect.overflow", "isolated does not have"),
        (r#"{"sfq_codel":{"queues":1,"isolate_cbr":true}}"#, "sfq_codel.queues", "at least 2"),
        (r#"{"fair":{"law_sees":"total"}}"#, "fair.law_sees", "without a law"),
        (r#"{"fair":{"queue_limit":"5p","law":{"codel":{"limit":"9p"}}}}"#, "fair.queue_limit", "set one"),
        (r#"{"fair":{"classifier":{"hash":{"queues":2000000}}}}"#, "fair.classifier.hash.queues", "at most"),
    ] {
        let problem = serde_json::from_value::<Spec>(spec.parse().unwrap()).unwrap().validate().expect_err(spec);
        assert_eq!(problem.path, path, "{spec}: {problem}");
        assert!(problem.message.contains(part), "{spec}: {problem}");
    }
}

#[test]
fn names_compose() {
    let read = |text: &str| serde_json::from_value::<Spec>(text.into());
    let composed = read("sfq_hss + codel").unwrap();
    assert_eq!(composed, serde_json::from_value(r#"{"sfq_hss":{"law":"codel"}}"#.parse().unwrap()).unwrap());
    assert_eq!(composed.fair().unwrap().law.name(), "codel");
    assert_eq!(composed, read("sfq_hss+codel").unwrap());
    // a discipline with a composed name is serialised as a table, and reading this table gives the same discipline
    assert_eq!(serde_json::from_value::<Spec>(serde_json::to_value(&composed).unwrap()).unwrap(), composed);
    for (text, part) in [
        ("sfq_hss + codle", "unknown variant `codle`"),
        ("sfq_hs + codel", "unknown variant `sfq_hs`"),
        ("fq_codel + pie", "the law of fq_codel cannot be chosen; expected one of sfq, sfq_hss, perfect, drr, fair"),
        ("codel + codel", "the law of codel cannot be chosen"),
        ("sfq + codel + codel", "unknown variant `codel + codel`"),
    ] {
        let refusal = read(text).unwrap_err().to_string();
        assert!(refusal.contains(part), "{text}: {refusal}");
    }
    // classifier, scheduler, law and overflow can all be given in one table
    let all = r#"{"fair":{"limit":"100p","classifier":{"serial_search":{"groups":8}},"scheduler":"new_first",
        "law":{"codel":{"target":"1ms"}},"law_sees":"total_unless_last","overflow":{"longest":{"by":"packets","from":"tail"}}}}"#;
    let FairParams { limit, .. } = serde_json::from_value::<Spec>(all.parse().unwrap()).unwrap().fair().unwrap();
    assert_eq!(limit.to_string(), "100p");
}

/// Returns the reasons for all drops up to the time `end`, in ms. Each of ten flows always has two packets of 1500 B
/// queued, and the link, at 5 Mbit/s, takes one packet every 2.4 ms. So each flow has a turn every 24 ms, and the head
/// of its queue has waited for two turns.
fn drops_of_ten_small_flows(spec: &str, end: u64) -> Vec<DropReason> {
    let mut b = Bench::new(spec);
    b.offer(&"abcdefghij".repeat(2), 1500);
    while b.now < Time(end * 1_000_000) {
        b.now += Duration::from_micros(2400);
        let (sent, lost) = (b.take(1), b.fates.0.len());
        // offers a packet in place of the packet that was sent, and one in place of each packet that the law dropped
        // before it
        b.offer(&sent, 1500);
        for _ in 0..lost.saturating_sub(b.offered_for_drops) {
            b.offer(&sent, 1500);
        }
        b.offered_for_drops = lost;
    }
    b.dropped().into_iter().map(|d| d.1).collect()
}

#[test]
fn flows_of_two_packets_are_dropped_from_by_the_backlog_of_all() {
    // if CoDel uses the queue's own backlog, it drops nothing, because only one packet is behind each head
    assert!(drops_of_ten_small_flows(r#"{"fq_codel":{"law_sees":"own"}}"#, 10_000).is_empty());
    // If CoDel uses the total backlog, as in Linux, only the first two heads, both of flow a, are below target. A
    // flow's first drop is at its first turn after 100 ms above target: at 125 ms for flow b, at 170 ms for flow a, and
    // in between for the others. The n-th drop is due 100 ms x sum_{k=1}^{n-1} 1/sqrt(k) later, and happens at the
    // flow's next turn. The sum is 4.02 for n = 8, 4.37 for n = 9 and 4.70 for n = 10. So by 600 ms, each flow has
    // eight or nine drops; b's tenth is due at 595 ms, but b's next turn is at 605 ms.
    let drops = drops_of_ten_small_flows(r#""fq_codel""#, 600);
    assert!((80..=90).contains(&drops.len()), "{}", drops.len());
    assert!(drops.iter().all(|d| *d == DropReason::EarlyHead));
    assert_eq!(drops, drops_of_ten_small_flows(r#"{"fq_codel":{"law_sees":"total"}}"#, 600));
}

#[test]
fn linux_may_take_the_last_packet_of_a_queue_and_sfq_codel_never_does() {
    // Flow s has one packet at a time, which waits 10 ms; flow b has a standing queue. Each sends one packet of 1500 B
    // per turn. So every packet of s has waited longer than the target when CoDel decides whether to drop it. If the backlog that
    // CoDel sees includes b's packets, CoDel drops some packets of s from 110 ms on.
    let last = |sees: &str| {
        let parts = r#""classifier":{"isolated":{}},"scheduler":{"drr_plus_plus":{"quantum":1500}}"#;
        let mut b = Bench::new(&format!(r#"{{"fair":{{"law":"codel","law_sees":"{sees}",{parts}}}}}"#));
        b.offer("bbbb", 1500);
        let mut of_s = BTreeSet::new();
        for _ in 0..30 {
            of_s.insert(b.sent);
            b.offer("s", 1500);
            b.wait(10);
            b.take(2);
            b.offer("b", 1500);
        }
        b.dropped().iter().filter(|d| of_s.contains(&d.0)).count()
    };
    assert!(last("total") > 0);
    assert_eq!((last("total_unless_last"), last("own")), (0, 0));
}

#[test]
fn overflow_raises_codels_count_in_linux() {
    let count = |counts: bool| {
        let mut b =
            Bench::new(&format!(r#"{{"fq_codel":{{"limit":"10p","drop_batch":4,"overflow_counts":{counts}}}}}"#));
        b.offer(&"a".repeat(11), 1500);
        let AnyLaw::Codel(law) = b.queue.discipline().queue_law(b.queue_of('a')) else { panic!() };
        (b.fates.0.len() as u32, law.state().count)
    };
    // The eleventh packet does not fit, so packets are dropped until half of the queue's bytes are gone, but at most
    // `drop_batch` = 4 packets. Four packets hold less than half of the bytes, so all four are dropped.
    assert_eq!((count(true), count(false)), ((4, 4), (4, 0)));
}

const PRIO: &str = r#""classifier":"prio","scheduler":"strict_priority","limit":"1000p""#;

#[test]
fn strict_priority_sends_the_first_band_that_has_a_packet() {
    let filters = r#"{"prio":{"filters":[{"match":{"dscp":[46]},"band":0}]}}"#;
    let parts = PRIO.replace("\"prio\"", filters);
    let mut b = Bench::new(&format!(r#"{{"fair":{{{parts}}}}}"#));
    let offer = |b: &mut Bench, flow: u8, tos: u8| {
        b.packet(PacketMeta { flow: FlowId(u32::from(flow - b'a')), size: 1000, tos, ..Default::default() });
    };
    // tc-prio(8): type of service 8 (throughput) goes to band 2, 0 (none) to band 1, 16 (delay) to band 0. EF (46) is TOS byte
    // 184, whose bits for the type of service are 24, so without a filter it goes to band 1.
    [(b'c', 8), (b'b', 0), (b'c', 9), (b'a', 16), (b'b', 2), (b'e', 184)]
        .iter()
        .for_each(|(f, t)| offer(&mut b, *f, *t));
    assert_eq!(b.queue.discipline().in_line(), [0, 1, 2]);
    assert_eq!(b.take(3), "aeb");
    offer(&mut b, b'a', 16);
    assert_eq!(b.take(5), "abcc");
    let mut plain = Bench::new(&format!(r#"{{"fair":{{{PRIO}}}}}"#));
    [(b'b', 0), (b'e', 184), (b'a', 16)].iter().for_each(|(f, t)| offer(&mut plain, *f, *t));
    assert_eq!(plain.take(3), "abe");
}

#[test]
fn words_stand_for_tables_in_every_part() {
    let read = |text: &str| serde_json::from_value::<Spec>(text.parse().unwrap()).map(|s| s.fair().unwrap());
    let word = read(r#"{"fair":{"classifier":"hash","scheduler":"drr","overflow":"longest","law":"codel"}}"#).unwrap();
    let table = read(
        r#"{"fair":{"classifier":{"hash":{}},"scheduler":{"drr":{}},"overflow":{"longest":{}},"law":{"codel":{}}}}"#,
    );
    assert_eq!(word, table.unwrap());
    assert_eq!(read(r#"{"sfq":{"overflow":"longest"}}"#).unwrap().overflow, word.overflow);
    let text = serde_json::to_string(&word).unwrap();
    assert_eq!(serde_json::from_value::<FairParams>(text.parse().unwrap()).unwrap(), word);
    for (text, part) in [
        (r#"{"fair":{"scheduler":"dr"}}"#, "unknown variant `dr`, expected one of `packet_round_robin`"),
        (r#"{"fair":{"scheduler":{"dr":{}}}}"#, "unknown variant `dr`, expected one of"),
        (r#"{"fair":{"scheduler":{"drr":{},"new_first":null}}}"#, "\"new_first\" is one key too many"),
        (r#"{"fair":{"scheduler":{}}}"#, "the table is empty; expected one of \"packet_round_robin\""),
        (
            r#"{"fair":{"classifier":3}}"#,
            "expected one of \"hash\", \"serial_search\", \"isolated\", \"prio\", as a keyword",
        ),
        (r#"{"fair":{"classifier":{"hash":{"queue":3}}}}"#, "unknown field `queue`"),
    ] {
        let refusal = read(text).unwrap_err().to_string();
        assert!(refusal.contains(part), "{text}: {refusal}");
    }
    let refusal = |text: &str| serde_json::from_value::<Spec>(text.parse().unwrap()).unwrap().validate().unwrap_err();
    assert_eq!(refusal(r#"{"fair":{"scheduler":"strict_priority"}}"#).path, "fair.scheduler");
    for (prio, path) in [
        (r#"{"bands":17}"#, "bands"),
        (r#"{"bands":2}"#, "priomap.1"),
        (r#"{"priomap":[1]}"#, "priomap"),
        (r#"{"filters":[{"match":{},"band":3}]}"#, "filters.0.band"),
    ] {
        let text = format!(r#"{{"fair":{{"classifier":{{"prio":{prio}}},"scheduler":"strict_priority"}}}}"#);
        assert_eq!(refusal(&text).path, format!("fair.classifier.prio.{path}"));
    }
}
