//! Derives the fate of each frame of a call from the series of its flow.
//!
//! ```text
//!   frame k was sent at t0 + k T                    t0: send time of frame 0;  T: interval between frames;  w: width of a bin
//!   an arrival in the bin [b, b + w) with delay d was sent in    [b - d, b - d + w)
//!   k                = the frame whose send time is nearest to the middle of this range;  each arrival narrows the range of t0
//!   played           = d <= minimum delay + late_after            (measure::VoipMeter)
//! ```
//!
//! The nearest frame is the correct frame only if bins are at most T/2 wide. In long runs, the bins are wider, so no
//! fates are reported.

use crate::tables::{numbers, runs, table, texts};
use scenario::Scenario;
use serde_json::{Value, json};
use sim::Outcome;
use traffic::Traffic;

/// The properties shared by all frames of a call.
struct Frames {
    /// Start of the application. The first frame is sent less than `interval_s` after the start.
    begin_s: f64,
    interval_s: f64,
    late_after_s: f64,
    bytes: f64,
}

/// The series of one flow. They hold, for each bin, the start of the bin, the bytes that arrived in the bin, the mean
/// delay of these bytes, and the packets dropped in the bin.
struct Series<'a> {
    begins_s: &'a [f64],
    bytes: &'a [f64],
    delay_ms: &'a [f64],
    dropped: &'a [f64],
}

/// Returns the frames of each call: `app`, `direction`, `start_s` (when frame 0 was sent), `interval_s`, `late_after_s`, and
/// `frames`, a letter for each frame: `p` played, `l` late, `d` dropped, `-` in transit at the end.
pub(crate) fn calls(outcome: &Outcome, scenario: &Scenario) -> Value {
    let series = table(outcome, "flow_series");
    let (apps, ways) = (texts(series, "app"), texts(series, "direction"));
    let mut found = Vec::new();
    for (app, rows) in runs(&apps) {
        let Some(of) = scenario.app.get(app) else { continue };
        let Traffic::Voip(call) = &of.traffic else { continue };
        let all = Frames {
            begin_s: of.start.secs(),
            interval_s: call.interval.secs(),
            late_after_s: call.late_after.secs(),
            bytes: call.size.0 as f64,
        };
        if 2 * scenario.bin().0 > call.interval.0 {
            continue;
        }
        for (way, own) in runs(&ways[rows.clone()]) {
            let own = rows.start + own.start..rows.start + own.end;
            let of = |column| &numbers(series, column)[own.clone()];
            let of = Series {
                begins_s: of("t_s"),
                bytes: of("wire_bytes"),
                delay_ms: of("delay_ms_mean"),
                dropped: of("dropped_packets"),
            };
            if let Some((start_s, frames)) = of.letters(&all, scenario.bin().secs()) {
                found.push(json!({
                    "app": app, "direction": way, "start_s": start_s, "interval_s": all.interval_s,
                    "late_after_s": all.late_after_s, "frames": frames,
                }));
            }
        }
    }
    Value::Array(found)
}

#[derive(Clone, Copy)]
struct Span {
    low: f64,
    high: f64,
}

impl Span {
    fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    fn earlier(self, by: f64) -> Self {
        Self { low: self.low - by, high: self.high - by }
    }

    /// Returns the intersection with `other`, or `self` if the intersection is empty.
    fn narrowed(self, other: Self) -> Self {
        let both = Self { low: self.low.max(other.low), high: self.high.min(other.high) };
        if both.low <= both.high { both } else { self }
    }
}

impl Series<'_> {
    /// Returns, for each bin with arrivals: its start, the number of frames, and their mean delay in seconds.
    fn arrivals(&self, size: f64) -> impl Iterator<Item = (f64, usize, f64)> {
        let bins = self.begins_s.iter().zip(self.bytes).zip(self.delay_ms);
        bins.filter(|((_, bytes), _)| **bytes > 0.0)
            .map(move |((begin, bytes), ms)| (*begin, (bytes / size).round() as usize, ms * 1e-3))
    }

    /// Returns the time at which frame 0 was sent, and a letter for each frame; `None` if no frame arrived.
    fn letters(&self, all: &Frames, width_s: f64) -> Option<(f64, String)> {
        let interval = all.interval_s;
        let late = self.arrivals(all.bytes).map(|(_, _, d)| d).reduce(f64::min)? + all.late_after_s;
        let mut zero: Option<Span> = None;
        let mut letters = Vec::new();
        for (bin_s, count, mean) in self.arrivals(all.bytes) {
            for i in 0..count {
                // the frames of one bin arrive nearly together but were sent an interval apart, so the first frame has the
                // longest delay
                let delay = mean + ((count as f64 - 1.0) / 2.0 - i as f64) * interval;
                let sent = Span { low: bin_s - delay, high: bin_s - delay + width_s };
                let k = match zero {
                    None => ((sent.middle() - all.begin_s) / interval).floor().max(0.0),
                    Some(zero) => ((sent.middle() - zero.middle()) / interval).round().max(0.0),
                };
                let own = sent.earlier(k * interval);
                zero = Some(zero.map_or(own, |zero| zero.narrowed(own)));
                let k = k as usize;
                letters.resize(letters.len().max(k + 1), b'-');
                letters[k] = if delay <= late { b'p' } else { b'l' };
            }
        }
        fill(&mut letters, self.dropped.iter().sum::<f64>() as usize);
        Some((zero?.middle(), String::from_utf8_lossy(&letters).into_owned()))
    }
}

/// Marks `dropped` frames as dropped: the missing frames before the last frame that arrived and, if these are too few,
/// frames after it.
fn fill(letters: &mut Vec<u8>, dropped: usize) {
    let mut left = dropped;
    for letter in letters.iter_mut().filter(|l| **l == b'-').take(dropped) {
        *letter = b'd';
        left -= 1;
    }
    letters.resize(letters.len() + left, b'd');
}
