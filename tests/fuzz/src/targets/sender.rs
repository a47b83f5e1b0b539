//! The sending half of TCP, driven by scripts of ACKs. The receiver is modelled as a set of bytes.
//!
//! ACKs arrive late, twice, out of order or never. Their SACK blocks may be invalid, and they may acknowledge bytes
//! that were never sent. After every call, sent data lies within the written data and the peer's window, new data
//! follows without a gap, only sent and unacknowledged data is retransmitted, and a timer runs while data is
//! outstanding. After the script the path is perfect, and all data must arrive: no sequence of ACKs may stall a
//! connection for good.
//!
//! Source: RFC 9293 §3.8, §3.10.7.4 (ACKs of unsent data), RFC 6298 §5, RFC 2018 §5, RFC 6675 §5.

use super::{Target, Verdict};
use crate::schema::{Range, Schema};
use crate::source::Source;
use packet::Flags;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::LazyLock;
use tcp::{Endpoint, Event, Io, SackBlock, SackBlocks, Segment, TcpParams};
use units::{Duration, Time};

pub(crate) const SENDER: Target = Target {
    name: "sender",
    minute: 10_000,
    about: "any script of ACKs to a TCP sender: windows and sequence numbers are respected, and no connection stalls for good",
    longest: 1024,
    text: false,
    run: sender,
    start: Vec::new,
};

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of_scenarios);

/// Limit on the number of segments that one call sends. The peer's window is far smaller: at most 400 MSS.
const MOST_AT_ONCE: usize = 50_000;

#[derive(Default)]
struct Out {
    sent: Vec<Segment>,
    failed: bool,
}

impl Io for Out {
    fn send(&mut self, segment: &Segment) {
        self.sent.push(*segment);
    }
    fn event(&mut self, event: Event) {
        self.failed |= event == Event::Failed;
    }
}

/// Returns a stack: a preset, and sometimes also values for other parameters, as the schema allows.
fn stack(s: &mut Source<'_>) -> Option<TcpParams> {
    let preset = tcp::PRESETS[s.index(tcp::PRESETS.len())].0;
    let mut tree = json!({ "preset": preset });
    if s.chance(128)
        && let Value::Object(differs) = SCHEMA.value(SCHEMA.def("Stack"), s, Range::Usual)
        && let Some(map) = tree.as_object_mut()
    {
        map.extend(differs.into_iter().filter(|(key, _)| key != "preset" && s.chance(48)));
    }
    let stack = scenario::read::stack(tree).ok()?;
    stack.ready().ok()?;
    let mut p = stack.resolve().ok()?;
    p.opening.handshake = false;
    // the sender never gives up while the script blocks the path
    p.rto.retries = None;
    p.validate().ok().map(|()| p)
}

struct Bench {
    p: TcpParams,
    end: Endpoint,
    now: Time,
    /// Number of bytes written. The stream consists of bytes 1 to `written`.
    written: u64,
    window: u64,
    /// First byte that was never sent.
    sent_to: u64,
    /// Highest ACK that the sender has accepted.
    acked: u64,
    /// For each byte, whether the receiver has it. Byte 0 is the SYN.
    here: Vec<bool>,
    /// Segments in flight, oldest first.
    flying: VecDeque<Segment>,
}

fn sender(bytes: &[u8]) -> Verdict {
    let mut s = Source::new(bytes);
    let Some(p) = stack(&mut s) else { return Verdict::Refused };
    let window = (s.spread(4, 400) * u64::from(p.wire.mss)).min(1 << 30);
    let end = Endpoint::new(&p, window);
    let mut b = Bench {
        end,
        now: Time(1_000_000_000),
        written: 0,
        window,
        sent_to: 1,
        acked: 1,
        here: vec![true],
        flying: VecDeque::new(),
        p,
    };
    b.call(|end, p, now, out| end.connect(p, now, out));
    let first = s.spread(1, 60) * u64::from(b.p.wire.mss) - s.below(u64::from(b.p.wire.mss));
    b.write(first);
    while !s.is_empty() {
        b.act(&mut s);
    }
    b.finish();
    Verdict::Accepted
}

