//! A filter for the maximum delivery rate of recent rounds.

/// Number of rounds that the maximum covers.
const BW_WINDOW: u64 = 10;

/// The maximum over the last [`BW_WINDOW`] rounds. The filter keeps three values, each with its round: the largest, the largest
/// measured after the first, and the largest measured after the second.
///
/// Source: Nichols' windowed filter, as in §4.1.2 of the draft cited in bbr.rs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct MaxFilter {
    best: [(u64, f64); 3],
}

impl MaxFilter {
    pub(super) fn get(&self) -> f64 {
        self.best[0].1
    }

    pub(super) fn update(&mut self, round: u64, value: f64) {
        let new = (round, value);
        let b = &mut self.best;
        if value >= b[0].1 || round - b[2].0 > BW_WINDOW {
            *b = [new; 3];
            return;
        }
        if value >= b[1].1 {
            (b[1], b[2]) = (new, new);
        } else if value >= b[2].1 {
            b[2] = new;
        }
        let age = round - b[0].0;
        if age > BW_WINDOW {
            *b = [b[1], b[2], new];
            if round - b[0].0 > BW_WINDOW {
                *b = [b[1], b[2], new];
            }
        } else if b[1].0 == b[0].0 && age > BW_WINDOW / 4 {
            (b[1], b[2]) = (new, new);
        } else if b[2].0 == b[1].0 && age > BW_WINDOW / 2 {
            b[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_forgets_after_ten_rounds() {
        let mut f = MaxFilter::default();
        f.update(0, 5.0);
        for round in 1..=10 {
            f.update(round, 3.0);
            assert_eq!(f.get(), 5.0);
        }
        f.update(11, 3.0);
        assert_eq!(f.get(), 3.0);
    }
}
