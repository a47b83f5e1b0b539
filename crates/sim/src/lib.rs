//! The packet-level simulator: a world built from a scenario, stepped event by event.
//!
//! | part | what it does |
//! |---|---|
//! | [`event`] | the pending events: (time, order, target) in one integer |
//! | [`fifo`] | plain links, computed at enqueue; every other link is a `port` |
//! | [`chain`], `chained` | several plain links in a row, computed when a packet enters the first |
//! | `through`, `inbox` | a port in a chain, which packets enter and leave without events |
//! | `link` | a link, run by a `fifo`, as part of a `chain`, or by a `port` |
//! | `net`, `release` | routing from link to link; the resources of dropped packets |
//! | `conn` | TCP ends on their hosts |
//! | `codec` | encodes segments as packets, and decodes them |
//! | `tsq` | TCP small queues: the scheduled departures of packets from their hosts' devices |
//! | `arena`, `ring`, `pages` | storage: parts of packets by index, the packets on a plain link, many connections |
//! | `host` | carries out the requests of applications |
//! | `endpoints`, `wake` | datagrams with real bytes, for transports that the program supplies |
//! | `build` | builds a world from a scenario |
//! | [`World`] | the loop: a step, the applications, the clock |
//! | `loops` | event loops for worlds without a sink and for worlds with all sinks of a run, compiled in this crate |
//! | `engine`, `deliver` | the tables of connections and counters; the delivery of packets and timers to connections |
//! | [`capture`], `segment_tags` | writes a run as capture files; whole segments, stored because packets omit fields |
//! | [`lives`] | the lives of the packets in a window of a run |
//! | [`trace`], `probes` | traces of a run: states and fates over time |
//! | `queue_delays` | the delay in each queue of dual-queue disciplines |
//! | `drive` | reads and changes links and senders while a run pauses |
//! | [`Past`] | the initial segment that several runs share, which is simulated once |
//! | `account` | the result of a run: an [`Outcome`] |
//!
//! Two runs of one scenario give the same result, byte for byte, on any machine, in debug and release builds.

mod account;
mod arena;
mod build;
pub mod capture;
mod chain;
mod chained;
mod codec;
mod conn;
mod deliver;
mod drive;
mod endpoints;
mod engine;
mod event;
mod fifo;
mod host;
mod inbox;
mod link;
pub mod lives;
mod loops;
mod net;
mod pages;
mod past;
mod probes;
mod queue_delays;
mod release;
mod ring;
mod segment_tags;
mod through;
pub mod trace;
mod tsq;
mod wake;
mod world;

pub use conn::CONNECTION_BYTES;
pub use drive::{LinkState, Sent, Steer, TcpState};
pub use loops::{Chunks, SendBytes, Sinks, Steps};
pub use measure::{Column, Outcome, Table};
pub use past::{Past, Timeline};
pub use queue_delays::QueueDelays;
pub use wake::Wake;
pub use world::{Ended, InFlight, WORK_PER_SLICE, World};
