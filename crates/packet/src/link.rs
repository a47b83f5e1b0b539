//! The state and parameters of a link that its queue discipline may read.

use units::{BitRate, Bytes, Duration};

/// The amount of data in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting, as counted on the wire.
    pub bytes: u64,
}

impl Backlog {
    /// Adds one packet of `bytes` bytes.
    #[inline]
    pub fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }
    /// Returns the sum of two backlogs.
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
    /// Sustained rate: that of a shaper or service flow (MSR), otherwise the rate of the link. For a link with delivery
    /// opportunities, the mean rate.
    pub rate: BitRate,
    /// Rate while tokens last: the peak traffic rate, or the `ceil` of HTB. If none is set, the rate of the wire
    /// (infinite if the link has no rate). On a plain link, equal to `rate`.
    pub peak_rate: BitRate,
    /// Bytes that may leave at the peak rate; 0 on a plain link.
    pub tokens: Bytes,
    /// Additional delay of a packet that leaves this queue now: its wait in a modem's transmit queue.
    pub downstream_delay: Duration,
}

impl LinkView {
    /// Returns the view of a link with one rate and no transmit queue.
    pub fn plain(rate: BitRate) -> Self {
        Self { rate, peak_rate: rate, tokens: Bytes(0), downstream_delay: Duration::ZERO }
    }

    /// Returns the time that the link needs to send `bytes`: at the peak rate while tokens last, then at the sustained
    /// rate.
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
    /// The low-latency service flow, L.
    LowLatency,
    /// The classic service flow, C. A modem that has no low-latency service flow has only this service flow.
    Classic,
}

/// The parameters of an aggregate of the two service flows L (low latency) and C (classic). The struct does not contain
/// the rates of the aggregate itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aggregate {
    /// The Maximum Sustained Rate of L, then that of C. Both count the bytes of Ethernet frames. A rate is `None` if the
    /// flow is limited only by the rate of the aggregate.
    pub msr: [Option<BitRate>; 2],
    /// The Peak Traffic Rate of C; `None` if no such rate is set for C.
    pub peak_c: Option<BitRate>,
    /// The request-grant loop of L; `None` downstream, where a modem sends no requests.
    pub request_loop: Option<RequestLoop>,
}

/// The delays and the guaranteed grants of the request-grant loop of L.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLoop {
    /// Time from a request to the end of the MAP that contains the grant for this request: MinReqGntDelay plus a MAP
    /// interval.
    pub delay: Duration,
    /// Interval at which the backlog of L is sampled: half a MAP interval.
    pub sample: Duration,
    /// Guaranteed Grant Rate (GGR): the rate that is granted without requests. Zero if there are no proactive grants.
    pub guaranteed_rate: BitRate,
    /// Guaranteed Grant Interval (GGI): the interval between grants without requests. Zero if there are none.
    pub guaranteed_interval: Duration,
}

/// Ethernet's header (14) and checksum (4), bytes.
const ETHERNET: u64 = 14 + 4;
/// The smallest Ethernet frame, bytes.
const LEAST_FRAME: u64 = 64;
/// The DOCSIS MAC header of an upstream frame, bytes.   Source: docsis-ns3.
pub const MAC_HEADER: u64 = 10;

/// Returns the size of the Ethernet frame around an IP packet of `ip` bytes, without preamble and gap.   Unit: bytes.
#[inline]
pub fn ethernet_frame(ip: u64) -> u64 {
    (ip + ETHERNET).max(LEAST_FRAME)
}

/// Returns the size of the Ethernet frame with its DOCSIS MAC header, as a cable modem sends it.   Unit: bytes.
#[inline]
pub fn docsis_frame(ip: u64) -> u64 {
    ethernet_frame(ip) + MAC_HEADER
}

impl Backlog {
    /// Returns the size of all packets as a cable modem sends them. The result is exact if all packets are at least 46 bytes
    /// long, or if all are shorter. Otherwise it may be too small, by at most 18 bytes for each packet shorter than 46 bytes.
    /// Unit: bytes.
    pub fn docsis_frames(&self) -> u64 {
        let n = u64::from(self.packets);
        (self.bytes + n * (ETHERNET + MAC_HEADER)).max(n * docsis_frame(0))
    }
}

/// Counters of a link that has delivery opportunities instead of a rate. Opportunities at the same time count as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpportunityCounts {
    /// Opportunities so far.
    pub count: u64,
    /// Opportunities in which at least a part of a packet was sent.
    pub used: u64,
    /// Bytes that all opportunities could have sent.
    pub bytes: u64,
    /// Bytes that were sent.
    pub used_bytes: u64,
    /// Longest gap that has ended.
    pub longest_gap: Duration,
    /// Gaps longer than [`OpportunityCounts::LONG_GAP`] that have ended.
    pub long_gaps: u64,
    /// Length so far of the gap that has not ended yet.
    pub current_gap: Duration,
    /// Packets that were dropped during a long gap, or dropped later after they had waited in the queue during a long gap.
    pub gap_drops: u64,
}

impl OpportunityCounts {
    /// A gap longer than this counts as long. The value is CoDel's interval: after a longer gap, CoDel detects a standing
    /// queue.
    pub const LONG_GAP: Duration = Duration::from_millis(100);

    /// Returns the counts since an earlier state of the counters, `before`. Only `longest_gap` still covers the whole
    /// run. A gap is counted when it ends; the gap that has not ended yet is counted as if it ended now.
    #[must_use]
    pub fn since(mut self, before: Self) -> Self {
        self.gap(self.current_gap);
        Self {
            count: self.count - before.count,
            used: self.used - before.used,
            bytes: self.bytes - before.bytes,
            used_bytes: self.used_bytes - before.used_bytes,
            longest_gap: self.longest_gap,
            long_gaps: self.long_gaps - before.long_gaps,
            current_gap: Duration::ZERO,
            gap_drops: self.gap_drops - before.gap_drops,
        }
    }

    /// Counts a gap. A gap lasts from one opportunity to the next, or from the start of the run to the first opportunity.
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
        // Ethernet adds 14 + 4 bytes to an IP packet, the smallest Ethernet frame is 64 bytes, and the MAC header adds 10. So
        // an IP packet of 40 bytes becomes 64 + 10
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
        // the first 10 000 B use tokens: 4 ms at 20 Mbit/s. The other 5 000 B take 8 ms at 5 Mbit/s
        assert_eq!(view.expected_delay(15_000), Duration::from_millis(12));
        assert_eq!(view.expected_delay(5_000), Duration::from_millis(2));
        assert_eq!(LinkView::plain(BitRate(5_000_000)).expected_delay(1500), Duration::from_micros(2400));
    }
}
