//! SCReAM version 2: a window that responds to losses, ECN marks and queueing delay, and an encoder's target computed from it.
//!
//! ```text
//!   w: reference window,   T = `qdelay_target`,   s_rtt: smoothed round-trip time,   MSS: maximum packet size
//!   qdelay = one-way delay - its minimum over ten minutes;   once per R = min(V, s_rtt), V = 25 ms:
//!     qavg falls to qdelay at once, otherwise qavg = qdelay / 4 + 3 qavg / 4
//!   alpha: every min(10 ms, s_rtt), F = marked / delivered bytes:   F > alpha: alpha += (F - alpha) / 8;   else alpha -= alpha / 128
//!   cut, at most once per R:   loss w *= 0.7;   classic CE w *= 0.8;   L4S w *= 1 - b alpha / 2;   else delay w *= 1 - b a / 2
//!     a = clamp((qavg - T / 2) / (T / 2), 0, 1),   b = 1 / max(1, s_rtt / V),   for L4S also times max(0.25, scl) while qdelay < T / 4
//!   growth: w += unmarked acknowledged bytes  r  min(1, s_rtt / V)  max(0.25, scl)  (1 + 0.02 w / MSS  post  scl),  r = MSS / w <= 0.5
//!     if the result is at most MSS + 1.5 max(bytes in flight), and the target is below its maximum
//!   scl = clamp((8 (w - w_i) / w_i)^2, 0.1, 1),  w_i: w at the last congestion;   post rises from 0 to 1 in 100 max(V, s_rtt)
//!   send window = w overhead,   overhead = 1.5 to 3;   w >= 3000 B
//!   target = 8 w / s_rtt (1 - clamp(r - 0.1, 0, 0.2)) MSS / (MSS + 20) / (1.2 + rate_adjust + frame_dev)
//!   pacing = 1.5 max(50 kbit/s, target);   multiplied by up to 4 while the target is above 0.8 of the maximum rate
//! ```
//!
//! Packets with ECT(1) get the L4S response, and packets with ECT(0) the classic response.
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2 §4.2 to §4.4 (editor's copy of August 2026). The draft leaves some points open,
//! for which we chose the following. The minimum delay is kept per minute, as in RFC 6817 §3.4.2. w_i changes at most every ten
//! s_rtt. The bytes in flight are the maximum over the last two intervals of max(s_rtt, 200 ms). The overhead falls from 3 to 1.5
//! as the mean deviation of qdelay (gain 1/64) rises to T / 10. With every frame, rate_adjust grows by (W / I - 1/2) /
//! 40 (or falls, if this is negative). W is the time for which the oldest packet has waited at the sender, and I is the
//! interval between frames. frame_dev is the mean excess of frames above the mean size, as a fraction of the mean size
//! (gain 1/16). The initial window is 100 ms at the initial rate.
//! Departs: the optional parts (§4.5: limits of the loss response, detection of policers, a larger T against loss-based rivals)
//! are left out. The pacer's queue is not cleared; frames are skipped instead (`queue_limit`).

use super::control::{Context, Feedback, Frame, MediaController};
use packet::{Ecn, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Bytes, Duration, Problem, Time, positive, within};

/// VIRTUAL_RTT (V).   Source: draft-ietf-ccwg-rfc8298bis-screamv2 §4.2.
const VIRTUAL_RTT: Duration = Duration::from_millis(25);
/// Interval between updates of alpha. If a round trip is shorter, alpha is updated once per round trip.   Source:
/// §4.2.1.3.
const ALPHA_INTERVAL: Duration = Duration::from_millis(10);
/// Gains of alpha's moving average when alpha rises and when it falls.   Source: §4.2.1.3.
const ALPHA_GAINS: [f64; 2] = [1.0 / 8.0, 1.0 / 128.0];
/// Factor applied to the window after a loss.   Source: §4.2.2.1.
const BETA_LOSS: f64 = 0.7;
/// Factor applied to the window after a classic CE mark.   Source: §4.2.2.1.
const BETA_ECN: f64 = 0.8;
/// Minimum of the factor that slows the window's growth, and weakens cuts for L4S marks, while the window is near w_i
/// (see `scl`).   Source: §4.2.2.
const LEAST_SCALE: f64 = 0.25;
/// While a whole window is acknowledged, the window grows by at most one packet plus this share of the window. The
/// share is the multiplicative part of the growth.   Source: §4.2.2.2.
const MULTIPLICATIVE: f64 = 0.02;
/// After a cut, the multiplicative part of the growth rises from zero to its full value in this number of round
/// trips (or of [`VIRTUAL_RTT`], if round trips are shorter).   Source: §4.2.2.2.
const POST_CONGESTION: u64 = 100;
/// The window does not grow beyond this multiple of the bytes in flight, plus one packet.   Source: §4.2.2.2.
const HEADROOM: f64 = 1.5;
/// Minimum and maximum send window, as multiples of the reference window.   Source: §4.3.1.
const OVERHEAD: [f64; 2] = [1.5, 3.0];
/// Pacing rate as a multiple of the target.   Source: §4.3.2.
const PACING: f64 = 1.5;
/// Minimum target for the computation of the pacing rate, bit/s.   Source: §4.3.2.
const LEAST_PACING: f64 = 50e3;
/// If the target exceeds this share of the maximum rate, the pacing rate is more than [`PACING`] times the
/// target.   Source: §4.3.2.
const RELAXED_FROM: f64 = 0.8;
/// Maximum factor by which the pacing rate is raised if the target exceeds [`RELAXED_FROM`] times the maximum
/// rate.   Source: §4.3.2.
const MOST_RELAXED: f64 = 4.0;
/// Maximum `rate_adjust`.   Source: §4.4.
const MOST_ADJUST: f64 = 0.5;
/// Maximum `frame_dev`.   Source: §4.4.
const MOST_DEVIATION: f64 = 0.2;
/// Maximum of the ratio MSS / w.   The draft limits this ratio too, but the value is our choice.
const MOST_RATIO: f64 = 0.5;
/// Length of the intervals whose minimum delays are kept.   Source: RFC 6817 §3.4.2.
const BUCKET: Duration = Duration::from_secs(60);
/// Number of intervals whose minimum delays are kept.   Source: RFC 6817 §3.4.2.
const BUCKETS: usize = 10;
/// Minimum length of the intervals in which the maximum number of bytes in flight is recorded.   Ours: at usual frame
/// rates, an interval of this length contains several frames.
const FLIGHT_INTERVAL: Duration = Duration::from_millis(200);
/// The initial window holds the data that the initial rate produces in this time.   Ours.
const FIRST_RTT: Duration = Duration::from_millis(100);

/// Parameters of SCReAM version 2. From the reference window, SCReAM computes the encoder's rate and the limit of the
/// data in flight. Names in brackets are those of draft-ietf-ccwg-rfc8298bis-screamv2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScreamV2Params {
    /// Target of the one-way queueing delay (QDELAY_TARGET_LO). The reference window shrinks when the average queueing
    /// delay exceeds half of this target. Default 60ms.
    pub qdelay_target: Duration,
    /// Smallest reference window (MIN_REF_WND). The data in flight is limited to 3 reference windows while the queueing
    /// delay is steady, and to as little as 1.5 while the delay varies. Default 3000.
    pub min_window: Bytes,
}

