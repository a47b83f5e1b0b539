//! The work that a network card does for the kernel: computing checksums, splitting packets into segments, and joining segments.
//!
//! With IFF_VNET_HDR, every packet of a TUN device begins with a `virtio_net_hdr`. With TUNSETOFFLOAD, the kernel
//! delivers TCP data in packets of up to 64 KB (TSO), which need one system call instead of one per segment. It leaves
//! the checksums of these packets incomplete. The bench splits such a packet when it arrives, so its queues hold the
//! segments that a card would send. Packets that leave the bench together are joined again (GRO), by the rules that the
//! kernel applies to packets from a card.
//!
//! Source: Virtual I/O Device (VIRTIO) 1.2 §5.1.6 (the header); Linux Documentation/networking/segmentation-offloads.rst;
//! RFC 9293 §3.1, RFC 3168 §6.1.2 (CWR is set on one segment). Departs: IPv4 identifications are not compared, because
//! senders of TCP set "don't fragment" (RFC 6864 §4.1).

use crate::tun::MTU;
use packet::checksum::{folded, pseudo, sum};
use std::net::IpAddr;

/// Length of the header in front of each packet, in bytes.
pub(crate) const VNET: usize = 10;

/// Maximum length of a packet with several segments, in bytes.
pub(crate) const LARGEST: usize = 65_535;

/// Maximum number of segments joined into one packet.
const MOST: u16 = 64;

const NEEDS_CSUM: u8 = 1;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
/// Flag in `gso_type`: when the packet is split, only the first segment keeps the TCP flag CWR.
const GSO_ECN: u8 = 0x80;

const TCP: u8 = 6;
const UDP_CHECKSUM: usize = 6;
const TCP_CHECKSUM: usize = 16;

const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// The header that precedes each packet. Its fields are in native byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct VnetHeader {
    flags: u8,
    gso_type: u8,
    /// Size of the IP and TCP headers in bytes. The field is only a hint for the reader.
    hdr_len: u16,
    /// Payload bytes of a segment.
    gso_size: u16,
    /// Start of the bytes that the incomplete checksum covers.
    csum_start: u16,
    /// Offset of the checksum from `csum_start`.
    csum_offset: u16,
}

impl VnetHeader {
    fn read(bytes: &[u8]) -> Self {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Self {
            flags: bytes[0],
            gso_type: bytes[1],
            hdr_len: word(2),
            gso_size: word(4),
            csum_start: word(6),
            csum_offset: word(8),
        }
    }

    fn write(self, bytes: &mut [u8]) {
        (bytes[0], bytes[1]) = (self.flags, self.gso_type);
        let words = [self.hdr_len, self.gso_size, self.csum_start, self.csum_offset];
        for (place, word) in bytes[2..VNET].chunks_exact_mut(2).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
    }
}

/// The positions of the TCP header and of the payload in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    v6: bool,
    /// Start of the TCP header.
    tcp: usize,
    /// Start of the payload.
    payload: usize,
}

impl Layout {
    /// Returns the layout of a TCP packet; `None` for another protocol, a fragment, or an IP header with options or
    /// extensions.
    fn of(packet: &[u8]) -> Option<Self> {
        let (tcp, protocol) = match packet.first()? {
            0x45 if packet.len() >= 40 && u16_at(packet, 6) & 0x3fff == 0 => (20, packet[9]),
            first if first >> 4 == 6 && packet.len() >= 60 => (40, packet[6]),
            _ => return None,
        };
        if protocol == TCP { Self::at(packet, tcp) } else { None }
    }

    /// Returns the layout of a packet whose TCP header starts at `tcp`; `None` if there is no complete TCP header.
    fn at(packet: &[u8], tcp: usize) -> Option<Self> {
        let payload = tcp + usize::from(packet.get(tcp + 12)? >> 4) * 4;
        let long = payload >= tcp + 20 && payload <= packet.len();
        (long && tcp >= 20).then_some(Self { v6: packet[0] >> 4 == 6, tcp, payload })
    }

