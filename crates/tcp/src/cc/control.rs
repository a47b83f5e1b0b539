//! The seam between a sender and its congestion controller: what one hears, and what the other does.
//!
//! ```text
//! handshake, ACK, congestion, timeout, silence  --->  controller  --->  Drive { cwnd, ssthresh, pacing_rate, quantum, segment }
//! ```
//!
//! The sender finds losses, shrinks the window to ssthresh during a recovery, and paces; a controller says how large the window is to
//! be. It sees no segment, sets no timer and reads no clock.

use super::shared::SharedParams;
use crate::params::group::Group;
use crate::params::{Ect, EctOn};
use crate::stats::{Model, State};
use packet::Reading;
use units::{Duration, Rng, Time};

/// Congestion window and slow start threshold, segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: f64,
    /// Slow start threshold; infinite until the first congestion event unless given.
    pub ssthresh: f64,
}

impl Window {
    /// Takes the window of an answer.
    #[inline]
    pub(crate) fn follow(&mut self, d: &Drive) {
        *self = Self { cwnd: d.cwnd, ssthresh: d.ssthresh };
    }

    /// Below ssthresh the window grows by what is acknowledged.
    #[inline]
    pub fn slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows by `credit` segments up to ssthresh; returns what is left for congestion avoidance.
    #[inline]
    pub(super) fn grow_in_slow_start(&mut self, credit: f64) -> f64 {
        let used = credit.min(self.ssthresh - self.cwnd);
        self.cwnd += used;
        credit - used
    }
}

/// What a controller wants done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drive {
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Slow start threshold, segments.
    pub ssthresh: f64,
    /// Payload bytes per second at which segments may leave; none: as the window lets them. Heeded where [`Needs::rates`].
    pub pacing_rate: Option<f64>,
    /// Segments that may leave back to back at that rate.
    pub quantum: u32,
    /// Most payload of a new segment, bytes, where it is less than the MSS; 0: the MSS. Heeded where [`Needs::rates`].
    pub segment: u16,
    /// The answer to congestion is ssthresh alone: the sender brings the window down to it, by its reduction. Else the window is the answer.
    pub reduction: bool,
    /// The window is so small on purpose: what is delivered of what is in flight now says nothing of the bandwidth.
    pub probing_delay: bool,
}

impl From<Window> for Drive {
    /// A window and no pace.
    #[inline]
    fn from(w: Window) -> Self {
        Self {
            cwnd: w.cwnd,
            ssthresh: w.ssthresh,
            pacing_rate: None,
            quantum: u32::MAX,
            segment: 0,
            reduction: true,
            probing_delay: false,
        }
    }
}

/// What one ACK tells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckSample {
    /// Moment of the ACK.
    pub now: Time,
    /// Segments newly acknowledged cumulatively (a fraction if they were not full).
    pub acked: f64,
    /// Segments that count for growth: what the ACK newly delivers, cumulatively or by SACK, bounded by `abc_limit`.
    pub credit: f64,
    /// Bytes newly delivered, cumulatively or by SACK.
    pub delivered: u64,
    /// Bytes newly taken for lost.
    pub lost: u64,
    /// Everything is acknowledged that was in flight when the last round ended: a round trip by the count of what is sent.
    pub round_ended: bool,
    /// It tells of a CE mark.
    pub marked: bool,
    /// ECN is in use: the fields about marks mean something.
    pub ecn: bool,
    /// Segments newly delivered. Only where ECN is in use, as the next two.
    pub segments: u32,
    /// How many packets were marked, as this ACK tells it: with AccECN by its counter, pure ACKs among them; else the segments that an
    /// ACK with ECE delivers.
    pub ce_packets: u32,
    /// Payload bytes of them.
    pub ce_bytes: u64,
    /// Round trip measured by this ACK, microseconds.
    pub rtt_us: Option<u32>,
    /// One-way delay that this ACK tells of: its TSval less its TSecr, microseconds modulo 2^32, the offset of the two clocks
    /// included. Only where [`Needs::ack_time`].
    pub one_way_us: Option<u32>,
    /// Smoothed round trip.
    pub srtt: Duration,
    /// Bytes in flight before the ACK, and after it.
    pub flight_before: u64,
    /// Bytes in flight after it; for a controller that owns the window, also after what a loss that it told of has sent again.
    pub in_flight: u64,
    /// Everything below is acknowledged.
    pub una: u64,
    /// Next new byte to send.
    pub next: u64,
    /// The window may not grow by this ACK: it is a duplicate, or the sender brings the window down.
    pub rests: bool,
    /// The window was what limited the sender; it may grow only then.
    pub cwnd_limited: bool,
    /// The window stopped the sender at some time in the round trip. Only for a controller that owns it.
    pub window_filled: bool,
    /// State of the sender; before this ACK, or after it for a controller that owns the window.
    pub state: State,
    /// The delivery rate, if the ACK gives one. Only where [`Needs::rates`], as all below.
    pub rate: Option<RateSample>,
    /// Bytes delivered since the connection began, this ACK included.
    pub total_delivered: u64,
    /// How long pacing holds back what leaves next.
    pub held_back: Duration,
}

