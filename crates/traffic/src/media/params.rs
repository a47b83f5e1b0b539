//! The parameters of a media flow, and the list of its controllers.

use super::control::{Context, Feedback, Frame, MediaController};
use super::fixed::Fixed;
use super::gcc::{Gcc, GccParams};
use super::screamv2::{ScreamV2, ScreamV2Params};
use crate::{Direction, cbr};
use packet::Reading;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Problem, positive, require, within};

/// Size of a packet's headers, bytes: IPv4 20, UDP 8, RTP 12.
pub(super) const HEADERS: u64 = 40;
/// Maximum number of packets in a frame. It bounds the number of packets sent at one time.
const MAX_PACKETS: f64 = 1000.0;

/// The rate controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[serde(remote = "Self")]
#[schemars(transform = units::words::<Control>)]
pub enum Control {
    /// No controller: the encoder keeps `start_rate`, and frames leave at once.
    Fixed,
    /// Google Congestion Control, which WebRTC uses: its rate follows the delay gradient and losses.
    Gcc(GccParams),
    /// SCReAM version 2: its window follows losses, ECN marks and the queueing delay.
    #[serde(rename = "screamv2")]
    ScreamV2(ScreamV2Params),
}

units::word_or_table!(Control);

/// The state of any controller.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Controller {
    Fixed(Fixed),
    Gcc(Box<Gcc>),
    ScreamV2(Box<ScreamV2>),
}

impl Control {
    fn validate(&self) -> Result<(), Problem> {
        match self {
            Self::Fixed => Ok(()),
            Self::Gcc(p) => p.validate().map_err(|e| e.under("gcc")),
            Self::ScreamV2(p) => p.validate().map_err(|e| e.under("screamv2")),
        }
    }

    pub(super) fn build(&self, cx: &Context) -> Controller {
        match self {
            Self::Fixed => Controller::Fixed(Fixed),
            Self::Gcc(p) => Controller::Gcc(Box::new(Gcc::new(p, cx))),
            Self::ScreamV2(p) => Controller::ScreamV2(Box::new(ScreamV2::new(p, cx))),
        }
    }
}

/// Calls a method of the controller in use.
macro_rules! any {
    ($self:expr, $c:ident => $call:expr) => {
        match $self {
            Controller::Fixed($c) => $call,
            Controller::Gcc($c) => $call,
            Controller::ScreamV2($c) => $call,
        }
    };
}

impl MediaController for Controller {
    fn on_feedback(&mut self, cx: &Context, feedback: &Feedback<'_>) {
        any!(self, c => c.on_feedback(cx, feedback));
    }
    fn on_frame(&mut self, cx: &Context, frame: &Frame) {
        any!(self, c => c.on_frame(cx, frame));
    }
    fn on_sent(&mut self, now: units::Time, in_flight: u64) {
        any!(self, c => c.on_sent(now, in_flight));
    }
    fn target(&self, cx: &Context) -> f64 {
        any!(self, c => c.target(cx))
    }
    fn pacing_rate(&self, cx: &Context) -> f64 {
        any!(self, c => c.pacing_rate(cx))
    }
    fn burst_interval(&self) -> Duration {
        any!(self, c => c.burst_interval())
    }
    fn window(&self) -> Option<u64> {
        any!(self, c => c.window())
    }
    fn queue_delay(&self) -> Option<Duration> {
        any!(self, c => c.queue_delay())
    }
    fn probe(&self, cx: &Context, out: &mut Reading<'_>) {
        any!(self, c => c.probe(cx, out));
    }
}

/// A pause of the sender. No frame is captured from the time `from` until just before the time `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// Beginning of the pause, from the start of the run.
    pub from: Duration,
    /// End of the pause, from the start of the run.
    pub to: Duration,
}

