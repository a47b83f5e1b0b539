//! The virtual queue of an upstream, which estimates the delay of the Low Latency queue without the wait for grants.
//!
//! ```text
//! vq          drains 1 s per s;  an arriving packet adds 8 x size / MAX_RATE;  undone if the packet does not stay in L
//! every half MAP interval:
//!   average   += (bytes in L - average) / 2^7
//!   allowed   = loop delay x (MAX_RATE - GGR) / 8 + GGR x GGI / 8          loop delay = MinReqGntDelay + a MAP interval
//!   average > allowed:  vq = max(vq, 8 x (average - allowed) / MAX_RATE)
//! ```
//!
//! A modem requests a grant for its bytes, and they wait until the grant arrives (the request loop). So even without
//! congestion, the modem holds the bytes that arrived during the last loop delay, except those sent in guaranteed
//! grants. The virtual queue is the queue that a link at MAX_RATE would have without a request loop. If the average
//! queue exceeds `allowed`, the grants amount to less than MAX_RATE and the excess is a real queue, so the virtual
//! queue is raised to the excess.
//!
//! Source: MULPIv3.1 Annex O (qdelayCoupledV) by way of docsis-ns3 of 2023 (facts).
//! Symbols: GGR and GGI are the rate and the interval of guaranteed grants, which need no request; L is the Low Latency
//! queue.
//! Units: the bytes queued in L include the MAC header; the sizes of arriving packets do not.
//! Departs: the unsent part of a fragmented packet is not counted. Sampling stops while L is empty and the average is
//! at most `allowed`; the next arrival applies the missed samples to the average.

use packet::RequestLoop;
use units::{BitRate, Duration, Time};

/// A new sample enters the average with a weight of 2^-LG_ALPHA.
const LG_ALPHA: u32 = 7;
/// The average is stored in units of 2^-LG_PARTS bytes.
const LG_PARTS: u32 = 16;
/// After this number of consecutive samples of an empty queue, any average has fallen to zero. An average is at most
/// 2^56 units. Each of these samples multiplies it by 127/128 and rounds it down, so fewer than 128 ln(2^56) = 4968
/// samples are enough.
const ALL: u64 = 6000;

/// Stands in for the request loop on a link that has none: packets never wait for a grant, so `allowed` is 0. The
/// actual queue is still sampled, every 500 us.
pub(super) const NO_LOOP: RequestLoop = RequestLoop {
    delay: Duration::ZERO,
    sample: Duration::from_micros(500),
    guaranteed_rate: BitRate(0),
    guaranteed_interval: Duration::ZERO,
};

/// The virtual queue, together with the average length of the actual queue. While this average exceeds `allowed`, every
/// sample raises the virtual queue to at least the excess.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VirtualQueue {
    of: RequestLoop,
    rate: BitRate,
    /// Number of bytes that wait for grants, on average, if bytes arrive at MAX_RATE without congestion. Only the bytes
    /// beyond this number form a real queue.
    allowed: u64,
    vq: Duration,
    /// Time at which the value of `vq` was computed.
    at: Time,
    /// Average length of the actual queue, in units of 2^-LG_PARTS bytes.
    average: u64,
    /// Time up to which all samples that were due are included in the average.
    sampled: Time,
    next: Option<Time>,
}

impl VirtualQueue {
    /// Creates an empty virtual queue that drains at `rate` (MAX_RATE), which must be positive.
    pub(crate) fn new(of: &RequestLoop, rate: BitRate) -> Self {
        let mut queue = Self {
            of: *of,
            rate,
            allowed: 0,
            vq: Duration::ZERO,
            at: Time::ZERO,
            average: 0,
            sampled: Time::ZERO,
            next: None,
        };
        queue.set_rate(rate);
        queue
    }

    /// Changes MAX_RATE.
    pub(crate) fn set_rate(&mut self, rate: BitRate) {
        let unasked = self.of.guaranteed_rate.min(rate);
        self.rate = rate;
        self.allowed =
            BitRate(rate.0 - unasked.0).bytes_in(self.of.delay) + unasked.bytes_in(self.of.guaranteed_interval);
    }

    /// Adds a packet of `bytes` that arrives at `now`, and returns the delay of the virtual queue including that packet.
    pub(crate) fn arrive(&mut self, now: Time, bytes: u64) -> Duration {
        if self.next.is_none() {
            self.resume(now);
        }
        self.vq = self.vq.saturating_sub(now.since(self.at)) + self.rate.time_for(bytes);
        self.at = now;
        self.vq
    }

    /// Undoes `arrive` for the packet that has just arrived, because it does not stay in L. `bytes` is the packet's size.
    pub(crate) fn take_back(&mut self, bytes: u64) {
        self.vq = self.vq.saturating_sub(self.rate.time_for(bytes));
    }

    /// Returns the time at which the caller must next call [`VirtualQueue::sample`]; `None` while sampling has stopped.
    pub(crate) fn next(&self) -> Option<Time> {
        self.next
    }

    /// Adds one sample to the average: the actual queue holds `bytes` at `now`. If the average then exceeds `allowed`,
    /// raises the virtual queue to at least the excess.
    pub(crate) fn sample(&mut self, now: Time, bytes: u64) {
        self.mix(bytes);
        let average = self.average >> LG_PARTS;
        let excess = average.saturating_sub(self.allowed);
        if excess > 0 {
            let left = self.vq.saturating_sub(now.since(self.at));
            (self.vq, self.at) = (left.max(self.rate.time_for(excess)), now);
        }
        self.sampled = now;
        self.next = (bytes > 0 || excess > 0).then(|| self.after(now));
    }

