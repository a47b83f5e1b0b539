//! Reads and writes delivery traces of links.

use port::Lines;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use units::{Problem, shown};

/// Reads a trace in mahimahi's format, or in the compact form that a scenario stores under `source`. Returns a dict with
/// the trace's compact form (`compact`) and its statistics (`lines`, `period_ms`, `longest_gap_ms`, `gaps_over_100ms`).
/// Raises `ValueError` with the number of the invalid line (in the compact form, of the invalid entry) and a description
/// of the mistake.
#[pyfunction]
pub(crate) fn delivery_trace<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let read = if text.starts_with('+') { Lines::read_compact(text) } else { Lines::read(text) };
    let lines = read.map_err(|bad| PyValueError::new_err((bad.line, bad.message)))?;
    let statistics = PyDict::new(py);
    statistics.set_item("compact", lines.compact())?;
    statistics.set_item("lines", lines.count())?;
    statistics.set_item("period_ms", lines.period().0 / 1_000_000)?;
    statistics.set_item("longest_gap_ms", lines.longest_gap().0 / 1_000_000)?;
    statistics.set_item("gaps_over_100ms", lines.gaps().filter(|g| g.0 > 100_000_000).count())?;
    Ok(statistics)
}

/// Returns the delivery opportunities of a link as the text of a mahimahi file. `resolved` is the scenario as canonical JSON (see
/// `resolve`). The file covers the scenario's duration; random opportunities are drawn with its seed.
#[pyfunction]
pub(crate) fn delivery_file(resolved: &str, link: &str) -> PyResult<String> {
    let scenario = crate::error::scenario_of(resolved)?;
    let links = scenario.directed_links();
    let problem = |message: String| crate::error::refuse("", &[Problem::new("", message)]);
    let Some((_, found)) = links.iter().find(|(name, _)| name == link) else {
        let known: Vec<&str> = links.iter().map(|(name, _)| name.as_str()).collect();
        return Err(problem(format!("unknown link \"{}\" (known: {})", shown(link), known.join(", "))));
    };
    let Some(delivery) = found.service.delivery() else {
        return Err(problem(format!("link \"{}\" has a rate; expected one with `delivery`", shown(link))));
    };
    delivery.file(scenario.seed, link, scenario.duration).map_err(|p| crate::error::refuse("", &[p]))
}
