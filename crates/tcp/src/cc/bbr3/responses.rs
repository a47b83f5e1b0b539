//! BBR version 3's responses to the sender's events.
//!
//! Source: draft-ietf-ccwg-bbr-06 §5.2, §5.4 and §5.6.

use super::{
    Bbr3, Bbr3Form, Bbr3Params, Bounds, Cycle, FIRST_RTT, MIN_PIPE_CWND, PACING_MARGIN, Path, Phase,
    STARTUP_PACING_GAIN,
};
use crate::cc::control::{
    AckSample, Congestion, Control, Drive, EcnNeeds, LostSegment, Needs, Origin, Responder, Silence, Stack, Turn,
    Window,
};
use crate::stats::State;
use packet::{PathModel, Reading, Sample, Unit};
use units::{Rng, Time};

impl Bbr3 {
    /// SaveCwnd(): saves the window, to restore it later. During a recovery, the repair after a timeout, or ProbeRTT, keeps
    /// the saved window if it is larger.
    pub(super) fn save_cwnd(&mut self, cwnd: f64) {
        let last_good = !self.previous.repairs() && !self.is_in_probe_rtt();
        self.prior_cwnd = if last_good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// Returns the controller's output, with a window of `cwnd` bytes.
    fn drive(&self, w: Window, cwnd: f64) -> Drive {
        Drive {
            reduction: false,
            converges: false,
            pacing_rate: Some(self.pacing_rate),
            quantum: (self.send_quantum() / self.mss) as u32,
            probing_delay: self.is_in_probe_rtt(),
            ..Window { cwnd: cwnd / self.mss, ..w }.into()
        }
    }

    /// UpdateModelAndState(): updates the model and the state machine with an ACK.
    fn update_model_and_state(&mut self, cwnd: &mut f64, s: &AckSample) {
        let Some(rs) = s.rate.filter(|rs| !rs.compressed) else { return };
        self.update_latest_delivery_signals(s, &rs);
        self.update_congestion_signals(*cwnd, &rs);
        self.update_ack_aggregation(*cwnd, s);
        self.check_full_bw_reached(&rs);
        self.check_startup_done(s, &rs);
        self.check_drain_done(s);
        self.update_probe_bw_cycle_phase(*cwnd, s, &rs);
        self.update_min_rtt(s, &rs);
        self.check_probe_rtt(cwnd, s);
        self.advance_latest_delivery_signals(&rs);
        self.bound_bw_for_model();
    }

    /// SetCwnd(): returns the window after an ACK of `newly` bytes. All values are in bytes.
    fn set_cwnd(&self, mut cwnd: f64, newly: f64) -> f64 {
        let most =
            self.quantization_budget(self.bdp_multiple(self.path.bw, self.gains().1) + self.path.excess.extra_acked());
        if self.path.full_bw_reached {
            cwnd = (cwnd + newly).min(most);
        } else if cwnd < most || (self.delivered as f64) < self.initial_cwnd {
            cwnd += newly;
        }
        cwnd = cwnd.max(MIN_PIPE_CWND * self.mss);
        if self.is_in_probe_rtt() {
            cwnd = cwnd.min(self.probe_rtt_cwnd());
        }
        cwnd.min(self.cwnd_cap())
    }

    /// Processes the CE marks reported by an ACK. The draft's form treats a mark as a loss. Linux's form measures the
    /// share of marked data, but only with `ecn_feedback = "dctcp"` or `"accecn"`.
    fn note_marks(&mut self, cwnd: f64, s: &AckSample) {
        match self.form {
            Bbr3Form::Draft if s.marked => self.note_loss(cwnd),
            Bbr3Form::Linux if self.counts_marks => self.bounds.marks.on_ack(s, self.path.min_rtt),
            _ => {}
        }
    }
}

impl Control for Bbr3 {
    type Params = Bbr3Params;

    const NEEDS: Needs = Needs {
        rates: true,
        turn: Turn::Repair,
        ecn: EcnNeeds { responder: Responder::Controller, ..EcnNeeds::USUAL },
        ..Needs::NONE
    };

    fn new(own: &Bbr3Params, stack: &Stack<'_>) -> Self {
        let mss = f64::from(stack.mss);
        let initial_cwnd = stack.initial_window * mss;
        Self {
            form: own.bbr3_form,
            counts_marks: stack.counts_marks,
            mss,
            initial_cwnd,
            phase: Phase::Startup,
            delivered: 0,
            path: Path::default(),
            bounds: Bounds::new(),
            cycle: Cycle::default(),
            pacing_rate: STARTUP_PACING_GAIN * PACING_MARGIN * initial_cwnd / FIRST_RTT.secs(),
            seen_rtt: false,
            prior_cwnd: 0.0,
            previous: State::Open,
            rng: Rng::named(0, "bbr3"),
        }
    }

    fn introduce(&mut self, origin: &Origin<'_>) {
        self.rng = (origin.stream)();
    }

