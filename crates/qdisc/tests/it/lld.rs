//! Low Latency DOCSIS's queues by hand: the coupled DOCSIS-PIE, its rate r_C, rates of the service flows, the virtual queue.
//!
//! Sizes are of IP packets of 1500 bytes: 1518 as Ethernet frames (C, r_L), 1528 with the MAC header (L).

use packet::{
    Aggregate, DropReason, Ecn, FateSink, FlowId, FlowTable, Item, LinkView, MarkReason, PacketMeta, Point, Reading,
    RequestLoop, ServiceFlow, Value,
};
use qdisc::dual::lld::{DocsisLld, DocsisLldParams};
use qdisc::{Context, Params, Queue, QueueDiscipline, ServiceFlows};
use units::{BitRate, Duration, Rng, Time};

const US: u64 = 1000;

/// Fates of packets: "e7" dropped early, "f7" dropped for lack of room, "m7" marked.
#[derive(Default)]
struct Fates(Vec<String>);

impl FateSink for Fates {
    fn dropped(&mut self, packet: &PacketMeta, reason: DropReason, _: Point) {
        self.0.push(format!("{}{}", if reason == DropReason::TailFull { 'f' } else { 'e' }, packet.seq));
    }
    fn marked(&mut self, packet: &PacketMeta, _: MarkReason, _: Point) {
        self.0.push(format!("m{}", packet.seq));
    }
}

/// The pair under a script, in front of an aggregate of 50 Mbit/s.
struct Script {
    queue: Queue<DocsisLld>,
    rng: Rng,
    link: LinkView,
    now: Time,
    fates: Fates,
    seq: u64,
}

impl Script {
    fn with(params: &str, of: &Aggregate) -> Self {
        let params: DocsisLldParams = serde_json::from_str(params).unwrap();
        params.validate().unwrap();
        let mut pair = params.build();
        pair.aggregate(of);
        Self {
            queue: Queue::new(pair),
            rng: Rng::named(1, "q"),
            link: LinkView::plain(BitRate(50_000_000)),
            now: Time::ZERO,
            fates: Fates::default(),
            seq: 0,
        }
    }

    fn new(params: &str) -> Self {
        Self::with(params, &Aggregate::default())
    }

    fn call<T>(&mut self, f: impl FnOnce(&mut Queue<DocsisLld>, &mut Context<'_>) -> T) -> T {
        let flows = FlowTable::default();
        let Self { queue, rng, link, now, fates, .. } = self;
        f(queue, &mut Context { now: *now, rng, link, flows: &flows, fate: fates })
    }

    fn put(&mut self, ecn: Ecn, size: u16) {
        let packet = PacketMeta { seq: self.seq, size, tos: ecn as u8, flow: FlowId(0), ..Default::default() };
        self.seq += 1;
        self.call(|q, cx| q.enqueue(packet, cx));
    }

    fn c(&mut self, n: usize) {
        (0..n).for_each(|_| self.put(Ecn::NotEct, 1500));
    }

    fn take(&mut self, flow: ServiceFlow, n: usize) {
        for _ in 0..n {
            self.call(|q, cx| q.dequeue_of(flow, cx)).unwrap();
        }
    }

    /// Sends `n` packets through L, none of which waits for another.
    fn through_l(&mut self, n: usize) {
        for _ in 0..n {
            self.put(Ecn::Ect1, 1500);
            self.take(ServiceFlow::LowLatency, 1);
        }
    }

    /// Advances to `us` after the start, running each update at its own time.
    fn until(&mut self, us: u64) {
        let until = Time(us * US);
        while let Some(t) = self.queue.next_wake().filter(|t| *t <= until) {
            self.now = t;
            self.call(|q, cx| q.wake(cx));
        }
        self.now = until;
    }

    fn read(&self, name: &str) -> f64 {
        let mut found = None;
        let mut take = |item: Item<'_>| {
            if let Item::Value(n, _, Value::Number(Some(v))) = item
                && n == name
            {
                found = Some(v);
            }
        };
        self.queue.discipline().probe(&mut Reading::new(self.now, false, &mut take));
        found.unwrap_or_else(|| panic!("{name}"))
    }

    /// Predicted delay of C at the last update, ms.
    fn qdelay_c(&self) -> f64 {
        self.read("qdelay_old")
    }
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-6 * b.abs().max(1e-9), "{a} {b}");
}

#[test]
fn r_c_is_what_l_left_of_the_last_interval() {
    let mut q = Script::new("{}");
    q.c(20);
    q.until(16_000);
    // L silent: 20 x 1518 B x 8 / 50 Mbit/s = 4.8576 ms
    close(q.read("r_l"), 0.0);
    close(q.qdelay_c(), 4.8576);
    // 40 packets through L in the next 16 ms: 40 x 1518 x 8 / 16 ms = 30.36 Mbit/s; r_C = 19.64 Mbit/s
    q.through_l(40);
    q.until(32_000);
    close(q.read("r_l"), 30.36);
    close(q.qdelay_c(), 20.0 * 12.144 / 19.64);
    // 100 packets would be 75.9 Mbit/s: r_L is 230/256 of 50, 44.921 875 Mbit/s, and r_C 5.078 125
    q.through_l(100);
    q.until(48_000);
    close(q.read("r_l"), 44.921_875);
    close(q.qdelay_c(), 20.0 * 12.144 / 5.078_125);
    // and the next interval starts from zero
    q.until(64_000);
    close(q.read("r_l"), 0.0);
    close(q.qdelay_c(), 4.8576);
}

