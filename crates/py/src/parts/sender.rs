//! A single TCP sender that the caller drives step by step.

use crate::error::refuse;
use packet::Flags;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use scenario::read;
use tcp::{Endpoint, Event, Io, SackBlock, SackBlocks, Segment, TcpParams};
use units::{Duration, Problem, Time};

/// A segment that a sender has sent.
#[pyclass(frozen, get_all, module = "bloatlab._core")]
#[derive(Clone)]
pub(crate) struct SentSegment {
    /// Sequence number of the first payload byte; the stream starts at 1.
    seq: u64,
    /// Payload bytes.
    length: u32,
    /// Bytes on the wire.
    size: u16,
    /// True if any part of the segment was sent before.
    retransmission: bool,
}

#[pymethods]
impl SentSegment {
    fn __repr__(&self) -> String {
        let again = if self.retransmission { ", retransmission" } else { "" };
        format!("SentSegment(seq={}, length={}{again})", self.seq, self.length)
    }
}

struct Outbox<'a> {
    stack: &'a TcpParams,
    sent: Vec<SentSegment>,
}

impl Io for Outbox<'_> {
    fn send(&mut self, segment: &Segment) {
        let Segment { seq, len, retransmission, .. } = *segment;
        self.sent.push(SentSegment { seq, length: len, size: self.stack.wire.packet_size(segment), retransmission });
    }
    fn event(&mut self, _: Event) {}
}

/// A single TCP sender, with the same code as in simulations. It is already connected, and the caller passes it ACKs.
///
/// `stack` is the JSON of a scenario's TCP table (`{"preset": "linux-6", "initial_window": {"segments": 10}}`).
/// `rtt` is the round-trip time of the handshake ("100ms"). Without it, there is no estimate before the first RTT sample, and
/// until then RACK's reordering window is 0. Later round trips are measured from the times of sending, with Karn's rule, so
/// ACKs need no time stamps. Times are in nanoseconds and must not decrease.
#[pyclass(module = "bloatlab._core")]
pub(crate) struct TcpSender {
    stack: TcpParams,
    end: Endpoint,
    now: Time,
}

impl TcpSender {
    fn call(
        &mut self,
        time_ns: u64,
        act: impl FnOnce(&mut Endpoint, &TcpParams, Time, &mut Outbox<'_>),
    ) -> PyResult<Vec<SentSegment>> {
        if time_ns < self.now.0 {
            let message = format!("time {time_ns} ns is before the last call at {} ns", self.now.0);
            return Err(PyValueError::new_err(message));
        }
        self.now = Time(time_ns);
        let mut out = Outbox { stack: &self.stack, sent: Vec::new() };
        act(&mut self.end, &self.stack, self.now, &mut out);
        Ok(out.sent)
    }
}

#[pymethods]
impl TcpSender {
    #[new]
    #[pyo3(signature = (stack="{\"preset\": \"linux-6\"}", rtt=None))]
    fn new(stack: &str, rtt: Option<&str>) -> PyResult<Self> {
        let wrong = |p: Problem| refuse("tcp", &[p]);
        let rtt: Option<Duration> = rtt
            .map(str::parse)
            .transpose()
            .map_err(|e: units::ParseError| wrong(Problem::new("rtt", e.to_string())))?;
        if rtt.is_some_and(|rtt| rtt.is_zero() || rtt > Duration::from_secs(60)) {
            return Err(wrong(Problem::new("rtt", "expected more than 0s and at most 60s, or None")));
        }
        let own = read::stack(read::parse(stack, read::Format::Json).map_err(wrong)?).map_err(wrong)?;
        let mut stack = own.resolve().map_err(wrong)?;
        stack.validate().and_then(|()| stack.ready()).map_err(wrong)?;
        stack.opening.handshake = false;
        // TCP small queues need a host with a device that reports departures, and there is no device here
        stack.pacing.tsq = false;
        stack.wire.timestamps = false;
        let mut end = Endpoint::new(&stack, stack.receiver.most_window());
        if let Some(rtt) = rtt {
            end.assume_round_trip(&stack, Time::ZERO, rtt);
        }
        let mut sender = Self { stack, end, now: Time::ZERO };
        sender.call(0, |end, stack, now, out| end.connect(stack, now, out))?;
        Ok(sender)
    }

