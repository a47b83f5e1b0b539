//! The floor: the cost of a dumbbell with only packets, links and an event set.
//!
//! ```text
//!   flows --access 1 ms--> bottleneck 23 ms --access 1 ms--> sinks        1500-byte packets
//!         <--access 1 ms-- bottleneck 23 ms <--access 1 ms--              52-byte ACK for every second packet
//! ```
//!
//! Senders keep a fixed window. There are no losses, no timers, and no statistics except counts of packets and bytes. A
//! link computes the departure of a packet when the packet is enqueued, so each hop of a packet is one event. The
//! packets on a link are in a ring buffer. Only the first packet of each of the six links is in the event set, which is
//! a 4-ary heap with a 128-bit key.
//!
//! A complete simulator does more, and takes longer. The benches report the ratio of its cost to the floor, both
//! measured in one process: on a busy machine CPU times vary by up to 45 %, but the ratio of two times varies much
//! less. The figures are in docs/speed.md.

use std::collections::VecDeque;

/// The amount of work in a run, and the CPU time that it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloorResult {
    /// Data packets enqueued at the bottleneck, including those that still wait at the end.
    pub bottleneck_packets: u64,
    /// Number of events.
    pub events: u64,
    /// CPU time of the run in nanoseconds, including set-up.
    pub cpu_ns: u64,
}

impl FloorResult {
    /// Returns the CPU time per bottleneck packet, in nanoseconds; infinity if there were no packets.
    pub fn ns_per_packet(&self) -> f64 {
        self.cpu_ns as f64 / self.bottleneck_packets as f64
    }
}

/// Returns the CPU time of this process so far, in nanoseconds.
#[allow(unsafe_code, reason = "there is no safe way to read a process's CPU clock")]
#[allow(clippy::disallowed_methods, reason = "a benchmark measures CPU time")]
pub fn cpu_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid timespec for the duration of the call, which writes nothing else.
    let ok = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut t) };
    assert_eq!(ok, 0, "no CPU clock for this process");
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Size of a data packet in bytes.
const DATA: u32 = 1500;
/// Size of an ACK in bytes.
const ACK: u32 = 52;
/// Index of the bottleneck among the hops. Data takes hops 0, 1 (the bottleneck) and 2; ACKs take hops 3, 4 and 5.
const BOTTLENECK: usize = 1;

/// Returns the key of an event: time in picoseconds, push order and link, so that keys are ordered by (time, order).
#[inline]
fn key(time: u64, order: u32, link: u32) -> u128 {
    u128::from(time) << 64 | u128::from(order) << 32 | u128::from(link)
}

/// An implicit 4-ary min-heap of keys.
#[derive(Debug, Default)]
struct Heap4(Vec<u128>);

impl Heap4 {
    #[inline]
    fn push(&mut self, k: u128) {
        let v = &mut self.0;
        v.push(k);
        let mut i = v.len() - 1;
        while i > 0 {
            let parent = (i - 1) >> 2;
            if v[parent] <= k {
                break;
            }
            v[i] = v[parent];
            i = parent;
        }
        v[i] = k;
    }

    #[inline]
    fn pop(&mut self) -> Option<u128> {
        let v = &mut self.0;
        let last = v.pop()?;
        if v.is_empty() {
            return Some(last);
        }
        let top = v[0];
        let n = v.len();
        let mut i = 0;
        // bound: each iteration goes one level down the heap
        loop {
            let c = 4 * i + 1;
            let least = if c + 3 < n {
                // finds the smallest of four keys without data-dependent branches
                let a = if v[c + 1] < v[c] { c + 1 } else { c };
                let b = if v[c + 3] < v[c + 2] { c + 3 } else { c + 2 };
                if v[b] < v[a] { b } else { a }
            } else {
                if c >= n {
                    break;
                }
                let mut least = c;
                for j in c + 1..n {
                    if v[j] < v[least] {
                        least = j;
                    }
                }
                least
            };
            if v[least] >= last {
                break;
            }
            v[i] = v[least];
            i = least;
        }
        v[i] = last;
        Some(top)
    }
}

