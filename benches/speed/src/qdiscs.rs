//! Measures the cost of each discipline alone: CPU nanoseconds per packet through `Queue`. Each discipline has its
//! defaults, except for the limit.
//!
//! pass: one packet leaves for each arrival. At first 64 packets wait, and sojourn times stay below every target. Laws that control
//! the queue length (red, ared, wred, fred, cbt, dcbt, cbq) drop packets until few or none wait, and then decay an average on every
//! arrival.
//!
//! full: two packets arrive for each packet that leaves, and the limit is 100 packets. So a plain queue is full at
//! every second arrival. The cost is per arrival.
//!
//! Packets are 1500 bytes long and leave at 1 Gbit/s, flows take turns, and the law's timers run. Each figure is
//! from the fastest of several rounds, because other processes can only slow a round down. Disciplines with a separate
//! queue for ECT(1) have a second line for ECT(1) packets.
//!
//! ```text
//! qdiscs [NAME ...]     all disciplines, or the named disciplines
//! ```

use packet::{Ecn, FlowId, FlowTable, FlowTuple, LinkView, PacketMeta};
use qdisc::{Context, QDISCS, Queue, Spec};
use units::{BitRate, Duration, Limit, Rng, Time};

/// Number of arrivals in a round.
const ARRIVALS: u64 = 100_000;
/// Number of rounds. Only the fastest round is reported.
const ROUNDS: usize = 7;
/// Time between departures: 1500 bytes at 1 Gbit/s.
const SPACING: Duration = Duration::from_micros(12);

struct Loop {
    queue: Queue,
    rng: Rng,
    link: LinkView,
    flows: FlowTable,
    now: Time,
    count: u32,
    of: u32,
    ecn: Ecn,
}

impl Loop {
    fn new(spec: &Spec, of: u32, ecn: Ecn) -> Self {
        let mut flows = FlowTable::default();
        for i in 0..of {
            let tuple = FlowTuple { src: i, dst: 1, sport: i as u16, dport: 80, ..Default::default() };
            flows.set(FlowId(i), tuple);
        }
        let link = LinkView::plain(BitRate(1_000_000_000));
        let (queue, rng) = (Queue::new(spec.build()), Rng::named(1, "cost"));
        Self { queue, rng, link, flows, now: Time::ZERO, count: 0, of, ecn }
    }

    fn call<T>(&mut self, f: impl FnOnce(&mut Queue, &mut Context<'_>) -> T) -> T {
        let Self { queue, rng, link, flows, now, .. } = self;
        f(queue, &mut Context { now: *now, rng, link, flows, fate: &mut () })
    }

    fn arrive(&mut self) {
        self.count += 1;
        let flow = FlowId(self.count % self.of);
        let packet = PacketMeta { flow, size: 1500, tos: self.ecn as u8, ..Default::default() };
        self.call(|q, cx| q.enqueue(packet, cx));
    }

    fn leave(&mut self) {
        self.call(|q, cx| q.dequeue(cx));
        self.now += SPACING;
        if self.queue.next_wake().is_some_and(|t| t <= self.now) {
            self.call(|q, cx| q.wake(cx));
        }
    }
}

/// Returns the CPU time per arrival in nanoseconds, when one packet leaves for every `per_departure` packets that
/// arrive.
fn cost(spec: &Spec, flows: u32, per_departure: u64, ecn: Ecn) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let mut l = Loop::new(spec, flows, ecn);
        (0..64).for_each(|_| l.arrive());
        let start = floor::cpu_ns();
        for _ in 0..ARRIVALS / per_departure {
            (0..per_departure).for_each(|_| l.arrive());
            l.leave();
        }
        best = best.min((floor::cpu_ns() - start) as f64 / ARRIVALS as f64);
    }
    best
}

/// Returns the discipline with its defaults and a limit of `packets`.
fn limited(name: &str, packets: u32) -> Option<Spec> {
    let spec = match Spec::named(name)? {
        // every class has its own limit; all packets here are TCP, so they are in one class
        Spec::Cbq(mut p) => {
            p.classes.iter_mut().for_each(|class| class.limit = Limit::Packets(packets));
            Spec::Cbq(p)
        }
        // each of the two queues has its own limit
        Spec::DocsisLld(_) => {
            let limits = format!("{{\"l_limit\":\"{packets}p\",\"classic\":{{\"limit\":\"{packets}p\"}}}}");
            serde_json::from_str(&format!("{{\"{name}\":{limits}}}")).ok()?
        }
        _ => serde_json::from_str(&format!("{{\"{name}\":{{\"limit\":\"{packets}p\"}}}}")).ok()?,
    };
    spec.validate().is_ok().then_some(spec)
}

fn main() {
    println!("| discipline | type | pass, 1 flow | 10 flows | 1 000 flows | full, 10 flows | 1 000 flows |");
    println!("|---|---|---|---|---|---|---|");
    let names: Vec<String> = std::env::args().skip(1).collect();
    for info in QDISCS.iter().filter(|info| names.is_empty() || names.iter().any(|name| name == info.name)) {
        // in `pass`, far fewer than 1000 packets ever wait, so the queue never reaches its limit; in `full`, the limit
        // is only 100 packets
        let (Some(pass), Some(full)) = (limited(info.name, 1000), limited(info.name, 100)) else {
            println!("| {} | {:?} | needs parameters |", info.name, info.kind);
            continue;
        };
        let kinds: &[(Ecn, &str)] = match pass {
            Spec::Dualpi2(_) | Spec::DocsisLld(_) => &[(Ecn::NotEct, ""), (Ecn::Ect1, ", ECT(1)")],
            _ => &[(Ecn::NotEct, "")],
        };
        for (ecn, what) in kinds {
            let of = [(&pass, 1, 1), (&pass, 10, 1), (&pass, 1000, 1), (&full, 10, 2), (&full, 1000, 2)];
            let cells = of.map(|(spec, flows, per_departure)| format!("{:.0}", cost(spec, flows, per_departure, *ecn)));
            println!("| {}{what} | {:?} | {} |", info.name, info.kind, cells.join(" | "));
        }
    }
}
