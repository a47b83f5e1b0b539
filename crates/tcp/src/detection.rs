//! Loss detection: three algorithms. A segment is deemed lost:
//!
//! ```text
//! Dupack   after DupThresh duplicate ACKs (only the first segment), or by IsLost         RFC 5681 §3.2, RFC 6675 §4
//! Fack     once the highest SACKed segment lies at least DupThresh segments above it     see fack
//! Rack     once a segment sent later was delivered, and a reordering window has passed   RFC 8985, see rack
//! ```
//!
//! For each ACK, the sender calls [`Detection::begin`]; the scoreboard reports which segments arrive ([`Watch`]); then
//! [`Detection::mark_lost`] and [`Detection::detect`] mark segments as lost. The sender responds to the losses. Tail
//! loss probes, D-SACK and F-RTO need RACK's state; with the other two algorithms, their methods do nothing.

pub(crate) mod fack;
pub(crate) mod rack;

use crate::params::{LossDetection, Recovery, TcpParams};
use crate::scoreboard::Scoreboard;
use crate::scoreboard::entry::{Entry, Piece, Watch};
use crate::segment::SackBlock;
use crate::stats::State;
use fack::Fack;
use rack::{Probe, Rack, Tlp};
use units::Duration;

/// The loss detection algorithm and its state.
#[derive(Clone, Debug)]
pub(crate) enum Detection {
    Dupack,
    Fack(Box<Fack>),
    Rack(Box<Rack>),
}

impl Detection {
    pub(crate) fn new(p: &TcpParams) -> Self {
        match p.detection.loss_detection {
            LossDetection::Dupthresh => Self::Dupack,
            LossDetection::ForwardAck => Self::Fack(Box::default()),
            LossDetection::RackTlp => Self::Rack(Box::new(Rack::new())),
        }
    }

    /// Applies `f` to RACK's state and returns the result, or the default value if the algorithm is not RACK.
    #[inline]
    fn with_rack<T: Default>(&mut self, f: impl FnOnce(&mut Rack) -> T) -> T {
        if let Self::Rack(rack) = self { f(rack) } else { T::default() }
    }

    #[inline]
    fn rack(&self) -> Option<&Rack> {
        if let Self::Rack(rack) = self { Some(rack) } else { None }
    }

    #[inline]
    pub(crate) fn begin(&mut self, now_us: u32) {
        match self {
            Self::Dupack => {}
            Self::Fack(fack) => fack.begin(),
            Self::Rack(rack) => rack.begin(now_us),
        }
    }

    /// Records that the cumulative part of an ACK has been applied to the scoreboard. The SACK blocks of the ACK follow.
    #[inline]
    pub(crate) fn cumulative_part_done(&mut self) {
        if let Self::Fack(fack) = self {
            fack.cumulative_part_done();
        }
    }

    /// Marks segments as lost after SACK blocks have reported new data. RACK does so later, in [`Detection::detect`].
    #[inline]
    pub(crate) fn mark_lost(&mut self, board: &mut Scoreboard, p: &TcpParams) {
        match self {
            Self::Dupack => drop(board.mark_lost(p.detection.dupthresh, p.wire.mss, false)),
            Self::Fack(fack) => fack.mark_lost(board, p.detection.dupthresh, p.wire.mss),
            Self::Rack(_) => {}
        }
    }

    /// Marks segments as lost, after the ACK number and the SACK blocks of an ACK have been applied to the scoreboard.
    /// `acked` is the number of bytes that the ACK number newly acknowledges. Returns the time in microseconds after
    /// which the sender must call [`Detection::on_timer`], because more segments may be lost by then; `None` if no
    /// timer is needed.
    #[inline(always)]
    pub(crate) fn detect(
        &mut self,
        board: &mut Scoreboard,
        p: &TcpParams,
        acked: u64,
        state: State,
        srtt: Duration,
    ) -> Option<u32> {
        match self {
            Self::Dupack => {}
            Self::Fack(fack) => fack.mark_overtaken(board, p.detection.dupthresh),
            Self::Rack(rack) => {
                if rack.take_delivered(acked, p.wire.mss, state == State::Open) {
                    return rack.detect(board, state.repairs(), p.detection.dupthresh, (srtt.0 / 1000) as u32);
                }
            }
        }
        None
    }

    /// Detects losses again, after the timer requested by [`Detection::detect`] has expired.
    pub(crate) fn on_timer(
        &mut self,
        board: &mut Scoreboard,
        p: &TcpParams,
        now_us: u32,
        state: State,
        srtt: Duration,
    ) -> Option<u32> {
        self.with_rack(|rack| {
            rack.set_now(now_us);
            rack.detect(board, state.repairs(), p.detection.dupthresh, (srtt.0 / 1000) as u32)
        })
    }

