//! Tests of the queue disciplines through the public interface. They form a single binary,
//! because each additional binary would link the whole crate again.

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
