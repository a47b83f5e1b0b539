//! The interface of a stack.

use packet::Ecn;
use std::net::SocketAddr;
use units::Time;

/// A datagram that arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Address of the sender.
    pub from: SocketAddr,
    /// ECN field of the IP header on arrival: CE if a queue has marked the datagram.
    pub ecn: Ecn,
    /// The bytes that the sender supplied in [`Transmit::bytes`]. If they are a whole IPv4 packet, the ECN field in its
    /// header equals [`Datagram::ecn`].
    pub bytes: Vec<u8>,
}

/// A datagram to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Address of the endpoint to send to.
    pub to: SocketAddr,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// The bytes, without the headers that [`Framing`] adds.
    pub bytes: Vec<u8>,
}

/// The headers that the network adds to the bytes of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// The bytes are the payload of UDP over IPv4, which adds 28 bytes.
    #[default]
    Udp,
    /// The bytes are a whole IPv4 packet. The packet is sent to the endpoint with the IP address of [`Transmit::to`]
    /// (to the first that was added, if there are several); the port is ignored. The network writes [`Transmit::ecn`]
    /// into the packet's header.
    Ipv4,
}

impl Framing {
    /// Returns the total size of the added headers in bytes.
    pub(crate) fn headers(self) -> usize {
        match self {
            Self::Udp => 28,
            Self::Ipv4 => 0,
        }
    }
}

/// A stack at a node: a state machine without I/O, driven in virtual time.
///
/// After each call of [`Endpoint::handle`] or [`Endpoint::on_timeout`], the network calls [`Endpoint::poll_transmit`] until
/// it returns `None`, and then [`Endpoint::next_timeout`]. It also does this at the start, and at a time that
/// [`Endpoint::next_timeout`] returned earlier. In these two cases, it first calls [`Endpoint::next_timeout`], and, if the
/// timeout is due, [`Endpoint::on_timeout`].
pub trait Endpoint {
    /// Receives a datagram that arrives now.
    fn handle(&mut self, now: Time, datagram: Datagram);

    /// Returns the next datagram to send now, or `None` if there is none.
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit>;

    /// Returns the time of the next timeout, if one is pending. A time in the past means "now".
    fn next_timeout(&mut self) -> Option<Time>;

    /// Handles a timeout: the time that [`Endpoint::next_timeout`] returned is `now` or in the past.
    fn on_timeout(&mut self, now: Time);

    /// Returns a copy in the same state, which shares nothing with this endpoint; `None`, the default, if the endpoint cannot
    /// be forked.
    ///
    /// For a stack that is `Clone`: `Some(Box::new(self.clone()))`.
    fn fork(&self) -> Option<Box<dyn Endpoint + Send>> {
        None
    }

    /// Returns the headers that the network adds to each packet. Every call must return the same value.
    fn framing(&self) -> Framing {
        Framing::Udp
    }
}
