//! The discipline [`Fair`], which combines a classifier, a scheduler, an overflow rule and a law for each queue.

use super::classifier::Classifier;
use super::overflow::{End, Longest, Measure, Overflow, Tie, ns2_sfq_fits};
use super::params::{FairParams, LawSees};
use super::queues::{Listed, Queues};
use super::scheduler::Scheduler;
use crate::law::{Law, Verdict, View};
use crate::{AnyLaw, Context, QueueDiscipline, Room};
use packet::{Backlog, DropReason, FlowId, MarkReason, PacketMeta, Point, Reading, Unit};
use units::{Duration, Limit, Time};

/// The implementation that all fair disciplines of this module share. The disciplines differ in the classifier, the
/// scheduler, the overflow rule and the law that they choose.
#[derive(Clone, Debug, PartialEq)]
pub struct Fair {
    classifier: Classifier,
    scheduler: Scheduler,
    overflow: Overflow,
    law_sees: LawSees,
    /// Maximum length of all queues together.
    room: Room,
    /// Maximum length of all queues together, in bytes; a second limit beside `room`.
    memory: Option<Room>,
    /// Maximum length of each queue.
    queue_room: Option<Room>,
    /// The limit in packets and the number of queues. From these two, ns-2's overflow rule computes the share of each
    /// queue.
    shares: (u32, u32),
    queues: Queues,
    total: Backlog,
    /// Time of the next call of `wake`: the earliest tick of the laws of the active queues, or an earlier time, such as
    /// the tick of a queue that has become idle since. `None` if there is no tick.
    soonest: Option<Time>,
}

impl Fair {
    /// Creates an empty discipline from valid parameters.
    pub(crate) fn new(p: &FairParams) -> Self {
        let queues = Queues::new(p.law.law());
        let packets = if let Limit::Packets(n) = p.limit { n } else { u32::MAX };
        Self {
            classifier: Classifier::new(p.classifier.clone()),
            scheduler: Scheduler::new(p.scheduler),
            overflow: p.overflow,
            law_sees: p.law_sees,
            room: Room::new(p.limit, false),
            memory: p.memory_limit.map(|b| Room::new(Limit::Bytes(b), false)),
            queue_room: p.queue_limit.or(p.law.limit()).map(|l| Room::new(l, false)),
            shares: (packets, p.classifier.queues().unwrap_or(u32::MAX)),
            queues,
            total: Backlog::default(),
            soonest: None,
        }
    }

    /// Returns the number of the queue to which the packets of `flow` were last assigned. If `reverse` is true, returns
    /// the queue of the flow's packets in the other direction.
    pub fn queue_of(&self, flow: FlowId, reverse: bool) -> Option<u32> {
        self.classifier.queue_of(flow, reverse)
    }

    /// Returns the group of queue `i` with serial search, otherwise `i` itself.
    pub(crate) fn group_of(&self, i: u32) -> u32 {
        self.classifier.group_of(i)
    }

    fn queue_backlog(&self, i: u32) -> Backlog {
        self.queues[i].fifo.backlog()
    }

    /// Returns the law of queue `i`.
    pub fn queue_law(&self, i: u32) -> &AnyLaw {
        &self.queues[i].law
    }

    /// Returns the active queues in the order in which their turns come.
    pub fn in_line(&self) -> Vec<u32> {
        self.scheduler.in_line(&self.queues).collect()
    }

    /// Returns the backlog that is passed to the law of queue `i`, as `law_sees` specifies.
    #[inline]
    fn seen(&self, i: u32) -> Backlog {
        let own = self.queues[i].fifo.backlog();
        match self.law_sees {
            LawSees::Own => own,
            LawSees::TotalUnlessLast if own.packets == 0 => own,
            LawSees::Total | LawSees::TotalUnlessLast => self.total,
        }
    }

    /// Lowers `soonest` to the next tick of the law of queue `i`, if that tick is earlier.
    #[inline]
    fn watch(&mut self, i: u32) {
        if let Some(t) = self.queues[i].law.next_tick() {
            self.soonest = Some(self.soonest.map_or(t, |s| s.min(t)));
        }
    }

