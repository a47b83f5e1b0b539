//! A queue in front of a link, with unresponsive sources. This module computes time averages from arrivals and departures.
#![allow(dead_code)] // each test file uses only some of these items

use packet::{FateSink, FlowId, FlowTable, FlowTuple, LinkView, MarkReason, PacketMeta, Point, Protocol};
use qdisc::{Context, Queue, Spec};
use units::{BitRate, Rng, Time};

/// A constant or Poisson stream of packets of one size.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    protocol: Protocol,
    dscp: u8,
    size: u16,
    gap_ns: f64,
    poisson: bool,
}

impl Source {
    fn new(protocol: Protocol, rate: f64, size: u16) -> Self {
        Self { protocol, dscp: 0, size, gap_ns: f64::from(size) * 8e9 / rate, poisson: false }
    }
    pub(crate) fn udp(rate: f64, size: u16) -> Self {
        Self::new(Protocol::UDP, rate, size)
    }
    pub(crate) fn tcp(rate: f64, size: u16) -> Self {
        Self::new(Protocol::TCP, rate, size)
    }
    pub(crate) fn dscp(self, dscp: u8) -> Self {
        Self { dscp, ..self }
    }
    pub(crate) fn poisson(self) -> Self {
        Self { poisson: true, ..self }
    }
}

/// The counts of one source's packets in the measurement window, its current backlog, and the integral of this backlog
/// over the window.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    offered: u32,
    dropped: u32,
    sent_bytes: u64,
    packets: f64,
    bytes: f64,
    packet_ns: f64,
    byte_ns: f64,
}

/// The results of a measurement window.
pub(crate) struct Window {
    tallies: Vec<Tally>,
    ns: f64,
}

impl Window {
    pub(crate) fn offered(&self, i: usize) -> u32 {
        self.tallies[i].offered
    }
    pub(crate) fn dropped(&self, i: usize) -> u32 {
        self.tallies[i].dropped
    }
    pub(crate) fn loss(&self, i: usize) -> f64 {
        f64::from(self.dropped(i)) / f64::from(self.offered(i))
    }
    /// Returns the rate at which packets of source `i` leave, in bit/s.
    pub(crate) fn rate(&self, i: usize) -> f64 {
        self.tallies[i].sent_bytes as f64 * 8e9 / self.ns
    }
    pub(crate) fn mean_packets(&self, i: usize) -> f64 {
        self.tallies[i].packet_ns / self.ns
    }
    pub(crate) fn mean_bytes(&self, i: usize) -> f64 {
        self.tallies[i].byte_ns / self.ns
    }
}

#[derive(Default)]
struct Dropped(Vec<FlowId>);

impl FateSink for Dropped {
    fn dropped(&mut self, packet: &PacketMeta, _: packet::DropReason, _: Point) {
        self.0.push(packet.flow);
    }
    fn marked(&mut self, _: &PacketMeta, _: MarkReason, _: Point) {}
}

pub(crate) struct Bench {
    queue: Queue,
    rng: Rng,
    link: LinkView,
    /// The rate at which [`Bench::run`] sends packets, if it differs from the link's sustained rate.
    wire: Option<BitRate>,
    flows: FlowTable,
    now: Time,
    dropped: Dropped,
}

impl Bench {
    pub(crate) fn new(spec: Spec, rate: f64) -> Self {
        Self {
            queue: Queue::new(spec.build()),
            rng: Rng::named(1, "bench"),
            link: LinkView::plain(BitRate(rate as u64)),
            wire: None,
            flows: FlowTable::default(),
            now: Time::ZERO,
            dropped: Dropped::default(),
        }
    }

    /// Sends packets at this rate, in bit/s, on a link that announces another sustained rate.
    pub(crate) fn wire(self, rate: f64) -> Self {
        Self { wire: Some(BitRate(rate as u64)), ..self }
    }

    /// Sets the protocol and the code point of a flow; the default is TCP with code point 0.
    pub(crate) fn flow(&mut self, flow: u32, protocol: Protocol, dscp: u8) {
        self.flows.set(FlowId(flow), FlowTuple { protocol, dscp, ..FlowTuple::default() });
    }

    fn packet(&self, flow: u32, size: u16) -> PacketMeta {
        let dscp = self.flows.get(FlowId(flow)).dscp;
        PacketMeta { flow: FlowId(flow), size, tos: dscp << 2, ..Default::default() }
    }

