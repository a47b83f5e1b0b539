//! DualPI2: two coupled queues, for scalable (L4S) and for classic congestion control.
//!
//! ```text
//! arrival    ECT(1), CE (ecn_mask) or a code point of l_dscp: L;  all others: C;   one limit for both queues
//! tupdate    p' is updated from the longer of the two heads' sojourn times (see `pi2`)
//! turn       L is served first, but while both queues have packets, C gets its share (see `turns`)
//! C's head   with probability p_C = p'^2: mark, or drop if it cannot be marked
//! L's head   linux: with probability k p': mark;  then, if its sojourn time > step_thresh: mark (both marks may be counted)
//!            rfc9332: with probability max(ramp, k p'): mark
//! overload   if k p' > 1 (rfc9332: k p' >= 1): L drops with probability p_C and marks the rest; C only drops
//! ```
//!
//! `p'` is the base probability, which the PI controller updates, and `k` is the coupling factor.
//!
//! A packet may be in L because of its code point alone. In Linux, L's law applies to such a packet (Linux's class 1),
//! and drops it if it should be marked but is not ECN-capable. In rfc9332, C's law applies to it, unless it is ECT(1)
//! (RFC 9332 §2.5.1.1). With `l_dscp_exempt`, no law applies to it (Linux's class 2). With `ecn_mask` 2, an ECT(1)
//! packet may be in C: rfc9332 marks it with probability k p' (on overload, C's law applies), and Linux applies C's law
//! to it.
//!
//! Source: RFC 9332 §2, Appendix A; Linux sch_dualpi2 6.17; tc-dualpi2(8).   Units: bytes on the wire.
//! Departs: the ramp uses the departing packet's sojourn time and L's length including that packet, as in the RFC's
//! text; its pseudo-code measures after removal. While both queues are empty, an arrival is accepted even if rfc9332's
//! limit has no room for a full-size packet. `memory_limit` counts bytes on the wire, where Linux counts the memory of
//! its packet buffers. No updates run while both queues are empty and p' and the last delay are 0, because they would
//! change nothing. With `split_gso` (the default), packets of several segments are split before they reach the
//! discipline.

use super::params::{Dualpi2Params, Native};
use super::{Pi2, Recur, Turns};
use crate::law::pie::next_on_grid;
use crate::single::mark;
use crate::{ClassProbe, Context, Fifo, Params, QueueDiscipline, Room};
use packet::{Backlog, ClassCount, DropReason, Ecn, MarkReason, PacketMeta, Point, Reading, Sample};
use units::{Duration, Limit, Problem, Time};

/// Class of a packet in C. The [`PacketMeta::class`] of every waiting packet is this constant or one of the four that
/// follow.
const CLASSIC: u8 = 0;
/// Class of a packet in L to which both the coupled law and L's own law (the step or the ramp) apply.
const L4S: u8 = 1;
/// Class of a packet like [`L4S`], except that the step does not apply, because L held fewer than `min_qlen_step`
/// packets when the packet arrived.
const NO_STEP: u8 = 2;
/// Class of a packet that is in L only because of its code point, and to which C's law applies.
const CLASSIC_IN_L: u8 = 3;
/// Class of a packet that is in L only because of its code point, and that no law marks or drops.
const EXEMPT: u8 = 4;

/// One of the two queues, with the counts of its packets.
#[derive(Clone, Debug, Default, PartialEq)]
struct Side {
    fifo: Fifo,
    counts: ClassCount,
    /// Number of marks for each reason, in the order of [`MarkReason`].
    marked: [u64; 2],
    /// State of RFC 9332's `recur`, which spaces classic signals evenly.
    classic: Recur,
    /// State of RFC 9332's `recur`, which spaces scalable signals evenly.
    scalable: Recur,
}

impl Side {
    #[inline]
    fn head(&self) -> Option<Time> {
        self.fifo.front().map(|p| p.stamp)
    }
}

impl Params for Dualpi2Params {
    type Discipline = Dualpi2;
    fn validate(&self) -> Result<(), Problem> {
        self.check()
    }
    fn build(&self) -> Dualpi2 {
        Dualpi2::new(self)
    }
    fn limit(&self) -> Option<Limit> {
        Some(self.limit())
    }
    fn split_gso(&self) -> bool {
        self.split_gso
    }
}

/// The DualPI2 discipline: two queues, and the controller that couples them.
#[derive(Clone, Debug, PartialEq)]
pub struct Dualpi2 {
    /// The parameters, with the values of the published version filled in.
    params: Dualpi2Params,
    /// The code points whose packets go to L, as a bit set: bit i stands for code point i.
    l_dscp: u64,
    room: Room,
    memory: Option<Room>,
    l: Side,
    c: Side,
    pi: Pi2,
    turns: Turns,
    /// Time of the next update; `None` while updates would change nothing.
    next: Option<Time>,
}

