//! One bottleneck, sans-I/O.
