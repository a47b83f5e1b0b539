//! A link that sends at opportunities. Each opportunity carries a number of bytes; unused bytes are lost.
//!
//! ```text
//! at an opportunity of b bytes:   the partly sent packet continues, then packets are requested while bytes are left
//!     packet of s <= left         leaves now; left = left - s
//!     packet of s > left          is partly sent: s - left bytes wait for the next opportunities
//!     nothing waits               the rest of the opportunity is lost
//!     `packets` packets sent      the rest of the opportunity is lost
//! ```
//!
//! An idle link schedules no events; missed opportunities are counted later, for example at the next arrival or query.
//!
//! A packet that arrives exactly at an opportunity misses it: opportunities come before arrivals at the same time
//! ([`Serve::departs_first`]).
//!
//! Source: mahimahi's link_queue.cc (facts only).
//! Departs: times are exact to the nanosecond, whereas mahimahi reads a clock in whole milliseconds; the results agree,
//! because traces are in whole milliseconds. The link polls an empty queue once, as every free link except HTB does, so
//! that CoDel detects that the queue is empty.

use super::{Granted, Request, Serve};
use crate::Change;
use crate::delivery::{Delivery, Opportunity, Source};
use packet::{LinkView, OpportunityCounts, PacketMeta};
use qdisc::Queue;
use units::{BitRate, Duration, Rng, Time};

/// The state of the link. The current opportunity either has not begun yet, or has been used in part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Opportunities {
    source: Source,
    /// Rate reported to disciplines: the mean rate.
    mean: BitRate,
    current: Opportunity,
    /// Unused bytes of the current opportunity; `None` before the opportunity begins.
    left: Option<u64>,
    /// Number of packets that may still share the current opportunity.
    packets: u64,
    /// The partly sent packet, and the number of its bytes still to be sent.
    under_way: Option<(PacketMeta, u64)>,
    /// True if the last request to the queue returned no packet, and no packet has waited at any opportunity since.
    empty: bool,
    /// True if no packet waits, neither here nor in the queue, so that opportunities pass unused.
    idle: bool,
    /// Bytes in the queue at the last call of `tick`.
    waiting: u64,
    /// Time of the last opportunity, at which the current gap began.
    last: Time,
    /// True if an opportunity at the time `last` has been used.
    last_used: bool,
    /// End of the last long gap before the current gap.
    long_until: Time,
    counts: OpportunityCounts,
}

impl Opportunities {
    pub(crate) fn new(delivery: &Delivery, rng: Rng) -> Self {
        let mut source = Source::new(delivery, rng);
        let current = source.next();
        Self {
            source,
            mean: delivery.mean_rate(),
            current,
            left: None,
            packets: 0,
            under_way: None,
            empty: true,
            idle: true,
            waiting: 0,
            last: Time::ZERO,
            last_used: false,
            long_until: Time::ZERO,
            counts: OpportunityCounts::default(),
        }
    }

    /// Returns true if the gap before the current opportunity is long.
    fn in_long_gap(&self) -> bool {
        self.current.at.since(self.last) > OpportunityCounts::LONG_GAP
    }

    /// Begins the current opportunity, and counts it unless the last one was at the same time. Returns the number of bytes
    /// that it can carry.
    fn begin(&mut self) -> u64 {
        if self.in_long_gap() {
            self.long_until = self.current.at;
        }
        if self.counts.count == 0 || self.current.at > self.last {
            self.counts.gap(self.current.at.since(self.last));
            self.counts.count += 1;
            (self.last, self.last_used) = (self.current.at, false);
        }
        self.counts.bytes += self.current.bytes;
        self.packets = self.current.packets;
        self.current.bytes
    }

    /// Ends the current opportunity and loads the next. `left` is the number of unused bytes, which are lost.
    fn end(&mut self, left: u64) {
        let used = self.current.bytes - left;
        self.counts.used_bytes += used;
        if used > 0 && !self.last_used {
            self.counts.used += 1;
            self.last_used = true;
        }
        self.left = None;
        self.current = self.source.next();
        self.idle = self.empty && self.waiting == 0 && self.under_way.is_none();
    }

    /// Counts the opportunities that an idle link missed before `now`. On a busy link, `tick` counts opportunities.
    pub(crate) fn count_idle(&mut self, now: Time) {
        if self.idle {
            self.pass(now);
        }
    }

    /// Counts the opportunities that passed unused before `now`.
    ///
    /// Bound: one iteration for each opportunity.
    fn pass(&mut self, now: Time) {
        while self.current.at < now && self.current.at != Time::NEVER {
            let left = self.begin();
            self.end(left);
        }
    }

    /// Counts the drop of a packet that arrived at `arrived`, if the packet arrived or waited during a long gap.
    ///
    /// It is enough to compare `arrived` with the end of the most recent long gap: a packet that arrived before the end
    /// of an earlier long gap also arrived before the end of the most recent long gap.
    pub(super) fn dropped(&mut self, now: Time, arrived: Time) {
        if self.idle {
            self.pass(now + Duration(1));
        }
        let in_gap = self.left.is_none() && self.in_long_gap();
        self.counts.gap_drops += u64::from(in_gap || arrived < self.long_until);
    }

    /// Returns the counts of the opportunities before `now`.
    pub(super) fn opportunities(&self, now: Time) -> OpportunityCounts {
        if !self.idle {
            return OpportunityCounts { current_gap: now.since(self.last), ..self.counts };
        }
        let mut then = self.clone();
        then.pass(now);
        OpportunityCounts { current_gap: now.since(then.last), ..then.counts }
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
        if self.idle {
            // the packet misses an opportunity at `now`, so this opportunity counts as unused. `pass` counts only
            // opportunities before its argument, so 1 ns is added
            self.pass(now + Duration(1));
            self.idle = false;
        }
    }

    fn next(&self) -> Time {
        if self.idle { Time::NEVER } else { self.current.at }
    }

    fn tick(&mut self, now: Time, queue: &Queue, _rng: &mut Rng, depart: &mut dyn FnMut(PacketMeta, Time)) -> Request {
        let begins = self.left.is_none();
        let mut left = match self.left {
            Some(left) => left,
            None => self.begin(),
        };
        if let Some((packet, rest)) = self.under_way.take() {
            // the packet counts once in each opportunity that sends a part of it. In the opportunity in which the
            // packet was taken from the queue, `answer` has counted it
            self.packets -= u64::from(begins);
            if rest <= left {
                left -= rest;
                depart(packet, now + self.current.extra_delay);
            } else {
                self.under_way = Some((packet, rest - left));
                left = 0;
            }
        }
        self.waiting = queue.backlog().bytes;
        self.empty &= self.waiting == 0;
        if left > 0 && self.packets > 0 && !self.empty {
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
        self.packets -= 1;
        match left.checked_sub(packet.bytes()) {
            Some(rest) => {
                self.left = Some(rest);
                Some((packet, now + self.current.extra_delay))
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
