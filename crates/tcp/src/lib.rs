//! TCP as sans-I/O state machines: inputs are segments, the application's writes and the time; outputs are segments and
//! events.
//!
//! One [`Endpoint`] is one side of a connection. It has no clock, no socket and no payload buffer. The host passes it segments
//! and the current time, and receives segments and [`Event`]s through an [`Io`]. The parameters of a stack ([`TcpParams`]) are
//! separate choices: loss detection, recovery, window reduction, timers, ACK policy, initial window, idle restart, ECN
//! and the congestion controller ([`CongestionControl`]). A few combinations are refused ([`TcpParams::validate`]).
//! [`PRESETS`] names whole stacks.
//!
//! # Sequence space
//!
//! Sequence numbers are 64-bit stream offsets, which never wrap. SYN has offset 0, payload begins at 1, and FIN follows the last
//! byte.
//!
//! # What a host may leave out of a packet
//!
//! * A plain data segment comes from a side that has received nothing but the peer's SYN. Its `ack` is 1, it has no
//!   SACK blocks, and its echo yields no RTT sample. These three fields can be omitted (a `ts_ecr` of 0 means that
//!   there is no echo).
//! * A segment with [`Flags::WINDOW`](packet::Flags::WINDOW) must be carried as a whole.
//! * A pure ACK without SACK, ECE, AccECN's counter and [`Flags::WINDOW`](packet::Flags::WINDOW) is fully described by
//!   (`ack`, `ts_ecr`). `seq` of a pure ACK is never read. `ts_val` of such an ACK is read only by a sender whose
//!   [`TcpParams::reads_ack_time`] is true; for all others, a host may set `seq` and `ts_val` to zero.
//! * Every segment with payload needs `ts_val`, even if the stack uses no time stamps: it shows the receiver when the
//!   sender paused.
//! * [`Endpoint::on_plain_data`] and [`Endpoint::on_plain_ack`] take only the fields that are left, and behave as
//!   `on_segment` would.
//! * `retransmission` is for the host's measurements; the receiver never reads it.
//!
//! # What is not modelled
//!
//! Checksums, urgent data, PAWS, persist and keep-alive timers (applications read at once, so a window never closes), TIME-WAIT
//! (a closed endpoint still acknowledges a repeated FIN), simultaneous open, path MTU discovery. Endpoints negotiate
//! only ECN: SACK, time stamps and the MSS follow from the two stacks alone ([`TcpParams::negotiated`]).

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
mod steer;
#[cfg(test)]
mod tests;
mod timer;
mod undo;

pub use cc::control::{AckSample, Congestion, Drive, LostSegment, Origin, RateSample, Silence, Window};
pub use cc::foreign;
pub use cc::params::CongestionControl;
pub use cc::shared::HyStart;
pub use endpoint::Endpoint;
pub use params::{ReceiveWindow, Recovery, SackCompression, TcpParams};
pub use presets::PRESETS;
pub use segment::{AccEcnOption, Event, Io, Plain, PlainData, SackBlock, SackBlocks, Segment, micros};
pub use stats::{Probe, State, Stats};
pub use steer::{Steer, Steerable};
