//! A recorded trace as text, in mahimahi's file format or in a compact form.
//!
//! ```text
//! file      one whole number of ms per line, never falling, the last above 0; each line is one opportunity
//! compact   words: +D is an opportunity D ms after the previous word, +DxN is N opportunities D ms after it ("+16 +1x3 +4")
//! ```
//!
//! Source: mahimahi's link_queue.cc (facts only). Results and stores keep the compact form.

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt::{self, Write};
use std::sync::Arc;
use units::Duration;

/// Maximum number of lines in a trace.
pub(crate) const MOST_LINES: u64 = 100_000_000;
/// Maximum time in a trace (more than 11 days). With this limit, sums of times do not overflow.   Unit: ms.
pub(super) const MOST_MS: u64 = 1_000_000_000;

/// The opportunities in one millisecond: their time and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub ms: u32,
    pub count: u32,
}

/// The lines of a trace; empty until the file has been read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines(Arc<[Moment]>);

/// An error in a trace, with the number of the line or, in the compact form, of the word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Position of the line or word, from 1.
    pub line: usize,
    /// Description of the error, and of what was expected instead.
    pub message: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

const VALID: &str = "expected a whole number of milliseconds, at most 1000000000";

/// Quotes a word for a message if it looks like a number; otherwise returns an empty string. A user may name any file as a trace,
/// and a message must not leak the contents of the file.
fn quoted_number(word: &str) -> String {
    let like_a_number = word.len() <= 24 && word.bytes().all(|b| b.is_ascii_digit() || b"+-.,x".contains(&b));
    if like_a_number { format!("\"{word}\" is not valid; ") } else { String::new() }
}

impl Lines {
    /// Reads a trace file, which has one time per line, in whole ms.
    ///
    /// Errors: a line that is not a valid number, or is less than the line before; too many lines; an empty file; a
    /// last time of 0.
    pub fn read(text: &str) -> Result<Self, BadLine> {
        let mut lines = Builder::default();
        for (i, line) in text.lines().enumerate() {
            let word = line.trim_end();
            let bad = |message: String| BadLine { line: i + 1, message };
            if word.is_empty() {
                return Err(bad(format!("an empty line is not valid; {VALID}")));
            }
            let digits = word.bytes().all(|b| b.is_ascii_digit());
            let ms = word.parse().ok().filter(|ms| digits && *ms <= MOST_MS);
            let ms: u64 = ms.ok_or_else(|| bad(format!("{}{VALID}", quoted_number(word))))?;
            lines.push(ms, 1).map_err(bad)?;
        }
        lines.done(text.lines().count())
    }

    /// Reads a trace in its compact form.
    ///
    /// Errors: the first invalid word; too many lines; a time that is too large; an empty string; a last time of 0.
    pub fn read_compact(text: &str) -> Result<Self, BadLine> {
        let (mut lines, mut now, mut words) = (Builder::default(), 0u64, 0);
        for (i, word) in text.split_whitespace().enumerate() {
            let bad = |message: String| BadLine { line: i + 1, message };
            let parts = word.strip_prefix('+').map(|rest| rest.split_once('x').unwrap_or((rest, "1")));
            let numbers = parts.and_then(|(ms, count)| Some((ms.parse::<u64>().ok()?, count.parse::<u64>().ok()?)));
            let fits = numbers.filter(|(ms, count)| {
                word.bytes().filter(|b| *b == b'+').count() == 1 && *ms <= MOST_MS && (1..=MOST_LINES).contains(count)
            });
            let (ms, count) = fits
                .ok_or_else(|| bad(format!("{}expected +MS or +MSxCOUNT, as in \"+16 +1x3\"", quoted_number(word))))?;
            now += ms;
            lines.push(now, count).map_err(bad)?;
            words = i + 1;
        }
        lines.done(words)
    }

    pub(super) fn moments(&self) -> &[Moment] {
        &self.0
    }

    /// Returns true if the file has not been read yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of opportunities in the trace.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|s| u64::from(s.count)).sum()
    }

    /// Returns the maximum number of opportunities in one millisecond.
    pub(crate) fn most_at_once(&self) -> u64 {
        self.0.iter().map(|s| u64::from(s.count)).max().unwrap_or(0)
    }

    /// Returns the last time of the trace, after which the trace repeats.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.0.last().map_or(0, |s| u64::from(s.ms)))
    }

    /// Returns the gaps between opportunities, in order. Opportunities in the same ms count as one. The last gap runs
    /// from the end of the trace to the first opportunity of the next round.
    pub fn gaps(&self) -> impl Iterator<Item = Duration> {
        let between = self.0.windows(2).map(|w| w[1].ms - w[0].ms);
        between.chain(self.0.first().map(|s| s.ms)).map(|ms| Duration::from_millis(ms.into()))
    }

    /// Returns the longest gap.
    pub fn longest_gap(&self) -> Duration {
        self.gaps().max().unwrap_or_default()
    }

    /// Writes the trace in mahimahi's format.
    #[cfg(test)]
    fn file(&self) -> String {
        let mut text = String::new();
        for moment in self.0.iter() {
            for _ in 0..moment.count {
                let _ = writeln!(text, "{}", moment.ms);
            }
        }
        text
    }

    /// Writes the compact form.
    pub fn compact(&self) -> String {
        let (mut text, mut last) = (String::new(), 0);
        for moment in self.0.iter() {
            let space = if text.is_empty() { "" } else { " " };
            let _ = match moment.count {
                1 => write!(text, "{space}+{}", moment.ms - last),
                n => write!(text, "{space}+{}x{n}", moment.ms - last),
            };
            last = moment.ms;
        }
        text
    }
}

