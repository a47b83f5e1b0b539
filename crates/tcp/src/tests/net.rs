//! Two TCP endpoints and the pipe between them. If `checked` is true, the counters of an endpoint are checked after
//! every call.

use super::names::*;
use packet::{Ecn, Flags};
use std::collections::BTreeMap;
use units::{Duration, Time};

/// The fate of a segment in the pipe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fate {
    Pass,
    Drop,
    Late(Duration),
    Mark,
    /// The packet is split into its segments. Segment i is lost if bit (i mod 64) of this number is 1.
    Cut(u64),
}

#[derive(Default)]
pub(super) struct Out {
    sent: Vec<Segment>,
    events: Vec<Event>,
}
impl Io for Out {
    fn send(&mut self, segment: &Segment) {
        self.sent.push(*segment);
    }
    fn event(&mut self, event: Event) {
        self.events.push(event);
    }
}

/// Decides the fate of a segment. The arguments are the sending end, the number of segments that this end has sent
/// before, and the segment. The closure is boxed so that the pipe is compiled only once, and not again for each test's
/// closure.
type Fates<'a> = Box<dyn FnMut(usize, usize, &Segment) -> Fate + 'a>;

/// The two endpoints and the pipe, which has a fixed delay and decides the fate of each segment. End 0 opens the
/// connection.
pub(super) struct Net<'a> {
    pub(super) p: TcpParams,
    pub(super) ends: [Endpoint; 2],
    pub(super) flying: BTreeMap<(Time, u64), (usize, Segment)>,
    pub(super) now: Time,
    pub(super) number: u64,
    pub(super) delay: Duration,
    /// If not zero, the segments of end 1 arrive in batches, at whole multiples of this time.
    pub(super) batch: Duration,
    fate: Fates<'a>,
    pub(super) log: Vec<(Time, usize, Segment)>,
    pub(super) events: [Vec<Event>; 2],
    /// For each end, the number of bytes that the end has reported as received.
    pub(super) received: [u64; 2],
    /// For each end, whether each byte has arrived.
    pub(super) arrived: [Vec<bool>; 2],
    /// For each end, the number of bytes below the first one that has not arrived.
    whole: [usize; 2],
    /// For each end, the number of segments that it has sent.
    sent: [usize; 2],
    /// If set, end 1 waits until it has received `.0` bytes, then answers with `.1` bytes and closes.
    pub(super) answer: Option<(u64, u64)>,
    /// True if each call checks the endpoint's counters against a recount, and logs segments and events.
    pub(super) checked: bool,
}

impl<'a> Net<'a> {
    pub(super) fn new(p: &TcpParams, delay_ms: u64, fate: impl FnMut(usize, usize, &Segment) -> Fate + 'a) -> Self {
        p.validate().unwrap();
        let end = || Endpoint::new(p, p.first_window());
        Self {
            p: p.clone(),
            ends: [end(), end()],
            flying: BTreeMap::new(),
            now: Time::ZERO,
            number: 0,
            delay: Duration::from_millis(delay_ms),
            batch: Duration::ZERO,
            fate: Box::new(fate),
            log: vec![],
            events: [vec![], vec![]],
            received: [0; 2],
            arrived: [vec![], vec![]],
            whole: [0; 2],
            sent: [0; 2],
            answer: None,
            checked: true,
        }
    }

    pub(super) fn call(&mut self, i: usize, f: impl FnOnce(&mut Endpoint, &TcpParams, Time, &mut Out)) {
        let mut out = Out::default();
        f(&mut self.ends[i], &self.p, self.now, &mut out);
        self.follow(i, out);
    }

