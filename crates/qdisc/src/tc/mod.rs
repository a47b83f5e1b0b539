//! Disciplines in tc(8) syntax: conversion to [`Spec`](crate::Spec) and back.
//!
//! ```text
//! fq_codel limit 1000p target 5ms ecn                              the text in a scenario
//! tc qdisc replace dev eth0 root red limit 60kb avpkt 1000         a pasted command
//! qdisc pie 8003: root refcnt 2 limit 1000p target 15ms            a pasted line of `tc qdisc show`
//! droptail limit 50ms                                              not a discipline of tc: the keywords are parameter names
//! ```
//!
//! A name alone means the discipline with its defaults. Each keyword sets a parameter (some keywords of cake and dualpi2
//! set several, and two of cake set none), so every string is equivalent to a table of parameters. A keyword that tc does
//! not have may be the name of a parameter (`codel target 5ms variant linux`). Both directions use the table in `grammar`.
//!
//! Source: tc(8), and the manual pages listed in `grammar`.   Units: as in tc; in sizes, k, m and g are powers of 1024.
//! Departs: a time without a unit, which tc reads as microseconds, is refused (except 0). A rate in `bps`, with any prefix,
//! is refused: tc reads it as bytes per second, other programs as bits per second.
//! `red` and `sfq` with keywords, or in a command, mean Linux's RED and SFQ (`variant = "linux"`), the versions that have these
//! keywords.

// Functions that convert a discipline to or from JSON are `inline`, so that serde's code for all parameters is compiled
// in the crates that call these functions. Those crates are built with little optimisation, which saves build time.
mod grammar;
mod read;
mod write;

pub(crate) use read::names;
pub(crate) use read::read;
pub use read::{synopses, table};
