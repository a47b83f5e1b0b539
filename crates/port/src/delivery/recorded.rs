//! A recorded trace, which repeats after its last time.

use super::lines::Lines;
use super::opportunity::Opportunity;
use packet::LEAST_BYTES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Problem, Rng, Time, shown};
use units::{require, within};

/// A millisecond.   Unit: ns.
const MS: u64 = 1_000_000;

/// Rate assumed until the trace file has been read, and for a span of zero.
const UNREAD: BitRate = BitRate(1_000_000_000);

/// A recorded trace in the format of mahimahi, a network emulator. Each line of the file is the time of an opportunity
/// to send, in whole ms. After its last line, the trace repeats. The trace does not depend on the seed. The file is
/// read together with the scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TraceParams {
    /// Path of the file, relative to the scenario's folder. Required unless `source` is given.
    pub file: String,
    /// Number of bytes that one opportunity carries. No packet may be larger. The default is mahimahi's: a packet of
    /// 1500 bytes and the 4 bytes of mahimahi's tunnel device.
    pub opportunity: Bytes,
    /// Time in the trace that corresponds to the start of the run.
    pub start: Duration,
    /// The lines of the file in compact form: "+16 +1x3" means the lines 16, 17, 17, 17. Each word is the step from the
    /// previous time, in ms. If several lines have the same time, their number follows after an x. bloatlab sets this
    /// key when it reads the scenario, so that a result is complete without the file.
    #[serde(skip_serializing_if = "Lines::is_empty")]
    pub source: Lines,
}

impl Default for TraceParams {
    fn default() -> Self {
        Self { file: String::new(), opportunity: Bytes(1504), start: Duration::ZERO, source: Lines::default() }
    }
}

impl TraceParams {
    /// Checks the parameters. The error names the first invalid field.
    pub(crate) fn validate(&self) -> Result<(), Problem> {
        let message = "is missing; expected the path of a trace, such as \"lte.down\"";
        require(!self.file.is_empty() || !self.source.is_empty(), "file", message)?;
        within("opportunity", self.opportunity, Bytes(LEAST_BYTES), Bytes(u16::MAX.into()))
    }

    /// Checks that the file has been read.
    pub(crate) fn ready(&self) -> Result<(), Problem> {
        let message = format!(
            "\"{}\" has not been read; expected its lines in `source` (`bloatlab run` and the Python package put them there)",
            shown(&self.file)
        );
        require(!self.source.is_empty(), "file", message)
    }

    /// Returns the number of bytes that one round of the trace carries.
    fn bytes(&self) -> u64 {
        self.source.count().saturating_mul(self.opportunity.0)
    }

    /// Returns the mean rate: the bytes that one round of the trace carries, divided by the length of the round.
    pub(crate) fn mean_rate(&self) -> BitRate {
        match self.source.period() {
            Duration::ZERO => UNREAD,
            period => rate(self.bytes(), period),
        }
    }

    /// Returns an upper bound on the mean rate over any `span`. Each round that the span may touch counts in full.
    pub(crate) fn max_rate_over(&self, span: Duration) -> BitRate {
        let period = self.source.period();
        if period.is_zero() || span.is_zero() {
            return UNREAD;
        }
        // the span may begin and end in the middle of a round, so it may touch up to two more rounds than fit into it
        let rounds = (span.0 / period.0).saturating_add(2);
        rate(self.bytes().saturating_mul(rounds), span)
    }

    /// Returns the rate of the busiest millisecond of a round.
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

/// Generates the opportunities of a recorded trace, and repeats the trace after its end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recorded {
    lines: Lines,
    bytes: u64,
    period: u64,
    /// Index of the next opportunity.
    index: usize,
    /// Start of the current round, in ns since the start of the first round.
    round: u64,
    /// Time from the start of the first round to the start of the run (`start` modulo the period), in ns.
    skipped: u64,
}

impl Recorded {
    pub(crate) fn new(p: &TraceParams, _: Rng) -> Self {
        let period = p.source.period().0.max(1);
        let skipped = p.start.0 % period;
        let index = p.source.moments().partition_point(|s| u64::from(s.ms) * MS < skipped);
        Self { lines: p.source.clone(), bytes: p.opportunity.0, period, index, round: 0, skipped }
    }

    pub(crate) fn next(&mut self) -> Opportunity {
        if self.index == self.lines.moments().len() {
            (self.index, self.round) = (0, self.round.saturating_add(self.period));
        }
        let Some(moment) = self.lines.moments().get(self.index) else {
            return Opportunity { at: Time::NEVER, bytes: 0, packets: u64::MAX, extra_delay: Duration::ZERO };
        };
        self.index += 1;
        // this does not underflow, because the skipped part of the trace ends no later than this opportunity
        let at = self.round.saturating_add(u64::from(moment.ms) * MS) - self.skipped;
        Opportunity {
            at: Time(at),
            bytes: self.bytes * u64::from(moment.count),
            packets: u64::MAX,
            extra_delay: Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(text: &str, start: Duration) -> Vec<(u64, u64)> {
        let p = TraceParams { source: Lines::read(text).unwrap(), start, ..TraceParams::default() };
        let mut r = Recorded::new(&p, Rng::named(1, "trace"));
        (0..6).map(|_| r.next()).map(|o| (o.at.0 / MS, o.bytes / 1504)).collect()
    }

    #[test]
    fn it_repeats_after_its_last_time() {
        // the last time is 10, so the second round starts at 10 and the third at 20
        assert_eq!(trace("3\n3\n10\n", Duration::ZERO), [(3, 2), (10, 1), (13, 2), (20, 1), (23, 2), (30, 1)]);
        // the second round starts at 10, so its first opportunity, at 10 + 0, is at the same time as the last
        // opportunity of the first round
        assert_eq!(trace("0\n10\n", Duration::ZERO), [(0, 1), (10, 1), (10, 1), (20, 1), (20, 1), (30, 1)]);
    }

    #[test]
    fn it_starts_at_its_offset() {
        let at = |ms| trace("3\n3\n10\n", Duration::from_millis(ms));
        assert_eq!(at(3)[..3], [(0, 2), (7, 1), (10, 2)]);
        assert_eq!(at(4)[..3], [(6, 1), (9, 2), (16, 1)]);
        assert_eq!(at(10), trace("3\n3\n10\n", Duration::ZERO));
        assert_eq!(at(24), at(4), "the trace has repeated");
    }

    #[test]
    fn its_rate_is_lines_by_time() {
        let p = TraceParams { source: Lines::read("1\n").unwrap(), ..TraceParams::default() };
        // 1504 B per ms is 12.032 Mbit/s
        assert_eq!(p.mean_rate(), BitRate(12_032_000));
        assert_eq!(TraceParams { opportunity: Bytes(1500), ..p.clone() }.mean_rate(), BitRate(12_000_000));
        assert!(p.max_rate_over(Duration::from_secs(1)) >= p.mean_rate());
        assert_eq!(p.max_rate_over(Duration(u64::MAX)).0 / 1_000_000, 12);
    }
}