/// A packet in flight: 24 bytes.
#[derive(Clone, Copy, Debug)]
struct Packet {
    /// Time in picoseconds at which the packet arrives at the far end of the link that carries it.
    at: u64,
    flow: u32,
    /// In a data packet, the number of the packet; in an ACK, the count of data packets received so far.
    seq: u32,
    size: u32,
    hop: u32,
}

/// A FIFO link with an unlimited queue.
#[derive(Debug)]
struct Link {
    ps_per_byte: u64,
    delay: u64,
    free_at: u64,
    in_flight: VecDeque<Packet>,
    /// Departure times and sizes of the packets that are counted in `backlog`.
    leaving: VecDeque<(u64, u32)>,
    backlog: u64,
    packets: u64,
}

impl Link {
    fn new(bps: u64, delay_ms: u64) -> Self {
        Self {
            ps_per_byte: 8_000_000_000_000 / bps,
            delay: delay_ms * 1_000_000_000,
            free_at: 0,
            in_flight: VecDeque::with_capacity(4096),
            leaving: VecDeque::with_capacity(4096),
            backlog: 0,
            packets: 0,
        }
    }

    /// Queues a packet, and computes when it leaves the queue and when it arrives at the far end. Returns true if the
    /// link holds no other packet; the caller must then schedule an event for the link.
    #[inline]
    fn enqueue(&mut self, now: u64, mut p: Packet) -> bool {
        // `backlog` is never read. It is updated because a real drop-tail queue must count its backlog, and the floor
        // includes the cost of counting
        while let Some(&(departure, size)) = self.leaving.front() {
            if departure > now {
                break;
            }
            self.backlog -= u64::from(size);
            self.leaving.pop_front();
        }
        let departure = self.free_at.max(now) + self.ps_per_byte * u64::from(p.size);
        self.free_at = departure;
        self.backlog += u64::from(p.size);
        self.leaving.push_back((departure, p.size));
        p.at = departure + self.delay;
        self.packets += 1;
        self.in_flight.push_back(p);
        self.in_flight.len() == 1
    }
}

/// The two ends of a flow.
#[derive(Clone, Copy, Debug)]
struct Flow {
    in_flight: u32,
    sent: u32,
    acked: u32,
    received: u32,
    unacked: u32,
}

impl Flow {
    /// Handles the arrival of a packet at the receiver (data) or at the sender (ACK). Stores the packets to send next
    /// in `out`, and returns their number. An ACK releases at most four data packets.
    #[inline]
    fn arrival(&mut self, p: &Packet, window: u32, out: &mut [Packet; 4]) -> usize {
        if p.size == DATA {
            self.received += 1;
            self.unacked += 1;
            if self.unacked < 2 {
                return 0;
            }
            self.unacked = 0;
            out[0] = Packet { at: 0, flow: p.flow, seq: self.received, size: ACK, hop: 3 };
            return 1;
        }
        self.in_flight -= p.seq - self.acked;
        self.acked = p.seq;
        let mut n = 0;
        while self.in_flight < window && n < 4 {
            out[n] = Packet { at: 0, flow: p.flow, seq: self.sent, size: DATA, hop: 0 };
            self.sent += 1;
            self.in_flight += 1;
            n += 1;
        }
        n
    }
}

