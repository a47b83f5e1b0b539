//! What is wrong with a value that a user gave, and where.

use std::fmt;

/// One thing wrong with a scenario: where it is, what was given and what would be valid.
///
/// Rooms that validate their own parameters know only their own field names; each caller prefixes its own part of the
/// path with [`Problem::under`], so the message that reaches the user names the full path (`link.up.queue.codel.target`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path from the document's root, parts joined by dots; empty for the document itself.
    pub path: String,
    /// One sentence: the value given and what is valid.
    pub message: String,
}

impl Problem {
    /// A problem at `path` (a field name or a dotted path).
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }

    /// The same problem seen from one level further out.
    #[must_use]
    pub fn under(self, prefix: &str) -> Self {
        let path = match (prefix.is_empty(), self.path.is_empty()) {
            (true, _) => self.path,
            (_, true) => prefix.to_owned(),
            _ => format!("{prefix}.{}", self.path),
        };
        Self { path, ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { write!(f, "{}", self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_grow_outwards() {
        let p = Problem::new("target", "0s is not valid").under("codel").under("queue").under("");
        assert_eq!(p.to_string(), "queue.codel.target: 0s is not valid");
        assert_eq!(Problem::new("", "empty").under("link").path, "link");
    }
}
