//! BBR version 1: a model of the path (bottleneck bandwidth, round-trip propagation) instead of a reaction to losses.
//!
//! ```text
//! BtlBw   = max of delivery rates over 10 rounds          RTprop = min of round trips over 10 s
//! BDP     = BtlBw * RTprop
//! pacing  = pacing_gain * BtlBw * 0.99                     window = cwnd_gain * BDP + aggregation + quanta
//!
//! Startup (2.89, 2.89) --BtlBw grew less than 25 % in three rounds--> Drain (0.35, 2.89)
//!    Drain --in flight <= BDP--> ProbeBw (1.25, 0.75, 1, 1, 1, 1, 1, 1; a phase lasts RTprop, 2)
//!    any --RTprop not seen for 10 s--> ProbeRtt (1, 4 segments for 200 ms and a round) --> ProbeBw or Startup
//! ```
//!
//! It owns the window during a recovery: one round of packet conservation, then the model again.
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00; Cardwell et al., ACM Queue 14(5) 2016; CSC458 §5.
//! The window's quanta, the allowance for aggregated ACKs and the margin of 1 % are those of Linux, because at the small BDPs
//! of CSC458 (3.3 packets) they decide the queue. As the maximum of what ACKs say, BtlBw is above the truth by as much as
//! ACKs come unevenly: 50 us in a round trip of 20 ms are 0.25 % of it, and a quarter of the margin that drains the queue.
//! Where a fifth of what is delivered is lost, at the same rate in two intervals in a row, the path is taken for policed and that
//! rate is kept to for 48 rounds ([`long_term`]), also as in Linux.
//! Departs: the first phase of ProbeBw is drawn from the
//! moment of entry instead of a random number, which leaves the machine free of randomness.

mod aggregation;
mod long_term;

use super::Window;
use crate::State;
use aggregation::Aggregation;
use long_term::LongTerm;
use units::{Duration, Time};

/// 2/ln 2, rounded up as everybody does: doubles the delivery rate every round.
const HIGH_GAIN: f64 = 2.89;
/// The inverse, empties in one round what Startup queued.
const DRAIN_GAIN: f64 = 1.0 / HIGH_GAIN;
/// Gain of the window in ProbeBw: room for delayed and stretched ACKs.
const CWND_GAIN: f64 = 2.0;
/// The cycle of pacing gains in ProbeBw: probe, drain what that queued, cruise.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Rounds over which the bandwidth's maximum is taken.
const BW_WINDOW: u64 = 10;
/// How long a round-trip minimum is believed.
const RTPROP_WINDOW: Duration = Duration::from_secs(10);
/// Time with a minimal window that lets the queue drain.
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// The smallest window, segments: keeps an ACK of every second segment going.
const MIN_CWND: f64 = 4.0;
/// Growth of the bandwidth within a round that says that the pipe is not full.
const FULL_GROWTH: f64 = 1.25;
/// Rounds without it that say that it is.
const FULL_ROUNDS: u32 = 3;
/// Segments at the start of a connection that Linux does not pace.
pub(crate) const UNPACED: u32 = 10;
/// Paced a little below the estimate, so that a queue that errors built drains.
const PACING_MARGIN: f64 = 0.99;
/// Round trip assumed for the first pacing rate when the handshake gave none. Linux: 1 ms.
const FIRST_RTT: Duration = Duration::from_millis(1);
/// Most time's worth of aggregated ACKs that the window allows for.
const AGGREGATION_CAP: f64 = 0.1;
/// Below this pacing rate a burst is one segment, above it two or what 1/1024 s carries. Linux: 1.2 Mbit/s. Unit: bytes/s.
const ONE_SEGMENT_BELOW: f64 = 150_000.0;

/// What an ACK says about the rate of delivery.
///
/// Source: draft-cheng-iccrg-delivery-rate-estimation-00 §3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delivery {
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
}