    /// Returns true if duplicate ACKs, the scoreboard or RACK report a loss that no recovery handles yet. `fresh` is true if the
    /// duplicate ACKs are not caused by the retransmissions of an earlier recovery or timeout (RFC 6582 §3.2 step 2).
    #[inline]
    pub(crate) fn has_new_loss(
        &self,
        board: &Scoreboard,
        p: &TcpParams,
        state: State,
        dupacks: u32,
        fresh: bool,
    ) -> bool {
        let enough = dupacks >= u32::from(p.detection.dupthresh);
        match self {
            Self::Rack(rack) => state != State::Recovery && rack.has_lost(state == State::Loss),
            // every loss found by SACK begins a recovery, even after a timeout
            Self::Fack(fack) => fack.found && state != State::Recovery,
            Self::Dupack if state.repairs() => false,
            Self::Dupack if p.detection.recovery == Recovery::Sack => board.len() > 0 && (board.head_lost() || enough),
            Self::Dupack => enough && fresh,
        }
    }

    /// Begins a recovery. Returns true if the first retransmission ignores the window (RFC 5681 §3.2 step 3, RFC 6675 §5 step
    /// 4.3). With FACK, the first retransmission needs room in the window.
    pub(crate) fn enter_recovery(&mut self, board: &mut Scoreboard) -> bool {
        match self {
            Self::Fack(_) => return false,
            Self::Dupack => drop(board.mark_head_lost()),
            Self::Rack(_) => {}
        }
        true
    }

    /// Returns true if the window limits all outstanding bytes while duplicate ACKs arrive, and false if it limits only
    /// the bytes in flight. The result is false only with limited transmit (RFC 3042) and FACK or RACK: SACKed bytes
    /// are not in flight, so every SACK makes room in the window. With limited transmit and DupThresh, the sender may
    /// instead exceed the window by two segments.
    pub(crate) fn counts_outstanding(&self, p: &TcpParams) -> bool {
        !p.detection.limited_transmit || matches!(self, Self::Dupack)
    }

    /// Returns true if a recovery may use spare window to retransmit segments that are neither SACKed nor deemed lost
    /// so far: rules (3) and (4) of NextSeg.   Source: RFC 6675 §4.
    #[inline]
    pub(crate) fn fills_holes(&self, p: &TcpParams) -> bool {
        p.detection.recovery == Recovery::Sack && matches!(self, Self::Dupack)
    }

    /// Ends a recovery, the response to an ECN echo, or the repair after a timeout. FACK then clears the marks SACKED,
    /// LOST and RETX of all outstanding segments, and the result is true. The other algorithms do nothing, and the result
    /// is false.
    pub(crate) fn end_repair(&mut self, board: &mut Scoreboard) -> bool {
        let Self::Fack(fack) = self else { return false };
        fack.end_recovery(board);
        true
    }

    /// Records a retransmission that the scoreboard counts in `pipe`, the number of bytes in flight.
    pub(crate) fn note_resent(&mut self, board: &mut Scoreboard, piece: Piece) {
        match self {
            Self::Dupack => {}
            Self::Fack(fack) => fack.note_resent(board, piece),
            Self::Rack(rack) => rack.note_resent(board, piece),
        }
    }

    /// Processes a timeout: marks all segments as lost, but not SACKed segments if SACK information is kept
    /// (`keep_sack`). With RACK and `keep_sack`, marks only the first segment and the segments that are overdue.
    pub(crate) fn time_out(&mut self, board: &mut Scoreboard, now_us: u32, keep_sack: bool) {
        if let (Self::Rack(rack), true) = (&mut *self, keep_sack) {
            rack.set_now(now_us);
            return rack.time_out(board);
        }
        board.mark_all_lost(keep_sack);
        match self {
            Self::Dupack => {}
            Self::Fack(fack) => fack.forget(),
            Self::Rack(rack) => rack.forget_resent(board),
        }
    }

    // ---------------------------------------------------------------- RACK only

    /// Adds an RTT sample of `us` microseconds.
    #[inline]
    pub(crate) fn on_rtt(&mut self, us: u32) {
        self.with_rack(|rack| rack.on_rtt(us));
    }

    /// Records the start of the current RTO.
    #[inline]
    pub(crate) fn begin_rto(&mut self, now_us: u32) {
        self.with_rack(|rack| rack.rto_began = now_us);
    }

    /// Returns the time at which the current RTO began, in microseconds, or `None` if RACK is not in use.
    pub(crate) fn rto_began(&self) -> Option<u32> {
        self.rack().map(|rack| rack.rto_began)
    }

    /// Records that the original of a retransmitted segment has arrived, but after segments that were sent later. `una`
    /// is SND.UNA before the ACK.   Source: Linux, tcp_try_undo_partial.
    pub(crate) fn note_late_original(&mut self, una: u64, mss: u32) {
        self.with_rack(|rack| rack.note_reordering((una as u32).wrapping_add(mss), mss));
    }

