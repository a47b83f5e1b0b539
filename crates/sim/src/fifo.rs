//! A plain first-in first-out link, whose departures are computed at enqueue.
//!
//! With one rate, one delay and no early drops, the transmission of a packet starts at a time known when it arrives: `start =
//! max(now, free_at)`, then `free_at = start + size * 8 / rate`, and the packet reaches the far end at `free_at + delay`. So
//! the link needs one event per packet, for the arrival at the far end, and only the event of the first packet is in the event
//! set. One ring holds the packets that wait, are being sent or are on the wire. A cursor marks the first waiting packet; it
//! is updated only at offers, at arrivals and by [`Fifo::catch_up`].
//!
//! This is the fast path of `port`, for links with a plain drop-tail queue and without a shaper, a modem, losses on the
//! wire, jitter, other impairments or a schedule. A differential test (`tests/it/fast_path.rs`) compares this link with
//! a port.
//!
//! At equal times a departure precedes an arrival, as in `port`. Arrivals at the far end of a port are scheduled at the
//! moments at which this link would schedule them, so that simultaneous arrivals from two links keep their order.

use crate::ring::Ring;
use measure::{LinkCounts, LinkMeter};
use packet::{Backlog, Count, DropReason, Packed, PacketMeta};
use port::PlainLink;
use units::{BitRate, Duration, Time};

/// The series and distributions of a link; `None` if the link is not recorded.
pub(crate) type Meter = Option<Box<LinkMeter>>;

/// The limit of the queue. The packet in transmission does not count towards the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capacity {
    Packets(u32),
    Bytes(u64),
}

impl Capacity {
    /// Returns true if a packet of `size` bytes must be dropped when `waiting` packets are in the queue.
    #[inline(always)]
    pub(crate) fn is_full(self, waiting: Backlog, size: u16) -> bool {
        match self {
            Self::Packets(n) => waiting.packets >= n,
            Self::Bytes(n) => waiting.bytes + u64::from(size) > n,
        }
    }
}

/// Prefetch distance, in ring entries. Eight entries take up a few cache lines.
const LOOKAHEAD: usize = 8;

/// Number of cached transmission times.
const SIZES: usize = 32;

/// Cache of transmission times: the packets on a link have only a few sizes, and a look-up is cheaper than a division.
/// The index of an entry is the size / 4, modulo 32. The usual sizes (52, 64, 72, 80, 1500) map to different entries.
#[derive(Clone, Debug)]
pub(crate) struct TxTime {
    pub rate: Option<BitRate>,
    known: [(u16, Duration); SIZES],
}

impl TxTime {
    /// Returns an empty cache for a link with this rate. If `rate` is `None`, transmission is instantaneous.
    pub(crate) fn new(rate: Option<BitRate>) -> Self {
        Self { rate, known: [(0, Duration::ZERO); SIZES] }
    }

    /// Returns the transmission time of a packet of `size` bytes.
    #[inline]
    pub(crate) fn of(&mut self, size: u16) -> Duration {
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
struct Transmission {
    /// Start of the packet's transmission.
    start: Time,
    packet: Packed,
}

#[derive(Clone, Debug)]
pub(crate) struct Fifo {
    /// Packets waiting, in transmission or on the wire.
    ring: Ring<Transmission>,
    /// Sojourn times of the waiting packets, if the link has a meter.
    sojourns: Ring<Duration>,
    /// The cursor: the number of packets at the front of the ring whose transmission has started.
    started: usize,
    /// Start of the next transmission; `NEVER` if no packet waits.
    next_start: Time,
    waiting: Backlog,
    free_at: Time,
    offered: Count,
    delivered: Count,
    dropped: Count,
    tx: TxTime,
    delay: Duration,
    capacity: Capacity,
}

/// The outcome of an arrival at the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    /// Accepted behind other packets. The event of the first packet on the link is already scheduled.
    Behind,
    /// Accepted as the first packet on the link. The packet reaches the far end at this time.
    First(Time),
    /// Dropped: the queue has no room.
    Full,
}

impl Fifo {
    /// Returns an idle link. If `rate` is `None`, transmission is instantaneous.
    pub(crate) fn new(rate: Option<BitRate>, delay: Duration, capacity: Capacity) -> Self {
        Self {
            ring: Ring::default(),
            sojourns: Ring::default(),
            started: 0,
            next_start: Time::NEVER,
            waiting: Backlog::default(),
            free_at: Time::ZERO,
            offered: Count::default(),
            delivered: Count::default(),
            dropped: Count::default(),
            tx: TxTime::new(rate),
            delay,
            capacity,
        }
    }

    /// Returns the counters and the backlog as of the latest offer, arrival or [`Self::catch_up`]. This function does
    /// not advance `started`, so packets whose transmission has started since then still count as waiting.
    pub(crate) fn counts(&self) -> LinkCounts {
        let mut drops = [0; DropReason::ALL.len()];
        drops[DropReason::TailFull as usize] = self.dropped.packets;
        LinkCounts {
            offered: self.offered,
            delivered: self.delivered,
            dropped: self.dropped,
            drops,
            backlog: self.waiting,
            in_flight: self.started as u64,
            ..LinkCounts::default()
        }
    }

    /// Returns the link's cache of transmission times (with the link's rate), its delay and its capacity.
    pub(crate) fn parameters(&self) -> (TxTime, Duration, Capacity) {
        (self.tx.clone(), self.delay, self.capacity)
    }

