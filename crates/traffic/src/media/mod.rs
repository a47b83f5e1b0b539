//! Live video whose encoder follows a rate controller, as in a video conference or a cloud game.
//!
//! ```text
//!   encoder --frames--> packets of at most `packet` --pacer (rate, window)--> network --> receiver --> picture
//!      ^ target                                                                              |
//!   controller  <---- packets newly arrived, lost or marked; round-trip time <---- reports --+
//! ```
//!
//! A packet counts as lost in three cases. First, a report shows that the packet has not arrived, but that a packet at
//! least three numbers higher has. Second, a report begins with a later packet, and no earlier report showed the
//! packet's arrival. Third, no report has shown its arrival within max(1 s, 4 srtt). Packets are not retransmitted. A
//! frame is shown if all its packets arrive before a later frame is complete, even if earlier frames are missing (a
//! real decoder also needs the earlier frames).
//!
//! Source: RFC 8888 (feedback), RFC 8867 §4 (the parts of such a flow); each controller's file names its own source. Departs:
//! RTP and RTCP are modelled by sizes and contents, not by bytes; one stream per flow, no audio, no retransmission, no error
//! correction.

mod control;
mod fixed;
mod gcc;
mod params;
mod receiver;
mod screamv2;
mod sender;
mod source;

pub(crate) use params::MediaParams;

use crate::demand::times;
use crate::picture::{Arrived, Picture};
use crate::{Application, Demand, Host, Params, Role};
use control::{Context, Frame, MediaController};
use packet::{Ecn, Kind, Measure, Reading};
use params::{Controller, HEADERS, Pause};
use receiver::{Arrival, Receiver, Report};
use sender::Sender;
use source::FrameSource;
use std::collections::{BTreeMap, VecDeque};
use units::{Duration, Problem, Time};

/// Minimum time between two rows in the series. A row ends when the timer of a frame fires.
const ROW: Duration = Duration::from_millis(100);

/// A packet is removed from `travelling` when a packet arrives whose number is higher by more than this.
const OVERTAKEN: u64 = 65_536;
/// A packet is also removed from `travelling` when a packet leaves whose number is higher by this, even if no newer
/// packet has arrived.
const HELD: u64 = 4 * OVERTAKEN;

/// Timer tokens.
const FRAME: u64 = 0;
const PACE: u64 = 1;
const REPORT: u64 = 2;

impl Params for MediaParams {
    type App = Media;

    fn validate(&self) -> Result<(), Problem> {
        self.check()
    }

    fn demand(&self, span: Duration, _: Duration) -> Demand {
        // `packets_per_frame` assumes full packets. 1 is added because the last packet of a frame may not be full. The
        // factor 2 is for the reports: the receiver sends at most one per packet
        Demand::datagrams(2.0 * (self.packets_per_frame() + 1.0) * times(span, self.frame_interval(), None))
    }

    fn start_spread(&self) -> Duration {
        self.frame_interval()
    }

    fn build(&self) -> Media {
        let cx = Context {
            min: self.min_rate.0 as f64,
            start: self.start_rate.0 as f64,
            max: self.max_rate.0 as f64,
            packet: self.packet.0 as f64,
            headers: HEADERS as f64,
            frame_interval: self.frame_interval(),
            ecn: Ecn::NotEct,
        };
        let mut source = FrameSource::new(self.frame_rate, cx.start);
        (source.key_frames, source.key_size) = (self.key_frames(), self.key_size);
        (source.spread, source.lag) = (self.size_spread, self.encoder_lag);
        Media {
            source: Box::new(source),
            controller: self.control.build(&cx),
            cx,
            sender: Box::default(),
            pace_at: Time::NEVER,
            travelling: BTreeMap::new(),
            receiver: Receiver::new(self.feedback_interval),
            frame_ends: VecDeque::new(),
            reports: VecDeque::new(),
            next_report: 0,
            picture: Picture::default(),
            count: Count::default(),
            row: Row::default(),
            rows: Vec::new(),
            params: Box::new(self.clone()),
        }
    }
}

/// Counts for the summary, since the start of the flow.
#[derive(Clone, Debug, Default, PartialEq)]
struct Count {
    skipped: u64,
    /// Delays of the whole frames, in the order of their arrival.
    delays: Vec<Duration>,
    /// Bytes of payload that have arrived.
    payload: u64,
    /// The last packet that arrived. Before the first packet: the start of the flow, with a delay of 0.
    last: Arrived,
    /// Time from the start of the flow to the last packet, without the pauses.
    time: Duration,
    marked: u64,
    /// Sum of the controller's targets, bit/s: one target for each of `targets` frames, including skipped frames.
    sum_of_targets: f64,
    targets: u64,
}

