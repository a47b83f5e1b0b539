//! The list of laws by name, the description of a law in a scenario (`LawSpec`), and the law built from it (`AnyLaw`).

use crate::law::{self, Law, LawParams, Verdict, View};
use packet::{PacketMeta, Reading};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use units::{Limit, Problem, Rng, Time};

/// Calls the macro `$with` and passes to it the remaining arguments, in braces, and then the list of laws.
///
/// To add a law, add an entry to the list. The law then becomes a variant of `LawSpec` and `AnyLaw`, so that every fair
/// discipline with a parameter `law` can use it for its queues. It also becomes a stand-alone discipline (see
/// `spec.rs`). The section `outside` lists the external law.
macro_rules! laws {
    ($with:ident $($more:tt)*) => {
        $with! {
            { $($more)* }
            law {
                "codel" Codel(law::codel::CodelParams), B, "RFC 8289; Nichols & Jacobson, ACM Queue 2012",
                    "Controlled delay: drops from the head while delay exceeds the target";
                "cobalt" Cobalt(law::cobalt::CobaltParams), B, "CAKE; ns-3",
                    "CoDel whose drop rate falls gradually, and BLUE for flows that do not respond to drops";
                "red" Red(law::red::RedParams), B, "Floyd & Jacobson 1993; ns-2 queue/red.cc; ALTQ",
                    "Random early detection: drops arrivals with a probability that grows with the average queue";
                "ared" Ared(law::ared::AredParams), B, "Floyd, Gummadi & Shenker 2001; Feng et al. 1999",
                    "Adaptive RED: RED whose probability follows the load";
                "wred" Wred(law::wred::WredParams), B, "Cisco IOS; Clark & Fang 1998 (RIO)",
                    "Weighted RED: thresholds by precedence or DSCP; RIO as an option";
                "pie" Pie(law::pie::PieParams), B, "RFC 8033; draft-pan-aqm-pie-00; Linux sch_pie",
                    "Proportional integral controller of the delay: drops arrivals";
                "docsis_pie" DocsisPie(law::docsis_pie::DocsisPieParams), B, "RFC 8034",
                    "The PIE of cable modems: predicts the delay from the token bucket";
                "blue" Blue(law::blue::BlueParams), B, "Feng, Kandlur, Saha & Shin 1999",
                    "Drops at random: more after overflow, less when the link is idle";
                "lred" Lred(law::lred::LredParams), B, "ARRIS 2013 Figure 10",
                    "Latency-based RED: drops from the head with a probability that grows with the delay";
            }
            outside {
                "python" Python(law::foreign::ForeignParams), B, "docs/adding-a-law-in-python.md",
                    "Your own law, in Python: for teaching and first ideas; slow";
            }
        }
    };
}
pub(crate) use laws;

