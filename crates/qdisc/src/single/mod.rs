//! Disciplines with one queue.

mod droptail;
mod managed;

pub(crate) use droptail::DroptailParams;
pub(crate) use managed::mark;
