//! The disciplines by name: plain data to build them from, and the list that a user may ask for.

use crate::law::{Law, LawParams, Verdict, View};
use crate::{ClassProbe, Cx, QueueDiscipline, class, fair, law, single};
use packet::{Backlog, PacketMeta};
use schemars::JsonSchema;
use serde::de::{self, Deserializer, MapAccess};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use units::{Limit, Problem, Rng, Time};

/// The parameters of one discipline. Those of a law come with [`LawParams`].
pub trait Params {
    /// What they build.
    type Discipline: QueueDiscipline;
    /// The first thing that is wrong, by field name.
    fn validate(&self) -> Result<(), Problem>;
    /// The discipline, empty. Only valid parameters are built.
    fn build(&self) -> Self::Discipline;
    /// How much may wait in all; `None` where nothing bounds it.
    fn limit(&self) -> Option<Limit>;
    /// The four parts of a fair discipline; `None` for any other.
    fn fair(&self) -> Option<fair::FairParams> {
        None
    }
    /// The same with `law` in each queue; `None` unless the law is left open.
    fn with_law(self, _law: LawSpec) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

/// The three types of ARRIS 2013.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Queues per flow and a scheduler among them.
    A,
    /// One queue and a control law that drops early.
    B,
    /// One queue that drops when it is full.
    C,
}

/// One line of `bloatlab list qdiscs`.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Name in a scenario.
    pub name: &'static str,
    /// Type in the taxonomy of ARRIS 2013.
    pub kind: Kind,
    /// A control law, which the queues of a fair discipline can host: `law = { NAME = {..} }`.
    pub law: bool,
    /// What it does, one line.
    pub summary: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// Its parameters as a JSON Schema: names, types, defaults and descriptions.
    pub params: fn() -> schemars::Schema,
}

