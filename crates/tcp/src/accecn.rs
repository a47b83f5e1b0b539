//! Accurate ECN: the codes of the handshake, the receiver's counters, and the count of marks that the sender derives from them.
//!
//! ```text
//! handshake   The SYN has AE CWR ECE = 111.  The SYN-ACK reports the ECN field of the SYN, and the client's next packet reports
//!             the ECN field of the SYN-ACK:
//!             Not-ECT 010, ECT(1) 011, ECT(0) 100, CE 110.
//!             A server whose SYN-ACK has 001 or 101 supports only RFC 3168's ECN;  000 or 111: no ECN
//! receiver    r.cep: 5 + all packets with CE.  ACE = r.cep mod 8
//!             r.e0b, r.ceb, r.e1b: payload bytes by ECN field, + 1 in r.e0b and r.e1b
//!             An ACK leaves at once for the first CE after data without CE, and for the n-th CE since the last ACK
//!             (n = 2, or 3 if no data awaits an ACK)
//!             With congestion_control = "dctcp", an ACK also leaves at once for the first data without CE after data with CE;
//!             and, as in Linux, when CE begins or ends, a separate ACK for earlier data that still awaits one leaves first
//! sender      d = segments newly delivered;  delta = (ACE - s.cep) mod 8
//!             If d <= 7, delta packets were marked.  Otherwise ACE may have wrapped, and  safe = d - ((d - delta) mod 8)  is used,
//!             unless ACKs usually deliver more than 4 segments: then delta is used, as if no ACK was lost (Linux)
//!             usually:  average of d over ACKs, with weight 1/64 for the newest
//!             With the option, the value among  delta, delta + 8, ... safe  that is nearest to the growth of r.ceb in segments
//! ```
//!
//! The bits AE, CWR and ECE together hold the number ACE, so ECE and CWR are not signals as in RFC 3168.
//!
//! Source: RFC 9768 §3.1.1, §3.1.2 (handshake), §3.2.1, §3.2.2 (ACE), §3.2.2.5 (when to acknowledge), §3.2.3 (option), A.2
//! (counting).
//! Departs: the option is sent from the first segment after the handshake on, but not in SYNs. A mark on a SYN or SYN-ACK is
//! counted, but does not reduce the window. Paths that clear the ECN field or ACE are not detected.

use crate::cc::control::Feedback;
use crate::feedback::EcnUse;
use crate::params::{EcnFeedback, TcpParams};
use crate::segment::{AccEcnOption, Segment};
use packet::{Ecn, Flags};

/// Initial value of r.cep and of s.cep. Source: RFC 9768 §3.2.1.
const FIRST_CEP: u8 = 5;
/// Modulus of ACE, which has three bits.
const ACE: u32 = 8;
/// Mask for the byte counters, which have 24 bits.
const MASK: u32 = (1 << 24) - 1;
/// If ACKs deliver more segments than this on average, an ACK for many segments is no sign of lost ACKs, because the
/// receiver or the path merges ACKs (GRO, SACK compression).   Source: Linux, ACK_COMP_THRESH.
const FEW_PER_ACK: u32 = 4;
/// The average is stored in 1/64 segments, and the newest ACK has the weight 1/64.
/// Source: Linux, PKTS_ACKED_PREC, PKTS_ACKED_WEIGHT.
const AVERAGE: u32 = 64;
/// An ACK leaves at once when this many CE marks have arrived since the last ACK: 2 if received data awaits an ACK, otherwise 3.
/// Source: RFC 9768 §3.2.2.5.1.
const MARKS: [u32; 2] = [2, 3];

