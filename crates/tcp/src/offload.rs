//! Segments that leave together as one packet: segmentation offload.
//!
//! ```text
//! joins     the next byte, all before it full segments, and alike: both new or both sent again, one ECN field, no SACK blocks,
//!           no CWR but in the first; at most a burst's segments, and 65535 bytes with the headers of each
//! leaves    a burst ends, something does not join, a FIN, the end of the call
//! ```
//!
//! The scoreboard counts segments: those lost of such a packet are retransmitted alone, or together with the next ones.
//!
//! Source: Linux' net/ipv4/tcp_output.c.
//! Departs: Linux retransmits the original packet as far as the window has room and no SACK has split it; here, neighbours from
//! two packets may be combined. A segment with SACK blocks (data in both directions) leaves alone.

use crate::params::TcpParams;
use crate::segment::{Event, Io, Segment};
use packet::Flags;

/// An [`Io`] in front of the host's that gathers segments into packets.
pub(crate) struct Offload<'a, I> {
    p: &'a TcpParams,
    /// Largest number of segments in a packet.
    most: u32,
    io: &'a mut I,
    /// The packet gathered so far; without payload if there is none.
    run: Segment,
}

impl<'a, I: Io> Offload<'a, I> {
    /// Begins with an empty packet.
    pub(crate) fn new(p: &'a TcpParams, most: u32, io: &'a mut I) -> Self {
        Self { p, most, io, run: Segment::default() }
    }

    /// Sends the gathered packet.
    #[cold]
    pub(crate) fn flush(&mut self) {
        let mut run = std::mem::take(&mut self.run);
        if run.len > self.p.wire.mss {
            run.gso_size = self.p.wire.mss as u16;
            run.flags = run.flags.with(Flags::GSO);
        }
        if run.len > 0 {
            self.io.send(&run);
        }
    }

    fn joins(&self, s: &Segment) -> bool {
        let (run, mss) = (&self.run, self.p.wire.mss);
        let segments = run.len / mss;
        let cwr = s.flags.has(Flags::CWR) && !s.flags.has(Flags::ACE);
        run.len > 0
            && run.len.is_multiple_of(mss)
            && s.len > 0
            && s.seq == run.seq + u64::from(run.len)
            && segments < self.most
            && (segments + 1) * u32::from(self.p.frame()) <= u16::MAX.into()
            && (s.retransmission, s.ecn) == (run.retransmission, run.ecn)
            && run.sack.is_empty()
            && s.sack.is_empty()
            && !run.flags.has(Flags::FIN)
            && !cwr
    }
}

impl<I: Io> Io for Offload<'_, I> {
    #[cold]
    fn send(&mut self, segment: &Segment) {
        if self.joins(segment) {
            self.run.len += segment.len;
            self.run.flags = self.run.flags.with(segment.flags.and(Flags::PSH.with(Flags::FIN)));
            return;
        }
        self.flush();
        if segment.len > 0 {
            self.run = *segment;
        } else {
            self.io.send(segment);
        }
    }

    fn burst_ends(&mut self) {
        self.flush();
    }

    fn event(&mut self, event: Event) {
        self.io.event(event);
    }
}
