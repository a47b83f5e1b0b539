//! What every face of the program needs, and no language: `py` gives it to Python, `web` to a page.
//!
//! | part | what it does |
//! |---|---|
//! | [`resolve`], [`scenario()`] | a text to a scenario, with every problem at its path |
//! | [`Run`] | one run, in slices; its summary as the one JSON text that all faces give |
//! | [`catalogue()`] | what there is to choose from, with every parameter |
//! | [`measures()`] | what a summary may have: names, units, which way is better |
//! | [`toml`] | a scenario as TOML: as it was given, or without what the defaults say |
//! | [`charts`] | series and distributions of a result, thin enough to draw |

mod catalogue;
mod charts;
mod run;
pub mod toml;

pub use catalogue::{catalogue, measures};
pub use run::{Run, simulate, summary};

use ::scenario::Scenario;
use ::scenario::read::{self, Format};
use units::Problem;

/// The version of bloatlab.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The format that `name` means.   Errors: another word than toml or json.
pub fn format(name: &str) -> Result<Format, Problem> {
    match name {
        "toml" => Ok(Format::Toml),
        "json" => Ok(Format::Json),
        other => Err(Problem::new("", format!("\"{other}\" is not a format of scenarios (valid: toml, json)"))),
    }
}

/// Reads, overrides, validates and completes a scenario; returns its canonical JSON.
pub fn resolve(text: &str, format: Format, sets: &[(String, String)]) -> Result<String, Vec<Problem>> {
    read::scenario(text, format, sets).map(|s| s.canonical())
}

/// A scenario from JSON.
pub fn scenario(json: &str) -> Result<Scenario, Vec<Problem>> {
    read::scenario(json, Format::Json, &[])
}

/// A queue discipline from JSON: its name in quotes, or a table of that name.   Errors: one that cannot be built.
pub fn discipline(json: &str) -> Result<qdisc::Spec, Problem> {
    let spec: qdisc::Spec = read::typed(read::parse(json, Format::Json)?)?;
    spec.validate()?;
    Ok(spec)
}