/// Returns the code that reports this ECN field of a SYN or SYN-ACK.   Source: RFC 9768 tables 2 and 3.
pub(crate) fn code(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// Returns the ECN feedback that a server uses if the ECN bits of the SYN are `ace`.   Source: RFC 9768 §3.1.2, §3.1.3.
pub(crate) fn server(p: &TcpParams, ace: u8) -> EcnUse {
    match (p.ecn.ecn, p.ecn.ecn_feedback, ace) {
        (false, ..) | (true, _, 0) => EcnUse::Off,
        (true, EcnFeedback::Accecn, 0b011) => fallback(p),
        (true, EcnFeedback::Accecn, _) => EcnUse::Accurate,
        (true, _, _) => EcnUse::classic(ace & 0b011 == 0b011),
    }
}

/// Returns the ECN feedback that a client uses if the ECN bits of the SYN-ACK are `ace`.
/// Source: RFC 9768 §3.1.2; RFC 3168 §6.1.1.
pub(crate) fn client(p: &TcpParams, ace: u8) -> EcnUse {
    match (p.ecn.ecn, p.ecn.ecn_feedback, ace) {
        (false, ..) => EcnUse::Off,
        (true, EcnFeedback::Accecn, 0b000 | 0b111) => EcnUse::Off,
        (true, EcnFeedback::Accecn, 0b001 | 0b101) => fallback(p),
        (true, EcnFeedback::Accecn, _) => EcnUse::Accurate,
        (true, _, _) => EcnUse::classic(ace & 0b011 == 0b001),
    }
}

/// Returns the ECN bits of a client's SYN.
pub(crate) fn request(p: &TcpParams) -> u8 {
    match (p.ecn.ecn, p.ecn.ecn_feedback) {
        (false, _) => 0b000,
        (true, EcnFeedback::Accecn) => 0b111,
        (true, _) => 0b011,
    }
}

/// Returns the ECN feedback of a connection that has no handshake. Stacks whose SYNs would carry different ECN bits
/// ([`request`]) are refused.
pub(crate) fn agreed(p: &TcpParams) -> EcnUse {
    if p.ecn.ecn && p.ecn.ecn_feedback == EcnFeedback::Accecn { EcnUse::Accurate } else { EcnUse::classic(p.ecn.ecn) }
}

/// Returns the ECN feedback to use with a peer that supports only RFC 3168. If this end's controller needs AccECN, this
/// end sends no ECN-capable packets, but echoes marks on the peer's packets. A client that offered AccECN cannot decline
/// RFC 3168's ECN: the server uses ECN from its SYN-ACK on.   Source: RFC 9768 table 2.
fn fallback(p: &TcpParams) -> EcnUse {
    if p.control.ecn().feedback < Feedback::Accecn { EcnUse::Classic } else { EcnUse::Echo }
}

/// AccECN counters of one endpoint, as a receiver and as a sender.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counts {
    /// r.cep: 5 plus the number of packets received with CE, modulo 8.
    cep: u8,
    /// CE-marked packets not yet reported by an ACK.
    unreported: u32,
    /// True if the last segment with payload had CE.
    last_ce: bool,
    e0b: u32,
    ceb: u32,
    e1b: u32,
    /// Code that the next packet carries in place of ACE, to report the ECN field of a received SYN or SYN-ACK.
    code: Option<u8>,
    /// s.cep: the value of the peer's r.cep in the peer's latest report, modulo 8.
    s_cep: u8,
    /// The value of the peer's r.ceb in the peer's latest report.
    s_ceb: u32,
    /// Average number of segments that an ACK delivers, in 1/64; 0 before the first ACK.
    per_ack: u32,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            cep: FIRST_CEP,
            unreported: 0,
            last_ce: false,
            e0b: 1,
            ceb: 0,
            e1b: 1,
            code: None,
            s_cep: FIRST_CEP,
            s_ceb: 0,
            per_ack: 0,
        }
    }
}

impl Counts {
    // ---------------------------------------------------------------- the handshake

    /// Processes the ECN field of a received SYN or SYN-ACK.
    pub(crate) fn on_syn(&mut self, ecn: Ecn) {
        self.cep = FIRST_CEP + u8::from(ecn == Ecn::Ce);
        self.code = Some(code(ecn));
    }

    /// Returns the code that a server's SYN-ACK carries.
    pub(crate) fn answer(&self) -> u8 {
        self.code.unwrap_or(0)
    }

    /// Processes a received SYN-ACK. `ecn` is the ECN field of its IP header, and `ace` are the ECN bits of its TCP
    /// header.
    pub(crate) fn on_syn_ack(&mut self, ecn: Ecn, ace: u8) {
        self.on_syn(ecn);
        self.s_cep = FIRST_CEP + u8::from(ace == code(Ecn::Ce));
    }

    /// Processes the client's answer to the server's SYN-ACK. Returns false if the client declines ECN.
    pub(crate) fn on_answer(&mut self, ace: u8) -> bool {
        self.code = None;
        self.s_cep = FIRST_CEP + u8::from(ace == code(Ecn::Ce));
        ace != 0
    }

    // ---------------------------------------------------------------- the receiver

