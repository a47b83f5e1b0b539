//! A DOCSIS 3.1 modem: requests, and bursts in the frames that were granted.
//!
//! ```text
//! MAP j          begins at map_offset + j MAP;  decided MinReqGntDelay before: what was requested until then is granted in it
//! request        frames that wait - requested - granted:  with the preparation of each burst;  of a service flow that has none in
//!                a MAP, once in a frame of it, drawn uniformly
//! burst          one frame of one service flow: prepared `burst_preparation` before the frame, from what waits then;  packets
//!                that end in it have left when the frame ends;  one that does not fit is sent in pieces
//! ```
//!
//! So a packet waits for a request's moment, MinReqGntDelay, the MAP's beginning, its place in the MAP, and a frame. With proactive
//! grants it waits for the next of these, and nothing else.
//!
//! Source: MULPIv3.1 §7 by way of docsis-ns3 (facts).   Units: bytes of frames with the MAC header.
//! Departs: a request in contention always succeeds; segment headers are not there; the modem knows of a grant when it is decided.
//! A modem with nothing to do and no proactive grants has no events; its requests' moments are drawn when something comes.

use crate::cmts::{C, Cmts, L};
use crate::{Docsis31Params, ShaperParams};
use packet::{GrantCounts, PacketMeta, ServiceFlow, docsis_frame};
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Rng, Time};

/// What [`Modem31::advance`] wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Nothing before [`Modem31::deadline`].
    Nothing,
    /// A packet of this service flow, or the answer that there is none, to [`Modem31::given`].
    Packet(ServiceFlow),
}

/// A frame of a service flow.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Burst {
    prepare_at: Time,
    end: Time,
    flow: usize,
    bytes: u64,
    proactive: u64,
}

/// The modem, and the CMTS as far as it concerns it.
#[derive(Clone, Debug, PartialEq)]
pub struct Modem31 {
    cmts: Cmts,
    params: Docsis31Params,
    map: Duration,
    min_req_gnt: Duration,
    slot_bytes: u64,
    /// Whether MAPs matter.
    running: bool,
    /// Number of the next MAP to be decided about.
    decide: u64,
    /// Number of the next MAP to begin.
    begin: u64,
    /// Moments of requests without a burst, of L and C.
    request_at: [Time; 2],
    /// Number of the MAP that they are in, plus one.
    drawn: u64,
    /// Granted, not yet prepared, the first first.
    bursts: VecDeque<Burst>,
    /// Bytes in them.
    granted: [u64; 2],
    /// Being prepared, and what it still can take.
    burst: Option<(Burst, u64)>,
    /// Packets in pieces, and their bytes not yet sent.
    fragments: [Option<(PacketMeta, u64)>; 2],
    /// Sent, with the end of their frame.
    sent: VecDeque<(Time, PacketMeta)>,
    counts: [GrantCounts; 2],
}

impl Modem31 {
    /// At rest. The parameters are valid.
    pub fn new(params: &Docsis31Params) -> Self {
        let mut modem = Self {
            cmts: Cmts::new(params),
            params: params.clone(),
            map: params.map(),
            min_req_gnt: params.min_req_gnt(),
            slot_bytes: params.minislot_bytes.0,
            running: false,
            decide: 0,
            begin: 0,
            request_at: [Time::NEVER; 2],
            drawn: 0,
            bursts: VecDeque::new(),
            granted: [0; 2],
            burst: None,
            fragments: [None; 2],
            sent: VecDeque::new(),
            counts: [GrantCounts::default(); 2],
        };
        if modem.cmts.is_proactive() {
            modem.start(Time::ZERO);
            // grants without requests have no beginning: those of the first MAP come, too
            modem.decide = 0;
        }
        modem
    }

    /// The beginning of a MAP.
    fn map_at(&self, number: u64) -> Time {
        Time(self.params.map_offset.0 + number * self.map.0)
    }

    /// The first MAP that begins at or after `t`.
    fn map_from(&self, t: Time) -> u64 {
        t.0.saturating_sub(self.params.map_offset.0).div_ceil(self.map.0)
    }

    /// When the next MAP is decided about.
    fn decide_at(&self) -> Time {
        Time(self.map_at(self.decide).0.saturating_sub(self.min_req_gnt.0))
    }

