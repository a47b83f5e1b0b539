//! The simulator and the live bench side by side.
//!
//! A simulation's arrivals at its queues are replayed through the live bench as real packets on a fake clock. Both run the
//! same ports under the same names of random streams, so every record of every link (who entered, who left, who was dropped
//! or marked, why, when) must be equal.

use live::bench::Leaving;
use live::{Bench, Plan, Side, craft};
use packet::{DropReason, FlowId, FlowTuple, Point, Protocol, header};
use record::{LinkId, Mask, Record, Sink, Tape};
use scenario::Scenario;
use sim::World;
use units::{BitRate, Time};

/// Records of links: what both worlds have.
#[derive(Debug, Default)]
pub struct Links(pub Tape);

impl Sink for Links {
    fn mask(&self) -> Mask {
        Mask::ENQUEUED.with(Mask::DEQUEUED).with(Mask::DROPPED).with(Mask::MARKED)
    }
    fn put(&mut self, now: Time, record: Record) {
        self.0.put(now, record);
    }
}

/// A record with its moment.
pub type Line = (Time, Record);

/// What the simulator says of its links.
pub fn simulated(scenario: &Scenario) -> Vec<Line> {
    let mut world = World::with_sink(scenario, Links::default()).expect("a scenario that can be built");
    world.run(|_| true);
    world.sink().0.records.clone()
}

/// An arrival at the first queue of a path: when, on which link, flow and size.
type Entry = (Time, LinkId, FlowId, u16);

fn entry((at, record): &Line) -> Option<Entry> {
    match *record {
        Record::Enqueued { link, flow, size, .. } => Some((*at, link, flow, size)),
        // the reasons of an arrival that is refused; every other drop is of a packet that was queued
        Record::Dropped {
            link,
            flow,
            size,
            reason: DropReason::TailFull | DropReason::EarlyTail,
            point: Point::Enqueue,
            ..
        } => Some((*at, link, flow, size)),
        _ => None,
    }
}

/// What the live bench says when it is given the same arrivals; `tuples` are the flows in the order of the simulator's slots,
/// each with the side of its initiator. Only for two nodes and one link each way.
pub fn replayed(scenario: &Scenario, arrivals: &[Line], tuples: &[FlowTuple]) -> Vec<Line> {
    let plan = Plan::new(scenario, None, BitRate(u64::MAX)).expect("a scenario that can be live");
    let mut bench = Bench::build(scenario, &plan, scenario.duration, Links::default()).expect("as the simulator");
    // the host of each side, as addresses are numbered
    let host = |side: Side| plan.hosts(side)[0] + 1;
    let from = |link: LinkId| {
        if plan.network.links[usize::from(link.0)].from + 1 == host(Side::Left) { Side::Left } else { Side::Right }
    };
    let first = |slot: usize| {
        let used = arrivals.iter().filter_map(entry).find(|e| e.2.slot() == slot);
        used.map_or(Side::Left, |e| from(e.1))
    };
    let packet = |slot: usize, side: Side, size: u16| {
        let (left, right) = (host(Side::Left), host(Side::Right));
        let (src, dst) = if side == Side::Left { (left, right) } else { (right, left) };
        let port = 1000 + slot as u16;
        craft::udp(false, src, dst, (port, port), usize::from(size), tuples[slot].dscp << 2)
    };
    for (slot, tuple) in tuples.iter().enumerate() {
        let h = header::parse(&packet(slot, first(slot), 100)).expect("a packet");
        let (flow, _, new) = bench.flows.find(&h);
        assert!(new && flow.slot() == slot);
        bench.flows.table.set(flow, *tuple);
    }
    let end = Time(scenario.duration.0);
    let mut out = |_: Leaving<'_>| ();
    for (at, link, flow, size) in arrivals.iter().filter_map(entry) {
        bench.arrive(at, from(link), &packet(flow.slot(), from(link), size), &mut out);
    }
    bench.advance(end - units::Duration::from_nanos(1), &mut out);
    bench.sink.0.records
}

/// The 5-tuple that the simulator gives to the flow in slot `slot` of application `app` (in the order of names).
pub fn tuple(slot: usize, app: usize, from: u32, to: u32, dscp: u8) -> FlowTuple {
    FlowTuple {
        src: 0x0a00_0000 | from,
        dst: 0x0a00_0000 | to,
        sport: 1025 + slot as u16,
        dport: 1 + app as u16,
        protocol: Protocol::Udp,
        dscp,
    }
}
