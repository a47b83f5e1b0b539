//! An upstream without a transmit queue: grants drain the managed queue itself (CableLabs' DocsisLink, 2013).
//!
//! ```text
//! REQ(0): requested bytes that this MAP can grant;  REQ(1): bytes requested since the last MAP
//! w = grant_variation x mean;  MSR: Maximum Sustained Rate
//!
//! at each MAP:  grant  = min(REQ(0), max_grant)            max_grant = mean + U{-w .. w-1}
//!               REQ(0) <- REQ(0) - grant + REQ(1);  REQ(1) <- 0;  tokens += grant
//!               without tokens, a contention request is sent at once;
//!               with tokens, the grant begins at MAP + U(0, interval - length of the grant), or follows the previous grant
//!               if that is still being sent
//! request:      queued + rest of a fragment - REQ(0) - tokens, at most min(MSR tokens, peak tokens)  -> REQ(1)
//!               MSR tokens are charged for the requested bytes; peak tokens = time since the last request x peak rate / 8
//! in a grant:   a packet is dequeued when the channel is free; a packet that does not fit is fragmented
//! ```
//!
//! Tokens that are left when the queue becomes empty are discarded. Byte counts are integers.
//!
//! Source: the behaviour of ns-2 link/docsislink.cc. Assumptions: a contention request always succeeds. "Last request"
//! means the last opportunity for a request, even if nothing was requested. An idle modem has an opportunity in every
//! MAP, so its peak tokens are the bytes that the peak rate carries in one interval. A packet that arrives at an idle
//! modem is requested at the next MAP boundary.

use crate::map::{Boundaries, MaxGrant};
use crate::{DocsisParams, TokenBucket};
use packet::PacketMeta;
use units::{BitRate, Bytes, Duration, Rng, Time};

/// The caller's next step after [`GrantedLink::advance`] or [`GrantedLink::send`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Do nothing until the next [`GrantedLink::deadline`].
    Wait,
    /// Dequeue a packet and pass it to [`GrantedLink::send`], or pass `None` if the queue is empty.
    Dequeue,
    /// The packet leaves: its last bit is sent at the given time.
    Depart(PacketMeta, Time),
}

/// A modem of the 2013 model.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantedLink {
    clock: Boundaries,
    max_grant: MaxGrant,
    /// True if the parameters or a change have set `max_grant`. False if it follows the rates.
    max_grant_is_set: bool,
    /// Token bucket of the Maximum Sustained Rate. There is no peak bucket: `peak_rate` limits each request instead.
    msr: TokenBucket,
    /// `None` if the peak is not limited.
    peak_rate: Option<BitRate>,
    /// Time of the last opportunity to send a request.
    last_request: Time,
    rate: Option<BitRate>,
    req: [u64; 2],
    /// Granted bytes not yet used.
    tokens: u64,
    /// The fragmented packet, and the number of its bytes not yet sent.
    fragment: Option<(PacketMeta, u64)>,
    /// Time of the next MAP; `NEVER` while idle.
    next_map: Time,
    /// Time at which the next grant begins. The request that is piggybacked on the grant is sent at the same time.
    /// `NEVER` if no grant is about to begin.
    grant_at: Time,
    /// Time at which the next packet of the grant is sent; `NEVER` while no grant is being used.
    send_at: Time,
    /// Time at which the modem's latest transmission on the channel ends.
    busy_until: Time,
}

impl GrantedLink {
    /// Returns an idle modem on a channel of rate `rate` (`None` is infinite). The parameters must be valid.
    pub fn new(params: &DocsisParams, rate: Option<BitRate>) -> Self {
        let flow = crate::ShaperParams { peak_traffic_rate: None, ..params.flow.clone() };
        let mut link = Self {
            clock: Boundaries::new(params.map_interval, params.map_offset),
            max_grant: MaxGrant::new(params.max_grant, params.grant_variation, 0),
            max_grant_is_set: params.max_grant.is_some(),
            msr: TokenBucket::new(&flow),
            peak_rate: params.flow.peak_traffic_rate,
            last_request: Time::ZERO,
            rate,
            req: [0; 2],
            tokens: 0,
            fragment: None,
            next_map: Time::NEVER,
            grant_at: Time::NEVER,
            send_at: Time::NEVER,
            busy_until: Time::ZERO,
        };
        link.update_max_grant();
        link
    }

