//! Bursts: how many segments a host passes to its device at once, and when it waits for a larger burst.
//!
//! ```text
//! pacing rate   R = r max(cwnd, packets out) MSS / SRTT,  r = 2 if cwnd is below half of ssthresh,  otherwise 1.2
//! size          bytes = min(R / 1024 + (64 KB >> floor(min RTT / 512 us)), 64 KB)
//!               segments = max(least, floor(bytes / MSS)), at most gso_max_segs, and at most half the window (but at least 1)
//!               least = 2, or 1 if the controller's bursts are single segments (BBR version 1: below 1.2 Mbit/s)
//! waiting       room = bytes that both windows still allow.  A burst leaves if  room >= segments MSS  or  room >= window / 3;
//!               otherwise it waits for the next ACK, unless
//!                 nothing was sent for 1 ms,
//!                 no segment is in flight,
//!                 the ACK of the oldest segment in flight, due SRTT after it left, is more than min(1 ms, SRTT / 2) away,
//!                 at most one segment, or the end of a closed stream that fits into  room,  is left to send,
//!                 or a loss is being repaired
//! ```
//!
//! TCP small queues (`tsq`): nothing leaves while the host's own queue and device hold max(2 bursts, R / 1024) bytes of the flow.
//! Without `paced`, the limit is at most 4 MB. Retransmissions have twice this limit. The limit does not apply while no
//! more than one burst is outstanding.
//!
//! With `paced`, R also paces flows whose controller sets no rate. If the controller sets a rate, this rate is R. R is
//! updated on every ACK that delivers data.
//!
//! Source: Linux's ip-sysctl (tcp_pacing_ss_ratio 200, tcp_pacing_ca_ratio 120, tcp_min_tso_segs 2, tcp_tso_rtt_log 9,
//! tcp_tso_win_divisor 3).
//! Departs: small queues count bytes on the wire, whereas Linux counts the memory of its packet buffers, and a drop in the host's
//! own queue is not reported to the sender. Retransmissions leave one by one as the window allows; with `tso`, adjacent ones
//! may be joined (`offload.rs`).

use crate::params::TcpParams;
use units::{Duration, Time};

/// Pacing rate in windows per round trip: the first value for windows below half of ssthresh, the second value for all other
/// windows.
const RATIO: (f64, f64) = (2.0, 1.2);
/// A burst holds what the pacing rate sends in 1/PER_SECOND of a second.
const PER_SECOND: f64 = 1024.0;
/// Maximum burst, bytes.
const MOST: u32 = 65_536;
/// At short RTTs, bursts are larger. The extra size is [`MOST`] bytes if the minimum RTT is below 2^RTT_LOG
/// microseconds, and is halved for each further 2^RTT_LOG microseconds.
const RTT_LOG: u32 = 9;
/// Maximum number of bytes that a connection without `paced` keeps in its host's device, except for retransmissions.
/// Source: Linux's tcp_limit_output_bytes, since 6.16.
const LIMIT_OUTPUT: u64 = 4 << 20;
/// Minimum burst, segments, unless the controller's own bursts are shorter.
const LEAST: u32 = 2;
/// A burst may leave once 1/WIN_DIVISOR of the window is free.
const WIN_DIVISOR: u64 = 3;
/// A sender that has sent nothing for longer than this time does not wait for a larger burst.
const RECENT: Duration = Duration::from_millis(1);

/// Returns the pacing rate in payload bytes per second: `segments` segments per `srtt`, times the ratio for the window
/// `cwnd` ([`RATIO`]). `None` before the first RTT sample.
pub(crate) fn pacing_rate(p: &TcpParams, segments: f64, ssthresh: f64, cwnd: f64, srtt: Duration) -> Option<f64> {
    if srtt.is_zero() {
        return None;
    }
    let ratio = if cwnd < (ssthresh / 2.0).floor() { RATIO.0 } else { RATIO.1 };
    Some(ratio * segments * f64::from(p.wire.mss) / srtt.secs())
}

