//! Expected measures of a scenario: `[expect]`, evaluated by `bloatlab check`.
//!
//! ```text
//! [expect]
//! "apps.call.voip.mos" = ">= 4.0"
//! "links.up.sojourn_ms.p99" = "< 50"
//! "links.up.utilisation" = "0.9 .. 1"
//! ```
//!
//! Keys are dotted paths of a summary (docs/results.md), in which `*` matches any name. Expectations do not affect the run.

use schemars::JsonSchema;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use units::shown;

const VALID: &str = "a comparison such as \">= 4.0\", \"< 50\", \"== 0\" or \"0.9 .. 1\"";

/// A comparison with a number or a range, written as `>= 4`, `< 50`, `== 0` or `0.9 .. 1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expect {
    /// At least this number.
    AtLeast(f64),
    /// At most this number.
    AtMost(f64),
    /// More than this number.
    Above(f64),
    /// Less than this number.
    Below(f64),
    /// Exactly this number.
    Equal(f64),
    /// At least the first number and at most the second.
    Between(f64, f64),
}

impl Expect {
    /// Returns true if a measured value meets the expectation. NaN meets none.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(x) => value >= x,
            Self::AtMost(x) => value <= x,
            Self::Above(x) => value > x,
            Self::Below(x) => value < x,
            Self::Equal(x) => value == x,
            Self::Between(low, high) => (low..=high).contains(&value),
        }
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(x) => write!(f, ">= {x}"),
            Self::AtMost(x) => write!(f, "<= {x}"),
            Self::Above(x) => write!(f, "> {x}"),
            Self::Below(x) => write!(f, "< {x}"),
            Self::Equal(x) => write!(f, "== {x}"),
            Self::Between(low, high) => write!(f, "{low} .. {high}"),
        }
    }
}

impl FromStr for Expect {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("\"{}\" is not valid; expected {VALID}", shown(text));
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite()).ok_or_else(bad);
        if let Some((low, high)) = text.split_once("..") {
            let (low, high) = (number(low)?, number(high)?);
            return if low <= high { Ok(Self::Between(low, high)) } else { Err(bad()) };
        }
        let text = text.trim();
        // longer signs come first, so that ">=" is not read as ">"
        let sign = [">=", "<=", "==", ">", "<"].into_iter().find(|sign| text.starts_with(sign)).ok_or_else(bad)?;
        let x = number(&text[sign.len()..])?;
        Ok(match sign {
            ">=" => Self::AtLeast(x),
            "<=" => Self::AtMost(x),
            "==" => Self::Equal(x),
            ">" => Self::Above(x),
            _ => Self::Below(x),
        })
    }
}

impl Serialize for Expect {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Expect {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Expect;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(VALID)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Expect, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, _: A) -> Result<Expect, A::Error> {
                let hint = "a path stands in quotes (\"apps.call.voip.mos\")";
                Err(de::Error::custom(format!("a table is not valid; expected {VALID}; {hint}")))
            }
        }
        d.deserialize_any(V)
    }
}

impl JsonSchema for Expect {
    fn schema_name() -> Cow<'static, str> {
        "Expect".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": VALID,
            "pattern": "^ *((>=|<=|==|<|>) *-?[0-9.eE+-]+|-?[0-9.eE+-]+ *\\.\\. *-?[0-9.eE+-]+) *$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_in_its_range_as_its_sign_says() {
        // the array shows which of the values 1, 2 and 3 meet the expectation
        for (text, held) in [
            (">= 2", [false, true, true]),
            ("<= 2", [true, true, false]),
            ("> 2", [false, false, true]),
            ("< 2", [true, false, false]),
            ("== 2", [false, true, false]),
            ("2 .. 3", [false, true, true]),
            ("1 .. 2", [true, true, false]),
        ] {
            let expect: Expect = text.parse().unwrap();
            assert_eq!([1.0, 2.0, 3.0].map(|x| expect.holds(x)), held, "{text}");
            assert!(!expect.holds(f64::NAN), "{text}");
        }
    }

    #[test]
    fn comparisons_read_and_print() {
        for (text, expect, back) in [
            (">= 4.0", Expect::AtLeast(4.0), ">= 4"),
            ("<50", Expect::Below(50.0), "< 50"),
            ("== 0", Expect::Equal(0.0), "== 0"),
            (" 0.9..1 ", Expect::Between(0.9, 1.0), "0.9 .. 1"),
            ("> -1e3", Expect::Above(-1000.0), "> -1000"),
        ] {
            assert_eq!(text.parse::<Expect>(), Ok(expect), "{text}");
            assert_eq!(expect.to_string(), back);
            assert_eq!(back.parse::<Expect>(), Ok(expect));
        }
        for bad in ["", "4", "=> 4", ">= four", ">= nan", ">= inf", "2 .. 1", "1 ..", ">= 50ms"] {
            assert!(bad.parse::<Expect>().unwrap_err().contains("expected a comparison"), "{bad}");
        }
    }
}
