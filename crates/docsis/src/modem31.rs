//! A DOCSIS 3.1 modem: it sends requests, and sends its bursts in the granted frames.
//!
//! ```text
//! MAP j          begins at map_offset + j x MAP interval; it is scheduled MinReqGntDelay earlier, from the requests received so far
//! request        asks for (bytes waiting - requested - granted), and is sent when a burst is prepared. A service flow without a
//!                burst in a MAP sends one request in that MAP, in a random frame (uniform)
//! burst          one frame of one service flow. It is filled with the waiting packets, `burst_preparation` before the frame.
//!                A packet whose last byte is in the burst leaves when the frame ends; a packet that does not fit is fragmented
//! ```
//!
//! So a packet waits for a request, then for MinReqGntDelay, then for the start of a MAP and for its place in the MAP. Its
//! transmission takes a frame. With proactive grants, a packet of L waits only for the next grant that has room for it.
//!
//! Source: MULPIv3.1 §7, as implemented in docsis-ns3.   Units: bytes of frames with the MAC header.
//! Departs: contention requests always succeed; there are no segment headers; the modem receives a grant at the time at which
//! the CMTS schedules it. An idle modem without proactive grants schedules no events; the request times are drawn when a packet
//! arrives.

use crate::cmts::{C, Cmts, L};
use crate::{Docsis31Params, ShaperParams};
use packet::{GrantCounts, PacketMeta, ServiceFlow, docsis_frame};
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Rng, Time};

/// The caller's next step after [`Modem31::advance`] or `Downstream31::advance`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Do nothing until the next `deadline`.
    Wait,
    /// Dequeue a packet of this service flow and pass it to `dequeued`, or pass `None` if there is no packet.
    Dequeue(ServiceFlow),
}

/// The minislots that are granted to one service flow in one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Burst {
    prepare_at: Time,
    end: Time,
    flow: usize,
    bytes: u64,
    proactive: u64,
}

/// The modem and its scheduler in the CMTS.
#[derive(Clone, Debug, PartialEq)]
pub struct Modem31 {
    cmts: Cmts,
    params: Docsis31Params,
    map: Duration,
    min_req_gnt: Duration,
    slot_bytes: u64,
    /// True while MAPs are processed; false while the modem is idle.
    running: bool,
    /// Number of the next MAP to schedule.
    next_map: u64,
    /// Number of the next MAP to begin.
    begin: u64,
    /// Times at which L and C send a request in the current MAP; `NEVER` for a flow that has a burst in this MAP or has
    /// sent its request.
    request_at: [Time; 2],
    /// Number of the MAP for which `request_at` was last drawn, plus 1, so that 0 means that nothing has been drawn
    /// yet.
    drawn: u64,
    /// Granted bursts not yet prepared, in time order.
    bursts: VecDeque<Burst>,
    /// Bytes granted to L and C in `bursts`.
    granted: [u64; 2],
    /// The burst that is being filled with packets, and the number of bytes in it that are still free.
    burst: Option<(Burst, u64)>,
    /// For L and for C: the packet that has been sent in part, and the number of its bytes that have not been sent yet.
    fragments: [Option<(PacketMeta, u64)>; 2],
    /// Packets whose last byte has been put into a burst, each with the time at which the burst's frame ends and the
    /// packet leaves the modem.
    sent: VecDeque<(Time, PacketMeta)>,
    counts: [GrantCounts; 2],
}

impl Modem31 {
    /// Returns a modem at time 0. It is idle unless it has proactive grants. The parameters must be valid.
    pub fn new(params: &Docsis31Params) -> Self {
        let mut modem = Self {
            cmts: Cmts::new(params),
            params: params.clone(),
            map: params.map(),
            min_req_gnt: params.min_req_gnt(),
            slot_bytes: params.minislot_bytes.0,
            running: false,
            next_map: 0,
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
            // proactive grants need no request, so the first MAP already contains them
            modem.next_map = 0;
        }
        modem
    }

    fn map_at(&self, number: u64) -> Time {
        Time(self.params.map_offset.0 + number * self.map.0)
    }

    /// Returns the number of the first MAP that begins at or after `t`.
    fn map_from(&self, t: Time) -> u64 {
        t.0.saturating_sub(self.params.map_offset.0).div_ceil(self.map.0)
    }

    /// Returns the time at which the CMTS schedules the next MAP.
    fn schedule_at(&self) -> Time {
        Time(self.map_at(self.next_map).0.saturating_sub(self.min_req_gnt.0))
    }

    fn start(&mut self, now: Time) {
        self.running = true;
        self.next_map = self.map_from(now + self.min_req_gnt).max(self.next_map);
        self.begin = self.map_from(now);
    }

    /// Reports that packets wait in the queue. An idle modem then requests a grant at its next request time.
    pub fn notify(&mut self, now: Time, rng: &mut Rng) {
        if self.running {
            return;
        }
        self.start(now);
        // the current MAP began while the modem was idle, so the request times of this MAP have not been drawn
        if self.begin > 0 && self.map_at(self.begin) > now && self.drawn < self.begin {
            self.draw(self.begin - 1, rng);
            for at in &mut self.request_at {
                if *at < now {
                    *at = Time::NEVER;
                }
            }
        }
    }

