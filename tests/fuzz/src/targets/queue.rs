//! Sequences of calls to every discipline, with any valid parameters.
//!
//! Each packet has exactly one fate: it leaves, or it is dropped. After every call, the packet counters balance, the
//! queue is within its limit, and its length is the number of packets that have arrived but have not yet left or been
//! dropped. Timers advance, and repeating the same calls gives the same results.

use super::{Target, Verdict};
use crate::schema::{Range, Schema};
use crate::source::Source;
use packet::{
    DropReason, Ecn, FateSink, FlowId, FlowTable, FlowTuple, LinkView, MarkReason, PacketMeta, Point, Protocol,
};
use qdisc::{Context, Queue, Spec};
use scenario::read;
use std::collections::BTreeSet;
use std::sync::LazyLock;
use units::{BitRate, Bytes, Duration, Limit, Rng, Time};

pub(crate) const QUEUE: Target = Target {
    name: "queue",
    minute: 150_000,
    about: "any discipline, any calls: one fate for each packet, balanced books, limits respected, timers that advance",
    longest: 2048,
    text: false,
    run: queue,
    start: Vec::new,
};

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of_scenarios);

/// Maximum number of timers that fire in one wait. If a parameter sets a timer to 1 ns, a billion timers would fire per
/// second.
const TICKS: u32 = 2_000;
/// Maximum number of timers that fire in one run of an input's calls. Some timers visit every flow, and an input that
/// takes a minute would delay all other inputs.
const ALL_TICKS: u32 = 20_000;
/// Upper bound on the number of `dequeue` calls that empty the queue at the end. A call that removes nothing is followed
/// by a wait. In a row of such calls, the waits are at least 1, 2, 4 ... 2^60 ns, so after 60 of them about 2^60 ns (36
/// years) or more have passed.
const LETS_GO: u32 = 200_000;

/// Collects the dropped packets, and checks the marked packets.
#[derive(Default)]
struct Gone {
    dropped: Vec<(u64, DropReason)>,
}

impl FateSink for Gone {
    fn dropped(&mut self, packet: &PacketMeta, reason: DropReason, _: Point) {
        self.dropped.push((packet.seq, reason));
    }
    fn marked(&mut self, packet: &PacketMeta, _: MarkReason, _: Point) {
        assert_eq!(packet.ecn(), Ecn::Ce, "a mark that is not on the packet");
        assert!(!packet.flow.0.is_multiple_of(3), "a mark on a packet that is not ECN-capable");
    }
}

fn flows() -> FlowTable {
    let mut table = FlowTable::default();
    for i in 0..16u16 {
        let protocol = if i % 4 == 3 { Protocol::UDP } else { Protocol::TCP };
        let (src, dscp) = (1 + u32::from(i / 4), (i % 5) as u8 * 10);
        table.set(FlowId(u32::from(i)), FlowTuple { src, dst: 9, sport: 1000 + i, dport: 80, protocol, dscp });
    }
    table
}

/// Returns the discipline that these choices encode, if it is valid.
pub(crate) fn spec(s: &mut Source<'_>) -> Option<Spec> {
    let range = if s.chance(40) { Range::Wild } else { Range::Usual };
    let tree = SCHEMA.value(SCHEMA.def("Qdisc"), s, range);
    let spec = read::discipline(tree).ok()?;
    let link = BitRate(5_000_000);
    spec.validate().and_then(|()| spec.validate_at(link)).and_then(|()| spec.ready()).ok()?;
    Some(spec)
}

/// Describes the discipline that an input encodes, and lists the bytes that encode the calls to it.
pub(crate) fn meaning(bytes: &[u8]) -> String {
    let mut s = Source::new(bytes);
    spec(&mut s).map_or_else(|| "no valid discipline".into(), |spec| format!("{spec:?}\ncalls: {:?}", s.rest()))
}

fn queue(bytes: &[u8]) -> Verdict {
    let mut s = Source::new(bytes);
    let Some(spec) = spec(&mut s) else { return Verdict::Refused };
    let calls = s.rest();
    let first = run(&spec, calls);
    assert!(first == run(&spec, calls), "two runs differ");
    Verdict::Accepted
}

/// The results of a sequence of calls: the packets that left, and the packets that were dropped. A second run of the
/// same sequence must give equal results.
type Ends = (Vec<u64>, Vec<(u64, DropReason)>);

struct Bench<'a> {
    spec: &'a Spec,
    queue: Queue,
    flows: FlowTable,
    link: LinkView,
    rng: Rng,
    now: Time,
    gone: Gone,
    left: Vec<u64>,
    waiting: BTreeSet<u64>,
    ticks: u32,
}

