//! Google Congestion Control: uses the lower of a delay-based and a loss-based estimate of the rate.
//!
//! ```text
//!   A, A_s: delay-based and loss-based estimate;  m: estimated gradient of the queueing delay, ms;  th: threshold, ms
//!   p: share of lost packets;  K: gain of the threshold;  chi: smoothing coefficient;  o: value compared with th
//!   z, e, q, var: the filter's residual, error variance, state noise variance and noise variance;  n: updates of m
//!   groups     packets sent within 5 ms; d = gap of arrivals - gap of departures of two groups, ms
//!              a packet also joins the previous group if it arrives within 5 ms after that group and d < 0
//!   filter     z = d - m;  m += k z;  k = (e + q) / (var + e + q);  e = (1 - k)(e + q)
//!              var = max(a var + (1 - a) min(|z|, 3 sqrt(var))^2, 1),  a = (1 - chi)^(30 / (1000 f_max)),  f_max in 1/ms
//!   detector   o = m min(n, `offset_gain`);  over-use: o > th for `overuse_time` and m does not fall;  under-use: o < -th
//!              th += dt K (|o| - th),  K = 0.01 for |o| > th, else 0.00018 (1/ms);  6 <= th <= 600;  no update if |o| > th + 15
//!   state      over-use -> Decrease;  normal: Decrease -> Hold -> Increase;  under-use -> Hold
//!   Increase   A *= 1.08^dt  (dt s, at most 1), or near convergence  A += max(1000, bits of a packet / 2 x s)
//!              s = min(1, dt / (RTT + 100 ms));   at most 1.5 R,   R: received rate of the last 0.5 to 1 s
//!   Decrease   A = min(A, 0.85 R);   near convergence: R at most three deviations above its mean at past decreases
//!   loss       p < 2 %: A_s *= 1.05 per second;  p > 10 %: A_s = min(A, A_s) (1 - p / 2);   rate = min(A, A_s)
//! ```
//!
//! Rates are bits per second on the wire; the encoder's target is the payload's share of the rate.
//!
//! Source: draft-ietf-rmcat-gcc-02 §4 to §6. The draft leaves some points open. We chose the following, mostly after
//! public descriptions of WebRTC. The detector multiplies m by the number of its updates, at most 60. (The draft compares
//! m itself, which rarely reaches the draft's thresholds.) f_max is the inverse of the shortest of the last 60 gaps
//! between departures of groups, but at most 10/ms. One step of th covers at most 100 ms. The standard deviation of
//! R is kept between sqrt(0.4 R) and sqrt(2.5 R) kbit/s. The loss share p covers the last second. A_s begins at the
//! maximum rate and rises at most once per second. (The draft says once per report: at 30 reports per second, the rises
//! would cancel each fall.) A fall sets A_s to the rate in use times 1 - p / 2, at most once per RTT + 300 ms. The
//! pacing rate is 2.5 min(A, A_s). Departs: the bandwidth is not probed at the start; the sender does all the
//! computing, from the arrival times that the receiver reports.

use super::control::{Context, Feedback, MediaController};
use packet::Reading;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Duration, Problem, Time, math, positive, within};

