//! Support for the tests of the applications.

pub(crate) mod fake;
