//! Traces of a run's internal state over time. They change no result except the number of events.

use schemars::JsonSchema;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use units::Duration;

/// Maximum number of readings of each link or flow at a fixed interval: about 160 MB for the 20 columns of a link.
pub(crate) const MOST_MOMENTS: u64 = 1_000_000;

/// Records the internal state of control laws (AQM) and of TCP senders over time, and what happens to each packet. A
/// trace changes the number of events in the summary. All other results, and the hash that identifies the scenario,
/// stay the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Trace {
    /// Links whose queue and control law are recorded in the table `trace_links`: names, or true for every link with
    /// a rate, a shaper, a modem or a `delivery`.
    pub links: Which,
    /// Links for which the active queues of flows (or classes) are recorded in the table `trace_queues`: names, or true
    /// for every link with a rate, a shaper, a modem or a `delivery`.
    pub queues: Which,
    /// Applications whose TCP senders or (for `media`) rate controllers are recorded in the table `trace_flows`: names,
    /// or true for all.
    pub flows: Which,
    /// Links whose packets are recorded one by one: names, or true for every link. A packet is recorded when it is
    /// enqueued, dequeued, dropped or marked. If any link is selected, every packet with payload is also recorded when
    /// its destination receives it, whatever links it took. The records are Parquet files in the result's folder.
    pub packets: Which,
    /// Time between two readings of the state, or "change" for a reading after each event that changed the state. On a
    /// link whose queue has no law, such as drop-tail, the state is the backlog and the numbers of packets offered,
    /// delivered, dropped and marked.
    pub interval: Interval,
}

/// A selection of links or applications.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Which {
    /// None.
    #[default]
    None,
    /// All.
    All,
    /// The listed names.
    Named(Vec<String>),
}

const WHICH: &str = "true, false or a list of names";

impl Which {
    /// Returns true if `name` is selected. `all` is true if [`Which::All`] selects this name.
    pub fn has(&self, name: &str, all: bool) -> bool {
        match self {
            Self::None => false,
            Self::All => all,
            Self::Named(names) => names.iter().any(|n| n == name),
        }
    }

    /// Returns the names of a list; empty for `All` and `None`.
    pub(crate) fn names(&self) -> &[String] {
        if let Self::Named(names) = self { names } else { &[] }
    }
}

impl Serialize for Which {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => s.serialize_bool(false),
            Self::All => s.serialize_bool(true),
            Self::Named(names) => names.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for Which {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Which;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(WHICH)
            }
            fn visit_bool<E: de::Error>(self, all: bool) -> Result<Which, E> {
                Ok(if all { Which::All } else { Which::None })
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Which, E> {
                Ok(Which::Named(vec![name.to_owned()]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Which, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = list.next_element()? {
                    names.push(name);
                }
                Ok(if names.is_empty() { Which::None } else { Which::Named(names) })
            }
        }
        d.deserialize_any(V)
    }
}

impl JsonSchema for Which {
    fn schema_name() -> Cow<'static, str> {
        "Which".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": WHICH,
            "anyOf": [{ "type": "boolean" }, { "type": "array", "items": { "type": "string" } }]
        })
    }
}

/// The times at which a trace reads the state that it records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interval {
    /// Readings at this interval, from the start of the run on.
    Every(Duration),
    /// A reading after each event that changed the recorded state.
    Change,
}

impl Default for Interval {
    fn default() -> Self {
        Self::Every(Duration::from_millis(10))
    }
}

const INTERVAL: &str = "a duration (\"10ms\") or \"change\"";

impl Serialize for Interval {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Every(duration) => duration.serialize(s),
            Self::Change => s.serialize_str("change"),
        }
    }
}

impl<'de> Deserialize<'de> for Interval {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Interval;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(INTERVAL)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Interval, E> {
                if text == "change" {
                    return Ok(Interval::Change);
                }
                let valid = |_| E::custom(format!("\"{}\" is not valid; expected {INTERVAL}", units::shown(text)));
                text.parse().map(Interval::Every).map_err(valid)
            }
        }
        d.deserialize_any(V)
    }
}

impl JsonSchema for Interval {
    fn schema_name() -> Cow<'static, str> {
        "Interval".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "description": INTERVAL, "type": "string" })
    }
}
