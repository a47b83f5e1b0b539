//! Writes a scenario as readable TOML, which `resolve` reads back as the same scenario.

use scenario::{Scenario, read};
use serde_json::{Map, Value};
use std::fmt::Write;
use units::{Problem, shown};

/// Writes a tree of tables and values as TOML.
///
/// Plain values come first, then a section for each link, application and stack, and for each other table of the root. A
/// table inside a section is written on one line. If the table has a single key, and this key holds another table, the
/// key is the name of a choice and is written before the equals sign: `queue.codel = { ... }`. Keys with the value null
/// are omitted, because TOML has no null. If a scenario's tree may have such keys, write the tree that [`sparse`]
/// returns for the scenario instead.
///
/// Errors: a value that TOML cannot represent, such as an integer of more than 63 bits; a root that is not a table.
pub fn text(tree: &Value) -> Result<String, Problem> {
    let Value::Object(root) = tree else { return Err(Problem::new("", "expected a table of a scenario's keys")) };
    let mut out = String::new();
    let (sections, plain): (Vec<_>, Vec<_>) = root.iter().partition(|(_, value)| value.is_object());
    entries(&mut out, plain)?;
    for (name, value) in sections {
        let Value::Object(map) = value else { continue };
        // if a table contains only tables, each inner table gets a section
        if !map.is_empty() && map.values().all(Value::is_object) {
            for (inner, value) in map {
                let Value::Object(fields) = value else { continue };
                let _ = write!(out, "\n[{}.{}]\n", key(name), key(inner));
                entries(&mut out, fields.iter().collect()).map_err(|p| p.under(inner).under(name))?;
            }
        } else if !map.is_empty() || name == "link" {
            let _ = write!(out, "\n[{}]\n", key(name));
            entries(&mut out, map.iter().collect()).map_err(|p| p.under(name))?;
        }
    }
    Ok(out)
}

/// Writes one line `key = value` for each field that is not null.
fn entries(out: &mut String, fields: Vec<(&String, &Value)>) -> Result<(), Problem> {
    for (name, value) in fields {
        if value.is_null() {
            continue;
        }
        let chosen = value.as_object().filter(|map| map.len() == 1).and_then(|map| map.iter().next());
        let (path, value) = match chosen {
            Some((choice, inner)) if inner.is_object() => (format!("{}.{}", key(name), key(choice)), inner),
            _ => (key(name), value),
        };
        let _ = write!(out, "{path} = ");
        inline(out, value).map_err(|p| p.under(name))?;
        out.push('\n');
    }
    Ok(())
}

/// Writes a value on one line.
fn inline(out: &mut String, value: &Value) -> Result<(), Problem> {
    match value {
        Value::Null => return Err(Problem::new("", "null is not a value in TOML")),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) if n.as_u64().is_some_and(|n| i64::try_from(n).is_err()) => {
            return Err(Problem::new("", format!("{n} is too large for TOML; expected at most {}", i64::MAX)));
        }
        Value::Number(n) => out.push_str(&n.to_string()),
        Value::String(text) => out.push_str(&quoted(text)),
        Value::Array(list) => {
            out.push('[');
            for (i, item) in list.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                inline(out, item).map_err(|p| p.under(&i.to_string()))?;
            }
            out.push(']');
        }
        Value::Object(map) => {
            let given: Vec<_> = map.iter().filter(|(_, v)| !v.is_null()).collect();
            out.push_str(if given.is_empty() { "{" } else { "{ " });
            for (i, (name, item)) in given.iter().enumerate() {
                let _ = write!(out, "{}{} = ", if i > 0 { ", " } else { "" }, key(name));
                inline(out, item).map_err(|p| p.under(name))?;
            }
            out.push_str(if given.is_empty() { "}" } else { " }" });
        }
    }
    Ok(())
}

/// Returns a key as TOML: bare if possible, otherwise quoted.
fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare { name.to_owned() } else { quoted(name) }
}

/// Returns `text` as a basic string of TOML. TOML has the escapes that serde_json writes, and also needs one for DEL.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// Returns a scenario as a tree that leaves out default values. Reading the tree back gives the same scenario.
///
/// The function tries to remove each key, from the outermost to the innermost. A key is left out if the tree without it
/// is still read as the same scenario, so the function needs no list of default values.
pub fn sparse(scenario: &Scenario) -> Result<Value, Problem> {
    let mut tree = read::parse(&scenario.canonical(), read::Format::Json)?;
    let same = |tree: &Value| read::tree(tree.clone()).is_ok_and(|s| s == *scenario);
    if !same(&tree) {
        return Err(Problem::new("", format!("\"{}\" is not the same scenario when read back", shown(&scenario.name))));
    }
    let mut path = Vec::new();
    prune(&mut tree, &mut path, &same);
    Ok(tree)
}

/// Removes redundant keys below `path`, one at a time.
fn prune(tree: &mut Value, path: &mut Vec<String>, same: &impl Fn(&Value) -> bool) {
    let names: Vec<String> = match at(tree, path) {
        Some(Value::Object(map)) => map.keys().cloned().collect(),
        Some(Value::Array(list)) => (0..list.len()).map(|i| i.to_string()).collect(),
        _ => return,
    };
    for name in names {
        let taken = at(tree, path).and_then(Value::as_object_mut).and_then(|map: &mut Map<_, _>| map.remove(&name));
        if let Some(value) = taken {
            if same(tree) {
                continue;
            }
            if let Some(map) = at(tree, path).and_then(Value::as_object_mut) {
                map.insert(name.clone(), value);
            }
        }
        path.push(name);
        prune(tree, path, same);
        path.pop();
    }
}

/// Returns the value at a path of keys and indices.
fn at<'a>(tree: &'a mut Value, path: &[String]) -> Option<&'a mut Value> {
    path.iter().try_fold(tree, |place, part| match place {
        Value::Object(map) => map.get_mut(part),
        Value::Array(list) => part.parse::<usize>().ok().and_then(|i| list.get_mut(i)),
        _ => None,
    })
}
