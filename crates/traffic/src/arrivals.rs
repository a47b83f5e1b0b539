//! Records which datagrams have arrived at applications. If a link duplicates packets, only the first copy of a
//! datagram counts. The application `endpoint` also receives the other copies.
//!
//! The simulator and the live bench, which runs applications over kernel sockets, both use this record.

use packet::FlowId;
use std::collections::BTreeMap;

/// Maximum number of ranges for one flow and direction. If there are more, the two lowest are joined, so the missing
/// numbers between them count as arrived. A datagram with such a number is lost, or at least 65 536 others have
/// overtaken it.
const RANGES: usize = 65_536;

/// For each flow and direction, the numbers of the datagrams that have arrived, as ranges from a first to a last number.
/// Ranges neither overlap nor touch, so a gap of missing datagrams lies between any two.
#[derive(Clone, Debug, Default)]
pub struct Arrivals(BTreeMap<(FlowId, bool), BTreeMap<u64, u64>>);

impl Arrivals {
    /// Records the arrival of datagram `number` of a flow and direction. Returns true if a copy of it has already arrived.
    pub fn again(&mut self, flow: FlowId, back: bool, number: u64) -> bool {
        let ranges = self.0.entry((flow, back)).or_default();
        let below = ranges.range(..=number).next_back().map(|(first, last)| (*first, *last));
        if below.is_some_and(|(_, last)| number <= last) {
            return true;
        }
        let first = below.filter(|(_, last)| last + 1 == number).map_or(number, |(first, _)| first);
        let last = number.checked_add(1).and_then(|next| ranges.remove(&next)).unwrap_or(number);
        ranges.insert(first, last);
        if ranges.len() > RANGES
            && let (Some((first, _)), Some((_, last))) = (ranges.pop_first(), ranges.pop_first())
        {
            ranges.insert(first, last);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use units::Rng;

    fn flow() -> FlowId {
        FlowId::new(0, 0)
    }

    #[test]
    fn a_copy_does_not_count_however_many_datagrams_come_before_it() {
        // Datagrams 1 to 5000 arrive in order. The second copy of each of the first 2000 arrives 3000 datagrams after
        // the first copy. A link delays both copies of datagram 0, which arrive last
        let mut arrivals = Arrivals::default();
        let order = (1..=5000).flat_map(|n| [Some(n), (n > 3000).then(|| n - 3000)]).flatten().chain([0, 0]);
        let counted: Vec<u64> = order.filter(|n| !arrivals.again(flow(), false, *n)).collect();
        assert!(counted.iter().copied().eq((1..=5000).chain([0])), "{}", counted.len());
        // the other direction and another flow have numbers of their own
        assert!(!arrivals.again(flow(), true, 0) && !arrivals.again(FlowId::new(1, 0), false, 0));
    }

    #[test]
    fn numbers_in_any_order_are_as_in_a_set() {
        let (mut arrivals, mut all) = (Arrivals::default(), BTreeSet::new());
        let mut rng = Rng::named(1, "arrivals");
        for _ in 0..4000 {
            let number = rng.below(1500);
            assert_eq!(arrivals.again(flow(), false, number), !all.insert(number), "{number}");
        }
        assert!(all.len() > 1000 && all.len() < 1500, "some numbers are missing");
    }

    #[test]
    fn missing_datagrams_take_limited_memory() {
        // every second number is missing. The live bench leaves such gaps, because a datagram's number is the time at
        // which it entered the bench
        let mut arrivals = Arrivals::default();
        assert!((0..70_000).all(|n| !arrivals.again(flow(), false, 2 * n)));
        let ranges = &arrivals.0[&(flow(), false)];
        assert_eq!((ranges.len(), ranges.first_key_value()), (65_536, Some((&0, &8928))));
        assert!(arrivals.again(flow(), false, 2 * 69_999) && !arrivals.again(flow(), false, 2 * 69_999 - 1));
    }
}
