//! What the sender does by [`Undo`]: it keeps its books, and takes reductions back.

use super::Sender;
use crate::detection::rack::Probe;
use crate::params::TcpParams;
use crate::segment::{Segment, micros};
use crate::stats::State;
use crate::undo::{Evidence, Undo, duplicate};
use units::Time;

impl Sender {
    /// Reductions undone.
    pub(crate) fn undone(&self) -> u32 {
        self.undo.as_ref().map_or(0, |undo| undo.undone)
    }

    /// The books, if the stack keeps any; opened when first needed.
    fn books(&mut self, p: &TcpParams) -> Option<&mut Undo> {
        Undo::is_kept(p).then(|| &mut **self.undo.get_or_insert_default())
    }

    /// A fast recovery or a timeout begins; `reduces` if it takes the window down.
    pub(super) fn begin_episode(&mut self, p: &TcpParams, reduces: bool) {
        if !Undo::is_kept(p) {
            return;
        }
        let probe = self.detection.as_rack().and_then(|rack| rack.probe);
        let probes = u32::from(matches!(probe, Some(Probe { is_retransmission: true, .. })));
        let (una, out, window) = (self.una, self.board.resent_in_flight() + probes, self.window);
        let Some(undo) = self.books(p) else { return };
        undo.begin(una, out, reduces.then_some(window));
        self.doubt = true;
    }

    /// A segment was sent again.
    #[inline]
    pub(super) fn note_resent(&mut self, p: &TcpParams, now: Time) {
        if let Some(undo) = self.books(p) {
            undo.note_resent(micros(now));
        }
    }

    /// A timeout has put the sender into the loss state.   Source: RFC 5682 §3.1 step 1.
    pub(super) fn begin_frto(&mut self, p: &TcpParams, first: bool) {
        let Some(undo) = self.books(p) else { return };
        undo.frto = p.detection.frto && first;
        self.doubt = undo.is_open();
        if let Some(rack) = self.detection.rack() {
            rack.once_until = self.recover as u32;
        }
    }

    /// An ACK begins: it decides anew whether new data goes first.
    #[inline]
    pub(super) fn begin_doubt(&mut self) {
        if self.doubt
            && let Some(undo) = &mut self.undo
        {
            undo.new_first = false;
        }
    }

    /// Takes in what an ACK tells of duplicates; `resent` segments were sent again so far.
    pub(super) fn on_duplicate(&mut self, p: &TcpParams, segment: &Segment, resent: u32) {
        let Some(dup) = duplicate(segment) else { return };
        let Some(rack) = self.detection.rack() else { return };
        let segments = (dup.end - dup.start).div_ceil(u64::from(p.wire.mss)) as u32;
        if rack.on_dsack(dup, segments, resent, self.una, self.next)
            && let Some(undo) = &mut self.undo
        {
            undo.on_dsack(dup.end, segments);
        }
    }

    /// The ACK's parts are on the board: was the reduction spurious?
    #[cold]
    pub(super) fn judge(&mut self, p: &TcpParams, segment: &Segment, acked: u64, sacked: bool) {
        let Some(undo) = &self.undo else { return };
        let Evidence { told, delayed } = undo.evidence(p, segment.ts_ecr);
        let (spurious, done) = (told || delayed, self.una >= self.recover);
        match self.state {
            State::Loss if acked > 0 && spurious => return self.undo(true),
            State::Loss if undo.frto => self.frto(p, acked, sacked),
            State::Recovery if acked > 0 && done && spurious => return self.undo(false),
            State::Recovery if acked > 0 && delayed && self.board.resent_in_flight() == 0 => return self.undo(true),
            State::Recovery | State::Open if told => return self.undo(false),
            _ => {}
        }
        if acked > 0
            && done
            && matches!(self.state, State::Recovery | State::Loss)
            && let Some(rack) = self.detection.rack()
        {
            rack.end_recovery();
        }
    }

    /// Source: RFC 5682 §3.1, with SACK as in Linux.
    fn frto(&mut self, p: &TcpParams, acked: u64, sacked: bool) {
        let more = self.next_new(p).is_some();
        let (Some(undo), Some(rack)) = (&mut self.undo, self.detection.rack()) else { return };
        if rack.once_delivered {
            // step 3.b: what was never sent again arrives
            return self.undo(true);
        }
        if self.next > self.recover {
            // step 3.a: the new data arrives, and what was lost does not
            undo.frto &= !sacked;
        } else if acked > 0 && self.una < self.recover {
            // step 2.b
            (undo.new_first, undo.frto) = (more, more);
            rack.once_until = self.next as u32;
            self.recover = self.next;
        }
        self.doubt = undo.is_open();
    }

    /// Takes the reduction back. `unmark`: what is taken for lost is in flight after all.
    fn undo(&mut self, unmark: bool) {
        if unmark && let Some(rack) = self.detection.rack() {
            rack.unmark_lost(&mut self.board);
        }
        let before = self.undo.as_mut().and_then(|undo| undo.close());
        self.doubt = false;
        if self.cc.owns_window() {
            let d = self.cc.on_undo(self.window);
            self.follow(&d);
        } else if let Some(before) = before {
            self.window.cwnd = self.window.cwnd.max(before.cwnd);
            self.window.ssthresh = self.window.ssthresh.max(before.ssthresh);
        }
        self.timeouts = 0;
        self.state = State::Open;
        self.dupacks = 0;
    }

    /// In answer to this ACK, new data goes before what is lost (F-RTO).
    #[inline]
    pub(super) fn new_first(&self) -> bool {
        self.doubt && self.undo.as_ref().is_some_and(|undo| undo.new_first)
    }
}
