//! The shaper of a link, and its form in a scenario.

use crate::HtbParams;
use docsis::ShaperParams;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use units::{BitRate, Problem};

const EXPECTED: &str =
    "a shaper: \"htb\", { htb = {..} }, or the table of a dual token bucket ({ max_sustained_rate = \"5mbit\" })";

/// A shaper between the queue and the wire. A scenario contains either the string `"htb"`, or a table with the single
/// key `htb`, or the table of a dual token bucket.
#[derive(Clone, Debug, PartialEq)]
pub enum Shaper {
    /// A dual token bucket, which holds the next packet until there are enough tokens (a DOCSIS service flow).
    TokenBucket(ShaperParams),
    /// Linux's hierarchical token bucket with one class. It sends a packet of any size if neither of its two buckets is
    /// in debt (below 0 tokens). Then it removes one token per byte from both buckets.
    Htb(HtbParams),
}

impl Shaper {
    /// Checks the parameters on a link of rate `link`. The error names the first invalid field.
    pub fn validate(&self, link: Option<BitRate>) -> Result<(), Problem> {
        match self {
            Self::TokenBucket(p) => p.validate(),
            Self::Htb(p) => p.validate(link).map_err(|p| p.under("htb")),
        }
    }

    /// Returns the shaper's long-run rate; `None` if the shaper uses the link's rate.
    pub fn own_rate(&self) -> Option<BitRate> {
        match self {
            Self::TokenBucket(p) => Some(p.max_sustained_rate),
            Self::Htb(p) => p.rate,
        }
    }

    /// Returns the highest rate that the shaper allows during a burst; `None` if the shaper sets no limit.
    pub fn peak_on(&self, link: Option<BitRate>) -> Option<BitRate> {
        match self {
            Self::TokenBucket(p) => p.peak_traffic_rate,
            Self::Htb(p) => p.ceil.or(p.rate_on(link)),
        }
    }
}

/// The serialised form of HTB, a table with the single key `htb`. A token bucket is serialised directly as the table of
/// its parameters.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Named<'a> {
    /// Linux's hierarchical token bucket with one class. It sends a packet of any size if neither of its two buckets is
    /// in debt (below 0 tokens). Then it removes one token per byte from both buckets.
    Htb(&'a HtbParams),
}

impl Serialize for Shaper {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::TokenBucket(p) => p.serialize(s),
            Self::Htb(p) => Named::Htb(p).serialize(s),
        }
    }
}

/// A map whose first key has already been read.
struct Peeked<A> {
    first: Option<String>,
    map: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Peeked<A> {
    type Error = A::Error;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.first.take() {
            Some(key) => seed.deserialize(key.into_deserializer()).map(Some),
            None => self.map.next_key_seed(seed),
        }
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

impl<'de> Deserialize<'de> for Shaper {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> de::Visitor<'de> for V {
            type Value = Shaper;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(EXPECTED)
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<Shaper, E> {
                match word {
                    "htb" => Ok(Shaper::Htb(HtbParams::default())),
                    _ => Err(E::unknown_variant(word, &["htb"])),
                }
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shaper, A::Error> {
                let first: Option<String> = map.next_key()?;
                if first.as_deref() != Some("htb") {
                    let table = MapAccessDeserializer::new(Peeked { first, map });
                    return ShaperParams::deserialize(table).map(Shaper::TokenBucket);
                }
                let htb = map.next_value()?;
                match map.next_key::<String>()? {
                    Some(second) => {
                        Err(de::Error::custom(format!("\"{second}\" is not valid with htb; expected {EXPECTED}")))
                    }
                    None => Ok(Shaper::Htb(htb)),
                }
            }
        }
        d.deserialize_any(V)
    }
}

impl JsonSchema for Shaper {
    fn schema_name() -> Cow<'static, str> {
        "Shaper".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let bucket = generator.subschema_for::<ShaperParams>();
        let mut schema = Named::json_schema(generator);
        schema.insert(
            "description".into(),
            "A shaper between the queue and the wire: the keyword htb, a table with that key, or the table of a dual token bucket."
                .into(),
        );
        if let Some(choices) = schema.get_mut("oneOf").and_then(|c| c.as_array_mut()) {
            choices.push(bucket.into());
            choices.push(serde_json::json!({ "type": "string", "enum": ["htb"] }));
        }
        schema
    }
}
