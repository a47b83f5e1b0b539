//! Queue disciplines from outside: one test binary, since each binary links the whole core again.

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
