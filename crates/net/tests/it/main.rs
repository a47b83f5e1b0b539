//! Tests of endpoints in a network. Their stacks are only a few lines long.

mod expectations;
mod forks;
mod misbehaviour;
mod page;
mod results;
mod stacks;
