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
}
