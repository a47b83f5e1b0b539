//! Everything of a world but its applications: the network, and the tables of connections and of what they count.

use crate::conn::{Conn, End, Heard, Notice, Rest, Use, Way};
use crate::event::Target;
use crate::net::Net;
use measure::Tally;
use packet::FlowId;
use record::Sink;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use tcp::{Endpoint, TcpParams};
use units::{Rng, Time};

/// What the host keeps for an application.
pub(crate) struct AppDesk {
    pub rng: Rng,
    /// Seed of its connections' controllers.
    pub controllers: u64,
    /// Timers by (moment, order of asking): token.
    pub timers: BinaryHeap<Reverse<(Time, u64, u64)>>,
    pub asked: u64,
    /// The moment of its earliest event in the event set.
    pub pending: Time,
    /// The first of its ways: two for each server, there and back.
    pub first_way: u16,
    /// Objects of a whole page, if it loads pages.
    pub page_objects: u32,
    pub stop: Time,
    /// First of its rows of counters, how many it has, and which are in use.
    pub first_row: u32,
    pub rows_used: Vec<bool>,
    /// Flows opened so far.
    pub opened: u32,
    /// All rows before this one are in use.
    pub rows_full: usize,
    /// The UDP flow to each server, opened when first used.
    pub udp: Vec<Option<FlowId>>,
}

/// Everything but the applications' machines, so that a machine can act on the rest.
pub(crate) struct Core<S> {
    pub net: Net<S>,
    pub conns: Vec<Conn>,
    /// What flows have in common: by application and server, there and back.
    pub ways: Vec<Way>,
    pub free_slots: Vec<u32>,
    pub stacks: Vec<TcpParams>,
    /// Header bytes of a plain data segment, by stack.
    pub headers: Vec<u16>,
    pub desks: Vec<AppDesk>,
    pub notices: VecDeque<Notice>,
    pub tally: Tally,
    pub next_port: u16,
}

impl<S: Sink> Core<S> {
    /// Schedules an application's earliest timer.
    pub(crate) fn arm_app(&mut self, i: u16) {
        let desk = &mut self.desks[usize::from(i)];
        if let Some(&Reverse((at, ..))) = desk.timers.peek()
            && at < desk.pending
        {
            desk.pending = at;
            self.net.events.push(at, Target::App(i));
        }
    }

    /// A fresh slot for a connection or UDP flow of `app` to `server`.
    pub(crate) fn claim(&mut self, app: u16, server: usize, used: Use) -> FlowId {
        let desk = &mut self.desks[usize::from(app)];
        desk.opened += 1;
        let full = desk.rows_full;
        let free_row = desk.rows_used[full..].iter().position(|used| !used).map(|row| full + row);
        if let Some(row) = free_row {
            desk.rows_used[row] = true;
        }
        desk.rows_full = free_row.map_or(desk.rows_used.len(), |row| row + 1);
        // an application that opens more connections than it has rows shares its last one
        let row = desk.first_row + free_row.unwrap_or(desk.rows_used.len() - 1) as u32;
        let first_way = desk.first_way + 2 * server as u16;
        let (seed, number) = (desk.controllers, desk.opened);
        let rest = Rest { row, number: desk.opened, closed: false };
        let slot = self.free_slots.pop();
        let generation = match slot {
            Some(slot) => {
                self.net.catch_up();
                self.settle_fates(slot as usize);
                self.conns[slot as usize].ends[0].flow.generation().wrapping_add(1)
            }
            None => 0,
        };
        let slot = slot.unwrap_or(self.conns.len() as u32);
        let flow = FlowId::new(slot, generation & 0xfff);
        let end = |way: u16, back: u16| {
            let stack = |way: u16| &self.stacks[usize::from(self.ways[usize::from(way)].stack)];
            let mut tcp = Endpoint::new(stack(way), stack(back).receive_window.0);
            tcp.draw_from(&|| Rng::named(seed, &format!("{number}.{}", way - first_way)));
            End { timer: Time::NEVER, flow, way, used, heard: Heard::default(), tcp, rest }
        };
        let ends = [end(first_way, first_way + 1), end(first_way + 1, first_way)];
        match self.conns.get_mut(slot as usize) {
            Some(conn) => *conn = Conn::new(ends),
            None => self.conns.push(Conn::new(ends)),
        }
        self.tally.rows[row as usize].latest = flow;
        self.net.fated.resize(self.net.fated.len().max(2 * self.conns.len()), 0);
        self.next_port = self.next_port.wrapping_add(1).max(1024);
        let way = &self.ways[usize::from(first_way)];
        let protocol = if used == Use::Udp { packet::Protocol::Udp } else { packet::Protocol::Tcp };
        let tuple = packet::FlowTuple {
            src: 0x0a00_0000 | u32::from(way.at.0),
            dst: 0x0a00_0000 | u32::from(way.peer.0),
            sport: self.next_port,
            dport: 1 + app,
            protocol,
            dscp: way.dscp,
        };
        self.net.flows.set(flow, tuple);
        flow
    }

