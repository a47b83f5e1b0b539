//! The interface between a media flow and its rate controller.
//!
//! The flow calls the controller when a frame is captured, when a packet leaves and when feedback arrives. The controller's
//! output is a target for the encoder, a pacing rate, and for some controllers a window that limits the bytes in flight. A
//! controller reads no clock and queues no packets.

use packet::{Ecn, Reading};
use units::{Duration, Time};

/// Properties of the flow that a controller may read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Context {
    /// Minimum encoder target, bit/s of payload.
    pub(super) min: f64,
    /// Initial encoder target, bit/s of payload.
    pub(super) start: f64,
    /// Maximum encoder target, bit/s of payload.
    pub(super) max: f64,
    /// Maximum packet size, bytes on the wire.
    pub(super) packet: f64,
    /// Size of a packet's headers, bytes.
    pub(super) headers: f64,
    pub(super) frame_interval: Duration,
    /// The packets' ECN field.
    pub(super) ecn: Ecn,
}

impl Context {
    /// Returns the share of payload in a full packet.
    pub(super) fn payload_share(&self) -> f64 {
        (self.packet - self.headers) / self.packet
    }
}

/// A packet that is now known to have arrived, or that now counts as lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PacketReport {
    pub(super) sent: Time,
    /// Time of arrival; `None` for a lost packet.
    pub(super) arrived: Option<Time>,
    /// Bytes on the wire.
    pub(super) bytes: u32,
    /// True if the packet arrived with a CE mark.
    pub(super) ce: bool,
}

/// The input of a controller: the new information in a report or, without a report, the packets that now count as lost
/// because they are too old.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feedback<'a> {
    pub(super) now: Time,
    /// Packets that were pending until now and are now known to have arrived or to be lost, in sending order.
    pub(super) packets: &'a [PacketReport],
    /// Smoothed round-trip time, without the receiver's delay between a packet's arrival and its report; zero until a
    /// round trip has been measured.
    pub(super) srtt: Duration,
}

/// A frame that the encoder has just delivered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    /// Bytes of payload.
    pub(super) bytes: f64,
    /// Waiting time of the oldest packet in the sender's queue just before this frame was queued; zero if the queue was
    /// empty.
    pub(super) waiting: Duration,
}

/// A rate controller.
pub(super) trait MediaController {
    fn on_feedback(&mut self, cx: &Context, feedback: &Feedback<'_>);
    fn on_frame(&mut self, _cx: &Context, _frame: &Frame) {}
    /// Handles the departure of a packet. `in_flight` is the number of bytes in flight, including this packet.
    fn on_sent(&mut self, _now: Time, _in_flight: u64) {}
    /// Returns the encoder's target, bit/s of payload.
    fn target(&self, cx: &Context) -> f64;
    /// Returns the pacing rate, bit/s on the wire. If the rate is infinite, each frame is sent immediately.
    fn pacing_rate(&self, cx: &Context) -> f64;
    /// Returns the minimum time from a packet's departure to the next expiry of the pacer's timer.
    fn burst_interval(&self) -> Duration {
        Duration::ZERO
    }
    /// Returns the maximum number of bytes in flight; `None` without a limit.
    fn window(&self) -> Option<u64> {
        None
    }
    /// Returns the controller's estimate of the queueing delay.
    fn queue_delay(&self) -> Option<Duration> {
        None
    }
    fn probe(&self, cx: &Context, out: &mut Reading<'_>);
}
