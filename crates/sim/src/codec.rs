//! Segments to packets and back.
//!
//! What a queue may read travels in the packet; the rest of a segment waits in the arena, unless both
//! ends can derive it. `tcp` promises not to read what a form leaves out.
//!
//! | form | of which segment | `seq` | `body` | left out |
//! |---|---|---|---|---|
//! | plain ACK | pure ACK without SACK blocks or ECN echo | the ACK | the echoed stamp | its own stamp |
//! | counting ACK | the same, whose ECN bits are AccECN's counter | the ACK | the echoed stamp | its own stamp |
//! | plain data | of a side that received only the other's SYN | its number | its stamp | ACK 1, the echo |
//! | SACK | pure ACK with SACK blocks | the ACK | [`Sacks`] | its own stamp |
//! | whole | any other, also one that stands for several | its number, of a pure ACK that | [`Body`] | nothing |
//!
//! The first three make up nearly all traffic and need no arena: with AccECN, plain data and ACKs carry the counter in their flags. A
//! sender that measures one-way delay reads the stamp of ACKs: its plain ones are whole. So is any segment that carries a window.

use crate::arena::Arena;
use packet::{Ecn, Flags, FlowId, NodeId, PacketMeta};
use std::num::NonZeroU32;
use tcp::{PlainData, SackBlock, Segment};
use units::{Duration, Time};

/// Flags that make a segment more than plain data or an ACK, whatever its ECN bits are.
const MORE: Flags =
    Flags(Flags::SYN.0 | Flags::FIN.0 | Flags::SACK.0 | Flags::ACCECN_OPTION.0 | Flags::GSO.0 | Flags::WINDOW.0);
/// Flags that a plain segment has none of: those, and ECN bits, which a counting one may have.
const SPECIAL: Flags = Flags(MORE.0 | Flags::ECN.0 | Flags::ACE.0);

/// The flags of a plain segment that hold AccECN's counter.
const COUNTED: Flags = Flags(Flags::ACE.0 | Flags::ECN.0);
/// The flags that plain data keeps.
const KEPT: Flags = Flags(COUNTED.0 | Flags::PSH.0);
/// Flags of which a SACK has none.
const NOT_SACK: Flags = Flags(Flags::SYN.0 | Flags::FIN.0 | Flags::ACCECN_OPTION.0 | Flags::WINDOW.0);

/// How a segment travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    PlainAck,
    CountingAck,
    PlainData,
    Sack,
    Whole,
}

impl Form {
    /// That of a segment; `ack_time` says that the other side reads the stamps of ACKs.
    #[inline]
    pub(crate) fn of(segment: &Segment, ack_time: bool) -> Self {
        let (plain, pure) = (!segment.flags.any(SPECIAL), segment.flags.has(Flags::PURE_ACK));
        if plain && pure && !ack_time {
            Self::PlainAck
        } else if plain && !pure && segment.ack == 1 {
            Self::PlainData
        } else {
            Self::of_special(segment, ack_time)
        }
    }

    /// Of a segment that is not plain.
    fn of_special(segment: &Segment, ack_time: bool) -> Self {
        match (counts(segment.flags), segment.flags.has(Flags::PURE_ACK)) {
            (true, true) if !ack_time => Self::CountingAck,
            (true, false) if segment.ack == 1 => Self::PlainData,
            _ if is_sack(segment.flags) => Self::Sack,
            _ => Self::Whole,
        }
    }

    /// That of a packet's flags.
    #[inline]
    pub(crate) fn of_packet(flags: Flags) -> Self {
        match (flags.has(Flags::INLINE), flags.has(Flags::PURE_ACK)) {
            (true, true) if flags.has(Flags::ACE) => Self::CountingAck,
            (true, true) => Self::PlainAck,
            (true, false) => Self::PlainData,
            (false, _) if is_sack(flags) => Self::Sack,
            (false, _) => Self::Whole,
        }
    }
}

/// The fields of a packet that are not in its segment.
pub(crate) struct Envelope {
    pub flow: FlowId,
    pub direction: Flags,
    pub to: NodeId,
    pub dscp: u8,
    /// Bytes on the wire.
    pub size: u16,
}

/// The packet of a segment that its host sends at `now`. Inline, so that it stays in registers.
#[inline(always)]
pub(crate) fn encode(segment: &Segment, form: Form, now: Time, envelope: &Envelope, bodies: &mut Bodies) -> PacketMeta {
    let &Envelope { flow, direction, to, dscp, size } = envelope;
    let flags = segment.flags.with(direction);
    let seq = if flags.has(Flags::PURE_ACK) { segment.ack } else { segment.seq };
    let (flags, body) = match form {
        Form::PlainAck | Form::CountingAck => (flags.with(Flags::INLINE), segment.ts_ecr),
        Form::PlainData => (flags.with(Flags::INLINE), clock_us(now)),
        Form::Sack => {
            let sacks = Sacks::new(segment);
            (flags.with(sacks.whole()), bodies.sacks.put(sacks))
        }
        Form::Whole => (flags.with(seen(segment)), bodies.whole.put(Body { segment: *segment, sent: now })),
    };
    let tos = dscp << 2 | segment.ecn as u8;
    PacketMeta { stamp: now, seq, flow, body, size, dst: to, tos, class: 0, flags }
}

