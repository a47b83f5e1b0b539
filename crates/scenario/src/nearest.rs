//! "Did you mean ...?"

use units::shown;

/// Maximum number of names in a message.
const LISTED: usize = 48;

/// Returns the known name nearest to `given`, if `given` is so close to it that it may be a typing error.
pub fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    // the name is cut to 100 characters, because the time to compute a distance grows with the product of both lengths,
    // and a longer name is not a typing error
    let given = given.chars().take(100).collect::<String>().to_lowercase();
    known
        .iter()
        .map(|k| (strsim::damerau_levenshtein(&given, &k.to_lowercase()), *k))
        .filter(|(d, k)| *d <= 2.max(k.len() / 3))
        .min()
        .map(|(_, k)| k)
}

/// Returns the known names that are nearest to `given`: several if their distances are equal, none if no known name is
/// near.
pub(crate) fn as_near<'a>(given: &str, known: &[&'a str]) -> Vec<&'a str> {
    let given = given.chars().take(100).collect::<String>().to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&given, &name.to_lowercase());
    let Some(least) = nearest(&given, known).map(distance) else { return Vec::new() };
    known.iter().copied().filter(|name| distance(name) == least).collect()
}

/// Returns `; did you mean "a" or "b"?`, or an empty string if no known name is near.
pub(crate) fn hint(given: &str, known: &[&str]) -> String {
    let near: Vec<String> = as_near(given, known).iter().map(|n| format!("\"{}\"", shown(n))).collect();
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) }
}

/// Returns a sentence about an unknown name: the kind of name, the nearest names, and up to 48 valid names.
pub fn unknown(what: &str, given: &str, known: &[&str]) -> String {
    unknown_of(what, given, "known", known)
}

/// Returns the same sentence as [`unknown`], but with `these` instead of "known" before the list of valid names.
pub(crate) fn unknown_of(what: &str, given: &str, these: &str, known: &[&str]) -> String {
    let hint = hint(given, known);
    let mut list = known.iter().take(LISTED).map(|n| shown(n)).collect::<Vec<_>>().join(", ");
    match known.len() {
        0 => list.push_str("none"),
        n if n > LISTED => list.push_str(&format!(" and {} more", n - LISTED)),
        _ => {}
    }
    format!("unknown {what} \"{}\"{hint} ({these}: {list})", shown(given))
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
        assert_eq!(hint("fifo", &["bfifo", "codel", "pfifo"]), "; did you mean \"bfifo\" or \"pfifo\"?");
        assert_eq!(unknown("queue", "x", &[]), "unknown queue \"x\" (known: none)");
    }
}
