//! TCP Prague: a paced DCTCP for the Internet, whose rate is the same at all short round-trip times.
//!
//! ```text
//! virtual round trip     v = max(srtt, 25 ms), but v = srtt in slow start and in the first four rounds after it (`prague_rtt`)
//! each round of >= v:    alpha <- 15/16 alpha + 1/16 M,  M = share of segments marked;  alpha is 0 until the first mark
//! the first mark:        W <- W / 2
//! first mark of a round: W <- W (1 - alpha / 2);  with prague_cut = "marks", the same cut, but at the first mark that arrives
//!                        once all data sent before the last cut has been acknowledged
//! each unmarked segment: W <- W + (srtt / v)^2 / W;  W does not grow while the application limits the rate
//! cwnd                   moves one segment per ACK towards ceil(W), at least 2     loss: W <- W / 2, no growth during its repair
//! pacing                 max(floor(W), segments in flight) mss / srtt, twice that if cwnd < ssthresh / 2, at least 100 kbit/s;
//!                        bursts of 1/4096 s.  If cwnd <= 4, W is at least 100 kbit/s x srtt and, from the first mark on and
//!                        with v = 25 ms, the rate is W (1 ± 1/32) mss / srtt
//! segments               payload = half of the data sent in v, from 150 bytes to the MSS;  below 1 Mbit/s, two shrunk segments leave in v
//! ```
//!
//! If a share p of segments is marked, at even intervals, flows with round-trip times below 25 ms all send 2 (1 - p) /
//! p segments in 25 ms. Unlike in Linux's DCTCP, the window also grows in rounds with marks.
//!
//! Without AccECN, Prague does not send ECT, and behaves like Reno.
//!
//! Source: the authors' description of version 0.7 (L4STeam, tcp_prague.c); RFC 9331 §4;
//! draft-briscoe-iccrg-prague-congestion-control-04.
//! Departs: when segments shrink, the window stays at two full segments, because pacing limits the rate. After a loss, the sender's
//! `reduction` reduces the window. A queue that marks ECT(1) and ECT(0) alike, as in RFC 3168, is not detected. The next cut may
//! follow as soon as alpha is updated; the formula for the rate above assumes this. In Linux, the next cut also waits until all
//! data sent before the last cut is acknowledged, so windows are usually larger (`prague_cut = "marks"`).

use super::control::{AckSample, Congestion, Control, Drive, EcnNeeds, Feedback, Needs, Responder, Stack, Window};
use super::reno::Reno;
use super::shared::NoParams;
use crate::params::group::{group, words};
use crate::params::{Ect, EctOn};
use packet::Reading;
use units::{Duration, Time};

/// g: the gain of alpha.
const GAIN: f64 = 1.0 / 16.0;
/// Minimum virtual round-trip time: a shorter round trip may count as this long (see `prague_rtt`).
const TARGET_RTT: Duration = Duration::from_millis(25);
/// In version 0.7 of Prague, a round trip shorter than [`TARGET_RTT`] counts as [`TARGET_RTT`] once this number of
/// rounds have ended outside slow start.
const TRANSITION: u32 = 4;
/// The value of [`TRANSITION`] in version 0.6 of Prague.
const LATE_TRANSITION: u32 = 500;
/// Minimum window, segments.
const LEAST: f64 = 2.0;
/// Minimum payload of a shrunk segment, bytes.
const LEAST_SEGMENT: f64 = 150.0;
/// Number of segments that are sent in each virtual round trip when the rate is so low that segments shrink.
const SEGMENTS: f64 = 2.0;
/// Minimum pacing rate: 100 kbit/s. Unit: bytes/s.
const LEAST_RATE: f64 = 12_500.0;
/// Number of bursts per second: a burst holds the data that the pacing rate sends in 1/4096 s (about 250 us).
const BURSTS: f64 = 4096.0;
/// Maximum window, in segments, at which W is kept at the minimum rate or above, and the pacing rate may vary by
/// [`DITHER`].
const RATE_MODE: f64 = 4.0;
/// Relative change of the pacing rate. In the first half of a virtual round trip, the flow sends W (1 + DITHER)
/// segments per round trip, and in the second half W (1 - DITHER). The rate changes in this way only if the window is
/// at most [`RATE_MODE`], the first CE mark has arrived, and shorter round trips count as [`TARGET_RTT`].
const DITHER: f64 = 4.0 / 128.0;

