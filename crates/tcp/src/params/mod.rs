//! The parameters of a TCP stack: a tree of groups, each in its own file, written as one flat table.
//!
//! Each group declares its fields with their defaults, and checks their values (`group.rs`). Checks that concern
//! several groups are in this file.

mod detection;
mod ecn;
pub(crate) mod group;
mod negotiation;
mod opening;
mod pacing;
mod quirks;
mod receive_window;
mod receiver;
mod reduction;
mod rto;
mod window;
mod wire;

use crate::cc::params::CongestionControl;
pub(crate) use crate::cc::params::ControlParams;
pub use detection::Recovery;
pub(crate) use detection::{DetectionParams, LossDetection, Undo};
pub(crate) use ecn::{EcnFeedback, EcnParams, Ect, EctOn};
pub(crate) use opening::{InitialWindow, OpeningParams};
pub(crate) use pacing::{Pacing, PacingParams};
pub(crate) use quirks::Quirks;
pub use receive_window::ReceiveWindow;
pub(crate) use receive_window::Rmem;
pub(crate) use receiver::ReceiverParams;
pub use receiver::SackCompression;
pub(crate) use reduction::{Reduction, ReductionParams};
pub(crate) use rto::{MinRto, RtoParams, RttSource};
pub(crate) use window::{CwndValidation, IdleRestart, WindowParams};
pub(crate) use wire::WireParams;

use crate::cc::control::Feedback;
use crate::segment::Segment;
use group::{Group, group, no};
use packet::Ecn;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;
use std::sync::OnceLock;
use units::Problem;

group! {
    /// A whole TCP stack. All endpoints that use the stack share one copy; no flow has its own.
    ///
    /// The defaults are the preset `linux-6`; see [`TcpParams::preset`].
    pub struct TcpParams {
        groups {
            /// Sizes on the wire.
            pub wire: WireParams,
            /// How a connection opens.
            pub opening: OpeningParams,
            /// Limits on sending, and growth of the window.
            pub window: WindowParams,
            /// How segments leave.
            pub pacing: PacingParams,
            /// The congestion controller and its parameters.
            pub control: ControlParams,
            /// Loss detection, repair and undo.
            pub detection: DetectionParams,
            /// Reduction of the window.
            pub(crate) reduction: ReductionParams,
            /// Round trips and the retransmission timer.
            pub rto: RtoParams,
            /// ACK policy of the receiver, and size of its window.
            pub receiver: ReceiverParams,
            /// Explicit congestion notification.
            pub ecn: EcnParams,
            /// Behaviour of particular kernels.
            #[schemars(skip)]
            pub(crate) quirks: Quirks,
        }
    }

    fn validate(&self) -> Result<(), Problem> {
        rto::within("max_syn_rto", self.opening.max_syn_rto, self.rto.initial_rto)?;
        if self.quirks.quantise_rtt && self.rto.clock_granularity.is_zero() {
            return no("clock_granularity", "0s is not valid with quantise_rtt; expected a tick such as 10ms");
        }
        if self.quirks.short_segments_wait && self.receiver.delayed_ack.is_zero() {
            return no("delayed_ack", "0s is not valid with short_segments_wait; expected a wait such as 40ms");
        }
        self.receiver.validate_window(self.wire.mss, self.wire.timestamp_bytes)?;
        self.validate_control()
    }
}

impl<'de> Deserialize<'de> for TcpParams {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        static KEYS: OnceLock<Vec<&'static str>> = OnceLock::new();
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = TcpParams;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("struct TcpParams")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<TcpParams, M::Error> {
                let mut p = TcpParams::default();
                while let Some(key) = map.next_key::<String>()? {
                    if !p.set(&key, &mut map)? {
                        return Err(de::Error::unknown_field(&key, KEYS.get_or_init(TcpParams::keys)));
                    }
                }
                Ok(p)
            }
        }
        d.deserialize_map(V)
    }
}

