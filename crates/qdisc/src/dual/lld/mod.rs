//! Low Latency DOCSIS: two coupled queues in a cable modem (or CMTS), for the two service flows of an aggregate.
//!
//! ```text
//! arrival    ECT(1), CE or an NQB code point: L;  all others: C
//! L          qdelay from the bytes in L and the packet (see `iaqm`), or from the virtual queue;  p_CL = min(1, k sqrt(p_C))
//!            if the sum of max(p_native, p_CL) over arrivals exceeds 1: subtract 1 from the sum, and mark the arrival
//!            if queue protection sanctions the packet (see `protection`): the packet goes to C
//!            if L or its virtual queue has no room (bytes >= limit - 2000): drop
//! C          DOCSIS-PIE with qdelay = 8 x bytes in C / r_C
//!            r_L = min(weight x AMSR, MSR_L, bits sent from L in the last interval / interval);  r_C = min(AMSR - r_L, MSR_C)
//! turn       decided by the modem's grants or the CMTS's scheduler;  in front of any other link, by weighted round robin
//! MAX_RATE   min(AMSR, MSR_L)
//! ```
//!
//! AMSR is the maximum sustained rate of the aggregate; MSR_L and MSR_C are those of the two service flows. p_C is
//! DOCSIS-PIE's drop probability, and k is the coupling factor.
//!
//! Source: MULPIv3.1 Annexes M to O by way of RFC 9957, RFC 8034 and docsis-ns3 (facts).
//! Units: L counts bytes of frames with the MAC header; C and the limits count bytes without this header (as in
//! docsis-ns3), and so do r_L and the arrivals at the virtual queue.
//! Interpretations: any ECN-capable packet in L can be marked, even ECT(0) with an NQB code point; a sanctioned packet is not
//! marked.
//! Departs: DOCSIS-PIE's clock stops while its updates would change nothing.

mod iaqm;
mod params;
mod protection;
mod virtual_queue;

pub(crate) use iaqm::MAX_FRAME;
pub use iaqm::Ramp;
pub use params::{DelayEstimate, DocsisLldParams};
pub(crate) use protection::Protection;
pub(crate) use virtual_queue::VirtualQueue;

use self::virtual_queue::NO_LOOP;
use super::Turns;
use super::pi2::Recur;
use crate::law::docsis_pie::DocsisPie;
use crate::law::{Law, LawParams, Verdict, View};
use crate::single::mark;
use crate::{ClassProbe, Context, Fifo, Params, QueueDiscipline, Room, ServiceFlows};
use packet::{
    Aggregate, Backlog, ClassCount, DropReason, Ecn, LinkView, MAC_HEADER, MarkReason, PacketMeta, Point, Reading,
    Sample, ServiceFlow, docsis_frame, ethernet_frame,
};
use units::{BitRate, Bytes, Duration, Limit, Problem, Time};

/// Class of a packet for C. The [`PacketMeta::class`] of every waiting packet is this constant or one of the two that
/// follow.
const CLASSIC: u8 = 0;
const LOW_LATENCY: u8 = 1;
/// Class of a packet that queue protection redirected to C.
const SANCTIONED: u8 = 2;
/// Default size of L's buffer: a time at the aggregate's sustained rate, and a minimum in bytes.
const L_BUFFER: (Duration, u64) = (Duration::from_millis(10), 40_000);
/// Default size of C's buffer, as the time in which a full buffer is sent at C's highest rate. This rate is the larger
/// of C's MSR and peak rate. If C has neither, it is the peak rate of the aggregate, or the aggregate's sustained rate
/// if its peak rate is unlimited. Source: MULPIv3.1 C.1.2.17.
const C_BUFFER: Duration = Duration::from_millis(100);

/// A queue of frames.
#[derive(Clone, Debug, Default, PartialEq)]
struct Side {
    fifo: Fifo,
    /// Total size of the queued frames with their MAC headers, bytes.
    frames: u64,
}

impl Side {
    #[inline]
    fn push(&mut self, packet: PacketMeta) {
        self.frames += docsis_frame(packet.bytes());
        self.fifo.push(packet);
    }

