//! Records of the events in a run, and the sinks that receive them.
//!
//! A [`Record`] is a small value. It is built only if a sink's mask contains its kind, and delivered in the order of simulated
//! time. The meter of a port is a sink that computes statistics; a trace is a sink that stores records. Sinks are generic parameters of the
//! run's loop, never `dyn`, so a sink that receives no records costs nothing. A sink may also read the state of links and senders
//! ([`Sink::read`]). [`trace`] contains the tables of records and readings, and [`pcap`] the format of capture files.

mod facts;
pub mod pcap;
mod sink;
pub mod trace;

#[cfg(test)]
pub(crate) use facts::samples;
pub use facts::{CapturedPacket, FlowOwner, LinkEnd, LinkId, Mask, PacketId, Probed, Record, Subject};
pub use sink::{Sink, Tape};
