//! The list of all disciplines, which `bloatlab list qdiscs` prints, and [`Spec`], a scenario's description of one
//! discipline. The discipline is built from this description.

#[macro_use]
mod declare;
mod rate;
#[cfg(test)]
mod tests;
pub(crate) mod word_error;
mod words;

use crate::counts::ClassProbe;
use crate::discipline::{Context, QueueDiscipline, ServiceFlows};
use crate::law::list::{LawSpec, laws};
use crate::params::Params;
use crate::{cake, class, dual, fair, law, single};
use packet::{Backlog, PacketMeta, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Limit, Problem, Time};

/// The three types into which ARRIS 2013 sorts disciplines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A queue for each flow, and a scheduler that serves the queues.
    A,
    /// One queue and a control law that drops early. Two coupled queues also count as this type.
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
    /// True for a control law, which a fair discipline can use for its queues: `law = { NAME = {..} }`.
    pub law: bool,
    /// One-line summary.
    pub summary: &'static str,
    /// Specification or publication of the discipline.
    pub source: &'static str,
    /// The parameters as a JSON Schema: names, types, defaults and descriptions.
    pub params: fn() -> schemars::Schema,
}

impl Info {
    const fn of<P: JsonSchema>(
        law: bool,
        name: &'static str,
        kind: Kind,
        summary: &'static str,
        source: &'static str,
    ) -> Self {
        Self { name, kind, law, summary, source, params: || schemars::schema_for!(P) }
    }
}

// To add a discipline, add one entry here. `single` lists disciplines with one queue and no early drop, and `others`
// lists all other disciplines that are not laws (fair, class, dual, cake). The laws are listed in `law/list.rs`.
laws! {
    disciplines
    single {
        "droptail" Droptail(single::DroptailParams), C, "ns-2 queue/drop-tail, tc pfifo and bfifo",
            "First in, first out; drops arrivals or oldest packets when full";
    }
    others {
        "sfq" Sfq(fair::SfqParams), A, "McKenney 1990; ns-2 sfq.cc; Linux sch_sfq",
            "Stochastic fairness queueing: a hash assigns flows to queues, which send in turn";
        "sfq_hss" SfqHss(fair::SfqHssParams), A, "ARRIS 2013",
            "SFQ with serial search: a hash selects a group; a new flow takes the first unused queue of the group";
        "perfect" Perfect(fair::PerfectParams), A, "ARRIS 2013 figures 5 to 7",
            "Perfect isolation: a queue for each flow, one packet per turn; chosen flows can share a queue";
        "drr" Drr(fair::DrrParams), A, "Shreedhar & Varghese 1995; ns-2 drr.cc",
            "Deficit round robin, fair in bytes; drops from the longest queue";
        "sfq_codel" SfqCodel(fair::SfqCodelParams), A, "ns-2 sfqcodel.cc; CableLabs 2013",
            "CoDel in each of many queues, one packet per turn, new queues first";
        "fq_codel" FqCodel(fair::FqCodelParams), A, "RFC 8290; tc-fq_codel(8)",
            "CoDel in each of many queues, served by DRR++: sparse flows first";
        "fq_pie" FqPie(fair::FqPieParams), A, "tc-fq_pie(8); ns-3 fq-pie",
            "PIE in each of many queues, served by DRR++: sparse flows first";
        "fair" Fair(fair::FairParams), A, "RFC 7806: queueing and dropping are separable",
            "Any combination of classifier, scheduler, law and overflow rule";
        "cake" Cake(cake::CakeParams), A, "Hoiland-Jorgensen, Taht & Morton 2018; tc-cake(8)",
            "For home routers: shaper, tins, fairness of hosts and flows, COBALT";
        "fred" Fred(class::FredParams), B, "Lin & Morris, SIGCOMM 1997",
            "Flow random early drop: one queue; drops packets of flows that exceed their share of the queue";
        "cbt" Cbt(class::CbtParams), B, "Parris, Jeffay & Smith, MMCN 1999",
            "Class-based thresholds: one queue, with a share of the buffer for each class; RED for TCP";
        "dcbt" Dcbt(class::DcbtParams), B, "Chung & Claypool, NOSSDAV 2000",
            "Class-based thresholds that follow the number of active flows of each class";
        "cbq" Cbq(class::CbqParams), A, "MMCN 1999; Shreedhar & Varghese 1995",
            "Class-based queueing: a queue and a share of the link for each class";
        "dualpi2" Dualpi2(dual::Dualpi2Params), B, "RFC 9332; Linux sch_dualpi2; tc-dualpi2(8)",
            "Two coupled queues: a short one for L4S, one for all other traffic";
        "docsis_lld" DocsisLld(dual::DocsisLldParams), B, "RFC 9957; MULPIv3.1; docsis-ns3",
            "Low Latency DOCSIS: a short, protected queue beside DOCSIS-PIE";
    }
}

impl Spec {
    /// Checks the parameters.   Errors: the first invalid parameter, with its path (`codel.target`).
    pub fn validate(&self) -> Result<(), Problem> {
        self.params().validate().map_err(|p| p.under(self.name()))
    }

    /// Refuses parameters that are invalid at this sustained rate: a limit given as a time that is too short for any
    /// packet, or a shaper that is faster than the rate. [`Spec::validate`] makes the checks that need no rate.
    pub fn validate_at(&self, rate: BitRate) -> Result<(), Problem> {
        self.params().validate_at(rate).map_err(|p| p.under(self.name()))
    }

    /// Returns the rate of the discipline's own shaper; `None` if it has no shaper.
    pub fn shapes(&self) -> Option<BitRate> {
        self.params().shapes()
    }

    /// Returns true if the discipline has a queue for each of the two service flows of a Low Latency modem.
    pub fn service_flows(&self) -> bool {
        self.params().service_flows()
    }

    /// Returns true if packets of several segments must be split before they reach the discipline. The discipline sees
    /// only a packet's metadata, so it cannot split packets itself.
    pub fn split_gso(&self) -> bool {
        self.params().split_gso()
    }

    /// Returns the classifier, scheduler, law and overflow rule of a fair discipline; `None` for any other discipline.
    pub fn fair(&self) -> Option<fair::FairParams> {
        self.params().fair()
    }

    /// Returns the limit on the total backlog; `None` if there is none, or if it is unknown (cbq, unless all its classes
    /// have limits in packets).
    pub fn limit(&self) -> Option<Limit> {
        self.params().limit()
    }

    /// Returns the external law in this discipline, if there is one: the path of its key below the link's `queue`, and
    /// its parameters.
    pub fn outside(&self) -> Option<(String, law::foreign::ForeignParams)> {
        match self {
            Self::Python(p) => Some((self.name().to_owned(), p.clone())),
            _ => match self.fair()?.law {
                LawSpec::Python(p) => Some((format!("{}.law.{}", self.name(), OUTSIDE.name), p)),
                _ => None,
            },
        }
    }

    /// Sets the external law with the parameters `p` as the law of this discipline. A discipline whose law cannot be
    /// chosen is returned unchanged.
    #[must_use]
    pub fn with_outside(self, p: law::foreign::ForeignParams) -> Self {
        match self {
            Self::Python(_) => Self::Python(p),
            other => other.clone().with_law(LawSpec::Python(p)).unwrap_or(other),
        }
    }

    /// Checks that the discipline can be built.   Errors: its law is external and was not supplied.
    pub fn ready(&self) -> Result<(), Problem> {
        self.outside().map_or(Ok(()), |(path, p)| p.ready().map_err(|problem| problem.under(&path)))
    }
}
