//! Tests of the queues of Low Latency DOCSIS, with values worked out by hand. They cover the coupled DOCSIS-PIE of
//! queue C, the rate r_C that is left for C, the rates of the service flows, and the virtual queue.
//!
//! An IP packet of 1500 bytes is an Ethernet frame of 1518 bytes, which is its size in C, in r_L, in L's buffer and in
//! the virtual queue. If L's delay is estimated from the queued bytes, the MAC header is included: 1528 bytes.

use packet::{
    Aggregate, DropReason, Ecn, FateSink, FlowId, FlowTable, Item, LinkView, MarkReason, PacketMeta, Point, Reading,
    RequestLoop, ServiceFlow, Value,
};
use qdisc::dual::lld::{DocsisLld, DocsisLldParams};
use qdisc::{Context, Params, Queue, QueueDiscipline, ServiceFlows};
use units::{BitRate, Duration, Rng, Time};

const US: u64 = 1000;

/// Drops and marks, each written as a letter and a packet number: e for an early drop, f for a drop because the queue
/// was full, m for a mark.
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

/// The two queues of an aggregate whose rate is 50 Mbit/s. A test controls them step by step.
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
        let params: DocsisLldParams = serde_json::from_value(params.parse().unwrap()).unwrap();
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

    /// Sends `n` packets through L one by one, so that no packet waits for another.
    fn through_l(&mut self, n: usize) {
        for _ in 0..n {
            self.put(Ecn::Ect1, 1500);
            self.take(ServiceFlow::LowLatency, 1);
        }
    }

    /// Advances the time to `us` microseconds after the start. Runs the updates that are due by then, each at the time
    /// at which it is due.
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

    /// Returns the queuing delay that was predicted for C at the last update, in ms.
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
    // L has sent nothing, so r_C = 50 Mbit/s and C's delay is 20 x 1518 B x 8 / 50 Mbit/s = 4.8576 ms
    close(q.read("r_l"), 0.0);
    close(q.qdelay_c(), 4.8576);
    // L sends 40 packets in the next 16 ms, so r_L = 40 x 1518 B x 8 / 16 ms = 30.36 Mbit/s, and r_C = 19.64 Mbit/s
    q.through_l(40);
    q.until(32_000);
    close(q.read("r_l"), 30.36);
    close(q.qdelay_c(), 20.0 * 12.144 / 19.64);
    // 100 packets in 16 ms are a rate of 75.9 Mbit/s. But r_L is limited to 230/256 of 50 Mbit/s, which is 44.921 875
    // Mbit/s, so r_C = 5.078 125 Mbit/s.
    q.through_l(100);
    q.until(48_000);
    close(q.read("r_l"), 44.921_875);
    close(q.qdelay_c(), 20.0 * 12.144 / 5.078_125);
    // in the next interval, L's bits are counted from zero
    q.until(64_000);
    close(q.read("r_l"), 0.0);
    close(q.qdelay_c(), 4.8576);
}

#[test]
fn rates_of_the_service_flows_bound_r_l_r_c_and_the_ramp() {
    let mbit = |n: u64| Some(BitRate(n * 1_000_000));
    let of = Aggregate { msr: [mbit(10), mbit(20)], peak_c: mbit(25), request_loop: None };
    let mut q = Script::with("{}", &of);
    // MAX_RATE = min(50, 10) Mbit/s. The ramp begins at a delay of 3.2 ms, the transmission time of two packets of
    // 2000 B, and ends 0.524288 ms above that.
    q.c(20);
    q.until(16_000);
    close(q.read("min_th"), 3.2);
    close(q.read("max_th"), 3.724_288);
    // L has sent nothing, so r_L = 0, which leaves all 50 Mbit/s. But r_C is limited to C's MSR: min(50, 20) = 20
    // Mbit/s.
    close(q.qdelay_c(), 20.0 * 12.144 / 20.0);
    // L sends at 30.36 Mbit/s, but r_L is limited to L's MSR of 10 Mbit/s, so r_C = min(50 - 10, 20) = 20 Mbit/s
    q.through_l(40);
    q.until(32_000);
    close(q.read("r_l"), 10.0);
    close(q.qdelay_c(), 20.0 * 12.144 / 20.0);
    // C's MSR has no effect if it exceeds the remaining rate, so r_C = min(50 - 10, 45) = 40 Mbit/s
    let mut q = Script::with("{}", &Aggregate { msr: [mbit(10), mbit(45)], ..of });
    q.c(20);
    q.until(16_000);
    q.through_l(40);
    q.until(32_000);
    close(q.qdelay_c(), 20.0 * 12.144 / 40.0);
    // L's MSR has no effect if it exceeds the aggregate's rate, so MAX_RATE = min(50, 90) Mbit/s
    let mut q = Script::with("{}", &Aggregate { msr: [mbit(90), None], ..of });
    q.put(Ecn::Ect1, 1500);
    close(q.read("min_th"), 0.64);
}