    /// Runs the updates that the law of queue `i` missed while the queue was idle. Each update runs with the time
    /// at which it was due. Called before an arrival at an idle queue.
    ///
    /// Bound: while its queue stays empty, a law comes to rest, and then has no more updates. From a probability of 100
    /// %, PIE with default parameters takes about 180 updates to come to rest. DOCSIS-PIE comes to rest once its
    /// probability is 0, and its allowance and its reset timeout have expired. Updates are at least 100 us apart. An
    /// external law must come to rest too.
    fn rouse(&mut self, i: u32, cx: &Context<'_>) {
        let law = &mut self.queues[i].law;
        while let Some(now) = law.next_tick().filter(|t| *t <= cx.now) {
            law.tick(&View { now, backlog: Backlog::default(), sojourn: Duration::ZERO, link: cx.link });
        }
    }

    fn fits(&mut self, packet: &PacketMeta, cx: &Context<'_>) -> bool {
        let others = self.total;
        self.room.fits(others, packet, cx.link) && self.memory.as_mut().is_none_or(|m| m.fits(others, packet, cx.link))
    }

    /// Drops from the longest queue until `arrival`, the newest packet of queue `home`, fits. Returns false if it drops
    /// `arrival` itself.
    ///
    /// Bound: every iteration drops a packet.
    fn push_out(&mut self, rule: Longest, arrival: &PacketMeta, home: u32, cx: &mut Context<'_>) -> bool {
        // the arrival is already in its queue, but not yet counted in `total`
        while !self.fits(arrival, cx) {
            let victim = match rule.tie {
                Tie::Lowest => self.queues.longest(),
                Tie::Latest => self.latest(rule.by, home),
            };
            let Some(victim) = victim else { return false };
            let half = self.queues[victim].fifo.backlog().bytes / 2;
            let mut gone = 0;
            for n in 0.. {
                if n == rule.batch || (n > 0 && gone >= half) {
                    break;
                }
                let queue = &mut self.queues[victim];
                let taken = match rule.from {
                    End::Head => queue.fifo.pop(),
                    End::Tail => queue.fifo.pop_back(),
                };
                let Some(packet) = taken else { break };
                gone += packet.bytes();
                self.queues.shrunk(victim, rule);
                let queue = &mut self.queues[victim];
                queue.last_active = cx.now;
                queue.law.overflow(cx.now);
                let newest = rule.from == End::Tail || queue.fifo.is_empty();
                if queue.fifo.is_empty() {
                    queue.deficit = queue.deficit.min(0);
                }
                if victim == home && newest {
                    cx.fate.dropped(&packet, DropReason::TailFull, Point::Enqueue);
                    return false;
                }
                let reason = if rule.from == End::Head { DropReason::HeadFull } else { DropReason::PushOut };
                self.total.remove(packet.bytes());
                self.classifier.left(&packet, cx.now);
                cx.fate.dropped(&packet, reason, Point::Enqueue);
            }
            // Linux's sfq takes a queue out of the round when it drops the queue's only packet
            if rule.tie == Tie::Latest
                && self.queues[victim].fifo.is_empty()
                && self.scheduler.in_line(&self.queues).next() == Some(victim)
            {
                self.scheduler.empty(&mut self.queues);
                self.queues[victim].law.empty(cx.now);
            }
        }
        true
    }

    /// Returns the queue that loses a packet by the rule [`Tie::Latest`]; never `None`. `home` is the queue of the
    /// arrival, which may not be in the scheduler's lists yet.   Bound: visits each active queue.
    #[cold]
    fn latest(&self, by: Measure, home: u32) -> Option<u32> {
        let waiting = || self.scheduler.in_line(&self.queues).filter(|i| !self.queues[*i].fifo.is_empty());
        let rank = |i: &u32| (by.of(self.queue_backlog(*i)), self.queues[*i].changed);
        let longest = waiting().chain([home]).max_by_key(rank)?;
        let single = by == Measure::Packets && self.queue_backlog(longest).packets == 1;
        if single { waiting().next().or(Some(longest)) } else { Some(longest) }
    }

