//! The result of a run: a summary, and tables of columns.
//!
//! A number without a value (such as a median of no values) is null in the summary and NaN in a table. A counter that
//! the run did not have is a column of nulls. Most names of columns and keys contain the unit, such as `_ms` or `_bytes`.
//! In names, `wire` means bytes including all headers, and `goodput` means payload that arrived in order.

mod account;
mod apps;
mod declared;
mod graded;
mod links;
mod statistics;
mod summary;
mod tables;
mod texts;

pub use account::{Account, ClassCounts, Column, Grading, LinkAccount, LinkCounts, Outcome, Table};
pub use declared::{Declared, declared};
pub use summary::Verdict;
pub use texts::Texts;

impl Account<'_> {
    /// Returns the summary and the tables.
    pub fn outcome(&self) -> Outcome {
        let mut tables = vec![
            self.links_table(),
            self.flows_table(),
            self.pages_table(),
            self.files_table(),
            self.pings_table(),
            self.syn_times(),
            self.queue_series(),
            self.flow_series(),
            self.model_series(),
            self.queue_histogram(),
            self.sojourn_histogram(),
            self.delay_histogram(),
        ];
        tables.extend(self.own_tables());
        Outcome { summary: self.summary(), tables }
    }
}
