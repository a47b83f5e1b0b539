//! TCP as sans-I/O state machines: segments and the time go in, segments and events come out.
//!
//! One [`Endpoint`] is one side of a connection. It has no clock, no socket and no payload buffer. The host passes it segments
//! and the current time, and receives segments and [`Event`]s through an [`Io`]. A stack is a point on independent axes
//! ([`TcpParams`]): loss detection, recovery, window reduction, timers, ACK policy, initial window, idle restart, ECN and a
//! congestion controller ([`CongestionControl`]). [`PRESETS`] names whole stacks.
//!
//! # Sequence space
//!
//! 64-bit stream offsets that never wrap: SYN occupies 0, payload starts at 1, FIN is one after the last byte.
//!
//! # What a host may leave out of a packet
//!
//! * A plain data segment is one from a side that has received only the peer's SYN. It carries `ack == 1`, no SACK and an echo
//!   that is not sampled (`ts_ecr` 0 means "no echo"), so these three fields can be omitted.
//! * A segment with [`Flags::WINDOW`](packet::Flags::WINDOW) must be carried whole: the receiver reads every field.
//! * A pure ACK without SACK and ECE is fully described by (`ack`, `ts_ecr`). `seq` of a pure ACK is never read. `ts_val` is read
//!   only by a sender whose [`TcpParams::reads_ack_time`] is true; for all others a host may rebuild both fields as zero.
//! * [`Endpoint::on_plain_data`] and [`Endpoint::on_plain_ack`] take only these fields and behave as `on_segment` would.
//! * `retransmission` is for the host's measurements; the receiver never reads it.
//!
//! # What is not modelled
//!
//! Checksums, urgent data, PAWS, persist and keep-alive timers (applications read at once, so a window never closes), TIME-WAIT
//! (a closed endpoint still acknowledges a repeated FIN), simultaneous open, path MTU discovery. SACK is not negotiated: either
//! both ends of a connection use it or neither does.

mod accecn;
mod burst;
mod cc;
mod delivery;
mod detection;
mod endpoint;
mod feedback;
mod offload;
mod pacer;
mod params;
mod presets;
mod receiver;
mod reduction;
mod rtt;
mod scoreboard;
mod segment;
mod sender;
mod stats;
#[cfg(test)]
mod tests;
mod timer;
mod undo;

pub use cc::params::CongestionControl;
pub use endpoint::Endpoint;
pub use params::{ReceiveWindow, Recovery, TcpParams};
pub use presets::PRESETS;
pub use segment::{AccEcnOption, Event, Io, PlainData, SackBlock, SackBlocks, Segment};
pub use stats::{Probe, State, Stats};
