//! Disciplines in tc(8) syntax: conversion to [`Spec`](crate::Spec) and back.
//!
//! ```text
//! fq_codel limit 1000p target 5ms ecn                              the text in a scenario
//! tc qdisc replace dev eth0 root red limit 60kb avpkt 1000         a command, pasted
//! qdisc pie 8003: root refcnt 2 limit 1000p target 15ms            a line of `tc qdisc show`, pasted
//! droptail limit 50ms                                              not a discipline of tc: the parameters' own names
//! ```
//!
//! A name alone is the discipline with its defaults, and each word changes a parameter (some of cake several), so a text equals a
//! table of parameters. A word that tc lacks may be a parameter's own name (`codel target 5ms variant linux`).
//! Both directions use the table in `grammar`.
//!
//! Source: tc(8), and the manual pages that `grammar` names.   Units: tc's: a size's k, m and g are powers of 1024.
//! Departs: a time without a unit, microseconds in tc, is refused, as are `kbps` and `mbps`. `red` with words is Linux's RED
//! (`variant = "linux"`), which defines those words.

mod grammar;
mod read;
mod write;

pub(crate) use read::names;
pub(crate) use read::read;
pub use read::{synopses, table};