group! {
    /// Parameters of TCP Prague.
    pub(crate) struct PragueParams {
        /// How Prague's rate depends on round-trip times below 25 ms.   Source: L4STeam, tcp_prague.c.
        pub prague_rtt: PragueRtt = PragueRtt::Scaled,
        /// When a mark may cut Prague's window again.
        pub prague_cut: PragueCut = PragueCut::Rounds,
    }
}

words! {
    /// How Prague's rate depends on round-trip times below 25 ms.
    pub(crate) enum PragueRtt {
        /// As in version 0.7 of Prague: after four rounds outside slow start, a round-trip time below 25 ms counts as
        /// 25 ms. So the rate is the same at all short round-trip times.
        "scaled" Scaled,
        /// As in version 0.6: like `scaled`, but only after 500 rounds.
        "scaled-late" ScaledLate,
        /// As in version 0.5, which the L4S tests of 2020 measured: short round-trip times count as they are. The
        /// window grows by one segment per round trip, as with DCTCP and Reno.
        "own" Own,
    }

    /// When a mark may cut Prague's window again.
    pub(crate) enum PragueCut {
        /// The first mark after each update of alpha may cut the window. (alpha is the moving average of the share of
        /// segments that are marked.) With this value, the rate of a flow agrees with the draft's formula.   Source:
        /// draft-briscoe-iccrg-prague-congestion-control.
        "rounds" Rounds,
        /// A mark may cut the window again once all data that was sent before the last cut has been acknowledged. While
        /// short round-trip times count as 25 ms (see `prague_rtt`), at least 25 ms pass between two cuts. With random
        /// marks, windows are a fifth to a third larger than with `rounds`. Source: Linux (L4STeam).
        "marks" Marks,
    }
}

/// The state that decides when a mark may cut the window again.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LastCut {
    /// True if the window was already cut in the current round.
    Round(bool),
    /// With `prague_cut = "marks"`: time of the last cut (`at`), and end of the data sent before this cut (`sent`).
    /// `sent` may also be set by a mark that comes too early for a cut, see [`Prague::may_cut`].
    At { sent: u64, at: Time },
}

impl Default for LastCut {
    fn default() -> Self {
        Self::Round(false)
    }
}

/// The state of one flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Prague {
    /// The controller used without AccECN.
    reno: Reno,
    mss: f64,
    /// A round trip below 25 ms counts as 25 ms once this number of rounds have ended outside slow start.
    transition: u32,
    /// W: the window before it is rounded to whole segments.
    w: f64,
    alpha: f64,
    /// True once a mark has been received.
    saw_ce: bool,
    /// Segments delivered in the current round. Together with `marked`, they update alpha at the end of the round, once
    /// the first mark has arrived.
    segments: u64,
    /// Segments marked in the current round.
    marked: u64,
    /// End of the data in flight when the current round began. The round lasts at least until this data is
    /// acknowledged.
    round_until: u64,
    /// Number of rounds that have ended outside slow start, counted up to [`LATE_TRANSITION`].
    rounds: u32,
    alpha_at: Time,
    last_cut: LastCut,
    /// The window before the last loss, kept until the next ACK on which the window may grow (usually the ACK that ends
    /// the fast recovery; after a timeout, the next ACK of new data). If the sender has restored the window by then, W
    /// is restored too.
    before_loss: Option<f64>,
    /// True if AccECN is in use.
    counted: bool,
    pacing_rate: Option<f64>,
    /// Payload of a segment, bytes.
    segment: f64,
}

impl Prague {
    /// Returns true if round-trip times below 25 ms now count as 25 ms.
    fn rtt_independent(&self, w: &Window) -> bool {
        !w.slow_start() && self.rounds >= self.transition
    }

