//! Two endpoints. Segments of end 0 pass a bottleneck with a queue; segments of end 1 are only delayed.

use packet::{Ecn, Flags};
use std::collections::BTreeMap;
use tcp::{Endpoint, Event, Io, Segment, TcpParams};
use units::{Duration, Time};

/// The fate of a segment in the pipe, apart from queueing.
#[allow(dead_code, reason = "not every test uses all of them")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fate {
    Pass,
    Drop,
    Mark,
    Late(Duration),
}

#[derive(Default)]
struct Out(Vec<Segment>);
impl Io for Out {
    fn send(&mut self, segment: &Segment) {
        self.0.push(*segment);
    }
    fn event(&mut self, _: Event) {}
}

/// The two endpoints and the bottleneck. End 0 sends data, and end 1 receives it.
pub(crate) struct Pipe<F> {
    pub p: TcpParams,
    pub ends: [Endpoint; 2],
    pub now: Time,
    /// Transmission time of 1500 bytes.
    segment_time: Duration,
    /// One-way delay without the transmission time.
    delay: Duration,
    /// The bottleneck's queue limit, packets. The packet in transmission does not count.
    limit: usize,
    departures: std::collections::VecDeque<Time>,
    flying: BTreeMap<(Time, u64), (usize, Segment)>,
    number: u64,
    fate: F,
}

/// An event at end 0, and the segments sent in response.
#[allow(dead_code, reason = "not every test looks at it")]
pub(crate) struct Step {
    pub ack: Option<Segment>,
    pub sent: Vec<Segment>,
}

impl<F: FnMut(usize, &Segment) -> Fate> Pipe<F> {
    pub(crate) fn new(p: &TcpParams, segment_time: Duration, delay: Duration, limit: usize, fate: F) -> Self {
        p.validate().unwrap();
        let end = || Endpoint::new(p, p.first_window());
        Self {
            p: p.clone(),
            ends: [end(), end()],
            now: Time::ZERO,
            segment_time,
            delay,
            limit,
            departures: Default::default(),
            flying: BTreeMap::new(),
            number: 0,
            fate,
        }
    }

    fn call(&mut self, i: usize, f: impl FnOnce(&mut Endpoint, &TcpParams, Time, &mut Out)) -> Vec<Segment> {
        let mut out = Out::default();
        f(&mut self.ends[i], &self.p, self.now, &mut out);
        for s in &out.0 {
            let (mut s, mut at) = (*s, self.now + self.delay);
            match (self.fate)(i, &s) {
                Fate::Pass => {}
                Fate::Drop => continue,
                Fate::Mark if s.ecn != Ecn::NotEct => s.ecn = Ecn::Ce,
                Fate::Mark => {}
                Fate::Late(by) => at += by,
            }
            if i == 0 {
                while self.departures.pop_front_if(|t| *t <= self.now).is_some() {}
                if self.departures.len() > self.limit {
                    continue;
                }
                let free = self.departures.back().copied().unwrap_or(self.now).max(self.now);
                let size = u64::from(self.p.wire.packet_size(&s));
                let left = free + Duration(self.segment_time.0 * size / 1500);
                self.departures.push_back(left);
                at += left.since(self.now);
            }
            self.number += 1;
            self.flying.insert((at, self.number), (1 - i, s));
        }
        out.0
    }

    pub(crate) fn connect(&mut self) -> Vec<Segment> {
        self.call(1, |e, p, now, io| e.listen(p, now, io));
        self.call(0, |e, p, now, io| e.connect(p, now, io))
    }

    pub(crate) fn write(&mut self, bytes: u64) -> Vec<Segment> {
        self.call(0, |e, p, now, io| e.write(p, now, bytes, io))
    }

    /// Processes the next event up to the time `end`. Returns `None` if there is no such event, `Some(None)` for an
    /// event at the receiver, and the step for an event at the sender.
    pub(crate) fn step(&mut self, end: Time) -> Option<Option<Step>> {
        let packet = self.flying.first_key_value().map_or(Time::NEVER, |(k, _)| k.0);
        let timers = [self.ends[0].deadline(), self.ends[1].deadline()];
        let next = packet.min(timers[0]).min(timers[1]);
        if next > end {
            self.now = end;
            return None;
        }
        self.now = self.now.max(next);
        let (i, ack, sent) = if packet == next {
            let (_, (to, mut s)) = self.flying.pop_first()?;
            // a host may clear the sequence number and the time stamp of a plain pure ACK if the sender reads neither
            // (see the documentation of the crate). The pipe does the same
            if s.flags == Flags::PURE_ACK && !self.p.reads_ack_time() {
                (s.seq, s.ts_val) = (0, 0);
            }
            (to, Some(s), self.call(to, |e, p, now, io| e.on_segment(p, now, &s, io)))
        } else {
            let i = usize::from(timers[0] != next);
            (i, None, self.call(i, |e, p, now, io| e.on_timer(p, now, io)))
        };
        Some((i == 0).then_some(Step { ack, sent }))
    }
}
