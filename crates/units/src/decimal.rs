//! Exact decimal numbers, as written by users. A float would round whole numbers above 2^53.

/// Number of decimal places kept. Additional digits are accepted and ignored.
const PLACES: u32 = 15;

/// A non-negative number: `digits / 10^places`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: u128,
    places: u32,
}

impl Decimal {
    /// Reads digits with at most one decimal point. Returns `None` for any other string, and for a number of 10^21 or more.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let whole = whole.trim_start_matches('0');
        let fraction = fraction.trim_end_matches('0');
        let mut number = Self { digits: 0, places: 0 };
        if whole.len() > 21 || !text.bytes().all(|b| b.is_ascii_digit() || b == b'.') || fraction.contains('.') {
            return None;
        }
        for digit in whole.bytes() {
            number.digits = number.digits * 10 + u128::from(digit - b'0');
        }
        for digit in fraction.bytes().take(PLACES as usize) {
            number.digits = number.digits * 10 + u128::from(digit - b'0');
            number.places += 1;
        }
        Some(number)
    }

    /// Multiplies the number by `unit`, and rounds half up. Returns `None` if the rounded product does not fit in 64 bits.
    pub(crate) fn times(self, unit: u64) -> Option<u64> {
        let scale = 10u128.pow(self.places);
        let product = self.digits.checked_mul(u128::from(unit))?;
        u64::try_from((product + scale / 2) / scale).ok()
    }

    /// Returns the number if it is whole and fits in 64 bits.
    pub(crate) fn whole(self) -> Option<u64> {
        if self.places == 0 { u64::try_from(self.digits).ok() } else { None }
    }

    /// Returns the number as a float. It is the nearest float if `digits` is below 2^53.
    pub(crate) fn about(self) -> f64 {
        self.digits as f64 / 10u128.pow(self.places) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        let times = |text: &str, unit| Decimal::parse(text).and_then(|d| d.times(unit));
        assert_eq!(times("9007199254740993", 1), Some(9_007_199_254_740_993));
        assert_eq!(times("1.5", 1_000), Some(1_500));
        assert_eq!(times("0.0005", 1_000), Some(1));
        assert_eq!(times(".4999", 1), Some(0));
        assert_eq!(times("18446744073709551615", 1), Some(u64::MAX));
        assert_eq!(times("18446744073709551615.5", 1), None);
        assert_eq!(times("000000000000000000000000007.", 2), Some(14));
        assert_eq!(times("0.1234567890123456789012345678901234567890", 1_000_000), Some(123_457));
        assert_eq!(Decimal::parse("2.50").and_then(Decimal::whole), None);
        assert_eq!(Decimal::parse("2.00").and_then(Decimal::whole), Some(2));
        assert_eq!(Decimal::parse("0.05").map(Decimal::about), Some(0.05));
        for bad in ["", ".", "1.2.3", "1e3", "-1", "+1", "\u{663}", "1000000000000000000000000"] {
            assert_eq!(Decimal::parse(bad), None, "{bad}");
        }
    }
}
