//! A plain link: a packet of n bytes takes 8 n / rate, or no time if there is no rate.

use super::{INFINITE, Serializer, Serve, Taken};
use crate::Change;
use packet::{Backlog, LinkView, PacketMeta};
use units::{BitRate, Time};

/// The server of a plain link. It has no state, because the port keeps the rate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plain;

impl Serve for Plain {
    #[inline]
    fn departs_first(&self) -> bool {
        true
    }

    #[inline]
    fn view(&self, _now: Time, rate: Option<BitRate>) -> LinkView {
        LinkView::plain(rate.unwrap_or(INFINITE))
    }

    fn change(&mut self, _now: Time, _change: &Change) -> Option<Time> {
        None
    }
}

impl Serializer for Plain {
    /// Returns true if the rate is zero, because a rate of zero stops the link.
    #[inline]
    fn holds_back(&mut self, _now: Time, rate: Option<BitRate>, _waiting: Backlog) -> bool {
        rate == Some(BitRate(0))
    }

    #[inline]
    fn take(&mut self, now: Time, packet: &PacketMeta, rate: Option<BitRate>) -> Taken {
        let Some(rate) = rate else { return Taken::Gone };
        let end = now + rate.time_for(packet.bytes());
        Taken::Sent { end, free_at: end }
    }
}
