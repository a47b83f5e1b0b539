//! Runs a foreign transport in a simulated network, in virtual time.
//!
//! ```text
//!   scenario (TOML) --Network::from_toml--> links, disciplines, routes, loads, our own TCPs
//!   your stack      --add_endpoint--------> one application of the scenario, with a row in its tables
//!
//!   datagram arrives --> handle(now, datagram) --+
//!   timeout          --> on_timeout(now) --------+--> poll_transmit(now) until None --> next_timeout()
//! ```
//!
//! A stack is sans-I/O: it implements [`Endpoint`], and reads no clock and no socket. Queues read the real size and the
//! ECN field of the stack's datagrams. The receiver gets the bytes as sent (in a whole IP packet, the ECN field and the
//! header checksum may have changed), and the CE mark if a queue set one. Two runs of a deterministic stack give the
//! same results, byte for byte.
//!
//! A stack that misbehaves ends the run with a [`Failure`], which names the endpoint and the time. The results up to this time
//! are kept.
//!
//! | part | what it is or does |
//! |---|---|
//! | [`Endpoint`] | is the interface of a stack |
//! | [`Network`] | runs a scenario with endpoints, step by step |
//! | [`Network::check`] | checks the result against the scenario's `[expect]` table |
//! | [`Network::save`] | writes a folder that `bloatlab check`, `plot`, `diff` and `report` read |
//! | [`Failure`] | describes the misbehaviour that ended a run |
//! | [`Fault`] | carries a failure that an adapter for another language reports |

mod check;
mod endpoint;
mod guard;
mod network;
mod save;

pub use endpoint::{Datagram, Endpoint, Framing, Transmit};
pub use guard::{Failure, Fault, MOST_SENT, MOST_TIMEOUTS};
pub use network::Network;
pub use packet::Ecn;
pub use sim::Outcome;
pub use units::{Duration, Problem, Time};
