//! Builds packets with real headers, for captures of a simulation and for tests of the live bench.
//!
//! ```text
//! IPv4 (20 bytes) or IPv6 (40) | TCP (20 + options), UDP (8) or ICMP echo (8) | payload of zeros (`datagram`: given bytes)
//! ```
//!
//! Lengths and checksums are valid. IPv4 headers have "don't fragment" set and an identification of 0 (RFC 6864 §4.1).
//!
//! Source: RFC 791, RFC 8200 §3, RFC 9293 §3.1, RFC 768, RFC 792, RFC 1071 (checksum).

use crate::checksum::{folded, octets6, pseudo, sum};
use std::net::IpAddr;

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;

/// Fields of the IP header. Both addresses must be of the same family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Address of the sender.
    pub src: IpAddr,
    /// Address of the receiver.
    pub dst: IpAddr,
    /// DSCP and ECN.
    pub tos: u8,
}

/// A TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tcp<'a> {
    /// The sender's and the receiver's ports.
    pub ports: (u16, u16),
    /// Sequence number.
    pub seq: u32,
    /// ACK number.
    pub ack: u32,
    /// Flags. The lower 8 bits are the 14th byte of the header; bit 0x100 is AE, the last bit of the 13th byte.
    pub bits: u16,
    /// Window, as written on the wire (not scaled).
    pub window: u16,
    /// Options, at most 40 bytes; padded with zeros to whole words.
    pub options: &'a [u8],
}

/// Replaces the content of `out` with a TCP segment with `payload` bytes of zeros.
pub fn tcp(out: &mut Vec<u8>, to: Ip, tcp: &Tcp<'_>, payload: usize) {
    let header = 20 + tcp.options.len().next_multiple_of(4);
    let at = ip(out, to, TCP, header + payload);
    let t = &mut out[at..];
    t[0..2].copy_from_slice(&tcp.ports.0.to_be_bytes());
    t[2..4].copy_from_slice(&tcp.ports.1.to_be_bytes());
    t[4..8].copy_from_slice(&tcp.seq.to_be_bytes());
    t[8..12].copy_from_slice(&tcp.ack.to_be_bytes());
    t[12] = (header as u8 / 4) << 4 | (tcp.bits >> 8) as u8 & 1;
    t[13] = tcp.bits as u8;
    t[14..16].copy_from_slice(&tcp.window.to_be_bytes());
    t[20..20 + tcp.options.len()].copy_from_slice(tcp.options);
    let sum = pseudo(to.src, to.dst, TCP, header + payload) + sum(&t[..header]);
    t[16..18].copy_from_slice(&folded(sum).to_be_bytes());
}

/// Replaces the content of `out` with a UDP datagram with `payload` bytes of zeros.
pub fn udp(out: &mut Vec<u8>, to: Ip, ports: (u16, u16), payload: usize) {
    let at = ip(out, to, UDP, 8 + payload);
    write_udp(&mut out[at..], to, ports);
}

/// Replaces the content of `out` with a UDP datagram with this payload.
pub fn datagram(out: &mut Vec<u8>, to: Ip, ports: (u16, u16), payload: &[u8]) {
    let at = ip(out, to, UDP, 8 + payload.len());
    out[at + 8..].copy_from_slice(payload);
    write_udp(&mut out[at..], to, ports);
}

/// Writes the UDP header at the start of `t`. The rest of `t` is the payload.
fn write_udp(t: &mut [u8], to: Ip, ports: (u16, u16)) {
    t[0..2].copy_from_slice(&ports.0.to_be_bytes());
    t[2..4].copy_from_slice(&ports.1.to_be_bytes());
    let length = t.len();
    t[4..6].copy_from_slice(&(length as u16).to_be_bytes());
    // a checksum of 0 would mean "no checksum", so the equivalent 0xffff is sent
    let sum = match folded(pseudo(to.src, to.dst, UDP, length) + sum(t)) {
        0 => 0xffff,
        sum => sum,
    };
    t[6..8].copy_from_slice(&sum.to_be_bytes());
}

/// Replaces the content of `out` with an ICMP echo request or reply over IPv4 with `payload` bytes of zeros.
pub fn echo(out: &mut Vec<u8>, to: Ip, reply: bool, id: u16, seq: u16, payload: usize) {
    let at = ip(out, to, ICMP, 8 + payload);
    let t = &mut out[at..];
    t[0] = if reply { 0 } else { 8 };
    t[4..6].copy_from_slice(&id.to_be_bytes());
    t[6..8].copy_from_slice(&seq.to_be_bytes());
    let sum = folded(sum(&t[..8]));
    t[2..4].copy_from_slice(&sum.to_be_bytes());
}