/// One ACK, as BBR sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack {
    /// Moment of the ACK.
    pub now: Time,
    /// Bytes newly delivered, acknowledged or SACKed.
    pub newly_delivered: u64,
    /// Bytes delivered since the connection began, this ACK included.
    pub delivered: u64,
    /// Bytes newly taken for lost.
    pub newly_lost: u64,
    /// Bytes in flight after this ACK.
    pub in_flight: u64,
    /// Its delivery rate, if it gives one.
    pub delivery: Option<Delivery>,
    /// How long pacing holds back what leaves next.
    pub held_back: Duration,
    /// State of the sender after it.
    pub state: State,
}

/// Where the machine is; names are the draft's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Doubles the rate every round.
    Startup,
    /// Empties the queue that Startup made.
    Drain,
    /// Cruises and probes, in the phase of this index.
    ProbeBw(u8),
    /// Holds the window at four segments; until when (once the window has come down), and whether a round has passed.
    ProbeRtt {
        /// End of the wait.
        done: Option<Time>,
        /// A round has passed since.
        round: bool,
    },
}

/// Maximum over the last [`BW_WINDOW`] rounds: best, second best and third best of three parts of the window.
///
/// Source: Nichols' windowed filter, as in the draft §4.1.2.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct MaxFilter {
    best: [(u64, f64); 3],
}

impl MaxFilter {
    fn get(&self) -> f64 {
        self.best[0].1
    }

    fn update(&mut self, round: u64, value: f64) {
        let new = (round, value);
        let b = &mut self.best;
        if value >= b[0].1 || round - b[2].0 > BW_WINDOW {
            *b = [new; 3];
            return;
        }
        if value >= b[1].1 {
            (b[1], b[2]) = (new, new);
        } else if value >= b[2].1 {
            b[2] = new;
        }
        let age = round - b[0].0;
        if age > BW_WINDOW {
            *b = [b[1], b[2], new];
            if round - b[0].0 > BW_WINDOW {
                *b = [b[1], b[2], new];
            }
        } else if b[1].0 == b[0].0 && age > BW_WINDOW / 4 {
            (b[1], b[2]) = (new, new);
        } else if b[2].0 == b[1].0 && age > BW_WINDOW / 2 {
            b[2] = new;
        }
    }
}

/// The state of one connection under BBR.
#[derive(Clone, Debug, PartialEq)]
pub struct Bbr {
    mss: f64,
    mode: Mode,
    /// Delivery rate's maximum, bytes per second.
    btl_bw: MaxFilter,
    /// Smallest round trip, microseconds, and when it was seen.
    rt_prop: Option<u32>,
    rt_prop_at: Time,
    /// Rounds so far; a round ends when `next_round_delivered` is delivered.
    rounds: u64,
    next_round_delivered: u64,
    round_start: bool,
    /// Bandwidth at the last growth of 25 %, and rounds since.
    full_bw: f64,
    full_rounds: u32,
    full: bool,
    phase_at: Time,
    /// Window before ProbeRtt or a recovery, segments.
    prior_cwnd: f64,
    conserving: bool,
    previous: State,
    /// Bytes per second.
    pacing_rate: f64,
    seen_rtt: bool,
    aggregation: Aggregation,
    long_term: LongTerm,
}

impl Bbr {
    /// A connection whose segments carry `mss` bytes and whose first window has `cwnd` segments.
    pub fn new(mss: u32, cwnd: f64) -> Self {
        let mss = f64::from(mss);
        Self {
            mss,
            mode: Mode::Startup,
            btl_bw: MaxFilter::default(),
            rt_prop: None,
            rt_prop_at: Time::ZERO,
            rounds: 0,
            next_round_delivered: 0,
            round_start: false,
            full_bw: 0.0,
            full_rounds: 0,
            full: false,
            phase_at: Time::ZERO,
            prior_cwnd: 0.0,
            conserving: false,
            previous: State::Open,
            pacing_rate: HIGH_GAIN * PACING_MARGIN * cwnd * mss / FIRST_RTT.secs(),
            seen_rtt: false,
            aggregation: Aggregation::default(),
            long_term: LongTerm::default(),
        }
    }

    /// Where the machine is.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Estimated bandwidth of the bottleneck, or the rate of a policer; payload bytes per second.
    pub fn btl_bw(&self) -> f64 {
        self.long_term.rate().unwrap_or_else(|| self.btl_bw.get())
    }