impl Dualpi2 {
    /// Creates an empty discipline from valid parameters.
    fn new(p: &Dualpi2Params) -> Self {
        Self {
            params: p.resolved(),
            l_dscp: p.l_dscp_bits(),
            room: Room::new(p.limit(), false),
            memory: p.memory().map(|l| Room::new(l, false)),
            l: Side::default(),
            c: Side::default(),
            pi: p.pi2(),
            turns: p.turns(),
            next: None,
        }
    }

    /// Returns the controller, for probes.
    pub fn pi2(&self) -> &Pi2 {
        &self.pi
    }

    /// Returns the sojourn times of the heads of L and C at `now`; zero for an empty queue.
    pub fn heads(&self, now: Time) -> [Duration; 2] {
        [&self.l, &self.c].map(|side| side.head().map_or(Duration::ZERO, |t| now.since(t)))
    }

    /// Returns the backlogs of L and C.
    pub fn backlogs(&self) -> [Backlog; 2] {
        [self.l.fifo.backlog(), self.c.fifo.backlog()]
    }

    /// Determines the class of an arrival: one of the constants above.   Source: RFC 9332 §2.3; the classes of Linux's
    /// sch_dualpi2.
    #[inline]
    fn classify(&self, packet: &PacketMeta) -> u8 {
        let p = &self.params;
        let by_ecn = packet.ecn() as u8 & p.ecn_mask != 0;
        if !by_ecn && self.l_dscp >> (packet.tos >> 2) & 1 == 0 {
            return CLASSIC;
        }
        match by_ecn {
            false if p.l_dscp_exempt => EXEMPT,
            false if !p.is_linux() && packet.ecn() != Ecn::Ect1 => CLASSIC_IN_L,
            _ if self.l.fifo.backlog().packets < p.min_qlen_step => NO_STEP,
            _ => L4S,
        }
    }

    /// Returns true if an arrival is within every limit.
    #[inline]
    fn fits(&mut self, packet: &PacketMeta, cx: &Context<'_>) -> bool {
        let all = self.backlog();
        // RFC 9332 Appendix A requires room for a full-size packet, even if the arrival is smaller
        let size = if all.packets > 0 { packet.size.max(self.params.least_size()) } else { packet.size };
        let counted = PacketMeta { size, ..*packet };
        self.room.fits(all, &counted, cx.link) && self.memory.as_mut().is_none_or(|m| m.fits(all, packet, cx.link))
    }

    /// Applies the coupled law, and also the ramp if a scalable packet leaves L. `left` is the number of bytes queued
    /// without the packet. Returns true if the packet must be dropped.
    ///
    /// Source: RFC 9332 Appendix A, Figures 5 and 8; Linux, which draws either the classic or the scalable signal for a
    /// packet, never both.
    #[inline]
    fn coupled(&mut self, packet: &mut PacketMeta, left: u64, point: Point, cx: &mut Context<'_>) -> bool {
        let Self { params: p, l, c, pi, .. } = self;
        if packet.class == EXEMPT || left < p.least_backlog().0 {
            return false;
        }
        let (in_l, ecn) = (packet.class != CLASSIC, packet.ecn());
        let side = if in_l { l } else { c };
        let overload = pi.overload();
        let scalable = match packet.class {
            CLASSIC => !p.is_linux() && ecn == Ecn::Ect1 && !overload,
            CLASSIC_IN_L => false,
            _ => true,
        };
        if scalable {
            if overload {
                if pi.classic(&mut side.classic, cx.rng) {
                    return true;
                }
            } else {
                let native = if in_l && point == Point::Dequeue { ramp(p, side, packet, cx.now) } else { 0.0 };
                if !pi.scalable(native, &mut side.scalable, cx.rng) {
                    return false;
                }
                if native > pi.coupled() {
                    return signal(side, packet, MarkReason::Step, point, cx);
                }
            }
            return signal(side, packet, MarkReason::Law, point, cx);
        }
        if !pi.classic(&mut side.classic, cx.rng) {
            return false;
        }
        overload || signal(side, packet, MarkReason::Law, point, cx)
    }

    /// Applies the step to a packet of class [`L4S`] that leaves L. Unlike the coupled law, the step also applies if
    /// few bytes remain queued (`least_backlog`). Returns true if the packet must be dropped.   Source: Linux.
    #[inline]
    fn step(&mut self, packet: &mut PacketMeta, cx: &mut Context<'_>) -> bool {
        let above = match self.params.step_thresh {
            Limit::Time(t) => cx.now.since(packet.stamp) > t,
            Limit::Packets(n) => self.l.fifo.backlog().packets > n,
            Limit::Bytes(_) => false,
        };
        above && signal(&mut self.l, packet, MarkReason::Step, Point::Dequeue, cx)
    }