    /// Checks end `i` after a call, puts the segments that the end sent into the pipe, and logs the end's events.
    fn follow(&mut self, i: usize, out: Out) {
        if self.checked {
            self.ends[i].check(&self.p);
        }
        assert!(out.sent.len() < 5000, "unbounded output");
        for s in out.sent {
            let at = self.now + self.delay;
            match (self.fate)(i, self.sent[i], &s) {
                Fate::Pass => self.launch(at, i, s),
                Fate::Late(d) => self.launch(at + d, i, s),
                Fate::Mark => {
                    let ecn = if s.ecn == Ecn::NotEct { Ecn::NotEct } else { Ecn::Ce };
                    self.launch(at, i, Segment { ecn, ..s });
                }
                Fate::Drop => {}
                Fate::Cut(lost) => {
                    let kept = s.cut().enumerate().filter(|(k, _)| lost >> (k % 64) & 1 == 0);
                    kept.for_each(|(_, piece)| self.launch(at, i, piece));
                }
            }
            self.sent[i] += 1;
            if self.checked {
                self.log.push((self.now, i, s));
            }
        }
        for e in out.events {
            if let Event::Received { bytes } = e {
                self.received[i] += bytes;
            }
            if self.checked {
                self.events[i].push(e);
            }
        }
        if self.checked {
            // exactly the bytes below the first gap in `arrived` must have been reported
            let (arrived, whole) = (&self.arrived[i], &mut self.whole[i]);
            *whole += arrived[*whole..].iter().take_while(|a| **a).count();
            assert_eq!(self.received[i], *whole as u64);
        }
    }

    fn launch(&mut self, mut at: Time, from: usize, s: Segment) {
        if from == 1 && !self.batch.is_zero() {
            at = Time(at.0.next_multiple_of(self.batch.0));
        }
        self.number += 1;
        self.flying.insert((at, self.number), (1 - from, s));
    }

    pub(super) fn connect(&mut self, bytes: u64, close: bool) {
        self.call(0, |e, p, now, io| e.connect(p, now, io));
        self.call(1, |e, p, now, io| e.listen(p, now, io));
        self.write(0, bytes, close);
    }

    pub(super) fn write(&mut self, i: usize, bytes: u64, close: bool) {
        self.call(i, |e, p, now, io| e.write(p, now, bytes, io));
        if close {
            self.call(i, |e, p, now, io| e.close(p, now, io));
        }
    }

    /// Runs all events up to the time of `secs` seconds, and sets the clock to this time.
    pub(super) fn run(&mut self, secs: f64) {
        let end = Time((secs * 1e9) as u64);
        for _ in 0..20_000_000 {
            let packet = self.flying.first_key_value().map_or(Time::NEVER, |(k, _)| k.0);
            let timer = self.ends[0].deadline().min(self.ends[1].deadline());
            let next = packet.min(timer);
            if next > end {
                self.now = end;
                return;
            }
            self.now = self.now.max(next);
            if packet <= timer {
                let (_, (to, s)) = self.flying.pop_first().unwrap();
                if self.checked {
                    let top = (s.seq + u64::from(s.len)).saturating_sub(1) as usize;
                    if s.len > 0 {
                        let a = &mut self.arrived[to];
                        a.resize(a.len().max(top), false);
                        a[s.seq as usize - 1..top].fill(true);
                    }
                }
                // clears the sequence number and the time stamp of a plain pure ACK, which the simulator's packets also omit
                let s = if s.flags == Flags::PURE_ACK && !self.p.reads_ack_time() {
                    Segment { seq: 0, ts_val: 0, ..s }
                } else {
                    s
                };
                self.call(to, |e, p, now, io| e.on_segment(p, now, &s, io));
            } else {
                let i = usize::from(self.ends[0].deadline() > timer);
                self.call(i, |e, p, now, io| e.on_timer(p, now, io));
            }
            if let Some((wanted, answer)) = self.answer
                && self.received[1] >= wanted
            {
                self.answer = None;
                self.write(1, answer, true);
            }
        }
        panic!("the network never rests");
    }

    pub(super) fn times(&self, from: usize, f: impl Fn(&Segment) -> bool) -> Vec<f64> {
        self.log.iter().filter(|l| l.1 == from && f(&l.2)).map(|l| l.0.0 as f64 / 1e9).collect()
    }
    pub(super) fn has(&self, i: usize, event: Event) -> bool {
        self.events[i].contains(&event)
    }
}
