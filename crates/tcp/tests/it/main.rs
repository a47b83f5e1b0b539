//! Tests of senders and receivers from outside. One test binary, since each binary links the whole core again.

mod adding;
mod golden;
mod pipe;
mod probes;