/// Packets that leave within this time after the first packet of a group belong to that group. This is also the pacer's
/// burst interval.   Source: draft-ietf-rmcat-gcc-02 §4, §5.2.
const BURST: Duration = Duration::from_millis(5);
/// Number of recent gaps between departures of packet groups from which f_max, the maximum frequency of departures, is
/// computed: f_max is the inverse of the shortest gap.   Ours; the draft leaves this number open.
const FREQUENCY_GROUPS: usize = 60;
/// State noise variance of the filter, ms².   Source: draft-ietf-rmcat-gcc-02 §5.3.
const Q: f64 = 1e-3;
/// Initial error variance of the filter, ms².   Source: draft-ietf-rmcat-gcc-02 §5.3.
const E0: f64 = 0.1;
/// Gain with which the threshold rises towards |o| if |o| is above the threshold, 1/ms.   Source:
/// draft-ietf-rmcat-gcc-02 §5.4.
const K_UP: f64 = 0.01;
/// Gain with which the threshold falls towards |o| if |o| is below the threshold, 1/ms.   Source:
/// draft-ietf-rmcat-gcc-02 §5.4.
const K_DOWN: f64 = 0.000_18;
/// Range of the threshold, ms.   Source: draft-ietf-rmcat-gcc-02 §5.4.
const THRESHOLD: [f64; 2] = [6.0, 600.0];
/// If |o| exceeds the threshold by more than this number of milliseconds, it is an outlier and does not change the
/// threshold.   Source: draft-ietf-rmcat-gcc-02 §5.4.
const OUTLIER: f64 = 15.0;
/// Maximum time step in an update of the threshold, ms.   Ours: without this limit, the first update after a pause
/// would change the threshold too much.
const LONGEST_STEP: f64 = 100.0;
/// Weight of the old value when the mean and the variance of the received rate R are updated at a decrease.   Source:
/// draft-ietf-rmcat-gcc-02 §5.5.
const SMOOTHING: f64 = 0.95;
/// The variance of the received rate R, divided by the mean of R, is kept between these two values, kbit/s (see
/// `convergence`).   Ours, after WebRTC.
const VARIANCE: [f64; 2] = [0.4, 2.5];
/// Minimum and maximum time over which the received rate R is measured.   Source: draft-ietf-rmcat-gcc-02 §5.5.
const RATE_WINDOW: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(1)];
/// Period over which the share of lost packets is computed. The loss-based estimate rises at most once per
/// period.   Ours, after WebRTC.
const LOSS_WINDOW: Duration = Duration::from_secs(1);

/// Parameters of GCC. The delay gradient is the growth of the delay from one group of packets to the next. A detector
/// multiplies the estimated gradient by a factor (see `offset_gain`), and compares the product with a threshold. If the
/// product stays above the threshold, this counts as over-use of the path, and GCC reduces the rate. Names in brackets
/// are those of draft-ietf-rmcat-gcc-02.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GccParams {
    /// After over-use, the rate falls to this share of the received rate (beta), unless it is already lower. Default
    /// 0.85.
    pub beta: f64,
    /// Factor by which the rate grows per second (eta). After over-use, the rate grows linearly instead, until the
    /// received rate is clearly above its values at past decreases (above their mean by more than three standard
    /// deviations). Default 1.08.
    pub increase: f64,
    /// Initial threshold of the detector (del_var_th). Default 12.5ms.
    pub threshold: Duration,
    /// Time for which the detector's product must exceed the threshold before it counts as over-use (overuse_time_th).
    /// Default 10ms.
    pub overuse_time: Duration,
    /// Smoothing coefficient of the estimated noise variance (chi), 0.001 to 0.1. Default 0.01.
    pub chi: f64,
    /// Largest factor by which the detector multiplies the gradient. The factor is the number of gradients measured so
    /// far, but at most this value. With 1, the detector compares the gradient itself, as in the draft. Default 60.
    pub offset_gain: f64,
    /// Pacing rate, as a multiple of the rate that the controller has set. Default 2.5.
    pub pacing: f64,
}

impl Default for GccParams {
    fn default() -> Self {
        Self {
            beta: 0.85,
            increase: 1.08,
            threshold: Duration::from_micros(12_500),
            overuse_time: Duration::from_millis(10),
            chi: 0.01,
            offset_gain: 60.0,
            pacing: 2.5,
        }
    }
}

impl GccParams {
    pub(super) fn validate(&self) -> Result<(), Problem> {
        within("beta", self.beta, 0.1, 0.99)?;
        within("increase", self.increase, 1.0, 2.0)?;
        positive("threshold", self.threshold)?;
        within("chi", self.chi, 0.001, 0.1)?;
        within("offset_gain", self.offset_gain, 1.0, 1000.0)?;
        within("pacing", self.pacing, 1.0, 100.0)
    }
}