    #[inline]
    fn pop(&mut self) -> Option<PacketMeta> {
        let packet = self.fifo.pop()?;
        self.frames -= docsis_frame(packet.bytes());
        Some(packet)
    }

    /// Returns the backlog without MAC headers.
    #[inline]
    fn ethernet(&self) -> Backlog {
        let packets = self.fifo.backlog().packets;
        Backlog { packets, bytes: self.frames - MAC_HEADER * u64::from(packets) }
    }

    fn head(&self) -> Option<Time> {
        self.fifo.front().map(|p| p.stamp)
    }
}

/// Thresholds and buffers that depend on the link's rates.
#[derive(Clone, Debug, PartialEq)]
struct Rates {
    /// The aggregate's sustained and peak rates.
    of: [BitRate; 2],
    ramp: Ramp,
    critical: Duration,
    l_buffer: u64,
    /// Limit on the virtual queue's delay, if L has a virtual queue.
    l_delay: Duration,
    c_buffer: u64,
}

impl Params for DocsisLldParams {
    type Discipline = DocsisLld;
    fn validate(&self) -> Result<(), Problem> {
        self.check()
    }
    fn build(&self) -> DocsisLld {
        DocsisLld::new(self)
    }
    fn limit(&self) -> Option<Limit> {
        // there is no common limit, because each of the two queues has its own
        None
    }
    fn validate_at(&self, rate: BitRate) -> Result<(), Problem> {
        Room::holds_at("l_limit", self.l_limit, rate)?;
        Room::holds_at("classic.limit", self.classic.limit, rate)
    }
    fn service_flows(&self) -> bool {
        true
    }
}

/// The pair of queues, L and C.
#[derive(Clone, Debug, PartialEq)]
pub struct DocsisLld {
    params: DocsisLldParams,
    /// The code points whose packets go to L, as a bit set: bit i stands for code point i.
    l_dscp: u64,
    aggregate: Aggregate,
    rates: Option<Rates>,
    virtual_queue: Option<Box<VirtualQueue>>,
    l: Side,
    c: Side,
    pie: DocsisPie,
    protection: Protection,
    recur: Recur,
    turns: Turns,
    p_cl: f64,
    /// The value of p_native (see `iaqm`) for the last packet that arrived at L.
    p_native: f64,
    qdelay_l: Duration,
    /// Bits of the Ethernet frames that have left L since `interval_start`.
    interval_bits: u64,
    interval_start: Time,
    /// Value of r_L (see `shares`) at the last update, in bit/s.
    r_l: u64,
    /// Counts of L's packets, of C's packets, and of packets redirected from L to C.
    counts: [ClassCount; 3],
    /// Number of L's marks for each reason, in the order of [`MarkReason`].
    marked: [u64; 2],
}

impl DocsisLld {
    /// Creates both queues, empty, from valid parameters.
    fn new(p: &DocsisLldParams) -> Self {
        Self {
            params: p.clone(),
            l_dscp: p.l_dscp.iter().fold(0, |bits, d| bits | 1 << (d & 63)),
            aggregate: Aggregate::default(),
            rates: None,
            virtual_queue: None,
            l: Side::default(),
            c: Side::default(),
            pie: p.classic.law(),
            protection: Protection::new(p),
            recur: Recur::default(),
            turns: Turns::weighted(1.0 - f64::from(p.scheduling_weight) / 256.0),
            p_cl: 0.0,
            p_native: 0.0,
            qdelay_l: Duration::ZERO,
            interval_bits: 0,
            interval_start: Time::ZERO,
            r_l: 0,
            counts: [ClassCount::default(); 3],
            marked: [0; 2],
        }
    }

    /// Recomputes thresholds and buffers if the link's rates have changed.
    #[inline]
    fn adapt(&mut self, link: &LinkView) {
        let of = [link.rate, link.peak_rate];
        if self.rates.as_ref().is_none_or(|r| r.of != of) {
            self.set_rates(of);
        }
    }

