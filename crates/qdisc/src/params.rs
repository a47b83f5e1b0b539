//! The interface of a discipline's parameters.

use crate::discipline::QueueDiscipline;
use crate::fair::FairParams;
use crate::law::list::LawSpec;
use crate::limit::Room;
use units::{BitRate, Limit, Problem};

/// The parameters of one discipline. Those of a law implement [`LawParams`](crate::law::LawParams).
pub trait Params {
    /// The discipline that they build.
    type Discipline: QueueDiscipline
    where
        Self: Sized;
    /// Reports the first invalid parameter, by field name.
    fn validate(&self) -> Result<(), Problem>;
    /// Builds the discipline, empty. The parameters must be valid.
    fn build(&self) -> Self::Discipline
    where
        Self: Sized;
    /// Limit on the total backlog; `None` if nothing bounds it.
    fn limit(&self) -> Option<Limit>;
    /// Reports the first parameter that is invalid on a link of this sustained rate; [`Self::validate`] has passed.
    fn validate_at(&self, rate: BitRate) -> Result<(), Problem> {
        self.limit().map_or(Ok(()), |limit| Room::validate_at(limit, false, rate))
    }
    /// The rate to which the discipline itself shapes; `None` if it does not shape.
    fn shapes(&self) -> Option<BitRate> {
        None
    }
    /// Returns true if it has a queue for each of the two service flows of a Low Latency modem.
    fn service_flows(&self) -> bool {
        false
    }
    /// Returns true if it splits packets of several segments on arrival; otherwise it queues each as one.
    fn split_gso(&self) -> bool {
        false
    }
    /// The four parts of a fair discipline; `None` for any other.
    fn fair(&self) -> Option<FairParams> {
        None
    }
    /// Replaces the law of each queue by `law`; `None` if the law is not a parameter.
    fn with_law(self, _law: LawSpec) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}