/// A group of packets: those that left within [`BURST`], and those that joined the group by their arrival times.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Group {
    first_sent: Time,
    last_sent: Time,
    last_arrival: Time,
}

/// Returns `later - earlier` in ms, which may be negative.
fn ms_between(earlier: Time, later: Time) -> f64 {
    (later.0 as i64 - earlier.0 as i64) as f64 * 1e-6
}

/// The detector's output: how the queue changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Signal {
    Overuse,
    #[default]
    Normal,
    Underuse,
}

/// The filter that estimates the gradient m of the queueing delay from arrival times, and the detector that compares o, a
/// multiple of m, with a threshold.
#[derive(Clone, Debug, PartialEq)]
struct Detector {
    group: Option<Group>,
    /// The previous complete group.
    before: Option<Group>,
    /// Gaps between the departures of successive groups, ms; at most the last [`FREQUENCY_GROUPS`] gaps.
    gaps: VecDeque<f64>,
    groups: u64,
    /// Estimated gradient of the queueing delay, ms per group.
    m: f64,
    var: f64,
    e: f64,
    /// Threshold, ms.
    threshold: f64,
    /// Time for which o has been above the threshold, ms.
    over: f64,
    signal: Signal,
}

impl Detector {
    fn new(threshold: f64) -> Self {
        Self {
            group: None,
            before: None,
            gaps: VecDeque::new(),
            groups: 0,
            m: 0.0,
            var: 1.0,
            e: E0,
            threshold,
            over: 0.0,
            signal: Signal::Normal,
        }
    }

    fn packet(&mut self, sent: Time, arrived: Time, p: &GccParams) {
        let alone = Group { first_sent: sent, last_sent: sent, last_arrival: arrived };
        let Some(group) = &mut self.group else {
            self.group = Some(alone);
            return;
        };
        let gap = ms_between(group.last_arrival, arrived);
        let d = gap - ms_between(group.last_sent, sent);
        if sent.since(group.first_sent) < BURST || gap < BURST.millis() && d < 0.0 {
            group.last_sent = sent.max(group.last_sent);
            group.last_arrival = arrived.max(group.last_arrival);
            return;
        }
        let done = *group;
        self.group = Some(alone);
        if let Some(before) = self.before.replace(done) {
            let departures = ms_between(before.last_sent, done.last_sent);
            let arrivals = ms_between(before.last_arrival, done.last_arrival);
            self.group_done(arrivals - departures, departures, arrivals, p);
        }
    }

    /// Updates the filter and the detector when a group is complete. `departures` and `arrivals` are the gaps between
    /// this group and the previous group, and `d` is the arrival gap minus the departure gap, all in ms.
    fn group_done(&mut self, d: f64, departures: f64, arrivals: f64, p: &GccParams) {
        self.groups += 1;
        if self.gaps.len() == FREQUENCY_GROUPS {
            self.gaps.pop_front();
        }
        self.gaps.push_back(departures);
        let least = self.gaps.iter().copied().fold(f64::INFINITY, f64::min).max(0.1);
        let a = math::pow(1.0 - p.chi, 30.0 * least / 1000.0);
        let z = d - self.m;
        let capped = z.abs().min(3.0 * self.var.sqrt());
        self.var = (a * self.var + (1.0 - a) * capped * capped).max(1.0);
        let k = (self.e + Q) / (self.var + self.e + Q);
        self.e = (1.0 - k) * (self.e + Q);
        self.m += k * z;
        let offset = self.m * (self.groups as f64).min(p.offset_gain);
        // m has just changed by k z, where z = d - m and k > 0, so m did not fall if z >= 0
        self.detect(offset, z >= 0.0, departures, p);
        self.adapt(offset, arrivals);
    }

    fn detect(&mut self, offset: f64, rising: bool, passed: f64, p: &GccParams) {
        if offset > self.threshold {
            self.over += passed;
            // the last signal is kept until o has been above the threshold for long enough and m does not fall
            if self.over >= p.overuse_time.millis() && rising {
                self.signal = Signal::Overuse;
            }
        } else {
            self.over = 0.0;
            self.signal = if offset < -self.threshold { Signal::Underuse } else { Signal::Normal };
        }
    }

