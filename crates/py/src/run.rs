//! Runs a simulation from Python.

use crate::error::{FirstError, refuse, scenario_of};
use crate::outside::Outside;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict, PyList, PyString};
use record::trace::{Chunk, Column, Data};
use scenario::Scenario;
use sim::capture::{self, Capture, KEPT};
use sim::trace::Trace;
use sim::{Chunks, Ended, Outcome};
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Builds and runs a scenario (canonical JSON, see `resolve`).
///
/// Returns `{"summary": JSON text, "tables": Tables}`. `seed` replaces the seed of the scenario. `progress(fraction)`
/// is called after each slice of at most 65 536 events; an exception in it ends the run and is raised here. `captures`
/// is a folder for left.pcap and right.pcap, captured at the ends of `capture_link` (by default the slowest link). For
/// each table with a class in Python ("link.up", "tcp.mine"), `factories` has a callable that makes an object. A run
/// with classes in Python keeps the GIL; other runs release it. `trace(table, columns)` receives the chunks of the
/// tables that the scenario's `trace` selects. Each column is an array; a column of texts is a tuple (index of each
/// row's text, the texts).
#[pyfunction]
#[pyo3(signature = (resolved, seed=None, progress=None, captures=None, capture_link=None, factories=None, trace=None))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub(crate) fn run(
    py: Python<'_>,
    resolved: &str,
    seed: Option<u64>,
    progress: Option<Py<PyAny>>,
    captures: Option<PathBuf>,
    capture_link: Option<&str>,
    factories: Option<&Bound<'_, PyDict>>,
    trace: Option<Py<PyAny>>,
) -> PyResult<Py<PyDict>> {
    let mut scenario = scenario_of(resolved)?;
    if let Some(seed) = seed {
        scenario.seed = seed;
    }
    let outside = Outside::insert(&mut scenario, factories)?;
    let mut raised = None;
    let trace_error = FirstError::default();
    let traced = trace.as_ref().and_then(|to| {
        let out: Chunks<'_> = Box::new(|chunk| pass_on(to, chunk, &trace_error));
        Trace::new(&scenario, out)
    });
    let mut observe = |fraction: f64| {
        raised = report(progress.as_ref(), fraction).err();
        raised.is_none() && !outside.error().is_set() && !trace_error.is_set()
    };
    let go = || {
        if captures.is_none() && traced.is_none() {
            return face::measure(&scenario, &mut observe).map_err(|p| refuse("", &[p]));
        }
        recorded(&scenario, traced, captures.as_deref(), capture_link, &mut observe)
    };
    let answer = if outside.any() { go() } else { py.detach(go) };
    if let Some(error) = outside.error().take().or(raised).or_else(|| trace_error.take()) {
        return Err(error);
    }
    match answer? {
        (Ended::Finished, outcome) => to_python(py, outcome),
        (Ended::Cancelled, _) => Err(PyKeyboardInterrupt::new_err("the run was stopped")),
    }
}

/// Lets Python handle signals, and calls `progress` with the fraction of the run done.   Errors: a signal handler or
/// `progress` raised an exception.
pub(crate) fn report(progress: Option<&Py<PyAny>>, fraction: f64) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        progress.map_or(Ok(()), |p| p.call1(py, (fraction,)).map(drop))
    })
}

/// Passes a chunk of a trace to Python, unless an earlier chunk caused an exception.
fn pass_on(to: &Py<PyAny>, chunk: Chunk, error: &FirstError) {
    if error.is_set() {
        return;
    }
    let passed = Python::attach(|py| {
        let columns = PyDict::new(py);
        for Column { name, data } in chunk.columns {
            match data {
                Data::F64(v) => columns.set_item(name, array(py, "f8", &v, f64::to_ne_bytes)?)?,
                Data::U64(v) => columns.set_item(name, array(py, "u8", &v, u64::to_ne_bytes)?)?,
                Data::Flag(v) => columns.set_item(name, array(py, "u1", &v, |flag| [flag])?)?,
                Data::Word(indices, words) => {
                    columns.set_item(name, (array(py, "u2", &indices, u16::to_ne_bytes)?, words))?;
                }
            }
        }
        to.call1(py, (chunk.table, columns)).map(drop)
    });
    if let Err(raised) = passed {
        error.store(raised);
    }
}