impl TcpParams {
    /// Returns the keys that usually only presets set, because they describe the behaviour of particular kernels.
    pub fn preset_keys() -> Vec<&'static str> {
        Quirks::keys()
    }

    /// Returns the stack with the changes made by `change`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns the size on the wire of a full data segment, in bytes, with the options that every such segment carries.
    pub fn frame(&self) -> u16 {
        let empty = self.wire.segment_size(&Segment::default());
        (u32::from(empty) + self.ecn.option_bytes() + self.wire.mss).min(u16::MAX.into()) as u16
    }

    pub(crate) fn initial_window_segments(&self) -> f64 {
        self.opening.window(self.wire.mss)
    }

    /// Returns the ECN field of ECN-capable packets.
    #[inline]
    pub(crate) fn codepoint(&self) -> Ecn {
        match self.ecn.ect.unwrap_or(self.control.ecn().ect) {
            Ect::Ect0 => Ecn::Ect0,
            Ect::Ect1 => Ecn::Ect1,
        }
    }

    /// Returns which packets are ECN-capable.
    pub(crate) fn capable(&self) -> EctOn {
        let usual = if self.ecn.ecn_feedback == EcnFeedback::Accecn { EctOn::Established } else { EctOn::Data };
        self.ecn.ect_on.or(self.control.ecn().ect_on).unwrap_or(usual)
    }

    /// Returns the stack with the MSS reduced by the size of AccECN's option, if segments carry this option.
    #[must_use]
    pub fn with_options(mut self) -> Self {
        self.wire.mss = self.wire.mss.saturating_sub(self.ecn.option_bytes()).max(1);
        self
    }

    /// Returns the maximum number of SACK blocks in a segment: three if segments carry time stamps, four if they do
    /// not, and none if recovery does not use SACK.   Source: RFC 2018 §3.
    #[inline]
    pub(crate) fn sack_blocks(&self) -> usize {
        match (self.detection.recovery, self.wire.timestamps) {
            (Recovery::Sack, true) => 3,
            (Recovery::Sack, false) => 4,
            _ => 0,
        }
    }

    /// Returns the receive window at the start of a connection, in bytes. With `auto`, it is half of the initial
    /// memory, rounded down to whole segments with their options, and at most 65535 bytes, because the window in a SYN
    /// is not scaled.
    /// Source: RFC 7323 §2.2.
    pub fn first_window(&self) -> u64 {
        if !self.receiver.receive_window.is_auto() {
            return self.receiver.receive_window.bound();
        }
        let payload = Rmem::payload(self.receiver.memory().default.0);
        let segment = u64::from(self.wire.mss) + u64::from(self.wire.stamp_bytes());
        (payload / segment * segment).min(0xffff)
    }

    /// Refuses parameters that are out of range or contradict each other.
    ///
    /// The error names the first such field, and the valid values.
    pub fn validate(&self) -> Result<(), Problem> {
        Group::validate(self)
    }

    /// Checks the controller's requirements on other groups.
    fn validate_control(&self) -> Result<(), Problem> {
        let (needs, word) = (self.control.needs(), self.control.congestion_control.word());
        match (self.control.congestion_control, &self.control.foreign.python) {
            (CongestionControl::Python, None) => {
                return no("congestion_control", "python needs a table python = { controller = \"FILE.py:CLASS\" }");
            }
            (CongestionControl::Python, Some(_)) | (_, None) => {}
            (_, Some(_)) => {
                return no(
                    "congestion_control",
                    format!("{word} is not valid with a table `python`; expected \"python\" or nothing"),
                );
            }
        }
        if needs.ack_time && !self.wire.timestamps {
            return no("timestamps", format!("false is not valid with {word}: it measures delay with timestamps"));
        }
        if needs.rates && self.detection.recovery != Recovery::Sack {
            return no("recovery", format!("{word} estimates the path from SACK; expected recovery = \"sack\""));
        }
        let marks = self.control.ecn();
        if marks.feedback > Feedback::Any && !self.ecn.ecn {
            return no("ecn", format!("false is not valid with {word}: it responds to CE marks; expected ecn = true"));
        }
        let expected = match (marks.feedback, self.ecn.ecn_feedback) {
            (Feedback::Any, _) | (_, EcnFeedback::Accecn) | (Feedback::Counted, EcnFeedback::Dctcp) => None,
            (Feedback::Counted, _) => Some("\"dctcp\" or \"accecn\""),
            (Feedback::Accecn, _) => Some("\"accecn\""),
        };
        if let Some(expected) = expected {
            let (word_given, why) = (self.ecn.ecn_feedback.word(), "ACKs must report the number of marks");
            return no(
                "ecn_feedback",
                format!("\"{word_given}\" is not valid with {word}: {why}; expected {expected}"),
            );
        }
        if marks.ect == Ect::Ect1 && self.ecn.ect == Some(Ect::Ect0) {
            let why = "it responds to the marks of ECT(1)";
            return no("ect", format!("\"ect0\" is not valid with {word}: {why}; expected \"ect1\", or nothing"));
        }
        Ok(())
    }
}
