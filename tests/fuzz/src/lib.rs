//! Fuzz tests: random inputs for entry points of the program, and the invariants that must hold at each.
//!
//! A [`Target`] is a function that accepts any bytes and panics if an invariant fails; [`targets`] lists what each target
//! asserts. The bytes are choices ([`source`]), from which scenarios ([`schema`], [`world`]) or sequences of calls are
//! generated. Where the program reads text or packets, the bytes are that input. [`engine`] runs the corpus in `corpus/`,
//! mutations of it, and fresh inputs, all from one seed. A failing input is reduced and saved in `corpus/TARGET/`, where `cargo
//! test` replays it from then on.
//!
//! `make fuzz` builds with the compiler's coverage counters (stable: `-C passes=sancov-module`), so that inputs that reach new
//! code are mutated further ([`coverage`]). Without counters, only the corpus and the initial inputs of a target are
//! mutated, and most inputs of targets that do not read text are fresh.

pub mod bounds;
pub mod coverage;
pub mod engine;
pub mod schema;
pub mod source;
pub mod targets;
pub mod world;

pub use targets::{TARGETS, Target, Verdict};
