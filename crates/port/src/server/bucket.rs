//! A dual token bucket in front of a link. When the link is free, the next packet waits for its tokens, and is then
//! transmitted.

use super::{Freed, INFINITE, Serializer, Serve, Taken};
use crate::Change;
use docsis::{ShaperParams, TokenBucket};
use packet::{Backlog, LinkView, PacketMeta};
use units::{BitRate, Duration, Time};

/// The token bucket. It takes the next packet from the queue, holds it until there are enough tokens, and then sends it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bucket {
    tokens: TokenBucket,
    held: Option<Held>,
    /// True if the link behind the bucket had a rate when it was built, so that every packet takes time.
    takes_time: bool,
    /// True if `take` reports a packet as sent at once, with the later time at which its transmission ends, instead of
    /// holding it.
    ahead: bool,
}

/// A packet that waits for tokens or is being transmitted.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    packet: PacketMeta,
    /// Time at which its transmission begins.
    begin: Time,
    /// Duration of its transmission.
    serialize: Duration,
}

impl Bucket {
    pub(crate) fn new(p: &ShaperParams, rate: Option<BitRate>) -> Self {
        Self { tokens: TokenBucket::new(p), held: None, takes_time: rate.is_some(), ahead: false }
    }

    /// If packets take time, reports each packet as sent when it is taken. The bucket must hold no packet, and its rates
    /// must never change.
    pub(super) fn send_ahead(&mut self) {
        self.ahead = self.takes_time;
    }

    #[inline]
    pub(super) fn sends_ahead(&self) -> bool {
        self.ahead
    }

    /// Returns the packet whose transmission ends now.
    #[inline]
    pub(super) fn free(&mut self) -> Freed {
        self.held.take().map_or(Freed::Nothing, |held| Freed::Sent(held.packet))
    }

    /// Returns true if a packet waits for tokens or is being transmitted.
    #[inline]
    pub(super) fn holds(&self) -> bool {
        self.held.is_some()
    }
}

/// Returns the link behind `bucket` as a discipline sees it. `downstream_delay` is the delay of a packet after it has
/// left `bucket`.
pub(super) fn shaped(bucket: &TokenBucket, now: Time, rate: Option<BitRate>, downstream_delay: Duration) -> LinkView {
    LinkView {
        rate: bucket.rate(),
        peak_rate: bucket.peak_rate().or(rate).unwrap_or(INFINITE),
        tokens: bucket.tokens(now),
        downstream_delay,
    }
}

impl Serve for Bucket {
    #[inline]
    fn departs_first(&self) -> bool {
        self.takes_time
    }

    fn view(&self, now: Time, rate: Option<BitRate>) -> LinkView {
        shaped(&self.tokens, now, rate, Duration::ZERO)
    }

    fn change(&mut self, now: Time, change: &Change) -> Option<Time> {
        let wait = self.tokens.set_rates(now, change.max_sustained_rate, change.peak_traffic_rate);
        // a packet whose transmission has begun finishes at the old rate
        let held = self.held.as_mut().filter(|held| held.begin > now)?;
        held.begin = now + wait;
        if let Some(rate) = change.rate {
            held.serialize = rate.time_for(held.packet.bytes());
        }
        Some(held.begin + held.serialize)
    }
}

impl Serializer for Bucket {
    #[inline]
    fn holds_back(&mut self, _now: Time, _rate: Option<BitRate>, _waiting: Backlog) -> bool {
        false
    }

    #[inline]
    fn take(&mut self, now: Time, packet: &PacketMeta, rate: Option<BitRate>) -> Taken {
        let serialize = rate.map_or(Duration::ZERO, |r| r.time_for(packet.bytes()));
        let begin = now + self.tokens.take(now, packet.bytes());
        if self.ahead {
            return Taken::Sent { end: begin + serialize, free_at: begin + serialize };
        }
        self.held = Some(Held { packet: *packet, begin, serialize });
        Taken::Held { free_at: begin + serialize }
    }
}
