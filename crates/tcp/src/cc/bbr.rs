//! BBR version 1: follows a model of the path (bottleneck bandwidth and round-trip propagation time) instead of reacting to
//! losses.
//!
//! ```text
//! BtlBw   = max of delivery rates over 10 rounds          RTprop = min of round trips over 10 s
//! BDP     = BtlBw * RTprop
//! pacing  = pacing_gain * BtlBw * 0.99                     window = cwnd_gain * BDP + aggregation + quanta
//!
//! states (pacing_gain, cwnd_gain):
//! Startup (2.89, 2.89) --BtlBw grew less than 25 % in three rounds--> Drain (0.34, 2.89)
//!    Drain --in flight <= BDP--> ProbeBw (1.25, 0.75, 1, 1, 1, 1, 1, 1 in turn, each for RTprop;  2)
//!    any --RTprop not seen for 10 s--> ProbeRtt (1;  4 segments for 200 ms and a round) --> ProbeBw or Startup
//! ```
//!
//! BBR also sets the window during a recovery: packet conservation for one round, then the model's window again.
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00; Cardwell et al., ACM Queue 14(5) 2016; CSC458 §5. The window's quanta,
//! the allowance for aggregated ACKs and the margin of 1 % follow Linux, because at the small BDPs of CSC458 (3.3 packets) they
//! determine the queue length. BtlBw is a maximum, so ACKs with jitter make it exceed the true bandwidth: 50 us in a round
//! trip of 20 ms is 0.25 %, a quarter of the 1 % by which pacing stays below the estimate. If about a fifth of the data
//! delivered, or more, is lost in two consecutive intervals with about the same delivery rate, BBR assumes a policer,
//! and sends at that rate for 48 rounds, as Linux does ([`long_term`]).

mod aggregation;
mod filter;
mod long_term;
mod responses;
#[cfg(test)]
mod tests;

use super::control::{AckSample, Drive, Window};
use crate::stats::State;
use aggregation::Aggregation;
use filter::MaxFilter;
use long_term::LongTerm;
use units::{Duration, Rng, Time};

/// The smallest gain that doubles the delivery rate every round: 2/ln 2 = 2.885, rounded up to a multiple of 1/256 as in Linux. The
/// draft rounds it to 2.89.
const HIGH_GAIN: f64 = 739.0 / 256.0;
/// 1 / 2.885, rounded down to a multiple of 1/256. In one round it drains the queue that Startup has built.
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// Gain of the window in ProbeBw. It leaves room for delayed and aggregated ACKs.
const CWND_GAIN: f64 = 2.0;
/// The cycle of pacing gains in ProbeBw: a phase that probes, a phase that drains the queue built by the probe, and six that
/// cruise.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Time for which a measured minimum RTT is valid.
const RTPROP_WINDOW: Duration = Duration::from_secs(10);
/// Minimum time for which ProbeRtt continues after the data in flight has dropped to the minimum window.
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// Minimum window, segments. It keeps data flowing even if only every second segment is acknowledged.
const MIN_CWND: f64 = 4.0;
/// The pipe is not full yet if the bandwidth has grown by at least this factor.
const FULL_GROWTH: f64 = 1.25;
/// Number of rounds with less growth than [`FULL_GROWTH`] after which the pipe counts as full.
const FULL_ROUNDS: u32 = 3;
/// Factor applied to the pacing rate. Pacing slightly below the estimate drains queues caused by estimation errors.
const PACING_MARGIN: f64 = 0.99;
/// Round-trip time assumed for the first pacing rate if the handshake gave no sample. Linux uses the same value.
const FIRST_RTT: Duration = Duration::from_millis(1);
/// Limit on the window's allowance for aggregated ACKs, in seconds: the allowance is at most the data that the
/// estimated bandwidth delivers in this time.
const AGGREGATION_CAP: f64 = 0.1;
/// Pacing rate below which a burst is one segment, bytes/s: 1.2 Mbit/s, as in Linux. At higher rates, a burst holds what the
/// pacing rate sends in 1/1024 s, but at least two segments.
const ONE_SEGMENT_BELOW: f64 = 150_000.0;

/// The states of BBR's state machine, named as in draft-cardwell-iccrg-bbr-congestion-control-00.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Doubles the rate every round.
    #[default]
    Startup,
    /// Drains the queue that Startup built.
    Drain,
    /// Cruises and probes for bandwidth; the value is an index into [`CYCLE`].
    ProbeBw(u8),
    /// Keeps the window at four segments to measure the propagation time.
    ProbeRtt {
        /// Earliest time at which this state ends; set once the data in flight has dropped to four segments.
        done: Option<Time>,
        /// True once a round has passed since `done` was set.
        round: bool,
    },
}

