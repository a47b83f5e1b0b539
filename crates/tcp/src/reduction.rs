//! Reductions of the window to ssthresh after a loss or a mark.
//!
//! ```text
//! instant:       cwnd = ssthresh
//! rate halving:  per ACK, cwnd = max(ssthresh, cwnd - 1/2), but at most in flight + 1
//! held:          cwnd = ssthresh, but segments may leave while in flight < held
//!                for each ACK:            held = min(held, in flight + 1)
//!                after each segment sent: held = min(held, in flight - 1), at least 1
//! prr:           if pipe > ssthresh: sndcnt = ceil(prr_delivered * ssthresh / RecoverFS) - prr_out
//!                otherwise:          sndcnt = min(ssthresh - pipe, max(prr_delivered - prr_out, DeliveredData)
//!                                                                  + (MSS if SafeACK))
//!                SafeACK: SND.UNA advances and no further loss is found.  sndcnt >= MSS until something is sent
//! ```
//!
//! Source: RFC 6675 §5 (4.2); Mathis, Semke & Mahdavi 1999 as in Linux 2.6; ns-2's Agent/TCP/Linux; RFC 9937 §6.
//! Departs: while pipe > ssthresh, PRR's budget (sndcnt + prr_out) is rounded up to whole segments. As in Linux,
//! RecoverFS is the value from which ssthresh was computed: the window, or FlightSize with `reduce_from_flight`. RFC
//! 9937 uses FlightSize less the data already SACKed.

use crate::cc::control::Window;
use crate::params::{Reduction, TcpParams};

/// Clamps a byte count to 32 bits. Every window that a peer can offer fits into 32 bits.
fn narrow(bytes: u64) -> u32 {
    bytes.min(u32::MAX.into()) as u32
}

/// The state of a reduction, in bytes. Before the first reduction, and as long as the controller itself reduces the
/// window, the state keeps its default values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ReductionState {
    /// RecoverFS in PRR's formula: the window or FlightSize from which ssthresh was computed.
    flight: u32,
    /// prr_delivered: bytes delivered since the reduction began. A reduction delivers less than three windows, so 32
    /// bits suffice for windows up to 1.3 GiB. Beyond that, the sum saturates.
    delivered: u32,
    /// prr_out: bytes sent since the reduction began.
    out: u32,
    /// In PRR, the number of bytes that may still be sent in response to the latest ACK. In held rate halving, this
    /// field stores the variable `held` of the formulas at the top of this file: a number of segments. The sender may
    /// send while fewer segments than this are in flight.
    sndcnt: u32,
}

impl ReductionState {
    /// Begins a reduction, after a congestion event has set `w.ssthresh`. `base` is the value from which ssthresh was
    /// computed: the window or FlightSize, in segments.
    pub(crate) fn begin(&mut self, p: &TcpParams, w: &mut Window, base: f64) {
        *self = Self { flight: narrow((base * f64::from(p.wire.mss)) as u64).max(1), ..Self::default() };
        match p.reduction.reduction {
            Reduction::Instant => w.cwnd = w.ssthresh,
            Reduction::HeldRateHalving => {
                self.sndcnt = w.cwnd as u32;
                w.cwnd = w.ssthresh;
            }
            Reduction::RateHalving | Reduction::Prr => {}
        }
    }

    /// Returns true if the sender began a reduction in response to the last congestion event (timeouts not counted),
    /// even if this reduction has already ended.
    #[inline]
    pub(crate) fn is_begun(&self) -> bool {
        self.flight > 0
    }

    /// Applies an ACK that delivers `delivered` bytes. `pipe` is the number of bytes in flight now. `safe` is RFC 9937's
    /// SafeACK.
    pub(crate) fn on_ack(&mut self, p: &TcpParams, w: &mut Window, delivered: u64, pipe: u64, safe: bool) {
        let mss = f64::from(p.wire.mss);
        match p.reduction.reduction {
            Reduction::Instant => {}
            Reduction::RateHalving => {
                let in_flight = (pipe as f64 / mss).floor();
                w.cwnd = (w.cwnd - 0.5).max(w.ssthresh).min(in_flight + 1.0).max(1.0);
            }
            Reduction::HeldRateHalving => self.sndcnt = self.sndcnt.min(narrow(pipe / u64::from(p.wire.mss) + 1)),
            Reduction::Prr if delivered == 0 => {}
            Reduction::Prr => {
                self.delivered = self.delivered.saturating_add(narrow(delivered));
                self.sndcnt = narrow(self.prr(delivered, pipe, (w.ssthresh * mss) as u64, u64::from(p.wire.mss), safe));
                w.cwnd = ((pipe + u64::from(self.sndcnt)) as f64 / mss).max(1.0);
            }
        }
    }

