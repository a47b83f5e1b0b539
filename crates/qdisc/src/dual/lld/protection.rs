//! Queue protection: while the Low Latency queue is long, packets of the flows that make it long go to the Classic queue.
//!
//! ```text
//! bucket     by default, two slices of the flow's hash select two of 32 buckets. If the flow already owns one of them,
//!            it keeps that one; otherwise it takes the first that has expired; if neither has, it uses a 33rd, which
//!            all such flows share
//! fill       t_exp <- max(t_exp, now) + p_native x size x 2048 ns      (AGING = 2^19 B per 2^30 ns), at most now + 5 s
//! score      t_exp - now                                               decreases by 1 s per s
//! sanction   qdelay > CRITICALqL  and  qdelay x score > CRITICALqL x CRITICALqLSCORE
//! ```
//!
//! A flow's score is the time that its congested bytes take to age away at the rate AGING. Only the ramp's own
//! probability, p_native, counts: the coupled probability comes from the Classic queue, not from the flow.
//!
//! Source: RFC 9957 §4, §5.   Units: ns; bytes with the MAC header.
//! Interpretations: a flow is its 5-tuple in the direction of the packet, hashed as in the fair disciplines but without salt.

use super::DocsisLldParams;
use crate::fair::{HashKey, hash};
use packet::{FlowTable, FlowTuple, PacketMeta};
use units::{Duration, Time};

/// MAX_QLSCORE, the upper bound of a score.
const MAX_SCORE: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bucket {
    owner: Option<FlowTuple>,
    t_exp: Time,
}

/// The flows' scores.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Protection {
    critical_score: Duration,
    lg_aging: u8,
    bucket_id_size: u8,
    attempts: u8,
    buckets: Vec<Bucket>,
}

impl Protection {
    /// Creates buckets whose scores are all zero. The parameters must be valid.
    pub(crate) fn new(p: &DocsisLldParams) -> Self {
        let &DocsisLldParams { lg_aging, bucket_id_size, attempts, .. } = p;
        let buckets = vec![Bucket::default(); (1 << bucket_id_size) + 1];
        Self { critical_score: p.critical_ql_score, lg_aging, bucket_id_size, attempts, buckets }
    }

    /// Returns the index of the flow's bucket. If the flow has no bucket yet, assigns a bucket to it (RFC 9957's
    /// `pick_bucket`).
    fn pick(&mut self, flow: FlowTuple, now: Time) -> usize {
        let all = self.buckets.len() - 1;
        let mut h = hash(&flow, HashKey::FiveTuple, 0) as usize;
        let mut free = all;
        for _ in 0..self.attempts {
            let i = h & (all - 1);
            let bucket = &self.buckets[i];
            if bucket.owner == Some(flow) {
                return i;
            }
            if free == all && bucket.t_exp <= now {
                free = i;
            }
            h >>= self.bucket_id_size;
        }
        self.buckets[free].owner = Some(flow);
        free
    }

    /// Raises the score of `bucket` for a packet of `size` bytes, and returns the raised score (RFC 9957's
    /// `fill_bucket`).
    fn fill(&mut self, bucket: usize, size: u64, p_native: f64, now: Time) -> Duration {
        let more = p_native * size as f64 * f64::from(1u32 << (30 - self.lg_aging.min(30)));
        let t_exp = self.buckets[bucket].t_exp.max(now) + Duration(more as u64);
        let t_exp = t_exp.min(now + MAX_SCORE);
        self.buckets[bucket].t_exp = t_exp;
        t_exp.since(now)
    }

    /// Adds an arriving packet to its flow's score. Returns true if the packet is sanctioned, that is, if it must go to
    /// the Classic queue because its flow's score is too high for the present delay (RFC 9957's `qprotect`). `size` is
    /// the packet's size in bytes, `qdelay` is the delay of the Low Latency queue, and `critical` is CRITICALqL.
    pub(crate) fn sanctions(
        &mut self,
        (packet, size): (&PacketMeta, u64),
        (qdelay, critical): (Duration, Duration),
        p_native: f64,
        flows: &FlowTable,
        now: Time,
    ) -> bool {
        // the code point is not part of a flow's identity
        let bucket = self.pick(FlowTuple { dscp: 0, ..packet.tuple(flows) }, now);
        let score = self.fill(bucket, size, p_native, now);
        let product = |a: Duration, b: Duration| u128::from(a.0) * u128::from(b.0);
        qdelay > critical && product(qdelay, score) > product(critical, self.critical_score)
    }

