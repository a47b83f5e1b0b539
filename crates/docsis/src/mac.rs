//! The upstream transmit queue (TxQ) and its request/grant loop, after CableLabs 2012.
//!
//! ```text
//! at each MAP:  grant  = min(max_grant, REQ(0))
//!               REQ(0) <- REQ(0) - grant + REQ(1)
//!               REQ(1) <- bytes in the queue that are not yet requested
//!               the grant's bytes are sent from the MAP's start on, at the channel's rate
//! ```
//!
//! A packet that arrives between two MAPs enters REQ(1) at the next MAP, moves to REQ(0) at the second, and is granted at the
//! third, 2 intervals after the next MAP. With MAPs of 2 ms, this takes 4 to 6 ms, the delay that CableLabs 2012 states for the
//! first packet in an empty queue. Requests for later packets are piggybacked and advance one step of the request vector per MAP,
//! so they keep the channel full.
//!
//! CableLabs 2012 leaves two details open, which are therefore parameters. [`MapClock`]: MAPs follow a free-running clock, or
//! begin with the first packet ("delays the first packet transmission by 2 MAP intervals"). [`RequestVector`]: REQ(1) is the
//! value recorded at the previous MAP, or the current queue ("REQ(1) tracks the occupancy of the queue"). With the current
//! queue, every wait is shorter by one interval, except that of a packet that starts the clock.
//!
//! A packet that does not fit into the rest of a grant is fragmented (continuous concatenation and fragmentation): it frees its
//! place in the queue when its first byte is sent, and departs when its last byte has been sent in a later grant.
//!
//! Source: CableLabs 2012 §2.2.2.
//! Assumptions: a packet that arrives at the time of a MAP belongs to that MAP; the queue's limit counts packets (or bytes) whose
//! transmission has not begun; if a grant exceeds the channel's capacity in an interval, the rest is sent after the interval.

use crate::map::{Boundaries, MaxGrant};
use crate::{DocsisParams, MapClock, RequestVector, TransmitOverflow};
use packet::{Backlog, PacketMeta};
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Limit, Rng, Time};

/// A modem's transmit queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Mac {
    clock: Boundaries,
    starts_clock: MapClock,
    requests: RequestVector,
    max_grant: MaxGrant,
    limit: Limit,
    overflow: TransmitOverflow,
    /// Channel rate; `None` is infinite.
    rate: Option<BitRate>,
    /// Packets that have not been granted in full. Part of the first packet may already have been granted.
    queue: VecDeque<PacketMeta>,
    /// Bytes of the first packet that have been granted so far.
    sent_of_first: u64,
    /// REQ(0) and REQ(1).
    req: [u64; 2],
    /// Bytes that arrived since the last MAP.
    unrequested: u64,
    /// Time of the next MAP; `NEVER` while nothing is queued.
    next_map: Time,
    /// Time until which the channel is busy with the bytes granted so far.
    busy_until: Time,
    /// For each granted packet whose transmission has not begun: the time at which it begins, and the packet's size.
    starts: VecDeque<(Time, u16)>,
    /// Packets whose transmission has not begun. A packet in `starts` counts as waiting until [`Mac::update_waiting`]
    /// removes the packet.
    waiting: Backlog,
}

impl Mac {
    /// Returns an idle modem on a channel of rate `rate`. The parameters must be valid.
    pub fn new(params: &DocsisParams, rate: Option<BitRate>) -> Self {
        Self {
            clock: Boundaries::new(params.map_interval, params.map_offset),
            starts_clock: params.map_clock,
            requests: params.request_vector,
            max_grant: MaxGrant::new(params.max_grant, params.grant_variation, 1),
            limit: params.transmit_limit,
            overflow: params.transmit_queue,
            rate,
            queue: VecDeque::new(),
            sent_of_first: 0,
            req: [0; 2],
            unrequested: 0,
            next_map: Time::NEVER,
            busy_until: Time::ZERO,
            starts: VecDeque::new(),
            waiting: Backlog::default(),
        }
    }

    /// Removes the packets whose transmission has begun by `now` from `starts` and `waiting`.
    #[inline]
    fn update_waiting(&mut self, now: Time) {
        while let Some(&(start, size)) = self.starts.front() {
            if start > now {
                break;
            }
            self.starts.pop_front();
            self.waiting.packets -= 1;
            self.waiting.bytes -= u64::from(size);
        }
    }

