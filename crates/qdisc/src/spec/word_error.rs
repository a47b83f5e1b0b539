//! Why a word of a scenario names no discipline and no law.

use serde::de;

/// Why a text names nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WordError {
    /// Not one of these names.
    Unknown(String, Vec<&'static str>),
    /// A word behind the name, which is none of these.
    Option(String, Vec<String>),
    /// Words that do not go together, and why.
    Misfit(String),
}

impl WordError {
    /// As serde says it, for whoever explains serde's errors.
    pub(super) fn into_error<E: de::Error>(self) -> E {
        let list = |known: Vec<&str>| known.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ");
        let (given, known) = match self {
            Self::Misfit(why) => return E::custom(why),
            Self::Unknown(given, known) => (given, list(known)),
            Self::Option(given, known) => (given, list(known.iter().map(String::as_str).collect())),
        };
        E::custom(format!("unknown variant `{given}`, expected one of {known}"))
    }
}