#[test]
fn buffers_follow_the_service_flows_rates() {
    let mbit = |n: u64| Some(BitRate(n * 1_000_000));
    // returns the number of packets that fit. The target is so long that no packet is dropped early
    let fit = |of: &Aggregate, flow: Ecn| {
        let mut q = Script::with(r#"{"classic": {"target": "10s"}, "queue_protection": false}"#, of);
        (0..2000).for_each(|_| q.put(flow, 1500));
        q.queue.backlog().packets
    };
    // C's buffer is 100 ms, for packets of 1518 B: at 50 Mbit/s, 625 000 B or 411 packets; at C's MSR of 20 Mbit/s, 250 000 B or
    // 164 packets; at C's peak rate of 25 Mbit/s, 312 500 B or 205 packets
    let of = Aggregate::default();
    assert_eq!(fit(&of, Ecn::NotEct), 411);
    assert_eq!(fit(&Aggregate { msr: [None, mbit(20)], ..of }, Ecn::NotEct), 164);
    assert_eq!(fit(&Aggregate { msr: [None, mbit(20)], peak_c: mbit(25), ..of }, Ecn::NotEct), 205);
    // L's buffer is 10 ms at the aggregate's 50 Mbit/s, 62 500 B. An arrival is accepted while less than 62 500 - 2000 B are
    // queued. That is 39.86 packets, so 40 packets are accepted.
    assert_eq!(fit(&of, Ecn::Ect1), 40);
    assert_eq!(fit(&Aggregate { msr: [mbit(10), None], ..of }, Ecn::Ect1), 40);
}

#[test]
fn the_gains_of_the_coupled_pie_by_hand() {
    // The delay of 60 packets is q = 60 x 1518 B x 8 / 50 Mbit/s = 14.5728 ms. A step is A (q - 10 ms) + B (q - q_old)
    // with A = 0.25 and B = 2.5. The step is divided by 2048 while drop_prob is below 1e-6, and by 128 while drop_prob
    // is between 1e-5 and 1e-4.
    let mut q = Script::new("{}");
    q.c(60);
    q.until(16_000);
    let first = (0.25 * 4.5728e-3 + 2.5 * 14.5728e-3) / 2048.0;
    close(q.read("drop_prob"), first); // 1.8347e-5
    // 16 ms later, q is unchanged, so the term B (q - q_old) is 0, and the step is A (q - 10 ms) divided by 128
    q.until(32_000);
    let second = first + 0.25 * 4.5728e-3 / 128.0;
    close(q.read("drop_prob"), second); // 2.7278e-5
    close(q.read("p_cl"), 2.0 * second.sqrt());
    // L sends at 30.36 Mbit/s and leaves 19.64 Mbit/s for C's 60 packets, so q = 60 x 12 144 bit / 19.64 Mbit/s = 37.0998 ms
    q.through_l(40);
    q.until(48_000);
    let slow = 60.0 * 12_144.0 / 19.64e6;
    let third = second + (0.25 * (slow - 0.010) + 2.5 * (slow - 14.5728e-3)) / 128.0;
    close(q.read("drop_prob"), third);
    // the next update is at 64 ms, and not earlier
    q.until(63_999);
    close(q.read("drop_prob"), third);
}

#[test]
fn a_low_delay_decays_by_two_percent_from_5_ms_on() {
    // drop_prob decays only if the current delay and the last one are below 5 ms. 20 packets have a delay of 4.8576 ms,
    // and 21 packets a delay of 5.1005 ms. The gain B is almost 0, because otherwise the term B (q - q_old) would set
    // drop_prob to 0 when the queue shrinks.
    for (n, decay) in [(20, 0.98), (21, 1.0)] {
        let mut q = Script::new(r#"{"classic": {"beta": 1e-12}}"#);
        q.c(300);
        q.until(60 * 16_000);
        q.take(ServiceFlow::Classic, 300 - n);
        q.until(61 * 16_000);
        let before = q.read("drop_prob");
        q.until(62 * 16_000);
        // while drop_prob is between 0.1 and 1, the step is doubled, and almost all of the step is A (q - 10 ms)
        assert!((0.1..1.0).contains(&before), "{before}");
        close(q.read("drop_prob"), (before + 0.25 * (n as f64 * 12_144.0 / 50e6 - 0.010) * 2.0) * decay);
    }
}

#[test]
fn a_first_drop_gives_142_ms_of_allowance() {
    // 300 packets take 455 400 B, more than a third of the buffer of 625 000 B, so the law is active. The first drop grants an
    // allowance of 142 ms. Each update uses up 16 ms of the allowance, and drop_prob is 0 until the allowance is used up.
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
    // First, drop_prob rises while nothing arrives. Then packets arrive and leave between two updates, so drop_prob is
    // constant. Each packet adds p1 = drop_prob x 1518 / 1024 to a sum. Nothing is dropped while the sum is below 0.85,
    // and a packet is dropped for certain when the sum reaches 8.5. Usually a random drop comes before that, so the sum
    // reaches 8.5 at only about one drop in e^7.65 = 2100.
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
    // Frames of 1518 B arrive 243.367 us apart, at 49.9 Mbit/s. Each waits 2.9 ms for its grant in the request loop, so
    // 12 frames stay queued. If the delay is estimated from the queued bytes, it is about 3 ms, so almost all are marked. In
    // a virtual queue that drains at 50 Mbit/s, a frame never waits for another, so the delay is 242.88 us, below the
    // ramp.
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
    // without a request loop, L has no virtual queue, so L's delay is estimated from the queued bytes
    assert!(marks(virtually, &Aggregate::default(), 12) > 7900);
    // 30 queued frames take 45 840 B. The request loop accounts for only 22 781 B of them, which is 3.645 ms at 50
    // Mbit/s, so there is a real queue. The average queue exceeds 22 781 B after 91 samples, at 92 ms, and the virtual
    // queue reaches the ramp about 20 ms later; after that, frames are marked.
    let late = marks(virtually, &of, 30);
    assert!((7000..8000).contains(&late), "{late}");
}
