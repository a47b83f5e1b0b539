//! Two coupled queues: a short queue for traffic with scalable congestion control, and a second queue for all other traffic.
//!
//! ```text
//!                        +--- L queue: own and coupled marking ----+
//!     arrival -- ECN? -->|              ^ k p'                     |---> weighted turns ---> link
//!                        +--- C queue: marks and drops with p'^2 --+
//! ```
//!
//! L is the short queue, and C is the other. One controller computes a probability, p', from the delay. The coupling
//! derives a signal for each queue from p' (k is the coupling factor), so that flows of both kinds get about equal
//! shares of the bandwidth. Each queue has its own delay, but both share the bandwidth of the link.
//!
//! Source: RFC 9332.

mod dualpi2;
pub mod lld;
mod params;
mod pi2;
mod turns;

pub use dualpi2::Dualpi2;
pub use lld::{DocsisLld, DocsisLldParams};
pub use params::Dualpi2Params;
pub(crate) use pi2::{Pi2, Recur};
pub(crate) use turns::Turns;
