//! Readings of an algorithm's internal state: named values, each with its unit.
//!
//! A law, a discipline or a congestion controller reports its state in its `probe()`. Built-in algorithms always report
//! the same names in the same order, so readings form a table. The names are those in common use (`tc -s qdisc`,
//! `ss -i`, the RFC). The unit becomes a suffix of the column's name: `drop_next`, a time, becomes `drop_next_s`. A probe
//! changes nothing.
//!
//! A discipline with many queues reports its overall state first. If [`Reading::queues`] is true, it then begins a section
//! for each class, or for each queue that is active ([`Reading::queue`]).
//!
//! State that a table or plot shows over time is also reported as a [`Sample`], which has the same form for all algorithms.

use crate::Backlog;
use units::{BitRate, Duration, Time};

/// The unit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// No unit: a count, a probability or a factor.
    One,
    /// Packets.
    Packets,
    /// Bytes: on the wire for a queue, payload for a sender.
    Bytes,
    /// Segments of the sender's MSS.
    Segments,
    /// Milliseconds of a duration.
    Milliseconds,
    /// Seconds. A value that a probe reports in seconds is a time since the start of the run; a measure in seconds is a
    /// duration.
    Seconds,
    /// Megabits per second.
    Mbit,
    /// Percent.
    Percent,
    /// A number on a scale. The text describes the scale, such as "1 to 4.5".
    Scale(&'static str),
}

impl Unit {
    /// The units that add a suffix to a column's name.
    pub const NAMED: [Self; 7] =
        [Self::Packets, Self::Bytes, Self::Segments, Self::Milliseconds, Self::Seconds, Self::Mbit, Self::Percent];

    /// Returns the values of `suffix`, `symbol`, `least` and `digits` for the unit, in this order.
    const fn row(self) -> (&'static str, &'static str, f64, Option<u8>) {
        match self {
            Self::One => ("", "", 0.0, None),
            Self::Packets => ("_packets", "packets", 1.0, None),
            Self::Bytes => ("_bytes", "bytes", 1500.0, None),
            Self::Segments => ("_segments", "segments", 0.0, None),
            Self::Milliseconds => ("_ms", "ms", 0.1, Some(6)),
            Self::Seconds => ("_s", "s", 0.01, Some(9)),
            Self::Mbit => ("_mbit", "Mbit/s", 0.01, Some(6)),
            Self::Percent => ("_percent", "%", 0.1, None),
            Self::Scale(words) => ("", words, 0.0, None),
        }
    }

    /// Returns the suffix that the unit adds to a column's name, such as "_ms".
    pub const fn suffix(self) -> &'static str {
        self.row().0
    }

    /// Returns the text that is written after a number with this unit, such as "Mbit/s".
    pub const fn symbol(self) -> &'static str {
        self.row().1
    }

    /// Returns the smallest difference between two results that matters to a user; 0 if every difference matters.
    pub const fn least(self) -> f64 {
        self.row().2
    }

    /// Returns how many digits after the decimal point are meaningful. The number is limited for times and rates,
    /// because the core stores times in whole ns and rates in whole bit/s. For all other units, the result is `None`.
    pub const fn digits(self) -> Option<u8> {
        self.row().3
    }
}

/// The value of one item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A number in the value's unit; `None` if there is no value now.
    Number(Option<f64>),
    /// A truth value.
    Flag(bool),
    /// One of a few words.
    Word(&'a str),
}

/// One item of a probe's output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Item<'a> {
    /// The start of a section. The name is that of the queue or class whose values follow.
    Queue(&'a str),
    /// The name of a value (without the unit's suffix), its unit, and the value.
    Value(&'a str, Unit, Value<'a>),
}

/// State that a table or plot shows over time. Samples have the same form for all algorithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sample {
    /// Queueing delay in the L and C queues of a dual-queue discipline.
    QueueDelays([Duration; 2]),
    /// A congestion controller's model of the path.
    Path(PathModel),
}

/// A congestion controller's model of the path, derived from measured delivery rates and round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathModel {
    /// The controller's phase, such as "startup".
    pub mode: &'static str,
    /// Pacing rate, payload bits per second.
    pub pacing_rate: BitRate,
    /// Estimated bottleneck bandwidth, payload bits per second; zero before the first sample.
    pub btl_bw: BitRate,
    /// Estimated round-trip propagation time; zero before the first sample.
    pub rt_prop: Duration,
}

impl PathModel {
    /// Builds a model from rates in bytes per second, and a round-trip time in microseconds.
    pub fn new(mode: &'static str, pacing_rate: f64, btl_bw: f64, rt_prop_us: Option<u32>) -> Self {
        let bits = |bytes_per_second: f64| BitRate((8.0 * bytes_per_second) as u64);
        let rt_prop = Duration::from_micros(rt_prop_us.unwrap_or(0).into());
        Self { mode, pacing_rate: bits(pacing_rate), btl_bw: bits(btl_bw), rt_prop }
    }
}

/// The object to which a `probe()` reports its values. It passes each value or sample on to a callback.
pub struct Reading<'a> {
    now: Time,
    queues: bool,
    to: Instrument<'a>,
}

/// The callback that receives the values or the samples of a [`Reading`].
enum Instrument<'a> {
    /// Receives every value, but no samples.
    Values(&'a mut dyn FnMut(Item<'_>)),
    /// Receives the samples, but no values.
    Samples(&'a mut dyn FnMut(Sample)),
}

