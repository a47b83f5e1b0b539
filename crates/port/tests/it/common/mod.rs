//! A host for one port, which makes scripted calls, and collects arrivals and records.

use packet::{DropReason, FateSink, FlowId, FlowTable, MarkReason, PacketMeta, Point};
use port::{Env, Port, PortSpec};
use record::{LinkId, Record, Tape};
use units::{Duration, Time};

/// Converts milliseconds to a time, rounded to the nanosecond.
pub(crate) fn ms(t: f64) -> Time {
    Time((t * 1e6).round() as u64)
}

/// Converts TOML to a JSON tree before reading it, as the reader of scenarios does. Reading TOML directly would
/// require a second parser of every type, which takes as long to compile as all these tests.
pub(crate) fn read(text: &str) -> serde_json::Result<PortSpec> {
    serde_json::from_value(toml::from_str(text).unwrap())
}

/// The drops so far: sequence number and reason.
#[derive(Default)]
pub(crate) struct Drops(pub Vec<(u64, DropReason)>);

impl FateSink for Drops {
    fn dropped(&mut self, p: &PacketMeta, reason: DropReason, _: Point) {
        self.0.push((p.seq, reason));
    }
    fn marked(&mut self, _: &PacketMeta, _: MarkReason, _: Point) {}
}

pub(crate) struct Bench {
    pub port: Port,
    pub flows: FlowTable,
    pub fates: Drops,
    pub tape: Tape,
    /// Packets at the far end; `stamp` is the arrival time.
    pub out: Vec<PacketMeta>,
    pub seq: u64,
}

impl Bench {
    pub(crate) fn new(spec: &str) -> Self {
        Self::named(spec, "up")
    }

    /// Builds a bench whose random streams have names that begin with `name`.
    pub(crate) fn named(spec: &str, name: &str) -> Self {
        let port = Port::build(&read(spec).unwrap(), LinkId(0), 1, name).unwrap();
        Self { port, flows: FlowTable::default(), fates: Drops::default(), tape: Tape::default(), out: vec![], seq: 0 }
    }

    /// Offers `n` packets of `size` bytes at the same time.
    pub(crate) fn burst(&mut self, now: Time, n: usize, size: u16) {
        for _ in 0..n {
            let packet = PacketMeta { seq: self.seq, size, flow: FlowId(1), ..Default::default() };
            self.seq += 1;
            let mut env = Env { flows: &self.flows, fate: &mut self.fates, sink: &mut self.tape };
            self.port.offer(now, packet, &mut env);
        }
    }

    pub(crate) fn poll(&mut self, now: Time) {
        let mut env = Env { flows: &self.flows, fate: &mut self.fates, sink: &mut self.tape };
        let out = &mut self.out;
        self.port.poll(now, &mut env, &mut |p| out.push(p));
    }

    /// Polls at every deadline up to and including `end`.
    pub(crate) fn run(&mut self, end: Time) {
        while self.port.deadline() <= end && self.port.deadline() != Time::NEVER {
            self.poll(self.port.deadline());
        }
    }

    /// Keeps `depth` packets of 1500 B in the queue from `start` to `end`.
    pub(crate) fn saturate(&mut self, start: Time, end: Time, depth: u32) {
        self.burst(start, depth as usize + 1, 1500);
        while self.port.deadline() <= end {
            let now = self.port.deadline();
            self.poll(now);
            while self.port.backlog().packets < depth {
                self.burst(now, 1, 1500);
            }
        }
    }

    pub(crate) fn sojourns(&self) -> Vec<Duration> {
        self.tape
            .records
            .iter()
            .filter_map(|(_, r)| match r {
                Record::Dequeued { sojourn, .. } => Some(*sojourn),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn dropped(&self, reason: DropReason) -> usize {
        self.fates.0.iter().filter(|f| f.1 == reason).count()
    }
}

/// The upstream service flow in the cable modem model that CableLabs published in 2012.
pub(crate) const FLOW: &str =
    "{ max_sustained_rate = '5mbit', max_traffic_burst = '10MB', peak_traffic_rate = '20mbit' }";
