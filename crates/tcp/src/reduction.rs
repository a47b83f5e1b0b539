//! How the window shrinks to ssthresh while a loss is repaired.
//!
//! ```text
//! instant:       cwnd = ssthresh
//! rate halving:  cwnd = max(ssthresh, cwnd - 1/2 per ACK), not above in flight + 1
//! held:          cwnd = ssthresh, and room while in flight < held: before what an ACK lets out, held = min(held,
//!                in flight + 1); after each segment, held = min(held, in flight - 1), at least 1
//! prr:           pipe > ssthresh:  sndcnt = ceil(prr_delivered * ssthresh / RecoverFS) - prr_out
//!                else:             sndcnt = min(ssthresh - pipe, max(prr_delivered - prr_out, DeliveredData) + MSS)
//! ```
//!
//! Source: RFC 6675 §5 (4.2); Mathis, Semke & Mahdavi 1999 as in Linux 2.6; ns-2's Agent/TCP/Linux; RFC 6937 §3.1.

use crate::cc::Window;
use crate::{Reduction, TcpParams};

/// The books of one reduction, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Shrink {
    /// RecoverFS: FlightSize at the start.
    flight: u64,
    /// prr_delivered.
    delivered: u64,
    /// prr_out.
    out: u64,
    /// What PRR still allows to be sent for this ACK. Held rate halving: segments that may be in flight.
    sndcnt: u64,
}

impl Shrink {
    /// A congestion event just set `w.ssthresh`.
    pub(crate) fn begin(&mut self, p: &TcpParams, w: &mut Window, flight: u64) {
        *self = Self { flight: flight.max(1), ..Self::default() };
        match p.reduction {
            Reduction::Instant => w.cwnd = w.ssthresh,
            Reduction::HeldRateHalving => {
                self.sndcnt = w.cwnd as u64;
                w.cwnd = w.ssthresh;
            }
            Reduction::RateHalving | Reduction::Prr => {}
        }
    }

    /// An ACK told of `delivered` bytes; `pipe` is what is in flight now.
    pub(crate) fn on_ack(&mut self, p: &TcpParams, w: &mut Window, delivered: u64, pipe: u64) {
        let mss = f64::from(p.mss);
        match p.reduction {
            Reduction::Instant => {}
            Reduction::RateHalving => {
                let in_flight = (pipe as f64 / mss).floor();
                w.cwnd = (w.cwnd - 0.5).max(w.ssthresh).min(in_flight + 1.0).max(1.0);
            }
            Reduction::HeldRateHalving => self.sndcnt = self.sndcnt.min(pipe / u64::from(p.mss) + 1),
            Reduction::Prr => {
                self.delivered += delivered;
                self.sndcnt = self.prr(delivered, pipe, (w.ssthresh * mss) as u64, u64::from(p.mss));
                w.cwnd = ((pipe + self.sndcnt) as f64 / mss).max(1.0);
            }
        }
    }

    /// RFC 6937 §3.1 with the slow start reduction bound.
    fn prr(&self, delivered: u64, pipe: u64, ssthresh: u64, mss: u64) -> u64 {
        if pipe > ssthresh {
            (self.delivered * ssthresh).div_ceil(self.flight).saturating_sub(self.out)
        } else {
            let limit = self.delivered.saturating_sub(self.out).max(delivered) + mss;
            (ssthresh - pipe).min(limit)
        }
    }

    /// PRR's room for a segment of `size`.
    #[inline]
    pub(crate) fn has_room(&self, size: u64) -> bool {
        size <= self.sndcnt
    }

    /// Held rate halving's bound of what is in flight, bytes.
    #[inline]
    pub(crate) fn held(&self, p: &TcpParams) -> u64 {
        self.sndcnt * u64::from(p.mss)
    }

    /// A segment of `size` was sent during the reduction; `pipe` is what is in flight with it.
    #[inline]
    pub(crate) fn on_send(&mut self, p: &TcpParams, size: u64, pipe: u64) {
        if p.reduction == Reduction::HeldRateHalving {
            self.sndcnt = self.sndcnt.min((pipe / u64::from(p.mss)).saturating_sub(1).max(1));
            return;
        }
        self.out += size;
        self.sndcnt = self.sndcnt.saturating_sub(size);
    }