impl<'a> Reading<'a> {
    /// Begins a reading at time `now` that passes every value to the callback `to`. If `queues` is true, the reading
    /// also includes the values of inner queues.
    pub fn new(now: Time, queues: bool, to: &'a mut dyn FnMut(Item<'_>)) -> Self {
        Self { now, queues, to: Instrument::Values(to) }
    }

    /// Begins a reading at time `now` that passes only the samples to the callback `to`, and ignores all other values.
    pub fn samples(now: Time, to: &'a mut dyn FnMut(Sample)) -> Self {
        Self { now, queues: false, to: Instrument::Samples(to) }
    }

    fn put(&mut self, item: Item<'_>) {
        if let Instrument::Values(to) = &mut self.to {
            to(item);
        }
    }

    /// Reports a sample for a table or plot. A reading that collects values ignores samples.
    pub fn sample(&mut self, sample: Sample) {
        if let Instrument::Samples(to) = &mut self.to {
            to(sample);
        }
    }

    /// Returns the time of the reading.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns true if the probe should also report the inner queues.
    pub fn queues(&self) -> bool {
        self.queues
    }

    /// Begins a section for the queue or class `name`. The values reported next belong to that queue or class.
    pub fn queue(&mut self, name: &str) {
        self.put(Item::Queue(name));
    }

    /// Begins a section for the queue or class `name`, and reports `backlog` as the first values of the section.
    pub fn queue_of(&mut self, name: &str, backlog: Backlog) {
        self.queue(name);
        self.packets("backlog", backlog.packets.into());
        self.bytes("backlog", backlog.bytes);
    }

    /// Reports a number in any unit. If `value` is `None`, infinite or NaN, the quantity is reported to have no value at
    /// present.
    pub fn value(&mut self, name: &str, unit: Unit, value: Option<f64>) {
        self.put(Item::Value(name, unit, Value::Number(value.filter(|v| v.is_finite()))));
    }

    /// Reports a count, a probability or a factor.
    pub fn number(&mut self, name: &str, value: impl Into<f64>) {
        self.value(name, Unit::One, Some(value.into()));
    }

    /// Reports a number of packets.
    pub fn packets(&mut self, name: &str, packets: u64) {
        self.value(name, Unit::Packets, Some(packets as f64));
    }

    /// Reports a number of bytes.
    pub fn bytes(&mut self, name: &str, bytes: u64) {
        self.value(name, Unit::Bytes, Some(bytes as f64));
    }

    /// Reports a number of segments. Infinity is reported as no value.
    pub fn segments(&mut self, name: &str, segments: f64) {
        self.value(name, Unit::Segments, Some(segments));
    }

    /// Reports a duration.
    pub fn duration(&mut self, name: &str, duration: impl Into<Option<Duration>>) {
        self.value(name, Unit::Milliseconds, duration.into().map(Duration::millis));
    }

    /// Reports a duration given in microseconds.
    pub fn micros(&mut self, name: &str, us: impl Into<Option<u32>>) {
        self.duration(name, us.into().map(|us| Duration::from_micros(us.into())));
    }

    /// Reports a time since the start of the run. [`Time::NEVER`] is reported as no value.
    pub fn moment(&mut self, name: &str, time: impl Into<Option<Time>>) {
        self.value(name, Unit::Seconds, time.into().filter(|t| *t != Time::NEVER).map(Time::secs));
    }

    /// Reports a rate given in bits per second.
    pub fn rate(&mut self, name: &str, bits_per_second: impl Into<Option<f64>>) {
        self.value(name, Unit::Mbit, bits_per_second.into().map(|r| r / 1e6));
    }

    /// Reports a truth value.
    pub fn flag(&mut self, name: &str, so: bool) {
        self.put(Item::Value(name, Unit::One, Value::Flag(so)));
    }

    /// Reports a state, which is one of a few words.
    pub fn word(&mut self, name: &str, word: &str) {
        self.put(Item::Value(name, Unit::One, Value::Word(word)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_in_their_units() {
        let mut told = Vec::new();
        let mut take = |item: Item<'_>| told.push(format!("{item:?}"));
        let mut r = Reading::new(Time(5_000_000_000), true, &mut take);
        r.duration("srtt", Duration::from_micros(1500));
        r.duration("base", None);
        r.moment("drop_next", Time(2_500_000_000));
        r.moment("never", Time::NEVER);
        r.rate("pacing_rate", 12e6);
        r.segments("ssthresh", f64::INFINITY);
        r.queue("7");
        r.word("state", "open");
        r.flag("dropping", true);
        let number = |name, unit, v| format!("Value({name:?}, {unit}, Number({v}))");
        assert_eq!(
            told,
            [
                number("srtt", "Milliseconds", "Some(1.5)"),
                number("base", "Milliseconds", "None"),
                number("drop_next", "Seconds", "Some(2.5)"),
                number("never", "Seconds", "None"),
                number("pacing_rate", "Mbit", "Some(12.0)"),
                number("ssthresh", "Segments", "None"),
                "Queue(\"7\")".to_owned(),
                "Value(\"state\", One, Word(\"open\"))".to_owned(),
                "Value(\"dropping\", One, Flag(true))".to_owned(),
            ]
        );
    }
}
