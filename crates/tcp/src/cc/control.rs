//! The interface between a sender and its congestion controller.
//!
//! ```text
//! handshake, ACK, congestion, timeout, silence --> controller --> Drive { cwnd, ssthresh, pacing_rate, quantum, max_payload }
//! ```
//!
//! The sender detects losses, reduces the window to ssthresh during a recovery, and paces segments. A controller sets the
//! size of the window. It handles no segments and reads no clock. Only external controllers set timers (`foreign.rs`).

use super::shared::SharedParams;
use crate::params::group::Group;
use crate::params::{Ect, EctOn};
use crate::stats::State;
use packet::Reading;
use units::{Duration, Rng, Time};

/// Congestion window and slow start threshold, segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: f64,
    /// Slow start threshold; infinite at first, unless the stack or the controller sets an initial value.
    pub ssthresh: f64,
}

impl Window {
    /// Takes the window and the threshold from `d`.
    #[inline]
    pub(crate) fn follow(&mut self, d: &Drive) {
        *self = Self { cwnd: d.cwnd, ssthresh: d.ssthresh };
    }

    /// Returns true in slow start: the window is below ssthresh.
    #[inline]
    pub(crate) fn slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows the window by up to `credit` segments, but not above ssthresh. Returns the rest of the credit, for use in
    /// congestion avoidance.
    #[inline]
    pub(super) fn grow_in_slow_start(&mut self, credit: f64) -> f64 {
        let used = credit.min(self.ssthresh - self.cwnd);
        self.cwnd += used;
        credit - used
    }
}

/// A controller's output: window, threshold and pacing rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drive {
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Slow start threshold, segments.
    pub ssthresh: f64,
    /// Pacing rate, payload bytes per second; `None` if segments are not paced. Used only if [`Needs::rates`] is set.
    pub pacing_rate: Option<f64>,
    /// Number of segments in a burst, which leave back to back, if segments are paced. Used only if [`Needs::rates`]
    /// is set.
    pub quantum: u32,
    /// Maximum payload of a new segment in bytes, if smaller than the MSS; 0 stands for the MSS. Used only if [`Needs::rates`] is
    /// set.
    pub max_payload: u16,
    /// If true, the sender itself reduces the window, by the rules of the stack: it reduces the window to ssthresh
    /// after congestion, and restarts it after an idle period. If false, only the controller sets `cwnd`, except after
    /// a timeout or a lost SYN.
    pub reduction: bool,
    /// True if the sender applies this output even when [`AckSample::rests`] is set. A controller sets this field if,
    /// during a recovery, it reduces the window itself or only updates the pacing rate.
    pub converges: bool,
    /// True if the controller keeps the window small on purpose. The delivery rates of the data in flight then do not
    /// reflect the bandwidth.
    pub probing_delay: bool,
}

impl From<Window> for Drive {
    /// Builds the output of a controller that sets only the window and the threshold, and does not set a pacing rate.
    #[inline]
    fn from(w: Window) -> Self {
        Self {
            cwnd: w.cwnd,
            ssthresh: w.ssthresh,
            pacing_rate: None,
            quantum: u32::MAX,
            max_payload: 0,
            reduction: true,
            converges: false,
            probing_delay: false,
        }
    }
}

