//! A discipline's view of the link that it feeds.

use units::{BitRate, Bytes, Duration};

/// A queue's content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting, on the wire.
    pub bytes: u64,
}

impl Backlog {
    /// Adds one packet of `bytes` bytes.
    #[inline]
    pub fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }
    /// The sum of two backlogs.
    #[inline]
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
    /// Removes one packet of `bytes` bytes.
    #[inline]
    pub fn remove(&mut self, bytes: u64) {
        self.packets -= 1;
        self.bytes -= bytes;
    }
}

/// Current state of the link behind a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkView {
    /// Sustained rate (MSR of a service flow, or the link's rate).
    pub rate: BitRate,
    /// Rate while tokens last (peak traffic rate); equal to `rate` on a plain link.
    pub peak_rate: BitRate,
    /// Bytes that may leave at the peak rate; 0 on a plain link.
    pub tokens: Bytes,
    /// Delay behind this queue of a packet that leaves it now (in a modem's transmit queue).
    pub downstream_delay: Duration,
}

impl LinkView {
    /// A link with one rate and nothing behind the queue.
    pub fn plain(rate: BitRate) -> Self {
        Self { rate, peak_rate: rate, tokens: Bytes(0), downstream_delay: Duration::ZERO }
    }

    /// Transmission time of `bytes`: at the peak rate while tokens last, then at the sustained rate.
    ///
    /// Source: RFC 8034 §4.2 (latency prediction from the token bucket).
    pub fn expected_delay(&self, bytes: u64) -> Duration {
        let burst = bytes.min(self.tokens.0);
        self.peak_rate.time_for(burst) + self.rate.time_for(bytes - burst)
    }
}

/// The two service flows of a modem with Low Latency DOCSIS.   Source: RFC 9957 §1; MULPIv3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceFlow {
    /// L.
    LowLatency,
    /// C; the only service flow of a modem without L.
    Classic,
}

/// The parameters of an aggregate of two service flows, besides its rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aggregate {
    /// Maximum Sustained Rates of L and of C themselves, for Ethernet frames; `None`: only the aggregate's rate applies.
    pub msr: [Option<BitRate>; 2],
    /// C's own Peak Rate.
    pub peak_c: Option<BitRate>,
    /// L's request-grant loop; `None` downstream, where there are no requests.
    pub request_loop: Option<RequestLoop>,
}

/// The request-grant delays of a modem's L, besides its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLoop {
    /// From a request to the end of its grant's MAP: MinReqGntDelay and a MAP interval.
    pub delay: Duration,
    /// Interval at which the queue is sampled: half a MAP interval.
    pub sample: Duration,
    /// GGR, the rate granted without requests; zero without proactive grants.
    pub guaranteed_rate: BitRate,
    /// GGI, the interval of these grants.
    pub guaranteed_interval: Duration,
}

/// Ethernet's header and checksum, bytes.
const ETHERNET: u64 = 14 + 4;
/// The smallest Ethernet frame, bytes.
const LEAST_FRAME: u64 = 64;
/// The DOCSIS MAC header of an upstream frame, bytes.   Source: docsis-ns3.
pub const MAC_HEADER: u64 = 10;

/// The Ethernet frame around an IP packet of `ip` bytes, without preamble and gap.   Unit: bytes.
#[inline]
pub fn ethernet_frame(ip: u64) -> u64 {
    (ip + ETHERNET).max(LEAST_FRAME)
}

/// The Ethernet frame with its DOCSIS MAC header, as a cable modem sends it.   Unit: bytes.
#[inline]
pub fn docsis_frame(ip: u64) -> u64 {
    ethernet_frame(ip) + MAC_HEADER
}

impl Backlog {
    /// All packets as a cable modem sends them: exact if all have at least 46 bytes, or none has; otherwise at most 18 bytes
    /// too few for each small packet.   Unit: bytes.
    pub fn docsis_frames(&self) -> u64 {
        let n = u64::from(self.packets);
        (self.bytes + n * (ETHERNET + MAC_HEADER)).max(n * docsis_frame(0))
    }
}

/// Counters of a link that has delivery opportunities instead of a rate. Opportunities within one millisecond count as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpportunityCounts {
    /// Opportunities so far.
    pub count: u64,
    /// Opportunities that sent something.
    pub used: u64,
    /// Bytes that all opportunities could have sent.
    pub bytes: u64,
    /// Bytes that were sent.
    pub used_bytes: u64,
    /// Longest time without an opportunity.
    pub longest_gap: Duration,
    /// Gaps longer than [`OpportunityCounts::LONG_GAP`].
    pub long_gaps: u64,
    /// Packets that waited during a long gap and were dropped in it or later.
    pub gap_drops: u64,
}

impl OpportunityCounts {
    /// CoDel's interval: CoDel treats a longer gap as a standing queue.
    pub const LONG_GAP: Duration = Duration::from_millis(100);

    /// Counts since `before`. The longest gap is that of the whole run.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            count: self.count - before.count,
            used: self.used - before.used,
            bytes: self.bytes - before.bytes,
            used_bytes: self.used_bytes - before.used_bytes,
            longest_gap: self.longest_gap,
            long_gaps: self.long_gaps - before.long_gaps,
            gap_drops: self.gap_drops - before.gap_drops,
        }
    }

    /// Counts a gap: from one opportunity to the next, or from the start of the run to the first.
    pub fn gap(&mut self, gap: Duration) {
        self.longest_gap = self.longest_gap.max(gap);
        self.long_gaps += u64::from(gap > Self::LONG_GAP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_a_modem() {
        // 14 + 4 of Ethernet, at least 64 in all, and 10 of the MAC header
        assert_eq!([1500, 40, 46, 47].map(docsis_frame), [1528, 74, 74, 75]);
        assert_eq!(Backlog { packets: 3, bytes: 4500 }.docsis_frames(), 3 * 1528);
        assert_eq!(Backlog { packets: 3, bytes: 120 }.docsis_frames(), 3 * 74);
    }

    #[test]
    fn expected_delay_uses_tokens_first() {
        let view = LinkView {
            rate: BitRate(5_000_000),
            peak_rate: BitRate(20_000_000),
            tokens: Bytes(10_000),
            downstream_delay: Duration::ZERO,
        };
        // 10 000 B at 20 Mbit/s = 4 ms, 5 000 B at 5 Mbit/s = 8 ms
        assert_eq!(view.expected_delay(15_000), Duration::from_millis(12));
        assert_eq!(view.expected_delay(5_000), Duration::from_millis(2));
        assert_eq!(LinkView::plain(BitRate(5_000_000)).expected_delay(1500), Duration::from_micros(2400));
    }
}
