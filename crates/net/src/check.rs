//! Checks the result of a run against its scenario's expectations (`[expect]`).
//!
//! Departs: `bloatlab check` also checks several seeds and sweeps (docs/check.md). This module checks the values of a single run.

use crate::Network;
use record::Sink;
use scenario::nearest;
use serde_json::Value;
use units::Problem;

impl<S: Sink> Network<S> {
    /// Checks the result of the run so far against the scenario's `[expect]` table.
    ///
    /// Errors: one problem for each value that does not meet an expectation, and for each expectation that matches no
    /// value; a single problem if there are no expectations, or if the network has not been built.
    pub fn check(&self) -> Result<(), Vec<Problem>> {
        let refused = |message: &str| Err(vec![Problem::new("expect", message)]);
        let Some(outcome) = self.outcome() else { return refused("the network has not run yet; run it first") };
        let expect = &self.scenario().expect;
        if expect.is_empty() {
            return refused(
                "the scenario has no [expect] table; add one, such as [expect] and \"links.up.sojourn_ms.p99\" = \"< 50\"",
            );
        }
        let mut known = Vec::new();
        numbers(&outcome.summary, String::new(), &mut known);
        let mut problems = Vec::new();
        for (pattern, expect) in expect {
            let exact = known.iter().any(|(path, _)| path == pattern);
            let mut found =
                known.iter().filter(|(path, _)| path == pattern || !exact && matches(pattern, path)).peekable();
            if found.peek().is_none() {
                let names: Vec<&str> = known.iter().map(|(path, _)| path.as_str()).collect();
                let hint = nearest(pattern, &names).map(|n| format!("; did you mean \"{n}\"?")).unwrap_or_default();
                problems.push(
                    Problem::new(pattern.clone(), format!("the summary has no such number{hint}")).under("expect"),
                );
            }
            for (path, value) in found.filter(|(_, value)| !value.is_some_and(|x| expect.holds(x))) {
                let measured = value.map_or("no value".to_owned(), |x| x.to_string());
                let message = format!("measured {measured}; expected {expect}");
                problems.push(Problem::new(path.clone(), message).under("expect"));
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

/// Appends every number, flag and null of the summary `tree` to the list `to`, each with its dotted path. A flag
/// becomes 0 or 1, and a null becomes `None`.
fn numbers(tree: &Value, path: String, to: &mut Vec<(String, Option<f64>)>) {
    match tree {
        Value::Object(children) => {
            for (name, child) in children {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                numbers(child, below, to);
            }
        }
        Value::Number(x) => to.push((path, x.as_f64())),
        Value::Bool(so) => to.push((path, Some(f64::from(u8::from(*so))))),
        Value::Null => to.push((path, None)),
        Value::String(_) | Value::Array(_) => {}
    }
}

/// Returns true if `text` matches `pattern`, in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    // matching each part as early as possible leaves the most text for the later parts
    for part in parts {
        let Some((_, after)) = text.split_once(part) else { return false };
        text = after;
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, so) in [
            ("links.*.drops", "links.up.drops", true),
            ("links.*.drops", "links.up.dropped", false),
            ("links.*.drops", "links..drop", false),
            ("*", "", true),
            ("a*a", "a", false),
            ("a*b*c", "a b b c c", true),
            ("a*b*c", "a c b", false),
            ("ab", "abc", false),
        ] {
            assert_eq!(matches(pattern, text), so, "{pattern} {text}");
        }
    }
}
