//! Encodes segments as packets, and decodes them.
//!
//! A packet carries the fields that a queue may read. The other fields of a segment are stored in the arena, unless both ends
//! can derive them. `tcp` never reads the fields that a form omits. In this table, a number is a sequence number, an ACK
//! an acknowledgment number, and a stamp a time stamp:
//!
//! | form | segments | `seq` | `body` | omitted |
//! |---|---|---|---|---|
//! | plain ACK | pure ACK without SACK blocks or ECN echo | the ACK | the echoed stamp | its number, its stamp |
//! | counting ACK | as a plain ACK, but with AccECN's counter in its flags | the ACK | the echoed stamp | its number, its stamp |
//! | plain data | data without FIN, ECE or CWR, of a side that has received no data | its number | its stamp | ACK 1, the echo |
//! | SACK | pure ACK with SACK blocks | the ACK | [`Sacks`] | its number |
//! | whole | any other segment, or several in one packet (GSO) | its number; the ACK of a pure ACK | [`Body`] | nothing |
//!
//! The first three forms make up nearly all traffic and need no arena. With AccECN, plain data and counting ACKs carry the
//! counter in their flags. An ACK without SACK blocks is sent whole if the other side measures one-way delay from the
//! ACK's time stamp. A segment that carries a window or an AccECN option is also sent whole.

use crate::arena::Arena;
use crate::wake::InFlightBytes;
use packet::{Ecn, Flags, FlowId, NodeId, PacketMeta};
use std::num::NonZeroU32;
use tcp::{Plain, PlainData, SackBlock, Segment, micros};
use units::{Duration, Time};

/// Flags that neither plain nor counting segments have.
const MORE: Flags =
    Flags(Flags::SYN.0 | Flags::FIN.0 | Flags::SACK.0 | Flags::ACCECN_OPTION.0 | Flags::GSO.0 | Flags::WINDOW.0);
/// Flags that exclude a segment from the fast path in [`Form::of`]: [`MORE`], and the flags of AccECN's counter, which
/// counting ACKs and plain data may carry.
const SPECIAL: Flags = Flags(MORE.0 | Flags::ECN.0 | Flags::ACE.0);

/// The flags that hold AccECN's counter.
const COUNTED: Flags = Flags(Flags::ACE.0 | Flags::ECN.0);
/// The flags that plain data still has after it is decoded.
const KEPT: Flags = Flags(COUNTED.0 | Flags::PSH.0);
/// Flags not set in any segment of the SACK form.
const NOT_SACK: Flags = Flags(Flags::SYN.0 | Flags::FIN.0 | Flags::ACCECN_OPTION.0 | Flags::WINDOW.0);

/// The encoding of a segment in a packet; described in the module's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    PlainAck,
    CountingAck,
    PlainData,
    Sack,
    Whole,
}

impl Form {
    /// Returns the form of a segment. `ack_time` is true if the other side reads the stamps of ACKs.
    #[inline]
    pub(crate) fn of(segment: &Segment, ack_time: bool) -> Self {
        let (plain, pure) = (!segment.flags.any(SPECIAL), segment.flags.has(Flags::PURE_ACK));
        if plain && pure && !ack_time {
            Self::PlainAck
        } else if plain && !pure && segment.ack == 1 {
            Self::PlainData
        } else {
            Self::of_special(segment.flags, segment.ack, ack_time)
        }
    }

    /// Returns the form of a rare segment. [`Form::of`] calls this function for a segment with any of the flags
    /// [`SPECIAL`], for data with an ACK other than 1, and for an ACK whose time stamp the other side reads.
    fn of_special(flags: Flags, ack: u64, ack_time: bool) -> Self {
        match (counts(flags), flags.has(Flags::PURE_ACK)) {
            (true, true) if !ack_time => Self::CountingAck,
            (true, false) if ack == 1 => Self::PlainData,
            _ if is_sack(flags) => Self::Sack,
            _ => Self::Whole,
        }
    }