impl Count {
    /// Returns percentile `p` (nearest rank) of the delays of whole frames in ms; NaN if there are none.
    fn delay(&self, p: usize) -> f64 {
        let mut delays = self.delays.clone();
        match (delays.len() * p).div_ceil(100) {
            0 => f64::NAN,
            rank => delays.select_nth_unstable(rank - 1).1.millis(),
        }
    }
}

/// Returns the total time of the pauses from the start of the run to `at`.
fn paused(pauses: &[Pause], at: Time) -> Duration {
    Duration(pauses.iter().map(|p| Time(p.to.0).min(at).since(Time(p.from.0)).0).sum())
}

/// A row of the series, while it is being filled.
#[derive(Clone, Debug, Default, PartialEq)]
struct Row {
    start: Time,
    sent: u64,
    received: u64,
    /// Maximum delay of the whole frames that arrived in this row's interval.
    delay: Option<Duration>,
    lost: u64,
}

/// Column names of the series.
const COLUMNS: [&str; 9] = [
    "t_s",
    "target_mbit",
    "sent_mbit",
    "received_mbit",
    "frame_delay_ms",
    "window_bytes",
    "qdelay_ms",
    "srtt_ms",
    "lost_packets",
];

/// The application with [`MediaParams`].
#[derive(Clone, Debug, PartialEq)]
pub struct Media {
    params: Box<MediaParams>,
    cx: Context,
    source: Box<FrameSource>,
    controller: Controller,
    sender: Box<Sender>,
    /// Time of the pacer's pending timer.
    pace_at: Time,
    /// Departure time and payload of each packet that has left and may still arrive. The sender counts late packets as
    /// lost, but this list keeps them.
    travelling: BTreeMap<u64, (Time, u64)>,
    receiver: Receiver,
    /// Numbers of the last packets of captured frames. A number is removed when a packet with a higher number arrives.
    frame_ends: VecDeque<u64>,
    /// Reports in flight, each with its number.
    reports: VecDeque<(u64, Report)>,
    next_report: u64,
    picture: Picture,
    count: Count,
    row: Row,
    rows: Vec<[f64; COLUMNS.len()]>,
}

impl Media {
    /// Captures a frame, or skips it if the oldest packet in the sender's queue has waited for longer than `queue_limit`.
    fn capture<H: Host>(&mut self, host: &mut H) {
        let now = host.now();
        let target = self.controller.target(&self.cx);
        self.count.sum_of_targets += target;
        self.count.targets += 1;
        let waiting = self.sender.waiting(now);
        if waiting > self.params.queue_limit {
            self.count.skipped += 1;
            return;
        }
        let bytes = self.source.frame(now, target, host.rng());
        let numbers = self.sender.enqueue(now, bytes, self.params.packet.0 - HEADERS);
        self.picture.sent(numbers, now);
        self.frame_ends.push_back(numbers[1] - 1);
        self.controller.on_frame(&self.cx, &Frame { bytes: bytes as f64, waiting });
    }

    /// Handles the timer of a frame: captures the frame, unless the flow pauses or has stopped, and sends the packets that
    /// are due. Then sets the next timer, unless the flow has stopped and no packet waits.
    fn frame<H: Host>(&mut self, host: &mut H) {
        let now = host.now();
        let stopped = now >= host.stop();
        if stopped && self.sender.idle() {
            return;
        }
        if !stopped && now.since(self.row.start) >= ROW {
            self.finish_row(now);
        }
        // some losses are detected by time alone, without a report
        self.feedback(now, None);
        let pause = self.params.pauses.iter().find(|p| p.from.0 <= now.0 && now.0 < p.to.0);
        if stopped {
            // the frames captured before the stop still leave
            host.late_timer(now + self.params.frame_interval(), FRAME);
        } else if let Some(pause) = pause {
            let end = Time(pause.to.0);
            self.source.restart();
            host.late_timer(end, FRAME);
        } else {
            self.capture(host);
            host.late_timer(now + self.params.frame_interval(), FRAME);
        }
        self.send(host);
    }

