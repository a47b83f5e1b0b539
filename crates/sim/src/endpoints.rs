//! Endpoints: transports that the program supplies, whose datagrams have real bytes.
//!
//! ```text
//!   program --send--> Bodies (bytes) + PacketMeta (size, ECN) --links--> Engine::wakes --take_wakes--> program
//!      |                                                                    ^
//!      +--wake_at--> timer of the application ------------------------------+
//! ```
//!
//! The program steps the world with [`World::run_to_wake`], and calls the endpoints' code between two steps. So this crate
//! contains no foreign code, and a world is still plain data. A datagram leaves at the current time, like the datagrams of any
//! application. In a run without endpoints, no code of this file runs.

use crate::conn::{Path, SlotUse};
use crate::engine::Engine;
use crate::wake::{InFlightBytes, Wake};
use crate::world::World;
use packet::{Ecn, Flags, FlowTuple, PacketMeta, Protocol};
use record::Sink;
use units::{Duration, Time};

impl<S: Sink> Engine<S> {
    /// Returns the flow from an endpoint to its peer. The flow is allocated when it is first used.
    fn endpoint_flow(&mut self, app: u16, peer: usize, ports: (u16, u16)) -> packet::FlowId {
        if let Some(flow) = self.apps[usize::from(app)].udp[peer] {
            return flow;
        }
        let flow = self.allocate(app, peer, 0, SlotUse::Udp);
        self.apps[usize::from(app)].udp[peer] = Some(flow);
        let tuple = self.net.flows.get(flow);
        self.net.flows.set(flow, FlowTuple { sport: ports.0, dport: ports.1, protocol: Protocol::UDP, ..tuple });
        flow
    }

    /// Receives an endpoint's datagram at its destination host, and queues it for the program. If a link has duplicated
    /// the datagram, the program receives both copies, but only the first counts as delivered.
    #[cold]
    pub(crate) fn deliver_bytes(&mut self, packet: &PacketMeta, row: u32, path: Path) {
        let now = self.net.now();
        let InFlightBytes { bytes, sent } = self.net.bodies.bytes(packet);
        let delay = now.since(sent);
        let arrivals = self.net.arrivals.as_mut();
        if !arrivals.is_some_and(|arrivals| arrivals.again(packet.flow, false, packet.seq)) {
            self.tally.datagram(row, 0, now, packet, delay);
            if packet.ecn() == Ecn::Ce {
                self.tally.marked(row, 0);
            }
            self.net.record_delivered(packet, delay);
        }
        // the paths of an application come in pairs, one pair for each server: first the forward path, then the reverse
        // path. The receiver is the second end, which uses the reverse path
        let end = &self.conns[packet.flow.slot()].ends[1];
        let peer = (end.path - self.apps[usize::from(path.app)].first_path) / 2;
        self.wakes.push(Wake::Datagram { app: path.app, peer, ecn: packet.ecn(), bytes });
    }
}

impl<S: Sink> World<S> {
    /// Returns the index of application `name`.
    pub fn app_index(&self, name: &str) -> Option<u16> {
        self.engine.tally.apps.iter().position(|app| app.name == name).map(|i| i as u16)
    }

    /// Processes events up to `last`, or up to the first event that wakes an endpoint. Processes no event if a wake is
    /// already pending. Returns false if no wake is pending at the end.
    ///
    /// Events after the end of the scenario are not processed.
    pub fn run_to_wake(&mut self, last: Time) -> bool {
        let last = last.min(self.last());
        while self.engine.wakes.is_empty() {
            if self.over || self.advance(last) == 0 {
                return false;
            }
        }
        true
    }

    /// Removes and returns the pending wakes (the reasons to call endpoints), in the order of the events that caused
    /// them.
    pub fn take_wakes(&mut self) -> Vec<Wake> {
        std::mem::take(&mut self.engine.wakes)
    }

    /// Wakes the endpoint of application `app` at the time `at`, or now if this time has passed. A wake cannot be
    /// cancelled. A wake at the application's stop time or later is dropped.
    pub fn wake_at(&mut self, app: u16, at: Time) {
        let at = at.max(self.now());
        self.engine.apps[usize::from(app)].timers.set(at, 0);
        self.engine.arm_app(app);
    }

    /// Sends a datagram now, from the endpoint of application `app` to the server at index `peer` of the application's
    /// `to` list. `size` is the datagram's size on the wire. `ports` are the UDP ports of the sender and the receiver;
    /// those of the first datagram to a server hold for all later ones.
    pub fn send_bytes(&mut self, app: u16, peer: usize, ports: (u16, u16), ecn: Ecn, size: u16, bytes: Vec<u8>) {
        let flow = self.engine.endpoint_flow(app, peer, ports);
        let path = self.engine.paths[usize::from(self.engine.conns[flow.slot()].ends[0].path)];
        let now = self.now();
        let state = &mut self.engine.tally.apps[usize::from(app)];
        let mut packet = PacketMeta {
            stamp: now,
            seq: state.datagrams,
            flow,
            body: self.engine.net.bodies.put_bytes(InFlightBytes { bytes, sent: now }),
            size,
            dst: path.peer,
            tos: path.dscp << 2 | ecn as u8,
            class: 0,
            flags: Flags::BYTES,
        };
        state.datagrams += 1;
        if self.engine.net.sink.packets() {
            self.engine.net.tags.put(&mut packet, None);
        }
        self.engine.net.send(path.at, packet);
    }

    /// Ends the run early, at the current time, and brings all counters and series up to date.
    pub fn stop(&mut self) {
        if !self.over {
            self.end = self.now() + Duration::from_nanos(1);
            if self.next_sample != Time::NEVER {
                self.next_sample = self.end; // the last bin is narrower
            }
            self.finish();
        }
    }

    /// Does nothing if a wake is pending. Otherwise processes the next event of the run or, if no event is left, ends
    /// the run and brings all counters and series up to date. Returns true if the run is over.
    pub fn finish_if_done(&mut self) -> bool {
        if !self.over && self.engine.wakes.is_empty() && self.advance(self.last()) == 0 {
            self.finish();
        }
        self.over
    }
}
