//! An autotuned receive buffer (dynamic right-sizing).
//!
//! ```text
//! rtt     minimum RTT.  Samples come from time stamps (a longer sample raises rtt by an eighth of the difference), and
//!         from the time in which a whole window arrives
//! copied  bytes that the application has read since the last measurement, at least rtt ago;  before = largest so far
//! copied > before:  wish   = 2 copied (1 + 2 (copied - before) / before),  or if rtt < 1 ms:  2 copied (1 + rtt / 1 ms)
//!                   before = copied
//! segment above a hole:  wish = 2 before + bytes from the first hole to the highest byte,  or if rtt < 1 ms:
//!                   2 before (1 + rtt / 1 ms) + the same bytes
//! after either:     memory = max(memory, min(2 wish, max))
//! packet received:  limit  = max(limit, min(limit + 2 max(mss, payload), memory / 2 - bytes above holes)),
//!                   only if the packet has new data and a payload of at least 128 bytes
//! packet sent:      window = min(limit, memory / 2 - bytes above holes), rounded up to a multiple of 2^scale;
//!                   its right edge never moves back
//! constant window:  limit = the window, rounded down to a multiple of 2^scale
//! ```
//!
//! In `wish`, the factor 2 of `copied` and `before` allows for slow start: data read now was sent a round trip ago, and
//! data that the next ACK permits arrives in the next round trip.
//!
//! Source: Fisk & Feng 2001, "Dynamic Right-Sizing in TCP"; ip-sysctl (tcp_rmem, tcp_moderate_rcvbuf, tcp_rcvbuf_low_rtt);
//! Linux 6.19.
//! Departs: every byte of payload takes two bytes of memory, whereas Linux measures the memory of its buffers. The application
//! reads data received in order before the ACK leaves.

use crate::params::{Rmem, TcpParams};
use crate::segment::Segment;

/// RTT in microseconds below which the buffer grows more slowly.   Source: tcp_rcvbuf_low_rtt.
const LOW_RTT: u64 = 1_000;
/// A segment raises `limit` only if it has at least this number of payload bytes.   Source: Linux.
const LEAST_PAYLOAD: u32 = 128;
/// The application is assumed to read at least this number of segments per round trip, or the first window if it is
/// smaller.   Source: Linux, RFC 6928.
const FIRST_SEGMENTS: u64 = 10;
/// If the time stamp of a segment is older than the stored one by at most this value, in microseconds, then the segment
/// was overtaken in the network. A segment lives for at most two minutes (the MSL of RFC 9293 §3.4.2).
pub(super) const LATE: u32 = 120_000_000;

/// The receive buffer of one endpoint, and the window advertised to the peer.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    /// The buffer's memory, bytes.
    memory: u64,
    /// Upper bound on the advertised window in bytes of payload, before the window is rounded to a multiple of 2^scale.
    limit: u64,
    /// Right edge of the window: one past the last byte that the peer may send.
    edge: u64,
    /// Maximum number of bytes read in a round trip so far, but at least the assumption of [`FIRST_SEGMENTS`].
    before: u64,
    /// The state when the number of bytes read was last measured: the next byte expected, and the time in microseconds.
    measured: (u64, u32),
    /// Round-trip time in eighths of a microsecond; 0 before the first sample.
    rtt8: u64,
    /// An RTT is also measured as the time in which a whole window arrives. This pair holds the end of the window that
    /// is being timed, and the time in microseconds at which its measurement began.
    timed: (u64, u32),
    /// The last time stamp that the peer echoed. Each echo yields at most one sample.
    last_echo: u32,
    /// Time stamp to echo: the newer of `of_data` and the time stamp of the last window update without data. A window
    /// update counts only if all received data was acknowledged when it arrived.
    echo: u32,
    /// Time stamp that RFC 7323 §4.3 had selected from the received data when this end last sent a segment.
    of_data: u32,
}

/// Returns true if the segment with the time stamp `stored` has overtaken the segment with the time stamp `stamp`,
/// which has just arrived. A `stored` of 0 means that there is no stored time stamp.
fn overtakes(stored: u32, stamp: u32) -> bool {
    stored != 0 && (1..=LATE).contains(&stored.wrapping_sub(stamp))
}

impl Space {
    pub(super) fn new(p: &TcpParams) -> Self {
        let mut limit = p.first_window();
        if !p.receiver.receive_window.is_auto() {
            // a constant window must not be rounded up, because the receiver discards data beyond it (RFC 7323 §2.3)
            limit = limit >> p.receiver.window_scale() << p.receiver.window_scale();
        }
        let memory =
            if p.receiver.receive_window.is_auto() { p.receiver.memory().default.0 } else { Rmem::memory(limit) };
        let before = limit.min(FIRST_SEGMENTS * u64::from(p.wire.mss)).max(1);
        let (edge, measured, timed) = (0, (0, 0), (0, 0));
        Self { memory, limit, edge, before, measured, rtt8: 0, timed, last_echo: 0, echo: 0, of_data: 0 }
    }

    /// Begins to measure the bytes that the application reads. `next` is the next byte expected.
    pub(super) fn begin(&mut self, now: u32, next: u64) {
        self.measured = (next, now);
    }

