//! Loss detection: three algorithms, each with its own state.
//!
//! ```text
//! Dupack   DupThresh duplicate ACKs, or as much SACKed above it                       RFC 5681 §3.2, RFC 6675 §4
//! Fack     the highest one SACKed lies DupThresh above it                             see fack
//! Rack     something sent later was delivered, and a reordering window has passed     RFC 8985, see rack
//! ```
//!
//! An ACK calls [`Detection::begin`], the scoreboard reports what arrives ([`Watch`]), and then [`Detection::detect`] marks
//! segments lost. The sender responds to the losses. Tail loss probes, D-SACK and F-RTO need RACK's state: with the other two
//! algorithms their methods do nothing.

pub(crate) mod fack;
pub(crate) mod rack;

use crate::params::{LossDetection, Recovery, TcpParams};
use crate::scoreboard::Scoreboard;
use crate::scoreboard::entry::{Entry, Piece, Watch};
use crate::segment::{SackBlock, Segment};
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

    /// The result of `f` on RACK's state; with another algorithm the default.
    #[inline]
    fn with_rack<T: Default>(&mut self, f: impl FnOnce(&mut Rack) -> T) -> T {
        if let Self::Rack(rack) = self { f(rack) } else { T::default() }
    }

    #[inline]
    fn rack(&self) -> Option<&Rack> {
        if let Self::Rack(rack) = self { Some(rack) } else { None }
    }

    /// An ACK begins.
    #[inline]
    pub(crate) fn begin(&mut self, now_us: u32) {
        match self {
            Self::Dupack => {}
            Self::Fack(fack) => fack.begin(),
            Self::Rack(rack) => rack.begin(now_us),
        }
    }

    /// The cumulative part of an ACK is on the scoreboard; its SACK blocks follow.
    #[inline]
    pub(crate) fn cumulative_part_done(&mut self) {
        if let Self::Fack(fack) = self {
            fack.cumulative_part_done();
        }
    }

    /// Marks segments lost after SACK blocks reported something new.
    #[inline]
    pub(crate) fn mark_lost(&mut self, board: &mut Scoreboard, p: &TcpParams) {
        match self {
            Self::Dupack => drop(board.mark_lost(p.detection.dupthresh, p.wire.mss, false)),
            Self::Fack(fack) => fack.mark_lost(board, p.detection.dupthresh, p.wire.mss),
            Self::Rack(_) => {}
        }
    }

    /// Marks segments lost once both parts of an ACK, which acknowledges `acked` bytes, are on the scoreboard. Returns the time
    /// in microseconds after which more segments may prove lost.
    #[inline]
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
                if rack.take_delivered(acked, state == State::Open) {
                    return rack.detect(board, state.repairs(), p.detection.dupthresh, (srtt.0 / 1000) as u32);
                }
            }
        }
        None
    }

    /// The timer requested by [`Detection::detect`] has expired: detects losses again.
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

    /// Returns true if duplicate ACKs, the scoreboard or RACK report a loss that no recovery handles yet. `fresh`: duplicate ACKs
    /// are not caused by the retransmissions of an earlier recovery or timeout (RFC 6582 §3.2 step 2).
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
            // also after a timeout: every loss found by SACK begins a recovery
            Self::Fack(fack) => fack.found && state != State::Recovery,
            Self::Dupack if state.repairs() => false,
            Self::Dupack if p.detection.recovery == Recovery::Sack => board.len() > 0 && (board.head_lost() || enough),
            Self::Dupack => enough && fresh,
        }
    }

    /// A recovery begins. Returns true if the first retransmission ignores the window (RFC 5681 §3.2 step 3, RFC 6675 §5 step
    /// 4.3). With FACK it needs room in the window.
    pub(crate) fn enter_recovery(&mut self, board: &mut Scoreboard) -> bool {
        match self {
            Self::Fack(_) => return false,
            Self::Dupack => drop(board.mark_head_lost()),
            Self::Rack(_) => {}
        }
        true
    }

    /// While duplicate ACKs arrive, the window limits the outstanding bytes, plus two segments where the stack allows (RFC 3042).
    /// With FACK and RACK, SACKed bytes leave the pipe and so make room.
    pub(crate) fn counts_outstanding(&self, p: &TcpParams) -> bool {
        !p.detection.limited_transmit || matches!(self, Self::Dupack)
    }

    /// Returns true if recovery spends spare window on holes that are not yet lost: NextSeg (3) and (4).   Source: RFC 6675 §4.
    #[inline]
    pub(crate) fn fills_holes(&self, p: &TcpParams) -> bool {
        p.detection.recovery == Recovery::Sack && matches!(self, Self::Dupack)
    }

    /// A recovery, or the repair after a timeout, is over. Returns true if SACK information above it was discarded.
    pub(crate) fn end_repair(&mut self, board: &mut Scoreboard) -> bool {
        let Self::Fack(fack) = self else { return false };
        fack.end_recovery(board);
        true
    }

    /// A segment was retransmitted, and counts in pipe.
    pub(crate) fn note_resent(&mut self, board: &mut Scoreboard, piece: Piece, now_us: u32) {
        match self {
            Self::Dupack => {}
            Self::Fack(fack) => fack.note_resent(board, piece),
            Self::Rack(rack) => rack.note_resent(piece, now_us),
        }
    }

    /// A timeout: marks everything lost; with RACK, if SACK information is kept, only what is overdue.
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

    /// Start of the current RTO, if RACK is in use.
    pub(crate) fn rto_began(&self) -> Option<u32> {
        self.rack().map(|rack| rack.rto_began)
    }

    /// Returns true if a probe may be scheduled: nothing is SACKed or lost.   Source: RFC 8985 §7.2.
    #[inline]
    pub(crate) fn may_probe(&self) -> bool {
        self.rack().is_some_and(Rack::may_probe)
    }

    /// Returns true if a probe may be sent: none is in flight, and there was an RTT sample since the last one.
    pub(crate) fn probe_due(&self) -> bool {
        self.rack().is_some_and(|rack| rack.tlp.probe.is_none() && rack.tlp.sampled)
    }

    /// A probe was sent.
    pub(crate) fn on_probe(&mut self, probe: Probe) {
        self.with_rack(|rack| rack.tlp = Tlp { probe: Some(probe), sampled: false, sent: rack.tlp.sent + 1 });
    }

    /// Discards the probe in flight when a reduction, a recovery or a timeout begins.   Source: RFC 8985 §7.4.1.
    #[inline]
    pub(crate) fn forget_probe(&mut self) {
        self.with_rack(|rack| rack.tlp.probe = None);
    }

    /// Number of probes in flight that are retransmissions.
    pub(crate) fn resent_probes(&self) -> u32 {
        self.rack().map_or(0, |rack| rack.tlp.probe.is_some_and(|probe| probe.is_retransmission).into())
    }

    /// Number of tail loss probes sent.
    pub(crate) fn probes(&self) -> u32 {
        self.rack().map_or(0, |rack| rack.tlp.sent)
    }

    /// Applies an ACK to the probe in flight. Returns true if the probe, a retransmission, has repaired a loss. `news`: the ACK
    /// delivers new data.
    #[inline]
    pub(crate) fn probe_repaired(&mut self, segment: &Segment, news: bool) -> bool {
        self.with_rack(|rack| rack.probe_repaired(segment, news))
    }

    /// Applies a D-SACK for `segments` duplicates. Returns true if the duplicates can be this sender's own retransmissions.
    pub(crate) fn on_dsack(&mut self, dup: SackBlock, segments: u32, resent: u32, una: u64, next: u64) -> bool {
        self.with_rack(|rack| rack.on_dsack(dup, segments, resent, una, next))
    }

    /// For F-RTO: data that ends at or before the offset with low half `until` counts as sent before the timeout.
    pub(crate) fn set_once_until(&mut self, until: u32) {
        self.with_rack(|rack| rack.once_until = until);
    }

    /// For F-RTO: returns true if this ACK delivers such data, sent only once.
    pub(crate) fn once_delivered(&self) -> bool {
        self.rack().is_some_and(|rack| rack.once_delivered)
    }

    /// A recovery that was not spurious ends.
    pub(crate) fn end_recovery(&mut self) {
        self.with_rack(|rack| rack.end_recovery());
    }

    /// Clears all LOST marks.
    pub(crate) fn unmark_lost(&mut self, board: &mut Scoreboard) {
        self.with_rack(|rack| rack.unmark_lost(board));
    }

    /// Recounts the counters of the scoreboard and of RACK, and compares.
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
