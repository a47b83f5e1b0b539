//! The handshake.   Source: RFC 9293 §3.5; RFC 3168 §6.1.1; RFC 9768 §3.1; RFC 6298 §5.7.

use super::Endpoint;
use crate::accecn;
use crate::feedback::EcnUse;
use crate::params::{EctOn, TcpParams};
use crate::receiver::Phase;
use crate::segment::{Event, Io, Segment, micros};
use packet::Flags;
use units::{Duration, Time};

impl Endpoint {
    /// Processes a segment that arrives outside the established phase. Returns true if it needs further processing.
    pub(super) fn on_early_segment(&mut self, p: &TcpParams, now: Time, segment: &Segment, io: &mut impl Io) -> bool {
        let syn = segment.flags.has(Flags::SYN);
        match self.rx.phase {
            Phase::Listen if syn && !segment.has_ack => {
                self.rx.open(segment.ts_val);
                self.rx.ecn = accecn::server(p, segment.flags.ace());
                if self.rx.ecn == EcnUse::Accurate {
                    self.rx.counts().on_syn(segment.ecn);
                }
                self.rx.phase = Phase::SynReceived;
                self.send_syn(p, now, io);
                self.finish(p, now, io);
                false
            }
            Phase::SynSent if syn && segment.has_ack && segment.ack == 1 => {
                self.rx.open(segment.ts_val);
                self.rx.ecn = accecn::client(p, segment.flags.ace());
                if self.rx.ecn == EcnUse::Accurate {
                    self.rx.counts().on_syn_ack(segment.ecn, segment.flags.ace());
                }
                self.established(p, now, segment.ts_ecr, io);
                if p.quirks.bare_handshake_ack {
                    self.send_ack(p, now, io);
                } else {
                    // queued data carries the ACK; if no data is queued, a pure ACK is sent
                    self.rx.set_ack_now();
                }
                self.proceed(p, now, io);
                false
            }
            Phase::SynReceived if syn && !segment.has_ack => {
                // usually, the peer has repeated its SYN, because our SYN-ACK was lost or is late
                if !p.quirks.first_syn_echoed {
                    self.rx.on_repeated_syn(segment.ts_val);
                }
                self.transmit_syn(p, now, true, io);
                self.tx.rto_at = p.rto.expiry(now, self.syn_wait(p));
                false
            }
            Phase::SynReceived if segment.has_ack && segment.ack >= 1 && !syn => {
                if self.rx.ecn == EcnUse::Accurate && !self.rx.counts().on_answer(segment.flags.ace()) {
                    self.rx.ecn = EcnUse::Off;
                }
                self.established(p, now, segment.ts_ecr, io);
                true
            }
            Phase::Closed if segment.seq_len() > 0 => {
                // usually a repeated FIN: our last ACK was lost or is late
                self.send_ack(p, now, io);
                false
            }
            _ => false,
        }
    }

    pub(super) fn establish_at_once(&mut self, p: &TcpParams, now: Time, io: &mut impl Io) {
        self.rx.open(0);
        self.tx.open();
        self.rx.ecn = accecn::agreed(p);
        self.rx.begin_ecn(p);
        self.rx.begin_space(now);
        self.rx.phase = Phase::Established;
        io.event(Event::Connected);
    }

    fn established(&mut self, p: &TcpParams, now: Time, ts_ecr: u32, io: &mut impl Io) {
        let repeated = self.stats.retransmits > 0;
        let echo = Some(ts_ecr).filter(|ecr| p.wire.timestamps && *ecr != 0);
        // without a time stamp, it is unknown which of several SYNs was acknowledged (Karn's algorithm, RFC 6298 §3)
        if let Some(from) = echo.or((!repeated).then_some(self.rx.syn_sent)) {
            let us = micros(now).wrapping_sub(from);
            self.tx.sample_rtt(p, us);
            self.tx.on_handshake(p, now, us);
        }
        if self.syn_was_lost(p, echo) && p.opening.syn_loss_restricts {
            self.tx.window.cwnd = 1.0;
        }
        self.tx.rtt.after_syn(repeated);
        self.tx.open();
        self.rx.begin_ecn(p);
        self.rx.begin_space(now);
        self.rx.phase = Phase::Established;
        io.event(Event::Connected);
    }

    /// Returns true if the stack has repeated its SYN or SYN-ACK, and therefore assumes that the first copy was lost.
    /// With `one_syn_repeat_allowed`, it takes two repetitions, at least one of them because of a timeout. Returns
    /// false if the peer has echoed the time stamp of the first copy, which shows that this copy arrived.
    ///
    /// Source: RFC 5681 §3.1; Linux: tcp_init_transfer, tcp_try_undo_spurious_syn and tcp_create_openreq_child.
    fn syn_was_lost(&self, p: &TcpParams, echo: Option<u32>) -> bool {
        let repeats = self.stats.retransmits;
        let assumed = if p.quirks.one_syn_repeat_allowed { self.tx.timeouts > 0 && repeats > 1 } else { repeats > 0 };
        assumed && echo != Some(self.rx.syn_sent)
    }

    pub(super) fn send_syn(&mut self, p: &TcpParams, now: Time, io: &mut impl Io) {
        self.rx.syn_sent = micros(now);
        self.tx.next = 1;
        self.transmit_syn(p, now, false, io);
        self.tx.rto_at = p.rto.expiry(now, self.syn_wait(p));
    }

    pub(super) fn syn_wait(&self, p: &TcpParams) -> Duration {
        self.tx.rtt.rto(p, p.opening.max_syn_rto)
    }

    fn transmit_syn(&mut self, p: &TcpParams, now: Time, again: bool, io: &mut impl Io) {
        let answer = self.rx.phase == Phase::SynReceived;
        let mut s = Segment { flags: Flags::SYN, ts_val: micros(now), ..Segment::default() };
        if answer {
            self.rx.stamp(p, now, &mut s);
            s.flags = s.flags.with_ace(match self.rx.ecn {
                EcnUse::Off => 0b000,
                EcnUse::Echo | EcnUse::Classic => 0b001,
                EcnUse::Accurate => self.rx.counts().answer(),
            });
        } else {
            s.flags = s.flags.with_ace(accecn::request(p));
        }
        if p.capable() == EctOn::All && if answer { self.rx.ecn.sends() } else { p.ecn.ecn } {
            s.ecn = p.codepoint();
        }
        s.retransmission = again;
        self.stats.retransmits += u32::from(again);
        io.send(&s);
    }

    pub(super) fn on_syn_timeout(&mut self, p: &TcpParams, now: Time, io: &mut impl Io) {
        // each timeout of a SYN-ACK doubles the wait; the first `syn_linear_timeouts` timeouts of a SYN do not
        let linear = if self.rx.phase == Phase::SynSent { p.opening.syn_linear_timeouts } else { 0 };
        if p.opening.syn_retries.is_some_and(|most| u32::from(self.tx.timeouts) >= most.saturating_add(linear)) {
            self.fail(io);
            return;
        }
        self.stats.timeouts += 1;
        self.tx.timeouts = self.tx.timeouts.saturating_add(1);
        if u32::from(self.tx.timeouts) > linear {
            self.tx.rtt.back_off(p, self.tx.next);
        }
        self.transmit_syn(p, now, true, io);
        self.tx.rto_at = p.rto.expiry(now, self.syn_wait(p));
    }
}
