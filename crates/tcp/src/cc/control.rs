//! The interface between a sender and its congestion controller.
//!
//! ```text
//! handshake, ACK, congestion, timeout, silence --> controller --> Drive { cwnd, ssthresh, pacing_rate, quantum, max_payload }
//! ```
//!
//! The sender finds losses, reduces the window to ssthresh during a recovery, and paces; a controller decides the size of the
//! window. It sees no segment, sets no timer and reads no clock.

use super::shared::SharedParams;
use crate::params::group::Group;
use crate::params::{Ect, EctOn};
use crate::stats::State;
use packet::Reading;
use units::{Duration, Rng, Time};

/// Congestion window and slow start threshold, segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    /// Congestion window.
    pub cwnd: f64,
    /// Slow start threshold; infinite until the first congestion event unless given.
    pub ssthresh: f64,
}

impl Window {
    /// Adopts the window of `d`.
    #[inline]
    pub(crate) fn follow(&mut self, d: &Drive) {
        *self = Self { cwnd: d.cwnd, ssthresh: d.ssthresh };
    }

    /// Returns true below ssthresh, where the window grows by the segments acknowledged.
    #[inline]
    pub(crate) fn slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows by `credit` segments up to ssthresh; returns the rest, for congestion avoidance.
    #[inline]
    pub(super) fn grow_in_slow_start(&mut self, credit: f64) -> f64 {
        let used = credit.min(self.ssthresh - self.cwnd);
        self.cwnd += used;
        credit - used
    }
}

/// A controller's output: window, threshold and pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Drive {
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Slow start threshold, segments.
    pub ssthresh: f64,
    /// Pacing rate, payload bytes per second; none: not paced. Applied where [`Needs::rates`].
    pub pacing_rate: Option<f64>,
    /// Segments that may leave back to back at that rate.
    pub quantum: u32,
    /// Largest payload of a new segment, bytes, if smaller than the MSS; 0: the MSS. Applied where [`Needs::rates`].
    pub max_payload: u16,
    /// The sender owns reductions: after congestion it reduces the window to ssthresh, after idle it restarts, by the stack's
    /// parameters.
    /// Off: the controller sets `cwnd` alone.
    pub reduction: bool,
    /// The window is small on purpose: delivery rates of the current flight do not show the bandwidth.
    pub probing_delay: bool,
}

impl From<Window> for Drive {
    /// A window without pacing.
    #[inline]
    fn from(w: Window) -> Self {
        Self {
            cwnd: w.cwnd,
            ssthresh: w.ssthresh,
            pacing_rate: None,
            quantum: u32::MAX,
            max_payload: 0,
            reduction: true,
            probing_delay: false,
        }
    }
}

/// The information in one ACK.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct AckSample {
    /// Arrival time of the ACK.
    pub now: Time,
    /// Segments newly acknowledged cumulatively (a fraction if they were not full).
    pub acked: f64,
    /// Segments that count for growth: those newly delivered, cumulatively or by SACK, bounded by `abc_limit`.
    pub credit: f64,
    /// Bytes newly delivered, cumulatively or by SACK.
    pub delivered: u64,
    /// Bytes newly declared lost.
    pub lost: u64,
    /// All data in flight when the last round ended is acknowledged: one round trip, counted in data sent.
    pub round_ended: bool,
    /// The ACK reports a CE mark.
    pub marked: bool,
    /// ECN is in use: the fields about marks are valid.
    pub ecn: bool,
    /// Segments newly delivered. Like the next two fields, set only where ECN is in use.
    pub segments: u32,
    /// CE-marked packets reported by this ACK: with AccECN by its counter, which includes pure ACKs; else the segments that an
    /// ACK with ECE delivers.
    pub ce_packets: u32,
    /// Payload bytes of those packets.
    pub ce_bytes: u64,
    /// Round-trip time measured by this ACK, microseconds.
    pub rtt_us: Option<u32>,
    /// One-way delay reported by this ACK: its TSval less its TSecr, microseconds modulo 2^32, the offset of the two clocks
    /// included. Only where [`Needs::ack_time`].
    pub one_way_us: Option<u32>,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Bytes in flight before the ACK.
    pub flight_before: u64,
    /// Bytes in flight at the controller's [`Turn`]; with [`Turn::Repair`], retransmissions triggered by this ACK are included.
    pub in_flight: u64,
    /// SND.UNA: every byte below it is acknowledged.
    pub una: u64,
    /// Next new byte to send.
    pub next: u64,
    /// The window must not grow by this ACK: it is a duplicate, or the sender is reducing the window.
    pub rests: bool,
    /// The window limited the sender; it may grow only then.
    pub cwnd_limited: bool,
    /// The window stopped the sender at some time in the round trip.
    pub window_filled: bool,
    /// State of the sender before this ACK; with [`Turn::Repair`], after it.
    pub state: State,
    /// Delivery rate, if the ACK yields a sample. Like all fields below, only where [`Needs::rates`].
    pub rate: Option<RateSample>,
    /// Bytes delivered since the connection began, this ACK included.
    pub total_delivered: u64,
    /// Time until pacing lets the next segment leave.
    pub held_back: Duration,
}