    fn full(&self, size: u64) -> bool {
        match self.limit {
            Limit::Packets(n) => self.waiting.packets >= n,
            Limit::Bytes(n) => self.waiting.bytes + size > n.0,
            Limit::Time(_) => unreachable!("refused by validate"),
        }
    }

    /// Queues `packet`, or returns it if the queue is full. Under back-pressure the queue accepts every packet, so the
    /// caller must check [`Mac::holds_back`] before it dequeues a packet.
    pub fn push(&mut self, now: Time, packet: PacketMeta) -> Result<(), PacketMeta> {
        self.update_waiting(now);
        if self.overflow == TransmitOverflow::Drop && self.full(packet.bytes()) {
            return Err(packet);
        }
        self.waiting.packets += 1;
        self.waiting.bytes += packet.bytes();
        self.unrequested += packet.bytes();
        self.queue.push_back(packet);
        if self.next_map == Time::NEVER {
            self.next_map = self.first_map(now);
        }
        Ok(())
    }

    /// Returns the time of the first MAP after a packet arrives in an empty queue at `now`. The MAP may be at `now`
    /// itself.
    fn first_map(&self, now: Time) -> Time {
        match (self.starts_clock, self.requests) {
            (MapClock::FreeRunning, _) => self.clock.boundary(now),
            // if the first packet starts the clock, the packet is granted two intervals after its arrival, with either
            // kind of request vector
            (MapClock::FromFirstPacket, RequestVector::Recorded) => now,
            (MapClock::FromFirstPacket, RequestVector::Live) => now + self.clock.interval,
        }
    }

    /// Returns true if the managed queue must keep its packets because the transmit queue is full. A transmit queue
    /// with a limit in bytes accepts a packet while at least one byte is free, so the last packet may exceed the limit.
    pub fn holds_back(&mut self, now: Time) -> bool {
        self.update_waiting(now);
        self.overflow == TransmitOverflow::BackPressure && self.full(1)
    }

    /// Returns the earliest time at which a full queue may have room.
    pub fn room_at(&self) -> Time {
        self.starts.front().map_or(self.next_map, |s| s.0)
    }

    /// Returns the time at which [`Mac::map`] must be called next; `NEVER` while the queue is empty.
    #[inline]
    pub fn next_map(&self) -> Time {
        self.next_map
    }

    /// Handles a MAP: grants bytes from REQ(0) and adds REQ(1) to REQ(0). Passes to `depart` each packet whose last
    /// byte is granted, with the time at which the packet's last bit is sent.
    pub fn map(&mut self, now: Time, rng: &mut Rng, mut depart: impl FnMut(PacketMeta, Time)) {
        if self.requests == RequestVector::Live {
            self.req[1] += std::mem::take(&mut self.unrequested);
        }
        let grant = self.max_grant.draw(rng).min(self.req[0]);
        self.req = [self.req[0] - grant + self.req[1], self.unrequested];
        self.unrequested = 0;
        self.transmit(now, grant, &mut depart);
        let pending = self.req[0] + self.req[1];
        debug_assert_eq!(
            pending,
            self.queue.iter().map(PacketMeta::bytes).sum::<u64>() - self.sent_of_first,
            "every queued byte is granted or requested"
        );
        self.next_map = if pending > 0 { now + self.clock.interval } else { Time::NEVER };
    }

    /// Sends `grant` bytes from the head of the queue, from `now` on or as soon as the channel is free.
    fn transmit(&mut self, now: Time, grant: u64, depart: &mut impl FnMut(PacketMeta, Time)) {
        let begin = now.max(self.busy_until);
        let time_of = |bytes: u64| begin + self.rate.map_or(Duration::ZERO, |r| r.time_for(bytes));
        let mut used = 0;
        // bound: each iteration removes a packet or uses up the grant
        while used < grant {
            let first = self.queue.front().expect("a grant never exceeds what was requested");
            if self.sent_of_first == 0 {
                self.starts.push_back((time_of(used), first.size));
            }
            let left = first.bytes() - self.sent_of_first;
            if left > grant - used {
                self.sent_of_first += grant - used;
                used = grant;
            } else {
                used += left;
                self.sent_of_first = 0;
                depart(*first, time_of(used));
                self.queue.pop_front();
            }
        }
        self.busy_until = time_of(used);
    }

