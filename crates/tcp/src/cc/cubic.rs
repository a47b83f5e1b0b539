//! CUBIC, in the form selected by `cubic_form`.

use super::control::{AckSample, Congestion, Control, Drive, Needs, Silence, Stack, Window};
use super::cubic_linux::CubicLinux;
use super::cubic_rfc::Cubic;
use super::shared::NoParams;
use crate::params::group::{group, words};
use packet::Reading;
use units::Time;

group! {
    /// Parameters of CUBIC, in addition to the shared parameters.
    pub(crate) struct CubicParams {
        /// Form of `congestion_control = "cubic"`.
        pub cubic_form: CubicForm = CubicForm::Linux,
    }
}

words! {
    /// Form of CUBIC.
    pub(crate) enum CubicForm {
        /// As in the standard.   Source: RFC 9438 §4.
        "rfc9438" Rfc9438,
        /// As in Linux 6. Windows are whole segments. The cubic curve is evaluated one minimum RTT ahead. The estimate
        /// of Reno's window always grows by 3 (1 - beta) / (1 + beta) segments per round trip. (In RFC 9438, it grows by
        /// one segment per round trip once it has reached the size of the window before the last reduction.) In
        /// congestion avoidance, the window grows by at least 5 % per round trip before the first loss or mark, and from
        /// a timeout to the next loss or mark. Source: Ha, Rhee & Xu 2008.
        "linux" Linux,
    }
}

/// The state of one flow, in either of the two forms of CUBIC.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CubicForms {
    Rfc9438(Cubic),
    Linux(CubicLinux),
}

/// Evaluates an expression in which `$c` is the state of whichever form is in use.
macro_rules! either {
    ($form:expr, $c:ident => $value:expr) => {
        match $form {
            CubicForms::Rfc9438($c) => $value,
            CubicForms::Linux($c) => $value,
        }
    };
}

impl Control for CubicForms {
    type Params = CubicParams;

    const NEEDS: Needs = Needs { beta: true, beta_ecn: true, ..Needs::NONE };

    fn new(own: &CubicParams, stack: &Stack<'_>) -> Self {
        match own.cubic_form {
            CubicForm::Rfc9438 => Self::Rfc9438(Cubic::new(&NoParams {}, stack)),
            CubicForm::Linux => Self::Linux(CubicLinux::new(&NoParams {}, stack)),
        }
    }

    fn on_handshake(&mut self, w: Window, now: Time, us: u32) -> Option<Drive> {
        either!(self, c => c.on_handshake(w, now, us))
    }

    #[inline]
    fn on_ack(&mut self, w: Window, s: &AckSample) -> Drive {
        either!(self, c => c.on_ack(w, s))
    }

    fn on_congestion(&mut self, w: Window, kind: Congestion, base: f64) -> Drive {
        either!(self, c => c.on_congestion(w, kind, base))
    }

    fn on_rto(&mut self, w: Window) {
        either!(self, c => c.on_rto(w));
    }

    fn on_idle(&mut self, w: Window, silence: Silence) -> Option<Drive> {
        either!(self, c => c.on_idle(w, silence))
    }

    fn probe(&self, out: &mut Reading<'_>) {
        either!(self, c => c.probe(out));
    }
}
