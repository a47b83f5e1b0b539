//! Congestion controllers: one file each, one line each in [`list`], dispatched by a closed enum.
//!
//! A controller returns a [`control::Drive`] for each event; during a recovery, the sender's reduction brings the window down to
//! ssthresh.

mod abe;
pub(crate) mod bbr;
pub(crate) mod bbr3;
pub(crate) mod control;
pub(crate) mod cubic;
mod cubic_2_6_22;
mod cubic_linux;
mod cubic_rfc;
pub(crate) mod dctcp;
mod hystart;
mod hystart_pp;
pub(crate) mod ledbat;
mod linux;
pub(crate) mod list;
pub(crate) mod params;
pub(crate) mod prague;
mod reno;
pub(crate) mod shared;
#[cfg(test)]
mod tests;
mod westwood;

use crate::params::{CongestionControl, EcnFeedback, TcpParams};
use crate::stats::Model;
use control::{AckSample, Congestion, Control, Drive, LostSegment, Needs, Silence, Stack, Window};
use list::controllers;
use packet::Reading;
use units::{Rng, Time};

/// Defines the enum of all controllers, and dispatches events to the controller of a flow.
macro_rules! dispatch {
    ($($(#[$doc:meta])* $word:literal $Name:ident($file:ident::$Machine:ident),)*) => {
        /// The state of one flow's controller; boxed, so that a flow does not pay for another's.
        #[derive(Clone, Debug)]
        pub(crate) enum Controller {
            $($Name(Box<$file::$Machine>),)*
        }

        impl Controller {
            pub(crate) fn new(p: &TcpParams) -> Self {
                let stack = stack(p);
                match p.control.congestion_control {
                    $(CongestionControl::$Name => Self::$Name(Box::new(<$file::$Machine>::new(&p.control.$file, &stack))),)*
                }
            }

            #[inline]
            pub(crate) fn needs(&self) -> Needs {
                match self {
                    $(Self::$Name(_) => <$file::$Machine as Control>::NEEDS,)*
                }
            }

            pub(crate) fn draw_from(&mut self, stream: &dyn Fn() -> Rng) {
                match self {
                    $(Self::$Name(c) => c.draw_from(stream),)*
                }
            }

            pub(crate) fn begin(&self, w: Window) -> Drive {
                match self {
                    $(Self::$Name(c) => c.begin(w),)*
                }
            }

            pub(crate) fn on_handshake(&mut self, w: Window, now: Time, us: u32) -> Drive {
                match self {
                    $(Self::$Name(c) => c.on_handshake(w, now, us),)*
                }
            }

            #[inline]
            pub(crate) fn on_ack(&mut self, w: Window, s: &AckSample) -> Drive {
                match self {
                    $(Self::$Name(c) => c.on_ack(w, s),)*
                }
            }

            pub(crate) fn on_congestion(&mut self, w: Window, kind: Congestion, base: f64) -> Drive {
                match self {
                    $(Self::$Name(c) => c.on_congestion(w, kind, base),)*
                }
            }

            pub(crate) fn on_rto(&mut self, w: Window) {
                match self {
                    $(Self::$Name(c) => c.on_rto(w),)*
                }
            }

            pub(crate) fn on_lost(&mut self, w: Window, now: Time, s: &LostSegment) {
                match self {
                    $(Self::$Name(c) => c.on_lost(w, now, s),)*
                }
            }

            pub(crate) fn on_undo(&mut self, w: Window, before: Option<Window>) -> Drive {
                match self {
                    $(Self::$Name(c) => c.on_undo(w, before),)*
                }
            }

            pub(crate) fn on_idle(&mut self, w: Window, silence: Silence) -> Drive {
                match self {
                    $(Self::$Name(c) => c.on_idle(w, silence),)*
                }
            }

            pub(crate) fn probe(&self, out: &mut Reading<'_>) {
                match self {
                    $(Self::$Name(c) => c.probe(out),)*
                }
            }

            pub(crate) fn model(&self) -> Option<Model> {
                match self {
                    $(Self::$Name(c) => c.model(),)*
                }
            }
        }
    };
}

controllers!(dispatch);

/// Stack parameters available to a controller.
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
    /// Returns true if the controller reads the timestamps of ACKs: then a host must carry them.
    pub fn reads_ack_time(&self) -> bool {
        self.control.needs().ack_time
    }
}
