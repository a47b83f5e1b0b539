//! What a run comes to: a summary, and tables of columns.
//!
//! Numbers that have no value (the median of nothing) are null in the summary and NaN in a table. Column and key names end
//! in their unit; `wire` counts every header, `goodput` payload that arrived in order.

mod account;
mod graded;
mod summary;
mod tables;

pub use account::{Account, ClassCounts, Column, Grading, LinkAccount, LinkCounts, Outcome, Table};
pub use summary::delay_json;

impl Account<'_> {
    /// Summary and tables.
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
