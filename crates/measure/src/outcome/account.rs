//! The input of the summary and tables (a run's account), and their types.

use crate::tally::Tally;
use crate::{Compares, LinkMeter, Scale};
use packet::{Backlog, ClassCount, Count, DropReason, GrantCounts, OpportunityCounts};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Range;
use units::{Duration, Time};

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Integers.
    U64(Vec<u64>),
    /// Real numbers.
    F64(Vec<f64>),
    /// Texts.
    Text(Vec<String>),
    /// A column of nulls, with this many rows: a counter that this run did not have.
    Unknown(usize),
}

/// Columns of equal length, each with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Columns: name and values.
    pub columns: Vec<(&'static str, Column)>,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The numbers that fit on one page.
    pub summary: Value,
    /// Series, flows and events.
    pub tables: Vec<Table>,
}

/// A link's counters at a moment, and its content then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Arrivals at the queue.
    pub offered: Count,
    /// Arrivals at the far end.
    pub delivered: Count,
    /// Drops, whatever the reason.
    pub dropped: Count,
    /// Dropped packets by reason, in the order of [`DropReason::ALL`].
    pub drops: [u64; DropReason::ALL.len()],
    /// Packets marked with CE.
    pub marked: u64,
    /// Content of its queue.
    pub backlog: Backlog,
    /// Packets that have left the queue and have neither arrived nor been dropped.
    pub in_flight: u64,
    /// The classes of its discipline, if it has any.
    pub classes: Vec<ClassCounts>,
    /// The opportunities of a link with delivery opportunities instead of a rate.
    pub opportunities: Option<OpportunityCounts>,
    /// The grants of its modem, by service flow, if the modem reports them.
    pub grants: Vec<GrantCounts>,
}

/// The counters of a discipline's class at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// Packets offered, delivered and dropped.
    pub counts: ClassCount,
    /// Marks by a law and by a step; `None` for a class that never marks.
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
    /// Counts since `before`, and the current content.
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

/// The account of one link in a run.
#[derive(Clone, Debug)]
pub struct LinkAccount<'a> {
    /// Its name.
    pub name: &'a str,
    /// Bits that its rate carries after the warm-up; `None` without a rate.
    pub capacity: Option<f64>,
    /// Its counters over the whole run.
    pub total: LinkCounts,
    /// Its counters at the end of the warm-up.
    pub before: LinkCounts,
    /// Names of the classes of its discipline, if it has any.
    pub classes: Vec<&'a str>,
    /// Names of the service flows of its modem, if the modem reports them.
    pub service_flows: Vec<&'static str>,
    /// Series and distributions, if it is recorded.
    pub meter: Option<&'a LinkMeter>,
}

impl LinkAccount<'_> {
    /// Counts since the end of the warm-up.
    pub(super) fn counts(&self) -> LinkCounts {
        self.total.since(&self.before)
    }

    /// The sojourn time by which its queue is graded: the mean or the 99th percentile of the packets that left. `None` if more packets
    /// wait at the end than have left, since their sojourn times are not known.
    pub(super) fn graded(&self, scale: &Scale) -> Option<Duration> {
        let sojourn = &self.meter?.sojourn;
        let known = sojourn.count() >= u64::from(self.total.backlog.packets);
        known.then(|| if scale.compares == Compares::P99 { sojourn.percentile(99.0) } else { sojourn.mean() })?
    }
}

/// The grading of the delay added by load.
#[derive(Clone, Debug)]
pub struct Grading {
    /// The scale that the scenario names; `None`: the first of [`crate::SCALES`], whose name the summary then omits.
    pub scale: Option<Scale>,
    /// From the start of the first application that is not a probe to the end of the last one.
    pub load: Range<Time>,
    /// Applications whose packets are marked as background traffic.
    pub background: BTreeSet<String>,
}

/// The account of a run, simulated or live.
#[derive(Clone, Debug)]
pub struct Account<'a> {
    /// Name of the scenario.
    pub name: &'a str,
    /// Its seed.
    pub seed: u64,
    /// Its duration.
    pub duration: Duration,
    /// Time at the start that the summary excludes.
    pub warm_up: Duration,
    /// Events that were handled.
    pub events: u64,
    /// Every link, in the order of names.
    pub links: Vec<LinkAccount<'a>>,
    /// Its grading.
    pub grading: Grading,
    /// Applications and flows.
    pub tally: &'a Tally,
    /// Figures specific to its kind, by application.
    pub figures: Vec<Vec<(&'static str, f64)>>,
    /// Texts specific to its kind, by application.
    pub words: Vec<Vec<(&'static str, &'static str)>>,
    /// Series specific to its kind, by application: columns of equal length.
    pub columns: Vec<Vec<(&'static str, Vec<f64>)>>,
}

impl Account<'_> {
    /// Duration without the warm-up.
    pub(super) fn measured(&self) -> Duration {
        self.duration.saturating_sub(self.warm_up)
    }
}

/// Milliseconds; NaN (null in JSON) for none.
pub(super) fn ms(d: Option<Duration>) -> f64 {
    d.map_or(f64::NAN, Duration::millis)
}

/// Rate in Mbit/s of `bytes` in `time`; NaN (null in JSON) if `time` is zero.
pub(super) fn mbit(bytes: u64, time: Duration) -> f64 {
    if time.is_zero() { f64::NAN } else { bytes as f64 * 8e-6 / time.secs() }
}
