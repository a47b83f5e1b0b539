//! The receiving half of TCP, compared with the simplest model: a set of bytes.
//!
//! Segments arrive in any order. They may overlap, be repeated, or lie beyond the window. After each segment, the
//! cumulative ACK is the first missing byte, bytes are reported once and in order, and each SACK block is a complete
//! run of received bytes. The first block (after a D-SACK) contains the segment that triggered the ACK. A segment that
//! is out of order is acknowledged at once. With SACK compression, its ACK may come up to 1.1 ms later, and a SACK block
//! need not be a complete run.
//!
//! Source: RFC 2018 §4, RFC 2883 §4, RFC 5681 §4.2, RFC 9293 §3.10.7.4.

use super::{Target, Verdict};
use crate::source::Source;
use packet::Flags;
use tcp::{Endpoint, Event, Io, ReceiveWindow, SackBlock, SackCompression, Segment, TcpParams};
use units::{Bytes, Duration, Time};

/// Sends arbitrary segments to a receiver that has the parameters of any stack.
pub(crate) const RECEIVER: Target = Target {
    name: "receiver",
    minute: 20_000,
    about: "any segments to a TCP receiver: ACKs, SACK blocks and bytes reported, against a model that is a set of bytes",
    longest: 1024,
    text: false,
    run: receiver,
    start: Vec::new,
};

#[derive(Default)]
struct Out {
    sent: Vec<Segment>,
    bytes: u64,
    finished: u32,
}

impl Io for Out {
    fn send(&mut self, segment: &Segment) {
        self.sent.push(*segment);
    }
    fn event(&mut self, event: Event) {
        match event {
            Event::Received { bytes } => self.bytes += bytes,
            Event::PeerFinished => self.finished += 1,
            _ => {}
        }
    }
}

/// The model: whether each byte was received. The SYN is byte 0.
struct Model {
    here: Vec<bool>,
    /// Maximum so far of the number of separate runs of received bytes above the first missing byte.
    most_runs: usize,
}

impl Model {
    fn next(&self) -> u64 {
        self.here.iter().position(|here| !here).unwrap_or(self.here.len()) as u64
    }
    fn has(&self, at: u64) -> bool {
        self.here.get(at as usize).copied().unwrap_or(false)
    }
    fn add(&mut self, start: u64, end: u64) {
        self.here.resize(self.here.len().max(end as usize), false);
        self.here[start as usize..end as usize].fill(true);
        let runs = self.here.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        self.most_runs = self.most_runs.max(runs);
    }
    /// Returns true if the block is a complete run: all of its bytes have arrived, but the byte before the block and
    /// the byte after the block have not.
    fn is_run(&self, b: SackBlock) -> bool {
        b.start < b.end && (b.start..b.end).all(|i| self.has(i)) && !self.has(b.start - 1) && !self.has(b.end)
    }
}

/// Size of the window in bytes, small enough that its end is often reached.
const WINDOW: u64 = 4_000;
/// Maximum delay of the ACK for a segment out of order.
const COMPRESSED: Duration = Duration::from_micros(1_100);

fn receiver(bytes: &[u8]) -> Verdict {
    let mut s = Source::new(bytes);
    let preset = tcp::PRESETS[s.index(tcp::PRESETS.len())].0;
    let Some(mut p) = TcpParams::preset(preset) else { return Verdict::Refused };
    p.receiver.receive_window = ReceiveWindow::fixed(Bytes(WINDOW));
    p.wire.mss = 100;
    p.opening.handshake = false;
    p.wire.timestamps |= s.chance(128);
    p.receiver.ack_every = 1 + s.below(3) as u32;
    p.receiver.quick_acks = s.below(3) as u32;
    p.receiver.delayed_ack = Duration::from_millis(40);
    // a tick of zero makes timers exact
    p.rto.timer_tick = Duration::ZERO;
    p.receiver.dsack = s.chance(128);
    let compresses = s.chance(128);
    if !compresses {
        p.receiver.sack_compression = SackCompression::Off;
    }
    let compresses = p.receiver.sack_compression != SackCompression::Off;
    if p.validate().is_err() {
        return Verdict::Refused;
    }
    let mut end = Endpoint::new(&p, WINDOW);
    let mut model = Model { here: vec![true], most_runs: 0 };
    let (mut now, mut reported) = (Time(1_000_000), 0);
    end.listen(&p, now, &mut Out::default());
    while !s.is_empty() {
        let mut out = Out::default();
        if s.chance(40) {
            now += Duration(s.spread(1_000, 100_000_000));
            end.on_timer(&p, now, &mut out);
            if compresses {
                late_acks(&model, model.next(), &out, true);
            } else {
                acks(&p, &model, &out, None, false);
            }
            continue;
        }
        // segments begin near the first missing byte, and sometimes far from it
        let next = model.next();
        let start =
            (next + s.below(12) * 50).saturating_sub(s.below(6) * 50).max(1) + if s.chance(8) { WINDOW } else { 0 };
        let len = 1 + s.below(150);
        let segment = Segment { seq: start, len: len as u32, ack: 1, has_ack: true, ts_val: 5, ..Segment::default() };
        let stop = start + len;
        end.on_segment(&p, now, &segment, &mut out);
        let fits = stop <= next + WINDOW;
        let new = fits && (start..stop).any(|i| !model.has(i));
        if fits {
            model.add(start, stop);
        }
        let above = start > next || !new;
        if compresses {
            let soon = end.deadline() <= now + COMPRESSED;
            late_acks(&model, next, &out, !above || soon);
        } else {
            acks(&p, &model, &out, fits.then_some((start, stop)), above);
        }
        reported += out.bytes;
        assert_eq!(reported, model.next() - 1, "bytes reported");
        assert_eq!(out.finished, 0, "a FIN that was never sent");
        assert!(
            end.deadline() == Time::NEVER || end.deadline() <= now + p.receiver.delayed_ack,
            "an ACK waits too long"
        );
    }
    assert_eq!(end.stats().bytes_received, model.next() - 1);
    Verdict::Accepted
}

