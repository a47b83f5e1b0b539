//! The interface of a discipline's parameters.

use crate::discipline::QueueDiscipline;
use crate::fair::FairParams;
use crate::law::list::LawSpec;
use crate::limit::Room;
use units::{BitRate, Limit, Problem};

/// The parameters of one discipline. The parameters of a law implement [`LawParams`](crate::law::LawParams), which
/// provides this trait for a FIFO managed by that law.
pub trait Params {
    /// The discipline that the parameters build.
    type Discipline: QueueDiscipline
    where
        Self: Sized;
    /// Checks the parameters. The error names the first invalid field.
    fn validate(&self) -> Result<(), Problem>;
    /// Builds an empty discipline. The parameters must be valid.
    fn build(&self) -> Self::Discipline
    where
        Self: Sized;
    /// Returns the limit on the total backlog; `None` if the total backlog has no limit.
    fn limit(&self) -> Option<Limit>;
    /// Checks the parameters whose validity depends on the link's sustained rate. The error names the first invalid
    /// field. Called after [`Self::validate`].
    fn validate_at(&self, rate: BitRate) -> Result<(), Problem> {
        Room::holds_at("limit", self.limit(), rate)
    }
    /// Returns the rate of the discipline's own shaper; `None` if it has no shaper.
    fn shapes(&self) -> Option<BitRate> {
        None
    }
    /// Returns true if the discipline has a queue for each of the two service flows of a Low Latency modem.
    fn service_flows(&self) -> bool {
        false
    }
    /// Returns true if packets of several segments must be split before they reach the discipline.
    fn split_gso(&self) -> bool {
        false
    }
    /// Returns the classifier, scheduler, law and overflow rule of a fair discipline; `None` for any other discipline.
    fn fair(&self) -> Option<FairParams> {
        None
    }
    /// Replaces the law of each queue with `law`. Returns `None` if the law is not a parameter.
    fn with_law(self, _law: LawSpec) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}
