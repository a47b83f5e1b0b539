//! Messages about invalid values. Each message says where the value is, which value was given, and which are valid.

use std::fmt::{self, Write};

/// Maximum number of characters that a message quotes from a user's text.
const SHOWN: usize = 80;
/// Maximum number of characters of a printed problem, including its path; a longer one is truncated.
const LINE: usize = 1500;

/// Prepares a user's text for a message: keeps at most 80 characters, with `...` after them if the text is longer, and escapes
/// unprintable characters ([`is_unprintable`]).
pub fn shown(text: &str) -> String {
    escaped(text, SHOWN)
}

/// Keeps at most `most` characters of `text`, and escapes unprintable characters. They could move a terminal's cursor, or reverse
/// or hide text.
fn escaped(text: &str, most: usize) -> String {
    let mut line = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == most {
            line.push_str("...");
            break;
        }
        if is_unprintable(c) {
            let _ = write!(line, "\\u{:04x}", u32::from(c));
        } else {
            line.push(c);
        }
    }
    line
}

/// Returns true for control characters, and for invisible characters, such as those of zero width and those that reverse the
/// text around them.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// An error in a scenario: where the invalid value is, and a message with the given value and the valid values.
///
/// A crate that validates its own parameters names only its own fields. Each caller prefixes its part of the path with
/// [`Problem::under`], so that the user sees the full path (`link.up.queue.codel.target`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path from the document's root to the invalid value, with dots between its parts; empty for the document itself.
    pub path: String,
    /// One sentence that states the given value and which values are valid.
    pub message: String,
}

impl Problem {
    /// Creates a problem at `path` (a field name or a dotted path).
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }

    /// Puts `prefix` before the problem's path.
    #[must_use]
    pub fn under(self, prefix: &str) -> Self {
        let prefix = shown(prefix);
        let path = match (prefix.is_empty(), self.path.is_empty()) {
            (true, _) => self.path,
            (_, true) => prefix,
            _ => format!("{prefix}.{}", self.path),
        };
        Self { path, ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = if self.path.is_empty() { self.message.clone() } else { format!("{}: {}", self.path, self.message) };
        f.write_str(&escaped(&line, LINE))
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_wrote_is_clipped_and_escaped() {
        assert_eq!(shown("link.up"), "link.up");
        assert_eq!(shown("a\nb\u{1b}[2J\u{202e}"), "a\\u000ab\\u001b[2J\\u202e");
        assert_eq!(shown(&"x".repeat(100_000)), "x".repeat(80) + "...");
        let p = Problem::new("", "no").under(&"y".repeat(500));
        assert_eq!(p.path.len(), 83);
    }

    #[test]
    fn paths_grow_outwards() {
        let p = Problem::new("target", "0s is not valid").under("codel").under("queue").under("");
        assert_eq!(p.to_string(), "queue.codel.target: 0s is not valid");
        assert_eq!(Problem::new("", "empty").under("link").path, "link");
    }
}
