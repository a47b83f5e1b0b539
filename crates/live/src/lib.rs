//! The live bench: the scenario's queues between two network namespaces, on the wall clock, with real programs.
//!
//! ```text
//!   namespace left                     this process                      namespace right
//!   programs - kernel TCP - TUN  ->  port ... port (virtual time)  ->  TUN - kernel TCP - programs
//! ```
//!
//! | part | what it does |
//! |---|---|
//! | [`plan`] | which node is where; what is refused |
//! | [`mod@bench`] | the network of ports, sans-I/O: the part that a fake clock can run |
//! | [`flows`], [`store`] | real packets: whose they are, and their bytes |
//! | `link` | the thread that moves packets by the clock |
//! | `programs` | the scenario's applications over kernel sockets |
//! | `congestion` | which congestion controls the kernel has |
//! | `command` | the user's commands, and the end of what they started |
//! | `run`, `outcome` | a run from set-up to take-down, and its result |
//! | `space`, [`tun`], `sys` | namespaces and devices |
//! | `awake` | processors that do not halt while a run lasts |
//!
//! This is the only crate that reads the clock or waits.

mod awake;
pub mod bench;
mod clock;
mod command;
mod congestion;
pub mod craft;
mod ends;
mod fault;
mod flows;
mod link;
mod outcome;
mod pcap;
mod plan;
mod programs;
mod run;
mod space;
mod store;
mod sys;
mod tun;

pub use bench::Bench;
pub use command::{CommandLine, clean};
pub use link::View;
pub use plan::{Plan, Side};
pub use run::{Failure, Options, run};