    fn put(&mut self, packet: PacketMeta) -> bool {
        let Self { queue, rng, link, flows, now, dropped, .. } = self;
        queue.enqueue(packet, &mut Context { now: *now, rng, link, flows, fate: dropped })
    }

    fn pull(&mut self) -> Option<PacketMeta> {
        let Self { queue, rng, link, flows, now, dropped, .. } = self;
        queue.dequeue(&mut Context { now: *now, rng, link, flows, fate: dropped })
    }

    /// Offers a packet of 1000 B from a flow. Returns true if it was accepted.
    pub(crate) fn offer(&mut self, flow: u32) -> bool {
        self.put(self.packet(flow, 1000))
    }

    /// Dequeues up to `n` packets, and returns the flow of each.
    pub(crate) fn take(&mut self, n: usize) -> Vec<u32> {
        (0..n).map_while(|_| self.pull()).map(|p| p.flow.0).collect()
    }

    pub(crate) fn wait(&mut self, ms: u64) {
        self.now = Time(self.now.0 + ms * 1_000_000);
    }

    /// Changes the link's rate, in bit/s.
    pub(crate) fn set_rate(&mut self, rate: f64) {
        self.link = LinkView::plain(BitRate(rate as u64));
    }

    pub(crate) fn backlog(&self) -> u32 {
        self.queue.backlog().packets
    }

    /// Runs to `end` seconds, and measures from `begin` on.
    pub(crate) fn run(self, sources: &[Source], begin: f64, end: f64) -> Window {
        self.run_and(sources, begin, end, |_, window| window)
    }

    /// Does the same as [`Self::run`], and passes the final queue and the results to `look`.
    pub(crate) fn run_and<T>(
        mut self,
        sources: &[Source],
        begin: f64,
        end: f64,
        look: impl FnOnce(&Queue, Window) -> T,
    ) -> T {
        let (begin, end) = ((begin * 1e9) as u64, (end * 1e9) as u64);
        let mut tallies = vec![Tally::default(); sources.len()];
        // each source starts at a different offset, so that sources with equal intervals do not send at the same time
        let mut next: Vec<f64> =
            sources.iter().enumerate().map(|(i, s)| s.gap_ns * i as f64 / sources.len() as f64).collect();
        for (i, s) in sources.iter().enumerate() {
            self.flow(i as u32, s.protocol, s.dscp);
        }
        let mut noise = Rng::named(2, "sources");
        let (mut free, mut idle) = (0u64, true);
        loop {
            let first = (0..next.len()).min_by(|&a, &b| next[a].total_cmp(&next[b])).unwrap();
            let wake = self.queue.next_wake().map_or(u64::MAX, |t| t.0);
            let link = if idle { wake } else { free };
            let at = (next[first] as u64).min(link);
            let at_end = at.min(end);
            let window = at_end.saturating_sub(self.now.0.max(begin)) as f64;
            for t in &mut tallies {
                t.packet_ns += t.packets * window;
                t.byte_ns += t.bytes * window;
            }
            self.now = Time(at_end);
            if at >= end {
                let window = Window { tallies, ns: (end - begin) as f64 };
                return look(&self.queue, window);
            }
            if at == link {
                idle = true;
            } else {
                let s = &sources[first];
                let counts = at >= begin;
                let packet = self.packet(first as u32, s.size);
                let t = &mut tallies[first];
                t.offered += u32::from(counts);
                t.packets += 1.0;
                t.bytes += f64::from(s.size);
                self.put(packet);
                next[first] += if s.poisson { units::math::exponential(&mut noise, s.gap_ns) } else { s.gap_ns };
                for flow in self.dropped.0.drain(..) {
                    let t = &mut tallies[flow.slot()];
                    t.dropped += u32::from(counts);
                    t.packets -= 1.0;
                    t.bytes -= f64::from(sources[flow.slot()].size);
                }
            }
            if idle && let Some(p) = self.pull() {
                let t = &mut tallies[p.flow.slot()];
                t.packets -= 1.0;
                t.bytes -= p.bytes() as f64;
                t.sent_bytes += if at >= begin { p.bytes() } else { 0 };
                (free, idle) = (at + self.wire.unwrap_or(self.link.rate).time_for(p.bytes()).0, false);
            }
        }
    }
}
