//! What a sender keeps only for some flows: delivery rates, a pacer, and the bursts in which segments leave.

use super::{Cx, Sender};
use crate::burst::{Sight, pacing_rate};
use crate::cc::control::{AckSample, Drive};
use crate::delivery::Sampler;
use crate::detection::Detection;
use crate::offload::Offload;
use crate::params::{RttSource, TcpParams};
use crate::scoreboard::Scoreboard;
use crate::scoreboard::entry::{EVER, Entry, Sent, Watch};
use crate::segment::{Io, Segment, micros};
use crate::stats::State;
use packet::Flags;
use units::{Duration, Time};

/// Who hears of what arrives: the detection, and the rates of a flow that has them.
pub(super) struct Watchers<'a> {
    detection: &'a mut Detection,
    rates: Option<&'a mut Sampler>,
    /// Segments that were SACKed, and the send times of those that were sent once.
    pub(super) sacked: u32,
    pub(super) once: Option<Sent>,
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
        if !e.has(EVER) {
            Sent::add(&mut self.once, e.sent);
        }
        if let Some(rates) = &mut self.rates {
            rates.on_sacked(at, e.bytes(), e.has(EVER));
        }
    }
}

impl Sender {
    /// The board, and who must hear of what an ACK takes off it.
    #[inline]
    pub(super) fn watched_board(&mut self) -> (&mut Scoreboard, Watchers<'_>) {
        let rates = self.path.as_mut().and_then(|path| path.rates.as_mut());
        (&mut self.board, Watchers { detection: &mut self.detection, rates, sacked: 0, once: None })
    }

    /// Does what the controller says.
    #[inline]
    pub(super) fn follow(&mut self, d: &Drive) {
        self.window.follow(d);
        if let Some(path) = &mut self.path
            && path.rates.is_some()
        {
            path.pacer.follow(d);
            path.segment = d.segment;
        }
    }

