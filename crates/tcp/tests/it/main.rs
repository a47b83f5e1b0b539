//! Tests of the crate's public interface. They are a single binary, because every test binary links the whole core again.

mod adding;
mod golden;
mod pipe;
mod probes;
