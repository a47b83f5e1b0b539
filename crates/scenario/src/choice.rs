//! Handles `--set` if its path leads into a link's `queue` or an application's `traffic`. Both are tables with a single
//! key, which names the kind (`codel` in `queue.codel.target`).

use serde_json::{Map, Value};
use units::{Problem, shown};

/// Prepares the tree for `--set path=value` if `path` leads into a one-key table (`link.up.queue.codel.target`).
///
/// Replaces a keyword with its table (`"codel"` with `codel = {}`), and a string (`"codel target 5ms"`) with the table
/// that it describes, so that a parameter can be overridden.
///
/// Errors: `path` contains a kind other than the one in the tree, or a name that is not a kind. The message shows the
/// correct `--set` or the valid kinds.
pub(crate) fn enter(tree: &mut Value, path: &[String], value: &str) -> Result<(), Problem> {
    let [root, name, key, chosen, rest @ ..] = path else { return Ok(()) };
    let known: Vec<&str> = match (root.as_str(), key.as_str()) {
        ("link", "queue") => qdisc::QDISCS.iter().map(|q| q.name).collect(),
        ("app", "traffic") => traffic::APPS.iter().map(|a| a.name).collect(),
        _ => return Ok(()),
    };
    let Some(place) = tree.get_mut(root).and_then(|t| t.get_mut(name)).and_then(|t| t.get_mut(key)) else {
        return Ok(());
    };
    let parsed = place.as_str().and_then(|text| meaning(key, text));
    if let Some(table) = parsed.as_ref().filter(|table| table.get(chosen).is_some()) {
        *place = table.clone();
        return Ok(());
    }
    let present = match parsed.as_ref().unwrap_or(place) {
        Value::String(word) => word.clone(),
        Value::Object(one) if one.len() == 1 && !one.contains_key(chosen) => {
            one.keys().next().cloned().unwrap_or_default()
        }
        _ => return Ok(()),
    };
    if !known.contains(&present.as_str()) {
        return Ok(()); // the choice is invalid, and the reader will report it
    }
    let at = if name.contains('.') { format!("{root}.\"{name}\".{key}") } else { format!("{root}.{name}.{key}") };
    if !rest.is_empty() && !known.contains(&chosen.as_str()) {
        // a path may continue only after the name of a kind, and no kind is named `chosen`
        return Err(Problem::new(&at, crate::nearest::unknown_of("keyword", chosen, "valid", &known)));
    }
    let write = if known.contains(&chosen.as_str()) {
        format!("--set '{at}={}'", shown(&nested(chosen, rest, value)))
    } else {
        let parameter: Vec<&str> = path[3..].iter().map(String::as_str).collect();
        format!("--set '{at}.{present}.{}={}'", shown(&parameter.join(".")), shown(value))
    };
    Err(Problem::new(&at, format!("is \"{present}\", so \"{}\" cannot be set inside it; write {write}", shown(chosen))))
}

/// Returns the table that a string abbreviates. The string is a discipline in tc syntax if `key` is `queue`, and
/// otherwise the name of a kind.
fn meaning(key: &str, text: &str) -> Option<Value> {
    match key {
        "queue" => qdisc::tc::table(text),
        _ => Some(Value::Object(Map::from_iter([(text.to_owned(), Value::Object(Map::new()))]))),
    }
}

/// Returns nested tables such as `{ codel = { target = "5ms" } }`, on one line of TOML.
fn nested(name: &str, inner: &[String], value: &str) -> String {
    match inner.split_first() {
        Some((next, rest)) => format!("{{ {name} = {} }}", nested(next, rest, value)),
        None if crate::parse::is_toml(value) => format!("{{ {name} = {value} }}"),
        None => format!("{{ {name} = \"{value}\" }}"),
    }
}
