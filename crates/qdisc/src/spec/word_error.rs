//! The errors for a string that is not a valid discipline or law.

use serde::de;

/// The reason why a string is not a valid discipline or law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WordError {
    /// An unknown name, and the valid names.
    Unknown(String, Vec<&'static str>),
    /// An unknown keyword after the name, and the valid keywords.
    Option(String, Vec<String>),
    /// Any other error, described by a complete message.
    Misfit(String),
}

impl WordError {
    /// Converts this error to a serde error. The message for an unknown name or keyword has the form of serde's message
    /// for an unknown variant, so that the code that explains serde's errors to the user can also explain this error.
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
