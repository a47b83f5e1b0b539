//! Reads the columns of a result's tables. A column that the result does not have is read as an empty column.

use sim::{Column, Outcome, Table};

/// Groups consecutive rows with the same name, and returns the name and the range of rows of each group.
pub(crate) fn runs<'a>(names: &[&'a str]) -> Vec<(&'a str, std::ops::Range<usize>)> {
    let mut found: Vec<(&str, std::ops::Range<usize>)> = Vec::new();
    for (i, &name) in names.iter().enumerate() {
        match found.last_mut() {
            Some((last, rows)) if *last == name => rows.end = i + 1,
            _ => found.push((name, i..i + 1)),
        }
    }
    found
}

pub(crate) fn table<'a>(outcome: &'a Outcome, name: &str) -> Option<&'a Table> {
    outcome.tables.iter().find(|t| t.name == name)
}

fn column<'a>(table: Option<&'a Table>, name: &str) -> Option<&'a Column> {
    table.and_then(|t| t.columns.iter().find(|c| c.0 == name)).map(|c| &c.1)
}

pub(crate) fn numbers<'a>(table: Option<&'a Table>, name: &str) -> &'a [f64] {
    if let Some(Column::F64(values)) = column(table, name) { values } else { &[] }
}

pub(crate) fn counts<'a>(table: Option<&'a Table>, name: &str) -> &'a [u64] {
    if let Some(Column::U64(values)) = column(table, name) { values } else { &[] }
}

pub(crate) fn texts<'a>(table: Option<&'a Table>, name: &str) -> Vec<&'a str> {
    if let Some(Column::Text(values)) = column(table, name) { values.iter().collect() } else { Vec::new() }
}
