//! The service flows of cable modems, as state machines without I/O: DOCSIS 3.0, and DOCSIS 3.1 with Low Latency DOCSIS.
//!
//! [`TokenBucket`] shapes rates (upstream and downstream). [`Mac`] is the transmit queue with the request/grant loop of CableLabs
//! 2012. [`GrantedLink`] is the model without a transmit queue that CableLabs published in 2013. [`Modem31`] is a DOCSIS 3.1
//! modem with a single service flow or an aggregate of two. [`cmts::Cmts`] schedules the grants of this modem, and
//! [`Downstream31`] is the CMTS's downstream to it. Parameters have the names of DOCSIS MULPI, where it defines them;
//! [`ShaperParams`] cites the paragraphs.
//!
//! Not modelled in 3.0: contention collisions and back-off, MAC headers and FEC overhead, more than one service flow per
//! direction, MAP processing times (the request/grant loop takes a whole number of MAP intervals), and the CMTS scheduler, except
//! for a limit on each MAP's grant.

mod bucket;
mod cmts;
mod downstream31;
mod granted;
mod mac;
mod map;
mod modem31;
mod ofdm;
mod params;
mod params31;

pub use bucket::{Bucket, TokenBucket};
pub(crate) use cmts::{C, L};
pub use downstream31::Downstream31;
pub use granted::{GrantedLink, Next};
pub use mac::Mac;
pub use modem31::{Action, Modem31};
pub(crate) use ofdm::DownstreamParams;
pub use params::{DocsisParams, MAX_BURST, Model, ShaperParams, TransmitOverflow};
pub(crate) use params::{MapClock, RequestVector};
pub use params31::Docsis31Params;