    fn start(&mut self, now: Time) {
        self.running = true;
        self.decide = self.map_from(now + self.min_req_gnt).max(self.decide);
        self.begin = self.map_from(now);
    }

    /// Packets wait in the queue: an idle modem will look at them at the next moment for a request.
    pub fn notify(&mut self, now: Time, rng: &mut Rng) {
        if self.running {
            return;
        }
        self.start(now);
        // the MAP under way, whose beginning nobody looked at
        if self.begin > 0 && self.map_at(self.begin) > now && self.drawn < self.begin {
            self.draw(self.begin - 1, rng);
            for at in &mut self.request_at {
                if *at < now {
                    *at = Time::NEVER;
                }
            }
        }
    }

    /// Moments for requests of the service flows that have no burst in this MAP.
    fn draw(&mut self, map: u64, rng: &mut Rng) {
        let (begin, end) = (self.map_at(map), self.map_at(map + 1));
        self.drawn = map + 1;
        for flow in [L, C] {
            // bursts are in the order of time
            let mut here = self.bursts.iter().take_while(|b| b.prepare_at + self.params.burst_preparation < end);
            let alone = flow == C || self.params.low_latency.is_some();
            self.request_at[flow] = if !alone || here.any(|b| b.flow == flow) {
                Time::NEVER
            } else {
                begin + self.params.frame * rng.below(self.params.frames_per_map())
            };
        }
    }

    /// When [`Modem31::advance`] has something to do; `NEVER` while idle.
    #[inline]
    pub fn deadline(&self) -> Time {
        let sent = self.sent.front().map_or(Time::NEVER, |s| s.0);
        if !self.running {
            return sent;
        }
        if let Some((burst, _)) = &self.burst {
            return burst.prepare_at;
        }
        let burst = self.bursts.front().map_or(Time::NEVER, |b| b.prepare_at);
        let decide = self.decide_at();
        let requests = self.request_at[L].min(self.request_at[C]);
        sent.min(burst).min(requests).min(decide).min(self.map_at(self.begin))
    }

    /// Does what is due first, at `now` = [`Modem31::deadline`]. `waiting` are the frames in the queue, of L and of C; packets that
    /// have left go to `depart`.
    pub fn advance(
        &mut self,
        now: Time,
        waiting: [u64; 2],
        rng: &mut Rng,
        depart: &mut dyn FnMut(PacketMeta, Time),
    ) -> Ask {
        debug_assert!(now == self.deadline());
        if let Some((burst, left)) = self.burst.take() {
            return self.fill(burst, left);
        }
        if self.sent.front().is_some_and(|s| s.0 <= now) {
            while let Some((end, packet)) = self.sent.pop_front_if(|s| s.0 <= now) {
                depart(packet, end);
            }
            return Ask::Nothing;
        }
        if let Some(burst) = self.bursts.pop_front_if(|b| b.prepare_at <= now) {
            self.request(burst.flow, waiting);
            return self.prepare(burst);
        }
        for flow in [L, C] {
            if self.request_at[flow] <= now {
                self.request_at[flow] = Time::NEVER;
                self.request(flow, waiting);
                return Ask::Nothing;
            }
        }
        if self.decide_at() <= now {
            self.decide(now, rng);
            return Ask::Nothing;
        }
        self.begin(waiting, rng);
        Ask::Nothing
    }

    /// A MAP begins.
    fn begin(&mut self, waiting: [u64; 2], rng: &mut Rng) {
        let nothing = waiting == [0; 2]
            && self.cmts.requests() == [0; 2]
            && self.bursts.is_empty()
            && self.fragments.iter().all(Option::is_none);
        if nothing && !self.cmts.is_proactive() {
            self.running = false;
            return;
        }
        if self.drawn <= self.begin {
            self.draw(self.begin, rng);
        }
        self.begin += 1;
    }

    /// A MAP is decided about.
    fn decide(&mut self, now: Time, rng: &mut Rng) {
        let (frame, prepare) = (self.params.frame, self.params.burst_preparation);
        let begin = self.map_at(self.decide);
        let first = self.decide * self.params.frames_per_map();
        self.decide += 1;
        for (i, granted) in self.cmts.map(now, first, rng).iter().enumerate() {
            let start = begin + frame * i as u64;
            for flow in [L, C] {
                let bytes = granted.slots[flow] * self.slot_bytes;
                if bytes > 0 {
                    let proactive = if flow == L { granted.proactive * self.slot_bytes } else { 0 };
                    let prepare_at = Time(start.0.saturating_sub(prepare.0)).max(now);
                    self.bursts.push_back(Burst { prepare_at, end: start + frame, flow, bytes, proactive });
                    self.granted[flow] += bytes;
                }
            }
        }
    }

