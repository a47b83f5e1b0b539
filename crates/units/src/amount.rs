//! A quantity of any kind, read from text, for programs that display, compare or vary the values of a scenario.

use crate::{BitRate, Bytes, Duration, Limit, Prob};

/// A quantity, whose kind follows from the unit in its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// A time, `5ms`.
    Duration(Duration),
    /// A rate, `20mbit`.
    Rate(BitRate),
    /// A size, `64KiB`.
    Size(Bytes),
    /// Packets, `417p`.
    Packets(u32),
    /// A share, `2.5%`.
    Share(Prob),
}

impl Amount {
    /// Reads a quantity from `text`. Returns `None` if `text` has no unit, as in `5`, or is not a valid quantity.
    pub fn read(text: &str) -> Option<Self> {
        if text.ends_with('%') {
            return text.parse().ok().map(Self::Share);
        }
        if !text.ends_with(char::is_alphabetic) {
            return None;
        }
        let time = text.parse().ok().map(Self::Duration);
        let rate = || text.parse().ok().map(Self::Rate);
        let size = || text.parse().ok().map(Self::Size);
        let packets = || match text.parse() {
            Ok(Limit::Packets(n)) => Some(Self::Packets(n)),
            _ => None,
        };
        time.or_else(rate).or_else(size).or_else(packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_and_what_is_none() {
        assert_eq!(Amount::read("1.5ms"), Some(Amount::Duration(Duration(1_500_000))));
        assert_eq!(Amount::read("20mbit"), Some(Amount::Rate(BitRate(20_000_000))));
        assert_eq!(Amount::read("64KiB"), Some(Amount::Size(Bytes(65_536))));
        assert_eq!(Amount::read("417p"), Some(Amount::Packets(417)));
        assert_eq!(Amount::read("2.5%"), Some(Amount::Share(Prob::new(0.025).unwrap())));
        for other in ["5", "codel", "", "ms", "-5ms", "5 parsecs", "1.5p", "101%"] {
            assert_eq!(Amount::read(other), None, "{other}");
        }
    }
}
