//! A letter for the delay that load adds.

use units::Duration;

/// A letter and the induced delay below which it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grade {
    /// The letter.
    pub letter: &'static str,
    /// Given below this induced delay (delay under load less delay without).
    pub below: Duration,
}

/// The grades, best first.   Source: the bands that public bufferbloat tests use.
pub const GRADES: [Grade; 6] = [
    Grade { letter: "A+", below: Duration::from_millis(5) },
    Grade { letter: "A", below: Duration::from_millis(30) },
    Grade { letter: "B", below: Duration::from_millis(60) },
    Grade { letter: "C", below: Duration::from_millis(200) },
    Grade { letter: "D", below: Duration::from_millis(400) },
    Grade { letter: "F", below: Duration::MAX },
];

/// The letter for an induced delay.
pub fn grade(induced: Duration) -> &'static str {
    GRADES.iter().find(|g| induced < g.below).map_or("F", |g| g.letter)
}

/// A word and the responsiveness below which it is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// The word.
    pub word: &'static str,
    /// Given below so many round trips per minute.
    pub below_rpm: f64,
}

/// The classes of responsiveness, worst first: 300 RPM are round trips of 200 ms, 1000 of 60 ms, 6000 of 10 ms.
pub const CLASSES: [Class; 4] = [
    Class { word: "poor", below_rpm: 300.0 },
    Class { word: "fair", below_rpm: 1000.0 },
    Class { word: "good", below_rpm: 6000.0 },
    Class { word: "excellent", below_rpm: f64::INFINITY },
];

/// The class of a responsiveness; `None` for one that is not known.
pub fn class(rpm: f64) -> Option<&'static str> {
    let found = CLASSES.iter().find(|c| rpm < c.below_rpm).map_or("excellent", |c| c.word);
    (!rpm.is_nan()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_at_their_borders() {
        let letters: Vec<&str> = [0, 4, 5, 29, 30, 59, 60, 199, 200, 399, 400, 100_000]
            .iter()
            .map(|&ms| grade(Duration::from_millis(ms)))
            .collect();
        assert_eq!(letters, ["A+", "A+", "A", "A", "B", "B", "C", "C", "D", "D", "F", "F"]);
        assert_eq!(grade(Duration::MAX), "F");
    }

    #[test]
    fn classes_at_their_borders() {
        let words: Vec<_> = [0.0, 299.9, 300.0, 999.9, 1000.0, 5999.9, 6000.0, f64::INFINITY].map(class).into();
        let [poor, fair, good, excellent] = ["poor", "fair", "good", "excellent"].map(Some);
        assert_eq!(words, [poor, poor, fair, fair, good, good, excellent, excellent]);
        assert_eq!(class(f64::NAN), None);
    }
}