/// Writes an IP header followed by `length` bytes of zeros; returns the offset of the zeros.
fn ip(out: &mut Vec<u8>, to: Ip, protocol: u8, length: usize) -> usize {
    out.clear();
    let at = match (to.src, to.dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            out.resize(20 + length, 0);
            (out[0], out[1]) = (0x45, to.tos);
            out[2..4].copy_from_slice(&((20 + length) as u16).to_be_bytes());
            (out[6], out[8], out[9]) = (0x40, 64, protocol);
            out[12..16].copy_from_slice(&src.octets());
            out[16..20].copy_from_slice(&dst.octets());
            seal(out);
            20
        }
        (src, dst) => {
            out.resize(40 + length, 0);
            (out[0], out[1]) = (0x60 | to.tos >> 4, to.tos << 4);
            out[4..6].copy_from_slice(&(length as u16).to_be_bytes());
            (out[6], out[7]) = (protocol, 64);
            out[8..24].copy_from_slice(&octets6(src));
            out[24..40].copy_from_slice(&octets6(dst));
            40
        }
    };
    debug_assert!(out.len() <= 65_535, "an IP packet's length has 16 bits");
    at
}

/// Writes the checksum of an IPv4 header without options.
pub(crate) fn seal(packet: &mut [u8]) {
    (packet[10], packet[11]) = (0, 0);
    let sum = folded(sum(&packet[..20]));
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, Protocol, header};
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn both() -> [Ip; 2] {
        let v4 = |n| IpAddr::V4(Ipv4Addr::new(10, 0, 0, n));
        let v6 = |n| IpAddr::V6(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, n));
        [Ip { src: v4(1), dst: v4(2), tos: 0xb9 }, Ip { src: v6(1), dst: v6(2), tos: 0xb9 }]
    }

    /// Checks a packet as a receiver does: the bits of the one's complement sum over all bytes after the IP header must
    /// all be ones. If `pseudo_header` is true, the sum includes the pseudo-header.
    fn checks(packet: &[u8], pseudo_header: bool) -> bool {
        let (at, addresses, protocol) =
            if packet[0] >> 4 == 4 { (20, &packet[12..20], packet[9]) } else { (40, &packet[8..40], packet[6]) };
        let mut words: Vec<u8> = packet[at..].to_vec();
        if words.len() % 2 == 1 {
            words.push(0);
        }
        if pseudo_header {
            words.extend(addresses);
            words.extend([0, protocol]);
            words.extend(((packet.len() - at) as u16).to_be_bytes());
        }
        let total: u64 = words.chunks(2).map(|w| u64::from(w[0]) * 256 + u64::from(w[1])).sum();
        total.is_multiple_of(0xffff) && total > 0
    }

    #[test]
    fn headers_have_the_given_fields_and_valid_checksums() {
        for to in both() {
            let mut p = Vec::new();
            let options = [1, 1, 5, 10, 0, 0, 0, 9, 0, 0, 0, 12, 0];
            tcp(&mut p, to, &Tcp { ports: (9, 80), seq: 7, ack: 8, bits: 0x52, window: 500, options: &options }, 333);
            let h = header::parse(&p).unwrap();
            assert_eq!((h.src, h.dst, h.tos, h.protocol), (to.src, to.dst, 0xb9, Protocol::TCP));
            assert_eq!((h.sport, h.dport, h.seq, h.payload), (9, 80, 7, 333));
            assert!(h.flags.has(Flags::SYN.with(Flags::ECE).with(Flags::SACK)) && checks(&p, true));
            udp(&mut p, to, (9, 53), 11);
            let h = header::parse(&p).unwrap();
            assert_eq!((h.sport, h.dport, h.payload, h.protocol), (9, 53, 11, Protocol::UDP));
            assert!(checks(&p, true));
            datagram(&mut p, to, (9, 53), b"eleven bytes"[..11].as_ref());
            let h = header::parse(&p).unwrap();
            assert_eq!((h.payload, p.ends_with(b"eleven byte")), (11, true));
            assert!(checks(&p, true));
        }
    }

    #[test]
    fn a_ping_and_its_answer() {
        let mut p = Vec::new();
        for (reply, kind) in [(false, 8), (true, 0)] {
            echo(&mut p, both()[0], reply, 77, 3, 56);
            let h = header::parse(&p).unwrap();
            assert_eq!((p[20], p.len(), h.sport, h.seq, h.protocol), (kind, 84, 77, 3, Protocol::ICMP));
            assert!(checks(&p, false));
        }
        // b861 is the checksum in an often-quoted example: 4500 0073 0000 4000 4011 b861 c0a8 0001 c0a8 00c7
        let to = |a, b| Ip { src: IpAddr::V4(a), dst: IpAddr::V4(b), tos: 0 };
        udp(&mut p, to(Ipv4Addr::new(192, 168, 0, 1), Ipv4Addr::new(192, 168, 0, 199)), (1, 2), 0x73 - 28);
        assert_eq!(p[10..12], [0xb8, 0x61]);
    }
}