/// The information in one ACK that controllers use.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckSample {
    /// Arrival time of the ACK.
    pub now: Time,
    /// Segments newly covered by the cumulative acknowledgment. A partly filled segment counts as a fraction.
    pub acked: f64,
    /// Number of newly delivered segments that count for the growth of the window. Segments may be delivered
    /// cumulatively or by SACK; at most `abc_limit` segments count per ACK.
    pub credit: f64,
    /// Bytes newly delivered, cumulatively or by SACK.
    pub delivered: u64,
    /// Bytes newly declared lost.
    pub lost: u64,
    /// True if all data that was in flight when the last round ended is now acknowledged. A round is one round trip, measured by
    /// sequence numbers.
    pub round_ended: bool,
    /// True if the ACK reports a CE mark.
    pub marked: bool,
    /// True if ECN is in use; only then are the fields about marks valid.
    pub ecn: bool,
    /// Segments newly delivered. This field and the next two are set only if ECN is in use.
    pub segments: u32,
    /// CE-marked packets reported by this ACK. With AccECN, this is the increase of the receiver's packet counter,
    /// which also counts marked pure ACKs. Without AccECN, all segments delivered by an ACK with ECE count as marked.
    pub ce_packets: u32,
    /// Payload bytes of the packets in `ce_packets`; an estimate if AccECN is used without its option.
    pub ce_bytes: u64,
    /// Round-trip time measured by this ACK, microseconds.
    pub rtt_us: Option<u32>,
    /// One-way delay reported by this ACK: its TSval minus its TSecr, microseconds modulo 2^32. It includes the offset between
    /// the two clocks. Set only if [`Needs::ack_time`] is set.
    pub one_way_us: Option<u32>,
    /// Smoothed round-trip time, SRTT.
    pub srtt: Duration,
    /// Bytes in flight before the ACK.
    pub flight_before: u64,
    /// Bytes in flight when the controller runs. [`Turn`] determines whether the controller runs before or after the
    /// sender responds to losses. With [`Turn::Repair`] and without pacing, this number includes the retransmission that
    /// begins a recovery, except with FACK.
    pub in_flight: u64,
    /// SND.UNA: all bytes below it are acknowledged.
    pub una: u64,
    /// SND.NXT: the next new byte to send.
    pub next: u64,
    /// True if the window must not grow on this ACK, because it is a duplicate or the sender is reducing the window.
    /// Always false with [`Turn::Repair`].
    pub rests: bool,
    /// True if the window limited the sender, by the rule of `cwnd_validation`; always true with `off`. If false, the window
    /// must not grow.
    pub cwnd_limited: bool,
    /// True if the window stopped the sender at some time in the current round trip.
    pub window_filled: bool,
    /// State of the sender before it responds to losses and marks; with [`Turn::Repair`], its state after the response
    /// to losses.
    pub state: State,
    /// Delivery rate, if the ACK yields a sample. This field and all below are set only if [`Needs::rates`] is set.
    pub rate: Option<RateSample>,
    /// Bytes delivered since the connection began, including those of this ACK.
    pub total_delivered: u64,
    /// Time until the pacer allows the next segment to leave.
    pub held_back: Duration,
}

/// A delivery rate sample. It is taken from the newest delivered segment: among the segments that the ACK delivers,
/// cumulatively or by SACK, the one that was sent last.
///
/// Source: draft-cheng-iccrg-delivery-rate-estimation-00 §3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Bytes delivered over `interval`.
    pub bytes: u64,
    /// The time over which the bytes were sent or the time over which they were acknowledged, whichever is longer.
    pub interval: Duration,
    /// Bytes that had been delivered when the newest delivered segment was sent.
    pub prior_delivered: u64,
    /// True if the application, not the network, limited the sending rate when the newest delivered segment was sent,
    /// or if the controller kept the window small on purpose at that time ([`Drive::probing_delay`]).
    pub app_limited: bool,
    /// Round-trip time, microseconds. With `rtt_source = "echo"`: that of the newest delivered segment; `None` if it
    /// was retransmitted. With `send-time`: the same as [`AckSample::rtt_us`].
    pub rtt_us: Option<u32>,
    /// True if the interval is shorter than the minimum RTT. Then the ACKs were compressed, and the rate is invalid.
    pub compressed: bool,
    /// Bytes in flight when the newest delivered segment was sent, including this segment.
    pub tx_in_flight: u64,
    /// Bytes declared lost since the newest delivered segment was sent.
    pub lost: u64,
}

/// A segment newly declared lost.
///
/// Source: draft-ietf-ccwg-bbr-06 §5.5.10.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LostSegment {
    /// Payload bytes.
    pub bytes: u64,
    /// Bytes in flight when the segment was sent, including the segment.
    pub tx_in_flight: u64,
    /// Bytes declared lost since the segment was sent, including the segment.
    pub lost: u64,
    /// True if the sending rate was limited when the segment was sent, as in [`RateSample::app_limited`].
    pub app_limited: bool,
    /// Bytes delivered since the connection began.
    pub total_delivered: u64,
    /// True if the preceding segment was declared lost at the same time.
    pub adjoins: bool,
}

/// A congestion signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// A loss, detected from ACKs or by a timer (for example, the retransmission timer).
    Loss,
    /// An ECN echo.
    Ecn,
}

/// The end of an idle period: there is data to send again, and nothing is in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Silence {
    /// End of the idle period.
    pub now: Time,
    /// Time since the last transmission or, in stacks that measure idle time from ACKs, since all data was
    /// acknowledged.
    pub idle: Duration,
    /// True if delivery rates are currently limited, as in [`RateSample::app_limited`]. Set only if [`Needs::rates`] is
    /// set.
    pub app_limited: bool,
}

