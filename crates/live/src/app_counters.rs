//! Counts the packets, bytes and delays of each application's flows on the bench.
//!
//! Before the module `programs` sends the first packet of a flow, it reports which application owns the flow's ports
//! ([`Claim`]). These reports map a packet's 5-tuple to an application, and to the row of counters to which the packet
//! is added. Delays are one way, from kernel to kernel: from the time at which a packet leaves one TUN device to the
//! time at which it enters the other.

use crate::flows::Key;
use crate::plan::Plan;
use measure::Tally;
use measure::tally::Known;
use packet::{FlowId, Protocol};
use scenario::Scenario;
use std::collections::BTreeMap;
use traffic::Arrivals;
use units::{Duration, Problem, Time};

/// A flow that is about to begin: its protocol and the ports of client and server (for ICMP, both are the identifier).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ports {
    /// Transport protocol.
    pub protocol: Protocol,
    pub client: u16,
    pub server: u16,
}

/// The application that owns a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Number of the application, in name order.
    pub app: u16,
    /// Index of the flow's row of counters among the rows of all applications.
    pub row: u32,
    /// Number of the flow within its application, from 1.
    pub number: u32,
}

/// A report that a flow is about to begin: the flow's ports, and the application that owns the flow.
pub(crate) type Claim = (Ports, Owner);

/// Returns empty counters for all applications. `duration` is the length of their time series.
pub(crate) fn tally(scenario: &Scenario, plan: &Plan, duration: Duration) -> Result<Tally, Problem> {
    // TCP_INFO does not count entries into fast recovery
    let [marks, timeouts] = crate::sys::counts_marks_and_timeouts();
    let known =
        Known { timeouts, fast_recoveries: false, ce_packets: marks && plan.network.stacks.iter().any(|s| s.ecn.ecn) };
    let (warm_up, load) = (Time(scenario.record.warm_up.0), scenario.load());
    let mut tally = Tally { warm_up, load, known, ..Tally::default() };
    for app in &plan.network.apps {
        let series = app.recorded.then_some((duration, scenario.bin()));
        let traffic = &app.declared.traffic;
        tally.add_app(&app.name, traffic, traffic.rows(), series)?;
    }
    Ok(tally)
}

/// A flow of an application.
#[derive(Clone, Copy, Debug)]
struct Owned {
    owner: Owner,
    /// True if the server sent the first packet, so that the flow's responder is the client.
    from_server: bool,
    tcp: bool,
}

impl Owned {
    /// Returns the direction of a packet: 0 from client to server, 1 from server to client. `back` is true if the packet
    /// travels from the flow's responder to its initiator.
    fn direction(self, back: bool) -> usize {
        usize::from(back != self.from_server)
    }
}

/// Counters of the applications, and the owners of their flows.
#[derive(Debug)]
pub(crate) struct AppCounters {
    claims: BTreeMap<Ports, Owner>,
    /// Owner of each flow, by slot.
    owners: Vec<Option<Owned>>,
    /// The datagrams that have arrived, each identified by the time at which it entered the bench. A second copy has
    /// the same time as the first.
    arrivals: Arrivals,
    /// Counts of packets, bytes on the wire, delays, drops and SYNs. The module `programs` counts everything else, in a
    /// second tally.
    pub tally: Tally,
}

impl AppCounters {
    pub(crate) fn new(tally: Tally) -> Self {
        Self { claims: BTreeMap::new(), owners: Vec::new(), arrivals: Arrivals::default(), tally }
    }

    /// Registers the ports that an application is about to use.
    pub(crate) fn claim(&mut self, (ports, owner): Claim) {
        self.claims.insert(ports, owner);
    }

    /// Assigns flow `slot` to its owner. Called for a new flow, and when a SYN reuses the flow's ports.
    pub(crate) fn appeared(&mut self, slot: usize, key: &Key) {
        let ports = |client, server| Ports { protocol: key.protocol, client, server };
        let owned = |from_server| {
            let tcp = key.protocol == Protocol::TCP;
            move |&owner: &Owner| Owned { owner, from_server, tcp }
        };
        if self.owners.len() <= slot {
            self.owners.resize(slot + 1, None);
        }
        let forward = self.claims.get(&ports(key.sport, key.dport)).map(owned(false));
        let reverse = || self.claims.get(&ports(key.dport, key.sport)).map(owned(true));
        self.owners[slot] = forward.or_else(reverse);
    }

    fn owner(&self, slot: usize) -> Option<Owned> {
        self.owners.get(slot).copied().flatten()
    }