    /// Most payload of a new segment, bytes.
    #[inline]
    pub(super) fn segment_bytes(&self, p: &TcpParams) -> u32 {
        match &self.path {
            Some(path) if path.segment > 0 => p.wire.mss.min(path.segment.into()),
            _ => p.wire.mss,
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
    pub(crate) fn on_handshake(&mut self, p: &TcpParams, now: Time, us: u32) {
        if let Some(path) = &mut self.path
            && let Some(rates) = &mut path.rates
        {
            rates.on_handshake(us);
        }
        let d = self.cc.on_handshake(self.window, now, us);
        self.follow(&d);
        self.set_pace(p, Some(us));
    }

    /// What an ACK says of delivery rates.
    #[inline]
    pub(super) fn sample_rates(&mut self, p: &TcpParams, now: Time, s: &mut AckSample) {
        if let Some(path) = &mut self.path
            && let Some(rates) = &mut path.rates
        {
            (s.delivered, s.rate) = rates.on_ack(now);
            if let (Some(rate), RttSource::SendTime) = (&mut s.rate, p.rto.rtt_source) {
                rate.rtt_us = s.rtt_us;
            }
            s.total_delivered = rates.delivered();
            s.held_back = path.pacer.held_back(now);
        }
    }

    /// The sender has acted on an ACK: a controller that models the path gets it now.
    #[inline(never)]
    pub(super) fn consult<I: Io>(&mut self, cx: &Cx<'_, I>, s: &mut AckSample) {
        let in_flight = self.in_flight();
        (s.in_flight, s.state, s.window_filled, s.rests) = (in_flight, self.state, self.limited, false);
        self.sample_rates(cx.p, cx.now, s);
        let d = self.cc.on_ack(self.window, s);
        self.follow(&d);
        if let Some(path) = &mut self.path
            && let Some(rates) = &mut path.rates
            && d.probing_delay
        {
            rates.on_app_limited(in_flight);
        }
    }

    /// Segments may have been taken for lost: a controller that models the path, or paces, gets each.
    #[cold]
    pub(super) fn report_losses(&mut self, now: Time) {
        let Some(rates) = self.path.as_mut().and_then(|path| path.rates.as_mut()) else { return };
        let (cc, w) = (&mut self.cc, self.window);
        rates.report_losses(&self.board, |lost| cc.on_lost(w, now, lost));
    }

    /// A segment is on its way; again, if it has this position on the board. Returns the flags that it needs besides.
    #[inline(never)]
    pub(super) fn note_sent(&mut self, p: &TcpParams, now: Time, segment: Segment, again: Option<u32>) -> Flags {
        let len = segment.len;
        let in_flight = self.in_flight().saturating_sub(u64::from(len));
        let Some(path) = &mut self.path else { return Flags::default() };
        if let Some(rates) = &mut path.rates {
            rates.on_send(now, again, len, in_flight);
        }
        let mut flags = Flags::default();
        if let Some(bursts) = &mut path.bursts {
            bursts.sent(now);
            if p.pacing.tsq && len > 0 {
                flags = Flags::LOCAL;
                bursts.queued(u64::from(p.wire.segment_size(&segment)));
            }
        }
        if len > 0 {
            path.pacer.spend(now, u64::from(len));
        }
        flags
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
            && let Some(rates) = &mut path.rates
            && in_flight < room
        {
            rates.on_app_limited(in_flight);
        }
    }

    /// A round trip of so many microseconds: the pace follows it and the window.
    #[inline]
    pub(super) fn set_pace(&mut self, p: &TcpParams, rtt_us: Option<u32>) {
        if self.path.as_ref().is_some_and(|path| path.bursts.is_some()) {
            self.work_out_pace(p, rtt_us);
        }
    }

    #[cold]
    fn work_out_pace(&mut self, p: &TcpParams, rtt_us: Option<u32>) {
        let (w, srtt) = (self.window, self.rtt.srtt);
        let out = (self.next - self.una) as f64 / f64::from(p.wire.mss);
        let Some(path) = &mut self.path else { return };
        let Some(bursts) = &mut path.bursts else { return };
        if let Some(us) = rtt_us {
            bursts.sampled(us);
        }
        if path.rates.is_some() {
            bursts.rate = path.pacer.rate();
            if p.pacing.gso_max_segs > 1 {
                path.pacer.widen(bursts.size(p));
            }
            return;
        }
        bursts.rate = pacing_rate(p, w.cwnd.floor().max(out), w.ssthresh, w.cwnd.floor(), srtt);
        if p.pacing.paced {
            path.pacer.set(bursts.rate, bursts.size(p));
        }
    }

    /// Sends all that may be sent now, as packets of several segments.
    #[inline(never)]
    pub(super) fn output_runs<I: Io>(&mut self, cx: &mut Cx<'_, I>) {
        let p = cx.p;
        let most = self.path.as_ref().and_then(|path| path.bursts.as_ref()).map_or(1, |bursts| bursts.size(p));
        let mut io = Offload::new(p, most, &mut *cx.io);
        let cx = &mut Cx { p, now: cx.now, rx: &mut *cx.rx, stats: &mut *cx.stats, io: &mut io };
        self.output_segments(cx);
        io.flush();
    }

    /// Whether enough of this connection is in its host's own queue and device (TCP small queues).
    #[cold]
    pub(super) fn device_is_full(&mut self, p: &TcpParams, again: bool) -> bool {
        let (mss, flight) = (u64::from(p.wire.mss), self.next - self.una);
        let half = (self.cwnd_bytes(p) / mss / 2).max(1);
        let Some(bursts) = self.path.as_mut().and_then(|path| path.bursts.as_mut()) else { return false };
        let segments = u64::from(bursts.size(p)).min(half);
        flight > segments * mss && bursts.device_is_full(p, segments, again)
    }

    /// So many bytes have left the host's device; true if something waits for that.
    #[cold]
    pub(crate) fn on_left(&mut self, bytes: u64) -> bool {
        self.path.as_mut().and_then(|path| path.bursts.as_mut()).is_some_and(|bursts| bursts.left(bytes))
    }

    /// A new segment of `len` bytes is to leave, of a `burst` of which (so many more leave, of so many in all). None if it waits;
    /// else with PSH, if it ends the burst or all that was written.
    #[inline(never)]
    pub(super) fn next_of_burst(&self, p: &TcpParams, now: Time, burst: &mut (u32, u32), len: u32) -> Option<Flags> {
        if burst.0 == 0 {
            let size = if p.pacing.gso_max_segs > 1 { self.gather(p, now) } else { u32::MAX };
            *burst = (size, size);
        }
        let left = burst.0.checked_sub(1)?;
        burst.0 = left;
        let ends =
            left == 0 && burst.1 > 1 || p.receiver.ack_pushed && self.next + u64::from(len) == self.end_of_data();
        Some(if ends { Flags::PSH } else { Flags::default() })
    }

    /// Segments of the next burst of new data, 0 if it waits for more room.
    fn gather(&self, p: &TcpParams, now: Time) -> u32 {
        let Some(bursts) = self.path.as_ref().and_then(|path| path.bursts.as_ref()) else { return u32::MAX };
        let (mss, left) = (u64::from(p.wire.mss), self.end_of_data() - self.next);
        let window = self.cwnd_bytes(p);
        let peer = u64::from(self.peer_rwnd);
        let room = self.room(p).min(peer.saturating_sub(self.next - self.una));
        let fits = (room / mss).min(left.div_ceil(mss)).min(window / mss / 2).max(1);
        let size = bursts.size(p).min(fits.min(u32::MAX.into()) as u32);
        // a segment alone waits for nothing but Nagle, and the end of a stream for no more data
        if left <= mss || self.is_last(left, room) || matches!(self.state, State::Recovery | State::Loss) {
            return size;
        }
        let oldest =
            self.board.head_sent().map(|sent| Duration::from_micros(u64::from(micros(now).wrapping_sub(sent))));
        let sight = Sight { now, room, window: window.min(peer), oldest, srtt: self.rtt.srtt };
        if bursts.waits(p, &sight) { 0 } else { size }
    }

    /// Whether the reduction axis shrinks the window now.
    #[inline]
    pub(super) fn shrinks(&self) -> bool {
        matches!(self.state, State::Recovery | State::Cwr) && self.shrink.is_begun()
    }
}
