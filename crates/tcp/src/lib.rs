//! TCP as sans-I/O machines: segments and time in, segments and events out.
