//! Compares the live bench on a fake clock with the bare discipline: every packet must have the same fate in both,
//! however late the bench is advanced.

use live::bench::{Arrival, Leaving};
use live::{Bench, Plan, Side, craft};
use packet::{DropReason, Ecn, FateSink, FlowId, FlowTable, LinkView, MarkReason, PacketMeta, Point};
use proptest::prelude::*;
use qdisc::{Context, Queue};
use record::{Record, Tape};
use scenario::Scenario;
use scenario::read::{Format, scenario};
use units::{BitRate, Duration, Rng, Time};

const RATE: BitRate = BitRate(10_000_000);

/// The fate of a packet, with the time of the decision, the packet's flow and, except for marks, the packet's size.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Dropped(Time, u32, u16, DropReason, Point),
    Marked(Time, u32, MarkReason),
    Sent(Time, u32, u16),
}

/// One packet of a script.
#[derive(Clone, Copy, Debug)]
struct Step {
    at: Time,
    flow: u16,
    size: u16,
    ect: bool,
}

fn build(queue: &str, extra: &str) -> Scenario {
    let text = format!(
        "duration = '60s'\n[link.wire]\nfrom = 'a'\nto = 'b'\nrate = '10mbit'\ndelay = '1ms'\nqueue = {queue}\n{extra}\n\
         [link.xback]\nfrom = 'b'\nto = 'a'\nrate = '10mbit'\n"
    );
    scenario(&text, Format::Toml, &[]).unwrap_or_else(|p| panic!("{p:?}\n{text}"))
}

/// Returns every discipline whose parameters all have defaults, written as the value of `queue` in a scenario.
fn disciplines() -> Vec<String> {
    let all: Vec<String> = qdisc::QDISCS
        .iter()
        .map(|q| format!("{{ {} = {{}} }}", q.name))
        .filter(|text| {
            let toml = format!("duration = '1s'\n[link.w]\nfrom = 'a'\nto = 'b'\nrate = '10mbit'\nqueue = {text}\n");
            scenario(&toml, Format::Toml, &[]).is_ok()
        })
        .collect();
    assert!(all.len() >= 2, "{all:?}");
    all
}

/// Passes the script's packets to the bench and returns their fates. Until the last packet, also calls `Bench::advance`
/// at intervals of `late`, unless `late` is zero.
fn live(scenario: &Scenario, script: &[Step], late: Duration) -> Vec<Fate> {
    let plan = Plan::new(scenario, None, BitRate(1_000_000_000)).unwrap();
    let mut bench = Bench::build(scenario, &plan, scenario.duration, Tape::default()).unwrap();
    let mut delivered = Vec::new();
    let mut out = |p: Leaving<'_>| {
        assert_eq!((p.side, p.bytes.len() >= 28), (Side::Right, true));
        delivered.push((p.due, p.flow));
    };
    let mut called = Time::ZERO;
    for step in script {
        // imitates a caller that reads its clock only at intervals of `late`, and so advances the bench late
        while !late.is_zero() && called + late < step.at {
            called += late;
            bench.advance(called, &mut out);
        }
        let tos = if step.ect { Ecn::Ect0 as u8 } else { 0 };
        let packet = craft::udp(false, 1, 2, (1000 + step.flow, 80), usize::from(step.size), tos);
        let arrival = bench.arrive(step.at, Side::Left, &packet, &mut out);
        assert!(matches!(arrival, Arrival::Taken { .. }));
    }
    bench.advance(Time(60_000_000_000), &mut out);
    assert!(bench.deadline() == Time::NEVER || bench.inside() == 0);
    assert_eq!(bench.drain(), 0, "every packet's bytes are freed");
    let fates: Vec<Fate> = bench.sink.records.iter().filter_map(|(at, r)| fate(*at, r)).collect();
    // packets leave the bench in order, one propagation delay after the end of their transmission
    let sent: Vec<Time> = fates
        .iter()
        .filter_map(
            |f| if let Fate::Sent(at, _, size) = f { Some(*at + RATE.time_for(u64::from(*size))) } else { None },
        )
        .collect();
    let due: Vec<Time> = delivered.iter().map(|d| d.0 - Duration::from_millis(1)).collect();
    assert_eq!(due, sent);
    fates
}

