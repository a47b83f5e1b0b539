//! Round trips, the retransmission timer, and the clock that they run on.

use super::group::{group, require, words};
use units::{Duration, Problem};

group! {
    /// Round trips and the retransmission timer.
    pub struct RtoParams {
        /// Clock granularity G.   ns-2: `tcpTick_` 10 ms.
        pub clock_granularity: Duration = Duration::from_millis(1),
        /// Tick of the stack's timer wheel, which makes timers late by up to an eighth: 1 ms is Linux at HZ 1000. 0s: exact.
        /// Source: LWN, "Reinventing the timer wheel".
        pub timer_tick: Duration = Duration::from_millis(1),
        /// Smallest RTO.
        pub min_rto: Duration = Duration::from_millis(200),
        /// Quantity that `min_rto` bounds.
        pub min_rto_bounds: MinRto = MinRto::Variation,
        /// Largest RTO of data, backoff included.
        pub max_rto: Duration = Duration::from_secs(120),
        /// Most doublings of the RTO: 6 in ns-2 and BSD (64 times); elsewhere only `max_rto` ends them (16).
        pub backoff_doublings: u8 = 16,
        /// Source of round-trip samples.
        pub rtt_source: RttSource = RttSource::SendTime,
        /// RTO before the first sample; also the first wait of a SYN.
        pub initial_rto: Duration = Duration::from_secs(1),
        /// Timeouts in a row of the same data before giving up; absent: never gives up.
        pub retries: Option<u32> = Some(15),
    }

    fn validate(&self) -> Result<(), Problem> {
        let (n, tick, g) = (self.backoff_doublings, self.timer_tick, self.clock_granularity);
        let range = Duration::from_millis(1)..=Duration::from_secs(3600);
        for (key, v) in [("min_rto", self.min_rto), ("initial_rto", self.initial_rto)] {
            require(key, v, range.contains(&v), "1ms to 1h")?;
        }
        within("max_rto", self.max_rto, self.min_rto)?;
        require("backoff_doublings", n, n <= 16, "at most 16")?;
        require("timer_tick", tick, tick <= Duration::from_millis(100), "at most 100ms, or 0s for exact timers")?;
        require("clock_granularity", g, g <= Duration::from_secs(10), "at most 10s")
    }
}

/// Refuses a maximum wait below the first wait, or above a day.
pub(super) fn within(key: &str, most: Duration, least: Duration) -> Result<(), Problem> {
    require(key, most, (least..=Duration::from_secs(86_400)).contains(&most), format!("{least} to 24h"))
}

words! {
    /// Source of round-trip samples.
    pub enum RttSource {
        /// The echoed timestamp of an ACK of new data. Without timestamps, the send time of the newest segment that it
        /// acknowledges, if none of them was retransmitted or SACKed before.   Source: RFC 7323 §4.1, RFC 6298 §3.
        "echo" Echo,
        /// The send time of the oldest newly acknowledged segment that was sent once, unless a retransmitted one is acknowledged,
        /// too. Else that of the oldest newly SACKed segment that was sent once, with or without a cumulative acknowledgement.
        /// Only then the echo.
        /// Source: Linux, tcp_ack_update_rtt.
        "send-time" SendTime,
    }

    /// Quantity that the minimum RTO bounds.
    pub enum MinRto {
        /// The whole: RTO = max(min, SRTT + max(G, 4 RTTVAR)). It counts from the last ACK of new data, also after a probe's or a
        /// reordering window's timer.   Source: RFC 6298 §2 and §5.3.
        "total" Total,
        /// The variation: RTO = SRTT + max(min, 4 RTTVAR). With `rack-tlp`, what another purpose has left of it counts from
        /// when the first segment was sent last.   Source: Linux.
        "variation" Variation,
    }
}