    /// Returns true if more than DupThresh later segments have overtaken a segment. The window then also grows on ACKs
    /// that only SACK data.   Source: Linux, tcp_may_raise_cwnd.
    pub(crate) fn reorders(&self, p: &TcpParams) -> bool {
        self.rack().is_some_and(|rack| rack.reordering > u32::from(p.detection.dupthresh) * p.wire.mss)
    }

    /// Discards the reordering distance measured so far, if at least DupThresh segments are SACKed. Called at a timeout
    /// in the state Open: no loss was found before the timeout in spite of these SACKs, which suggests that the
    /// distance was overestimated.   Source: Linux, tcp_enter_loss.
    pub(crate) fn forget_reordering(&mut self, dupthresh: u8) {
        self.with_rack(|rack| rack.forget_reordering(dupthresh));
    }

    /// Returns true if a probe may be scheduled: nothing is SACKed or lost.   Source: RFC 8985 §7.2.
    #[inline]
    pub(crate) fn may_probe(&self) -> bool {
        self.rack().is_some_and(Rack::may_probe)
    }

    /// Returns true if a probe may be sent: no probe is in flight, and there was an RTT sample since the last probe.
    pub(crate) fn probe_due(&self) -> bool {
        self.rack().is_some_and(|rack| rack.tlp.probe.is_none() && rack.tlp.sampled)
    }

    pub(crate) fn on_probe(&mut self, probe: Probe) {
        self.with_rack(|rack| rack.tlp = Tlp { probe: Some(probe), sampled: false, sent: rack.tlp.sent + 1 });
    }

    /// Discards the probe in flight. Called when a reduction or a timeout begins.   Source: RFC 8985 §7.4.1.
    #[inline]
    pub(crate) fn forget_probe(&mut self) {
        self.with_rack(|rack| rack.tlp.probe = None);
    }

    /// Returns the number of probes in flight that are retransmissions: 0 or 1.
    pub(crate) fn resent_probes(&self) -> u32 {
        self.rack().map_or(0, |rack| rack.tlp.probe.is_some_and(|probe| probe.is_retransmission).into())
    }

    /// Returns the number of tail loss probes sent.
    pub(crate) fn probes(&self) -> u32 {
        self.rack().map_or(0, |rack| rack.tlp.sent)
    }

    /// Checks whether an ACK ends the tail loss probe in flight. Returns true if the probe was a retransmission that
    /// has repaired a loss. `duplicate` is true for a pure ACK that reports no new data.
    #[inline]
    pub(crate) fn probe_repaired(&mut self, ack: u64, duplicate: bool) -> bool {
        self.with_rack(|rack| rack.probe_repaired(ack, duplicate))
    }

    /// Applies a D-SACK for `segments` duplicates. Returns true if the duplicates may be this sender's own retransmissions.
    pub(crate) fn on_dsack(&mut self, dup: SackBlock, segments: u32, resent: u32, una: u64, next: u64) -> bool {
        self.with_rack(|rack| rack.on_dsack(dup, segments, resent, una, next))
    }

    /// Sets the end of the data sent before the timeout, for F-RTO. `until` is the low 32 bits of the stream offset.
    pub(crate) fn set_once_until(&mut self, until: u32) {
        self.with_rack(|rack| rack.once_until = until);
    }

    /// For F-RTO: returns true if this ACK delivers a segment that was sent before the timeout and was not sent
    /// again.
    pub(crate) fn once_delivered(&self) -> bool {
        self.rack().is_some_and(|rack| rack.once_delivered)
    }

    /// Ends a recovery that was not spurious.
    pub(crate) fn end_recovery(&mut self) {
        self.with_rack(|rack| rack.end_recovery());
    }

    /// Clears all LOST marks.
    pub(crate) fn unmark_lost(&mut self, board: &mut Scoreboard) {
        self.with_rack(|rack| rack.unmark_lost(board));
    }

    /// Recounts the segments, and asserts that the counters of the scoreboard and of RACK are correct.
    #[cfg(test)]
    pub(crate) fn check(&self, board: &Scoreboard, p: &TcpParams) {
        board.check(p.detection.dupthresh, p.wire.mss, self.rack().is_some());
        if let Some(rack) = self.rack() {
            rack.check(board);
        }
    }
}

impl Watch for Detection {
    #[inline]
    fn acknowledged(&mut self, e: &Entry) {
        match self {
            Self::Dupack => {}
            Self::Fack(fack) => fack.acknowledged(e),
            Self::Rack(rack) => rack.acknowledged(e),
        }
    }

    #[inline]
    fn sacked(&mut self, at: usize, e: &Entry) {
        match self {
            Self::Dupack => {}
            Self::Fack(fack) => fack.sacked(at, e),
            Self::Rack(rack) => rack.sacked(at, e),
        }
    }
}
