//! Queue disciplines.
//!
//! The taxonomy is from ARRIS 2013: `single` (one queue, no early drop: Type C), `law` (control laws: Type B), `fair`
//! (classifier x scheduler x law x overflow: Type A), `class` (counts per class or flow) and `dual` (two coupled
//! queues). `cake` is Type A with its own shaper.
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
