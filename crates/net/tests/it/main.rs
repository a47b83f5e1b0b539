//! Tests of endpoints in a network, with stacks of a few lines.

mod expectations;
mod misbehaviour;
mod page;
mod results;
mod stacks;
