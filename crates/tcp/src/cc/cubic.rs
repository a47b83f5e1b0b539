//! CUBIC by the form that `cubic_form` names.

use super::control::{AckSample, Congestion, Control, Drive, Silence, Stack, Window};
use super::cubic_linux::CubicLinux;
use super::cubic_rfc::Cubic;
use super::shared::NoParams;
use crate::params::group::group;
use packet::Reading;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

group! {
    /// Parameters of CUBIC besides the shared ones.
    pub(crate) struct CubicParams {
        /// Form of `congestion_control = "cubic"`.
        pub cubic_form: CubicForm = CubicForm::Linux,
    }
}

/// Form of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CubicForm {
    /// As standardised.   Source: RFC 9438 §4.
    Rfc9438,
    /// As Linux 6 runs it: in whole segments, aimed by the least RTT, never above Reno's slope of 3 (1 - beta) / (1 + beta) in
    /// Reno's region, W_max forgotten at a timeout.   Source: Ha, Rhee & Xu 2008.
    Linux,
}

/// State of either form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CubicForms {
    Rfc9438(Cubic),
    Linux(CubicLinux),
}

impl Control for CubicForms {
    type Params = CubicParams;

    const BETA_ECN: bool = true;

    fn new(own: &CubicParams, stack: &Stack<'_>) -> Self {
        match own.cubic_form {
            CubicForm::Rfc9438 => Self::Rfc9438(Cubic::new(&NoParams {}, stack)),
            CubicForm::Linux => Self::Linux(CubicLinux::new(&NoParams {}, stack)),
        }
    }

    #[inline]
    fn on_ack(&mut self, w: Window, s: &AckSample) -> Drive {
        match self {
            Self::Rfc9438(c) => c.on_ack(w, s),
            Self::Linux(c) => c.on_ack(w, s),
        }
    }

    fn on_congestion(&mut self, w: Window, kind: Congestion, base: f64) -> Drive {
        match self {
            Self::Rfc9438(c) => c.on_congestion(w, kind, base),
            Self::Linux(c) => c.on_congestion(w, kind, base),
        }
    }

    fn on_rto(&mut self, w: Window) {
        match self {
            Self::Rfc9438(c) => c.on_rto(w),
            Self::Linux(c) => c.on_rto(w),
        }
    }

    fn on_idle(&mut self, w: Window, silence: Silence) -> Drive {
        match self {
            Self::Rfc9438(c) => c.on_idle(w, silence),
            Self::Linux(c) => c.on_idle(w, silence),
        }
    }

    fn probe(&self, out: &mut Reading<'_>) {
        match self {
            Self::Rfc9438(c) => c.probe(out),
            Self::Linux(c) => c.probe(out),
        }
    }
}
