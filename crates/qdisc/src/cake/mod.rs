//! CAKE: one discipline with a shaper, traffic classes (tins), isolation of flows and hosts, and the law COBALT.
//!
//! ```text
//!                                +-- tin: flows in turn, hosts share equally --+
//! arrival -- code point -------->|-- tin                                       |--> shaper's clock --> COBALT --> link
//!                  |             +-- tin                                       +
//!                  +-- hash, 8 ways; ACK filter; over the limit: drops the head of the longest queue
//!
//! next tin     shaped: among tins with active queues, the last whose clock is due, or, if none is due, the one whose clock is
//!              earliest;  unlimited: deficit round robin with the tins' weights
//! tin's clock  after sending n bytes: next < now: next += n / threshold;  otherwise: next = max(next, now + n / threshold)
//! over target  sojourn > target and > 4 mtu_time, and in ingress mode > 2 mtu_time x bulk flows of the tin
//! ```
//!
//! With `bandwidth` the discipline shapes: even if the link is free, it sends nothing before its clock is due, and reports
//! that time by [`QueueDiscipline::next_wake`]. Each mechanism has its own file: `overhead`, `shaper`, `tins`, `flows` (whose
//! lists are in `lists`), `hosts`, `ack_filter`; the law is COBALT (`law/cobalt.rs`).
//!
//! Source: Hoiland-Jorgensen, Taht & Morton, "Piece of CAKE", 2018 (arXiv 1804.07617); tc-cake(8); Linux' sch_cake.c (facts
//! only).
//! Departs: the memory limit counts bytes on the wire; Linux counts the memory of its packet buffers, some 50 % more. `limit`
//! counts packets; CAKE has only a memory limit. Not modelled: `autorate-ingress`, `nat`, `fwmark`, cake_mq. The host splits
//! packets of several segments (`split-gso`).

mod ack_filter;
mod flows;
mod hosts;
mod lists;
mod overhead;
mod params;
mod shaper;
mod table;
mod tins;

pub(crate) use ack_filter::AckFilter;
pub(crate) use params::CakeParams;

use crate::law::Verdict;
use crate::law::cobalt::Head;
use crate::{ClassProbe, Context, Params, QueueDiscipline, Room};
use flows::Flows;
use overhead::Overhead;
use packet::{Backlog, ClassCount, DropReason, Flags, LinkView, PacketMeta, Point, Reading};
use shaper::Shaper;
use tins::Plan;
use units::{BitRate, Limit, Problem, Time, ensure, positive, positive_or_none};

impl Params for CakeParams {
    type Discipline = Cake;
    fn validate(&self) -> Result<(), Problem> {
        let stopped = self.bandwidth == Some(BitRate(0));
        ensure!(!stopped, "bandwidth", "0bit is not valid; expected a positive rate, or null for unlimited");
        positive("rtt", self.rtt)?;
        positive_or_none("target", self.target)?;
        let o = self.overhead.unwrap_or(0);
        ensure!((-64..=256).contains(&o), "overhead", "{o} is not valid; expected -64 to 256 bytes, or null");
        for (path, n) in [("mpu", self.mpu), ("header", self.header)] {
            ensure!(n <= 256, path, "{n} is not valid; expected at most 256 bytes");
        }
        Room::holds("memory_limit", self.memory_limit.map(Limit::Bytes))?;
        Room::validate(self.limit, false)
    }
    fn build(&self) -> Cake {
        Cake::new(self)
    }
    fn limit(&self) -> Option<Limit> {
        Some(self.limit)
    }
    fn validate_at(&self, rate: BitRate) -> Result<(), Problem> {
        // behind a shaper that is faster than the link, the link would be the bottleneck
        if let Some(b) = self.bandwidth {
            ensure!(
                b <= rate,
                "bandwidth",
                "{b} is not valid on a link of {rate}; expected at most the link's rate, or null"
            );
        }
        Room::validate_at(self.limit, false, rate)
    }
    fn shapes(&self) -> Option<BitRate> {
        self.bandwidth
    }
    fn split_gso(&self) -> bool {
        self.split_gso
    }
}