    #[cold]
    fn set_rates(&mut self, of: [BitRate; 2]) {
        let p = &self.params;
        let rate = BitRate(of[0].0.max(1));
        // replaces an unlimited peak rate by the sustained rate, because otherwise C's buffer would be unlimited too
        let peak = if of[1].0 == u64::MAX { rate } else { rate.max(of[1]) };
        let Aggregate { msr: [msr_l, msr_c], peak_c, request_loop } = self.aggregate;
        let peak = msr_c.into_iter().chain(peak_c).max().unwrap_or(peak);
        let max_rate = BitRate(msr_l.map_or(rate, |msr| msr.min(rate)).0.max(1));
        let ramp = Ramp::new(p.max_th, p.lg_range, max_rate);
        let request_loop = match p.delay_estimate {
            Some(DelayEstimate::Bytes) => None,
            Some(DelayEstimate::VirtualQueue) => Some(request_loop.unwrap_or(NO_LOOP)),
            None => request_loop,
        };
        match &mut self.virtual_queue {
            Some(queue) => queue.set_rate(max_rate),
            None => self.virtual_queue = request_loop.map(|of| Box::new(VirtualQueue::new(&of, max_rate))),
        }
        let bytes = |limit: Limit, rate: BitRate| match limit {
            Limit::Packets(n) => u64::from(n) * MAX_FRAME,
            Limit::Bytes(b) => b.0,
            Limit::Time(span) => rate.bytes_in(span),
        };
        let (long, least) = L_BUFFER;
        let c_buffer = bytes(p.classic.limit.unwrap_or(Limit::Time(C_BUFFER)), peak);
        let l_buffer = p.l_limit.map_or(rate.bytes_in(long).max(least), |limit| bytes(limit, rate));
        self.rates = Some(Rates {
            of,
            ramp,
            critical: p.critical_ql.unwrap_or(ramp.max_th()),
            l_buffer,
            l_delay: max_rate.time_for(l_buffer.saturating_sub(MAX_FRAME)),
            c_buffer,
        });
        self.pie.set_buffer(Limit::Bytes(Bytes(c_buffer)));
    }