    /// Removes the packet whose turn it is. Returns the packet, whether it was in L, and whether both queues had packets.
    #[inline]
    fn take(&mut self) -> Option<(PacketMeta, bool, bool)> {
        let (l, c) = (self.l.head(), self.c.head());
        let from_l = self.turns.is_l(l, c);
        let packet = if from_l { self.l.fifo.pop() } else { self.c.fifo.pop() }?;
        Some((packet, from_l, l.is_some() && c.is_some()))
    }
}

/// Marks a packet and counts the mark. Returns true if the packet cannot be marked, so that it must be dropped.
#[inline]
fn signal(side: &mut Side, packet: &mut PacketMeta, reason: MarkReason, point: Point, cx: &mut Context<'_>) -> bool {
    if packet.ecn() == Ecn::NotEct {
        return true;
    }
    side.marked[reason as usize] += 1;
    mark(packet, reason, point, cx);
    false
}

/// Computes L's own probability, p'_L, for a packet that has just been removed from L.   Source: RFC 9332 Appendix A `laqm`.
#[inline]
fn ramp(p: &Dualpi2Params, l: &Side, packet: &PacketMeta, now: Time) -> f64 {
    // the ramp applies only if L held more than `th_len` packets before this packet was removed
    if p.native() == Native::Step || l.fifo.backlog().packets < p.th_len {
        return 0.0;
    }
    let (from, to) = (p.min_th, p.max_th);
    let wait = now.since(packet.stamp);
    if wait >= to { 1.0 } else { wait.saturating_sub(from).0 as f64 / (to.0 - from.0) as f64 }
}

impl QueueDiscipline for Dualpi2 {
    #[inline]
    fn enqueue(&mut self, mut packet: PacketMeta, cx: &mut Context<'_>) {
        if self.next.is_none() {
            self.next = Some(next_on_grid(cx.now, self.params.tupdate()));
        }
        packet.class = self.classify(&packet);
        let in_l = packet.class != CLASSIC;
        let fits = self.fits(&packet, cx);
        let left = self.backlog().bytes;
        let early = fits && self.params.drop_early && self.coupled(&mut packet, left, Point::Enqueue, cx);
        let side = if in_l { &mut self.l } else { &mut self.c };
        side.counts.offered.add(&packet);
        if fits && !early {
            return side.fifo.push(packet);
        }
        side.counts.dropped.add(&packet);
        let reason = if early { DropReason::EarlyTail } else { DropReason::TailFull };
        cx.fate.dropped(&packet, reason, Point::Enqueue);
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Option<PacketMeta> {
        // bound: every iteration removes a packet from L or C
        while let Some((mut packet, from_l, both)) = self.take() {
            let left = self.backlog().bytes;
            let steps = packet.class == L4S && self.params.native() == Native::Step;
            let drop = !self.params.drop_early && self.coupled(&mut packet, left, Point::Dequeue, cx)
                || steps && self.step(&mut packet, cx);
            let side = if from_l { &mut self.l } else { &mut self.c };
            if drop {
                side.counts.dropped.add(&packet);
                cx.fate.dropped(&packet, DropReason::EarlyHead, Point::Dequeue);
                continue;
            }
            side.counts.delivered.add(&packet);
            if both {
                self.turns.sent(from_l, packet.bytes());
            }
            return Some(packet);
        }
        self.turns.reset();
        None
    }

    #[inline]
    fn next_wake(&self) -> Option<Time> {
        self.next
    }

    fn wake(&mut self, cx: &mut Context<'_>) {
        let [l, c] = self.heads(cx.now);
        self.pi.update(l.max(c));
        let idle = self.pi.at_rest() && self.backlog().packets == 0;
        self.next = (!idle).then(|| next_on_grid(cx.now, self.params.tupdate()));
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.l.fifo.backlog().plus(self.c.fifo.backlog())
    }

    /// Reports the state under tc's names (`tc -s qdisc show`). The names p_c and p_cl are from RFC 9332; `overload` is
    /// not in tc's output.
    fn probe(&self, out: &mut Reading<'_>) {
        let [delay_l, delay_c] = self.heads(out.now());
        let p = self.pi.p();
        out.number("prob", p);
        out.number("p_c", p * p);
        out.number("p_cl", self.pi.coupled());
        out.flag("overload", self.pi.overload());
        out.duration("delay_l", delay_l);
        out.duration("delay_c", delay_c);
        out.sample(Sample::QueueDelays([delay_l, delay_c]));
        out.value("credit", packet::Unit::Bytes, self.turns.credit());
        let each = out.queues();
        for (name, side) in [("L", &self.l), ("C", &self.c)].into_iter().filter(|_| each) {
            let [law, step] = side.marked;
            out.queue_of(name, side.fifo.backlog());
            out.packets("ecn_mark", law);
            out.packets("step_mark", step);
        }
    }

    fn classes(&self) -> Vec<ClassProbe<'_>> {
        let class = |name, side: &Side| ClassProbe { name, counts: side.counts, marked: Some(side.marked) };
        vec![class("L", &self.l), class("C", &self.c)]
    }
}
