//! The DOCSIS 3.0 service flow as pure machines.
//!
//! [`TokenBucket`] shapes (upstream and downstream); [`Mac`] is the transmit queue with its request/grant loop as document
//! 001 describes it (2012); [`GrantedLink`] is the model without a transmit queue that CableLabs published in 2013.
//! Parameters carry the names of DOCSIS MULPI and the paragraph that specifies them.
//!
//! Not modelled: contention collisions and back-off, MAC headers and the FEC overhead, more than one service flow per
//! direction, MAP processing times (the loop is a whole number of MAP intervals), and the CMTS scheduler beyond a limit on
//! the grant of each MAP.

mod bucket;
mod cmts;
mod granted;
mod mac;
mod map;
mod modem31;
mod params;
mod params31;

pub use bucket::{Bucket, TokenBucket};
pub use cmts::{C, Cmts, FrameGrant, L};
pub use granted::{GrantedLink, Next};
pub use mac::Mac;
pub use modem31::{Ask, GrantCounts, Modem31};
pub use params::{DocsisParams, MAX_BURST, MapClock, Model, RequestVector, ShaperParams, TransmitOverflow};
pub use params31::{Docsis31Params, LowLatencyParams};
