//! The congestion controller, and what the controllers take.

use super::group::{group, no};
use super::ledbat::LedbatParams;
use crate::cc::list::controllers;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Problem;

group! {
    /// The congestion controller and its parameters.
    pub struct ControlParams {
        /// Congestion controller.
        pub congestion_control: CongestionControl = CongestionControl::Cubic,
        /// Whose CUBIC `congestion_control = "cubic"` is.
        pub cubic_form: CubicForm = CubicForm::Linux,
        /// Whose BBR `congestion_control = "bbr3"` is.
        pub bbr3_form: Bbr3Form = Bbr3Form::Draft,
        /// Multiplicative decrease: what is left of the window. Absent: 0.5 for reno and ledbat, 0.7 for cubic (717/1024 in Linux' form),
        /// 819/1024 for cubic-2.6.22.
        pub beta: Option<f64> = None,
        /// What a CE mark leaves of the window, with reno and cubic, outside slow start: 0.8 or 0.85 (alternative backoff). Absent: as a
        /// loss.   Source: RFC 8511 §3.
        pub beta_ecn: Option<f64> = None,
        /// Whose DCTCP `congestion_control = "dctcp"` is.
        pub dctcp_form: DctcpForm = DctcpForm::Linux,
        /// When short round trips make Prague slower.   Source: L4STeam, tcp_prague.c.
        pub prague_rtt: PragueRtt = PragueRtt::Scaled,
        /// When Prague's window may be cut again.
        pub prague_cut: PragueCut = PragueCut::Rounds,
        /// CUBIC's C, segments/s^3.   Source: RFC 9438 §4.1: 0.4.
        pub cubic_c: f64 = 0.4,
        /// CUBIC's fast convergence.   Source: RFC 9438 §4.7.
        pub fast_convergence: bool = true,
        /// CUBIC never grows slower than Reno would.   Source: RFC 9438 §4.3.
        pub tcp_friendliness: bool = true,
        /// Slow start exit.
        pub hystart: HyStart = HyStart::Hystart,
        /// Parameters of LEDBAT, for `congestion_control = "ledbat"`.
        pub ledbat: LedbatParams = LedbatParams::default(),
    }

    fn validate(&self) -> Result<(), Problem> {
        if let Some(b) = self.beta
            && !(0.05..=0.99).contains(&b)
        {
            return no("beta", format!("{b} is not valid; expected 0.05 to 0.99"));
        }
        if let Some(b) = self.beta_ecn {
            if !matches!(self.congestion_control, CongestionControl::Reno | CongestionControl::Cubic) {
                let (word, why) = (self.congestion_control.word(), "alternative backoff is for reno and cubic");
                return no("beta_ecn", format!("{b} is not valid with {word}: {why}; expected nothing"));
            }
            if !(0.05..=0.99).contains(&b) {
                let expected = "expected 0.05 to 0.99, as 0.8 for reno, 0.85 for cubic";
                return no("beta_ecn", format!("{b} is not valid; {expected}"));
            }
        }
        if !(self.cubic_c > 0.0 && self.cubic_c <= 100.0) {
            return no("cubic_c", format!("{} is not valid; expected more than 0, at most 100", self.cubic_c));
        }
        self.ledbat.validate().map_err(|p| p.under("ledbat"))
    }
}

/// Makes the words of all controllers.
macro_rules! words {
    ($($(#[$doc:meta])* $word:literal $Name:ident($machine:path),)*) => {
        /// Which congestion controller.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum CongestionControl {
            $(
                $(#[$doc])*
                #[serde(rename = $word)]
                $Name,
            )*
        }

        impl CongestionControl {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$Name),*];

            /// Its word in a scenario.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$Name => $word,)*
                }
            }
        }
    };
}

controllers!(words);

/// Whose CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CubicForm {
    /// As standardised.   Source: RFC 9438 §4.
    Rfc9438,
    /// As Linux 6 runs it: in whole segments, aimed by the least RTT, never above Reno's slope of 3 (1 - beta) / (1 + beta) in
    /// Reno's region, W_max forgotten at a timeout.   Source: Ha, Rhee & Xu 2008.
    Linux,
}

/// Whose BBR version 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bbr3Form {
    /// The IETF's: Drain at half the rate, DOWN at 0.90 of it, aggregation over ten rounds, a CE mark as a loss.
    /// Source: draft-ietf-ccwg-bbr-04.
    Draft,
    /// Google's for Linux: 0.347, 0.91, two halves of five rounds; an answer by the share of marks where `ecn_feedback` counts them
    /// and the round trip is at most 5 ms.   Source: google/bbr, branch v3.
    Linux,
}

/// When short round trips make Prague slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PragueRtt {
    /// From the fourth round after slow start on, each counts as 25 ms at least: one rate for all short round trips. Version 0.7.
    Scaled,
    /// The same from the 500th round on. Version 0.6.
    ScaledLate,
    /// Never: a segment per round trip, as DCTCP and Reno. Version 0.5, which the L4S tests of 2020 measured.
    Own,
}

/// When Prague's window may be cut again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PragueCut {
    /// In each of alpha's rounds, at its first mark: rates are the closed form's.   Source: draft-briscoe-iccrg-prague-congestion-control.
    Rounds,
    /// At the first mark after all has been acknowledged that was sent by the last cut. Windows are up to a fifth larger.
    /// Source: Linux (L4STeam).
    Marks,
}

/// Whose DCTCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DctcpForm {
    /// As described: shares of bytes, one cut at the end of each window that had marks, growth otherwise.   Source: RFC 8257 §3.3.
    Rfc8257,
    /// As Linux runs it: alpha in 1024ths, shares and cuts of whole segments, no growth in the round after a mark.
    Linux,
}

/// How slow start ends before a loss. CUBIC asks; Reno, too, for `rfc9406`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HyStart {
    /// By loss or at ssthresh only.
    Off,
    /// Linux' HyStart: ACK trains and delay increase.   Source: Ha & Rhee 2008.
    Hystart,
    /// HyStart++, in the first slow start only: a slower phase first, and back if round trips fall again.   Source: RFC 9406.
    Rfc9406,
}
