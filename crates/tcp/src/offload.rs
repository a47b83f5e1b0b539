//! Segmentation offload: several segments leave together as one packet.
//!
//! ```text
//! joins     a segment joins the packet if its data follows without a gap and all segments of the packet are full;
//!           if packet and segment are both new or both retransmitted, have the same ECN field and no SACK blocks;
//!           and if the segment does not have CWR
//!           A packet holds at most one burst, and at most 65535 bytes including all headers
//! leaves    the packet leaves when the burst ends, after a FIN, when the next segment cannot join it, or when nothing
//!           more can be sent now
//! ```
//!
//! The scoreboard counts segments, not packets. A lost segment is retransmitted alone, or in one packet with the lost
//! segments that follow it.
//!
//! Source: Linux's net/ipv4/tcp_output.c.
//! Departs: Linux retransmits the original packet, if the window has room and no SACK has split the packet. Here, adjacent
//! segments of two packets may be combined. A segment with SACK blocks, which occurs if data flows in both directions, leaves
//! alone.

use crate::params::TcpParams;
use crate::segment::{Event, Io, Segment};
use packet::Flags;

/// An [`Io`] that gathers segments into packets, and passes the packets to the [`Io`] of the host.
pub(crate) struct Offload<'a, I> {
    p: &'a TcpParams,
    /// Maximum number of segments in a packet.
    most: u32,
    io: &'a mut I,
    /// The packet gathered so far. Its payload length is 0 as long as it contains no segment.
    run: Segment,
}

impl<'a, I: Io> Offload<'a, I> {
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
