//! Plain counts of a flow, an application or a link.

use packet::{DropReason, MarkReason};

/// Counts of packets and bytes. Whoever feeds it decides what it stands for; all fields may be read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire, every header included.
    pub wire_bytes: u64,
    /// Payload bytes delivered in order (TCP) or at all (UDP).
    pub goodput_bytes: u64,
    /// Packets believed lost by the sender (retransmitted).
    pub losses: u64,
    /// Packets dropped, by [`DropReason`] in the order of [`DropReason::ALL`].
    pub drops: [u64; DropReason::ALL.len()],
    /// Wire bytes of dropped packets.
    pub dropped_bytes: u64,
    /// Packets marked with CE by a control law.
    pub marks_law: u64,
    /// Packets marked with CE by a step threshold.
    pub marks_step: u64,
}

impl Counters {
    /// Counts a packet of `size` bytes on the wire.
    #[inline]
    pub fn packet(&mut self, size: u16) {
        self.packets += 1;
        self.wire_bytes += u64::from(size);
    }

    /// Counts a dropped packet.
    #[inline]
    pub fn drop(&mut self, size: u16, reason: DropReason) {
        self.drops[reason as usize] += 1;
        self.dropped_bytes += u64::from(size);
    }

    /// Counts a mark.
    #[inline]
    pub fn mark(&mut self, reason: MarkReason) {
        match reason {
            MarkReason::Law => self.marks_law += 1,
            MarkReason::Step => self.marks_step += 1,
        }
    }

    /// Packets dropped, whatever the reason.
    pub fn dropped(&self) -> u64 {
        self.drops.iter().sum()
    }

    /// Dropped packets with their reason's name; all reasons, in order.
    pub fn drops_by_name(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        DropReason::ALL.iter().map(|r| (r.name(), self.drops[*r as usize]))
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        self.packets += other.packets;
        self.wire_bytes += other.wire_bytes;
        self.goodput_bytes += other.goodput_bytes;
        self.losses += other.losses;
        self.drops.iter_mut().zip(other.drops).for_each(|(a, b)| *a += b);
        self.dropped_bytes += other.dropped_bytes;
        self.marks_law += other.marks_law;
        self.marks_step += other.marks_step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up() {
        assert!(DropReason::ALL.iter().enumerate().all(|(i, r)| *r as usize == i));
        let mut a = Counters::default();
        a.packet(1500);
        a.packet(50);
        a.drop(1500, DropReason::EarlyHead);
        a.drop(50, DropReason::TailFull);
        a.mark(MarkReason::Law);
        let mut b = a;
        b.merge(&a);
        assert_eq!((b.packets, b.wire_bytes, b.dropped(), b.dropped_bytes, b.marks_law), (4, 3100, 4, 3100, 2));
        assert_eq!(b.drops_by_name().find(|d| d.0 == "early_head"), Some(("early_head", 2)));
    }
}
