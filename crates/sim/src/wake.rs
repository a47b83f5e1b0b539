//! The data that passes between a world and the endpoints that a program supplies.

use packet::Ecn;
use units::Time;

/// A reason to call an endpoint's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The application starts, or the time passed to [`World::wake_at`](crate::World::wake_at) has come.
    Due {
        /// Index of the endpoint's application.
        app: u16,
    },
    /// A datagram has arrived.
    Datagram {
        /// Index of the sender's application.
        app: u16,
        /// Index of the receiver in the `to` list of the sender's application.
        peer: u16,
        /// ECN field at the receiver.
        ecn: Ecn,
        /// The bytes sent.
        bytes: Vec<u8>,
    },
}

/// A datagram in flight, with its bytes.
#[derive(Clone, Debug)]
pub(crate) struct InFlightBytes {
    pub bytes: Vec<u8>,
    /// Time at which the host sent the datagram.
    pub sent: Time,
}