/// A class of traffic: its queues and its clock.
#[derive(Clone, Debug, PartialEq)]
struct Tin {
    plan: Plan,
    flows: Flows,
    /// Clock of the tin, if CAKE shapes.
    next: Time,
    /// Credit of the tin in the round robin of tins, if CAKE does not shape.
    deficit: i64,
    backlog: Backlog,
    counts: ClassCount,
}

/// CAKE's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Cake {
    tins: Vec<Tin>,
    /// The tin of each code point.
    map: Box<[u8; 64]>,
    shaper: Option<Shaper>,
    /// A link with the shaper's rate, for limits that are given as times; `None` without a shaper.
    shaped: Option<LinkView>,
    overhead: Overhead,
    ack_filter: AckFilter,
    ingress: bool,
    wash: bool,
    room: Room,
    memory: u64,
    total: Backlog,
    salt: Option<u32>,
    /// The tin that had the last turn.
    current: usize,
    /// Time of the next dequeue, if the last dequeue sent nothing because the shaper's clock was not due.
    wake_at: Option<Time>,
}

impl Cake {
    /// Creates an empty discipline from valid parameters.
    fn new(p: &CakeParams) -> Self {
        let tin = |plan: Plan| Tin {
            flows: Flows::new(p.isolation, plan.quantum),
            plan,
            next: Time::ZERO,
            deficit: 0,
            backlog: Backlog::default(),
            counts: ClassCount::default(),
        };
        Self {
            tins: tins::plans(p).into_iter().map(tin).collect(),
            map: Box::new(tins::map(p.diffserv)),
            shaper: p.bandwidth.map(Shaper::new),
            shaped: p.bandwidth.map(LinkView::plain),
            overhead: p.compensation(),
            ack_filter: p.ack_filter,
            ingress: p.ingress,
            wash: p.wash,
            room: Room::new(p.limit, false),
            memory: p.memory().0,
            total: Backlog::default(),
            salt: None,
            current: 0,
            wake_at: None,
        }
    }

    /// Computes the bytes that `packet` costs on the line, with the overhead of each of its segments.
    #[inline]
    fn cost(&self, packet: &PacketMeta, cx: &Context<'_>) -> u64 {
        if packet.flags.has(Flags::GSO) { self.cost_of_several(packet, cx) } else { self.overhead.of(packet.bytes()) }
    }

    #[cold]
    fn cost_of_several(&self, packet: &PacketMeta, cx: &Context<'_>) -> u64 {
        let (full, frame) = (u64::from(packet.segments(cx.flows)) - 1, u64::from(packet.frame(cx.flows)));
        full * self.overhead.of(frame) + self.overhead.of(packet.bytes() - full * frame)
    }

    /// Subtracts `packet` from the backlog of tin `t` and from the total.
    #[inline]
    fn leaves(&mut self, t: usize, packet: &PacketMeta) {
        for backlog in [&mut self.total, &mut self.tins[t].backlog] {
            backlog.remove(packet.bytes());
        }
    }

    /// Charges `cost` bytes of tin `t` to the clocks. `dropped` is true if the bytes were dropped instead of sent.
    #[inline]
    fn charge(&mut self, t: usize, cost: u64, dropped: bool, now: Time) {
        let tin = &mut self.tins[t];
        if let Some(pace) = tin.plan.pace {
            let span = pace.time(cost);
            tin.next = if tin.next < now { tin.next + span } else { tin.next.max(now + span) };
        }
        match &mut self.shaper {
            Some(shaper) if dropped => shaper.dropped(cost),
            Some(shaper) => shaper.sent(cost),
            None => {}
        }
    }

    /// Reports the drop of `packet`, which has left the queues of tin `t`. In ingress mode, also charges the packet to the
    /// clocks.
    fn gone(&mut self, t: usize, packet: &PacketMeta, reason: DropReason, point: Point, cx: &mut Context<'_>) {
        self.tins[t].counts.dropped.add(packet);
        if self.ingress {
            let cost = self.cost(packet, cx);
            self.charge(t, cost, true, cx.now);
        }
        cx.fate.dropped(packet, reason, point);
    }