#[test]
fn rates_of_the_service_flows_bound_r_l_r_c_and_the_ramp() {
    let mbit = |n: u64| Some(BitRate(n * 1_000_000));
    let of = Aggregate { msr: [mbit(10), mbit(20)], peak_c: mbit(25), request_loop: None };
    let mut q = Script::with("{}", &of);
    // MAX_RATE = min(50, 10): two packets of 2000 B take 3.2 ms, and the ramp 0.524288 ms more
    q.c(20);
    q.until(16_000);
    close(q.read("min_th"), 3.2);
    close(q.read("max_th"), 3.724_288);
    // r_C = min(50 - 0, 20)
    close(q.qdelay_c(), 20.0 * 12.144 / 20.0);
    // r_L = min(44.9, 10, 30.36) = 10; r_C = min(40, 20)
    q.through_l(40);
    q.until(32_000);
    close(q.read("r_l"), 10.0);
    close(q.qdelay_c(), 20.0 * 12.144 / 20.0);
    // an MSR of C above the rest has no effect: r_C = 50 - 10
    let mut q = Script::with("{}", &Aggregate { msr: [mbit(10), mbit(45)], ..of });
    q.c(20);
    q.until(16_000);
    q.through_l(40);
    q.until(32_000);
    close(q.qdelay_c(), 20.0 * 12.144 / 40.0);
    // the lower of the two: an MSR of L above the aggregate's rate has no effect
    let mut q = Script::with("{}", &Aggregate { msr: [mbit(90), None], ..of });
    q.put(Ecn::Ect1, 1500);
    close(q.read("min_th"), 0.64);
}

