//! One bottleneck, sans-I/O: queue discipline, then a plain link, a shaper or a modem, then propagation.
//!
//! ```text
//! offer -> [discipline] -> plain: size x 8 / rate                     -> loss, propagation, jitter -> poll
//!                          shaper: token bucket + size x 8 / rate
//!                          htb: size x 8 / rate, charged afterwards
//!                          modem 2012: token bucket -> transmit queue -> grants
//!                          modem 2013: grants
//!                          modem of DOCSIS 3.1: grants, of one service flow or of two
//!                          delivery: opportunities of a number of bytes, as on a radio link
//! ```
//!
//! The host calls [`Port::offer`] with an arrival, and [`Port::poll`] at [`Port::deadline`]; nothing else moves the
//! port. The simulator and the live bench run this same code.
//!
//! **Equal times.** On a plain link a transmission that ends at t ends before an arrival at t: the arrival sees the
//! queue after the departure. (So `sim` may compute the departures of a plain drop-tail link at enqueue.) The same
//! holds for opportunities: an arrival misses an opportunity of the same moment. For a shaper or a modem, `offer(t)`
//! does the work due before t, but not the work due at t: the order of the host's calls decides. So 24 packets that
//! arrive at an idle shaper in one moment find one packet in service and 23 candidates for the queue, as in ns-2, even
//! if there are tokens for all of them. Within `poll(t)`, equal times are handled in this order: the link becomes free
//! (and a shaped packet enters the transmit queue), MAP, the discipline's timer, room in the transmit queue.
//!
//! A host that schedules arrivals and the port's own work separately calls [`Port::work`] at [`Port::work_at`] and
//! [`Port::poll`] at [`Port::arrival_at`].

mod delivery;
mod egress;
mod env;
mod htb;
mod link;
mod port;
mod propagation;
mod server;
mod shaper;
mod spec;

pub use crate::port::Port;
pub use delivery::{DELIVERIES, Delivery, Lines};
pub use env::{Env, PortCounters};
pub use htb::HtbParams;
pub use link::{Carries, Link};
pub use shaper::Shaper;
pub use spec::{Change, Lateness, PortSpec, Service};
