//! The host of an application: carries out the application's requests.

use crate::conn::SlotUse;
use crate::engine::Engine;
use crate::wake::Wake;
use packet::{Ecn, Flags, FlowId, PacketMeta};
use record::Sink;
use tcp::micros;
use traffic::{ConnId, Host, Role};
use units::{Duration, Rng, Time};

/// The host of one application, built for a single call to the application.
pub(crate) struct AppHost<'a, S> {
    pub engine: &'a mut Engine<S>,
    pub app: u16,
}

impl<S: Sink> AppHost<'_, S> {
    /// Returns the slot of a connection, if the connection still exists.
    fn slot(&self, conn: ConnId) -> Option<usize> {
        let flow = FlowId(conn.0);
        let c = &self.engine.conns[flow.slot()];
        (c.used() == SlotUse::Tcp && c.ends[0].flow == flow).then(|| flow.slot())
    }
}

impl<S: Sink> Host for AppHost<'_, S> {
    fn now(&self) -> Time {
        self.engine.net.now()
    }

    fn rng(&mut self) -> &mut Rng {
        &mut self.engine.apps[usize::from(self.app)].rng
    }

    fn open(&mut self, peer: usize, row: usize) -> ConnId {
        let flow = self.engine.allocate(self.app, peer, row, SlotUse::Tcp);
        self.engine.with_end(flow.slot(), 0, |tcp, stack, now, wire| tcp.connect(stack, now, wire));
        self.engine.with_end(flow.slot(), 1, |tcp, stack, now, wire| tcp.listen(stack, now, wire));
        ConnId(flow.0)
    }

    fn write(&mut self, conn: ConnId, side: Role, bytes: u64) {
        if let Some(slot) = self.slot(conn) {
            self.engine.with_end(slot, side as usize, |tcp, stack, now, wire| tcp.write(stack, now, bytes, wire));
        }
    }

    fn write_offset(&mut self, conn: ConnId, side: Role, notsent_lowat: u64) -> u64 {
        let sent = self.slot(conn).map_or(0, |slot| self.engine.conns[slot].ends[side as usize].tcp.sent());
        sent.saturating_add(notsent_lowat)
    }

    fn close(&mut self, conn: ConnId, side: Role) {
        if let Some(slot) = self.slot(conn) {
            self.engine.with_end(slot, side as usize, |tcp, stack, now, wire| tcp.close(stack, now, wire));
        }
    }

    fn datagram(&mut self, peer: usize, side: Role, size: u16, number: u64) {
        let flow = match self.engine.apps[usize::from(self.app)].udp[peer] {
            Some(flow) => flow,
            None => {
                let flow = self.engine.allocate(self.app, peer, 0, SlotUse::Udp);
                self.engine.apps[usize::from(self.app)].udp[peer] = Some(flow);
                flow
            }
        };
        let path = self.engine.paths[usize::from(self.engine.conns[flow.slot()].ends[side as usize].path)];
        let now = self.engine.net.now();
        let mut packet = PacketMeta {
            stamp: now,
            seq: number,
            flow,
            body: micros(now),
            size,
            dst: path.peer,
            tos: path.dscp << 2 | path.datagram_ecn,
            class: 0,
            flags: Flags::INLINE.with(path.direction),
        };
        self.engine.tally.apps[usize::from(self.app)].datagrams += 1;
        if self.engine.net.sink.packets() {
            self.engine.net.tags.put(&mut packet, None);
        }
        self.engine.net.send(path.at, packet);
    }

    fn datagram_ecn(&self) -> Ecn {
        // all paths of an application have the same ECN field
        let path = self.engine.paths[usize::from(self.engine.apps[usize::from(self.app)].first_path)];
        Ecn::from_bits(path.datagram_ecn)
    }

    fn timer(&mut self, at: Time, token: u64) {
        let at = at.max(self.engine.net.now());
        self.engine.apps[usize::from(self.app)].timers.set(at, token);
        self.engine.arm_app(self.app);
    }

    fn late_timer(&mut self, at: Time, token: u64) {
        let at = at.max(self.engine.net.now());
        self.engine.apps[usize::from(self.app)].timers.set_late(at, token);
        self.engine.arm_app(self.app);
    }

    fn page_loaded(&mut self, started: Time, objects: u32, _bytes: u64) {
        let now = self.engine.net.now();
        self.engine.tally.page_loaded(usize::from(self.app), started, objects, now);
    }

    fn file_done(&mut self, started: Time, bytes: u64) {
        let now = self.engine.net.now();
        self.engine.tally.file_done(usize::from(self.app), started, bytes, now);
    }

    fn probe(&mut self, number: u64, rtt: Option<Duration>) {
        let now = self.engine.net.now();
        self.engine.tally.probe(usize::from(self.app), number, now, rtt);
    }

    fn stop(&self) -> Time {
        self.engine.apps[usize::from(self.app)].timers.stop()
    }

    fn wake(&mut self) {
        self.engine.wakes.push(Wake::Due { app: self.app });
    }
}
