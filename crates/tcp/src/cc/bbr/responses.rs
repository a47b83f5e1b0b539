//! BBR's responses to the sender's events.

use super::{Bbr, FIRST_RTT, HIGH_GAIN, Mode, PACING_MARGIN};
use crate::cc::control::{
    AckSample, Congestion, Control, Drive, EcnNeeds, LostSegment, Needs, Origin, Responder, Silence, Stack, Turn,
    Window,
};
use crate::cc::shared::NoParams;
use crate::stats::State;
use packet::{PathModel, Reading, Sample, Unit};
use units::Time;

impl Control for Bbr {
    type Params = NoParams;

    const NEEDS: Needs = Needs {
        rates: true,
        turn: Turn::Repair,
        ecn: EcnNeeds { responder: Responder::None, ..EcnNeeds::USUAL },
        ..Needs::NONE
    };

    fn new(_: &NoParams, stack: &Stack<'_>) -> Self {
        let mss = f64::from(stack.mss);
        let pacing_rate = HIGH_GAIN * PACING_MARGIN * stack.initial_window * mss / FIRST_RTT.secs();
        Self { mss, pacing_rate, ..Self::default() }
    }

    fn introduce(&mut self, origin: &Origin<'_>) {
        self.rng = Some((origin.stream)());
    }

    fn begin(&mut self, w: Window) -> Drive {
        self.drive(w)
    }

    /// Sets the first round-trip time, and derives the first pacing rate from it and the window. On a slow link, the
    /// handshake's small packets take less time than any full segment, so this first round-trip time remains the
    /// minimum until it expires.
    fn on_handshake(&mut self, w: Window, now: Time, us: u32) -> Option<Drive> {
        self.rt_prop = Some(us);
        self.rt_prop_at = now;
        self.aggregation.restart(now);
        self.first_rtt(&w, us);
        Some(self.drive(w))
    }

    fn on_ack(&mut self, mut w: Window, s: &AckSample) -> Drive {
        if std::mem::take(&mut self.timed_out) {
            self.sample_timeout(s.now);
        }
        self.update_round(s);
        self.update_long_term(s);
        self.update_btl_bw(s);
        self.update_aggregation(&w, s);
        self.update_phase(s);
        self.update_full(s);
        self.update_drain(s);
        let probed = matches!(self.mode, Mode::ProbeRtt { .. });
        self.update_rt_prop(&mut w, s);
        self.idle_restart &= s.delivered == 0;
        self.set_pacing_rate(&w, s);
        self.set_cwnd(&mut w, s);
        // the ACK that ends ProbeRtt also has a low delivery rate
        let d = self.drive(w);
        Drive { probing_delay: d.probing_delay || probed, ..d }
    }

    /// Saves the window when a recovery begins, or at a timeout.
    fn on_congestion(&mut self, w: Window, _: Congestion, _: f64) -> Drive {
        self.save_cwnd(&w);
        self.drive(w)
    }

    fn on_lost(&mut self, _: Window, _: Time, s: &LostSegment) {
        self.long_term.on_lost(s.bytes);
    }

    /// Restarts the detection of a full pipe. The detection of a policer learns of the timeout at the next ACK.
    fn on_rto(&mut self, _: Window) {
        self.previous = State::Loss;
        self.full_pipe.bw = 0.0;
        self.timed_out = true;
    }

    /// Restarts the detection of a full pipe and of a policer. Leaves the window and the pacing rate as they are; the next
    /// `on_ack` restores the window.
    fn on_undo(&mut self, w: Window, _: Option<Window>) -> Drive {
        (self.full_pipe.bw, self.full_pipe.rounds) = (0.0, 0);
        self.long_term.reset();
        self.drive(w)
    }

    /// If the application has limited the rate: in ProbeBw, sets the pacing rate to the estimated bandwidth, less the
    /// margin; in ProbeRtt, ends ProbeRtt if its time is up.
    fn on_idle(&mut self, mut w: Window, silence: Silence) -> Option<Drive> {
        if silence.app_limited {
            self.idle_restart = true;
            self.aggregation.restart(silence.now);
            match self.mode {
                Mode::ProbeBw(_) => self.pacing_rate = self.paced(1.0),
                Mode::ProbeRtt { done: Some(at), .. } if silence.now > at => {
                    self.mode = self.leave_probe_rtt(&mut w, silence.now);
                }
                _ => {}
            }
        }
        Some(self.drive(w))
    }

    fn probe(&self, out: &mut Reading<'_>) {
        let (pacing_gain, cwnd_gain) = self.gains();
        let phase = if let Mode::ProbeBw(phase) = self.mode { Some(phase) } else { None };
        let mode = match self.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw(_) => "probe_bw",
            Mode::ProbeRtt { .. } => "probe_rtt",
        };
        out.word("bbr_mode", mode);
        out.value("bbr_phase", Unit::One, phase.map(f64::from));
        out.rate("btl_bw", Some(8.0 * self.btl_bw()).filter(|bw| *bw > 0.0));
        out.micros("rt_prop", self.rt_prop);
        out.number("pacing_gain", pacing_gain);
        out.number("cwnd_gain", cwnd_gain);
        out.number("rounds", self.rounds as f64);
        out.flag("full_pipe", self.full_pipe.reached);
        out.segments("extra_acked", self.aggregation.extra());
        out.rate("lt_bw", self.long_term.rate().map(|bw| 8.0 * bw));
        out.sample(Sample::Path(PathModel::new(mode, self.pacing_rate, self.btl_bw(), self.rt_prop)));
    }
}
