//! One segment in flight, as the sender remembers it.

pub(crate) const SACKED: u8 = 1;
pub(crate) const LOST: u8 = 2;
/// Retransmitted in this recovery: counts in pipe.
pub(crate) const RETX: u8 = 4;
/// Sent more than once in its life: no RTT sample (Karn).
pub(crate) const EVER: u8 = 8;
pub(crate) const FIN: u8 = 16;

/// One segment in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Low half of its offset.
    pub(crate) start: u32,
    /// Moment of the last transmission, microseconds modulo 2^32.
    pub(crate) sent: u32,
    /// In the first entry of a SACKed run: how many entries from here are SACKed at least. Of a retransmission: its number (FACK).
    pub(crate) skip: u32,
    /// Payload.
    pub(crate) len: u16,
    pub(crate) flags: u8,
}

const _: () = assert!(size_of::<Entry>() == 16);

impl Entry {
    /// Sequence numbers it occupies.
    #[inline]
    pub(crate) fn size(&self) -> u64 {
        u64::from(self.len) + u64::from(self.flags & FIN != 0)
    }
    /// Payload: what pipe and the windows count. A FIN alone takes no window.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.len)
    }
    /// Its share of pipe.
    #[inline]
    pub(crate) fn in_pipe(&self) -> u64 {
        if self.flags & SACKED != 0 {
            return 0;
        }
        self.bytes() * (u64::from(self.flags & LOST == 0) + u64::from(self.flags & RETX != 0))
    }
    #[inline]
    pub(crate) fn has(&self, bit: u8) -> bool {
        self.flags & bit != 0
    }
}

/// A segment to send again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) seq: u64,
    pub(crate) len: u32,
    pub(crate) fin: bool,
    pub(crate) at: u32,
}

impl Piece {
    /// One past its last sequence number.
    pub(crate) fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.fin)
    }
}

/// When the first and the last of some segments left, microseconds modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) oldest: u32,
    pub(crate) newest: u32,
}

impl Sent {
    /// One more segment, which left at `sent`.
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

/// What a cumulative ACK took off the board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Send times of those that were sent once and not SACKed before.
    pub(crate) once: Option<Sent>,
    /// One of them was sent twice: the ACK may tell of either (Karn).
    pub(crate) resent: bool,
    /// One of them had been SACKed before.
    pub(crate) passed: bool,
    /// Bytes of them that had been SACKed before.
    pub(crate) sacked: u64,
    /// How many of them had not.
    pub(crate) segments: u32,
}

/// Who wants to know what arrives.
pub(crate) trait Watch {
    /// The segment is cumulatively acknowledged; it may have been SACKed before.
    fn acknowledged(&mut self, e: &Entry);
    /// The segment at this position is SACKed.
    fn sacked(&mut self, at: usize, e: &Entry);
}

impl Watch for () {
    fn acknowledged(&mut self, _: &Entry) {}
    fn sacked(&mut self, _: usize, _: &Entry) {}
}
