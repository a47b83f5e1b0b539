//! The code shared by two interfaces of the program: the crate `py` for Python, and the crate `web` for a web page.
//!
//! | part | what it does |
//! |---|---|
//! | [`resolve`], [`scenario()`] | reads a scenario from text; every problem names its path |
//! | [`Run`] | runs a scenario in slices; its summary as JSON has the same bytes in both interfaces |
//! | [`Driven`] | a run that its caller drives step by step and can fork |
//! | [`Window`] | records the packets in a time window of a run, as a binary table |
//! | [`catalogue()`] | lists the available choices, with all parameters |
//! | [`measures()`] | lists the measures of a summary: names, units, better direction |
//! | [`toml`] | writes a scenario as TOML, in full or without defaults |
//! | [`charts`] | reduces the series and distributions of a result for drawing |

mod calls;
mod catalogue;
mod charts;
mod driven;
mod run;
mod tables;
pub mod toml;
mod window;

pub use catalogue::{catalogue, measures};
pub use driven::Driven;
pub use run::{Run, measure, simulate, summary};
pub use window::Window;

use ::scenario::Scenario;
use ::scenario::read::{self, Format};
use units::Problem;

/// The version of bloatlab.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns the format with this name.   Errors: a name other than toml or json.
pub fn format(name: &str) -> Result<Format, Problem> {
    match name {
        "toml" => Ok(Format::Toml),
        "json" => Ok(Format::Json),
        other => Err(Problem::new("", format!("\"{other}\" is not a format of scenarios (valid: toml, json)"))),
    }
}

/// Reads a scenario, applies the overrides `sets`, validates and completes the scenario, and returns its canonical
/// JSON.
pub fn resolve(text: &str, format: Format, sets: &[(String, String)]) -> Result<String, Vec<Problem>> {
    read::scenario(text, format, sets).map(|s| s.canonical())
}

/// Reads a scenario from JSON.
pub fn scenario(json: &str) -> Result<Scenario, Vec<Problem>> {
    read::scenario(json, Format::Json, &[])
}

/// Reads a queue discipline from JSON: its name in quotes, or a table whose only key is the name.   Errors: an invalid
/// discipline.
pub fn discipline(json: &str) -> Result<qdisc::Spec, Problem> {
    let spec = read::discipline(read::parse(json, Format::Json)?)?;
    spec.validate()?;
    Ok(spec)
}