    /// Estimated round-trip propagation, microseconds.
    pub fn rt_prop_us(&self) -> Option<u32> {
        self.rt_prop
    }

    /// Rate at which segments may leave, payload bytes per second.
    pub fn pacing_rate(&self) -> f64 {
        self.pacing_rate
    }

    /// Segments that leave back to back: what offload would send as one.
    pub fn burst(&self) -> u32 {
        let least = if self.pacing_rate < ONE_SEGMENT_BELOW { 1.0 } else { 2.0 };
        (self.pacing_rate / 1024.0 / self.mss).clamp(least, 127.0) as u32
    }

    /// The handshake took `us` microseconds: the first round trip, and with the window the first pacing rate.
    ///
    /// Its small packets take less time on a slow link than any segment will, so that this minimum stands until it expires.
    pub fn on_handshake(&mut self, w: &Window, now: Time, us: u32) {
        self.rt_prop = Some(us);
        self.rt_prop_at = now;
        self.aggregation.restart(now);
        self.first_rtt(w, us);
    }

    /// The path was idle, and now data follows: the rate goes to the estimate at once.
    pub fn on_restart(&mut self, now: Time) {
        self.aggregation.restart(now);
        if matches!(self.mode, Mode::ProbeBw(_)) {
            self.pacing_rate = self.paced(1.0);
        }
    }

    /// A timeout: a round begins, the pipe's filling is judged anew, and the window will come back.
    pub fn on_rto(&mut self, w: &Window) {
        self.save_cwnd(w);
        self.previous = State::Loss;
        self.full_bw = 0.0;
        self.round_start = true;
    }

    /// A recovery begins.
    pub fn on_congestion(&mut self, w: &Window) {
        self.save_cwnd(w);
    }

    /// An ACK, after the sender has taken it in.
    pub fn on_ack(&mut self, w: &mut Window, a: &Ack) {
        self.update_round(a);
        self.update_long_term(a);
        self.update_btl_bw(a);
        self.update_aggregation(w, a);
        self.update_phase(a);
        self.update_full(a);
        self.update_drain(a);
        self.update_rt_prop(w, a);
        self.set_pacing_rate(w, a);
        self.set_cwnd(w, a);
    }

    // ---------------------------------------------------------------- the model

    fn update_round(&mut self, a: &Ack) {
        self.round_start = false;
        if let Some(d) = a.delivery
            && !d.compressed
            && d.prior_delivered >= self.next_round_delivered
        {
            self.next_round_delivered = a.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserving = false;
        }
    }

    fn update_long_term(&mut self, a: &Ack) {
        let in_probe_bw = matches!(self.mode, Mode::ProbeBw(_));
        if self.long_term.on_ack(a, self.round_start, in_probe_bw) {
            self.mode = self.enter_probe_bw(a.now);
        }
    }

    fn update_btl_bw(&mut self, a: &Ack) {
        let Some(d) = a.delivery.filter(|d| !d.compressed) else { return };
        let rate = d.bytes as f64 / d.interval.secs();
        if !d.app_limited || rate >= self.btl_bw.get() {
            self.btl_bw.update(self.rounds, rate);
        }
    }

    fn update_aggregation(&mut self, w: &Window, a: &Ack) {
        let (bw, round_start) = (self.btl_bw(), self.round_start);
        self.aggregation.on_ack(a, a.newly_delivered as f64 / self.mss, bw / self.mss, w.cwnd, round_start);
    }