    /// Drops the head of the longest queue until the limits hold. `home` is the tin and the queue of the newest packet.
    ///
    /// Bound: every iteration drops a packet.
    #[cold]
    fn shrink(&mut self, arrival: &PacketMeta, home: (usize, u16), cx: &mut Context<'_>) {
        while !self.fits(arrival, cx) {
            let tins = self.tins.iter_mut().enumerate().filter(|(_, tin)| tin.backlog.packets > 0);
            let longest = tins
                .filter_map(|(t, tin)| tin.flows.longest().map(|(i, bytes)| (t, i, bytes)))
                .reduce(|a, b| if b.2 > a.2 { b } else { a });
            let Some((t, i, _)) = longest else { return };
            let tin = &mut self.tins[t];
            let Some(packet) = tin.flows.pop(i) else { return };
            let newest = (t, i) == home && tin.flows.fifo(i).is_empty();
            tin.flows.law(i).queue_full(&tin.plan.law, cx.now);
            self.leaves(t, &packet);
            let reason = if newest { DropReason::TailFull } else { DropReason::HeadFull };
            self.gone(t, &packet, reason, Point::Enqueue, cx);
            if newest {
                return;
            }
        }
    }

    /// Returns true if the backlog, which includes `arrival`, is within the limits.
    #[inline]
    fn fits(&mut self, arrival: &PacketMeta, cx: &Context<'_>) -> bool {
        let others = Backlog { packets: self.total.packets - 1, bytes: self.total.bytes - arrival.bytes() };
        self.total.bytes <= self.memory && self.room.fits(others, arrival, self.shaped.as_ref().unwrap_or(cx.link))
    }

    /// Chooses the tin that sends next.
    ///
    /// Bound: no deficit is more than one packet below zero, and a round adds each tin's weight, at least 64 bytes, to its deficit.
    #[inline]
    fn choose(&mut self, now: Time) -> Option<usize> {
        if self.tins.len() == 1 {
            return Some(0);
        }
        if self.shaper.is_none() {
            return self.choose_in_turn();
        }
        let waiting = self.tins.iter().enumerate().filter(|(_, tin)| tin.flows.active() > 0);
        let rank = |tin: &Tin| if tin.next <= now { Time::ZERO } else { tin.next };
        // of the tins that are due, chooses the last; if none is due, the tin with the earliest clock (the last among equals)
        waiting.reduce(|a, b| if rank(b.1) <= rank(a.1) { b } else { a }).map(|(t, _)| t)
    }

    fn choose_in_turn(&mut self) -> Option<usize> {
        let tin = &self.tins[self.current];
        if tin.deficit >= 0 && tin.flows.active() > 0 {
            return Some(self.current);
        }
        if self.tins.iter().all(|tin| tin.flows.active() == 0) {
            return None;
        }
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit >= 0 && tin.flows.active() > 0 {
                return Some(self.current);
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.plan.weight;
            }
            self.current += 1;
            if self.current == self.tins.len() {
                self.current = 0;
            }
        }
    }

    /// Takes a packet from tin `t`. Returns `None` if the chosen queue had nothing to send; the caller then chooses a tin
    /// again. With `decaying_first`, a decaying queue is visited before any other.
    ///
    /// Bound: every iteration drops a packet.
    #[inline]
    fn serve(&mut self, t: usize, decaying_first: &mut bool, cx: &mut Context<'_>) -> Option<PacketMeta> {
        loop {
            let tin = &mut self.tins[t];
            let i = tin.flows.next(std::mem::take(decaying_first))?;
            let busy = u64::from(self.ingress) * u64::from(tin.flows.bulk());
            let Some(mut packet) = tin.flows.pop(i) else {
                let law = tin.flows.law(i);
                law.queue_empty(&tin.plan.law, cx.now);
                let rests = law.count == 0 && law.p_drop == 0.0 && law.drop_next <= cx.now;
                tin.flows.emptied(i, rests);
                return None;
            };
            let sojourn = cx.now.since(packet.stamp);
            let Plan { law, mtu_time, .. } = &tin.plan;
            let head = Head {
                now: cx.now,
                over_target: sojourn > law.target && sojourn.0 > mtu_time.0 * (2 * busy).max(4),
                too_late: false,
                last: tin.flows.fifo(i).is_empty(),
            };
            let verdict = tin.flows.law(i).head(law, &packet, head, cx.rng);
            let cost = self.cost(&packet, cx);
            self.leaves(t, &packet);
            if verdict == Verdict::Drop {
                if self.ingress {
                    let tin = &mut self.tins[t];
                    tin.flows.pays(i, cost);
                    tin.deficit -= cost as i64;
                }
                self.gone(t, &packet, DropReason::EarlyHead, Point::Dequeue, cx);
                continue;
            }
            if let Verdict::Mark(reason) = verdict {
                crate::single::mark(&mut packet, reason, Point::Dequeue, cx);
            }
            self.charge(t, cost, false, cx.now);
            let tin = &mut self.tins[t];
            tin.flows.pays(i, cost);
            tin.deficit -= cost as i64;
            tin.counts.delivered.add(&packet);
            return Some(packet);
        }
    }
}

