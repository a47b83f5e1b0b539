//! Sizes, rates, probabilities and limits, and their text forms.

use crate::Duration;
use crate::text::{ParseError, Text, Units, split_number, text_serde, unit_value, whole_with_unit, with_unit};
use std::fmt;
use std::str::FromStr;

/// Largest size in bytes: 9 PB. It is below 2^53, so a program that stores numbers as floats reads every size exactly.
const MOST_BYTES: u64 = 9_000_000_000_000_000;
/// Highest rate, 1 Pbit/s.
const MOST_RATE: u64 = 1_000_000_000_000_000;

/// Units of a size in a scenario, with their sizes in bytes.
const SIZES: &Units = &[
    (&["", "b", "B"], 1),
    (&["kb", "kB", "KB", "k", "K"], 1_000),
    (&["mb", "MB", "m", "M"], 1_000_000),
    (&["gb", "GB", "g", "G"], 1_000_000_000),
    (&["KiB", "kib"], 1 << 10),
    (&["MiB", "mib"], 1 << 20),
    (&["GiB", "gib"], 1 << 30),
];
/// Units of a rate in a scenario, with their values in bit/s. "/s" may follow the unit.
const RATES: &Units = &[
    (&["", "bit", "bps"], 1),
    (&["kbit", "Kbit", "Kbps"], 1_000),
    (&["mbit", "Mbit", "Mbps"], 1_000_000),
    (&["gbit", "Gbit", "Gbps"], 1_000_000_000),
    (&["tbit", "Tbit", "Tbps"], 1_000_000_000_000),
];
/// Units of a probability in a scenario. Each has the number that means probability 1: 1 without a unit, 100 with `%`.
const SHARES: &Units = &[(&[""], 1), (&["%"], 100)];
/// Unit suffixes of packet counts in a scenario.
const PACKETS: &[&str] = &["p", "pkt", "packets"];

/// Returns all spellings of `units`.
fn spellings(units: &'static Units) -> impl Iterator<Item = &'static str> {
    units.iter().flat_map(|(spellings, _)| spellings.iter().copied())
}

/// Returns true if the unit names the byte (`KB`, `KiB`, but not `K`), so that the number can only be a size.
fn says_bytes(unit: &str) -> bool {
    unit.ends_with(['b', 'B'])
}

/// A size in bytes. Text: `1514`, `600KB` (units of 1000 bytes), `64KiB` (of 1024 bytes), `10MB`, `1GB`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A rate in bits per second. Text: `5mbit`, `200kbit`, `1Gbit/s`, `20Mbps`; a bare number is bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(pub u64);

/// A probability in [0, 1]. Text: `0.01` or `1%`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Prob(f64);

/// Capacity of a queue: `417p` (packets), `600KB` (bytes) or `50ms` (at the rate of its link).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes.
    Bytes(Bytes),
    /// At most as many bytes as the link sends in this time at its sustained rate.
    Time(Duration),
}

impl Limit {
    /// Returns this limit with `f` applied to its number, which counts packets, bytes or nanoseconds.
    #[must_use]
    pub fn map(self, f: impl Fn(u64) -> u64) -> Self {
        match self {
            Self::Packets(n) => Self::Packets(u32::try_from(f(n.into())).unwrap_or(u32::MAX)),
            Self::Bytes(b) => Self::Bytes(Bytes(f(b.0))),
            Self::Time(d) => Self::Time(Duration(f(d.0))),
        }
    }
}

impl Bytes {
    /// Converts a number of bytes.   Errors: the size is above 9 PB.
    pub fn from_integer(v: u64) -> Result<Self, ParseError> {
        if v > MOST_BYTES { Err(ParseError::new(v.to_string(), "a size of at most 9 PB")) } else { Ok(Self(v)) }
    }
}

