//! From text to typed data, with errors that a user can act on.

use crate::Scenario;
use crate::nearest::unknown_of;
use serde::de::DeserializeOwned;
use serde_json::Value;
use units::{Problem, shown};

/// The language of a scenario text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML 1.
    Toml,
    /// JSON.
    Json,
}

/// Text to a tree of tables and values.   Errors: a syntax error, with its line; a value that no parameter can have.
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

/// The TOML reader's own types and expectations stay out of its message where an integer does not fit.
fn plain_words(message: &str) -> String {
    let too_large = message.starts_with("invalid type: integer") || message.contains("value was too large");
    if too_large { format!("an integer beyond {}", i64::MAX) } else { one_line(message) }
}

/// The tree of a TOML document.   Errors: a number that is not finite; a date.
fn plain(value: toml::Value) -> Result<Value, Problem> {
    let bad = |given: &str| Err(Problem::new("", format!("{given} is not valid; expected a finite number or a text")));
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

/// Sets the value at a dotted path, making tables on the way. The value is read as TOML (`5`, `true`, `"5mbit"`,
/// `{ limit = "21p" }`), and as a plain text if it is not TOML. Numbers between dots index lists.
pub fn set(tree: &mut Value, path: &str, value: &str) -> Result<(), Problem> {
    let parsed = match parse(&format!("v = {value}"), Format::Toml) {
        Ok(Value::Object(mut one)) if one.len() == 1 => one.remove("v").unwrap_or_default(),
        // TOML, but no value of a scenario
        Err(problem) if !problem.path.is_empty() => return Err(Problem::new(shown(path), problem.message)),
        _ => Value::String(value.to_owned()),
    };
    if path.is_empty() || path.split('.').any(str::is_empty) {
        return Err(Problem::new(
            "",
            format!("--set needs path=value with a dotted path, not \"{}={}\"", shown(path), shown(value)),
        ));
    }
    let parts = split_path(path);
    crate::choice::enter(tree, &parts, value)?;
    let mut place = tree;
    for part in parts {
        if let Value::Array(list) = place {
            let n = list.len();
            place =
                part.parse::<usize>().ok().and_then(|i| list.get_mut(i)).ok_or_else(|| {
                    Problem::new(shown(path), format!("\"{}\" is not an index below {n}", shown(&part)))
                })?;
            continue;
        }
        if place.is_null() {
            *place = Value::Object(serde_json::Map::new());
        }
        let Value::Object(map) = place else {
            return Err(Problem::new(shown(path), format!("\"{}\" cannot be set inside a plain value", shown(&part))));
        };
        place = map.entry(part).or_insert(Value::Null);
    }
    *place = parsed;
    Ok(())
}

/// Writes queues that are texts (`"codel target 5ms"`, `"sfq_hss + pie"`) as the tables that they mean, for one who shows a tree
/// or changes it. A text that means nothing stays.
pub fn queues_as_tables(tree: &mut Value) {
    let links = tree.get_mut("link").and_then(Value::as_object_mut);
    for queue in links.into_iter().flatten().filter_map(|(_, link)| link.get_mut("queue")) {
        if let Some(table) = queue.as_str().and_then(qdisc::tc::table) {
            *queue = table;
        }
    }
}

/// Whether a text is a value in TOML as it stands.
pub(crate) fn is_toml(value: &str) -> bool {
    toml::from_str::<Value>(&format!("v = {value}")).is_ok()
}

/// Splits a dotted path; a part with dots of its own is quoted (`tcp."ns2-cubic-2.6.22".mss`).
fn split_path(path: &str) -> Vec<String> {
    let (mut parts, mut part, mut quoted) = (Vec::new(), String::new(), false);
    for c in path.chars() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(std::mem::take(&mut part)),
            _ => part.push(c),
        }
    }
    parts.push(part);
    parts
}

/// Tree to typed data.   Errors: an unknown key or word (with the nearest known), a missing key, a bad value.
pub fn typed<T: DeserializeOwned>(tree: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(tree).map_err(|e| {
        use serde_path_to_error::Segment::{Enum, Map, Seq, Unknown};
        let parts = e.path().iter().filter_map(|segment| match segment {
            Seq { index } => Some(index.to_string()),
            Map { key } => Some(shown(key)),
            Enum { variant } => Some(shown(variant)),
            Unknown => None,
        });
        let path = parts.collect::<Vec<_>>().join(".");
        explain(&path, &e.into_inner().to_string())
    })
}

