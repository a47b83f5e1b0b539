//! Disciplines in the words of tc(8): an entrance to [`Spec`](crate::Spec), and the way back.
//!
//! ```text
//! fq_codel limit 1000p target 5ms ecn                              what stands in a scenario
//! tc qdisc replace dev eth0 root red limit 60kb avpkt 1000         a command, pasted
//! qdisc pie 8003: root refcnt 2 limit 1000p target 15ms            a line of `tc qdisc show`, pasted
//! droptail limit 50ms                                              no discipline of tc: the parameters' own names
//! ```
//!
//! A name alone is the discipline with its defaults, and each word changes one parameter of those, so a text means the table that
//! has the same values. A word that tc does not have may be a parameter's own name (`codel target 5ms variant linux`).
//! `grammar` is the table that both directions read.
//!
//! Source: tc(8), and the manual pages that `grammar` names.   Units: tc's: a size's k, m and g are powers of 1024.
//! Departs: a time without a unit, microseconds in tc, is refused, as are `kbps` and `mbps`. `red` with words is Linux's RED
//! (`variant = "linux"`), whose thresholds they are.

mod grammar;
mod read;
mod say;

pub(crate) use read::names;
pub(crate) use read::read;
pub use read::{synopses, table};