/// The state that detects a full pipe.
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    /// Bandwidth when it last grew by 25 %, bytes per second.
    bw: f64,
    /// Number of rounds since the bandwidth last grew by 25 %. Application-limited rounds are not counted.
    rounds: u32,
    reached: bool,
}

#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "variables of the draft and of Linux")]
pub(crate) struct Bbr {
    mss: f64,
    mode: Mode,
    /// Windowed maximum of the delivery rate, bytes per second.
    btl_bw: MaxFilter,
    /// Minimum RTT, microseconds.
    rt_prop: Option<u32>,
    /// Time at which `rt_prop` was measured, or the end of the last ProbeRtt if that was later.
    rt_prop_at: Time,
    /// Number of rounds so far. A round ends with the first ACK of a segment that was sent when at least
    /// `next_round_delivered` bytes had already been delivered.
    rounds: u64,
    next_round_delivered: u64,
    round_start: bool,
    full_pipe: FullPipe,
    phase_at: Time,
    /// Window before ProbeRtt, a recovery or a timeout, segments.
    prior_cwnd: f64,
    conserving: bool,
    previous: State,
    /// Pacing rate, payload bytes per second.
    pacing_rate: f64,
    seen_rtt: bool,
    /// True from the end of an idle period until the next ACK of data, if the application had limited the rate.
    idle_restart: bool,
    aggregation: Aggregation,
    long_term: LongTerm,
    /// True from a timeout until the next ACK.
    timed_out: bool,
    /// Random numbers for the first phase of ProbeBw. If `None`, a stream with a fixed seed is used, the same for all
    /// connections.
    rng: Option<Rng>,
}

impl Bbr {
    /// Returns the estimated bandwidth of the bottleneck, or the rate of a policer, in payload bytes per second.
    fn btl_bw(&self) -> f64 {
        self.long_term.rate().unwrap_or_else(|| self.btl_bw.get())
    }

    /// Returns the number of segments that are sent back to back, as with segmentation offload: as many as the pacing
    /// rate sends in 1/1024 s, but at least two (one at rates below [`ONE_SEGMENT_BELOW`]) and at most 127.
    fn burst(&self) -> u32 {
        let least = if self.pacing_rate < ONE_SEGMENT_BELOW { 1.0 } else { 2.0 };
        (self.pacing_rate / 1024.0 / self.mss).clamp(least, 127.0) as u32
    }

    /// Returns BBR's output to the sender: window `w`, the pacing rate and the size of a burst.
    fn drive(&self, w: Window) -> Drive {
        Drive {
            reduction: false,
            converges: false,
            pacing_rate: Some(self.pacing_rate),
            quantum: self.burst(),
            // in ProbeRtt, the window is four segments, so the measured delivery rate is not the bandwidth of the path
            probing_delay: matches!(self.mode, Mode::ProbeRtt { .. }),
            ..w.into()
        }
    }

    // ---------------------------------------------------------------- the model

    fn update_round(&mut self, a: &AckSample) {
        self.round_start = false;
        if let Some(d) = a.rate
            && !d.compressed
            && d.prior_delivered >= self.next_round_delivered
        {
            self.next_round_delivered = a.total_delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserving = false;
        }
    }

    fn update_long_term(&mut self, a: &AckSample) {
        let in_probe_bw = matches!(self.mode, Mode::ProbeBw(_));
        if self.long_term.on_ack(a, self.round_start, in_probe_bw) {
            self.mode = self.enter_probe_bw(a.now);
        }
    }

    /// Applies a timeout to the detection of a policer. Called at the next ACK, when the losses of the timeout are known.
    fn sample_timeout(&mut self, now: Time) {
        let in_probe_bw = matches!(self.mode, Mode::ProbeBw(_));
        if self.long_term.on_rto(in_probe_bw) {
            self.mode = self.enter_probe_bw(now);
        }
    }

    fn update_btl_bw(&mut self, a: &AckSample) {
        let Some(d) = a.rate.filter(|d| !d.compressed) else { return };
        let rate = d.bytes as f64 / d.interval.secs();
        if !d.app_limited || rate >= self.btl_bw.get() {
            self.btl_bw.update(self.rounds, rate);
        }
    }

