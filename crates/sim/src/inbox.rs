//! The state of a port in a chain, used by the module `through`: the packets that will arrive at the port, and the
//! number of its packets in flight that have been passed on to its tail.

use crate::chain::Tail;
use crate::fifo::TxTime;
use crate::ring::Ring;
use packet::PacketMeta;
use scenario::NetworkLink;
use units::{Duration, Time};

/// A packet that will arrive at the port.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Inbound {
    /// The packet; its stamp is the time of its arrival. It is stored unpacked: a packet that is unpacked just before the
    /// port copies it makes the processor wait (see [`packet::Packed`]).
    pub packet: PacketMeta,
    /// `since` and `first` decide the order of this arrival among simultaneous events, as in [`crate::chained::Arrival`].
    pub since: Time,
    pub first: bool,
}

/// The state of a port that has a tail.
#[derive(Clone, Debug)]
pub(crate) struct Through {
    pub tail: Tail,
    /// Packets that will arrive at the port, in order of arrival. The port has not yet advanced to the times of these
    /// arrivals.
    pub inbox: Ring<Inbound>,
    /// Number of the port's packets in flight that have already been passed on to the tail.
    pub entered: usize,
    /// Time at which the last packet that was passed on to the tail arrives at the far end of the port's link.
    pub last_arrival: Time,
    /// Time of the latest handled arrival at the far end of the port's link.
    pub arrived: Time,
    tx: TxTime,
    delay: Duration,
}

impl Through {
    pub(crate) fn new(link: &NetworkLink, tail: Tail) -> Self {
        let tx = TxTime::new(link.port.rate);
        Self {
            tail,
            inbox: Ring::default(),
            entered: 0,
            last_arrival: Time::ZERO,
            arrived: Time::ZERO,
            tx,
            delay: link.port.delay,
        }
    }

    /// Returns the time of the next arrival at the port; [`Time::NEVER`] if the inbox is empty.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Time {
        self.inbox.get(0).map_or(Time::NEVER, |next| next.packet.stamp)
    }

    /// Returns the time at which the port dequeued a packet of `size` bytes that reaches the far end at the time `at`.
    #[inline]
    pub(crate) fn dequeued_at(&mut self, at: Time, size: u16) -> Time {
        Time(at.0 - self.delay.0 - self.tx.of(size).0)
    }

    /// Returns the time at which a port outside a chain would have scheduled the arrival of `first`, the first packet
    /// in flight: at the arrival of the preceding packet or, if no other packet was in flight, when `first` was
    /// dequeued.
    pub(crate) fn since(&mut self, first: &PacketMeta) -> Time {
        self.dequeued_at(first.stamp, first.size).max(self.arrived)
    }

    /// Returns the next packet in the inbox, if it arrives at the time `now` and its arrival precedes the current
    /// event, which was scheduled at the time `since`.
    pub(crate) fn before(&self, now: Time, since: Time) -> Option<Inbound> {
        let precedes = |next: &Inbound| next.since < since || next.since == since && next.first;
        self.inbox.get(0).filter(|next| next.packet.stamp == now && precedes(next)).copied()
    }
}
