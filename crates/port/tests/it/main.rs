//! Tests of the port through its public interface. They form a single binary, because each additional binary would link
//! the whole core again.

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
