//! The congestion controller of a stack, and the controllers' parameters: each its own keys, and those that several share.

use super::control::{Control, EcnNeeds, Needs};
use super::list::controllers;
use super::shared::SharedParams;
use crate::params::group::{group, no};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Problem;

/// Defines the words of all controllers, and the keys.
macro_rules! declare {
    ($($(#[$doc:meta])* $word:literal $Name:ident($file:ident::$Machine:ident),)*) => {
        /// Congestion controller.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum CongestionControl {
            $(
                $(#[$doc])*
                #[serde(rename = $word)]
                $Name,
            )*
        }

        impl CongestionControl {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$Name),*];

            /// Its word in a scenario.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$Name => $word,)*
                }
            }

            /// Returns true if it uses `beta_ecn`.
            fn backs_off_for_marks(self) -> bool {
                match self {
                    $(Self::$Name => <super::$file::$Machine as Control>::BETA_ECN,)*
                }
            }
        }

        group! {
            /// The congestion controller and its parameters: a preset may also set those of other controllers, for a stack that
            /// overrides it.
            pub struct ControlParams {
                /// Congestion controller.
                pub congestion_control: CongestionControl = CongestionControl::Cubic,
                groups {
                    /// Parameters shared by several controllers.
                    pub shared: SharedParams,
                    $(
                        /// Parameters of this controller.
                        pub(crate) $file: <super::$file::$Machine as Control>::Params,
                    )*
                }
            }

            fn validate(&self) -> Result<(), Problem> {
                let Some(b) = self.shared.beta_ecn else { return Ok(()) };
                let (word, takes) = (self.congestion_control.word(), CongestionControl::backs_off_for_marks);
                if !takes(self.congestion_control) {
                    let who: Vec<_> = CongestionControl::ALL.iter().filter(|c| takes(**c)).map(|c| c.word()).collect();
                    let why = format!("alternative backoff is for {}", who.join(" and "));
                    return no("beta_ecn", format!("{b} is not valid with {word}: {why}; expected nothing"));
                }
                if !(0.05..=0.99).contains(&b) {
                    let expected = "expected 0.05 to 0.99, as 0.8 for reno, 0.85 for cubic";
                    return no("beta_ecn", format!("{b} is not valid; {expected}"));
                }
                Ok(())
            }
        }

        impl ControlParams {
            /// Selects a controller by its word, for a preset.   Panics: if no controller has this word.
            pub(crate) fn choose(&mut self, word: &str) {
                self.congestion_control = match word {
                    $($word => CongestionControl::$Name,)*
                    _ => panic!("no congestion controller is called {word:?}"),
                };
            }

            /// Sender features that the controller needs.
            pub(crate) fn needs(&self) -> Needs {
                match self.congestion_control {
                    $(CongestionControl::$Name => <super::$file::$Machine as Control>::NEEDS,)*
                }
            }

            /// The controller's requirements on ECN.
            #[inline]
            pub(crate) fn ecn(&self) -> EcnNeeds {
                match self.congestion_control {
                    $(CongestionControl::$Name => <super::$file::$Machine as Control>::ecn(&self.$file),)*
                }
            }
        }
    };
}

controllers!(declare);

#[cfg(test)]
pub(super) use declare;
