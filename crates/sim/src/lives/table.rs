//! Tables of packets and their legs, and an index of the packets in flight.

use packet::{FlowId, PacketMeta};
use record::{LinkId, PacketId};
use std::collections::BTreeMap;
use units::Time;

/// Index that means no row.
pub(super) const NONE: u32 = u32::MAX;

/// One packet, from the moment at which its host sends it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Life {
    /// Row of the packet's flow and direction.
    pub flow: u32,
    /// [`PacketMeta::seq`].
    pub seq: u64,
    /// Sequence number that follows the last payload byte of a TCP segment; 0 for a packet without TCP payload, and for
    /// a segment of a packet that a link has split (GSO).
    pub end: u64,
    /// Bytes on the wire.
    pub size: u16,
    /// [`PacketMeta::flags`].
    pub flags: u16,
    /// The packet's ECN field, as sent.
    pub ecn: u8,
    /// True if the packet is a retransmission.
    pub again: bool,
    /// Time at which the host sent the packet; for a segment of a packet that a link has split (GSO), the time of the
    /// split.
    pub sent: Time,
    /// Time at which the packet reached its destination; [`Time::NEVER`] if it did not arrive.
    pub arrived: Time,
    /// Time at which an ACK that covers the packet reached the packet's sender; [`Time::NEVER`] if no such ACK arrived,
    /// or if the packet had not arrived by then.
    pub acknowledged: Time,
    /// Row of the packet's latest leg; [`NONE`] if the packet has no leg.
    pub(super) last: u32,
    /// Tag that identifies the packet while it is in flight ([`PacketMeta::body`]).
    pub(super) tag: u32,
    pub(super) used: bool,
}

/// A packet's passage over one link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leg {
    /// Row of the packet.
    pub packet: u32,
    /// The link.
    pub link: u16,
    /// Number of the link's subqueue in which the packet waited, or [`NO_SUBQUEUE`].
    pub subqueue: u16,
    /// Number of the drop reason; without meaning unless the packet was dropped.
    pub drop_reason: u8,
    /// Time of arrival at the queue.
    pub entered: Time,
    /// Time at which the packet left the queue for transmission; [`Time::NEVER`] if it did not leave.
    pub left: Time,
    /// Time of arrival at the far end, or [`Time::NEVER`].
    pub arrived: Time,
    /// Time of the drop, or [`Time::NEVER`].
    pub dropped: Time,
    /// Time at which the packet was marked with CE, or [`Time::NEVER`].
    pub marked: Time,
    /// Row of the packet's previous leg.
    pub(super) before: u32,
    /// Row of the next open leg with the same key.
    twin: u32,
}

/// Value of [`Leg::subqueue`] if the queue has no subqueues, or if the subqueue is unknown, for example because the packet
/// found the queue empty.
pub const NO_SUBQUEUE: u16 = u16::MAX;

/// The key by which records identify a packet on a link. Two packets may have the same key; their times distinguish them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub link: LinkId,
    pub flow: FlowId,
    pub reverse: bool,
    pub size: u16,
    pub seq: u64,
}

impl Key {
    pub(super) fn new(link: LinkId, packet: &PacketId) -> Self {
        let PacketId { seq, flow, size, reverse } = *packet;
        Self { link, flow, reverse, size, seq }
    }
}

/// A list of rows that reuses freed rows.
#[derive(Clone, Debug)]
struct Rows<T> {
    all: Vec<T>,
    free: Vec<u32>,
}

impl<T> Rows<T> {
    fn put(&mut self, row: T) -> u32 {
        if let Some(i) = self.free.pop() {
            self.all[i as usize] = row;
            return i;
        }
        self.all.push(row);
        (self.all.len() - 1) as u32
    }
}

#[derive(Clone, Debug)]
pub(super) struct Table {
    packets: Rows<Life>,
    legs: Rows<Leg>,
    /// For each key, the first open leg: a leg whose packet is still in the queue or on the link. `twin` leads to the
    /// other open legs with this key.
    open: BTreeMap<Key, u32>,
    /// Row of each packet in flight, by tag.
    by_tag: Vec<u32>,
}

impl Table {
    pub(super) fn new() -> Self {
        let (packets, legs) = (Rows { all: Vec::new(), free: Vec::new() }, Rows { all: Vec::new(), free: Vec::new() });
        Self { packets, legs, open: BTreeMap::new(), by_tag: Vec::new() }
    }

