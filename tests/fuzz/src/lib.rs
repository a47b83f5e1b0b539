//! Fuzz tests: random inputs for every entry point of the program, and the invariants that must hold at each.
//!
//! A [`Target`] is a function that accepts any bytes and panics if an invariant fails; [`targets`] lists what each target
//! asserts. The bytes are choices ([`source`]), from which scenarios ([`schema`], [`world`]) or sequences of calls are
//! generated. Where the program reads text from a user, the bytes are that text. [`engine`] runs the corpus in `corpus/`,
//! mutations of it, and fresh inputs, all from one seed. A failing input is reduced and saved in `corpus/TARGET/`, where `cargo
//! test` replays it from then on.
//!
//! `make fuzz` builds with the compiler's coverage counters (stable: `-C passes=sancov-module`), so that inputs that reach new
//! code are mutated further ([`coverage`]). Without counters, the same targets run on the corpus and on fresh inputs only.

pub mod bounds;
pub mod coverage;
pub mod engine;
pub mod schema;
pub mod source;
pub mod targets;
pub mod world;

pub use targets::{TARGETS, Target, Verdict};
