//! Types shared by the crates that handle packets: packets, flows, fates, the view of a link, readings and measures.
//!
//! A packet takes 32 bytes and is `Copy`. It carries the fields that a queue may read. Fields that only end hosts read are stored
//! in an arena of the host, at index [`PacketMeta::body`], unless they fit into `body` itself ([`Flags::INLINE`]).

pub mod checksum;
mod counts;
pub mod craft;
mod fate;
mod flow;
pub mod header;
mod link;
mod measure;
mod meta;
pub mod outside;
mod reading;

pub use counts::{ClassCount, Count, GrantCounts};
pub use fate::{DropReason, FateSink, MarkReason, Point};
pub use flow::{FlowId, FlowTable, FlowTuple, Protocol};
pub use link::{
    Aggregate, Backlog, LinkView, MAC_HEADER, OpportunityCounts, RequestLoop, ServiceFlow, docsis_frame, ethernet_frame,
};
pub use measure::{Better, Kind, Measure};
pub use meta::{Ecn, Flags, LEAST_BYTES, NodeId, Packed, PacketMeta};
pub use reading::{Item, PathModel, Reading, Sample, Unit, Value};