    /// Returns the size of all rows, including free rows, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.packets.all.len() * size_of::<Life>() + self.legs.all.len() * size_of::<Leg>()
    }

    /// Returns the number of packet rows, including free rows.
    pub(super) fn len(&self) -> usize {
        self.packets.all.len()
    }

    /// Returns true if no packet is in a queue or on a link.
    pub(super) fn is_quiet(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn packets(&self) -> &[Life] {
        &self.packets.all
    }

    pub(super) fn legs(&self) -> &[Leg] {
        &self.legs.all
    }

    pub(super) fn packet(&mut self, i: u32) -> &mut Life {
        &mut self.packets.all[i as usize]
    }

    pub(super) fn leg(&mut self, i: u32) -> &mut Leg {
        &mut self.legs.all[i as usize]
    }

    /// Finds a packet by its tag, and returns its row if the packet has just arrived at the far end of a link.
    pub(super) fn passing(&self, now: Time, packet: &PacketMeta, flow: u32) -> Option<u32> {
        let i = *self.by_tag.get(packet.body as usize)?;
        let row = self.packets.all.get(i as usize)?;
        let same = row.used && row.flow == flow && row.seq == packet.seq && row.size == packet.size;
        let arrived = self.legs.all.get(row.last as usize).is_some_and(|leg| leg.arrived == now);
        (same && arrived).then_some(i)
    }

    /// Records the tag of a packet in flight.
    pub(super) fn tag(&mut self, tag: u32, row: u32) {
        let at = tag as usize;
        if self.by_tag.len() <= at {
            self.by_tag.resize(at + 1, NONE);
        }
        self.by_tag[at] = row;
        self.packets.all[row as usize].tag = tag;
    }

    /// Frees the tag of an ended packet.
    pub(super) fn untag(&mut self, row: u32) {
        let tag = self.packets.all[row as usize].tag;
        if let Some(of) = self.by_tag.get_mut(tag as usize).filter(|of| **of == row) {
            *of = NONE;
        }
    }

    /// Returns true if the packet has arrived or was dropped.
    pub(super) fn has_ended(&self, row: u32) -> bool {
        let life = &self.packets.all[row as usize];
        let leg = self.legs.all.get(life.last as usize);
        life.arrived != Time::NEVER || leg.is_none_or(|leg| leg.dropped != Time::NEVER)
    }

    pub(super) fn add(&mut self, packet: Life) -> u32 {
        self.packets.put(packet)
    }

    /// Begins the leg of a packet that enters the queue of `key.link` now; returns the leg's row.
    pub(super) fn enter(&mut self, key: Key, packet: u32, now: Time) -> u32 {
        let never = Time::NEVER;
        let leg = Leg {
            packet,
            link: key.link.0,
            subqueue: NO_SUBQUEUE,
            drop_reason: 0,
            entered: now,
            left: never,
            arrived: never,
            dropped: never,
            marked: never,
            before: self.packets.all[packet as usize].last,
            twin: NONE,
        };
        let i = self.legs.put(leg);
        self.packets.all[packet as usize].last = i;
        match self.open.get(&key).copied() {
            None => {
                self.open.insert(key, i);
            }
            Some(mut last) => {
                // bound: one iteration for each open leg with the same key, such as those of duplicate ACKs
                while self.legs.all[last as usize].twin != NONE {
                    last = self.legs.all[last as usize].twin;
                }
                self.legs.all[last as usize].twin = i;
            }
        }
        i
    }

    /// Returns the first open leg with this key that satisfies the condition `is`.
    pub(super) fn find(&self, key: &Key, is: impl Fn(&Leg) -> bool) -> Option<u32> {
        let mut i = self.open.get(key).copied().unwrap_or(NONE);
        while i != NONE {
            let leg = &self.legs.all[i as usize];
            if is(leg) {
                return Some(i);
            }
            i = leg.twin;
        }
        None
    }

    /// Ends a leg: the packet has arrived at the far end, or was dropped.
    pub(super) fn end(&mut self, key: &Key, leg: u32) {
        let next = std::mem::replace(&mut self.legs.all[leg as usize].twin, NONE);
        let Some(first) = self.open.get_mut(key) else { return };
        if *first != leg {
            let mut at = *first;
            while self.legs.all[at as usize].twin != leg && self.legs.all[at as usize].twin != NONE {
                at = self.legs.all[at as usize].twin;
            }
            self.legs.all[at as usize].twin = next;
        } else if next == NONE {
            self.open.remove(key);
        } else {
            *first = next;
        }
    }

    /// Frees the rows of a packet and its legs.
    pub(super) fn forget(&mut self, packet: u32) {
        let row = &mut self.packets.all[packet as usize];
        row.used = false;
        let mut leg = std::mem::replace(&mut row.last, NONE);
        self.packets.free.push(packet);
        while leg != NONE {
            let row = &mut self.legs.all[leg as usize];
            row.packet = NONE;
            self.legs.free.push(leg);
            leg = std::mem::replace(&mut row.before, NONE);
        }
    }
}