impl BitRate {
    fn from_integer(v: u64) -> Result<Self, ParseError> {
        if v > MOST_RATE { Err(ParseError::new(v.to_string(), "a rate of at most 1 Pbit/s")) } else { Ok(Self(v)) }
    }
    /// Computes the time to send `bytes`, rounded to the nearest nanosecond; [`Duration::MAX`] at rate zero.
    #[inline]
    pub fn time_for(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // below 2^30 bytes, which is the usual case, the product fits in 64 bits
        if bytes < 1 << 30 {
            Duration((bytes * 8_000_000_000 + self.0 / 2) / self.0)
        } else {
            let ns = (u128::from(bytes) * 8_000_000_000 + u128::from(self.0 / 2)) / u128::from(self.0);
            Duration(u64::try_from(ns).unwrap_or(u64::MAX))
        }
    }
    /// Computes the bytes that this rate carries in `span`, rounded down.
    pub fn bytes_in(self, span: Duration) -> u64 {
        (u128::from(self.0) * u128::from(span.0) / 8_000_000_000) as u64
    }
}

impl Prob {
    /// Creates a probability at compile time; a number outside [0, 1] panics.
    pub const fn constant(p: f64) -> Self {
        assert!(p >= 0.0 && p <= 1.0, "a probability is between 0 and 1");
        Self(p)
    }
    /// Creates a probability.   Errors: the number is outside [0, 1].
    pub fn new(p: f64) -> Result<Self, ParseError> {
        if (0.0..=1.0).contains(&p) {
            // adding 0.0 makes a negative zero positive
            Ok(Self(p + 0.0))
        } else {
            Err(ParseError::new(p.to_string(), "a probability between 0 and 1 (or 0% and 100%)"))
        }
    }
    /// Returns the number.
    #[inline]
    pub fn get(self) -> f64 {
        self.0
    }
}

