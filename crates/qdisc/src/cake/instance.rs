//! One instance of CAKE: its tins, its shaper, and the choice of the next packet.

use super::ack_filter::{self, AckFilter};
use super::flows::Flows;
use super::overhead::Overhead;
use super::params::CakeParams;
use super::shaper::Shaper;
use super::tins::{self, Plan};
use crate::law::Verdict;
use crate::law::cobalt::Head;
use crate::{ClassProbe, Context, QueueDiscipline, Room};
use packet::{Backlog, ClassCount, DropReason, Flags, LinkView, PacketMeta, Point, Reading};
use units::{BitRate, Time};

/// A class of traffic: its queues and its clock.
#[derive(Clone, Debug, PartialEq)]
struct Tin {
    plan: Plan,
    flows: Flows,
    /// Time at which the tin is due to send again at its own rate. Used only if CAKE has a shaper.
    next: Time,
    /// The tin's credit in the round robin among tins, in bytes. Used only if CAKE has no shaper.
    deficit: i64,
    backlog: Backlog,
    counts: ClassCount,
}

/// CAKE's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Cake {
    tins: Vec<Tin>,
    /// The index of the tin for each code point.
    map: Box<[u8; 64]>,
    shaper: Option<Shaper>,
    /// A link with the rate `bandwidth`, at which a limit given as a time is converted to bytes. `None` without a
    /// shaper: the limit is then converted at the actual link's rate.
    shaped: Option<LinkView>,
    overhead: Overhead,
    ack_filter: AckFilter,
    ingress: bool,
    wash: bool,
    room: Room,
    memory: u64,
    pub(super) total: Backlog,
    salt: Option<u32>,
    /// The tin that has the turn in the round robin among tins. Used only if CAKE has no shaper.
    current: usize,
    /// Time from which the shaper allows the next packet. It is set if the last dequeue sent nothing because this time
    /// had not been reached yet.
    wake_at: Option<Time>,
}

impl Cake {
    /// Creates an empty discipline from valid parameters.
    pub(super) fn new(p: &CakeParams) -> Self {
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

    /// Sets the rate of the shaper. Does nothing if CAKE has no shaper.
    pub(super) fn set_rate(&mut self, rate: BitRate) {
        if let Some(shaper) = &mut self.shaper {
            shaper.set_rate(rate);
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

    /// Charges `cost` bytes to the clocks of tin `t` and of the shaper. `dropped` is true if the bytes were dropped
    /// instead of sent. If the tin's clock is in the past, it advances by the time that the bytes take at the tin's
    /// rate. If not, it is raised to `now` plus this time, unless it is later already.
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

    /// Reports the drop of `packet`, which has left the queues of tin `t`. In ingress mode, the packet also advances
    /// the clocks of the tin and the shaper, because it has already used the bottleneck.
    fn gone(&mut self, t: usize, packet: &PacketMeta, reason: DropReason, point: Point, cx: &mut Context<'_>) {
        self.tins[t].counts.dropped.add(packet);
        if self.ingress {
            let cost = self.cost(packet, cx);
            self.charge(t, cost, true, cx.now);
        }
        cx.fate.dropped(packet, reason, point);
    }

    /// Drops packets from the head of the longest queue until the backlog is within the limits, or until the newest
    /// packet, `arrival`, has been dropped. `home` is the tin and the queue that `arrival` joined.
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
    /// Bound: in every round, each tin with a deficit of 0 or less gets its weight, at least 64 bytes. So the largest
    /// debt (negative deficit) limits the number of rounds. A tin gets a turn only while it has no debt, so its debt is
    /// at most the bytes that one call of `serve` sends and, in ingress mode, drops.
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
        // chooses the last of the tins that are due or, if none is due, the tin with the earliest clock (in a tie, the
        // last of these)
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

    /// Removes the next packet to send from tin `t`. Returns `None` if the queue whose turn it is has nothing to send;
    /// the caller then chooses a tin again. If `decaying_first` is true, a decaying queue is visited before any other
    /// queue.
    ///
    /// Bound: every iteration except the last drops a packet.
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

/// Reports the state of one or more instances with the same parameters. Counts and backlogs are summed over the
/// instances. Every `time_next_packet` is the earliest time of all instances.
pub(super) fn report<'a>(of: impl Iterator<Item = &'a Cake> + Clone, out: &mut Reading<'_>) {
    let flows = |out: &mut Reading<'_>, tins: &dyn Fn(fn(&Flows) -> u32) -> u32| {
        out.number("sparse_flows", tins(Flows::sparse));
        out.number("bulk_flows", tins(Flows::bulk));
        out.number("unresponsive_flows", tins(Flows::unresponsive));
    };
    flows(out, &|count| of.clone().flat_map(|cake| &cake.tins).map(|tin| count(&tin.flows)).sum());
    out.bytes("memory_used", of.clone().map(|cake| cake.total.bytes).sum());
    out.moment("time_next_packet", of.clone().filter_map(|cake| cake.shaper.as_ref().map(Shaper::due)).min());
    let Some(first) = of.clone().next().filter(|_| out.queues()) else { return };
    for (t, Tin { plan, .. }) in first.tins.iter().enumerate() {
        let tins = of.clone().map(|cake| &cake.tins[t]);
        out.queue_of(plan.name, sum(tins.clone().map(|tin| tin.backlog)));
        flows(out, &|count| tins.clone().map(|tin| count(&tin.flows)).sum());
        out.duration("target", plan.law.target);
        out.duration("interval", plan.law.interval);
        out.moment("time_next_packet", tins.map(|tin| tin.next).min().filter(|_| first.shaper.is_some()));
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
        // bound: every iteration sends a packet, drops a packet, or removes an empty queue from its list
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

    /// Clears the wake time. The host calls `wake` when the shaper's clock is due, and then, if the link is idle,
    /// `dequeue`.
    fn wake(&mut self, _cx: &mut Context<'_>) {
        self.wake_at = None;
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.total
    }

    /// Reports the totals and then, if queues are requested, each tin. The names follow tc's JSON output (`tc -j -s
    /// qdisc`, where target and interval end in `_us`), except `time_next_packet`, a field in Linux's sch_cake.c.
    fn probe(&self, out: &mut Reading<'_>) {
        report(std::iter::once(self), out);
    }

    fn classes(&self) -> Vec<ClassProbe<'_>> {
        self.tins.iter().map(|tin| ClassProbe { name: tin.plan.name, counts: tin.counts, marked: None }).collect()
    }
}

pub(super) fn sum(of: impl Iterator<Item = Backlog>) -> Backlog {
    of.fold(Backlog::default(), |sum, b| Backlog { packets: sum.packets + b.packets, bytes: sum.bytes + b.bytes })
}
