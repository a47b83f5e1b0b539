//! The macro `params!`, which declares the parameters of disciplines and laws.

/// The type `Option<T>` of a parameter that may be omitted. The trait gives the macro a name for `T`.
pub(crate) trait Omittable {
    /// The type of the parameter's value, `T`.
    type Value;
}

impl<T> Omittable for Option<T> {
    type Value = T;
}

/// Declares the parameters of a discipline or a law. Each parameter has a type, a default, and a doc comment, which becomes its
/// help text.
///
/// ```text
/// params! {
///     /// Parameters of PIE.
///     pub struct PieParams as p {
///         /// The target delay; null: 15ms, 20ms (draft2013).
///         target: Option<Duration> = None => ms(if p.variant == Draft2013 { 20 } else { 15 }),
///     }
/// }
/// ```
///
/// The expression after `=>` is the value that the published version uses if the parameter is omitted. It may read the other
/// parameters. A parameter with such an expression has a method of the same name, which returns the effective value. `resolved`
/// returns the parameters with all these values filled in.
macro_rules! params {
    (
        $(#[$of:meta])*
        pub struct $Params:ident {
            $($(#[$doc:meta])* $key:ident: $Type:ty = $default:expr,)+
        }
    ) => {
        $(#[$of])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $Params {
            $($(#[$doc])* pub $key: $Type,)+
        }

        impl Default for $Params {
            fn default() -> Self {
                Self { $($key: $default,)+ }
            }
        }
    };
    (
        $(#[$of:meta])*
        pub struct $Params:ident as $p:ident {
            $($(#[$doc:meta])* $key:ident: $Type:ty = $default:expr $(=> $value:expr)?,)+
        }
    ) => {
        params! {
            $(#[$of])*
            pub struct $Params {
                $($(#[$doc])* $key: $Type = $default,)+
            }
        }

        #[allow(unused_variables)]
        impl $Params {
            $($(
                #[inline]
                pub(crate) fn $key(&self) -> <$Type as crate::declared::Omittable>::Value {
                    let $p = self;
                    self.$key.unwrap_or_else(|| $value)
                }
            )?)+

            /// Returns a copy in which omitted parameters are set to the defaults that their declarations compute.
            #[allow(dead_code, reason = "parameters that build others are read by their accessors alone")]
            pub(crate) fn resolved(&self) -> Self {
                let mut resolved = self.clone();
                let $p = self;
                $($(resolved.$key = Some(self.$key.unwrap_or_else(|| $value));)?)+
                resolved
            }
        }
    };
}
pub(crate) use params;