/// Returns the size of a burst in segments. It depends on the pacing rate (`None`: unlimited) and on the minimum RTT of
/// the path. It is at least `least`, but never exceeds `gso_max_segs` or, with `tso`, a packet of 65535 bytes.
pub(crate) fn autosize(p: &TcpParams, rate: Option<f64>, min_rtt_us: u32, least: u32) -> u32 {
    let near = MOST.checked_shr(min_rtt_us >> RTT_LOG).unwrap_or(0);
    let bytes = rate.map_or(f64::from(MOST), |rate| (rate / PER_SECOND).min(f64::from(MOST)) + f64::from(near));
    let segments = bytes.min(f64::from(MOST)) as u32 / p.wire.mss;
    let most = if p.pacing.tso { (u32::from(u16::MAX) / u32::from(p.frame().max(1))).max(1) } else { u32::MAX };
    segments.max(least).min(p.pacing.gso_max_segs).min(most)
}

/// A sender waits for a larger burst only if an ACK is overdue or is due within this time, or within half of SRTT if
/// that is shorter. Linux added this rule in October 2025, and backported it to 6.12 and 6.6.
const SOON: Duration = Duration::from_millis(1);

/// Inputs of [`Bursts::waits`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct BurstInputs {
    pub(crate) now: Time,
    /// Number of bytes that may still be sent before the congestion window or the peer's window is full.
    pub(crate) room: u64,
    /// The smaller of the congestion window and the peer's window, bytes.
    pub(crate) window: u64,
    /// Time since the oldest segment in flight was sent.
    pub(crate) oldest: Option<Duration>,
    pub(crate) srtt: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bursts {
    /// Minimum RTT, microseconds.
    min_rtt_us: u32,
    /// Time of the last transmission.
    last: Time,
    /// Bytes of the flow that are still in the host's own queue or device, counted as on the wire. TCP small queues
    /// limit this number.
    local: u64,
    /// True if a segment waits for the flow's bytes to leave the host.
    throttled: bool,
    /// The pacing rate R in payload bytes per second. R determines the size of bursts even if the flow is not paced.
    pub(crate) rate: Option<f64>,
    /// Minimum burst, segments.
    least: u32,
}

impl Bursts {
    pub(crate) fn new() -> Self {
        Self { min_rtt_us: u32::MAX, last: Time::ZERO, local: 0, throttled: false, rate: None, least: LEAST }
    }

    /// Takes the controller's pacing rate, and its burst size as the minimum burst if it is below [`LEAST`].
    pub(crate) fn follow(&mut self, rate: Option<f64>, quantum: u32) {
        (self.rate, self.least) = (rate, quantum.min(LEAST));
    }

    pub(crate) fn sampled(&mut self, us: u32) {
        self.min_rtt_us = self.min_rtt_us.min(us);
    }

    pub(crate) fn sent(&mut self, now: Time) {
        self.last = now;
    }

    /// Records that `bytes` have entered the host's queue or device.
    pub(crate) fn queued(&mut self, bytes: u64) {
        self.local += bytes;
    }

    /// Records that `bytes` have left the host's device. Returns true if a segment was waiting for the device.
    pub(crate) fn left(&mut self, bytes: u64) -> bool {
        self.local = self.local.saturating_sub(bytes);
        std::mem::take(&mut self.throttled)
    }

    /// Returns true if the host's queue and device hold too many bytes for another burst of `segments`. If so, records
    /// that a segment waits. `again` is true if the burst is a retransmission.
    pub(crate) fn device_is_full(&mut self, p: &TcpParams, segments: u64, again: bool) -> bool {
        let rate = self.rate.map_or(0.0, |rate| rate / PER_SECOND) as u64;
        let most = if p.pacing.paced { u64::MAX / 2 } else { LIMIT_OUTPUT };
        let limit = (2 * segments * u64::from(p.frame())).max(rate).min(most) << u32::from(again);
        self.throttled |= self.local >= limit;
        self.local >= limit
    }

    /// Returns the maximum size of the next burst, in segments.
    pub(crate) fn size(&self, p: &TcpParams) -> u32 {
        autosize(p, self.rate, self.min_rtt_us, self.least)
    }