#[test]
fn buffers_follow_the_service_flows_rates() {
    let mbit = |n: u64| Some(BitRate(n * 1_000_000));
    // number of packets that fit at once, with a target that never drops early
    let fit = |of: &Aggregate, flow: Ecn| {
        let mut q = Script::with(r#"{"classic": {"target": "10s"}, "queue_protection": false}"#, of);
        (0..2000).for_each(|_| q.put(flow, 1500));
        q.queue.backlog().packets
    };
    // C: 100 ms at 50 Mbit/s, 625 000 B: 411 x 1518; at its own 20: 250 000 B, 164; at its peak of 25: 312 500 B, 205
    let of = Aggregate::default();
    assert_eq!(fit(&of, Ecn::NotEct), 411);
    assert_eq!(fit(&Aggregate { msr: [None, mbit(20)], ..of }, Ecn::NotEct), 164);
    assert_eq!(fit(&Aggregate { msr: [None, mbit(20)], peak_c: mbit(25), ..of }, Ecn::NotEct), 205);
    // L: 10 ms at the aggregate's 50 Mbit/s, 62 500 B: while less than 60 500 B wait, 40 packets (39.85)
    assert_eq!(fit(&of, Ecn::Ect1), 40);
    assert_eq!(fit(&Aggregate { msr: [mbit(10), None], ..of }, Ecn::Ect1), 40);
}

#[test]
fn the_gains_of_the_coupled_pie_by_hand() {
    // 60 packets: q = 60 x 1518 x 8 / 50 Mbit/s = 14.5728 ms.
    // step = A (q - 10 ms) + B (q - q_old), A = 0.25, B = 2.5; below 1e-6 an 2048th of it, below 1e-3 a 32nd, below 1e-2 an 8th
    let mut q = Script::new("{}");
    q.c(60);
    q.until(16_000);
    let first = (0.25 * 4.5728e-3 + 2.5 * 14.5728e-3) / 2048.0;
    close(q.read("drop_prob"), first); // 1.8347e-5
    // 16 ms later nothing has changed: A's part only, a 128th (1e-5 to 1e-4)
    q.until(32_000);
    let second = first + 0.25 * 4.5728e-3 / 128.0;
    close(q.read("drop_prob"), second); // 2.7278e-5
    close(q.read("p_cl"), 2.0 * second.sqrt());
    // L takes 30.36 Mbit/s: q = 60 x 12144 / 19.64 Mbit/s = 37.0998 ms
    q.through_l(40);
    q.until(48_000);
    let slow = 60.0 * 12_144.0 / 19.64e6;
    let third = second + (0.25 * (slow - 0.010) + 2.5 * (slow - 14.5728e-3)) / 128.0;
    close(q.read("drop_prob"), third);
    // every 16 ms, no sooner
    q.until(63_999);
    close(q.read("drop_prob"), third);
}

#[test]
fn a_low_delay_decays_by_two_percent_from_5_ms_on() {
    // latency low: both delays below 5 ms. 20 packets: 4.8576 ms; 21: 5.1005 ms. Without B, which would undo it all in one step
    for (n, decay) in [(20, 0.98), (21, 1.0)] {
        let mut q = Script::new(r#"{"classic": {"beta": 1e-12}}"#);
        q.c(300);
        q.until(60 * 16_000);
        q.take(ServiceFlow::Classic, 300 - n);
        q.until(61 * 16_000);
        let before = q.read("drop_prob");
        q.until(62 * 16_000);
        // A's part is doubled from 10 % to 1
        assert!((0.1..1.0).contains(&before), "{before}");
        close(q.read("drop_prob"), (before + 0.25 * (n as f64 * 12_144.0 / 50e6 - 0.010) * 2.0) * decay);
    }
}

#[test]
fn a_first_drop_gives_142_ms_of_allowance() {
    // 300 packets wait (455 400 B of 625 000 B, a third is 208 334 B): q = 72.864 ms. The first drop of a burst begins the
    // allowance; at each update 16 ms of it are used up, and p is 0: 142, 126, .., 14, 0
    let mut q = Script::new("{}");
    q.c(300);
    let mut ms = 0;
    while q.fates.0.is_empty() {
        ms += 16;
        assert!(ms < 10_000, "never dropped");
        q.until(ms * 1000);
        q.c(1);
        if q.fates.0.is_empty() {
            q.take(ServiceFlow::Classic, 1);
        }
    }
    assert!(q.fates.0[0].starts_with('e'), "{:?}", q.fates.0);
    close(q.read("burst_allowance"), 142.0);
    let mut left = Vec::new();
    for i in 1..=10 {
        q.until((ms + 16 * i) * 1000);
        left.push(q.read("burst_allowance") as u64);
        if i <= 9 {
            assert_eq!((q.read("drop_prob"), q.read("p_cl")), (0.0, 0.0), "{i}");
        }
    }
    assert_eq!(left, [126, 110, 94, 78, 62, 46, 30, 14, 0, 0]);
    assert!(q.read("drop_prob") > 0.0, "and then it counts again");
}

#[test]
fn no_drop_below_085_and_a_sure_one_from_85_of_accumulated_probability() {
    // The law is driven up while nothing arrives; then packets come and go between two updates, so that drop_prob stays.
    // p1 = drop_prob x 1518 / 1024 of each; none is dropped while their sum is below 0.85, one is from 8.5 on, which happens by
    // chance once in about e^7.65 = 2100 drops
    let mut q = Script::new(r#"{"classic": {"max_burst": "0s", "interval": "100ms"}}"#);
    q.c(300);
    q.until(1_000_000);
    let p1 = q.read("drop_prob") * 1518.0 / 1024.0;
    assert!((0.005..0.1).contains(&p1), "{p1}");
    let (mut sum, mut drops, mut sure) = (0.0, 0, 0);
    for _ in 0..1_000_000 {
        q.c(1);
        sum += p1;
        assert!(sum < 8.5 + p1, "{sum}");
        if q.fates.0.pop().is_some() {
            assert!(sum >= 0.85 - 1e-9, "{sum}");
            (sum, drops, sure) = (0.0, drops + 1, sure + u32::from(sum >= 8.5));
        } else {
            q.take(ServiceFlow::Classic, 1);
        }
    }
    assert!(drops > 5000 && sure > 0, "{p1} {drops} {sure}");
}

#[test]
fn grants_under_way_are_no_delay_to_the_virtual_queue() {
    // 49.9 Mbit/s in frames of 1518 B, 243.367 us apart, held for a request loop of 2.9 ms: 12 wait. By bytes that is 3 ms, and
    // all are marked; in a queue drained at 50 Mbit/s, each finds only itself: 242.88 us, below the ramp
    let request_loop = RequestLoop {
        delay: Duration(3_645_000),
        sample: Duration(1_012_500),
        guaranteed_rate: BitRate(0),
        guaranteed_interval: Duration(0),
    };
    let of = Aggregate { request_loop: Some(request_loop), ..Aggregate::default() };
    let marks = |params: &str, of: &Aggregate, waiting: usize| {
        let mut q = Script::with(params, of);
        for i in 0..8000u64 {
            q.until(i * 243_367 / 1000);
            q.put(Ecn::Ect1, 1500);
            if q.queue.backlog().packets as usize > waiting {
                q.take(ServiceFlow::LowLatency, 1);
            }
        }
        q.fates.0.len()
    };
    let bytes = r#"{"delay_estimate": "bytes", "queue_protection": false}"#;
    let virtually = r#"{"queue_protection": false}"#;
    assert!(marks(bytes, &of, 12) > 7900);
    assert_eq!(marks(virtually, &of, 12), 0);
    // without requests, bytes are the delay
    assert!(marks(virtually, &Aggregate::default(), 12) > 7900);
    // 30 wait, 45 840 B, more than the loop's 22 781 B: a real queue, marked once the average exceeds the loop's (88 samples,
    // 89 ms; above the start of the ramp from 113 ms on)
    let late = marks(virtually, &of, 30);
    assert!((7000..8000).contains(&late), "{late}");
}