    /// Returns the form that a packet's flags indicate.
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

/// The fields of a packet that do not come from its segment.
pub(crate) struct Envelope {
    pub flow: FlowId,
    pub direction: Flags,
    pub to: NodeId,
    pub dscp: u8,
    /// Bytes on the wire.
    pub size: u16,
}

/// Encodes a segment that its host sends at `now`. This function is always inlined, so that the packet stays in
/// registers.
#[inline(always)]
pub(crate) fn encode(segment: &Segment, form: Form, now: Time, envelope: &Envelope, bodies: &mut Bodies) -> PacketMeta {
    let &Envelope { flow, direction, to, dscp, size } = envelope;
    let flags = segment.flags.with(direction);
    let seq = if flags.has(Flags::PURE_ACK) { segment.ack } else { segment.seq };
    let (flags, body) = match form {
        Form::PlainAck | Form::CountingAck => (flags.with(Flags::INLINE), segment.ts_ecr),
        Form::PlainData => (flags.with(Flags::INLINE), micros(now)),
        Form::Sack | Form::Whole => {
            let (more, body) = bodies.store(*segment, form, now);
            (flags.with(more), body)
        }
    };
    let tos = dscp << 2 | segment.ecn as u8;
    PacketMeta { stamp: now, seq, flow, body, size, dst: to, tos, class: 0, flags }
}

/// Encodes a plain ACK or plain data, as [`encode`] does.
#[inline(always)]
pub(crate) fn encode_plain(plain: &Plain, now: Time, envelope: &Envelope) -> PacketMeta {
    let &Envelope { flow, direction, to, dscp, size } = envelope;
    let inline = direction.with(Flags::INLINE);
    let (seq, body, flags) = if plain.is_ack() {
        (plain.ack, plain.ts_ecr, inline.with(Flags::PURE_ACK))
    } else {
        (plain.seq, plain.ts_val, inline)
    };
    PacketMeta { stamp: now, seq, flow, body, size, dst: to, tos: dscp << 2, class: 0, flags }
}

/// Decodes a plain ACK: its acknowledgment number and the echoed stamp.
#[inline]
pub(crate) fn plain_ack(packet: &PacketMeta) -> (u64, u32) {
    (packet.seq, packet.body)
}

/// Decodes a counting ACK.
#[inline]
pub(crate) fn counting_ack(packet: &PacketMeta) -> Segment {
    let flags = packet.flags.and(COUNTED.with(Flags::PURE_ACK));
    let (ack, ts_ecr) = plain_ack(packet);
    Segment { ack, ts_ecr, flags, has_ack: true, ecn: packet.ecn(), ..Segment::default() }
}

/// Decodes plain data that arrives at `now`; returns the segment and its one-way delay. `peer_header` is the number of header
/// bytes of the sender's plain data.
#[inline]
pub(crate) fn plain_data(packet: &PacketMeta, now: Time, peer_header: u16) -> (PlainData, Duration) {
    let len = u32::from(packet.size - peer_header);
    let flags = packet.flags.and(KEPT);
    let data = PlainData { seq: packet.seq, len, ts_val: packet.body, ecn: packet.ecn(), flags };
    (data, inline_delay(now, packet.body))
}

/// Returns the delay of a packet that carries its time stamp inline. The result is exact to a microsecond, for delays below 71
/// minutes (2^32 us).
#[inline]
pub(crate) fn inline_delay(now: Time, stamp: u32) -> Duration {
    Duration::from_micros(u64::from(micros(now).wrapping_sub(stamp)))
}

/// A whole segment, stored in the arena while its packet is in flight.
#[derive(Clone, Copy, Debug)]
struct Body {
    segment: Segment,
    /// Time at which the host sent the segment.
    sent: Time,
}

/// The part of a pure ACK with SACK blocks that is stored in the arena. Its size is limited to half a cache line, because
/// thousands of such ACKs are in flight when thousands of flows lose packets at the same time.
///
/// Blocks are (start - ACK, length). The first block is not empty, and may lie below the ACK if it reports a duplicate
/// (RFC 2883). With time stamps, the 40 bytes of options have no room for a fourth block, so `last` holds the stamps
/// instead.
#[derive(Clone, Copy, Debug)]
struct Sacks {
    first: (u32, NonZeroU32),
    more: [(u32, u32); 2],
    /// Either the fourth block, or the stamps. The stamps are the echoed stamp, and the time from the echoed stamp to the
    /// ACK's own stamp, in microseconds and with the bit [`Sacks::STAMPS`] set.
    last: (u32, u32),
}

impl Sacks {
    /// This bit of the second number in `last` is set if `last` holds stamps. It is clear if `last` holds a block,
    /// because a block's length is below 2^31. The other 31 bits hold the time between the stamps in microseconds,
    /// which is enough for 35 minutes.
    const STAMPS: u32 = 1 << 31;