    fn begin(&mut self, w: Window) -> Drive {
        self.drive(w, w.cwnd * self.mss)
    }

    fn on_handshake(&mut self, w: Window, now: Time, us: u32) -> Option<Drive> {
        (self.path.min_rtt, self.path.min_rtt_stamp) = (Some(us), now);
        (self.path.probe_rtt_min_delay, self.path.probe_rtt_min_stamp) = (Some(us), now);
        self.path.excess.restart(now);
        let cwnd = w.cwnd * self.mss;
        self.init_pacing_rate(cwnd, us);
        Some(self.drive(w, cwnd))
    }

    fn on_lost(&mut self, w: Window, now: Time, s: &LostSegment) {
        self.delivered = s.total_delivered;
        self.handle_lost_packet(w.cwnd * self.mss, now, s);
    }

    fn on_ack(&mut self, w: Window, s: &AckSample) -> Drive {
        let mut cwnd = w.cwnd * self.mss;
        self.delivered = s.total_delivered;
        self.path.round_start = false;
        self.bounds.loss_round_start = false;
        if !self.seen_rtt
            && let Some(us) = s.rate.and_then(|rs| rs.rtt_us)
        {
            self.init_pacing_rate(cwnd, us);
        }
        self.note_marks(cwnd, s);
        if self.previous.repairs() && !s.state.repairs() {
            cwnd = cwnd.max(self.prior_cwnd);
        }
        self.previous = s.state;
        self.update_model_and_state(&mut cwnd, s);
        self.set_pacing_rate(self.gains().0);
        let cwnd = self.set_cwnd(cwnd, s.delivered as f64);
        self.drive(w, cwnd)
    }

    /// OnEnterFastRecovery(): saves the window. Also called for a timeout, before `on_rto`. When a fast recovery
    /// begins, `on_lost` has already reported the losses. After a timeout, `on_lost` reports them later.
    fn on_congestion(&mut self, w: Window, _: Congestion, _: f64) -> Drive {
        let cwnd = w.cwnd * self.mss;
        self.save_cwnd(cwnd);
        self.drive(w, cwnd)
    }

    /// OnEnterRTO(): saves the window, before the sender reduces it.
    fn on_rto(&mut self, w: Window) {
        self.save_cwnd(w.cwnd * self.mss);
        self.previous = State::Loss;
    }

    fn on_undo(&mut self, w: Window, _: Option<Window>) -> Drive {
        self.handle_spurious_loss_detection();
        self.previous = State::Open;
        self.drive(w, (w.cwnd * self.mss).max(self.prior_cwnd))
    }

    /// HandleRestartFromIdle(): if the application has limited the rate, restarts pacing at the estimated bandwidth
    /// (less the margin) in ProbeBW; in ProbeRTT, ends ProbeRTT if its time is up.
    fn on_idle(&mut self, w: Window, silence: Silence) -> Option<Drive> {
        let mut cwnd = w.cwnd * self.mss;
        if silence.app_limited {
            self.cycle.idle_restart = true;
            self.path.excess.restart(silence.now);
            if self.is_in_a_probe_bw_state() {
                self.set_pacing_rate(1.0);
            } else if self.is_in_probe_rtt() {
                self.check_probe_rtt_done(&mut cwnd, silence.now);
            }
        }
        Some(self.drive(w, cwnd))
    }

    fn probe(&self, out: &mut Reading<'_>) {
        let (pacing_gain, cwnd_gain) = self.gains();
        let known = |v: f64| Some(v).filter(|v| v.is_finite());
        out.word("bbr_mode", self.phase.word());
        out.rate("max_bw", Some(8.0 * self.max_bw()).filter(|bw| *bw > 0.0));
        out.rate("bw", Some(8.0 * self.path.bw).filter(|bw| *bw > 0.0));
        out.rate("bw_shortterm", known(8.0 * self.bounds.bw_shortterm));
        out.micros("min_rtt", self.path.min_rtt);
        out.number("pacing_gain", pacing_gain);
        out.number("cwnd_gain", cwnd_gain);
        out.number("rounds", self.path.round_count as f64);
        out.flag("full_bw_now", self.path.full_bw_now);
        out.flag("full_bw_reached", self.path.full_bw_reached);
        out.flag("idle_restart", self.cycle.idle_restart);
        out.value("inflight_longterm", Unit::Segments, known(self.bounds.inflight_longterm / self.mss));
        out.value("inflight_shortterm", Unit::Segments, known(self.bounds.inflight_shortterm / self.mss));
        out.segments("extra_acked", self.path.excess.extra_acked() / self.mss);
        out.number("ecn_alpha", self.bounds.marks.alpha);
        let mode = if self.is_in_a_probe_bw_state() { "probe_bw" } else { self.phase.word() };
        out.sample(Sample::Path(PathModel::new(mode, self.pacing_rate, self.max_bw(), self.path.min_rtt)));
    }
}
