//! Faults that tests and `make live-torture` inject at the steps of a run.
//!
//! `BLOATLAB_LIVE_FAULT=STEP` makes the named step return an error, and `BLOATLAB_LIVE_FAULT=STEP!` makes it panic.

use std::io;

/// The steps at which a run can be made to fail.
const STEPS: &[&str] = &["space", "tun", "sysctl", "address", "up", "programs", "command", "link", "end"];

/// Returns an error, or panics, if the environment names this step.
pub(crate) fn at(step: &str) -> io::Result<()> {
    debug_assert!(STEPS.contains(&step));
    match std::env::var("BLOATLAB_LIVE_FAULT") {
        Ok(wanted) if wanted == step => Err(io::Error::other(format!("injected fault at \"{step}\""))),
        Ok(wanted) if wanted.strip_suffix('!') == Some(step) => panic!("injected panic at \"{step}\""),
        _ => Ok(()),
    }
}
