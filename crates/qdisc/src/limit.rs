//! Tests whether a packet fits into a queue with a limit.

use packet::{Backlog, LEAST_BYTES, LinkView, PacketMeta};
use units::{BitRate, Bytes, Limit, Problem, ensure};

/// A [`Limit`] applied to arrivals, in packets, bytes, or time at the link's sustained rate.
///
/// If `q` packets with `bytes` bytes are queued, an arrival of `s` bytes is dropped iff `q + 1 > limit` (packets) or
/// `bytes + s > limit` (bytes, or time x rate). With `ns2_off_by_one`, the test is `>=`, so that a limit of 21 packets
/// stores 20.
///
/// Source: tc pfifo and bfifo; ns-2 queue/drop-tail.   Units: bytes on the wire.
/// Departs: ns-2's byte mode counts `limit` in mean packets; ours counts bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Room {
    limit: Limit,
    /// 1 if `ns2_off_by_one` is set, otherwise 0.
    short: u64,
    /// The rate for which `bytes` was computed from a limit given as a time. It is stored to save a division on every arrival.
    rate: BitRate,
    bytes: u64,
}

impl Room {
    pub(crate) fn new(limit: Limit, ns2_off_by_one: bool) -> Self {
        Self { limit, short: u64::from(ns2_off_by_one), rate: BitRate(0), bytes: 0 }
    }

    /// Returns true if `packet` fits into a queue that already holds `backlog`.
    #[inline]
    pub(crate) fn fits(&mut self, backlog: Backlog, packet: &PacketMeta, link: &LinkView) -> bool {
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

    /// Refuses a limit under which no packet could ever be queued: less than one packet, or less than [`LEAST_BYTES`]
    /// (with `ns2_off_by_one`, the minimum is one packet or one byte higher). A limit in time is refused here only if
    /// it is zero, because its number of bytes depends on the link's rate. [`Room::validate_at`] checks this number
    /// once the rate is known.
    pub(crate) fn validate(limit: Limit, ns2_off_by_one: bool) -> Result<(), Problem> {
        let short = u64::from(ns2_off_by_one);
        let (holds, least) = match limit {
            Limit::Packets(n) => (u64::from(n) > short, format!("{}p", 1 + short)),
            Limit::Bytes(b) => Self::judge(b, short),
            Limit::Time(d) => (!d.is_zero(), "a positive duration".into()),
        };
        Self::refuse(holds, limit, String::new(), &least, ns2_off_by_one)
    }

    /// Checks an optional limit like [`Room::validate`], but gives `path` as the path of the invalid parameter in the
    /// error. If the limit is `None`, it is valid.
    pub(crate) fn holds(path: &str, limit: Option<Limit>) -> Result<(), Problem> {
        limit.map_or(Ok(()), |limit| Self::validate(limit, false)).map_err(|p| Problem::new(path, p.message))
    }

    /// Checks an optional limit like [`Room::validate_at`], with `path` as the path of the invalid parameter.
    pub(crate) fn holds_at(path: &str, limit: Option<Limit>, rate: BitRate) -> Result<(), Problem> {
        limit.map_or(Ok(()), |limit| Self::validate_at(limit, false, rate)).map_err(|p| Problem::new(path, p.message))
    }

    /// Refuses a limit given as a time if it is shorter than the transmission time of the smallest packet at this sustained
    /// rate (with `ns2_off_by_one`, of one byte more).
    pub(crate) fn validate_at(limit: Limit, ns2_off_by_one: bool, rate: BitRate) -> Result<(), Problem> {
        let Limit::Time(span) = limit else { return Ok(()) };
        let bytes = Bytes(rate.bytes_in(span));
        let (holds, least) = Self::judge(bytes, u64::from(ns2_off_by_one));
        Self::refuse(holds, limit, format!(" ({bytes} at {rate})"), &least, ns2_off_by_one)
    }

    fn judge(bytes: Bytes, short: u64) -> (bool, String) {
        let least = LEAST_BYTES + short;
        (bytes.0 >= least, format!("{least}B, the smallest IP packet (better 1500B or more)"))
    }

    fn refuse(holds: bool, limit: Limit, there: String, least: &str, ns2_off_by_one: bool) -> Result<(), Problem> {
        let why = if ns2_off_by_one { " (ns-2 stores one less than the limit)" } else { "" };
        ensure!(holds, "limit", "{limit}{there} is not valid: nothing could wait; expected at least {least}{why}");
        Ok(())
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
        // with a limit of 21 packets, the queue stores 21 packets, or 20 by ns-2's convention
        assert!(fits(Limit::Packets(21), false, 20, 30_000) && !fits(Limit::Packets(21), false, 21, 31_500));
        assert!(fits(Limit::Packets(21), true, 19, 28_500) && !fits(Limit::Packets(21), true, 20, 30_000));
        assert!(fits(Limit::Bytes(Bytes(3000)), false, 1, 1500) && !fits(Limit::Bytes(Bytes(3000)), true, 1, 1500));
        // 50 ms at 5 Mbit/s is 31 250 B, so 20 packets of 1500 B fit, but not 21, which take 31 500 B
        let t = Limit::Time(Duration::from_millis(50));
        assert!(fits(t, false, 19, 28_500) && !fits(t, false, 20, 30_000));
    }

    #[test]
    fn a_limit_of_nothing_is_refused() {
        assert!(Room::validate(Limit::Packets(0), false).is_err());
        assert!(Room::validate(Limit::Packets(1), true).unwrap_err().message.contains("2p"));
        assert!(Room::validate(Limit::Packets(1), false).is_ok());
        // the smallest packet has an IPv4 and a UDP header: 20 + 8 = 28 B
        let bytes = |n, ns2| Room::validate(Limit::Bytes(Bytes(n)), ns2);
        assert!(bytes(0, false).is_err() && bytes(27, false).unwrap_err().message.contains("28B"));
        assert!(bytes(28, false).is_ok() && bytes(28, true).is_err() && bytes(29, true).is_ok());
        assert!(Room::validate(Limit::Time(Duration::ZERO), false).is_err());
    }

    #[test]
    fn a_time_is_judged_by_the_rate() {
        let at = |us, ns2, bits| Room::validate_at(Limit::Time(Duration::from_micros(us)), ns2, BitRate(bits));
        // the smallest packet, 28 bytes or 224 bits, takes 224 us at 1 Mbit/s
        assert!(at(224, false, 1_000_000).is_ok() && at(224, true, 1_000_000).is_err());
        let refusal = at(223, false, 1_000_000).unwrap_err().message;
        assert!(refusal.starts_with("223us (27B at 1mbit) is not valid"), "{refusal}");
        assert!(at(223, false, 2_000_000).is_ok());
        assert!(Room::validate_at(Limit::Packets(0), false, BitRate(1)).is_ok(), "not a time");
    }
}