    /// The reduction is over.
    pub(crate) fn end(&mut self, p: &TcpParams, w: &mut Window) {
        w.cwnd = match p.reduction {
            Reduction::Instant | Reduction::HeldRateHalving => w.cwnd,
            Reduction::RateHalving => w.cwnd.min(w.ssthresh),
            Reduction::Prr => w.ssthresh,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn params(reduction: Reduction) -> TcpParams {
        TcpParams { mss: MSS as u32, reduction, ..TcpParams::preset("linux-6").unwrap() }
    }

    #[test]
    fn prr_sends_one_for_two_then_converges() {
        // As RFC 6937 §4's first example, without limited transmit: FlightSize 20, the first segment lost, ssthresh 10, every
        // ACK SACKs one segment. RFC 6675 would be silent for half a round; PRR answers every second ACK.
        let p = params(Reduction::Prr);
        let mut w = Window { cwnd: 20.0, ssthresh: 10.0 };
        let mut s = Shrink::default();
        // at the third duplicate: 3 SACKed, 1 lost, so pipe 16; the retransmission is forced
        s.begin(&p, &mut w, 20 * MSS);
        s.on_ack(&p, &mut w, MSS, 16 * MSS);
        // 1 * 10 / 20 segments
        assert_eq!(s.sndcnt, 500);
        s.on_send(&p, MSS, 17 * MSS);
        let mut pipe = 17 * MSS;
        let mut sent = vec![];
        for ack in 4..=19 {
            pipe -= MSS;
            s.on_ack(&p, &mut w, MSS, pipe);
            while s.has_room(MSS) {
                s.on_send(&p, MSS, pipe);
                pipe += MSS;
                sent.push(ack);
            }
        }
        // The retransmission used up ACKs 3 and 4; ACK 6 makes 4 * 10/20 = 2, ... ACK 12 5. At ACK 14 pipe is
        // 17 - 11 + 4 = 10 = ssthresh and there is no room; from then on one for one.
        assert_eq!(sent, [6, 8, 10, 12, 15, 16, 17, 18, 19]);
        assert_eq!(pipe, 10 * MSS);
        s.end(&p, &mut w);
        assert_eq!(w.cwnd, 10.0);
    }

    #[test]
    fn prr_slow_starts_back_after_heavy_loss() {
        // RFC 6937 §4, second example: 20 in flight, segments 1 to 15 lost, so pipe (4) is below ssthresh 10: each ACK of one
        // segment may send two (itself and one more), not the six of a burst.
        let p = params(Reduction::Prr);
        let mut w = Window { cwnd: 20.0, ssthresh: 10.0 };
        let mut s = Shrink::default();
        s.begin(&p, &mut w, 20 * MSS);
        s.on_ack(&p, &mut w, MSS, 4 * MSS);
        assert_eq!(s.sndcnt, 2 * MSS);
    }

    #[test]
    fn rate_halving_takes_one_segment_for_two_acks() {
        let p = params(Reduction::RateHalving);
        let mut w = Window { cwnd: 20.0, ssthresh: 16.0 };
        let mut s = Shrink::default();
        s.begin(&p, &mut w, 20 * MSS);
        assert_eq!(w.cwnd, 20.0);
        let mut seen = vec![];
        for _ in 0..10 {
            s.on_ack(&p, &mut w, MSS, 20 * MSS);
            seen.push(w.cwnd);
        }
        assert_eq!(seen, [19.5, 19.0, 18.5, 18.0, 17.5, 17.0, 16.5, 16.0, 16.0, 16.0]);
        // never a burst: 5 in flight allow one more
        s.on_ack(&p, &mut w, MSS, 5 * MSS);
        assert_eq!(w.cwnd, 6.0);
        s.end(&p, &mut w);
        assert_eq!(w.cwnd, 6.0);
    }

    #[test]
    fn held_rate_halving_sends_one_for_two_until_the_window_holds() {
        let p = params(Reduction::HeldRateHalving);
        let mut w = Window { cwnd: 20.0, ssthresh: 16.0 };
        let mut s = Shrink::default();
        s.begin(&p, &mut w, 20 * MSS);
        assert_eq!((w.cwnd, s.held(&p)), (16.0, 20 * MSS));
        // each ACK takes one segment out of the 20 in flight; what has room is sent at once
        let mut pipe = 20 * MSS;
        let mut sent = vec![];
        for ack in 1..=10 {
            pipe -= MSS;
            s.on_ack(&p, &mut w, MSS, pipe);
            while pipe + MSS <= s.held(&p).max(16 * MSS) {
                pipe += MSS;
                s.on_send(&p, MSS, pipe);
                sent.push(ack);
            }
        }
        // ACK 1 leaves 19 in flight, below held 20: one goes out, held becomes 19. ACK 2 leaves 19: none. ACK 3 leaves 18 and so
        // on, until in flight has come to the window of 16 (ACK 9), from where every ACK lets one out
        assert_eq!(sent, [1, 3, 5, 7, 9, 10]);
        assert_eq!(pipe, 16 * MSS);
        s.end(&p, &mut w);
        assert_eq!(w.cwnd, 16.0);
    }
}
