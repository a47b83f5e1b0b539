//! Enums that a scenario writes as a one-key table (`hash = { queues = 64 }`), or as a keyword (`"hash"`) if all
//! parameters have their defaults.
//!
//! The deserializer that serde derives accepts a keyword only for a variant without content. With
//! `#[serde(remote = "Self")]`, serde derives an inherent function `deserialize` instead of the trait implementation.
//! [`word_or_table`](crate::word_or_table) implements the trait by calling this function, and presents a keyword to the
//! function as a key whose value is an empty table.

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, VariantAccess,
    Visitor,
};
use std::fmt;
use std::marker::PhantomData;

/// Implements `Serialize` and `Deserialize` for an enum with `#[serde(remote = "Self")]`. A scenario may then give just
/// the name of a variant (`"hash"`), which means that all parameters of the variant have their defaults.
#[macro_export]
macro_rules! word_or_table {
    ($($Type:ty),+ $(,)?) => {$(
        impl serde::Serialize for $Type {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                <$Type>::serialize(self, s)
            }
        }
        impl<'de> serde::Deserialize<'de> for $Type {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                <$Type>::deserialize($crate::words::WordOrTable(d))
            }
        }
    )+};
}

/// Extends the JSON Schema of the enum `T`, which at first accepts each variant only as a one-key table. The extended
/// schema also accepts, as a string, the name of each variant whose parameters all have defaults.
pub fn words<T: DeserializeOwned>(schema: &mut schemars::Schema) {
    let Some(choices) = schema.get_mut("oneOf").and_then(|c| c.as_array_mut()) else { return };
    let alone = |word: &&String| T::deserialize(StrDeserializer::<de::value::Error>::new(word)).is_ok();
    let tables = choices.iter().filter_map(|c| c["properties"].as_object()).flat_map(|p| p.keys());
    let words: Vec<String> = tables.filter(alone).cloned().collect();
    if !words.is_empty() {
        choices.push(schemars::json_schema!({ "type": "string", "enum": words }).into());
    }
}

/// A deserializer that reads an enum from a keyword or from a one-key table, and all other types like `D`.
#[doc(hidden)]
pub struct WordOrTable<D>(pub D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for WordOrTable<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(visitor)
    }
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Choice { variants, visitor })
    }
    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Choice<V> {
    variants: &'static [&'static str],
    visitor: V,
}

impl<V> Choice<V> {
    fn names(variants: &[&str]) -> String {
        variants.iter().map(|v| format!("\"{v}\"")).collect::<Vec<_>>().join(", ")
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Choice<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {}, as a keyword or as the key of a table", Self::names(self.variants))
    }
    fn visit_str<E: de::Error>(self, word: &str) -> Result<V::Value, E> {
        if !self.variants.contains(&word) {
            return Err(E::unknown_variant(word, self.variants));
        }
        self.visitor.visit_enum(Keyword { word, error: PhantomData })
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_enum(OneKey { map, variants: self.variants })
    }
}

/// A variant given as a keyword (`"hash"`). Its parameters are read from an empty table, so all have their defaults.
struct Keyword<'w, E> {
    word: &'w str,
    error: PhantomData<E>,
}

impl<E: de::Error> Keyword<'_, E> {
    fn alone(&self) -> E {
        E::custom(format!("\"{0}\" needs parameters; expected a table, {{ {0} = .. }}", self.word))
    }
}

impl<'de, E: de::Error> EnumAccess<'de> for Keyword<'_, E> {
    type Error = E;
    type Variant = Self;
    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), E> {
        Ok((seed.deserialize(self.word.into_deserializer())?, self))
    }
}

/// An empty table. Its `next_value_seed` ignores the seed and returns an error, so the compiler generates no code that
/// would read values from an empty table.
struct Empty<E>(PhantomData<E>);

impl<'de, E: de::Error> MapAccess<'de> for Empty<E> {
    type Error = E;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, _: K) -> Result<Option<K::Value>, E> {
        Ok(None)
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, _: V) -> Result<V::Value, E> {
        Err(E::custom("there is no value"))
    }
}

impl<'de, E: de::Error> VariantAccess<'de> for Keyword<'_, E> {
    type Error = E;
    fn unit_variant(self) -> Result<(), E> {
        Ok(())
    }
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, E> {
        seed.deserialize(de::value::MapAccessDeserializer::new(Empty(PhantomData))).map_err(|_: E| self.alone())
    }
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, E> {
        Err(self.alone())
    }
    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, E> {
        visitor.visit_map(Empty(PhantomData)).map_err(|_: E| self.alone())
    }
}

/// A table that must have exactly one key, the name of a variant.
struct OneKey<A> {
    map: A,
    variants: &'static [&'static str],
}

impl<'de, A: MapAccess<'de>> OneKey<A> {
    fn end(mut self) -> Result<(), A::Error> {
        match self.map.next_key::<String>()? {
            None => Ok(()),
            Some(second) => {
                let names = Choice::<()>::names(self.variants);
                Err(de::Error::custom(format!("\"{second}\" is one key too many; expected one of {names}")))
            }
        }
    }
}

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for OneKey<A> {
    type Error = A::Error;
    type Variant = Self;
    fn variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<(S::Value, Self), A::Error> {
        match self.map.next_key_seed(seed)? {
            Some(variant) => Ok((variant, self)),
            None => {
                let names = Choice::<()>::names(self.variants);
                Err(de::Error::custom(format!("the table is empty; expected one of {names} as its key")))
            }
        }
    }
}

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for OneKey<A> {
    type Error = A::Error;
    fn unit_variant(mut self) -> Result<(), A::Error> {
        self.map.next_value::<()>()?;
        self.end()
    }
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<S::Value, A::Error> {
        let value = self.map.next_value_seed(seed)?;
        self.end().map(|()| value)
    }
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, A::Error> {
        Err(de::Error::custom("a list is not valid here"))
    }
    fn struct_variant<V: Visitor<'de>>(mut self, _: &'static [&'static str], visitor: V) -> Result<V::Value, A::Error> {
        let value = self.map.next_value_seed(Table(visitor))?;
        self.end().map(|()| value)
    }
}

/// Wraps a visitor as a [`DeserializeSeed`] that expects a table.
struct Table<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Table<V> {
    type Value = V::Value;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<V::Value, D::Error> {
        d.deserialize_map(self.0)
    }
}