    /// Stores the time stamp of a window update without data. Called only if all received data is in order and
    /// acknowledged.
    pub(super) fn store_timestamp(&mut self, stamp: u32) {
        if !overtakes(self.echo, stamp) {
            self.echo = stamp;
        }
    }

    /// Returns the time stamp that the segment sent now must echo. `stamp` is the time stamp that RFC 7323 §4.3 selects
    /// from the data received. If it has not changed since the last call, it is not compared with the stored one again: after
    /// two minutes without new data, [`overtakes`] would no longer recognise it as the older one.
    pub(super) fn newest(&mut self, stamp: u32) -> u32 {
        if stamp != self.of_data && !overtakes(self.echo, stamp) {
            self.echo = stamp;
        }
        self.of_data = stamp;
        self.echo
    }

    /// Processes the arrival of a data segment, before its ACK is scheduled. `next` is the next byte expected. `above` is a pair:
    /// the bytes received above the first hole, and the bytes from the hole's start to the highest byte received. Both include
    /// this segment if it lies above the hole. Returns true if `limit` has grown.
    pub(super) fn on_data(&mut self, p: &TcpParams, segment: &Segment, next: u64, above: (u64, u64)) -> bool {
        let (held, span) = above;
        if !p.receiver.receive_window.is_auto() {
            return false;
        }
        if segment.seq > next {
            self.grow(self.before, span, p.receiver.memory().max.0);
        }
        if segment.len < LEAST_PAYLOAD || segment.seq + u64::from(segment.len) <= next {
            return false;
        }
        let room = Rmem::payload(self.memory).saturating_sub(held).saturating_sub(self.limit);
        self.limit += room.min(2 * u64::from(segment.len.max(p.wire.mss)));
        room > 0
    }

    /// Tunes the buffer after the application has read all data below `next`, the next byte expected.
    pub(super) fn on_read(&mut self, p: &TcpParams, now: u32, segment: &Segment, next: u64) {
        self.measure(now, segment, next, p.wire.mss);
        if p.receiver.receive_window.is_auto() {
            self.measure_copied(now, next, p.receiver.memory().max.0);
        }
    }

    /// Returns the window to advertise, in bytes. The window begins at `next`. `held` is the number of bytes received
    /// above holes.
    pub(super) fn window(&mut self, p: &TcpParams, next: u64, held: u64) -> u32 {
        let free = Rmem::payload(self.memory).saturating_sub(held).min(self.limit);
        self.edge = self.edge.max(next + free.next_multiple_of(1 << p.receiver.window_scale()));
        (self.edge - next).min(u64::from(u32::MAX)) as u32
    }

    /// Adds an RTT sample of `us` microseconds. `of_stamps` is true if the sample comes from time stamps; only such a
    /// sample can raise an existing estimate.
    fn sample(&mut self, us: u32, of_stamps: bool) {
        let m = 8 * u64::from(us.max(1));
        if self.rtt8 == 0 || m < self.rtt8 {
            self.rtt8 = m;
        } else if of_stamps {
            self.rtt8 = self.rtt8 - self.rtt8 / 8 + m / 8;
        }
    }

    /// Takes RTT samples when a data segment arrives: one if a full segment echoes a new time stamp, and one if the
    /// segment completes the window that is being timed.
    fn measure(&mut self, now: u32, segment: &Segment, next: u64, mss: u32) {
        if segment.ts_ecr != 0 && segment.ts_ecr != self.last_echo {
            self.last_echo = segment.ts_ecr;
            if segment.len >= mss {
                self.sample(now.wrapping_sub(segment.ts_ecr), true);
            }
        }
        if next >= self.timed.0 {
            if self.timed.0 > 0 {
                self.sample(now.wrapping_sub(self.timed.1), false);
            }
            self.timed = (self.edge.max(next + 1), now);
        }
    }

    /// Grows the buffer if the application has read more in the last round trip than in any earlier one. The application has
    /// read all data below `next`.
    fn measure_copied(&mut self, now: u32, next: u64, max: u64) {
        if self.rtt8 == 0 || u64::from(now.wrapping_sub(self.measured.1)) < self.rtt8 / 8 {
            return;
        }
        let copied = next - self.measured.0;
        if copied > self.before {
            self.grow(copied, 0, max);
        }
        self.measured = (next, now);
    }

    /// Grows the memory by the formulas at the top of this file. `copied` is the number of bytes that the application
    /// reads in a round trip. If the call is for a segment that arrived above a hole, `span` is the number of bytes
    /// from the first hole to the highest byte received; otherwise, `span` is 0.
    fn grow(&mut self, copied: u64, span: u64, max: u64) {
        let before = std::mem::replace(&mut self.before, copied);
        let (twice, rtt) = (2 * copied, self.rtt8 / 8);
        let more =
            if rtt < LOW_RTT { twice * rtt / LOW_RTT } else { 2 * twice.saturating_mul(copied - before) / before };
        self.memory = self.memory.max(Rmem::memory(twice + more + span).min(max));
    }
}
