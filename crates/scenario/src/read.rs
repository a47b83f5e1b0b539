//! From text to typed data, with errors that a user can act on.

use crate::Scenario;
use crate::nearest::nearest;
use serde::de::DeserializeOwned;
use serde_json::Value;
use units::Problem;

/// The language of a scenario text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML 1.
    Toml,
    /// JSON.
    Json,
}

/// Text to a tree of tables and values.   Errors: a syntax error, with its line.
pub fn parse(text: &str, format: Format) -> Result<Value, Problem> {
    match format {
        Format::Toml => toml::from_str::<Value>(text).map_err(|e| {
            let line = e.span().map(|s| text[..s.start.min(text.len())].matches('\n').count() + 1);
            let at = line.map(|l| format!("line {l}: ")).unwrap_or_default();
            Problem::new("", format!("{at}not valid TOML: {}", one_line(e.message())))
        }),
        Format::Json => serde_json::from_str(text)
            .map_err(|e| Problem::new("", format!("line {}: not valid JSON: {}", e.line(), one_line(&e.to_string())))),
    }
}

/// Sets the value at a dotted path, making tables on the way. The value is read as TOML (`5`, `true`, `"5mbit"`,
/// `{ limit = "21p" }`), and as a plain text if it is not TOML. Numbers between dots index lists.
pub fn set(tree: &mut Value, path: &str, value: &str) -> Result<(), Problem> {
    let parsed = toml::from_str::<Value>(&format!("v = {value}"))
        .ok()
        .and_then(|mut t| t.get_mut("v").map(Value::take))
        .unwrap_or_else(|| Value::String(value.to_owned()));
    if path.is_empty() || path.split('.').any(str::is_empty) {
        return Err(Problem::new("", format!("--set needs path=value with a dotted path, not \"{path}={value}\"")));
    }
    let parts = split_path(path);
    crate::choice::enter(tree, &parts, value)?;
    let mut place = tree;
    for part in parts {
        if let Value::Array(list) = place {
            let n = list.len();
            place = part
                .parse::<usize>()
                .ok()
                .and_then(|i| list.get_mut(i))
                .ok_or_else(|| Problem::new(path, format!("\"{part}\" is not an index below {n}")))?;
            continue;
        }
        if place.is_null() {
            *place = Value::Object(serde_json::Map::new());
        }
        let Value::Object(map) = place else {
            return Err(Problem::new(path, format!("\"{part}\" cannot be set inside a plain value")));
        };
        place = map.entry(part).or_insert(Value::Null);
    }
    *place = parsed;
    Ok(())
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
        let path = e.path().to_string().replace('[', ".").replace(']', "");
        explain(if path == "." { "" } else { &path }, &e.into_inner().to_string())
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

/// Turns serde's wording into ours: "unknown key", the nearest name, the list of what is valid.
fn explain(path: &str, message: &str) -> Problem {
    let message = one_line(message);
    for (start, what) in [("unknown field `", "key"), ("unknown variant `", "word")] {
        let Some(rest) = message.strip_prefix(start) else { continue };
        let Some((given, rest)) = rest.split_once('`') else { continue };
        let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
        let hint = nearest(given, &known).map(|n| format!("; did you mean \"{n}\"?")).unwrap_or_default();
        let path =
            path.strip_suffix(given).and_then(|p| p.strip_suffix('.').or((p.is_empty()).then_some(p))).unwrap_or(path);
        return Problem::new(path, format!("unknown {what} \"{given}\"{hint} (valid: {})", known.join(", ")));
    }
    if let Some(name) = message.strip_prefix("missing field `").and_then(|m| m.split('`').next()) {
        return Problem::new(path, format!("the key \"{name}\" is missing"));
    }
    Problem::new(path, message.replace("expected u64", "expected a whole number from 0 on"))
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}