    /// Applies an ACK: reduces W for marks, grows W for unmarked segments, and moves cwnd by one segment towards W.
    fn adjust(&mut self, w: &mut Window, s: &AckSample) {
        if let Some(before) = self.before_loss.take()
            && w.cwnd >= before
        {
            // the loss was spurious: the sender has restored the window
            self.w = w.cwnd;
        }
        let marked = f64::from(s.ce_packets) * (self.segment / self.mss);
        if marked > 0.0 {
            self.reduce(w, s);
        }
        // a flow that is paced at W per round trip seldom fills its window. The window must therefore grow even if it
        // is not full, unless the application has no data to send
        let app_limited = s.rate.is_some_and(|r| r.app_limited);
        if !app_limited && s.credit > marked {
            self.grow(w, s.credit - marked, s.srtt);
        }
        let target = self.w.ceil().max(LEAST);
        if w.cwnd > target {
            w.cwnd = (w.cwnd - 1.0).max(target);
            w.ssthresh = w.cwnd;
        } else if w.cwnd < target && !w.slow_start() {
            w.cwnd = (w.cwnd + 1.0).min(target);
        }
    }

    /// Responds to a mark.
    fn reduce(&mut self, w: &mut Window, s: &AckSample) {
        if self.may_cut(w, s) {
            self.w *= 1.0 - self.alpha / 2.0;
        }
        if !self.saw_ce {
            self.saw_ce = true;
            self.w *= 0.5;
            w.ssthresh = w.ssthresh.min(w.cwnd);
        }
    }

    /// Returns true if a mark may cut the window now, and records the cut. With `prague_cut = "marks"`, if short
    /// round trips count as 25 ms, a mark does not cut the window when the last cut was less than 25 ms ago. As in
    /// Linux, such a mark still postpones the next cut until all data sent before the mark is acknowledged.
    fn may_cut(&mut self, w: &Window, s: &AckSample) -> bool {
        let independent = self.rtt_independent(w);
        match &mut self.last_cut {
            LastCut::Round(cut) => !std::mem::replace(cut, true),
            LastCut::At { sent, .. } if s.una <= *sent => false,
            LastCut::At { sent, at } => {
                *sent = s.next;
                let due = !independent || s.now.since(*at) >= TARGET_RTT;
                if due {
                    *at = s.now;
                }
                due
            }
        }
    }

    /// Grows the window for segments delivered without a mark.
    fn grow(&mut self, w: &mut Window, unmarked: f64, srtt: Duration) {
        let mut left = unmarked;
        if w.slow_start() {
            left = w.grow_in_slow_start(left);
            self.w = w.cwnd;
        }
        if left > 0.0 {
            let share = if self.rounds < self.transition { 1.0 } else { (srtt.secs() / TARGET_RTT.secs()).min(1.0) };
            self.w += left * share * share / self.w;
        }
    }

    fn update_alpha(&mut self, w: &Window, s: &AckSample) {
        let young = self.rtt_independent(w) && s.now.since(self.alpha_at) < TARGET_RTT;
        if s.una < self.round_until || young {
            return;
        }
        if self.saw_ce {
            let share = (self.marked as f64 / self.segments.max(1) as f64).min(1.0);
            self.alpha = (1.0 - GAIN) * self.alpha + GAIN * share;
            self.alpha_at = s.now;
            if self.rtt_independent(w) && !s.state.repairs() {
                self.size(s.srtt);
            }
        }
        (self.segments, self.marked, self.round_until) = (0, 0, s.next);
        if let LastCut::Round(cut) = &mut self.last_cut {
            *cut = false;
        }
        self.rounds = (self.rounds + u32::from(!w.slow_start())).min(LATE_TRANSITION);
    }

    /// Sets the payload of segments, between [`LEAST_SEGMENT`] and the MSS, so that the flow sends two segments in a
    /// virtual round trip.
    fn size(&mut self, srtt: Duration) {
        let virtually = srtt.max(TARGET_RTT).secs() / srtt.secs().max(1e-6);
        self.segment = (self.w * virtually * self.mss / SEGMENTS).ceil().max(LEAST_SEGMENT).min(self.mss);
    }