/// The whole way: text, overrides (path, value), typed, validated.
///
/// Errors: everything that is wrong, as far as it can be known at once: one problem while the text cannot be read, all
/// of them once it can.
pub fn scenario(text: &str, format: Format, sets: &[(String, String)]) -> Result<Scenario, Vec<Problem>> {
    let mut tree = parse(text, format).map_err(|p| vec![p])?;
    for (path, value) in sets {
        set(&mut tree, path, value).map_err(|p| vec![p])?;
    }
    let scenario: Scenario = typed(tree).map_err(|p| vec![p])?;
    let problems = scenario.validate();
    if problems.is_empty() { Ok(scenario) } else { Err(problems) }
}

/// Turns serde's wording into the user's: "unknown key", the nearest name, the list of what is valid.
fn explain(path: &str, message: &str) -> Problem {
    for (start, what) in [("unknown field `", "key"), ("unknown variant `", "word")] {
        let Some(rest) = message.strip_prefix(start) else { continue };
        // the name may hold anything; what follows it is ours
        let ends = ["`, expected ", "`, there are no "].iter().filter_map(|end| rest.rfind(end)).max();
        let Some((given, rest)) = ends.map(|at| rest.split_at(at)) else { continue };
        let known: Vec<&str> = rest.split('`').skip(2).step_by(2).collect();
        let name = shown(given);
        let path =
            path.strip_suffix(&name).and_then(|p| p.strip_suffix('.').or((p.is_empty()).then_some(p))).unwrap_or(path);
        return Problem::new(path, unknown_of(what, given, "valid", &known));
    }
    if let Some(name) = message.strip_prefix("missing field `").and_then(|m| m.split('`').next()) {
        return Problem::new(path, format!("the key \"{name}\" is missing"));
    }
    for start in ["invalid type: ", "invalid value: ", "invalid length "] {
        let Some((given, valid)) = message.strip_prefix(start).and_then(|m| m.rsplit_once(", expected ")) else {
            continue;
        };
        let given = if start == "invalid length " { format!("a list of {given}") } else { as_given(given) };
        return Problem::new(path, format!("{given} is not valid; expected {}", as_valid(valid)));
    }
    Problem::new(path, one_line(message))
}

/// What was read, as serde names it, in the user's words.
fn as_given(given: &str) -> String {
    match given {
        "map" => "a table".to_owned(),
        "sequence" => "a list".to_owned(),
        "null" | "unit value" | "Option value" => "null".to_owned(),
        _ => {
            // integer `5`, floating point `0.5`, boolean `true`; string "text"
            let kinds = ["integer ", "floating point ", "boolean ", "string ", "character "];
            let value = kinds.iter().find_map(|kind| given.strip_prefix(kind)).unwrap_or(given);
            shown(value.strip_prefix('`').and_then(|v| v.strip_suffix('`')).unwrap_or(value))
        }
    }
}

/// What was expected, as serde names it, in the user's words.
fn as_valid(valid: &str) -> String {
    let most = |bits: u32| format!("a whole number from 0 to {}", (1u64 << bits) - 1);
    match valid {
        "u8" => most(8),
        "u16" => most(16),
        "u32" => most(32),
        "u64" | "usize" => "a whole number from 0 on".to_owned(),
        "f64" | "f32" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" | "str" | "string" => "a text".to_owned(),
        "a sequence" => "a list".to_owned(),
        "string or map" => "a word, or a table of one key".to_owned(),
        "map with a single key" => "a table of one key".to_owned(),
        "variant identifier" | "unit variant" | "field identifier" => "a word".to_owned(),
        "unit" => "nothing after the word".to_owned(),
        _ if valid == "a map" || valid.starts_with("struct ") || valid.contains("struct variant") => {
            "a table".to_owned()
        }
        _ if valid == "enum" || valid.starts_with("enum ") => "a word, or a table of one key".to_owned(),
        _ if valid.starts_with("a tuple of size ") || valid.starts_with("an array of length ") => {
            format!("a list of {}", valid.rsplit(' ').next().unwrap_or_default())
        }
        _ => one_line(valid),
    }
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}
