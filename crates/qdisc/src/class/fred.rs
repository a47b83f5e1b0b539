//! FRED: flow random early drop, one FIFO with counts for each active flow.
//!
//! ```text
//!   active flow            a flow with qlen_i > 0 packets queued; strike_i counts how often the flow exceeded its share
//!   avgcq                = max(1, avg / nactive)
//!   maxq                 = min_th, or 2 while avg >= max_th
//!   drop, strike_i += 1    iff qlen_i >= maxq, or avg >= max_th and qlen_i > 2 avgcq, or qlen_i >= avgcq and strike_i > 1
//!   otherwise, at min_th <= avg < max_th:  drop with RED's probability, but only if qlen_i >= max(minq, avgcq)
//!   otherwise, at avg >= max_th:           two_packets: accept;  drop_all: drop
//! ```
//!
//! avg is updated when a packet is accepted, when a packet departs, and when a packet arrives at an empty queue. An
//! arrival at a non-empty queue that is dropped does not update it.
//!
//! Source: Lin & Morris, SIGCOMM 1997.
//! Departs: the sources disagree on the case avg >= max_th, so both readings are offered ([`ManyFlows`]). RED's count
//! includes only the arrivals to which RED's probability applies; J-Sim's FRED also counts the other packets.

use super::average::{Average, Sampling};
use super::occupancy::{Red, RedTest, Unit, WEIGHT, check_packet, check_weight};
use crate::declared::params;
use crate::{Context, Fifo, Params, QueueDiscipline, Room};
use packet::{Backlog, DropReason, PacketMeta, Point, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::{Bytes, Limit, Prob, Problem, ensure};

/// The rule for accepting packets while the average queue length is at or above `max_th`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ManyFlows {
    /// Drops an arrival if its flow already has two packets queued, or more. This is the extension of Lin & Morris for
    /// many flows.
    TwoPackets,
    /// Drops every arrival, as in RED. This is the original FRED of Lin & Morris, and the FRED of the simulator J-Sim.
    DropAll,
}

params! {
    /// Parameters of FRED (flow random early drop). FRED is like RED, but also counts the queued packets of each flow,
    /// and drops packets of flows that have too many. The defaults of `minq` and `many_flows` are those of Lin & Morris
    /// 1997. Those of `limit`, `min_th`, `max_th`, `max_p` and `weight` are those of MMCN 1999 (Parris, Jeffay &
    /// Smith).
    pub struct FredParams {
        /// Maximum length of the queue: packets ("60p"), bytes ("60KB") or time at the link's rate ("50ms").
        limit: Limit = Limit::Packets(60),
        /// Average queue length, in packets, below which no packet is dropped at random. It is also the maximum number
        /// of packets that one flow may have queued while the average is below `max_th`.
        min_th: Limit = Limit::Packets(15),
        /// Average queue length, in packets, at and above which `many_flows` applies.
        max_th: Limit = Limit::Packets(30),
        /// Probability of a random drop just below `max_th`.
        max_p: Prob = Prob::constant(0.1),
        /// Weight of a new sample in the average queue length, which is a moving average.
        weight: f64 = WEIGHT,
        /// A flow with fewer queued packets than this number is safe from random drops. Use 2 for small buffers and 4
        /// for large buffers.
        minq: u32 = 2,
        /// The rule for accepting packets while the average queue length is at or above `max_th`.
        many_flows: ManyFlows = ManyFlows::TwoPackets,
        /// Size of a typical packet. It determines how fast the average falls while the queue is empty.
        packet: Bytes = Bytes(1000),
    }
}

impl FredParams {
    fn red(&self) -> RedTest {
        RedTest { min_th: self.min_th, max_th: self.max_th, max_p: self.max_p }
    }
}

impl Params for FredParams {
    type Discipline = Fred;
    fn limit(&self) -> Option<Limit> {
        Some(self.limit)
    }
    fn validate(&self) -> Result<(), Problem> {
        Room::validate(self.limit, false)?;
        for (path, th) in [("min_th", self.min_th), ("max_th", self.max_th)] {
            ensure!(matches!(th, Limit::Packets(_)), path, "{th} is not valid; expected packets (\"15p\")");
        }
        self.red().validate(self.limit)?;
        check_weight("weight", self.weight)?;
        ensure!(self.minq > 0, "minq", "0 is not valid; expected at least 1 packet (2 or 4)");
        check_packet(self.packet)
    }
    fn build(&self) -> Fred {
        Fred {
            room: Room::new(self.limit, false),
            fifo: Fifo::default(),
            red: Red::new(&self.red()),
            maxq: match self.min_th {
                Limit::Packets(n) => n,
                _ => 0,
            },
            minq: f64::from(self.minq),
            many_flows: self.many_flows,
            packet: self.packet.0,
            average: Average::new(self.weight, Sampling::Arrivals),
            flows: BTreeMap::new(),
        }
    }
}

