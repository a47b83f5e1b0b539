//! Tests that compare CAKE with results known from formulas or worked out by hand: spacing, shares of hosts and tins,
//! the wait of a sparse flow, BLUE, the memory limit.

use packet::{DropReason, FateSink, Flags, FlowId, FlowTable, FlowTuple, LinkView, MarkReason, PacketMeta, Point};
use proptest::prelude::*;
use qdisc::{Context, Queue, QueueDiscipline, Spec};
use units::{BitRate, Duration, Rng, Time};

fn spec(json: &str) -> Spec {
    let spec: Spec = serde_json::from_value(format!("{{\"cake\":{json}}}").parse().unwrap()).unwrap();
    spec.validate().unwrap_or_else(|p| panic!("{p}"));
    spec
}

#[derive(Default)]
struct Gone(Vec<(u32, DropReason)>);

impl FateSink for Gone {
    fn dropped(&mut self, packet: &PacketMeta, reason: DropReason, _: Point) {
        self.0.push((packet.flow.0, reason));
    }
    fn marked(&mut self, _: &PacketMeta, _: MarkReason, _: Point) {}
}

/// CAKE in front of a link that is never busy, so that only CAKE's own clock delays packets.
struct Home {
    queue: Queue,
    rng: Rng,
    link: LinkView,
    flows: FlowTable,
    now: Time,
    gone: Gone,
    /// Time, flow and bytes of each departure.
    sent: Vec<(Time, u32, u16)>,
}

impl Home {
    fn new(json: &str) -> Self {
        Self {
            queue: Queue::new(spec(json).build()),
            rng: Rng::named(3, "cake"),
            link: LinkView::plain(BitRate(1_000_000_000)),
            flows: FlowTable::default(),
            now: Time::ZERO,
            gone: Gone::default(),
            sent: Vec::new(),
        }
    }

    fn flow(&mut self, i: u32, src: u32, dst: u32) {
        let tuple = FlowTuple { src, dst, sport: 1000 + i as u16, dport: 80, ..Default::default() };
        self.flows.set(FlowId(i), tuple);
    }

