//! Measures how often sessions collide in a discipline, by passing packets with random 5-tuples to its actual
//! classifier.
//!
//! In a trial, n sessions with random 5-tuples send one packet each. All packets are accepted. The queues are examined
//! after each packet, so that one trial gives a result for every number of sessions up to n. The discipline is built as
//! it would be for a scenario, but without its limits, its law and its overflow rule.
//!
//! Source: ARRIS 2013 Figures 8 and 9. The tests compare the measured frequencies with the closed forms of these figures.

use super::{Fair, FairParams};
use crate::{Context, QueueDiscipline};
use packet::{FlowId, FlowTable, FlowTuple, LinkView, PacketMeta, Protocol};
use units::{BitRate, Limit, Rng, Time};

/// For a given number of active sessions, the number of trials with a collision. Each field counts a different kind of
/// collision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collisions {
    /// Number of trials in which at least two sessions share a queue. With serial search, these are the trials in which
    /// a group has more sessions than queues.
    pub any: u64,
    /// Number of trials in which the first session shares its queue.
    pub given_shares: u64,
    /// Number of trials in which the first session is in a group with more sessions than queues, whether or not the
    /// first session shares its queue.
    pub given_in_full_group: u64,
}

/// Runs `trials` trials, and returns how many of them had a collision among the first 1, 2, ..., `sessions` sessions.
/// `parameters` must be valid. Their limits, law and overflow rule are ignored, so nothing is dropped; nothing is sent
/// either.   Cost: `sessions` arrivals per trial.
pub fn collisions(parameters: &FairParams, sessions: u32, trials: u64, seed: u64) -> Vec<Collisions> {
    let parameters = FairParams {
        limit: Limit::Packets(u32::MAX),
        memory_limit: None,
        queue_limit: None,
        law: crate::LawSpec::None,
        law_sees: super::LawSees::Own,
        overflow: super::Overflow::Tail,
        ..parameters.clone()
    };
    let ways = parameters.classifier.ways();
    let (mut tuples, mut salts) = (Rng::named(seed, "collisions.tuples"), Rng::named(seed, "collisions.salts"));
    let link = LinkView::plain(BitRate(1_000_000));
    let mut found = vec![Collisions::default(); sessions as usize];
    for _ in 0..trials {
        let (mut fair, mut flows) = (Fair::new(&parameters), FlowTable::default());
        let (mut in_queue, mut in_group): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        let (mut any, mut first) = (false, (0, 0));
        for (i, found) in (0..sessions).zip(&mut found) {
            let flow = FlowId::new(i, 0);
            flows.set(flow, random_tuple(&mut tuples));
            let cx = &mut Context { now: Time::ZERO, rng: &mut salts, link: &link, flows: &flows, fate: &mut () };
            fair.enqueue(PacketMeta { flow, size: 1500, ..Default::default() }, cx);
            let queue = fair.queue_of(flow, false).unwrap_or_default();
            let group = fair.group_of(queue);
            any |= count(&mut in_queue, queue) > 1;
            count(&mut in_group, group);
            if i == 0 {
                first = (queue as usize, group as usize);
            }
            found.any += u64::from(any);
            found.given_shares += u64::from(in_queue[first.0] > 1);
            found.given_in_full_group += u64::from(in_group[first.1] > ways);
        }
    }
    found
}

fn count(counts: &mut Vec<u32>, i: u32) -> u32 {
    let i = i as usize;
    if i >= counts.len() {
        counts.resize(i + 1, 0);
    }
    counts[i] += 1;
    counts[i]
}

/// Draws the 5-tuple of a TCP flow, with uniform addresses and ports.
fn random_tuple(rng: &mut Rng) -> FlowTuple {
    let (hosts, ports) = (rng.bits(), rng.bits());
    FlowTuple {
        src: hosts as u32,
        dst: (hosts >> 32) as u32,
        sport: ports as u16,
        dport: (ports >> 16) as u16,
        protocol: Protocol::TCP,
        dscp: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;

    /// Returns true if `count` hits in `trials` trials with probability `p` differ from the expected number by less than 4
    /// standard deviations plus 1.
    fn near(count: u64, trials: u64, p: f64) -> bool {
        let (n, sd) = (trials as f64, (trials as f64 * p * (1.0 - p)).sqrt());
        (count as f64 - n * p).abs() < 4.0 * sd + 1.0
    }

    fn run(text: &str, sessions: u32, trials: u64) -> Vec<Collisions> {
        let spec: Spec = serde_json::from_value(text.parse().unwrap()).unwrap();
        collisions(&spec.fair().unwrap(), sessions, trials, 1)
    }

    #[test]
    fn serial_search_collides_as_the_closed_form_says() {
        // There are 64 groups of 4 queues. The probability that at least one group has more sessions than queues is
        // 1.30461 % for 35 sessions, 6.88047 % for 50 and 15.07773 % for 60. The probability that a given session is in
        // such a group is 0.190 % for 35 sessions and 0.722 % for 50.
        let found = run(r#""sfq_hss""#, 60, 20_000);
        for (n, p) in [(35, 0.013_046_1), (50, 0.068_804_7), (60, 0.150_777_3)] {
            assert!(near(found[n - 1].any, 20_000, p), "{n}: {:?}", found[n - 1]);
        }
        for (n, p) in [(35, 0.001_90), (50, 0.007_22)] {
            assert!(near(found[n - 1].given_in_full_group, 20_000, p), "{n}: {:?}", found[n - 1]);
        }
        assert!(found[..4].iter().all(|c| *c == Collisions::default()));
        // 5 sessions can be assigned to 3 groups of 2 queues in 3^5 = 243 ways, of which 153, or 62.9630 %, have a collision
        let found = run(r#"{"sfq_hss":{"groups":3,"ways":2}}"#, 5, 20_000);
        assert!(near(found[4].any, 20_000, 0.629_630), "{:?}", found[4]);
    }

    #[test]
    fn plain_hashing_collides_as_birthdays_do() {
        // There are 256 queues. The probability that at least two sessions share a queue is 16.305 % for 10 sessions
        // and 53.317 % for 20. The probability that a given session shares its queue is 3.84 % for 11 sessions and 7.17
        // % for 20.
        let found = run(r#"{"sfq":{"queues":256}}"#, 20, 20_000);
        for (n, p) in [(10, 0.163_05), (20, 0.533_17)] {
            assert!(near(found[n - 1].any, 20_000, p), "{n}: {:?}", found[n - 1]);
        }
        for (n, p) in [(11, 0.0384), (20, 0.0717)] {
            assert!(near(found[n - 1].given_shares, 20_000, p), "{n}: {:?}", found[n - 1]);
            assert_eq!(found[n - 1].given_shares, found[n - 1].given_in_full_group);
        }
    }

    #[test]
    fn perfect_isolation_never_collides() {
        assert!(run(r#""perfect""#, 100, 100).iter().all(|c| *c == Collisions::default()));
    }
}
