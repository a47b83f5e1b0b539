//! Compares the simulator with the live bench.
//!
//! The arrivals at a simulation's queues are replayed through the live bench, as real packets on a fake clock. The
//! simulator and the bench run the same code for queues and links (the crate `port`) with the same random streams. So
//! every record of every link (arrivals, departures, drops and marks with their reasons and times) must be equal.

use live::bench::Leaving;
use live::{Bench, Plan, Side, craft};
use packet::{DropReason, FlowId, FlowTuple, Point, Protocol, header};
use record::{LinkId, Mask, Record, Sink, Tape};
use scenario::Scenario;
use sim::World;
use units::{BitRate, Time};

/// A sink that keeps the records of links, for both the simulator and the bench.
#[derive(Debug, Default)]
pub struct LinkRecords(pub Tape);

impl Sink for LinkRecords {
    fn mask(&self) -> Mask {
        Mask::ENQUEUED.with(Mask::DEQUEUED).with(Mask::DROPPED).with(Mask::MARKED)
    }
    fn put(&mut self, now: Time, record: Record) {
        self.0.put(now, record);
    }
}

/// A record with its time.
pub type TimedRecord = (Time, Record);

/// Returns the simulator's records of its links.
pub fn simulated(scenario: &Scenario) -> Vec<TimedRecord> {
    let mut world = World::with_sink(scenario, LinkRecords::default()).expect("a scenario that can be built");
    world.run(|_| true);
    world.sink().0.records.clone()
}

/// An arrival at the first queue of a path: time, link, flow and size.
type Arrival = (Time, LinkId, FlowId, u16);

fn arrival((at, record): &TimedRecord) -> Option<Arrival> {
    match *record {
        Record::Enqueued { link, packet, .. } => Some((*at, link, packet.flow, packet.size)),
        // a packet that is dropped for one of these reasons has just arrived; a packet that is dropped for any other
        // reason was in the queue, so its arrival is already recorded
        Record::Dropped {
            link,
            packet,
            reason: DropReason::TailFull | DropReason::EarlyTail,
            point: Point::Enqueue,
            ..
        } => Some((*at, link, packet.flow, packet.size)),
        _ => None,
    }
}

/// Replays these arrivals through the live bench, and returns its records. `tuples[n]` is the 5-tuple of the flow with
/// index n (slot) in the simulator's flow table. The scenario must have two hosts, with one path in each direction.
pub fn replayed(scenario: &Scenario, arrivals: &[TimedRecord], tuples: &[FlowTuple]) -> Vec<TimedRecord> {
    let plan = Plan::new(scenario, None, BitRate(u64::MAX)).expect("a scenario that can run live");
    let mut bench = Bench::build(scenario, &plan, scenario.duration, LinkRecords::default()).expect("as the simulator");
    // returns the number of the first host on a side; hosts are counted from 1 in the bench's addresses
    let host = |side: Side| plan.hosts(side)[0] + 1;
    let from = |link: LinkId| {
        if plan.network.links[usize::from(link.0)].from + 1 == host(Side::Left) { Side::Left } else { Side::Right }
    };
    let first = |slot: usize| {
        let used = arrivals.iter().filter_map(arrival).find(|e| e.2.slot() == slot);
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
    for (at, link, flow, size) in arrivals.iter().filter_map(arrival) {
        bench.arrive(at, from(link), &packet(flow.slot(), from(link), size), &mut out);
    }
    bench.advance(end - units::Duration::from_nanos(1), &mut out);
    bench.sink.0.records
}

/// Returns the simulator's 5-tuple for the flow with index `slot` in the flow table. `app` is the application's number
/// in the order of names.
pub fn tuple(slot: usize, app: usize, from: u32, to: u32, dscp: u8) -> FlowTuple {
    FlowTuple {
        src: 0x0a00_0000 | from,
        dst: 0x0a00_0000 | to,
        sport: 1025 + slot as u16,
        dport: 1 + app as u16,
        protocol: Protocol::UDP,
        dscp,
    }
}
