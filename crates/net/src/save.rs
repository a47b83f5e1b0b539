//! Writes the result of a run as a folder that Python's `bloatlab` reads (python/bloatlab/results.py).
//!
//! ```text
//! scenario.resolved.json   the scenario as run, with all defaults and the endpoints
//! summary.json             the measures of the run
//! tables/NAME.json         a list of rows
//! ```
//!
//! Departs: there is no provenance.json, because this crate reads neither the clock nor the machine's name. Equal runs write
//! equal bytes.

use crate::Network;
use record::Sink;
use serde_json::Value;
use sim::{Column, Table};
use std::fmt::Display;
use std::io::{Error, Result};
use std::path::Path;

impl<S: Sink> Network<S> {
    /// Writes the result of the run so far into a folder that `bloatlab check`, `plot`, `diff` and `report` can read. Creates
    /// the folder if it does not exist.
    ///
    /// Errors: a file cannot be written, or the network has not been built.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        let outcome = self.outcome().ok_or_else(|| Error::other("the network has not run yet; run it first"))?;
        let tables = folder.join("tables");
        std::fs::create_dir_all(&tables)?;
        write(&folder.join("scenario.resolved.json"), self.scenario().canonical())?;
        write(&folder.join("summary.json"), &outcome.summary)?;
        for table in &outcome.tables {
            write(&tables.join(table.name).with_extension("json"), rows(table))?;
        }
        Ok(())
    }
}

/// Writes text with a final newline.
fn write(file: &Path, text: impl Display) -> Result<()> {
    std::fs::write(file, format!("{text:#}\n")).map_err(|e| Error::new(e.kind(), format!("{}: {e}", file.display())))
}

/// Returns the rows of a table. A missing number becomes null.
fn rows(table: &Table) -> Value {
    let length = table.columns.first().map_or(0, |(_, column)| match column {
        Column::U64(values) => values.len(),
        Column::F64(values) => values.len(),
        Column::Text(values) => values.len(),
        Column::Unknown(rows) => *rows,
    });
    let cell = |column: &Column, i: usize| match column {
        Column::U64(values) => values[i].into(),
        Column::F64(values) => values[i].into(),
        Column::Text(values) => values[i].into(),
        Column::Unknown(_) => Value::Null,
    };
    (0..length)
        .map(|i| table.columns.iter().map(|(name, column)| (*name, cell(column, i))).collect::<Value>())
        .collect()
}
