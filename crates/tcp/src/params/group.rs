//! A group of parameters: fields with their defaults, read from and written to one flat table with all others.
//!
//! serde's `flatten` buffers a table until it has every key, and so loses the position of an error. Here each value is read in
//! place, by the group that has a field of its key.

use serde::de::MapAccess;
use units::Problem;

/// Parameters that belong together.
pub(crate) trait Group {
    /// The keys of its fields, in order.
    const KEYS: &'static [&'static str];

    /// Reads the value that follows `key`, if the key is one of its own.
    fn set<'de, M: MapAccess<'de>>(&mut self, key: &str, map: &mut M) -> Result<bool, M::Error>;

    /// Refuses parameters that no connection could run with.   Errors: the first field out of range, by its key.
    fn validate(&self) -> Result<(), Problem>;
}

/// Number of keys of several groups.
pub(crate) const fn count(lists: &[&[&str]]) -> usize {
    let (mut n, mut list) = (0, 0);
    while list < lists.len() {
        n += lists[list].len();
        list += 1;
    }
    n
}

/// The `N` keys of several groups.
pub(crate) const fn join<const N: usize>(lists: &[&[&'static str]]) -> [&'static str; N] {
    let (mut all, mut at, mut list) = ([""; N], 0, 0);
    while list < lists.len() {
        let mut key = 0;
        while key < lists[list].len() {
            all[at] = lists[list][key];
            (at, key) = (at + 1, key + 1);
        }
        list += 1;
    }
    all
}

/// Refuses the value of a key.
pub(crate) fn no<T>(key: &str, message: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::new(key, message.into()))
}

/// Declares a group: each field with its type and default, then the groups within it, and its own checks in addition to theirs.
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
            const KEYS: &'static [&'static str] = {
                use $crate::params::group;
                const LISTS: &[&[&str]] = &[&[$(stringify!($field)),*], $($(<$Group as group::Group>::KEYS),*)?];
                &group::join::<{ group::count(LISTS) }>(LISTS)
            };

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

pub(crate) use group;
