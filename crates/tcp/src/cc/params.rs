//! The parameters that select and configure a stack's congestion controller. Some keys are used by only one controller,
//! others by several.

use super::control::{Control, EcnNeeds, Needs};
use super::list::controllers;
use super::shared::SharedParams;
use crate::params::group::{group, no, words};
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
                self.refuse_unused("beta", self.shared.beta, |needs| needs.beta)?;
                self.refuse_unused("beta_ecn", self.shared.beta_ecn, |needs| needs.beta_ecn)
            }
        }

        /// The parameters of one congestion controller. The variant names the controller.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Chosen<'a> {
            $($Name(&'a <super::$file::$Machine as Control>::Params),)*
        }

        impl ControlParams {
            /// Refuses a value of `key` if the controller does not use this key.
            fn refuse_unused(&self, key: &str, value: Option<f64>, uses: fn(&Needs) -> bool) -> Result<(), Problem> {
                let Some(value) = value.filter(|_| !uses(&self.needs())) else { return Ok(()) };
                let others = CongestionControl::ALL.iter().map(|c| Self { congestion_control: *c, ..self.clone() });
                let words: Vec<_> = others.filter(|c| uses(&c.needs())).map(|c| c.congestion_control.word()).collect();
                let (word, who) = (self.congestion_control.word(), words.join(", "));
                no(key, format!("{value} is not valid with {word}: it is for {who}; expected nothing"))
            }

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
