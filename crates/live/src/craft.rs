//! Real packets made by hand: what the fake-clock harness feeds to the bench.

use crate::tun::{v4, v6};

/// A UDP datagram of `size` bytes in all from host `src` to host `dst`.
pub fn udp(v6: bool, src: u16, dst: u16, ports: (u16, u16), size: usize, tos: u8) -> Vec<u8> {
    let mut p = ip(v6, 17, src, dst, size, tos);
    let at = if v6 { 40 } else { 20 };
    p[at..at + 2].copy_from_slice(&ports.0.to_be_bytes());
    p[at + 2..at + 4].copy_from_slice(&ports.1.to_be_bytes());
    let length = (size - at) as u16;
    p[at + 4..at + 6].copy_from_slice(&length.to_be_bytes());
    p
}

/// A TCP segment with `payload` bytes of zeros; `bits` are the flags of the 14th byte of its header.
#[allow(clippy::too_many_arguments, reason = "the fields of a header")]
pub fn tcp(
    v6: bool,
    src: u16,
    dst: u16,
    ports: (u16, u16),
    bits: u8,
    seq: u32,
    ack: u32,
    payload: usize,
    options: &[u8],
    tos: u8,
) -> Vec<u8> {
    let at = if v6 { 40 } else { 20 };
    let header = 20 + options.len().next_multiple_of(4);
    let mut p = ip(v6, 6, src, dst, at + header + payload, tos);
    let t = &mut p[at..];
    t[0..2].copy_from_slice(&ports.0.to_be_bytes());
    t[2..4].copy_from_slice(&ports.1.to_be_bytes());
    t[4..8].copy_from_slice(&seq.to_be_bytes());
    t[8..12].copy_from_slice(&ack.to_be_bytes());
    t[12] = (header as u8 / 4) << 4;
    t[13] = bits;
    t[20..20 + options.len()].copy_from_slice(options);
    p
}

/// An ICMP echo request.
pub fn echo(src: u16, dst: u16, id: u16, seq: u16) -> Vec<u8> {
    let mut p = ip(false, 1, src, dst, 84, 0);
    p[20] = 8;
    p[24..26].copy_from_slice(&id.to_be_bytes());
    p[26..28].copy_from_slice(&seq.to_be_bytes());
    p
}

fn ip(six: bool, protocol: u8, src: u16, dst: u16, size: usize, tos: u8) -> Vec<u8> {
    let mut p = vec![0; size];
    if six {
        (p[0], p[1]) = (0x60 | tos >> 4, tos << 4);
        p[4..6].copy_from_slice(&((size - 40) as u16).to_be_bytes());
        (p[6], p[7]) = (protocol, 64);
        p[8..24].copy_from_slice(&v6(src).octets());
        p[24..40].copy_from_slice(&v6(dst).octets());
    } else {
        (p[0], p[1]) = (0x45, tos);
        p[2..4].copy_from_slice(&(size as u16).to_be_bytes());
        (p[8], p[9]) = (64, protocol);
        p[12..16].copy_from_slice(&v4(src).octets());
        p[16..20].copy_from_slice(&v4(dst).octets());
        seal(&mut p);
    }
    p
}

/// Writes the checksum of an IPv4 header without options.   Source: RFC 1071.
pub fn seal(p: &mut [u8]) {
    (p[10], p[11]) = (0, 0);
    let mut sum: u32 = p[..20].chunks(2).map(|c| u32::from(u16::from_be_bytes([c[0], c[1]]))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    p[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}
