//! Tests of DualPI2: scripts with expected drops and marks, and the operating points under unresponsive traffic.

use packet::{DropReason, Ecn, FateSink, FlowId, FlowTable, LinkView, MarkReason, PacketMeta, Point};
use qdisc::dual::{Dualpi2, Dualpi2Params};
use qdisc::{Context, Params, Queue, Spec};
use units::{BitRate, Duration, Rng, Time};

const US: u64 = 1000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// Drops and marks, each written as a letter and a packet number: d for an early drop, f for a drop at the limit, l for a
/// mark by the coupled law, s for a mark by the step or the ramp.
#[derive(Default)]
struct Fates(Vec<String>);

impl FateSink for Fates {
    fn dropped(&mut self, packet: &PacketMeta, reason: DropReason, _: Point) {
        self.0.push(format!("{}{}", if reason == DropReason::TailFull { 'f' } else { 'd' }, packet.seq));
    }
    fn marked(&mut self, packet: &PacketMeta, reason: MarkReason, _: Point) {
        assert_eq!(packet.ecn(), Ecn::Ce);
        self.0.push(format!("{}{}", if reason == MarkReason::Law { 'l' } else { 's' }, packet.seq));
    }
}

/// A queue that a test controls step by step.
struct Script {
    queue: Queue<Dualpi2>,
    rng: Rng,
    link: LinkView,
    now: Time,
    fates: Fates,
}

impl Script {
    fn new(params: &str) -> Self {
        let params: Dualpi2Params = serde_json::from_value(params.parse().unwrap()).unwrap();
        params.validate().unwrap();
        Self {
            queue: Queue::new(params.build()),
            rng: Rng::named(1, "q"),
            link: LinkView::plain(BitRate(12_000_000)),
            now: Time::ZERO,
            fates: Fates::default(),
        }
    }