    fn is_low_latency(&self, packet: &PacketMeta) -> bool {
        matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce) || self.l_dscp >> (packet.tos >> 2) & 1 != 0
    }

    /// Applies queue protection (RFC 9957 §4), the immediate AQM and the coupled law to an arrival at L. Returns true
    /// if the packet must be redirected to C.
    fn low_latency(&mut self, packet: &mut PacketMeta, cx: &mut Context<'_>) -> bool {
        let Some(rates) = &self.rates else { return false };
        let size = docsis_frame(packet.bytes());
        let qdelay = match &mut self.virtual_queue {
            Some(queue) => queue.arrive(cx.now, ethernet_frame(packet.bytes())),
            None => rates.ramp.qdelay(self.l.frames + size),
        };
        let native = rates.ramp.p(qdelay);
        (self.qdelay_l, self.p_native) = (qdelay, native);
        let hit = self.recur.hit(native.max(self.p_cl));
        if self.params.queue_protection
            && self.protection.sanctions((packet, size), (qdelay, rates.critical), native, cx.flows, cx.now)
        {
            return true;
        }
        if hit && packet.ecn() != Ecn::NotEct && self.has_room() {
            // the mark is attributed to the law that gave the larger probability: the ramp (`Step`) or the coupled law
            // (`Law`)
            let reason = if native >= self.p_cl { MarkReason::Step } else { MarkReason::Law };
            self.marked[reason as usize] += 1;
            mark(packet, reason, Point::Enqueue, cx);
        }
        false
    }

    /// Decides whether C accepts an arrival: DOCSIS-PIE must not drop the packet, and C's buffer must have room.
    /// Errors: the reason for the drop.
    fn classic(&mut self, packet: &PacketMeta, cx: &mut Context<'_>) -> Result<(), DropReason> {
        if self.pie.next_tick().is_none() {
            // this arrival restarts DOCSIS-PIE's clock, so the interval in which L's rate is measured also begins now
            (self.interval_bits, self.interval_start) = (0, cx.now);
        }
        let backlog = self.c.ethernet();
        let size = ethernet_frame(packet.bytes());
        let view = View { now: cx.now, backlog, sojourn: Duration::ZERO, link: cx.link };
        let frame = PacketMeta { size: size.min(u64::from(u16::MAX)) as u16, ..*packet };
        if self.pie.arrive(&frame, &view, cx.rng) == Verdict::Drop {
            return Err(DropReason::EarlyTail);
        }
        if backlog.bytes + size > self.rates.as_ref().map_or(0, |r| r.c_buffer) {
            self.pie.overflow(cx.now);
            return Err(DropReason::TailFull);
        }
        Ok(())
    }

    /// Returns true if L has room for an arriving packet. If there is a virtual queue, the packet has already been
    /// added to that queue.
    fn has_room(&self) -> bool {
        let Some(rates) = &self.rates else { return false };
        let virtually = self.virtual_queue.is_none() || self.qdelay_l < rates.l_delay;
        virtually && self.l.ethernet().bytes < rates.l_buffer.saturating_sub(MAX_FRAME)
    }

    /// Removes an arriving packet from the virtual queue, if there is one, because the packet goes to C or is dropped.
    fn take_back(&mut self, packet: &PacketMeta) {
        if let Some(queue) = &mut self.virtual_queue {
            queue.take_back(ethernet_frame(packet.bytes()));
        }
    }

    /// Computes r_L and r_C in bit/s. r_L is the rate at which packets have left L since `interval_start`, limited to
    /// L's weighted share of `rate` and to L's MSR. r_C is the rest of `rate`, limited to C's MSR.
    fn shares(&self, now: Time, rate: BitRate) -> [u64; 2] {
        let [msr_l, msr_c] = self.aggregate.msr.map(|msr| msr.map_or(u64::MAX, |msr| msr.0));
        let most = (u128::from(rate.0) * u128::from(self.params.scheduling_weight) / 256).min(u128::from(msr_l));
        let span = u128::from(now.since(self.interval_start).0);
        let seen = (u128::from(self.interval_bits) * 1_000_000_000).checked_div(span).unwrap_or(0);
        let r_l = seen.min(most) as u64;
        [r_l, (rate.0 - r_l).min(msr_c)]
    }
}

/// Returns the index of a packet class in `counts`.
fn slot(class: u8) -> usize {
    match class {
        LOW_LATENCY => 0,
        SANCTIONED => 2,
        _ => 1,
    }
}

impl QueueDiscipline for DocsisLld {
    fn enqueue(&mut self, mut packet: PacketMeta, cx: &mut Context<'_>) {
        self.adapt(cx.link);
        packet.class = if self.is_low_latency(&packet) { LOW_LATENCY } else { CLASSIC };
        if packet.class == LOW_LATENCY && self.low_latency(&mut packet, cx) {
            self.take_back(&packet);
            packet.class = SANCTIONED;
        }
        self.counts[slot(packet.class)].offered.add(&packet);
        let fate = if packet.class == LOW_LATENCY {
            if self.has_room() {
                Ok(())
            } else {
                self.take_back(&packet);
                Err(DropReason::TailFull)
            }
        } else {
            self.classic(&packet, cx)
        };
        match fate {
            Ok(()) if packet.class == LOW_LATENCY => self.l.push(packet),
            Ok(()) => self.c.push(packet),
            Err(reason) => {
                self.counts[slot(packet.class)].dropped.add(&packet);
                cx.fate.dropped(&packet, reason, Point::Enqueue);
            }
        }
    }

    fn dequeue(&mut self, _cx: &mut Context<'_>) -> Option<PacketMeta> {
        let (l, c) = (self.l.head(), self.c.head());
        let from_l = self.turns.is_l(l, c);
        let packet = self.dequeue_of(if from_l { ServiceFlow::LowLatency } else { ServiceFlow::Classic });
        match &packet {
            Some(packet) if l.is_some() && c.is_some() => self.turns.sent(from_l, docsis_frame(packet.bytes())),
            Some(_) => {}
            None => self.turns.reset(),
        }
        packet
    }

