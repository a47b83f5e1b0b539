//! The engine of a world: the network, the connections, and their counters.

use crate::conn::{AppEvent, Conn, ConnInfo, End, Path, RxCounts, SlotUse};
use crate::event::Target;
use crate::net::Net;
use crate::wake::Wake;
use measure::Tally;
use packet::{FlowId, NodeId, PacketMeta};
use record::{FlowOwner, Sink};
use std::collections::VecDeque;
use tcp::{Endpoint, Origin, TcpParams};
use traffic::Timers;
use units::{Rng, Time};

/// Maximum number of draining slots that are checked for a new connection.
const SLOTS_PER_LOOK: usize = 4;

/// The state that a host keeps for an application.
#[derive(Clone, Debug)]
pub(crate) struct AppState {
    pub rng: Rng,
    /// Seed for the controllers of the application's connections.
    pub controllers: u64,
    pub timers: Timers,
    /// Time of the application's earliest event in the event set.
    pub pending: Time,
    /// Index of the application's first path. Each server has two paths, forward and reverse.
    pub first_path: u16,
    /// Number of flows opened so far.
    pub opened: u32,
    /// The UDP flow to each server, `None` until it is first used.
    pub udp: Vec<Option<FlowId>>,
}

/// The network, the connections and their counters. Applications are stored outside the engine, because an application
/// may change the engine while it handles an event.
#[derive(Clone, Debug)]
pub(crate) struct Engine<S> {
    pub net: Net<S>,
    pub conns: Vec<Conn>,
    /// Paths, ordered by application and then by server. Each server has a forward path, followed by a reverse path.
    pub paths: Vec<Path>,
    /// Slots without a connection. No packet of their former connections is in the network.
    pub free_slots: Vec<u32>,
    /// Slots of ended connections that may still have packets in the network. Such a packet must find its own connection's
    /// addresses and application, so the slot is not used again before the packet is gone.
    pub draining_slots: VecDeque<u32>,
    pub stacks: Vec<TcpParams>,
    /// Header bytes of a plain data segment, by stack.
    pub headers: Vec<u16>,
    pub apps: Vec<AppState>,
    pub app_events: VecDeque<AppEvent>,
    /// ACKs that leave once the acknowledged data has been delivered to the applications (`tcp::Io::send_after_delivery`).
    pub deferred_acks: Vec<(NodeId, PacketMeta)>,
    pub tally: Tally,
    pub next_port: u16,
    /// Pending reasons for the program to call an endpoint.
    pub wakes: Vec<Wake>,
}

impl<S: Sink> Engine<S> {
    /// Schedules an application's earliest timer.
    pub(crate) fn arm_app(&mut self, i: u16) {
        let state = &mut self.apps[usize::from(i)];
        let at = state.timers.next();
        if at < state.pending {
            state.pending = at;
            self.net.events.push(at, Target::App(i));
        }
    }

    /// Allocates a slot for a connection or UDP flow of `app` to `server`, whose traffic is counted in row `row` of `app`.
    pub(crate) fn allocate(&mut self, app: u16, server: usize, row: usize, used: SlotUse) -> FlowId {
        let rows = &self.tally.apps[usize::from(app)];
        debug_assert!(row < rows.rows, "the application has no such row");
        let (flow_number, row) = (row as u32, (rows.first_row + row) as u32);
        let state = &mut self.apps[usize::from(app)];
        state.opened += 1;
        let first_path = state.first_path + 2 * server as u16;
        let (seed, number) = (state.controllers, state.opened);
        let info = ConnInfo { row, number: state.opened, closed: [false; 2] };
        let slot = self.free_slot();
        let generation = slot.map_or(0, |slot| self.conns[slot as usize].ends[0].flow.generation().wrapping_add(1));
        let slot = slot.unwrap_or(self.conns.len() as u32);
        let flow = FlowId::new(slot, generation & 0xfff);
        let name = &self.tally.apps[usize::from(app)].name;
        let end = |path: u16, back: u16| {
            let stack = |path: u16| &self.stacks[usize::from(self.paths[usize::from(path)].stack)];
            let mut tcp = Endpoint::new(stack(path), stack(back).first_window());
            let direction = if path == first_path { "forward" } else { "reverse" };
            tcp.introduce(&Origin {
                stream: &|| Rng::named(seed, &format!("{number}.{}", path - first_path)),
                name: &|| format!("app.{name}, connection {number} {direction}"),
            });
            End { timer: Time::NEVER, flow, path, used, rx: RxCounts::default(), tcp }
        };
        let ends = [end(first_path, first_path + 1), end(first_path + 1, first_path)];
        let conn = Conn { ends, info };
        match self.conns.get_mut(slot as usize) {
            Some(old) => *old = conn,
            None => self.conns.push(conn),
        }
        self.tally.rows[row as usize].latest = flow;
        self.net.flow_drops.resize(2 * self.conns.len(), 0);
        self.net.sent.resize(self.conns.len(), 0);
        self.net.sent[slot as usize] = 0;
        self.next_port = self.next_port.wrapping_add(1).max(1024);
        let path = &self.paths[usize::from(first_path)];
        let protocol = if used == SlotUse::Udp { packet::Protocol::UDP } else { packet::Protocol::TCP };
        let tuple = packet::FlowTuple {
            src: 0x0a00_0000 | u32::from(path.at.0),
            dst: 0x0a00_0000 | u32::from(path.peer.0),
            sport: self.next_port,
            dport: 1 + app,
            protocol,
            dscp: path.dscp,
        };
        self.net.flows.set(flow, tuple);
        let stacks =
            [first_path, first_path + 1].map(|path| &self.stacks[usize::from(self.paths[usize::from(path)].stack)]);
        if stacks.iter().any(|stack| stack.pacing.tso) {
            self.net.flows.set_frames(flow, stacks.map(TcpParams::frame));
        }
        if self.net.sink.probes() {
            self.net.sink.opened(flow, FlowOwner { app, flow: flow_number, connection: number });
        }
        flow
    }

