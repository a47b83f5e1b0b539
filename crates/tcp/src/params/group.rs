//! A group of parameters: fields with their defaults. All groups are read from and written to one flat table.
//!
//! serde's `flatten` first reads the whole table into a buffer, so errors found later no longer carry their position in
//! the file. Here, the group that has a field with a given key reads the value directly from the input.

use serde::de::MapAccess;
use std::fmt::Display;
use units::Problem;

/// Parameters that belong together.
pub(crate) trait Group {
    /// Returns the keys of the group's fields, and then the keys of the groups within it, all in the order of
    /// declaration.
    fn keys() -> Vec<&'static str>;

    /// Reads the value that follows `key`, if the key belongs to this group. Returns true if it does.
    fn set<'de, M: MapAccess<'de>>(&mut self, key: &str, map: &mut M) -> Result<bool, M::Error>;

    /// Refuses values that are out of range or contradict each other. The error names the key of the first such field.
    fn validate(&self) -> Result<(), Problem>;
}

/// Refuses the value of a key unless it is `valid`. `expected` describes the valid values.
pub(crate) fn require(key: &str, value: impl Display, valid: bool, expected: impl Display) -> Result<(), Problem> {
    if valid { Ok(()) } else { no(key, format!("{value} is not valid; expected {expected}")) }
}

/// Returns an error that refuses the value of `key` with this message.
pub(crate) fn no<T>(key: &str, message: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::new(key, message.into()))
}

/// Declares a group: its fields, each with a type and a default, then the groups within it, and the group's own checks.
macro_rules! group {
    (
        $(#[$meta:meta])*
        $vis:vis struct $Name:ident {
            $($(#[$field_meta:meta])* pub $field:ident: $Type:ty = $default:expr,)*
            $(groups { $($(#[$group_meta:meta])* $group_vis:vis $group:ident: $Group:ty,)* })?
        }
        $(fn validate(&$this:ident) -> $Checked:ty $checks:block)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
        #[schemars(default, deny_unknown_fields)]
        $vis struct $Name {
            $($(#[$field_meta])* pub $field: $Type,)*
            $($($(#[$group_meta])* #[serde(flatten)] $group_vis $group: $Group,)*)?
        }

        impl Default for $Name {
            fn default() -> Self {
                Self { $($field: $default,)* $($($group: Default::default(),)*)? }
            }
        }

        impl $crate::params::group::Group for $Name {
            fn keys() -> Vec<&'static str> {
                let keys: [Vec<&'static str>; _] = [vec![$(stringify!($field)),*], $($(<$Group>::keys()),*)?];
                keys.concat()
            }

            #[allow(unused_variables, unreachable_code, clippy::match_single_binding)]
            fn set<'de, M: serde::de::MapAccess<'de>>(&mut self, key: &str, map: &mut M) -> Result<bool, M::Error> {
                match key {
                    $(stringify!($field) => self.$field = map.next_value()?,)*
                    _ => return Ok(false $($(|| self.$group.set(key, map)?)*)?),
                }
                Ok(true)
            }

            fn validate(&self) -> Result<(), units::Problem> {
                $($(self.$group.validate()?;)*)?
                $(
                    let checked: $Checked = self.refuse();
                    checked?;
                )?
                Ok(())
            }
        }

        $(impl $Name {
            fn refuse(&$this) -> $Checked $checks
        })?
    };
}

/// Declares enums of keywords. Each enum holds the keywords that are valid for one key; each keyword has a description
/// and is followed by the name of its variant.
macro_rules! words {
    ($(
        $(#[$meta:meta])*
        $vis:vis enum $Name:ident {
            $($(#[$doc:meta])* $word:literal $Variant:ident $(($Content:ty))?,)*
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        $vis enum $Name {
            $($(#[$doc])* #[serde(rename = $word)] $Variant $(($Content))?,)*
        }

        impl $Name {
            /// Returns the keyword of this value in a scenario.
            #[allow(dead_code, reason = "not every word is part of a message")]
            $vis fn word(self) -> &'static str {
                match self {
                    $(Self::$Variant { .. } => $word,)*
                }
            }
        }
    )+};
}

pub(crate) use {group, words};
