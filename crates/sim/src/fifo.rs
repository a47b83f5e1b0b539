//! A plain first-in first-out link, computed at enqueue.
//!
//! With one rate, one delay and no early drops, the moment at which a packet starts to be sent is known when it arrives:
//! `start = max(now, free_at)`, `free_at' = start + size * 8 / rate`, far end at `free_at' + delay`. So the link needs one
//! event per packet (its arrival at the far end), and only the first of them is in the event set. Who waits, who is being
//! sent and who is on the wire share one ring; a cursor parts the waiting from the rest and is moved when somebody looks.
//!
//! This is the fast path of `port`, for links without a shaper, a modem, a law, random loss, jitter or a schedule. A differential
//! test (`tests/it/fast_path.rs`) proves the two equal.
//!
//! Among equal times a departure goes before an arrival, as in `port`; and `net` schedules a port's arrivals when it would
//! schedule those of this link, so that two links whose packets arrive in one moment keep their order, too.

use crate::meter::LinkMeter;
use crate::ring::Ring;
use packet::{Backlog, Packed, PacketMeta};
use units::{BitRate, Duration, Time};

/// How much may wait; the packet in transmission does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capacity {
    /// So many packets.
    Packets(u32),
    /// So many bytes.
    Bytes(u64),
}

/// How many entries ahead the ring is prefetched: some cache lines.
const LOOKAHEAD: usize = 8;

/// Sizes whose serialisation times are remembered at once.
const SIZES: usize = 32;

/// Serialisation times by size: links see few sizes, and a division costs more than the look-up. Sizes share a place if
/// they are the same modulo 128 bytes, in steps of four, which those of a stack (52, 64, 72, 80, 1500) do not.
#[derive(Clone, Debug)]
struct TxTime {
    rate: Option<BitRate>,
    known: [(u16, Duration); SIZES],
}

impl TxTime {
    #[inline]
    fn of(&mut self, size: u16) -> Duration {
        let (known, time) = self.known[usize::from(size) / 4 % SIZES];
        if known == size { time } else { self.miss(size) }
    }

    #[inline(never)]
    fn miss(&mut self, size: u16) -> Duration {
        let time = self.rate.map_or(Duration::ZERO, |r| r.time_for(u64::from(size)));
        self.known[usize::from(size) / 4 % SIZES] = (size, time);
        time
    }
}

/// A packet on the link.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// When its transmission starts.
    start: Time,
    packet: Packed,
}

/// The link.
#[derive(Clone, Debug)]
pub(crate) struct Fifo {
    /// Who waits, is sent or travels.
    ring: Ring<Entry>,
    /// How long those who wait will have waited, if the meter wants to know.
    sojourns: Ring<Duration>,
    /// How many at the front of the ring have started to be sent, and when the next one will; `NEVER` if none waits.
    started: usize,
    next_start: Time,
    waiting: Backlog,
    free_at: Time,
    tx: TxTime,
    delay: Duration,
    capacity: Capacity,
}

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    /// Taken, behind others: their event is pending.
    Behind,
    /// Taken, and the first on the link: it reaches the far end at this moment.
    First(Time),
    /// No room.
    Full,
}

impl Fifo {
    /// An idle link. No rate: serialisation takes no time.
    pub(crate) fn new(rate: Option<BitRate>, delay: Duration, capacity: Capacity) -> Self {
        let tx = TxTime { rate, known: [(0, Duration::ZERO); SIZES] };
        Self {
            ring: Ring::default(),
            sojourns: Ring::default(),
            started: 0,
            next_start: Time::NEVER,
            waiting: Backlog::default(),
            free_at: Time::ZERO,
            tx,
            delay,
            capacity,
        }
    }

    /// Who waits at the moment of the last call.
    pub(crate) fn backlog(&self) -> Backlog {
        self.waiting
    }

    /// Packets that have started to be sent and are not yet at the far end.
    pub(crate) fn in_flight(&self) -> u64 {
        self.started as u64
    }

    /// Moves the cursor past everybody whose transmission has started by `now`, and tells the meter.
    #[inline]
    pub(crate) fn settle(&mut self, now: Time, meter: &mut LinkMeter) {
        // bounded: each turn takes one of those who wait
        while self.next_start <= now {
            self.start_next(meter);
        }
    }

    #[inline]
    fn start_next(&mut self, meter: &mut LinkMeter) {
        let Some(&Entry { start, packet }) = self.ring.get(self.started) else {
            return self.next_start = Time::NEVER;
        };
        self.ring.prefetch(self.started + LOOKAHEAD);
        self.started += 1;
        self.waiting.packets -= 1;
        self.waiting.bytes -= u64::from(packet.size());
        if meter.is_full() {
            let sojourn = self.sojourns.pop().unwrap_or_default();
            meter.dequeued(start, packet.size(), self.waiting.packets, sojourn);
        }
        self.next_start = self.ring.get(self.started).map_or(Time::NEVER, |next| next.start);
    }

    /// An arrival.
    #[inline(always)]
    pub(crate) fn offer(&mut self, now: Time, packet: Packed, meter: &mut LinkMeter) -> Offered {
        let Packed { seq, whose, what } = packet;
        self.take(now, seq, whose, what, meter)
    }

    /// The same, with all arguments in registers.
    #[inline(never)]
    fn take(&mut self, now: Time, seq: u64, whose: u64, what: u64, meter: &mut LinkMeter) -> Offered {
        let packet = Packed { seq, whose, what };
        let (size, bytes) = (packet.size(), u64::from(packet.size()));
        self.settle(now, meter);
        let full = match self.capacity {
            Capacity::Packets(n) => self.waiting.packets >= n,
            Capacity::Bytes(n) => self.waiting.bytes + bytes > n,
        };
        if full {
            return Offered::Full;
        }
        let start = self.free_at.max(now);
        let sent = start + self.tx.of(size);
        self.free_at = sent;
        let first = self.ring.is_empty();
        self.ring.push(Entry { start, packet });
        let with = Backlog { packets: self.waiting.packets + 1, bytes: self.waiting.bytes + bytes };
        meter.enqueued(now, with.packets);
        if start <= now {
            // settled before, so nobody waits: it goes at once
            self.started += 1;
            meter.dequeued(now, size, self.waiting.packets, Duration::ZERO);
        } else {
            self.next_start = self.next_start.min(start);
            self.waiting = with;
            if meter.is_full() {
                self.sojourns.push(start.since(now));
            }
        }
        if first { Offered::First(sent + self.delay) } else { Offered::Behind }
    }

    /// The first packet has reached the far end: the packet, and when the next one will.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, now: Time, meter: &mut LinkMeter) -> (PacketMeta, Option<Time>) {
        self.settle(now, meter);
        let Entry { start, packet } = self.ring.pop().expect("an arrival event implies a packet in flight");
        self.ring.prefetch(LOOKAHEAD);
        debug_assert!(self.started > 0, "a packet arrives after it has started");
        self.started -= 1;
        (packet.at(start), self.next_arrival())
    }

    /// The packet that arrives after so many others, if it is on the link already.
    #[inline]
    pub(crate) fn ahead(&self, others: usize) -> Option<PacketMeta> {
        self.ring.get(others).map(|c| c.packet.at(c.start))
    }

    /// When the first packet on the link reaches the far end.
    #[inline]
    pub(crate) fn next_arrival(&mut self) -> Option<Time> {
        let &Entry { start, packet } = self.ring.get(0)?;
        Some(start + self.tx.of(packet.size()) + self.delay)
    }
}
