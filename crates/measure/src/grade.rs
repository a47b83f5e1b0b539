//! Grades: the quantity that a scale compares, and the limits of its grades. [`SCALES`] lists the scales; users may define their
//! own.
//!
//! ```text
//!   p99     99th percentile of the round trip - minimum round trip                ms, less is better
//!   added   mean round trip under load - round trip of the idle path              ms, less is better
//!   rpm     60 000 / mean round trip under load, ms                               round trips per minute, more is better
//! ```
//!
//! A speed test can measure the idle path before it loads the path. Here, the scale defines which round trip is the
//! idle one ([`Idle`]). On the scales with [`Idle::Median`] and on `rpm`, echoes answered before the load begins or
//! sent after it ends do not count as loaded; on the other scales, the whole measured time counts as loaded.

use std::borrow::Cow;
use units::Duration;

/// The idle round trip, relative to which the added delay is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// The minimum RTT of the run.
    Least,
    /// The median of the round trips that ended before any load began, or the minimum RTT of the run if there are none.
    Median,
}

/// The quantity that a scale grades.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compares {
    /// 99th percentile of the RTT minus the minimum RTT of the run, ms.
    P99,
    /// Mean delay added under load, ms.
    Added(Idle),
    /// Round trips per minute under load.
    Rpm,
}

/// A grade and its limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// The grade: a letter or a word.
    pub grade: Cow<'static, str>,
    /// Upper limit (exclusive) in ms or round trips per minute; infinity for the last grade.
    pub below: f64,
}

/// A scale: grades in ascending order of their limits. The last grade has no limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// Name of the scale; "own" for a scale not in [`SCALES`].
    pub name: &'static str,
    /// One line that describes the scale to users: its grades and the graded quantity. Empty for a user-defined scale.
    pub words: &'static str,
    /// The quantity that is compared with the limits of the grades.
    pub(crate) compares: Compares,
    /// The grades.
    pub bands: Cow<'static, [Band]>,
}

const fn band(grade: &'static str, below: f64) -> Band {
    Band { grade: Cow::Borrowed(grade), below }
}

/// The letter grades of DSLReports, which Waveform adopted.   Source: dslreports.com/faq/17930.
const LETTERS: &[Band] =
    &[band("A+", 5.0), band("A", 30.0), band("B", 60.0), band("C", 200.0), band("D", 400.0), band("F", f64::INFINITY)];

/// The letter grades of v.recipes.   Source: v.recipes/bufferbloat.
const MILDER: &[Band] = &[
    band("A+", 15.0),
    band("A", 50.0),
    band("B", 100.0),
    band("C", 300.0),
    band("D", 500.0),
    band("F", f64::INFINITY),
];

/// Classes of round trips per minute: 300 per minute means 200 ms per round trip, 1000 means 60 ms, 6000 means 10 ms.
const CLASSES: &[Band] =
    &[band("poor", 300.0), band("fair", 1000.0), band("good", 6000.0), band("excellent", f64::INFINITY)];

/// The predefined scales; the first is the default.
///
/// Source: dslreports.com/faq/17930; v.recipes/bufferbloat; draft-ietf-ippm-responsiveness for RPM (the names of the
/// classes are Apple's). Only second-hand sources say that Waveform compares the idle median with the mean under load.
pub static SCALES: [Scale; 5] = [
    // this scale grades the 99th percentile, because a mean would hide the delays that users notice. RFC 9330 §1 states
    // the goal of L4S for the same percentile
    Scale {
        name: "p99",
        words: "A+ to F, for the 99th percentile of the round trip minus the minimum round trip, with the limits of dslreports",
        compares: Compares::P99,
        bands: Cow::Borrowed(LETTERS),
    },
    Scale {
        name: "dslreports",
        words: "A+ to F, for the mean round trip minus the minimum round trip",
        compares: Compares::Added(Idle::Least),
        bands: Cow::Borrowed(LETTERS),
    },
    Scale {
        name: "waveform",
        words: "A+ to F, for the mean round trip under load minus the median round trip of the idle line",
        compares: Compares::Added(Idle::Median),
        bands: Cow::Borrowed(LETTERS),
    },
    Scale {
        name: "vrecipes",
        words: "A+ to F, like waveform, but with higher limits",
        compares: Compares::Added(Idle::Median),
        bands: Cow::Borrowed(MILDER),
    },
    Scale {
        name: "rpm",
        words: "poor to excellent, for the round trips per minute under load",
        compares: Compares::Rpm,
        bands: Cow::Borrowed(CLASSES),
    },
];

