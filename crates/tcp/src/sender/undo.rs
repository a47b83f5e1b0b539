//! Undoes reductions that F-RTO, Eifel or D-SACK proves to be spurious.

use super::Sender;
use crate::params::TcpParams;
use crate::segment::{Segment, micros};
use crate::stats::State;
use crate::undo::{Evidence, Undo, duplicate};
use units::Time;

impl Sender {
    pub(crate) fn undone(&self) -> u32 {
        self.undo.as_ref().map_or(0, |undo| undo.undone)
    }

    /// Returns the [`Undo`] state, and creates the state first if there is none yet. Returns `None` in stacks that
    /// neither undo reductions nor run F-RTO.
    fn undo_mut(&mut self, p: &TcpParams) -> Option<&mut Undo> {
        Undo::is_kept(p).then(|| &mut **self.undo.get_or_insert_default())
    }

    /// Records that a fast recovery, or the repair after a timeout, begins. `reduces` is true if the window is lowered.
    pub(super) fn begin_episode(&mut self, p: &TcpParams, reduces: bool) {
        if !Undo::is_kept(p) {
            return;
        }
        let out = self.board.resent_in_flight() + self.detection.resent_probes();
        let (una, window) = (self.una, self.window);
        let Some(undo) = self.undo_mut(p) else { return };
        undo.begin(una, out, reduces.then_some(window));
        self.suspicious = true;
    }

    /// Records that there is no reduction that could be undone.
    pub(super) fn forget_episode(&mut self) {
        if let Some(undo) = &mut self.undo {
            undo.forget();
        }
    }

    #[inline]
    pub(super) fn note_resent(&mut self, p: &TcpParams, now: Time) {
        if let Some(undo) = self.undo_mut(p) {
            undo.note_resent(micros(now));
        }
    }

    /// Begins F-RTO after a timeout, if the stack uses F-RTO and `first` is true. `first` is false if the timeout
    /// interrupts a repair, unless the timer has already expired since the last ACK of new data (Linux).
    /// Source: RFC 5682 §3.1 step 1.
    pub(super) fn begin_frto(&mut self, p: &TcpParams, first: bool) {
        let Some(undo) = self.undo_mut(p) else { return };
        undo.frto = p.detection.frto && first;
        self.suspicious = undo.is_open();
        self.detection.set_once_until(self.recover as u32);
    }

    /// Restores the usual order, in which lost data is sent before new data. Called before each ACK is processed; the
    /// processing of the ACK may make F-RTO reverse the order again.
    #[inline]
    pub(super) fn reset_new_first(&mut self) {
        if self.suspicious
            && let Some(undo) = &mut self.undo
        {
            undo.new_first = false;
        }
    }

    /// Applies an ACK's D-SACK, if the ACK has one. `resent` is the number of retransmissions so far.
    pub(super) fn on_dsack(&mut self, p: &TcpParams, segment: &Segment, resent: u32) {
        let Some(dup) = duplicate(segment) else { return };
        let segments = (dup.end - dup.start).div_ceil(u64::from(p.wire.mss)) as u32;
        if self.detection.on_dsack(dup, segments, resent, self.una, self.next)
            && let Some(undo) = &mut self.undo
        {
            undo.on_dsack(dup.end, segments);
        }
    }

    /// In a recovery, checks whether the delayed original of a retransmitted segment caused this partial ACK. If so,
    /// records that the path reorders. Called before losses are detected. `ts_ecr` is the time stamp that the ACK
    /// echoes.
    #[cold]
    pub(super) fn note_late_original(&mut self, p: &TcpParams, ts_ecr: u32, acked: u64) {
        let Some(undo) = &self.undo else { return };
        let partial = self.state == State::Recovery && acked > 0 && self.una < self.recover;
        if partial && undo.evidence(p, ts_ecr).delayed {
            self.detection.note_late_original(self.una - acked, p.wire.mss);
        }
    }

    /// Checks whether the reduction was spurious. Called after an ACK's cumulative part and SACK blocks have been
    /// applied to the scoreboard. `ts_ecr` is the time stamp that the ACK echoes.
    #[cold]
    pub(super) fn check_spurious(&mut self, p: &TcpParams, ts_ecr: u32, acked: u64, sacked: bool) {
        let Some(undo) = &self.undo else { return };
        let Evidence { duplicates, delayed } = undo.evidence(p, ts_ecr);
        let (spurious, done) = (duplicates || delayed, self.una >= self.recover);
        match self.state {
            State::Loss if acked > 0 && spurious => return self.undo(true),
            State::Loss if undo.frto => self.frto(p, acked, sacked),
            State::Recovery if acked > 0 && done && spurious => return self.undo(false),
            State::Recovery if acked > 0 && delayed && self.board.resent_in_flight() == 0 => return self.undo(true),
            State::Recovery | State::Open if duplicates => return self.undo(false),
            _ => {}
        }
        if acked > 0 && done && self.state.repairs() {
            self.detection.end_recovery();
        }
    }

    /// Performs steps 2 and 3 of F-RTO.   Source: RFC 5682 §3.1, with SACK as in Linux.
    fn frto(&mut self, p: &TcpParams, acked: u64, sacked: bool) {
        let more = self.next_new(p).is_some();
        let Some(undo) = &mut self.undo else { return };
        if self.detection.once_delivered() {
            // F-RTO step 3.b: data that was never retransmitted has arrived, so the timeout was spurious
            return self.undo(true);
        }
        if self.next > self.recover {
            // F-RTO step 3.a: if a SACK shows that the new data has arrived, but the lost data has not arrived, then
            // the loss was real
            undo.frto &= !sacked;
        } else if acked > 0 && self.una < self.recover {
            // F-RTO step 2.b: this ACK advances SND.UNA, and no new data was sent since the timeout. So new data is
            // sent now, if there is any
            (undo.new_first, undo.frto) = (more, more);
            self.detection.set_once_until(self.next as u32);
            self.recover = self.next;
        }
        self.suspicious = undo.is_open();
    }

    /// Undoes the reduction. If `unmark` is true, also clears the LOST marks, so that the segments that had been marked
    /// count as in flight again.
    fn undo(&mut self, unmark: bool) {
        if unmark {
            self.detection.unmark_lost(&mut self.board);
        }
        let before = self.undo.as_mut().and_then(|undo| undo.close());
        self.suspicious = false;
        let d = self.cc.on_undo(self.window, before);
        if d.reduction {
            self.window.follow(&d);
        } else {
            self.follow(&d);
        }
        self.timeouts = 0;
        self.state = State::Open;
        self.dupacks = 0;
    }

    /// Returns true if F-RTO sends new data before lost data in response to this ACK.
    #[inline]
    pub(super) fn new_first(&self) -> bool {
        self.suspicious && self.undo.as_ref().is_some_and(|undo| undo.new_first)
    }
}
