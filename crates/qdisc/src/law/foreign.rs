//! An external law: a scenario names it, and the program that runs the scenario supplies it (`packet::outside`).
//!
//! Source: none; users write their own rules. Apart from the form of the parameter `law` ("FILE.py:CLASS") and its error
//! messages, nothing here depends on the language in which the law is written.
//! Departs: external laws cannot be compared, so two of them are never equal.

use super::{Law, LawParams, Verdict, View};
use packet::outside::{Supplied, class_named};
use packet::{PacketMeta, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use units::{Limit, Problem, Rng, Time};

/// An external law of any type.
pub type AnyForeign = Box<dyn ForeignLaw>;

/// A law whose type is defined elsewhere.
pub trait ForeignLaw: Law + Sync {
    /// Returns a copy of the law with the same state, for a clone of the run. If the law cannot be copied, reports the
    /// failure to the law's factory, and returns an arbitrary law.
    fn copy(&self) -> AnyForeign;
}

/// A factory that creates the laws for one link of a scenario: one law for each queue.
pub trait LawFactory: Send + Sync {
    /// Creates a law in its initial state.
    fn make(&self) -> AnyForeign;
    /// Returns a new factory, for a clone of the run. The laws that it creates must not depend on the original run.
    fn copy(&self) -> Arc<dyn LawFactory>;
}

/// A law of your own, written as a Python class, and its parameters. A key that is not listed here is a parameter of
/// the law, with the name that it has in the law's class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ForeignParams {
    /// The class of the law. It has no default, so it must be given: either "FILE.py:CLASS", with a path relative to
    /// the scenario's folder, or the NAME of a class that is passed to `bloatlab.run(scenario, laws={NAME: CLASS})`.
    pub law: String,
    /// Maximum length of the queue; an arrival that does not fit is dropped. Null: 1000p; in a fair discipline none,
    /// because its queues share one limit.
    pub limit: Option<Limit>,
    /// Text of each source file, by path. bloatlab sets this key when it reads the scenario, so that a result contains
    /// the code that produced it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub source: BTreeMap<String, String>,
    /// The law's own parameters.
    #[serde(flatten)]
    pub own: BTreeMap<String, Value>,
    #[serde(skip)]
    factory: Supplied<dyn LawFactory>,
}

impl ForeignParams {
    /// Returns these parameters with `factory` as the factory that creates their laws.
    #[must_use]
    pub fn made_by(self, factory: Arc<dyn LawFactory>) -> Self {
        Self { factory: Supplied::by(factory), ..self }
    }

    /// Checks that the law can be built.   Errors: no factory was supplied.
    pub fn ready(&self) -> Result<(), Problem> {
        self.factory.ready("law", &self.law)
    }
}

impl LawParams for ForeignParams {
    type Law = Foreign;
    fn validate(&self) -> Result<(), Problem> {
        class_named("law", &self.law, "mylaw.py:MyLaw")
    }
    fn law(&self) -> Foreign {
        Foreign::new(self.factory.clone())
    }
    fn limit(&self) -> Option<Limit> {
        self.limit
    }
}

/// An external law, with its state for one queue.
pub struct Foreign {
    factory: Supplied<dyn LawFactory>,
    law: AnyForeign,
}

/// A placeholder for a law that was not supplied. It is never part of a run, because [`ForeignParams::ready`] refuses
/// such a law before the run starts.
struct Absent;

impl Law for Absent {
    fn probe(&self, _: &mut Reading<'_>) {}
}

impl ForeignLaw for Absent {
    fn copy(&self) -> AnyForeign {
        Box::new(Self)
    }
}

impl Foreign {
    fn new(supplied: Supplied<dyn LawFactory>) -> Self {
        debug_assert!(supplied.factory().is_some(), "a law from outside was built before it was ready");
        let law = supplied.factory().map_or_else(|| Box::new(Absent) as AnyForeign, LawFactory::make);
        Self { factory: supplied, law }
    }

    /// Returns a law in its initial state, for a new queue.
    pub(crate) fn fresh(&self) -> Self {
        Self::new(self.factory.clone())
    }
}

impl Clone for Foreign {
    fn clone(&self) -> Self {
        Self { factory: self.factory.copied(LawFactory::copy), law: self.law.copy() }
    }
}

impl PartialEq for Foreign {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Foreign").field(&self.factory).finish()
    }
}