    /// Sends the packets that the window and the pacer allow now, and sets the pacer's timer for the next packet.
    fn send<H: Host>(&mut self, host: &mut H) {
        let now = host.now();
        // bound: each iteration sends a packet
        while let Some(bytes) = self.sender.next(now, self.controller.window()) {
            let rate = self.controller.pacing_rate(&self.cx);
            let number = self.sender.sent(now, rate, self.controller.burst_interval());
            host.datagram(0, self.params.direction.sender(), bytes, number);
            let payload = u64::from(bytes) - HEADERS;
            self.travelling.insert(number, (now, payload));
            self.travelling.remove(&number.wrapping_sub(HELD));
            self.row.sent += payload;
            self.controller.on_sent(now, self.sender.in_flight);
        }
        if let Some(at) = self.sender.wake_at(now, self.controller.burst_interval(), self.controller.window())
            && at != self.pace_at
        {
            self.pace_at = at;
            host.late_timer(at, PACE);
        }
    }

    /// Passes a report to the controller; without a report, passes only the packets that count as lost because they are too
    /// old.
    fn feedback(&mut self, now: Time, report: Option<&Report>) {
        let packets = self.sender.feedback(now, report);
        if packets.is_empty() {
            return;
        }
        self.row.lost += packets.iter().filter(|p| p.arrived.is_none()).count() as u64;
        let srtt = self.sender.srtt.unwrap_or_default();
        self.controller.on_feedback(&self.cx, &control::Feedback { now, packets: &packets, srtt });
    }

    fn report<H: Host>(&mut self, host: &mut H) {
        let report = self.receiver.report(host.now());
        host.datagram(0, self.params.direction.receiver(), report.size(), self.next_report);
        self.reports.push_back((self.next_report, report));
        self.next_report += 1;
    }

    /// Handles a video packet at the receiver.
    fn packet_arrived<H: Host>(&mut self, number: u64, ecn: Ecn, host: &mut H) {
        let now = host.now();
        let paused = |at| paused(&self.params.pauses, at);
        if let Some((sent, payload)) = self.travelling.remove(&number) {
            let arrived = Arrived { at: now, delay: now.since(sent) };
            self.count.time += self.count.last.gap(arrived, paused);
            self.count.last = arrived;
            self.count.payload += payload;
            self.row.received += payload;
        }
        // bound: each iteration removes a packet
        while let Some(oldest) = self.travelling.first_entry().filter(|oldest| oldest.key() + OVERTAKEN < number) {
            oldest.remove();
        }
        self.count.marked += u64::from(ecn == Ecn::Ce);
        if let Some(delay) = self.picture.arrived(number, now, host.stop(), self.params.frame_interval(), paused) {
            self.count.delays.push(delay);
            self.row.delay = self.row.delay.max(Some(delay));
        }
        // a packet of a later frame has arrived, so the last packets of earlier frames cannot trigger a report any
        // more: they have arrived, were lost, or are late
        while self.frame_ends.front().is_some_and(|end| *end < number) {
            self.frame_ends.pop_front();
        }
        let frame_end = self.frame_ends.front() == Some(&number);
        let arrival = Arrival { at: now, ce: ecn == Ecn::Ce };
        if self.receiver.arrived(number, arrival, frame_end) {
            self.report(host);
        } else if self.receiver.deadline == now + self.params.feedback_interval {
            host.late_timer(self.receiver.deadline, REPORT);
        }
    }

    fn finish_row(&mut self, now: Time) {
        let row = std::mem::replace(&mut self.row, Row { start: now, ..Row::default() });
        let mbit = |bytes: u64| bytes as f64 * 8e-6 / now.since(row.start).secs();
        let ms = |time: Option<Duration>| time.map_or(f64::NAN, Duration::millis);
        self.rows.push([
            now.secs(),
            self.controller.target(&self.cx) * 1e-6,
            mbit(row.sent),
            mbit(row.received),
            ms(row.delay),
            self.controller.window().map_or(f64::NAN, |bytes| bytes as f64),
            ms(self.controller.queue_delay()),
            ms(self.sender.srtt),
            row.lost as f64,
        ]);
    }
}

impl Application for Media {
    fn start<H: Host>(&mut self, host: &mut H) {
        self.cx.ecn = host.datagram_ecn();
        self.count.last.at = host.now();
        self.row.start = host.now();
        self.frame(host);
    }

