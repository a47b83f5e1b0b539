//! Sizes on the wire: segments, their headers and options.

use super::group::{group, no, require};
use crate::segment::Segment;
use packet::Flags;
use units::Problem;

group! {
    /// Sizes on the wire.
    pub struct WireParams {
        /// Largest payload of a segment, in bytes. The MSS option of a SYN announces the sum of `mss` and the bytes of
        /// the TCP options that every segment carries, such as 12 bytes for `timestamps`. In each segment of the peer,
        /// payload and these options together are at most as large as the announced value. Source: RFC 9293 §3.7.1.
        pub mss: u32 = 1448,
        /// Size of the IP and TCP headers without options, in bytes: 40 for IPv4.
        pub header_bytes: u16 = 40,
        /// Size of the time stamp option in bytes, if `timestamps` is true. It is 12 in real stacks, and 10 in ns-2.
        pub timestamp_bytes: u16 = 12,
        /// Size of all options of a SYN or SYN-ACK in bytes: 20 in Linux, 10 in ns-2 with time stamps.
        // Linux's options take 20 bytes: MSS 4, SACK permitted 2, time stamps 10, NOP 1, window scale 3
        pub syn_option_bytes: u16 = 20,
        /// If true, SACK blocks take up space on the wire: 4 + 8 n bytes for n blocks.
        pub sack_on_wire: bool = true,
        /// If true, segments carry time stamps, and the receiver echoes them. The echoes give RTT samples (see
        /// `rtt_source`) and reveal spurious retransmissions. If one of the ends has no time stamps, RTT samples use
        /// the send time of each segment and Karn's rule. Source: RFC 7323.
        pub timestamps: bool = true,
    }

    fn validate(&self) -> Result<(), Problem> {
        // an IP packet of 65535 bytes must hold the payload, the headers, the time stamp and 36 bytes of SACK blocks (4
        // + 8 * 4)
        let Self { mss, header_bytes: header, timestamp_bytes: stamp, syn_option_bytes: syn, .. } = *self;
        require("mss", mss, (1..=65_000).contains(&mss), "1 to 65000 bytes")?;
        for (key, v) in [("header_bytes", header), ("timestamp_bytes", stamp), ("syn_option_bytes", syn)] {
            require(key, v, v <= 200, "at most 200 bytes")?;
        }
        if u32::from(header) + u32::from(stamp) + 36 + mss > 65_535 {
            return no("mss", format!("{} plus headers is more than an IP packet's 65535 bytes", self.mss));
        }
        Ok(())
    }
}

impl WireParams {
    /// Returns the size of a packet on the wire, in bytes: headers, options and payload. If the packet holds several
    /// segments, the headers and options of every segment are included.
    #[inline]
    pub fn packet_size(&self, segment: &Segment) -> u16 {
        if segment.gso_size == 0 { self.segment_size(segment) } else { self.size_of_several(*segment) }
    }

    /// Returns the size of a packet that holds several segments.
    #[inline(never)]
    fn size_of_several(&self, segment: Segment) -> u16 {
        let header = self.segment_size(&Segment { len: 0, ..segment });
        (u32::from(header) * segment.segments() + segment.len).min(u16::MAX.into()) as u16
    }

    /// Returns the size on the wire of a one-segment packet, in bytes.
    #[inline]
    pub fn segment_size(&self, segment: &Segment) -> u16 {
        let options = if segment.flags.has(Flags::SYN) {
            self.syn_option_bytes
        } else {
            let sack =
                if self.sack_on_wire && !segment.sack.is_empty() { 4 + 8 * segment.sack.len() as u16 } else { 0 };
            self.stamp_bytes() + sack
        };
        self.header_bytes + options + segment.accecn().wire_bytes() + segment.len as u16
    }

    #[inline]
    pub(crate) fn stamp_bytes(&self) -> u16 {
        if self.timestamps { self.timestamp_bytes } else { 0 }
    }
}