    fn adapt(&mut self, offset: f64, passed: f64) {
        let distance = offset.abs() - self.threshold;
        if distance > OUTLIER {
            return;
        }
        let k = if distance > 0.0 { K_UP } else { K_DOWN };
        let step = passed.clamp(0.0, LONGEST_STEP);
        self.threshold = (self.threshold + step * k * distance).clamp(THRESHOLD[0], THRESHOLD[1]);
    }
}

/// The state of the delay-based rate control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Increase,
    Decrease,
    Hold,
}

/// The controller with [`GccParams`].
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gcc {
    p: GccParams,
    detector: Detector,
    state: State,
    /// Delay-based estimate of the rate (A), bit/s on the wire.
    delay_based: f64,
    /// Loss-based estimate of the rate (A_s), bit/s on the wire.
    loss_based: f64,
    /// Arrival time and size in bits of each packet that arrived in the last second.
    arrivals: VecDeque<(Time, f64)>,
    /// Mean of the received rate R at past decreases, kbit/s, and the variance of R divided by this mean, kbit/s.
    convergence: Option<(f64, f64)>,
    /// For each feedback of the last second: the time of the feedback, the number of packets in it (arrived or lost),
    /// and the number of lost packets among them.
    fates: VecDeque<(Time, u32, u32)>,
    updated: Option<Time>,
    /// Time of the last change of the loss-based estimate.
    loss_changed: Time,
    /// Time of the last decrease of the loss-based estimate.
    loss_decrease: Option<Time>,
    /// Smallest one-way delay so far, and newest one-way delay.
    delays: Option<[Duration; 2]>,
}

impl Gcc {
    pub(super) fn new(p: &GccParams, cx: &Context) -> Self {
        let rate = cx.start / cx.payload_share();
        Self {
            p: p.clone(),
            detector: Detector::new(p.threshold.millis()),
            state: State::Increase,
            delay_based: rate,
            loss_based: cx.max / cx.payload_share(),
            arrivals: VecDeque::new(),
            convergence: None,
            fates: VecDeque::new(),
            updated: None,
            loss_changed: Time::ZERO,
            loss_decrease: None,
            delays: None,
        }
    }

    fn rate(&self) -> f64 {
        self.delay_based.min(self.loss_based)
    }

    /// Returns the received rate R in bit/s; `None` if the arrivals of the last second are spread over less than half a second.
    fn received(&self) -> Option<f64> {
        let (first, last) = (self.arrivals.front()?, self.arrivals.back()?);
        let span = last.0.since(first.0);
        // the span begins with the first arrival, so the bits of the first packet came before the span
        let bits: f64 = self.arrivals.iter().skip(1).map(|(_, bits)| bits).sum();
        (span >= RATE_WINDOW[0]).then(|| bits / span.secs())
    }

    fn remember(&mut self, feedback: &Feedback<'_>) {
        let mut lost = 0;
        for packet in feedback.packets {
            let Some(arrived) = packet.arrived else {
                lost += 1;
                continue;
            };
            self.arrivals.push_back((arrived, 8.0 * f64::from(packet.bytes)));
            let delay = arrived.since(packet.sent);
            let least = self.delays.map_or(delay, |[least, _]| least.min(delay));
            self.delays = Some([least, delay]);
            self.detector.packet(packet.sent, arrived, &self.p);
        }
        let newest = self.arrivals.back().map_or(Time::ZERO, |(at, _)| *at);
        while self.arrivals.front().is_some_and(|(at, _)| newest.since(*at) > RATE_WINDOW[1]) {
            self.arrivals.pop_front();
        }
        self.fates.push_back((feedback.now, feedback.packets.len() as u32, lost));
        while self.fates.front().is_some_and(|(at, ..)| feedback.now.since(*at) > LOSS_WINDOW) {
            self.fates.pop_front();
        }
    }

