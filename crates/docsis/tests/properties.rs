//! Tests that the modem and the shaper agree with independent calculations.

use docsis::{DocsisParams, Mac, ShaperParams, TokenBucket, TransmitOverflow};
use packet::PacketMeta;
use proptest::prelude::*;
use units::{BitRate, Bytes, Duration, Limit, Prob, Rng, Time};

const MAP: u64 = 2_000_000;

fn flow() -> ShaperParams {
    ShaperParams {
        max_sustained_rate: BitRate(5_000_000),
        max_traffic_burst: Bytes(10_000_000),
        peak_traffic_rate: Some(BitRate(20_000_000)),
        peak_burst: Bytes(1522),
    }
}

fn roomy() -> DocsisParams {
    DocsisParams { transmit_limit: Limit::Packets(100_000), ..DocsisParams::new(flow()) }
}

/// Generates arrivals as (gap in ns, size).
fn arrivals() -> impl Strategy<Value = Vec<(u64, u16)>> {
    prop::collection::vec((prop_oneof![Just(0), 1u64..3_000_000, 1u64..30_000_000], 40u16..=1514), 1..200)
}

/// Pushes every arrival, and runs each MAP when it is due. Returns the numbers and times of the departing packets, and
/// the numbers of the refused packets.
fn run(mac: &mut Mac, rng: &mut Rng, arrivals: &[(u64, u16)]) -> (Vec<(u64, Time)>, Vec<u64>) {
    let (mut out, mut refused, mut now) = (Vec::new(), Vec::new(), Time::ZERO);
    for (seq, (gap, size)) in arrivals.iter().enumerate() {
        now += Duration(*gap);
        // a packet that arrives at the time of a MAP belongs to that MAP, so only earlier MAPs run before the packet is
        // pushed
        while mac.next_map() < now {
            mac.map(mac.next_map(), rng, |p, t| out.push((p.seq, t)));
        }
        refused.extend(
            mac.push(now, PacketMeta { seq: seq as u64, size: *size, ..Default::default() }).err().map(|p| p.seq),
        );
    }
    while mac.next_map() != Time::NEVER {
        mac.map(mac.next_map(), rng, |p, t| out.push((p.seq, t)));
    }
    (out, refused)
}

/// Returns the number of the first MAP at or after `t`.
fn map_at(t: u64) -> u64 {
    t.div_ceil(MAP)
}

