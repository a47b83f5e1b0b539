//! Hash collisions in a discipline's classifier.

use crate::error::refuse;
use pyo3::prelude::*;
use units::Problem;

/// Counts hash collisions among active sessions with random 5-tuples. Returns three counts of trials for each number of
/// sessions from 1 to `sessions`: any two sessions shared a queue; the first session shared its queue; the first
/// session was in a group with more sessions than queues. With serial search, the hash selects a group of queues; with
/// any other classifier, each queue is a group of its own.
///
/// `spec` is a fair discipline as JSON: its name in quotes (`"sfq_hss"`), or a table. Errors: the discipline is invalid or not
/// fair.
#[pyfunction]
#[pyo3(signature = (spec, sessions, trials, seed=1))]
pub(crate) fn session_queues(
    py: Python<'_>,
    spec: &str,
    sessions: u32,
    trials: u64,
    seed: u64,
) -> PyResult<Vec<(u64, u64, u64)>> {
    let wrong = |p: Problem| refuse("queue", &[p]);
    let spec = face::discipline(spec).map_err(wrong)?;
    let Some(parameters) = spec.fair() else {
        let message = format!("{} gives sessions no queues of their own; expected a discipline of type A", spec.name());
        return Err(wrong(Problem::new("", message)));
    };
    let found = py.detach(|| qdisc::fair::collisions(&parameters, sessions, trials, seed));
    Ok(found.iter().map(|c| (c.any, c.given_shares, c.given_in_full_group)).collect())
}
