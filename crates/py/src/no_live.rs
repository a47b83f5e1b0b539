//! Replaces `live.rs` in a build without the live bench: on a system other than Linux, or without the feature `live`.

use crate::error::LiveError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

const WHY: &str = "this build of bloatlab has no live bench; that needs Linux (docs/install.md)";

/// Raises `LiveError`, because this build has no live bench; see `bloatlab.live.run`.
#[pyfunction]
#[pyo3(signature = (resolved, **options))]
pub(crate) fn live(resolved: &str, options: Option<Py<PyDict>>) -> PyResult<Py<PyDict>> {
    let _ = (resolved, options);
    Err(LiveError::new_err(WHY))
}

/// Returns 0, because a build without the live bench starts no processes that a crash could leave behind.
#[pyfunction]
pub(crate) fn live_clean() -> usize {
    0
}

/// Returns false: this build does not have the live bench.
#[pyfunction]
pub(crate) fn has_live() -> bool {
    false
}
