//! What load adds to the delay of a run, and its grade on the scale that the scenario chose.
//!
//! ```text
//!   of a ping      99th percentile of the round trip - least round trip, or on another scale what that compares
//!   of a queue     99th percentile of the sojourn, or on another scale its mean; it has no round trips per minute
//!   of a run       of the ping that suffers most, or without pings of the longest queue;
//!                  in round trips per minute of the responsiveness test, else of the slowest ping
//! ```
//!
//! A run is graded by what a person feels: what is marked as background, whose part is to wait, only where nothing else is there.

use super::account::{Account, Grading};
use crate::{Compares, Idle, Probes, SCALES, Scale};
use serde_json::{Value, json};
use units::Duration;

/// A minute, ms.
const MINUTE: f64 = 60_000.0;

/// What is said of a ping.
pub(super) struct Judged<'a> {
    /// What load adds to its round trip in the mean.
    pub added: Option<Duration>,
    /// What it adds to 99 of 100 at most.
    pub p99: Option<Duration>,
    /// Round trips per minute, on a scale of them.
    rpm: Option<f64>,
    /// The grade of what the scale compares.
    pub grade: Option<&'a str>,
}

impl Grading {
    pub(super) fn scale(&self) -> &Scale {
        self.scale.as_ref().unwrap_or(&SCALES[0])
    }

    /// What load adds to these round trips, and its grade.
    pub(super) fn judge(&self, probes: &Probes) -> Judged<'_> {
        let (scale, loaded, p99) = (self.scale(), probes.loaded(&self.load), probes.induced_p99());
        match scale.compares {
            Compares::P99 => {
                Judged { added: probes.induced(), p99, rpm: None, grade: p99.and_then(|d| scale.added(d)) }
            }
            Compares::Added(idle) => {
                let added = match idle {
                    Idle::Least => probes.induced(),
                    Idle::Median => {
                        loaded.and_then(|loaded| Some(loaded.saturating_sub(probes.unloaded(self.load.start)?)))
                    }
                };
                Judged { added, p99, rpm: None, grade: added.and_then(|d| scale.added(d)) }
            }
            Compares::Rpm => {
                let rpm = loaded.map(|d| MINUTE / d.millis());
                Judged { added: probes.induced(), p99, rpm, grade: rpm.and_then(|rpm| scale.grade(rpm)) }
            }
        }
    }

    /// What the run is graded by: `latency` of the summary.
    pub(super) fn latency(&self, account: &Account<'_>) -> Value {
        let mut v = match self.scale().compares {
            Compares::Added(_) | Compares::P99 => self.added(account),
            Compares::Rpm => self.rpm(account),
        };
        if let Some(scale) = &self.scale {
            v["scale"] = scale.name.into();
        }
        let from = v["from"].as_str().and_then(|from| from.strip_prefix("app."));
        if from.is_some_and(|app| self.background.contains(app)) {
            v["background"] = true.into();
        }
        v
    }

    fn added(&self, account: &Account<'_>) -> Value {
        let high = self.scale().compares == Compares::P99;
        let apps = account.tally.apps.iter().filter_map(|app| {
            let judged = self.judge(app.probes.as_ref()?);
            Some((if high { judged.p99? } else { judged.added? }, judged.added, judged.p99, "app", &*app.name))
        });
        let queues = account.links.iter().filter_map(|l| {
            let sojourn = &l.meter?.sojourn;
            Some((l.graded(self.scale())?, sojourn.mean(), sojourn.percentile(99.0), "link", l.name))
        });
        // of equals the first in the order of names
        let worst = |a: (Duration, _, _, _, _), b: (Duration, _, _, _, _)| if b.0 > a.0 { b } else { a };
        let (behind, felt): (Vec<_>, Vec<_>) = apps.partition(|(.., name)| self.background.contains(*name));
        let found = felt.into_iter().reduce(worst).or_else(|| behind.into_iter().reduce(worst));
        let found = found.or_else(|| queues.reduce(worst));
        json!({
            "induced_ms": found.and_then(|(_, mean, ..)| mean).map(Duration::millis),
            "induced_p99_ms": found.and_then(|(_, _, p99, ..)| p99).map(Duration::millis),
            "grade": found.and_then(|(d, ..)| self.scale().added(d)),
            "from": found.map(|(.., what, name)| format!("{what}.{name}")),
        })
    }

    fn rpm(&self, account: &Account<'_>) -> Value {
        let apps = account.tally.apps.iter();
        let tests = apps.clone().zip(&account.figures).filter_map(|(app, figures)| {
            let (_, rpm) = figures.iter().find(|(name, rpm)| *name == "rpm" && !rpm.is_nan())?;
            Some((*rpm, None, &*app.name))
        });
        let pings = apps.filter_map(|app| {
            let judged = self.judge(app.probes.as_ref()?);
            Some((judged.rpm?, judged.added, &*app.name))
        });
        let worst = |a: (f64, _, _), b: (f64, _, _)| if b.0 < a.0 { b } else { a };
        let of = |felt: bool| {
            let is = |(.., name): &(f64, Option<Duration>, &str)| self.background.contains(*name) != felt;
            tests.clone().filter(is).reduce(worst).or_else(|| pings.clone().filter(is).reduce(worst))
        };
        let found = of(true).or_else(|| of(false));
        json!({
            "induced_ms": found.and_then(|(_, added, _)| added).map(Duration::millis), "rpm": found.map(|(rpm, ..)| rpm),
            "grade": found.and_then(|(rpm, ..)| self.scale().grade(rpm)),
            "from": found.map(|(.., name)| format!("app.{name}")),
        })
    }
}
