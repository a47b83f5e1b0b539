//! The packet-level simulator.
pub mod event;
pub mod ring;
pub mod arena;
