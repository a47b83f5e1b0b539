//! Counters of each direction of a flow.

/// Counters of one end of a connection as a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounts {
    /// Packets that arrived.
    pub packets: u64,
    /// Size on the wire of the packets that arrived, headers included.
    pub wire_bytes: u64,
    /// Payload that arrived in order.
    pub goodput_bytes: u64,
}

/// Counters of one end of a connection as a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Number of times that the sender entered fast recovery.
    pub fast_recoveries: u64,
    /// Packets that ACKs reported as CE-marked.
    pub ce_packets: u64,
}

/// The counters that senders report. A kernel does not export all counters; an unknown counter is null, not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// True if the number of retransmission timeouts is known.
    pub timeouts: bool,
    /// True if the number of fast recoveries is known.
    pub fast_recoveries: bool,
    /// True if CE marks are counted: a TCP stack uses ECN and reports CE marks, or the program supplies a transport. If
    /// false, the table `flows` has no column `ce_packets`.
    pub ce_packets: bool,
}

impl Default for Known {
    fn default() -> Self {
        Self { timeouts: true, fast_recoveries: true, ce_packets: false }
    }
}

/// Counters of one direction of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that arrived at the end host.
    pub packets: u64,
    /// Size on the wire of the packets that arrived, headers included.
    pub wire_bytes: u64,
    /// Payload that arrived in order.
    pub goodput_bytes: u64,
    /// Packets dropped on the way, in queues or on links.
    pub dropped: u64,
    /// Segments that the sender retransmitted.
    pub retransmits: u64,
    /// The sender's retransmission timeouts.
    pub timeouts: u64,
    /// Number of times that the sender entered fast recovery.
    pub fast_recoveries: u64,
    /// CE-marked packets that ACKs reported to the sender. For a transport that the program supplies (`endpoint`):
    /// CE-marked datagrams that arrived.
    pub ce_packets: u64,
}

impl Counts {
    pub(super) fn received(&mut self, receiver: ReceiverCounts) {
        self.packets += receiver.packets;
        self.wire_bytes += receiver.wire_bytes;
        self.goodput_bytes += receiver.goodput_bytes;
    }

    pub(super) fn sent(&mut self, sender: SenderCounts) {
        self.retransmits += sender.retransmits;
        self.timeouts += sender.timeouts;
        self.fast_recoveries += sender.fast_recoveries;
        self.ce_packets += sender.ce_packets;
    }

    /// Returns the counts since `before`.
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            packets: self.packets - before.packets,
            wire_bytes: self.wire_bytes - before.wire_bytes,
            goodput_bytes: self.goodput_bytes - before.goodput_bytes,
            dropped: self.dropped - before.dropped,
            retransmits: self.retransmits - before.retransmits,
            timeouts: self.timeouts - before.timeouts,
            fast_recoveries: self.fast_recoveries - before.fast_recoveries,
            ce_packets: self.ce_packets - before.ce_packets,
        }
    }
}
