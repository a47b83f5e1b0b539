//! Senders and receivers from outside: one test binary, since each binary links the whole core again.

mod adding;
mod golden;
mod pipe;
mod probes;