impl QueueDiscipline for Cake {
    #[inline]
    fn enqueue(&mut self, mut packet: PacketMeta, cx: &mut Context<'_>) {
        let t = usize::from(self.map[usize::from(packet.tos >> 2)]);
        if self.wash {
            packet.tos &= 3;
        }
        let salt = *self.salt.get_or_insert_with(|| cx.rng.bits() as u32);
        let tuple = packet.tuple(cx.flows);
        let tin = &mut self.tins[t];
        if tin.backlog.packets == 0 {
            tin.next = tin.next.max(cx.now);
            if let Some(shaper) = self.shaper.as_mut().filter(|_| self.total.packets == 0) {
                shaper.fresh(cx.now);
            }
        }
        let i = tin.flows.place(&tuple, salt);
        tin.counts.offered.add(&packet);
        tin.flows.push(i, packet);
        for backlog in [&mut self.total, &mut tin.backlog] {
            backlog.add(packet.bytes());
        }
        if self.ack_filter != AckFilter::Off
            && let Some(old) = ack_filter::superfluous(tin.flows.fifo(i), self.ack_filter)
            && let Some(ack) = tin.flows.remove(i, old)
        {
            self.leaves(t, &ack);
            self.gone(t, &ack, DropReason::AckFilter, Point::Enqueue, cx);
        }
        if !self.fits(&packet, cx) {
            self.shrink(&packet, (t, i), cx);
        }
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Option<PacketMeta> {
        let mut decaying_first = true;
        // bound: every iteration sends a packet, drops a packet, or takes a queue out of a list
        loop {
            self.wake_at = None;
            if self.total.packets == 0 {
                return None;
            }
            if let Some(due) = self.shaper.as_ref().map(Shaper::due).filter(|due| *due > cx.now) {
                self.wake_at = Some(due);
                return None;
            }
            let t = self.choose(cx.now)?;
            if let Some(packet) = self.serve(t, &mut decaying_first, cx) {
                return Some(packet);
            }
        }
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        self.wake_at
    }

    /// Clears the wake time. Called when the shaper's clock is due; the caller then calls `dequeue`.
    fn wake(&mut self, _cx: &mut Context<'_>) {
        self.wake_at = None;
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.total
    }

    /// Reports the state under the names of `tc -s qdisc`: first the totals, then each tin.
    fn probe(&self, out: &mut Reading<'_>) {
        let flows = |of: fn(&Flows) -> u32| self.tins.iter().map(|tin| of(&tin.flows)).sum::<u32>();
        out.number("sparse_flows", flows(Flows::sparse));
        out.number("bulk_flows", flows(Flows::bulk));
        out.number("unresponsive_flows", flows(Flows::unresponsive));
        out.bytes("memory_used", self.total.bytes);
        out.moment("time_next_packet", self.shaper.as_ref().map(Shaper::due));
        let each = out.queues();
        for tin in self.tins.iter().filter(|_| each) {
            out.queue_of(tin.plan.name, tin.backlog);
            out.number("sparse_flows", tin.flows.sparse());
            out.number("bulk_flows", tin.flows.bulk());
            out.number("unresponsive_flows", tin.flows.unresponsive());
            out.duration("target", tin.plan.law.target);
            out.duration("interval", tin.plan.law.interval);
            out.moment("time_next_packet", Some(tin.next).filter(|_| self.shaper.is_some()));
        }
    }

    fn classes(&self) -> Vec<ClassProbe<'_>> {
        self.tins.iter().map(|tin| ClassProbe { name: tin.plan.name, counts: tin.counts, marked: None }).collect()
    }
}
