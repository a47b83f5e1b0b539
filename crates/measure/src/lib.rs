//! Streaming measures.
