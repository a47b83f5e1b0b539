//! Reads disciplines and laws in the forms that scenarios use: a table with one key, a name, or tc syntax. Writes them
//! as tables.

use super::Spec;
use super::word_error::WordError;
use crate::QDISCS;
use crate::law::list::{LawSpec, add_texts};
use schemars::Schema;
use serde::de::{self, Deserializer, MapAccess};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;
use std::marker::PhantomData;

/// A choice written in a scenario as a one-key table (`codel = {..}`) or as a string (`"codel"`).
trait Choice: Sized {
    /// A description of the valid forms, for error messages.
    const EXPECTED: &'static str;
    fn table<'de, D: Deserializer<'de>>(d: D) -> Result<Self, D::Error>;
    fn text(text: &str) -> Result<Self, WordError>;
}

/// A visitor that reads a [`Choice`] in either form.
struct TableOrText<T>(PhantomData<T>);

impl<'de, T: Choice> de::Visitor<'de> for TableOrText<T> {
    type Value = T;
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(T::EXPECTED)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::text(text).map_err(WordError::into_error)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let choice = T::table(de::value::MapAccessDeserializer::new(&mut map))?;
        let Some(second) = map.next_key::<String>()? else { return Ok(choice) };
        let second = units::shown(&second);
        Err(de::Error::custom(format!("\"{second}\" is one key too many; expected {}", T::EXPECTED)))
    }
}

/// Implements serde's traits for enums with `#[serde(remote = "Self")]`. For such an enum, serde's derive generates
/// inherent methods instead of implementing the traits.
macro_rules! table_or_text {
    ($($Type:ident::$text:ident, $expected:literal;)+) => {$(
        impl Choice for $Type {
            const EXPECTED: &'static str = $expected;
            fn table<'de, D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                $Type::deserialize(d)
            }
            // because of `inline`, this code is compiled as part of the crates that read scenarios. These crates are
            // built with little optimisation, so the build takes less time
            #[inline]
            fn text(text: &str) -> Result<Self, WordError> {
                $Type::$text(text)
            }
        }
        impl<'de> Deserialize<'de> for $Type {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                d.deserialize_any(TableOrText(PhantomData))
            }
        }
        impl Serialize for $Type {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                $Type::serialize(self, s)
            }
        }
    )+};
}
table_or_text! {
    Spec::word, "a discipline: a table of one key (codel = {..}) or its name (\"codel\")";
    LawSpec::word, "a law: a table of one key (codel = {..}), its name (\"codel\") or \"none\"";
}

fn from_tc<T: Choice>(text: &str) -> Result<T, WordError> {
    T::table(crate::tc::read(text)?).map_err(|e| WordError::Misfit(e.to_string()))
}

impl Spec {
    /// Reads `"codel"`, `"codel target 5ms"` ([`crate::tc`]) or `"sfq_hss + codel"`.
    #[inline]
    fn word(text: &str) -> Result<Self, WordError> {
        let Some((host, law)) = text.split_once('+') else { return from_tc(text) };
        let (host, law) = (from_tc::<Self>(host)?, LawSpec::word(law)?);
        let name = host.name();
        host.with_law(law).ok_or_else(|| {
            let message = format!(
                "\"{}\" is not valid: the law of {name} cannot be chosen; expected one of {} before the +",
                units::shown(text),
                Self::hosts().join(", ")
            );
            WordError::Misfit(message)
        })
    }

    /// Returns the names of the disciplines whose law the user can choose.
    fn hosts() -> Vec<&'static str> {
        let open = |name: &&str| Self::named(name).and_then(|s| s.with_law(LawSpec::None)).is_some();
        QDISCS.iter().map(|q| q.name).filter(open).collect()
    }
}

impl LawSpec {
    /// Reads `"codel"`, `"codel target 5ms"` or `"none"`.
    #[inline]
    fn word(text: &str) -> Result<Self, WordError> {
        let text = text.trim();
        // only a discipline can be combined with a law (`sfq_hss + codel`). So if a law's text contains a `+`, the
        // whole text is looked up as a name, and is refused as an unknown name
        let name = if text.contains('+') { text } else { text.split_whitespace().next().unwrap_or_default() };
        match Self::named(name) {
            None if Spec::named(name).is_some() => {
                let laws = Self::NAMES.join(", ");
                Err(WordError::Misfit(format!("{name} is no law but has queues of its own; expected one of {laws}")))
            }
            None => Err(WordError::Unknown(name.into(), Self::NAMES.to_vec())),
            Some(Self::None) if name != text => Err(WordError::Misfit("nothing follows \"none\"".into())),
            Some(Self::None) => Ok(Self::None),
            Some(_) => from_tc(text),
        }
    }
}

/// Allows strings in the schema of [`Spec`]: a name, tc syntax, or a fair discipline + the law of its queues.
pub(crate) fn of_disciplines(schema: &mut Schema) {
    let (names, hosts, laws) = (crate::tc::names().join("|"), Spec::hosts().join("|"), LawSpec::NAMES.join("|"));
    let text = json!({
        "type": "string",
        "description": "The name of a discipline, with its defaults; its name and, in tc syntax, the parameters that differ \
            (\"fq_codel limit 1000p target 5ms ecn\"); or a fair discipline + the law of its queues.",
        "pattern": format!("^((tc |qdisc ).+|({names})( [^+]*)?|({hosts})( [^+]*)?\\+ *({laws})( [^+]*)?)$"),
    });
    add_texts(schema, [text]);
}
