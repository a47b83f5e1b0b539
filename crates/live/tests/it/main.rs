//! The live bench without a network, in one test binary, because each binary links the whole core again.

mod fates;
mod warm_up;
