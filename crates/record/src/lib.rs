//! The vocabulary of facts, and the sinks that take them.
//!
//! A run speaks in [`Record`]s: small values, made only if a sink's mask asks for their kind, handed over in simulated
//! order. Measures are sinks that reduce; a trace is a sink that keeps. Sinks are generic in the loop, never `dyn`, so a
//! sink that wants nothing costs nothing. One may also have the state of links and senders read ([`Sink::read`]). [`trace`] makes
//! tables of both; [`pcap`] is the format of capture files.

mod facts;
pub mod pcap;
mod sink;
pub mod trace;

#[cfg(test)]
pub(crate) use facts::samples;
pub use facts::{LinkEnd, LinkId, Mask, Passing, Probed, Record, Subject, Whose};
pub use sink::{Sink, Tape};
