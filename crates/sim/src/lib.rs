//! The packet-level simulator.
