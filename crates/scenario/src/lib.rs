//! Scenarios: a description of what to build, as plain data.
//!
//! One declaration provides the TOML and JSON reader, the validation, the JSON Schema, and the canonical form that is
//! hashed and stored with every result. This crate has no behaviour: [`Scenario`] declares *what* to run, [`Network`]
//! resolves its names, and `sim` and `live` implement *how*.
//!
//! The steps for a file: text -> tree ([`read::parse`]) -> overrides ([`read::set`]) -> typed ([`read::tree`]) ->
//! [`Scenario::validate`] -> canonical text ([`Scenario::canonical`]) -> [`Scenario::network`]. Every step that can
//! fail returns [`units::Problem`]s.

mod app;
mod check;
mod choice;
mod declare;
mod delivery_check;
mod expect;
mod grading;
mod link;
mod load;
mod nearest;
mod network;
mod parse;
pub mod read;
mod service;
mod stack;
mod start;
mod tc;
mod trace;
mod typed;
mod work;

pub use app::App;
pub use declare::Scenario;
pub use link::{Change, Link, can_queue};
pub use nearest::{nearest, unknown};
pub use network::{NO_LINK, Network, NetworkApp, NetworkLink, Routes, Task};
pub use stack::Stack;
pub use trace::Interval;
