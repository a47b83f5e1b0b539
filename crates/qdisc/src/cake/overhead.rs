//! CAKE's overhead compensation: the bytes that a packet costs on the line.
//!
//! ```text
//! n = max(bytes of the IP packet + overhead, mpu)     without `overhead` (raw): n = max(the packet's size, mpu)
//! atm   ceil(n / 48) x 53        ptm   n + ceil(n / 64)          none   n
//! ```
//!
//! Source: tc-cake(8).   Units: bytes.
//! Departs: the manual's keywords (`docsis`, `ethernet`, `pppoe-ptm` ...) exist only in tc's syntax, not as values here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The framing of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// No cells and no extra bytes.
    None,
    /// ATM cells of 53 bytes, each of which carries 48 bytes (ADSL).
    Atm,
    /// One extra byte for every 64 bytes, rounded up (VDSL2).
    Ptm,
}

/// The overhead compensation, resolved from the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overhead {
    /// Bytes added to the size of every packet: the line's overhead, minus the link-layer header if the packet's size
    /// already includes this header.
    pub add: i64,
    /// Minimum size of a frame, bytes.
    pub mpu: u64,
    pub framing: Framing,
}

impl Overhead {
    /// Computes the number of bytes that a packet of `size` bytes takes on the line.
    #[inline]
    pub(crate) fn of(&self, size: u64) -> u64 {
        let frame = size.saturating_add_signed(self.add).max(self.mpu);
        match self.framing {
            Framing::None => frame,
            Framing::Atm => frame.div_ceil(48) * 53,
            Framing::Ptm => frame + frame.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manuals_keywords_by_hand() {
        let docsis = Overhead { add: 18, mpu: 64, framing: Framing::None };
        assert_eq!((docsis.of(1500), docsis.of(40)), (1518, 64));
        // with 32 B of overhead, 1532 B fill 1532 / 48 = 31.9 cells; 32 cells of 53 B take 1696 B
        let atm = Overhead { add: 32, mpu: 0, framing: Framing::Atm };
        assert_eq!(atm.of(1500), 1696);
        assert_eq!(atm.of(40), 106, "72 bytes are two cells");
        // with 30 B of overhead, 1530 B fill 1530 / 64 = 23.9 blocks; each of the 24 blocks adds a byte, which makes 1554 B
        let ptm = Overhead { add: 30, mpu: 0, framing: Framing::Ptm };
        assert_eq!(ptm.of(1500), 1554);
        let ethernet = Overhead { add: 38, mpu: 84, framing: Framing::None };
        assert_eq!((ethernet.of(1500), ethernet.of(40)), (1538, 84));
        // a frame of 1514 B, of which 14 B are its Ethernet header, costs as much as the IP packet of 1500 B that it
        // contains
        assert_eq!(Overhead { add: 18 - 14, ..docsis }.of(1514), 1518);
        assert_eq!(Overhead { add: -64, mpu: 0, framing: Framing::None }.of(40), 0);
    }
}