fn fate(at: Time, r: &Record) -> Option<Fate> {
    match *r {
        Record::Dropped { packet: p, reason, point, .. } => Some(Fate::Dropped(at, p.flow.0, p.size, reason, point)),
        Record::Marked { packet, reason, .. } => Some(Fate::Marked(at, packet.flow.0, reason)),
        Record::Dequeued { packet, .. } => Some(Fate::Sent(at, packet.flow.0, packet.size)),
        _ => None,
    }
}

/// The decisions that a discipline makes about packets.
struct Decisions {
    now: Time,
    fates: Vec<Fate>,
}

impl FateSink for Decisions {
    fn dropped(&mut self, p: &PacketMeta, reason: DropReason, point: Point) {
        self.fates.push(Fate::Dropped(self.now, p.flow.0, p.size, reason, point));
    }
    fn marked(&mut self, p: &PacketMeta, reason: MarkReason, _: Point) {
        self.fates.push(Fate::Marked(self.now, p.flow.0, reason));
    }
}

/// The reference with which the bench is compared: only a queue and a wire of constant rate, without a port or a bench.
struct Bare {
    queue: Queue,
    rng: Rng,
    flows: FlowTable,
    decisions: Decisions,
    /// Time at which the wire becomes free; `None` while it is idle.
    busy_until: Option<Time>,
}