    fn pace(&mut self, w: &Window, in_flight: f64, now: Time, srtt: Duration) {
        if srtt.is_zero() {
            return;
        }
        // W is raised to the minimum rate only if the window is small. Marks must be able to reduce larger windows,
        // even if the round trip becomes very long
        if w.cwnd <= RATE_MODE {
            self.w = self.w.max(LEAST_RATE * srtt.secs() / self.mss);
        }
        let small = self.saw_ce && self.rtt_independent(w) && w.cwnd <= RATE_MODE;
        let mut rate = if small {
            let half = srtt.max(TARGET_RTT) / 2;
            let dither = if now.since(self.alpha_at) < half { 1.0 + DITHER } else { 1.0 - DITHER };
            self.w * dither
        } else {
            self.w.floor().max(in_flight / self.mss)
        } * self.mss
            / srtt.secs();
        if w.cwnd < w.ssthresh / 2.0 {
            rate *= 2.0;
        }
        self.pacing_rate = Some(rate.max(LEAST_RATE));
    }

    fn drive(&self, w: Window) -> Drive {
        let quantum = self.pacing_rate.map_or(u32::MAX, |rate| (rate / self.mss / BURSTS).max(1.0) as u32);
        let max_payload = if self.segment < self.mss { self.segment as u16 } else { 0 };
        Drive { pacing_rate: self.pacing_rate, quantum, max_payload, ..w.into() }
    }
}

impl Control for Prague {
    type Params = PragueParams;

    const NEEDS: Needs = Needs {
        rates: true,
        ecn: EcnNeeds {
            responder: Responder::Controller,
            feedback: Feedback::Accecn,
            ect: Ect::Ect1,
            ect_on: Some(EctOn::All),
            small_segments: true,
            ..EcnNeeds::USUAL
        },
        ..Needs::NONE
    };

    fn new(own: &PragueParams, stack: &Stack<'_>) -> Self {
        let mss = f64::from(stack.mss);
        Self {
            reno: Reno::new(&NoParams {}, stack),
            mss,
            transition: match own.prague_rtt {
                PragueRtt::Scaled => TRANSITION,
                PragueRtt::ScaledLate => LATE_TRANSITION,
                PragueRtt::Own => u32::MAX,
            },
            w: stack.initial_window,
            last_cut: match own.prague_cut {
                PragueCut::Rounds => LastCut::Round(false),
                PragueCut::Marks => LastCut::At { sent: 0, at: Time::ZERO },
            },
            counted: true,
            segment: mss,
            ..Self::default()
        }
    }

    fn on_handshake(&mut self, w: Window, now: Time, us: u32) -> Option<Drive> {
        self.alpha_at = now;
        self.pace(&w, 0.0, now, Duration::from_micros(u64::from(us)));
        Some(self.drive(w))
    }

    fn on_ack(&mut self, mut w: Window, s: &AckSample) -> Drive {
        self.counted = s.ecn;
        self.segments += u64::from(s.segments);
        self.marked += u64::from(s.ce_packets);
        if !self.counted {
            self.pacing_rate = None;
            return self.reno.on_ack(w, s);
        }
        if !s.rests {
            self.adjust(&mut w, s);
        }
        self.update_alpha(&w, s);
        self.pace(&w, s.in_flight as f64, s.now, s.srtt);
        // even while a loss is repaired, the pacing rate follows the round-trip time
        Drive { converges: true, ..self.drive(w) }
    }

    fn on_congestion(&mut self, w: Window, kind: Congestion, base: f64) -> Drive {
        if !self.counted {
            return self.reno.on_congestion(w, kind, base);
        }
        self.before_loss = Some(w.cwnd);
        self.w *= 0.5;
        self.drive(Window { ssthresh: self.w.ceil().max(LEAST), ..w })
    }

    fn probe(&self, out: &mut Reading<'_>) {
        out.number("alpha", self.alpha);
        out.segments("frac_cwnd", self.w);
    }
}

#[cfg(test)]
mod tests;
