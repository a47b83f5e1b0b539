//! Converts a tree to typed data, with errors in terms of the scenario file.

use crate::nearest::{hint, unknown_of};
use crate::parse::one_line;
use serde::de::DeserializeOwned;
use serde_json::Value;
use units::{Problem, shown};

/// Converts a tree to typed data.   Errors: an unknown key or keyword (with the nearest known name), a missing key, an invalid
/// value.
pub(crate) fn typed<T: DeserializeOwned>(tree: Value) -> Result<T, Problem> {
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

/// Replaces serde's wording with the wording of the scenario file: "unknown key", the nearest name, the list of valid
/// names.
fn explain(path: &str, message: &str) -> Problem {
    for (start, what) in [("unknown field `", "key"), ("unknown variant `", "keyword")] {
        let Some(rest) = message.strip_prefix(start) else { continue };
        // the name comes from the user and may itself contain this text of serde, so the name ends where the text last
        // occurs
        let ends = ["`, expected ", "`, there are no "].iter().filter_map(|end| rest.rfind(end)).max();
        let Some((given, rest)) = ends.map(|at| rest.split_at(at)) else { continue };
        let known: Vec<&str> = rest.split('`').skip(2).step_by(2).collect();
        let name = shown(given);
        let path =
            path.strip_suffix(&name).and_then(|p| p.strip_suffix('.').or((p.is_empty()).then_some(p))).unwrap_or(path);
        if let Some(place) = elsewhere(path, given, &known) {
            return Problem::new(path, format!("unknown {what} \"{name}\"; did you mean {place}?"));
        }
        return Problem::new(path, unknown_of(what, given, "valid", &known));
    }
    if let Some(name) = message.strip_prefix("missing field `").and_then(|m| m.split('`').next()) {
        return Problem::new(path, format!("the key \"{name}\" is missing"));
    }
    for start in ["invalid type: ", "invalid value: ", "invalid length "] {
        let Some((given, valid)) = message.strip_prefix(start).and_then(|m| m.rsplit_once(", expected ")) else {
            continue;
        };
        let scalar = ["string ", "integer ", "floating point "].iter().any(|kind| given.starts_with(kind));
        let given = if start == "invalid length " { format!("a list of {given}") } else { as_given(given) };
        let valid = as_valid(valid);
        let example = if scalar && valid == "a list" { format!(", such as [{given}]") } else { String::new() };
        return Problem::new(path, format!("{given} is not valid; expected {valid}{example}"));
    }
    Problem::new(path, one_line(message))
}

/// Suggests where to write a name that is invalid at `path`. There are two cases: a key of a service flow that was
/// written in the modem's own table, and a name in `queue` that resembles a discipline in tc syntax. Returns `None` for
/// any other name, and for a name that resembles one of the names that are valid at `path`.
fn elsewhere(path: &str, given: &str, known: &[&str]) -> Option<String> {
    if !hint(given, known).is_empty() {
        return None;
    }
    let last = path.rsplit('.').next()?;
    if last == "docsis" || last == "docsis31" {
        let flow = schemars::schema_for!(docsis::ShaperParams);
        return flow.get("properties")?.get(given).map(|_| format!("{last}.flow.{given}"));
    }
    let tc: Vec<&str> = qdisc::QDISCS.iter().flat_map(|q| qdisc::tc::synopses(q.name)).map(|(name, _)| name).collect();
    let near = crate::nearest::as_near(given, &tc);
    (last == "queue" && !near.is_empty())
        .then(|| near.iter().map(|name| format!("queue = \"{name}\"")).collect::<Vec<_>>().join(" or "))
}

/// Rewords serde's description of the value that was read.
fn as_given(given: &str) -> String {
    match given {
        "map" => "a table".to_owned(),
        "sequence" => "a list".to_owned(),
        "null" | "unit value" | "Option value" => "null".to_owned(),
        "unit variant" => "a keyword alone".to_owned(),
        _ => {
            // serde writes integer `5`, floating point `0.5`, boolean `true` and string "text"
            let kinds = ["integer ", "floating point ", "boolean ", "string ", "character "];
            let value = kinds.iter().find_map(|kind| given.strip_prefix(kind)).unwrap_or(given);
            let value = value.strip_prefix('`').and_then(|v| v.strip_suffix('`')).unwrap_or(value);
            // JSON's reader turns an integer of more than 64 bits into a floating-point number, so its digits are lost
            let is_large =
                given.starts_with("floating point ") && value.parse().is_ok_and(|x: f64| x >= i64::MAX as f64);
            if is_large { format!("a number beyond {}", i64::MAX) } else { shown(value) }
        }
    }
}

/// Rewords serde's description of the expected value.
fn as_valid(valid: &str) -> String {
    // TOML's integers have 64 bits with a sign, so messages name no greater limit
    let most = |bits: u32| format!("a whole number from 0 to {}", (1u64 << bits) - 1);
    match valid {
        "u8" => most(8),
        "u16" => most(16),
        "u32" => most(32),
        "usize" => most(usize::BITS.min(63)),
        "u64" => most(63),
        "f64" | "f32" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" | "str" | "string" => "a string".to_owned(),
        "a sequence" => "a list".to_owned(),
        "string or map" => "a keyword, or a table of one key".to_owned(),
        "map with a single key" => "a table of one key".to_owned(),
        "variant identifier" | "unit variant" | "field identifier" => "a keyword".to_owned(),
        "unit" => "nothing after the keyword".to_owned(),
        "a map" | "newtype variant" => "a table".to_owned(),
        _ if valid.starts_with("struct ") || valid.contains("struct variant") => "a table".to_owned(),
        _ if valid == "enum" || valid.starts_with("enum ") => "a keyword, or a table of one key".to_owned(),
        _ if valid.starts_with("a tuple of size ") || valid.starts_with("an array of length ") => {
            format!("a list of {}", valid.rsplit(' ').next().unwrap_or_default())
        }
        _ => one_line(valid),
    }
}
