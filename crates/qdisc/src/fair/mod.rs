//! Fair disciplines (Type A of ARRIS 2013): a queue for each flow. Each discipline is composed of four independent parts.
//!
//! ```text
//! fair = classifier x scheduler x law x overflow
//!
//!                classifier        +---- queue, law ----+
//!     arrival -- which queue? ---->|---- queue, law ----|---> scheduler -- whose turn? --> law: pass, mark, drop --> link
//!                   |              +---- queue, law ----+
//!                   +-- law of that queue: pass, mark, drop;  if there is no room, overflow: which packets are dropped?
//! ```
//!
//! Every named discipline of this module is one choice of the four parts, with the defaults of its source. In `fair`,
//! all four parts are parameters. A string such as `"sfq_hss + pie"` combines a discipline and a law by name.
//!
//! Source: McKenney 1990; ARRIS 2013; RFC 8290. Bounds: enqueue and dequeue take constant time, except for making room
//! on overflow (`Queues::longest`, `Fair::latest`), searching a group, passing over queues without credit or packets
//! (`Scheduler::turn`), packets that a law drops, and the updates that an idle queue missed (`Fair::rouse`). A law's
//! timer visits each active queue.

mod classifier;
mod collisions;
mod drr;
mod fq_codel;
mod fq_pie;
mod hash;
mod machine;
mod overflow;
mod params;
mod perfect;
mod preset;
mod prio;
mod queues;
mod scheduler;
mod sfq;
mod sfq_codel;
mod sfq_hss;

pub(crate) use classifier::{ClassifierSpec, HashParams, IsolatedParams, SerialSearchParams, WhenFull};
pub use collisions::collisions;
pub(crate) use drr::DrrParams;
pub(crate) use fq_codel::FqCodelParams;
pub(crate) use fq_pie::FqPieParams;
pub(crate) use hash::HashKey;
pub(crate) use hash::{hash, place};
pub use machine::Fair;
pub(crate) use overflow::{End, Longest, Measure, Overflow, Tie};
pub use params::FairParams;
pub(crate) use params::LawSees;
pub(crate) use perfect::PerfectParams;
pub(crate) use prio::PrioParams;
pub(crate) use scheduler::{Quantum, SchedulerSpec};
pub(crate) use sfq::SfqParams;
pub(crate) use sfq_codel::SfqCodelParams;
pub(crate) use sfq_hss::SfqHssParams;