    /// Returns the number of bytes that may be sent in response to this ACK.   Source: RFC 9937 §6.
    fn prr(&self, delivered: u64, pipe: u64, ssthresh: u64, mss: u64, safe: bool) -> u64 {
        let (total, out) = (u64::from(self.delivered), u64::from(self.out));
        let sndcnt = if pipe > ssthresh {
            ((total * ssthresh).div_ceil(u64::from(self.flight)).div_ceil(mss) * mss).saturating_sub(out)
        } else {
            // as many bytes may be sent as were delivered (packet conservation), plus one segment while the repair
            // makes progress
            let limit = total.saturating_sub(out).max(delivered) + if safe { mss } else { 0 };
            (ssthresh - pipe).min(limit)
        };
        if self.out == 0 { sndcnt.max(mss) } else { sndcnt }
    }

    /// Processes the expiry of a timer that marked `lost` bytes as lost. The window does not change, so PRR allows
    /// `lost` more bytes to be sent.   Source: Linux.
    pub(crate) fn on_timer(&mut self, p: &TcpParams, lost: u64) {
        if p.reduction.reduction == Reduction::Prr {
            self.sndcnt = self.sndcnt.saturating_add(narrow(lost));
        }
    }

    /// Returns the number of bytes that PRR still allows to be sent, or `None` if another algorithm is in use.
    #[inline]
    pub(crate) fn room(&self, p: &TcpParams) -> Option<u64> {
        (p.reduction.reduction == Reduction::Prr).then_some(self.sndcnt.into())
    }

    /// Returns true if `size` bytes may be sent. `cwnd` is the window in bytes, `pipe` the number of bytes in flight.
    #[inline]
    pub(crate) fn permits(&self, p: &TcpParams, size: u64, cwnd: u64, pipe: u64) -> bool {
        match p.reduction.reduction {
            Reduction::Prr => size <= self.sndcnt.into(),
            Reduction::HeldRateHalving => pipe + size <= cwnd.max(u64::from(self.sndcnt) * u64::from(p.wire.mss)),
            Reduction::Instant | Reduction::RateHalving => pipe + size <= cwnd,
        }
    }

    /// Records that a segment of `size` bytes was sent during the reduction. `pipe` is the number of bytes in flight,
    /// including this segment.
    #[inline]
    pub(crate) fn on_send(&mut self, p: &TcpParams, size: u64, pipe: u64) {
        if p.reduction.reduction == Reduction::HeldRateHalving {
            self.sndcnt = self.sndcnt.min(narrow((pipe / u64::from(p.wire.mss)).saturating_sub(1).max(1)));
            return;
        }
        self.out = self.out.saturating_add(narrow(size));
        self.sndcnt = self.sndcnt.saturating_sub(narrow(size));
    }

