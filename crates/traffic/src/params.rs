//! The parameters of an application and the values derived from them.

use crate::{Application, Demand};
use units::{Duration, Problem};

/// The parameters of one application.
pub trait Params {
    /// The application that these parameters configure.
    type App: Application;
    /// Checks the parameters. The error names the first invalid field.
    fn validate(&self) -> Result<(), Problem>;
    /// Builds the application in its initial state. The parameters must be valid.
    fn build(&self) -> Self::App;
    /// Returns the number of servers that the field `to` of the application in a scenario must name.
    fn servers(&self) -> usize {
        1
    }
    /// Returns an upper bound on the application's traffic in a run that lasts `span`. `round` is the minimum time from
    /// a request to its answer.
    fn demand(&self, span: Duration, round: Duration) -> Demand;
    /// Returns the maximum random delay of the application's start, for scenarios that set no `start_spread`. The seed
    /// determines the delay.
    ///
    /// The default, a tenth of a second, is a few round trips: enough to shift slow starts and the losses at their end.
    fn start_spread(&self) -> Duration {
        Duration::from_millis(100)
    }
    /// Returns the number of rows in which the application's traffic is counted: one for each parallel transfer if the
    /// number of transfers is fixed, otherwise one in total.
    fn rows(&self) -> usize {
        1
    }
}
