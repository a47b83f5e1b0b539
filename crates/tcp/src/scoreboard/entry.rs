//! An entry of the scoreboard, which describes one outstanding segment.

pub(crate) const SACKED: u8 = 1;
pub(crate) const LOST: u8 = 2;
/// The segment was retransmitted, and this retransmission counts in pipe, because it is not deemed lost. Rescues and
/// probes do not set this bit.
pub(crate) const RETX: u8 = 4;
/// The segment was sent more than once, so its send time gives no RTT sample (Karn's rule).
pub(crate) const EVER: u8 = 8;
pub(crate) const FIN: u8 = 16;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    /// Sequence number of the first byte, stored as the low 32 bits of its stream offset.
    pub(crate) start: u32,
    /// Time of the last transmission, microseconds modulo 2^32.
    pub(crate) sent: u32,
    /// In the first entry of a run of SACKed segments, `skip` is a lower bound on the run's length in entries. In an
    /// entry that is not SACKed, it is the number of the segment's last transmission ([`Entry::order`]). With FACK, a
    /// retransmitted entry holds the number that FACK gives to the retransmission instead.
    pub(crate) skip: u32,
    /// Payload bytes.
    pub(crate) len: u16,
    pub(crate) flags: u8,
}

const _: () = assert!(size_of::<Entry>() == 16);

impl Entry {
    /// Returns the number of sequence numbers that the segment occupies.
    #[inline]
    pub(crate) fn size(&self) -> u64 {
        u64::from(self.len) + u64::from(self.flags & FIN != 0)
    }
    /// Returns the number of payload bytes. Only payload counts in pipe and in the windows: a FIN takes no room there.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.len)
    }
    /// Returns the number of bytes that the segment adds to pipe. A SACKed segment adds nothing. The payload of any
    /// other segment counts once if the segment is not marked lost, and once more if it has the mark [`RETX`].
    #[inline]
    pub(crate) fn in_pipe(&self) -> u64 {
        if self.flags & SACKED != 0 {
            return 0;
        }
        self.bytes() * (u64::from(self.flags & LOST == 0) + u64::from(self.flags & RETX != 0))
    }
    /// Returns the number of the segment's last transmission. The sender numbers all its transmissions in the order of
    /// sending, modulo 2^32. The segment must not be SACKed.
    #[inline]
    pub(crate) fn order(&self) -> u32 {
        debug_assert!(!self.has(SACKED), "a SACKed segment has no number");
        self.skip
    }
    #[inline]
    pub(crate) fn has(&self, bit: u8) -> bool {
        self.flags & bit != 0
    }
}

/// A segment to retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) seq: u64,
    pub(crate) len: u32,
    pub(crate) fin: bool,
    pub(crate) at: u32,
}

impl Piece {
    /// Returns the sequence number that follows the segment.
    pub(crate) fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.fin)
    }
}

/// Earliest and latest send times of several segments, microseconds modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) oldest: u32,
    pub(crate) newest: u32,
}

impl Sent {
    /// Extends `span`, the send times of several segments, by a segment that was sent at `sent`.
    #[inline]
    pub(crate) fn add(span: &mut Option<Self>, sent: u32) {
        let Self { oldest, newest } = span.unwrap_or(Self { oldest: sent, newest: sent });
        let later = |a: u32, b: u32| (a.wrapping_sub(b) as i32) > 0;
        *span = Some(Self {
            oldest: if later(oldest, sent) { sent } else { oldest },
            newest: if later(sent, newest) { sent } else { newest },
        });
    }
}

/// The segments that a cumulative ACK has removed from the scoreboard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Send times of the removed segments that were sent only once and that no earlier ACK has SACKed.
    pub(crate) once: Option<Sent>,
    /// True if any of the segments was sent more than once, so the ACK may be for any transmission (Karn's rule).
    pub(crate) resent: bool,
    /// True if an earlier ACK has SACKed any of the segments.
    pub(crate) passed: bool,
    /// Payload bytes of the segments that earlier ACKs have SACKed.
    pub(crate) sacked: u64,
    /// Number of segments that no earlier ACK has SACKed.
    pub(crate) segments: u32,
}

/// An observer of the segments that, according to an ACK, have arrived at the receiver.
pub(crate) trait Watch {
    /// Called for each segment that an ACK acknowledges cumulatively, even if an earlier ACK has SACKed the segment.
    fn acknowledged(&mut self, e: &Entry);
    /// Called for each newly SACKed segment. `at` is the position of its entry in the scoreboard.
    fn sacked(&mut self, at: usize, e: &Entry);
}