/// Collects the lines of a trace one by one.
#[derive(Default)]
struct Builder {
    moments: Vec<Moment>,
    lines: u64,
}

impl Builder {
    fn push(&mut self, ms: u64, count: u64) -> Result<(), String> {
        let last = self.moments.last().map_or(0, |s| u64::from(s.ms));
        if ms < last {
            return Err(format!("{ms} is not valid after {last}; times must not fall"));
        }
        self.lines += count;
        if self.lines > MOST_LINES || ms > MOST_MS {
            return Err(format!("a trace has at most {MOST_LINES} lines and {MOST_MS} ms"));
        }
        // `ms` is at most MOST_MS and `count` is at most MOST_LINES, so both fit into 32 bits
        let (ms, count) = (ms as u32, count as u32);
        match self.moments.last_mut().filter(|s| s.ms == ms) {
            Some(moment) => moment.count += count,
            None => self.moments.push(Moment { ms, count }),
        }
        Ok(())
    }

    fn done(self, line: usize) -> Result<Lines, BadLine> {
        match self.moments.last() {
            None => Err(BadLine { line: 1, message: format!("the trace is empty; {VALID} in each line") }),
            Some(Moment { ms: 0, .. }) => Err(BadLine {
                line,
                message: "the last time is 0; expected a time above 0, because the trace repeats after it".into(),
            }),
            Some(_) => Ok(Lines(self.moments.into())),
        }
    }
}

impl Serialize for Lines {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.compact())
    }
}

impl<'de> Deserialize<'de> for Lines {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        if text.is_empty() {
            return Ok(Self::default());
        }
        let read = if text.starts_with('+') { Self::read_compact(&text) } else { Self::read(&text) };
        read.map_err(D::Error::custom)
    }
}

impl JsonSchema for Lines {
    fn schema_name() -> Cow<'static, str> {
        "DeliveryLines".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "The lines of a trace, or \"+16 +1x3\" for 16, 17, 17, 17." })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_its_compact_form() {
        let text = "0\n16\n17\n17\n17\n21\n";
        let lines = Lines::read(text).unwrap();
        assert_eq!((lines.compact(), lines.file()), ("+0 +16 +1x3 +4".to_owned(), text.to_owned()));
        assert_eq!(Lines::read_compact(&lines.compact()).unwrap(), lines);
        assert_eq!((lines.count(), lines.period(), lines.most_at_once()), (6, Duration::from_millis(21), 3));
        // the first gap lasts from 0 ms to 16 ms. The last gap has length 0, because the first opportunity of the next
        // round, at 21 + 0 ms, is at the same time as the last opportunity of this round
        let gaps: Vec<u64> = lines.gaps().map(|d| d.0 / 1_000_000).collect();
        assert_eq!((gaps, lines.longest_gap()), (vec![16, 1, 4, 0], Duration::from_millis(16)));
        // a trace that is the single line "1" has an opportunity in every ms. Lines may end in CR LF, and the last line needs
        // no line end
        assert_eq!(Lines::read("1").unwrap(), Lines::read("1\r\n").unwrap());
        assert_eq!(Lines::read("1").unwrap().longest_gap(), Duration::from_millis(1));
    }

    #[test]
    fn an_invalid_trace_reports_its_line() {
        let problem = |text: &str| Lines::read(text).unwrap_err();
        assert_eq!(problem("").line, 1);
        assert_eq!(problem("1\n\n2\n"), BadLine { line: 2, message: format!("an empty line is not valid; {VALID}") });
        assert_eq!(problem("1\n5\n4\n").to_string(), "line 3: 4 is not valid after 5; times must not fall");
        assert_eq!(problem("0\n0\n").line, 2);
        for bad in ["-1", "1.5", "+3", "1e3", "abc", "1000000001", "99999999999999999999999", "1 2", "\u{661}"] {
            assert_eq!(problem(&format!("1\n{bad}\n7\n")).line, 2, "{bad}");
        }
        for bad in ["+", "+x", "+1x", "+1x0", "+-1", "++1", "+1x2x3", "1", "+1x100000001", "+1000000000 +1", "+0"] {
            assert!(Lines::read_compact(bad).is_err(), "{bad}");
        }
    }
}