    /// Reports that a packet waits in the queue. An idle modem then requests a grant at the next MAP.
    pub fn notify(&mut self, now: Time) {
        if self.next_map == Time::NEVER {
            self.next_map = self.clock.boundary(now);
            // an idle modem has an opportunity to send a request at every MAP, although it has no MAP events. So its
            // last opportunity was the MAP before `next_map`
            self.last_request = self.last_request.max(self.next_map - self.clock.interval);
        }
    }

    /// Returns the time at which [`GrantedLink::advance`] must be called next; `NEVER` while idle.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.next_map.min(self.grant_at).min(self.send_at)
    }

    /// Handles the first event that is due at `now` = [`GrantedLink::deadline`]. `queued` is the number of bytes in the queue.
    pub fn advance(&mut self, now: Time, queued: u64, rng: &mut Rng) -> Next {
        debug_assert!(now == self.deadline());
        if self.send_at <= now {
            return match self.fragment.take() {
                Some((packet, left)) => self.send_part(now, packet, left),
                None => Next::Dequeue,
            };
        }
        if self.grant_at <= now {
            self.grant_at = Time::NEVER;
            self.request(now, queued);
            self.send_at = now.max(self.busy_until);
            return Next::Wait;
        }
        self.map(now, queued, rng);
        Next::Wait
    }

    fn map(&mut self, now: Time, queued: u64, rng: &mut Rng) {
        let grant = self.req[0].min(self.max_grant.draw(rng));
        self.req = [self.req[0] - grant + self.req[1], 0];
        self.tokens += grant;
        if self.tokens == 0 {
            self.request(now, queued);
        } else if self.send_at == Time::NEVER {
            let length = self.rate.map_or(Duration::ZERO, |r| r.time_for(self.tokens));
            let slack = self.clock.interval.saturating_sub(length);
            self.grant_at = now + Duration(rng.below(slack.0 + 1));
        } else {
            // the previous grant is still being sent, so the new grant follows it without a gap. The request that is
            // piggybacked on the new grant is sent now
            self.request(now, queued);
        }
        let left = queued + self.fragment.map_or(0, |f| f.1);
        let idle = left == 0 && self.req == [0; 2] && self.tokens == 0;
        self.next_map = if idle { Time::NEVER } else { now + self.clock.interval };
    }

    fn request(&mut self, now: Time, queued: u64) {
        let waiting = queued + self.fragment.map_or(0, |f| f.1);
        let wanted = waiting.saturating_sub(self.req[0] + self.req[1] + self.tokens);
        let peak_tokens = self.peak_rate().bytes_in(now.since(self.last_request));
        let bytes = wanted.min(peak_tokens).min(self.msr.tokens(now).0);
        self.last_request = now;
        if bytes > 0 {
            self.msr.take(now, bytes);
            self.req[1] += bytes;
        }
    }

    /// Sends the packet that [`Next::Dequeue`] requested. If the queue was empty (`None`), the rest of the grant is lost.
    pub fn send(&mut self, now: Time, packet: Option<PacketMeta>) -> Next {
        match packet {
            Some(packet) => self.send_part(now, packet, packet.bytes()),
            None => {
                self.tokens = 0;
                self.send_at = Time::NEVER;
                Next::Wait
            }
        }
    }

    fn send_part(&mut self, now: Time, packet: PacketMeta, left: u64) -> Next {
        let bytes = left.min(self.tokens);
        self.tokens -= bytes;
        let end = now + self.rate.map_or(Duration::ZERO, |r| r.time_for(bytes));
        self.busy_until = end;
        self.send_at = if self.tokens > 0 { end } else { Time::NEVER };
        if bytes < left {
            self.fragment = Some((packet, left - bytes));
            return Next::Wait;
        }
        Next::Depart(packet, end)
    }

    /// Returns the fragmented packet, if there is one.
    pub fn fragment(&self) -> Option<&PacketMeta> {
        self.fragment.as_ref().map(|f| &f.0)
    }

    /// Returns the number of whole bytes for which the bucket of the Maximum Sustained Rate has tokens at `now`.
    /// Requests for these bytes are limited by the peak rate only.
    pub fn tokens(&self, now: Time) -> Bytes {
        self.msr.tokens(now)
    }

    /// Returns the Maximum Sustained Traffic Rate.
    pub fn sustained_rate(&self) -> BitRate {
        self.msr.rate()
    }

    /// Returns the Peak Traffic Rate, or the channel's rate if the peak is not limited.
    pub fn peak_rate(&self) -> BitRate {
        self.peak_rate.or(self.rate).unwrap_or(BitRate(u64::MAX))
    }

    /// Limits grants to the bytes that the peak rate carries in a MAP interval, unless their maximum size is set.
    fn update_max_grant(&mut self) {
        if !self.max_grant_is_set {
            self.max_grant.set_mean(Bytes(self.peak_rate().bytes_in(self.clock.interval).max(1)));
        }
    }

    /// Changes the rates, which must be positive, from `now` on; `None` keeps the present rate. An unlimited peak rate stays
    /// unlimited.
    pub fn set_rates(&mut self, now: Time, sustained: Option<BitRate>, peak: Option<BitRate>) {
        self.msr.set_rates(now, sustained, None);
        if self.peak_rate.is_some() {
            self.peak_rate = peak.or(self.peak_rate);
        }
        self.update_max_grant();
    }

    /// Changes the channel's rate.
    pub fn set_rate(&mut self, rate: BitRate) {
        self.rate = Some(rate);
        self.update_max_grant();
    }

    /// Sets the mean of the maximum grant size, which then no longer follows the rates.
    pub fn set_max_grant(&mut self, mean: Bytes) {
        self.max_grant.set_mean(mean);
        self.max_grant_is_set = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Model, ShaperParams};
    use std::collections::VecDeque;
    use units::Prob;

    /// Returns the parameters from the example script of ns-2's DocsisLink: 2 Mbit/s, bursts of 6.25 MB at 5 Mbit/s,
    /// and MAPs of 2 ms.
    fn params() -> DocsisParams {
        DocsisParams {
            model: Model::DocsisLink2013,
            ..DocsisParams::new(ShaperParams {
                max_sustained_rate: BitRate(2_000_000),
                max_traffic_burst: Bytes(6_250_000),
                peak_traffic_rate: Some(BitRate(5_000_000)),
                peak_burst: Bytes(1522),
            })
        }
    }

    /// Returns the departure times, up to `end`, of `n` packets of 1500 B that arrive at `start`. The channel's rate is
    /// 100 Mbit/s.
    fn drain(p: &DocsisParams, n: usize, start: Time, end: Time) -> Vec<Time> {
        drain_link(GrantedLink::new(p, Some(BitRate(100_000_000))), n, start, end)
    }

    /// Does the same as `drain`, for the modem `link`.
    fn drain_link(mut link: GrantedLink, n: usize, start: Time, end: Time) -> Vec<Time> {
        let mut queue: VecDeque<PacketMeta> = (0..n).map(|_| PacketMeta { size: 1500, ..Default::default() }).collect();
        let mut rng = Rng::named(1, "mac");
        let mut out = Vec::new();
        link.notify(start);
        while link.deadline() <= end {
            let now = link.deadline();
            let mut next = link.advance(now, queue.len() as u64 * 1500, &mut rng);
            if next == Next::Dequeue {
                next = link.send(now, queue.pop_front());
            }
            if let Next::Depart(_, t) = next {
                out.push(t);
            }
        }
        out
    }

    #[test]
    fn one_packet_takes_two_intervals_and_a_place_in_the_grant() {
        // the packet arrives at 4.5 ms. It is requested by contention at 6 ms, which puts it into REQ(1); it moves to REQ(0) at
        // 8 ms and is granted at 10 ms. The grant begins in [10 ms, 12 ms - 120 us], and the packet takes 120 us on the channel
        let flow = ShaperParams { peak_traffic_rate: Some(BitRate(20_000_000)), ..params().flow };
        let wide = DocsisParams { flow, ..params() };
        let out = drain(&wide, 1, Time(4_500_000), Time(1 << 40));
        assert_eq!(out.len(), 1);
        assert!((Time(10_120_000)..=Time(12_000_000)).contains(&out[0]), "{}", out[0]);
        // at the peak rate of 5 Mbit/s, a grant covers 5e6 x 2 ms / 8 = 1250 B, so the last 250 B (20 us) of the packet
        // are sent in the next grant
        let out = drain(&params(), 1, Time(4_500_000), Time(1 << 40));
        assert!((Time(12_020_000)..=Time(14_000_000)).contains(&out[0]), "{}", out[0]);
    }

    #[test]
    fn peak_then_sustained() {
        // the burst of 6.25 MB lasts 6.25e6 x 8 / (5e6 - 2e6) = 16.67 s at the peak rate; then the rate is 2 Mbit/s
        let out = drain(&params(), 100_000, Time(2_000_000_000), Time(40_000_000_000));
        let rate = |a: u64, b: u64| {
            let n = out.iter().filter(|t| (a..b).contains(&(t.0 / 1_000_000_000))).count();
            n as f64 * 12_000.0 / (b - a) as f64
        };
        assert!((rate(3, 18) / 5e6 - 1.0).abs() < 0.01, "{}", rate(3, 18));
        assert!((rate(25, 40) / 2e6 - 1.0).abs() < 0.01, "{}", rate(25, 40));
        assert!(out.windows(2).all(|w| w[0] < w[1]));
    }

    #[test]
    fn a_change_of_rate_also_changes_the_largest_grant() {
        // with a burst of 100 MB, only the peak rate limits the flow during the 10 s; without a peak rate, the channel does
        let flow =
            |peak| ShaperParams { max_traffic_burst: Bytes(100_000_000), peak_traffic_rate: peak, ..params().flow };
        let mbit = |n: u64| BitRate(n * 1_000_000);
        let modem = |peak, rate| GrantedLink::new(&DocsisParams { flow: flow(peak), ..params() }, Some(mbit(rate)));
        let rate_of =
            |link: GrantedLink| drain_link(link, 100_000, Time(0), Time(10_000_000_000)).len() as f64 * 12_000.0 / 10.0;
        let mut link = modem(Some(mbit(5)), 100);
        link.set_rates(Time(0), None, Some(mbit(20)));
        assert!((rate_of(link) / 20e6 - 1.0).abs() < 0.01);
        let mut link = modem(None, 10);
        link.set_rate(mbit(40));
        assert!((rate_of(link) / 40e6 - 1.0).abs() < 0.01);
        // a maximum grant size that was set does not change with the rates: 1000 B per MAP of 2 ms is 4 Mbit/s
        let mut link = modem(Some(mbit(5)), 100);
        link.set_max_grant(Bytes(1000));
        link.set_rates(Time(0), None, Some(mbit(20)));
        link.set_rate(mbit(40));
        assert!((rate_of(link) / 4e6 - 1.0).abs() < 0.01);
    }

    #[test]
    fn congested_grants_limit_the_rate() {
        // 450 B +- 20 % per MAP of 2 ms is 1.8 Mbit/s on average, less than the sustained rate
        let p = DocsisParams { max_grant: Some(Bytes(450)), grant_variation: Prob::new(0.2).unwrap(), ..params() };
        let out = drain(&p, 100_000, Time(0), Time(20_000_000_000));
        let rate = out.len() as f64 * 12_000.0 / 20.0;
        assert!((rate / 1.8e6 - 1.0).abs() < 0.01, "{rate}");
    }
}