    /// Makes room for `arrival` in queue `i`, which has reached its own limit: drops the oldest packets of the queue if
    /// the overflow rule drops from the head. Returns true if `arrival` then fits.
    ///
    /// Bound: every iteration drops a packet.
    #[cold]
    fn shorten(&mut self, i: u32, arrival: &PacketMeta, cx: &mut Context<'_>) -> bool {
        let Overflow::Longest(rule @ Longest { from: End::Head, .. }) = self.overflow else { return false };
        let mut fits = |own| self.queue_room.as_mut().is_none_or(|r| r.fits(own, arrival, cx.link));
        if !fits(Backlog::default()) {
            return false;
        }
        while !fits(self.queues[i].fifo.backlog()) {
            let queue = &mut self.queues[i];
            let Some(packet) = queue.fifo.pop() else { return false };
            queue.law.overflow(cx.now);
            self.queues.shrunk(i, rule);
            self.total.remove(packet.bytes());
            self.classifier.left(&packet, cx.now);
            cx.fate.dropped(&packet, DropReason::HeadFull, Point::Enqueue);
        }
        true
    }

    /// Appends `packet` to queue `i` if every limit allows it. If the overflow rule drops from the longest queue, other
    /// packets may be dropped to make room. Returns true if `packet` was accepted.
    #[inline]
    fn admit(&mut self, packet: &PacketMeta, i: u32, cx: &mut Context<'_>) -> bool {
        let own = self.queues[i].fifo.backlog();
        let fits = (self.queue_room.as_mut().is_none_or(|r| r.fits(own, packet, cx.link))
            || self.shorten(i, packet, cx))
            && match self.overflow {
                Overflow::Longest(_) => true,
                Overflow::Tail => self.fits(packet, cx),
                Overflow::Ns2Sfq => {
                    let (limit, queues) = self.shares;
                    self.fits(packet, cx) && ns2_sfq_fits(own.packets, self.total.packets, limit, queues)
                }
            };
        if !fits {
            self.queues[i].law.overflow(cx.now);
            cx.fate.dropped(packet, DropReason::TailFull, Point::Enqueue);
            return false;
        }
        self.queues[i].fifo.push(*packet);
        if let Overflow::Longest(rule) = self.overflow {
            self.queues.grown(i, rule);
            if !self.push_out(rule, packet, i, cx) {
                return false;
            }
        }
        self.total.add(packet.bytes());
        true
    }

    /// Removes and returns the first packet of queue `i` that the queue's law does not drop; `None` if the law drops
    /// them all, or if the queue is empty.   Bound: every iteration removes a packet.
    #[inline]
    fn take(&mut self, i: u32, cx: &mut Context<'_>) -> Option<PacketMeta> {
        while let Some(mut packet) = self.queues[i].fifo.pop() {
            self.total.remove(packet.bytes());
            if let Overflow::Longest(rule) = self.overflow {
                self.queues.shrunk(i, rule);
            }
            self.classifier.left(&packet, cx.now);
            let sojourn = cx.now.since(packet.stamp);
            let view = View { now: cx.now, backlog: self.seen(i), sojourn, link: cx.link };
            let queue = &mut self.queues[i];
            queue.last_active = cx.now;
            match queue.law.head(&packet, &view, cx.rng) {
                Verdict::Drop => {
                    cx.fate.dropped(&packet, DropReason::EarlyHead, Point::Dequeue);
                    continue;
                }
                Verdict::Mark(reason) => crate::single::mark(&mut packet, reason, Point::Dequeue, cx),
                Verdict::MarkTwice => {
                    crate::single::mark(&mut packet, MarkReason::Law, Point::Dequeue, cx);
                    crate::single::mark(&mut packet, MarkReason::Step, Point::Dequeue, cx);
                }
                Verdict::Pass => {}
            }
            queue.law.left(&packet, &view);
            return Some(packet);
        }
        None
    }
}

