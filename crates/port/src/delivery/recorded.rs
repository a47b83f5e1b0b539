//! A recorded trace, which repeats after its last time.

use super::lines::Lines;
use super::moment::Opportunity;
use packet::LEAST_BYTES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Problem, Time, shown};

/// A millisecond.   Unit: ns.
const MS: u64 = 1_000_000;

/// Stands in for the rate of a file that has not been read, where a scenario is checked.
const UNREAD: BitRate = BitRate(1_000_000_000);

/// A recorded trace: a file of mahimahi (one whole number of ms per line, each one opportunity to send), read when the scenario is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TraceParams {
    /// The file, its path from the scenario's folder.
    pub file: String,
    /// Bytes of one opportunity; a packet may not be larger. mahimahi's is 1504: a packet of 1500 and 4 of its tunnel device.
    pub opportunity: Bytes,
    /// Where in the trace the run starts. Without it all runs share the trace's first gap. The trace repeats after its last line.
    pub start: Duration,
    /// The file's lines. They are filled in when the scenario is read, in fewer letters ("+16 +1x3" is 16, 17, 17, 17), so that a
    /// result says what it was made by.
    #[serde(skip_serializing_if = "Lines::is_empty")]
    pub source: Lines,
}

impl Default for TraceParams {
    fn default() -> Self {
        Self { file: String::new(), opportunity: Bytes(1504), start: Duration::ZERO, source: Lines::default() }
    }
}

impl TraceParams {
    /// The first thing that is wrong, by field name.
    pub(crate) fn validate(&self) -> Result<(), Problem> {
        if self.file.is_empty() && self.source.is_empty() {
            return Err(Problem::new("file", "is missing; expected the path of a trace, \"lte.down\""));
        }
        if !(LEAST_BYTES..=u64::from(u16::MAX)).contains(&self.opportunity.0) {
            let message = format!("{} is not valid; expected {LEAST_BYTES}B to {}B", self.opportunity, u16::MAX);
            return Err(Problem::new("opportunity", message));
        }
        Ok(())
    }

    /// Whether the file has been read.
    pub(crate) fn ready(&self) -> Result<(), Problem> {
        if !self.source.is_empty() {
            return Ok(());
        }
        let message = format!(
            "\"{}\" has not been read; expected its lines in `source` (`bloatlab run` and the Python package put them there)",
            shown(&self.file)
        );
        Err(Problem::new("file", message))
    }

    /// Bytes of one round of the trace.
    fn bytes(&self) -> u64 {
        self.source.count().saturating_mul(self.opportunity.0)
    }

    /// 8 bytes x lines / last time.
    pub(crate) fn mean_rate(&self) -> BitRate {
        match self.source.period() {
            Duration::ZERO => UNREAD,
            period => rate(self.bytes(), period),
        }
    }

    /// No run of so long carries more: the rounds that it may touch, whole.
    pub(crate) fn most_in(&self, span: Duration) -> BitRate {
        let period = self.source.period();
        if period.is_zero() || span.is_zero() {
            return UNREAD;
        }
        // a round that has begun, and one that is cut off by the end
        let rounds = (span.0 / period.0).saturating_add(2);
        rate(self.bytes().saturating_mul(rounds), span)
    }

    /// The rate of its busiest millisecond.
    pub(crate) fn peak_rate(&self) -> BitRate {
        if self.source.is_empty() {
            return UNREAD;
        }
        rate(self.source.most_at_once() * self.opportunity.0, Duration::from_millis(1))
    }
}

fn rate(bytes: u64, span: Duration) -> BitRate {
    let bits = u128::from(bytes) * 8_000_000_000 / u128::from(span.0);
    BitRate(u64::try_from(bits).unwrap_or(u64::MAX).max(1))
}

/// Its opportunities, round by round.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recorded {
    lines: Lines,
    bytes: u64,
    period: u64,
    /// The next step, the time at which its round began, and the part of the trace before the run's start.   Unit: ns.
    step: usize,
    round: u64,
    skipped: u64,
}

impl Recorded {
    pub(crate) fn new(p: &TraceParams) -> Self {
        let period = p.source.period().0.max(1);
        let skipped = p.start.0 % period;
        let step = p.source.steps().partition_point(|s| u64::from(s.ms) * MS < skipped);
        Self { lines: p.source.clone(), bytes: p.opportunity.0, period, step, round: 0, skipped }
    }

    pub(crate) fn next(&mut self) -> Opportunity {
        if self.step == self.lines.steps().len() {
            (self.step, self.round) = (0, self.round.saturating_add(self.period));
        }
        let Some(step) = self.lines.steps().get(self.step) else {
            return Opportunity { at: Time::NEVER, bytes: 0, later: Duration::ZERO };
        };
        self.step += 1;
        // `skipped` lies before this step or in an earlier round
        let at = self.round.saturating_add(u64::from(step.ms) * MS) - self.skipped;
        Opportunity { at: Time(at), bytes: self.bytes * u64::from(step.count), later: Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(text: &str, start: Duration) -> Vec<(u64, u64)> {
        let p = TraceParams { source: Lines::read(text).unwrap(), start, ..TraceParams::default() };
        let mut r = Recorded::new(&p);
        (0..6).map(|_| r.next()).map(|o| (o.at.0 / MS, o.bytes / 1504)).collect()
    }

    #[test]
    fn it_repeats_after_its_last_time() {
        // last time 10: the second round is shifted by 10, the third by 20
        assert_eq!(trace("3\n3\n10\n", Duration::ZERO), [(3, 2), (10, 1), (13, 2), (20, 1), (23, 2), (30, 1)]);
        // a first line of 0 falls on the last of the round before
        assert_eq!(trace("0\n10\n", Duration::ZERO), [(0, 1), (10, 1), (10, 1), (20, 1), (20, 1), (30, 1)]);
    }

    #[test]
    fn it_starts_where_it_is_told() {
        let at = |ms| trace("3\n3\n10\n", Duration::from_millis(ms));
        assert_eq!(at(3)[..3], [(0, 2), (7, 1), (10, 2)]);
        assert_eq!(at(4)[..3], [(6, 1), (9, 2), (16, 1)]);
        assert_eq!(at(10), trace("3\n3\n10\n", Duration::ZERO));
        assert_eq!(at(24), at(4), "beyond the last time it has begun again");
    }

    #[test]
    fn its_rate_is_lines_by_time() {
        let p = TraceParams { source: Lines::read("1\n").unwrap(), ..TraceParams::default() };
        // 1504 B per ms
        assert_eq!(p.mean_rate(), BitRate(12_032_000));
        assert_eq!(TraceParams { opportunity: Bytes(1500), ..p.clone() }.mean_rate(), BitRate(12_000_000));
        assert!(p.most_in(Duration::from_secs(1)) >= p.mean_rate());
        assert_eq!(p.most_in(Duration(u64::MAX)).0 / 1_000_000, 12);
    }
}
