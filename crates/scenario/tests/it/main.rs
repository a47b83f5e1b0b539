//! Tests with valid and invalid scenario files. All are in one binary, because each test binary links the whole core again.

mod choices;
mod errors;
mod stack;
mod tc;
mod words;
