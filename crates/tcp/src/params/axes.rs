//! The axes of a TCP stack that are choices: one enum each.

use crate::cc::list::controllers;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// How losses are found and repaired after duplicate ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Fast retransmit, fast recovery left at the first new ACK.   Source: RFC 5681 §3.2; guard against repeated fast
    /// retransmits in one window as ns-2's `bugFix_`.
    Reno,
    /// Partial ACKs retransmit the next hole; the impatient variant of the timer.   Source: RFC 6582.
    Newreno,
    /// Scoreboard: pipe, IsLost, NextSeg (1)-(4), rescue retransmission.   Source: RFC 6675.
    Sack,
}

/// What tells a lost segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossDetection {
    /// DupThresh duplicate ACKs, or as much SACKed above it. A retransmission that is lost, too, waits for the timeout.
    /// Source: RFC 5681 §3.2, RFC 6675 §4.
    Dupthresh,
    /// As ns-2's Agent/TCP/Linux, with DupThresh 4. A segment is lost when the highest one SACKed lies DupThresh above it, holes
    /// counted (FACK). A retransmission is lost when something is SACKed that was new after it, or when one more than DupThresh
    /// retransmissions later has been delivered. What is SACKed makes room at once, without limit. A loss found after a timeout
    /// reduces again; the end of a recovery forgets what was SACKed above it, that of a timeout's repair takes the window to
    /// ssthresh, but not above in flight + 3. Needs recovery by SACK.   Source: Mathis & Mahdavi 1996; traces of ns-2 2.35.
    ForwardAck,
    /// Time: something that was sent later has been delivered, and a reordering window has passed. A flight whose end is lost
    /// is probed after two round trips. Needs recovery by SACK.   Source: RFC 8985.
    RackTlp,
}

impl LossDetection {
    /// Its word in a scenario.
    pub fn word(self) -> &'static str {
        match self {
            Self::Dupthresh => "dupthresh",
            Self::ForwardAck => "forward-ack",
            Self::RackTlp => "rack-tlp",
        }
    }
}

/// How a sender that paces keeps its rate: one whose controller asks for it, or any with `paced`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// What leaves costs its payload at the pacing rate, from the moment when it leaves.   Source:
    /// draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.1.
    Exact,
    /// Linux' own, without the queue discipline fq: a burst that leaves late, for want of window or of an ACK, gets its lateness
    /// back, up to half its cost. The first ten segments are not paced.   Source: Linux tcp_output.c.
    LinuxInternal,
}

/// How the window gets from its old size to ssthresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// At once.   Source: RFC 5681, RFC 6675.
    Instant,
    /// One segment for every two ACKs, never above in flight + 1.   Source: Mathis, Semke & Mahdavi 1999; Linux 2.6.
    RateHalving,
    /// The window is ssthresh at once, but what is in flight may only fall by one segment for every two ACKs until it
    /// gets there.   Source: ns-2's Agent/TCP/Linux.
    HeldRateHalving,
    /// Proportional rate reduction: conserves packets once what is in flight is below ssthresh, and slow starts back to it on
    /// ACKs of progress.   Source: RFC 9937; Linux.
    Prr,
}

/// What becomes of a reduction that proves to have been for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Undo {
    /// It stands.
    None,
    /// The window and ssthresh are again what they were, once D-SACK has told of everything that was sent again, or a time
    /// stamp says that the first original arrived. Needs `loss_detection = "rack-tlp"`.   Source: RFC 2883, RFC 3522, RFC 4015 as in Linux.
    Linux,
}

/// The first window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InitialWindow {
    /// This many segments.
    Segments(u32),
    /// MSS <= 1095: 4 segments, <= 2190: 3, else 2.   Source: RFC 5681 §3.1.
    Rfc5681,
    /// min(4 MSS, max(2 MSS, 4380 bytes)).   Source: RFC 3390.
    Rfc3390,
    /// min(10 MSS, max(2 MSS, 14600 bytes)).   Source: RFC 6928.
    Rfc6928,
}

/// When the window has been used enough to grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CwndValidation {
    /// Always.   Source: ns-2's one-way agents and FullTcp.
    Off,
    /// In rounds that it limited; in slow start half of it is enough.   Source: RFC 7661; Linux.
    Round,
    /// When what was in flight before the ACK filled it.   Source: Linux 2.6 without offloads; ns-2's Agent/TCP/Linux.
    Full,
}

/// Where a round trip is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RttSource {
    /// The echoed time stamp of an ACK of new data. Without time stamps, when the newest segment left that it acknowledges, if none of
    /// them was sent twice or SACKed before.   Source: RFC 7323 §4.1, RFC 6298 §3.
    Echo,
    /// When the oldest segment left that is newly acknowledged and was sent once, unless one sent twice is acknowledged, too. Else when
    /// the oldest one left that is newly SACKed and was sent once, whether anything is acknowledged or not. Only then the echo.
    /// Source: Linux, tcp_ack_update_rtt.
    SendTime,
}

/// What the minimum RTO bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MinRto {
    /// The whole: RTO = max(min, SRTT + max(G, 4 RTTVAR)). It counts from the last ACK of new data, also after a probe's or a
    /// reordering window's timer.   Source: RFC 6298 §2 and §5.3.
    Total,
    /// The variation: RTO = SRTT + max(min, 4 RTTVAR). With `rack-tlp`, what another purpose has left of it counts from when the
    /// first segment was sent last.   Source: Linux.
    Variation,
}

/// What happens to the window after silence longer than one RTO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleRestart {
    /// Nothing.
    Off,
    /// cwnd = min(initial window, cwnd).   Source: RFC 5681 §4.1; ns-2 `slow_start_restart_`.
    Restart,
    /// Halved for every RTO of silence, not below the initial window; ssthresh remembers 3/4 of it.   Source: RFC 2861; Linux.
    Decay,
    /// cwnd = initial window, when an RTO has passed since the ACK that left nothing outstanding, not since the last
    /// segment sent.   Source: ns-2's Agent/TCP/Linux, whose timer goes on running in silence.
    InitialAfterAck,
    /// cwnd = 1 segment, by the same clock.   Source: ns-2's other one-way agents (`restart_bugfix_`).
    OneAfterAck,
}
