//! What the controller LEDBAT can be told.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Problem};

/// Longest histories: an hour of minutes; samples of a large window.
const MAX_BASE_HISTORY: u32 = 60;
const MAX_CURRENT_FILTER: u32 = 1024;

/// What LEDBAT can be told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LedbatParams {
    /// TARGET: queueing delay that it aims at. RFC 6817 allows at most 100ms. Default 100ms.
    pub target: Duration,
    /// GAIN: growth in segments per round trip with an empty queue; at most 1. Default 1.
    pub gain: f64,
    /// ALLOWED_INCREASE: segments that the window may exceed what is in flight. Default 1.
    pub allowed_increase: f64,
    /// BASE_HISTORY: minutes whose minima make the base delay. Default 10.
    pub base_history: u32,
    /// CURRENT_FILTER: samples whose minimum is the current delay. Default 4.
    pub current_filter: u32,
    /// Slow start until a loss or until the queueing delay reaches the target. Default false.
    pub slow_start: bool,
}

impl Default for LedbatParams {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(100),
            gain: 1.0,
            allowed_increase: 1.0,
            base_history: 10,
            current_filter: 4,
            slow_start: false,
        }
    }
}

impl LedbatParams {
    /// Refuses what cannot run.   Errors: the first field out of range, by name.
    pub(crate) fn validate(&self) -> Result<(), Problem> {
        let no = |path: &str, message: String| Err(Problem::new(path, message));
        if self.target < Duration::from_millis(1) || self.target > Duration::from_secs(10) {
            return no(
                "target",
                format!("{} is not valid; expected 1ms to 10s (RFC 6817: at most 100ms)", self.target),
            );
        }
        if !(self.gain > 0.0 && self.gain <= 1.0) {
            return no("gain", format!("{} is not valid; expected more than 0, at most 1", self.gain));
        }
        if !(self.allowed_increase > 0.0 && self.allowed_increase <= 100.0) {
            let message = format!("{} is not valid; expected more than 0, at most 100 segments", self.allowed_increase);
            return no("allowed_increase", message);
        }
        for (name, v, most) in [
            ("base_history", self.base_history, MAX_BASE_HISTORY),
            ("current_filter", self.current_filter, MAX_CURRENT_FILTER),
        ] {
            if v == 0 || v > most {
                return no(name, format!("{v} is not valid; expected 1 to {most}"));
            }
        }
        Ok(())
    }
}