/// The features of the stack that a controller uses. The stack enables them only for flows whose controller needs them.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Needs {
    /// True if the controller needs the time stamps of ACKs, from which [`AckSample::one_way_us`] is derived. Such a controller
    /// is refused without `timestamps`.
    pub ack_time: bool,
    /// True if the controller needs delivery rates, a report of every lost segment (`on_lost`), and a pacer. Such a controller is
    /// refused without SACK.
    pub rates: bool,
    /// True if the controller uses the parameter `beta`. With any other controller, a stack that sets `beta` is
    /// refused.
    pub beta: bool,
    /// True if the controller uses the parameter `beta_ecn` (see `abe.rs`). With any other controller, a stack that
    /// sets `beta_ecn` is refused.
    pub beta_ecn: bool,
    /// True if the controller has a timer. Only external controllers have one.
    pub timer: bool,
    /// The stage of ACK processing at which the controller runs.
    pub turn: Turn,
    /// Requirements on ECN.
    pub ecn: EcnNeeds,
}

impl Needs {
    /// No features.
    pub(crate) const NONE: Self = Self {
        ack_time: false,
        rates: false,
        beta: false,
        beta_ecn: false,
        timer: false,
        turn: Turn::Growth,
        ecn: EcnNeeds::USUAL,
    };
}

/// The stage of ACK processing at which a controller runs. The stage matters for an ACK that reports a loss. With
/// `Growth`, such an ACK may first grow the window, and the sender then reduces the grown window. `Repair` is for
/// controllers that model the path, such as BBR: they need the sender's state, the bytes in flight and the delivery
/// rate after the sender's response to the loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The controller runs before the sender responds to losses.
    Growth,
    /// The controller runs after the sender has responded to losses.
    Repair,
}

/// The part of the stack that responds to CE marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Responder {
    /// The sender, which reduces the window at most once per window of data.
    Sender,
    /// The controller, which sets the window itself. On an ECN echo, the sender neither reduces the window nor stops
    /// its growth. The sender still sends CWR once per window, unless the connection uses AccECN.
    Controller,
    /// Marks are ignored.
    None,
}

/// The level of detail at which ACKs must report CE marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Feedback {
    /// Any feedback suffices.
    Any,
    /// ACKs should report the number of marked packets. `ecn = false` and `ecn_feedback = "rfc3168"` are refused. A peer
    /// may still use RFC 3168's feedback.
    Counted,
    /// ACKs must report the number of marked packets through AccECN. If the peer supports only RFC 3168, this end sends
    /// no ECN-capable packets, but still reports marks on the peer's packets.
    Accecn,
}

/// A controller's requirements on ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EcnNeeds {
    /// The part of the stack that responds to marks.
    pub responder: Responder,
    /// The level of detail at which ACKs must report marks.
    pub feedback: Feedback,
    /// Default ECN codepoint of ECN-capable packets; a parameter of the stack may replace this default.
    pub ect: Ect,
    /// Default set of packets sent as ECN-capable. `None` stands for [`EctOn::Established`] with AccECN, and for
    /// [`EctOn::Data`] with other feedback.
    pub ect_on: Option<EctOn>,
    /// True if a receiver with this controller sends an ACK at once when marks on arriving packets end, even if the
    /// connection uses AccECN. (AccECN itself requires an ACK at once only when marks begin. DCTCP's feedback requires
    /// both.)
    pub ack_changes: bool,
    /// True if peers with the same controller may deliberately send segments smaller than the MSS.
    pub small_segments: bool,
}

impl EcnNeeds {
    /// The requirements of a controller with no special response to marks.
    pub(crate) const USUAL: Self = Self {
        responder: Responder::Sender,
        feedback: Feedback::Any,
        ect: Ect::Ect0,
        ect_on: None,
        ack_changes: false,
        small_segments: false,
    };
}

/// The properties of a stack that a new controller receives in addition to the controller's own parameters.
#[derive(Clone, Debug)]
pub(crate) struct Stack<'a> {
    /// Parameters shared by several controllers.
    pub(crate) shared: &'a SharedParams,
    /// Largest payload of a segment, bytes.
    pub(crate) mss: u32,
    /// Initial window, segments.
    pub(crate) initial_window: f64,
    /// True if the window is a whole number of segments.
    pub(crate) whole_segments: bool,
    /// True if segments are paced regardless of the controller.
    pub(crate) paced: bool,
    /// True if `ecn_feedback` selects ACKs that report the number of marks, whether or not ECN is in use.
    pub(crate) counts_marks: bool,
}

/// The connection to which a controller belongs.
pub struct Origin<'a> {
    /// Returns the controller's own random stream.
    pub stream: &'a dyn Fn() -> Rng,
    /// Returns the name of this end of the connection, for use in messages.
    pub name: &'a dyn Fn() -> String,
}

