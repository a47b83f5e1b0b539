//! The result of a run: a summary, and tables of columns.
//!
//! Numbers without a value (the median of nothing) are null in the summary and NaN in a table. Column and key names end
//! with their unit; `wire` includes all headers, `goodput` is payload that arrived in order.

mod account;
mod apps;
mod declared;
mod graded;
mod links;
mod statistics;
mod summary;
mod tables;

pub use account::{Account, ClassCounts, Column, Grading, LinkAccount, LinkCounts, Outcome, Table};
pub use declared::{Declared, declared};
pub use summary::Verdict;

impl Account<'_> {
    /// The summary and the tables.
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
        tables.extend(self.rpm_table());
        Outcome { summary: self.summary(), tables }
    }
}
