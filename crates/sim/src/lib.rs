//! The packet-level simulator: a world built from a scenario, stepped event by event.
//!
//! | part | what it does |
//! |---|---|
//! | [`event`] | the pending events: (time, order, target) in one integer |
//! | [`fifo`] | plain links, computed at enqueue; everything else is a `port` |
//! | `link` | what carries the packets of a link |
//! | `net`, `release` | from link to link; frees what dropped packets own |
//! | `conn` | TCP ends on their hosts |
//! | `codec` | segments to packets and back |
//! | `local` | what leaves its host's device, for TCP small queues |
//! | `pages` | room for many connections |
//! | `host` | what applications ask for |
//! | [`World`] | the loop: a step, the applications, the clock |
//! | `table`, `deliver` | the tables of connections and counters; packets and timers reach connections |
//! | [`capture`], `tags` | a run as capture files; tags that hold what packets leave out of their segments |
//! | [`trace`], `look` | a run as traces: states and fates, moment by moment |
//! | `queue_delays` | the delay in each queue of dual-queue disciplines |
//! | `account` | what a run gives account of: an [`Outcome`] |
//!
//! Two runs of one scenario give the same bytes, on any machine, in debug and release builds.

mod account;
mod arena;
mod build;
pub mod capture;
mod codec;
mod conn;
mod deliver;
mod event;
mod fifo;
mod host;
mod link;
mod local;
mod look;
mod net;
mod pages;
mod queue_delays;
mod release;
mod ring;
mod table;
mod tags;
pub mod trace;
mod world;

pub use conn::CONNECTION_BYTES;
pub use measure::{Column, Outcome, Table};
pub use queue_delays::QueueDelays;
pub use world::{Ended, InFlight, WORK_PER_LOOK, World};
