//! What an instrument reads inside an algorithm: named values, each with its unit.
//!
//! A law, a discipline or a congestion controller tells its state in its `probe()`: always the same names, in the same order,
//! whatever the state, so that readings make a table. Names are those that the field uses (`tc -s qdisc`, `ss -i`, the RFC);
//! the unit becomes the end of the column's name (`drop_next` at a moment is `drop_next_s`). A probe changes nothing.
//!
//! A discipline of many queues first tells what is true of all, and then, where it is asked to ([`Reading::queues`]), begins a part for
//! each queue or class ([`Reading::queue`]).

use units::{Duration, Time};

/// The unit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A count, a probability, a factor: a number without a unit.
    One,
    /// Packets.
    Packets,
    /// Bytes: of a queue on the wire, of a sender in payload.
    Bytes,
    /// Segments of the sender's MSS.
    Segments,
    /// Milliseconds: how long.
    Milliseconds,
    /// Seconds from the beginning of the run: when.
    Seconds,
    /// Megabits per second.
    Mbit,
}

impl Unit {
    /// The end of a column's name.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::One => "",
            Self::Packets => "_packets",
            Self::Bytes => "_bytes",
            Self::Segments => "_segments",
            Self::Milliseconds => "_ms",
            Self::Seconds => "_s",
            Self::Mbit => "_mbit",
        }
    }
}

/// One value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A number in its unit; none where there is nothing to tell now.
    Number(Option<f64>),
    /// Whether something is so.
    Flag(bool),
    /// One of a few words.
    Word(&'a str),
}

/// What a probe tells, piece by piece.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Item<'a> {
    /// What follows is of this queue or class.
    Queue(&'a str),
    /// A value and its name, without the unit.
    Value(&'a str, Unit, Value<'a>),
}

/// A reading under way: a probe puts its values in, the instrument gets them one by one.
pub struct Reading<'a> {
    now: Time,
    queues: bool,
    to: &'a mut dyn FnMut(Item<'_>),
}

impl<'a> Reading<'a> {
    /// A reading at `now`; `queues`: of every queue inside, too.
    pub fn new(now: Time, queues: bool, to: &'a mut dyn FnMut(Item<'_>)) -> Self {
        Self { now, queues, to }
    }

    /// The moment of the reading.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Whether the queues inside are wanted, too.
    pub fn queues(&self) -> bool {
        self.queues
    }

    /// What follows is of this queue or class.
    pub fn queue(&mut self, name: &str) {
        (self.to)(Item::Queue(name));
    }

    /// A number in a unit of its own choice; none where there is nothing to tell now.
    pub fn value(&mut self, name: &str, unit: Unit, value: Option<f64>) {
        (self.to)(Item::Value(name, unit, Value::Number(value.filter(|v| v.is_finite()))));
    }

    /// A count, a probability or a factor.
    pub fn number(&mut self, name: &str, value: impl Into<f64>) {
        self.value(name, Unit::One, Some(value.into()));
    }

    /// How many packets.
    pub fn packets(&mut self, name: &str, packets: u64) {
        self.value(name, Unit::Packets, Some(packets as f64));
    }

    /// How many bytes.
    pub fn bytes(&mut self, name: &str, bytes: u64) {
        self.value(name, Unit::Bytes, Some(bytes as f64));
    }

    /// How many segments; infinite is none.
    pub fn segments(&mut self, name: &str, segments: f64) {
        self.value(name, Unit::Segments, Some(segments));
    }

    /// How long.
    pub fn duration(&mut self, name: &str, duration: impl Into<Option<Duration>>) {
        self.value(name, Unit::Milliseconds, duration.into().map(Duration::millis));
    }

    /// How long, in microseconds.
    pub fn micros(&mut self, name: &str, us: impl Into<Option<u32>>) {
        self.duration(name, us.into().map(|us| Duration::from_micros(us.into())));
    }

    /// When; [`Time::NEVER`] is none.
    pub fn moment(&mut self, name: &str, time: impl Into<Option<Time>>) {
        self.value(name, Unit::Seconds, time.into().filter(|t| *t != Time::NEVER).map(Time::secs));
    }

    /// A rate in bits per second.
    pub fn rate(&mut self, name: &str, bits_per_second: impl Into<Option<f64>>) {
        self.value(name, Unit::Mbit, bits_per_second.into().map(|r| r / 1e6));
    }

    /// Whether something is so.
    pub fn flag(&mut self, name: &str, so: bool) {
        (self.to)(Item::Value(name, Unit::One, Value::Flag(so)));
    }

    /// One of a few words.
    pub fn word(&mut self, name: &str, word: &str) {
        (self.to)(Item::Value(name, Unit::One, Value::Word(word)));
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
