//! What every face shares: one test binary, since each binary links the whole core again.

mod drawn;
mod measures;
mod texts;
