//! Parses real packets, and writes their type of service. The live bench (the crate `live`) sends packets of real
//! programs through simulated queues. The queues change only the type of service, to mark CE or to clear the DSCP.
//!
//! Only the first fragment of a packet has a transport header. So that all fragments of a packet have the same 5-tuple,
//! no transport header of a fragment is read, as in Linux's flow dissector.
//!
//! Source: RFC 791, RFC 8200 §4 (extension headers), RFC 9293 §3.1, RFC 768, RFC 792, RFC 3168 §5, RFC 1624 (checksum).
//! Departs: the hop limit is not decremented, and no ICMP errors are sent: the live bench is a cable with queues, not a router.
//! Unlike Linux's flow dissector, the parser does not read the IPv6 flow label, the SPI of ESP and AH, or packets in tunnels.

use crate::checksum::folded;
use crate::{Flags, Protocol};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The 5-tuple of a packet, and the other fields that disciplines and measures read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Address of the sender.
    pub src: IpAddr,
    /// Address of the receiver.
    pub dst: IpAddr,
    /// The sender's port (TCP, UDP, UDP-Lite, DCCP, SCTP), or the identifier of an ICMP echo; otherwise, and in
    /// fragments, 0.
    pub sport: u16,
    /// The receiver's port, for the protocols of `sport`; for an ICMP echo, equal to `sport`.
    pub dport: u16,
    /// Transport protocol.
    pub protocol: Protocol,
    /// DSCP and ECN.
    pub tos: u8,
    /// Flags of a TCP segment; empty for other protocols and in fragments.
    pub flags: Flags,
    /// The cumulative ACK number of a pure ACK; otherwise the sequence number of TCP or of an ICMP echo. For other
    /// packets, and in fragments, 0.
    pub seq: u32,
    /// Bytes after the header of TCP, UDP, UDP-Lite or ICMP; for other protocols and in fragments, bytes after the IP
    /// header and its extension headers.
    pub payload: usize,
}

/// Maximum number of IPv6 extension headers skipped.
const MAX_EXTENSIONS: usize = 8;

const ICMPV6: Protocol = Protocol(58);

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
}

/// Parses a packet that starts with its IP header. Returns `None` if it is not an IP packet, if its IP headers are
/// incomplete, or if its length differs from the length in its header.
pub fn parse(packet: &[u8]) -> Option<Header> {
    match packet.first()? >> 4 {
        4 => parse_v4(packet),
        6 => parse_v6(packet),
        _ => None,
    }
}

fn parse_v4(p: &[u8]) -> Option<Header> {
    let header = usize::from(p[0] & 15) * 4;
    if header < 20 || p.len() < header || usize::from(u16_at(p, 2)) != p.len() {
        return None;
    }
    let address = |at: usize| IpAddr::V4(Ipv4Addr::new(p[at], p[at + 1], p[at + 2], p[at + 3]));
    // a fragment has an offset, or more fragments follow it
    let fragment = u16_at(p, 6) & 0x3fff != 0;
    Some(transport_of(p[9], fragment, &p[header..], address(12), address(16), p[1]))
}

fn parse_v6(p: &[u8]) -> Option<Header> {
    if p.len() < 40 || usize::from(u16_at(p, 4)) + 40 != p.len() {
        return None;
    }
    let address = |at: usize| -> Option<IpAddr> {
        let octets: [u8; 16] = p[at..at + 16].try_into().ok()?;
        Some(IpAddr::V6(Ipv6Addr::from(octets)))
    };
    let (mut next, mut at) = (p[6], 40);
    let mut fragment = false;
    for _ in 0..MAX_EXTENSIONS {
        let length = match next {
            // hop-by-hop options, routing header, destination options
            0 | 43 | 60 => 8 + 8 * usize::from(*p.get(at + 1)?),
            44 => {
                fragment = u16_at(p, at + 2) & 0xfff9 != 0;
                8
            }
            _ => break,
        };
        next = *p.get(at)?;
        at += length;
        // the rest is a piece of the fragmented packet, in which no headers are read
        if fragment {
            break;
        }
    }
    Some(transport_of(next, fragment, p.get(at..)?, address(8)?, address(24)?, p[0] << 4 | p[1] >> 4))
}