/// Runs a scenario, and records a trace if `trace` is given. If the folder `captures` is given, writes captures of the
/// link named `link` (by default, the slowest link) to this folder.
fn recorded(
    scenario: &Scenario,
    trace: Option<Trace<Chunks<'_>>>,
    captures: Option<&Path>,
    link: Option<&str>,
    observe: &mut dyn FnMut(f64) -> bool,
) -> PyResult<(Ended, Outcome)> {
    let refused = |p| refuse("", &[p]);
    let open = |folder| Capture::new(scenario, link, capture_files(scenario, link, folder)?, KEPT).map_err(refused);
    let capture = captures.map(open).transpose()?;
    let sinks = (None, (trace, capture));
    let (ended, outcome, (_, (trace, capture))) = face::simulate(scenario, sinks, observe).map_err(refused)?;
    trace.into_iter().for_each(Trace::finish);
    if let (Some(capture), Some(folder)) = (capture, captures) {
        capture.finish().map_err(|e| cannot_write(folder, &e))?;
    }
    Ok((ended, outcome))
}

/// Creates the files of a capture at `link`, and `folder` if it does not exist.   Errors: an unknown link; a file or folder
/// that cannot be created.
pub(crate) fn capture_files(scenario: &Scenario, link: Option<&str>, folder: &Path) -> PyResult<[BufWriter<File>; 2]> {
    capture::check(scenario, link).map_err(|p| refuse("", &[p]))?;
    fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
    let create = |name: &str| {
        let path = folder.join(name);
        File::create(&path).map(BufWriter::new).map_err(|e| cannot_write(&path, &e))
    };
    Ok([create("left.pcap")?, create("right.pcap")?])
}

/// Returns the exception for a file or folder that cannot be written.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> PyErr {
    PyOSError::new_err((error.raw_os_error(), error.to_string(), path.display().to_string()))
}

/// Copies values to a numpy array of type `dtype`, whose elements have `N` bytes.
fn array<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    dtype: &str,
    values: &[T],
    bytes: impl Fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyAny>> {
    let buffer = PyByteArray::new_with(py, values.len() * N, |to| {
        to.chunks_exact_mut(N).zip(values).for_each(|(place, value)| place.copy_from_slice(&bytes(*value)));
        Ok(())
    })?;
    py.import("numpy")?.call_method1("frombuffer", (buffer, dtype))
}

/// Converts an outcome to a dict with the summary as JSON text and the tables.
pub(crate) fn to_python(py: Python<'_>, outcome: Outcome) -> PyResult<Py<PyDict>> {
    let result = PyDict::new(py);
    result.set_item("summary", face::summary(&outcome))?;
    result.set_item("tables", Tables(outcome.tables))?;
    Ok(result.unbind())
}

/// The tables of a run by name. A table is copied to Python when it is read.
#[pyclass(module = "bloatlab._core", frozen)]
pub(crate) struct Tables(Vec<sim::Table>);

#[pymethods]
impl Tables {
    /// Returns the names of the tables.
    fn keys(&self) -> Vec<&'static str> {
        self.0.iter().map(|table| table.name).collect()
    }

    /// Returns the columns of a table; None if there is no such table. A column is a numpy array or a list of texts. A
    /// list of None stands for a counter that this run did not have.
    fn get<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(table) = self.0.iter().find(|table| table.name == name) else { return Ok(None) };
        let columns = PyDict::new(py);
        for (name, column) in &table.columns {
            match column {
                sim::Column::U64(v) => columns.set_item(name, array(py, "u8", v, u64::to_ne_bytes)?)?,
                sim::Column::F64(v) => columns.set_item(name, array(py, "f8", v, f64::to_ne_bytes)?)?,
                sim::Column::Text(v) => {
                    let (rows, distinct) = v.encoded();
                    let distinct: Vec<_> = distinct.iter().map(|text| PyString::new(py, text)).collect();
                    columns.set_item(name, PyList::new(py, rows.iter().map(|i| &distinct[*i as usize]))?)?;
                }
                sim::Column::Unknown(rows) => columns.set_item(name, vec![None::<u64>; *rows])?,
            }
        }
        Ok(Some(columns))
    }
}
