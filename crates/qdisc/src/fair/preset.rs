//! Fair disciplines that have a name, such as fq_codel. Each has the parameters that its source defines. The parameters
//! of the four parts (classifier, scheduler, law and overflow rule) are derived from them.

use super::machine::Fair;
use super::params::{FairParams, LawSees};
use super::{ClassifierSpec, Overflow, SchedulerSpec};
use crate::law::list::LawSpec;
use crate::limit::Room;
use crate::params::Params;
use units::{BitRate, Limit, Problem, ensure};

impl Params for FairParams {
    type Discipline = Fair;
    fn validate(&self) -> Result<(), Problem> {
        Room::holds("limit", Some(self.limit))?;
        Room::holds("memory_limit", self.memory_limit.map(Limit::Bytes))?;
        Room::holds("queue_limit", self.queue_limit)?;
        self.classifier.validate().map_err(|p| p.under("classifier"))?;
        self.scheduler.validate().map_err(|p| p.under("scheduler"))?;
        self.law.validate().map_err(|p| p.under("law"))?;
        self.overflow.validate().map_err(|p| p.under("overflow"))?;
        let two = self.queue_limit.is_some() && self.law.limit().is_some();
        ensure!(!two, "queue_limit", "the law also has a limit, and both apply to each queue; set one");
        let seen = self.law_sees == LawSees::Own || self.law != LawSpec::None;
        ensure!(seen, "law_sees", "without a law, only own is valid; expected own, or a law");
        let bands =
            self.scheduler != SchedulerSpec::StrictPriority || matches!(self.classifier, ClassifierSpec::Prio(_));
        ensure!(
            bands,
            "scheduler",
            "strict_priority serves bands, which only the classifier prio has; expected classifier = \"prio\""
        );
        if self.overflow == Overflow::Ns2Sfq {
            ensure!(
                self.classifier.queues().is_some(),
                "overflow",
                "ns2_sfq shares the memory among a fixed number of queues, which isolated does not have; expected tail or longest"
            );
            let (limit, packets) = (self.limit, matches!(self.limit, Limit::Packets(_)));
            ensure!(
                packets,
                "overflow",
                "ns2_sfq counts packets, and the limit is {limit}; expected a limit in packets, such as \"40p\""
            );
        }
        Ok(())
    }
    fn validate_at(&self, rate: BitRate) -> Result<(), Problem> {
        Room::holds_at("limit", Some(self.limit), rate)?;
        Room::holds_at("queue_limit", self.queue_limit, rate)?;
        Room::holds_at(&format!("law.{}.limit", self.law.name()), self.law.limit(), rate)
    }
    fn build(&self) -> Fair {
        Fair::new(self)
    }
    fn limit(&self) -> Option<Limit> {
        Some(self.limit)
    }
    fn fair(&self) -> Option<Self> {
        Some(self.clone())
    }
    fn with_law(mut self, law: LawSpec) -> Option<Self> {
        self.law = law;
        Some(self)
    }
}

/// The parameters of a fair discipline that has a name, such as fq_codel. Their names and defaults come from the
/// discipline's source, and only some of the parameters in [`FairParams`] can be set.
pub(super) trait Preset {
    /// Returns the equivalent parameters of the generic discipline `fair`.
    fn composition(&self) -> FairParams;
    /// Maps the path of a parameter in [`FairParams`] to the parameter's name in this discipline. By default, only the
    /// parameters of the classifier and the scheduler have different names: `classifier.hash.queues` becomes `queues`.
    fn own_name(path: &str) -> String {
        let mut parts = path.splitn(3, '.');
        match (parts.next(), parts.next(), parts.next()) {
            (Some("classifier" | "scheduler"), Some(_), Some(name)) => name.to_owned(),
            _ => path.to_owned(),
        }
    }
    /// Applies `check` to the equivalent [`FairParams`]. An error gives the invalid parameter's name in this
    /// discipline.
    fn check(&self, check: impl FnOnce(&FairParams) -> Result<(), Problem>) -> Result<(), Problem> {
        check(&self.composition()).map_err(|p| Problem::new(Self::own_name(&p.path), p.message))
    }
}

/// Implements `Params` for a [`Preset`]. `any_law` is for a discipline that has a parameter `law`, so the law can be
/// replaced; `own_law` is for a discipline whose law cannot be replaced.
macro_rules! preset {
    ($Params:ty, own_law) => {
        preset!(@impl $Params, {});
    };
    ($Params:ty, any_law) => {
        preset!(@impl $Params, {
            fn with_law(mut self, law: LawSpec) -> Option<Self> {
                self.law = law;
                Some(self)
            }
        });
    };
    (@impl $Params:ty, { $($with_law:item)? }) => {
        impl crate::Params for $Params {
            type Discipline = super::machine::Fair;
            fn validate(&self) -> Result<(), units::Problem> {
                self.check(crate::Params::validate)
            }
            fn validate_at(&self, rate: units::BitRate) -> Result<(), units::Problem> {
                self.check(|fair| crate::Params::validate_at(fair, rate))
            }
            fn build(&self) -> super::machine::Fair {
                super::machine::Fair::new(&self.composition())
            }
            fn limit(&self) -> Option<Limit> {
                Some(self.composition().limit)
            }
            fn fair(&self) -> Option<super::FairParams> {
                Some(self.composition())
            }
            $($with_law)?
        }
    };
}
pub(super) use preset;
