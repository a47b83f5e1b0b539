//! A dual token bucket in front of a link. The next packet waits for its tokens, then for the link.

use super::{INFINITE, Serializer, Serve, Taken};
use crate::Change;
use docsis::{ShaperParams, TokenBucket};
use packet::{Backlog, LinkView, PacketMeta};
use units::{BitRate, Duration, Time};

/// The token bucket. It takes the next packet from the queue, and holds it until there are enough tokens.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bucket(TokenBucket);

impl Bucket {
    pub(crate) fn new(p: &ShaperParams) -> Self {
        Self(TokenBucket::new(p))
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
    fn view(&self, now: Time, rate: Option<BitRate>) -> LinkView {
        shaped(&self.0, now, rate, Duration::ZERO)
    }

    fn change(&mut self, now: Time, change: &Change) -> Option<Time> {
        self.0.set_rates(now, change.max_sustained_rate, change.peak_traffic_rate);
        None
    }
}

impl Serializer for Bucket {
    #[inline]
    fn holds_back(&mut self, _now: Time, _rate: Option<BitRate>, _waiting: Backlog) -> bool {
        false
    }

    #[inline]
    fn take(&mut self, now: Time, packet: PacketMeta, rate: Option<BitRate>) -> Taken {
        let serialize = rate.map_or(Duration::ZERO, |r| r.time_for(packet.bytes()));
        let end = now + serialize + self.0.take(now, packet.bytes());
        Taken::Sent { end, free_at: end }
    }
}