impl Default for ScreamV2Params {
    fn default() -> Self {
        Self { qdelay_target: Duration::from_millis(60), min_window: Bytes(3000) }
    }
}

impl ScreamV2Params {
    pub(super) fn validate(&self) -> Result<(), Problem> {
        positive("qdelay_target", self.qdelay_target)?;
        within("min_window", self.min_window, Bytes(100), Bytes(1_000_000_000))
    }
}

/// The queueing delay, its average and its deviation.
#[derive(Clone, Debug, Default, PartialEq)]
struct QueueDelay {
    /// For each of the last [`BUCKETS`] intervals of at least [`BUCKET`]: its beginning, and the smallest one-way delay
    /// in it.
    base: VecDeque<(Time, Duration)>,
    /// Last queueing delay, s.
    last: f64,
    /// Average of the queueing delay, s.
    avg: f64,
    updated: Time,
    /// Mean deviation from the average, s.
    deviation: f64,
}

impl QueueDelay {
    fn add(&mut self, now: Time, delay: Duration) {
        match self.base.back_mut() {
            Some((since, least)) if now.since(*since) < BUCKET => *least = delay.min(*least),
            _ => self.base.push_back((now, delay)),
        }
        if self.base.len() > BUCKETS {
            self.base.pop_front();
        }
        let least = self.base.iter().map(|(_, least)| *least).min().unwrap_or(delay);
        self.last = delay.saturating_sub(least).secs();
    }