/// Returns the header of a packet. `t` holds the bytes after the IP headers. If `fragment` is false, they begin with the
/// transport header.
fn transport_of(protocol: u8, fragment: bool, t: &[u8], src: IpAddr, dst: IpAddr, tos: u8) -> Header {
    let protocol = if protocol == ICMPV6.0 { Protocol::ICMP } else { Protocol(protocol) };
    let mut h =
        Header { src, dst, sport: 0, dport: 0, protocol, tos, flags: Flags::default(), seq: 0, payload: t.len() };
    match protocol {
        _ if fragment => {}
        Protocol::TCP if t.len() >= 20 => tcp(&mut h, t),
        Protocol::UDP | Protocol::UDP_LITE => {
            (h.sport, h.dport) = (u16_at(t, 0), u16_at(t, 2));
            h.payload = t.len().saturating_sub(8);
        }
        Protocol::DCCP | Protocol::SCTP => (h.sport, h.dport) = (u16_at(t, 0), u16_at(t, 2)),
        Protocol::ICMP => {
            // an echo message has type 0 (reply) or 8 (request) in ICMP, and type 128 (request) or 129 (reply) in
            // ICMPv6
            if matches!(t.first(), Some(0 | 8 | 128 | 129)) {
                (h.sport, h.dport, h.seq) = (u16_at(t, 4), u16_at(t, 4), u32::from(u16_at(t, 6)));
            }
            h.payload = t.len().saturating_sub(8);
        }
        _ => {}
    }
    h
}

fn tcp(h: &mut Header, t: &[u8]) {
    (h.sport, h.dport) = (u16_at(t, 0), u16_at(t, 2));
    let header = (usize::from(t[12] >> 4) * 4).clamp(20, t.len());
    h.payload = t.len() - header;
    let bits = t[13];
    for (bit, flag) in [(0x02, Flags::SYN), (0x01, Flags::FIN), (0x40, Flags::ECE), (0x80, Flags::CWR)] {
        if bits & bit != 0 {
            h.flags = h.flags.with(flag);
        }
    }
    if t[12] & 1 != 0 {
        h.flags = h.flags.with(Flags::AE);
    }
    h.flags = h.flags.with(option_flags(&t[20..header], u32_at(t, 8)));
    // a pure ACK has ACK set (0x10), no payload, and neither FIN, SYN nor RST (0x07)
    let pure = h.payload == 0 && bits & 0x07 == 0 && bits & 0x10 != 0;
    h.seq = if pure { u32_at(t, 8) } else { u32_at(t, 4) };
    if pure {
        h.flags = h.flags.with(Flags::PURE_ACK);
    }
}

/// Returns flags derived from TCP options: SACK blocks (kind 5) and AccECN counters (kinds 172 and 174). Bound: each
/// iteration advances by at least one byte.
fn option_flags(options: &[u8], ack: u32) -> Flags {
    let (mut at, mut flags) = (0, Flags::default());
    while at < options.len() {
        match options[at] {
            0 => return flags,
            1 => {
                at += 1;
                continue;
            }
            5 => flags = flags.with(Flags::SACK).with(sack_whole(&options[at..], ack)),
            172 | 174 => flags = flags.with(Flags::ACCECN_OPTION),
            _ => {}
        }
        at += usize::from(options.get(at + 1).copied().unwrap_or(2).max(2));
    }
    flags
}

/// Returns [`Flags::SACK_WHOLE`] if the blocks certainly cover all data that the receiver holds out of order. The
/// option must have one or two blocks, because an option with three blocks may have had no room for a fourth. And the
/// first block must not report a duplicate: such a block lies below the ACK or within the second block (RFC 2883).
fn sack_whole(option: &[u8], ack: u32) -> Flags {
    let length = usize::from(option.get(1).copied().unwrap_or_default()).min(option.len());
    let block = |i: usize| (u32_at(option, 2 + 8 * i), u32_at(option, 6 + 8 * i));
    let (first, second) = (block(0), block(1));
    let below = (first.0.wrapping_sub(ack) as i32) < 0;
    let inside = |at: u32| at.wrapping_sub(second.0) <= second.1.wrapping_sub(second.0);
    match length {
        10 if !below => Flags::SACK_WHOLE,
        18 if !(below || inside(first.0) && inside(first.1)) => Flags::SACK_WHOLE,
        _ => Flags::default(),
    }
}