    fn mix(&mut self, bytes: u64) {
        let sample = (bytes.min(1 << 40) << LG_PARTS) as i64;
        let step = (sample - self.average as i64) >> LG_ALPHA;
        self.average = self.average.saturating_add_signed(step);
    }

    /// Returns the time of the first sample after `now`.
    fn after(&self, now: Time) -> Time {
        let every = self.of.sample.0.max(1);
        Time((now.0 / every + 1) * every)
    }

    /// Starts sampling again. The samples missed since sampling stopped enter the average as zeros, because the queue
    /// was empty throughout.
    fn resume(&mut self, now: Time) {
        let every = self.of.sample.0.max(1);
        let missed = now.0 / every - self.sampled.0 / every;
        if missed > ALL {
            self.average = 0;
        } else {
            (0..missed).for_each(|_| self.mix(0));
        }
        self.sampled = now;
        self.next = Some(self.after(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a virtual queue at 50 Mbit/s. A request is granted after 1.62 ms plus a MAP interval of 2.025 ms. The
    /// modem also gets a grant without a request every 945 us; these grants add up to `ggr` bit/s.
    fn queue(ggr: u64) -> VirtualQueue {
        let of = RequestLoop {
            delay: Duration(1_620_000 + 2_025_000),
            sample: Duration(1_012_500),
            guaranteed_rate: BitRate(ggr),
            guaranteed_interval: Duration(945_000),
        };
        VirtualQueue::new(&of, BitRate(50_000_000))
    }

    #[test]
    fn what_the_loop_holds_is_allowed() {
        // A packet that needs a request waits for 3.645 ms, in which 3.645 ms x 50 Mbit/s / 8 = 22 781 B arrive. If 5
        // Mbit/s is granted without requests, the packets that use these grants wait for 0.945 ms only. So 3.645 ms x
        // 45 Mbit/s / 8 = 20 503 B wait for requested grants, and 0.945 ms x 5 Mbit/s / 8 = 590 B wait for grants
        // without requests.
        assert_eq!([queue(0).allowed, queue(5_000_000).allowed], [22_781, 20_503 + 590]);
        // if the full rate is granted without requests, 0.945 ms x 50 Mbit/s / 8 = 5906 B are allowed
        assert_eq!(queue(50_000_000).allowed, 5906);
    }

    #[test]
    fn packets_at_less_than_the_rate_find_themselves_only() {
        // 1518 B take 242.88 us at 50 Mbit/s. If packets arrive every 250 us, each packet finds the virtual queue
        // empty. If they arrive every 200 us, the virtual queue grows by 42.88 us with each packet.
        let mut q = queue(0);
        let delays: Vec<u64> = (0..4).map(|i| q.arrive(Time(i * 250_000), 1518).0).collect();
        assert_eq!(delays, [242_880; 4]);
        let mut q = queue(0);
        let delays: Vec<u64> = (0..4).map(|i| q.arrive(Time(i * 200_000), 1518).0).collect();
        assert_eq!(delays, [242_880, 285_760, 328_640, 371_520]);
        // a packet that is sanctioned or dropped is taken out of the virtual queue again
        q.take_back(1518);
        assert_eq!(q.arrive(Time(600_000), 1518).0, 371_520);
    }

    #[test]
    fn a_queue_beyond_the_loops_own_is_found_by_its_average() {
        // Every sample finds 40 000 B in the queue, so the average is 40 000 (1 - (127/128)^n) B after n samples. The
        // average exceeds the allowed 22 781 B from n = 108 on, because (127/128)^107 = 0.432047 gives 22 718 B, and
        // (127/128)^108 = 0.428672 gives 22 853 B.
        let mut q = queue(0);
        q.arrive(Time(0), 1518);
        let mut at = Vec::new();
        for _ in 0..2000 {
            let now = q.next().unwrap();
            q.sample(now, 40_000);
            at.push((q.average >> LG_PARTS, q.vq.0));
        }
        assert!(at[106].0.abs_diff(22_718) <= 1 && at[107].0.abs_diff(22_853) <= 1, "{:?} {:?}", at[106], at[107]);
        // at the end, the average of 40 000 B is 17 219 B above the allowed 22 781 B; these bytes take 2.755 ms at 50
        // Mbit/s
        assert!(at[1999].1.abs_diff(2_755_040) < 1_000, "{}", at[1999].1);
    }

    #[test]
    fn the_clock_stops_and_what_it_missed_is_made_up_for() {
        let run = |look: bool| {
            let mut q = queue(0);
            q.arrive(Time(0), 1518);
            for _ in 0..40 {
                let now = q.next().unwrap();
                q.sample(now, 20_000);
            }
            let mut now = q.next().unwrap();
            q.sample(now, 0);
            assert_eq!(q.next(), None, "L is empty, and the average is below `allowed`");
            for _ in 0..20 {
                now += q.of.sample;
                if look {
                    q.sample(now, 0);
                }
            }
            q.arrive(now + Duration(1), 1518);
            q.average
        };
        // after 40 samples of 20 000 B the average is 20 000 (1 - (127/128)^40) = 5386 B; 21 empty samples reduce it to 4568 B
        assert_eq!(run(true), run(false));
        assert!((run(false) >> LG_PARTS).abs_diff(4568) <= 1, "{}", run(false) >> LG_PARTS);
    }
}