    /// Updates the delay-based rate, `dt` seconds after the last update.
    fn control_delay(&mut self, cx: &Context, dt: f64, rtt: Duration) {
        self.state = match (self.detector.signal, self.state) {
            (Signal::Overuse, _) => State::Decrease,
            (Signal::Underuse, _) | (Signal::Normal, State::Decrease) => State::Hold,
            (Signal::Normal, _) => State::Increase,
        };
        let received = self.received();
        match self.state {
            State::Hold => {}
            State::Decrease => {
                let r = received.unwrap_or(self.delay_based);
                // a decrease never raises the rate
                self.delay_based = self.delay_based.min(self.p.beta * r);
                self.converge(r / 1000.0);
            }
            State::Increase => {
                if let (Some((mean, variance)), Some(r)) = (self.convergence, received)
                    && r / 1000.0 > mean + 3.0 * (variance * mean).sqrt()
                {
                    self.convergence = None;
                }
                let grown = if self.convergence.is_some() {
                    self.delay_based + self.additive(cx, dt, rtt)
                } else {
                    self.delay_based * math::pow(self.p.increase, dt.min(1.0))
                };
                let most = received.map_or(f64::INFINITY, |r| 1.5 * r);
                // the limit only stops growth; it does not reduce the rate
                self.delay_based = grown.min(most).max(self.delay_based);
            }
        }
    }

    /// Returns the number of bit/s by which the rate grows in `dt` seconds near convergence: half a packet per response
    /// time (`rtt` + 100 ms), but at most half a packet, and at least 1000 bit/s.
    fn additive(&self, cx: &Context, dt: f64, rtt: Duration) -> f64 {
        let response = (rtt + Duration::from_millis(100)).secs();
        let frame = self.delay_based * cx.frame_interval.secs();
        let packets = (frame / (8.0 * cx.packet)).ceil().max(1.0);
        (0.5 * (dt / response).min(1.0) * frame / packets).max(1000.0)
    }

    /// Updates the mean and the variance in `convergence` at a decrease, where `r` is the received rate in kbit/s.
    fn converge(&mut self, r: f64) {
        let (mean, variance) = self.convergence.unwrap_or((r, VARIANCE[0]));
        let mean = SMOOTHING * mean + (1.0 - SMOOTHING) * r;
        let deviation = (mean - r) * (mean - r) / mean.max(1.0);
        let variance = SMOOTHING * variance + (1.0 - SMOOTHING) * deviation;
        self.convergence = Some((mean, variance.clamp(VARIANCE[0], VARIANCE[1])));
    }

    fn control_loss(&mut self, now: Time, rtt: Duration) {
        let (packets, lost) = self.fates.iter().fold((0, 0), |(p, l), (_, packets, lost)| (p + packets, l + lost));
        let p = f64::from(lost) / f64::from(packets.max(1));
        let due = self.loss_decrease.is_none_or(|at| now.since(at) >= rtt + Duration::from_millis(300));
        if p < 0.02 {
            if now.since(self.loss_changed) >= LOSS_WINDOW {
                self.loss_based *= 1.05;
                self.loss_changed = now;
            }
        } else if p > 0.1 && due {
            self.loss_based = self.rate() * (1.0 - 0.5 * p);
            self.loss_decrease = Some(now);
            self.loss_changed = now;
        }
    }
}

impl MediaController for Gcc {
    fn on_feedback(&mut self, cx: &Context, feedback: &Feedback<'_>) {
        self.remember(feedback);
        let dt = self.updated.map_or(0.0, |at| feedback.now.since(at).secs());
        self.updated = Some(feedback.now);
        self.control_delay(cx, dt, feedback.srtt);
        self.control_loss(feedback.now, feedback.srtt);
        let [least, most] = [cx.min, cx.max].map(|rate| rate / cx.payload_share());
        self.delay_based = self.delay_based.clamp(least, most);
        self.loss_based = self.loss_based.clamp(least, most);
    }

    fn target(&self, cx: &Context) -> f64 {
        self.rate() * cx.payload_share()
    }