    /// Returns the sum of the pseudo-header of a TCP packet, for the checksum. An IPv6 packet must have no extension
    /// headers.
    fn pseudo(self, packet: &[u8]) -> u32 {
        let length = packet.len() - self.tcp;
        if self.v6 {
            let address =
                |at: usize| packet[at..at + 16].try_into().map_or(IpAddr::from([0; 16]), |a: [u8; 16]| a.into());
            pseudo(address(8), address(24), TCP, length)
        } else {
            let address = |at: usize| IpAddr::from([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]]);
            pseudo(address(12), address(16), TCP, length)
        }
    }

    /// Writes the packet's length into its IP header, and updates the header checksum of IPv4.
    fn set_length(self, packet: &mut [u8]) {
        if self.v6 {
            put_u16(packet, 4, (packet.len() - 40) as u16);
        } else {
            put_u16(packet, 2, packet.len() as u16);
            put_u16(packet, 10, 0);
            let checksum = folded(sum(&packet[..self.tcp]));
            put_u16(packet, 10, checksum);
        }
    }

    /// Returns true if the TCP checksum is valid.
    fn is_valid(self, packet: &[u8]) -> bool {
        folded(self.pseudo(packet) + sum(&packet[self.tcp..])) == 0
    }
}

/// The packets into which one packet from the kernel is split.
#[derive(Debug)]
pub(crate) struct Segments<'a> {
    vnet: VnetHeader,
    packet: &'a [u8],
    /// The layout of a packet with several segments.
    layout: Option<Layout>,
    /// Start of the payload not yet returned.
    next: usize,
}

impl<'a> Segments<'a> {
    /// Reads the bytes that the kernel wrote: a header and a packet.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let (header, packet) = bytes.split_at(VNET.min(bytes.len()));
        let vnet = if header.len() == VNET { VnetHeader::read(header) } else { VnetHeader::default() };
        let several = matches!(vnet.gso_type & !GSO_ECN, GSO_TCPV4 | GSO_TCPV6) && vnet.gso_size > 0;
        let layout = if several { Layout::at(packet, vnet.csum_start.into()) } else { None };
        Self { vnet, packet, layout, next: layout.map_or(0, |l| l.payload) }
    }

    /// Writes the next packet, with a valid checksum, to `out`; returns its length. A packet longer than `out` is cut,
    /// or replaced by zeros if it is a segment; the bench discards it.
    pub(crate) fn next(&mut self, out: &mut [u8; MTU + 1]) -> Option<usize> {
        if self.next >= self.packet.len() {
            return None;
        }
        match self.layout {
            Some(layout) => Some(self.segment(layout, out)),
            None => Some(self.whole(out)),
        }
    }

    fn whole(&mut self, out: &mut [u8; MTU + 1]) -> usize {
        self.next = self.packet.len();
        let length = self.packet.len().min(out.len());
        let out = &mut out[..length];
        out.copy_from_slice(&self.packet[..length]);
        let (start, offset) = (usize::from(self.vnet.csum_start), usize::from(self.vnet.csum_offset));
        if self.vnet.flags & NEEDS_CSUM != 0 && start + offset + 2 <= length {
            // the checksum field holds the sum of the pseudo-header, so the sum from `start` on covers the
            // pseudo-header too
            let checksum = match folded(sum(&out[start..])) {
                // in UDP, the value 0 means that there is no checksum
                0 if offset == UDP_CHECKSUM => 0xffff,
                checksum => checksum,
            };
            put_u16(out, start + offset, checksum);
        }
        length
    }

    fn segment(&mut self, layout: Layout, out: &mut [u8; MTU + 1]) -> usize {
        let Layout { v6, tcp, payload } = layout;
        let size = usize::from(self.vnet.gso_size).min(self.packet.len() - self.next);
        let (sent, end) = (self.next - payload, self.next + size);
        self.next = end;
        if payload + size > out.len() {
            // the segment is longer than the MTU. `MTU` + 1 zeros are returned in its place, and the bench discards
            // them
            out.fill(0);
            return out.len();
        }
        let out = &mut out[..payload + size];
        out[..payload].copy_from_slice(&self.packet[..payload]);
        out[payload..].copy_from_slice(&self.packet[end - size..end]);
        if !v6 {
            let number = sent / usize::from(self.vnet.gso_size);
            put_u16(out, 4, u16_at(self.packet, 4).wrapping_add(number as u16));
        }
        layout.set_length(out);
        let seq = u32_at(self.packet, tcp + 4).wrapping_add(sent as u32);
        out[tcp + 4..tcp + 8].copy_from_slice(&seq.to_be_bytes());
        if sent > 0 && self.vnet.gso_type & GSO_ECN != 0 {
            out[tcp + 13] &= !CWR;
        }
        if end < self.packet.len() {
            out[tcp + 13] &= !(FIN | PSH);
        }
        // the checksum field holds the sum of the whole packet's pseudo-header, which includes the length of the TCP
        // part. Adding the one's complement of this length subtracts the length from the sum
        let whole = !((self.packet.len() - tcp) as u16);
        let pseudo = u32::from(u16_at(out, tcp + TCP_CHECKSUM)) + u32::from(whole) + (out.len() - tcp) as u32;
        put_u16(out, tcp + TCP_CHECKSUM, 0);
        let checksum = folded(pseudo + sum(&out[tcp..]));
        put_u16(out, tcp + TCP_CHECKSUM, checksum);
        out.len()
    }
}