/// Prints `value` in the first of `units` (largest first) that divides it without remainder. If `value` is 0, or no
/// unit divides it, prints the number itself, followed by `bare`, the name of the base unit.
fn print_scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)], bare: &str) -> fmt::Result {
    match units.iter().find(|(_, k)| value != 0 && value.is_multiple_of(*k)) {
        Some((unit, k)) => write!(f, "{}{unit}", value / k),
        None => write!(f, "{value}{bare}"),
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_scaled(f, self.0, &[("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000)], "B")
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_scaled(f, self.0, &[("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1_000)], "bit")
    }
}

impl fmt::Display for Prob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(n) => write!(f, "{n}p"),
            Self::Bytes(b) => b.fmt(f),
            Self::Time(d) => d.fmt(f),
        }
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(s: &str) -> Result<Self, ParseError> {
        let (v, unit) = split_number(s, Self::VALID)?;
        let k = unit_value(SIZES, unit).ok_or_else(|| ParseError::new(s, Self::VALID))?;
        let too_large = || ParseError::new(s, "a size of at most 9 PB");
        v.times(k).filter(|v| *v <= MOST_BYTES).map(Self).ok_or_else(too_large)
    }
}

/// Suggests the correct text for a rate that was written with only a prefix (`20M`) or like a size (`20MB`).
fn unfinished(v: f64, unit: &str) -> Option<String> {
    let prefix = unit.chars().next().map(|c| c.to_ascii_lowercase()).filter(|c| "kmgt".contains(*c))?;
    let bits = |v: f64| format!("\"{v}{prefix}bit\"");
    match &unit[1..] {
        "" | "b" => Some(format!("a rate in bits per second; write {}", bits(v))),
        "B" => Some(format!("a rate in bits per second; write {}, or {} if you meant bytes", bits(v), bits(v * 8.0))),
        _ => None,
    }
}

/// Returns the text after "expected" in the error message for a rate of `v` with an unknown unit.
fn unknown_rate(v: f64, unit: &str) -> String {
    if matches!(unit, "kbps" | "mbps" | "gbps") {
        let (bits, bytes) = (unit.replace("bps", "bit"), unit.replace("bps", "B/s"));
        return format!(
            "an unambiguous unit: tc reads {unit} as {bytes}, others as bits; write \"{v}{bits}\" for bits, or \"{}{bits}\" if you meant bytes",
            v * 8.0
        );
    }
    unfinished(v, unit).unwrap_or_else(|| BitRate::VALID.into())
}

impl FromStr for BitRate {
    type Err = ParseError;
    fn from_str(s: &str) -> Result<Self, ParseError> {
        let (v, unit) = split_number(s, Self::VALID)?;
        let unit = unit.strip_suffix("/s").unwrap_or(unit);
        let k = unit_value(RATES, unit).ok_or_else(|| ParseError::new(s, unknown_rate(v.about(), unit)))?;
        let too_large = || ParseError::new(s, "a rate of at most 1 Pbit/s");
        v.times(k).filter(|v| *v <= MOST_RATE).map(Self).ok_or_else(too_large)
    }
}

impl FromStr for Prob {
    type Err = ParseError;
    fn from_str(s: &str) -> Result<Self, ParseError> {
        const VALID: &str = "a probability between 0 and 1, or 0% and 100%";
        let (v, unit) = split_number(s, VALID)?;
        let one = unit_value(SHARES, unit).ok_or_else(|| ParseError::new(s, VALID))?;
        Self::new(v.about() / one as f64)
    }
}

impl FromStr for Limit {
    type Err = ParseError;
    fn from_str(s: &str) -> Result<Self, ParseError> {
        let bad = || ParseError::new(s, Self::VALID);
        let (v, unit) = split_number(s, Self::VALID)?;
        if PACKETS.contains(&unit) {
            return v.whole().and_then(|n| u32::try_from(n).ok()).map(Self::Packets).ok_or_else(bad);
        }
        if unit.is_empty() {
            return Err(ParseError::new(s, format!("{}; a bare number could be any of them", Self::VALID)));
        }
        if let Ok(d) = s.parse::<Duration>() {
            return Ok(Self::Time(d));
        }
        if says_bytes(unit) { s.parse::<Bytes>().map(Self::Bytes) } else { Err(bad()) }
    }
}

impl Text for Bytes {
    const VALID: &str = "a size such as 1514, \"600KB\" (KB: 1000 bytes), \"64KiB\" or \"10MB\"";
    const WHOLE: Option<fn(u64) -> Result<Self, ParseError>> = Some(Self::from_integer);
    fn pattern() -> String {
        with_unit(spellings(SIZES), "")
    }
}
text_serde!(Bytes);

impl Text for BitRate {
    const VALID: &str = "a rate such as \"5mbit\", \"200kbit\" or \"1gbit\" (a bare number is bit/s)";
    const WHOLE: Option<fn(u64) -> Result<Self, ParseError>> = Some(Self::from_integer);
    fn pattern() -> String {
        with_unit(spellings(RATES), "(/s)?")
    }
}
text_serde!(BitRate);

impl Text for Limit {
    const VALID: &str = "a limit in packets (\"417p\"), bytes (\"600KB\") or time at the link's rate (\"50ms\")";
    fn pattern() -> String {
        let sizes = with_unit(spellings(SIZES).filter(|unit| says_bytes(unit)), "");
        format!("{}|{}|{sizes}", whole_with_unit(PACKETS), Duration::pattern())
    }
}
text_serde!(Limit);

impl serde::Serialize for Prob {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(self.0)
    }
}

impl<'de> serde::Deserialize<'de> for Prob {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl serde::de::Visitor<'_> for V {
            type Value = Prob;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a probability between 0 and 1, or a string such as \"1%\"")
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Prob, E> {
                v.parse().map_err(E::custom)
            }
            fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Prob, E> {
                Prob::new(v).map_err(E::custom)
            }
            fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<Prob, E> {
                Prob::new(v as f64).map_err(E::custom)
            }
            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Prob, E> {
                Prob::new(v as f64).map_err(E::custom)
            }
        }
        d.deserialize_any(V)
    }
}

impl schemars::JsonSchema for Prob {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Prob".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "a probability between 0 and 1, or a string such as \"1%\"",
            "anyOf": [{ "type": "number", "minimum": 0, "maximum": 1 }, { "type": "string", "pattern": with_unit(spellings(SHARES), "") }]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_sizes() {
        assert_eq!("5mbit".parse::<BitRate>().unwrap(), BitRate(5_000_000));
        assert_eq!("0.5 Mbit/s".parse::<BitRate>().unwrap(), BitRate(500_000));
        assert_eq!("20Mbps".parse::<BitRate>().unwrap(), BitRate(20_000_000));
        assert_eq!("600KB".parse::<Bytes>().unwrap(), Bytes(600_000));
        assert_eq!("64KiB".parse::<Bytes>().unwrap(), Bytes(65_536));
        assert_eq!(BitRate(1_500_000).to_string(), "1500kbit");
        assert_eq!(Bytes(18_750_000).to_string(), "18750KB");
        assert_eq!("417p".parse::<Limit>().unwrap(), Limit::Packets(417));
        assert_eq!("50ms".parse::<Limit>().unwrap(), Limit::Time(Duration::from_millis(50)));
        assert_eq!("600KB".parse::<Limit>().unwrap().to_string(), "600KB");
        assert_eq!("5%".parse::<Prob>().unwrap().get(), 0.05);
    }

