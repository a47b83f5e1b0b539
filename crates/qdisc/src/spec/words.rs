//! A discipline or law as a scenario writes it, with its schema: a table of one key, its name, or tc syntax.

use super::word_error::WordError;
use super::{Spec, SpecTable};
use crate::law::list::{LawSpec, LawTable};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess};
use std::borrow::Cow;

/// Reads a table of one key (`codel = {..}`) or a word (`"codel"`).
struct TableOrWord<T>(fn(&str) -> Result<T, WordError>, &'static str);

impl<T> TableOrWord<T> {
    fn read<'de, D: Deserializer<'de>, Table: Deserialize<'de> + Into<T>>(self, d: D) -> Result<T, D::Error> {
        struct V<T, Table>(TableOrWord<T>, std::marker::PhantomData<Table>);
        impl<'de, T, Table: Deserialize<'de> + Into<T>> de::Visitor<'de> for V<T, Table> {
            type Value = T;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.0.1)
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<T, E> {
                (self.0.0)(word).map_err(WordError::into_error)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
                let table = Table::deserialize(de::value::MapAccessDeserializer::new(&mut map))?;
                match map.next_key::<String>()? {
                    Some(second) => {
                        let second = units::shown(&second);
                        Err(de::Error::custom(format!("\"{second}\" is one key too many; expected {}", self.0.1)))
                    }
                    None => Ok(table.into()),
                }
            }
        }
        d.deserialize_any(V::<T, Table>(self, std::marker::PhantomData))
    }
}

/// The schema of `Table`, or a word.
fn or_word<Table: JsonSchema>(generator: &mut schemars::SchemaGenerator, word: serde_json::Value) -> schemars::Schema {
    let mut schema = Table::json_schema(generator);
    if let Some(choices) = schema.get_mut("oneOf").and_then(|c| c.as_array_mut()) {
        choices.push(word);
    }
    schema
}

impl Spec {
    /// Reads `"codel"`, `"codel target 5ms"` ([`crate::tc`]) or `"sfq_hss + codel"`.
    fn word(text: &str) -> Result<Self, WordError> {
        let read = |text: &str| from_words::<SpecTable>(crate::tc::read(text)?).map(Self::from);
        let Some((host, law)) = text.split_once('+') else { return read(text) };
        let (host, law) = (read(host)?, LawSpec::word(law)?);
        let name = host.name();
        host.with_law(law).ok_or_else(|| {
            let message = format!(
                "\"{}\" is not valid: the law of {name} is not open; expected one of {} before the +",
                units::shown(text),
                Self::hosts().join(", ")
            );
            WordError::Misfit(message)
        })
    }

    /// The disciplines whose law can be chosen.
    fn hosts() -> Vec<&'static str> {
        let open = |name: &&str| Self::named(name).and_then(|s| s.with_law(LawSpec::None)).is_some();
        Self::NAMES.iter().copied().filter(open).collect()
    }
}

impl LawSpec {
    /// Reads `"codel"`, `"codel target 5ms"` or `"none"`.
    fn word(text: &str) -> Result<Self, WordError> {
        let text = text.trim();
        // a single law: a text with another + is looked up whole and is unknown
        let name = if text.contains('+') { text } else { text.split_whitespace().next().unwrap_or_default() };
        match Self::named(name) {
            None if Spec::named(name).is_some() => {
                let laws = Self::NAMES.join(", ");
                Err(WordError::Misfit(format!("{name} is no law but has queues of its own; expected one of {laws}")))
            }
            None => Err(WordError::Unknown(name.into(), Self::NAMES.to_vec())),
            Some(Self::None) if name != text => Err(WordError::Misfit("nothing follows \"none\"".into())),
            Some(Self::None) => Ok(Self::None),
            Some(_) => from_words::<LawTable>(crate::tc::read(text)?).map(Self::from),
        }
    }
}

impl<'de> Deserialize<'de> for Spec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        TableOrWord(Self::word, "a discipline: a table of one key (codel = {..}) or its name (\"codel\")")
            .read::<D, SpecTable>(d)
    }
}

impl JsonSchema for Spec {
    fn schema_name() -> Cow<'static, str> {
        "Qdisc".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let (names, hosts, laws) = (crate::tc::names().join("|"), Self::hosts().join("|"), LawSpec::NAMES.join("|"));
        let word = serde_json::json!({
            "type": "string",
            "description": "The name of a discipline, with its defaults; its name and tc's words for what differs \
                (\"fq_codel limit 1000p target 5ms ecn\"); or a fair discipline + the law of its queues.",
            "pattern": format!("^((tc |qdisc ).+|({names})( [^+]*)?|({hosts})( [^+]*)?\\+ *({laws})( [^+]*)?)$"),
        });
        or_word::<SpecTable>(generator, word)
    }
}

/// Builds the specification from the table that tc syntax was parsed into.
fn from_words<Table: de::DeserializeOwned>(table: serde_json::Value) -> Result<Table, WordError> {
    serde_json::from_value(table).map_err(|e| WordError::Misfit(e.to_string()))
}

impl<'de> Deserialize<'de> for LawSpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        TableOrWord(Self::word, "a law: a table of one key (codel = {..}), its name (\"codel\") or \"none\"")
            .read::<D, LawTable>(d)
    }
}

impl JsonSchema for LawSpec {
    fn schema_name() -> Cow<'static, str> {
        "Law".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = or_word::<LawTable>(
            generator,
            serde_json::json!({
                "type": "string", "description": "The name of a law, with its defaults; or none.", "enum": Self::NAMES,
            }),
        );
        if let Some(choices) = schema.get_mut("oneOf").and_then(|c| c.as_array_mut()) {
            choices.push(serde_json::json!({
                "type": "string",
                "description": "The name of a law and tc's words for what differs from its defaults.",
                "pattern": format!("^({}) +[^+ ][^+]*$", Self::NAMES.join("|")),
            }));
        }
        schema
    }
}
