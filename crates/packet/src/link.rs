//! What a discipline may know of the link that it feeds.

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
    /// One packet of so many bytes more.
    #[inline]
    pub fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }
    /// One packet of so many bytes fewer.
    #[inline]
    pub fn remove(&mut self, bytes: u64) {
        self.packets -= 1;
        self.bytes -= bytes;
    }
}

/// The link behind a queue, as the queue's host sees it now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkView {
    /// Sustained rate (MSR of a service flow, or the link's rate).
    pub rate: BitRate,
    /// Rate while tokens last (peak traffic rate); equal to `rate` on a plain link.
    pub peak_rate: BitRate,
    /// Bytes that may leave at the peak rate; 0 on a plain link.
    pub tokens: Bytes,
    /// Time that a packet leaving now still waits behind this queue (a modem's transmit queue).
    pub downstream_delay: Duration,
}

impl LinkView {
    /// A link with one rate and nothing behind the queue.
    pub fn plain(rate: BitRate) -> Self {
        Self { rate, peak_rate: rate, tokens: Bytes(0), downstream_delay: Duration::ZERO }
    }

    /// How long `bytes` in the queue take to leave: at the peak rate while tokens last, then at the sustained rate.
    ///
    /// Source: RFC 8034 §4.2 (latency prediction from the token bucket).
    pub fn expected_delay(&self, bytes: u64) -> Duration {
        let burst = bytes.min(self.tokens.0);
        self.peak_rate.time_for(burst) + self.rate.time_for(bytes - burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
