//! The disciplines by name: plain data to build them from, and the list that a user may ask for.

#[macro_use]
mod declare;
#[cfg(test)]
mod tests;
mod words;

use crate::law::{Law, LawParams, Verdict, View};
use crate::{ClassProbe, Cx, QueueDiscipline, Room, cake, class, dual, fair, law, single};
use packet::{Backlog, PacketMeta, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Limit, Problem, Rng, Time};
pub(crate) use words::WordError;

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
    /// The first thing that is wrong on a link of this sustained rate, where nothing is wrong without one.
    fn validate_at(&self, rate: BitRate) -> Result<(), Problem> {
        self.limit().map_or(Ok(()), |limit| Room::validate_at(limit, false, rate))
    }
    /// The rate that the discipline itself keeps to; `None` for all that send as fast as they are asked.
    fn shapes(&self) -> Option<BitRate> {
        None
    }
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
// own and for the queues of fair disciplines. `others`: everything else that implements `Params` (fair, class, dual). `outside`: the law
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
        "fair" Fair(fair::FairParams), A, "RFC 7806: queueing and dropping are separable",
            "Any classifier x scheduler x law x overflow";
        "cake" Cake(cake::CakeParams), A, "Hoiland-Jorgensen, Taht & Morton 2018; tc-cake(8)",
            "Shaper, classes, fairness of hosts and flows, and COBALT in one: what home routers run";
        "fred" Fred(class::FredParams), B, "Lin & Morris, SIGCOMM 1997",
            "Flow random early drop: one FIFO, an account per active flow, drops for those above their share of it";
        "cbt" Cbt(class::CbtParams), B, "Parris, Jeffay & Smith, MMCN 1999",
            "Class-based thresholds: one FIFO, a share of the buffer per class, RED within TCP's";
        "dcbt" Dcbt(class::DcbtParams), B, "Chung & Claypool, NOSSDAV 2000",
            "Class-based thresholds that follow the number of active flows of each class";
        "cbq" Cbq(class::CbqParams), A, "MMCN 1999; Shreedhar & Varghese 1995",
            "Class-based queueing: a queue and a share of the link per class, with or without borrowing";
        "dualpi2" Dualpi2(dual::Dualpi2Params), B, "RFC 9332; Linux sch_dualpi2; tc-dualpi2(8)",
            "Two coupled queues: one short for L4S traffic, one for all other; marks and drops from one controller";
    }
    outside {
        "python" Python(law::foreign::ForeignParams), B, "docs/adding-a-law-in-python.md",
            "A law of one's own, written in Python: for teaching and first ideas, slow";
    }
}

impl Spec {
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
}

impl LawSpec {
    /// Whether it can be built.   Errors: it is from outside, and nobody has brought it.
    pub fn ready(&self) -> Result<(), Problem> {
        match self {
            Self::Python(p) => p.ready(),
            _ => Ok(()),
        }
    }
}
