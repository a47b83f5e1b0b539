//! The header fields that identify a flow, and their hash.
//!
//! ```text
//! h = lookup3(a, b, c; salt)     32 bits       index below n = h x n >> 32  (as uniform as h mod n, but without a division)
//! ```
//!
//! Source: Bob Jenkins, lookup3 (public domain), as ns-2's jhash_3words uses it; RFC 8290 §4.1.
//! Departs: Linux's jhash_3words runs only lookup3's final steps, without the mixing.

use packet::FlowTuple;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// lookup3's start value for three words: 0xdeadbeef + (3 << 2).
const START: u32 = 0xdead_beef + 12;

/// The header fields that identify a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HashKey {
    /// Addresses, ports and protocol.
    FiveTuple,
    /// Both addresses, as in ns-2's SFQ.
    Addresses,
    /// The address of the sender: all flows from one host have the same hash.
    Source,
    /// The address of the receiver: all flows to one host have the same hash.
    Destination,
}

/// Returns a 32-bit hash of `salt` and of those fields of `tuple` that `key` selects.
pub(crate) fn hash(tuple: &FlowTuple, key: HashKey, salt: u32) -> u32 {
    let protocol = u32::from(tuple.protocol.0);
    match key {
        HashKey::FiveTuple => {
            let ports = u32::from(tuple.sport) << 16 | u32::from(tuple.dport);
            lookup3(tuple.dst, tuple.src ^ protocol, ports, salt)
        }
        HashKey::Addresses => lookup3(tuple.dst, tuple.src, 0, salt),
        HashKey::Source => lookup3(0, tuple.src, 0, salt),
        HashKey::Destination => lookup3(tuple.dst, 0, 0, salt),
    }
}

/// Maps `h` to an index below `n`.
#[inline]
pub(crate) fn place(h: u32, n: u32) -> u32 {
    ((u64::from(h) * u64::from(n)) >> 32) as u32
}

/// Computes ns-2's jhash_3words: lookup3's mixing, then lookup3's final avalanche.
fn lookup3(a: u32, b: u32, c: u32, salt: u32) -> u32 {
    let start = START.wrapping_add(salt);
    let mut s = [a.wrapping_add(start), b.wrapping_add(start), c.wrapping_add(start)];
    // mix: six steps of x -= z; x ^= rot(z); z += y, where (x, y, z) cycles through (a, b, c), (b, c, a), (c, a, b)
    for (i, rotation) in [4, 6, 8, 16, 19, 4].into_iter().enumerate() {
        let (x, y, z) = (i % 3, (i + 1) % 3, (i + 2) % 3);
        s[x] = s[x].wrapping_sub(s[z]) ^ s[z].rotate_left(rotation);
        s[z] = s[z].wrapping_add(s[y]);
    }
    // final: seven steps of x ^= y; x -= rot(y), where (x, y) cycles through (c, b), (a, c), (b, a)
    for (i, rotation) in [14, 11, 25, 16, 4, 14, 24].into_iter().enumerate() {
        let (x, y) = ((i + 2) % 3, (i + 1) % 3);
        s[x] = (s[x] ^ s[y]).wrapping_sub(s[y].rotate_left(rotation));
    }
    s[2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::Protocol;

    #[test]
    fn lookup3_gives_the_known_answers() {
        // the expected values were computed with the macros of lookup3.c itself
        assert_eq!(lookup3(1, 2, 3, 0), 0x45d6_77c8);
        assert_eq!(lookup3(0x0a00_0001, 0x0a00_0002, 0x0400_0050, 0x1234_5678), 0x68fc_caea);
        assert_eq!(lookup3(0, 0, 0, 0), 0xfb29_3fc1);
    }

    #[test]
    fn places_are_uniform_and_every_field_counts() {
        // 64 000 tuples that differ in one field only are hashed into 64 bins, so each bin gets 1000 tuples on average.
        // 103 is the 99.9th percentile of the chi-squared distribution with 63 degrees of freedom.
        type Vary = fn(u32) -> FlowTuple;
        let vary: [Vary; 4] = [
            |i| FlowTuple { src: i, ..Default::default() },
            |i| FlowTuple { dst: i, ..Default::default() },
            |i| FlowTuple { sport: i as u16, ..Default::default() },
            |i| FlowTuple { dport: i as u16, ..Default::default() },
        ];
        for make in vary {
            let mut seen = [0f64; 64];
            for i in 0..64_000 {
                seen[place(hash(&make(i), HashKey::FiveTuple, 7), 64) as usize] += 1.0;
            }
            let chi: f64 = seen.iter().map(|n| (n - 1000.0) * (n - 1000.0) / 1000.0).sum();
            assert!(chi < 103.0, "{chi}");
        }
    }

    #[test]
    fn the_key_decides_what_is_one_flow() {
        let a = FlowTuple { src: 1, dst: 2, sport: 3, dport: 4, protocol: Protocol::TCP, dscp: 0 };
        let of = |t: &FlowTuple, key| hash(t, key, 99);
        let ports = FlowTuple { sport: 5, dport: 6, ..a };
        assert_ne!(of(&a, HashKey::FiveTuple), of(&ports, HashKey::FiveTuple));
        assert_eq!(of(&a, HashKey::Addresses), of(&ports, HashKey::Addresses));
        let other = FlowTuple { dst: 9, ..ports };
        assert_ne!(of(&a, HashKey::Addresses), of(&other, HashKey::Addresses));
        assert_eq!(of(&a, HashKey::Source), of(&other, HashKey::Source));
        assert_eq!(of(&a, HashKey::Destination), of(&FlowTuple { src: 8, ..a }, HashKey::Destination));
        let udp = FlowTuple { protocol: Protocol::UDP, ..a };
        assert_ne!(of(&a, HashKey::FiveTuple), of(&udp, HashKey::FiveTuple));
        // packets of one flow may have different DSCPs, so the DSCP is not hashed
        assert_eq!(of(&a, HashKey::FiveTuple), of(&FlowTuple { dscp: 46, ..a }, HashKey::FiveTuple));
        // a different salt gives a different hash
        assert_ne!(hash(&a, HashKey::FiveTuple, 1), hash(&a, HashKey::FiveTuple, 2));
    }
}