/// Checks the ACKs that a segment or a timer triggered, if the receiver may delay the ACK for a segment out of order. `next` is
/// the first byte that was missing before the segment. If there are two ACKs, the first may be for earlier segments, and thus
/// acknowledge `next`. `later` is true if the segment's ACK may be sent later.
fn late_acks(model: &Model, next: u64, out: &Out, later: bool) {
    assert!(later || !out.sent.is_empty(), "a segment out of order is not acknowledged soon");
    assert!(out.sent.len() <= 2, "{} ACKs for one segment", out.sent.len());
    for (i, ack) in out.sent.iter().enumerate() {
        let right = ack.ack == model.next() || i + 1 < out.sent.len() && ack.ack == next;
        assert!(ack.has_ack && right, "ACK {} where byte {} is missing", ack.ack, model.next());
        for b in ack.sack.as_slice() {
            assert!(
                b.start < b.end && (b.start..b.end).all(|i| model.has(i)),
                "block {b:?} of bytes that never arrived"
            );
        }
    }
}

/// Checks the ACKs that a segment or a timer triggered, if the receiver acknowledges a segment out of order at once.
fn acks(p: &TcpParams, model: &Model, out: &Out, segment: Option<(u64, u64)>, at_once: bool) {
    let next = model.next();
    assert!(!at_once || !out.sent.is_empty(), "a segment out of order is not acknowledged at once");
    assert!(out.sent.len() <= 1, "{} ACKs for one segment", out.sent.len());
    for ack in &out.sent {
        assert!(ack.has_ack && ack.ack == next, "ACK {} where byte {next} is missing", ack.ack);
        let blocks = ack.sack.as_slice();
        assert_eq!(ack.flags.has(Flags::SACK), !blocks.is_empty());
        let most = if p.wire.timestamps { 3 } else { 4 };
        assert!(blocks.len() <= most, "{} SACK blocks", blocks.len());
        let duplicate = blocks.first().is_some_and(|b| {
            let covered = |outer: &SackBlock| outer.start <= b.start && b.end <= outer.end;
            b.end <= next || blocks[1..].iter().any(covered) || !model.is_run(*b)
        });
        assert!(!duplicate || p.receiver.dsack, "a D-SACK from a receiver with dsack off: {blocks:?}");
        let (duplicates, blocks) = blocks.split_at(usize::from(duplicate));
        for b in duplicates {
            assert!(
                b.start < b.end && (b.start..b.end).all(|i| model.has(i)),
                "a D-SACK of bytes that never arrived: {b:?}"
            );
        }
        for (i, b) in blocks.iter().enumerate() {
            assert!(b.start > next, "block {b:?} below the ACK {next}");
            assert!(model.is_run(*b), "block {b:?} is not a run of what was received");
            assert!(!blocks[..i].contains(b), "block {b:?} twice");
        }
        let holds = |b: &SackBlock, at: u64| (b.start..b.end).contains(&at);
        if let Some((start, _)) = segment
            && start > next
            && let Some(first) = blocks.first()
        {
            assert!(holds(first, start), "the first block {first:?} does not hold the segment at {start}");
        }
        // The receiver remembers only the four runs of bytes that segments reached last. Once the holes below these
        // runs are filled, its ACKs carry no SACK blocks, although it may still hold older runs. So the test requires
        // SACK blocks only if there were at most three runs at any time, which is on the safe side
        let above = model.most_runs <= 3 && model.here.iter().skip(next as usize).any(|here| *here);
        let sack = p.detection.recovery == tcp::Recovery::Sack;
        assert!(!(above && sack && duplicates.is_empty() && blocks.is_empty()), "data above a hole are not reported");
    }
}