/// Consecutive segments of one connection, joined into one packet.
#[derive(Debug)]
pub(crate) struct Joined {
    /// The [`VnetHeader`] that precedes the packet, then the packet if there is one.
    bytes: Vec<u8>,
    /// The layout of the packet, if other segments may still be joined to it.
    open: Option<Layout>,
    /// Payload bytes of the first segment.
    size: usize,
    segments: u16,
}

impl Default for Joined {
    fn default() -> Self {
        Self { bytes: vec![0; VNET], open: None, size: 0, segments: 0 }
    }
}

impl Joined {
    /// Adds a packet. Returns false if it cannot be joined to the packets added so far: [`Self::finish`] and
    /// [`Self::clear`] must then be called first.
    pub(crate) fn add(&mut self, packet: &[u8]) -> bool {
        if self.segments == 0 {
            self.bytes.extend_from_slice(packet);
            self.open = Layout::of(packet).filter(|l| may_begin(packet, *l));
            self.size = self.open.map_or(0, |l| packet.len() - l.payload);
            self.segments = 1;
            return true;
        }
        let Some(layout) = self.open.filter(|l| self.continues(packet, *l)) else { return false };
        let payload = &packet[layout.payload..];
        self.bytes.extend_from_slice(payload);
        self.segments += 1;
        let pushed = packet[layout.tcp + 13] & PSH;
        self.bytes[VNET + layout.tcp + 13] |= pushed;
        if pushed != 0 || payload.len() < self.size || self.segments == MOST {
            self.open = None;
        }
        true
    }

    /// Returns true if `packet` can be joined to the packets so far: it is the connection's next segment, is not longer
    /// than the first segment, fits into [`LARGEST`] bytes with the others, has a valid checksum, and has headers that
    /// differ only in the IP length, IPv4 identification, checksums, sequence number and PSH.
    fn continues(&self, packet: &[u8], layout: Layout) -> bool {
        let Layout { v6, tcp, payload } = layout;
        let sent = &self.bytes[VNET..];
        if Layout::of(packet) != Some(layout) || sent.len() + packet.len() - payload > LARGEST {
            return false;
        }
        let size = packet.len() - payload;
        let next = u32_at(sent, tcp + 4).wrapping_add((sent.len() - payload) as u32);
        let same = |from: usize, to: usize| sent[from..to] == packet[from..to];
        // these fields are not compared: length, identification and checksum of IPv4, length of IPv6
        let same_ip = if v6 { same(0, 4) && same(6, 40) } else { same(0, 2) && same(6, 10) && same(12, 20) };
        let same_tcp =
            same(tcp, tcp + 4) && same(tcp + 8, tcp + 13) && same(tcp + 14, tcp + 16) && same(tcp + 18, payload);
        let flags = packet[tcp + 13];
        let same_flags = (flags ^ sent[tcp + 13]) & !PSH == 0;
        // the checksum of the first segment is verified only now, because most packets leave without being joined
        let valid = || layout.is_valid(packet) && (self.segments > 1 || layout.is_valid(sent));
        (1..=self.size).contains(&size)
            && u32_at(packet, tcp + 4) == next
            && same_ip
            && same_tcp
            && same_flags
            && valid()
    }

