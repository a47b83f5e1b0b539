//! Congestion controllers: one file each, one line each in [`list`], dispatched by a closed enum.
//!
//! A controller hears what happens and answers with a [`control::Drive`]; how the window gets down to ssthresh during a recovery is the
//! sender's reduction, not the controller's.

mod abe;
pub(crate) mod bbr;
mod bbr3;
pub(crate) mod control;
mod cubic;
mod cubic_2_6_22;
mod cubic_form;
mod cubic_linux;
mod dctcp;
mod hystart;
mod hystart_pp;
mod ledbat;
mod linux;
pub(crate) mod list;
mod prague;
mod reno;
mod westwood;

use crate::params::{CongestionControl, TcpParams};
use crate::stats::Model;
use control::{AckSample, Congestion, Control, Drive, LostSegment, Needs, Silence, Window};
use list::controllers;
use packet::Reading;
use units::{Rng, Time};

/// Makes the enum of all controllers, and hands what happens to the one that a flow has.
macro_rules! dispatch {
    ($($(#[$doc:meta])* $word:literal $Name:ident($machine:path),)*) => {
        /// The state of one flow's controller; boxed, so that a flow does not pay for another's.
        #[derive(Clone, Debug)]
        pub(crate) enum Controller {
            $($Name(Box<$machine>),)*
        }

        impl Controller {
            pub(crate) fn new(p: &TcpParams) -> Self {
                match p.control.congestion_control {
                    $(CongestionControl::$Name => Self::$Name(Box::new(<$machine>::new(p))),)*
                }
            }

            #[inline]
            pub(crate) fn needs(&self) -> Needs {
                match self {
                    $(Self::$Name(_) => <$machine as Control>::NEEDS,)*
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

            pub(crate) fn hear(&mut self, p: &TcpParams, s: &AckSample) {
                match self {
                    $(Self::$Name(c) => c.hear(p, s),)*
                }
            }

            #[inline]
            pub(crate) fn on_ack(&mut self, p: &TcpParams, w: Window, s: &AckSample) -> Drive {
                match self {
                    $(Self::$Name(c) => c.on_ack(p, w, s),)*
                }
            }

            pub(crate) fn on_congestion(&mut self, p: &TcpParams, w: Window, kind: Congestion, base: f64) -> Drive {
                match self {
                    $(Self::$Name(c) => c.on_congestion(p, w, kind, base),)*
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

            pub(crate) fn on_undo(&mut self, w: Window) -> Drive {
                match self {
                    $(Self::$Name(c) => c.on_undo(w),)*
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

        impl TcpParams {
            /// What the controller asks of the sender.
            pub(crate) fn controller_needs(&self) -> Needs {
                match self.control.congestion_control {
                    $(CongestionControl::$Name => <$machine as Control>::needs(self),)*
                }
            }
        }
    };
}

controllers!(dispatch);

impl Controller {
    /// It sets the window in a recovery, too, and answers no ECN echo.
    #[inline]
    pub(crate) fn owns_window(&self) -> bool {
        self.needs().owns_window
    }

    /// It hears of every ACK.
    #[inline]
    pub(crate) fn hears_all(&self) -> bool {
        self.needs().every_ack
    }
}

impl TcpParams {
    /// Whether the controller reads the time stamps of the ACKs that it gets: then a host must carry them.
    pub fn reads_ack_time(&self) -> bool {
        self.controller_needs().ack_time
    }
}