    fn update_aggregation(&mut self, w: &Window, a: &AckSample) {
        let (bw, round_start) = (self.btl_bw(), self.round_start);
        self.aggregation.on_ack(a, a.delivered as f64 / self.mss, bw / self.mss, w.cwnd, round_start);
    }

    fn update_rt_prop(&mut self, w: &mut Window, a: &AckSample) {
        let expired = a.now > self.rt_prop_at + RTPROP_WINDOW && self.rt_prop.is_some();
        if let Some(us) = a.rate.and_then(|d| d.rtt_us)
            && (expired && !self.maybe_delayed(a) || self.rt_prop.is_none_or(|min| us < min))
        {
            self.rt_prop = Some(us);
            self.rt_prop_at = a.now;
        }
        // a pause has drained the queue, so the first round trip after it is a new minimum, which needs no probe
        if expired && !self.idle_restart && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.mode = Mode::ProbeRtt { done: None, round: false };
            self.save_cwnd(w);
        }
        let Mode::ProbeRtt { done, round } = self.mode else { return };
        self.mode = match done {
            None if a.in_flight as f64 <= MIN_CWND * self.mss => {
                self.next_round_delivered = a.total_delivered;
                Mode::ProbeRtt { done: Some(a.now + PROBE_RTT_TIME), round: false }
            }
            Some(at) if (round || self.round_start) && a.now > at => self.leave_probe_rtt(w, a.now),
            Some(_) => Mode::ProbeRtt { done, round: round || self.round_start },
            None => self.mode,
        };
    }

    /// Returns true if the receiver may have delayed this ACK: the ACK reports no mark and delivers a single segment
    /// that is not full, and no other data was delivered since this segment was sent.
    /// Source: Linux FLAG_ACK_MAYBE_DELAYED.
    fn maybe_delayed(&self, a: &AckSample) -> bool {
        let alone = a.rate.is_some_and(|d| d.bytes == a.delivered);
        alone && a.acked > 0.0 && (a.delivered as f64) < self.mss && !a.marked
    }

    /// Restores the window, and returns the state that follows ProbeRtt.
    fn leave_probe_rtt(&mut self, w: &mut Window, now: Time) -> Mode {
        self.rt_prop_at = now;
        w.cwnd = w.cwnd.max(self.prior_cwnd);
        if self.full_pipe.reached { self.enter_probe_bw(now) } else { Mode::Startup }
    }

    // ---------------------------------------------------------------- the state machine

    fn update_full(&mut self, a: &AckSample) {
        if self.full_pipe.reached || !self.round_start || a.rate.is_some_and(|d| d.app_limited) {
            return;
        }
        let bw = self.btl_bw.get();
        if bw >= self.full_pipe.bw * FULL_GROWTH {
            self.full_pipe.bw = bw;
            self.full_pipe.rounds = 0;
            return;
        }
        self.full_pipe.rounds += 1;
        self.full_pipe.reached = self.full_pipe.rounds >= FULL_ROUNDS;
    }

    fn update_drain(&mut self, a: &AckSample) {
        if self.mode == Mode::Startup && self.full_pipe.reached {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && self.in_network(a.in_flight as f64, a) <= self.inflight(1.0) {
            self.mode = self.enter_probe_bw(a.now);
        }
    }

    /// Starts ProbeBw in a random phase. The draining phase is excluded, because there is no queue to drain yet.
    fn enter_probe_bw(&mut self, now: Time) -> Mode {
        self.phase_at = now;
        let phase = self.rng.get_or_insert_with(|| Rng::named(0, "bbr")).below(7) as u8;
        Mode::ProbeBw(if phase == 0 { 0 } else { phase + 1 })
    }

    fn update_phase(&mut self, a: &AckSample) {
        let Mode::ProbeBw(phase) = self.mode else { return };
        let gain = self.gains().0;
        let long = a.now.since(self.phase_at) > Duration::from_micros(u64::from(self.rt_prop.unwrap_or(0)));
        let in_network = self.in_network(a.flight_before as f64, a);
        let over = if gain > 1.0 {
            long && (a.lost > 0 || in_network >= self.inflight(gain))
        } else if gain < 1.0 {
            long || in_network <= self.inflight(1.0)
        } else {
            long
        };
        if over {
            self.phase_at = a.now;
            self.mode = Mode::ProbeBw((phase + 1) % CYCLE.len() as u8);
        }
    }

    /// Estimates the number of segments in the network at the time when the next burst leaves, if `in_flight` bytes are
    /// in the network now. The burst itself counts only if the pacing gain is above 1. Source: Linux
    /// bbr_packets_in_net_at_edt.
    fn in_network(&self, in_flight: f64, a: &AckSample) -> f64 {
        let burst = if self.gains().0 > 1.0 { f64::from(self.burst()) } else { 0.0 };
        let delivered = (self.btl_bw() * a.held_back.secs() / self.mss).floor();
        (in_flight / self.mss + burst - delivered).max(0.0)
    }

    fn gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw(_) if self.long_term.rate().is_some() => (1.0, CWND_GAIN),
            Mode::ProbeBw(phase) => (CYCLE[usize::from(phase)], CWND_GAIN),
            Mode::ProbeRtt { .. } => (1.0, 1.0),
        }
    }

    // ---------------------------------------------------------------- the outputs

    /// Returns `gain` times the BDP in segments, rounded up, for a bandwidth of `bw`. Returns `initial` before the
    /// first RTT sample.
    fn bdp(&self, bw: f64, gain: f64, initial: f64) -> f64 {
        match self.rt_prop {
            None => initial,
            Some(us) => (gain * bw * f64::from(us) * 1e-6 / self.mss).ceil(),
        }
    }

    /// Adds to `cwnd` the segments that must be in flight beyond a BDP to keep a path busy despite bursts and delayed ACKs.
    fn quanta(&self, cwnd: f64) -> f64 {
        let even = ((cwnd + 3.0 * f64::from(self.burst())) * 0.5).ceil() * 2.0;
        if self.mode == Mode::ProbeBw(0) { even + 2.0 } else { even }
    }

    fn inflight(&self, gain: f64) -> f64 {
        self.quanta(self.bdp(self.btl_bw.get(), gain, MIN_CWND))
    }

    fn paced(&self, gain: f64) -> f64 {
        gain * PACING_MARGIN * self.btl_bw()
    }

    fn first_rtt(&mut self, w: &Window, us: u32) {
        self.seen_rtt = true;
        self.pacing_rate = HIGH_GAIN * PACING_MARGIN * w.cwnd * self.mss / (f64::from(us.max(1)) * 1e-6);
    }

    fn set_pacing_rate(&mut self, w: &Window, a: &AckSample) {
        if !self.seen_rtt
            && let Some(us) = a.rate.and_then(|d| d.rtt_us)
        {
            self.first_rtt(w, us);
        }
        let rate = self.paced(self.gains().0);
        if rate > 0.0 && (self.full_pipe.reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    fn save_cwnd(&mut self, w: &Window) {
        let steady = !self.previous.repairs() && !matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_cwnd = if steady { w.cwnd } else { self.prior_cwnd.max(w.cwnd) };
    }

    fn set_cwnd(&mut self, w: &mut Window, a: &AckSample) {
        let acked = a.delivered as f64 / self.mss;
        if acked > 0.0 && !self.recover_or_restore(w, a, acked) {
            let mut target = self.bdp(self.btl_bw(), self.gains().1, w.cwnd);
            if self.full_pipe.reached {
                let cap = self.btl_bw() * AGGREGATION_CAP / self.mss;
                target += self.aggregation.extra().min(cap).floor();
            }
            let target = self.quanta(target);
            if self.full_pipe.reached {
                w.cwnd = (w.cwnd + acked).min(target);
            } else if w.cwnd < target || (a.total_delivered as f64) < 10.0 * self.mss {
                w.cwnd += acked;
            }
            w.cwnd = w.cwnd.max(MIN_CWND);
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            w.cwnd = w.cwnd.min(MIN_CWND);
        }
    }

    /// Sets the window after losses, at the beginning and the end of a recovery, and during packet conservation.
    /// Returns true during packet conservation.
    fn recover_or_restore(&mut self, w: &mut Window, a: &AckSample, acked: f64) -> bool {
        let in_flight = a.in_flight as f64 / self.mss;
        let mut cwnd = w.cwnd;
        if a.lost > 0 {
            cwnd = (cwnd - a.lost as f64 / self.mss).max(1.0);
        }
        if a.state == State::Recovery && self.previous != State::Recovery {
            self.conserving = true;
            self.next_round_delivered = a.total_delivered;
            // at least one segment: an ACK may deliver less than a segment and leave nothing in flight
            cwnd = (in_flight + acked).max(1.0);
        } else if self.previous.repairs() && !a.state.repairs() {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserving = false;
        }
        self.previous = a.state;
        w.cwnd = if self.conserving { cwnd.max(in_flight + acked) } else { cwnd };
        self.conserving
    }
}