proptest! {
    #[test]
    fn without_a_limit_every_packet_leaves_two_maps_after_its_boundary(arrivals in arrivals()) {
        let (out, _) = run(&mut Mac::new(&roomy(), None), &mut Rng::named(1, "mac"), &arrivals);
        let mut t = 0;
        for (i, (gap, _)) in arrivals.iter().enumerate() {
            t += gap;
            prop_assert_eq!(out[i], (i as u64, Time((map_at(t) + 2) * MAP)));
            let wait = out[i].1.0 - t;
            prop_assert!((2 * MAP..=3 * MAP).contains(&wait));
        }
    }

    #[test]
    fn with_a_limit_grants_follow_the_cumulative_curves(arrivals in arrivals(), limit in 100u64..4000) {
        let params = DocsisParams { max_grant: Some(Bytes(limit)), ..roomy() };
        let (out, _) = run(&mut Mac::new(&params, None), &mut Rng::named(1, "mac"), &arrivals);
        // A(k) is the number of bytes that have arrived by MAP k, and S(k) = min(S(k-1) + limit, A(k-2)) the number of bytes
        // served by MAP k. A packet leaves at the first k for which S(k) covers it.
        let (mut t, mut sum) = (0, 0u64);
        let ends: Vec<(u64, u64)> = arrivals.iter().map(|(gap, size)| {
            t += gap;
            sum += u64::from(*size);
            (map_at(t), sum)
        }).collect();
        let arrived = |k: u64| ends.iter().take_while(|e| e.0 <= k).last().map_or(0, |e| e.1);
        let (mut served, mut k, mut leaves) = (0, 2, Vec::new());
        while leaves.len() < ends.len() {
            served = (served + limit).min(arrived(k - 2));
            while leaves.len() < ends.len() && ends[leaves.len()].1 <= served {
                leaves.push((leaves.len() as u64, Time(k * MAP)));
            }
            k += 1;
        }
        prop_assert_eq!(out, leaves);
    }

    #[test]
    fn the_channel_never_exceeds_its_rate_and_keeps_order(arrivals in arrivals(), variation in 0.0f64..1.0) {
        let params = DocsisParams {
            max_grant: Some(Bytes(3000)),
            grant_variation: Prob::new(variation).unwrap(),
            transmit_limit: Limit::Packets(32),
            ..DocsisParams::new(flow())
        };
        let rate = BitRate(8_000_000);
        let (out, refused) = run(&mut Mac::new(&params, Some(rate)), &mut Rng::named(1, "mac"), &arrivals);
        for w in out.windows(2) {
            let size = u64::from(arrivals[w[1].0 as usize].1);
            prop_assert!(w[0].0 < w[1].0 && w[1].1.0 - w[0].1.0 + 1 >= rate.time_for(size).0);
        }
        let mut seen: Vec<u64> = out.iter().map(|o| o.0).chain(refused).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..arrivals.len() as u64).collect::<Vec<_>>());
    }

    #[test]
    fn the_transmit_queue_never_exceeds_its_limit(arrivals in arrivals(), bytes in any::<bool>()) {
        let limit = if bytes { Limit::Bytes(Bytes(10_000)) } else { Limit::Packets(7) };
        for overflow in [TransmitOverflow::Drop, TransmitOverflow::BackPressure] {
            let params = DocsisParams { transmit_limit: limit, transmit_queue: overflow, ..DocsisParams::new(flow()) };
            let mut mac = Mac::new(&params, Some(BitRate(20_000_000)));
            let (mut now, mut rng) = (Time::ZERO, Rng::named(1, "mac"));
            for (gap, size) in &arrivals {
                now += Duration(*gap);
                while mac.next_map() < now {
                    mac.map(mac.next_map(), &mut rng, |_, _| {});
                }
                if mac.holds_back(now) {
                    prop_assert!(mac.room_at() >= now);
                    continue;
                }
                let refused = mac.push(now, PacketMeta { size: *size, ..Default::default() }).is_err();
                prop_assert!(!(refused && overflow == TransmitOverflow::BackPressure));
                let b = mac.backlog(now);
                let slack = if overflow == TransmitOverflow::BackPressure { 1514 } else { 0 };
                let within = if bytes { b.bytes <= 10_000 + slack } else { b.packets <= 7 };
                prop_assert!(within, "{b:?}");
            }
        }
    }

    #[test]
    fn a_shaper_keeps_its_arrival_curves(arrivals in arrivals(), burst in 3044u64..50_000) {
        let params = ShaperParams { max_traffic_burst: Bytes(burst), ..flow() };
        let mut bucket = TokenBucket::new(&params);
        let (mut now, mut free, mut sent) = (Time::ZERO, Time::ZERO, Vec::new());
        for (gap, size) in &arrivals {
            now += Duration(*gap);
            let start = now.max(free);
            free = start + bucket.take(start, u64::from(*size));
            sent.push((free, u64::from(*size)));
        }
        // from time s to time t, at most burst + rate (t - s) bytes leave. The bound for the peak rate is larger by one
        // packet, because a packet waits either for the sustained bucket or for the peak bucket, but not for both (the
        // "else if" in the formulas of bucket.rs). Both bounds include 1 byte more, because times are rounded up to a
        // nanosecond, and less than a byte passes in a nanosecond
        for i in 0..sent.len() {
            let mut bytes = 0;
            for (t, size) in &sent[i..] {
                bytes += size;
                let span = t.since(sent[i].0);
                prop_assert!(bytes <= burst + BitRate(5_000_000).bytes_in(span) + 1);
                prop_assert!(bytes <= 1522 + 1514 + BitRate(20_000_000).bytes_in(span) + 1);
            }
        }
        // no packet waits longer than necessary: the shaper finishes no later than it would at the sustained rate alone
        let total: u64 = sent.iter().map(|s| s.1).sum();
        let latest = now.secs() + total as f64 * 8.0 / 5e6;
        prop_assert!(free.secs() <= latest + 1e-6);
    }
}
