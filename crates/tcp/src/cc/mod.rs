//! Congestion controllers. Each controller has its own file and a line in [`list`]. The enum [`Controller`] dispatches
//! the calls.
//!
//! A controller answers most events with a [`control::Drive`], which holds the new window. During a recovery, the
//! sender itself lowers the window to ssthresh, unless [`control::Drive::reduction`] is false.

mod abe;
pub(crate) mod bbr;
pub(crate) mod bbr3;
pub(crate) mod control;
pub(crate) mod cubic;
mod cubic_2_6_22;
mod cubic_linux;
mod cubic_rfc;
pub(crate) mod dctcp;
mod delay_filters;
mod first_start;
pub(crate) mod fixed;
pub mod foreign;
mod hystart;
mod hystart_pp;
pub(crate) mod ledbat;
pub(crate) mod ledbat_pp;
mod linux;
pub(crate) mod list;
pub(crate) mod params;
pub(crate) mod prague;
mod rapid_start;
mod reno;
mod search;
pub(crate) mod shared;
#[cfg(test)]
mod tests;
mod westwood;

use crate::params::{EcnFeedback, TcpParams};
use control::{AckSample, Congestion, Control, Drive, LostSegment, Origin, Silence, Stack, Window};
use list::controllers;
use packet::Reading;
use params::Chosen;
use units::{LINE, Problem, Time, prefetch};

/// Defines the enum of all controllers, and `each!`, which evaluates an expression for the controller of a flow.
macro_rules! define {
    ($d:tt $($(#[$doc:meta])* $word:literal $Name:ident($file:ident::$Machine:ident),)*) => {
        /// The state of one flow's controller. It is boxed, so that a flow does not need memory for the largest controller.
        #[derive(Clone, Debug)]
        pub(crate) enum Controller {
            $($Name(Box<$file::$Machine>),)*
        }

        impl Controller {
            pub(crate) fn new(p: &TcpParams) -> Self {
                match p.control.chosen() {
                    $(Chosen::$Name(own) => Self::$Name(Box::new(<$file::$Machine>::new(own, &stack(p)))),)*
                }
            }
        }

        macro_rules! each {
            ($d controller:expr, $d c:ident => $d value:expr) => {
                match $d controller {
                    $(Controller::$Name($d c) => $d value,)*
                }
            };
        }
    };
}

controllers!(define $);

impl Controller {
    pub(crate) fn introduce(&mut self, origin: &Origin<'_>) {
        each!(self, c => c.introduce(origin));
    }

    pub(crate) fn at(&mut self, now: Time) {
        each!(self, c => c.at(now));
    }

    pub(crate) fn begin(&mut self, w: Window) -> Drive {
        each!(self, c => c.begin(w))
    }

    pub(crate) fn on_handshake(&mut self, w: Window, now: Time, us: u32) -> Option<Drive> {
        each!(self, c => c.on_handshake(w, now, us))
    }

    /// Prefetches the first 64 bytes of the controller's state, which may lie in two cache lines.
    #[inline]
    pub(crate) fn prefetch(&self) {
        each!(self, c => {
            prefetch(&**c, 0);
            prefetch(&**c, size_of_val(&**c).min(LINE).saturating_sub(1));
        });
    }

    #[inline]
    pub(crate) fn on_ack(&mut self, w: Window, s: &AckSample) -> Drive {
        each!(self, c => c.on_ack(w, s))
    }

    pub(crate) fn on_congestion(&mut self, w: Window, kind: Congestion, base: f64) -> Drive {
        each!(self, c => c.on_congestion(w, kind, base))
    }

    pub(crate) fn on_rto(&mut self, w: Window) {
        each!(self, c => c.on_rto(w));
    }

    pub(crate) fn on_lost(&mut self, w: Window, now: Time, s: &LostSegment) {
        each!(self, c => c.on_lost(w, now, s));
    }

    pub(crate) fn on_undo(&mut self, w: Window, before: Option<Window>) -> Drive {
        each!(self, c => c.on_undo(w, before))
    }

    pub(crate) fn on_idle(&mut self, w: Window, silence: Silence) -> Option<Drive> {
        each!(self, c => c.on_idle(w, silence))
    }

    /// Returns the time of the controller's timer, or [`Time::NEVER`] if it has none.
    #[inline]
    pub(crate) fn timer_at(&self) -> Time {
        if let Self::Python(foreign) = self { foreign.timer_at() } else { Time::NEVER }
    }

    #[cold]
    pub(crate) fn on_timer(&mut self, w: Window, now: Time) -> Drive {
        if let Self::Python(foreign) = self { foreign.on_timer(w, now) } else { w.into() }
    }

    /// Records that the connection has ended. The controller's timer does not run after this call.
    pub(crate) fn end(&mut self) {
        if let Self::Python(foreign) = self {
            foreign.end();
        }
    }

    pub(crate) fn probe(&self, out: &mut Reading<'_>) {
        each!(self, c => c.probe(out));
    }
}

/// Returns the stack parameters that a new controller receives.
pub(crate) fn stack(p: &TcpParams) -> Stack<'_> {
    Stack {
        shared: &p.control.shared,
        mss: p.wire.mss,
        initial_window: p.initial_window_segments(),
        whole_segments: p.quirks.whole_segments,
        paced: p.pacing.paced,
        counts_marks: p.ecn.ecn_feedback != EcnFeedback::Rfc3168,
    }
}

impl TcpParams {
    /// Returns true if the controller reads the time stamps of ACKs, so that a host must provide them.
    pub fn reads_ack_time(&self) -> bool {
        self.control.needs().ack_time
    }

    /// Returns the parameters of the external controller (`foreign.rs`), if the stack uses one.
    pub fn outside(&mut self) -> Option<&mut foreign::ForeignParams> {
        self.control.foreign.python.as_mut()
    }

    /// Checks that the stack's controller can be built.   Errors: the controller is external and was not supplied.
    pub fn ready(&self) -> Result<(), Problem> {
        self.control.foreign.python.as_ref().map_or(Ok(()), |p| p.ready().map_err(|e| e.under("python")))
    }
}
