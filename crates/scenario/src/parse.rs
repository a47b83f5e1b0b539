//! Parses text into a tree of tables and values: TOML or JSON.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt::{Formatter, Result as Written};
use units::{Problem, shown};

/// The format of a scenario's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML 1.
    Toml,
    /// JSON.
    Json,
}

/// Parses text into a tree of tables and values. A byte order mark at the beginning is ignored.
///
/// Errors: a syntax error or a key given twice, with its line; a value that no parameter can have.
pub fn parse(text: &str, format: Format) -> Result<Value, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match format {
        Format::Toml => {
            let table = toml::from_str::<toml::Table>(text).map_err(|e| {
                let line = e.span().map(|s| text[..s.start.min(text.len())].matches('\n').count() + 1);
                let at = line.map(|l| format!("line {l}: ")).unwrap_or_default();
                Problem::new("", format!("{at}not valid TOML: {}", shown(&plain_words(e.message()))))
            })?;
            plain(toml::Value::Table(table))
        }
        Format::Json => serde_json::from_str(text).map(|Unique(tree)| tree).map_err(|e| {
            let message = one_line(&e.to_string());
            let what = message.rsplit_once(" at line ").map_or(&*message, |(what, _)| what);
            let what = if e.is_eof() { "the text ends too early" } else { what };
            Problem::new("", format!("line {}: not valid JSON: {}", e.line(), shown(what)))
        }),
    }
}

/// A tree that is refused if a table has a key twice. `serde_json` itself would keep the last value of the key.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Tree;
        impl<'de> Visitor<'de> for Tree {
            type Value = Value;
            fn expecting(&self, f: &mut Formatter<'_>) -> Written {
                f.write_str("a value")
            }
            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }
            fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
                Ok(b.into())
            }
            fn visit_i64<E>(self, n: i64) -> Result<Value, E> {
                Ok(n.into())
            }
            fn visit_u64<E>(self, n: u64) -> Result<Value, E> {
                Ok(n.into())
            }
            fn visit_f64<E>(self, x: f64) -> Result<Value, E> {
                Ok(x.into())
            }
            fn visit_str<E>(self, text: &str) -> Result<Value, E> {
                Ok(text.into())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
                let mut list = Vec::new();
                while let Some(Unique(item)) = seq.next_element()? {
                    list.push(item);
                }
                Ok(Value::Array(list))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                let mut table = Map::new();
                while let Some(key) = map.next_key::<String>()? {
                    if table.contains_key(&key) {
                        return Err(A::Error::custom(format!("duplicate key \"{key}\"")));
                    }
                    let Unique(value) = map.next_value()?;
                    table.insert(key, value);
                }
                Ok(Value::Object(table))
            }
        }
        d.deserialize_any(Tree).map(Self)
    }
}

/// Returns the message for an integer that TOML cannot express.
pub(crate) fn too_large() -> String {
    format!("an integer beyond {}", i64::MAX)
}

/// Returns the TOML parser's message on one line. Replaces a message about an integer out of range, because that
/// message contains names of Rust types.
fn plain_words(message: &str) -> String {
    let out_of_range = message.starts_with("invalid type: integer") || message.contains("value was too large");
    if out_of_range { too_large() } else { one_line(message) }
}

/// Returns the tree of a TOML document.   Errors: a number that is not finite; a date.
fn plain(value: toml::Value) -> Result<Value, Problem> {
    let bad =
        |given: &str| Err(Problem::new("", format!("{given} is not valid; expected a finite number or a string")));
    Ok(match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(n) => n.into(),
        toml::Value::Float(x) => match serde_json::Number::from_f64(x) {
            Some(number) => Value::Number(number),
            None => return bad(&x.to_string()),
        },
        toml::Value::Boolean(b) => b.into(),
        toml::Value::Datetime(date) => return bad(&date.to_string()),
        toml::Value::Array(list) => {
            let item = |(i, v): (usize, toml::Value)| plain(v).map_err(|p| p.under(&i.to_string()));
            Value::Array(list.into_iter().enumerate().map(item).collect::<Result<_, _>>()?)
        }
        toml::Value::Table(table) => {
            let entry = |(key, v): (String, toml::Value)| match plain(v) {
                Ok(v) => Ok((key, v)),
                Err(p) => Err(p.under(&key)),
            };
            Value::Object(table.into_iter().map(entry).collect::<Result<_, Problem>>()?)
        }
    })
}

pub(crate) fn is_toml(value: &str) -> bool {
    toml::from_str::<Value>(&format!("v = {value}")).is_ok()
}

pub(crate) fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}
