//! The bottleneck from outside: one test binary, since each binary links the whole core again.

mod changes;
mod common;
mod delivery;
mod golden;
mod htb;
mod identities;
mod jitter;
mod properties;
mod reference;