    fn count(&mut self, ecn: Ecn, packets: u32) {
        if ecn == Ecn::Ce {
            self.cep = ((u32::from(self.cep) + packets % ACE) % ACE) as u8;
            self.unreported += packets;
        }
    }

    /// Counts a packet without payload. Returns true if an ACK must leave at once. `waits` is true if received data already
    /// awaits an ACK.
    pub(crate) fn on_control(&mut self, ecn: Ecn, waits: bool) -> bool {
        self.count(ecn, 1);
        self.unreported >= MARKS[usize::from(!waits)]
    }

    /// Returns true if a data segment with this ECN field changes the CE state: either this segment or the last data
    /// segment has CE, but not both.
    pub(crate) fn changes(&self, ecn: Ecn) -> bool {
        self.last_ce != (ecn == Ecn::Ce)
    }

    /// Counts a packet of `segments` segments and `len` bytes of payload, all with the same ECN field. Returns true if an ACK
    /// must leave at once.
    pub(crate) fn on_data(&mut self, ecn: Ecn, segments: u32, len: u32) -> bool {
        self.count(ecn, segments);
        let counter = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(&mut self.e0b),
            Ecn::Ect1 => Some(&mut self.e1b),
            Ecn::Ce => Some(&mut self.ceb),
        };
        if let Some(c) = counter {
            *c = c.wrapping_add(len) & MASK;
        }
        let begins = ecn == Ecn::Ce && !self.last_ce;
        self.last_ce = ecn == Ecn::Ce;
        begins || self.unreported >= MARKS[0]
    }

    /// Writes ACE into an outgoing segment, or the code for a received SYN or SYN-ACK if this code was not sent yet. Adds
    /// as many counters of the AccECN option as fit into `room` bytes, or no option if `room` is `None`.
    pub(crate) fn stamp(&mut self, segment: &mut Segment, room: Option<usize>) {
        self.unreported = 0;
        let ace = self.code.take().unwrap_or(self.cep);
        segment.flags = segment.flags.with_ace(ace).with(Flags::ACE);
        if let Some(fields) = room.map(AccEcnOption::fitting).filter(|n| *n > 0) {
            let Self { e0b, ceb, e1b, .. } = *self;
            segment.set_accecn(AccEcnOption { fields, ect1_first: e1b != 1, e0b, ceb, e1b });
        }
    }

    // ---------------------------------------------------------------- the sender

    /// Returns the packets and the payload bytes that this ACK newly reports as marked. The ACK delivers `d` segments with
    /// `bytes` bytes of payload.
    pub(crate) fn newly(&mut self, ack: &Segment, d: u32, bytes: u64) -> (u32, u64) {
        let delta = u32::from(ack.flags.ace().wrapping_sub(self.s_cep) % ACE as u8);
        let ceb = ack.accecn().ceb_counter().map(|ceb| {
            let newly = ceb.wrapping_sub(self.s_ceb) & MASK;
            self.s_ceb = ceb;
            u64::from(newly)
        });
        if d > 0 {
            let all =
                if self.per_ack == 0 { AVERAGE * d } else { ((AVERAGE - 1) * self.per_ack + AVERAGE * d) / AVERAGE };
            self.per_ack = all.min(u16::MAX.into());
        }
        let packets = match ceb {
            _ if d < ACE => delta,
            None if self.per_ack > AVERAGE * FEW_PER_ACK => delta,
            None => safe(d, delta),
            Some(0) => delta,
            Some(marked) => nearest(d, delta, marked, bytes),
        };
        self.s_cep = ((u32::from(self.s_cep) + packets) % ACE) as u8;
        (packets, ceb.unwrap_or_else(|| bytes * u64::from(packets.min(d)) / u64::from(d.max(1))))
    }
}

/// Returns the largest increase of the counter that is at most `d` and congruent to `delta` mod 8.
fn safe(d: u32, delta: u32) -> u32 {
    d - d.wrapping_sub(delta) % ACE
}

