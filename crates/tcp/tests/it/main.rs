//! Tests of the crate's public interface, in a single binary, since every test binary links the whole core again.

mod adding;
mod golden;
mod pipe;
mod probes;