    /// Adds `bytes` to the data to send; returns the segments that leave at once.
    fn write(&mut self, time_ns: u64, bytes: u64) -> PyResult<Vec<SentSegment>> {
        self.call(time_ns, |end, stack, now, out| end.write(stack, now, bytes, out))
    }

    /// Processes an ACK that acknowledges all bytes below `number`. `sack` contains the ACK's SACK blocks (also a DSACK
    /// block), each as a tuple (start, end). `ece` is true if the ACK echoes a CE mark, for a stack with `ecn`.
    /// Returns the segments that leave.
    #[pyo3(signature = (time_ns, number, sack=Vec::new(), ece=false))]
    fn ack(&mut self, time_ns: u64, number: u64, sack: Vec<(u64, u64)>, ece: bool) -> PyResult<Vec<SentSegment>> {
        let mut blocks = SackBlocks::NONE;
        for (start, end) in sack {
            if start >= end {
                return Err(PyValueError::new_err(format!(
                    "({start}, {end}) is not a SACK block; expected an end after its start"
                )));
            }
            blocks.push(SackBlock { start, end });
        }
        let mut flags = if blocks.is_empty() { Flags::PURE_ACK } else { Flags::PURE_ACK.with(Flags::SACK) };
        if ece {
            flags = flags.with(Flags::ECE);
        }
        let segment = Segment { ack: number, has_ack: true, flags, sack: blocks, ..Segment::default() };
        self.call(time_ns, |end, stack, now, out| end.on_segment(stack, now, &segment, out))
    }

    /// Runs the sender's timer, if it is due; returns the segments that the sender then sends.
    fn timer(&mut self, time_ns: u64) -> PyResult<Vec<SentSegment>> {
        self.call(time_ns, |end, stack, now, out| end.on_timer(stack, now, out))
    }

    /// Time at which the sender's timer expires, ns; `None` if it is not running.
    #[getter]
    fn deadline_ns(&self) -> Option<u64> {
        Some(self.end.deadline()).filter(|t| *t != Time::NEVER).map(|t| t.0)
    }

    /// Congestion window, bytes.
    #[getter]
    fn cwnd_bytes(&self) -> u64 {
        self.end.probe(&self.stack).cwnd_bytes
    }

    /// Slow start threshold, bytes; `None` while it is infinite.
    #[getter]
    fn ssthresh_bytes(&self) -> Option<u64> {
        Some(self.end.probe(&self.stack).ssthresh_bytes).filter(|s| *s != u64::MAX)
    }

    /// Estimated bytes in flight.
    #[getter]
    fn in_flight_bytes(&self) -> u64 {
        self.end.probe(&self.stack).in_flight
    }

    /// Smoothed round-trip time, ms; 0 before the first sample.
    #[getter]
    fn srtt_ms(&self) -> f64 {
        self.end.probe(&self.stack).srtt.millis()
    }

    /// Retransmission timeout including backoff, ms.
    #[getter]
    fn rto_ms(&self) -> f64 {
        self.end.probe(&self.stack).rto.millis()
    }

    /// Congestion state: `"open"`, `"cwr"` (reducing after an ECN echo), `"recovery"` (fast recovery) or `"loss"` (after a timeout).
    #[getter]
    fn state(&self) -> &'static str {
        self.end.probe(&self.stack).state.word()
    }

    /// Number of segments that were declared lost and have since been neither acknowledged nor SACKed, whether they
    /// were retransmitted or not.
    #[getter]
    fn lost_segments(&self) -> u32 {
        self.end.lost_segments()
    }

    /// Segments retransmitted so far.
    #[getter]
    fn retransmits(&self) -> u32 {
        self.end.stats().retransmits
    }

    /// Retransmission timeouts so far.
    #[getter]
    fn timeouts(&self) -> u32 {
        self.end.stats().timeouts
    }

    /// Fast recoveries so far.
    #[getter]
    fn fast_recoveries(&self) -> u32 {
        self.end.stats().fast_recoveries
    }

    /// Number of times so far that the sender has reduced its window in response to an ECN echo.
    #[getter]
    fn ecn_reductions(&self) -> u32 {
        self.end.stats().ecn_reductions
    }

    /// Largest payload of a segment, bytes.
    #[getter]
    fn mss(&self) -> u32 {
        self.stack.wire.mss
    }
}
