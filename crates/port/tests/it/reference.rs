//! Tests a plain drop-tail link against Lindley's recursion.

use crate::common::Bench;
use proptest::prelude::*;
use units::{Duration, Time};

proptest! {
    /// Packet k, which arrives at a(k), departs at d(k) = max(a(k), d(k-1)) + size(k)/rate. A packet is dropped on
    /// arrival if `limit` packets are already waiting to be transmitted.
    #[test]
    fn plain_droptail_is_lindleys_recursion(
        arrivals in prop::collection::vec((0u64..5_000_000, 40u16..=1514), 1..300),
        limit in 1usize..40,
    ) {
        let mut b = Bench::new(&format!("rate = '4mbit'\ndelay = '7ms'\nqueue = {{ droptail = {{ limit = '{limit}p' }} }}"));
        let (mut now, mut expected, mut begins) = (Time(1), Vec::new(), Vec::<Time>::new());
        let mut free = Time::ZERO;
        for (gap, size) in arrivals {
            // every arrival time is 1 ns plus a multiple of 2000 ns, the transmission time of a byte, so some arrivals
            // coincide with the end of a transmission. Such an arrival comes after the departure
            now = Time((now.0 + gap) / 2000 * 2000 + 2001);
            b.run(now);
            b.burst(now, 1, size);
            if begins.iter().filter(|t| **t > now).count() < limit {
                let begin = now.max(free);
                free = begin + Duration(u64::from(size) * 2000);
                begins.push(begin);
                expected.push((b.seq - 1, free + Duration::from_millis(7)));
            }
        }
        b.run(Time(1 << 50));
        let out: Vec<_> = b.out.iter().map(|p| (p.seq, p.stamp)).collect();
        prop_assert_eq!(out, expected);
    }
}