/// Of a plain ACK: everything before which byte has arrived, and the stamp that it echoes.
#[inline]
pub(crate) fn plain_ack(packet: &PacketMeta) -> (u64, u32) {
    (packet.seq, packet.body)
}

/// A counting ACK.
#[inline]
pub(crate) fn counting_ack(packet: &PacketMeta) -> Segment {
    let flags = packet.flags.and(COUNTED.with(Flags::PURE_ACK));
    let (ack, ts_ecr) = plain_ack(packet);
    Segment { ack, ts_ecr, flags, has_ack: true, ecn: packet.ecn(), ..Segment::default() }
}

/// Plain data that arrives at `now`, and how long it took; the other side's have `peer_header` bytes of headers.
#[inline]
pub(crate) fn plain_data(packet: &PacketMeta, now: Time, peer_header: u16) -> (PlainData, Duration) {
    let len = u32::from(packet.size - peer_header);
    let flags = packet.flags.and(KEPT);
    let data = PlainData { seq: packet.seq, len, ts_val: packet.body, ecn: packet.ecn(), flags };
    (data, inline_delay(now, packet.body))
}

/// Microseconds since the start, modulo 2^32: the clock of time stamps.
#[inline]
pub(crate) fn clock_us(now: Time) -> u32 {
    (now.0 / 1000) as u32
}

/// The delay of a packet that carries its time stamp inline: exact to a microsecond, for delays below 71 minutes.
#[inline]
pub(crate) fn inline_delay(now: Time, stamp: u32) -> Duration {
    Duration::from_micros(u64::from(clock_us(now).wrapping_sub(stamp)))
}

/// The part of a segment kept in the arena while its packet is in flight.
#[derive(Clone, Copy, Debug)]
struct Body {
    segment: Segment,
    /// When its host sent it.
    sent: Time,
}

/// The part of a pure ACK with SACK blocks kept in the arena: half a cache line, since thousands of flows may lose packets.
///
/// Blocks as (start - ACK, length), the first one not empty, and below the ACK if it reports a duplicate (RFC 2883); a fourth one only without time stamps (40 bytes of options
/// hold no more), or else the echoed stamp.
#[derive(Clone, Copy, Debug)]
struct Sacks {
    first: (u32, NonZeroU32),
    more: [(u32, u32); 2],
    /// A fourth block, or the stamp and no length.
    last: (u32, u32),
}

impl Sacks {
    /// The blocks lie within a receive window (2 GiB at most) of the ACK: differences fit into 32 bits.
    fn new(segment: &Segment) -> Self {
        let part = |b: &SackBlock| (b.start.wrapping_sub(segment.ack) as u32, (b.end - b.start) as u32);
        let mut parts = segment.sack.as_slice().iter().map(part);
        let (start, len) = parts.next().unwrap_or_default();
        let mut next = || parts.next().unwrap_or_default();
        let more = [next(), next()];
        let last = parts.next().unwrap_or((segment.ts_ecr, 0));
        Self { first: (start, NonZeroU32::new(len).expect("a block is not empty")), more, last }
    }

    /// Whether they are all that the receiver holds: one or two blocks (more may have had no room), and none of a duplicate, which
    /// lies below the ACK or within the second block.
    #[inline]
    fn whole(&self) -> Flags {
        let ((first, len), second) = ((self.first.0, self.first.1.get()), self.more[0]);
        let below = (first as i32) < 0;
        let within = second.1 > 0 && first.wrapping_sub(second.0) < second.1 && len <= second.1;
        if below || within || self.more[1].1 > 0 { Flags::default() } else { Flags::SACK_WHOLE }
    }

    /// The segment of a packet with this `ack`, these `flags` and this ECN field.
    fn segment(&self, ack: u64, flags: Flags, ecn: Ecn) -> Segment {
        let mut s = Segment { ack, flags, has_ack: true, ecn, ..Segment::default() };
        let parts = [(self.first.0, self.first.1.get()), self.more[0], self.more[1], self.last];
        for (start, len) in parts.into_iter().filter(|(_, len)| *len > 0) {
            let start = ack.wrapping_add_signed(i64::from(start as i32));
            s.sack.push(SackBlock { start, end: start + u64::from(len) });
        }
        s.ts_ecr = if self.last.1 == 0 { self.last.0 } else { 0 };
        s
    }
}

