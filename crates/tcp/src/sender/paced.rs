//! What a sender keeps only for a controller that asks for it: delivery rates, and a pacer.

use super::{Cx, Sender};
use crate::cc::control::{AckSample, Drive};
use crate::delivery::Sampler;
use crate::detection::Detection;
use crate::params::TcpParams;
use crate::scoreboard::Scoreboard;
use crate::scoreboard::entry::{EVER, Entry, Watch};
use crate::segment::Io;
use crate::stats::State;
use units::Time;

/// Who hears of what arrives: the detection, and the rates of a flow that has them.
pub(super) struct Watchers<'a> {
    detection: &'a mut Detection,
    rates: Option<&'a mut Sampler>,
    /// Segments that were SACKed.
    pub(super) sacked: u32,
}

impl Watch for Watchers<'_> {
    #[inline]
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
        if let Some(rates) = &mut self.rates {
            rates.on_sacked(at, e.bytes(), e.has(EVER));
        }
    }
}

impl Sender {
    /// The board, and who must hear of what an ACK takes off it.
    #[inline]
    pub(super) fn watched_board(&mut self) -> (&mut Scoreboard, Watchers<'_>) {
        let rates = self.path.as_mut().map(|path| &mut path.rates);
        (&mut self.board, Watchers { detection: &mut self.detection, rates, sacked: 0 })
    }

    /// Does what the controller says.
    #[inline]
    pub(super) fn follow(&mut self, d: &Drive) {
        self.window.follow(d);
        if let Some(path) = &mut self.path {
            path.pacer.follow(d);
        }
    }

    /// Payload bytes per second at which segments leave; none where they are not paced.
    pub(crate) fn pacing_rate(&self) -> Option<f64> {
        self.path.as_ref().and_then(|path| path.pacer.rate())
    }

    /// When a paced segment that waits may leave; [`Time::NEVER`] if none does.
    #[inline]
    pub(crate) fn pace_at(&self) -> Time {
        self.path.as_ref().map_or(Time::NEVER, |path| path.pacer.wake_at())
    }

    /// The handshake took `us` microseconds.
    #[cold]
    pub(crate) fn on_handshake(&mut self, now: Time, us: u32) {
        if let Some(path) = &mut self.path {
            path.rates.on_handshake(us);
        }
        let d = self.cc.on_handshake(self.window, now, us);
        self.follow(&d);
    }

    /// What an ACK says of delivery rates.
    #[inline]
    pub(super) fn sample_rates(&mut self, now: Time, s: &mut AckSample) {
        if let Some(path) = &mut self.path {
            (s.delivered, s.rate) = path.rates.on_ack(now);
            s.total_delivered = path.rates.delivered();
            s.held_back = path.pacer.held_back(now);
        }
    }

    /// An ACK has been taken in, and losses are judged: a controller that owns the window hears of it now.
    #[inline(never)]
    pub(super) fn consult<I: Io>(&mut self, cx: &Cx<'_, I>, sample: &AckSample) {
        let in_flight = self.in_flight();
        let mut s = AckSample { in_flight, state: self.state, window_filled: self.limited, ..*sample };
        self.sample_rates(cx.now, &mut s);
        let d = self.cc.on_ack(cx.p, self.window, &s);
        self.follow(&d);
        if let Some(path) = &mut self.path
            && d.probing_delay
        {
            path.rates.on_app_limited(in_flight);
        }
    }

    /// Segments may have been taken for lost: a controller that asks hears of each.
    #[cold]
    pub(super) fn tell_losses(&mut self, now: Time) {
        let Some(path) = &mut self.path else { return };
        if self.cc.needs().losses {
            let (cc, w) = (&mut self.cc, self.window);
            path.rates.tell_losses(&self.board, |lost| cc.on_lost(w, now, lost));
        }
    }

    /// A segment of `len` bytes is on its way; again, if it has this position on the board.
    #[inline]
    pub(super) fn note_sent(&mut self, now: Time, len: u32, again: Option<u32>) {
        if self.path.is_none() {
            return;
        }
        let in_flight = self.in_flight().saturating_sub(u64::from(len));
        if let Some(path) = &mut self.path {
            path.rates.on_send(now, again, len, in_flight);
            if len > 0 {
                path.pacer.spend(now, u64::from(len));
            }
        }
    }

    /// How many segments pacing lets out now.
    #[inline]
    pub(super) fn allowance(&mut self, now: Time) -> u32 {
        self.path.as_mut().map_or(u32::MAX, |path| path.pacer.allowance(now))
    }

    /// Something waits for its turn.
    #[cold]
    pub(super) fn wait_turn(&mut self) {
        if let Some(path) = &mut self.path {
            path.pacer.wait();
        }
    }

    /// Nothing is left to send: if the window has room, the application limits the rate.
    #[inline]
    pub(super) fn note_starved(&mut self, p: &TcpParams) {
        if self.path.is_none() {
            return;
        }
        let (in_flight, room) = (self.in_flight(), self.cwnd_bytes(p));
        if let Some(path) = &mut self.path
            && in_flight < room
        {
            path.rates.on_app_limited(in_flight);
        }
    }

    /// Whether the reduction axis shrinks the window now.
    #[inline]
    pub(super) fn shrinks(&self) -> bool {
        matches!(self.state, State::Recovery | State::Cwr) && !self.cc.owns_window()
    }
}
