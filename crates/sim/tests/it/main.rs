//! Tests of the simulated network through its public interface. They form a single binary, because each
//! additional binary would link the whole core again.

mod bbr;
mod bbr3;
mod bins;
mod books;
mod cake;
mod capture;
mod common;
mod determinism;
mod disciplines;
mod docsis31;
mod endpoints;
mod fast_path;
mod identities;
mod laws;
mod lives;
mod looks;
mod measures;
mod negotiation;
mod offload;
mod prague;
mod records;
mod rpm;
mod schedules;
mod small_queues;
mod trace;
mod traffic;
