//! A measure: a number of a run's summary, declared once, beside the expression that computes it.
//!
//! `measures!` turns one list into two things: the declarations, from which documents, labels and comparisons
//! are derived, and a function that returns the values.

use crate::Unit;

/// A key of the summary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// Its name; `*` matches any name.
    pub key: &'static str,
    /// Its unit, and the comparison of its values.
    pub kind: Kind,
    /// Its human-readable name, without the unit.
    pub words: &'static str,
    /// A one-sentence description.
    pub doc: &'static str,
    /// The keys below it: the statistics of a distribution.
    pub parts: &'static [Measure],
}

/// The direction in which values improve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Larger ones.
    More,
    /// Smaller ones.
    Less,
    /// Neither: other measures show its cost.
    Neither,
}

/// The unit and the comparison of a measure's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// Its unit; `None` for a statistic, which has the unit of its distribution.
    pub unit: Option<Unit>,
    /// The better direction; `None` for a statistic, which has that of its distribution.
    pub better: Option<Better>,
    /// The smallest difference that matters; `None`: that of the unit.
    pub least: Option<f64>,
    /// Its rank among the measures that users notice first, from 1, and the statistic that represents it (empty for a number).
    pub rank: Option<(u8, &'static str)>,
}

impl Kind {
    const fn of(unit: Unit) -> Self {
        Self { unit: Some(unit), better: Some(Better::Neither), least: None, rank: None }
    }
    /// A count, a factor, a truth value or a word.
    pub const ONE: Self = Self::of(Unit::One);
    /// Packets.
    pub const PACKETS: Self = Self::of(Unit::Packets);
    /// Bytes.
    pub const BYTES: Self = Self::of(Unit::Bytes);
    /// Milliseconds.
    pub const MS: Self = Self::of(Unit::Milliseconds);
    /// Seconds.
    pub const S: Self = Self::of(Unit::Seconds);
    /// Megabits per second.
    pub const MBIT: Self = Self::of(Unit::Mbit);
    /// Percent.
    pub const PERCENT: Self = Self::of(Unit::Percent);
    /// A statistic in the unit of its distribution.
    pub const SAME: Self = Self { unit: None, better: None, least: None, rank: None };
    /// The coefficient of variation of a distribution.
    pub const VARIATION: Self = Self::of(Unit::One).less().least(0.01);

    /// A number on a scale, such as "1 to 4.5".
    pub const fn scale(words: &'static str) -> Self {
        Self::of(Unit::Scale(words))
    }
    /// More is better.
    #[must_use]
    pub const fn more(mut self) -> Self {
        self.better = Some(Better::More);
        self
    }
    /// Less is better.
    #[must_use]
    pub const fn less(mut self) -> Self {
        self.better = Some(Better::Less);
        self
    }
    /// Sets the smallest difference that matters, if it is not the unit's.
    #[must_use]
    pub const fn least(mut self, least: f64) -> Self {
        self.least = Some(least);
        self
    }
    /// Ranks it among the measures that users notice first.
    #[must_use]
    pub const fn rank(self, place: u8) -> Self {
        self.rank_by("", place)
    }
    /// Ranks a distribution by one of its statistics.
    #[must_use]
    pub const fn rank_by(mut self, statistic: &'static str, place: u8) -> Self {
        self.rank = Some((place, statistic));
        self
    }
}

/// Declares lists of measures, each with the function that returns their values:
///
/// ```
/// use packet::{Kind, measures};
///
/// measures! {
///     /// A stream of packets.
///     const STREAM = fn stream(sent: u32, lost: u32) -> f64 {
///         "sent": Kind::PACKETS, "sent", "Packets sent." => sent;
///         "lost_percent": Kind::PERCENT.less(), "lost", "Share of packets lost." => 100.0 * f64::from(lost) / f64::from(sent);
///     }
/// }
/// assert_eq!(stream(50, 1), [("sent", 50.0), ("lost_percent", 2.0)]);
/// assert_eq!(STREAM[1].key, "lost_percent");
/// ```
///
/// A distribution names the list of its statistics before its value: `"rtt_ms": Kind::MS.less(), "round trip", "...", DELAYS =>
/// ...;`.
#[macro_export]
macro_rules! measures {
    ($(
        $(#[$meta:meta])*
        $vis:vis const $LIST:ident = fn $of:ident($($arg:ident: $Arg:ty),* $(,)?) -> $Value:ty {
            $($key:literal: $kind:expr, $words:literal, $doc:literal $(, $parts:ident)? => $value:expr;)+
        }
    )+) => {$(
        $(#[$meta])*
        $vis const $LIST: &[$crate::Measure] = &[$($crate::Measure {
            key: $key, kind: $kind, words: $words, doc: $doc, parts: { const BELOW: &[&[$crate::Measure]] = &[&[], $($parts)?]; BELOW[BELOW.len() - 1] },
        }),+];

        $(#[$meta])*
        $vis fn $of($($arg: $Arg),*) -> [(&'static str, $Value); $LIST.len()] {
            [$(($key, <$Value>::from($value))),+]
        }
    )+};
}
