//! Scenarios as plain data.
