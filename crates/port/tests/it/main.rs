//! The bottleneck from outside, in one test binary, because each binary links the whole core again.

mod changes;
mod common;
mod delivery;
mod golden;
mod htb;
mod identities;
mod jitter;
mod properties;
mod reference;
