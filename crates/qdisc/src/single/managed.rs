//! One FIFO managed by a control law, with a limit.

use crate::law::{Law, LawParams, Verdict, View};
use crate::{Context, Fifo, Params, QueueDiscipline, Room};
use packet::{Backlog, DropReason, MarkReason, PacketMeta, Point, Reading};
use units::{Limit, Problem, Time};

/// A FIFO, a law that marks and drops early, and a limit at which arrivals are dropped.
///
/// The law examines every arrival, even if the limit then refuses it. A mark is applied and counted only if the packet is
/// accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Managed<L> {
    law: L,
    room: Room,
    fifo: Fifo,
}

impl<L: Law> Managed<L> {
    fn new(law: L, room: Room) -> Self {
        Self { law, room, fifo: Fifo::default() }
    }

    /// Returns the law, for probes.
    pub fn law(&self) -> &L {
        &self.law
    }
}

/// Marks a packet that a law has decided to mark, and reports the mark. A law marks only ECN-capable packets.
#[inline]
pub(crate) fn mark(packet: &mut PacketMeta, reason: MarkReason, point: Point, cx: &mut Context<'_>) {
    let capable = packet.mark_ce();
    debug_assert!(capable, "a law marked a packet that is not ECN-capable");
    cx.fate.marked(packet, reason, point);
}

impl<L: Law> QueueDiscipline for Managed<L> {
    #[inline]
    fn enqueue(&mut self, mut packet: PacketMeta, cx: &mut Context<'_>) {
        let backlog = self.fifo.backlog();
        let view = View { now: cx.now, backlog, sojourn: units::Duration::ZERO, link: cx.link };
        let verdict = self.law.arrive(&packet, &view, cx.rng);
        if verdict == Verdict::Drop {
            return cx.fate.dropped(&packet, DropReason::EarlyTail, Point::Enqueue);
        }
        if !self.room.fits(backlog, &packet, cx.link) {
            self.law.overflow(cx.now);
            return cx.fate.dropped(&packet, DropReason::TailFull, Point::Enqueue);
        }
        if let Verdict::Mark(reason) = verdict {
            mark(&mut packet, reason, Point::Enqueue, cx);
        }
        self.fifo.push(packet);
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Option<PacketMeta> {
        let Self { law, fifo, .. } = self;
        let mut backlog = fifo.backlog();
        // The law examines the packet in the FIFO. If the packet were taken out first, it would be slow to copy (see
        // [`packet::Packed`]).
        // bound: every iteration removes a stored packet
        while let Some(packet) = fifo.front_mut() {
            backlog.remove(packet.bytes());
            let view = View { now: cx.now, backlog, sojourn: cx.now.since(packet.stamp), link: cx.link };
            match law.head(packet, &view, cx.rng) {
                Verdict::Drop => {
                    cx.fate.dropped(packet, DropReason::EarlyHead, Point::Dequeue);
                    fifo.pop();
                    continue;
                }
                Verdict::Mark(reason) => mark(packet, reason, Point::Dequeue, cx),
                Verdict::MarkTwice => {
                    mark(packet, MarkReason::Law, Point::Dequeue, cx);
                    mark(packet, MarkReason::Step, Point::Dequeue, cx);
                }
                Verdict::Pass => {}
            }
            law.left(packet, &view);
            return fifo.pop();
        }
        self.law.empty(cx.now);
        None
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        self.law.next_tick()
    }

    fn wake(&mut self, cx: &mut Context<'_>) {
        let backlog = self.fifo.backlog();
        self.law.tick(&View { now: cx.now, backlog, sojourn: units::Duration::ZERO, link: cx.link });
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn head_arrival(&self) -> Option<Time> {
        self.fifo.front().map(|p| p.stamp)
    }

    fn probe(&self, out: &mut Reading<'_>) {
        self.law.probe(out);
    }
}

impl<P: LawParams> Params for P {
    type Discipline = Managed<P::Law>;
    fn validate(&self) -> Result<(), Problem> {
        Room::validate(LawParams::limit(self).unwrap_or_else(|| self.default_limit()), false)?;
        LawParams::validate(self)
    }
    fn build(&self) -> Managed<P::Law> {
        Managed::new(self.law(), Room::new(LawParams::limit(self).unwrap_or_else(|| self.default_limit()), false))
    }
    fn limit(&self) -> Option<Limit> {
        Some(LawParams::limit(self).unwrap_or_else(|| self.default_limit()))
    }
}
