//! The text form of a quantity: a number and a unit; serde and JSON Schema by it.

use crate::decimal::Decimal;
use crate::shown;
use std::fmt;

/// A text that is not the quantity it should be: what was given and what would be valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    given: String,
    valid: String,
}

impl ParseError {
    /// `given` is the text as the user wrote it; `valid` completes "expected ...".
    pub(crate) fn new(given: impl Into<String>, valid: impl Into<String>) -> Self {
        Self { given: given.into(), valid: valid.into() }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is not valid; expected {}", shown(&self.given), self.valid)
    }
}

impl std::error::Error for ParseError {}

/// Splits `"5.5 mbit"` into 5.5 and `mbit`.
pub(crate) fn split_number<'a>(s: &'a str, valid: &str) -> Result<(Decimal, &'a str), ParseError> {
    let t = s.trim();
    let end = t.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(t.len());
    let (number, unit) = t.split_at(end);
    match Decimal::parse(number) {
        Some(v) => Ok((v, unit.trim())),
        None => Err(ParseError::new(s, valid)),
    }
}

/// Serde and JSON Schema for a type whose text form is `Display`/`FromStr`; `integer` types also accept a bare number.
macro_rules! text_serde {
    ($t:ty, $what:literal, $pattern:literal, no_integer) => {
        text_serde!(@common $t, $what, {
            fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<$t, E> {
                Err(E::custom(format!("{v} has no unit; expected {}", $what)))
            }
            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<$t, E> {
                Err(E::custom(format!("{v} has no unit; expected {}", $what)))
            }
            fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<$t, E> {
                Err(E::custom(format!("{v} has no unit; expected {}", $what)))
            }
        }, serde_json::json_schema_text($what, $pattern));
    };
    ($t:ty, $what:literal, $pattern:literal, integer) => {
        text_serde!(@common $t, $what, {
            fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<$t, E> {
                let v = u64::try_from(v).map_err(|_| E::custom(format!("{v} is negative; expected {}", $what)))?;
                self.visit_u64(v)
            }
            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<$t, E> {
                <$t>::from_integer(v).map_err(E::custom)
            }
            fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<$t, E> {
                if (0.0..1e19).contains(&v) { <$t>::from_integer((v + 0.5) as u64).map_err(E::custom) }
                else { Err(E::custom(format!("{v} is out of range; expected {}", $what))) }
            }
        }, serde_json::json_schema_text_or_integer($what, $pattern));
    };
    (@common $t:ty, $what:literal, {$($numbers:item)*}, $schema:expr) => {
        impl serde::Serialize for $t {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $t {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                struct V;
                impl serde::de::Visitor<'_> for V {
                    type Value = $t;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($what)
                    }
                    fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<$t, E> {
                        v.parse().map_err(E::custom)
                    }
                    $($numbers)*
                }
                d.deserialize_any(V)
            }
        }
        impl schemars::JsonSchema for $t {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($t).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                use $crate::text::schemas as serde_json;
                $schema
            }
        }
    };
}
pub(crate) use text_serde;

/// The JSON Schemas of text quantities.
pub(crate) mod schemas {
    pub(crate) fn json_schema_text(what: &str, pattern: &str) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": what, "pattern": pattern })
    }
    pub(crate) fn json_schema_text_or_integer(what: &str, pattern: &str) -> schemars::Schema {
        schemars::json_schema!({
            "description": what,
            "anyOf": [{ "type": "string", "pattern": pattern }, { "type": "integer", "minimum": 0 }]
        })
    }
}
