//! Tests of the live bench without a network.
//! They form a single binary, because each additional binary would link the whole core again.

mod fates;
mod plan;
mod warm_up;
