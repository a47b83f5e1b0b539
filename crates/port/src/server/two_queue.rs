//! The modem of CableLabs 2012: a token bucket, and behind it a transmit queue that grants empty.

use super::bucket::shaped;
use super::{Asks, Serve, Taken};
use crate::Change;
use docsis::{DocsisParams, Mac, TokenBucket};
use packet::{Backlog, LinkView, PacketMeta};
use qdisc::Queue;
use units::{BitRate, Rng, Time};

/// The packet that the bucket lets pass next, and the transmit queue behind it.
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
}

impl Serve for TwoQueue {
    fn view(&self, now: Time, rate: Option<BitRate>) -> LinkView {
        shaped(&self.bucket, now, rate, self.mac.expected_wait(now))
    }

    fn change(&mut self, now: Time, change: &Change) -> Option<Time> {
        self.bucket.set_rates(now, change.max_sustained_rate, change.peak_traffic_rate);
        change.rate.into_iter().for_each(|r| self.mac.set_rate(r));
        change.max_grant.into_iter().for_each(|g| self.mac.set_max_grant(g));
        None
    }

    #[inline]
    fn holds_back(&mut self, now: Time, _rate: Option<BitRate>, _waiting: Backlog) -> bool {
        self.mac.holds_back(now)
    }

    #[inline]
    fn take(&mut self, now: Time, packet: &PacketMeta, _rate: Option<BitRate>) -> Taken {
        Taken::Held { free_at: now + self.bucket.take(now, packet.bytes()) }
    }

    #[inline]
    fn hold(&mut self, packet: PacketMeta) {
        self.held = Some(packet);
    }

    /// What the bucket let pass enters the transmit queue.
    #[inline]
    fn freed(&mut self, now: Time) -> Result<(), PacketMeta> {
        self.held.take().map_or(Ok(()), |packet| self.mac.push(now, packet))
    }

    #[inline]
    fn holds(&self) -> bool {
        self.held.is_some()
    }

    #[inline]
    fn next(&self) -> Time {
        self.mac.next_map()
    }

    /// A MAP.
    fn tick(&mut self, now: Time, _queue: &Queue, rng: &mut Rng, depart: &mut dyn FnMut(PacketMeta, Time)) -> Asks {
        self.mac.map(now, rng, depart);
        Asks::Nothing
    }

    #[inline]
    fn room_at(&self) -> Time {
        self.mac.room_at()
    }

    fn inside(&self) -> usize {
        self.mac.queued() + usize::from(self.held.is_some())
    }

    fn transmit_backlog(&self, now: Time) -> Backlog {
        self.mac.backlog(now)
    }
}
