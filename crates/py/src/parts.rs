//! A queue discipline and a TCP sender that can be used without a network. The caller drives them step by step, to
//! teach how they work, to test them, or to try new algorithms.

mod discipline;
mod sender;

pub(crate) use discipline::{Discipline, Fate, Packet};
pub(crate) use sender::{SentSegment, TcpSender};
