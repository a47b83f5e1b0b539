//! Declarations of measures. A measure is an entry in a run's summary, such as a number or a distribution. It is declared once,
//! beside the expression that computes it.
//!
//! `measures!` turns one list into declarations and a function. Documents, labels and comparisons are derived from the
//! declarations; the function returns the values.

use crate::Unit;

/// The declaration of one entry in a run's summary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// The entry's key; `*` matches any key.
    pub key: &'static str,
    /// The unit of the values, and how they are compared.
    pub kind: Kind,
    /// Human-readable name, without the unit.
    pub words: &'static str,
    /// Description in one sentence.
    pub doc: &'static str,
    /// The statistics of a distribution, which are listed below this entry in the summary. If the entry is a single
    /// number, the list is empty.
    pub parts: &'static [Measure],
}

/// The direction in which values improve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Larger values are better.
    More,
    /// Smaller values are better.
    Less,
    /// Neither larger nor smaller values are better in themselves. Only other measures can show that a change is
    /// harmful.
    Neither,
}

/// The unit of a measure's values, and how they are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// The unit of the values. A statistic with the same unit as its distribution has `None` here.
    pub unit: Option<Unit>,
    /// The direction in which values improve. A statistic has `None` here if the direction is that of its distribution.
    pub better: Option<Better>,
    /// The smallest difference that matters, in the unit of the values; `None` selects [`Unit::least`].
    pub least: Option<f64>,
    /// The position of the measure in the list of measures that users notice most (1 is first); `None` if it is not
    /// listed. The text is the key of the statistic that represents a distribution, such as "p99", and empty for a
    /// single number.
    pub rank: Option<(u8, &'static str)>,
}

impl Kind {
    const fn of(unit: Unit) -> Self {
        Self { unit: Some(unit), better: Some(Better::Neither), least: None, rank: None }
    }
    /// The kind used for values without a unit: counts, factors, truth values and words.
    pub const ONE: Self = Self::of(Unit::One);
    /// The kind used for packet counts.
    pub const PACKETS: Self = Self::of(Unit::Packets);
    /// The kind used for byte counts.
    pub const BYTES: Self = Self::of(Unit::Bytes);
    /// The kind used for durations in milliseconds.
    pub const MS: Self = Self::of(Unit::Milliseconds);
    /// The kind used for durations in seconds.
    pub const S: Self = Self::of(Unit::Seconds);
    /// The kind used for rates in megabits per second.
    pub const MBIT: Self = Self::of(Unit::Mbit);
    /// The kind used for shares in percent.
    pub const PERCENT: Self = Self::of(Unit::Percent);
    /// The kind used for statistics that have the same unit as their distribution.
    pub const SAME: Self = Self { unit: None, better: None, least: None, rank: None };
    /// The kind used for a distribution's coefficient of variation.
    pub const VARIATION: Self = Self::of(Unit::One).less().least(0.01);

    /// Returns the kind of a number on a scale, such as "1 to 4.5".
    pub const fn scale(words: &'static str) -> Self {
        Self::of(Unit::Scale(words))
    }
    /// Declares that more is better.
    #[must_use]
    pub const fn more(mut self) -> Self {
        self.better = Some(Better::More);
        self
    }
    /// Declares that less is better.
    #[must_use]
    pub const fn less(mut self) -> Self {
        self.better = Some(Better::Less);
        self
    }
    /// Sets the smallest difference that matters, instead of [`Unit::least`].
    #[must_use]
    pub const fn least(mut self, least: f64) -> Self {
        self.least = Some(least);
        self
    }
    /// Puts a measure that is a single number at position `place` (1 is first) in the list of measures that users
    /// notice most.
    #[must_use]
    pub const fn rank(self, place: u8) -> Self {
        self.rank_by("", place)
    }
    /// Puts a measure that is a distribution at position `place` (1 is first) in the list of measures that users notice
    /// most. The statistic with the key `statistic`, such as "p99", represents the distribution in this list.
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
/// A distribution has the list of its statistics before `=>`: `"rtt_ms": Kind::MS.less(), "round trip", "...", DELAYS => ...;`.
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