impl Law for Foreign {
    fn arrive(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
        self.law.arrive(packet, view, rng)
    }
    fn head(&mut self, packet: &PacketMeta, view: &View<'_>, rng: &mut Rng) -> Verdict {
        self.law.head(packet, view, rng)
    }
    fn left(&mut self, packet: &PacketMeta, view: &View<'_>) {
        self.law.left(packet, view);
    }
    fn empty(&mut self, now: Time) {
        self.law.empty(now);
    }
    fn at_rest(&mut self, now: Time) -> bool {
        self.law.at_rest(now)
    }
    fn overflow(&mut self, now: Time) {
        self.law.overflow(now);
    }
    fn next_tick(&self) -> Option<Time> {
        self.law.next_tick()
    }
    fn tick(&mut self, view: &View<'_>) {
        self.law.tick(view);
    }
    fn probe(&self, out: &mut Reading<'_>) {
        self.law.probe(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LawSpec, QueueDiscipline, Spec};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A factory that counts the laws it has created.
    #[derive(Default)]
    struct Counting(AtomicU64);

    impl LawFactory for Counting {
        fn make(&self) -> AnyForeign {
            self.0.fetch_add(1, Ordering::Relaxed);
            Box::new(Absent)
        }
        fn copy(&self) -> Arc<dyn LawFactory> {
            Arc::new(Self(AtomicU64::new(self.0.load(Ordering::Relaxed))))
        }
    }

    fn read(json: &str) -> Spec {
        serde_json::from_value(json.parse().unwrap()).unwrap()
    }

    #[test]
    fn it_is_data_until_a_factory_is_supplied() {
        for (text, path) in [
            (r#"{"python":{"law":"a.py:Mine","target":"5ms"}}"#, "python"),
            (r#"{"sfq_hss":{"law":{"python":{"law":"a.py:Mine"}}}}"#, "sfq_hss.law.python"),
        ] {
            let spec = read(text);
            spec.validate().unwrap();
            assert_eq!(read(&serde_json::to_string(&spec).unwrap()), spec);
            assert_eq!(spec.ready().unwrap_err().path, path);
            let (at, law) = spec.outside().unwrap();
            assert_eq!((at.as_str(), law.law.as_str()), (path, "a.py:Mine"));
            let spec = spec.with_outside(law.made_by(Arc::new(Counting::default())));
            spec.ready().unwrap();
            assert_eq!(spec.build().backlog().packets, 0);
        }
        assert!(read("\"codel\"").outside().is_none() && read("\"sfq_hss + pie\"").ready().is_ok());
    }

    #[test]
    fn further_keys_are_the_laws_own_and_come_back() {
        let text = r#"{"python":{"law":"a.py:Mine","limit":"100p","deep":{"a":[1,2.5]},"on":true,"target":"5ms"}}"#;
        let (_, law) = read(text).outside().unwrap();
        assert_eq!(law.own.keys().map(String::as_str).collect::<Vec<_>>(), ["deep", "on", "target"]);
        assert_eq!(serde_json::to_string(&read(text)).unwrap(), text);
    }

    #[test]
    fn what_names_no_class_is_refused() {
        for law in ["", "a.py", "a.txt:Mine", "a.py:", "a.py:2x", "a b"] {
            let spec = read(&format!(r#"{{"python":{{"law":"{law}"}}}}"#));
            assert_eq!(spec.validate().unwrap_err().path, "python.law", "{law}");
        }
        assert_eq!(read("\"python\"").validate().unwrap_err().path, "python.law");
        for law in ["mine", "../laws/a.py:Mine", "C:\\\\laws\\\\a.py:Mine"] {
            read(&format!(r#"{{"python":{{"law":"{law}"}}}}"#)).validate().unwrap();
        }
        let limit = read(r#"{"python":{"law":"mine","limit":"0p"}}"#).validate().unwrap_err();
        assert_eq!(limit.path, "python.limit");
    }

    #[test]
    fn each_queue_has_a_law_of_its_own_and_a_clone_counts_for_itself() {
        let counting = Arc::new(Counting::default());
        let law = ForeignParams { law: "mine".into(), ..Default::default() }.made_by(counting.clone());
        let first = LawSpec::Python(law).law();
        let _second = first.fresh();
        assert_eq!(counting.0.load(Ordering::Relaxed), 2);
        let _third = first.clone().fresh();
        assert_eq!(counting.0.load(Ordering::Relaxed), 2);
    }
}