    /// Packets of a connection that met their fate after its end (a repeated FIN, say) still count as its own.
    pub(crate) fn settle_fates(&mut self, slot: usize) {
        let now = self.net.now();
        for (way, end) in self.conns[slot].ends.iter().enumerate() {
            let fated = std::mem::take(&mut self.net.fated[2 * slot + way]);
            if fated > 0 {
                self.tally.dropped(end.rest.row, way, now, fated);
            }
        }
    }

    /// One side of `flow` has given up: the other is cut off, too, as by a reset.
    pub(crate) fn give_up(&mut self, flow: FlowId) {
        let conn = &mut self.conns[flow.slot()];
        if conn.ends[0].flow == flow {
            for end in &mut conn.ends {
                end.rest.closed = true;
            }
        }
    }

    /// One side of `flow` has finished; true if both have, and the slot has been given back.
    pub(crate) fn release(&mut self, flow: FlowId) -> bool {
        let slot = flow.slot();
        let conn = &mut self.conns[slot];
        if conn.used() == Use::Free || conn.ends[0].flow != flow || !conn.ends.iter().all(|e| e.rest.closed) {
            return false;
        }
        conn.ends.iter_mut().for_each(|e| e.used = Use::Free);
        self.free_slots.push(slot as u32);
        let rest = conn.ends[0].rest;
        let app = self.ways[usize::from(conn.ends[0].way)].app;
        for (way, end) in conn.ends.iter().enumerate() {
            let (heard, sender) = end.account();
            self.tally.retire(rest.row, way, heard, sender);
        }
        self.net.catch_up();
        self.settle_fates(slot);
        let desk = &mut self.desks[usize::from(app)];
        let row = (rest.row - desk.first_row) as usize;
        desk.rows_used[row] = false;
        desk.rows_full = desk.rows_full.min(row);
        true
    }

    /// The warm-up is over just before this moment: what happened so far is left out of every sum.
    pub(crate) fn begin(&mut self) {
        self.net.begin(Time(self.net.now().0 - 1));
        for slot in 0..self.conns.len() {
            self.settle_fates(slot);
        }
        self.tally.begin();
        for conn in self.conns.iter().filter(|c| c.used() != Use::Free) {
            for (way, end) in conn.ends.iter().enumerate() {
                let (heard, sender) = end.account();
                self.tally.under_way(end.rest.row, way, heard, sender);
            }
        }
    }

    /// End of a bin: the senders' windows and the drops go into the series.
    pub(crate) fn sample(&mut self, now: Time) {
        if !self.tally.has_series {
            return;
        }
        self.net.catch_up();
        for slot in 0..self.conns.len() {
            self.settle_fates(slot);
        }
        for conn in self.conns.iter().filter(|c| c.used() == Use::Tcp) {
            // of connections that share a row the latest: which one has the last slot depends on other applications
            let first = &conn.ends[0];
            if self.tally.rows[first.rest.row as usize].latest != first.flow {
                continue;
            }
            for (way, end) in conn.ends.iter().enumerate() {
                let stack = &self.stacks[usize::from(self.ways[usize::from(end.way)].stack)];
                self.tally.sample(end.rest.row, way, now, end.window(stack));
            }
        }
    }
}