    /// Returns true if packets need time to reach the far end.
    pub(crate) fn takes_time(&self) -> bool {
        self.tx.rate.is_some() || !self.delay.is_zero()
    }

    /// Returns the link's rate; `None` means that transmission takes no time.
    pub(crate) fn rate(&self) -> Option<BitRate> {
        self.tx.rate
    }

    /// Returns the arrival time of the packet at the head of the queue; `None` if no packet waits, or if there is no meter.
    pub(crate) fn head_arrival(&self) -> Option<Time> {
        let head = self.ring.get(self.started)?;
        Some(Time(head.start.0 - self.sojourns.get(0)?.0))
    }

    /// Returns the link's packets and counts, for the port that replaces this `Fifo`. All accounts must be up to date
    /// at `now`. Without a meter, it is unknown when the waiting packets arrived, so their arrival times are set to
    /// `now`.
    pub(crate) fn state(&mut self, now: Time) -> PlainLink {
        let (mut waiting, mut in_flight, mut free_at) = (Vec::new(), Vec::new(), Time::ZERO);
        for i in 0.. {
            let Some(&Transmission { start, packet }) = self.ring.get(i) else { break };
            match i.checked_sub(self.started) {
                None => {
                    free_at = start + self.tx.of(packet.size());
                    in_flight.push(packet.at(free_at + self.delay));
                }
                Some(n) => waiting.push(packet.at(self.sojourns.get(n).map_or(now, |s| Time(start.0 - s.0)))),
            }
        }
        let (offered, dropped, delivered) = (self.offered, self.dropped, self.delivered);
        PlainLink { now, free_at, waiting, in_flight, offered, dropped, delivered }
    }

    /// Advances `started` past all packets whose transmission has started by `now`, and reports these packets to the
    /// meter.
    #[inline]
    pub(crate) fn catch_up(&mut self, now: Time, meter: &mut Meter) {
        // bounded: each iteration takes one waiting packet
        while self.next_start <= now {
            self.start_next(meter);
        }
    }

    #[inline]
    fn start_next(&mut self, meter: &mut Meter) {
        let Some(&Transmission { start, packet }) = self.ring.get(self.started) else {
            return self.next_start = Time::NEVER;
        };
        self.ring.prefetch(self.started + LOOKAHEAD);
        self.started += 1;
        self.waiting.packets -= 1;
        self.waiting.bytes -= u64::from(packet.size());
        if let Some(meter) = meter {
            let sojourn = self.sojourns.pop().unwrap_or_default();
            meter.dequeued(start, packet.size(), self.waiting.packets, sojourn);
        }
        self.next_start = self.ring.get(self.started).map_or(Time::NEVER, |next| next.start);
    }

    #[inline(always)]
    pub(crate) fn offer(&mut self, now: Time, packet: Packed, meter: &mut Meter) -> Offered {
        let Packed { seq, flow_body, rest } = packet;
        self.take(now, seq, flow_body, rest, meter)
    }

    /// Implements [`Self::offer`], with all arguments in registers.
    #[inline(never)]
    fn take(&mut self, now: Time, seq: u64, flow_body: u64, rest: u64, meter: &mut Meter) -> Offered {
        let packet = Packed { seq, flow_body, rest };
        let (size, bytes) = (packet.size(), u64::from(packet.size()));
        self.offered.add_size(size);
        self.catch_up(now, meter);
        if self.capacity.is_full(self.waiting, size) {
            self.dropped.add_size(size);
            if let Some(meter) = meter {
                meter.dropped(now);
            }
            return Offered::Full;
        }
        let start = self.free_at.max(now);
        let sent = start + self.tx.of(size);
        self.free_at = sent;
        let first = self.ring.is_empty();
        self.ring.push(Transmission { start, packet });
        let with = Backlog { packets: self.waiting.packets + 1, bytes: self.waiting.bytes + bytes };
        // `catch_up` has started every packet that could start by now, so if the link is free, no other packet waits
        let at_once = start <= now;
        if let Some(meter) = meter {
            if at_once {
                meter.passed(now, Count { packets: 1, bytes });
            } else {
                meter.enqueued(now, with.packets);
                self.sojourns.push(start.since(now));
            }
        }
        if at_once {
            self.started += 1;
        } else {
            self.next_start = self.next_start.min(start);
            self.waiting = with;
        }
        if first { Offered::First(sent + self.delay) } else { Offered::Behind }
    }

    /// Removes the first packet, at its arrival. Returns the start of its transmission, the packet, and the arrival time of
    /// the next packet.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, now: Time, meter: &mut Meter) -> (Time, Packed, Option<Time>) {
        self.catch_up(now, meter);
        let Transmission { start, packet } = self.ring.pop().expect("an arrival event implies a packet in flight");
        self.ring.prefetch(LOOKAHEAD);
        debug_assert!(self.started > 0, "a packet must start before it arrives");
        self.started -= 1;
        self.delivered.add_size(packet.size());
        (start, packet, self.next_arrival())
    }

    /// Returns the packet that has exactly `others` packets ahead of it on the link, if there is one.
    #[inline]
    pub(crate) fn ahead(&self, others: usize) -> Option<PacketMeta> {
        self.ring.get(others).map(|t| t.packet.at(t.start))
    }

    /// Returns the time at which the first packet on the link reaches the far end.
    #[inline]
    pub(crate) fn next_arrival(&mut self) -> Option<Time> {
        let &Transmission { start, packet } = self.ring.get(0)?;
        Some(start + self.tx.of(packet.size()) + self.delay)
    }
}
