//! Tests of the crate. They are a single binary, because every test binary links the whole core again.

mod drawn;
mod measures;
mod texts;
mod windows;
