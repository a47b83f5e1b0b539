//! Tests of the live bench without a network. They are one binary, since each binary links the whole core again.

mod fates;
mod warm_up;
