//! Single parts driven by the caller: one discipline, one TCP sender, for teaching, testing and new algorithms.

mod discipline;
mod sender;

pub(crate) use discipline::{Discipline, Fate, Packet};
pub(crate) use sender::{SentSegment, TcpSender};
