//! Tests with valid and invalid scenario files.
//! They form a single binary, because each additional binary would link the whole core again.

mod changes;
mod choices;
mod errors;
mod json;
mod stack;
mod tc;
mod words;
