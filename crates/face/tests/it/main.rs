//! Tests of the crate. They form a single binary, because each additional binary would link the whole core again.

mod drawn;
mod measures;
mod texts;
mod windows;