impl Bench {
    fn call(&mut self, call: impl FnOnce(&mut Endpoint, &TcpParams, Time, &mut Out)) {
        let mut out = Out::default();
        call(&mut self.end, &self.p, self.now, &mut out);
        // the socket limits the bytes of its own segments that are still in the host (TCP small queues). Here these
        // segments leave the host at once, after which the sender may send more
        let mut seen = 0;
        while seen < out.sent.len() && out.sent.len() < MOST_AT_ONCE {
            let local = out.sent[seen..].iter().filter(|s| s.flags.has(Flags::LOCAL));
            let bytes = local.map(|s| u64::from(self.p.wire.packet_size(s))).sum();
            seen = out.sent.len();
            if bytes > 0 {
                self.end.on_left(&self.p, self.now, bytes, &mut out);
            }
        }
        assert!(out.sent.len() < MOST_AT_ONCE, "{} segments in one call", out.sent.len());
        assert!(!out.failed, "gave up, though it may retry for ever");
        for segment in out.sent {
            self.look(&segment);
            if segment.len > 0 {
                self.flying.push_back(segment);
            }
        }
        let outstanding = self.sent_to > self.acked;
        let waits = self.end.deadline() != Time::NEVER;
        assert!(waits || !outstanding, "bytes are outstanding, and no timer runs");
        let probe = self.end.probe(&self.p);
        assert!(probe.cwnd_bytes >= u64::from(self.p.wire.mss), "a window of {} bytes", probe.cwnd_bytes);
        assert!(probe.rto >= Duration::from_millis(1), "an RTO of {}", probe.rto);
        assert_eq!(self.end.acked(), self.acked - 1, "bytes acknowledged");
    }

    fn look(&mut self, segment: &Segment) {
        let (start, stop) = (segment.seq, segment.seq + u64::from(segment.len));
        if segment.len == 0 {
            return;
        }
        let most = if self.p.pacing.tso { 65_536 } else { u64::from(self.p.wire.mss) };
        assert!(u64::from(segment.len) <= most, "{} bytes in a segment", segment.len);
        assert!(start >= 1 && stop <= self.written + 1, "bytes {start}..{stop} of {} written", self.written);
        assert!(stop <= self.acked + self.window, "bytes up to {stop}: beyond the peer's window");
        assert!(start <= self.sent_to, "a gap: {start} after {}", self.sent_to);
        if start < self.sent_to {
            assert!(stop > self.acked, "bytes {start}..{stop} again, which are acknowledged up to {}", self.acked);
            assert!(segment.retransmission, "a retransmission without the flag");
        }
        self.sent_to = self.sent_to.max(stop);
    }

    fn write(&mut self, bytes: u64) {
        self.written += bytes;
        self.call(|end, p, now, out| end.write(p, now, bytes, out));
    }

    fn next(&self) -> u64 {
        self.here.iter().position(|here| !here).unwrap_or(self.here.len()) as u64
    }

    /// Delivers a segment to the receiver.
    fn arrive(&mut self, segment: &Segment) {
        let (start, stop) = (segment.seq as usize, segment.seq as usize + segment.len as usize);
        self.here.resize(self.here.len().max(stop), false);
        self.here[start..stop].fill(true);
    }

    /// Returns the ACK that the receiver would send now. With SACK, the ACK reports the highest three runs of received
    /// bytes, in descending order.
    fn ack(&self, segment: Option<&Segment>) -> Segment {
        let next = self.next();
        let mut ack = Segment { ack: next, has_ack: true, flags: Flags::PURE_ACK, ..Segment::default() };
        if self.p.wire.timestamps {
            ack.ts_val = tcp::micros(self.now);
            ack.ts_ecr = segment.map_or(0, |s| s.ts_val);
        }
        if self.p.detection.recovery == tcp::Recovery::Sack {
            let mut at = self.here.len();
            while ack.sack.len() < 3 && at > next as usize {
                let end = at;
                while at > next as usize && self.here[at - 1] {
                    at -= 1;
                }
                if at < end {
                    ack.sack.push(SackBlock { start: at as u64, end: end as u64 });
                }
                while at > next as usize && !self.here[at - 1] {
                    at -= 1;
                }
            }
        }
        if !ack.sack.is_empty() {
            ack.flags = ack.flags.with(Flags::SACK);
        }
        ack
    }

