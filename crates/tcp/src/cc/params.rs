//! The parameters that select and configure a stack's congestion controller. Some keys are used by only one controller,
//! others by several.

use super::control::{Control, EcnNeeds, Needs};
use super::list::controllers;
use super::shared::SharedParams;
use crate::params::group::{group, no, require, words};
use units::Problem;

/// Defines the keywords of all controllers, and the keys of their parameters.
macro_rules! declare {
    ($($(#[$doc:meta])* $word:literal $Name:ident($file:ident::$Machine:ident),)*) => {
        words! {
            /// Congestion controller.
            pub enum CongestionControl {
                $($(#[$doc])* $word $Name,)*
            }
        }

        impl CongestionControl {
            /// All controllers.
            pub const ALL: &[Self] = &[$(Self::$Name),*];
        }

        group! {
            /// The congestion controller and its parameters. A preset may also set parameters of other controllers, for
            /// stacks that override the preset's controller.
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
                let (Some(b), word) = (self.shared.beta_ecn, self.congestion_control.word()) else { return Ok(()) };
                if !self.needs().beta_ecn {
                    let takes = |c: &&CongestionControl| Self { congestion_control: **c, ..self.clone() }.needs().beta_ecn;
                    let who: Vec<_> = CongestionControl::ALL.iter().filter(takes).map(|c| c.word()).collect();
                    let why = format!("alternative backoff is for {}", who.join(" and "));
                    return no("beta_ecn", format!("{b} is not valid with {word}: {why}; expected nothing"));
                }
                let expected = "0.05 to 0.99, such as 0.8 for reno or 0.85 for cubic";
                require("beta_ecn", b, (0.05..=0.99).contains(&b), expected)
            }
        }

        /// The parameters of one congestion controller. The variant names the controller.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Chosen<'a> {
            $($Name(&'a <super::$file::$Machine as Control>::Params),)*
        }

        impl ControlParams {
            /// Selects a controller by its keyword, for a preset.   Panics: if no controller has this keyword.
            pub(crate) fn choose(&mut self, word: &str) {
                let found = CongestionControl::ALL.iter().find(|c| c.word() == word);
                self.congestion_control = *found.unwrap_or_else(|| panic!("no congestion controller is called {word:?}"));
            }

            /// Returns the stack's controller, together with the parameters that only this controller uses.
            #[inline]
            pub(crate) fn chosen(&self) -> Chosen<'_> {
                match self.congestion_control {
                    $(CongestionControl::$Name => Chosen::$Name(&self.$file),)*
                }
            }

            /// Returns the stack features that the controller needs.
            #[inline]
            pub(crate) fn needs(&self) -> Needs {
                match self.chosen() {
                    $(Chosen::$Name(own) => <super::$file::$Machine as Control>::needs(own),)*
                }
            }

            /// Returns the controller's requirements on ECN.
            #[inline]
            pub(crate) fn ecn(&self) -> EcnNeeds {
                self.needs().ecn
            }
        }
    };
}

controllers!(declare);

#[cfg(test)]
pub(super) use declare;
