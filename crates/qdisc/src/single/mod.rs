//! One queue.

mod droptail;
mod managed;

pub use droptail::{DropTail, DroptailParams};
pub use managed::Managed;
pub(crate) use managed::mark;
