//! What a run hands over to be told of, and what it comes to.

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
    /// Whole numbers.
    U64(Vec<u64>),
    /// Real numbers.
    F64(Vec<f64>),
    /// Names.
    Text(Vec<String>),
    /// Whole numbers that nobody counted, so many of them: null in every row.
    Unknown(usize),
}

/// Columns of equal length, each with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Name and values.
    pub columns: Vec<(&'static str, Column)>,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Everything that fits on a page.
    pub summary: Value,
    /// The rest.
    pub tables: Vec<Table>,
}

/// What a link has counted up to a moment, and what it holds then.
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
    /// In its queue.
    pub backlog: Backlog,
    /// Packets that have left the queue, and neither arrived nor been dropped.
    pub in_flight: u64,
    /// The classes of its discipline, if it has any.
    pub classes: Vec<ClassCounts>,
    /// The opportunities of a link that delivers at moments of its own.
    pub opportunities: Option<OpportunityCounts>,
    /// The grants of its modem, by service flow, if that tells of them.
    pub grants: Vec<GrantCounts>,
}

/// What a class of a discipline has counted up to a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// What became of its packets.
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
    /// What was counted since `before`, and what is held now.
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

/// What a run knows of one link.
#[derive(Clone, Debug)]
pub struct LinkAccount<'a> {
    /// Its name.
    pub name: &'a str,
    /// Bits that its rate carries from the end of the warm-up on; `None` without a rate.
    pub capacity: Option<f64>,
    /// What it has counted in the whole run.
    pub total: LinkCounts,
    /// What it had counted when the warm-up ended.
    pub before: LinkCounts,
    /// Names of the classes of its discipline, if it has any.
    pub classes: Vec<&'a str>,
    /// Names of the service flows of its modem, if that tells of them.
    pub service_flows: Vec<&'static str>,
    /// Series and distributions, if it is recorded.
    pub meter: Option<&'a LinkMeter>,
}

impl LinkAccount<'_> {
    /// What was counted since the warm-up ended.
    pub(super) fn counts(&self) -> LinkCounts {
        self.total.since(&self.before)
    }

    /// What its queue is graded by: the mean wait of those that have left it, or its 99th percentile. `None` where more wait at the
    /// end than have left: how long they will wait is not known.
    pub(super) fn graded(&self, scale: &Scale) -> Option<Duration> {
        let sojourn = &self.meter?.sojourn;
        let known = sojourn.count() >= u64::from(self.total.backlog.packets);
        known.then(|| if scale.compares == Compares::P99 { sojourn.percentile(99.0) } else { sojourn.mean() })?
    }
}

/// How the delay that load adds is graded.
#[derive(Clone, Debug)]
pub struct Grading {
    /// The scale that was asked for; `None`: the first of [`crate::SCALES`], of which the summary does not tell the name.
    pub scale: Option<Scale>,
    /// From the start of the first application that is no probe to the end of the last.
    pub load: Range<Time>,
    /// Applications whose packets say that they can wait.
    pub background: BTreeSet<String>,
}

/// All that a run, simulated or live, gives account of.
#[derive(Clone, Debug)]
pub struct Account<'a> {
    /// Name of the scenario.
    pub name: &'a str,
    /// Its seed.
    pub seed: u64,
    /// How long it ran.
    pub duration: Duration,
    /// How much of that is left out at the start.
    pub warm_up: Duration,
    /// Events that were handled.
    pub events: u64,
    /// Every link, in the order of names.
    pub links: Vec<LinkAccount<'a>>,
    /// How it is graded.
    pub grading: Grading,
    /// Applications and flows.
    pub tally: &'a Tally,
    /// By application, what only its machine knows.
    pub figures: Vec<Vec<(&'static str, f64)>>,
    /// The same in words.
    pub words: Vec<Vec<(&'static str, &'static str)>>,
    /// The same over time: columns of equal length.
    pub columns: Vec<Vec<(&'static str, Vec<f64>)>>,
}

impl Account<'_> {
    /// How long it was measured.
    pub(super) fn measured(&self) -> Duration {
        self.duration.saturating_sub(self.warm_up)
    }
}

/// Milliseconds; NaN (null in JSON) for none.
pub(super) fn ms(d: Option<Duration>) -> f64 {
    d.map_or(f64::NAN, Duration::millis)
}

/// Bits per second, in millions, of `bytes` in `time`; NaN (null in JSON) for no time.
pub(super) fn mbit(bytes: u64, time: Duration) -> f64 {
    if time.is_zero() { f64::NAN } else { bytes as f64 * 8e-6 / time.secs() }
}
