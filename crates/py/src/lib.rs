//! The PyO3 module `bloatlab._core`: the only crate that depends on Python.
//!
//! Scenarios go in as JSON, results come out as a JSON summary and numpy columns that are moved, not copied. The GIL is
//! released while a world runs; `progress` is called with it held, and an exception there (Ctrl-C included) stops the run.

mod collisions;
mod delivery;
mod law;
#[cfg(all(feature = "live", target_os = "linux"))]
mod live;
#[cfg(not(all(feature = "live", target_os = "linux")))]
#[path = "no_live.rs"]
mod live;
mod parts;
mod quantity;
mod run;

use pyo3::prelude::*;
use scenario::Scenario;
use units::Problem;

pyo3::create_exception!(
    _core,
    ScenarioError,
    pyo3::exceptions::PyValueError,
    "A scenario that cannot be built: one line per problem, each with path, value and what is valid."
);

pyo3::create_exception!(
    _core,
    LiveError,
    pyo3::exceptions::PyRuntimeError,
    "This machine cannot run the bench now: no TUN, no rights, a socket that cannot be made, a build without it."
);

/// One exception for all problems; its `args` are the lines.
fn refuse(source: &str, problems: &[Problem]) -> PyErr {
    let lines: Vec<String> =
        problems.iter().map(|p| if source.is_empty() { p.to_string() } else { format!("{source}: {p}") }).collect();
    ScenarioError::new_err((lines,))
}

/// Reads, overrides, validates and completes a scenario; returns its canonical JSON.
#[pyfunction]
#[pyo3(signature = (text, format="toml", source="", sets=Vec::new()))]
fn resolve(text: &str, format: &str, source: &str, sets: Vec<(String, String)>) -> PyResult<String> {
    let format = face::format(format).map_err(|p| refuse(source, &[p]))?;
    face::resolve(text, format, &sets).map_err(|p| refuse(source, &p))
}

/// A scenario from canonical JSON.
fn scenario_of(resolved: &str) -> PyResult<Scenario> {
    face::scenario(resolved).map_err(|p| refuse("", &p))
}

/// A scenario (canonical JSON, see `resolve`) as TOML, without what its defaults say: read back, it is the same.
#[pyfunction]
fn as_toml(resolved: &str) -> PyResult<String> {
    let written = face::toml::sparse(&scenario_of(resolved)?).and_then(|tree| face::toml::text(&tree));
    written.map_err(|p| refuse("", &[p]))
}

/// Shell commands that set Linux up like a scenario's links (canonical JSON, see `resolve`), or like the one of this name.
#[pyfunction]
#[pyo3(signature = (resolved, link=None))]
fn tc_commands(resolved: &str, link: Option<&str>) -> PyResult<String> {
    scenario_of(resolved)?.tc(link).map_err(|p| refuse("", &[p]))
}

/// What there is to choose from, as JSON: `{"qdiscs": [...], "links": [...], "apps": [...], "tcp": [...]}`.
#[pyfunction]
fn catalogue() -> String {
    face::catalogue(true)
}

/// What a summary may have, as JSON: `{"measures": [...], "units": [...]}`.
#[pyfunction]
fn measures() -> String {
    face::measures()
}

/// The JSON Schema of a scenario.
#[pyfunction]
fn schema() -> String {
    Scenario::json_schema()
}

/// The version of the core.
#[pyfunction]
fn version() -> &'static str {
    face::VERSION
}

/// The E-model's R and MOS.   `loss` 0 to 1; `delay_ms` one way, everything included.   Source: Cole & Rosenbluth 2001.
#[pyfunction]
fn emodel(loss: f64, delay_ms: f64) -> (f64, f64) {
    let r = measure::emodel::r_value(units::Duration::from_secs_f64(delay_ms * 1e-3), loss);
    (r, measure::emodel::mos(r))
}

/// Silences panics: a panic becomes a Python exception with its message, and nothing is printed on standard error unless
/// BLOATLAB_TRACEBACK is set.
fn quiet_panics() {
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::env::var_os("BLOATLAB_TRACEBACK").is_some() {
            loud(info);
        }
    }));
}

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    quiet_panics();
    m.add("PanicException", m.py().get_type::<pyo3::panic::PanicException>())?;
    m.add("ScenarioError", m.py().get_type::<ScenarioError>())?;
    m.add_function(wrap_pyfunction!(resolve, m)?)?;
    m.add_function(wrap_pyfunction!(as_toml, m)?)?;
    m.add_function(wrap_pyfunction!(tc_commands, m)?)?;
    m.add_function(wrap_pyfunction!(schema, m)?)?;
    m.add_function(wrap_pyfunction!(version, m)?)?;
    m.add_function(wrap_pyfunction!(emodel, m)?)?;
    m.add_function(wrap_pyfunction!(catalogue, m)?)?;
    m.add_function(wrap_pyfunction!(measures, m)?)?;
    m.add_function(wrap_pyfunction!(collisions::session_queues, m)?)?;
    m.add_function(wrap_pyfunction!(run::run, m)?)?;
    m.add("LiveError", m.py().get_type::<LiveError>())?;
    m.add_function(wrap_pyfunction!(quantity::quantity, m)?)?;
    m.add("LawFailure", m.py().get_type::<law::LawFailure>())?;
    m.add_function(wrap_pyfunction!(delivery::delivery_trace, m)?)?;
    m.add_function(wrap_pyfunction!(delivery::delivery_file, m)?)?;
    m.add_class::<law::LawPacket>()?;
    m.add_class::<law::LawView>()?;
    m.add_function(wrap_pyfunction!(live::live, m)?)?;
    m.add_function(wrap_pyfunction!(live::live_clean, m)?)?;
    m.add_function(wrap_pyfunction!(live::has_live, m)?)?;
    m.add_class::<parts::Discipline>()?;
    m.add_class::<parts::Packet>()?;
    m.add_class::<parts::Fate>()?;
    m.add_class::<parts::TcpSender>()?;
    m.add_class::<parts::SentSegment>()?;
    Ok(())
}
