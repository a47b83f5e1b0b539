//! The PyO3 module `bloatlab._core`.
