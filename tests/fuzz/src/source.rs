//! Choices read from the bytes of an input.

/// Reads choices from bytes. After the last byte, every choice is the first option. So shorter inputs encode simpler
/// choices, and an input can be reduced by truncating it.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    left: &'a [u8],
}

impl<'a> Source<'a> {
    /// Returns a source of the choices that `bytes` encode.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    /// Returns true if no byte is left.
    pub const fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Returns the unread bytes.
    pub const fn rest(&self) -> &'a [u8] {
        self.left
    }

    /// Reads the next byte; 0 if none is left.
    pub fn byte(&mut self) -> u8 {
        match self.left.split_first() {
            Some((first, rest)) => {
                self.left = rest;
                *first
            }
            None => 0,
        }
    }

    /// Reads an `n`-byte number, least significant byte first.
    fn number(&mut self, n: usize) -> u64 {
        (0..n).fold(0, |sum, i| sum | u64::from(self.byte()) << (8 * i))
    }

    /// Reads 32 bits.
    pub fn u32(&mut self) -> u32 {
        self.number(4) as u32
    }

    /// Reads 64 bits.
    pub fn u64(&mut self) -> u64 {
        self.number(8)
    }

    /// Returns a number from `0..n` that the input chooses, or 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        let bytes = match n {
            0..=1 => return 0,
            2..=256 => 1,
            257..=0x1_0000 => 2,
            0x1_0001..=0x1_0000_0000 => 4,
            _ => 8,
        };
        self.number(bytes) % n
    }

    /// Chooses an index into a list of `n` elements; 0 if the list is empty.
    pub fn index(&mut self, n: usize) -> usize {
        self.below(n as u64) as usize
    }

    /// Chooses one of the given elements.
    pub fn pick<'b, T: ?Sized>(&mut self, of: &'b [&'b T]) -> &'b T {
        of[self.index(of.len())]
    }

    /// Returns true with probability `part` / 256; returns false if no byte is left.
    pub fn chance(&mut self, part: u8) -> bool {
        self.byte() > 255 - part
    }

    /// Chooses a number from `least` (but at least 1) to `most`. Every range from one power of two to the next is
    /// equally likely.
    pub fn spread(&mut self, least: u64, most: u64) -> u64 {
        let least = least.max(1);
        let (low, high) = (least.ilog2(), most.max(least).ilog2());
        let bits = low + self.below(u64::from(high - low) + 1) as u32;
        let within = self.below(1 << bits.min(62));
        ((1 << bits) + within).clamp(least, most.max(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_up_bytes_choose_the_first() {
        let mut s = Source::new(&[7]);
        assert_eq!((s.below(5), s.below(5), s.u64(), s.chance(255), s.is_empty()), (2, 0, 0, false, true));
        assert_eq!(s.pick(&["a", "b"]), "a");
        assert_eq!(s.below(1 << 40), 0);
    }

    #[test]
    fn a_spread_stays_within_and_reaches_every_order() {
        let mut seen = [false; 64];
        for a in 0..=255u8 {
            let bytes = [a; 9];
            let v = Source::new(&bytes).spread(1, 1_000_000_000);
            assert!((1..=1_000_000_000).contains(&v));
            seen[v.ilog2() as usize] = true;
        }
        assert!(seen[..29].iter().all(|s| *s), "{seen:?}");
    }
}