/// One active flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Account {
    /// Number of the flow's packets in the queue.
    qlen: u32,
    /// Number of times that the flow exceeded its share since it became active.
    strike: u32,
}

/// The queue of FRED.
#[derive(Clone, Debug, PartialEq)]
pub struct Fred {
    room: Room,
    fifo: Fifo,
    red: Red,
    /// Maximum number of packets that a flow may have queued while the average is below `max_th`. It equals `min_th`.
    maxq: u32,
    minq: f64,
    many_flows: ManyFlows,
    packet: u64,
    average: Average,
    /// The flows that have packets queued. The key is [`PacketMeta::directed_flow`]. The map never has more entries
    /// than the queue has packets.
    flows: BTreeMap<u64, Account>,
}

impl Fred {
    /// Computes the average number of queued packets per active flow, at least 1.
    fn avgcq(&self) -> f64 {
        (self.average.get() / self.flows.len().max(1) as f64).max(1.0)
    }

    /// Returns true if the flow exceeds its share. The caller then increments `strike`.
    fn too_much(&self, flow: Account) -> bool {
        let (qlen, avgcq, many) = (f64::from(flow.qlen), self.avgcq(), self.red.forced(self.average.get()));
        let maxq = if many { 2 } else { self.maxq };
        flow.qlen >= maxq || (many && qlen > 2.0 * avgcq) || (qlen >= avgcq && flow.strike > 1)
    }

    /// Returns true if an arrival of a flow within its share must be dropped: by RED or, with [`ManyFlows::DropAll`],
    /// because the average is at or above `max_th`.
    fn early(&mut self, flow: Account, cx: &mut Context<'_>) -> bool {
        let avg = self.average.get();
        if !self.red.congested(avg) {
            self.red.calm();
            return false;
        }
        if self.red.forced(avg) {
            return self.many_flows == ManyFlows::DropAll;
        }
        f64::from(flow.qlen) >= self.minq.max(self.avgcq()) && self.red.drops(avg, cx.rng)
    }
}

impl QueueDiscipline for Fred {
    fn enqueue(&mut self, packet: PacketMeta, cx: &mut Context<'_>) {
        let backlog = self.fifo.backlog();
        if backlog.packets == 0 {
            self.average.arrival(cx.now, cx.link, self.packet);
        }
        let id = packet.directed_flow();
        let flow = self.flows.get(&id).copied().unwrap_or_default();
        if self.too_much(flow) {
            if let Some(flow) = self.flows.get_mut(&id) {
                flow.strike += 1;
            }
            return cx.fate.dropped(&packet, DropReason::EarlyTail, Point::Enqueue);
        }
        if self.early(flow, cx) {
            return cx.fate.dropped(&packet, DropReason::EarlyTail, Point::Enqueue);
        }
        if !self.room.fits(backlog, &packet, cx.link) {
            return cx.fate.dropped(&packet, DropReason::TailFull, Point::Enqueue);
        }
        self.flows.entry(id).or_default().qlen += 1;
        if backlog.packets > 0 {
            self.average.arrival(cx.now, cx.link, self.packet);
        }
        self.fifo.push(packet);
        self.average.now_queued(Unit::Packets.of(self.fifo.backlog()), cx.now, cx.link, self.packet);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Option<PacketMeta> {
        let packet = self.fifo.pop()?;
        let id = packet.directed_flow();
        if let Some(flow) = self.flows.get_mut(&id) {
            flow.qlen -= 1;
            if flow.qlen == 0 {
                // a flow without queued packets is no longer active, so its strikes are discarded
                self.flows.remove(&id);
            }
        }
        self.average.departure(Unit::Packets.of(self.fifo.backlog()), cx.now);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn probe(&self, out: &mut Reading<'_>) {
        let most = self.flows.values().map(|flow| flow.qlen).max().unwrap_or(0);
        out.value("avg", packet::Unit::Packets, Some(self.average.get()));
        out.value("avgcq", packet::Unit::Packets, Some(self.avgcq()));
        out.number("active_flows", self.flows.len() as u32);
        out.packets("longest_queue", most.into());
        out.number("strikes", self.flows.values().map(|flow| flow.strike).sum::<u32>());
    }
}