/// Estimates the number of marked segments from the `marked` bytes, as if every segment had `bytes / d` bytes. The
/// result is the nearest number that is congruent to `delta` mod 8 (the ACE field has three bits), but at most
/// `safe(d, delta)`.
fn nearest(d: u32, delta: u32, marked: u64, bytes: u64) -> u32 {
    // converts `marked` bytes to segments of `bytes / d` bytes, rounded to the nearest whole number
    let segments = (2 * marked * u64::from(d) + bytes) / (2 * bytes).max(1);
    let above = (segments as u32).saturating_sub(delta);
    (delta + (above + ACE / 2) / ACE * ACE).min(safe(d, delta))
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rng;

    fn ack(ace: u8) -> Segment {
        Segment { flags: Flags::PURE_ACK.with(Flags::ACE).with_ace(ace), ..Segment::default() }
    }

    fn with(option: AccEcnOption, ace: u8) -> Segment {
        let mut s = ack(ace);
        s.set_accecn(option);
        s
    }

    #[test]
    fn the_counter_begins_at_five_and_goes_round() {
        // one mark was reported before, so s.cep is 6. ACE = 1 stands for 9, which is three marks more. With at most 7 segments
        // delivered, 3 is the only possible number
        let one = Counts { s_cep: 6, per_ack: AVERAGE, ..Counts::default() };
        assert_eq!(one.clone().newly(&ack(1), 5, 5000).0, 3);
        // if 20 segments are delivered, 3, 11 or 19 of them were marked. Without the option, the sender uses the largest of
        // these numbers: 20 - ((20 - 3) mod 8) = 19
        assert_eq!(one.clone().newly(&ack(1), 20, 20_000).0, 19);
        // the option reports 11 448 marked bytes in segments of 1000, so 11 were marked
        let option = AccEcnOption { fields: 3, ceb: 11_448, ..AccEcnOption::default() };
        assert_eq!(one.clone().newly(&with(option, 1), 20, 20_000), (11, 11_448));
        // ACE has not changed, so 0, 8 or 16 segments may have been marked. The option reports no marked bytes, so no
        // segment was marked
        let none = AccEcnOption { ceb: 0, ..option };
        assert_eq!(one.clone().newly(&with(none, 6), 20, 20_000), (0, 0));
        // this option has one counter, which is not r.ceb (the bytes marked CE). The sender therefore computes as without
        // the option: 20 - ((20 - 3) mod 8) = 19
        let short = AccEcnOption { fields: 1, ..option };
        assert_eq!(one.clone().newly(&with(short, 1), 20, 20_000).0, 19);
    }

    #[test]
    fn merged_acks_report_no_marks_of_their_own() {
        // each ACK reports no mark and delivers 41 segments, about as many as SACK compression merges at 500 Mbit/s
        let marks = |c: &mut Counts| c.newly(&ack(5), 41, 41_000).0;
        assert_eq!(marks(&mut Counts::default()), 0);
        // if earlier ACKs delivered two segments each, ACKs of 41 segments suggest that ACKs were lost, until the average
        // exceeds 4. The average is 2 at first, and each ACK moves it by 1/64 of its distance to 41: 2.6, 3.2, 3.8, 4.4
        let mut c = Counts { per_ack: 2 * AVERAGE, ..Counts::default() };
        assert_eq!([0; 5].map(|_| marks(&mut c)), [40, 40, 40, 0, 0]);
        // ACE grows from 5 to 7, and the average is above 4, so the ACK reports two marks
        assert_eq!(c.newly(&ack(7), 41, 41_000).0, 2);
    }

    #[test]
    fn the_codes_of_the_handshake() {
        let accecn = TcpParams::default().with(|p| {
            p.ecn.ecn = true;
            p.ecn.ecn_feedback = EcnFeedback::Accecn;
        });
        let old = TcpParams::default().with(|p| p.ecn.ecn = true);
        let none = TcpParams::default();
        use EcnUse::{Accurate, Classic, Off};
        // the ECN feedback that a server uses, for each value from 0 to 7 of the ECN bits in the SYN
        let servers = |p: &TcpParams| [0, 1, 2, 3, 4, 5, 6, 7].map(|ace| server(p, ace));
        assert_eq!(servers(&accecn), [Off, Accurate, Accurate, Classic, Accurate, Accurate, Accurate, Accurate]);
        assert_eq!(servers(&old), [Off, Off, Off, Classic, Off, Off, Off, Classic]);
        assert_eq!(servers(&none), [Off; 8]);
        // the ECN feedback that a client uses, for each value from 0 to 7 of the ECN bits in the SYN-ACK
        let clients = |p: &TcpParams| [0, 1, 2, 3, 4, 5, 6, 7].map(|ace| client(p, ace));
        assert_eq!(clients(&accecn), [Off, Classic, Accurate, Accurate, Accurate, Classic, Accurate, Off]);
        assert_eq!(clients(&old), [Off, Classic, Off, Off, Off, Classic, Off, Off]);
        assert_eq!(clients(&none), [Off; 8]);
        let fields = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
        assert_eq!(fields.map(code), [0b010, 0b011, 0b100, 0b110]);
    }

    #[test]
    fn a_marked_handshake_counts_on_both_sides() {
        // both the SYN and the SYN-ACK were marked, so each side's counter begins at 6 instead of 5
        let (mut client, mut server) = (Counts::default(), Counts::default());
        server.on_syn(Ecn::Ce);
        client.on_syn_ack(Ecn::Ce, code(Ecn::Ce));
        let mut third = Segment::default();
        client.stamp(&mut third, None);
        assert_eq!(third.flags.ace(), 0b110);
        assert!(server.on_answer(third.flags.ace()));
        // in later segments, ACE is 6 on both sides, which reports no new marks
        let (mut up, mut down) = (Segment::default(), Segment::default());
        client.stamp(&mut up, None);
        server.stamp(&mut down, None);
        assert_eq!((up.flags.ace(), down.flags.ace()), (6, 6));
        assert_eq!((client.newly(&down, 3, 3000).0, server.newly(&up, 3, 3000).0), (0, 0));
        assert!(!Counts::default().on_answer(0));
    }

    #[test]
    fn acks_leave_for_the_first_mark_and_for_every_second() {
        let mut c = Counts::default();
        let at_once = [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ce, Ecn::Ect0, Ecn::Ce].map(|ecn| c.on_data(ecn, 1, 1000));
        // the first mark requests an ACK. The test sends no ACK, so from the second mark on, at least two marks are
        // unreported, and every segment requests an ACK, marked or not
        assert_eq!(at_once, [false, true, true, true, true, true]);
        let mut s = Segment::default();
        c.stamp(&mut s, Some(28));
        assert_eq!((s.flags.ace(), c.on_data(Ecn::Ce, 1, 1000), c.on_data(Ecn::Ce, 1, 1000)), (1, false, true));
        assert_eq!((s.accecn().e0b, s.accecn().ceb, s.accecn().e1b, s.accecn().fields), (2001, 4000, 1, 3));
        c.stamp(&mut s, None);
        let at_once = [Ecn::Ce; 3].map(|ecn| c.on_control(ecn, false));
        assert_eq!((at_once, c.on_control(Ecn::Ect0, true)), ([false, false, true], true));
    }

    #[test]
    fn options_take_the_room_that_is_left() {
        // TCP options take at most 40 bytes. Time stamps take 12; one, two or three SACK blocks take 12, 20 or 28 more
        assert_eq!([28, 16, 8, 0].map(AccEcnOption::fitting), [3, 3, 2, 0]);
        let bytes = [3, 2, 1, 0].map(|fields| AccEcnOption { fields, ..AccEcnOption::default() }.wire_bytes());
        assert_eq!(bytes, [12, 8, 8, 0]);
    }

    /// The sender counts every mark once, whichever ACKs are lost. ACE alone is enough if each ACK that arrives covers at most 7
    /// segments. With the option, an ACK may cover any number of segments, if all segments have the same size.
    #[test]
    fn every_mark_is_counted_once() {
        for (option, most) in [(false, 7), (true, 40)] {
            for seed in 0..200 {
                let mut rng = Rng::named(seed, "marks");
                let (mut r, mut s) = (Counts::default(), Counts::default());
                let share = rng.below(101);
                let (mut sent, mut counted, mut bytes) = (0, 0, 0);
                for _ in 0..500 {
                    // `d` segments arrive, and all of their ACKs but the last are lost
                    let d = 1 + rng.below(most) as u32;
                    for _ in 0..d {
                        let ecn = if rng.below(100) < share { Ecn::Ce } else { Ecn::Ect1 };
                        r.on_data(ecn, 1, 1448);
                        sent += u32::from(ecn == Ecn::Ce);
                    }
                    let mut ack = Segment::default();
                    r.stamp(&mut ack, option.then_some(16));
                    let (packets, newly) = s.newly(&ack, d, 1448 * u64::from(d));
                    assert!(packets <= d);
                    (counted, bytes) = (counted + packets, bytes + newly);
                }
                assert_eq!((counted, bytes), (sent, 1448 * u64::from(sent)), "seed {seed}");
            }
        }
    }
}