impl Scale {
    /// Returns the scale of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        SCALES.iter().find(|scale| scale.name == name)
    }

    /// Returns a user-defined scale, which grades the mean RTT minus the minimum RTT of the run. `bands` must hold the
    /// grades in ascending order of their limits.
    pub fn own(bands: Vec<Band>) -> Self {
        Self { name: "own", words: "", compares: Compares::Added(Idle::Least), bands: Cow::Owned(bands) }
    }

    /// Returns the unit of the graded quantity.
    pub fn unit(&self) -> &'static str {
        match self.compares {
            Compares::Added(_) | Compares::P99 => "ms",
            Compares::Rpm => "round trips per minute",
        }
    }

    /// Returns the grade of a value in the scale's unit; `None` if the value is NaN.
    pub(crate) fn grade(&self, value: f64) -> Option<&str> {
        if value.is_nan() {
            return None;
        }
        self.bands.iter().find(|band| value < band.below).or(self.bands.last()).map(|band| &*band.grade)
    }

    /// Returns the grade of a delay that was added under load; `None` if the scale grades round trips per minute.
    pub(crate) fn added(&self, delay: Duration) -> Option<&str> {
        match self.compares {
            Compares::Added(_) | Compares::P99 => self.grade(delay.millis()),
            Compares::Rpm => None,
        }
    }
}

/// Returns the class, such as "good", of a test that measured `rpm` round trips per minute; `None` if `rpm` is NaN.
pub(crate) fn class(rpm: f64) -> Option<&'static str> {
    let scale: &'static Scale = Scale::named("rpm")?;
    scale.grade(rpm)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grades(name: &str, values: &[f64]) -> Vec<String> {
        let scale = Scale::named(name).unwrap();
        values.iter().map(|v| scale.grade(*v).unwrap().to_owned()).collect()
    }

    #[test]
    fn letters_at_their_borders() {
        let at = [0.0, 4.999_999, 5.0, 29.0, 30.0, 59.0, 60.0, 199.0, 200.0, 399.0, 400.0, 1e9];
        let letters = ["A+", "A+", "A", "A", "B", "B", "C", "C", "D", "D", "F", "F"];
        assert_eq!(grades("dslreports", &at), letters);
        assert_eq!(grades("waveform", &at), letters);
        assert_eq!(grades("p99", &at), letters);
        let at = [14.9, 15.0, 50.0, 100.0, 300.0, 500.0];
        assert_eq!(grades("vrecipes", &at), ["A+", "A", "B", "C", "D", "F"]);
        let p99 = &SCALES[0];
        assert_eq!(p99.added(Duration(4_999_999)), Some("A+"));
        assert_eq!(p99.added(Duration::from_millis(5)), Some("A"));
        assert_eq!(p99.added(Duration::MAX), Some("F"));
    }

    #[test]
    fn classes_at_their_borders() {
        let words: Vec<_> = [0.0, 299.9, 300.0, 999.9, 1000.0, 5999.9, 6000.0, f64::INFINITY].map(class).into();
        let [poor, fair, good, excellent] = ["poor", "fair", "good", "excellent"].map(Some);
        assert_eq!(words, [poor, poor, fair, fair, good, good, excellent, excellent]);
        assert_eq!(class(f64::NAN), None);
        assert_eq!(Scale::named("rpm").unwrap().added(Duration(1)), None, "a queue has no round trips");
    }

    #[test]
    fn every_scale_rises_to_no_end() {
        for scale in &SCALES {
            assert!(scale.bands.is_sorted_by(|a, b| a.below < b.below), "{}", scale.name);
            assert!(scale.bands.last().is_some_and(|last| last.below.is_infinite()), "{}", scale.name);
        }
    }

    #[test]
    fn a_scale_of_ones_own() {
        let scale = Scale::own(vec![
            Band { grade: "fine".into(), below: 20.0 },
            Band { grade: "bad".into(), below: f64::INFINITY },
        ]);
        assert_eq!((scale.grade(19.9), scale.grade(20.0)), (Some("fine"), Some("bad")));
    }
}
