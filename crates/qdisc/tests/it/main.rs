//! Tests of the queue disciplines through the public interface. They are one binary because every binary links the whole crate.

mod adding;
mod books;
mod cake;
mod class;
mod codel;
mod common;
mod dualpi2;
mod fair;
mod heads;
mod lld;
mod pie;
mod priority;
mod probes;
mod red;
mod resting;
mod tc;
