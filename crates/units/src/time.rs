//! Simulated (or monotonic) time in integer nanoseconds.

use crate::text::{ParseError, Text, Units, split_number, text_serde, unit_value, with_unit};
use std::fmt;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Sub, SubAssign};
use std::str::FromStr;

/// A moment: nanoseconds since the start of the run. 64 bits hold 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A span of time in nanoseconds, never negative. Text: `5ms`, `1.5s`, `100us`, `20ns`, `2min`; a unit is required.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than any event.
    pub const NEVER: Self = Self(u64::MAX);

    /// Returns the time from `earlier` to `self`; zero if `earlier` is the later of the two.
    #[inline]
    pub fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Returns the seconds since the start of the run.
    #[inline]
    pub fn secs(self) -> f64 {
        self.0 as f64 * 1e-9
    }
}

impl Duration {
    /// A duration of zero.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// Converts whole nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }
    /// Converts whole microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }
    /// Converts whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }
    /// Converts whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }
    /// Converts seconds, rounded to the nearest nanosecond. Negative numbers and NaN become 0, and numbers that do not fit
    /// become the maximum.
    pub fn from_secs_f64(s: f64) -> Self {
        Self((s * 1e9 + 0.5) as u64)
    }
    /// Returns the duration in seconds.
    #[inline]
    pub fn secs(self) -> f64 {
        self.0 as f64 * 1e-9
    }
    /// Returns the duration in milliseconds.
    #[inline]
    pub fn millis(self) -> f64 {
        self.0 as f64 * 1e-6
    }
    /// Returns `self - other`, or zero if `other` is longer.
    #[inline]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// Returns true if the duration is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

/// Implements operators (`+`) and their assignment forms (`+=`).
macro_rules! operators {
    ($($Op:ident::$op:ident, $Assign:ident::$assign:ident: |$a:ident: $A:ty, $b:ident: $B:ty| $result:block)+) => {$(
        impl $Op<$B> for $A {
            type Output = Self;
            #[inline]
            fn $op(self, $b: $B) -> Self {
                let $a = self;
                $result
            }
        }
        impl $Assign<$B> for $A {
            #[inline]
            fn $assign(&mut self, $b: $B) {
                *self = $Op::$op(*self, $b);
            }
        }
    )+};
}

operators! {
    Add::add, AddAssign::add_assign: |t: Time, d: Duration| { Self(t.0.saturating_add(d.0)) }
    Sub::sub, SubAssign::sub_assign: |t: Time, d: Duration| { Self(t.0.saturating_sub(d.0)) }
    Add::add, AddAssign::add_assign: |a: Duration, b: Duration| { Self(a.0.saturating_add(b.0)) }
    Sub::sub, SubAssign::sub_assign: |a: Duration, b: Duration| {
        debug_assert!(a.0 >= b.0, "negative duration");
        a.saturating_sub(b)
    }
    Mul::mul, MulAssign::mul_assign: |d: Duration, k: u64| { Self(d.0.saturating_mul(k)) }
    Div::div, DivAssign::div_assign: |d: Duration, k: u64| { Self(d.0 / k) }
}

/// Maximum duration that a user may give. Above 2^63 ns (292 years), the sum of two durations may not fit in 64 bits.
const LONGEST: u64 = 9_200_000_000_000_000_000;

/// Units of a duration in printed text: suffix and length in nanoseconds, largest first.
const SPANS: [(&str, u64); 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// Units of a duration in a scenario, with their lengths in nanoseconds. Upper-case letters are also valid.
const UNITS: &Units = &[
    (&["s", "sec", "secs"], 1_000_000_000),
    (&["ms", "msec", "msecs"], 1_000_000),
    (&["us", "usec", "usecs", "\u{b5}s", "\u{3bc}s"], 1_000),
    (&["ns", "nsec", "nsecs"], 1),
    (&["min"], 60_000_000_000),
    (&["h"], 3_600_000_000_000),
];

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return write!(f, "0s");
        }
        let (unit, ns) = SPANS.iter().find(|(_, ns)| self.0.is_multiple_of(*ns)).unwrap_or(&SPANS[3]);
        write!(f, "{}{unit}", self.0 / ns)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

impl FromStr for Duration {
    type Err = ParseError;
    fn from_str(s: &str) -> Result<Self, ParseError> {
        let (number, unit) = split_number(s, Self::VALID)?;
        let ns = unit_value(UNITS, &unit.to_ascii_lowercase()).ok_or_else(|| ParseError::new(s, Self::VALID))?;
        let too_long = || ParseError::new(s, "a duration below 292 years");
        number.times(ns).filter(|ns| *ns <= LONGEST).map(Self).ok_or_else(too_long)
    }
}

impl Text for Duration {
    const VALID: &str = "a duration with its unit, such as \"5ms\", \"1.5s\", \"100us\" or \"2min\"";
    fn pattern() -> String {
        let any_case = |spelling: &str| -> String {
            let either = |c: char| if c.is_ascii() { format!("[{c}{}]", c.to_ascii_uppercase()) } else { c.into() };
            spelling.chars().map(either).collect()
        };
        let spellings: Vec<String> = UNITS.iter().flat_map(|(spellings, _)| *spellings).map(|s| any_case(s)).collect();
        with_unit(spellings.iter().map(String::as_str), "")
    }
}
text_serde!(Duration);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_both_ways() {
        for (text, ns, back) in [
            ("5ms", 5_000_000, "5ms"),
            ("1.5s", 1_500_000_000, "1500ms"),
            ("0s", 0, "0s"),
            ("20 us", 20_000, "20us"),
            ("2min", 120_000_000_000, "120s"),
            ("1ns", 1, "1ns"),
        ] {
            let d: Duration = text.parse().unwrap();
            assert_eq!(d.0, ns, "{text}");
            assert_eq!(d.to_string(), back);
            assert_eq!(back.parse::<Duration>().unwrap(), d);
        }
    }

    #[test]
    fn refusals_name_what_is_valid() {
        for bad in ["5", "", "ms", "-5ms", "5 parsecs", "nan s", "1e30s", "infs"] {
            let e = bad.parse::<Duration>().unwrap_err().to_string();
            assert!(e.contains("duration"), "{bad}: {e}");
        }
    }
}