    fn next_wake(&self) -> Option<Time> {
        let sample = self.virtual_queue.as_ref().and_then(|queue| queue.next());
        self.pie.next_tick().into_iter().chain(sample).min()
    }

    fn wake(&mut self, cx: &mut Context<'_>) {
        if let Some(queue) = &mut self.virtual_queue
            && queue.next().is_some_and(|t| t <= cx.now)
        {
            queue.sample(cx.now, self.l.frames);
        }
        if self.pie.next_tick().is_none_or(|t| t > cx.now) {
            return;
        }
        let [r_l, r_c] = self.shares(cx.now, cx.link.rate);
        let link = LinkView::plain(BitRate(r_c.max(1)));
        let backlog = self.c.ethernet();
        self.pie.tick(&View { now: cx.now, backlog, sojourn: Duration::ZERO, link: &link });
        self.p_cl = (self.params.coupling_factor * self.pie.state().drop_prob.sqrt()).min(1.0);
        (self.interval_bits, self.interval_start, self.r_l) = (0, cx.now, r_l);
    }

    fn backlog(&self) -> Backlog {
        self.l.fifo.backlog().plus(self.c.fifo.backlog())
    }

    /// Reports DOCSIS-PIE's state (drop_prob is p_C, qdelay_old is C's delay at the last update), then L's state.
    fn probe(&self, out: &mut Reading<'_>) {
        self.pie.probe(out);
        out.number("p_cl", self.p_cl);
        out.number("p_native", self.p_native);
        out.duration("qdelay_l", self.qdelay_l);
        out.sample(Sample::QueueDelays([self.qdelay_l, self.pie.state().qdelay_old]));
        out.duration("min_th", self.rates.as_ref().map(|r| r.ramp.min_th()));
        out.duration("max_th", self.rates.as_ref().map(|r| r.ramp.max_th()));
        out.rate("r_l", self.r_l as f64);
        let (scored, score) = self.protection.scores(out.now());
        out.number("scored_flows", scored as f64);
        out.duration("qlscore", score);
        out.packets("sanctioned", self.counts[2].offered.packets);
        let each = out.queues();
        for (name, side) in [("L", &self.l), ("C", &self.c)].into_iter().filter(|_| each) {
            out.queue_of(name, side.fifo.backlog());
        }
    }

    /// Returns the counts of L, C and sanctioned packets. L's marks are counted separately for the coupled law and L's own ramp.
    fn classes(&self) -> Vec<ClassProbe<'_>> {
        let [l, c, sanctioned] = self.counts;
        vec![
            ClassProbe { name: "L", counts: l, marked: Some(self.marked) },
            ClassProbe { name: "C", counts: c, marked: None },
            ClassProbe { name: "sanctioned", counts: sanctioned, marked: None },
        ]
    }

    fn service_flows(&self) -> Option<&dyn ServiceFlows> {
        Some(self)
    }

    fn service_flows_mut(&mut self) -> Option<&mut dyn ServiceFlows> {
        Some(self)
    }
}

impl ServiceFlows for DocsisLld {
    fn aggregate(&mut self, of: &Aggregate) {
        self.aggregate = *of;
        self.rates = None;
        self.virtual_queue = None;
    }

    fn dequeue_of(&mut self, flow: ServiceFlow) -> Option<PacketMeta> {
        let packet = match flow {
            ServiceFlow::LowLatency => self.l.pop(),
            ServiceFlow::Classic => self.c.pop(),
        }?;
        if flow == ServiceFlow::LowLatency {
            self.interval_bits += 8 * ethernet_frame(packet.bytes());
        }
        self.counts[slot(packet.class)].delivered.add(&packet);
        Some(packet)
    }

    fn frames(&self) -> [u64; 2] {
        [self.l.frames, self.c.frames]
    }

    fn head_bytes(&self) -> [u64; 2] {
        [&self.l, &self.c].map(|side| side.fifo.front().map_or(0, |p| p.bytes()))
    }
}