    /// Returns the numbers of packets and of bytes whose transmission has not begun by `now`.
    pub fn backlog(&self, now: Time) -> Backlog {
        let begun = self.starts.iter().take_while(|s| s.0 <= now);
        begun.fold(self.waiting, |b, s| Backlog { packets: b.packets - 1, bytes: b.bytes - u64::from(s.1) })
    }

    /// Returns the number of packets not yet passed to `depart`, including a fragmented packet.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Returns the expected time until a packet that enters now is granted, if all grants have the mean size. This time is the
    /// sum of the time to the next MAP, two intervals (one if requests are live), and the intervals needed for the bytes queued
    /// ahead.
    ///
    /// Source: CableLabs 2012 §2.2.3 a (sojourn time across both queues); the estimate is ours.
    pub fn expected_wait(&self, now: Time) -> Duration {
        let boundary = if self.next_map == Time::NEVER { self.first_map(now) } else { self.next_map };
        let live = self.requests == RequestVector::Live;
        let steps = if live { 1 } else { 2 };
        let more = self.max_grant.mean().map_or(0, |mean| {
            // a packet that enters now is in neither REQ(0) nor REQ(1). With recorded requests, the next two MAPs can
            // grant only bytes that are in REQ(0) or REQ(1) now. With live requests, only the next MAP is limited to
            // these bytes, and REQ(1) is 0
            let after_first = if live { self.req[0] } else { self.req[0].saturating_sub(mean) + self.req[1] };
            (after_first.saturating_sub(mean) + self.unrequested) / mean
        });
        boundary.since(now) + self.clock.interval * (steps + more)
    }

    /// Changes the channel's rate.
    pub fn set_rate(&mut self, rate: BitRate) {
        self.rate = Some(rate);
    }

