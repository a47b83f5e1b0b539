//! A link that sends at opportunities: each takes so many bytes of what waits at its moment, and what it does not use is lost.
//!
//! ```text
//! at an opportunity of b bytes:   the packet under way goes on, then the queue is asked while bytes are left
//!     packet of s <= left         leaves now; left = left - s
//!     packet of s > left          is under way: s - left bytes wait for the next opportunities
//!     nothing waits               the rest of the opportunity is lost
//! ```
//!
//! An idle link schedules no events; missed opportunities are counted at the next arrival or query.
//!
//! A packet that arrives at the very moment of an opportunity has missed it: there opportunities come before arrivals
//! ([`Serve::departs_first`]).
//!
//! Source: mahimahi's link_queue.cc (facts only).
//! Departs: times are those of the simulation, not of a clock in whole milliseconds; as the trace has whole ones, both agree.
//! The queue is asked once when it has become empty, as any link that is free asks it: CoDel then knows.

use super::{Granted, Request, Serve};
use crate::Change;
use crate::delivery::{Delivery, Opportunity, Source};
use packet::{LinkView, OpportunityCounts, PacketMeta};
use qdisc::Queue;
use units::{BitRate, Duration, Rng, Time};

/// The link at its next opportunity, or within one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Opportunities {
    source: Source,
    /// What disciplines are told as the link's rate: the mean.
    mean: BitRate,
    /// The opportunity at hand, and what it has left once it has begun.
    at_hand: Opportunity,
    left: Option<u64>,
    /// The packet under way, and how many of its bytes have not been sent.
    under_way: Option<(PacketMeta, u64)>,
    /// The queue has been asked since it became empty.
    empty: bool,
    /// Nothing waits, here or in the queue: opportunities pass.
    asleep: bool,
    /// Bytes in the queue when it was looked at last.
    waiting: u64,
    /// The last opportunity, where the gap began that lasts until the next.
    last: Time,
    /// When the last long gap that is over ended.
    long_until: Time,
    counts: OpportunityCounts,
}

impl Opportunities {
    pub(crate) fn new(delivery: &Delivery, rng: Rng) -> Self {
        let mut source = Source::new(delivery, rng);
        let at_hand = source.next();
        Self {
            source,
            mean: delivery.mean_rate(),
            at_hand,
            left: None,
            under_way: None,
            empty: true,
            asleep: true,
            waiting: 0,
            last: Time::ZERO,
            long_until: Time::ZERO,
            counts: OpportunityCounts::default(),
        }
    }

    /// Whether the time between the last opportunity and the one at hand is a long gap.
    fn waits_long(&self) -> bool {
        self.at_hand.at.since(self.last) > OpportunityCounts::LONG_GAP
    }

    /// The opportunity at hand begins.
    fn begin(&mut self) -> u64 {
        if self.waits_long() {
            self.long_until = self.at_hand.at;
        }
        self.counts.gap(self.at_hand.at.since(self.last));
        self.last = self.at_hand.at;
        self.counts.count += 1;
        self.counts.bytes += self.at_hand.bytes;
        self.at_hand.bytes
    }

    /// It is over; `left` bytes of it are lost.
    fn end(&mut self, left: u64) {
        let used = self.at_hand.bytes - left;
        self.counts.used_bytes += used;
        self.counts.used += u64::from(used > 0);
        self.left = None;
        self.at_hand = self.source.next();
        self.asleep = self.empty && self.waiting == 0 && self.under_way.is_none();
    }

    /// As [`Opportunities::pass`], while nothing waits; otherwise `tick` counts.
    pub(crate) fn count_idle(&mut self, now: Time) {
        if self.asleep {
            self.pass(now);
        }
    }

    /// Counts the opportunities that passed unused before `now`.
    ///
    /// Bound: one turn for each.
    fn pass(&mut self, now: Time) {
        while self.at_hand.at < now && self.at_hand.at != Time::NEVER {
            let left = self.begin();
            self.end(left);
        }
    }

    /// The queue dropped a packet that had arrived at `arrived`.
    ///
    /// Of several long gaps that have begun, the last one decides: an arrival before the end of another came before its end, too.
    pub(super) fn dropped(&mut self, now: Time, arrived: Time) {
        if self.asleep {
            self.pass(now + Duration(1));
        }
        let in_gap = self.left.is_none() && self.waits_long();
        self.counts.gap_drops += u64::from(in_gap || arrived < self.long_until);
    }

    /// What became of the opportunities before `now`.
    pub(super) fn opportunities(&self, now: Time) -> OpportunityCounts {
        if !self.asleep {
            return self.counts;
        }
        let mut then = self.clone();
        then.pass(now);
        then.counts
    }
}

impl Serve for Opportunities {
    fn departs_first(&self) -> bool {
        true
    }

    fn view(&self, _now: Time, _rate: Option<BitRate>) -> LinkView {
        LinkView::plain(self.mean)
    }

    fn change(&mut self, _now: Time, _change: &Change) -> Option<Time> {
        None
    }
}

impl Granted for Opportunities {
    fn notify(&mut self, now: Time) {
        if self.asleep {
            // an arrival has missed the opportunity of its own moment, too
            self.pass(now + Duration(1));
            self.asleep = false;
        }
    }

    fn next(&self) -> Time {
        if self.asleep { Time::NEVER } else { self.at_hand.at }
    }

    fn tick(&mut self, now: Time, queue: &Queue, _rng: &mut Rng, depart: &mut dyn FnMut(PacketMeta, Time)) -> Request {
        let mut left = match self.left {
            Some(left) => left,
            None => self.begin(),
        };
        if let Some((packet, rest)) = self.under_way.take() {
            if rest <= left {
                left -= rest;
                depart(packet, now + self.at_hand.later);
            } else {
                self.under_way = Some((packet, rest - left));
                left = 0;
            }
        }
        self.waiting = queue.backlog().bytes;
        self.empty &= self.waiting == 0;
        if left > 0 && !self.empty {
            self.left = Some(left);
            return Request::Next;
        }
        self.end(left);
        Request::Nothing
    }

    fn answer(&mut self, now: Time, packet: Option<PacketMeta>) -> Option<(PacketMeta, Time)> {
        let left = self.left.unwrap_or_default();
        let Some(packet) = packet else {
            self.empty = true;
            self.end(left);
            return None;
        };
        match left.checked_sub(packet.bytes()) {
            Some(rest) => {
                self.left = Some(rest);
                Some((packet, now + self.at_hand.later))
            }
            None => {
                self.under_way = Some((packet, packet.bytes() - left));
                self.left = Some(0);
                None
            }
        }
    }

    fn inside(&self) -> usize {
        usize::from(self.under_way.is_some())
    }
}
