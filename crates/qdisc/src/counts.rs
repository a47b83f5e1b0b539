//! Packets and bytes by their fate.

use packet::PacketMeta;

/// A number of packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

impl Count {
    /// Counts `packet`.
    #[inline]
    pub fn add(&mut self, packet: &PacketMeta) {
        self.packets += 1;
        self.bytes += packet.bytes();
    }

    /// Both counts together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// What became of the packets of one class. offered = delivered + dropped + queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCount {
    /// Arrivals.
    pub offered: Count,
    /// Departures towards the link.
    pub delivered: Count,
    /// Drops, early or for want of room.
    pub dropped: Count,
}

/// A class of a discipline, for a look from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassProbe<'a> {
    /// What its parameters call it.
    pub name: &'a str,
    /// What became of its packets.
    pub counts: ClassCount,
    /// Marks by reason (law, step); `None` for a class that never marks.
    pub marked: Option<[u64; 2]>,
}
