//! Tests of the bottleneck through its public interface. They are one binary because each binary links the whole core again.

mod changes;
mod common;
mod delivery;
mod golden;
mod htb;
mod identities;
mod impairments;
mod jitter;
mod properties;
mod reference;
