//! Tests of the shared parts, in one binary, since each binary links the whole core again.

mod drawn;
mod measures;
mod texts;
