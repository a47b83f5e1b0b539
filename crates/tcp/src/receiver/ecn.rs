//! The receiver's ECN feedback.   Source: RFC 3168 §6.1.3, RFC 8257 §3.2, RFC 9768.

use super::{CAPABLE, COUNTS, ECHO, OPTIONS, QUICK_AFTER_CE, Receiver};
use crate::accecn::Counts;
use crate::feedback::{EcnUse, Mark};
use crate::params::{EctOn, TcpParams};
use crate::segment::{Io, Segment};
use packet::{Ecn, Flags};
use units::Time;

impl Receiver {
    /// Returns AccECN's counters, which are created on first use.
    pub(crate) fn counts(&mut self) -> &mut Counts {
        self.rare.get_or_insert_default().counts.get_or_insert_default()
    }

    /// Applies the connection's ECN mode (`ecn`). Called when the connection is established.
    pub(crate) fn begin_ecn(&mut self, p: &TcpParams) {
        if self.ecn == EcnUse::Off {
            if let Some(rare) = &mut self.rare {
                rare.counts = None;
            }
            return;
        }
        let capable = if self.ecn.sends() && p.capable() >= EctOn::Established { CAPABLE } else { 0 };
        let counts = if self.ecn == EcnUse::Accurate { COUNTS } else { 0 };
        self.flags |= capable | counts;
    }

    /// Adds a packet without payload to AccECN's counters, and requests an immediate ACK if at least two CE marks
    /// (three if no data awaits an ACK) have arrived since the last ACK.
    pub(crate) fn on_control_segment(&mut self, ecn: Ecn) {
        let waits = self.unacked > 0;
        if self.counts().on_control(ecn, waits) {
            self.set_ack_now();
        }
    }

    /// Processes the ECN field and the CWR flag of a data segment, which is passed by value as in [`Receiver::stamp_rest`].
    pub(super) fn on_ecn_field(&mut self, p: &TcpParams, now: Time, segment: Segment, io: &mut impl Io) {
        if self.ecn == EcnUse::Accurate {
            let changes = self.counts().changes(segment.ecn) && p.control.ecn().ack_changes;
            if self.counts().on_data(segment.ecn, segment.segments(), segment.len) || changes {
                if changes && self.earlier_wait(&segment) {
                    self.ack_earlier_segments(p, now, io);
                }
                self.set_ack_now();
            }
            return;
        }
        let (echo, mark) = p.ecn.ecn_feedback.on_data(self.flags & ECHO != 0, &segment);
        match mark {
            Mark::Same => {}
            Mark::Begins if p.quirks.quick_acks_return => self.quicken(QUICK_AFTER_CE),
            Mark::Begins => {}
            Mark::Changes => {
                if self.earlier_wait(&segment) {
                    self.ack_earlier_segments(p, now, io);
                }
                self.set_ack_now();
            }
        }
        if p.quirks.ack_cwr && segment.flags.has(Flags::CWR) {
            self.set_ack_now();
        }
        self.flags = self.flags & !ECHO | if echo { ECHO } else { 0 };
    }

    /// Sends an ACK for the segments before the current one.
    pub(super) fn ack_earlier_segments(&mut self, p: &TcpParams, now: Time, io: &mut impl Io) {
        let mut ack = Segment { flags: Flags::PURE_ACK, ..Segment::default() };
        self.stamp(p, now, &mut ack);
        io.send(&ack);
    }

    /// Sets the ECN field of an outgoing segment, and either ECE or AccECN's counter, as far as they are in use. Must
    /// be called after the SACK blocks are set, because AccECN's option gets the room that they leave.
    pub(super) fn stamp_ecn(&mut self, p: &TcpParams, segment: &mut Segment) {
        if self.flags & ECHO != 0 {
            segment.flags = segment.flags.with(Flags::ECE);
        }
        if self.flags & CAPABLE != 0 {
            segment.ecn = p.codepoint();
        }
        if self.flags & COUNTS != 0 {
            let sack = if segment.sack.is_empty() { 0 } else { 4 + 8 * segment.sack.len() };
            let room = OPTIONS[0] - if p.wire.timestamps { OPTIONS[1] } else { 0 } - sack.min(OPTIONS[0] - OPTIONS[1]);
            self.counts().stamp(segment, p.ecn.accecn_option.then_some(room));
        }
    }
}