/// Returns the window and the threshold after a reduction is undone: for each, the larger of its value in `w` and its
/// value in `before`, the window before the reduction. If `before` is unknown, returns `w`.
pub(super) fn undone(w: Window, before: Option<Window>) -> Drive {
    let Some(before) = before else { return w.into() };
    Window { cwnd: w.cwnd.max(before.cwnd), ssthresh: w.ssthresh.max(before.ssthresh) }.into()
}

/// A congestion controller. The sender applies each [`Drive`] as soon as it is returned, with the exceptions stated at
/// `on_ack` and `on_undo`.
pub(crate) trait Control: Sized {
    type Params: Group;

    /// The features of the stack that the controller needs besides the window.
    const NEEDS: Needs = Needs::NONE;

    /// Returns the requirements on ECN, which may depend on the parameters.
    fn ecn(_own: &Self::Params) -> EcnNeeds {
        Self::NEEDS.ecn
    }

    /// Returns the features of the stack that the controller needs with these parameters.
    fn needs(own: &Self::Params) -> Needs {
        Needs { ecn: Self::ecn(own), ..Self::NEEDS }
    }

    /// Creates the controller of a new connection.
    fn new(own: &Self::Params, stack: &Stack<'_>) -> Self;

    /// Provides the controller with a random stream of its own and the name of its end of the connection, before the
    /// connection opens. Without this call, built-in controllers draw random numbers from a stream with a fixed seed.
    fn introduce(&mut self, _origin: &Origin<'_>) {}

    /// Sets the current time for the next calls of `on_congestion`, `on_rto` and `on_undo`.
    fn at(&mut self, _now: Time) {}

    /// Starts a connection with window `w`.
    fn begin(&mut self, w: Window) -> Drive {
        w.into()
    }

    /// Processes the round-trip time of the handshake, `us` microseconds. With a result of `None`, the window and the
    /// controller's pacing rate stay as they are.
    fn on_handshake(&mut self, _w: Window, _now: Time, _us: u32) -> Option<Drive> {
        None
    }

    /// Updates the window after an ACK. The default of [`Control::on_ack`] calls this method unless `s.rests` is true.
    fn grow(&mut self, _w: &mut Window, _s: &AckSample) {}

    /// Processes an ACK that delivers data or carries an ECN echo. If `s.rests` is true, the window must not grow, and
    /// the sender uses only [`Drive::probing_delay`] of the result, unless [`Drive::converges`] is set in it.
    #[inline]
    fn on_ack(&mut self, mut w: Window, s: &AckSample) -> Drive {
        if !s.rests {
            self.grow(&mut w, s);
        }
        w.into()
    }

    /// Responds to congestion: sets ssthresh from `base`, a number of segments. `base` is the window (at most
    /// `window_clamp`) or, if `reduce_from_flight` is set, the outstanding data if that is less. If
    /// [`Drive::reduction`] is true in the result, the sender then reduces the window to ssthresh, except after a
    /// timeout.
    fn on_congestion(&mut self, w: Window, kind: Congestion, base: f64) -> Drive;

    /// Processes a timeout, before the window becomes one segment plus the data still in flight. If the timeout
    /// requires a reduction, the sender calls `on_congestion` first. A timeout usually requires no reduction if the
    /// window has already been reduced for the same loss.
    fn on_rto(&mut self, _w: Window) {}

    /// Processes a segment declared lost. Called only if [`Needs::rates`] is set. If an ACK or the end of a reordering
    /// window reveals the loss, this call precedes `on_congestion` and `on_ack`. After a timeout, it follows
    /// `on_congestion` and `on_rto`, and `w` is still the window before it becomes one segment plus the data still in
    /// flight.
    fn on_lost(&mut self, _w: Window, _now: Time, _s: &LostSegment) {}

    /// Undoes the reduction by the last recovery or timeout, which was spurious. `before` is the window before this
    /// reduction, with ssthresh raised to at least 3/4 of `cwnd`. It is `None` if an ECN echo had also reduced the
    /// window. The sender always takes the window and the threshold from the result. If [`Drive::reduction`] is false
    /// in the result, the sender also takes the pacing rate.
    fn on_undo(&mut self, w: Window, before: Option<Window>) -> Drive {
        undone(w, before)
    }

    /// Processes the end of an idle period. With a result of `None`, the sender keeps the pacing rate and the size of
    /// segments. It restarts the window by the rules of the stack, unless [`Drive::reduction`] is false in the result.
    fn on_idle(&mut self, _w: Window, _silence: Silence) -> Option<Drive> {
        None
    }

    /// Reports the controller's state variables, under the names used in the document or code that is cited as the
    /// controller's source. The names and their order never change. The sender reports the window, the threshold and
    /// the pacing rate. A controller that models the path also reports its model, as [`packet::Sample::Path`].
    fn probe(&self, out: &mut Reading<'_>);
}