    /// Returns the bytes for the kernel; `None` if no packet was added. Call [`Self::clear`] afterwards.
    pub(crate) fn finish(&mut self) -> Option<&[u8]> {
        if self.segments == 0 {
            return None;
        }
        let mut vnet = VnetHeader::default();
        if self.segments > 1
            && let Some(layout) = Layout::of(&self.bytes[VNET..])
        {
            let packet = &mut self.bytes[VNET..];
            layout.set_length(packet);
            // the checksum field holds only the sum of the pseudo-header. The kernel either completes this checksum or
            // does not verify it
            let partial = !folded(layout.pseudo(packet));
            put_u16(packet, layout.tcp + TCP_CHECKSUM, partial);
            vnet = VnetHeader {
                flags: NEEDS_CSUM,
                gso_type: if layout.v6 { GSO_TCPV6 } else { GSO_TCPV4 },
                hdr_len: layout.payload as u16,
                gso_size: self.size as u16,
                csum_start: layout.tcp as u16,
                csum_offset: TCP_CHECKSUM as u16,
            };
        }
        vnet.write(&mut self.bytes[..VNET]);
        Some(&self.bytes)
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.truncate(VNET);
        (self.open, self.segments) = (None, 0);
    }
}

/// Returns true if other segments may be joined to `packet`: it carries data, and has the flag ACK and no other flag
/// except ECE.
fn may_begin(packet: &[u8], layout: Layout) -> bool {
    packet.len() > layout.payload && packet[layout.tcp + 13] & !ECE == ACK
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::craft;
    use packet::craft::Tcp;
    use proptest::prelude::*;

    const BITS: u16 = 0x10;

    fn segment(v6: bool, seq: u32, bits: u16, payload: usize) -> Vec<u8> {
        let header =
            Tcp { ports: (5, 80), seq, ack: 9, bits, window: 77, options: &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2] };
        craft::tcp(v6, 1, 2, &header, payload)
    }

    /// Returns a packet of several segments as the kernel delivers it: the checksum field holds the sum of the pseudo-header.
    fn from_kernel(packet: &[u8], size: u16, ecn: bool) -> Vec<u8> {
        let layout = Layout::of(packet).unwrap();
        let mut bytes = vec![0; VNET];
        let gso_type = if layout.v6 { GSO_TCPV6 } else { GSO_TCPV4 } | if ecn { GSO_ECN } else { 0 };
        let (start, offset) = (layout.tcp as u16, TCP_CHECKSUM as u16);
        let vnet = VnetHeader {
            flags: NEEDS_CSUM,
            gso_type,
            hdr_len: 0,
            gso_size: size,
            csum_start: start,
            csum_offset: offset,
        };
        vnet.write(&mut bytes);
        bytes.extend_from_slice(packet);
        let partial = !folded(layout.pseudo(packet));
        put_u16(&mut bytes, VNET + layout.tcp + TCP_CHECKSUM, partial);
        bytes
    }

    fn all(bytes: &[u8]) -> Vec<Vec<u8>> {
        let (mut out, mut segments) = ([0; MTU + 1], Segments::new(bytes));
        std::iter::from_fn(|| segments.next(&mut out).map(|n| out[..n].to_vec())).collect()
    }

    /// Sets the identification of an IPv4 packet, which was 0, and updates the header checksum by RFC 1624: HC' = ~(~HC
    /// + m') for m = 0.
    fn identified(mut packet: Vec<u8>, id: u16) -> Vec<u8> {
        if packet[0] == 0x45 {
            let checksum = folded(u32::from(!u16_at(&packet, 10)) + u32::from(id));
            put_u16(&mut packet, 4, id);
            put_u16(&mut packet, 10, checksum);
        }
        packet
    }

    proptest! {
        /// A large packet is split into the segments that `craft` builds one by one. Joining these segments gives the packet again.
        #[test]
        fn split_and_joined(
            v6 in any::<bool>(), seq in any::<u32>(), size in 1u16..1400, segments in 2usize..40, last in 1u16..1400,
        ) {
            let (size, last) = (usize::from(size), usize::from(last.min(size)));
            let payload = size * (segments - 1) + last;
            let large = segment(v6, seq, BITS | u16::from(PSH), payload);
            let parts = all(&from_kernel(&large, size as u16, false));
            prop_assert_eq!(parts.len(), segments);
            let mut joined = Joined::default();
            for (i, part) in parts.iter().enumerate() {
                let is_last = i + 1 == segments;
                let (bits, length) = if is_last { (BITS | u16::from(PSH), last) } else { (BITS, size) };
                let expected = segment(v6, seq.wrapping_add((i * size) as u32), bits, length);
                prop_assert_eq!(part, &identified(expected, i as u16));
                prop_assert!(joined.add(part), "segment {} of {}", i, segments);
            }
            prop_assert_eq!(joined.finish().unwrap()[VNET..].to_vec(), from_kernel(&large, 1, false)[VNET..].to_vec());
            // a segment with PSH ends the joined packet, so the next segment cannot be added
            prop_assert!(!joined.add(&segment(v6, seq.wrapping_add(payload as u32), BITS, size)));
        }

        #[test]
        fn no_bytes_make_it_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..3000), first in 0usize..4) {
            for (i, value) in [[1, 1], [1, 4], [0, 0x81]].get(first).into_iter().flatten().enumerate() {
                if let Some(b) = bytes.get_mut(i) {
                    *b = *value;
                }
            }
            let mut joined = Joined::default();
            for part in all(&bytes) {
                if !joined.add(&part) {
                    prop_assert!(joined.finish().is_some());
                    joined.clear();
                    prop_assert!(joined.add(&part));
                }
            }
        }
    }

    #[test]
    fn flags_go_where_they_belong() {
        let flags = BITS | u16::from(CWR | FIN | PSH);
        for (ecn, second) in [(true, ACK), (false, ACK | CWR)] {
            let parts = all(&from_kernel(&segment(true, 1, flags, 300), 100, ecn));
            let of: Vec<u8> = parts.iter().map(|p| p[53]).collect();
            assert_eq!(of, [ACK | CWR, second, second | FIN | PSH]);
        }
    }

    #[test]
    fn a_packet_alone_stays_as_it_is() {
        let packet = segment(false, 1, BITS, 100);
        let mut bytes = vec![0; VNET];
        bytes.extend_from_slice(&packet);
        assert_eq!(all(&bytes), std::slice::from_ref(&packet));
        let mut joined = Joined::default();
        assert!(joined.finish().is_none() && joined.add(&packet));
        assert_eq!(joined.finish().unwrap(), bytes);
    }

    #[test]
    fn an_incomplete_checksum_is_completed() {
        // the kernel delivers a UDP packet whose checksum field holds only the sum of the IPv6 pseudo-header
        let packet = craft::udp(true, 1, 2, (5, 6), 200, 0);
        let mut bytes = vec![0; VNET];
        let (csum_start, csum_offset) = (40, UDP_CHECKSUM as u16);
        VnetHeader { flags: NEEDS_CSUM, csum_start, csum_offset, ..VnetHeader::default() }.write(&mut bytes);
        bytes.extend_from_slice(&packet);
        let partial = !folded(pseudo(crate::tun::v6(1).into(), crate::tun::v6(2).into(), 17, 160));
        put_u16(&mut bytes, VNET + 40 + UDP_CHECKSUM, partial);
        assert_eq!(all(&bytes), [packet]);
    }

    /// Each call of `change` builds two consecutive segments and alters the second. `what` names the difference that
    /// prevents the segments from being joined; if `what` is empty, the segments must be joined.
    #[test]
    fn what_differs_is_not_joined() {
        let change = |what: &str, at: usize, xor: u8, tcp_too: bool| {
            let mut second = segment(true, 101, BITS, 100);
            second[at] ^= xor;
            if tcp_too {
                let layout = Layout::of(&second).unwrap();
                put_u16(&mut second, layout.tcp + TCP_CHECKSUM, 0);
                let checksum = folded(layout.pseudo(&second) + sum(&second[40..]));
                put_u16(&mut second, layout.tcp + TCP_CHECKSUM, checksum);
            }
            let mut joined = Joined::default();
            assert!(joined.add(&segment(true, 1, BITS, 100)));
            assert!(joined.add(&second) == what.is_empty(), "{what}");
        };
        change("", 150, 0, false);
        change("", 150, 1, true);
        change("a wrong checksum", 150, 1, false);
        change("a CE mark", 1, 0x30, false);
        change("another address", 39, 1, true);
        change("another port", 41, 1, true);
        change("another sequence number", 47, 1, true);
        change("another ACK number", 51, 1, true);
        change("FIN", 53, FIN, true);
        change("ECE", 53, ECE, true);
        change("another window", 55, 1, true);
        change("another time stamp", 67, 1, true);
    }
}