    #[test]
    fn tc_bytes_per_second_are_refused_with_both_readings() {
        let e = "5mbps".parse::<BitRate>().unwrap_err().to_string();
        assert!(e.contains("\"5mbit\"") && e.contains("\"40mbit\""), "{e}");
    }

    #[test]
    fn a_rate_without_its_bit_says_what_to_write() {
        let refusal = |text: &str| text.parse::<BitRate>().unwrap_err().to_string();
        assert_eq!(refusal("20M"), "\"20M\" is not valid; expected a rate in bits per second; write \"20mbit\"");
        assert!(refusal("1.5 k").ends_with("write \"1.5kbit\"") && refusal("2Gb/s").ends_with("write \"2gbit\""));
        assert!(refusal("20MB/s").ends_with("write \"20mbit\", or \"160mbit\" if you meant bytes"));
        assert!(refusal("20 miles").contains("such as"));
    }

    #[test]
    fn what_is_accepted_prints_and_reads_back_exactly() {
        // A parser that used floats would change some of these numbers. A float cannot hold 2^53 + 1. It can hold
        // 2^52 + 1, but a parser that rounds by adding 0.5 gets 2^52 + 1.5, which lies halfway between two floats and
        // becomes 2^52 + 2.
        for v in [0, 1, 999, 1_001, (1 << 52) + 1, MOST_BYTES - 1, MOST_BYTES] {
            assert_eq!(Bytes(v).to_string().parse::<Bytes>().unwrap(), Bytes(v));
        }
        for v in [1, 999_999_999_999_999, MOST_RATE] {
            assert_eq!(BitRate(v).to_string().parse::<BitRate>().unwrap(), BitRate(v));
        }
        for v in [(1 << 52) + 1, (1 << 53) + 1, 9_199_999_999_999_999_999] {
            assert_eq!(Duration(v).to_string().parse::<Duration>().unwrap(), Duration(v));
        }
        let bytes = |json: &str| serde_json::from_str::<Bytes>(json).map_err(|e| e.to_string());
        let rate = |json: &str| serde_json::from_str::<BitRate>(json).map_err(|e| e.to_string());
        assert_eq!(bytes("9000000000000000"), Ok(Bytes(MOST_BYTES)));
        assert!(bytes("9000000000000001").unwrap_err().contains("at most 9 PB"));
        assert!(bytes("9007199254740993").unwrap_err().contains("at most 9 PB"));
        assert!(rate("9223372036854775807").unwrap_err().contains("at most 1 Pbit/s"));
        assert!(rate("1e300").unwrap_err().contains("out of range"));
        assert!(rate("-1e-300").unwrap_err().contains("out of range"));
    }

    #[test]
    fn refusals() {
        for bad in ["-5mbit", "five", "5 furlongs", "1e99mbit", ""] {
            assert!(bad.parse::<BitRate>().is_err(), "{bad}");
        }
        for bad in ["21", "2.5p", "-1p", "5mbit"] {
            assert!(bad.parse::<Limit>().is_err(), "{bad}");
        }
        assert!("1.5".parse::<Prob>().is_err() && "101%".parse::<Prob>().is_err());
    }

    #[test]
    fn transmission_times() {
        // 1500 B take 2.4 ms at 5 Mbit/s, and 50 B take 20 us at 20 Mbit/s
        assert_eq!(BitRate(5_000_000).time_for(1500), Duration::from_micros(2400));
        assert_eq!(BitRate(20_000_000).time_for(50), Duration::from_micros(20));
        assert_eq!(BitRate(5_000_000).bytes_in(Duration::from_secs(600)), 375_000_000);
        assert_eq!(BitRate(0).time_for(1), Duration::MAX);
    }
}
