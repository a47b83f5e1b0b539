//! The delay added under load in a run, and its grade on the scale chosen by the scenario.
//!
//! ```text
//!   ping      99th percentile of the round trip - minimum round trip, or the quantity of another scale
//!   queue     99th percentile of the sojourn time, or its mean on another scale; a queue has no round trips per minute
//!   run       the ping with the most added delay or, without pings, the queue with the most;
//!               in round trips per minute, the responsiveness test or, without one, the slowest ping
//! ```
//!
//! A run is graded by the delay that a user notices. Background applications count only if no other application has a
//! grade.

use super::account::{Account, Grading, ms};
use super::statistics::put;
use crate::tally::AppTally;
use crate::{Compares, Echoes, Idle, SCALES, Scale};
use packet::{Kind, measures};
use serde_json::{Map, Value};
use std::ops::Range;
use units::{Duration, Time};

/// One minute in ms.
const MINUTE: f64 = 60_000.0;

pub(super) struct PingGrade<'a> {
    /// Mean delay added to the round trip under load.
    pub added: Option<Duration>,
    /// 99th percentile of the delay that load adds.
    pub p99: Option<Duration>,
    /// Round trips per minute under load; `None` if the scale does not grade them, or if no echo was answered under
    /// load.
    rpm: Option<f64>,
    pub grade: Option<&'a str>,
}

/// A result that may determine the grade of the run: of a responsiveness test, a ping or a queue.
struct Candidate<'a> {
    /// The quantity by which the scale compares candidates, in the unit of the scale.
    value: f64,
    added: Option<Duration>,
    p99: Option<Duration>,
    /// `app` or `link`.
    kind: &'static str,
    name: &'a str,
    /// True for a background application or a queue. These determine the grade only if there are no other candidates.
    second_choice: bool,
}

measures! {
    /// Measures of every run.
    pub(super) const LATENCY = fn latency(worst: Option<&Candidate<'_>>, grade: Option<&str>) -> Value {
        "induced_ms": Kind::MS.less().rank(23), "delay added by load",
            "Mean delay added by load, for the ping or queue that determines the grade." => ms(worst.and_then(|c| c.added));
        "grade": Kind::scale("A+ to F"), "grade",
            "Grade of the run: that of the application or link in `latency.from` (see Fairness and grade, below)." => grade;
        "from": Kind::ONE, "from", "Application or link that determines the grade: `app.NAME` or `link.NAME`."
            => worst.map(|c| format!("{}.{}", c.kind, c.name));
    }
    /// A measure in the summary's `latency`, on every scale except `rpm`.
    pub(super) const HIGH_PERCENTILE = fn high_percentile(p99: Option<Duration>) -> Value {
        "induced_p99_ms": Kind::MS.less(), "delay added by load, 99 %",
            "99th percentile of the delay added by load, for the same ping (its `ping.induced_p99_ms`) or queue (its \
             `sojourn_ms.p99`); absent on the scale `rpm`."
            => ms(p99);
    }
    /// Measures of the `rpm` scale.
    pub(super) const PER_MINUTE = fn per_minute(rpm: Option<f64>) -> Value {
        "rpm": Kind::ONE.more(), "round trips per minute",
            "Round trips per minute; only on the scale `rpm`. It is the result of the application `rpm` or, without one, \
             60 000 divided by the slowest ping's mean round trip under load, in ms."
            => rpm;
    }
    /// Measure that the summary's `latency` contains if the scenario sets a scale.
    pub(super) const SCALE = fn scale(name: &str) -> Value {
        "scale": Kind::ONE, "scale",
            "Name of the scale that the scenario sets; `own` if it sets a list of grades. Absent if it sets no scale."
            => name;
    }
    /// Measure that the summary's `latency` contains only if a background application determines the grade, because no
    /// other application has a grade.
    pub(super) const BACKGROUND = fn background(is: bool) -> Value {
        "background": Kind::ONE, "background",
            "True if `latency.from` is a background application, because no other application has a grade." => is;
    }
}

impl Grading {
    pub(super) fn scale(&self) -> &Scale {
        self.scale.as_ref().unwrap_or(&SCALES[0])
    }