    /// Returns true if the next burst must wait until the congestion window and the peer's window have more room.
    pub(crate) fn waits(&self, p: &TcpParams, s: &BurstInputs) -> bool {
        let whole = u64::from(self.size(p)) * u64::from(p.wire.mss);
        let late = s.oldest.is_none_or(|age| age + SOON.min(s.srtt / 2) < s.srtt);
        s.room < whole && s.room < s.window / WIN_DIVISOR && s.now.since(self.last) <= RECENT && !late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params() -> TcpParams {
        TcpParams::preset("linux-6").unwrap().with(|p| p.pacing.gso_max_segs = 65_535)
    }

    #[test]
    fn a_flow_has_a_fifth_more_than_its_window_in_a_round_trip_and_twice_it_in_slow_start() {
        let p = params();
        let srtt = Duration::from_millis(20);
        // 50 segments of 1448 bytes in 20 ms is 3.62 MB/s
        let rate = |cwnd: f64, ssthresh| pacing_rate(&p, 50.0, ssthresh, cwnd, srtt);
        assert_eq!(rate(50.0, 60.0), Some(4_344_000.0));
        assert_eq!(rate(50.0, f64::INFINITY), Some(7_240_000.0));
        // the pacing ratio of slow start applies to windows below half of ssthresh, and this half is rounded down. Half
        // of 101 is rounded to 50, so a window of 50 is not below half
        assert_eq!((rate(50.0, 101.0), rate(50.0, 102.0)), (Some(4_344_000.0), Some(7_240_000.0)));
        assert_eq!(pacing_rate(&p, 10.0, f64::INFINITY, 10.0, Duration::ZERO), None);
    }

    #[test]
    fn a_burst_is_a_thousandth_of_a_second_and_more_where_round_trips_are_short() {
        let p = params();
        // 60 Mbit/s for 1/1024 s is 7324 bytes, or 5 segments of 1448. An RTT of 1 ms (1000 >> 9 = 1 halving) adds half of
        // 64 KB, so the burst has 27 segments
        assert_eq!(autosize(&p, Some(7.5e6), 20_000, LEAST), 5);
        assert_eq!(autosize(&p, Some(7.5e6), 1_000, LEAST), 27);
        // an RTT of 5 ms (5000 >> 9 = 9 halvings of 64 KB) adds 128 bytes, too few for another segment
        assert_eq!(autosize(&p, Some(7.5e6), 5_000, LEAST), 5);
        // a slow flow sends bursts of two segments. A fast flow sends bursts of 64 KB, which are 45 segments of 1448
        assert_eq!((autosize(&p, Some(1e5), 20_000, LEAST), autosize(&p, Some(1e9), 20_000, LEAST)), (2, 45));
        assert_eq!((autosize(&p, None, u32::MAX, LEAST), autosize(&p, Some(1e300), 0, LEAST)), (45, 45));
        // with a minimum burst of one segment: 100 kB/s is 97 bytes in 1/1024 s, so a burst is one segment. At 60 Mbit/s,
        // the minimum makes no difference
        assert_eq!([1e5, 7.5e6].map(|rate| autosize(&p, Some(rate), 20_000, 1)), [1, 5]);
        let single = p.clone().with(|p| p.pacing.gso_max_segs = 1);
        assert_eq!(autosize(&single, Some(7.5e6), 20_000, LEAST), 1);
        let three = p.clone().with(|p| p.pacing.gso_max_segs = 3);
        assert_eq!(autosize(&three, Some(7.5e6), 20_000, LEAST), 3);
        // an IP packet is at most 65535 bytes long, including the headers of its segments: 43 segments of 1500 bytes, or 7 of 9000
        let tso = p.with(|p| p.pacing.tso = true);
        assert_eq!(autosize(&tso, Some(1e9), 20_000, LEAST), 43);
        assert_eq!(autosize(&tso.clone().with(|p| p.wire.mss = 8948), Some(1e9), 20_000, LEAST), 7);
        assert_eq!(autosize(&tso.with(|p| p.wire.mss = 64_000), Some(1e9), 20_000, LEAST), 1);
    }

    #[test]
    fn a_device_holds_two_bursts_or_a_thousandth_of_a_second() {
        let p = params().with(|p| p.pacing.tsq = true);
        // 60 Mbit/s at an RTT of 20 ms: a burst is 5 segments of 1500 bytes. The limit is the size of two bursts
        // (15 000 bytes), because that is more than is sent in 1/1024 s at this rate (7324 bytes)
        let mut b = Bursts { rate: Some(7.5e6), min_rtt_us: 20_000, ..Bursts::new() };
        let full = |b: &mut Bursts, local, segments, again| {
            b.local = local;
            b.device_is_full(&p, segments, again)
        };
        assert_eq!([14_999, 15_000].map(|local| full(&mut b, local, 5, false)), [false, true]);
        assert_eq!([29_999, 30_000].map(|local| full(&mut b, local, 5, true)), [false, true], "to repair a loss");
        // if a burst is one segment, two bursts are 3000 bytes. The rate sends more in 1/1024 s: 7324 bytes, which is
        // the limit
        assert_eq!([7323, 7324].map(|local| full(&mut b, local, 1, false)), [false, true]);
        // the first departure reports that a segment was waiting; at the second departure, none is waiting any more
        assert_eq!([1500, 1500].map(|bytes| b.left(bytes)), [true, false]);
        assert_eq!(b.local, 4324);
        // at 100 Gbit/s, 12.2 MB leaves in 1/1024 s, but without `paced`, the limit is 4 MB
        b.rate = Some(12.5e9);
        assert_eq!([(4 << 20) - 1, 4 << 20].map(|local| full(&mut b, local, 43, false)), [false, true]);
        assert!(!Bursts { local: 4 << 20, ..b }.device_is_full(&p.clone().with(|p| p.pacing.paced = true), 43, false));
        assert!(!Bursts { local: 2999, ..Bursts::new() }.device_is_full(&p, 1, false), "no rate yet");
    }

    /// A burst is two segments of 1000 bytes, the window is 10 segments, and the RTT is 20 ms. The oldest segment in flight was
    /// sent 19.5 ms ago, the newest 0.5 ms ago.
    #[test]
    fn a_burst_waits_for_its_second_segment() {
        let p = params().with(|p| p.wire.mss = 1000);
        let mut b = Bursts::new();
        b.sampled(20_000);
        b.rate = Some(1e5);
        b.sent(Time(100_000_000));
        let ms = Duration::from_millis;
        let now = Time(100_500_000);
        let oldest = Some(Duration::from_micros(19_500));
        let sight = BurstInputs { now, room: 1000, window: 10_000, oldest, srtt: ms(20) };
        assert!(b.waits(&p, &sight));
        assert!(!b.waits(&p, &BurstInputs { room: 2000, ..sight }));
        // in a window of three segments, one free segment is a third of the window, so a burst may leave
        assert!(!b.waits(&p, &BurstInputs { window: 3000, ..sight }));
        assert!(b.waits(&p, &BurstInputs { window: 4000, ..sight }));
        // the ACK of a segment sent 19 ms ago is due in 1 ms, so the burst waits. If it was sent 18 ms ago, the ACK is due only
        // in 2 ms, so the burst leaves. The ACK of a segment sent 30 ms ago is overdue and may arrive at any time, so the burst
        // waits
        for (age, waits) in [(19, true), (18, false), (9, false), (30, true)] {
            assert_eq!(b.waits(&p, &BurstInputs { oldest: Some(ms(age)), ..sight }), waits, "{age}");
        }
        // at an RTT of 1 ms, a sender waits only for an ACK that is due within half the RTT
        let near = BurstInputs { srtt: ms(1), oldest: Some(Duration::from_micros(500)), ..sight };
        assert!(b.waits(&p, &near));
        assert!(!b.waits(&p, &BurstInputs { oldest: Some(Duration::from_micros(499)), ..near }));
        assert!(!b.waits(&p, &BurstInputs { oldest: None, ..sight }));
        assert!(b.waits(&p, &BurstInputs { now: Time(101_000_000), ..sight }));
        assert!(!b.waits(&p, &BurstInputs { now: Time(101_000_001), ..sight }));
    }
}
