//! A run that Python drives step by step, and forks.

use crate::error::{FirstError, scenario_of, wrong};
use crate::outside::Outside;
use face::Driven;
use packet::DropReason;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::Ended;
use units::{Problem, Time};

/// A run in progress; see `bloatlab.open`. Times are in nanoseconds.
#[pyclass(module = "bloatlab._core")]
pub(crate) struct DrivenRun {
    run: Driven,
    outside: Outside,
}

impl DrivenRun {
    /// Calls `act`. Releases the GIL, unless the run has code in Python. Raises the exception of a signal handler
    /// (Ctrl-C), the first error in the run's Python code, or the error of `act`.
    fn advance(
        &mut self,
        py: Python<'_>,
        act: impl FnOnce(&mut Driven, &mut (dyn FnMut(f64) -> bool + Send)) -> Result<Ended, Problem> + Send,
    ) -> PyResult<()> {
        self.outside.check()?;
        let error = self.outside.error().clone();
        let signals = FirstError::default();
        let mut observe = |_: f64| {
            if let Err(raised) = Python::attach(|py| py.check_signals()) {
                signals.store(raised);
            }
            !signals.is_set() && !error.is_set()
        };
        let run = &mut self.run;
        let ended = if self.outside.any() { act(run, &mut observe) } else { py.detach(|| act(run, &mut observe)) };
        if let Some(raised) = signals.take() {
            return Err(raised);
        }
        self.outside.check()?;
        match ended.map_err(wrong)? {
            Ended::Finished => Ok(()),
            Ended::Cancelled => Err(PyKeyboardInterrupt::new_err("the run was stopped")),
        }
    }
}

#[pymethods]
impl DrivenRun {
    /// Builds a run of a scenario (canonical JSON, see `resolve`) at time 0. `factories` is the same as in `run`.
    #[new]
    #[pyo3(signature = (resolved, factories=None))]
    fn new(resolved: &str, factories: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut scenario = scenario_of(resolved)?;
        let outside = Outside::insert(&mut scenario, factories)?;
        let run = Driven::new(scenario).map_err(wrong)?;
        outside.check()?;
        Ok(Self { run, outside })
    }

    /// Time that the run has reached, ns.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.run.now().0
    }

    /// True after `finish`.
    #[getter]
    fn over(&self) -> bool {
        self.run.is_over()
    }

    /// The scenario as canonical JSON, including the changes that have been made to links so far.
    #[getter]
    fn scenario(&self) -> String {
        self.run.scenario().canonical()
    }

    /// Handles all events before `time_ns`.
    fn run_until(&mut self, py: Python<'_>, time_ns: u64) -> PyResult<()> {
        self.advance(py, |run, observe| run.run_until(Time(time_ns), observe))
    }

    /// Runs to the end; returns the summary and the tables, as `run` does.
    fn finish(&mut self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.advance(py, |run, observe| Ok(run.finish(observe)))?;
        crate::run::to_python(py, self.run.outcome())
    }

    /// Returns an independent copy of the run.
    fn fork(&self, py: Python<'_>) -> PyResult<Self> {
        self.outside.check()?;
        let (run, outside) = self.outside.forked(py, || self.run.clone())?;
        Ok(Self { run, outside })
    }

    /// Returns the state of a link as a dict.
    fn link<'py>(&mut self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let state = self.run.link(name).map_err(wrong)?;
        let counts = &state.counts;
        let d = PyDict::new(py);
        d.set_item("packets", counts.backlog.packets)?;
        d.set_item("bytes", counts.backlog.bytes)?;
        d.set_item("sojourn", state.head_sojourn.map(units::Duration::secs))?;
        d.set_item("rate", state.rate.map(|rate| rate.0))?;
        d.set_item("offered_packets", counts.offered.packets)?;
        d.set_item("offered_bytes", counts.offered.bytes)?;
        d.set_item("delivered_packets", counts.delivered.packets)?;
        d.set_item("delivered_bytes", counts.delivered.bytes)?;
        d.set_item("dropped_packets", counts.dropped.packets)?;
        d.set_item("dropped_bytes", counts.dropped.bytes)?;
        d.set_item("marked_packets", counts.marked)?;
        d.set_item("in_flight_packets", counts.in_flight)?;
        let drops = PyDict::new(py);
        for (reason, packets) in DropReason::ALL.iter().zip(counts.drops).filter(|(_, packets)| *packets > 0) {
            drops.set_item(reason.name(), packets)?;
        }
        d.set_item("drops", drops)?;
        Ok(d)
    }

    /// Changes a link now. `change` is JSON with the same keys as an entry of the link's `changes`, except `at`.
    fn set_link(&mut self, name: &str, change: &str) -> PyResult<()> {
        self.outside.check()?;
        self.run.set_link(name, change).map_err(wrong)
    }

    /// Returns the number of flows of an application.
    fn flows(&self, app: &str) -> PyResult<usize> {
        self.run.flows(app).map_err(wrong)
    }

    /// Returns the numbers of a flow's connections over which payload may still arrive.
    fn active(&self, app: &str, flow: usize) -> PyResult<Vec<u32>> {
        self.run.active(app, flow).map_err(wrong)
    }

    /// Returns, as a dict, the state of a sender on the flow's latest open connection: the server's sender if only the
    /// server has written data, otherwise the client's.
    fn sender<'py>(&self, py: Python<'py>, app: &str, flow: usize) -> PyResult<Bound<'py, PyDict>> {
        let state = self.run.sender(app, flow).map_err(wrong)?;
        let probe = state.probe;
        let d = PyDict::new(py);
        d.set_item("cwnd", probe.cwnd_bytes)?;
        d.set_item("ssthresh", Some(probe.ssthresh_bytes).filter(|bytes| *bytes != u64::MAX))?;
        d.set_item("in_flight", probe.in_flight)?;
        d.set_item("srtt", Some(probe.srtt.secs()).filter(|srtt| *srtt > 0.0))?;
        d.set_item("pacing_rate", state.pacing_rate)?;
        d.set_item("delivered", state.delivered)?;
        d.set_item("sacked", state.sacked)?;
        d.set_item("retransmits", state.stats.retransmits)?;
        d.set_item("timeouts", state.stats.timeouts)?;
        d.set_item("marks", state.stats.ce_reported)?;
        d.set_item("state", probe.state.word())?;
        d.set_item("connection", state.connection)?;
        d.set_item("direction", if state.reverse { "reverse" } else { "forward" })?;
        d.set_item("mss", state.can.mss)?;
        Ok(d)
    }

    /// Returns the totals of a flow's clients (if `reverse`, of its servers) over all its connections, as a dict: payload
    /// delivered, retransmissions, timeouts, and CE-marked packets reported by ACKs.
    fn sent<'py>(&self, py: Python<'py>, app: &str, flow: usize, reverse: bool) -> PyResult<Bound<'py, PyDict>> {
        let sent = self.run.sent(app, flow, reverse).map_err(wrong)?;
        let d = PyDict::new(py);
        d.set_item("delivered", sent.delivered)?;
        d.set_item("retransmits", sent.retransmits)?;
        d.set_item("timeouts", sent.timeouts)?;
        d.set_item("marks", sent.ce_reported)?;
        Ok(d)
    }

    /// Sets "cwnd" or "ssthresh" (bytes) or "pacing_rate" (bit/s) of a flow's sender.
    #[pyo3(signature = (app, flow, key, value))]
    fn set_sender(&mut self, app: &str, flow: usize, key: &str, value: Option<u64>) -> PyResult<()> {
        self.outside.check()?;
        self.run.set_sender(app, flow, key, value).map_err(wrong)
    }
}