    pub(crate) fn end(&mut self, p: &TcpParams, w: &mut Window) {
        w.cwnd = match p.reduction.reduction {
            Reduction::Instant | Reduction::HeldRateHalving => w.cwnd,
            Reduction::RateHalving => w.cwnd.min(w.ssthresh),
            // a program (`steer.rs`) or an external controller may have made ssthresh infinite during the reduction
            Reduction::Prr if w.ssthresh.is_infinite() => w.cwnd,
            Reduction::Prr => w.ssthresh,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn params(reduction: Reduction) -> TcpParams {
        TcpParams::preset("linux-6").unwrap().with(|p| {
            p.wire.mss = MSS as u32;
            p.reduction.reduction = reduction;
        })
    }

    #[test]
    fn prr_sends_one_for_two_then_converges() {
        // 20 segments are in flight, the first is lost, ssthresh is 10, and every ACK SACKs one segment. RFC 6675 would send
        // nothing for half a round; PRR sends a segment on every second ACK
        let p = params(Reduction::Prr);
        let mut w = Window { cwnd: 20.0, ssthresh: 10.0 };
        let mut s = ReductionState::default();
        // at the third duplicate ACK, 3 segments are SACKed and 1 is lost, so pipe is 16
        s.begin(&p, &mut w, 20.0);
        s.on_ack(&p, &mut w, MSS, 16 * MSS, false);
        // sndcnt = ceil(1 * 10 / 20) = 1 segment, which is the retransmission
        assert_eq!(u64::from(s.sndcnt), MSS);
        s.on_send(&p, MSS, 17 * MSS);
        let mut pipe = 17 * MSS;
        let mut sent = vec![];
        for ack in 4..=19 {
            pipe -= MSS;
            s.on_ack(&p, &mut w, MSS, pipe, false);
            while s.room(&p) >= Some(MSS) {
                s.on_send(&p, MSS, pipe);
                pipe += MSS;
                sent.push(ack);
            }
        }
        // ACK 4 is the second ACK of the reduction, and one segment was sent: sndcnt = ceil(2 / 2) - 1 = 0. At ACK 5,
        // sndcnt is ceil(3 / 2) - 1 = 1, and it is 1 again at every second ACK after that. From ACK 4 to ACK 15,
        // 12 ACKs arrive and 5 segments are sent. So at ACK 15, pipe = 17 - 12 + 5 = 10 equals ssthresh, and nothing is
        // sent. From then on, every ACK lets one segment leave
        assert_eq!(sent, [5, 7, 9, 11, 13, 16, 17, 18, 19]);
        assert_eq!(pipe, 10 * MSS);
        s.end(&p, &mut w);
        assert_eq!(w.cwnd, 10.0);
    }

    #[test]
    fn a_threshold_that_becomes_infinite_leaves_a_finite_window() {
        for reduction in [Reduction::Prr, Reduction::RateHalving] {
            let p = params(reduction);
            let mut w = Window { cwnd: 20.0, ssthresh: 10.0 };
            let mut s = ReductionState::default();
            s.begin(&p, &mut w, 20.0);
            w.ssthresh = f64::INFINITY;
            // one segment is delivered while 16 are in flight, and one more may be sent, so the window is 17
            s.on_ack(&p, &mut w, MSS, 16 * MSS, false);
            s.end(&p, &mut w);
            assert_eq!(w.cwnd, 17.0);
        }
    }

    #[test]
    fn prr_after_heavy_loss_conserves_packets_until_the_repair_makes_progress() {
        // RFC 9937 §8, after RFC 6937 §4: 20 segments are in flight, and numbers 1 to 15 are lost. One of the other five is SACKed,
        // so pipe is 4, below ssthresh = 10. There must be no burst of 10 - 4 = 6 segments
        let p = params(Reduction::Prr);
        let mut w = Window { cwnd: 20.0, ssthresh: 10.0 };
        let mut s = ReductionState::default();
        s.begin(&p, &mut w, 20.0);
        // the ACK that reports the losses delivers one segment, so one segment may be sent
        s.on_ack(&p, &mut w, MSS, 4 * MSS, false);
        assert_eq!(u64::from(s.sndcnt), MSS);
        s.on_send(&p, MSS, 5 * MSS);
        // an ACK that SACKs one segment, but does not advance SND.UNA, also allows the sender to send one segment
        s.on_ack(&p, &mut w, MSS, 4 * MSS, false);
        assert_eq!(u64::from(s.sndcnt), MSS);
        s.on_send(&p, MSS, 5 * MSS);
        // the retransmission is acknowledged and no further loss is found. As in slow start, two segments may be sent
        // for each segment delivered
        s.on_ack(&p, &mut w, MSS, 4 * MSS, true);
        assert_eq!((u64::from(s.sndcnt), w.cwnd), (2 * MSS, 6.0));
        // 5 segments have been delivered and 2 sent, so 3 may be sent
        s.on_ack(&p, &mut w, 2 * MSS, 2 * MSS, false);
        assert_eq!(u64::from(s.sndcnt), 3 * MSS);
        // an ACK that delivers nothing does not change the state
        s.on_ack(&p, &mut w, 0, MSS, true);
        assert_eq!(u64::from(s.sndcnt), 3 * MSS);
        // pipe must not exceed ssthresh: pipe is 9 and ssthresh is 10, so only one segment may be sent
        s.on_ack(&p, &mut w, MSS, 9 * MSS, true);
        assert_eq!((u64::from(s.sndcnt), w.cwnd), (MSS, 10.0));
    }

    #[test]
    fn prr_forces_the_first_retransmission() {
        // one of four segments is lost, and three are SACKed. Limited transmit has sent two more, so pipe is 2, which
        // equals ssthresh. PRR then allows only the first retransmission
        let p = params(Reduction::Prr);
        let mut w = Window { cwnd: 4.0, ssthresh: 2.0 };
        let mut s = ReductionState::default();
        s.begin(&p, &mut w, 4.0);
        s.on_ack(&p, &mut w, MSS, 2 * MSS, false);
        assert_eq!(u64::from(s.sndcnt), MSS);
        s.on_send(&p, MSS, 3 * MSS);
        s.on_ack(&p, &mut w, MSS, 2 * MSS, true);
        assert_eq!(s.sndcnt, 0);
        // if a timer finds two more segments lost, two segments may be sent
        s.on_timer(&p, 2 * MSS);
        assert_eq!(u64::from(s.sndcnt), 2 * MSS);
    }

    #[test]
    fn rate_halving_takes_one_segment_for_two_acks() {
        let p = params(Reduction::RateHalving);
        let mut w = Window { cwnd: 20.0, ssthresh: 16.0 };
        let mut s = ReductionState::default();
        s.begin(&p, &mut w, 20.0);
        assert_eq!(w.cwnd, 20.0);
        let mut seen = vec![];
        for _ in 0..10 {
            s.on_ack(&p, &mut w, MSS, 20 * MSS, false);
            seen.push(w.cwnd);
        }
        assert_eq!(seen, [19.5, 19.0, 18.5, 18.0, 17.5, 17.0, 16.5, 16.0, 16.0, 16.0]);
        // with 5 segments in flight, the window is only 6, so one more segment may be sent and there is no burst
        s.on_ack(&p, &mut w, MSS, 5 * MSS, false);
        assert_eq!(w.cwnd, 6.0);
        s.end(&p, &mut w);
        assert_eq!(w.cwnd, 6.0);
    }

    #[test]
    fn a_timer_is_no_ack() {
        for reduction in [Reduction::Instant, Reduction::RateHalving, Reduction::HeldRateHalving] {
            let p = params(reduction);
            let mut w = Window { cwnd: 20.0, ssthresh: 16.0 };
            let mut s = ReductionState::default();
            s.begin(&p, &mut w, 20.0);
            let before = (w.cwnd, s);
            s.on_timer(&p, 15 * MSS);
            assert_eq!((w.cwnd, s), before, "{reduction:?}");
        }
    }

    #[test]
    fn held_rate_halving_sends_one_for_two_until_the_window_holds() {
        let p = params(Reduction::HeldRateHalving);
        let mut w = Window { cwnd: 20.0, ssthresh: 16.0 };
        let mut s = ReductionState::default();
        s.begin(&p, &mut w, 20.0);
        assert_eq!((w.cwnd, s.sndcnt), (16.0, 20));
        // each ACK removes one segment from the 20 in flight; segments are sent as soon as there is room
        let mut pipe = 20 * MSS;
        let mut sent = vec![];
        for ack in 1..=10 {
            pipe -= MSS;
            s.on_ack(&p, &mut w, MSS, pipe, false);
            while s.permits(&p, MSS, 16 * MSS, pipe) {
                pipe += MSS;
                s.on_send(&p, MSS, pipe);
                sent.push(ack);
            }
        }
        // After ACK 1, 19 segments are in flight, below `held` = 20: one segment is sent, and `held` becomes 19. After ACK 2, 19
        // are in flight: none is sent. After ACK 3, 18 are in flight, and one is sent; and so on. After ACK 8, 16
        // segments are in flight, as many as the window holds; from then on, every ACK lets one segment leave
        assert_eq!(sent, [1, 3, 5, 7, 9, 10]);
        assert_eq!(pipe, 16 * MSS);
        s.end(&p, &mut w);
        assert_eq!(w.cwnd, 16.0);
    }
}
