//! Fairness of an allocation.

/// Returns Jain's index: (sum x)^2 / (n sum x^2), from 1/n (one flow has everything) to 1 (all have equal shares).
///
/// The index is 1 if there are no shares, or if all shares are zero, because then no share is smaller than another.   Source:
/// Jain, Chiu, Hawe 1984.
pub(crate) fn jain(shares: &[f64]) -> f64 {
    // shares are divided by the largest, so that squares neither overflow nor underflow
    let most = shares.iter().fold(0.0_f64, |a, &b| a.max(b));
    if most <= 0.0 {
        return 1.0;
    }
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(s, q), &x| (s + x / most, q + (x / most) * (x / most)));
    sum * sum / (shares.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_allocations() {
        assert_eq!(jain(&[5.0; 4]), 1.0);
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), 0.25);
        // if k of n flows have equal shares and all others have no share, the index is k/n
        assert_eq!(jain(&[7.0, 7.0, 7.0, 0.0]), 0.75);
        // The index is (1 + 2 + 3)^2 / (3 * 14) = 36/42.
        assert!((jain(&[1.0, 2.0, 3.0]) - 36.0 / 42.0).abs() < 1e-15);
        assert!((jain(&[1e-200, 2e-200, 3e-200]) - 36.0 / 42.0).abs() < 1e-15);
        assert_eq!((jain(&[]), jain(&[0.0, 0.0])), (1.0, 1.0));
    }
}