/// A delivery rate sample.
///
/// Source: draft-cheng-iccrg-delivery-rate-estimation-00 §3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RateSample {
    /// Bytes delivered over `interval`.
    pub bytes: u64,
    /// The longer of the send and the ACK interval.
    pub interval: Duration,
    /// Bytes that had been delivered when the newest acknowledged segment left.
    pub prior_delivered: u64,
    /// The application, not the network, limited the sending rate at that time.
    pub app_limited: bool,
    /// Round-trip time of the newest acknowledged segment, microseconds; none if it was retransmitted.
    pub rtt_us: Option<u32>,
    /// The interval is shorter than any round trip: ACKs were compressed, and the rate is invalid.
    pub compressed: bool,
    /// Bytes in flight when the newest acknowledged segment was sent, itself included.
    pub tx_in_flight: u64,
    /// Bytes declared lost since then.
    pub lost: u64,
}

/// A segment newly declared lost.
///
/// Source: draft-ietf-ccwg-bbr-04 §5.5.10.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LostSegment {
    /// Payload bytes.
    pub(crate) bytes: u64,
    /// Bytes in flight when it was sent, itself included.
    pub(crate) tx_in_flight: u64,
    /// Bytes declared lost since then, itself included.
    pub(crate) lost: u64,
    /// The application limited the sending rate at that time.
    pub(crate) app_limited: bool,
    /// Bytes delivered since the connection began.
    pub(crate) total_delivered: u64,
    /// The segment before it was declared lost at the same time.
    pub(crate) adjoins: bool,
}

/// A congestion signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Congestion {
    /// A loss, found by ACKs, by a timer or by a timeout.
    Loss,
    /// An ECN echo.
    Ecn,
}

/// The end of an idle period: there is data to send, and nothing is in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Silence {
    /// End of the idle period.
    pub now: Time,
    /// Length of the idle period.
    pub idle: Duration,
    /// Delivery rates are limited by the application. Only where [`Needs::rates`].
    pub app_limited: bool,
}

/// The features of the stack that a controller uses. A flow pays only for those that its controller needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Needs {
    /// The timestamps of ACKs, for [`AckSample::one_way_us`]. Refused without `timestamps`.
    pub ack_time: bool,
    /// Delivery rates, every lost segment (`on_lost`), and a pacer. Refused without SACK.
    pub rates: bool,
    /// The parameter `beta_ecn` (`abe.rs`), which is refused for other controllers.
    pub beta_ecn: bool,
    /// The stage of ACK processing at which the controller runs.
    pub turn: Turn,
    /// Requirements on ECN.
    pub ecn: EcnNeeds,
}

impl Needs {
    /// No features.
    pub(crate) const NONE: Self =
        Self { ack_time: false, rates: false, beta_ecn: false, turn: Turn::Growth, ecn: EcnNeeds::USUAL };
}

/// The stage of ACK processing at which a controller runs. It matters only for an ACK that reports a loss. In `Growth`, this ACK
/// grows the window first, and the reduction starts from the grown window. `Repair` is for models of the path: they need the
/// sender's state, the bytes in flight and the delivery rate as they are after the first retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Before the sender responds to losses.
    Growth,
    /// After the sender has responded to losses.
    Repair,
}

/// The part of the stack that responds to CE marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Responder {
    /// The sender, by its reduction, once per window.
    Sender,
    /// The controller, by the window it sets: the sender neither reduces for an ECN echo nor suspends growth. (It still sends CWR
    /// once per window, where the receiver waits for it.)
    Controller,
    /// Nothing: marks are ignored.
    None,
}

/// The detail in which ACKs must report CE marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Feedback {
    /// Any.
    Any,
    /// The number of marked packets: `ecn = false` and `ecn_feedback = "rfc3168"` are refused.
    Counted,
    /// The number of marked packets, by AccECN; ECN is off if the peer does not support it.
    Accecn,
}

