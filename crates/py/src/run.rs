//! Running a world from Python.

use crate::scenario_of;
use numpy::IntoPyArray;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::{Column, Ended, Outcome, World};

/// Builds and runs a scenario (canonical JSON, see `resolve`).
///
/// Returns `{"summary": JSON text, "tables": {table: {column: numpy array or list of str}}}`. `seed` replaces the
/// scenario's. `progress(fraction)` is called a few times a second; what it raises ends the run and is raised here.
#[pyfunction]
#[pyo3(signature = (resolved, seed=None, progress=None))]
pub(crate) fn run(
    py: Python<'_>,
    resolved: &str,
    seed: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyDict>> {
    let mut scenario = scenario_of(resolved)?;
    if let Some(seed) = seed {
        scenario.seed = seed;
    }
    let mut raised = None;
    let outcome = py.detach(|| {
        let mut world = World::build(&scenario)?;
        let ended = world.run(|fraction| {
            let answer = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |p| p.call1(py, (fraction,)).map(drop))
            });
            raised = answer.err();
            raised.is_none()
        });
        Ok::<_, units::Problem>((ended, world.outcome(&scenario)))
    });
    if let Some(error) = raised {
        return Err(error);
    }
    let (ended, outcome) = outcome.map_err(|p| crate::refuse("", &[p]))?;
    match ended {
        Ended::Finished => to_python(py, outcome),
        Ended::Cancelled => Err(PyKeyboardInterrupt::new_err("the run was stopped")),
    }
}

/// Summary as JSON text, tables as numpy arrays.
pub(crate) fn to_python(py: Python<'_>, outcome: Outcome) -> PyResult<Py<PyDict>> {
    let tables = PyDict::new(py);
    for table in outcome.tables {
        let columns = PyDict::new(py);
        for (name, column) in table.columns {
            match column {
                Column::U64(v) => columns.set_item(name, v.into_pyarray(py))?,
                Column::F64(v) => columns.set_item(name, v.into_pyarray(py))?,
                Column::Text(v) => columns.set_item(name, v)?,
            }
        }
        tables.set_item(table.name, columns)?;
    }
    let result = PyDict::new(py);
    let summary = serde_json::to_string(&outcome.summary).map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
    result.set_item("summary", summary)?;
    result.set_item("tables", tables)?;
    Ok(result.unbind())
}
