//! The modem model that CableLabs published in 2012: a token bucket, followed by a transmit queue from which grants
//! take packets.

use super::bucket::shaped;
use super::{Freed, Serializer, Serve, Taken};
use crate::Change;
use docsis::{DocsisParams, Mac, TokenBucket};
use packet::{Backlog, LinkView, PacketMeta};
use units::{BitRate, Rng, Time};

/// The bucket, the packet that waits for its tokens, and the transmit queue.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TwoQueue {
    bucket: TokenBucket,
    held: Option<PacketMeta>,
    mac: Mac,
}

impl TwoQueue {
    pub(crate) fn new(p: &DocsisParams, rate: Option<BitRate>) -> Self {
        Self { bucket: TokenBucket::new(&p.flow), held: None, mac: Mac::new(p, rate) }
    }

    /// Moves the held packet to the transmit queue. If the transmit queue has no room, returns the packet.
    #[inline]
    pub(super) fn free(&mut self, now: Time) -> Freed {
        let refused = self.held.take().and_then(|packet| self.mac.push(now, packet).err());
        refused.map_or(Freed::Nothing, Freed::Refused)
    }

    /// Returns true if a packet waits for its tokens.
    #[inline]
    pub(super) fn holds(&self) -> bool {
        self.held.is_some()
    }

    #[inline]
    pub(super) fn room_at(&self) -> Time {
        self.mac.room_at()
    }

    #[inline]
    pub(super) fn next_map(&self) -> Time {
        self.mac.next_map()
    }

    pub(super) fn map(&mut self, now: Time, rng: &mut Rng, depart: &mut dyn FnMut(PacketMeta, Time)) {
        self.mac.map(now, rng, depart);
    }

    /// Returns the number of packets that the modem has taken from the managed queue but not yet put on the wire.
    pub(super) fn inside(&self) -> usize {
        self.mac.queued() + usize::from(self.held.is_some())
    }

    /// Returns the packets and bytes in the transmit queue whose transmission has not begun by `now`.
    pub(super) fn transmit_backlog(&self, now: Time) -> Backlog {
        self.mac.backlog(now)
    }
}

impl Serve for TwoQueue {
    fn view(&self, now: Time, rate: Option<BitRate>) -> LinkView {
        shaped(&self.bucket, now, rate, self.mac.expected_wait(now))
    }

    fn change(&mut self, now: Time, change: &Change) -> Option<Time> {
        let wait = self.bucket.set_rates(now, change.max_sustained_rate, change.peak_traffic_rate);
        change.rate.into_iter().for_each(|r| self.mac.set_rate(r));
        change.max_grant.into_iter().for_each(|g| self.mac.set_max_grant(g));
        self.held.is_some().then(|| now + wait)
    }
}

impl Serializer for TwoQueue {
    #[inline]
    fn holds_back(&mut self, now: Time, _rate: Option<BitRate>, _waiting: Backlog) -> bool {
        self.mac.holds_back(now)
    }

    #[inline]
    fn take(&mut self, now: Time, packet: &PacketMeta, _rate: Option<BitRate>) -> Taken {
        self.held = Some(*packet);
        Taken::Held { free_at: now + self.bucket.take(now, packet.bytes()) }
    }
}
