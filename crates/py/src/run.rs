//! Running a world from Python.

use crate::law::Laws;
use crate::scenario_of;
use numpy::IntoPyArray;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use record::Sink;
use record::trace::{Chunk, Column, Data};
use scenario::Scenario;
use sim::capture::{Capture, KEPT};
use sim::trace::Trace;
use sim::{Ended, Outcome};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Builds and runs a scenario (canonical JSON, see `resolve`).
///
/// Returns `{"summary": JSON text, "tables": {table: {column: numpy array or list of str or None}}}`. `seed` replaces the
/// scenario's. `progress(fraction)` is called a few times a second; what it raises ends the run and is raised here.
/// `captures` is a folder for left.pcap and right.pcap, taken at the ends of `capture_link` (the slowest if not given).
/// `laws` has, for each link whose law is written in Python, what makes one; such a run keeps the GIL. `trace(table, columns)` gets
/// what the scenario's `trace` asks for, in chunks: columns are arrays, or (places, words); without it nothing is traced.
#[pyfunction]
#[pyo3(signature = (resolved, seed=None, progress=None, captures=None, capture_link=None, laws=None, trace=None))]
#[allow(clippy::too_many_arguments, reason = "what Python names one by one")]
pub(crate) fn run(
    py: Python<'_>,
    resolved: &str,
    seed: Option<u64>,
    progress: Option<Py<PyAny>>,
    captures: Option<PathBuf>,
    capture_link: Option<&str>,
    laws: Option<&Bound<'_, PyDict>>,
    trace: Option<Py<PyAny>>,
) -> PyResult<Py<PyDict>> {
    let mut scenario = scenario_of(resolved)?;
    if let Some(seed) = seed {
        scenario.seed = seed;
    }
    let laws = Laws::bring(&mut scenario, laws).map_err(|p| crate::refuse("", &[p]))?;
    let mut raised = None;
    let taken = Taken::default();
    let told = &taken;
    let traced = trace.as_ref().and_then(|to| Trace::new(&scenario, move |chunk| told.hand_over(to, chunk)));
    let mut look = |fraction: f64| {
        let answer = Python::attach(|py| {
            py.check_signals()?;
            progress.as_ref().map_or(Ok(()), |p| p.call1(py, (fraction,)).map(drop))
        });
        raised = answer.err();
        raised.is_none() && !laws.broke() && !taken.refused()
    };
    let go = || match (captures, traced) {
        (None, None) => simulate(&scenario, (), &mut look),
        (None, Some(mut trace)) => {
            let result = simulate(&scenario, &mut trace, &mut look);
            trace.finish();
            result
        }
        (Some(folder), None) => captured(&scenario, &folder, capture_link, (), &mut look),
        (Some(folder), Some(mut trace)) => {
            let result = captured(&scenario, &folder, capture_link, &mut trace, &mut look);
            trace.finish();
            result
        }
    };
    let answer = if laws.any() { go() } else { py.detach(go) };
    if let Some(error) = laws.error() {
        return Err(error);
    }
    if let Some(error) = raised.or_else(|| taken.error()) {
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

/// The first exception that Python raised for a chunk of a trace.
#[derive(Default)]
struct Taken(Mutex<Option<PyErr>>);

impl Taken {
    /// Passes a chunk to Python, unless an earlier one raised an exception.
    fn hand_over(&self, to: &Py<PyAny>, chunk: Chunk) {
        if self.refused() {
            return;
        }
        let given = Python::attach(|py| {
            let columns = PyDict::new(py);
            for Column { name, data } in chunk.columns {
                match data {
                    Data::F64(v) => columns.set_item(name, v.into_pyarray(py))?,
                    Data::U64(v) => columns.set_item(name, v.into_pyarray(py))?,
                    Data::Flag(v) => columns.set_item(name, v.into_pyarray(py))?,
                    Data::Word(places, words) => columns.set_item(name, (places.into_pyarray(py), words))?,
                }
            }
            to.call1(py, (chunk.table, columns)).map(drop)
        });
        if let Err(error) = given {
            *self.held() = Some(error);
        }
    }
    fn held(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn refused(&self) -> bool {
        self.held().is_some()
    }
    fn error(&self) -> Option<PyErr> {
        self.held().take()
    }
}

/// One run with captures in `folder`, and another sink beside them.
fn captured(
    scenario: &Scenario,
    folder: &Path,
    link: Option<&str>,
    beside: impl Sink,
    look: &mut impl FnMut(f64) -> bool,
) -> PyResult<(Ended, Outcome)> {
    let cannot = |name: &str, e: &io::Error| {
        PyOSError::new_err((e.raw_os_error(), e.to_string(), folder.join(name).display().to_string()))
    };
    let create = |name: &str| File::create(folder.join(name)).map(BufWriter::new).map_err(|e| cannot(name, &e));
    let files = [create("left.pcap")?, create("right.pcap")?];
    let mut capture = Capture::new(scenario, link, files, KEPT).map_err(|p| crate::refuse("", &[p]))?;
    let result = simulate(scenario, (beside, &mut capture), look)?;
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
                sim::Column::U64(v) => columns.set_item(name, v.into_pyarray(py))?,
                sim::Column::F64(v) => columns.set_item(name, v.into_pyarray(py))?,
                sim::Column::Text(v) => columns.set_item(name, v)?,
                sim::Column::Unknown(rows) => columns.set_item(name, vec![None::<u64>; rows])?,
            }
        }
        tables.set_item(table.name, columns)?;
    }
    let result = PyDict::new(py);
    result.set_item("summary", summary)?;
    result.set_item("tables", tables)?;
    Ok(result.unbind())
}