    /// Draws the request times of MAP number `map`, for the service flows without a burst in this MAP.
    fn draw(&mut self, map: u64, rng: &mut Rng) {
        let (begin, end) = (self.map_at(map), self.map_at(map + 1));
        self.drawn = map + 1;
        for flow in [L, C] {
            // bursts are in time order
            let mut here = self.bursts.iter().take_while(|b| b.prepare_at + self.params.burst_preparation < end);
            let alone = flow == C || self.params.low_latency.is_some();
            self.request_at[flow] = if !alone || here.any(|b| b.flow == flow) {
                Time::NEVER
            } else {
                begin + self.params.frame * rng.below(self.params.frames_per_map())
            };
        }
    }

    /// Returns the time at which [`Modem31::advance`] must be called next; `NEVER` if the modem is idle and all packets
    /// have left.
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
        let schedule = self.schedule_at();
        let requests = self.request_at[L].min(self.request_at[C]);
        sent.min(burst).min(requests).min(schedule).min(self.map_at(self.begin))
    }

    /// Handles the first event that is due at `now` = [`Modem31::deadline`]. `waiting` holds the bytes in the queues of L and C,
    /// counted as frames with MAC headers. Passes to `depart` the packets that have left.
    pub fn advance(
        &mut self,
        now: Time,
        waiting: [u64; 2],
        rng: &mut Rng,
        depart: &mut dyn FnMut(PacketMeta, Time),
    ) -> Action {
        debug_assert!(now == self.deadline());
        if let Some((burst, left)) = self.burst.take() {
            return self.fill(burst, left);
        }
        if self.sent.front().is_some_and(|s| s.0 <= now) {
            while let Some((end, packet)) = self.sent.pop_front_if(|s| s.0 <= now) {
                depart(packet, end);
            }
            return Action::Wait;
        }
        if let Some(burst) = self.bursts.pop_front_if(|b| b.prepare_at <= now) {
            self.request(burst.flow, waiting);
            return self.prepare(burst);
        }
        for flow in [L, C] {
            if self.request_at[flow] <= now {
                self.request_at[flow] = Time::NEVER;
                self.request(flow, waiting);
                return Action::Wait;
            }
        }
        if self.schedule_at() <= now {
            self.schedule(now, rng);
            return Action::Wait;
        }
        self.begin(waiting, rng);
        Action::Wait
    }

    /// Handles the start of a MAP. If no bytes are waiting, requested or granted, and there are no proactive grants,
    /// the modem becomes idle and handles no more MAPs until [`Modem31::notify`].
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

    /// Schedules a MAP and queues its bursts.
    fn schedule(&mut self, now: Time, rng: &mut Rng) {
        let (frame, prepare) = (self.params.frame, self.params.burst_preparation);
        let begin = self.map_at(self.next_map);
        let first = self.next_map * self.params.frames_per_map();
        self.next_map += 1;
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

    /// Requests the waiting bytes that have not been requested or granted yet.
    fn request(&mut self, flow: usize, waiting: [u64; 2]) {
        let unsent = waiting[flow] + self.fragments[flow].map_or(0, |f| f.1);
        let more = unsent.saturating_sub(self.cmts.requests()[flow] + self.granted[flow]);
        self.counts[flow].requested += more;
        self.cmts.request(flow, more);
    }

    /// Begins a burst with the rest of a fragmented packet, if there is one.
    fn prepare(&mut self, burst: Burst) -> Action {
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

    /// Requests the next packet for a burst with `left` free bytes. If no byte is free, ends the burst instead.
    fn fill(&mut self, burst: Burst, left: u64) -> Action {
        if left == 0 {
            self.end(&burst, 0);
            return Action::Wait;
        }
        self.burst = Some((burst, left));
        Action::Dequeue(if burst.flow == L { ServiceFlow::LowLatency } else { ServiceFlow::Classic })
    }

    /// Adds the packet that [`Action::Dequeue`] requested to the burst. Without a packet (`None`), the rest of the burst is not
    /// used.
    pub fn dequeued(&mut self, packet: Option<PacketMeta>) {
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

    /// Ends a burst with `unused` bytes left.
    fn end(&mut self, burst: &Burst, unused: u64) {
        self.counts[burst.flow].used += burst.bytes - unused;
        self.cmts.grant_ended(burst.flow, burst.proactive, unused);
    }

    /// Sends the remaining `bytes` of a packet, or as many of them as fit into `room`; returns the room that is left.
    fn send(&mut self, burst: &Burst, packet: PacketMeta, bytes: u64, room: u64) -> u64 {
        if bytes > room {
            self.fragments[burst.flow] = Some((packet, bytes - room));
            return 0;
        }
        self.sent.push_back((burst.end, packet));
        room - bytes
    }

    /// Returns the number of packets that have left the queue but not the modem.
    pub fn inside(&self) -> usize {
        self.sent.len() + self.fragments.iter().flatten().count()
    }

    /// Returns the number of bytes requested, granted and used, for L and for C.
    pub fn counts(&self) -> [GrantCounts; 2] {
        self.counts
    }

    /// Returns the current rate-shaping parameters.
    pub fn flow(&self) -> &ShaperParams {
        &self.params.flow
    }

    /// Returns true if there is a Low Latency service flow.
    pub fn has_low_latency(&self) -> bool {
        self.params.low_latency.is_some()
    }

    /// Returns the number of whole bytes for which the aggregate's sustained bucket has tokens at `now`. These bytes
    /// may leave at the peak rate.
    pub fn tokens(&self, now: Time) -> Bytes {
        self.cmts.tokens(now)
    }

    /// Changes the aggregate's rates, which must be positive, from `now` on; `None` keeps the present rate. An
    /// unlimited peak rate stays unlimited.
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
