//! Pacing and bursts in the sender: when a segment may leave, and how many leave together.

use super::{Context, PacingAndRate, Sender};
use crate::burst::{BurstInputs, Bursts, pacing_rate};
use crate::offload::Offload;
use crate::pacer::Pacer;
use crate::params::{Pacing, TcpParams};
use crate::segment::{Io, Segment, micros};
use packet::Flags;
use units::{Duration, Time};

/// The result of [`Sender::next_of_burst`]: the new segment leaves now, or waits.
pub(super) enum Burst {
    /// The segment is sent now, with these flags. PSH is set if the segment ends a burst of several segments. With
    /// `ack_pushed`, PSH is also set on the last segment of the data written.
    Leaves(Flags),
    /// The segment waits until the window has more room.
    Waits,
    /// The segment waits until the host's device has room.
    DeviceFull,
}

impl Sender {
    #[inline]
    fn bursts(&self) -> Option<&Bursts> {
        self.pacing.as_ref()?.bursts.as_ref()
    }

    #[inline]
    fn bursts_mut(&mut self) -> Option<&mut Bursts> {
        self.pacing.as_mut()?.bursts.as_mut()
    }

    /// Returns the maximum number of payload bytes in a new segment.
    #[inline]
    pub(super) fn segment_bytes(&self, p: &TcpParams) -> u32 {
        match &self.pacing {
            Some(pacing) if pacing.max_payload > 0 => p.wire.mss.min(pacing.max_payload.into()),
            _ => p.wire.mss,
        }
    }

    /// Returns the pacing rate in payload bytes per second, or `None` if the flow is not paced.
    pub(crate) fn pacing_rate(&self) -> Option<f64> {
        self.pacing.as_ref().and_then(|pacing| pacing.pacer.rate)
    }

    /// Returns true if [`Sender::set_pacing_rate`] may be called, because neither the controller nor the stack sets a
    /// pacing rate.
    pub(crate) fn can_pace(&self, p: &TcpParams) -> bool {
        self.pacing.as_ref().is_none_or(|pacing| pacing.rates.is_none() && !p.pacing.paced)
    }

    /// Sets the pacing rate in payload bytes per second; `None` stops pacing. [`Sender::can_pace`] must be true.
    pub(crate) fn set_pacing_rate(&mut self, now: Time, rate: Option<f64>) {
        let pacing = self.pacing.get_or_insert_with(|| {
            Box::new(PacingAndRate { rates: None, pacer: Pacer::new(Pacing::Exact), max_payload: 0, bursts: None })
        });
        pacing.pacer.change(now, rate);
    }

    /// Returns the time at which a segment that waits for pacing may leave, or at which the controller's timer expires,
    /// whichever is earlier. Returns [`Time::NEVER`] if no segment waits for pacing and the controller's timer does not
    /// run.
    #[inline]
    pub(crate) fn pace_at(&self) -> Time {
        self.pacing.as_ref().map_or(Time::NEVER, |pacing| pacing.pacer.wake_at.min(self.cc.timer_at()))
    }

    /// Updates the delivery-rate estimate, the bursts and the pacing for a segment that is being sent. If the segment
    /// is a retransmission, `again` is its position in the scoreboard. Returns the flags that must be added to the
    /// segment.
    #[inline(never)]
    pub(super) fn note_sent(&mut self, p: &TcpParams, now: Time, segment: Segment, again: Option<u32>) -> Flags {
        let len = segment.len;
        let in_flight = self.in_flight().saturating_sub(u64::from(len));
        let Some(pacing) = &mut self.pacing else { return Flags::default() };
        if let Some(rates) = &mut pacing.rates {
            rates.on_send(now, again, len, in_flight);
        }
        let mut flags = Flags::default();
        if let Some(bursts) = &mut pacing.bursts {
            bursts.sent(now);
            if p.pacing.tsq && len > 0 {
                flags = Flags::LOCAL;
                bursts.queued(u64::from(p.wire.segment_size(&segment)));
            }
        }
        if len > 0 {
            pacing.pacer.spend(now, u64::from(len));
        }
        flags
    }

    /// Returns the number of segments that pacing allows now.
    #[inline]
    pub(super) fn allowance(&mut self, now: Time) -> u32 {
        self.pacing.as_mut().map_or(u32::MAX, |pacing| pacing.pacer.allowance(now))
    }

    /// Stops the timers of pacing and of the controller, because the connection is closed.
    #[cold]
    pub(crate) fn stop_pacing(&mut self) {
        self.cc.end();
        if let Some(pacing) = &mut self.pacing {
            pacing.pacer.wake_at = Time::NEVER;
        }
    }

    /// Records that a segment must wait for the pacing timer.
    #[cold]
    pub(super) fn wait_turn(&mut self) {
        if let Some(pacing) = &mut self.pacing {
            pacing.pacer.wait();
        }
    }