    /// Sets the mean of the maximum grant size.
    pub fn set_max_grant(&mut self, mean: Bytes) {
        self.max_grant.set_mean(mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShaperParams;
    use units::Prob;

    fn params() -> DocsisParams {
        let flow = ShaperParams {
            max_sustained_rate: BitRate(5_000_000),
            max_traffic_burst: Bytes(10_000_000),
            peak_traffic_rate: Some(BitRate(20_000_000)),
            peak_burst: Bytes(1522),
        };
        DocsisParams { transmit_queue: TransmitOverflow::Drop, ..DocsisParams::new(flow) }
    }

    fn packet(seq: u64, size: u16) -> PacketMeta {
        PacketMeta { seq, size, ..Default::default() }
    }

    /// Runs every MAP up to `end`. Returns the sequence numbers and times (us) of the departures.
    fn run(mac: &mut Mac, rng: &mut Rng, end: Time) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        while mac.next_map() <= end {
            mac.map(mac.next_map(), rng, |p, t| out.push((p.seq, t.0 / 1000)));
        }
        out
    }

    #[test]
    fn first_packet_waits_two_maps_after_the_next_boundary() {
        // MAPs are sent at 0, 2, 4 ... ms, and packets take no time on the channel; the times below are in us
        let mut rng = Rng::named(1, "mac");
        for (arrival, leaves) in [(1, 6000), (1999, 6000), (2000, 6000), (2001, 8000), (10_500, 16_000)] {
            let mut mac = Mac::new(&params(), None);
            mac.push(Time(arrival * 1000), packet(0, 1500)).unwrap();
            assert_eq!(run(&mut mac, &mut rng, Time(1 << 40)), [(0, leaves)]);
            assert!((4000..=6000).contains(&(leaves - arrival)));
            assert_eq!(mac.next_map(), Time::NEVER, "no MAP events while idle");
        }
        // with an offset of 300 us, MAPs are sent at 0.3, 2.3, 4.3 ... ms
        let mut mac = Mac::new(&DocsisParams { map_offset: Duration::from_micros(300), ..params() }, None);
        mac.push(Time(301_000), packet(0, 50)).unwrap();
        assert_eq!(run(&mut mac, &mut rng, Time(1 << 40)), [(0, 6300)]);
    }

    #[test]
    fn the_four_readings_of_the_loop() {
        // packet A arrives in an empty queue at 1.0 ms, B arrives at 3.5 ms while A is waiting, and C arrives in an
        // empty queue at 20.5 ms. The next MAPs of a free-running clock are at 2, 4 and 22 ms. Times in ms:
        //   free-running, recorded: a packet is granted 4 ms after the next MAP, so at 6, 8 and 26
        //   free-running, live: a packet is granted 2 ms after the next MAP, so at 4, 6 and 24
        //   from the first packet, recorded: MAPs are at 1, 3, 5, 7, 9. A is requested at 1 and granted at 5; B is
        //     requested at 5 and granted at 9. C starts the clock again at 20.5 and is granted at 24.5
        //   from the first packet, live: MAPs are at 3, 5, 7. A is requested at 3 and granted at 5; B is requested at 5
        //     and granted at 7. C is requested at 22.5 and granted at 24.5
        use {MapClock::*, RequestVector::*};
        for (map_clock, request_vector, leaves) in [
            (FreeRunning, Recorded, [6000, 8000, 26_000]),
            (FreeRunning, Live, [4000, 6000, 24_000]),
            (FromFirstPacket, Recorded, [5000, 9000, 24_500]),
            (FromFirstPacket, Live, [5000, 7000, 24_500]),
        ] {
            let mut mac = Mac::new(&DocsisParams { map_clock, request_vector, ..params() }, None);
            let mut rng = Rng::named(1, "mac");
            let mut out = Vec::new();
            for (seq, us) in [(0, 1000), (1, 3500), (2, 20_500)] {
                out.extend(run(&mut mac, &mut rng, Time(us * 1000)));
                mac.push(Time(us * 1000), packet(seq, 1500)).unwrap();
            }
            out.extend(run(&mut mac, &mut rng, Time(1 << 40)));
            assert_eq!(out, [(0, leaves[0]), (1, leaves[1]), (2, leaves[2])], "{map_clock:?} {request_vector:?}");
        }
    }

    #[test]
    fn request_vector_by_hand() {
        // A (1500 B) arrives at 0.5 ms, B (1000 B) at 2.5 ms and C (50 B) at 4.5 ms. Grants are at most 1200 B, and the channel's
        // rate is 12 Mbit/s. REQ is the pair (REQ(0), REQ(1)) after the MAP, in bytes. Times are in ms:
        //   MAP at 2   REQ = (0, 1500)
        //   MAP at 4   REQ = (1500, 1000)
        //   MAP at 6   grant 1200, REQ = (300 + 1000, 50)   sends A's first 1200 B
        //   MAP at 8   grant 1200, REQ = (100 + 50, 0)      sends A's last 300 B by 8.2, and B's first 900 B
        //   MAP at 10  grant 150                            sends B's last 100 B by 10.0667, and C by 10.1
        let mut mac = Mac::new(&DocsisParams { max_grant: Some(Bytes(1200)), ..params() }, Some(BitRate(12_000_000)));
        let mut rng = Rng::named(1, "mac");
        let mut out = Vec::new();
        for (seq, us, size) in [(0, 500, 1500), (1, 2500, 1000), (2, 4500, 50)] {
            out.extend(run(&mut mac, &mut rng, Time(us * 1000)));
            mac.push(Time(us * 1000), packet(seq, size)).unwrap();
        }
        out.extend(run(&mut mac, &mut rng, Time(20_000_000)));
        assert_eq!(out, [(0, 8200), (1, 10_066), (2, 10_100)]);
        assert_eq!(rng, Rng::named(1, "mac"), "grant variation 0 draws nothing");
    }

    #[test]
    fn the_limit_counts_packets_that_have_not_begun() {
        let mut mac = Mac::new(&params(), Some(BitRate(100_000_000)));
        let mut rng = Rng::named(1, "mac");
        for i in 0..32 {
            assert!(mac.push(Time(1), packet(i, 1500)).is_ok());
        }
        assert_eq!(mac.push(Time(1), packet(32, 1500)).unwrap_err().seq, 32);
        run(&mut mac, &mut rng, Time(6_000_000));
        // all packets are granted at 6 ms, and a transmission begins every 120 us
        assert_eq!(mac.backlog(Time(6_000_000)).packets, 31);
        assert_eq!(mac.backlog(Time(6_119_999)).packets, 31);
        assert_eq!(mac.backlog(Time(6_120_000)), Backlog { packets: 30, bytes: 45_000 });
        assert_eq!(mac.backlog(Time(20_000_000)), Backlog::default());
    }

    #[test]
    fn transmit_queue_drains_in_76_8_ms_at_5_mbit() {
        // at 5 Mbit/s, grants of 1250 B fill each MAP interval, so 32 packets of 1500 B take 76.8 ms from the first grant on
        let p = DocsisParams { max_grant: Some(Bytes(1250)), ..params() };
        let mut mac = Mac::new(&p, Some(BitRate(5_000_000)));
        for i in 0..32 {
            mac.push(Time(0), packet(i, 1500)).unwrap();
        }
        let out = run(&mut mac, &mut Rng::named(1, "mac"), Time(1 << 40));
        assert_eq!(out.last(), Some(&(31, 4000 + 76_800)));
        assert_eq!(out[0], (0, 4000 + 2400));
    }

    #[test]
    fn varied_grants_keep_their_mean_and_range() {
        // borderline congestion in CableLabs 2012: the maximum grant of 1250 B +- 20 % is 1000 to 1500 B per MAP, which
        // is 5 Mbit/s on average
        let p = DocsisParams { max_grant: Some(Bytes(1250)), grant_variation: Prob::new(0.2).unwrap(), ..params() };
        let draw = MaxGrant::new(p.max_grant, p.grant_variation, 1);
        let mut rng = Rng::named(1, "mac");
        let grants: Vec<u64> = (0..20_000).map(|_| draw.draw(&mut rng)).collect();
        assert_eq!((*grants.iter().min().unwrap(), *grants.iter().max().unwrap()), (1000, 1500));
        // the standard error of the mean is 500 / sqrt(12) / sqrt(20 000) = 1.02 B; the bound is five standard errors
        assert!((grants.iter().sum::<u64>() as f64 / 20_000.0 - 1250.0).abs() < 5.1);
    }

    #[test]
    fn back_pressure_never_drops() {
        let p = DocsisParams { transmit_queue: TransmitOverflow::BackPressure, ..params() };
        let mut mac = Mac::new(&p, Some(BitRate(100_000_000)));
        for i in 0..32 {
            assert!(!mac.holds_back(Time(0)));
            mac.push(Time(0), packet(i, 1500)).unwrap();
        }
        assert!(mac.holds_back(Time(0)));
        assert_eq!(mac.room_at(), Time(0), "the MAP at 0 comes first");
        run(&mut mac, &mut Rng::named(1, "mac"), Time(4_000_000));
        assert!(!mac.holds_back(Time(4_000_000)));
    }

    #[test]
    fn expected_wait_is_what_a_packet_then_sees() {
        // 30 000 B are queued ahead of the packet. They take 24 grants, one every 2 ms from 6 ms on (4 ms with live requests), and
        // the packet itself is sent in the 25th grant
        for (request_vector, leaves) in [(RequestVector::Recorded, 54_000), (RequestVector::Live, 52_000)] {
            let p = DocsisParams { max_grant: Some(Bytes(1250)), request_vector, ..params() };
            let mut mac = Mac::new(&p, None);
            for i in 0..20 {
                mac.push(Time(100_000), packet(i, 1500)).unwrap();
            }
            let expected = mac.expected_wait(Time(100_000));
            mac.push(Time(100_000), packet(20, 50)).unwrap();
            let mut rng = Rng::named(1, "mac");
            let mut out = run(&mut mac, &mut rng, Time(20_000_000));
            // a second packet arrives at 20.1 ms, with requests outstanding
            let later = mac.expected_wait(Time(20_100_000));
            mac.push(Time(20_100_000), packet(21, 50)).unwrap();
            out.extend(run(&mut mac, &mut rng, Time(1 << 40)));
            assert_eq!((out[20], expected), ((20, leaves), Duration::from_micros(leaves - 100)));
            assert_eq!((out[21], later), ((21, leaves), Duration::from_micros(leaves - 20_100)));
            let first = if request_vector == RequestVector::Live { 3900 } else { 5900 };
            assert_eq!(Mac::new(&p, None).expected_wait(Time(100_000)), Duration::from_micros(first));
        }
    }
}
