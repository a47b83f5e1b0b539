//! Reductions that prove to have been for nothing, and taking them back.
//!
//! ```text
//! begins   with a fast recovery or a timeout: undo_marker = SND.UNA; the window and ssthresh of before are kept
//! D-SACK   of everything that was sent again since then: nothing was lost                                   RFC 2883, RFC 3708
//! Eifel    SND.UNA advances with an echo from before the first retransmission: the original arrived         RFC 3522
//! F-RTO    after a timeout, the first ACK lets new data out instead of retransmissions; if then something that was
//!          sent only once is (S)ACKed, the timeout was spurious; if the new data is, it was not             RFC 5682 §3.1
//! undo     cwnd = max(cwnd, before), ssthresh = max(ssthresh, before)                                       RFC 4015, Linux
//! ```
//!
//! D-SACK counts also after the recovery has ended. The books lie with RACK's: stacks without it undo nothing.
//!
//! Source: the RFCs as Linux combines them.
//! Departs: BBR's model is not reset; a D-SACK counts by its length, whichever retransmission it tells of.

use super::{Cx, Sender};
use crate::cc::control::Window;
use crate::params::{TcpParams, Undo};
use crate::scoreboard::rack::{Probe, Rack};
use crate::segment::{Io, SackBlock, Segment, micros};
use crate::stats::State;
use units::Time;

/// RACK.reo_wnd_persist: recoveries without D-SACK after which the reordering window is small again.   Source: RFC 8985 §6.2.
const PERSIST: u8 = 16;
/// Most quarters of the least round trip in the reordering window; SRTT is less.
const MOST_QUARTERS: u32 = 255;

/// What is known of the last recovery or timeout.
#[derive(Clone, Debug, Default)]
pub(crate) struct Episode {
    /// SND.UNA when it began; none: there is nothing to undo.
    marker: Option<u64>,
    /// Retransmissions of which no D-SACK has told; none: nothing was sent again yet.
    resent: Option<u32>,
    /// When the first of them left, microseconds modulo 2^32.
    first_resent: Option<u32>,
    /// The window before, unless an ECN echo had reduced it.
    before: Option<Window>,
    /// F-RTO is at work.
    frto: bool,
    /// New data goes before what is lost, in answer to this ACK.
    pub(super) new_first: bool,
    /// Segments that D-SACK has told of.
    told: u32,
    /// Reductions undone.
    pub(super) undone: u32,
}

impl Episode {
    /// A segment was sent again.
    fn note_resent(&mut self, now_us: u32) {
        self.resent = Some(self.resent.unwrap_or(0) + 1);
        self.first_resent.get_or_insert(now_us);
    }

    /// The echo is older than the first retransmission.   Source: RFC 3522 §3.2.
    fn delayed(&self, ts_ecr: u32) -> bool {
        ts_ecr != 0 && self.first_resent.is_some_and(|first| (ts_ecr.wrapping_sub(first) as i32) < 0)
    }
}

/// The block that tells of a duplicate, if there is one: below the ACK, or within the second block.   Source: RFC 2883 §4.
fn duplicate(segment: &Segment) -> Option<SackBlock> {
    let blocks = segment.sack.as_slice();
    let first = *blocks.first()?;
    let inside = blocks.get(1).is_some_and(|b| b.start <= first.start && first.end <= b.end);
    (first.start < first.end && (first.start < segment.ack || inside)).then_some(first)
}

impl Sender {
    fn episode(&mut self) -> Option<&mut Episode> {
        self.board.rack.as_deref_mut().map(|r| &mut r.episode)
    }

    /// Reductions undone.
    pub(crate) fn undone(&self) -> u32 {
        self.board.rack.as_ref().map_or(0, |r| r.episode.undone)
    }

    /// A fast recovery or a timeout begins; `reduces` if it takes the window down.
    pub(super) fn begin_episode(&mut self, p: &TcpParams, reduces: bool) {
        if p.undo == Undo::None && !p.frto {
            return;
        }
        let in_flight = self.board.resent_in_flight();
        let w = self.window;
        let before = reduces.then(|| Window { cwnd: w.cwnd, ssthresh: w.ssthresh.max(0.75 * w.cwnd) });
        let una = self.una;
        let Some(Rack { episode, probe, .. }) = self.board.rack.as_deref_mut() else { return };
        let probes = u32::from(matches!(probe, Some(Probe { is_retransmission: true, .. })));
        let out = in_flight + probes;
        *episode = Episode {
            marker: Some(una),
            // what is still on its way may be told of, too
            resent: (out > 0).then_some(out),
            first_resent: episode.first_resent.filter(|_| out > 0),
            before,
            told: episode.told,
            undone: episode.undone,
            ..Episode::default()
        };
    }

    /// A segment was sent again.
    #[inline]
    pub(super) fn note_resent(&mut self, now: Time) {
        if let Some(episode) = self.episode() {
            episode.note_resent(micros(now));
        }
    }

