//! What the parameters of an application are good for.

use crate::{Application, Demand};
use units::{Duration, Problem};

/// The parameters of one application.
pub trait Params {
    /// The machine that they build.
    type App: Application;
    /// Refuses what cannot run: the first thing that is wrong, by field name.
    fn validate(&self) -> Result<(), Problem>;
    /// The machine in its first state. Only valid parameters are built.
    fn build(&self) -> Self::App;
    /// How many servers the application's `to` must name.
    fn servers(&self) -> usize {
        1
    }
    /// The most that it asks of the network in a run of `span`, if no request is answered sooner than after `round`.
    fn demand(&self, span: Duration, round: Duration) -> Demand;
    /// How far seeds move its start, unless a scenario says otherwise.
    ///
    /// A tenth of a second is a few round trips: enough that slow starts, and the losses that end them, fall elsewhere.
    fn start_spread(&self) -> Duration {
        Duration::from_millis(100)
    }
    /// Rows of counters: one for each parallel transfer of an application that has a fixed number of them.
    fn rows(&self) -> usize {
        1
    }
}
