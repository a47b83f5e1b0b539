//! Parsing of packets that come from outside the program.
//!
//! No input causes a panic, and the parsed payload is not longer than the input. Setting
//! the CE mark changes only the ECN field and the checksum.

use super::{Target, Verdict};
use packet::craft::{self, Ip};
use packet::header;
use std::net::{Ipv4Addr, Ipv6Addr};

pub(crate) const PACKET: Target = Target {
    name: "packet",
    minute: 500_000,
    about: "any bytes as an IP packet: parsed values lie within it, a CE mark changes the ECN field and the checksum only",
    longest: 512,
    text: false,
    run: packet,
    start,
};

fn start() -> Vec<Vec<u8>> {
    let v6 = Ip { src: Ipv6Addr::LOCALHOST.into(), dst: Ipv6Addr::LOCALHOST.into(), tos: 2 };
    let v4 = Ip { src: Ipv4Addr::LOCALHOST.into(), dst: Ipv4Addr::LOCALHOST.into(), tos: 41 };
    let mut all = Vec::new();
    for to in [v4, v6] {
        let mut out = Vec::new();
        craft::udp(&mut out, to, (1000, 2000), 20);
        all.push(out.clone());
        craft::echo(&mut out, to, false, 3, 4, 20);
        all.push(out.clone());
        // options: a SACK block and a time stamp
        let options = [5, 10, 0, 0, 0, 9, 0, 0, 0, 20, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        let segment = craft::Tcp { ports: (80, 9), seq: 7, ack: 8, bits: 16, window: 100, options: &options };
        craft::tcp(&mut out, to, &segment, 0);
        all.push(out);
    }
    all
}

fn packet(bytes: &[u8]) -> Verdict {
    let Some(read) = header::parse(bytes) else { return Verdict::Refused };
    assert!(read.payload <= bytes.len(), "{} bytes of payload in {}", read.payload, bytes.len());
    let mut marked = bytes.to_vec();
    header::set_tos(&mut marked, read.tos | 3);
    let again = header::parse(&marked).expect("a marked packet is still a packet");
    assert_eq!(again.tos, read.tos | 3, "the mark is not in the ECN field");
    assert_eq!(header::Header { tos: read.tos, ..again }, read, "the mark changed more than the ECN field");
    if bytes[0] >> 4 == 4 {
        let n = usize::from(bytes[0] & 15) * 4;
        assert_eq!(sum(&bytes[..n]), sum(&marked[..n]), "the mark broke the checksum");
    }
    Verdict::Accepted
}

/// Returns the ones' complement sum of a header, folded to 16 bits. The sums 0 and 0xffff stand for the same number,
/// and both are returned as 0.   Source: RFC 1071.
fn sum(header: &[u8]) -> u32 {
    let mut sum: u32 = header.chunks(2).map(|w| u32::from(w[0]) << 8 | w.get(1).map_or(0, |b| u32::from(*b))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum % 0xffff
}