/// Writes the type of service of `packet` (DSCP and ECN). Updates the header checksum of IPv4.
///
/// Source: RFC 1624 eqn. 3: HC' = ~(~HC + ~m + m').
pub fn set_tos(packet: &mut [u8], tos: u8) {
    match packet.first().map(|b| b >> 4) {
        Some(4) if packet.len() >= 20 => {
            let old = u16_at(packet, 0);
            packet[1] = tos;
            let new = u16_at(packet, 0);
            let sum = u32::from(!u16_at(packet, 10)) + u32::from(!old) + u32::from(new);
            packet[10..12].copy_from_slice(&folded(sum).to_be_bytes());
        }
        Some(6) if packet.len() >= 40 => {
            (packet[0], packet[1]) = (packet[0] & 0xf0 | tos >> 4, packet[1] & 0x0f | tos << 4);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::craft::{self, Ip, Tcp};
    use proptest::prelude::*;

    fn ip(v6: bool, tos: u8) -> Ip {
        if v6 {
            let host = |n| Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, n).into();
            Ip { src: host(1), dst: host(2), tos }
        } else {
            Ip { src: Ipv4Addr::new(10, 77, 0, 1).into(), dst: Ipv4Addr::new(10, 77, 0, 2).into(), tos }
        }
    }

    fn tcp_of(v6: bool, bits: u16, ack: u32, payload: usize, options: &[u8], tos: u8) -> Vec<u8> {
        let mut out = Vec::new();
        let header = Tcp { ports: (40_000, 80), bits, seq: 7, ack, options, ..Tcp::default() };
        craft::tcp(&mut out, ip(v6, tos), &header, payload);
        out
    }

    fn udp_of(v6: bool, size: usize, tos: u8) -> Vec<u8> {
        let mut out = Vec::new();
        craft::udp(&mut out, ip(v6, tos), (5, 6), size - if v6 { 48 } else { 28 });
        out
    }

    /// Computes the sum that a receiver checks (RFC 1071). If the header is valid, all 16 bits of the sum are ones.
    fn ones_sum(header: &[u8]) -> u16 {
        let mut sum: u32 = header.chunks(2).map(|c| u32::from(u16::from_be_bytes([c[0], c[1]]))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn tcp_over_both() {
        for v6 in [false, true] {
            let ack = tcp_of(v6, 0x10, 1461, 0, &[1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2], 0);
            let h = parse(&ack).unwrap();
            assert_eq!((h.sport, h.dport, h.seq, h.payload), (40_000, 80, 1461, 0));
            // the block from 1 to 2 is below the ACK, 1461, so it reports a duplicate
            assert!(h.flags.has(Flags::PURE_ACK.with(Flags::SACK)) && !h.flags.has(Flags::SACK_WHOLE));
            let hole = parse(&tcp_of(v6, 0x10, 7, 0, &[1, 1, 5, 10, 0, 0, 0, 9, 0, 0, 0, 12], 0)).unwrap();
            assert!(hole.flags.has(Flags::SACK_WHOLE), "everything above 7");
            let twice = [1, 1, 5, 18, 0, 0, 0, 9, 0, 0, 0, 12, 0, 0, 0, 9, 0, 0, 0, 20];
            assert!(
                !parse(&tcp_of(v6, 0x10, 7, 0, &twice, 0)).unwrap().flags.has(Flags::SACK_WHOLE),
                "a duplicate in a block"
            );
            let data = tcp_of(v6, 0x18, 1461, 100, &[], 2);
            let h = parse(&data).unwrap();
            assert_eq!((h.seq, h.payload, h.tos & 3, h.protocol), (7, 100, 2, Protocol::TCP));
            assert!(!h.flags.has(Flags::PURE_ACK) && !h.flags.has(Flags::SACK));
            let syn = parse(&tcp_of(v6, 0xc2, 0, 0, &[], 0)).unwrap();
            assert!(syn.flags.has(Flags::SYN.with(Flags::ECE).with(Flags::CWR)) && !syn.flags.has(Flags::PURE_ACK));
            // AE (bit 0x100 of the flags) is the last bit of the byte with the header length. The options are AccECN (RFC 9768
            // §3.2.3: kind 172, length 11) and then SACK
            let options = [172, 11, 0, 0, 1, 0, 0, 0, 0, 0, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 1];
            let h = parse(&tcp_of(v6, 0x190, 1461, 0, &options, 0)).unwrap();
            assert_eq!((h.flags.ace(), h.payload, h.seq), (0b110, 0, 1461));
            assert!(h.flags.has(Flags::ACCECN_OPTION.with(Flags::SACK).with(Flags::PURE_ACK)));
        }
    }

    #[test]
    fn udp_echo_and_invalid_packets() {
        let h = parse(&udp_of(false, 200, 46 << 2)).unwrap();
        assert_eq!((h.sport, h.dport, h.payload, h.tos >> 2), (5, 6, 172, 46));
        let mut echo = Vec::new();
        craft::echo(&mut echo, ip(false, 0), false, 77, 3, 56);
        let h = parse(&echo).unwrap();
        assert_eq!((h.sport, h.dport, h.seq, h.protocol), (77, 77, 3, Protocol::ICMP));
        for bad in [&[][..], &[0x45; 19], &[0x60; 39], &[0x12; 60]] {
            assert_eq!(parse(bad), None);
        }
    }

    #[test]
    fn an_extension_header_hides_no_port() {
        let mut p = udp_of(true, 200, 0);
        // inserts destination options (PadN, 6 bytes) between the IPv6 and UDP headers
        p.splice(40..40, [17, 0, 1, 4, 0, 0, 0, 0]);
        p[6] = 60;
        let length = (p.len() - 40) as u16;
        p[4..6].copy_from_slice(&length.to_be_bytes());
        let h = parse(&p).unwrap();
        assert_eq!((h.sport, h.dport), (5, 6));
    }

    /// Splits a packet into two fragments. The first contains the first `first` bytes after the IP header.
    fn fragments(p: &[u8], first: usize) -> [Vec<u8>; 2] {
        let header = if p[0] >> 4 == 6 { 40 } else { 20 };
        [(0, first, 1), (first, p.len() - header, 0)].map(|(from, to, more)| {
            let (offset, mut out) = (from / 8, p[..header].to_vec());
            if header == 40 {
                // the fragment header: next header, reserved, offset and flag M, identification
                out.extend([p[6], 0, (offset >> 5) as u8, (offset << 3) as u8 | more, 0, 0, 0, 9]);
                out[6] = 44;
            } else {
                (out[6], out[7]) = ((offset >> 8) as u8 | more << 5, offset as u8);
            }
            out.extend(&p[header + from..header + to]);
            let length = (out.len() - if header == 40 { 40 } else { 0 }) as u16;
            let at = if header == 40 { 4 } else { 2 };
            out[at..at + 2].copy_from_slice(&length.to_be_bytes());
            out
        })
    }

    #[test]
    fn all_fragments_of_a_packet_have_the_same_5_tuple() {
        for v6 in [false, true] {
            let mut echo = Vec::new();
            craft::echo(&mut echo, ip(v6, 0), false, 77, 3, 400);
            let whole = [(udp_of(v6, 500, 0), 17), (tcp_of(v6, 0x02, 0, 400, &[], 0), 6), (echo, 1)];
            for (packet, number) in whole {
                for part in fragments(&packet, 64) {
                    let h = parse(&part).unwrap();
                    assert_eq!((h.sport, h.dport, h.protocol.0, h.seq), (0, 0, number, 0));
                    assert_eq!(h.flags, Flags::default());
                }
            }
        }
        // options after the fragment header are only in the first fragment, so they are not read in any fragment
        for mut part in fragments(&udp_of(true, 500, 0), 64) {
            part[40] = 60;
            assert_eq!(parse(&part).unwrap().protocol.0, 60);
        }
        // a fragment header with offset 0 and without M precedes a whole packet (RFC 8200 §4.5)
        let [mut whole, _] = fragments(&udp_of(true, 500, 0), 64);
        whole[43] = 0;
        assert_eq!(parse(&whole).unwrap().dport, 6);
    }

    #[test]
    fn other_protocols_keep_their_numbers_and_ports() {
        // DCCP, SCTP and UDP-Lite begin with their ports, GRE and ESP do not
        for (number, ports) in [(33, (5, 6)), (132, (5, 6)), (136, (5, 6)), (47, (0, 0)), (50, (0, 0))] {
            for v6 in [false, true] {
                let mut p = udp_of(v6, 100, 0);
                p[if v6 { 6 } else { 9 }] = number;
                let h = parse(&p).unwrap();
                assert_eq!((h.protocol.0, (h.sport, h.dport)), (number, ports));
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_keeps_the_checksum_good(
            tos in any::<u8>(), to in any::<u8>(), id in any::<u16>(), ttl in any::<u8>(), v6 in any::<bool>(),
        ) {
            let mut p = udp_of(v6, 300, tos);
            if !v6 {
                (p[4], p[5], p[8]) = ((id >> 8) as u8, id as u8, ttl);
                craft::seal(&mut p);
                prop_assert_eq!(ones_sum(&p[..20]), 0xffff);
            }
            let before = p.clone();
            set_tos(&mut p, to);
            let h = parse(&p).unwrap();
            prop_assert_eq!(h.tos, to);
            if !v6 {
                prop_assert_eq!(ones_sum(&p[..20]), 0xffff);
            }
            // only the bytes that hold the type of service and, in IPv4, the checksum may have changed
            let changed = p.iter().zip(&before).enumerate().filter(|(_, (a, b))| a != b).map(|(i, _)| i);
            prop_assert!(changed.into_iter().all(|i| i == 1 || (v6 && i == 0) || (!v6 && (i == 10 || i == 11))));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = bytes;
            let _ = parse(&bytes);
            set_tos(&mut bytes, 0xb9);
            for first in [0x45, 0x4f, 0x60] {
                if let Some(b) = bytes.first_mut() {
                    *b = first;
                }
                let length = bytes.len() as u16;
                if bytes.len() >= 40 {
                    bytes[2..4].copy_from_slice(&length.to_be_bytes());
                    bytes[4..6].copy_from_slice(&(length - 40).to_be_bytes());
                }
                let _ = parse(&bytes);
            }
        }
    }
}
