//! Counters of packets, and of the grants in which a modem sends them.

use crate::PacketMeta;

/// A number of packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of packets.
    pub packets: u64,
    /// Number of bytes on the wire.
    pub bytes: u64,
}

impl Count {
    /// Counts `packet`.
    #[inline]
    pub fn add(&mut self, packet: &PacketMeta) {
        self.add_size(packet.size);
    }

    /// Counts a packet of `size` bytes.
    #[inline]
    pub fn add_size(&mut self, size: u16) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    /// Returns the sum of both counts.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }

    /// Returns the counts since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self { packets: self.packets - before.packets, bytes: self.bytes - before.bytes }
    }
}

/// Counters of one class of packets. offered = delivered + dropped + the packets still queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCount {
    /// Arrivals.
    pub offered: Count,
    /// Departures towards the link.
    pub delivered: Count,
    /// Packets that the queue dropped, for any reason.
    pub dropped: Count,
}

impl ClassCount {
    /// Returns the counts since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            offered: self.offered.since(before.offered),
            delivered: self.delivered.since(before.delivered),
            dropped: self.dropped.since(before.dropped),
        }
    }
}

/// Counters of the grants to one service flow. All counters are in bytes and include the MAC headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GrantCounts {
    /// Bytes requested.
    pub requested: u64,
    /// Bytes granted. A grant is counted when the modem prepares its burst.
    pub granted: u64,
    /// Bytes of `granted` that were not requested (proactive grants).
    pub proactive: u64,
    /// Bytes of `granted` filled with packets. The other granted bytes are wasted.
    pub used: u64,
}

impl GrantCounts {
    /// Returns the counts since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            requested: self.requested - before.requested,
            granted: self.granted - before.granted,
            proactive: self.proactive - before.proactive,
            used: self.used - before.used,
        }
    }
}
