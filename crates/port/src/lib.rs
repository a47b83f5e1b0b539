//! One bottleneck, sans-I/O: queue discipline, then a plain link, a shaper or a modem, then propagation.
//!
//! ```text
//! offer -> [discipline] -> plain: size x 8 / rate                     -> loss, propagation, jitter -> poll
//!                          shaper: token bucket + size x 8 / rate
//!                          htb: size x 8 / rate, then what was sent is paid for
//!                          modem 2012: token bucket -> transmit queue -> grants
//!                          modem 2013: grants
//!                          modem of DOCSIS 3.1: grants, of one service flow or of two
//!                          delivery: opportunities of so many bytes, as a radio link has them
//! ```
//!
//! The host calls [`Port::offer`] with an arrival, [`Port::poll`] when [`Port::deadline`] has come, and nothing else moves
//! the port. The simulator and the live bench run this same code.
//!
//! **Equal times.** On a plain link a transmission that ends at t is over before an arrival at t is looked at: the arrival
//! meets the queue that the departure has left. (So `sim` may compute a plain drop-tail link at enqueue.) The same holds of
//! opportunities: an arrival has missed that of its own moment. Of a shaper or a
//! modem, `offer(t)` does what is due before t, but not what is due at t: a host decides by the order of its calls which
//! comes first. Thus 24 packets that arrive in one moment at an idle shaper meet one packet in service and 23 candidates for
//! the queue, as in ns-2, even if tokens would let all of them pass in that moment. Within `poll(t)`, what is due at one
//! moment happens in the order: the link becomes free (and a shaped packet enters the transmit queue), MAP, the discipline's
//! timer, room in the transmit queue.
//!
//! A host that schedules arrivals apart from the port's own work calls [`Port::work`] when [`Port::work_at`] has come and
//! [`Port::poll`] when [`Port::arrival_at`] has.

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
