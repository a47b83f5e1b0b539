//! CUBIC by the form that `cubic_form` names.

use super::control::{AckSample, Congestion, Control, Drive, Silence, Window};
use super::cubic::Cubic;
use super::cubic_linux::CubicLinux;
use crate::params::{CubicForm, TcpParams};
use packet::Reading;

/// One of the two.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CubicForms {
    Rfc9438(Cubic),
    Linux(CubicLinux),
}

impl Control for CubicForms {
    fn new(p: &TcpParams) -> Self {
        match p.control.cubic_form {
            CubicForm::Rfc9438 => Self::Rfc9438(Cubic::new(p)),
            CubicForm::Linux => Self::Linux(CubicLinux::new(p)),
        }
    }

    #[inline]
    fn on_ack(&mut self, p: &TcpParams, w: Window, s: &AckSample) -> Drive {
        match self {
            Self::Rfc9438(c) => c.on_ack(p, w, s),
            Self::Linux(c) => c.on_ack(p, w, s),
        }
    }

    fn on_congestion(&mut self, p: &TcpParams, w: Window, kind: Congestion, base: f64) -> Drive {
        match self {
            Self::Rfc9438(c) => c.on_congestion(p, w, kind, base),
            Self::Linux(c) => c.on_congestion(p, w, kind, base),
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
