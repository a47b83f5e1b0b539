//! The live bench without a network: one test binary, since each binary links the whole core again.

mod fates;
mod warm_up;
