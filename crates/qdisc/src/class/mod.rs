//! Disciplines that keep counts for each class or each active flow (MMCN 1999). Packets wait in one FIFO or in one
//! queue per class.
//!
//! | name | queues | counts | controls |
//! |---|---|---|---|
//! | [`fred`] | one | per active flow | a flow's share of the buffer |
//! | [`cbt`] | one | per class | a class's share of the buffer: a threshold on its average occupancy, RED for TCP |
//! | [`dcbt`] | one | per class, and the active flows | like `cbt`, but thresholds follow the number of active flows |
//! | [`cbq`] | one per class | per class | a class's share of the link |

mod cbq;
mod cbt;
mod classify;
mod dcbt;
mod fred;

mod active;
mod average;
mod occupancy;

pub(crate) use cbq::CbqParams;
pub use cbt::CbtParams;
pub(crate) use classify::Match;
pub(crate) use dcbt::DcbtParams;
pub(crate) use fred::FredParams;