    fn pacing_rate(&self, _: &Context) -> f64 {
        self.p.pacing * self.rate()
    }

    fn burst_interval(&self) -> Duration {
        BURST
    }

    fn queue_delay(&self) -> Option<Duration> {
        self.delays.map(|[least, last]| last.saturating_sub(least))
    }

    fn probe(&self, cx: &Context, out: &mut Reading<'_>) {
        let d = &self.detector;
        out.rate("target", self.target(cx));
        out.word(
            "state",
            match self.state {
                State::Increase => "increase",
                State::Decrease => "decrease",
                State::Hold => "hold",
            },
        );
        out.word(
            "signal",
            match d.signal {
                Signal::Overuse => "over-use",
                Signal::Normal => "normal",
                Signal::Underuse => "under-use",
            },
        );
        out.rate("delay_based", self.delay_based);
        out.rate("loss_based", self.loss_based);
        out.rate("received", self.received());
        out.value("m", packet::Unit::Milliseconds, Some(d.m));
        out.value("threshold", packet::Unit::Milliseconds, Some(d.threshold));
        out.duration("qdelay", self.queue_delay());
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::PacketReport;
    use super::*;
    use packet::Ecn;

    fn context() -> Context {
        Context {
            min: 100e3,
            start: 1e6,
            max: 5e6,
            packet: 1200.0,
            headers: 0.0,
            frame_interval: Duration::from_millis(20),
            ecn: Ecn::NotEct,
        }
    }

    /// If d, the arrival gap minus the departure gap, is the same for every group, the filter's estimate converges to
    /// d, because the error variance has a fixed point at which the gain k is positive.
    #[test]
    fn the_filter_finds_a_constant_gradient() {
        let p = GccParams { offset_gain: 1.0, ..GccParams::default() };
        let mut detector = Detector::new(12.5);
        (0..3000).for_each(|_| detector.group_done(2.5, 20.0, 22.5, &p));
        assert!((detector.m - 2.5).abs() < 1e-6, "{}", detector.m);
        // at the fixed point, the error variance e and the state noise variance q satisfy e (e + q) = q var. Here the
        // noise variance var is 1, so e = (-q + sqrt(q^2 + 4 q)) / 2 = 0.03113
        assert!((detector.e - 0.031_127).abs() < 1e-5, "{}", detector.e);
        assert_eq!(detector.signal, Signal::Normal);
    }

    /// If |o| stays at c, the threshold after n steps of dt ms is th(n) = c - (c - th(0)) (1 - K dt)^n. K depends on whether
    /// c is above or below the threshold.
    #[test]
    fn the_threshold_approaches_a_constant_gradient() {
        for (c, k) in [(20.0, 0.01), (6.5, 0.000_18)] {
            let mut detector = Detector::new(12.5);
            for n in 1..=200 {
                detector.adapt(c, 10.0);
                let exact = c - (c - 12.5) * math::pow(1.0 - k * 10.0, f64::from(n));
                assert!((detector.threshold - exact).abs() < 1e-9, "{n}: {} {exact}", detector.threshold);
            }
        }
        // if |o| is more than 15 ms above the threshold, the threshold does not change. The threshold does not fall below
        // 6 ms
        let mut detector = Detector::new(12.5);
        detector.adapt(28.0, 10.0);
        assert_eq!(detector.threshold, 12.5);
        (0..100_000).for_each(|_| detector.adapt(0.0, 10.0));
        assert_eq!(detector.threshold, 6.0);
    }

    #[test]
    fn over_use_needs_ten_milliseconds_and_no_fall() {
        let p = GccParams::default();
        let mut detector = Detector::new(12.5);
        detector.detect(13.0, true, 5.0, &p);
        assert_eq!(detector.signal, Signal::Normal);
        detector.detect(13.0, false, 5.0, &p);
        assert_eq!(detector.signal, Signal::Normal);
        detector.detect(13.0, true, 5.0, &p);
        assert_eq!(detector.signal, Signal::Overuse);
        detector.detect(-13.0, false, 5.0, &p);
        assert_eq!(detector.signal, Signal::Underuse);
        detector.detect(0.0, true, 5.0, &p);
        detector.detect(13.0, true, 5.0, &p);
        assert_eq!(detector.signal, Signal::Normal, "the time begins again");
    }

    /// The packets of a burst form one group. Each group departs 20 ms after the previous group and arrives 23 ms after
    /// it, so d = 23 - 20 = 3 ms.
    #[test]
    fn groups_are_bursts() {
        let p = GccParams { offset_gain: 1.0, ..GccParams::default() };
        let mut detector = Detector::new(12.5);
        let at = |us: u64| Time(us * 1000);
        for group in 0..4 {
            for packet in 0..3 {
                let (sent, arrived) = (20_000 * group + 1000 * packet, 50_000 + 23_000 * group + 6000 * packet);
                detector.packet(at(sent), at(arrived), &p);
            }
        }
        // four groups have begun, and three are complete, which gives two differences of 3 ms. With departures 20 ms apart, a =
        // 0.99^0.6 = 0.99399. First: var = a + 9 (1 - a) = 1.0481, k = 0.101 / 1.1491 = 0.08790, e = 0.101 (1 - k) = 0.09212, m
        // = 3 k = 0.2637. Second: z = 2.7363, var = 1.0481 a + z^2 (1 - a) = 1.0868, k = 0.09312 / 1.1799 = 0.07892, m = 0.2637
        // + k z = 0.4797
        assert_eq!((detector.groups, detector.gaps.len()), (2, 2));
        assert!((detector.m - 0.4797).abs() < 2e-4, "{}", detector.m);
        // if a delayed packet arrives right after the previous packet, it joins the group of that packet
        let mut detector = Detector::new(12.5);
        for (sent, arrived) in [(0, 50_000), (20_000, 70_000), (30_000, 72_000), (60_000, 110_000)] {
            detector.packet(at(sent), at(arrived), &p);
        }
        // the second group's last packet departs at 30 ms and arrives at 72 ms: d = (72 - 50) - (30 - 0) = -8
        assert_eq!((detector.groups, detector.gaps.front()), (1, Some(&30.0)));
        assert!(detector.m < 0.0);
    }

    /// Runs a flow that sends 100 packets of 1250 B per second (1 Mbit/s), with the given one-way delays and losses.
    fn run(gcc: &mut Gcc, from: u64, packets: u64, delay_ms: impl Fn(u64) -> f64, lost: impl Fn(u64) -> bool) {
        for n in from..from + packets {
            let sent = Time(n * 10_000_000);
            let arrived = sent + Duration((delay_ms(n) * 1e6) as u64);
            let report = PacketReport { sent, arrived: (!lost(n)).then_some(arrived), bytes: 1250, ce: false };
            let feedback = Feedback { now: arrived, packets: &[report], srtt: Duration::from_millis(100) };
            gcc.on_feedback(&context(), &feedback);
        }
    }

    /// Over-use sets the rate to 0.85 of the received rate, which is just below 1 Mbit/s. When the queue no longer
    /// changes, the rate grows by half a packet per response time of 200 ms. At 0.85 Mbit/s, a frame of 20 ms has
    /// 17 000 bits and needs two packets of 8500 bits. The rate is updated every 10 ms, 20 times per response time, so
    /// half a packet would give 8500 / 2 / 20 = 212 bit/s per update. This is below the minimum increase, so the rate
    /// grows by the minimum, 1000 bit/s.
    #[test]
    fn over_use_reduces_to_085_of_the_received_rate() {
        let cx = context();
        let mut gcc = Gcc::new(&GccParams::default(), &cx);
        run(&mut gcc, 0, 200, |_| 50.0, |_| false);
        let before = gcc.delay_based;
        assert!(before > 1.1e6, "{before}");
        // the queue grows by 3 ms per packet: arrivals are 13 ms apart
        let mut n = 200;
        while gcc.state != State::Decrease {
            run(&mut gcc, n, 1, |n| 50.0 + 3.0 * (n - 200) as f64, |_| false);
            n += 1;
            assert!(n < 230, "no over-use");
        }
        let received = gcc.received().unwrap();
        assert!((0.9e6..1e6).contains(&received), "{received}");
        assert!((gcc.target(&cx) / received - 0.85).abs() < 1e-12);
        assert!(gcc.convergence.is_some());
        // after a normal signal, growth is additive: each of ten updates in 0.1 s adds 1000 bit/s
        let top = 50.0 + 3.0 * (n - 201) as f64;
        while gcc.state != State::Increase {
            run(&mut gcc, n, 1, |_| top, |_| false);
            n += 1;
            assert!(n < 400, "no increase");
        }
        let from = gcc.delay_based;
        run(&mut gcc, n, 10, |_| top, |_| false);
        assert!((gcc.delay_based - from - 10.0 * 1000.0).abs() < 1e-6, "{}", gcc.delay_based - from);
    }

    /// Without congestion the rate grows by 8 % per second, up to 1.5 times the received rate.
    #[test]
    fn growth_far_from_convergence() {
        let mut gcc = Gcc::new(&GccParams::default(), &context());
        run(&mut gcc, 0, 101, |_| 50.0, |_| false);
        assert!((gcc.delay_based / 1e6 - 1.08).abs() < 1e-9, "{}", gcc.delay_based);
        run(&mut gcc, 101, 2000, |_| 50.0, |_| false);
        assert!((gcc.delay_based / 1.5e6 - 1.0).abs() < 1e-9, "{}", gcc.delay_based);
    }

    /// A loss of 20 % multiplies the rate by 0.9. A loss of 5 % does not change the loss-based rate, and with a loss of
    /// less than 2 % the loss-based rate grows.
    #[test]
    fn losses_limit_the_rate() {
        let mut gcc = Gcc::new(&GccParams::default(), &context());
        run(&mut gcc, 0, 100, |_| 50.0, |n| n % 20 == 5);
        let held = gcc.loss_based;
        run(&mut gcc, 100, 100, |_| 50.0, |n| n % 20 == 5);
        assert_eq!(gcc.loss_based, held);
        gcc.loss_decrease = None;
        let rate = gcc.rate();
        gcc.fates = [(Time(2_000_000_000), 100, 20)].into();
        gcc.control_loss(Time(2_000_000_000), Duration::from_millis(100));
        assert!((gcc.rate() / rate - 0.9).abs() < 1e-12);
        // the rate does not fall again until RTT + 300 ms = 400 ms has passed
        gcc.control_loss(Time(2_399_000_000), Duration::from_millis(100));
        assert!((gcc.rate() / rate - 0.9).abs() < 1e-12);
        gcc.control_loss(Time(2_400_000_000), Duration::from_millis(100));
        assert!((gcc.rate() / rate - 0.81).abs() < 1e-12);
        // a second later, the loss-based rate rises by 5 %
        gcc.fates = [(Time(3_400_000_000), 100, 1)].into();
        gcc.control_loss(Time(3_399_000_000), Duration::from_millis(100));
        assert!((gcc.loss_based / rate - 0.81).abs() < 1e-12);
        gcc.control_loss(Time(3_400_000_000), Duration::from_millis(100));
        assert!((gcc.loss_based / rate - 0.81 * 1.05).abs() < 1e-12);
    }

    #[test]
    fn refusals_name_the_field() {
        let bad = |p: GccParams| p.validate().unwrap_err().path;
        let good = GccParams::default;
        good().validate().unwrap();
        assert_eq!(bad(GccParams { beta: 1.0, ..good() }), "beta");
        assert_eq!(bad(GccParams { chi: f64::NAN, ..good() }), "chi");
        assert_eq!(bad(GccParams { threshold: Duration::ZERO, ..good() }), "threshold");
        assert_eq!(bad(GccParams { offset_gain: 0.0, ..good() }), "offset_gain");
    }
}
