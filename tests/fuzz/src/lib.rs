//! The attack that is kept: random inputs through every door of the program, and what must hold for each.
//!
//! A [`Target`] is a function that takes any bytes and panics if something is wrong: [`targets`] says what each one asserts.
//! The bytes are choices ([`source`]), from which scenarios ([`schema`], [`world`]) or sequences of calls are made; where text
//! is read from a user they are the text. [`engine`] feeds them: what is kept in `corpus/`, mutations of it, and fresh ones,
//! all from one seed. An input that fails is made smaller and saved in `corpus/TARGET/`, where `cargo test` replays it for ever.
//!
//! `make fuzz` builds with the compiler's coverage counters (stable: `-C passes=sancov-module`), so that inputs that reach
//! new code are mutated further ([`coverage`]); without them the same targets run on fresh inputs and the corpus alone.

pub mod bounds;
pub mod coverage;
pub mod engine;
pub mod schema;
pub mod source;
pub mod targets;
pub mod world;

pub use targets::{TARGETS, Target, Verdict};