/// The flags by which a queue sees the SACK blocks of an ACK that carries a window.
fn seen(segment: &Segment) -> Flags {
    let blocks = segment.flags.has(Flags::WINDOW.with(Flags::SACK)) && segment.flags.has(Flags::PURE_ACK);
    if blocks { Sacks::new(segment).whole() } else { Flags::default() }
}

/// Returns true if a packet without [`Flags::INLINE`] has [`Sacks`] instead of a [`Body`].
#[inline]
fn is_sack(flags: Flags) -> bool {
    flags.has(Flags::PURE_ACK.with(Flags::SACK)) && !flags.any(NOT_SACK)
}

/// Whether a segment is plain but for AccECN's counter.
#[inline]
fn counts(flags: Flags) -> bool {
    flags.has(Flags::ACE) && !flags.any(MORE)
}

/// The parts of packets in flight that only end hosts read.
#[derive(Default)]
pub(crate) struct Bodies {
    whole: Arena<Body>,
    sacks: Arena<Sacks>,
}

impl Bodies {
    pub(crate) fn len(&self) -> usize {
        self.whole.len() + self.sacks.len()
    }

    /// The segment of a SACK. It is no longer here.
    #[inline]
    pub(crate) fn sack(&mut self, packet: &PacketMeta) -> Segment {
        self.sacks.take(packet.body).segment(packet.seq, packet.flags, packet.ecn())
    }

    /// A whole segment that arrives at `now`, and how long it took. It is no longer here.
    #[inline]
    pub(crate) fn whole(&mut self, packet: &PacketMeta, now: Time) -> (Segment, Duration) {
        let Body { mut segment, sent } = self.whole.take(packet.body);
        segment.ecn = packet.ecn();
        (segment, now.since(sent))
    }

    /// The packets of the segments that a packet holds, and what they are to their sender. It is no longer here.
    #[cold]
    pub(crate) fn cut(&mut self, packet: &PacketMeta) -> Vec<(PacketMeta, Segment)> {
        let Body { mut segment, sent } = self.whole.take(packet.body);
        segment.ecn = packet.ecn();
        segment.flags = Flags(segment.flags.0 & !Flags::LOCAL.0);
        let header = (u32::from(packet.size) - segment.len) / segment.segments();
        let direction = packet.flags.and(Flags::REVERSE.with(Flags::LOCAL));
        let envelope = |len: u32| Envelope {
            flow: packet.flow,
            direction,
            to: packet.dst,
            dscp: packet.tos >> 2,
            size: (header + len) as u16,
        };
        let one = |piece: Segment| (encode(&piece, Form::of(&piece, false), sent, &envelope(piece.len), self), piece);
        segment.cut().map(one).collect()
    }

    /// Fetches the slot of a packet that will soon be delivered.
    #[inline]
    pub(crate) fn prefetch(&self, packet: &PacketMeta) {
        if packet.flags.has(Flags::INLINE) {
            return;
        }
        if is_sack(packet.flags) {
            self.sacks.prefetch(packet.body);
        } else {
            self.whole.prefetch(packet.body);
        }
    }

