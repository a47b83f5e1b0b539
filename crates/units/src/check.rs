//! Checks of parameter values. Each error message says which value was read and which values are valid.

use crate::Problem;
use std::fmt::Display;

/// Returns a [`Problem`] from the calling function unless a condition holds.
///
/// `ensure!(n > 0, "flows", "{n} is not valid; expected at least 1")` takes a condition, a path, and a message in the syntax of
/// [`format!`].
#[macro_export]
macro_rules! ensure {
    ($holds:expr, $path:expr, $($message:tt)+) => {
        if !$holds {
            return Err($crate::Problem::new($path, format!($($message)+)));
        }
    };
}

/// Returns a [`Problem`] for `field` with `message` unless `valid` is true.
pub fn require(valid: bool, field: &str, message: impl Into<String>) -> Result<(), Problem> {
    if valid { Ok(()) } else { Err(Problem::new(field, message)) }
}

/// Refuses a value outside `least..=most`, and NaN.
pub fn within<T: PartialOrd + Display>(field: &str, value: T, least: T, most: T) -> Result<(), Problem> {
    let valid = if least == most { least.to_string() } else { format!("{least} to {most}") };
    require(least <= value && value <= most, field, format!("{value} is not valid; expected {valid}"))
}

/// Refuses zero, negative numbers and NaN.
pub fn positive<T: PartialOrd + Default + Display>(field: &str, value: T) -> Result<(), Problem> {
    let zero = T::default();
    require(value > zero, field, format!("{value} is not valid; expected more than {zero}"))
}

/// Refuses the same values as [`positive`], for a field that may be omitted.
pub fn positive_or_none<T: PartialOrd + Default + Display>(field: &str, value: Option<T>) -> Result<(), Problem> {
    let Some(value) = value else { return Ok(()) };
    let zero = T::default();
    require(value > zero, field, format!("{value} is not valid; expected more than {zero}, or no {field}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytes;

    #[test]
    fn messages_name_the_value_and_the_range() {
        let message = |check: Result<(), Problem>| check.unwrap_err().to_string();
        assert_eq!(message(within("n", 7, 1, 5)), "n: 7 is not valid; expected 1 to 5");
        assert_eq!(message(within("n", 7, 1, 1)), "n: 7 is not valid; expected 1");
        assert_eq!(message(within("x", f64::NAN, 0.5, 1.0)), "x: NaN is not valid; expected 0.5 to 1");
        assert_eq!(message(positive("size", Bytes(0))), "size: 0B is not valid; expected more than 0B");
        let count = |count| message(positive_or_none("count", Some(count)));
        assert_eq!(count(0), "count: 0 is not valid; expected more than 0, or no count");
        assert_eq!(count(-3), "count: -3 is not valid; expected more than 0, or no count");
        assert!(within("n", 5, 1, 5).is_ok() && positive("n", 1).is_ok() && positive_or_none::<u64>("n", None).is_ok());
    }
}