    fn call<T>(&mut self, f: impl FnOnce(&mut Queue<Dualpi2>, &mut Context<'_>) -> T) -> T {
        let flows = FlowTable::default();
        let Self { queue, rng, link, now, fates } = self;
        f(queue, &mut Context { now: *now, rng, link, flows: &flows, fate: fates })
    }

    fn put(&mut self, seq: u64, ecn: Ecn) {
        self.put_as(seq, ecn, 0, 1500);
    }

    fn put_as(&mut self, seq: u64, ecn: Ecn, dscp: u8, size: u16) {
        let packet = PacketMeta { seq, size, tos: dscp << 2 | ecn as u8, flow: FlowId(0), ..Default::default() };
        self.call(|q, cx| q.enqueue(packet, cx));
    }

    fn pull(&mut self) -> Option<u64> {
        self.call(|q, cx| q.dequeue(cx)).map(|p| p.seq)
    }

    /// Advances to `us` microseconds after the start, and runs the updates that are due.
    fn until(&mut self, us: u64) {
        let until = Time(us * US);
        while let Some(t) = self.queue.next_wake().filter(|t| *t <= until) {
            self.now = t;
            self.call(|q, cx| q.wake(cx));
        }
        self.now = until;
    }

    fn fates(&mut self) -> Vec<String> {
        std::mem::take(&mut self.fates.0)
    }

    /// Returns the numbers of packets in L and in C.
    fn waiting(&self) -> [u32; 2] {
        self.queue.discipline().backlogs().map(|b| b.packets)
    }

    fn p(&self) -> f64 {
        self.queue.discipline().pi2().p()
    }
}

#[test]
fn who_goes_to_l() {
    let sent = |params: &str, dscp: u8| {
        [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(|ecn| {
            let mut q = Script::new(params);
            q.put_as(0, ecn, dscp, 1500);
            if q.waiting() == [1, 0] { 'L' } else { 'C' }
        })
    };
    assert_eq!(sent("{}", 0), ['C', 'L', 'C', 'L']);
    assert_eq!(sent("{}", 45), ['C', 'L', 'C', 'L']);
    assert_eq!(sent(r#"{"ecn_mask": 3}"#, 0), ['C', 'L', 'L', 'L']);
    assert_eq!(sent(r#"{"ecn_mask": 2}"#, 0), ['C', 'C', 'L', 'L']);
    // a packet with code point 45 (NQB) goes to L with any ECN field; code point 46 has no effect
    let nqb = r#"{"l_dscp": [45]}"#;
    assert_eq!((sent(nqb, 45), sent(nqb, 46)), (['L'; 4], ['C', 'L', 'C', 'L']));
}

#[test]
fn the_step_goes_by_the_wait_of_the_packet_that_leaves() {
    let mut q = Script::new("{}");
    for (seq, us) in [(0, 0), (1, 1), (2, 500)] {
        q.until(us);
        q.put(seq, Ecn::Ect1);
    }
    // The threshold is 1000 us. Packet 0 has waited exactly this long and is not marked. Packet 1 has waited 1 ns
    // longer and is marked. Packet 2 has waited only 501 us.
    q.now = Time(1000 * US);
    assert_eq!((q.pull(), q.fates()), (Some(0), vec![]));
    q.now = Time(1001 * US + 1);
    assert_eq!((q.pull(), q.fates()), (Some(1), vec!["s1".to_owned()]));
    assert_eq!((q.pull(), q.fates()), (Some(2), vec![]));
    // a packet that cannot be marked is dropped instead, unless its code point is exempt
    for (params, fate) in [(r#"{"l_dscp": [45]}"#, vec!["d0"]), (r#"{"l_dscp": [45], "l_dscp_exempt": true}"#, vec![])]
    {
        let mut q = Script::new(params);
        q.put_as(0, Ecn::NotEct, 45, 1500);
        q.now = Time(2 * MS);
        assert_eq!((q.pull().is_none(), q.fates()), (!fate.is_empty(), fate.iter().map(|f| f.to_string()).collect()));
    }
    // the step never marks packets of C, whatever their sojourn time
    let mut q = Script::new("{}");
    q.put(0, Ecn::Ect0);
    q.now = Time(9 * MS);
    assert_eq!((q.pull(), q.fates()), (Some(0), vec![]));
}

#[test]
fn the_step_in_packets_and_its_least_queue() {
    let mut q = Script::new(r#"{"step_thresh": "2p"}"#);
    (0..5).for_each(|seq| q.put(seq, Ecn::Ect1));
    // packets 0 and 1 leave 4 and 3 packets behind, which is more than the threshold of 2; packet 2 leaves 2 packets behind
    assert_eq!((0..5).map_while(|_| q.pull()).count(), 5);
    assert_eq!(q.fates(), ["s0", "s1"]);
    // packets 0 and 1 are not marked, because L had fewer than two packets when they arrived
    let mut q = Script::new(r#"{"min_qlen_step": 2}"#);
    (0..4).for_each(|seq| q.put(seq, Ecn::Ect1));
    q.now = Time(5 * MS);
    assert_eq!((0..4).map_while(|_| q.pull()).count(), 4);
    assert_eq!(q.fates(), ["s2", "s3"]);
}

#[test]
fn nine_of_l_and_one_of_c() {
    let mut q = Script::new("{}");
    for seq in 0..40 {
        q.put(seq, Ecn::Ect1);
        q.put(100 + seq, Ecn::NotEct);
    }
    let order: String = (0..30).filter_map(|_| q.pull()).map(|seq| if seq < 100 { 'L' } else { 'C' }).collect();
    assert_eq!(order, "LLLLLLLLLC".repeat(3));
    // without packets in L, C is served at once
    let mut q = Script::new("{}");
    q.put(0, Ecn::NotEct);
    assert_eq!(q.pull(), Some(0));
    assert_eq!(q.queue.counters().delivered.packets, 1);
}

#[test]
fn updates_on_the_grid_by_the_longer_wait() {
    let mut q = Script::new("{}");
    q.until(1000);
    q.put(0, Ecn::NotEct);
    q.until(4000);
    q.put(1, Ecn::Ect1);
    // At 16 ms, C's head has waited 15 ms and L's head 12 ms. The longer wait equals the target of 15 ms, and is 15 ms
    // above the last delay, 0. Linux's gains are 44 and 879, in units of 2^-32 per 64 ns of delay. So p' rises to (0 x
    // 44 + 15e6 x 879) / 64 = 206 015 625 times 2^-32.
    assert_eq!(q.queue.next_wake(), Some(Time(16 * MS)));
    q.until(16_000);
    assert_eq!((q.p() * 4_294_967_296.0) as u64, 206_015_625);
    // at 20 ms, packet 1 leaves first, because L is served first, and then packet 0. Packet 2 arrives in L
    q.until(20_000);
    while q.waiting()[1] > 0 {
        q.pull();
    }
    q.put(2, Ecn::Ect1);
    q.until(32_000);
    assert!(q.waiting()[1] == 0, "C has been served");
    let expected = match q.queue.discipline().heads(q.now) {
        // packet 2 is now the head of L. It has waited for 12 ms, 3 ms less than the target and 3 ms less than the last
        // delay, so p' changes by -3e6 x (44 + 879) / 64 = -43 265 625
        [wait, _] if wait == Duration(12 * MS) => 206_015_625 - 43_265_625,
        // if C were served first, packet 1 would still wait. Its 28 ms would be 13 ms above the target and 13 ms above
        // the last delay, so p' would rise by 13e6 x (44 + 879) / 64 = 187 484 375
        _ => 206_015_625 + 187_484_375,
    };
    assert_eq!((q.p() * 4_294_967_296.0) as u64, expected);
    // Both queues are empty, so the delay is 0: 15 ms below the target and 12 ms below the last delay. The next update
    // would change p' by -(15e6 x 44 + 12e6 x 879) / 64 = -175 125 000, so p' becomes 0, and the updates stop.
    while q.pull().is_some() {}
    q.until(2_000_000);
    assert_eq!((q.p(), q.queue.next_wake()), (0.0, None));
}

#[test]
fn no_coupled_law_below_two_frames_and_both_marks_above() {
    // returns a queue whose p' has risen to about 1/2 or more, because a packet has waited for 6 s
    let saturated = |params: &str| {
        let mut q = Script::new(params);
        q.put(0, Ecn::NotEct);
        q.until(6_000_000);
        q.pull();
        q.fates();
        assert!(q.p() > 0.4999, "{}", q.p());
        q
    };
    // without drop_overload, p' is limited to 1/2, so k p' is 1, and the coupled law marks every packet of L that
    // leaves two frames or more behind
    let off = r#"{"drop_overload": false}"#;
    let mut q = saturated(off);
    let now = q.now;
    for (seq, size) in [(1, 1500), (2, 1514), (3, 1514)] {
        q.put_as(seq, Ecn::Ect1, 0, size);
    }
    q.now = now + Duration(2 * MS);
    // packet 1 leaves 3028 bytes behind, and is marked by the law and the step; packet 2 leaves 1514 bytes behind, and is
    // marked by the step alone
    assert_eq!((q.pull(), q.fates()), (Some(1), vec!["l1".to_owned(), "s1".to_owned()]));
    assert_eq!((q.pull(), q.fates()), (Some(2), vec!["s2".to_owned()]));
    let marked = q.queue.discipline().pi2().coupled();
    assert!(marked > 0.999, "{marked}");
    // L and C each count their marks, those by the law and those by the step separately
    use qdisc::QueueDiscipline;
    let classes = q.queue.discipline().classes();
    assert_eq!(
        classes.iter().map(|c| (c.name, c.marked)).collect::<Vec<_>>(),
        [("L", Some([1, 2])), ("C", Some([0, 0]))]
    );
    // with p' = 1, there is overload: L and C drop every packet that leaves at least two frames (3028 bytes) behind,
    // whether the packet is ECN-capable or not
    let mut q = saturated("{}");
    q.until(60_000_000);
    q.put(10, Ecn::NotEct);
    q.until(90_000_000);
    assert!(q.p() > 0.9999, "{}", q.p());
    for seq in 11..15 {
        q.put(seq, Ecn::Ect0);
    }
    // packet 10 leaves 6000 bytes behind and packet 11 leaves 4500, so both are dropped; packet 12 leaves 3000 bytes, fewer
    // than 3028, and is sent
    q.fates();
    let pulled: Vec<u64> = (0..9).filter_map(|_| q.pull()).collect();
    assert_eq!((q.fates(), pulled), (vec!["d10".into(), "d11".into()], vec![12, 13, 14]));
}

#[test]
fn rfc_9332_marks_evenly_by_a_ramp() {
    let mut q = Script::new(r#"{"variant": "rfc9332"}"#);
    // Ten packets have waited 1 ms when they leave, so p'_L = (1000 - 800) / 400 = 1/2, and the third, fifth, seventh and ninth
    // packets are marked. The tenth is alone in L, so it is not marked.
    (0..10).for_each(|seq| q.put(seq, Ecn::Ect1));
    q.now = Time(MS);
    assert_eq!((0..10).map_while(|_| q.pull()).count(), 10);
    assert_eq!(q.fates(), ["s2", "s4", "s6", "s8"]);
    // at 1.2 ms or more, p'_L is 1; at 0.8 ms or less, it is 0; the ramp never marks a packet that is alone in L
    for (us, marked) in [(800, 0), (1200, 2), (5000, 2)] {
        let mut q = Script::new(r#"{"variant": "rfc9332"}"#);
        (0..3).for_each(|seq| q.put(seq, Ecn::Ect1));
        q.now = Time(us * US);
        assert_eq!((0..3).map_while(|_| q.pull()).count(), 3);
        // with p'_L = 1, each packet adds 1 to a running sum, and is marked if the sum exceeds 1. The sum is 1 after
        // the first packet, which is not marked, and 2 after the second, which is marked
        assert_eq!(q.fates().len(), if marked == 2 { 1 } else { 0 }, "{us}");
    }
}

#[test]
fn rfc_9332_in_c_and_for_strangers_in_l() {
    // without drop_overload, p' reaches 1/2, so p_C is 1/4 and p_CL is 1
    let mut q = Script::new(r#"{"variant": "rfc9332", "drop_overload": false, "l_dscp": [45], "ecn_mask": 2}"#);
    q.put(0, Ecn::NotEct);
    q.until(6_000_000);
    q.pull();
    q.fates();
    assert_eq!(q.p(), 0.5);
    // Each Not-ECT packet adds p_C = 1/4 to a running sum in C, and is dropped if the sum exceeds 1. So the fifth such
    // packet is the first to be dropped. Packet 0 was the first of the five.
    for seq in 1..13 {
        q.put(seq, if seq % 2 == 0 { Ecn::NotEct } else { Ecn::Ect1 });
    }
    let pulled: Vec<u64> = (0..12).filter_map(|_| q.pull()).collect();
    let fates = q.fates();
    // With mask 2, ECT(1) packets go to C, where each of the six adds p_CL = 1 to a running sum of their own. A packet
    // is marked if the sum exceeds 1. The first packet raises it only to 1 and is not marked; the other five are
    // marked.
    assert_eq!(fates.iter().filter(|f| f.starts_with('l')).count(), 5, "{fates:?}");
    // each of the six Not-ECT packets adds p_C = 1/4 to the sum for drops, so one of them is dropped
    assert_eq!((fates.iter().filter(|f| f.starts_with('d')).count(), pulled.len()), (1, 11), "{fates:?}");
    // C's law also applies to Not-ECT packets that went to L because of code point 45
    for seq in 20..28 {
        q.put_as(seq, Ecn::NotEct, 45, 1500);
    }
    assert_eq!(q.waiting(), [8, 0]);
    let pulled = (0..8).filter_map(|_| q.pull()).count();
    assert_eq!((pulled, q.fates().len()), (7, 1));
}

#[test]
fn limits() {
    // the two queues together may hold 2 packets
    let mut q = Script::new(r#"{"limit": "2p"}"#);
    q.put(0, Ecn::Ect1);
    q.put(1, Ecn::NotEct);
    q.put(2, Ecn::Ect1);
    assert_eq!((q.fates(), q.waiting()), (vec!["f2".to_owned()], [1, 1]));
    let mut q = Script::new(r#"{"memory_limit": "4000B"}"#);
    (0..3).for_each(|seq| q.put(seq, Ecn::Ect1));
    assert_eq!(q.fates(), ["f2"]);
    // the limit, 250 ms at 12 Mbit/s, is 375 000 bytes or 250 packets of 1500 bytes; a small packet also needs room for 1500
    // bytes
    let mut q = Script::new(r#"{"variant": "rfc9332"}"#);
    (0..250).for_each(|seq| q.put_as(seq, Ecn::Ect1, 0, 1500));
    assert_eq!((q.fates(), q.waiting()), (vec![], [250, 0]));
    let mut q = Script::new(r#"{"variant": "rfc9332"}"#);
    (0..249).for_each(|seq| q.put_as(seq, Ecn::Ect1, 0, 1500));
    q.put_as(249, Ecn::Ect1, 0, 100);
    q.put_as(250, Ecn::Ect1, 0, 100);
    assert_eq!((q.fates(), q.waiting()), (vec!["f250".to_owned()], [250, 0]));
}

/// The results of [`cbr`], counted after the warm-up. Arrays have one element per stream.
#[derive(Debug, Default)]
struct Seen {
    offered: [f64; 2],
    dropped: [f64; 2],
    sent: [f64; 2],
    marked: [f64; 2],
    /// Sum of the sojourn times, ms.
    wait: [f64; 2],
    /// p' at the end of each ms.
    p: Vec<f64>,
    most: u32,
}

impl Seen {
    fn loss(&self, i: usize) -> f64 {
        self.dropped[i] / self.offered[i]
    }
    fn wait_ms(&self, i: usize) -> f64 {
        self.wait[i] / self.sent[i]
    }
    fn marks(&self, i: usize) -> f64 {
        self.marked[i] / self.sent[i]
    }
    fn mean_p(&self) -> f64 {
        self.p.iter().sum::<f64>() / self.p.len() as f64
    }
}

struct Count<'a>(&'a mut Seen, bool);

impl FateSink for Count<'_> {
    fn dropped(&mut self, packet: &PacketMeta, _: DropReason, _: Point) {
        if self.1 {
            self.0.dropped[packet.flow.slot()] += 1.0;
        }
    }
    fn marked(&mut self, _: &PacketMeta, _: MarkReason, _: Point) {}
}

/// Sends two constant streams of 1500-byte packets, with the given rates in bit/s, into a link of 40 Mbit/s. Measures from 10 s
/// to `end` s.
fn cbr(params: &str, streams: [(f64, Ecn); 2], end: u64) -> Seen {
    const LINK: f64 = 40e6;
    let params: Dualpi2Params = serde_json::from_value(params.parse().unwrap()).unwrap();
    let mut queue = Queue::new(params.build());
    let (mut rng, link, flows) = (Rng::named(7, "cbr"), LinkView::plain(BitRate(LINK as u64)), FlowTable::default());
    let gap = streams.map(|(rate, _)| 12_000.0 * 1e9 / rate);
    let mut next = [gap[0] * 0.3, gap[1] * 0.7];
    let (mut free, mut idle, mut look) = (0.0, true, 10e9);
    let mut seen = Seen::default();
    loop {
        let wake = queue.next_wake().map_or(f64::INFINITY, |t| t.0 as f64);
        let leave = if idle { f64::INFINITY } else { free };
        let at = next[0].min(next[1]).min(wake).min(leave).min(look);
        if at >= (end * S) as f64 {
            return seen;
        }
        let warm = at >= 10e9;
        let mut fate = Count(&mut seen, warm);
        let now = Time(at as u64);
        let cx = &mut Context { now, rng: &mut rng, link: &link, flows: &flows, fate: &mut fate };
        if at == look {
            look += 1e6;
            seen.p.push(queue.discipline().pi2().p());
            seen.most = seen.most.max(queue.backlog().packets);
            continue;
        }
        if at == wake {
            queue.wake(cx);
            continue;
        }
        if at != leave {
            let i = usize::from(next[1] < next[0]);
            next[i] += gap[i];
            let packet =
                PacketMeta { size: 1500, tos: streams[i].1 as u8, flow: FlowId(i as u32), ..Default::default() };
            queue.enqueue(packet, cx);
            if warm {
                seen.offered[i] += 1.0;
            }
            if !idle {
                continue;
            }
        }
        let cx = &mut Context { now, rng: &mut rng, link: &link, flows: &flows, fate: &mut Count(&mut seen, warm) };
        let packet = queue.dequeue(cx);
        idle = packet.is_none();
        if let Some(p) = packet {
            free = at + 12_000.0 * 1e9 / LINK;
            if warm {
                let i = p.flow.slot();
                seen.sent[i] += 1.0;
                seen.wait[i] += now.since(p.stamp).0 as f64 / 1e6;
                seen.marked[i] += f64::from(u8::from(p.ecn() == Ecn::Ce));
            }
        }
    }
}

#[track_caller]
fn within(seen: f64, expected: f64, share: f64) {
    assert!((seen - expected).abs() <= share * expected, "{seen} not {expected}");
}

const VARIANTS: [&str; 2] = [r#"{"variant": "linux"}"#, r#"{"variant": "rfc9332"}"#];

/// Tests that the integral action (RFC 9332 Appendix A) holds the mean delay at the target. If A is the arrival rate in
/// queue C, and R the rate that L leaves for this queue, the queue drops the excess, so p_C = 1 - R/A. The stream in L
/// is sparse, and its packets wait for less than the transmission time of two frames. So these packets get only coupled
/// marks, with probability k p'.
#[test]
fn datagrams_in_c_that_do_not_respond() {
    for params in VARIANTS {
        // 43.9 + 0.1 Mbit/s is 1.1 times the rate. The stream in L is never dropped, so C gets 39.9 of its 43.9 Mbit/s.
        let seen = cbr(params, [(43.9e6, Ecn::NotEct), (0.1e6, Ecn::Ect1)], 60);
        let p_c = 1.0 - 39.9 / 43.9;
        within(seen.loss(0), p_c, 0.03);
        within(seen.mean_p(), p_c.sqrt(), 0.03);
        within(seen.wait_ms(0), 15.0, 0.03);
        // on average, 60 % of 417 packets in L are marked, with a standard deviation of 2.4 %
        within(seen.marks(1), 2.0 * p_c.sqrt(), 0.15);
        assert!(seen.wait_ms(1) < 0.35 && seen.dropped[1] == 0.0, "{seen:?}");
    }
}

/// Tests an overload of L (RFC 9332 Appendix A). If ECT(1) packets arrive in L at a rate A > 4B/3, where B is the link's
/// rate, then p' settles at sqrt(1 - B/A), which is above 1/2. L drops packets with probability p_C and marks all
/// others, and L's delay settles at the target, not at the threshold of the step.
#[test]
fn overload_by_datagrams_in_l() {
    for params in VARIANTS {
        let seen = cbr(params, [(60e6, Ecn::Ect1), (1e3, Ecn::NotEct)], 40);
        let p_c = 1.0f64 - 40.0 / 60.0;
        within(seen.loss(0), p_c, 0.03);
        within(seen.mean_p(), p_c.sqrt(), 0.03);
        within(seen.wait_ms(0), 15.0, 0.03);
        assert!(seen.marks(0) > 0.9999, "{}", seen.marks(0));
        // If the arrival rate is between the link's rate and 4/3 of it, L drops only while p' is above 1/2. So p' stays
        // near 1/2, and the delay is still about the target.
        let seen = cbr(params, [(48e6, Ecn::Ect1), (1e3, Ecn::NotEct)], 40);
        within(seen.loss(0), 1.0 - 40.0 / 48.0, 0.03);
        within(seen.mean_p(), 0.5, 0.03);
        within(seen.wait_ms(0), 15.0, 0.1);
    }
}

/// Without drops on overload, p' is at most 1/k and the queue grows to the limit.
#[test]
fn overload_without_drops_fills_the_queue() {
    for variant in ["linux", "rfc9332"] {
        let params = format!(r#"{{"variant": "{variant}", "drop_overload": false, "limit": "500p"}}"#);
        let seen = cbr(&params, [(60e6, Ecn::Ect1), (1e3, Ecn::NotEct)], 20);
        assert_eq!(seen.most, 500);
        within(seen.mean_p(), 0.5, 1e-6);
        within(seen.loss(0), 1.0 / 3.0, 0.01);
        // each of the 500 packets takes 0.3 ms
        within(seen.wait_ms(0), 150.0, 0.01);
    }
}

/// While a flood of packets fills L, C's head waits for about nine packets of L (Linux) or fifteen (RFC 9332).
#[test]
fn c_is_protected_from_a_flood_in_l() {
    let seen = cbr(VARIANTS[0], [(60e6, Ecn::Ect1), (2e6, Ecn::NotEct)], 40);
    // C's share is a tenth of the link, 4 Mbit/s, so a stream of 2 Mbit/s builds no queue, and its packets wait for at most ten
    // times 0.3 ms
    assert!(seen.wait_ms(1) < 3.0, "{}", seen.wait_ms(1));
    // with rfc9332, L and C share the link in the ratio 15 : 1, so C's head waits for at most sixteen times 0.3 ms
    let seen = cbr(VARIANTS[1], [(60e6, Ecn::Ect1), (2e6, Ecn::NotEct)], 40);
    assert!(seen.wait_ms(1) < 4.8, "{}", seen.wait_ms(1));
}

#[test]
fn what_is_refused() {
    let refusal = |text: &str| {
        let spec: Spec = serde_json::from_value(format!(r#"{{"dualpi2": {text}}}"#).parse().unwrap()).unwrap();
        spec.validate().unwrap_err().to_string()
    };
    assert!(refusal(r#"{"coupling_factor": 1.5}"#).contains("a whole number from 1 to 255, or variant"));
    assert!(refusal(r#"{"coupling_factor": 0}"#).ends_with("expected a whole number from 1 to 255"));
    assert!(refusal(r#"{"ecn_mask": 0}"#).contains("dualpi2.ecn_mask: 0 is not valid; expected 1"));
    assert!(refusal(r#"{"ecn_mask": 4}"#).contains("expected 1"));
    assert!(refusal(r#"{"l_dscp": [64]}"#).contains("0 to 63"));
    assert!(refusal(r#"{"step_thresh": "3000B"}"#).contains("expected a time"));
    assert!(refusal(r#"{"min_th": "2ms"}"#).contains("above min_th (2ms)"));
    assert!(refusal(r#"{"target": "0s"}"#).contains("more than 0s"));
    assert!(refusal(r#"{"tupdate": "1us"}"#).contains("100us"));
    assert!(refusal(r#"{"alpha": 0}"#).contains("dualpi2.alpha"));
    // with these values, alpha would be 0.1 tupdate / rtt_max^2 = 0.1 x 16 ms / (1 us)^2 = 1.6e9 per second, which is
    // above the limit
    assert!(refusal(r#"{"rtt_max": "1us", "tupdate": "16ms"}"#).contains("dualpi2.rtt_max: gives a gain of"));
    // Linux's gains are whole multiples of 1/256 = 0.0039 per second, so smaller gains would become 0. With the target of 15 ms, alpha
    // = 0.1 x 15 ms / rtt_max^2 is below 1/256 from 619.7 ms on. tc also refuses such a max_rtt.
    let gain = refusal(r#"{"alpha": 0.0038}"#);
    assert!(gain.contains("dualpi2.alpha: 0.0038 is not valid") && gain.contains("at least 0.00390625"), "{gain}");
    assert!(refusal(r#"{"beta": 0.001}"#).contains("dualpi2.beta: 0.001 is not valid"));
    let long = refusal(r#"{"rtt_max": "620ms"}"#);
    assert!(long.contains("dualpi2.rtt_max: gives alpha = 3.90e-3") && long.contains("rfc9332"), "{long}");
    assert!(refusal(r#"{"rtt_max": "80s", "alpha": 1}"#).contains("dualpi2.rtt_max: gives beta = 3.75e-3"));
    for text in [
        r#"{"rtt_max": "619ms"}"#,
        r#"{"rtt_max": "620ms", "alpha": 0.01}"#,
        r#"{"alpha": 0.00390625, "beta": 0.004}"#,
        r#"{"rtt_max": "80s", "variant": "rfc9332", "beta": 0.001}"#,
    ] {
        let spec: Spec = serde_json::from_value(format!(r#"{{"dualpi2": {text}}}"#).parse().unwrap()).unwrap();
        spec.validate().unwrap();
    }
    assert!(refusal(r#"{"time_shift": "50ms", "classic_protection": 0.1}"#).contains("two ways"));
    assert!(refusal(r#"{"drop_early": true, "native": "ramp"}"#).contains("step"));
    assert!(refusal(r#"{"l_dscp_exempt": true}"#).contains("needs l_dscp"));
    assert!(refusal(r#"{"limit": "0p"}"#).contains("dualpi2.limit"));
    // dualpi2 cannot be the law of a fair discipline's queues
    for text in [r#"{"fair": {"law": "dualpi2"}}"#, r#""sfq + dualpi2""#] {
        let hosted = serde_json::from_value::<Spec>(text.parse().unwrap()).unwrap_err().to_string();
        assert!(
            hosted.contains("dualpi2 is no law but has queues of its own; expected one of none, codel"),
            "{hosted}"
        );
    }
    let hosted = serde_json::from_value::<Spec>(r#"{"fair": {"law": {"dualpi2": {}}}}"#.parse().unwrap())
        .unwrap_err()
        .to_string();
    assert!(hosted.contains("unknown variant `dualpi2`, expected one of `codel`"), "{hosted}");
}
