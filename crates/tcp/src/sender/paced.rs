//! A sender whose controller models the path: what it learns of each segment, and when it may send the next.
//!
//! Pacing lets a burst out when `next_at` has come and moves `next_at` on by what the burst takes at the pacing rate; a
//! burst is what an offloading host would send as one (see [`Bbr::burst`](crate::cc::bbr::Bbr::burst)).
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.1; Linux' internal pacing (see [`Pacing`]).
//! Departs: bursts are of 1/1024 s of the pacing rate, at least one or two segments; Linux makes them larger on paths with
//! a round trip far below 4 ms (tcp_tso_rtt_log).

use super::Sender;
use crate::cc::Controller;
use crate::cc::bbr::{Ack, Bbr, Mode, UNPACED};
use crate::delivery::Sampler;
use crate::{Model, Pacing, Segment, State, TcpParams};
use units::{BitRate, Duration, Time};

/// BBR, the delivery rates that feed it, and the clock that it sets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Paced {
    pub(crate) bbr: Bbr,
    sampler: Sampler,
    /// When the next burst may leave.
    next_at: Time,
    /// When to try, if something waits for that.
    wake_at: Time,
    /// How late the burst is that leaves now, as far as that has not shortened the wait of the next.
    credit: Duration,
    /// How many segments more are not paced.
    unpaced: u32,
    forgiving: bool,
}

impl Paced {
    pub(crate) fn new(p: &TcpParams) -> Self {
        let forgiving = p.pacing == Pacing::LinuxInternal;
        Self {
            bbr: Bbr::new(p.mss, p.initial_window_segments()),
            sampler: Sampler::default(),
            next_at: Time::ZERO,
            wake_at: Time::NEVER,
            credit: Duration::ZERO,
            unpaced: if forgiving { UNPACED } else { 0 },
            forgiving,
        }
    }

    /// `bytes` of payload leave.
    fn spend(&mut self, now: Time, bytes: u64) {
        if self.next_at <= now {
            self.credit = now.since(self.next_at);
            self.next_at = now;
        }
        if self.unpaced > 0 {
            self.unpaced -= 1;
            return;
        }
        let mut gap = Duration::from_secs_f64(bytes as f64 / self.bbr.pacing_rate());
        if self.forgiving {
            let forgiven = self.credit.min(gap / 2);
            self.credit = self.credit.saturating_sub(forgiven);
            gap = gap.saturating_sub(forgiven);
        }
        self.next_at += gap;
    }
}

impl Sender {
    /// The controller models the path and owns the window, also in a recovery.
    #[inline]
    pub(super) fn model(&mut self) -> Option<&mut Paced> {
        match &mut self.cc {
            Controller::Bbr(m) => Some(m),
            _ => None,
        }
    }

    /// When a paced segment that waits may leave; [`Time::NEVER`] if none does.
    #[inline]
    pub(crate) fn pace_at(&self) -> Time {
        match &self.cc {
            Controller::Bbr(m) => m.wake_at,
            _ => Time::NEVER,
        }
    }

    /// What a trace sees of the model.
    pub(crate) fn model_probe(&self) -> Option<Model> {
        let Controller::Bbr(m) = &self.cc else { return None };
        let bits = |bytes_per_second: f64| BitRate((8.0 * bytes_per_second) as u64);
        Some(Model {
            mode: match m.bbr.mode() {
                Mode::Startup => 0,
                Mode::Drain => 1,
                Mode::ProbeBw(_) => 2,
                Mode::ProbeRtt { .. } => 3,
            },
            pacing_rate: bits(m.bbr.pacing_rate()),
            btl_bw: bits(m.bbr.btl_bw()),
            rt_prop: Duration::from_micros(u64::from(m.bbr.rt_prop_us().unwrap_or(0))),
        })
    }

    /// The handshake took `us` microseconds: the model's first round trip.
    #[cold]
    pub(crate) fn model_handshake(&mut self, now: Time, us: u32) {
        let Controller::Bbr(m) = &mut self.cc else { return };
        m.bbr.on_handshake(&self.window, now, us);
        m.sampler.on_handshake(us);
    }

    /// An ACK has been taken in: the model learns from it.
    #[inline]
    pub(super) fn model_ack(&mut self, now: Time, segment: &Segment, newly_lost: u64) {
        let (una, in_flight, state) = (self.una, self.in_flight(), self.state);
        let Controller::Bbr(m) = &mut self.cc else { return };
        let (newly_delivered, delivery) = m.sampler.on_ack(now, una, segment.sack.as_slice());
        let delivered = m.sampler.delivered();
        let held_back = if m.next_at > now { m.next_at.since(now) } else { Duration::ZERO };
        let ack = Ack { now, newly_delivered, delivered, newly_lost, in_flight, delivery, held_back, state };
        m.bbr.on_ack(&mut self.window, &ack);
        if matches!(m.bbr.mode(), Mode::ProbeRtt { .. }) {
            // four segments a round trip say nothing of the bandwidth
            m.sampler.on_app_limited(in_flight);
        }
    }

    /// A segment of `len` bytes is on its way, for the first time or again.
    #[inline]
    pub(super) fn model_sent(&mut self, now: Time, seq: u64, len: u32) {
        let in_flight = self.in_flight().saturating_sub(u64::from(len));
        if let Some(m) = self.model()
            && len > 0
        {
            m.sampler.on_send(now, seq, seq + u64::from(len), in_flight);
            m.spend(now, u64::from(len));
        }
    }

    /// How many segments pacing lets out now.
    #[inline]
    pub(super) fn allowance(&mut self, now: Time) -> u32 {
        match self.model() {
            Some(m) => {
                m.wake_at = Time::NEVER;
                if now >= m.next_at { m.bbr.burst().max(m.unpaced) } else { 0 }
            }
            None => u32::MAX,
        }
    }

    /// Something waits for its turn.
    #[cold]
    pub(super) fn wait_turn(&mut self) {
        if let Some(m) = self.model() {
            m.wake_at = m.next_at;
        }
    }

    /// Nothing is left to send: if the window has room, the application limits the rate.
    #[inline]
    pub(super) fn model_starved(&mut self, p: &TcpParams) {
        let in_flight = self.in_flight();
        let room = in_flight < self.cwnd_bytes(p);
        if let Some(m) = self.model()
            && room
        {
            m.sampler.on_app_limited(in_flight);
        }
    }

    /// Data follows a silence.
    pub(super) fn model_restart(&mut self, now: Time) {
        if let Some(m) = self.model()
            && m.sampler.is_app_limited()
        {
            m.bbr.on_restart(now);
        }
    }

    /// Whether the reduction axis shrinks the window now.
    #[inline]
    pub(super) fn shrinks(&self) -> bool {
        matches!(self.state, State::Recovery | State::Cwr) && !self.cc.owns_window()
    }
}