/// Live video in one direction. The encoder follows a rate controller, which receives feedback from the other
/// direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MediaParams {
    /// Controller of the encoder's rate. Default `gcc`.
    pub control: Control,
    /// Direction of the video. Default `up`.
    pub direction: Direction,
    /// Smallest rate of the encoder, bit/s of payload. Default 150kbit.
    pub min_rate: BitRate,
    /// Initial rate of the encoder, bit/s of payload. Default 300kbit.
    pub start_rate: BitRate,
    /// Largest rate of the encoder, bit/s of payload. Default 1500kbit.
    pub max_rate: BitRate,
    /// Frames per second. Default 30.
    pub frame_rate: f64,
    /// Time between key frames, rounded to whole frames. If this key is not set, only the first frame of the video and
    /// the first frame after each pause are key frames. Default none.
    pub key_interval: Option<Duration>,
    /// Size of a key frame as a multiple of the mean size. With `key_interval`, the other frames are smaller than the
    /// mean, so that the mean rate stays at the target. Default 3.
    pub key_size: f64,
    /// Standard deviation of the size of frames, as a fraction of the mean size. Default 0.1.
    pub size_spread: f64,
    /// Time after which the encoder follows a new target rate of the controller. Default 100ms.
    pub encoder_lag: Duration,
    /// Largest packet in bytes on the wire, including 40 bytes of headers (IPv4, UDP, RTP). Default 1200.
    pub packet: Bytes,
    /// Longest time from the arrival of a packet until the receiver reports it. The receiver also sends a report at the
    /// end of a frame, and when 16 packets are unreported. Default 40ms.
    pub feedback_interval: Duration,
    /// While a packet of an earlier frame has waited at the sender for longer than this, new frames are skipped. Default
    /// 500ms.
    pub queue_limit: Duration,
    /// Pauses of the sender, in chronological order. Default none.
    pub pauses: Vec<Pause>,
}

impl Default for MediaParams {
    fn default() -> Self {
        Self {
            control: Control::Gcc(GccParams::default()),
            direction: Direction::Up,
            min_rate: BitRate(150_000),
            start_rate: BitRate(300_000),
            max_rate: BitRate(1_500_000),
            frame_rate: 30.0,
            key_interval: None,
            key_size: 3.0,
            size_spread: 0.1,
            encoder_lag: Duration::from_millis(100),
            packet: Bytes(1200),
            feedback_interval: Duration::from_millis(40),
            queue_limit: Duration::from_millis(500),
            pauses: Vec::new(),
        }
    }
}

impl MediaParams {
    pub(super) fn frame_interval(&self) -> Duration {
        Duration::from_secs_f64(1.0 / self.frame_rate)
    }

    /// Returns the number of frames from one key frame to the next.
    pub(super) fn key_frames(&self) -> Option<u64> {
        self.key_interval.map(|interval| (interval.secs() * self.frame_rate + 0.5) as u64)
    }

    /// Returns the mean number of packets in a frame at the maximum rate, rounded up.
    pub(super) fn packets_per_frame(&self) -> f64 {
        (self.max_rate.0 as f64 / (8.0 * self.frame_rate * (self.packet.0 - HEADERS) as f64)).ceil()
    }

    pub(super) fn check(&self) -> Result<(), Problem> {
        within("frame_rate", self.frame_rate, 1.0, 240.0)?;
        positive("min_rate", self.min_rate)?;
        let message = format!("{} is below min_rate, {}", self.start_rate, self.min_rate);
        require(self.start_rate >= self.min_rate, "start_rate", message)?;
        let message = format!("{} is below start_rate, {}", self.max_rate, self.start_rate);
        require(self.max_rate >= self.start_rate, "max_rate", message)?;
        within("packet", self.packet, Bytes(100), cbr::MAX_SIZE)?;
        within("key_size", self.key_size, 1.0, 100.0)?;
        within("size_spread", self.size_spread, 0.0, 0.5)?;
        if let Some(n) = self.key_frames() {
            let message = format!(
                "{} is {n} frames, too few for key frames of {} times the mean size",
                self.key_interval.unwrap_or_default(),
                self.key_size
            );
            require(n as f64 > self.key_size, "key_interval", message)?;
        }
        let packets = 1.9 * self.key_size * self.packets_per_frame();
        let message =
            format!("{} may give a frame of {packets:.0} packets; at most {MAX_PACKETS} are valid", self.max_rate);
        require(packets <= MAX_PACKETS, "max_rate", message)?;
        positive("feedback_interval", self.feedback_interval)?;
        positive("queue_limit", self.queue_limit)?;
        for (i, pause) in self.pauses.iter().enumerate() {
            let before = if i == 0 { Duration::ZERO } else { self.pauses[i - 1].to };
            let message = format!("{} is before the end of the previous pause, {before}", pause.from);
            require(pause.from >= before, &format!("pauses.{i}.from"), message)?;
            let message = format!("{} is not after the beginning of the pause, {}", pause.to, pause.from);
            require(pause.to > pause.from, &format!("pauses.{i}.to"), message)?;
        }
        self.control.validate().map_err(|e| e.under("control"))
    }
}