/// Reads what a table of one key (`codel = {..}`) or a word (`"codel"`) gives.
struct TableOrWord<T>(fn(&str) -> Result<T, WordError>, &'static str);

/// Why a text names nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WordError {
    /// Not one of these names.
    Unknown(String, Vec<&'static str>),
    /// A word behind the name, which is none of these.
    Option(String, Vec<String>),
    /// Words that do not go together, and why.
    Misfit(String),
}

impl WordError {
    /// As serde says it, for whoever explains serde's errors.
    fn into_error<E: de::Error>(self) -> E {
        let list = |known: Vec<&str>| known.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ");
        let (given, known) = match self {
            Self::Misfit(why) => return E::custom(why),
            Self::Unknown(given, known) => (given, list(known)),
            Self::Option(given, known) => (given, list(known.iter().map(String::as_str).collect())),
        };
        E::custom(format!("unknown variant `{given}`, expected one of {known}"))
    }
}

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

/// Declares every discipline once: the scenario's enum, the running enum and the list come from the same lines.
///
/// A line under `law` makes two things: the stand-alone discipline (one FIFO under that law, [`single::Managed`]) and a
/// variant of [`LawSpec`] and [`AnyLaw`], which every fair discipline can host.
///
/// The running [`Discipline`] is a closed enum rather than a `Box<dyn>`: the set is closed by [`Spec`] anyway, the hot path
/// inlines behind one predictable branch, and a queue stays `Clone` and `PartialEq` (rule 4).
macro_rules! disciplines {
    (
        single { $($s:tt)* }
        law { $($law:literal $Law:ident($LawParams:ty), $LawKind:ident, $lsource:literal, $lsummary:literal;)+ }
        others { $($o:tt)* }
        outside { $out:literal $Out:ident($OutParams:ty), $OutKind:ident, $osource:literal, $osummary:literal; }
    ) => {
        disciplines! { @all
            { $($s)* }
            { $($law $Law($LawParams), $LawKind, $lsource, $lsummary;)+ }
            { $($o)* }
            outside { $out $Out($OutParams), $OutKind, $osource, $osummary; }
        }

        #[derive(Deserialize, JsonSchema)]
        #[allow(missing_docs)]
        enum LawTable {
            $(
                #[doc = $lsummary]
                #[serde(rename = $law)]
                $Law($LawParams),
            )+
            #[doc = $osummary]
            #[serde(rename = $out)]
            $Out($OutParams),
        }

        /// The law of each queue of a fair discipline, as a scenario writes it: `law = { codel = { target = "5ms" } }`, or
        /// `law = "codel"` for the defaults, or `law = "none"`.
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        pub enum LawSpec {
            /// No early drops.
            #[default]
            #[serde(rename = "none")]
            None,
            $(
                #[doc = $lsummary]
                #[serde(rename = $law)]
                $Law($LawParams),
            )+
            #[doc = $osummary]
            #[serde(rename = $out)]
            $Out($OutParams),
        }

        impl From<LawTable> for LawSpec {
            fn from(table: LawTable) -> Self {
                match table { $(LawTable::$Law(p) => Self::$Law(p),)+ LawTable::$Out(p) => Self::$Out(p) }
            }
        }

        impl LawSpec {
            /// The names there are, apart from the law from outside, which has no defaults.
            pub const NAMES: &'static [&'static str] = &["none", $($law,)+];

            /// The law of this name, with its defaults.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    "none" => Some(Self::None),
                    $($law => Some(Self::$Law(Default::default())),)+
                    $out => Some(Self::$Out(Default::default())),
                    _ => None,
                }
            }
            /// Name in a scenario.
            pub fn name(&self) -> &'static str {
                match self { Self::None => "none", $(Self::$Law(_) => $law,)+ Self::$Out(_) => $out }
            }
            /// The first thing that is wrong, with its path (`codel.target`); the law's own `limit`, if set, included.
            pub fn validate(&self) -> Result<(), Problem> {
                let problem = match self {
                    Self::None => Ok(()),
                    $(Self::$Law(p) => LawParams::validate(p),)+
                    Self::$Out(p) => LawParams::validate(p),
                };
                problem.and_then(|()| self.limit().map_or(Ok(()), |l| crate::Room::validate(l, false)))
                    .map_err(|p| p.under(self.name()))
            }
            /// A law that has seen nothing. Only valid parameters are built.
            pub fn law(&self) -> AnyLaw {
                match self {
                    Self::None => AnyLaw::None,
                    $(Self::$Law(p) => AnyLaw::$Law(LawParams::law(p)),)+
                    Self::$Out(p) => AnyLaw::$Out(LawParams::law(p)),
                }
            }
            /// Limit of each queue of its own; `None`: only what all share.
            pub fn limit(&self) -> Option<Limit> {
                match self { Self::None => None, $(Self::$Law(p) => LawParams::limit(p),)+ Self::$Out(p) => LawParams::limit(p) }
            }
        }

        /// Any law at run time, with its state: one per queue.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyLaw {
            /// No early drops.
            None,
            $(
                #[doc = $lsummary]
                $Law(<$LawParams as LawParams>::Law),
            )+
            #[doc = $osummary]
            $Out(<$OutParams as LawParams>::Law),
        }

        impl Law for AnyLaw {
            #[inline]
            fn arrive(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
                match self { Self::None => Verdict::Pass, $(Self::$Law(l) => l.arrive(packet, view, rng),)+ Self::$Out(l) => l.arrive(packet, view, rng) }
            }
            #[inline]
            fn head(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
                match self { Self::None => Verdict::Pass, $(Self::$Law(l) => l.head(packet, view, rng),)+ Self::$Out(l) => l.head(packet, view, rng) }
            }
            #[inline]
            fn left(&mut self, packet: &PacketMeta, view: &View<'_>) {
                match self { Self::None => {} $(Self::$Law(l) => l.left(packet, view),)+ Self::$Out(l) => l.left(packet, view) }
            }
            #[inline]
            fn empty(&mut self, now: Time) {
                match self { Self::None => {} $(Self::$Law(l) => l.empty(now),)+ Self::$Out(l) => l.empty(now) }
            }
            #[inline]
            fn at_rest(&mut self, now: Time) -> bool {
                match self { Self::None => true, $(Self::$Law(l) => l.at_rest(now),)+ Self::$Out(l) => l.at_rest(now) }
            }
            #[inline]
            fn overflow(&mut self, now: Time) {
                match self { Self::None => {} $(Self::$Law(l) => l.overflow(now),)+ Self::$Out(l) => l.overflow(now) }
            }
            #[inline]
            fn next_tick(&self) -> Option<Time> {
                match self { Self::None => None, $(Self::$Law(l) => l.next_tick(),)+ Self::$Out(l) => l.next_tick() }
            }
            #[inline]
            fn tick(&mut self, view: &View<'_>) {
                match self { Self::None => {} $(Self::$Law(l) => l.tick(view),)+ Self::$Out(l) => l.tick(view) }
            }
        }
    };
    (
        @all $({ $($name:literal $Variant:ident($Params:ty), $Kind:ident, $source:literal, $summary:literal;)* })+
        outside { $out:literal $Out:ident($OutParams:ty), $OutKind:ident, $osource:literal, $osummary:literal; }
    ) => {
        #[derive(Deserialize, JsonSchema)]
        #[allow(missing_docs)]
        enum SpecTable {
            $($(
                #[doc = $summary]
                #[serde(rename = $name)]
                $Variant($Params),
            )*)+
            #[doc = $osummary]
            #[serde(rename = $out)]
            $Out($OutParams),
        }

        /// A queue discipline and its parameters, as a scenario writes it: `codel = { target = "5ms" }`; or the word
        /// `"codel"` for its defaults; or `"sfq_hss + codel"`, a fair discipline and the law of its queues.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        pub enum Spec {
            $($(
                #[doc = $summary]
                #[serde(rename = $name)]
                $Variant($Params),
            )*)+
            #[doc = $osummary]
            #[serde(rename = $out)]
            $Out($OutParams),
        }

        impl From<SpecTable> for Spec {
            fn from(table: SpecTable) -> Self {
                match table { $($(SpecTable::$Variant(p) => Self::$Variant(p),)*)+ SpecTable::$Out(p) => Self::$Out(p) }
            }
        }

        impl Spec {
            const NAMES: &'static [&'static str] = &[$($($name,)*)+];

            /// The discipline of this name, with its defaults.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($($name => Some(Self::$Variant(Default::default())),)*)+
                    $out => Some(Self::$Out(Default::default())),
                    _ => None,
                }
            }
            /// Name in a scenario.
            pub fn name(&self) -> &'static str {
                match self { $($(Self::$Variant(_) => $name,)*)+ Self::$Out(_) => $out }
            }
            /// The first thing that is wrong, with its path (`codel.target`).
            pub fn validate(&self) -> Result<(), Problem> {
                match self { $($(Self::$Variant(p) => Params::validate(p),)*)+ Self::$Out(p) => Params::validate(p) }
                    .map_err(|p| p.under(self.name()))
            }
            /// Refuses a limit in time under which nothing could wait at this sustained rate. [`Spec::validate`] does the rest.
            pub fn validate_at(&self, rate: units::BitRate) -> Result<(), Problem> {
                let check = |l| crate::Room::validate_at(l, false, rate).map_err(|p| p.under(self.name()));
                self.limit().map_or(Ok(()), check)
            }
            /// The discipline, empty. Call [`Spec::validate`] first: only valid parameters are built.
            pub fn build(&self) -> Discipline {
                match self {
                    $($(Self::$Variant(p) => Discipline::$Variant(Params::build(p)),)*)+
                    Self::$Out(p) => Discipline::$Out(Params::build(p)),
                }
            }
            /// The four parts of a fair discipline; `None` for any other.
            pub fn fair(&self) -> Option<fair::FairParams> {
                match self { $($(Self::$Variant(p) => Params::fair(p),)*)+ Self::$Out(p) => Params::fair(p) }
            }
            /// The same with `law` in each queue; `None` unless the discipline leaves its law open.
            pub fn with_law(self, law: LawSpec) -> Option<Self> {
                match self {
                    $($(Self::$Variant(p) => Params::with_law(p, law).map(Self::$Variant),)*)+
                    Self::$Out(p) => Params::with_law(p, law).map(Self::$Out),
                }
            }
            /// How much may wait in all; `None` where nothing bounds it.
            pub fn limit(&self) -> Option<Limit> {
                match self { $($(Self::$Variant(p) => Params::limit(p),)*)+ Self::$Out(p) => Params::limit(p) }
            }
        }

        /// Every discipline at run time.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Discipline {
            $($(
                #[doc = $summary]
                $Variant(<$Params as Params>::Discipline),
            )*)+
            #[doc = $osummary]
            $Out(<$OutParams as Params>::Discipline),
        }

        impl QueueDiscipline for Discipline {
            #[inline]
            fn enqueue(&mut self, packet: PacketMeta, cx: &mut Cx<'_>) {
                match self { $($(Self::$Variant(d) => d.enqueue(packet, cx),)*)+ Self::$Out(d) => d.enqueue(packet, cx) }
            }
            #[inline]
            fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<PacketMeta> {
                match self { $($(Self::$Variant(d) => d.dequeue(cx),)*)+ Self::$Out(d) => d.dequeue(cx) }
            }
            #[inline]
            fn next_wake(&self) -> Option<Time> {
                match self { $($(Self::$Variant(d) => d.next_wake(),)*)+ Self::$Out(d) => d.next_wake() }
            }
            fn wake(&mut self, cx: &mut Cx<'_>) {
                match self { $($(Self::$Variant(d) => d.wake(cx),)*)+ Self::$Out(d) => d.wake(cx) }
            }
            #[inline]
            fn backlog(&self) -> Backlog {
                match self { $($(Self::$Variant(d) => d.backlog(),)*)+ Self::$Out(d) => d.backlog() }
            }
            fn classes(&self) -> Vec<ClassProbe<'_>> {
                match self { $($(Self::$Variant(d) => d.classes(),)*)+ Self::$Out(d) => d.classes() }
            }
        }

        /// Every discipline there is, in the order of the list below.
        pub const QDISCS: &[Info] = &[
            $($(Info {
                name: $name,
                kind: Kind::$Kind,
                law: is_law($name),
                summary: $summary,
                source: $source,
                params: || schemars::schema_for!($Params),
            },)*)+
        ];

        /// The law that a user brings: no part of [`QDISCS`], as it has no defaults.
        pub const OUTSIDE: Info = Info {
            name: $out,
            kind: Kind::$OutKind,
            law: true,
            summary: $osummary,
            source: $osource,
            params: || schemars::schema_for!($OutParams),
        };
    };
}