impl Bare {
    fn call<T>(&mut self, now: Time, act: impl FnOnce(&mut Queue, &mut Context<'_>) -> T) -> T {
        self.decisions.now = now;
        let link = LinkView::plain(RATE);
        let mut cx = Context { now, rng: &mut self.rng, link: &link, flows: &self.flows, fate: &mut self.decisions };
        act(&mut self.queue, &mut cx)
    }

    fn take(&mut self, now: Time) {
        self.busy_until = self.call(now, Queue::dequeue).map(|p| {
            self.decisions.fates.push(Fate::Sent(now, p.flow.0, p.size));
            now + RATE.time_for(p.bytes())
        });
    }

    fn until(&mut self, now: Time) {
        loop {
            let (free, wake) = (self.busy_until.unwrap_or(Time::NEVER), self.queue.next_wake().unwrap_or(Time::NEVER));
            if free.min(wake) > now {
                return;
            }
            if free <= wake {
                self.take(free);
            } else {
                self.call(wake, Queue::wake);
                if self.busy_until.is_none() {
                    self.take(wake);
                }
            }
        }
    }
}

fn bare(scenario: &Scenario, script: &[Step]) -> Vec<Fate> {
    let mut flows = FlowTable::default();
    let mut order: Vec<u16> = Vec::new();
    for step in script {
        if !order.contains(&step.flow) {
            let slot = FlowId::new(order.len() as u32, 0);
            order.push(step.flow);
            let (src, dst) = (0x0a4d_0001, 0x0a4d_0002);
            let protocol = packet::Protocol::UDP;
            flows.set(slot, packet::FlowTuple { src, dst, sport: 1000 + step.flow, dport: 80, protocol, dscp: 0 });
        }
    }
    let mut b = Bare {
        queue: Queue::new(scenario.link["wire"].queue.build()),
        rng: Rng::named(scenario.seed, "link.wire.queue"),
        flows,
        decisions: Decisions { now: Time::ZERO, fates: Vec::new() },
        busy_until: None,
    };
    for step in script {
        b.until(step.at);
        let slot = order.iter().position(|f| *f == step.flow).unwrap() as u32;
        let tos = if step.ect { Ecn::Ect0 as u8 } else { 0 };
        let packet = PacketMeta { flow: FlowId::new(slot, 0), size: step.size, tos, ..Default::default() };
        b.call(step.at, |q, cx| q.enqueue(packet, cx));
        if b.busy_until.is_none() {
            b.take(step.at);
        }
    }
    b.until(Time(60_000_000_000));
    b.decisions.fates
}

fn script() -> impl Strategy<Value = Vec<Step>> {
    // gaps of 0 to 1.2 ms and packets of 60 to 1500 bytes: on average 780 B in 0.6 ms, or 10.4 Mbit/s on a link of 10 Mbit/s
    proptest::collection::vec((0u64..1_200_000, 0u16..5, 60u16..=1500, any::<bool>()), 1..400).prop_map(|steps| {
        let mut at = Time::ZERO;
        steps
            .into_iter()
            .map(|(gap, flow, size, ect)| {
                at += Duration(gap);
                Step { at, flow, size, ect }
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..Default::default() })]
    #[test]
    fn every_discipline_decides_the_same_however_late_the_clock_is_read(script in script(), late in 0u64..9_000_000) {
        for queue in disciplines() {
            let scenario = build(&queue, "");
            let expected = bare(&scenario, &script);
            prop_assert_eq!(&live(&scenario, &script, Duration(late)), &expected, "{}", queue);
        }
    }
}

#[test]
fn twenty_four_at_once_meet_one_in_service() {
    let scenario = build("{ droptail = { limit = '5p' } }", "");
    let script: Vec<Step> = (0..24).map(|_| Step { at: Time(1_000_000), flow: 0, size: 1250, ect: false }).collect();
    let fates = live(&scenario, &script, Duration::ZERO);
    assert_eq!(fates, bare(&scenario, &script));
    // one packet is on the wire, five packets wait, and eighteen find no room; 1250 bytes take 1 ms to transmit
    let drops = fates.iter().filter(|f| matches!(f, Fate::Dropped(..))).count();
    let sent: Vec<u64> =
        fates.iter().filter_map(|f| if let Fate::Sent(at, ..) = f { Some(at.0 / 1_000_000) } else { None }).collect();
    assert_eq!((drops, sent), (18, vec![1, 2, 3, 4, 5, 6]));
}

#[test]
fn a_mark_is_written_into_the_real_header() {
    let scenario = build("{ codel = { ecn = true, target = '1ms', interval = '5ms' } }", "");
    let plan = Plan::new(&scenario, None, BitRate(1_000_000_000)).unwrap();
    for v6 in [false, true] {
        let mut bench = Bench::build(&scenario, &plan, scenario.duration, ()).unwrap();
        let mut tos = Vec::new();
        let mut out = |p: Leaving<'_>| tos.push(packet::header::parse(p.bytes).unwrap().tos);
        for i in 0..200 {
            let packet = craft::udp(v6, 1, 2, (1, 2), 1250, 46 << 2 | Ecn::Ect0 as u8);
            bench.arrive(Time(i * 500_000), Side::Left, &packet, &mut out);
        }
        bench.advance(Time(10_000_000_000), &mut out);
        assert_eq!(tos.len(), 200, "marked, not dropped");
        let marked = tos.iter().filter(|t| **t == (46 << 2 | 3)).count();
        assert_eq!(
            marked as u64,
            bench.links.iter().map(|l| l.carrier.counters().queue.marked.iter().flatten().sum::<u64>()).sum::<u64>()
        );
        assert!(marked > 3 && tos.iter().all(|t| t >> 2 == 46));
    }
}

#[test]
fn packets_without_a_host_are_counted_and_discarded() {
    let scenario = build("{ droptail = {} }", "");
    let plan = Plan::new(&scenario, None, BitRate(1_000_000_000)).unwrap();
    let mut bench = Bench::build(&scenario, &plan, scenario.duration, ()).unwrap();
    let udp = |src, dst| craft::udp(false, src, dst, (1, 2), 100, 0);
    let mut give = |packet: &[u8]| bench.arrive(Time(1), Side::Left, packet, &mut |_| panic!("nothing leaves"));
    // in order: a packet to an unknown host, a packet that a host sends to itself, a packet from a host on the other
    // side, bytes that are not IP, a truncated packet, and a packet to another unknown host
    for packet in [udp(1, 9), udp(1, 1), udp(2, 1), vec![0; 40], udp(1, 2)[..60].to_vec(), udp(1, 2000)] {
        assert_eq!(give(&packet), Arrival::Foreign);
    }
    assert_eq!((bench.foreign, bench.inside()), (6, 0));
}