    /// Packs the blocks of a segment. All blocks lie within a receive window (2 GiB at most) of the ACK, so differences
    /// fit into 32 bits.
    fn new(segment: &Segment) -> Self {
        let part = |b: &SackBlock| (b.start.wrapping_sub(segment.ack) as u32, (b.end - b.start) as u32);
        let mut parts = segment.sack.as_slice().iter().map(part);
        let (start, len) = parts.next().unwrap_or_default();
        let mut next = || parts.next().unwrap_or_default();
        let more = [next(), next()];
        let stamps = (segment.ts_ecr, segment.ts_val.wrapping_sub(segment.ts_ecr) | Self::STAMPS);
        let last = parts.next().unwrap_or(stamps);
        Self { first: (start, NonZeroU32::new(len).expect("a block is not empty")), more, last }
    }

    /// Returns [`Flags::SACK_WHOLE`] if the blocks certainly cover all data that the receiver has above holes. Two conditions
    /// must hold: there are only one or two blocks (three may be a selection from more), and the first block is not a D-SACK,
    /// that is, it lies neither below the ACK nor within the second block.
    #[inline]
    fn whole(&self) -> Flags {
        let ((first, len), second) = ((self.first.0, self.first.1.get()), self.more[0]);
        let below = (first as i32) < 0;
        let within = second.1 > 0 && first.wrapping_sub(second.0) < second.1 && len <= second.1;
        if below || within || self.more[1].1 > 0 { Flags::default() } else { Flags::SACK_WHOLE }
    }

    /// Restores the segment of a packet with this `ack`, these `flags` and this ECN field.
    fn segment(&self, ack: u64, flags: Flags, ecn: Ecn) -> Segment {
        let mut s = Segment { ack, flags, has_ack: true, ecn, ..Segment::default() };
        let parts = [(self.first.0, self.first.1.get()), self.more[0], self.more[1], self.last];
        for (start, len) in parts.into_iter().filter(|(_, len)| (1..Self::STAMPS).contains(len)) {
            let start = ack.wrapping_add_signed(i64::from(start as i32));
            s.sack.push(SackBlock { start, end: start + u64::from(len) });
        }
        if self.last.1 >= Self::STAMPS {
            s.ts_ecr = self.last.0;
            s.ts_val = s.ts_ecr.wrapping_add(self.last.1 - Self::STAMPS);
        }
        s
    }
}

/// Returns [`Flags::SACK_WHOLE`], a flag for queues, if the segment is an ACK that carries a window and its SACK blocks
/// certainly cover all data that the receiver has above holes. Otherwise returns no flags.
fn sack_flags(segment: &Segment) -> Flags {
    let blocks = segment.flags.has(Flags::WINDOW.with(Flags::SACK)) && segment.flags.has(Flags::PURE_ACK);
    if blocks { Sacks::new(segment).whole() } else { Flags::default() }
}

/// Returns true if a packet without [`Flags::INLINE`] has [`Sacks`] instead of a [`Body`].
#[inline]
fn is_sack(flags: Flags) -> bool {
    flags.has(Flags::PURE_ACK.with(Flags::SACK)) && !flags.any(NOT_SACK)
}

/// Returns true if a packet is a datagram whose bytes are in the arena.
#[inline]
pub(crate) fn has_bytes(flags: Flags) -> bool {
    flags.and(Flags::BYTES.with(Flags::PURE_ACK)) == Flags::BYTES
}

/// Returns true if a segment carries AccECN's counter and is otherwise plain.
#[inline]
fn counts(flags: Flags) -> bool {
    flags.has(Flags::ACE) && !flags.any(MORE)
}

/// The parts of packets in flight that only end hosts read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bodies {
    whole: Arena<Body>,
    sacks: Arena<Sacks>,
    bytes: Arena<InFlightBytes>,
}

