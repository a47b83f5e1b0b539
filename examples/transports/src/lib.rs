//! Transports from other projects, behind bloatlab's queues.
//!
//! | part | what it does |
//! |---|---|
//! | [`quic`] | quinn-proto as an endpoint |
//! | [`plaintext`] | a session for quinn-proto without encryption, so that two runs give the same bytes |
//! | [`smol`] | smoltcp's TCP as an endpoint that sends whole IP packets |
//! | [`bench`] | a bottleneck for one of these stacks, alone or beside our CUBIC |

pub mod bench;
pub mod plaintext;
pub mod quic;
pub mod smol;
