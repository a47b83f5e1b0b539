//! Time, sizes, rates, random streams and portable mathematics.
//!
//! The lowest crate: it depends on no other crate of bloatlab. Times, sizes and rates are integers (nanoseconds, bytes,
//! bits per second), so that sums are exact and the same on every machine. They are written as in `tc` (`5mbit`,
//! `50ms`, `417p`). Printing a value and parsing the text gives the same value.
//!
//! Departs from `tc`: `KB` and `MB` are 1000 and 1000000 bytes (`KiB` and `MiB` are binary), and the lower-case `kbps` and
//! `mbps` are refused, because `tc` reads them as bytes per second and other programs as bits.

mod amount;
mod check;
mod decimal;
pub mod math;
mod prefetch;
mod problem;
mod quantity;
mod rng;
mod text;
mod time;
pub mod words;

pub use amount::Amount;
pub use check::{positive, positive_or_none, require, within};
pub use prefetch::{LINE, prefetch};
pub use problem::{Problem, is_unprintable, shown};
pub use quantity::{BitRate, Bytes, Limit, Prob};
pub use rng::Rng;
pub use text::{ParseError, Text, TextVisitor, text_schema};
pub use time::{Duration, Time};
pub use words::words;
