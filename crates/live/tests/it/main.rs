//! Tests of the live bench without a network. They are a single binary, because every test binary links the whole core again.

mod fates;
mod warm_up;
