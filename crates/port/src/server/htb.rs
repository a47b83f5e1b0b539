//! A link behind an HTB shaper with one class. HTB sends a packet first and charges it afterwards.

use super::{Serializer, Serve, Taken};
use crate::Change;
use crate::htb::{Htb, HtbParams};
use packet::{Backlog, LinkView, PacketMeta};
use units::{BitRate, Duration, Time};

/// The buckets, and the time at which the interface behind them finishes its last packet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Class {
    buckets: Htb,
    sent: Time,
}

impl Class {
    pub(crate) fn new(p: &HtbParams, rate: Option<BitRate>) -> Self {
        Self { buckets: Htb::new(p, rate), sent: Time::ZERO }
    }
}

impl Serve for Class {
    fn view(&self, now: Time, _rate: Option<BitRate>) -> LinkView {
        let (rate, peak_rate) = (self.buckets.rate(), self.buckets.ceil());
        if rate == peak_rate {
            return LinkView::plain(rate);
        }
        LinkView { rate, peak_rate, tokens: self.buckets.tokens(now), downstream_delay: Duration::ZERO }
    }

    fn change(&mut self, now: Time, change: &Change) -> Option<Time> {
        let rate = change.rate.filter(|_| self.buckets.follows_link()).or(change.max_sustained_rate);
        Some(self.buckets.set_rates(now, rate, change.peak_traffic_rate).max(self.sent))
    }
}

impl Serializer for Class {
    /// Returns true if the queue is empty: HTB counts the packets of its class, and does not poll an empty class.
    #[inline]
    fn holds_back(&mut self, _now: Time, _rate: Option<BitRate>, waiting: Backlog) -> bool {
        waiting.packets == 0
    }

    #[inline]
    fn take(&mut self, now: Time, packet: &PacketMeta, rate: Option<BitRate>) -> Taken {
        self.sent = now + self.buckets.serialize(rate, packet.bytes());
        let free_at = (now + self.buckets.charge(now, packet.bytes())).max(self.sent);
        Taken::Sent { end: self.sent, free_at }
    }
}