/// Runs the dumbbell for `seconds` of simulated time.
///
/// `rate_bps` is the bottleneck's rate, `access_bps` that of all other links. Each of the `flows` flows keeps
/// `window` packets in flight (at least 2, because the sink acknowledges every second packet).
pub fn dumbbell(rate_bps: u64, access_bps: u64, flows: u32, window: u32, seconds: f64) -> FloorResult {
    assert!(rate_bps > 0 && access_bps > 0, "a link needs a rate");
    assert!(window >= 2, "every second packet is acknowledged: a window of {window} stalls");
    let began = cpu_ns();
    let (access, bottleneck) = (|| Link::new(access_bps, 1), || Link::new(rate_bps, 23));
    let mut links = [access(), bottleneck(), access(), access(), bottleneck(), access()];
    let first = Flow { in_flight: window, sent: window, acked: 0, received: 0, unacked: 0 };
    let mut all = vec![first; flows as usize];
    let mut events = Heap4::default();
    let (mut order, mut handled) = (0_u32, 0_u64);
    let end = (seconds * 1e12) as u64;
    let mut push = |events: &mut Heap4, at: u64, link: u32| {
        order = order.wrapping_add(1);
        events.push(key(at, order, link));
    };
    let nothing = Packet { at: 0, flow: 0, seq: 0, size: 0, hop: 0 };
    for flow in 0..flows {
        for seq in 0..window {
            if links[0].enqueue(0, Packet { flow, seq, size: DATA, ..nothing }) {
                push(&mut events, links[0].in_flight[0].at, 0);
            }
        }
    }
    let mut out = [nothing; 4];
    while let Some(event) = events.pop() {
        let (now, link) = ((event >> 64) as u64, event as u32);
        if now > end {
            break;
        }
        handled += 1;
        let from = &mut links[link as usize];
        let Some(mut p) = from.in_flight.pop_front() else { break };
        if let Some(next) = from.in_flight.front() {
            push(&mut events, next.at, link);
        }
        let mut send = |p: Packet| {
            let to = &mut links[p.hop as usize];
            if to.enqueue(now, p) {
                push(&mut events, to.in_flight[0].at, p.hop);
            }
        };
        if p.hop == 2 || p.hop == 5 {
            let n = all[p.flow as usize].arrival(&p, window, &mut out);
            out[..n].iter().for_each(|&p| send(p));
        } else {
            p.hop += 1;
            send(p);
        }
    }
    FloorResult { bottleneck_packets: links[BOTTLENECK].packets, events: handled, cpu_ns: cpu_ns() - began }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heap_sorts() {
        let mut h = Heap4::default();
        let mut x = 88_172_645_463_325_252_u64;
        for i in 0..1000 {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            h.push(key(x % 100, i, 0));
        }
        let mut popped: Vec<u128> = Vec::new();
        while let Some(k) = h.pop() {
            popped.push(k);
        }
        assert!(popped.len() == 1000 && popped.is_sorted());
    }

    #[test]
    fn a_full_bottleneck_sends_its_rate() {
        // in 60 s, the bottleneck sends 60 * 5 Mbit/s / (1500 * 8 bit) = 25 000 packets
        let r = dumbbell(5_000_000, 1_000_000_000, 10, 40, 60.0);
        // packets are counted when they are enqueued. At the end, at most 10 windows of 40 packets are still waiting
        assert!((25_000..25_500).contains(&r.bottleneck_packets), "{r:?}");
        // each data packet takes 3 hops, and an ACK for every two data packets takes 3 more: 4.5 events per data packet
        let per_packet = r.events as f64 / r.bottleneck_packets as f64;
        assert!((4.4..4.6).contains(&per_packet), "{per_packet}");
        assert!(r.cpu_ns > 0 && r.ns_per_packet() > 0.0);
    }

    #[test]
    fn a_small_window_sends_its_window_per_round_trip() {
        // one flow has a window of 2. Its RTT is 50 ms of propagation, plus the time to transmit two data packets and
        // their ACK. The bottleneck takes 120 us for each data packet. Each of the two access links takes 12 us for a
        // data packet, but adds this time only once, because it sends one of the packets while the bottleneck sends the
        // other. The ACK takes 5 us on its three links together
        let r = dumbbell(100_000_000, 1_000_000_000, 1, 2, 100.0);
        // 50 ms + 12 us + 2 * 120 us + 12 us + 5 us = 50.27 ms, so there are 1989 round trips in 100 s, with 2 packets each
        assert!((3960..3990).contains(&r.bottleneck_packets), "{r:?}");
        assert_eq!(dumbbell(100_000_000, 1_000_000_000, 1, 2, 100.0).events, r.events);
    }
}