    fn average(&mut self, now: Time) {
        self.updated = now;
        self.avg = if self.last < self.avg { self.last } else { 0.25 * self.last + 0.75 * self.avg };
        self.deviation += ((self.last - self.avg).abs() - self.deviation) / 64.0;
    }
}

/// Alpha, the moving average of the fraction of bytes that are CE-marked.
#[derive(Clone, Debug, Default, PartialEq)]
struct Alpha {
    alpha: f64,
    delivered: f64,
    marked: f64,
    updated: Time,
}

impl Alpha {
    /// Updates alpha from the bytes that were delivered and marked since the last update.
    fn update(&mut self, now: Time) {
        self.updated = now;
        let fraction = self.marked / self.delivered.max(1.0);
        let [up, down] = ALPHA_GAINS;
        self.alpha =
            if fraction > self.alpha { up * fraction + (1.0 - up) * self.alpha } else { (1.0 - down) * self.alpha };
        (self.delivered, self.marked) = (0.0, 0.0);
    }
}

/// The maximum number of bytes in flight in the current interval and in the previous one.
#[derive(Clone, Debug, Default, PartialEq)]
struct Flight {
    since: Time,
    most: [u64; 2],
}

impl Flight {
    fn add(&mut self, now: Time, in_flight: u64, interval: Duration) {
        if now.since(self.since) >= interval {
            (self.since, self.most) = (now, [0, self.most[0]]);
        }
        self.most[0] = self.most[0].max(in_flight);
    }
}

/// The controller with [`ScreamV2Params`].
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScreamV2 {
    p: ScreamV2Params,
    /// Reference window w, bytes.
    window: f64,
    /// w_i, the window just before a cut, in bytes, and the time of this cut. A further cut changes w_i only if more
    /// than ten round trips have passed since that time.
    inflection: Option<(f64, Time)>,
    /// Time of the last cut.
    cut: Option<Time>,
    queue: QueueDelay,
    alpha: Alpha,
    flight: Flight,
    /// True if a loss has been reported since the last cut.
    lost: bool,
    /// True if a mark has been reported since the last cut.
    marked: bool,
    rate_adjust: f64,
    frame_dev: f64,
    /// Smoothed round-trip time; zero until a round trip has been measured.
    srtt: Duration,
}

impl ScreamV2 {
    pub(super) fn new(p: &ScreamV2Params, cx: &Context) -> Self {
        Self {
            window: (cx.start * FIRST_RTT.secs() / 8.0).max(p.min_window.0 as f64),
            p: p.clone(),
            inflection: None,
            cut: None,
            queue: QueueDelay::default(),
            alpha: Alpha::default(),
            flight: Flight::default(),
            lost: false,
            marked: false,
            rate_adjust: 0.0,
            frame_dev: 0.0,
            srtt: Duration::ZERO,
        }
    }

    /// Returns s_rtt / V.
    fn rtts(&self) -> f64 {
        self.srtt.secs() / VIRTUAL_RTT.secs()
    }

    /// Returns ref_wnd_ratio: MSS / w, at most [`MOST_RATIO`].
    fn ratio(&self, cx: &Context) -> f64 {
        (cx.packet / self.window).min(MOST_RATIO)
    }

    /// Returns scl, a factor from 0.1 to 1. It is small while the window is near w_i, the window before an earlier cut
    /// (see `inflection`).
    fn scl(&self) -> f64 {
        self.inflection.map_or(1.0, |(wi, _)| {
            let x = 8.0 * (self.window - wi) / wi;
            (x * x).clamp(0.1, 1.0)
        })
    }

    /// Returns the factor by which the window is multiplied in response to congestion; `None` without congestion.
    fn reduction(&self, cx: &Context) -> Option<f64> {
        if self.lost {
            return Some(BETA_LOSS);
        }
        let target = self.p.qdelay_target.secs();
        let share = self.rtts().max(1.0);
        if self.marked {
            if cx.ecn != Ecn::Ect1 {
                return Some(BETA_ECN);
            }
            let near = if self.queue.last < target / 4.0 { self.scl().max(LEAST_SCALE) } else { 1.0 };
            return Some(1.0 - self.alpha.alpha / 2.0 * near / share);
        }
        let above = ((self.queue.avg - target / 2.0) / (target / 2.0)).clamp(0.0, 1.0);
        (above > 0.0).then(|| 1.0 - above / 2.0 / share)
    }

