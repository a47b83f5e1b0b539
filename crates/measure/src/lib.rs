//! Streaming measures, which reduce a run to numbers while it runs.
//!
//! Every measure has a size that is fixed when it is built (or bounded by a documented limit), however long the run is.
//! The numbers are the same on every machine: counters are integers, and floating-point results come from IEEE operations
//! in a fixed order, and from `units::math`.
//!
//! | measure | quantity | memory |
//! |---|---|---|
//! | [`Histogram`] | durations: percentiles, CDF | 0.5 KB per 64 bins in use, at most 279 KB |
//! | [`TimeWeighted`] | a queue's length: fraction of time at each length | 8 to 16 B per length up to the longest |
//! | [`Series`] | a quantity over time, in equal bins | 8 or 12 B per bin |
//! | [`LinkSeries`] | what happens at a link, in equal bins | 64 B per bin |
//! | [`LinkMeter`] | queue, sojourn times and series of one link (a [`record::Sink`]) | sum of its parts |
//! | [`Jitter`] | one-way delays: mean absolute difference from packet to packet | 48 B |
//! | [`VoipMeter`] | a call: lost, late, delay, jitter, E-model | up to 65 538 entries in each of two maps, 4 B per packet sent within `late_after`, and a histogram |
//! | [`Tally`] | the counts of end hosts: per flow, per application | sum of its parts |
//! | [`Files`] | transfer times of files | a histogram and at most 2 MB |
//! | [`PageLoads`] | page load times | at most 1.1 MB |
//! | [`Echoes`] | round trips of echo requests | two histograms and at most 2 MB |

mod bursts;
mod echoes;
pub mod emodel;
mod fairness;
mod files;
mod grade;
mod histogram;
mod jitter;
mod link;
mod link_series;
mod outcome;
mod pages;
mod percentile;
mod series;
pub mod tally;
mod voip;
mod weighted;

pub(crate) use echoes::Echoes;
pub(crate) use fairness::jain;
pub(crate) use files::{FileDone, Files};
pub use grade::{Band, SCALES, Scale};
pub(crate) use grade::{Compares, Idle, class};
pub use histogram::Histogram;
pub(crate) use jitter::Jitter;
pub use link::{LinkMeter, LinkMeterParams};
pub(crate) use link_series::LinkSeries;
pub use outcome::{
    Account, ClassCounts, Column, Declared, Grading, LinkAccount, LinkCounts, Outcome, Table, Texts, Verdict, declared,
};
pub(crate) use pages::PageLoads;
pub(crate) use percentile::{median, variation};
pub(crate) use series::{Channel, Series};
pub use tally::Tally;
pub(crate) use voip::VoipMeter;
pub(crate) use weighted::TimeWeighted;
