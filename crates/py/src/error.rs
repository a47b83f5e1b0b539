//! The exceptions of the Python module, a function that reads a scenario, and the store for the first exception of a
//! run.

use pyo3::prelude::*;
use scenario::Scenario;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use units::Problem;

pyo3::create_exception!(
    _core,
    ScenarioError,
    pyo3::exceptions::PyValueError,
    "A scenario that cannot be built: one line per problem, with its path, the value and the valid values."
);

pyo3::create_exception!(
    _core,
    LiveError,
    pyo3::exceptions::PyRuntimeError,
    "This machine cannot run the bench now: no TUN device, no rights, no socket, or a build without the bench."
);

/// Builds a `ScenarioError` from all problems. The exception's argument is a list with one string for each problem.
pub(crate) fn refuse(source: &str, problems: &[Problem]) -> PyErr {
    let lines: Vec<String> =
        problems.iter().map(|p| if source.is_empty() { p.to_string() } else { format!("{source}: {p}") }).collect();
    ScenarioError::new_err((lines,))
}

/// Builds a `ScenarioError` from one problem.
pub(crate) fn wrong(problem: Problem) -> PyErr {
    refuse("", &[problem])
}

/// Reads a scenario from canonical JSON.
pub(crate) fn scenario_of(resolved: &str) -> PyResult<Scenario> {
    face::scenario(resolved).map_err(|p| refuse("", &p))
}

/// Locks a mutex, even if a thread panicked while it held the lock. Must be used only for data that stays valid if a
/// panic interrupts a change.
pub(crate) fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A store for the first exception of a run. Its clones are the same store.
#[derive(Clone, Default)]
pub(crate) struct FirstError(Arc<(AtomicBool, Mutex<Option<PyErr>>)>);

impl FirstError {
    pub(crate) fn is_set(&self) -> bool {
        self.0.0.load(Ordering::Relaxed)
    }

    /// Stores an exception, unless one is stored already.
    pub(crate) fn store(&self, error: PyErr) {
        locked(&self.0.1).get_or_insert(error);
        self.0.0.store(true, Ordering::Relaxed);
    }

    /// Raises the stored exception, if there is one. The exception remains stored.
    pub(crate) fn raise(&self) -> PyResult<()> {
        match &*locked(&self.0.1) {
            Some(error) => Err(Python::attach(|py| error.clone_ref(py))),
            None => Ok(()),
        }
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        locked(&self.0.1).take()
    }
}

/// A failure of a user's object.
pub(crate) enum Mistake {
    /// An exception.
    Raised(PyErr),
    /// Any other mistake, such as an invalid return value or attribute. The text describes the mistake.
    Value(String),
}

impl From<PyErr> for Mistake {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

/// Returns the type and the message of an exception, on one line.
pub(crate) fn one_line(py: Python<'_>, error: &PyErr) -> String {
    let kind = error.get_type(py).name().map_or_else(|_| "an exception".into(), |name| name.to_string());
    // `__str__` of the user's exception may fail
    let text = error.value(py).str().map_or_else(|_| "it cannot be shown".into(), |s| s.to_string_lossy().into_owned());
    units::shown(&format!("{kind}: {text}"))
}

/// Returns the `repr` of an attribute, clipped; "missing" if there is no such attribute.
pub(crate) fn shown_or_missing(value: Option<&Bound<'_, PyAny>>) -> String {
    value.map_or_else(|| "missing".to_owned(), shown)
}

/// Returns the `repr` of a value, clipped.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "a value that cannot be shown".into(), |r| units::shown(&r.to_string_lossy()))
}
