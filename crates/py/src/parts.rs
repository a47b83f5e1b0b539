//! Single parts driven by the caller, for teaching, testing and new algorithms: one discipline, one TCP sender.

mod discipline;
mod sender;

pub(crate) use discipline::{Discipline, Fate, Packet};
pub(crate) use sender::{SentSegment, TcpSender};