fn run(spec: &Spec, calls: &[u8]) -> Ends {
    let mut bench = Bench {
        spec,
        queue: Queue::new(spec.build()),
        flows: flows(),
        link: LinkView::plain(BitRate(5_000_000)),
        rng: Rng::named(1, "queue"),
        now: Time(0),
        gone: Gone::default(),
        left: Vec::new(),
        waiting: BTreeSet::new(),
        ticks: ALL_TICKS,
    };
    let mut s = Source::new(calls);
    let mut seq = 0;
    while !s.is_empty() {
        match s.byte() {
            0..=119 => bench.enqueue(seq, &mut s),
            120..=199 => bench.dequeue(),
            200..=203 => {
                // changes the link's peak rate and the number of its tokens, as in a DOCSIS service flow
                let peak = BitRate(5_000_000 * (1 + s.below(4)));
                let tokens = Bytes(if peak.0 > 5_000_000 { s.below(100_000) } else { 0 });
                bench.link = LinkView { peak_rate: peak, tokens, ..bench.link };
            }
            _ => {
                let ns = s.spread(1, 2_000_000_000);
                bench.wait(ns);
            }
        }
        bench.audit();
        seq += 1;
    }
    // empties the queue: every packet must finally leave or be dropped
    let (mut calls, mut patience) = (0, 1);
    while bench.queue.backlog().packets > 0 {
        let before = bench.queue.backlog();
        bench.dequeue();
        if bench.queue.backlog() == before {
            let wake = bench.queue.next_wake().expect("packets wait, and nothing will ever let them go");
            bench.wait(wake.since(bench.now).0.max(patience));
            patience = patience.saturating_mul(2).min(1 << 60);
        } else {
            patience = 1;
        }
        calls += 1;
        assert!(calls < LETS_GO, "{spec:?} never lets go");
    }
    bench.audit();
    assert!(bench.waiting.is_empty(), "{spec:?}: packets {:?} have no fate", bench.waiting);
    (bench.left, bench.gone.dropped)
}

impl Bench<'_> {
    fn call<T>(&mut self, call: impl FnOnce(&mut Queue, &mut Context<'_>) -> T) -> T {
        let Self { queue, flows, link, rng, now, gone, .. } = self;
        let before = gone.dropped.len();
        let answer = call(queue, &mut Context { now: *now, rng, link, flows, fate: gone });
        for &(seq, _) in &self.gone.dropped[before..] {
            assert!(self.waiting.remove(&seq), "{:?}: packet {seq} was dropped twice, or never arrived", self.spec);
        }
        answer
    }

    fn enqueue(&mut self, seq: u64, s: &mut Source<'_>) {
        let flow = s.byte() % 16;
        let most = if s.chance(16) { 65_508 } else { 1_487 };
        let size = 28 + s.below(most) as u16;
        let ecn = if flow.is_multiple_of(3) { 0 } else { 2 };
        let dscp = (flow % 5) * 10;
        let p = PacketMeta { seq, size, flow: FlowId(u32::from(flow)), tos: dscp << 2 | ecn, ..Default::default() };
        self.waiting.insert(seq);
        let dropped = self.gone.dropped.len();
        let kept = self.call(|queue, cx| queue.enqueue(p, cx));
        let refused = self.gone.dropped[dropped..].iter().any(|d| d.0 == seq);
        assert!(!(kept && refused && self.gone.dropped.len() == dropped + 1), "{:?}: kept and refused", self.spec);
    }

    fn dequeue(&mut self) {
        if let Some(p) = self.call(Queue::dequeue) {
            assert!(self.waiting.remove(&p.seq), "{:?}: packet {} left twice", self.spec, p.seq);
            self.left.push(p.seq);
        }
    }

    fn wait(&mut self, ns: u64) {
        let until = self.now + Duration(ns);
        for _ in 0..TICKS.min(self.ticks) {
            let Some(at) = self.queue.next_wake().filter(|at| *at <= until) else { break };
            self.ticks -= 1;
            self.now = at.max(self.now);
            self.call(Queue::wake);
            let next = self.queue.next_wake();
            assert!(
                next.is_none_or(|next| next > at),
                "{:?} woke at {at}, and requests its next wake at {next:?}",
                self.spec
            );
        }
        // if the loop stopped at the limit on timers, the remaining timers fire late, as on a busy host
        self.now = until.max(self.now);
    }

    fn audit(&self) {
        let b = self.queue.backlog();
        assert_eq!(b.packets as usize, self.waiting.len(), "{:?} holds {b:?}", self.spec);
        assert!(self.queue.counters().balance(b), "{:?}: the books do not balance", self.spec);
        let (short, segments, instances) = match self.spec {
            Spec::Droptail(p) => (u64::from(p.ns2_off_by_one), u64::from(p.super_segment), 1),
            // the limit applies to each of CAKE's instances
            Spec::Cake(p) => (0, 1, u64::from(p.instances)),
            _ => (0, 1, 1),
        };
        let within = match self.spec.limit() {
            Some(Limit::Packets(n)) => u64::from(b.packets) <= (u64::from(n) - short) * segments * instances,
            Some(Limit::Bytes(n)) => b.bytes <= n.0 * instances,
            // a limit given as a time applies at the rate of the link, 5 Mbit/s
            Some(Limit::Time(t)) => {
                u128::from(b.bytes) * 8_000_000_000 <= u128::from(t.0) * 5_000_000 * u128::from(instances)
            }
            None => true,
        };
        assert!(within, "{:?} holds {b:?}", self.spec);
    }
}
