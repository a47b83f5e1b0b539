//! How much a queue may hold.

use packet::{Backlog, LinkView, PacketMeta};
use units::{BitRate, Limit, Problem};

/// A [`Limit`] as a test on arrivals: packets, bytes, or time at the link's sustained rate.
///
/// Drop an arrival of `s` bytes iff `q + 1 > limit` (packets) or `bytes + s > limit` (bytes, time x rate); with
/// `ns2_off_by_one`, iff `>=`, so that a limit of 21 packets stores 20.
///
/// Source: SPEC 1.1.   Units: bytes on the wire.   Departs: ns-2's byte mode counts `limit` in mean packets; ours in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Room {
    limit: Limit,
    /// 1 under the ns-2 convention, else 0.
    short: u64,
    /// `Limit::Time` in bytes, for this rate: a division saved on every arrival.
    rate: BitRate,
    bytes: u64,
}

impl Room {
    /// A test for `limit`.
    pub fn new(limit: Limit, ns2_off_by_one: bool) -> Self {
        Self { limit, short: u64::from(ns2_off_by_one), rate: BitRate(0), bytes: 0 }
    }

    /// True when `packet` may join `backlog`.
    #[inline]
    pub fn fits(&mut self, backlog: Backlog, packet: &PacketMeta, link: &LinkView) -> bool {
        match self.limit {
            Limit::Packets(n) => u64::from(backlog.packets) + 1 + self.short <= u64::from(n),
            Limit::Bytes(b) => backlog.bytes + packet.bytes() + self.short <= b.0,
            Limit::Time(span) => {
                if link.rate != self.rate {
                    self.rate = link.rate;
                    let bytes = u128::from(link.rate.0) * u128::from(span.0) / 8_000_000_000;
                    self.bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
                }
                backlog.bytes + packet.bytes() + self.short <= self.bytes
            }
        }
    }

    /// Refuses a limit under which nothing can ever wait.
    pub fn validate(limit: Limit, ns2_off_by_one: bool) -> Result<(), Problem> {
        let least = 1 + u64::from(ns2_off_by_one);
        let value = match limit {
            Limit::Packets(n) => u64::from(n),
            Limit::Bytes(b) => b.0,
            Limit::Time(d) => d.0,
        };
        if value >= least {
            return Ok(());
        }
        let why = if ns2_off_by_one { " (ns-2 stores one less than the limit)" } else { "" };
        Err(Problem::new("limit", format!("{limit} is not valid: nothing could wait; expected at least {least}p{why}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Bytes, Duration};

    fn fits(limit: Limit, ns2: bool, packets: u32, bytes: u64) -> bool {
        let link = LinkView::plain(BitRate(5_000_000));
        let packet = PacketMeta { size: 1500, ..Default::default() };
        Room::new(limit, ns2).fits(Backlog { packets, bytes }, &packet, &link)
    }

    #[test]
    fn both_conventions_in_each_unit() {
        // SPEC 1.1: limit 21 stores 21, or 20 under ns-2
        assert!(fits(Limit::Packets(21), false, 20, 30_000) && !fits(Limit::Packets(21), false, 21, 31_500));
        assert!(fits(Limit::Packets(21), true, 19, 28_500) && !fits(Limit::Packets(21), true, 20, 30_000));
        assert!(fits(Limit::Bytes(Bytes(3000)), false, 1, 1500) && !fits(Limit::Bytes(Bytes(3000)), true, 1, 1500));
        // 50 ms at 5 Mbit/s = 31 250 B: 20 packets wait, a 21st would make 31 500
        let t = Limit::Time(Duration::from_millis(50));
        assert!(fits(t, false, 19, 28_500) && !fits(t, false, 20, 30_000));
    }

    #[test]
    fn a_limit_of_nothing_is_refused() {
        assert!(Room::validate(Limit::Packets(0), false).is_err());
        assert!(Room::validate(Limit::Packets(1), true).unwrap_err().message.contains("2p"));
        assert!(Room::validate(Limit::Packets(1), false).is_ok());
    }
}
