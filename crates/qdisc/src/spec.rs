//! The disciplines by name: plain data to build them from, and the list that a user may ask for.

use crate::{Cx, QueueDiscipline, law, single};
use packet::{Backlog, PacketMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Problem, Time};

/// The parameters of one discipline.
pub trait Params {
    /// What they build.
    type Discipline: QueueDiscipline;
    /// The first thing that is wrong, by field name.
    fn validate(&self) -> Result<(), Problem>;
    /// The discipline, empty. Only valid parameters are built.
    fn build(&self) -> Self::Discipline;
}

/// The three types of document 000.
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
    /// Type in the taxonomy of document 000.
    pub kind: Kind,
    /// What it does, one line.
    pub summary: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// Its parameters as a JSON Schema: names, types, defaults and descriptions.
    pub params: fn() -> schemars::Schema,
}

/// Declares every discipline once: the scenario's enum, the running enum and the list come from the same lines.
///
/// The running [`Discipline`] is a closed enum rather than a `Box<dyn>`: the set is closed by [`Spec`] anyway, the hot path
/// inlines behind one predictable branch, and a queue stays `Clone` and `PartialEq` (rule 4).
macro_rules! disciplines {
    ($($name:literal $Variant:ident($Params:ty), $Kind:ident, $source:literal, $summary:literal;)+) => {
        /// A queue discipline and its parameters, as a scenario writes it: `codel = { target = "5ms" }`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[schemars(rename = "Qdisc")]
        pub enum Spec {
            $(
                #[doc = $summary]
                #[serde(rename = $name)]
                $Variant($Params),
            )+
        }

        impl Spec {
            /// Name in a scenario.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$Variant(_) => $name,)+ }
            }
            /// The first thing that is wrong, with its path (`codel.target`).
            pub fn validate(&self) -> Result<(), Problem> {
                match self { $(Self::$Variant(p) => p.validate(),)+ }.map_err(|p| p.under(self.name()))
            }
            /// The discipline, empty. Call [`Spec::validate`] first: only valid parameters are built.
            pub fn build(&self) -> Discipline {
                match self { $(Self::$Variant(p) => Discipline::$Variant(p.build()),)+ }
            }
        }

        /// Every discipline at run time.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Discipline {
            $(
                #[doc = $summary]
                $Variant(<$Params as Params>::Discipline),
            )+
        }

        impl QueueDiscipline for Discipline {
            #[inline]
            fn enqueue(&mut self, packet: PacketMeta, cx: &mut Cx<'_>) {
                match self { $(Self::$Variant(d) => d.enqueue(packet, cx),)+ }
            }
            #[inline]
            fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<PacketMeta> {
                match self { $(Self::$Variant(d) => d.dequeue(cx),)+ }
            }
            #[inline]
            fn next_wake(&self) -> Option<Time> {
                match self { $(Self::$Variant(d) => d.next_wake(),)+ }
            }
            fn wake(&mut self, cx: &mut Cx<'_>) {
                match self { $(Self::$Variant(d) => d.wake(cx),)+ }
            }
            #[inline]
            fn backlog(&self) -> Backlog {
                match self { $(Self::$Variant(d) => d.backlog(),)+ }
            }
        }

        /// Every discipline there is, in the order of the list below.
        pub const QDISCS: &[Info] = &[
            $(Info {
                name: $name,
                kind: Kind::$Kind,
                summary: $summary,
                source: $source,
                params: || schemars::schema_for!($Params),
            },)+
        ];
    };
}

disciplines! {
    "droptail" Droptail(single::DroptailParams), C, "ns-2 queue/drop-tail, tc pfifo and bfifo; SPEC 1.1",
        "First in, first out; drops arrivals (or heads) when full";
    "codel" Codel(law::codel::CodelParams), B, "RFC 8289; Nichols & Jacobson, ACM Queue 2012; SPEC 1.9",
        "Controlled delay: drops heads while the sojourn time stays above the target";
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
            r#"{"droptail":{"limit":"417p","ns2_off_by_one":false,"drop_head":false}}"#
        );
        let spec = read("queue = { codel = {} }").unwrap();
        // tc-codel(8): limit 1000 packets, target 5 ms, interval 100 ms, noecn
        let Spec::Codel(p) = &spec else { panic!() };
        assert_eq!(
            (p.limit.to_string(), p.target.to_string(), p.interval.to_string(), p.ecn),
            ("1000p".into(), "5ms".into(), "100ms".into(), false)
        );
        let back: Spec = serde_json::from_str(&serde_json::to_string(&spec).unwrap()).unwrap();
        assert_eq!(back, spec);
        assert!(read("queue = { codel = { traget = '5ms' } }").unwrap_err().to_string().contains("traget"));
        assert!(read("queue = { kodel = {} }").is_err());
    }

    #[test]
    fn problems_name_the_path() {
        let spec: Spec = serde_json::from_str(r#"{"codel":{"target":"0s"}}"#).unwrap();
        assert_eq!(spec.validate().unwrap_err().under("queue").path, "queue.codel.target");
        let spec: Spec = serde_json::from_str(r#"{"droptail":{"limit":"0p"}}"#).unwrap();
        assert_eq!(spec.validate().unwrap_err().path, "droptail.limit");
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
