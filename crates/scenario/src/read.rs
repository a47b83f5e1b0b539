//! Reads a scenario from text, with errors that a user can act on.

pub use crate::parse::{Format, parse};

use crate::app::App;
use crate::declare::Scenario;
use crate::link::Change;
use crate::nearest::unknown;
use crate::parse::too_large;
use crate::stack::Stack;
use crate::typed::typed;
use serde_json::Value;
use units::{Problem, shown};

/// Sets the value at a dotted path, and creates tables as needed. To enter a list, the path contains the index of an
/// item. The value is parsed as TOML (`5`, `true`, `"5mbit"`, `{ limit = "21p" }`). If it is not TOML, it is plain
/// text.
///
/// Errors: a date or a number that is not finite; an integer that TOML cannot express; a value that begins like a table
/// or a list but is not TOML; a path that does not suit the tree.
pub fn set(tree: &mut Value, path: &str, value: &str) -> Result<(), Problem> {
    let parsed = match parse(&format!("v = {value}"), Format::Toml) {
        Ok(Value::Object(mut one)) if one.len() == 1 => one.remove("v").unwrap_or_default(),
        // the value is valid TOML, but of a type that no key of a scenario accepts
        Err(problem) if !problem.path.is_empty() => return Err(Problem::new(shown(path), problem.message)),
        // a name never begins with one of these characters, so the user must have meant the value as TOML
        Err(problem) if value.trim_start().starts_with(['{', '[']) => {
            let message = format!("\"{}\" is not TOML: {}", shown(value), problem.message);
            return Err(Problem::new(shown(path), message));
        }
        Err(problem) if problem.message.ends_with(&too_large()) => {
            return Err(Problem::new(shown(path), format!("{} is {}", shown(value), too_large())));
        }
        _ => Value::String(value.to_owned()),
    };
    let parts = split_path(path);
    if parts.iter().any(String::is_empty) {
        return Err(Problem::new(
            "",
            format!("--set needs path=value with a dotted path, not \"{}={}\"", shown(path), shown(value)),
        ));
    }
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

/// Replaces queues written as strings (`"codel target 5ms"`, `"sfq_hss + pie"`) with their tables, so that the tree can be shown or
/// changed. Leaves an invalid string unchanged.
pub fn queues_as_tables(tree: &mut Value) {
    let links = tree.get_mut("link").and_then(Value::as_object_mut);
    for queue in links.into_iter().flatten().filter_map(|(_, link)| link.get_mut("queue")) {
        if let Some(table) = queue.as_str().and_then(qdisc::tc::table) {
            *queue = table;
        }
    }
}

/// Splits a dotted path. A part that contains dots is quoted (`tcp."ns2-cubic-2.6.22".mss`).
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

/// Reads a scenario: parses the text, applies the overrides (path and value), converts the types and validates the result.
///
/// Errors: a single problem if the text or a value cannot be read, otherwise all problems that the validation finds.
pub fn scenario(text: &str, format: Format, sets: &[(String, String)]) -> Result<Scenario, Vec<Problem>> {
    let mut tree = parse(text, format).map_err(|p| vec![p])?;
    let given: Vec<(&str, Vec<String>)> = ["link", "app", "tcp"].map(|kind| (kind, names(&tree, kind))).into();
    for (path, value) in sets {
        set(&mut tree, path, value).map_err(|p| vec![p])?;
    }
    let scenario = self::tree(tree).map_err(|p| vec![begun_by_set(&given, p)])?;
    let problems = scenario.validate();
    if problems.is_empty() { Ok(scenario) } else { Err(problems) }
}

/// Converts a tree to a scenario, without validation.   Errors: an unknown key or keyword, a missing key, an invalid
/// value.
pub fn tree(tree: Value) -> Result<Scenario, Problem> {
    typed(tree)
}

/// Converts a tree to a queue discipline, without validation.   Errors: those of [`tree`].
pub fn discipline(tree: Value) -> Result<qdisc::Spec, Problem> {
    typed(tree)
}

/// Converts a tree to a change of a link, without validation.   Errors: those of [`tree`].
pub fn change(tree: Value) -> Result<Change, Problem> {
    typed(tree)
}

/// Converts a tree to an application, without validation.   Errors: those of [`tree`].
pub fn app(tree: Value) -> Result<App, Problem> {
    typed(tree)
}

/// Converts a tree to a TCP stack, without validation.   Errors: those of [`tree`].
pub fn stack(tree: Value) -> Result<Stack, Problem> {
    typed(tree)
}

fn names(tree: &Value, kind: &str) -> Vec<String> {
    tree.get(kind).and_then(Value::as_object).into_iter().flat_map(|table| table.keys().cloned()).collect()
}

/// Rewords a problem about a missing key if the key's table was created by `--set`, because the user has then probably
/// misspelt the table's name. Returns any other problem unchanged. `given` holds the names of the tables in the text of
/// the scenario: for each kind (link, app, tcp), a list of names.
fn begun_by_set(given: &[(&str, Vec<String>)], problem: Problem) -> Problem {
    for (kind, known) in given {
        let name = problem.path.strip_prefix(kind).and_then(|rest| rest.strip_prefix('.'));
        // if the key is in a table inside the named table, its path continues after the name, for example with `.docsis`
        let is_given = |name: &str| {
            known.iter().any(|n| name.strip_prefix(&**n).is_some_and(|r| r.is_empty() || r.starts_with('.')))
        };
        let Some(name) = name.filter(|name| problem.message.ends_with("is missing") && !is_given(name)) else {
            continue;
        };
        let what = if *kind == "app" { "application" } else { kind };
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        return Problem::new(problem.path.clone(), format!("{}, or give it all its keys", unknown(what, name, &known)));
    }
    problem
}
