//! What tells that a segment is lost: three answers, each with its data and its rules.
//!
//! ```text
//! Dupack   DupThresh duplicate ACKs, or as much SACKed above it                       RFC 5681 §3.2, RFC 6675 §4
//! Fack     the highest one SACKed lies DupThresh above it                             see fack
//! Rack     something sent later was delivered, and a reordering window has passed     RFC 8985, see rack
//! ```
//!
//! An ACK calls [`Detection::begin`], lets the board tell what arrives ([`Watch`]), and asks what is lost. What is then done about it
//! is the sender's.

pub(crate) mod fack;
pub(crate) mod rack;

use crate::params::{LossDetection, TcpParams};
use crate::scoreboard::Scoreboard;
use crate::scoreboard::entry::{Entry, Piece, Watch};
use fack::Fack;
use rack::Rack;

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
    pub(crate) fn rack(&mut self) -> Option<&mut Rack> {
        if let Self::Rack(rack) = self { Some(rack) } else { None }
    }

    #[inline]
    pub(crate) fn as_rack(&self) -> Option<&Rack> {
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

    /// SACK blocks have told of something new.
    #[inline]
    pub(crate) fn mark_lost(&mut self, board: &mut Scoreboard, p: &TcpParams) {
        match self {
            Self::Dupack => drop(board.mark_lost(p.detection.dupthresh, p.wire.mss, false)),
            Self::Fack(fack) => fack.mark_lost(board, p.detection.dupthresh, p.wire.mss),
            Self::Rack(_) => {}
        }
    }

    /// SACKed bytes make room by themselves, as they leave the pipe; with duplicate ACKs, limited transmit does (RFC 3042).
    #[inline]
    pub(crate) fn sacked_makes_room(&self) -> bool {
        !matches!(self, Self::Dupack)
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
