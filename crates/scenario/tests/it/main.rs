//! Scenario files, right and wrong: one test binary, since each binary links the whole core again.

mod choices;
mod errors;
mod tc;
mod words;
