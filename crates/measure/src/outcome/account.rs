//! The result of a run, and the account (all counters and measurements) from which the result is computed.

use super::texts::Texts;
use crate::tally::Tally;
use crate::{Compares, LinkMeter, Scale};
use packet::{Backlog, ClassCount, Count, DropReason, GrantCounts, OpportunityCounts};
use serde_json::Value;
use std::collections::BTreeSet;
use units::Duration;

/// A column of a table.
#[derive(Clone, Debug)]
pub enum Column {
    /// Integers.
    U64(Vec<u64>),
    /// Real numbers.
    F64(Vec<f64>),
    /// Strings.
    Text(Texts),
    /// A column of nulls with this many rows, for a counter that this run did not have.
    Unknown(usize),
}

/// Real numbers are compared bit by bit: a NaN equals a NaN with the same bits, and 0 differs from -0.
impl PartialEq for Column {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::U64(a), Self::U64(b)) => a == b,
            (Self::F64(a), Self::F64(b)) => a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits())),
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Unknown(a), Self::Unknown(b)) => a == b,
            _ => false,
        }
    }
}

/// Columns of equal length, each with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name of the table.
    pub name: &'static str,
    /// Column names and values.
    pub columns: Vec<(&'static str, Column)>,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The summary: single values in nested JSON objects.
    pub summary: Value,
    /// The tables: counters per link and flow, single events, series and histograms.
    pub tables: Vec<Table>,
}

/// The counters of a link at one moment, and the packets that are in its queue or in flight at that moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Packets that arrived at the queue.
    pub offered: Count,
    /// Packets that arrived at the far end.
    pub delivered: Count,
    /// Packets dropped, for any reason.
    pub dropped: Count,
    /// Dropped packets by reason, in the order of [`DropReason::ALL`].
    pub drops: [u64; DropReason::ALL.len()],
    /// Packets marked with CE.
    pub marked: u64,
    /// Packets and bytes in the queue.
    pub backlog: Backlog,
    /// Packets that have left the queue and have neither arrived nor been dropped.
    pub in_flight: u64,
    /// The classes of the link's discipline, if it has any.
    pub classes: Vec<ClassCounts>,
    /// Counters of delivery opportunities, if the link has delivery opportunities instead of a rate.
    pub opportunities: Option<OpportunityCounts>,
    /// Counters of the grants that each service flow of the link's modem received, if the modem reports them.
    pub grants: Vec<GrantCounts>,
}

/// The counters of one class of a discipline at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// Packets offered, delivered and dropped.
    pub counts: ClassCount,
    /// Number of packets marked by a control law, and number of packets marked because of a step threshold; `None` for
    /// a class that never marks.
    pub marked: Option<[u64; 2]>,
}

impl ClassCounts {
    fn since(self, before: Self) -> Self {
        let then = before.marked.unwrap_or_default();
        let marked = self.marked.map(|now| [now[0] - then[0], now[1] - then[1]]);
        Self { counts: self.counts.since(before.counts), marked }
    }
}

impl LinkCounts {
    /// Returns the counts since `before`. The backlog, the packets in flight and the longest gap between delivery
    /// opportunities are those of `self`.
    pub(super) fn since(&self, before: &Self) -> Self {
        let mut drops = self.drops;
        drops.iter_mut().zip(before.drops).for_each(|(now, then)| *now -= then);
        let earlier = before.classes.iter().copied().chain(std::iter::repeat(ClassCounts::default()));
        let granted = before.grants.iter().copied().chain(std::iter::repeat(GrantCounts::default()));
        Self {
            offered: self.offered.since(before.offered),
            delivered: self.delivered.since(before.delivered),
            dropped: self.dropped.since(before.dropped),
            drops,
            marked: self.marked - before.marked,
            backlog: self.backlog,
            in_flight: self.in_flight,
            classes: self.classes.iter().zip(earlier).map(|(now, then)| now.since(then)).collect(),
            grants: self.grants.iter().zip(granted).map(|(now, then)| now.since(then)).collect(),
            opportunities: self.opportunities.map(|now| now.since(before.opportunities.unwrap_or_default())),
        }
    }
}

