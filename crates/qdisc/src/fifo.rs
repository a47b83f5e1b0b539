//! A first-in first-out queue of packets that counts its bytes.

use packet::{Backlog, PacketMeta};
use std::collections::VecDeque;

/// Packets in order of arrival, in a ring that grows by doubling and never shrinks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fifo {
    ring: VecDeque<PacketMeta>,
    bytes: u64,
}

impl Fifo {
    #[inline]
    pub(crate) fn push(&mut self, packet: PacketMeta) {
        self.bytes += packet.bytes();
        self.ring.push_back(packet);
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<PacketMeta> {
        let packet = self.ring.pop_front()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    #[inline]
    pub(crate) fn pop_back(&mut self) -> Option<PacketMeta> {
        let packet = self.ring.pop_back()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&PacketMeta> {
        self.ring.front()
    }

    /// Returns the oldest packet, so that the caller can mark it.
    #[inline]
    pub(crate) fn front_mut(&mut self) -> Option<&mut PacketMeta> {
        self.ring.front_mut()
    }

    #[inline]
    pub(crate) fn back(&self) -> Option<&PacketMeta> {
        self.ring.back()
    }

    /// Returns all packets, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &PacketMeta> {
        self.ring.iter()
    }

    /// Removes and returns the packet at index `place`. Index 0 is the oldest packet.
    pub(crate) fn remove(&mut self, place: usize) -> Option<PacketMeta> {
        let packet = self.ring.remove(place)?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// Returns the newest packet, so that the caller can mark it.
    #[inline]
    pub(crate) fn back_mut(&mut self) -> Option<&mut PacketMeta> {
        self.ring.back_mut()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { packets: self.ring.len() as u32, bytes: self.bytes }
    }
}