    /// Reduces the window if there is congestion, and if enough time has passed since the last cut.
    fn reduce(&mut self, cx: &Context, now: Time) {
        if self.cut.is_some_and(|at| now.since(at) < self.srtt.min(VIRTUAL_RTT)) {
            return;
        }
        let Some(factor) = self.reduction(cx) else { return };
        if self.inflection.is_none_or(|(_, at)| now.since(at) > self.srtt * 10) {
            self.inflection = Some((self.window, now));
        }
        self.window = (factor * self.window).max(self.p.min_window.0 as f64);
        self.cut = Some(now);
        (self.lost, self.marked) = (false, false);
    }

    /// Increases the window after `bytes` have been acknowledged without CE marks.
    fn grow(&mut self, cx: &Context, now: Time, bytes: f64) {
        if self.target(cx) >= cx.max {
            return;
        }
        let (ratio, scl) = (self.ratio(cx), self.scl());
        let post = self.cut.map_or(1.0, |at| {
            let span = self.srtt.max(VIRTUAL_RTT) * POST_CONGESTION;
            (now.since(at).secs() / span.secs()).min(1.0)
        });
        let multiplicative = 1.0 + MULTIPLICATIVE * self.window / cx.packet * post * scl;
        let grown = self.window + bytes * ratio * self.rtts().min(1.0) * scl.max(LEAST_SCALE) * multiplicative;
        let most = cx.packet + HEADROOM * self.flight.most.iter().copied().max().unwrap_or(0) as f64;
        if grown <= most {
            self.window = grown;
        }
    }
}

impl MediaController for ScreamV2 {
    fn on_feedback(&mut self, cx: &Context, feedback: &Feedback<'_>) {
        let now = feedback.now;
        self.srtt = feedback.srtt;
        let mut unmarked = 0.0;
        for packet in feedback.packets {
            let Some(arrived) = packet.arrived else {
                self.lost = true;
                continue;
            };
            self.queue.add(now, arrived.since(packet.sent));
            let bytes = f64::from(packet.bytes);
            self.alpha.delivered += bytes;
            if packet.ce {
                self.alpha.marked += bytes;
                self.marked = true;
            } else {
                unmarked += bytes;
            }
        }
        if now.since(self.queue.updated) >= self.srtt.min(VIRTUAL_RTT) {
            self.queue.average(now);
        }
        if now.since(self.alpha.updated) >= self.srtt.min(ALPHA_INTERVAL) {
            self.alpha.update(now);
        }
        self.reduce(cx, now);
        self.grow(cx, now, unmarked);
    }

    fn on_frame(&mut self, cx: &Context, frame: &Frame) {
        let interval = cx.frame_interval.secs();
        let late = (frame.waiting.secs() - interval / 2.0) / interval;
        self.rate_adjust = (self.rate_adjust + late / 40.0).clamp(0.0, MOST_ADJUST);
        let mean = self.target(cx) * interval / 8.0;
        let excess = (frame.bytes / mean - 1.0).max(0.0);
        self.frame_dev = (self.frame_dev + (excess - self.frame_dev) / 16.0).min(MOST_DEVIATION);
    }

    fn on_sent(&mut self, now: Time, in_flight: u64) {
        self.flight.add(now, in_flight, self.srtt.max(FLIGHT_INTERVAL));
    }

    fn target(&self, cx: &Context) -> f64 {
        if self.srtt.is_zero() {
            return cx.start;
        }
        let few = (self.ratio(cx) - 0.1).clamp(0.0, 0.2);
        let rate = 8.0 * self.window / self.srtt.secs() * (1.0 - few) * cx.packet / (cx.packet + 20.0);
        (rate / (1.2 + self.rate_adjust + self.frame_dev)).clamp(cx.min, cx.max)
    }

    fn pacing_rate(&self, cx: &Context) -> f64 {
        let target = self.target(cx);
        let relaxed = ((target / cx.max - RELAXED_FROM) / (1.0 - RELAXED_FROM)).clamp(0.0, 1.0);
        PACING * target.max(LEAST_PACING) / (1.0 - relaxed).max(1.0 / MOST_RELAXED)
    }