impl QueueDiscipline for Fair {
    #[inline]
    fn enqueue(&mut self, packet: PacketMeta, cx: &mut Context<'_>) {
        let i = self.classifier.classify(&packet, &mut self.queues, cx);
        let idle = self.queues[i].listed == Listed::No;
        if idle {
            self.rouse(i, cx);
        }
        let backlog = self.seen(i);
        let view = View { now: cx.now, backlog, sojourn: Duration::ZERO, link: cx.link };
        let verdict = self.queues[i].law.arrive(&packet, &view, cx.rng);
        if !idle {
            // The law of an active queue may have stopped its timer while the queue was empty. An arrival restarts the
            // timer, even if the packet is then refused.
            self.watch(i);
        }
        if verdict == Verdict::Drop {
            return cx.fate.dropped(&packet, DropReason::EarlyTail, Point::Enqueue);
        }
        if !self.admit(&packet, i, cx) {
            return;
        }
        self.classifier.joined(&packet, cx.now);
        let queue = &mut self.queues[i];
        queue.last_active = cx.now;
        if let Verdict::Mark(reason) = verdict
            && let Some(newest) = queue.fifo.back_mut()
        {
            crate::single::mark(newest, reason, Point::Enqueue, cx);
        }
        if idle {
            let fresh = self.queues[i].law.at_rest(cx.now);
            self.scheduler.activate(i, &mut self.queues, fresh);
            self.watch(i);
        }
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Option<PacketMeta> {
        // bound: every iteration sends a packet, drops a packet, or takes a queue out of a list
        loop {
            let i = self.scheduler.turn(&mut self.queues)?;
            let packet = self.take(i, cx);
            let idle = match &packet {
                Some(p) => self.scheduler.sent(i, p.bytes(), &mut self.queues),
                None => self.scheduler.empty(&mut self.queues),
            };
            if idle || packet.is_none() {
                self.queues[i].law.empty(cx.now);
            }
            if let Some(packet) = packet {
                self.watch(i);
                return Some(packet);
            }
        }
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        self.soonest
    }

    /// Runs the due updates of the laws of active queues. The law of an idle queue runs its missed updates when the
    /// next packet arrives at that queue. The result is the same as in Linux's fq_pie, which updates all queues at
    /// every tick.
    fn wake(&mut self, cx: &mut Context<'_>) {
        self.soonest = None;
        let active = self.in_line();
        for i in active {
            let view = View { now: cx.now, backlog: self.seen(i), sojourn: Duration::ZERO, link: cx.link };
            let law = &mut self.queues[i].law;
            if law.next_tick().is_some_and(|t| t <= cx.now) {
                law.tick(&view);
            }
            self.watch(i);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.total
    }

    fn head_arrival(&self) -> Option<Time> {
        self.in_line().into_iter().filter_map(|i| self.queues[i].fifo.front()).map(|p| p.stamp).min()
    }

    fn probe(&self, out: &mut Reading<'_>) {
        let (active, now) = (self.in_line(), out.now());
        let new = active.iter().filter(|i| self.queues[**i].listed == Listed::New).count();
        let most = |of: fn(Backlog) -> u64| active.iter().map(|i| of(self.queue_backlog(*i))).max().unwrap_or(0);
        let waited = |i: u32| self.queues[i].fifo.front().map(|p| now.since(p.stamp));
        let longest_wait = active.iter().filter_map(|i| waited(*i)).max();
        out.number("active_flows", active.len() as u32);
        out.number("new_flows_len", new as u32);
        out.number("old_flows_len", (active.len() - new) as u32);
        out.packets("longest_queue", most(|b| u64::from(b.packets)));
        out.bytes("longest_queue", most(|b| b.bytes));
        out.duration("longest_wait", longest_wait.unwrap_or(Duration::ZERO));
        if !out.queues() {
            return;
        }
        for i in active {
            let queue = &self.queues[i];
            out.queue_of(&i.to_string(), queue.fifo.backlog());
            out.duration("head_wait", waited(i));
            out.value("deficit", Unit::Bytes, Some(queue.deficit as f64));
            out.flag("new", queue.listed == Listed::New);
            queue.law.probe(out);
        }
    }
}