/// A controller's requirements on ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EcnNeeds {
    /// The part of the stack that responds to marks.
    pub responder: Responder,
    /// The detail in which ACKs must report marks.
    pub feedback: Feedback,
    /// Codepoint of ECN-capable packets, unless the stack sets one.
    pub ect: Ect,
    /// ECN-capable packets, unless the stack sets them; none: the default of the feedback.
    pub ect_on: Option<EctOn>,
    /// The receiver of the same stack acknowledges at once where marks begin or end, even with AccECN.
    pub ack_changes: bool,
    /// Peers with the same controller deliberately send segments smaller than the MSS.
    pub small_segments: bool,
}

impl EcnNeeds {
    /// The usual requirements.
    pub(crate) const USUAL: Self = Self {
        responder: Responder::Sender,
        feedback: Feedback::Any,
        ect: Ect::Ect0,
        ect_on: None,
        ack_changes: false,
        small_segments: false,
    };
}

/// Stack parameters available to a new controller, besides its own.
#[derive(Clone, Debug)]
pub(crate) struct Stack<'a> {
    /// Parameters shared by several controllers.
    pub(crate) shared: &'a SharedParams,
    /// Largest payload of a segment, bytes.
    pub(crate) mss: u32,
    /// Initial window, segments.
    pub(crate) initial_window: f64,
    /// The window is a whole number of segments.
    pub(crate) whole_segments: bool,
    /// Segments are paced, whatever the controller.
    pub(crate) paced: bool,
    /// ACKs count marks.
    pub(crate) counts_marks: bool,
}

/// A congestion controller. The sender applies each [`Drive`] it returns at once.
pub(crate) trait Control: Sized {
    /// The controller's own parameters.
    type Params: Group;

    /// Features of the stack that it needs besides the window.
    const NEEDS: Needs = Needs::NONE;

    /// Its requirements on ECN, where they depend on its parameters.
    fn ecn(_own: &Self::Params) -> EcnNeeds {
        Self::NEEDS.ecn
    }

    /// Creates the controller of a new connection.
    fn new(own: &Self::Params, stack: &Stack<'_>) -> Self;

    /// Gives the controller its own random stream, before the connection opens; without one it draws from a shared stream.
    fn draw_from(&mut self, _stream: &dyn Fn() -> Rng) {}

    /// Starts a connection with this window.
    fn begin(&self, w: Window) -> Drive {
        w.into()
    }

    /// The handshake took `us` microseconds.
    fn on_handshake(&mut self, w: Window, _now: Time, _us: u32) -> Drive {
        w.into()
    }

    /// Grows the window by an ACK, for a controller that needs no others ([`Control::on_ack`] is not its own).
    fn grow(&mut self, _w: &mut Window, _s: &AckSample) {}

    /// An ACK that delivers data or reports a mark. Where `s.rests`, the window must not grow by it, and the result is ignored.
    #[inline]
    fn on_ack(&mut self, mut w: Window, s: &AckSample) -> Drive {
        if !s.rests {
            self.grow(&mut w, s);
        }
        w.into()
    }

    /// Congestion: sets ssthresh from `base` (the window or the flight, segments). The sender decides how the window gets there.
    fn on_congestion(&mut self, w: Window, kind: Congestion, base: f64) -> Drive;

    /// A timeout, after `on_congestion` if it is for a loss without a response so far. The window will be one segment.
    fn on_rto(&mut self, _w: Window) {}

    /// A segment is declared lost; called before `on_congestion`, `on_rto` and `on_ack` for the same event. Only where
    /// [`Needs::rates`].
    fn on_lost(&mut self, _w: Window, _now: Time, _s: &LostSegment) {}

    /// The last recovery or timeout was spurious; `before` is the window before it, unless an ECN echo had reduced that. The
    /// pacing rate of the result is applied only without [`Drive::reduction`]; otherwise the rate is unchanged.
    fn on_undo(&mut self, w: Window, before: Option<Window>) -> Drive {
        let Some(before) = before else { return w.into() };
        Window { cwnd: w.cwnd.max(before.cwnd), ssthresh: w.ssthresh.max(before.ssthresh) }.into()
    }

    /// The end of an idle period.
    fn on_idle(&mut self, w: Window, _silence: Silence) -> Drive {
        w.into()
    }

    /// Reports its state, in the names of its source: always the same ones, in the same order. The sender reports the window, the
    /// threshold and the pacing rate. A model of the path is also reported as [`packet::Sample::Path`].
    fn probe(&self, out: &mut Reading<'_>);
}
