//! Scenario files, right and wrong: one test binary, since each binary links the whole core again.

mod choices;
mod errors;
mod stack;
mod tc;
mod words;