impl Bodies {
    pub(crate) fn len(&self) -> usize {
        self.whole.len() + self.sacks.len() + self.bytes.len()
    }

    /// Stores a segment in the form SACK or whole. Returns the flags to add to the packet, and the index in the arena. The
    /// segment is passed by value, because a reference would force the caller's segment into memory.
    #[inline(never)]
    fn store(&mut self, segment: Segment, form: Form, now: Time) -> (Flags, u32) {
        if form == Form::Sack {
            let sacks = Sacks::new(&segment);
            return (sacks.whole(), self.sacks.put(sacks));
        }
        (sack_flags(&segment), self.whole.put(Body { segment, sent: now }))
    }

    /// Stores a datagram's bytes. Returns their index in the arena, which becomes the `body` of the datagram's packet.
    pub(crate) fn put_bytes(&mut self, datagram: InFlightBytes) -> u32 {
        self.bytes.put(datagram)
    }

    /// Removes and returns a datagram's bytes.
    pub(crate) fn bytes(&mut self, packet: &PacketMeta) -> InFlightBytes {
        self.bytes.take(packet.body)
    }

    /// Returns the bytes at `body`, if a packet with these flags has any.
    pub(crate) fn bytes_at(&self, flags: Flags, body: u32) -> Option<&[u8]> {
        has_bytes(flags).then(|| self.bytes.get(body).map(|datagram| &*datagram.bytes)).flatten()
    }

    /// Removes the body of a packet in the SACK form; returns the packet's segment.
    #[inline]
    pub(crate) fn sack(&mut self, packet: &PacketMeta) -> Segment {
        self.sacks.take(packet.body).segment(packet.seq, packet.flags, packet.ecn())
    }

    /// Removes and returns a whole segment that arrives at `now`, with its delay.
    #[inline]
    pub(crate) fn whole(&mut self, packet: &PacketMeta, now: Time) -> (Segment, Duration) {
        let Body { mut segment, sent } = self.whole.take(packet.body);
        segment.ecn = packet.ecn();
        (segment, now.since(sent))
    }

    /// Cuts a packet of several segments (GSO) and removes its body from the arena. Returns each segment, together with
    /// a packet that holds only this segment.
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

    /// Prefetches the slot of a packet that will soon be delivered.
    #[inline]
    pub(crate) fn prefetch(&self, packet: &PacketMeta) {
        if packet.flags.has(Flags::INLINE) {
            return;
        }
        if is_sack(packet.flags) {
            self.sacks.prefetch(packet.body);
        } else if has_bytes(packet.flags) {
            self.bytes.prefetch(packet.body);
        } else {
            self.whole.prefetch(packet.body);
        }
    }

    /// Returns a copy of a packet. If the packet has a body in the arena, the body is copied to a new slot.
    #[cold]
    pub(crate) fn copy(&mut self, packet: &PacketMeta) -> PacketMeta {
        let body = if packet.flags.has(Flags::INLINE) {
            packet.body
        } else if is_sack(packet.flags) {
            self.sacks.copy(packet.body)
        } else if has_bytes(packet.flags) {
            self.bytes.copy(packet.body)
        } else {
            self.whole.copy(packet.body)
        };
        PacketMeta { body, ..*packet }
    }

