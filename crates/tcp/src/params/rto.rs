//! Round-trip times, the retransmission timer, and the clock that they use.

use super::group::{group, require, words};
use units::{Duration, Problem};

group! {
    /// Round trips and the retransmission timer.
    pub struct RtoParams {
        /// Clock granularity G of RFC 6298, used with `min_rto_bounds = "total"`. The ns-2 presets also round RTT
        /// samples to multiples of G. In ns-2, G is called `tcpTick_` and is 10 ms by default.
        pub clock_granularity: Duration = Duration::from_millis(1),
        /// Tick of the stack's timer wheel. The wheel rounds timers up: short timers expire up to two ticks late, and
        /// long timers up to about an eighth of their length late. In Linux, the tick is 1 ms at HZ 1000. With 0s,
        /// timers are exact. Source: LWN, "Reinventing the timer wheel".
        pub timer_tick: Duration = Duration::from_millis(1),
        /// Lower limit of the RTO, or of its variation (see `min_rto_bounds`).
        pub min_rto: Duration = Duration::from_millis(200),
        /// The quantity for which `min_rto` is the lower limit: the whole RTO, or only its variation, which is added to
        /// SRTT.
        pub min_rto_bounds: MinRto = MinRto::Variation,
        /// Largest RTO for data, including its doublings after timeouts.
        pub max_rto: Duration = Duration::from_secs(120),
        /// Largest number of doublings of the RTO: 6 in ns-2 and 4.4BSD. With 16, usually only `max_rto` limits the
        /// RTO.
        pub backoff_doublings: u8 = 16,
        /// How RTT samples are taken.
        pub rtt_source: RttSource = RttSource::SendTime,
        /// RTO before the first RTT sample. It is also the wait before the first retransmission of a SYN.
        pub initial_rto: Duration = Duration::from_secs(1),
        /// Maximum number of retransmissions of the same data after consecutive timeouts. At the next timeout, the
        /// connection fails. Null (in a JSON file): unlimited.
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

/// Refuses a maximum wait `most` that is shorter than `least`, or longer than a day.
pub(super) fn within(key: &str, most: Duration, least: Duration) -> Result<(), Problem> {
    require(key, most, (least..=Duration::from_secs(86_400)).contains(&most), format!("{least} to 24h"))
}

words! {
    /// How RTT samples are taken.
    pub enum RttSource {
        /// From the time stamp that an ACK of new data echoes. If there are no time stamps, the send time of the newest
        /// acknowledged segment is used, unless the ACK also covers a segment that was retransmitted or SACKed before.
        /// Source: RFC 7323 §4.1, RFC 6298 §3.
        "echo" Echo,
        /// From the first of these three that is available. (1) The send time of the oldest segment that the ACK newly
        /// acknowledges and that was sent only once, unless the ACK also covers a retransmitted segment. (2) The send
        /// time of the oldest segment that is newly SACKed and was sent only once. (3) The time stamp that an ACK of
        /// new data echoes. Source: Linux, tcp_ack_update_rtt.
        "send-time" SendTime,
    }

    /// The quantity that the minimum RTO bounds.
    pub enum MinRto {
        /// The whole RTO: RTO = max(`min_rto`, SRTT + max(G, 4 RTTVAR)). With `rack-tlp`, the
        /// timer may wait for a probe or a reordering window first. The RTO after that usually counts from the last
        /// ACK of new data or, once a probe has been sent, from the probe. Source: RFC 6298 §2 and §5.3.
        "total" Total,
        /// Only the variation V: RTO = SRTT + V. At first, V is max(`min_rto`, 4 RTTVAR). If 4 RTTVAR exceeds V, V
        /// rises to 4 RTTVAR at once. V falls only once per round trip: by a quarter of its distance to max(`min_rto`,
        /// the largest 4 RTTVAR of this round trip). With `rack-tlp`, the timer may wait for a probe or a reordering
        /// window first. The RTO after that counts from the last transmission of the first outstanding segment or, once
        /// a probe has been sent, from the probe. Source: Linux.
        "variation" Variation,
    }
}
