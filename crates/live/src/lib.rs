//! The live bench: the scenario's queues between two network namespaces, on the wall clock, with real programs.
//!
//! ```text
//!   namespace left                     this process                      namespace right
//!   programs - kernel TCP - TUN  ->  port ... port (virtual time)  ->  TUN - kernel TCP - programs
//! ```
//!
//! | part | what it does |
//! |---|---|
//! | [`plan`] | places the nodes, and refuses scenarios that cannot run live |
//! | [`mod@bench`] | the network of ports, without I/O, which tests run on a fake clock |
//! | [`flows`], [`store`] | the flows of real packets; the bytes of the packets |
//! | `link` | the thread that moves packets on the wall clock |
//! | `offload`, `pcap` | checksums and packets of several segments; capture files |
//! | `programs` | the scenario's applications over kernel sockets |
//! | `app_counters` | the applications' packets, bytes and delays on the bench |
//! | `congestion`, `ecn` | the kernel's congestion controls; ECN for some connections only |
//! | `command` | the user's commands, and their termination |
//! | `run`, `outcome` | a run from set-up to clean-up, and its result |
//! | `namespace`, [`tun`], `sys` | namespaces; devices; system calls without a safe wrapper |
//! | `clock`, `pm_qos` | the wall clock; a request that keeps processors from halting during a run |
//! | `fault` | injected faults, for tests of the clean-up |
//!
//! Of the crates under `crates/`, this is the only one that reads the clock or waits.

mod app_counters;
pub mod bench;
mod clock;
mod command;
mod congestion;
pub mod craft;
mod ecn;
mod fault;
mod flows;
mod link;
mod namespace;
mod offload;
mod outcome;
mod pcap;
mod plan;
mod pm_qos;
mod programs;
mod run;
mod store;
mod sys;
mod tun;

pub use bench::Bench;
pub use command::{CommandLine, clean};
pub use link::View;
pub use plan::{Plan, Side};
pub use run::{Failure, Options, as_run, run};