    /// A timeout has put the sender into the loss state.   Source: RFC 5682 §3.1 step 1.
    pub(super) fn begin_frto(&mut self, p: &TcpParams, first: bool) {
        let until = self.recover as u32;
        if let Some(rack) = self.board.rack.as_deref_mut() {
            rack.episode.frto = p.frto && first;
            rack.once_until = until;
        }
    }

    /// An ACK begins.
    #[inline]
    pub(super) fn begin_ack(&mut self) {
        if let Some(rack) = self.board.rack.as_deref_mut() {
            rack.once_delivered = false;
            rack.episode.new_first = false;
        }
    }

    /// Takes in what an ACK tells of duplicates; `resent` segments were sent again so far.
    pub(super) fn on_duplicate(&mut self, p: &TcpParams, segment: &Segment, resent: u32) {
        let Some(dup) = duplicate(segment) else { return };
        let (una, next) = (self.una, self.next);
        let Some(rack) = self.board.rack.as_deref_mut() else { return };
        let segments = (dup.end - dup.start).div_ceil(u64::from(p.mss)) as u32;
        rack.episode.told = rack.episode.told.saturating_add(segments);
        if rack.episode.told > resent {
            return; // the network duplicates
        }
        if rack.probe.is_some_and(|probe| probe.is_retransmission && probe.end == dup.end) {
            // what it repeats had arrived
            rack.probe = None;
        } else if rack.dsack_round.is_none_or(|round| una >= round) {
            rack.dsack_round = Some(next);
            rack.reo_wnd_mult = (rack.reo_wnd_mult + 1).min(MOST_QUARTERS);
            rack.reo_wnd_persist = PERSIST;
        }
        let episode = &mut rack.episode;
        if episode.marker.is_some_and(|marker| dup.end > marker) {
            episode.resent = episode.resent.map(|n| n.saturating_sub(segments));
        }
    }

    /// The ACK's parts are on the board: was the reduction spurious?
    #[inline]
    pub(super) fn judge<I: Io>(&mut self, cx: &mut Cx<'_, I>, segment: &Segment, acked: u64, sacked: bool) {
        if self.board.rack.as_ref().is_some_and(|r| r.episode.marker.is_some() || r.episode.frto) {
            self.judge_episode(cx.p, segment, acked, sacked);
        }
    }

    #[cold]
    fn judge_episode(&mut self, p: &TcpParams, segment: &Segment, acked: u64, sacked: bool) {
        let Some(rack) = self.board.rack.as_deref_mut() else { return };
        let ts_ecr = if p.timestamps { segment.ts_ecr } else { 0 };
        // nothing is judged by D-SACK or echo without a marker
        let judged = p.undo == Undo::Linux && rack.episode.marker.is_some();
        let (told, delayed) = (judged && rack.episode.resent == Some(0), judged && rack.episode.delayed(ts_ecr));
        let spurious = told || delayed;
        let done = self.una >= self.recover;
        match self.state {
            State::Loss if acked > 0 && spurious => return self.undo(true),
            State::Loss if rack.episode.frto => self.frto(p, acked, sacked),
            State::Recovery if acked > 0 && done && spurious => return self.undo(false),
            State::Recovery if acked > 0 && delayed && self.board.resent_in_flight() == 0 => return self.undo(true),
            State::Recovery | State::Open if told => return self.undo(false),
            _ => {}
        }
        if acked > 0 && done && matches!(self.state, State::Recovery | State::Loss) {
            self.end_of_recovery();
        }
    }

    /// A recovery ends that was not spurious.   Source: RFC 8985 §6.2 step 4.
    fn end_of_recovery(&mut self) {
        let Some(rack) = self.board.rack.as_deref_mut() else { return };
        rack.reo_wnd_persist = rack.reo_wnd_persist.saturating_sub(1);
        if rack.reo_wnd_persist == 0 {
            rack.reo_wnd_mult = 1;
        }
    }

    /// Source: RFC 5682 §3.1, with SACK as in Linux.
    fn frto(&mut self, p: &TcpParams, acked: u64, sacked: bool) {
        let (una, next, recover) = (self.una, self.next, self.recover);
        let more = self.next_new(p).is_some();
        let Some(rack) = self.board.rack.as_deref_mut() else { return };
        if rack.once_delivered {
            // step 3.b: what was never sent again arrives
            return self.undo(true);
        }
        let episode = &mut rack.episode;
        if next > recover {
            // step 3.a: the new data arrives, and what was lost does not
            episode.frto &= !sacked;
        } else if acked > 0 && una < recover {
            // step 2.b
            (episode.new_first, episode.frto) = (more, more);
            rack.once_until = next as u32;
            self.recover = next;
        }
    }

    /// Takes the reduction back. `unmark`: what is taken for lost is in flight after all.
    fn undo(&mut self, unmark: bool) {
        if unmark {
            self.board.unmark_lost();
        }
        let owned = self.cc.owns_window();
        let Some(episode) = self.episode() else { return };
        (episode.marker, episode.resent, episode.frto) = (None, None, false);
        episode.undone += 1;
        if let (Some(before), false) = (episode.before.take(), owned) {
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
        self.board.rack.as_ref().is_some_and(|r| r.episode.new_first)
    }
}
