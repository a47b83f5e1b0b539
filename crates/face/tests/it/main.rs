//! Tests of the crate in a single binary, since every test binary links the whole core again.

mod drawn;
mod measures;
mod texts;
mod windows;