    /// Returns a slot that a new connection can use, and removes it from its list.
    fn free_slot(&mut self) -> Option<u32> {
        if self.free_slots.is_empty() && !self.draining_slots.is_empty() {
            self.net.catch_up();
            // checking a few slots for each new connection is enough, because a connection adds at most one slot to the list
            for _ in 0..self.draining_slots.len().min(SLOTS_PER_LOOK) {
                let slot = self.draining_slots.pop_front()?;
                self.collect_drops(slot as usize, self.net.now());
                if self.has_drained(slot as usize) {
                    return Some(slot);
                }
                self.draining_slots.push_back(slot);
            }
        }
        self.free_slots.pop()
    }

    /// Returns true if the network holds no packet of the slot's current or last connection. The drops of this
    /// connection's packets must have been collected.
    fn has_drained(&self, slot: usize) -> bool {
        let received = self.conns[slot].ends.iter().map(|end| end.rx.packets).sum::<u64>();
        // the count of sent packets is modulo 2^32
        self.net.sent[slot] == received as u32
    }

    /// Adds the drops of a connection's packets to the connection's row of counters, including drops after the
    /// connection has ended (such as that of a repeated FIN). The series count the drops in the bin that contains
    /// `within`.
    pub(crate) fn collect_drops(&mut self, slot: usize, within: Time) {
        let row = self.conns[slot].info.row;
        for direction in 0..2 {
            let drops = std::mem::take(&mut self.net.flow_drops[2 * slot + direction]);
            if drops > 0 {
                self.net.sent[slot] = self.net.sent[slot].wrapping_sub(drops as u32);
                self.tally.dropped(row, direction, within, drops);
            }
        }
    }

    /// Marks both sides of `flow` as closed, as after a reset, because one side has given up.
    pub(crate) fn abort(&mut self, flow: FlowId) {
        let conn = &mut self.conns[flow.slot()];
        if conn.ends[0].flow == flow {
            conn.info.closed = [true; 2];
        }
    }

    /// Frees the slot of `flow` if both sides have finished; returns true if the slot was freed.
    pub(crate) fn release(&mut self, flow: FlowId) -> bool {
        let slot = flow.slot();
        let conn = &mut self.conns[slot];
        if conn.used() == SlotUse::Free || conn.ends[0].flow != flow || conn.info.closed != [true; 2] {
            return false;
        }
        for end in &mut conn.ends {
            // after an abort, an end may still be open; its timer must not send packets in the slot's next connection
            (end.used, end.timer) = (SlotUse::Free, Time::NEVER);
        }
        conn.retire(&mut self.tally);
        self.net.catch_up();
        self.collect_drops(slot, self.net.now());
        if self.has_drained(slot) {
            self.free_slots.push(slot as u32);
        } else {
            self.draining_slots.push_back(slot as u32);
        }
        true
    }

    /// Ends the warm-up just before the current time: excludes the counts so far from the results.
    pub(crate) fn begin(&mut self) {
        let now = self.net.now();
        self.net.begin(now);
        for slot in 0..self.conns.len() {
            self.collect_drops(slot, now);
        }
        self.tally.begin();
        for conn in self.conns.iter().filter(|c| c.used() != SlotUse::Free) {
            for (direction, end) in conn.ends.iter().enumerate() {
                let (rx, sender) = end.account();
                self.tally.under_way(conn.info.row, direction, rx, sender);
            }
        }
    }

    /// Samples the series at the end of a bin: queues, queueing delays, drops and the senders' states. All events before
    /// `now` must have been handled, but none at `now`.
    pub(crate) fn sample(&mut self, now: Time) {
        if !self.tally.has_series {
            return;
        }
        let last = Time(now.0 - 1);
        self.net.catch_up_accounts(last);
        self.net.sample_queue_delays(now);
        for slot in 0..self.conns.len() {
            self.collect_drops(slot, last);
        }
        let rows = &self.tally.rows;
        let open = || self.conns.iter().filter(|c| c.used() == SlotUse::Tcp);
        let has_series = |conn: &&Conn| rows[conn.info.row as usize].directions[0].series.is_some();
        // if several connections share a row, the one with the highest number is sampled. The choice must not depend on the order
        // of slots, which depends on other applications
        let mut latest = vec![0; rows.len()];
        for conn in open().filter(has_series) {
            let number = &mut latest[conn.info.row as usize];
            *number = conn.info.number.max(*number);
        }
        for conn in open().filter(|conn| latest[conn.info.row as usize] == conn.info.number) {
            for (direction, end) in conn.ends.iter().enumerate() {
                let stack = &self.stacks[usize::from(self.paths[usize::from(end.path)].stack)];
                self.tally.sample(conn.info.row, direction, now, end.sender_state(now, stack));
            }
        }
    }
}
