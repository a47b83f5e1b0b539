//! Calls the controller, and passes the delivery rate to it if it needs one.

use super::{PacingAndRate, Sender};
use crate::cc::control::{AckSample, Drive};
use crate::delivery::Sampler;
use crate::detection::Detection;
use crate::params::{RttSource, TcpParams};
use crate::scoreboard::Scoreboard;
use crate::scoreboard::entry::{EVER, Entry, Sent, Watch};
use units::Time;

/// The observers of the segments that an ACK delivers: loss detection and, if the flow has one, the delivery-rate
/// sampler.
pub(super) struct Watchers<'a> {
    detection: &'a mut Detection,
    rates: Option<&'a mut Sampler>,
    /// Number of segments newly SACKed.
    pub(super) sacked: u32,
    /// Earliest and latest send time of the newly SACKed segments that were sent only once.
    pub(super) once: Option<Sent>,
}

impl Watch for Watchers<'_> {
    #[inline(always)]
    fn acknowledged(&mut self, e: &Entry) {
        self.detection.acknowledged(e);
        if let Some(rates) = &mut self.rates {
            rates.on_acknowledged(e.bytes(), e.has(EVER));
        }
    }

    #[inline]
    fn sacked(&mut self, at: usize, e: &Entry) {
        self.detection.sacked(at, e);
        self.sacked += 1;
        if !e.has(EVER) {
            Sent::add(&mut self.once, e.sent);
        }
        if let Some(rates) = &mut self.rates {
            rates.on_sacked(at, e.bytes(), e.has(EVER));
        }
    }
}

impl Sender {
    /// Returns the scoreboard and its watchers. The watchers must be called for each segment that an ACK delivers.
    #[inline]
    pub(super) fn watched_board(&mut self) -> (&mut Scoreboard, Watchers<'_>) {
        let rates = self.pacing.as_mut().and_then(|pacing| pacing.rates.as_mut());
        (&mut self.board, Watchers { detection: &mut self.detection, rates, sacked: 0, once: None })
    }

    #[inline]
    pub(super) fn rates_mut(&mut self) -> Option<&mut Sampler> {
        self.pacing.as_mut()?.rates.as_mut()
    }

    /// Applies the controller's output.
    #[inline]
    pub(super) fn follow(&mut self, d: &Drive) {
        self.window.follow(d);
        if let Some(pacing) = &mut self.pacing
            && pacing.rates.is_some()
        {
            pacing.pacer.follow(d);
            pacing.max_payload = d.max_payload;
        }
    }

    /// Runs the controller for an ACK. If `s.rests` is set, the window must not grow on this ACK, so the sender takes
    /// neither window nor pacing rate from the controller's output, unless [`Drive::converges`] is set in it.
    #[inline]
    pub(super) fn run_controller(&mut self, p: &TcpParams, now: Time, s: &mut AckSample) {
        if let Some(pacing) = &mut self.pacing {
            pacing.sample(p, now, s);
        }
        let d = self.cc.on_ack(self.window, s);
        if !s.rests || d.converges {
            self.follow(&d);
        }
        if d.probing_delay
            && let Some(rates) = self.rates_mut()
        {
            rates.on_app_limited(s.in_flight);
        }
    }

    #[cold]
    pub(crate) fn run_controller_timer(&mut self, now: Time) {
        if now >= self.cc.timer_at() {
            let d = self.cc.on_timer(self.window, now);
            self.follow(&d);
        }
    }

    /// Passes the round-trip time of the handshake, `us` microseconds, to the controller and to pacing.
    #[cold]
    pub(crate) fn on_handshake(&mut self, p: &TcpParams, now: Time, us: u32) {
        if let Some(rates) = self.rates_mut() {
            rates.on_handshake(us);
        }
        if let Some(d) = self.cc.on_handshake(self.window, now, us) {
            self.follow(&d);
        }
        self.update_pacing_rate(p, Some(us));
    }

    /// Reports newly lost segments to a controller that uses rates. Called when segments may have been marked lost.
    #[cold]
    pub(super) fn report_losses(&mut self, now: Time) {
        let Some(rates) = self.pacing.as_mut().and_then(|pacing| pacing.rates.as_mut()) else { return };
        let (cc, w) = (&mut self.cc, self.window);
        rates.report_losses(&self.board, |lost| cc.on_lost(w, now, lost));
    }

    /// Called when the sender finds no segment to send. If less than a full segment waits and the window has room, the
    /// application limits the rate, not the network or the peer's window. This is recorded for the delivery-rate estimate.
    /// Source: draft-cheng-iccrg-delivery-rate-estimation-00; Linux, tcp_rate_check_app_limited.
    #[inline]
    pub(super) fn note_starved(&mut self, p: &TcpParams) {
        if self.pacing.is_none() {
            return;
        }
        let (in_flight, room) = (self.in_flight(), self.cwnd_bytes(p));
        if in_flight < room
            && self.end.saturating_sub(self.next) < u64::from(self.segment_bytes(p))
            && let Some(rates) = self.rates_mut()
        {
            rates.on_app_limited(in_flight);
        }
    }
}

impl PacingAndRate {
    /// Adds the measurements of the delivery-rate sampler and of the pacer to the sample of an ACK, if the flow has a
    /// sampler.
    #[inline(never)]
    fn sample(&mut self, p: &TcpParams, now: Time, s: &mut AckSample) {
        let Some(rates) = &mut self.rates else { return };
        (s.delivered, s.rate) = rates.on_ack(now);
        if let (Some(rate), RttSource::SendTime) = (&mut s.rate, p.rto.rtt_source) {
            rate.rtt_us = s.rtt_us;
        }
        s.total_delivered = rates.delivered;
        s.held_back = self.pacer.held_back(now);
    }
}
