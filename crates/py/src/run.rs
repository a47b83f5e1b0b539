//! Running a world from Python.

use crate::law::Laws;
use crate::scenario_of;
use numpy::IntoPyArray;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use record::Sink;
use scenario::Scenario;
use sim::capture::{Capture, KEPT};
use sim::{Column, Ended, Outcome};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Builds and runs a scenario (canonical JSON, see `resolve`).
///
/// Returns `{"summary": JSON text, "tables": {table: {column: numpy array or list of str or None}}}`. `seed` replaces the
/// scenario's. `progress(fraction)` is called a few times a second; what it raises ends the run and is raised here.
/// `captures` is a folder for left.pcap and right.pcap, taken at the ends of `capture_link` (the slowest if not given).
/// `laws` has, for each link whose law is written in Python, what makes one; such a run keeps the GIL.
#[pyfunction]
#[pyo3(signature = (resolved, seed=None, progress=None, captures=None, capture_link=None, laws=None))]
pub(crate) fn run(
    py: Python<'_>,
    resolved: &str,
    seed: Option<u64>,
    progress: Option<Py<PyAny>>,
    captures: Option<PathBuf>,
    capture_link: Option<&str>,
    laws: Option<&Bound<'_, PyDict>>,
) -> PyResult<Py<PyDict>> {
    let mut scenario = scenario_of(resolved)?;
    if let Some(seed) = seed {
        scenario.seed = seed;
    }
    let laws = Laws::bring(&mut scenario, laws).map_err(|p| crate::refuse("", &[p]))?;
    let mut raised = None;
    let mut look = |fraction: f64| {
        let answer = Python::attach(|py| {
            py.check_signals()?;
            progress.as_ref().map_or(Ok(()), |p| p.call1(py, (fraction,)).map(drop))
        });
        raised = answer.err();
        raised.is_none() && !laws.broke()
    };
    let go = || match captures {
        None => simulate(&scenario, (), &mut look),
        Some(folder) => captured(&scenario, &folder, capture_link, &mut look),
    };
    let answer = if laws.any() { go() } else { py.detach(go) };
    if let Some(error) = laws.error() {
        return Err(error);
    }
    if let Some(error) = raised {
        return Err(error);
    }
    match answer? {
        (Ended::Finished, outcome) => to_python(py, outcome),
        (Ended::Cancelled, _) => Err(PyKeyboardInterrupt::new_err("the run was stopped")),
    }
}

/// One run with this sink, to its end or until `look` says no.
fn simulate<S: Sink>(scenario: &Scenario, sink: S, look: &mut impl FnMut(f64) -> bool) -> PyResult<(Ended, Outcome)> {
    face::simulate(scenario, sink, look).map_err(|p| crate::refuse("", &[p]))
}

/// One run with captures in `folder`.
fn captured(
    scenario: &Scenario,
    folder: &Path,
    link: Option<&str>,
    look: &mut impl FnMut(f64) -> bool,
) -> PyResult<(Ended, Outcome)> {
    let cannot = |name: &str, e: &io::Error| {
        PyOSError::new_err((e.raw_os_error(), e.to_string(), folder.join(name).display().to_string()))
    };
    let create = |name: &str| File::create(folder.join(name)).map(BufWriter::new).map_err(|e| cannot(name, &e));
    let files = [create("left.pcap")?, create("right.pcap")?];
    let mut capture = Capture::new(scenario, link, files, KEPT).map_err(|p| crate::refuse("", &[p]))?;
    let result = simulate(scenario, &mut capture, look)?;
    capture.finish().map_err(|e| cannot("", &e))?;
    Ok(result)
}

/// Summary as JSON text, tables as numpy arrays.
pub(crate) fn to_python(py: Python<'_>, outcome: Outcome) -> PyResult<Py<PyDict>> {
    let summary = face::summary(&outcome);
    let tables = PyDict::new(py);
    for table in outcome.tables {
        let columns = PyDict::new(py);
        for (name, column) in table.columns {
            match column {
                Column::U64(v) => columns.set_item(name, v.into_pyarray(py))?,
                Column::F64(v) => columns.set_item(name, v.into_pyarray(py))?,
                Column::Text(v) => columns.set_item(name, v)?,
                Column::Unknown(rows) => columns.set_item(name, vec![None::<u64>; rows])?,
            }
        }
        tables.set_item(table.name, columns)?;
    }
    let result = PyDict::new(py);
    result.set_item("summary", summary)?;
    result.set_item("tables", tables)?;
    Ok(result.unbind())
}