    fn timer<H: Host>(&mut self, token: u64, host: &mut H) {
        let now = host.now();
        match token {
            FRAME => self.frame(host),
            PACE if self.pace_at == now => {
                self.pace_at = Time::NEVER;
                self.send(host);
            }
            REPORT if self.receiver.deadline <= now => self.report(host),
            _ => {} // the timer is obsolete: its packet has left, or its report left before the deadline
        }
    }

    fn datagram_received<H: Host>(&mut self, role: Role, number: u64, ecn: Ecn, host: &mut H) {
        if role == self.params.direction.receiver() {
            return self.packet_arrived(number, ecn, host);
        }
        // a report that was lost, or overtaken by a later report, is discarded. The later report repeats what was new
        // in the report just before it
        while let Some((_, report)) = self.reports.pop_front_if(|(n, _)| *n <= number) {
            if self.reports.front().is_none_or(|(n, _)| *n > number) {
                self.feedback(host.now(), Some(&report));
            }
        }
        self.send(host);
    }

    fn controller(&self) -> Option<Role> {
        Some(self.params.direction.sender())
    }

    fn read_controller(&self, out: &mut Reading<'_>) {
        self.controller.probe(&self.cx, out);
        out.bytes("in_flight", self.sender.in_flight);
        out.duration("srtt", self.sender.srtt);
    }

    const MEASURES: &'static [&'static [Measure]] = &[MEDIA];

    fn figures(&self, now: Time, stop: Time) -> Vec<(&'static str, f64)> {
        let mut picture = self.picture.clone();
        let end = now.min(stop);
        let paused = |at| paused(&self.params.pauses, at);
        picture.end(end, self.params.frame_interval(), paused);
        let rest = self.count.last.gap(Arrived { at: end, delay: Duration::ZERO }, paused);
        media(&picture, &self.count, &self.sender, (self.count.time + rest).secs()).into()
    }

    fn columns(&self) -> Vec<(&'static str, Vec<f64>)> {
        COLUMNS.iter().enumerate().map(|(i, name)| (*name, self.rows.iter().map(|row| row[i]).collect())).collect()
    }
}

packet::measures! {
    /// The measures of a media flow: its frames, their delays, and its rate.
    const MEDIA = fn media(p: &Picture, c: &Count, s: &Sender, time: f64) -> f64 {
        "frames_sent": Kind::ONE, "frames sent",
            "Frames that the encoder delivered. All keys of `media` cover the whole run." => p.sent as f64;
        "frames_skipped": Kind::ONE.less(), "frames skipped",
            "Frames left out because a packet had waited at the sender for longer than `queue_limit`." => c.skipped as f64;
        "frames_whole": Kind::ONE, "frames whole",
            "Whole frames: all their packets arrived before any later frame was complete." => p.whole as f64;
        "frame_delay_p50_ms": Kind::MS.less(), "frame delay, median",
            "Median time from the capture of a whole frame to the arrival of its last packet." => c.delay(50);
        "frame_delay_p95_ms": Kind::MS.less(), "frame delay, p95",
            "95th percentile of the delay of whole frames." => c.delay(95);
        "frame_delay_p99_ms": Kind::MS.less(), "frame delay, p99",
            "99th percentile of the delay of whole frames." => c.delay(99);
        "freezes": Kind::ONE.less(), "freezes",
            "Number of freezes. A freeze is a time of more than max(3 T, T + 150 ms) without a whole frame, where T is \
             the time between frames (W3C webrtc-stats, `freezeCount`). The time before the first whole frame counts."
            => p.freezes as f64;
        "frozen_s": Kind::S.less(), "frozen", "Total duration of the freezes." => p.frozen.secs();
        "rate_mbit": Kind::MBIT.more(), "media rate",
            "Payload that arrived, divided by the time until `stop` (or until the last packet, if it arrives later), \
             without pauses."
            => c.payload as f64 * 8e-6 / time;
        "target_mbit": Kind::MBIT, "target", "Mean of the controller's target rate, sampled once per frame."
            => c.sum_of_targets * 1e-6 / c.targets as f64;
        "lost_percent": Kind::PERCENT.less(), "lost", "Share of packets that the sender declared lost."
            => 100.0 * s.lost as f64 / (s.lost + s.acknowledged) as f64;
        "marked_packets": Kind::PACKETS, "marked", "Packets that arrived with a CE mark." => c.marked as f64;
    }
}

#[cfg(test)]
mod tests;