/// Generates the enum for scenarios (`LawSpec`) and the enum at run time (`AnyLaw`) from the list of laws.
macro_rules! law_enums {
    (
        {}
        law { $($listed:literal $Listed:ident $params:tt, $ListedKind:ident, $lsource:literal, $lsummary:literal;)+ }
        outside { $out:literal $Out:ident $oparams:tt, $OutKind:ident, $osource:literal, $osummary:literal; }
    ) => {
        law_enums! {
            @all [$($listed)+]
            $($listed $Listed $params, $lsummary;)+
            $out $Out $oparams, $osummary;
        }
    };
    (@all [$($listed:literal)+] $($name:literal $Law:ident($Params:ty), $summary:literal;)+) => {
        /// The law of each queue of a fair discipline, as a scenario writes it: `law = { codel = { target = "5ms" } }`, or
        /// `law = "codel"` for the defaults, or `law = "none"`.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(remote = "Self")]
        #[schemars(rename = "Law", transform = of_laws)]
        pub enum LawSpec {
            /// No early drops.
            #[default]
            #[serde(rename = "none", skip_deserializing)]
            None,
            $(
                #[doc = $summary]
                #[serde(rename = $name)]
                $Law($Params),
            )+
        }

        impl LawSpec {
            /// All law names, except that of the external law, whose parameter `law` has no valid default.
            pub const NAMES: &'static [&'static str] = &["none", $($listed,)+];

            /// Returns the law with this name, with its default parameters.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    "none" => Some(Self::None),
                    $($name => Some(Self::$Law(Default::default())),)+
                    _ => None,
                }
            }
            /// Returns the law's name in a scenario.
            pub fn name(&self) -> &'static str {
                match self { Self::None => "none", $(Self::$Law(_) => $name,)+ }
            }
            /// Checks the parameters, including the law's own `limit`.   Errors: the first invalid parameter, with its path.
            pub fn validate(&self) -> Result<(), Problem> {
                match self { Self::None => Ok(()), $(Self::$Law(p) => LawParams::validate(p),)+ }
                    .and_then(|()| crate::Room::holds("limit", self.limit()))
                    .map_err(|p| p.under(self.name()))
            }
            /// Builds a law in its initial state. The parameters must be valid.
            pub fn law(&self) -> AnyLaw {
                match self { Self::None => AnyLaw::None, $(Self::$Law(p) => AnyLaw::$Law(LawParams::law(p)),)+ }
            }
            /// Returns the limit that the law sets for each queue; `None` if it sets none.
            pub(crate) fn limit(&self) -> Option<Limit> {
                match self { Self::None => None, $(Self::$Law(p) => LawParams::limit(p),)+ }
            }
        }

        /// The law of one queue at run time, with its state.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyLaw {
            /// No early drops.
            None,
            $(
                #[doc = $summary]
                $Law(<$Params as LawParams>::Law),
            )+
        }

        impl Law for AnyLaw {
            #[inline]
            fn arrive(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
                match self { Self::None => Verdict::Pass, $(Self::$Law(l) => l.arrive(packet, view, rng),)+ }
            }
            #[inline]
            fn head(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
                match self { Self::None => Verdict::Pass, $(Self::$Law(l) => l.head(packet, view, rng),)+ }
            }
            #[inline]
            fn left(&mut self, packet: &PacketMeta, view: &View<'_>) {
                match self { Self::None => {} $(Self::$Law(l) => l.left(packet, view),)+ }
            }
            #[inline]
            fn empty(&mut self, now: Time) {
                match self { Self::None => {} $(Self::$Law(l) => l.empty(now),)+ }
            }
            #[inline]
            fn at_rest(&mut self, now: Time) -> bool {
                match self { Self::None => true, $(Self::$Law(l) => l.at_rest(now),)+ }
            }
            #[inline]
            fn overflow(&mut self, now: Time) {
                match self { Self::None => {} $(Self::$Law(l) => l.overflow(now),)+ }
            }
            #[inline]
            fn next_tick(&self) -> Option<Time> {
                match self { Self::None => None, $(Self::$Law(l) => l.next_tick(),)+ }
            }
            #[inline]
            fn tick(&mut self, view: &View<'_>) {
                match self { Self::None => {} $(Self::$Law(l) => l.tick(view),)+ }
            }
            fn probe(&self, out: &mut Reading<'_>) {
                match self { Self::None => {} $(Self::$Law(l) => l.probe(out),)+ }
            }
        }
    };
}

laws! { law_enums }

/// Adds the schemas `texts` to the alternatives (`oneOf`) of `schema`, so that strings are valid as well as tables.
pub(crate) fn add_texts(schema: &mut Schema, texts: impl IntoIterator<Item = Value>) {
    if let Some(choices) = schema.get_mut("oneOf").and_then(|c| c.as_array_mut()) {
        choices.extend(texts);
    }
}

/// Allows strings in the schema of [`LawSpec`]: the name of a law, or a name followed by parameters in tc syntax.
fn of_laws(schema: &mut Schema) {
    let name = json!({
        "type": "string", "description": "The name of a law, with its defaults; or none.", "enum": LawSpec::NAMES,
    });
    let words = json!({
        "type": "string",
        "description": "The name of a law and, in tc syntax, the parameters that differ from its defaults.",
        "pattern": format!("^({}) +[^+ ][^+]*$", LawSpec::NAMES.join("|")),
    });
    add_texts(schema, [name, words]);
}

impl AnyLaw {
    /// Returns a copy of this law for another queue. This law must be in its initial state.
    pub(crate) fn fresh(&self) -> Self {
        if let Self::Python(law) = self { Self::Python(law.fresh()) } else { self.clone() }
    }
}

impl LawSpec {
    /// Checks that the law can be built.   Errors: the law is external and was not supplied.
    pub fn ready(&self) -> Result<(), Problem> {
        match self {
            Self::Python(p) => p.ready(),
            _ => Ok(()),
        }
    }
}