    /// Updates the pacing rate and the burst size after an ACK or the handshake, if the flow has [`Bursts`].
    /// `rtt_us` is the RTT sample, if there is one.
    #[inline]
    pub(super) fn update_pacing_rate(&mut self, p: &TcpParams, rtt_us: Option<u32>) {
        if self.bursts().is_some() {
            self.compute_pacing_rate(p, rtt_us);
        }
    }

    #[cold]
    fn compute_pacing_rate(&mut self, p: &TcpParams, rtt_us: Option<u32>) {
        let (w, srtt) = (self.window, self.rtt.srtt);
        let out = (self.next - self.una) as f64 / f64::from(p.wire.mss);
        let Some(pacing) = &mut self.pacing else { return };
        let Some(bursts) = &mut pacing.bursts else { return };
        if let Some(us) = rtt_us {
            bursts.sampled(us);
        }
        if pacing.rates.is_some() {
            bursts.follow(pacing.pacer.rate, pacing.pacer.quantum);
            if p.pacing.gso_max_segs > 1 {
                pacing.pacer.widen(bursts.size(p));
            }
            return;
        }
        bursts.rate = pacing_rate(p, w.cwnd.floor().max(out), w.ssthresh, w.cwnd.floor(), srtt);
        if p.pacing.paced {
            pacing.pacer.set(bursts.rate, bursts.size(p));
        }
    }

    /// Sends all that may be sent now, with consecutive segments joined in packets where possible (TSO).
    #[inline(never)]
    pub(super) fn output_runs<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let p = cx.p;
        let most = self.bursts().map_or(1, |bursts| bursts.size(p));
        let mut io = Offload::new(p, most, &mut *cx.io);
        let cx = &mut Context { p, now: cx.now, rx: &mut *cx.rx, stats: &mut *cx.stats, io: &mut io };
        self.output_segments(cx);
        io.flush();
    }

    /// Returns true if the host's own queue and device already hold as much of this connection's data as they may (TCP small
    /// queues). `again` is true if the next segment is a retransmission.
    #[cold]
    pub(super) fn device_is_full(&mut self, p: &TcpParams, again: bool) -> bool {
        let (mss, flight) = (u64::from(p.wire.mss), self.next - self.una);
        let half = (self.cwnd_bytes(p) / mss / 2).max(1);
        let Some(bursts) = self.bursts_mut() else { return false };
        let segments = u64::from(bursts.size(p)).min(half);
        flight > segments * mss && bursts.device_is_full(p, segments, again)
    }

    /// Records that `bytes` have left the host's device. Returns true if a segment was waiting for their departure.
    #[cold]
    pub(crate) fn on_left(&mut self, bytes: u64) -> bool {
        self.bursts_mut().is_some_and(|bursts| bursts.left(bytes))
    }

    /// Decides whether a new segment of `len` bytes is sent now. `burst` holds the number of segments that remain in
    /// the current burst, and the total size of the burst in segments.
    #[inline(never)]
    pub(super) fn next_of_burst(&mut self, p: &TcpParams, now: Time, burst: &mut (u32, u32), len: u32) -> Burst {
        if p.pacing.tsq && (burst.0 == 0 || p.pacing.gso_max_segs == 1) && self.device_is_full(p, false) {
            return Burst::DeviceFull;
        }
        if burst.0 == 0 {
            let size = if p.pacing.gso_max_segs > 1 { self.gather(p, now) } else { u32::MAX };
            *burst = (size, size);
        }
        let Some(left) = burst.0.checked_sub(1) else { return Burst::Waits };
        burst.0 = left;
        let ends = left == 0 && burst.1 > 1 || p.receiver.ack_pushed && self.next + u64::from(len) == self.end;
        Burst::Leaves(if ends { Flags::PSH } else { Flags::default() })
    }

    /// Returns the size of the next burst of new data in segments, or 0 if the burst must wait until the window has
    /// more room.
    fn gather(&self, p: &TcpParams, now: Time) -> u32 {
        let Some(bursts) = self.bursts() else { return u32::MAX };
        let (mss, left) = (u64::from(p.wire.mss), self.end - self.next);
        let window = self.cwnd_bytes(p);
        let peer = u64::from(self.peer_rwnd);
        let room = self.room(p).min(peer.saturating_sub(self.next - self.una));
        let fits = (room / mss).min(left.div_ceil(mss)).min(window / mss / 2).max(1);
        let size = bursts.size(p).min(fits.min(u32::MAX.into()) as u32);
        // if at most one segment is left to send, it does not wait here, because only Nagle's algorithm may hold it
        // back. The end of a stream does not wait either, because no more data follows, and no segment waits during a
        // repair
        let last = self.closing && left <= room;
        if left <= mss || last || self.state.repairs() {
            return size;
        }
        let oldest =
            self.board.head_sent().map(|sent| Duration::from_micros(u64::from(micros(now).wrapping_sub(sent))));
        let sight = BurstInputs { now, room, window: window.min(peer), oldest, srtt: self.rtt.srtt };
        if bursts.waits(p, &sight) { 0 } else { size }
    }
}
