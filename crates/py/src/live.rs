//! Runs the live bench from Python.

use crate::error::{LiveError, refuse, scenario_of};
use ::live::{CommandLine, Failure, Options, Plan, Side, View};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use units::Problem;

/// Runs a scenario (canonical JSON) live; see `bloatlab.live.run`. Releases the GIL except during `look`.
#[pyfunction]
#[pyo3(signature = (resolved, *, congestion=None, max_rate=None, command=None, side="left", background=Vec::new(), unbounded=false, captures=None, look=None))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub(crate) fn live(
    py: Python<'_>,
    resolved: &str,
    congestion: Option<String>,
    max_rate: Option<&str>,
    command: Option<Vec<String>>,
    side: &str,
    background: Vec<Vec<String>>,
    unbounded: bool,
    captures: Option<std::path::PathBuf>,
    look: Option<Py<PyAny>>,
) -> PyResult<Py<PyDict>> {
    let scenario = scenario_of(resolved)?;
    let mut options = Options { congestion, captures, until_command_ends: unbounded, ..Options::default() };
    if let Some(text) = max_rate {
        options.max_rate =
            text.parse().map_err(|e: units::ParseError| refuse("", &[Problem::new("max_rate", e.to_string())]))?;
    }
    let side = match side {
        "left" => Side::Left,
        "right" => Side::Right,
        other => return Err(PyValueError::new_err(format!("\"{other}\" is no side (valid: left, right)"))),
    };
    options.command = command.map(|words| CommandLine { side, words });
    options.background = background.into_iter().map(|words| CommandLine { side: side.other(), words }).collect();
    let scenario = ::live::as_run(&scenario, &options).map_err(|p| refuse("", &[p]))?;
    let mut raised = None;
    let answer = py.detach(|| {
        ::live::run(&scenario, &options, |plan, view| {
            let answer = Python::attach(|py| {
                py.check_signals()?;
                match &look {
                    Some(look) => look.call1(py, (seen(py, plan, view)?,)).map(drop),
                    None => Ok(()),
                }
            });
            raised = answer.err();
            raised.is_none()
        })
    });
    if let Some(error) = raised {
        return Err(error);
    }
    match answer {
        Ok(outcome) => {
            let output = crate::run::to_python(py, outcome)?;
            output.bind(py).set_item("scenario", scenario.canonical())?;
            Ok(output)
        }
        Err(Failure::Refused(problem)) => Err(refuse("", &[problem])),
        Err(Failure::Cannot(message)) => Err(LiveError::new_err(message)),
        Err(Failure::Bug(message)) => Err(PyRuntimeError::new_err(message)),
        Err(Failure::Cancelled) => Err(PyKeyboardInterrupt::new_err("the run was stopped")),
    }
}

/// Converts a view of the running bench to a dict.
fn seen(py: Python<'_>, plan: &Plan, view: &View) -> PyResult<Py<PyDict>> {
    let links = PyList::empty(py);
    for (name, link) in plan.network.links.iter().map(|l| &l.name).zip(&view.links) {
        let d = PyDict::new(py);
        d.set_item("link", name)?;
        d.set_item("packets", link.backlog.packets)?;
        d.set_item("bytes", link.backlog.bytes)?;
        d.set_item("sent_packets", link.totals.packets)?;
        d.set_item("sent_bytes", link.totals.bytes)?;
        d.set_item("sojourn_ms_sum", link.totals.sojourn_ns as f64 * 1e-6)?;
        d.set_item("sojourn_ms_max", link.totals.sojourn_max_ns as f64 * 1e-6)?;
        d.set_item("dropped", link.totals.dropped)?;
        links.append(d)?;
    }
    let d = PyDict::new(py);
    d.set_item("t_s", view.now.secs())?;
    d.set_item("late_p99_ms", view.late_p99.map(units::Duration::millis))?;
    d.set_item("links", links)?;
    Ok(d.unbind())
}

/// Ends the processes that crashed runs have left behind; returns their number.
#[pyfunction]
pub(crate) fn live_clean(py: Python<'_>) -> usize {
    py.detach(::live::clean)
}

/// Returns true if this build has the live bench.
#[pyfunction]
pub(crate) fn has_live() -> bool {
    true
}
