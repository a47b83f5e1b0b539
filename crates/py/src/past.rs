//! Runs of a sweep that begin in the same way. Their common beginning, a [`Past`], is simulated only once; see
//! `sim::Past`.

use crate::error::{locked, scenario_of, wrong};
use crate::run::{report, to_python};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use scenario::Scenario;
use sim::{Ended, Timeline};
use std::sync::Mutex;
use units::{Problem, Time};

/// The timeline of a scenario. The first string describes everything that takes effect at the start of the run. Then
/// follow the later actions in time order, each as a pair: its time in ns, and a string that describes the action.
type Acts = (String, Vec<(u64, String)>);

/// Returns the timeline of a scenario (canonical JSON, see `resolve`). Returns `None` if the scenario alone does not
/// determine the run, because the run has code in Python, or endpoints.
#[pyfunction]
pub(crate) fn timeline(resolved: &str) -> PyResult<Option<Acts>> {
    let found = Timeline::of(&scenario_of(resolved)?).map_err(wrong)?;
    Ok(found.map(|of| (of.always, of.acts.into_iter().map(|(at, act)| (at.0, act)).collect())))
}

/// A run that has been simulated up to some time. It can be continued with any scenario whose timeline is the same
/// before that time.
#[pyclass(frozen, module = "bloatlab._core")]
pub(crate) struct Past {
    past: Mutex<sim::Past>,
}

impl Past {
    /// Passes a copy of the run so far to `act`, without holding the GIL. Errors: `progress` or a signal handler raised
    /// an exception; the scenario is invalid; `act` failed.
    fn copied<T: Send>(
        &self,
        py: Python<'_>,
        resolved: &str,
        progress: Option<&Py<PyAny>>,
        act: impl FnOnce(sim::Past, &Scenario, &mut dyn FnMut(f64) -> bool) -> Result<(Ended, T), Problem> + Send,
    ) -> PyResult<T> {
        let scenario = scenario_of(resolved)?;
        let mut raised = None;
        let ended = py.detach(|| {
            let copy = locked(&self.past).clone();
            act(copy, &scenario, &mut |fraction| {
                raised = report(progress, fraction).err();
                raised.is_none()
            })
        });
        match (raised, ended.map_err(wrong)?) {
            (Some(error), _) => Err(error),
            (None, (Ended::Finished, result)) => Ok(result),
            (None, (Ended::Cancelled, _)) => Err(PyKeyboardInterrupt::new_err("the run was stopped")),
        }
    }
}

#[pymethods]
impl Past {
    /// Creates a `Past` at time 0, from which runs can start. `resolved` is the scenario as canonical JSON (see `resolve`).
    #[new]
    fn new(resolved: &str) -> PyResult<Self> {
        Ok(Self { past: Mutex::new(sim::Past::new(&scenario_of(resolved)?).map_err(wrong)?) })
    }

    /// Copies the run, and continues the copy to `until_ns` with the scenario `resolved`; returns the copy. `progress`
    /// is the same as in `run`.
    #[pyo3(signature = (resolved, until_ns, progress=None))]
    fn advance(&self, py: Python<'_>, resolved: &str, until_ns: u64, progress: Option<Py<PyAny>>) -> PyResult<Self> {
        let past = self.copied(py, resolved, progress.as_ref(), |mut past, scenario, observe| {
            let ended = past.advance(scenario, Time(until_ns), observe)?;
            Ok((ended, past))
        })?;
        Ok(Self { past: Mutex::new(past) })
    }

    /// Copies the run, and continues the copy to the end with the scenario `resolved`; returns the summary and the
    /// tables, as `run` does.
    #[pyo3(signature = (resolved, progress=None))]
    fn finish(&self, py: Python<'_>, resolved: &str, progress: Option<Py<PyAny>>) -> PyResult<Py<PyDict>> {
        let outcome =
            self.copied(py, resolved, progress.as_ref(), |past, scenario, observe| past.finish(scenario, observe))?;
        to_python(py, outcome)
    }
}
