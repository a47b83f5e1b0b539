//! Quantities written as text (a number and a unit): how they are parsed, their serde implementation and JSON Schema.

use crate::decimal::Decimal;
use crate::shown;
use schemars::{Schema, json_schema};
use serde::de;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

/// A string that is not a valid quantity, and how a valid one is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    given: String,
    valid: String,
}

impl ParseError {
    /// Creates the error for the user's string `given`. `valid` completes the message "expected ...".
    pub fn new(given: impl Into<String>, valid: impl Into<String>) -> Self {
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

/// Units of a quantity: the spellings of each unit, and its value.
pub(crate) type Units = [(&'static [&'static str], u64)];

/// Returns the value of a unit; `None` for an unknown spelling.
pub(crate) fn unit_value(units: &Units, spelling: &str) -> Option<u64> {
    units.iter().find(|(spellings, _)| spellings.contains(&spelling)).map(|(_, value)| *value)
}

/// Regular expression of the numbers that [`split_number`] reads. The expression also matches numbers that are too
/// large for this function.
const NUMBER: &str = r"([0-9]+\.?[0-9]*|\.[0-9]+)";
/// Regular expression of the whole numbers that [`split_number`] reads.
const WHOLE_NUMBER: &str = r"([0-9]+(\.0*)?|\.0+)";

/// Returns a regular expression for a number with one of `units`; `suffix` is an expression that follows the unit. Like
/// [`split_number`], it accepts white space at both ends and in front of the unit.
pub(crate) fn with_unit<'a>(units: impl IntoIterator<Item = &'a str>, suffix: &str) -> String {
    let units: Vec<&str> = units.into_iter().collect();
    format!(r"^\s*{NUMBER}\s*({}){suffix}\s*$", units.join("|"))
}

/// Returns the regular expression for a whole number with one of `units`.
pub(crate) fn whole_with_unit(units: &[&str]) -> String {
    format!(r"^\s*{WHOLE_NUMBER}\s*({})\s*$", units.join("|"))
}

/// A value written in a scenario as a string; [`text_serde!`](crate::text_serde) implements serde and JSON Schema for it.
pub trait Text: fmt::Display + FromStr<Err = ParseError> {
    /// Text that follows "expected" in an error message.
    const VALID: &'static str;
    /// The function that converts a whole number without a unit; `None` if this type requires a unit.
    const WHOLE: Option<fn(u64) -> Result<Self, ParseError>> = None;
    /// Returns the regular expression (ECMA-262) that matches every valid text. It also matches numbers out of range.
    fn pattern() -> String;
}

/// A serde visitor that reads a [`Text`] from its text form or, if its type allows it, from a bare number.
#[doc(hidden)]
pub struct TextVisitor<T>(pub PhantomData<T>);

impl<T: Text> TextVisitor<T> {
    fn integer<E: de::Error>(v: i128) -> Result<T, E> {
        let Some(read) = T::WHOLE else { return Err(E::custom(format!("{v} has no unit; expected {}", T::VALID))) };
        let v = u64::try_from(v).map_err(|_| E::custom(format!("{v} is negative; expected {}", T::VALID)))?;
        read(v).map_err(E::custom)
    }
}

impl<T: Text> de::Visitor<'_> for TextVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::VALID)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
    fn visit_i64<E: de::Error>(self, v: i64) -> Result<T, E> {
        Self::integer(v.into())
    }
    fn visit_u64<E: de::Error>(self, v: u64) -> Result<T, E> {
        Self::integer(v.into())
    }
    fn visit_f64<E: de::Error>(self, v: f64) -> Result<T, E> {
        match T::WHOLE {
            None => Err(E::custom(format!("{v} has no unit; expected {}", T::VALID))),
            Some(read) if (0.0..1e19).contains(&v) => read((v + 0.5) as u64).map_err(E::custom),
            Some(_) => Err(E::custom(format!("{v} is out of range; expected {}", T::VALID))),
        }
    }
}

/// Returns the JSON Schema of a [`Text`].
#[doc(hidden)]
pub fn text_schema<T: Text>() -> Schema {
    match T::WHOLE {
        None => json_schema!({ "type": "string", "description": T::VALID, "pattern": T::pattern() }),
        Some(_) => json_schema!({
            "description": T::VALID,
            "anyOf": [{ "type": "string", "pattern": T::pattern() }, { "type": "integer", "minimum": 0 }]
        }),
    }
}

/// Implements serde and JSON Schema for a [`Text`].
#[macro_export]
macro_rules! text_serde {
    ($Type:ident) => {
        impl serde::Serialize for $Type {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $Type {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                d.deserialize_any($crate::TextVisitor(std::marker::PhantomData))
            }
        }
        impl schemars::JsonSchema for $Type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($Type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::text_schema::<$Type>()
            }
        }
    };
}

pub(crate) use text_serde;
