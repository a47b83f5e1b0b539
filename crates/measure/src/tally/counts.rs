//! What is counted of each direction of a flow.

/// What has arrived at one end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounts {
    /// Packets that arrived.
    pub packets: u64,
    /// Their bytes on the wire.
    pub wire_bytes: u64,
    /// Payload that arrived in order.
    pub goodput_bytes: u64,
}

/// What one end of a connection did as a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Times that it entered fast recovery.
    pub fast_recoveries: u64,
    /// Its packets that ACKs told to have been CE-marked.
    pub ce_packets: u64,
}

/// What senders tell of themselves: a kernel keeps some of it to itself, and what is unknown is null, not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Retransmission timeouts.
    pub timeouts: bool,
    /// Entries into fast recovery.
    pub fast_recoveries: bool,
    /// CE marks: a stack has ECN, and tells. Without it there is no column of them.
    pub ce_packets: bool,
}

impl Default for Known {
    fn default() -> Self {
        Self { timeouts: true, fast_recoveries: true, ce_packets: false }
    }
}

/// What is counted of one direction of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that arrived at the end host.
    pub packets: u64,
    /// Their bytes on the wire.
    pub wire_bytes: u64,
    /// Payload that arrived in order.
    pub goodput_bytes: u64,
    /// Packets dropped on the way, in queues or on links.
    pub dropped: u64,
    /// Segments that its sender sent again.
    pub retransmits: u64,
    /// Retransmission timeouts of its sender.
    pub timeouts: u64,
    /// Times that its sender entered fast recovery.
    pub fast_recoveries: u64,
    /// Packets that its sender was told to have been CE-marked.
    pub ce_packets: u64,
}

impl Counts {
    /// What has arrived at the far end.
    pub(super) fn received(&mut self, receiver: ReceiverCounts) {
        self.packets += receiver.packets;
        self.wire_bytes += receiver.wire_bytes;
        self.goodput_bytes += receiver.goodput_bytes;
    }

    /// What the near end did as its sender.
    pub(super) fn sent(&mut self, sender: SenderCounts) {
        self.retransmits += sender.retransmits;
        self.timeouts += sender.timeouts;
        self.fast_recoveries += sender.fast_recoveries;
        self.ce_packets += sender.ce_packets;
    }

    /// What was counted since `before`.
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
