//! Single parts that the caller drives step by step: a queue discipline and a TCP sender. For teaching, testing and new
//! algorithms.

mod discipline;
mod sender;

pub(crate) use discipline::{Discipline, Fate, Packet};
pub(crate) use sender::{SentSegment, TcpSender};
