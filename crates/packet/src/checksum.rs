//! The Internet checksum.
//!
//! Source: RFC 1071; RFC 9293 §3.1 and RFC 8200 §8.1 (pseudo-header).

use std::net::IpAddr;

/// Returns the one's complement sum of the 16-bit words of at most 65 535 bytes; an odd last byte counts as the upper half of a
/// word.
#[inline]
pub fn sum(bytes: &[u8]) -> u32 {
    let mut words = bytes.chunks_exact(4);
    let mut sum: u64 = words.by_ref().map(|w| u64::from(u32::from_ne_bytes([w[0], w[1], w[2], w[3]]))).sum();
    let mut last = [0; 4];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    sum += u64::from(u32::from_ne_bytes(last));
    // 65 535 bytes make 2^14 words of 32 bits (the last word is padded with zeros), so the sum is below 2^46. It fits
    // into 32 bits after the carries have been added twice
    sum = (sum & 0xffff_ffff) + (sum >> 32);
    sum = (sum & 0xffff_ffff) + (sum >> 32);
    // RFC 1071 §2 (B): if the words are summed in the other byte order, only the two bytes of the sum are swapped
    u32::from(u16::from_be(!folded(sum as u32)))
}

/// Returns the checksum for a sum: adds the carries to the low 16 bits and inverts all bits.   Bound: two iterations.
#[inline]
pub fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Returns the sum of the pseudo-header of a packet whose transport header and payload are `length` bytes long.
pub fn pseudo(src: IpAddr, dst: IpAddr, protocol: u8, length: usize) -> u32 {
    let addresses = match (src, dst) {
        (IpAddr::V4(a), IpAddr::V4(b)) => sum(&a.octets()) + sum(&b.octets()),
        (a, b) => sum(&octets6(a)) + sum(&octets6(b)),
    };
    addresses + u32::from(protocol) + length as u32
}

/// Returns the octets of an IPv6 address, or of an IPv4 address mapped into IPv6.
pub(crate) fn octets6(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(a) => a.to_ipv6_mapped().octets(),
        IpAddr::V6(a) => a.octets(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_rfc_1071() {
        // RFC 1071 §3: the bytes 00 01 f2 03 f4 f5 f6 f7 have the sum ddf2
        assert_eq!(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
        assert_eq!(folded(0x1_fffe), 0);
        assert_eq!(sum(&[0xff; 65_535]), 0xff00);
    }

    proptest! {
        /// Modulo 65 535, the sum of the 16-bit words equals the big-endian number that all bytes form together,
        /// because 2^16 is 1 modulo 65 535.
        #[test]
        fn a_sum_is_a_remainder(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let padded = bytes.iter().copied().chain(std::iter::repeat_n(0, bytes.len() % 2));
            let remainder = padded.fold(0u32, |r, b| (r * 256 + u32::from(b)) % 65_535);
            prop_assert_eq!(sum(&bytes) % 65_535, remainder);
        }
    }
}