    fn deliver(&mut self, ack: Segment) {
        if ack.ack <= self.sent_to {
            self.acked = self.acked.max(ack.ack);
        }
        self.call(|end, p, now, out| end.on_segment(p, now, &ack, out));
    }

    fn act(&mut self, s: &mut Source<'_>) {
        match s.byte() {
            // the oldest segment arrives and is acknowledged
            0..=99 => {
                if let Some(segment) = self.flying.pop_front() {
                    self.now += Duration(s.spread(1_000, 20_000_000));
                    self.arrive(&segment);
                    let mut ack = self.ack(Some(&segment));
                    if self.p.ecn.ecn && s.chance(16) {
                        ack.flags = ack.flags.with(Flags::ECE);
                    }
                    self.deliver(ack);
                }
            }
            // the oldest segment arrives, and its ACK is lost
            100..=119 => {
                if let Some(segment) = self.flying.pop_front() {
                    self.arrive(&segment);
                }
            }
            // the oldest segment is lost
            120..=159 => drop(self.flying.pop_front()),
            // the oldest segment is reordered
            160..=174 => {
                if let Some(segment) = self.flying.pop_front() {
                    self.flying.push_back(segment);
                }
            }
            175..=204 => {
                let deadline = self.end.deadline();
                if deadline != Time::NEVER {
                    self.now = self.now.max(deadline);
                    self.call(|end, p, now, out| end.on_timer(p, now, out));
                }
            }
            205..=219 => self.now += Duration(s.spread(1_000, 3_000_000_000)),
            220..=229 => {
                let bytes = s.spread(1, 20_000);
                self.write(bytes);
            }
            // the last ACK, or an older ACK, arrives again
            230..=239 => {
                let mut ack = self.ack(None);
                ack.ack -= s.below(ack.ack);
                self.deliver(ack);
            }
            _ => self.nonsense(s),
        }
    }

    /// Delivers an ACK with up to four SACK blocks at any position. Half of these ACKs also acknowledge data that was
    /// never sent.
    fn nonsense(&mut self, s: &mut Source<'_>) {
        let mut ack = self.ack(None);
        let around =
            |s: &mut Source<'_>, b: &Self| (b.next() + s.below(2 * b.window)).saturating_sub(s.below(b.window));
        if s.chance(128) {
            ack.ack = self.sent_to + 1 + s.below(10_000);
        }
        ack.sack = SackBlocks::NONE;
        for _ in 0..s.below(5) {
            let (start, end) = (around(s, self), around(s, self));
            // a block above the sent data is ignored; a false block within the sent data costs at most a retransmission
            ack.sack.push(SackBlock { start, end });
        }
        if !ack.sack.is_empty() {
            ack.flags = ack.flags.with(Flags::SACK);
        }
        self.deliver(ack);
    }

    /// Completes the transfer over a perfect path, on which all written data arrives.
    fn finish(&mut self) {
        let mut calls = 0u32;
        while self.acked <= self.written {
            calls += 1;
            assert!(calls < 200_000, "stalled: {} of {} bytes acknowledged", self.acked - 1, self.written);
            if let Some(segment) = self.flying.pop_front() {
                self.now += Duration(1_000_000);
                self.arrive(&segment);
                let ack = self.ack(Some(&segment));
                self.deliver(ack);
            } else {
                let deadline = self.end.deadline();
                assert!(
                    deadline != Time::NEVER,
                    "stalled: {} of {} bytes acknowledged, and no timer",
                    self.acked - 1,
                    self.written
                );
                self.now = self.now.max(deadline);
                self.call(|end, p, now, out| end.on_timer(p, now, out));
            }
        }
    }
}

/// Describes the stack that an input encodes.
pub(crate) fn meaning(bytes: &[u8]) -> String {
    format!("{:#?}", stack(&mut Source::new(bytes)))
}