    /// Counts a SYN that the client sent in flow `slot`.
    pub(crate) fn syn(&mut self, slot: usize, now: Time) {
        if let Some(Owned { owner, .. }) = self.owner(slot) {
            self.tally.syn(owner.app, owner.number, now);
        }
    }

    /// Counts a drop of a packet of flow `slot`.
    pub(crate) fn dropped(&mut self, slot: usize, back: bool, now: Time) {
        self.tally.begin_if_due(now);
        if let Some(owned) = self.owner(slot) {
            self.tally.dropped(owned.owner.row, owned.direction(back), now, 1);
        }
    }

    /// Counts a packet of flow `slot` that was delivered to its host at time `now`. The packet entered the bench
    /// at time `entered`. The second copy of a datagram does not count.
    pub(crate) fn delivered(&mut self, slot: usize, back: bool, now: Time, size: usize, payload: usize, entered: Time) {
        self.tally.begin_if_due(now);
        let Some(owned) = self.owner(slot) else { return };
        if !owned.tcp && self.arrivals.again(FlowId::new(slot as u32, 0), back, entered.0) {
            return;
        }
        let (owner, direction, delay) = (owned.owner, owned.direction(back), now.since(entered));
        let total = &mut self.tally.rows[owner.row as usize].directions[direction].total;
        total.packets += 1;
        total.wire_bytes += size as u64;
        self.tally.arrived_series(owner.row, direction, now, size as u16);
        if payload > 0 {
            self.tally.delay(owner.app, direction, now, delay);
            self.tally.delay_series(owner.row, direction, now, delay);
        }
    }
}

/// Copies the bench's counts into `programs`, the tally of the module `programs`.
pub(crate) fn join(programs: &mut Tally, mut bench: Tally) {
    // a tally begins to measure at its first event after the warm-up. A tally without such an event begins here, so
    // that its results exclude the warm-up
    [&mut *programs, &mut bench].into_iter().filter(|tally| !tally.begun).for_each(Tally::begin);
    programs.syns = bench.syns;
    for (app, other) in programs.apps.iter_mut().zip(bench.apps) {
        app.delay = other.delay;
    }
    for (row, other) in programs.rows.iter_mut().zip(bench.rows) {
        for (direction, other) in row.directions.iter_mut().zip(other.directions) {
            let before =
                (&mut **direction.before.get_or_insert_default(), other.before.as_deref().copied().unwrap_or_default());
            for (mine, its) in [(&mut direction.total, other.total), before] {
                (mine.packets, mine.wire_bytes, mine.dropped) = (its.packets, its.wire_bytes, its.dropped);
            }
            if let (Some(series), Some(other)) = (&mut direction.series, other.series) {
                series.wire = other.wire;
                series.delay = other.delay;
                series.delay_max = other.delay_max;
                series.dropped = other.dropped;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::Flows;
    use scenario::read::{Format, scenario};

    #[test]
    fn a_datagram_from_the_server_counts_once_in_its_direction() {
        let text = r#"
            duration = "2s"
            link.up = { from = "a", to = "b", both_ways = true, rate = "1mbit" }
            app.talk = { from = "a", to = ["b"], traffic.voip = { direction = "down" } }
        "#;
        let s = scenario(text, Format::Toml, &[]).unwrap();
        let plan = Plan::new(&s, None, crate::plan::MEASURED).unwrap();
        let mut counters = AppCounters::new(tally(&s, &plan, s.duration).unwrap());
        let owner = Owner { app: 0, row: 0, number: 1 };
        counters.claim((Ports { protocol: Protocol::UDP, client: 40_000, server: 5000 }, owner));
        let mut flows = Flows::default();
        // the server sends first, then the client
        for (from, to, ports) in [(2, 1, (5000, 40_000)), (1, 2, (40_000, 5000))] {
            let header = packet::header::parse(&crate::craft::udp(false, from, to, ports, 100, 0)).unwrap();
            let (flow, back, new) = flows.find(&header);
            if new {
                counters.appeared(flow.slot(), &flows.all[flow.slot()].key);
            }
            // three packets arrive, the second of them twice, and another packet is dropped
            for entered in [1, 2, 2, 3] {
                counters.delivered(flow.slot(), back, Time(10), 100, 72, Time(entered));
            }
            counters.dropped(flow.slot(), back, Time(10));
            if new {
                assert_eq!(counters.tally.rows[0].directions[0].total.packets, 0);
            }
        }
        for direction in &counters.tally.rows[0].directions {
            let total = &direction.total;
            assert_eq!((total.packets, total.wire_bytes, total.dropped), (3, 300, 1));
        }
    }
}
