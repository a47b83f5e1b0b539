//! What the parameters of a discipline are good for.

use crate::discipline::QueueDiscipline;
use crate::fair::FairParams;
use crate::law::list::LawSpec;
use crate::limit::Room;
use units::{BitRate, Limit, Problem};

/// The parameters of one discipline. Those of a law come with [`LawParams`](crate::law::LawParams).
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
    /// Whether it has a queue for each of the two service flows of a Low Latency modem.
    fn service_flows(&self) -> bool {
        false
    }
    /// Whether it cuts packets of several segments when they come; else it takes each as one.
    fn split_gso(&self) -> bool {
        false
    }
    /// The four parts of a fair discipline; `None` for any other.
    fn fair(&self) -> Option<FairParams> {
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
