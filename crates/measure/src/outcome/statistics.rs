//! Statistics shared by several measures.

use super::account::ms;
use crate::{Histogram, TimeWeighted};
use packet::{Kind, measures};
use serde_json::{Map, Value};
use units::Duration;

/// Adds measures to an object, each under its key.
pub(super) fn put<const N: usize>(into: &mut Map<String, Value>, measures: [(&'static str, Value); N]) {
    into.extend(measures.map(|(key, value)| (key.to_owned(), value)));
}

/// Returns measures as an object.
pub(super) fn object<const N: usize>(measures: [(&'static str, Value); N]) -> Value {
    let mut object = Map::new();
    put(&mut object, measures);
    object.into()
}

measures! {
    /// Statistics of a distribution of delays, in ms.
    pub(super) const DELAYS = fn delays(h: &Histogram) -> Value {
        "count": Kind::ONE, "how many", "" => h.count();
        "min": Kind::SAME, "minimum", "" => ms(h.min());
        "mean": Kind::SAME, "mean", "" => ms(h.mean());
        "p50": Kind::SAME, "median", "" => ms(h.percentile(50.0));
        "p90": Kind::SAME, "90 %", "" => ms(h.percentile(90.0));
        "p95": Kind::SAME, "95 %", "" => ms(h.percentile(95.0));
        "p99": Kind::SAME, "99 %", "" => ms(h.percentile(99.0));
        "p99_9": Kind::SAME, "99.9 %", "" => ms(h.percentile(99.9));
        "p99_99": Kind::SAME, "99.99 %", "" => ms(h.percentile(99.99));
        "max": Kind::SAME, "maximum", "" => ms(h.max());
        "cv": Kind::VARIATION, "coefficient of variation", "" => h.variation();
    }
    /// Statistics of delays, each with a weight equal to its own duration, but at most `timeout`. With a `timeout` of 1 s, a
    /// delay of 100 ms counts ten times as much as a delay of 10 ms.
    pub(super) const OVER_TIME = fn over_time(h: &Histogram, timeout: Duration) -> Value {
        "mean": Kind::SAME, "mean", "" => ms(h.mean_of_time(timeout));
        "p50": Kind::SAME, "median", "" => ms(h.percentile_of_time(50.0, timeout));
        "p95": Kind::SAME, "95 %", "" => ms(h.percentile_of_time(95.0, timeout));
        "p99": Kind::SAME, "99 %", "" => ms(h.percentile_of_time(99.0, timeout));
        "p99_9": Kind::SAME, "99.9 %", "" => ms(h.percentile_of_time(99.9, timeout));
        "p99_99": Kind::SAME, "99.99 %", "" => ms(h.percentile_of_time(99.99, timeout));
    }
    /// Statistics of a queue's length.
    pub(super) const LENGTHS = fn lengths(queue: &TimeWeighted) -> Value {
        "mean": Kind::SAME, "mean", "Length of the queue, averaged over time." => queue.mean();
        "max": Kind::SAME, "maximum",
            "Longest queue. With `droptail.super_segment`, it may exceed the limit, because it counts every segment."
            => queue.max();
    }
}