    /// Returns the delay that the load, in the period `load`, adds to the round trips of `echoes`, and the grade of the
    /// ping on the scale.
    pub(super) fn grade_ping(&self, echoes: &Echoes, load: &Range<Time>) -> PingGrade<'_> {
        let (scale, loaded, p99) = (self.scale(), echoes.loaded(), echoes.induced_p99());
        match scale.compares {
            Compares::P99 => {
                PingGrade { added: echoes.induced(), p99, rpm: None, grade: p99.and_then(|d| scale.added(d)) }
            }
            Compares::Added(idle) => {
                let added = match idle {
                    Idle::Least => echoes.induced(),
                    Idle::Median => loaded.and_then(|loaded| Some(loaded.saturating_sub(echoes.unloaded(load.start)?))),
                };
                PingGrade { added, p99, rpm: None, grade: added.and_then(|d| scale.added(d)) }
            }
            Compares::Rpm => {
                let rpm = loaded.map(|d| MINUTE / d.millis());
                PingGrade { added: echoes.induced(), p99, rpm, grade: rpm.and_then(|rpm| scale.grade(rpm)) }
            }
        }
    }

    /// Computes the summary's `latency` from the worst candidate.
    pub(super) fn latency(&self, account: &Account<'_>) -> Value {
        let (graded, rpm) = (self.scale(), self.scale().compares == Compares::Rpm);
        let candidates = self.candidates(account);
        let is_worse = |a: f64, b: f64| if rpm { a < b } else { a > b };
        // among equal candidates, the first by name is taken
        let worst = |second_choice: bool| {
            candidates.iter().find_map(|kind| {
                let eligible = kind.iter().filter(|c| c.second_choice == second_choice);
                eligible.reduce(|a, b| if is_worse(b.value, a.value) { b } else { a })
            })
        };
        let found = worst(false).or_else(|| worst(true));
        let mut v = Map::new();
        if rpm {
            put(&mut v, per_minute(found.map(|c| c.value)));
        } else {
            put(&mut v, high_percentile(found.and_then(|c| c.p99)));
        }
        put(&mut v, latency(found, found.and_then(|c| graded.grade(c.value))));
        if let Some(chosen) = &self.scale {
            put(&mut v, scale(chosen.name));
        }
        if found.is_some_and(|c| c.second_choice && c.kind == "app") {
            put(&mut v, background(true));
        }
        v.into()
    }

    /// Returns the candidates by kind, in the order of preference: responsiveness tests, pings, queues.
    fn candidates<'a>(&self, account: &'a Account<'_>) -> [Vec<Candidate<'a>>; 3] {
        let (scale, apps) = (self.scale(), &account.tally.apps);
        let app = |app: &'a AppTally, value, added, p99| {
            let second_choice = self.background.contains(&app.name);
            Candidate { value, added, p99, kind: "app", name: &app.name, second_choice }
        };
        let tests = apps.iter().zip(&account.figures).filter_map(|(test, figures)| {
            let (_, rpm) = figures.iter().find(|(name, rpm)| *name == "rpm" && !rpm.is_nan())?;
            (scale.compares == Compares::Rpm).then(|| app(test, *rpm, None, None))
        });
        let pings = apps.iter().filter_map(|prober| {
            let ping = self.grade_ping(prober.echoes.as_ref()?, &account.tally.load);
            let value = match scale.compares {
                Compares::P99 => ping.p99?.millis(),
                Compares::Added(_) => ping.added?.millis(),
                Compares::Rpm => ping.rpm?,
            };
            Some(app(prober, value, ping.added, ping.p99))
        });
        let queues = account.links.iter().filter(|_| scale.compares != Compares::Rpm).filter_map(|link| {
            let (value, sojourn) = (link.graded(scale)?.millis(), &link.meter?.sojourn);
            let (added, p99) = (sojourn.mean(), sojourn.percentile(99.0));
            Some(Candidate { value, added, p99, kind: "link", name: link.name, second_choice: true })
        });
        [tests.collect(), pings.collect(), queues.collect()]
    }
}