    /// Frees the slot of a packet that goes no further.
    #[inline]
    pub(crate) fn free(&mut self, packet: &PacketMeta) {
        if packet.flags.has(Flags::INLINE) {
            return;
        }
        if is_sack(packet.flags) {
            self.sacks.take(packet.body);
        } else {
            self.whole.take(packet.body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rng;

    #[test]
    fn sacks_keep_a_segment() {
        let flags = Flags::PURE_ACK.with(Flags::SACK).with(Flags::ECE);
        for blocks in 1..=4_u64 {
            let ts_ecr = if blocks < 4 { 0xffff_fff0 } else { 0 };
            let mut s = Segment { ack: 1 << 40, ts_ecr, flags, has_ack: true, ..Segment::default() };
            for i in 0..blocks {
                let start = (1 << 40) + 1 + i * 500_000_000;
                s.sack.push(SackBlock { start, end: start + 1 + i });
            }
            assert_eq!(Sacks::new(&s).segment(s.ack, s.flags, s.ecn), s);
        }
        // a duplicate far below the ACK
        let start = (1 << 40) - (1 << 31);
        let mut s = Segment { ack: 1 << 40, ts_ecr: 7, flags, has_ack: true, ..Segment::default() };
        s.sack.push(SackBlock { start, end: start + 1448 });
        assert_eq!(Sacks::new(&s).segment(s.ack, s.flags, s.ecn), s);
    }

    /// Segments as ends send them, drawn at random, through a packet and back: what the form keeps is what was sent.
    #[test]
    fn a_segment_comes_out_as_it_went_in() {
        let mut rng = Rng::named(1, "codec");
        let mut bodies = Bodies::default();
        let mut seen = [0_u32; 7];
        for _ in 0..20_000 {
            let (ack_time, peer_header) = (rng.below(4) == 0, 52);
            let direction = if rng.below(2) == 0 { Flags::default() } else { Flags::REVERSE };
            let sent = Time(rng.below(1 << 40));
            let segment = drawn(&mut rng, sent);
            let size = (u32::from(peer_header) + segment.len) as u16;
            let (flow, dscp) = (FlowId::new(7, 3), rng.below(64) as u8);
            let envelope = Envelope { flow, direction, to: NodeId(1), dscp, size };
            let packet = encode(&segment, Form::of(&segment, ack_time), sent, &envelope, &mut bodies);
            assert_eq!((packet.flow, packet.size, packet.dst, packet.stamp), (flow, size, NodeId(1), sent));
            assert_eq!((packet.tos >> 2, packet.ecn()), (dscp, segment.ecn));

            let took = Duration(rng.below(1 << 36));
            let flags = segment.flags.with(direction);
            match Form::of_packet(packet.flags) {
                Form::PlainAck => {
                    seen[0] += 1;
                    assert_eq!(plain_ack(&packet), (segment.ack, segment.ts_ecr));
                    assert!(segment.flags == Flags::PURE_ACK && !ack_time, "{segment:?}");
                }
                Form::CountingAck => {
                    seen[4] += 1;
                    let kept = Segment { seq: 0, ts_val: 0, ..segment };
                    assert_eq!(counting_ack(&packet), kept);
                    assert!(!ack_time && packet.flags.ace() == segment.flags.ace(), "{segment:?}");
                }
                Form::PlainData => {
                    seen[1] += 1;
                    let counted = segment.flags.has(Flags::ACE);
                    seen[5] += u32::from(counted);
                    let (data, delay) = plain_data(&packet, sent + took, peer_header);
                    let Segment { seq, len, ts_val, ecn, .. } = segment;
                    let push = segment.flags.and(Flags::PSH);
                    let ace = if counted { Flags::ACE.with_ace(segment.flags.ace()) } else { Flags::default() };
                    let flags = ace.with(push);
                    assert_eq!((data, segment.ack), (PlainData { seq, len, ts_val, ecn, flags }, 1));
                    assert!(delay.0.abs_diff(took.0) < 1000, "inline stamps are exact to a microsecond");
                }
                Form::Sack => {
                    seen[2] += 1;
                    seen[6] += u32::from(segment.flags.has(Flags::ACE));
                    // with four blocks there is no room for the echo
                    let ts_ecr = if segment.sack.as_slice().len() < 4 { segment.ts_ecr } else { 0 };
                    // the packet also tells a queue if these are all the blocks
                    let flags = flags.with(packet.flags.and(Flags::SACK_WHOLE));
                    let kept = Segment { seq: 0, ts_val: 0, ts_ecr, flags, ..segment };
                    assert_eq!(bodies.sack(&packet), kept);
                }
                Form::Whole => {
                    seen[3] += 1;
                    assert_eq!(bodies.whole(&packet, sent + took), (segment, took));
                }
            }
            assert_eq!(bodies.len(), 0, "nothing stays in the arena");
        }
        assert!(seen.iter().all(|n| *n > 500), "{seen:?}");
    }

    /// A pure ACK with or without SACK blocks and echo or counter, ECN-capable or not, or data that may carry a FIN.
    fn drawn(rng: &mut Rng, sent: Time) -> Segment {
        let ack = if rng.below(2) == 0 { 1 } else { 1 << 33 | rng.below(1 << 33) };
        let mut s = Segment {
            seq: rng.below(1 << 40),
            ack,
            ts_val: clock_us(sent),
            ts_ecr: rng.below(1 << 32) as u32,
            has_ack: true,
            ..Segment::default()
        };
        let echo = match rng.below(4) {
            0 => Flags::ECE,
            1 => Flags::ACE.with_ace(rng.below(8) as u8),
            _ => Flags::default(),
        };
        s.ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][rng.below(4) as usize];
        if rng.below(2) == 0 {
            s.len = 1 + rng.below(1448) as u32;
            let end = [Flags::FIN, Flags::PSH, Flags::default(), Flags::default()][rng.below(4) as usize];
            s.flags = end.with(echo);
            return s;
        }
        s.flags = Flags::PURE_ACK.with(echo);
        if rng.below(2) == 0 {
            s.flags = s.flags.with(Flags::SACK);
            for n in 0..=rng.below(4) {
                let start = s.ack + 1 + n * (1 << 20) + rng.below(1 << 18);
                s.sack.push(SackBlock { start, end: start + 1 + rng.below(1 << 18) });
            }
        }
        s
    }
}