    /// Asks for what waits and has neither been asked for nor granted.
    fn request(&mut self, flow: usize, waiting: [u64; 2]) {
        let unsent = waiting[flow] + self.fragments[flow].map_or(0, |f| f.1);
        let more = unsent.saturating_sub(self.cmts.requests()[flow] + self.granted[flow]);
        self.counts[flow].requested += more;
        self.cmts.request(flow, more);
    }

    /// A burst begins: the rest of a packet in pieces goes first.
    fn prepare(&mut self, burst: Burst) -> Ask {
        let flow = burst.flow;
        self.granted[flow] -= burst.bytes;
        self.counts[flow].granted += burst.bytes;
        self.counts[flow].proactive += burst.proactive;
        match self.fragments[flow].take() {
            Some((packet, rest)) => {
                let left = self.send(&burst, packet, rest, burst.bytes);
                self.fill(burst, left)
            }
            None => self.fill(burst, burst.bytes),
        }
    }

    /// Asks for a packet while there is room in the burst.
    fn fill(&mut self, burst: Burst, left: u64) -> Ask {
        if left == 0 {
            self.end(&burst, 0);
            return Ask::Nothing;
        }
        self.burst = Some((burst, left));
        Ask::Packet(if burst.flow == L { ServiceFlow::LowLatency } else { ServiceFlow::Classic })
    }

    /// Answers [`Ask::Packet`]; `None` if the queue had none: then the rest of the burst is lost.
    pub fn given(&mut self, packet: Option<PacketMeta>) {
        let Some((burst, left)) = self.burst.take() else { return };
        let Some(packet) = packet else {
            return self.end(&burst, left);
        };
        let left = self.send(&burst, packet, docsis_frame(packet.bytes()), left);
        if left > 0 {
            self.burst = Some((burst, left));
        } else {
            self.end(&burst, 0);
        }
    }

    /// Nothing more goes into a burst, which had room for so many bytes more.
    fn end(&mut self, burst: &Burst, unused: u64) {
        self.counts[burst.flow].used += burst.bytes - unused;
        self.cmts.settle(burst.flow, burst.proactive, unused);
    }

    /// Sends as much of a packet as fits; what is left of the room.
    fn send(&mut self, burst: &Burst, packet: PacketMeta, bytes: u64, room: u64) -> u64 {
        if bytes > room {
            self.fragments[burst.flow] = Some((packet, bytes - room));
            return 0;
        }
        self.sent.push_back((burst.end, packet));
        room - bytes
    }

    /// Packets that have left the queue and are not yet sent.
    pub fn inside(&self) -> usize {
        self.sent.len() + self.fragments.iter().flatten().count()
    }

    /// What became of the grants of L and C so far.
    pub fn counts(&self) -> [GrantCounts; 2] {
        self.counts
    }

    /// The shaping.
    pub fn flow(&self) -> &ShaperParams {
        &self.params.flow
    }

    /// Whether there is a Low Latency service flow.
    pub fn has_low_latency(&self) -> bool {
        self.params.low_latency.is_some()
    }

    /// Bytes that may still be granted at the peak rate.
    pub fn tokens(&self, now: Time) -> Bytes {
        self.cmts.tokens(now)
    }

    /// From `now` on, other rates (positive); `None` keeps one. A peak rate that was not limited stays so.
    pub fn set_rates(&mut self, now: Time, rate: Option<BitRate>, peak: Option<BitRate>) {
        let flow = &mut self.params.flow;
        flow.max_sustained_rate = rate.unwrap_or(flow.max_sustained_rate);
        if flow.peak_traffic_rate.is_some() {
            flow.peak_traffic_rate = peak.or(flow.peak_traffic_rate);
        }
        let inflated = |rate: BitRate| self.params.inflated(rate);
        self.cmts.set_rates(now, rate.map(inflated), peak.map(inflated));
    }
}

#[cfg(test)]
mod tests;