/// What an ACK says about the rate of delivery.
///
/// Source: draft-cheng-iccrg-delivery-rate-estimation-00 §3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Bytes delivered over `interval`.
    pub bytes: u64,
    /// The longer of the send and the ACK interval.
    pub interval: Duration,
    /// Bytes that had been delivered when the newest acknowledged segment left.
    pub prior_delivered: u64,
    /// The application, not the network, limited what was sent then.
    pub app_limited: bool,
    /// Round trip of the newest acknowledged segment, microseconds; none if it was sent more than once.
    pub rtt_us: Option<u32>,
    /// The interval is shorter than any round trip: ACKs were compressed, and the rate means nothing.
    pub compressed: bool,
    /// Bytes in flight when the newest acknowledged segment left, itself included.
    pub tx_in_flight: u64,
    /// Bytes taken for lost since then.
    pub lost: u64,
}

/// A segment newly taken for lost.
///
/// Source: draft-ietf-ccwg-bbr-04 §5.5.10.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LostSegment {
    /// Its payload.
    pub(crate) bytes: u64,
    /// Bytes in flight when it left, itself included.
    pub(crate) tx_in_flight: u64,
    /// Bytes taken for lost since then, itself included.
    pub(crate) lost: u64,
    /// The application limited what was sent then.
    pub(crate) app_limited: bool,
    /// Bytes delivered since the connection began.
    pub(crate) total_delivered: u64,
    /// The segment before it was taken for lost at the same moment.
    pub(crate) adjoins: bool,
}

/// What was taken for congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// A loss, found by ACKs, by a timer or by a timeout.
    Loss,
    /// An ECN echo.
    Ecn,
}

/// A silence ends: data follows, and nothing is in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Silence {
    /// Its end.
    pub now: Time,
    /// How long it was.
    pub idle: Duration,
    /// Delivery rates are limited by the application. Only where [`Needs::rates`].
    pub app_limited: bool,
}

/// What a controller asks of its sender. Flows whose controller asks for nothing pay for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The time stamps of ACKs, for [`AckSample::one_way_us`]. Refused without `timestamps`.
    pub ack_time: bool,
    /// Delivery rates, every segment taken for lost (`on_lost`), and a pacer. Refused without SACK.
    pub rates: bool,
    /// It models the path, and sets the window in a recovery, too: it gets each ACK after the sender has acted on it. Others get it before.
    pub owns_window: bool,
}

impl Needs {
    /// Nothing.
    pub const NONE: Self = Self { ack_time: false, rates: false, owns_window: false };
}

/// Who answers CE marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// The sender, by its reduction, once per window.
    Sender,
    /// The controller, by what it makes of the window: the sender neither reduces for an ECN echo nor rests from growth. (It goes on
    /// telling a receiver by CWR, once per window, where the receiver waits for that.)
    Controller,
    /// Nobody.
    Nobody,
}

/// What ACKs must tell of CE marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feedback {
    /// Anything.
    Any,
    /// How many packets were marked: `ecn = false` and `ecn_feedback = "rfc3168"` are refused.
    Counted,
    /// The same by AccECN; with a peer that has it not there is none.
    Accecn,
}