    fn update_rt_prop(&mut self, w: &mut Window, a: &Ack) {
        let expired = a.now > self.rt_prop_at + RTPROP_WINDOW && self.rt_prop.is_some();
        if let Some(us) = a.delivery.and_then(|d| d.rtt_us)
            && (expired || self.rt_prop.is_none_or(|min| us < min))
        {
            self.rt_prop = Some(us);
            self.rt_prop_at = a.now;
        }
        if expired && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.save_cwnd(w);
            self.mode = Mode::ProbeRtt { done: None, round: false };
        }
        let Mode::ProbeRtt { done, round } = self.mode else { return };
        self.mode = match done {
            None if a.in_flight as f64 <= MIN_CWND * self.mss => {
                self.next_round_delivered = a.delivered;
                Mode::ProbeRtt { done: Some(a.now + PROBE_RTT_TIME), round: false }
            }
            Some(at) if (round || self.round_start) && a.now > at => {
                self.rt_prop_at = a.now;
                w.cwnd = w.cwnd.max(self.prior_cwnd);
                if self.full { self.enter_probe_bw(a.now) } else { Mode::Startup }
            }
            Some(_) => Mode::ProbeRtt { done, round: round || self.round_start },
            None => self.mode,
        };
    }

    // ---------------------------------------------------------------- the state machine

    fn update_full(&mut self, a: &Ack) {
        if self.full || !self.round_start || a.delivery.is_some_and(|d| d.app_limited) {
            return;
        }
        let bw = self.btl_bw.get();
        if bw >= self.full_bw * FULL_GROWTH {
            self.full_bw = bw;
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    fn update_drain(&mut self, a: &Ack) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && self.in_network(a.in_flight as f64, a) <= self.inflight(1.0) {
            self.mode = self.enter_probe_bw(a.now);
        }
    }

    /// Any phase but the draining one, which has nothing to drain yet.
    fn enter_probe_bw(&mut self, now: Time) -> Mode {
        self.phase_at = now;
        // Fibonacci hashing: the top bits of the product are as good as random
        let draw = now.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let phase = (draw % 7) as u8;
        Mode::ProbeBw(if phase == 0 { 0 } else { phase + 1 })
    }

    fn update_phase(&mut self, a: &Ack) {
        let Mode::ProbeBw(phase) = self.mode else { return };
        let gain = CYCLE[usize::from(phase)];
        let long = a.now.since(self.phase_at) > Duration::from_micros(u64::from(self.rt_prop.unwrap_or(0)));
        let in_network = self.in_network(a.in_flight as f64 + a.newly_delivered as f64, a);
        let over = if gain > 1.0 {
            long && (a.newly_lost > 0 || in_network >= self.inflight(gain))
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

    /// Segments that will be in the network when the next burst leaves, of `in_flight` bytes now; with that burst, where the
    /// pace is above the bandwidth.   Source: Linux bbr_packets_in_net_at_edt.
    fn in_network(&self, in_flight: f64, a: &Ack) -> f64 {
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

    // ---------------------------------------------------------------- what comes of it

    /// `gain` BDPs of `bw`, segments, rounded up.
    fn bdp(&self, bw: f64, gain: f64, initial: f64) -> f64 {
        match self.rt_prop {
            None => initial,
            Some(us) => (gain * bw * f64::from(us) * 1e-6 / self.mss).ceil(),
        }
    }

    /// What must be in flight beyond a BDP to keep a path with bursts and delayed ACKs busy.
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

    fn set_pacing_rate(&mut self, w: &Window, a: &Ack) {
        if !self.seen_rtt
            && let Some(us) = a.delivery.and_then(|d| d.rtt_us)
        {
            self.first_rtt(w, us);
        }
        let rate = self.paced(self.gains().0);
        if rate > 0.0 && (self.full || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    fn save_cwnd(&mut self, w: &Window) {
        let steady = matches!(self.previous, State::Open | State::Cwr) && !matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_cwnd = if steady { w.cwnd } else { self.prior_cwnd.max(w.cwnd) };
    }

    fn set_cwnd(&mut self, w: &mut Window, a: &Ack) {
        let acked = a.newly_delivered as f64 / self.mss;
        if !self.recover_or_restore(w, a, acked) {
            let mut target = self.bdp(self.btl_bw(), self.gains().1, w.cwnd);
            if self.full {
                let cap = self.btl_bw() * AGGREGATION_CAP / self.mss;
                target += self.aggregation.extra().min(cap).floor();
            }
            let target = self.quanta(target);
            if self.full {
                w.cwnd = (w.cwnd + acked).min(target);
            } else if w.cwnd < target || (a.delivered as f64) < 10.0 * self.mss {
                w.cwnd += acked;
            }
            w.cwnd = w.cwnd.max(MIN_CWND);
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            w.cwnd = w.cwnd.min(MIN_CWND);
        }
    }

    /// The window around a recovery; true while it conserves packets.
    fn recover_or_restore(&mut self, w: &mut Window, a: &Ack, acked: f64) -> bool {
        let in_flight = a.in_flight as f64 / self.mss;
        let mut cwnd = w.cwnd;
        if a.newly_lost > 0 {
            cwnd = (cwnd - a.newly_lost as f64 / self.mss).max(1.0);
        }
        let repairing = |s| matches!(s, State::Recovery | State::Loss);
        if a.state == State::Recovery && self.previous != State::Recovery {
            self.conserving = true;
            self.next_round_delivered = a.delivered;
            // less than a segment may have been delivered, and nothing be left in flight
            cwnd = (in_flight + acked).max(1.0);
        } else if repairing(self.previous) && !repairing(a.state) {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserving = false;
        }
        self.previous = a.state;
        w.cwnd = if self.conserving { cwnd.max(in_flight + acked) } else { cwnd };
        self.conserving
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    /// A path that delivers a segment every millisecond after 10 ms: BtlBw 1 MB/s, BDP 10 segments.
    fn run(acks: u64, rtt_us: u32) -> (Bbr, Window) {
        let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        let mut b = Bbr::new(MSS, w.cwnd);
        for k in 1..=acks {
            let now = Time(10_000_000 + k * 1_000_000);
            let in_flight = (w.cwnd as u64).min(10) * 1000;
            b.on_ack(&mut w, &ack(now, k * 1000, in_flight, rtt_us));
        }
        (b, w)
    }

    fn ack(now: Time, delivered: u64, in_flight: u64, rtt_us: u32) -> Ack {
        Ack {
            now,
            newly_delivered: 1000,
            delivered,
            newly_lost: 0,
            in_flight,
            delivery: Some(Delivery {
                bytes: 10_000,
                interval: Duration::from_millis(10),
                prior_delivered: delivered.saturating_sub(10_000),
                app_limited: false,
                rtt_us: Some(rtt_us),
                compressed: false,
            }),
            held_back: Duration::ZERO,
            state: State::Open,
        }
    }

    #[test]
    fn the_model_finds_bandwidth_and_round_trip() {
        let (b, w) = run(200, 10_000);
        assert!((b.btl_bw() - 1e6).abs() < 1.0 && b.rt_prop_us() == Some(10_000));
        assert!(matches!(b.mode(), Mode::ProbeBw(_)), "{:?}", b.mode());
        // 2 BDP = 20, no burst above two segments: 20 + 3 * 2 = 26, even; plus aggregation of at most a segment
        assert!((24.0..=30.0).contains(&w.cwnd), "{}", w.cwnd);
        assert_eq!(b.burst(), 2);
    }

    #[test]
    fn the_handshake_is_the_first_round_trip_until_it_expires() {
        let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        let mut b = Bbr::new(MSS, w.cwnd);
        b.on_handshake(&w, Time(5_000_000), 4_000);
        assert_eq!(b.rt_prop_us(), Some(4_000));
        // ten segments in 4 ms, times 2.89 and 0.99
        assert!((b.pacing_rate() - 2.89 * 0.99 * 10_000.0 / 0.004).abs() < 1.0);
        // every segment takes 10 ms, of which 6 ms are its own transmission: the handshake's small packets were faster
        for k in 1..=10_000 {
            let now = Time(5_000_000 + k * 1_000_000);
            b.on_ack(&mut w, &ack(now, k * 1000, 10_000, 10_000));
            assert_eq!(b.rt_prop_us(), Some(4_000), "{k} ms");
        }
        b.on_ack(&mut w, &ack(Time(10_006_000_000), 10_001_000, 10_000, 10_000));
        assert_eq!(b.rt_prop_us(), Some(10_000));
    }

    #[test]
    fn the_gains_of_a_cycle_average_one() {
        assert_eq!(CYCLE.iter().sum::<f64>(), 8.0);
        let (mut b, mut w) = run(200, 10_000);
        let mut seen = [false; 8];
        for k in 201..400 {
            // 14 segments in flight: above 1.25 BDP + quanta never, so a probing phase waits for a loss or the amount
            let mut a = ack(Time(10_000_000 + k * 1_000_000), k * 1000, 30_000, 10_000);
            a.newly_lost = 0;
            b.on_ack(&mut w, &a);
            let Mode::ProbeBw(phase) = b.mode() else { panic!("{:?}", b.mode()) };
            seen[usize::from(phase)] = true;
            let rate = CYCLE[usize::from(phase)] * PACING_MARGIN * 1e6;
            assert!((b.pacing_rate() - rate).abs() < 1.0);
        }
        assert_eq!(seen, [true; 8]);
    }

    #[test]
    fn startup_ends_three_rounds_after_the_last_growth() {
        let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        let mut b = Bbr::new(MSS, w.cwnd);
        let mut delivered = 0;
        let mut modes = Vec::new();
        // one ACK per round; the rate doubles four times, then stays
        for (k, rate) in [1u64, 2, 4, 8, 8, 8, 8].into_iter().enumerate() {
            delivered += rate * 1000;
            let mut a = ack(Time((k as u64 + 1) * 10_000_000), delivered, 100_000, 10_000);
            a.delivery = Some(Delivery {
                bytes: rate * 1000,
                interval: Duration::from_millis(10),
                prior_delivered: delivered - rate * 1000,
                app_limited: false,
                rtt_us: Some(10_000),
                compressed: false,
            });
            b.on_ack(&mut w, &a);
            modes.push(b.mode());
        }
        assert_eq!(modes[5], Mode::Startup);
        assert_eq!(modes[6], Mode::Drain);
    }

    #[test]
    fn a_round_trip_not_seen_for_ten_seconds_is_probed_for() {
        let (mut b, mut w) = run(200, 10_000);
        let before = w.cwnd;
        // from now on 12 ms: the old minimum expires 10 s after it was first seen, at 11 ms
        let mut k = 200;
        let mut first = None;
        let mut last = None;
        while k < 11_000 {
            k += 1;
            let in_flight = (w.cwnd as u64).min(12) * 1000;
            b.on_ack(&mut w, &ack(Time(10_000_000 + k * 1_000_000), k * 1000, in_flight, 12_000));
            if matches!(b.mode(), Mode::ProbeRtt { .. }) {
                first.get_or_insert(k);
                last = Some(k);
                assert_eq!(w.cwnd, MIN_CWND);
            }
        }
        let (first, last) = (first.unwrap(), last.unwrap());
        assert_eq!(first, 10_002);
        // 200 ms from when the window has come down to four segments
        assert!((last - first).abs_diff(200) <= 15, "{first} {last}");
        assert_eq!(b.rt_prop_us(), Some(12_000));
        assert!(w.cwnd >= before, "{} {before}", w.cwnd);
    }

    #[test]
    fn the_maximum_forgets_after_ten_rounds() {
        let mut f = MaxFilter::default();
        f.update(0, 5.0);
        for round in 1..=10 {
            f.update(round, 3.0);
            assert_eq!(f.get(), 5.0);
        }
        f.update(11, 3.0);
        assert_eq!(f.get(), 3.0);
    }

    #[test]
    fn a_recovery_conserves_packets_for_a_round_and_gives_the_window_back() {
        let (mut b, mut w) = run(200, 10_000);
        let before = w.cwnd;
        b.on_congestion(&w);
        let mut a = ack(Time(300_000_000), 201_000, 8_000, 10_000);
        a.state = State::Recovery;
        a.newly_lost = 2_000;
        b.on_ack(&mut w, &a);
        // 8 in flight and one delivered: nine
        assert_eq!(w.cwnd, 9.0);
        let mut out = ack(Time(301_000_000), 202_000, 8_000, 10_000);
        out.delivery = None;
        b.on_ack(&mut w, &out);
        assert!(w.cwnd >= before.min(24.0), "{} {before}", w.cwnd);
    }
}
