//! The Python code of a run: its laws and its controllers.

use crate::controller;
use crate::error::{FirstError, wrong};
use crate::law;
use crate::object;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use scenario::Scenario;

/// The state of a run's Python code: whether the run has any, and the first error that this code raised.
#[derive(Default)]
pub(crate) struct Outside {
    any: bool,
    error: FirstError,
}

impl Outside {
    /// Inserts the Python code that `scenario` names. `factories` maps the key of each table that names a class ("link.up",
    /// "tcp.mine") to a callable that returns a new object.   Errors: the callable of a law is missing; a controller's
    /// class names an unknown feature of the stack.
    pub(crate) fn insert(scenario: &mut Scenario, factories: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let error = FirstError::default();
        let find = |key: &str| {
            let found = factories.and_then(|d| d.get_item(key).ok().flatten());
            found.map(|make| object::Class::new(make.unbind(), key.to_owned(), error.clone()))
        };
        let laws = law::insert(scenario, &find).map_err(wrong)?;
        let any = controller::insert(scenario, &find)? || laws;
        Ok(Self { any, error })
    }

    /// Returns true if the run has code in Python. A run with code in Python keeps the GIL.
    pub(crate) fn any(&self) -> bool {
        self.any
    }

    pub(crate) fn error(&self) -> &FirstError {
        &self.error
    }

    /// Raises the first error, if there is one. Every later call raises it again.
    pub(crate) fn check(&self) -> PyResult<()> {
        self.error.raise()
    }

    /// Clones a run with `clone`; returns the clone, and the state of the clone's Python code.   Errors: an object
    /// cannot be copied.
    pub(crate) fn forked<T>(&self, py: Python<'_>, clone: impl FnOnce() -> T) -> PyResult<(T, Self)> {
        let (run, error) = object::forked(py, clone)?;
        Ok((run, Self { any: self.any, error }))
    }
}