/// What a controller asks of ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnNeeds {
    /// Who answers them.
    pub answers: Answers,
    /// What ACKs must tell.
    pub feedback: Feedback,
    /// How ECN-capable packets say so, unless the stack does.
    pub ect: Ect,
    /// Which packets are ECN-capable, unless the stack says; none: as the feedback has it.
    pub ect_on: Option<EctOn>,
    /// The same stack's receiver acknowledges at once where marks begin or end, with AccECN, too.
    pub ack_changes: bool,
    /// Peers with the same controller send segments smaller than the MSS by plan.
    pub small_segments: bool,
}

impl EcnNeeds {
    /// What most ask for.
    pub const USUAL: Self = Self {
        answers: Answers::Sender,
        feedback: Feedback::Any,
        ect: Ect::Ect0,
        ect_on: None,
        ack_changes: false,
        small_segments: false,
    };
}

/// What a new controller may know of its stack, besides what it takes itself.
#[derive(Clone, Debug)]
pub(crate) struct Stack<'a> {
    /// What several controllers take.
    pub(crate) shared: &'a SharedParams,
    /// Most payload of a segment, bytes.
    pub(crate) mss: u32,
    /// The first window, segments.
    pub(crate) initial_window: f64,
    /// The window is whole segments.
    pub(crate) whole_segments: bool,
    /// Segments are paced, whoever the controller is.
    pub(crate) paced: bool,
    /// ACKs count marks.
    pub(crate) counts_marks: bool,
}

/// A congestion controller. What it answers is done at once.
pub(crate) trait Control: Sized {
    /// The keys that are its own.
    type Params: Group;

    /// What it asks of the sender besides the window.
    const NEEDS: Needs = Needs::NONE;

    /// What it asks of ECN.
    const ECN: EcnNeeds = EcnNeeds::USUAL;

    /// The same, where it depends on parameters.
    fn ecn(_own: &Self::Params) -> EcnNeeds {
        Self::ECN
    }

    /// It takes `beta_ecn` (`abe.rs`).
    const BETA_ECN: bool = false;

    /// The controller of a new connection.
    fn new(own: &Self::Params, stack: &Stack<'_>) -> Self;

    /// Random numbers of its own, before the connection opens; without them it draws from a stream that all share.
    fn draw_from(&mut self, _stream: &dyn Fn() -> Rng) {}

    /// A connection with this window begins.
    fn begin(&self, w: Window) -> Drive {
        w.into()
    }

    /// The handshake took `us` microseconds.
    fn on_handshake(&mut self, w: Window, _now: Time, _us: u32) -> Drive {
        w.into()
    }

    /// An ACK that delivers something or tells of a mark. Where `s.rests`, the window may not grow by it, and the answer is not followed.
    fn on_ack(&mut self, w: Window, s: &AckSample) -> Drive;

    /// Congestion: ssthresh follows from `base` (the window or the flight, segments). How the window gets there is the sender's.
    fn on_congestion(&mut self, w: Window, kind: Congestion, base: f64) -> Drive;

    /// A timeout, after `on_congestion` if it is for a loss that has not been answered yet. The window will be one segment.
    fn on_rto(&mut self, _w: Window) {}

    /// A segment is taken for lost; before `on_congestion`, `on_rto` and the ACK that told. Only where [`Needs::rates`].
    fn on_lost(&mut self, _w: Window, _now: Time, _s: &LostSegment) {}

    /// The last recovery or timeout was for nothing. Only where [`Needs::owns_window`].
    fn on_undo(&mut self, w: Window) -> Drive {
        w.into()
    }

    /// A silence ends.
    fn on_idle(&mut self, w: Window, _silence: Silence) -> Drive {
        w.into()
    }

    /// Tells its state, in the names of its source: always the same ones, in the same order. The window, the threshold and the pace
    /// are the sender's to tell.
    fn probe(&self, out: &mut Reading<'_>);

    /// What it believes of the path.
    fn model(&self) -> Option<Model> {
        None
    }
}
