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
    /// Returns the number of servers that the application's `to` must name.
    fn servers(&self) -> usize {
        1
    }
    /// Returns an upper bound on the demand in a run of `span`, if every request takes at least `round` to be answered.
    fn demand(&self, span: Duration, round: Duration) -> Demand;
    /// Returns the width of the interval from which the seed draws the start, if the scenario sets no `start_spread`.
    ///
    /// The default, a tenth of a second, is a few round trips: enough to shift slow starts and the losses at their end.
    fn start_spread(&self) -> Duration {
        Duration::from_millis(100)
    }
    /// Returns the number of rows of counters: one for each parallel transfer, if the number of transfers is fixed.
    fn rows(&self) -> usize {
        1
    }
}
