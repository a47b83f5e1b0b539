//! Numbers that must not be zero.

use units::Problem;

/// Refuses zero, for counts that must be at least one.
pub(super) fn at_least_one(path: &str, n: u32) -> Result<(), Problem> {
    if n == 0 {
        return Err(Problem::new(path, "0 is not valid; expected at least 1"));
    }
    Ok(())
}
