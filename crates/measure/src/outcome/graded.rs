//! The delay that load adds in a run, and its grade on the scale that the scenario chose.
//!
//! ```text
//!   ping      99th percentile of the round trip - least round trip, or the quantity of another scale
//!   queue     99th percentile of the sojourn time, or its mean on another scale; it has no round trips per minute
//!   run       the ping with the most added delay, or without pings the queue with the most;
//!             in round trips per minute the responsiveness test, otherwise the slowest ping
//! ```
//!
//! A run is graded by the delay that a user notices. Background traffic counts only if there is no other.

use super::account::{Account, Grading, ms};
use super::statistics::put;
use crate::{Compares, Echoes, Idle, SCALES, Scale};
use packet::{Kind, measures};
use serde_json::{Map, Value};
use units::Duration;

/// A minute, ms.
const MINUTE: f64 = 60_000.0;

/// The grade of a ping.
pub(super) struct PingGrade<'a> {
    /// Mean delay that load adds to its round trip.
    pub added: Option<Duration>,
    /// 99th percentile of the delay that load adds.
    pub p99: Option<Duration>,
    /// Round trips per minute, on a scale that grades them.
    rpm: Option<f64>,
    /// The grade on the scale.
    pub grade: Option<&'a str>,
}

/// The result by which the run is graded, on any scale.
struct Latency<'a> {
    added: Option<Duration>,
    grade: Option<&'a str>,
    /// `app.NAME` or `link.NAME`.
    from: Option<String>,
}

measures! {
    /// Measures of every run.
    pub(super) const LATENCY = fn latency(l: &Latency<'_>) -> Value {
        "induced_ms": Kind::MS.less().rank(21), "delay added by load",
            "Delay added by load to the ping with the most, background excluded; without pings, to the packets of the recorded queue with \
             the most (see Fairness and grade, below)." => ms(l.added);
        "grade": Kind::scale("A+ to F"), "grade",
            "Grade of the added delay at the 99th percentile; other scales grade another quantity (see below)." => l.grade;
        "from": Kind::ONE, "from", "Source of the grade: `app.NAME` or `link.NAME`." => l.from.as_deref();
    }
    /// Measures of every scale except `rpm`.
    pub(super) const HIGH_PERCENTILE = fn high_percentile(p99: Option<Duration>) -> Value {
        "induced_p99_ms": Kind::MS.less(), "delay added by load, 99 %",
            "Delay added by load at the 99th percentile; absent on the scale `rpm`." => ms(p99);
    }
    /// Measures of the scale `rpm`.
    pub(super) const PER_MINUTE = fn per_minute(rpm: Option<f64>) -> Value {
        "rpm": Kind::ONE.more(), "round trips per minute",
            "Round trips per minute, graded on the scale `rpm`: those of an application `rpm`, or 60 000 over the mean round trip of the \
             slowest ping in ms."
            => rpm;
    }
    /// Measures of a scenario that names a scale.
    pub(super) const SCALE = fn scale(name: &str) -> Value {
        "scale": Kind::ONE, "scale", "Name of the scenario's scale (`own`: a list of limits); absent without one." => name;
    }
    /// Measures of a run that is graded by background traffic, because there is no other.
    pub(super) const BACKGROUND = fn background(is: bool) -> Value {
        "background": Kind::ONE, "background", "True if `from` is a background application, because there is no other." => is;
    }
}

impl Grading {
    pub(super) fn scale(&self) -> &Scale {
        self.scale.as_ref().unwrap_or(&SCALES[0])
    }