    /// Frees a dropped packet's slot.
    #[inline]
    pub(crate) fn free(&mut self, packet: &PacketMeta) {
        if packet.flags.has(Flags::INLINE) {
            return;
        }
        if is_sack(packet.flags) {
            self.sacks.take(packet.body);
        } else if has_bytes(packet.flags) {
            self.bytes.take(packet.body);
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
            let (ts_val, ts_ecr) = if blocks < 4 { (0x7fff_ffef, 0xffff_fff0) } else { (0, 0) };
            let mut s = Segment { ack: 1 << 40, ts_val, ts_ecr, flags, has_ack: true, ..Segment::default() };
            for i in 0..blocks {
                let start = (1 << 40) + 1 + i * 500_000_000;
                s.sack.push(SackBlock { start, end: start + 1 + i });
            }
            assert_eq!(Sacks::new(&s).segment(s.ack, s.flags, s.ecn), s);
        }
        // this block reports a duplicate that begins 2 GiB below the ACK, which is the greatest distance that `Sacks`
        // can hold
        let start = (1 << 40) - (1 << 31);
        let mut s = Segment { ack: 1 << 40, ts_val: 7, ts_ecr: 7, flags, has_ack: true, ..Segment::default() };
        s.sack.push(SackBlock { start, end: start + 1448 });
        assert_eq!(Sacks::new(&s).segment(s.ack, s.flags, s.ecn), s);
    }

    /// Encodes and decodes random segments in every form. The fields that a form keeps must be unchanged after
    /// decoding, and both ways to encode a plain segment must give the same packet.
    #[test]
    fn a_segment_comes_out_as_it_went_in() {
        let mut rng = Rng::named(1, "codec");
        let mut bodies = Bodies::default();
        let mut seen = [0_u32; 9];
        for _ in 0..20_000 {
            let (ack_time, peer_header) = (rng.below(4) == 0, 52);
            let direction = if rng.below(2) == 0 { Flags::default() } else { Flags::REVERSE };
            let sent = Time(rng.below(1 << 40));
            let segment = random_segment(&mut rng, sent);
            let size = (u32::from(peer_header) + segment.len) as u16;
            let (flow, dscp) = (FlowId::new(7, 3), rng.below(64) as u8);
            let envelope = Envelope { flow, direction, to: NodeId(1), dscp, size };
            let packet = encode(&segment, Form::of(&segment, ack_time), sent, &envelope, &mut bodies);
            assert_eq!((packet.flow, packet.size, packet.dst, packet.stamp), (flow, size, NodeId(1), sent));
            assert_eq!((packet.tos >> 2, packet.ecn()), (dscp, segment.ecn));

            let Segment { seq, len, ack, ts_val, ts_ecr, .. } = segment;
            let plain = Plain { seq, len, ack, ts_val, ts_ecr };
            if plain.segment() == segment && packet.flags.has(Flags::INLINE) {
                seen[7 + usize::from(plain.is_ack())] += 1;
                assert_eq!(encode_plain(&plain, sent, &envelope), packet);
            }

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
                    // four blocks leave no room for time stamps
                    let stamped = segment.sack.as_slice().len() < 4;
                    let (ts_val, ts_ecr) = if stamped { (segment.ts_val, segment.ts_ecr) } else { (0, 0) };
                    // the codec sets SACK_WHOLE for queues if the blocks cover all data that the receiver has above holes
                    let flags = flags.with(packet.flags.and(Flags::SACK_WHOLE));
                    let kept = Segment { seq: 0, ts_val, ts_ecr, flags, ..segment };
                    assert_eq!(bodies.sack(&packet), kept);
                }
                Form::Whole => {
                    seen[3] += 1;
                    assert_eq!(bodies.whole(&packet, sent + took), (segment, took));
                }
            }
            assert_eq!(bodies.len(), 0, "the arena is empty");
        }
        assert!(seen[..7].iter().all(|n| *n > 500) && seen[7..].iter().all(|n| *n > 200), "{seen:?}");
    }

    /// Returns a random segment: data, with or without a FIN, or a pure ACK, with or without SACK blocks. Data and ACKs
    /// may carry an ECN echo or AccECN's counter, and have a random ECN field.
    fn random_segment(rng: &mut Rng, sent: Time) -> Segment {
        let ack = if rng.below(2) == 0 { 1 } else { 1 << 33 | rng.below(1 << 33) };
        let mut s = Segment {
            seq: rng.below(1 << 40),
            ack,
            ts_val: micros(sent),
            ts_ecr: micros(sent).wrapping_sub(rng.below(1 << 31) as u32),
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
