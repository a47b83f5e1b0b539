//! Recorded traces of links, read and written.

use port::Lines;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use units::{Problem, shown};

/// A trace in mahimahi's format, or in the compact form of a scenario's `source`: its compact form and its facts
/// (`lines`, `period_ms`, `longest_gap_ms`, `gaps_over_100ms`). Raises `ValueError`: line and what is wrong.
#[pyfunction]
pub(crate) fn delivery_trace<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let read = if text.starts_with('+') { Lines::read_compact(text) } else { Lines::read(text) };
    let lines = read.map_err(|bad| PyValueError::new_err((bad.line, bad.message)))?;
    let facts = PyDict::new(py);
    facts.set_item("compact", lines.compact())?;
    facts.set_item("lines", lines.count())?;
    facts.set_item("period_ms", lines.period().0 / 1_000_000)?;
    facts.set_item("longest_gap_ms", lines.longest_gap().0 / 1_000_000)?;
    facts.set_item("gaps_over_100ms", lines.gaps().filter(|g| g.0 > 100_000_000).count())?;
    Ok(facts)
}

/// What link `link` of a scenario (canonical JSON, see `resolve`) lets through in its duration, under its seed, as a file of mahimahi.
#[pyfunction]
pub(crate) fn delivery_file(resolved: &str, link: &str) -> PyResult<String> {
    let scenario = crate::scenario_of(resolved)?;
    let links = scenario.directed_links();
    let problem = |message: String| crate::refuse("", &[Problem::new("", message)]);
    let Some((_, found)) = links.iter().find(|(name, _)| name == link) else {
        let known: Vec<&str> = links.iter().map(|(name, _)| name.as_str()).collect();
        return Err(problem(format!("unknown link \"{}\" (known: {})", shown(link), known.join(", "))));
    };
    let Some(delivery) = found.service.delivery() else {
        return Err(problem(format!("link \"{}\" has a rate; expected one with `delivery`", shown(link))));
    };
    let file = delivery.file(scenario.seed, link, scenario.duration);
    file.map_err(|p| crate::refuse("", &[p.under("delivery").under(link).under("link")]))
}
