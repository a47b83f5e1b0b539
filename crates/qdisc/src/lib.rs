//! Queue disciplines.
//!
//! ARRIS 2013 has three types: A is a queue for each flow, B is one queue with early drops, and C is one queue without
//! them. The modules are `single` (one FIFO: drop-tail, which is Type C, or any law, which is Type B), `law` (control
//! laws), `fair` (Type A: classifier x scheduler x law x overflow), `class` (counts or queues per class, or counts per
//! flow), `dual` (two coupled queues) and `cake` (Type A with its own shaper).
//!
//! A discipline decides which packets to accept, mark and drop. [`Queue`] wraps a discipline: it stamps arrivals,
//! counts packets by fate and, in debug builds, checks that the counts balance. The code that uses a discipline (its
//! host) holds a [`Queue`]. [`Spec`] is a discipline as plain data in a scenario; [`QDISCS`] lists all disciplines.
//!
//! Adding a discipline takes one file (parameters that implement [`Params`], a type that implements
//! [`QueueDiscipline`]; for a law, [`law::LawParams`] and [`law::Law`]), its `mod` line, and one entry in `spec.rs`, or
//! for a law in `law/list.rs`.

mod cake;
pub mod class;
mod counts;
mod declared;
mod discipline;
pub mod dual;
pub mod fair;
mod fifo;
pub mod law;
mod limit;
mod longest;
mod params;
mod queue;
mod single;
mod spec;
pub mod tc;

pub use counts::ClassProbe;
pub use discipline::{Context, QueueDiscipline, ServiceFlows};
pub(crate) use fifo::Fifo;
pub use law::list::{AnyLaw, LawSpec};
pub(crate) use limit::Room;
pub use params::Params;
pub use queue::{Counters, Queue};
pub use spec::{Discipline, OUTSIDE, QDISCS, Spec};
