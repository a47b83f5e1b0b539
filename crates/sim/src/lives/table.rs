//! The rows of packets and of their ways over links, and where the packets that still travel are found.

use packet::{FlowId, PacketMeta};
use record::{LinkId, PacketId};
use std::collections::BTreeMap;
use units::Time;

/// No row.
pub(super) const NONE: u32 = u32::MAX;

/// One packet, from its sending host on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Life {
    /// Row of its flow and direction.
    pub flow: u32,
    /// [`PacketMeta::seq`].
    pub seq: u64,
    /// One past its last byte of payload, for a TCP segment that has any; otherwise 0.
    pub end: u64,
    /// Bytes on the wire.
    pub size: u16,
    /// [`PacketMeta::flags`].
    pub flags: u16,
    /// The last two bits of its type of service, as sent: ECN.
    pub ecn: u8,
    /// Part of its payload was sent before.
    pub again: bool,
    /// When its host sent it.
    pub sent: Time,
    /// When it reached its host; [`Time::NEVER`] if it did not.
    pub arrived: Time,
    /// When an ACK that covers it reached its sender; [`Time::NEVER`] for none.
    pub acknowledged: Time,
    /// Its last leg; [`NONE`] for none.
    pub(super) last: u32,
    /// The tag with which it travels.
    pub(super) tag: u32,
    /// The row is in use.
    pub(super) used: bool,
}

/// A packet's way over one link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leg {
    /// Row of the packet.
    pub packet: u32,
    /// The link.
    pub link: u16,
    /// Number of its line in the queue, among those of its link; [`NO_LINE`] if the queue has one line, or it did not wait.
    pub line: u16,
    /// Number of the reason of its drop.
    pub drop_reason: u8,
    /// When it arrived at the queue.
    pub entered: Time,
    /// When it left the queue for transmission; [`Time::NEVER`] if it did not.
    pub left: Time,
    /// When it reached the far end.
    pub arrived: Time,
    /// When it was dropped.
    pub dropped: Time,
    /// When it was marked with CE.
    pub marked: Time,
    /// The packet's leg before this one.
    pub(super) before: u32,
    /// The next leg with the same key.
    twin: u32,
}

/// A queue with one line, or a packet that found it empty.
pub const NO_LINE: u16 = u16::MAX;

/// The name of a packet on a link in records. Two packets may have the same key; they differ in their times.
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

/// A list of rows whose places are used again once they are freed.
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

/// Packets, their legs, and those under way.
#[derive(Clone, Debug)]
pub(super) struct Table {
    packets: Rows<Life>,
    legs: Rows<Leg>,
    /// Legs that have not ended: the first with each key.
    open: BTreeMap<Key, u32>,
    /// Rows by the tag of a packet in flight.
    by_tag: Vec<u32>,
}

impl Table {
    pub(super) fn new() -> Self {
        let (packets, legs) = (Rows { all: Vec::new(), free: Vec::new() }, Rows { all: Vec::new(), free: Vec::new() });
        Self { packets, legs, open: BTreeMap::new(), by_tag: Vec::new() }
    }

    /// Bytes of the rows in the answer, at most.
    pub(super) fn bytes(&self) -> usize {
        self.packets.all.len() * size_of::<Life>() + self.legs.all.len() * size_of::<Leg>()
    }

    /// Number of packet rows, free ones included.
    pub(super) fn len(&self) -> usize {
        self.packets.all.len()
    }

    /// Packets that have neither arrived nor been dropped are on their way.
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

    /// The packet with this tag that has arrived at the end of a link just now.
    pub(super) fn passing(&self, now: Time, packet: &PacketMeta, flow: u32) -> Option<u32> {
        let i = *self.by_tag.get(packet.body as usize)?;
        let row = self.packets.all.get(i as usize)?;
        let same = row.used && row.flow == flow && row.seq == packet.seq && row.size == packet.size;
        let arrived = self.legs.all.get(row.last as usize).is_some_and(|leg| leg.arrived == now);
        (same && arrived).then_some(i)
    }

    /// Notes that a packet travels with this tag.
    pub(super) fn tag(&mut self, tag: u32, row: u32) {
        let at = tag as usize;
        if self.by_tag.len() <= at {
            self.by_tag.resize(at + 1, NONE);
        }
        self.by_tag[at] = row;
        self.packets.all[row as usize].tag = tag;
    }

    /// Frees the tag of a packet that has ended.
    pub(super) fn untag(&mut self, row: u32) {
        let tag = self.packets.all[row as usize].tag;
        if let Some(of) = self.by_tag.get_mut(tag as usize).filter(|of| **of == row) {
            *of = NONE;
        }
    }

    /// Returns true if the packet neither waits nor travels.
    pub(super) fn has_ended(&self, row: u32) -> bool {
        let life = &self.packets.all[row as usize];
        let leg = self.legs.all.get(life.last as usize);
        life.arrived != Time::NEVER || leg.is_none_or(|leg| leg.dropped != Time::NEVER)
    }

    pub(super) fn add(&mut self, packet: Life) -> u32 {
        self.packets.put(packet)
    }

    /// Begins a leg of a packet that enters the queue of `key.link` now.
    pub(super) fn enter(&mut self, key: Key, packet: u32, now: Time) -> u32 {
        let never = Time::NEVER;
        let leg = Leg {
            packet,
            link: key.link.0,
            line: NO_LINE,
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
                // bound: packets of one link with the same key, such as duplicate ACKs
                while self.legs.all[last as usize].twin != NONE {
                    last = self.legs.all[last as usize].twin;
                }
                self.legs.all[last as usize].twin = i;
            }
        }
        i
    }

    /// The first open leg with this key that `is` the one.
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

    /// Forgets a packet and its legs.
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
