//! Parses text into a tree of tables and values: TOML or JSON.

use serde_json::Value;
use units::{Problem, shown};

/// The format of a scenario's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML 1.
    Toml,
    /// JSON.
    Json,
}

/// Parses text into a tree of tables and values.   Errors: a syntax error, with its line; a value that no parameter can have.
pub fn parse(text: &str, format: Format) -> Result<Value, Problem> {
    match format {
        Format::Toml => {
            let table = toml::from_str::<toml::Table>(text).map_err(|e| {
                let line = e.span().map(|s| text[..s.start.min(text.len())].matches('\n').count() + 1);
                let at = line.map(|l| format!("line {l}: ")).unwrap_or_default();
                Problem::new("", format!("{at}not valid TOML: {}", shown(&plain_words(e.message()))))
            })?;
            plain(toml::Value::Table(table))
        }
        Format::Json => serde_json::from_str(text).map_err(|e| {
            let message = one_line(&e.to_string());
            let what = message.split(" at line ").next().unwrap_or_default();
            let what = if e.is_eof() { "the text ends too early" } else { what };
            Problem::new("", format!("line {}: not valid JSON: {}", e.line(), shown(what)))
        }),
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
