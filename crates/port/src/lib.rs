//! One bottleneck, sans-I/O: a queue discipline; then a plain link, a shaper, a modem or delivery opportunities; then
//! propagation.
//!
//! ```text
//! offer -> [discipline] -> plain: size x 8 / rate                     -> loss, propagation, jitter -> poll
//!                          shaper: token bucket + size x 8 / rate
//!                          htb: size x 8 / rate, charged afterwards
//!                          modem 2012: token bucket -> transmit queue -> grants
//!                          modem 2013: grants
//!                          modem of DOCSIS 3.1: grants, of one or two service flows
//!                          delivery: opportunities to send a number of bytes, as on a radio link
//! ```
//!
//! The host is the program that drives the port: the simulator or the live bench. It calls [`Port::offer`] for each arrival, and
//! [`Port::poll`] at [`Port::deadline`]. A port acts only when its host calls it.
//!
//! **Equal times.** On a plain link, and behind a token bucket on a link with a rate, a departure at t comes before an
//! arrival at t, so the arrival finds the queue without the departed packet. (For this reason, `sim` may compute the
//! departures of a plain drop-tail link at enqueue.) Opportunities also come before arrivals, so a packet that arrives
//! at the time of an opportunity misses it. For a token bucket on a link without a rate, for HTB and for a modem,
//! `offer(t)` does the work due before t but not the work due at t, so the order of the host's calls decides. For
//! example, of 24 packets that arrive together at such a token bucket, one is in service and 23 try to join the queue,
//! as in ns-2, even if there are tokens for all 24 packets. Within `poll(t)`, equal times are handled in this order: the
//! link becomes free (and a shaped packet enters the transmit queue), the server's clock (a MAP, a grant or an
//! opportunity), the discipline's timer, room in the transmit queue.
//!
//! Instead of `poll`, a host may call [`Port::work`] at [`Port::work_at`], and `work` followed by [`Port::arrive`] at
//! [`Port::arrival_at`].

mod delivery;
mod egress;
mod env;
mod htb;
mod impairments;
mod link;
mod port;
mod propagation;
mod resume;
mod server;
mod shaper;
mod spec;

pub use crate::port::Port;
pub use delivery::{DELIVERIES, Delivery, Lines};
pub use env::{Env, PortCounters};
pub use htb::HtbParams;
pub use impairments::{BurstLoss, Impairments, Policer, Reordering, Retransmission};
pub use link::{Carries, Link};
pub use resume::PlainLink;
pub use shaper::Shaper;
pub use spec::{Change, Lateness, PortSpec, Service};
