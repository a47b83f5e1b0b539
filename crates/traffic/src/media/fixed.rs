//! No control: the encoder keeps its first rate, and each frame leaves at once, regardless of the network.
//!
//! Source: none. This is the baseline with which the controllers are compared.

use super::control::{Context, Feedback, MediaController};
use packet::Reading;

/// The controller of `control = "fixed"`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fixed;

impl MediaController for Fixed {
    fn on_feedback(&mut self, _: &Context, _: &Feedback<'_>) {}

    fn target(&self, cx: &Context) -> f64 {
        cx.start
    }

    fn pacing_rate(&self, _: &Context) -> f64 {
        f64::INFINITY
    }

    fn probe(&self, cx: &Context, out: &mut Reading<'_>) {
        out.rate("target", cx.start);
    }
}