    /// The delay that load adds to these round trips, and its grade.
    pub(super) fn grade_ping(&self, echoes: &Echoes) -> PingGrade<'_> {
        let (scale, loaded, p99) = (self.scale(), echoes.loaded(&self.load), echoes.induced_p99());
        match scale.compares {
            Compares::P99 => {
                PingGrade { added: echoes.induced(), p99, rpm: None, grade: p99.and_then(|d| scale.added(d)) }
            }
            Compares::Added(idle) => {
                let added = match idle {
                    Idle::Least => echoes.induced(),
                    Idle::Median => {
                        loaded.and_then(|loaded| Some(loaded.saturating_sub(echoes.unloaded(self.load.start)?)))
                    }
                };
                PingGrade { added, p99, rpm: None, grade: added.and_then(|d| scale.added(d)) }
            }
            Compares::Rpm => {
                let rpm = loaded.map(|d| MINUTE / d.millis());
                PingGrade { added: echoes.induced(), p99, rpm, grade: rpm.and_then(|rpm| scale.grade(rpm)) }
            }
        }
    }

    /// Computes `latency` of the summary, the result by which the run is graded.
    pub(super) fn latency(&self, account: &Account<'_>) -> Value {
        let (found, mut v) = match self.scale().compares {
            Compares::Added(_) | Compares::P99 => self.added(account),
            Compares::Rpm => self.rpm(account),
        };
        put(&mut v, latency(&found));
        if let Some(chosen) = &self.scale {
            put(&mut v, scale(chosen.name));
        }
        let app = found.from.as_ref().and_then(|from| from.strip_prefix("app."));
        if app.is_some_and(|app| self.background.contains(app)) {
            put(&mut v, background(true));
        }
        v.into()
    }

    fn added<'a>(&'a self, account: &Account<'_>) -> (Latency<'a>, Map<String, Value>) {
        let high = self.scale().compares == Compares::P99;
        let apps = account.tally.apps.iter().filter_map(|app| {
            let ping = self.grade_ping(app.echoes.as_ref()?);
            Some((if high { ping.p99? } else { ping.added? }, ping.added, ping.p99, "app", &*app.name))
        });
        let queues = account.links.iter().filter_map(|l| {
            let sojourn = &l.meter?.sojourn;
            Some((l.graded(self.scale())?, sojourn.mean(), sojourn.percentile(99.0), "link", l.name))
        });
        // ties: the first in the order of names
        let worst = |a: (Duration, _, _, _, _), b: (Duration, _, _, _, _)| if b.0 > a.0 { b } else { a };
        let (background, noticed): (Vec<_>, Vec<_>) = apps.partition(|(.., name)| self.background.contains(*name));
        let found = noticed.into_iter().reduce(worst).or_else(|| background.into_iter().reduce(worst));
        let found = found.or_else(|| queues.reduce(worst));
        let mut v = Map::new();
        put(&mut v, high_percentile(found.and_then(|(_, _, p99, ..)| p99)));
        let grade = found.and_then(|(d, ..)| self.scale().added(d));
        let from = found.map(|(.., what, name)| format!("{what}.{name}"));
        (Latency { added: found.and_then(|(_, mean, ..)| mean), grade, from }, v)
    }

    fn rpm<'a>(&'a self, account: &Account<'_>) -> (Latency<'a>, Map<String, Value>) {
        let apps = account.tally.apps.iter();
        let tests = apps.clone().zip(&account.figures).filter_map(|(app, figures)| {
            let (_, rpm) = figures.iter().find(|(name, rpm)| *name == "rpm" && !rpm.is_nan())?;
            Some((*rpm, None, &*app.name))
        });
        let pings = apps.filter_map(|app| {
            let ping = self.grade_ping(app.echoes.as_ref()?);
            Some((ping.rpm?, ping.added, &*app.name))
        });
        let worst = |a: (f64, _, _), b: (f64, _, _)| if b.0 < a.0 { b } else { a };
        let of = |noticed: bool| {
            let is = |(.., name): &(f64, Option<Duration>, &str)| self.background.contains(*name) != noticed;
            tests.clone().filter(is).reduce(worst).or_else(|| pings.clone().filter(is).reduce(worst))
        };
        let found = of(true).or_else(|| of(false));
        let mut v = Map::new();
        put(&mut v, per_minute(found.map(|(rpm, ..)| rpm)));
        let grade = found.and_then(|(rpm, ..)| self.scale().grade(rpm));
        let from = found.map(|(.., name)| format!("app.{name}"));
        (Latency { added: found.and_then(|(_, added, _)| added), grade, from }, v)
    }
}
