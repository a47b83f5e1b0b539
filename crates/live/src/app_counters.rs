//! Counts the packets, bytes and delays of each application's flows on the bench.
//!
//! Before a program sends the first packet of a flow, the program reports which application owns the flow's ports
//! ([`Claim`]). These reports map a packet's 5-tuple to an application, and to the row of counters to which the packet
//! is added. Delays are one way, from kernel to kernel: from the time at which a packet leaves one TUN device to the
//! time at which it enters the other.

use crate::flows::Key;
use crate::plan::Plan;
use measure::Tally;
use measure::tally::Known;
use scenario::Scenario;
use std::collections::BTreeMap;
use units::{Duration, Problem, Time};

/// A flow that is about to begin: its protocol and the ports of client and server (for ICMP, both are the identifier).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ports {
    /// IP protocol number.
    pub protocol: u8,
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
    /// Number of the connection within its application, from 1.
    pub number: u32,
}

/// A program's report that a flow with these ports is about to begin, and which application owns the flow.
pub(crate) type Claim = (Ports, Owner);

/// Returns empty counters for all applications. `duration` is the length of their time series.
pub(crate) fn tally(scenario: &Scenario, plan: &Plan, duration: Duration) -> Result<Tally, Problem> {
    // the kernel does not report entries into fast recovery, and reports timeouts only since version 6.7
    let known = Known { timeouts: crate::sys::counts_timeouts(), fast_recoveries: false, ce_packets: false };
    let mut tally = Tally { warm_up: Time(scenario.record.warm_up.0), known, ..Tally::default() };
    for app in &plan.network.apps {
        let series = app.recorded.then_some((duration, scenario.bin()));
        let traffic = &app.declared.traffic;
        tally.add_app(&app.name, traffic, traffic.rows(), series)?;
    }
    Ok(tally)
}

/// Counters of the applications, and the owners of their flows.
#[derive(Debug)]
pub(crate) struct AppCounters {
    claims: BTreeMap<Ports, Owner>,
    /// Owner of each flow, by slot.
    owners: Vec<Option<Owner>>,
    /// Counts of packets, bytes on the wire, delays, drops and SYNs. The programs count everything else, in a tally of
    /// their own.
    pub tally: Tally,
}

impl AppCounters {
    pub(crate) fn new(tally: Tally) -> Self {
        Self { claims: BTreeMap::new(), owners: Vec::new(), tally }
    }

    /// Registers the ports that a program is about to use.
    pub(crate) fn claim(&mut self, (ports, owner): Claim) {
        self.claims.insert(ports, owner);
    }

    /// Assigns flow `slot` to its owner. The flow is new, or a SYN shows that its ports are in use again.
    pub(crate) fn appeared(&mut self, slot: usize, key: &Key) {
        let ports = Ports { protocol: key.protocol, client: key.sport, server: key.dport };
        if self.owners.len() <= slot {
            self.owners.resize(slot + 1, None);
        }
        self.owners[slot] = self.claims.get(&ports).copied();
    }

    fn owner(&self, slot: usize) -> Option<Owner> {
        self.owners.get(slot).copied().flatten()
    }

    /// Counts a SYN that the client sent in flow `slot`.
    pub(crate) fn syn(&mut self, slot: usize, now: Time) {
        if let Some(owner) = self.owner(slot) {
            self.tally.syn(owner.app, owner.number, now);
        }
    }

    /// Counts a drop of a packet of flow `slot`.
    pub(crate) fn dropped(&mut self, slot: usize, back: bool, now: Time) {
        self.tally.begin_if_due(now);
        if let Some(owner) = self.owner(slot) {
            self.tally.dropped(owner.row, usize::from(back), now, 1);
        }
    }

    /// Counts a packet of flow `slot` that was delivered to its host at time `now`. `delay` is the time between the
    /// packet's entry into the bench and its delivery.
    pub(crate) fn delivered(
        &mut self,
        slot: usize,
        back: bool,
        now: Time,
        size: usize,
        payload: usize,
        delay: Duration,
    ) {
        self.tally.begin_if_due(now);
        let Some(owner) = self.owner(slot) else { return };
        let direction = usize::from(back);
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

/// Copies the counts that were made on the bench into `programs`, the tally of the programs.
pub(crate) fn join(programs: &mut Tally, mut bench: Tally) {
    // the first event after the warm-up causes a tally to exclude the counts of the warm-up from the results. If a
    // tally had no such event, the counts of the warm-up are excluded here
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
