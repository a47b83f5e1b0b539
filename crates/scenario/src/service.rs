//! The service of a link. In a file, the table of a link has at most one of the keys `shaper`, `docsis`, `docsis31` and
//! `delivery`. The typed [`Link`](crate::Link) has a [`Service`] instead.

use docsis::{Docsis31Params, DocsisParams};
use port::{Delivery, Service, Shaper};
use schemars::JsonSchema;
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

/// The keys of the services.
const SERVICES: [&str; 4] = ["shaper", "docsis", "docsis31", "delivery"];

/// The services that replace the link's `rate`. A link with such a service has no `rate`.
const RATED: [&str; 2] = ["docsis31", "delivery"];

/// Adds two rules to the schema of a link: it has at most one of the service keys, and no `rate` with a service that
/// replaces the rate.
pub(crate) fn one_service(schema: &mut schemars::Schema) {
    let null = |key: &str| (key.to_owned(), json!({ "type": "null" }));
    let without = || json!({ "properties": Map::from_iter(SERVICES.map(null)) });
    let with = |chosen: &'static str| {
        let rate = RATED.contains(&chosen).then_some("rate");
        let others = SERVICES.into_iter().filter(|key| *key != chosen).chain(rate);
        let mut properties: Map<String, Value> = others.map(null).collect();
        properties.insert(chosen.to_owned(), json!({ "not": { "type": "null" } }));
        json!({ "required": [chosen], "properties": properties })
    };
    let choices = std::iter::once(without()).chain(SERVICES.map(with));
    schema.insert("oneOf".to_owned(), choices.collect());
}

/// A service's keys, as written in a file.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct Keys<'a> {
    /// A shaper between the queue and the wire: two token buckets (a table), or `htb`.
    #[serde(default)]
    shaper: Option<&'a Shaper>,
    /// The upstream of a DOCSIS 3.0 cable modem, between the queue and the wire.
    #[serde(default)]
    docsis: Option<&'a DocsisParams>,
    /// A DOCSIS 3.1 upstream between the queue and the wire, or a downstream if its table has the key `downstream`. It
    /// carries one service flow, or an aggregate of a Classic and a Low Latency service flow. The channel has a rate of
    /// its own, so the link may not have the key `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    docsis31: Option<&'a Docsis31Params>,
    /// Replaces a constant `rate` by opportunities: times at which the link can send. They come from a recorded trace,
    /// or from a model of a radio link (docs/links.md).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delivery: Option<&'a Delivery>,
}

/// Writes a service under its key.
pub(crate) fn serialize<S: Serializer>(service: &Service, s: S) -> Result<S::Ok, S::Error> {
    let none = Keys::default();
    let keys = match service {
        Service::Plain => none,
        Service::Shaper(p) => Keys { shaper: Some(p), ..none },
        Service::Docsis(p) => Keys { docsis: Some(p), ..none },
        Service::Docsis31(p) => Keys { docsis31: Some(p), ..none },
        Service::Delivery(p) => Keys { delivery: Some(p), ..none },
    };
    keys.serialize(s)
}

/// Returns a placeholder for the service. [`LinkKeys`] reads the real service, which then replaces the placeholder.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(_: D) -> Result<Service, D::Error> {
    Ok(Service::Plain)
}

/// Iterates over a link's keys except for the service key, whose value is read into `found`.
pub(crate) struct LinkKeys<'a, A> {
    pub map: A,
    /// The names of all keys of a link.
    pub known: &'static [&'static str],
    /// Receives the key and the service, if the link has a service.
    pub found: &'a mut Option<(String, Service)>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for LinkKeys<'_, A> {
    type Error = A::Error;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<String>()? {
            if !self.known.contains(&key.as_str()) {
                return Err(de::Error::unknown_field(&key, self.known));
            }
            if !SERVICES.contains(&key.as_str()) {
                return seed.deserialize(key.into_deserializer()).map(Some);
            }
            let first = self.found.as_ref().map(|(first, _)| first.as_str());
            if let Some(service) = self.map.next_value_seed(OneService { key: &key, first })? {
                *self.found = Some((key, service));
            }
        }
        Ok(None)
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// Reads the value of a service's key. Null means that the link has no such service.
struct OneService<'a> {
    key: &'a str,
    /// Key of the service already read for this link, if any.
    first: Option<&'a str>,
}

impl<'de> DeserializeSeed<'de> for OneService<'_> {
    type Value = Option<Service>;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Option<Service>, D::Error> {
        let service = match self.key {
            "shaper" => Option::deserialize(d)?.map(Service::Shaper),
            "docsis" => Option::deserialize(d)?.map(Service::Docsis),
            "docsis31" => Option::deserialize(d)?.map(Service::Docsis31),
            _ => Option::deserialize(d)?.map(Service::Delivery),
        };
        match (self.first, service) {
            (Some(first), Some(_)) => Err(de::Error::custom(format!(
                "a link has one of shaper, docsis, docsis31 and delivery; this one already has {first}"
            ))),
            (_, service) => Ok(service),
        }
    }
}
