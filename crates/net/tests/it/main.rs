//! Tests of endpoints in a network, with stacks of a few lines.

mod expectations;
mod forks;
mod misbehaviour;
mod page;
mod results;
mod stacks;
