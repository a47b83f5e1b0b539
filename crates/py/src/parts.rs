//! The parts by hand: one discipline, one TCP sender, for teaching, testing and one's own algorithms.

mod discipline;
mod sender;

pub(crate) use discipline::{Discipline, Fate, Packet};
pub(crate) use sender::{SentSegment, TcpSender};
