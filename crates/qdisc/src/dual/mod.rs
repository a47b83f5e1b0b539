//! Two queues, coupled: one for traffic whose congestion control is scalable and wants a short queue, one for all other.
//!
//! ```text
//!                        +--- L queue: own marking, and coupled ---+
//!     arrival -- ECN? -->|              ^ k p'                     |---> weighted turns ---> link
//!                        +--- C queue: marks and drops with p'^2 --+
//! ```
//!
//! One controller looks at the delay of both and gives a probability; the coupling turns it into two signals that make a
//! flow of either kind take about the same share. The queues separate delay, not bandwidth.
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