    /// Returns the number of buckets with a positive score at `now`, and the highest score. Flows in the shared bucket
    /// count as one.
    pub(crate) fn scores(&self, now: Time) -> (u64, Duration) {
        let alive = self.buckets.iter().filter(|b| b.t_exp > now).map(|b| b.t_exp.since(now));
        alive.fold((0, Duration::ZERO), |(n, most), score| (n + 1, most.max(score)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::FlowId;

    const US: u64 = 1000;

    fn protection() -> Protection {
        Protection::new(&DocsisLldParams::default())
    }

    fn flow(n: u16) -> FlowTuple {
        FlowTuple { src: 1, dst: 2, sport: n, dport: 443, ..Default::default() }
    }

    #[test]
    fn a_packet_costs_and_time_heals() {
        // each packet adds p_native x size x 2048 ns/B = 0.5 x 1500 B x 2048 ns/B = 1.536 ms
        let mut q = protection();
        let b = q.pick(flow(1), Time(0));
        assert_eq!(q.fill(b, 1500, 0.5, Time(0)), Duration(1_536 * US));
        assert_eq!(q.fill(b, 1500, 0.5, Time(1_000 * US)), Duration(2_072 * US));
        // If the packets are 1.536 ms or more apart, the score equals the score of a single packet. If they are 1.5 ms apart,
        // the score grows by 36 us per packet.
        let at = |gap: u64| {
            let (mut q, mut score) = (protection(), Duration::ZERO);
            let b = q.pick(flow(1), Time(0));
            for i in 0..4000 {
                score = q.fill(b, 1500, 0.5, Time(i * gap));
            }
            score.0
        };
        assert_eq!((at(1_536 * US), at(1_600 * US)), (1_536 * US, 1_536 * US));
        assert_eq!(at(1_500 * US), 1_536 * US + 3999 * 36 * US);
        // the score is limited to 5 s
        assert_eq!(at(1), 5_000_000 * US);
        assert_eq!(q.fill(b, 1500, 0.0, Time(1 << 50)), Duration::ZERO);
    }

    #[test]
    fn nobody_is_sanctioned_at_maxth_and_from_2_ms_at_twice_that() {
        let mut flows = FlowTable::default();
        flows.set(FlowId(7), flow(9));
        let packet = PacketMeta { flow: FlowId(7), size: 1500, ..Default::default() };
        let max_th = Duration(1_164_288);
        // at p_native = 1, 1000 bytes add 2.048 ms to the score
        let ask = |q: &mut Protection, bytes: u64, qdelay: Duration| {
            q.sanctions((&packet, bytes), (qdelay, max_th), 1.0, &flows, Time(0))
        };
        let mut q = protection();
        for _ in 0..1000 {
            assert!(!ask(&mut q, 1500, max_th), "not above MAXTH, whatever the score");
        }
        assert!(ask(&mut q, 0, max_th + Duration(1)));
        // At a delay of 2 MAXTH, a packet is sanctioned if twice its flow's score exceeds 4000 us. A packet of 976 B
        // gives a score of 1.998848 ms, which is not enough; one more byte gives 2.000896 ms, which is.
        let mut q = protection();
        assert!(!ask(&mut q, 976, max_th * 2));
        assert!(ask(&mut q, 1, max_th * 2));
    }

    #[test]
    fn a_flow_finds_its_bucket_again_and_takes_only_expired_ones() {
        let mut q = protection();
        let now = Time(1_000_000);
        // another flow owns all buckets except the shared one, and the buckets do not expire within the next 5 s
        let other = flow(0);
        for b in &mut q.buckets[..32] {
            *b = Bucket { owner: Some(other), t_exp: now + MAX_SCORE };
        }
        assert_eq!(q.pick(flow(1), now), 32, "the shared one");
        assert_eq!(q.buckets[32].owner, Some(flow(1)));
        // the second bucket selected by the flow's hash has expired, so the flow takes it, and keeps it
        let h = hash(&flow(1), HashKey::FiveTuple, 0) as usize;
        let (first, second) = (h & 31, h >> 5 & 31);
        assert_ne!(first, second);
        q.buckets[second].t_exp = now;
        assert_eq!(q.pick(flow(1), now), second);
        q.buckets[first].t_exp = now;
        assert_eq!(q.pick(flow(1), now), second, "the flow's own bucket comes before an expired one");
        assert_eq!(q.scores(now).0, 30);
    }
}
