//! Tests of the crate's public interface.
//! They form a single binary, because each additional binary would link the whole core again.

mod adding;
mod golden;
mod pipe;
mod probes;
