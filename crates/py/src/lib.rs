//! The PyO3 module `bloatlab._core`. No other crate depends on Python.
//!
//! Scenarios are passed in as JSON (`resolve` also reads TOML). Results are a JSON summary and tables. Columns of numbers
//! become numpy arrays (each copied once), and other columns become lists. A run releases the GIL, unless it has code in
//! Python. `progress` is called with the GIL; an exception in `progress`, including Ctrl-C, stops the run.

mod collisions;
mod controller;
mod delivery;
mod driven;
mod error;
mod law;
#[cfg(all(feature = "live", target_os = "linux"))]
mod live;
#[cfg(not(all(feature = "live", target_os = "linux")))]
#[path = "no_live.rs"]
mod live;
mod network;
mod object;
mod outside;
mod parts;
mod past;
mod quantity;
mod run;

use error::{LiveError, ScenarioError, refuse, scenario_of};
use pyo3::prelude::*;
use scenario::Scenario;
use std::collections::BTreeMap;

/// Reads a scenario, applies the overrides in `sets`, validates and completes the scenario, and returns its canonical
/// JSON.
#[pyfunction]
#[pyo3(signature = (text, format="toml", source="", sets=Vec::new()))]
fn resolve(text: &str, format: &str, source: &str, sets: Vec<(String, String)>) -> PyResult<String> {
    let format = face::format(format).map_err(|p| refuse(source, &[p]))?;
    face::resolve(text, format, &sets).map_err(|p| refuse(source, &p))
}

/// Writes a scenario (canonical JSON, see `resolve`) as TOML. The TOML omits default values; it still yields the same
/// scenario when it is read back.
#[pyfunction]
fn as_toml(resolved: &str) -> PyResult<String> {
    let written = face::toml::sparse(&scenario_of(resolved)?).and_then(|tree| face::toml::text(&tree));
    written.map_err(|p| refuse("", &[p]))
}

/// Returns shell commands that configure Linux like the links of a scenario (canonical JSON, see `resolve`), or only like the
/// link `link`.
#[pyfunction]
#[pyo3(signature = (resolved, link=None))]
fn tc_commands(resolved: &str, link: Option<&str>) -> PyResult<String> {
    scenario_of(resolved)?.tc(link).map_err(|p| refuse("", &[p]))
}

/// The rate of a link, and of its queue's own shaper, in bit/s.
type LinkRates = (Option<u64>, Option<u64>);

/// Returns two rates in bit/s for each link of a scenario (canonical JSON, see `resolve`). The first is the lowest of the rates
/// of the wire, of the shaper, modem or delivery opportunities, and of the queue's own shaper. The second is the rate of the
/// queue's own shaper. A rate that a link does not have is None.
#[pyfunction]
fn link_rates(resolved: &str) -> PyResult<BTreeMap<String, LinkRates>> {
    let scenario = scenario_of(resolved)?;
    let rates = scenario.link.iter().map(|(name, link)| {
        let rate = link.sustained_rate().into_iter().chain(link.rate).min();
        (name.clone(), (rate.map(|rate| rate.0), link.queue.shapes().map(|rate| rate.0)))
    });
    Ok(rates.collect())
}

/// Parses a queue in tc syntax, or the name of a discipline, into the table of a scenario as JSON. The table contains only the
/// parameters that the text sets. Returns `None` if the text is not valid.
#[pyfunction]
fn tc_table(text: &str) -> Option<String> {
    qdisc::tc::table(text).map(|table| table.to_string())
}

/// Returns the available choices as JSON: `{"qdiscs": [...], "links": [...], "apps": [...], "tcp": [...],
/// "grades": [...]}`.
#[pyfunction]
fn catalogue() -> String {
    face::catalogue(true)
}

/// Returns a list of a summary's measures and a list of the units, as JSON: `{"measures": [...], "units": [...]}`.
#[pyfunction]
fn measures() -> String {
    face::measures()
}

/// Returns the JSON Schema of a scenario.
#[pyfunction]
fn schema() -> String {
    Scenario::json_schema()
}

/// Returns the version of the core.
#[pyfunction]
fn version() -> &'static str {
    face::VERSION
}

/// Returns the R value and the MOS of the E-model. `loss` is the fraction of packets that are lost (0 to 1), and
/// `delay_ms` is the total one-way delay.
/// Source: Cole & Rosenbluth 2001.
#[pyfunction]
fn emodel(loss: f64, delay_ms: f64) -> (f64, f64) {
    let r = measure::emodel::r_value(units::Duration::from_secs_f64(delay_ms * 1e-3), loss);
    (r, measure::emodel::mos(r))
}

/// Stops panics from printing on standard error, unless BLOATLAB_TRACEBACK is set. A panic becomes a Python exception with its
/// message.
fn quiet_panics() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::env::var_os("BLOATLAB_TRACEBACK").is_some() {
            default(info);
        }
    }));
}

#[pymodule]
mod _core {
    use super::{LiveError, PyModule, PyModuleMethods, PyResult, ScenarioError, quiet_panics};
    use pyo3::Bound;

    #[pymodule_export]
    use super::collisions::session_queues;
    #[pymodule_export]
    use super::controller::{
        ControllerLoss, ControllerMoment, ControllerRate, ControllerSample, ControllerStart, PythonDrive,
    };
    #[pymodule_export]
    use super::delivery::{delivery_file, delivery_trace};
    #[pymodule_export]
    use super::driven::DrivenRun;
    #[pymodule_export]
    use super::law::{LawPacket, LawView};
    #[pymodule_export]
    use super::live::{has_live, live, live_clean};
    #[pymodule_export]
    use super::network::{Datagram, NetworkRun};
    #[pymodule_export]
    use super::parts::{Discipline, Fate, Packet, SentSegment, TcpSender};
    #[pymodule_export]
    use super::past::{Past, timeline};
    #[pymodule_export]
    use super::quantity::quantity;
    #[pymodule_export]
    use super::run::{Tables, run};
    #[pymodule_export]
    use super::{as_toml, catalogue, emodel, link_rates, measures, resolve, schema, tc_commands, tc_table, version};

    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        quiet_panics();
        let py = m.py();
        m.add("PanicException", py.get_type::<pyo3::panic::PanicException>())?;
        m.add("ScenarioError", py.get_type::<ScenarioError>())?;
        m.add("LiveError", py.get_type::<LiveError>())?;
        m.add("ClassFailure", py.get_type::<super::object::ClassFailure>())?;
        m.add("EndpointFailure", py.get_type::<super::network::EndpointFailure>())
    }
}
