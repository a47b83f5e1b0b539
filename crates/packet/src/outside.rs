//! Algorithms implemented outside the core. A scenario holds the name of a class, its source text, and the values of
//! its parameters. The program that runs the scenario supplies a factory, which creates objects of that class.
//!
//! ```text
//! scenario --read--> parameters, without a factory     data, hashed and stored like other parameters
//!                      | the program supplies a factory
//!                      v
//! world --build--> objects of the factory: a law for each queue, a controller for each end of a connection
//! ```
//!
//! Source: none.

use std::fmt;
use std::sync::Arc;
use units::{Problem, shown};

/// The factory that creates the objects of an algorithm, or nothing if the program has not supplied a factory. The
/// factory is not part of the scenario, so all values of this type compare equal.
pub struct Supplied<M: ?Sized>(Option<Arc<M>>);

impl<M: ?Sized> Supplied<M> {
    /// Wraps a factory that the program supplies.
    pub fn by(factory: Arc<M>) -> Self {
        Self(Some(factory))
    }

    /// Returns the factory, if there is one.
    pub fn factory(&self) -> Option<&M> {
        self.0.as_deref()
    }

    /// Returns a `Supplied` with a copy of the factory, which the function `copy` makes. Without a factory, the result
    /// has no factory either.
    #[must_use]
    pub fn copied(&self, copy: impl FnOnce(&M) -> Arc<M>) -> Self {
        Self(self.factory().map(copy))
    }

    /// Returns an error if no factory was supplied. The error message explains that the algorithm is written in Python;
    /// `kind` is the kind of algorithm, such as "law", and `name` is the name of the class.
    pub fn ready(&self, kind: &str, name: &str) -> Result<(), Problem> {
        match self.0 {
            Some(_) => Ok(()),
            None => Err(Problem::new(
                "",
                format!(
                    "\"{}\" is a {kind} in Python; only runs started from Python can use it (`bloatlab run`, `sweep`, `check`)",
                    shown(name)
                ),
            )),
        }
    }
}

impl<M: ?Sized> Clone for Supplied<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: ?Sized> Default for Supplied<M> {
    fn default() -> Self {
        Self(None)
    }
}

impl<M: ?Sized> fmt::Debug for Supplied<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Supplied" } else { "Missing" })
    }
}

impl<M: ?Sized> PartialEq for Supplied<M> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Returns true if `name` is a valid class name.
fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|c| c.is_alphabetic() || c == '_') && letters.all(|c| c.is_alphanumeric() || c == '_')
}

/// Checks that the value `text` of the parameter `key` is the name of a class, either as "FILE.py:CLASS" or as CLASS
/// alone. If it is not, the error message shows `example` as a valid value.
pub fn class_named(key: &str, text: &str, example: &str) -> Result<(), Problem> {
    let file = text.rsplit_once(':').map(|(file, class)| file.ends_with(".py") && is_name(class));
    if file.unwrap_or_else(|| is_name(text)) {
        return Ok(());
    }
    Err(Problem::new(
        key,
        format!("\"{}\" names no class; expected a file and a class, such as \"{example}\"", shown(text)),
    ))
}
