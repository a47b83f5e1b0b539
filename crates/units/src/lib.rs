//! Time, sizes, rates, random streams and portable mathematics.
//!
//! The lowest room: everything here is a value. Quantities are integers (nanoseconds, bytes, bits per second), so that
//! sums are exact and equal on every machine; they parse from and print to the words that `tc` uses (`5mbit`, `50ms`,
//! `417p`), and printing loses nothing: parsing what was printed gives the same value.
//!
//! Departs from `tc`: `KB` and `MB` are 1000 and 1000000 bytes (`KiB`, `MiB` are the binary ones), and the lower-case
//! `kbps`/`mbps` are refused because `tc` reads them as bytes per second and everybody else as bits.

mod amount;
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
pub use prefetch::{LINE, prefetch};
pub use problem::{Problem, is_unprintable, shown};
pub use quantity::{BitRate, Bytes, Limit, Prob};
pub use rng::Rng;
pub use text::{ParseError, Text, TextVisitor, text_schema};
pub use time::{Duration, Time};
pub use words::words;