    fn call<T>(&mut self, f: impl FnOnce(&mut Queue, &mut Context<'_>) -> T) -> T {
        let Self { queue, rng, link, flows, now, gone, .. } = self;
        f(queue, &mut Context { now: *now, rng, link, flows, fate: gone })
    }

    fn put(&mut self, packet: PacketMeta) {
        self.call(|q, cx| q.enqueue(packet, cx));
        self.drain();
    }

    fn offer(&mut self, flow: u32, size: u16, dscp: u8) {
        self.put(PacketMeta { flow: FlowId(flow), size, tos: dscp << 2, ..Default::default() });
    }

    fn drain(&mut self) {
        while let Some(p) = self.call(|q, cx| q.dequeue(cx)) {
            self.sent.push((self.now, p.flow.0, p.size));
        }
    }

    /// Advances the time to `until`, and dequeues every packet as soon as CAKE's clock allows.
    fn run(&mut self, until: Time) {
        while let Some(at) = self.queue.next_wake().filter(|at| *at <= until) {
            assert!(at >= self.now, "a wake in the past");
            self.now = at;
            self.call(|q, cx| q.wake(cx));
            self.drain();
        }
        self.now = until;
    }

    /// Offers constant streams of 1500-byte packets, `(flow, bits per second, code point)`, for `ms` milliseconds.
    fn streams(&mut self, streams: &[(u32, f64, u8)], ms: u64) {
        let gap = |rate: f64| 1500.0 * 8e9 / rate;
        let mut next: Vec<f64> = streams
            .iter()
            .zip(0..)
            .map(|(s, i)| self.now.0 as f64 + gap(s.1) * f64::from(i) / streams.len() as f64)
            .collect();
        let end = self.now + Duration::from_millis(ms);
        loop {
            let first = (0..next.len()).min_by(|a, b| next[*a].total_cmp(&next[*b])).unwrap();
            let at = Time(next[first] as u64);
            if at >= end {
                return self.run(end);
            }
            self.run(at);
            self.offer(streams[first].0, 1500, streams[first].2);
            next[first] += gap(streams[first].1);
        }
    }

    /// Returns the share that the selected flows (those for which `these` returns true) have in the bytes sent since
    /// the time `from`.
    fn share(&self, from: Time, these: impl Fn(u32) -> bool) -> f64 {
        let bytes = |f: &dyn Fn(u32) -> bool| {
            self.sent.iter().filter(|s| s.0 >= from && f(s.1)).map(|s| f64::from(s.2)).sum::<f64>()
        };
        bytes(&these) / bytes(&|_| true)
    }
}

#[test]
fn packets_leave_at_the_rate_exactly_and_without_a_burst() {
    // with DOCSIS overhead, IP packets of 1500 and 40 bytes cost 1518 and 64 bytes, which take 1214.4 and 51.2 us at 10 Mbit/s
    let mut home = Home::new(r#"{"bandwidth":"10mbit","overhead":18,"mpu":64}"#);
    home.now = Time(5_000_000_000);
    for size in [1500, 1500, 40, 1500] {
        home.offer(0, size, 0);
    }
    home.run(Time(6_000_000_000));
    let times: Vec<u64> = home.sent.iter().map(|s| s.0.0 - 5_000_000_000).collect();
    assert_eq!(times, [0, 1_214_400, 2_428_800, 2_480_000]);
    // after a pause, the first packet leaves at once, and the second packet leaves when the first has been sent
    home.offer(0, 1500, 0);
    home.offer(0, 1500, 0);
    home.run(Time(7_000_000_000));
    let times: Vec<u64> = home.sent[4..].iter().map(|s| s.0.0 - 6_000_000_000).collect();
    assert_eq!(times, [0, 1_214_400]);
}

#[test]
fn a_late_look_is_caught_up() {
    // Eight packets take 1 ms each at 8 Mbit/s. There is no call between 0 and 3.5 ms, so the packets due at 1, 2 and 3 ms leave at
    // 3.5 ms. The fifth packet leaves at 4 ms.
    let mut home = Home::new(r#"{"bandwidth":"8mbit"}"#);
    for _ in 0..8 {
        home.offer(0, 1000, 0);
    }
    home.now = Time(3_500_000);
    home.call(|q, cx| q.wake(cx));
    home.drain();
    home.run(Time(1_000_000_000));
    let times: Vec<u64> = home.sent.iter().map(|s| s.0.0 / 1000).collect();
    assert_eq!(times, [0, 3500, 3500, 3500, 4000, 5000, 6000, 7000]);
}

fn shares(home: &Home, from: Time, flows: u32) -> Vec<f64> {
    (0..flows).map(|i| home.share(from, |f| f == i)).collect()
}

#[test]
fn instances_share_the_rate_however_many_flows_each_has() {
    // 16 flows share 2 instances of 5 Mbit/s. If one instance has k flows, each of these flows gets 1 / (2 k) of the
    // total rate, and each flow of the other instance gets 1 / (2 (16 - k))
    let mut home = Home::new(r#"{"bandwidth":"10mbit","instances":2}"#);
    (0..16).for_each(|i| home.flow(i, 1 + i, 100 + i));
    let streams: Vec<(u32, f64, u8)> = (0..16).map(|i| (i, 5e6, 0)).collect();
    home.streams(&streams, 10_000);
    let from = Time(2_000_000_000);
    let bytes: f64 = home.sent.iter().filter(|s| s.0 >= from).map(|s| f64::from(s.2)).sum();
    assert!((bytes - 10e6).abs() < 6000.0, "8 s at 10 Mbit/s is 10 MB, not {bytes}");
    let shares = shares(&home, from, 16);
    let first: Vec<f64> = shares.iter().copied().filter(|s| (s / shares[0] - 1.0).abs() < 0.02).collect();
    let k = first.len() as f64;
    assert!((1.0..16.0).contains(&k), "all flows have the same instance");
    for share in &shares {
        let of = if (share / shares[0] - 1.0).abs() < 0.02 { 2.0 * k } else { 32.0 - 2.0 * k };
        assert!((share * of - 1.0).abs() < 0.02, "{shares:?}");
    }
}

#[test]
fn an_instance_alone_has_the_whole_rate() {
    // 1500 B take 1.2 ms at 10 Mbit/s and 2.4 ms at 5 Mbit/s, so the 40 packets of flow 1 leave from 100 to 193.6 ms.
    // With an interval of 10 s, the law drops no packet.
    let spaces = |dst: u32, other: bool| {
        let mut home = Home::new(r#"{"bandwidth":"10mbit","instances":2,"rtt":"10s"}"#);
        home.flow(0, 1, 2);
        home.flow(1, 1, 3 + dst);
        (0..400).for_each(|_| home.offer(0, 1500, 0));
        home.run(Time(100_000_000));
        (0..if other { 40 } else { 0 }).for_each(|_| home.offer(1, 1500, 0));
        home.run(Time(300_000_000));
        let times: Vec<u64> = home.sent.iter().filter(|s| s.1 == 0).map(|s| s.0.0).collect();
        let first = home.sent.iter().find(|s| s.1 == 1).map(|s| s.0);
        (first, times.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<u64>>())
    };
    assert!(spaces(0, false).1.iter().all(|space| *space == 1_200_000));
    // for some destinations, the hash puts flow 1 into the instance that flow 0 does not use. Flow 1 then sends at
    // once, and as long as flow 1 has packets, flow 0 gets half of the rate
    let at_once = |of: &(Option<Time>, Vec<u64>)| of.0 == Some(Time(100_000_000));
    let (_, of) = (0..20).map(|i| spaces(i, true)).find(at_once).expect("a flow in the other instance");
    let halved = of.iter().filter(|space| **space == 2_400_000).count();
    // flow 1's last packet leaves 39 x 2.4 ms after its first packet. After that, at the second dequeue of flow 0's
    // instance, this instance detects that it is alone again
    assert!((39..=41).contains(&halved), "{halved}");
    assert!(of.iter().rev().take(50).all(|space| *space == 1_200_000));
    assert!(of.iter().all(|space| [1_200_000, 2_400_000].contains(space)), "{of:?}");
}

#[test]
fn hosts_share_equally_however_many_flows_they_have() {
    // One host has 8 flows and another has 1, and each of the nine flows goes to a different server. Each flow offers
    // the link's full rate.
    for (isolation, expected) in [
        ("triple_isolate", 0.5),
        ("dual_srchost", 0.5),
        ("srchost", 0.5),
        ("flows", 1.0 / 9.0),
        ("dual_dsthost", 1.0 / 9.0),
    ] {
        let mut home = Home::new(&format!(r#"{{"bandwidth":"10mbit","isolation":"{isolation}"}}"#));
        (0..8).for_each(|i| home.flow(i, 1, 100 + i));
        home.flow(8, 2, 200);
        let streams: Vec<(u32, f64, u8)> = (0..9).map(|i| (i, 10e6, 0)).collect();
        home.streams(&streams, 20_000);
        let share = home.share(Time(2_000_000_000), |f| f == 8);
        assert!((share - expected).abs() < 0.01, "{isolation}: {share}");
    }
}

#[test]
fn the_greater_load_counts_not_their_product() {
    // Source 1 sends four flows to destinations 11 to 14, and source 2 sends one flow to destination 15. Each of the four flows
    // gets a quarter of a quantum per turn. So each source has 1/2 of the rate, and each of the four flows 1/8.
    let mut home = Home::new(r#"{"bandwidth":"10mbit"}"#);
    (0..4).for_each(|i| home.flow(i, 1, 11 + i));
    home.flow(4, 2, 15);
    let streams: Vec<(u32, f64, u8)> = (0..5).map(|i| (i, 10e6, 0)).collect();
    home.streams(&streams, 20_000);
    for i in 0..4 {
        let share = home.share(Time(2_000_000_000), |f| f == i);
        assert!((share - 0.125).abs() < 0.005, "{i}: {share}");
    }
}

#[test]
fn a_sparse_flow_waits_for_a_packet_of_each_other_one_and_the_one_in_service() {
    // Eight bulk flows fill 10 Mbit/s, and three sparse flows send one packet each every 50 ms. A sparse packet waits
    // for the packet in service and for at most one packet of each sparse flow. The bound allows 1.2 ms, the time of
    // 1500 bytes, for each of them.
    let mut home = Home::new(r#"{"bandwidth":"10mbit","diffserv":"besteffort"}"#);
    (0..11).for_each(|i| home.flow(i, 1 + i, 50 + i));
    let mut arrived = Vec::new();
    for round in 0..100u64 {
        home.streams(&(0..8).map(|i| (i, 2e6, 0)).collect::<Vec<_>>(), 50);
        for i in 8..11 {
            arrived.push((i, home.now));
            // the size of a sparse packet is less than the quantum of 305 bytes
            home.offer(i, 300, 0);
        }
        assert!(round < 2 || home.queue.backlog().packets > 3);
    }
    home.run(home.now + Duration::from_millis(50));
    let mut worst = 0;
    for i in 8..11u32 {
        let asked = arrived.iter().filter(|a| a.0 == i).map(|a| a.1);
        let left: Vec<Time> = home.sent.iter().filter(|s| s.1 == i).map(|s| s.0).collect();
        assert_eq!(left.len(), 100, "none is dropped");
        worst = worst.max(left.iter().zip(asked).map(|(l, a)| l.since(a).0).max().unwrap());
    }
    assert!(worst <= 3 * 1_200_000 + 1_200_000, "{worst} ns");
    assert!(worst > 240_000, "{worst} ns: no sparse packet waited for another");
}

#[test]
fn thresholds_of_tins_bound_their_priority_not_their_rate() {
    // with diffserv3 at 16 Mbit/s, voice has priority up to 4 Mbit/s, bulk gets a sixteenth, and a tin that is alone may use the
    // whole link
    let voice = |rate: f64| {
        let mut home = Home::new(r#"{"bandwidth":"16mbit","diffserv":"diffserv3"}"#);
        (0..3).for_each(|i| home.flow(i, 1 + i, 9));
        home.streams(&[(0, 20e6, 0), (1, 20e6, 8), (2, rate, 46)], 20_000);
        let share = |f: u32| home.share(Time(2_000_000_000), |x| x == f) * 16e6;
        [share(0), share(1), share(2)]
    };
    let [_, bulk, low] = voice(2e6);
    assert!((low - 2e6).abs() < 4e4, "{low}");
    assert!((bulk - 1e6).abs() < 5e4, "{bulk}");
    let [rest, _, high] = voice(20e6);
    assert!(high >= 3.9e6 && rest > 3.9e6, "{high} {rest}");
    let mut alone = Home::new(r#"{"bandwidth":"16mbit","diffserv":"diffserv3"}"#);
    alone.flow(0, 1, 2);
    alone.streams(&[(0, 20e6, 8)], 5000);
    let bytes: f64 = alone.sent.iter().map(|s| f64::from(s.2)).sum();
    assert!((bytes * 8.0 / 5.0 - 16e6).abs() < 3e4, "{bytes}");
}

#[test]
fn a_call_keeps_its_rate_among_bulk_flows_only_in_its_tin() {
    // A call of 2 Mbit/s shares 10 Mbit/s with 32 flows that fill the link. With besteffort the call gets a 33rd of the link,
    // 0.30 Mbit/s; in the voice tin it gets all its 2 Mbit/s.
    let lost = |diffserv: &str| {
        let mut home = Home::new(&format!(r#"{{"bandwidth":"10mbit","diffserv":"{diffserv}"}}"#));
        (0..33).for_each(|i| home.flow(i, 1 + i, 100 + i));
        let mut streams: Vec<(u32, f64, u8)> = (0..32).map(|i| (i, 1e6, 0)).collect();
        streams.push((32, 2e6, 46));
        home.streams(&streams, 30_000);
        let sent = home.sent.iter().filter(|s| s.1 == 32).count() as f64;
        1.0 - sent * 1500.0 * 8.0 / (2e6 * 30.0)
    };
    let (best_effort, voice) = (lost("besteffort"), lost("diffserv3"));
    assert!((best_effort - (1.0 - 10.0 / 33.0 / 2.0)).abs() < 0.06, "{best_effort}");
    assert!(voice < 0.001, "{voice}");
}

#[test]
fn tins_take_turns_by_weight_where_nothing_shapes() {
    // without `bandwidth`, CAKE sends at the link's rate, and best effort, bulk and voice share the link in the ratio 1024 : 64 :
    // 256
    let mut home = Home::new(r#"{"diffserv":"diffserv3"}"#);
    (0..3).for_each(|i| home.flow(i, 1 + i, 9));
    let mut sent = [0u32; 3];
    let put = |home: &mut Home| {
        for (flow, dscp) in [(0u32, 0u8), (1, 8), (2, 46)] {
            let p = PacketMeta { flow: FlowId(flow), size: 1000, tos: dscp << 2, ..Default::default() };
            home.call(|q, cx| q.enqueue(p, cx));
        }
    };
    (0..1000).for_each(|_| put(&mut home));
    for _ in 0..1000 {
        let p = home.call(|q, cx| q.dequeue(cx)).unwrap();
        sent[p.flow.0 as usize] += 1;
    }
    for (n, weight) in sent.iter().zip([1024.0, 64.0, 256.0]) {
        let expected = 1000.0 * weight / 1344.0;
        assert!((f64::from(*n) - expected).abs() <= 0.01 * expected + 2.0, "{sent:?}");
    }
}

#[test]
fn over_the_memory_limit_the_longest_queue_pays_at_its_head_and_blue_climbs() {
    // One flow sends at 3 times the rate, so 2/3 of its packets must be dropped. CoDel alone would reach this share only
    // slowly; BLUE takes a step every 5 ms while the memory of 100 kB overflows.
    let mut home = Home::new(r#"{"bandwidth":"8mbit","memory_limit":"100KB","diffserv":"besteffort"}"#);
    home.flow(0, 1, 2);
    home.flow(1, 3, 4);
    home.streams(&[(0, 24e6, 0), (1, 0.4e6, 0)], 2000);
    assert!(home.queue.backlog().bytes <= 100_000);
    assert!(home.gone.0.iter().all(|(flow, _)| *flow == 0), "the other flow loses nothing");
    assert!(home.gone.0.iter().any(|(_, r)| *r == DropReason::HeadFull));
    let full = |gone: &[(u32, DropReason)]| gone.iter().filter(|(_, r)| *r == DropReason::HeadFull).count();
    let early = full(&home.gone.0);
    // BLUE's steps are 1/256, so its probability reaches 2/3 after 171 steps, or 0.85 s. CoDel's drops also contribute, so
    // overflows are rare after this time
    let before = home.gone.0.len();
    home.streams(&[(0, 24e6, 0), (1, 0.4e6, 0)], 2000);
    let late = full(&home.gone.0[before..]);
    assert!(early > 20 && late * 5 < early, "{early} {late}");
}

#[test]
fn a_packet_of_several_segments_pays_for_each() {
    // The packet has three segments of 1500 bytes and one of 152, each with 32 bytes of overhead. An ATM cell carries
    // 48 bytes, so a long segment fills 1532 / 48 = 31.9 cells, and the short one 184 / 48 = 3.8. Rounded up, the
    // packet takes 3 x 32 + 4 = 100 cells of 53 bytes, or 5.3 ms at 8 Mbit/s. A packet without segments takes 4684 / 48
    // = 97.6 cells, rounded up to 98, or 5.194 ms.
    let mut home = Home::new(r#"{"bandwidth":"8mbit","split_gso":false,"overhead":32,"framing":"atm"}"#);
    home.flow(1, 1, 2);
    home.flows.set_frames(FlowId(1), [1500, 52]);
    for flags in [Flags::GSO, Flags::GSO, Flags::default(), Flags::default()] {
        home.put(PacketMeta { flow: FlowId(1), size: 4652, flags, ..Default::default() });
    }
    home.run(Time(1_000_000_000));
    let left: Vec<u64> = home.sent.iter().map(|(at, _, _)| at.0).collect();
    assert_eq!(left, [0, 5_300_000, 10_600_000, 10_600_000 + 5_194_000]);
}

#[test]
fn washing_takes_the_code_point_after_it_was_read() {
    let mut home = Home::new(r#"{"diffserv":"diffserv3","wash":true}"#);
    let p = PacketMeta { size: 100, tos: 46 << 2 | 2, ..Default::default() };
    home.call(|q, cx| q.enqueue(p, cx));
    assert_eq!(home.call(|q, cx| q.dequeue(cx)).unwrap().tos, 2);
    let names: Vec<(&str, u64)> =
        home.queue.discipline().classes().iter().map(|c| (c.name, c.counts.delivered.packets)).collect();
    assert_eq!(names, [("best_effort", 0), ("bulk", 0), ("voice", 1)]);
}

#[test]
fn in_ingress_mode_what_is_dropped_has_used_the_line() {
    // A stream of 12 Mbit/s arrives at a shaper of 8 Mbit/s. In ingress mode, drops use up the rate like departures.
    let out = |ingress: bool| {
        let json =
            format!(r#"{{"bandwidth":"8mbit","diffserv":"besteffort","ingress":{ingress},"memory_limit":"60KB"}}"#);
        let mut home = Home::new(&json);
        home.flow(0, 1, 2);
        home.streams(&[(0, 12e6, 0)], 10_000);
        let from = Time(5_000_000_000);
        home.sent.iter().filter(|s| s.0 >= from).map(|s| f64::from(s.2)).sum::<f64>() * 8.0 / 5.0
    };
    assert!((out(false) - 8e6).abs() < 3e4);
    // The stream never slows down, so the drops alone would use up the shaper's rate. The failsafe clock keeps
    // departures at two thirds of the rate.
    let least = out(true);
    assert!((least - 8e6 / 1.5).abs() < 6e4, "{least}");
}

#[test]
fn the_ack_filter_keeps_the_newest() {
    for (filter, left) in [("off", 20), ("normal", 3), ("aggressive", 2)] {
        let mut home = Home::new(&format!(r#"{{"bandwidth":"1mbit","ack_filter":"{filter}"}}"#));
        for i in 0..20u64 {
            // CAKE sends the first ACK at once, so the filter never sees this ACK in the queue
            let p = PacketMeta { seq: 1000 * i, size: 40, flags: Flags::PURE_ACK, ..Default::default() };
            home.put(p);
        }
        home.run(Time(1_000_000_000));
        assert_eq!(home.sent.len(), left, "{filter}");
        assert_eq!(home.gone.0.iter().filter(|g| g.1 == DropReason::AckFilter).count(), 20 - left);
    }
}

#[test]
fn the_default_memory_is_that_of_linux() {
    // Without a rate, Linux's limit is 10240 frames of 1514 bytes, or 15140 KiB. With a rate, it is what the rate
    // carries in four times the rtt, 12.5 MB at 250 Mbit/s and 100 ms, but at least 4 MiB and at most 15140 KiB.
    for (cake, full) in [
        ("{}", 15_503_360),
        (r#"{"bandwidth":"250mbit"}"#, 12_500_000),
        (r#"{"bandwidth":"1mbit"}"#, 4_194_304),
        (r#"{"bandwidth":"10gbit"}"#, 15_503_360),
        (r#"{"bandwidth":"1mbit","memory_limit":"20MB"}"#, 20_000_000),
    ] {
        let mut home = Home::new(cake);
        // packets of 15 000 B reach each of these limits before the limit of 10 240 packets
        let packet = PacketMeta { size: 15_000, ..Default::default() };
        (0..2000).for_each(|_| {
            home.call(|q, cx| {
                q.enqueue(packet, cx);
            })
        });
        let bytes = home.queue.backlog().bytes;
        assert!(bytes <= full && bytes + 15_000 > full, "{cake}: {bytes}");
    }
}

#[test]
fn what_does_not_fit_is_refused_with_its_path() {
    let problem =
        |json: &str| serde_json::from_value::<Spec>(json.parse().unwrap()).unwrap().validate().unwrap_err().to_string();
    for (json, part) in [
        (r#"{"cake":{"bandwidth":"0bit"}}"#, "cake.bandwidth"),
        (r#"{"cake":{"overhead":300}}"#, "cake.overhead"),
        (r#"{"cake":{"mpu":300}}"#, "cake.mpu"),
        (r#"{"cake":{"rtt":"0s"}}"#, "cake.rtt"),
        (r#"{"cake":{"memory_limit":"1B"}}"#, "cake.memory_limit"),
        (r#"{"cake":{"instances":0}}"#, "cake.instances"),
        (r#"{"cake":{"instances":65}}"#, "cake.instances"),
    ] {
        assert!(problem(json).contains(part), "{}", problem(json));
    }
    let fast = spec(r#"{"bandwidth":"10mbit"}"#);
    let refusal = fast.validate_at(BitRate(9_000_000)).unwrap_err().to_string();
    assert!(refusal.contains("cake.bandwidth") && refusal.contains("9mbit"), "{refusal}");
    assert!(fast.validate_at(BitRate(10_000_000)).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Departures are never faster than the rate: the time between two departures is at least the first packet's cost
    /// divided by the rate.
    #[test]
    fn spacing_holds_for_any_arrivals(
        arrivals in prop::collection::vec((0u64..4_000_000, 0u32..6, 40u16..1500, 0u8..64), 1..300),
        tins in prop::sample::select(vec!["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"]),
    ) {
        let mut home = Home::new(&format!(r#"{{"bandwidth":"5mbit","diffserv":"{tins}","overhead":18,"mpu":64}}"#));
        (0..6).for_each(|i| home.flow(i, 1 + i % 2, 5 + i % 3));
        for (wait, flow, size, dscp) in arrivals {
            let until = home.now + Duration(wait);
            home.run(until);
            home.offer(flow, size, dscp);
        }
        home.run(home.now + Duration::from_secs(60));
        prop_assert_eq!(home.queue.backlog().packets, 0);
        for pair in home.sent.windows(2) {
            let cost = (u64::from(pair[0].2) + 18).max(64) * 1600;
            prop_assert!(pair[1].0.since(pair[0].0).0 >= cost, "{:?}", pair);
        }
        prop_assert_eq!(home.queue.next_wake(), None);
    }
}
