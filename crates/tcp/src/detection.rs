//! What tells that a segment is lost: three answers, each with its data and its rules.
//!
//! ```text
//! Dupack   DupThresh duplicate ACKs, or as much SACKed above it                       RFC 5681 §3.2, RFC 6675 §4
//! Fack     the highest one SACKed lies DupThresh above it                             see fack
//! Rack     something sent later was delivered, and a reordering window has passed     RFC 8985, see rack
//! ```
//!
//! An ACK calls [`Detection::begin`], lets the board report what arrives ([`Watch`]), and then [`Detection::detect`] marks what is lost.
//! The response to a loss is the sender's. Tail loss probes, D-SACK and F-RTO need RACK's data: with the other two their methods do
//! nothing.

pub(crate) mod fack;
pub(crate) mod rack;

use crate::params::{LossDetection, Recovery, TcpParams};
use crate::scoreboard::Scoreboard;
use crate::scoreboard::entry::{Entry, Piece, Watch};
use crate::segment::{SackBlock, Segment};
use crate::stats::State;
use fack::Fack;
use rack::{Probe, Rack};
use units::Duration;

/// How a sender finds losses.
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

    #[inline]
    fn rack_mut(&mut self) -> Option<&mut Rack> {
        if let Self::Rack(rack) = self { Some(rack) } else { None }
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

    /// The cumulative part of an ACK is on the board, and its SACK blocks follow.
    #[inline]
    pub(crate) fn cumulative_part_done(&mut self) {
        if let Self::Fack(fack) = self {
            fack.cumulative_part_done();
        }
    }

    /// SACK blocks have reported something new.
    #[inline]
    pub(crate) fn mark_lost(&mut self, board: &mut Scoreboard, p: &TcpParams) {
        match self {
            Self::Dupack => drop(board.mark_lost(p.detection.dupthresh, p.wire.mss, false)),
            Self::Fack(fack) => fack.mark_lost(board, p.detection.dupthresh, p.wire.mss),
            Self::Rack(_) => {}
        }
    }

    /// Both parts of an ACK, which acknowledges `acked` bytes, are on the board: marks what that makes lost. Returns the time,
    /// microseconds, after which more may turn out to be.
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

    /// The timer that [`Detection::detect`] wanted has expired: as `detect`.
    pub(crate) fn on_timer(
        &mut self,
        board: &mut Scoreboard,
        p: &TcpParams,
        now_us: u32,
        state: State,
        srtt: Duration,
    ) -> Option<u32> {
        let rack = self.rack_mut()?;
        rack.set_now(now_us);
        rack.detect(board, state.repairs(), p.detection.dupthresh, (srtt.0 / 1000) as u32)
    }

    /// A loss that no recovery has answered yet: duplicate ACKs, the scoreboard or RACK's clock report it. `fresh`: duplicate ACKs are
    /// not those of what an earlier recovery or timeout sent again (RFC 6582 §3.2 step 2).
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
            // after a timeout, too: every segment found lost by SACK begins a recovery
            Self::Fack(fack) => fack.found && state != State::Recovery,
            Self::Dupack if state.repairs() => false,
            Self::Dupack if p.detection.recovery == Recovery::Sack => board.len() > 0 && (board.head_lost() || enough),
            Self::Dupack => enough && fresh,
        }
    }

    /// A recovery begins; true if the first retransmission leaves at once, whatever the window (RFC 5681 §3.2 step 3, RFC 6675 §5
    /// step 4.3). With FACK the window held lets it out.
    pub(crate) fn enter_recovery(&mut self, board: &mut Scoreboard) -> bool {
        match self {
            Self::Fack(_) => return false,
            Self::Dupack => drop(board.mark_head_lost()),
            Self::Rack(_) => {}
        }
        true
    }

    /// While duplicate ACKs arrive, the window bounds what is outstanding, with two segments beyond it where the stack allows (RFC 3042).
    /// With FACK and RACK, SACKed bytes make room by leaving the pipe.
    pub(crate) fn counts_outstanding(&self, p: &TcpParams) -> bool {
        !p.detection.limited_transmit || matches!(self, Self::Dupack)
    }

    /// In a recovery, spare window is spent on holes that are not lost yet: NextSeg (3) and (4).   Source: RFC 6675 §4.
    #[inline]
    pub(crate) fn fills_holes(&self, p: &TcpParams) -> bool {
        p.detection.recovery == Recovery::Sack && matches!(self, Self::Dupack)
    }

    /// A recovery is over, or the repair after a timeout; true if what was SACKed above it is forgotten.
    pub(crate) fn end_repair(&mut self, board: &mut Scoreboard) -> bool {
        let Self::Fack(fack) = self else { return false };
        fack.end_recovery(board);
        true
    }

    /// A piece was sent again, and counts in pipe.
    pub(crate) fn note_resent(&mut self, board: &mut Scoreboard, piece: Piece, now_us: u32) {
        match self {
            Self::Dupack => {}
            Self::Fack(fack) => fack.note_resent(board, piece),
            Self::Rack(rack) => rack.note_resent(piece, now_us),
        }
    }

    /// A timeout: everything is lost, and with RACK, if what was SACKed still counts, what is overdue.
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

    // ---------------------------------------------------------------- what only RACK has

    /// A round trip was measured.
    #[inline]
    pub(crate) fn on_rtt(&mut self, us: u32) {
        if let Some(rack) = self.rack_mut() {
            rack.on_rtt(us);
        }
    }

    /// The RTO under way begins now.
    #[inline]
    pub(crate) fn begin_rto(&mut self, now_us: u32) {
        if let Some(rack) = self.rack_mut() {
            rack.rto_began = now_us;
        }
    }

    /// When the RTO under way began.
    pub(crate) fn rto_began(&self) -> Option<u32> {
        self.rack().map(|rack| rack.rto_began)
    }

    /// The end of the flight may be probed: nothing is SACKed or lost.   Source: RFC 8985 §7.2.
    #[inline]
    pub(crate) fn may_probe(&self) -> bool {
        self.rack().is_some_and(Rack::may_probe)
    }

    /// A probe is due: none is in flight, and a round trip was measured since the last one.
    pub(crate) fn probe_due(&self) -> bool {
        self.rack().is_some_and(|rack| rack.probe.is_none() && rack.sampled)
    }

    /// A probe has left.
    pub(crate) fn on_probe(&mut self, probe: Probe) {
        if let Some(rack) = self.rack_mut() {
            (rack.probe, rack.sampled) = (Some(probe), false);
            rack.probes += 1;
        }
    }

    /// A reduction, a recovery or a timeout begins: the probe in flight decides nothing.   Source: RFC 8985 §7.4.1.
    #[inline]
    pub(crate) fn forget_probe(&mut self) {
        if let Some(rack) = self.rack_mut() {
            rack.probe = None;
        }
    }

    /// Probes in flight that are retransmissions.
    pub(crate) fn resent_probes(&self) -> u32 {
        self.rack().map_or(0, |rack| rack.probe.is_some_and(|probe| probe.is_retransmission).into())
    }

    /// Tail loss probes sent.
    pub(crate) fn probes(&self) -> u32 {
        self.rack().map_or(0, |rack| rack.probes)
    }

    /// Applies an ACK to the probe in flight; true if the probe, a retransmission, has repaired a loss. `news`: the ACK delivers something.
    #[inline]
    pub(crate) fn probe_repaired(&mut self, segment: &Segment, news: bool) -> bool {
        self.rack_mut().is_some_and(|rack| rack.probe_repaired(segment, news))
    }

    /// A D-SACK reports a duplicate of `segments`; true if it is one of the segments that this sender has sent again.
    pub(crate) fn on_dsack(&mut self, dup: SackBlock, segments: u32, resent: u32, una: u64, next: u64) -> bool {
        self.rack_mut().is_some_and(|rack| rack.on_dsack(dup, segments, resent, una, next))
    }

    /// For F-RTO: what ends by the offset whose low half is `until` counts as sent before.
    pub(crate) fn set_once_until(&mut self, until: u32) {
        if let Some(rack) = self.rack_mut() {
            rack.once_until = until;
        }
    }

    /// For F-RTO: this ACK delivers a segment that was sent only once, before.
    pub(crate) fn once_delivered(&self) -> bool {
        self.rack().is_some_and(|rack| rack.once_delivered)
    }

    /// A recovery ends that was not spurious.
    pub(crate) fn end_recovery(&mut self) {
        if let Some(rack) = self.rack_mut() {
            rack.end_recovery();
        }
    }

    /// Nothing is lost after all.
    pub(crate) fn unmark_lost(&mut self, board: &mut Scoreboard) {
        if let Some(rack) = self.rack_mut() {
            rack.unmark_lost(board);
        }
    }

    /// Recounts the board's counters, and RACK's.
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
