//! "Did you mean ...?"

/// The known name nearest to `given`, if one is near enough to be a slip of the pen.
pub fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|k| (strsim::damerau_levenshtein(&given.to_lowercase(), &k.to_lowercase()), *k))
        .filter(|(d, k)| *d <= 2.max(k.len() / 3))
        .min()
        .map(|(_, k)| k)
}

/// One sentence about an unknown name: what it should name, the nearest, and all that are valid.
pub(crate) fn unknown(what: &str, given: &str, known: &[&str]) -> String {
    let hint = nearest(given, known).map(|n| format!("; did you mean \"{n}\"?")).unwrap_or_default();
    let list = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    format!("unknown {what} \"{given}\"{hint} (known: {list})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let known = ["droptail", "codel", "pie"];
        assert_eq!(nearest("codle", &known), Some("codel"));
        assert_eq!(nearest("DropTail", &known), Some("droptail"));
        assert_eq!(nearest("antidisestablishment", &known), None);
        assert_eq!(unknown("queue", "x", &[]), "unknown queue \"x\" (known: none)");
    }
}