/// The counters and measurements of one link in a run, from which the link's results are computed.
#[derive(Clone, Debug)]
pub struct LinkAccount<'a> {
    /// Name of the link.
    pub name: &'a str,
    /// Bits that the link can carry at its rate after the warm-up; `None` without a rate.
    pub capacity: Option<f64>,
    /// Counters over the whole run.
    pub total: LinkCounts,
    /// Counters at the end of the warm-up.
    pub before: LinkCounts,
    /// Names of the discipline's classes, if it has any.
    pub classes: Vec<&'a str>,
    /// Names of the modem's service flows, if the modem reports them.
    pub service_flows: Vec<&'static str>,
    /// Series and distributions, if the link is recorded.
    pub meter: Option<&'a LinkMeter>,
}

impl LinkAccount<'_> {
    /// Returns the counts since the end of the warm-up.
    pub(super) fn counts(&self) -> LinkCounts {
        self.total.since(&self.before)
    }

    /// Returns the sojourn time that determines the queue's grade: the mean or the 99th percentile over the packets
    /// that left after the warm-up. `None` if the link is not recorded, if no packet left, or if more packets wait at
    /// the end than have left, because the sojourn times of the waiting packets are unknown.
    pub(super) fn graded(&self, scale: &Scale) -> Option<Duration> {
        let sojourn = &self.meter?.sojourn;
        let known = sojourn.count() >= u64::from(self.total.backlog.packets);
        known.then(|| if scale.compares == Compares::P99 { sojourn.percentile(99.0) } else { sojourn.mean() })?
    }
}

/// Defines how the delay added under load is graded.
#[derive(Clone, Debug)]
pub struct Grading {
    /// The scale that the scenario sets. With `None`, the first of [`crate::SCALES`] is used, and the summary does not
    /// contain its name.
    pub scale: Option<Scale>,
    /// Names of the applications whose DSCP is one of those for background traffic.
    pub background: BTreeSet<String>,
}

/// Everything from which the result of a run, simulated or live, is computed.
#[derive(Clone, Debug)]
pub struct Account<'a> {
    /// Name of the scenario.
    pub name: &'a str,
    /// Seed of the run.
    pub seed: u64,
    /// Duration of the run.
    pub duration: Duration,
    /// Warm-up: the time at the start that the summary excludes.
    pub warm_up: Duration,
    /// Number of events handled; in a live run, number of packets read and written.
    pub events: u64,
    /// All links, in name order.
    pub links: Vec<LinkAccount<'a>>,
    /// The grading of the run.
    pub grading: Grading,
    /// Counters of applications and flows.
    pub tally: &'a Tally,
    /// For each application, the numeric results that are specific to its kind of application.
    pub figures: Vec<Vec<(&'static str, f64)>>,
    /// For each application, the text results that are specific to its kind of application.
    pub words: Vec<Vec<(&'static str, &'static str)>>,
    /// For each application, the series that are specific to its kind of application, as columns of equal length.
    pub columns: Vec<Vec<(&'static str, Vec<f64>)>>,
}

impl Account<'_> {
    /// Returns the duration without the warm-up.
    pub(super) fn measured(&self) -> Duration {
        self.duration.saturating_sub(self.warm_up)
    }
}

/// Converts a duration to milliseconds; `None` becomes NaN (null in JSON).
pub(super) fn ms(d: Option<Duration>) -> f64 {
    d.map_or(f64::NAN, Duration::millis)
}

/// Returns the rate in Mbit/s of `bytes` in `time`; NaN (null in JSON) if `time` is zero.
pub(super) fn mbit(bytes: u64, time: Duration) -> f64 {
    if time.is_zero() { f64::NAN } else { bytes as f64 * 8e-6 / time.secs() }
}