/// Whether a law has this name; for the list, at compile time.
const fn is_law(name: &str) -> bool {
    let mut i = 1; // 0 is "none"
    while i < LawSpec::NAMES.len() {
        if equal(LawSpec::NAMES[i].as_bytes(), name.as_bytes()) {
            return true;
        }
        i += 1;
    }
    false
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

// One line adds a discipline. `single`: one queue, no early drop. `law`: a control law (`LawParams`), as a discipline of its
// own and for the queues of fair disciplines. `others`: everything else that implements `Params` (fair, class). `outside`: the law
// that a user brings.
disciplines! {
    single {
        "droptail" Droptail(single::DroptailParams), C, "ns-2 queue/drop-tail, tc pfifo and bfifo",
            "First in, first out; drops arrivals (or heads) when full";
    }
    law {
        "codel" Codel(law::codel::CodelParams), B, "RFC 8289; Nichols & Jacobson, ACM Queue 2012",
            "Controlled delay: drops heads while the sojourn time stays above the target";
        "cobalt" Cobalt(law::cobalt::CobaltParams), B, "CAKE; ns-3",
            "CoDel whose count falls gradually, and BLUE against what does not respond";
        "red" Red(law::red::RedParams), B, "Floyd & Jacobson 1993; ns-2 queue/red.cc; ALTQ",
            "Random early detection: drops arrivals with a probability that grows with the average queue";
        "ared" Ared(law::ared::AredParams), B, "Floyd, Gummadi & Shenker 2001; Feng et al. 1999",
            "Adaptive RED: RED whose probability follows the load";
        "wred" Wred(law::wred::WredParams), B, "Cisco IOS; Clark & Fang 1998 (RIO)",
            "Weighted RED: thresholds by precedence or DSCP; RIO as an option";
        "pie" Pie(law::pie::PieParams), B, "RFC 8033; draft-pan-aqm-pie-00; Linux sch_pie",
            "Proportional integral controller: drops arrivals to hold the delay at a target";
        "docsis_pie" DocsisPie(law::docsis_pie::DocsisPieParams), B, "RFC 8034",
            "The PIE of cable modems: delay predicted from the service flow's tokens";
        "blue" Blue(law::blue::BlueParams), B, "Feng, Kandlur, Saha & Shin 1999",
            "A drop probability that overflow raises and an idle link lowers";
        "lred" Lred(law::lred::LredParams), B, "ARRIS 2013 Figure 10",
            "Latency-based RED: drops heads with a probability that grows with their sojourn time";
    }
    others {
        "sfq" Sfq(fair::SfqParams), A, "McKenney 1990; ns-2 sfq.cc; Linux sch_sfq",
            "Stochastic fairness queueing: hashed queues in round robin";
        "sfq_hss" SfqHss(fair::SfqHssParams), A, "ARRIS 2013",
            "SFQ with hashing and serial search: a hash to a group, the first unused queue in it";
        "perfect" Perfect(fair::PerfectParams), A, "ARRIS 2013 figures 5 to 7",
            "Perfect isolation: a queue for each flow, packet round robin; forced collisions";
        "drr" Drr(fair::DrrParams), A, "Shreedhar & Varghese 1995; ns-2 drr.cc",
            "Deficit round robin: hashed queues, byte-fair; the longest pays";
        "sfq_codel" SfqCodel(fair::SfqCodelParams), A, "ns-2 sfqcodel.cc; CableLabs 2013",
            "CoDel in each of many bins, packet round robin, new bins first";
        "fq_codel" FqCodel(fair::FqCodelParams), A, "RFC 8290; tc-fq_codel(8)",
            "CoDel in each of many queues, DRR++ among them, sparse flows first";
        "fq_pie" FqPie(fair::FqPieParams), A, "tc-fq_pie(8); ns-3 fq-pie",
            "PIE in each of many queues, DRR++ among them, sparse flows first";
        "fair" Fair(fair::FairParams), A, "1.12-1.17",
            "Any classifier x scheduler x law x overflow";
        "fred" Fred(class::FredParams), B, "Lin & Morris, SIGCOMM 1997",
            "Flow random early drop: one FIFO, an account per active flow, drops for those above their share of it";
        "cbt" Cbt(class::CbtParams), B, "Parris, Jeffay & Smith, MMCN 1999",
            "Class-based thresholds: one FIFO, a share of the buffer per class, RED within TCP's";
        "dcbt" Dcbt(class::DcbtParams), B, "Chung & Claypool, NOSSDAV 2000",
            "Class-based thresholds that follow the number of active flows of each class";
        "cbq" Cbq(class::CbqParams), A, "MMCN 1999; Shreedhar & Varghese 1995",
            "Class-based queueing: a queue and a share of the link per class, with or without borrowing";
    }
    outside {
        "python" Python(law::foreign::ForeignParams), B, "docs/adding-a-law-in-python.md",
            "A law of one's own, written in Python: for teaching and first ideas, slow";
    }
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

    /// The law from outside in it, if there is one, and its path.
    pub fn outside(&self) -> Option<(String, law::foreign::ForeignParams)> {
        match self {
            Self::Python(p) => Some((self.name().to_owned(), p.clone())),
            _ => match self.fair()?.law {
                LawSpec::Python(p) => Some((format!("{}.law.{}", self.name(), OUTSIDE.name), p)),
                _ => None,
            },
        }
    }

    /// The same with `p` in the place of its law from outside.
    #[must_use]
    pub fn with_outside(self, p: law::foreign::ForeignParams) -> Self {
        match self {
            Self::Python(_) => Self::Python(p),
            other => other.clone().with_law(LawSpec::Python(p)).unwrap_or(other),
        }
    }

    /// Whether it can be built.   Errors: its law is from outside, and nobody has brought it.
    pub fn ready(&self) -> Result<(), Problem> {
        self.outside().map_or(Ok(()), |(path, p)| p.ready().map_err(|problem| problem.under(&path)))
    }

    /// The disciplines whose law is open.
    fn hosts() -> Vec<&'static str> {
        let open = |name: &&str| Self::named(name).and_then(|s| s.with_law(LawSpec::None)).is_some();
        Self::NAMES.iter().copied().filter(open).collect()
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

impl LawSpec {
    /// Whether it can be built.   Errors: it is from outside, and nobody has brought it.
    pub fn ready(&self) -> Result<(), Problem> {
        match self {
            Self::Python(p) => p.ready(),
            _ => Ok(()),
        }
    }

    /// Reads `"codel"`, `"codel target 5ms"` or `"none"`.
    fn word(text: &str) -> Result<Self, WordError> {
        let text = text.trim();
        // one law: a second one after another + is part of no name
        let name = if text.contains('+') { text } else { text.split_whitespace().next().unwrap_or_default() };
        match Self::named(name) {
            None => Err(WordError::Unknown(name.into(), Self::NAMES.to_vec())),
            Some(Self::None) if name != text => Err(WordError::Misfit("nothing follows \"none\"".into())),
            Some(Self::None) => Ok(Self::None),
            Some(_) => from_words::<LawTable>(crate::tc::read(text)?).map(Self::from),
        }
    }
}

/// What a text in tc's words means.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_disciplines_with_tc_defaults() {
        #[derive(Deserialize)]
        struct Doc {
            queue: Spec,
        }
        let read = |text: &str| toml::from_str::<Doc>(text).map(|d| d.queue);
        let spec = read("queue = { droptail = { limit = '417p' } }").unwrap();
        assert_eq!(
            serde_json::to_string(&spec).unwrap(),
            r#"{"droptail":{"limit":"417p","ns2_off_by_one":false,"drop_head":false,"super_segment":1}}"#
        );
        let spec = read("queue = { codel = {} }").unwrap();
        // tc-codel(8): limit 1000 packets, target 5 ms, interval 100 ms, noecn
        let Spec::Codel(p) = &spec else { panic!() };
        assert_eq!(
            (spec.limit().unwrap().to_string(), p.target.to_string(), p.interval.to_string(), p.ecn),
            ("1000p".into(), "5ms".into(), "100ms".into(), false)
        );
        let back: Spec = serde_json::from_str(&serde_json::to_string(&spec).unwrap()).unwrap();
        assert_eq!(back, spec);
        assert!(read("queue = { codel = { traget = '5ms' } }").unwrap_err().to_string().contains("traget"));
        assert!(read("queue = { kodel = {} }").is_err());
        assert_eq!(read("queue = 'codel'").unwrap(), read("queue = { codel = {} }").unwrap());
        let refusal = read("queue = 'kodel'").unwrap_err().to_string();
        assert!(refusal.contains("unknown variant `kodel`, expected") && refusal.contains("`codel`"), "{refusal}");
        assert!(read("queue = { codel = {}, droptail = {} }").is_err() && read("queue = {}").is_err());
    }

    #[test]
    fn laws_are_hosted_under_the_names_of_their_disciplines() {
        let read = |text: &str| serde_json::from_str::<LawSpec>(text);
        assert_eq!(read(r#""none""#).unwrap(), LawSpec::None);
        let spec = read(r#"{"codel":{"target":"1ms"}}"#).unwrap();
        assert_eq!(read(&serde_json::to_string(&spec).unwrap()).unwrap(), spec);
        // no limit of its own under a host, tc's on its own
        assert_eq!((spec.limit(), Spec::named("codel").unwrap().limit()), (None, Some(Limit::Packets(1000))));
        assert_eq!(read(r#"{"codel":{"limit":"0p"}}"#).unwrap().validate().unwrap_err().path, "codel.limit");
        assert!(read(r#""droptail""#).is_err());
        for info in QDISCS {
            assert_eq!(info.law, LawSpec::named(info.name).is_some(), "{}", info.name);
            assert_eq!(Spec::named(info.name).unwrap().name(), info.name);
        }
    }

    #[test]
    fn problems_name_the_path() {
        let spec: Spec = serde_json::from_str(r#"{"codel":{"target":"0s"}}"#).unwrap();
        assert_eq!(spec.validate().unwrap_err().under("queue").path, "queue.codel.target");
        let spec: Spec = serde_json::from_str(r#"{"droptail":{"limit":"0p"}}"#).unwrap();
        assert_eq!(spec.validate().unwrap_err().path, "droptail.limit");
    }

    #[test]
    fn no_limit_is_less_than_a_packet() {
        let refusal = |text: &str| serde_json::from_str::<Spec>(text).unwrap().validate().unwrap_err();
        let mut limits = 0;
        for info in QDISCS {
            let schema = serde_json::to_value((info.params)()).unwrap();
            for field in ["limit", "queue_limit", "memory_limit"] {
                if schema["properties"].get(field).is_none() {
                    continue;
                }
                let problem = refusal(&format!(r#"{{"{}":{{"{field}":"27B"}}}}"#, info.name));
                assert_eq!(problem.path, format!("{}.{field}", info.name));
                assert!(problem.message.contains("28B"), "{problem}");
                limits += 1;
            }
        }
        // every discipline but cbq, whose classes have theirs; a second one in sfq, fq_codel and fq_pie, two more in fair
        assert_eq!(limits, QDISCS.len() - 1 + 5);
        let mut cbq = crate::class::CbqParams::default();
        cbq.classes[1].limit = Limit::Bytes(units::Bytes(27));
        assert_eq!(Spec::Cbq(cbq).validate().unwrap_err().path, "cbq.classes.1.limit");
        assert_eq!(refusal(r#"{"sfq_hss":{"law":{"pie":{"limit":"27B"}}}}"#).path, "sfq_hss.law.pie.limit");
    }

    #[test]
    fn every_parameter_has_a_description_and_a_default() {
        for info in QDISCS {
            let schema = serde_json::to_value((info.params)()).unwrap();
            for (name, p) in schema["properties"].as_object().unwrap() {
                assert!(p["description"].is_string(), "{}.{name}: {p}", info.name);
                assert!(p.get("default").is_some(), "{}.{name}: {p}", info.name);
            }
        }
    }
}