    fn window(&self) -> Option<u64> {
        let steady = (1.0 - self.queue.deviation / (0.1 * self.p.qdelay_target.secs())).max(0.0);
        Some((self.window * (OVERHEAD[0] + (OVERHEAD[1] - OVERHEAD[0]) * steady)) as u64)
    }

    fn queue_delay(&self) -> Option<Duration> {
        (!self.queue.base.is_empty()).then(|| Duration::from_secs_f64(self.queue.last))
    }

    fn probe(&self, cx: &Context, out: &mut Reading<'_>) {
        out.rate("target", self.target(cx));
        out.rate("pacing_rate", self.pacing_rate(cx));
        out.bytes("ref_wnd", self.window as u64);
        out.bytes("send_window", self.window().unwrap_or_default());
        out.value("ref_wnd_i", packet::Unit::Bytes, self.inflection.map(|(wi, _)| wi));
        out.duration("qdelay", self.queue_delay());
        out.duration("qdelay_avg", Duration::from_secs_f64(self.queue.avg));
        out.number("l4s_alpha", self.alpha.alpha);
        out.number("rate_adjust", self.rate_adjust);
        out.number("frame_dev", self.frame_dev);
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::PacketReport;
    use super::*;

    fn context(ecn: Ecn) -> Context {
        Context {
            min: 10e3,
            start: 1e6,
            max: 50e6,
            packet: 1000.0,
            headers: 0.0,
            frame_interval: Duration::from_millis(20),
            ecn,
        }
    }

    fn ms(n: u64) -> Time {
        Time(n * 1_000_000)
    }

    /// Returns a controller with a window of 100 kB. Enough bytes are in flight that their number does not limit
    /// the window's growth.
    fn machine() -> ScreamV2 {
        let mut scream = ScreamV2::new(&ScreamV2Params::default(), &context(Ecn::Ect1));
        scream.window = 100e3;
        scream.flight.most = [1_000_000; 2];
        scream
    }

    /// Reports to the controller, at the time `now` in ms, that a packet of 1000 B has arrived or is lost. The packet
    /// left `delay` ms earlier. The round-trip time is 50 ms.
    fn feed(scream: &mut ScreamV2, ecn: Ecn, now: u64, delay: u64, arrived: bool, ce: bool) {
        let (sent, at) = (ms(now - delay), ms(now));
        let report = PacketReport { sent, arrived: arrived.then_some(at), bytes: 1000, ce };
        let feedback = Feedback { now: at, packets: &[report], srtt: Duration::from_millis(50) };
        scream.on_feedback(&context(ecn), &feedback);
    }

    #[test]
    fn one_loss_multiplies_the_window_by_07() {
        let mut scream = machine();
        feed(&mut scream, Ecn::Ect1, 1000, 20, false, false);
        assert!((scream.window - 70e3).abs() < 1e-6);
        // a second loss is reported 24 ms after the cut, but cuts are at least 25 ms (`VIRTUAL_RTT`) apart, so the next
        // cut comes 1 ms later
        feed(&mut scream, Ecn::Ect1, 1024, 20, false, false);
        assert!((scream.window - 70e3).abs() < 1e-6);
        feed(&mut scream, Ecn::Ect1, 1025, 20, false, false);
        assert!((scream.window - 49e3).abs() < 1e-6);
        // w_i is still the window before the first cut, because w_i changes at most every ten round trips
        assert_eq!(scream.inflection, Some((100e3, ms(1000))));
        // the window does not fall below its minimum
        (0..100).for_each(|n| feed(&mut scream, Ecn::Ect1, 1100 + 30 * n, 20, false, false));
        assert_eq!(scream.window, 3000.0);
    }

    #[test]
    fn a_classic_mark_multiplies_by_08() {
        let mut scream = machine();
        feed(&mut scream, Ecn::Ect0, 1000, 20, true, true);
        assert!((scream.window - 80e3).abs() < 1e-6);
    }

    /// The smoothed round-trip time is 50 ms, twice `VIRTUAL_RTT`, so a cut for L4S marks multiplies the window by 1 -
    /// alpha / 4. Near w_i, the window before an earlier cut, the cut is smaller.
    #[test]
    fn an_l4s_mark_cuts_by_alpha() {
        let mut scream = machine();
        // all bytes so far are marked, so F, the marked fraction, is 1 and alpha = 1/8. This is the first cut, so w_i
        // is not set, scl is 1, and the window is multiplied by 1 - alpha / 4 = 1 - 1/32
        feed(&mut scream, Ecn::Ect1, 1000, 20, true, true);
        assert!((scream.window - 100e3 * 31.0 / 32.0).abs() < 1e-6, "{}", scream.window);
        // the second mark comes 25 ms later, and the window has not grown in the meantime. Now alpha = 1/8 + 7/64 =
        // 15/64. The window is 3 % below w_i, so |8 (w - w_i) / w_i| = 1/4. The square of this is 1/16, so scl has its
        // minimum, 0.1. Since max(0.25, scl) = 1/4, the window is multiplied by 1 - 15/64/4/4 = 1 - 15/1024
        feed(&mut scream, Ecn::Ect1, 1025, 20, true, true);
        assert!((scream.window - 100e3 * 31.0 / 32.0 * (1.0 - 15.0 / 1024.0)).abs() < 1e-6, "{}", scream.window);
    }

    /// If every k-th interval is marked, alpha rises once and then decays k - 1 times in each cycle of k intervals. In
    /// the steady state, the value a just after the rise satisfies a = 1/8 + 7/8 a (127/128)^(k - 1).
    #[test]
    fn alpha_settles_at_a_steady_mark_rate() {
        for k in [2, 5, 20] {
            let mut alpha = Alpha::default();
            for n in 0..k * 200 {
                alpha.delivered = 1000.0;
                alpha.marked = if n % k == k - 1 { 1000.0 } else { 0.0 };
                alpha.update(ms(10 * n));
            }
            let decay = (0..k - 1).fold(1.0, |d, _| d * 127.0 / 128.0);
            let exact = 0.125 / (1.0 - 0.875 * decay);
            assert!((alpha.alpha - exact).abs() < 1e-9, "{k}: {} {exact}", alpha.alpha);
        }
    }

    /// In this test, s_rtt is 50 ms, and V (`VIRTUAL_RTT`) is 25 ms. If the average queueing delay qavg is at least the
    /// target T, a cut multiplies the window by 1 - 1/2 V / s_rtt = 0.75. At qavg = 3/4 T, the cut is half as large.
    /// While qavg is at most T / 2, the window is not cut.
    #[test]
    fn delay_cuts_in_proportion() {
        let cx = context(Ecn::NotEct);
        for (avg, factor) in [(0.06, Some(0.75)), (0.09, Some(0.75)), (0.045, Some(0.875)), (0.03, None), (0.0, None)] {
            let mut scream = machine();
            (scream.srtt, scream.queue.avg) = (Duration::from_millis(50), avg);
            let ours = scream.reduction(&cx);
            assert_eq!(ours.is_some(), factor.is_some(), "{avg}");
            assert!(ours.zip(factor).is_none_or(|(a, b)| (a - b).abs() < 1e-12), "{avg}: {ours:?}");
        }
    }

    #[test]
    fn the_average_of_the_delay_falls_at_once() {
        let mut queue = QueueDelay::default();
        queue.add(ms(0), Duration::from_millis(20));
        for (n, delay) in [60, 60, 60].into_iter().enumerate() {
            queue.add(ms(n as u64), Duration::from_millis(delay));
            queue.average(ms(n as u64));
        }
        // the average starts at 0 and moves a quarter of the way to 40 ms in each of three steps, so it reaches 40 ms x
        // (1 - (3/4)^3)
        assert!((queue.avg - 0.04 * (1.0 - 27.0 / 64.0)).abs() < 1e-12);
        queue.add(ms(4), Duration::from_millis(25));
        queue.average(ms(4));
        assert!((queue.avg - 0.005).abs() < 1e-12);
        // after ten minutes with a delay of 30 ms, the minimum delay is 30 ms
        for minute in 1..=10 {
            queue.add(ms(60_000 * minute), Duration::from_millis(30));
        }
        assert_eq!(queue.last, 0.0);
    }

    /// Long after the last congestion, acknowledging a whole window adds MSS (1 + 0.02 w / MSS): 1000 + 2000 B for w =
    /// 100 kB. In small steps, the window grows slightly less, because MSS / w falls. Just after a cut, if w is far
    /// from w_i, acknowledging a whole window adds only MSS.
    #[test]
    fn growth_per_round_trip() {
        let cx = context(Ecn::NotEct);
        let mut scream = machine();
        scream.srtt = Duration::from_millis(50);
        (0..100).for_each(|_| scream.grow(&cx, ms(1000), 1000.0));
        assert!((scream.window - 103_000.0).abs() < 50.0, "{}", scream.window);
        let mut scream = machine();
        (scream.srtt, scream.cut, scream.inflection) =
            (Duration::from_millis(50), Some(ms(1000)), Some((200e3, ms(1000))));
        scream.grow(&cx, ms(1000), 1000.0);
        assert!((scream.window - 100_010.0).abs() < 1e-6, "{}", scream.window);
        // 50 of the 100 round trips have passed since the cut, so the multiplicative part has reached 1, half of its
        // full value (0.02 w / MSS = 2). Acknowledging 1000 B thus adds 10 (1 + 1) = 20 B
        scream.window = 100e3;
        scream.grow(&cx, ms(3500), 1000.0);
        assert!((scream.window - 100_020.0).abs() < 1e-6, "{}", scream.window);
        // w is 50 MSS, so just after a cut, acknowledging 1000 B adds 20 B if w is far from w_i, and a quarter of this
        // if w = w_i. The round trip of 12.5 ms is half of `VIRTUAL_RTT`, which halves the growth once more, to 2.5 B.
        // With w = 100 MSS and this round trip, the target would be at its maximum, and the window would not grow
        (scream.window, scream.inflection, scream.srtt) = (50e3, Some((50e3, ms(1000))), Duration::from_micros(12_500));
        scream.grow(&cx, ms(1000), 1000.0);
        assert!((scream.window - 50_002.5).abs() < 1e-6, "{}", scream.window);
        // the window does not grow beyond 1.5 times the bytes in flight plus one packet
        (scream.window, scream.srtt, scream.flight.most) = (100e3, Duration::from_millis(50), [66_000, 0]);
        scream.grow(&cx, ms(1000), 1000.0);
        assert_eq!(scream.window, 100e3);
        scream.flight.most = [67_000, 0];
        scream.grow(&cx, ms(1000), 1000.0);
        assert!(scream.window > 100e3);
    }

    /// w = 100 kB per 50 ms is 16 Mbit/s. The target is MSS / (MSS + 20) = 1000 / 1020 of this rate, divided by 1.2.
    #[test]
    fn the_target_follows_the_window() {
        let cx = context(Ecn::NotEct);
        let mut scream = machine();
        assert_eq!(scream.target(&cx), 1e6);
        scream.srtt = Duration::from_millis(50);
        assert!((scream.target(&cx) - 16e6 / 1.02 / 1.2).abs() < 1e-3);
        assert!((scream.pacing_rate(&cx) - 1.5 * 16e6 / 1.02 / 1.2).abs() < 1e-3);
        // w = 5 MSS: MSS / w is 0.2, which reduces the target by 10 %
        scream.window = 5000.0;
        assert!((scream.target(&cx) - 0.9 * 0.8e6 / 1.02 / 1.2).abs() < 1e-3);
        // 90 % of the maximum rate is halfway from 80 % (`RELAXED_FROM`) to 100 %. So the pacing rate, 1.5 times the
        // target, is multiplied by 1 / (1 - 0.5) = 2
        let cx = Context { max: scream.target(&cx) / 0.9, ..cx };
        assert!((scream.pacing_rate(&cx) / scream.target(&cx) - 3.0).abs() < 1e-9);
        // with a constant delay, the send window is three times the reference window w. If the mean deviation of the
        // delay is 6 ms, a tenth of `qdelay_target`, the send window is one and a half times w
        assert_eq!(scream.window(), Some(15_000));
        scream.queue.deviation = 0.006;
        assert_eq!(scream.window(), Some(7500));
    }

    #[test]
    fn refusals_name_the_field() {
        let bad = |p: ScreamV2Params| p.validate().unwrap_err().path;
        let good = ScreamV2Params::default;
        good().validate().unwrap();
        assert_eq!(bad(ScreamV2Params { qdelay_target: Duration::ZERO, ..good() }), "qdelay_target");
        assert_eq!(bad(ScreamV2Params { min_window: Bytes(0), ..good() }), "min_window");
    }
}
