//! A user who loads web pages.
//!
//! Source: CableLabs 2012 §3.2.3 and Appendix A.
//!
//! ```text
//!   think --> GET html (one server) --> 6 connections to each of 4 servers, one object at a time each --> think
//!                    page load time = |--------------- html requested ... last object's last byte ---------------|
//! ```
//!
//! A connection *slot* fetches the next object of its server as soon as its object is complete, in the same event, until
//! the server's objects are used up; so a server never has more than `connections_per_server` transfers at once. One object
//! is one GET of `request` bytes from the client, answered with the object's bytes as soon as the GET has arrived whole.
//!
//! *Closing*. With a connection for each object, the server closes right after writing its answer (its FIN follows the last
//! byte) and the client closes when it has everything, right after it has asked for what comes next. With `persistent`, each
//! slot keeps its connection for the page (the html's is the first slot of its server) and both sides close all of them when
//! the page is done.
//!
//! *Failing*. A connection that ends before its object is complete is retried a second later with the same object
//! (`on_failure = "retry"`), or given up: the object is missing, its slot is dead for this page and the server's other slots
//! take what is left. A page is reported when nothing of it is under way any more; with fewer objects than it should have,
//! it was not loaded. (ns-2 retries SYNs for ever, so there nothing fails.)
//!
//! Not stated in CableLabs 2012, hence parameters: the size of a GET, whether connections are kept, the order in which the 24
//! connections open, and whether a page load begins with the SYN or with the GET (20 ms apart for server 1).

mod build;
mod params;
#[cfg(test)]
mod tests;

pub(crate) use params::{Draw, MeasureFrom, OpenOrder, Page, Quota, WebParams};

use crate::conns::Conns;
use crate::{Application, ConnId, Host, OnFailure, RETRY_AFTER, Side};
use std::collections::BTreeMap;
use units::{Duration, Time};

/// Where the page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No page is being loaded.
    Think,
    /// The html file is under way, in slot 0. `measured` once the start of the page load is known.
    Html { measured: bool },
    /// The objects are.
    Objects,
}

/// One of a server's connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slot {
    conn: Option<ConnId>,
    /// An object is under way, or waits for its retry.
    busy: bool,
    /// Size of the object.
    size: u64,
    /// Bytes of the GET that have arrived at the server.
    asked: u64,
    /// Bytes of the object that have arrived at the client.
    got: u64,
}

/// Token of the timer that starts a page; slot i's retry is `RETRY + i`.
const PAGE: u64 = 0;
const RETRY: u64 = 1;

/// The machine of [`WebParams`].
#[derive(Clone, Debug, PartialEq)]
pub struct Web {
    params: WebParams,
    html: u64,
    /// Object sizes by server.
    objects: Vec<Vec<u64>>,
    /// The next object of each server.
    next: Vec<usize>,
    /// Objects of each server that are complete.
    done: Vec<usize>,
    /// Connections that outlived their page.
    strays: BTreeMap<ConnId, Slot>,
    /// Slot c of server s is number s * connections_per_server + c.
    slots: Vec<Slot>,
    conns: Conns,
    phase: Phase,
    started: Time,
    /// Slots that are busy.
    active: usize,
    /// Objects of the page that are complete.
    loaded: u32,
    /// Bytes of the page that are complete, html included.
    bytes: u64,
    /// Pages done.
    pages: u64,
}

impl Web {
    /// Objects of a whole page: [`WebParams::objects_per_page`].
    #[cfg(test)]
    pub(crate) fn objects_per_page(&self) -> u32 {
        self.params.objects_per_page()
    }

    fn server(&self, slot: usize) -> usize {
        slot / self.params.connections_per_server as usize
    }

    /// The slot that fetches the html: its server's first.
    fn html_slot(&self) -> usize {
        (self.params.html_server - 1) as usize * self.params.connections_per_server as usize
    }

    fn begin_page<H: Host>(&mut self, host: &mut H) {
        if let Page::Lognormal(l) = &self.params.page
            && (self.objects.is_empty() || l.draw == Draw::EachPage)
        {
            self.objects = l.draw(self.params.servers as usize, host.rng());
        }
        self.next.fill(0);
        self.done.fill(0);
        (self.loaded, self.bytes, self.active) = (0, 0, 0);
        self.started = host.now();
        self.phase = Phase::Html { measured: self.params.measure_from == MeasureFrom::Open };
        self.fetch(self.html_slot(), self.html, host);
    }

    /// Gives `slot` an object to fetch.
    fn fetch<H: Host>(&mut self, slot: usize, size: u64, host: &mut H) {
        debug_assert!(!self.slots[slot].busy);
        self.active += 1;
        self.slots[slot].busy = true;
        self.slots[slot].size = size;
        self.get(slot, host);
    }

    /// Sends the GET of the slot's object.
    fn get<H: Host>(&mut self, slot: usize, host: &mut H) {
        let peer = self.server(slot);
        let s = &mut self.slots[slot];
        (s.asked, s.got) = (0, 0);
        let conn = match s.conn {
            Some(conn) => conn,
            None => {
                let conn = host.open(peer);
                s.conn = Some(conn);
                self.conns.insert(conn, slot);
                conn
            }
        };
        host.write(conn, Side::Client, self.params.request.0);
    }

    /// The next object of the slot's server, if there is one.
    fn fetch_next<H: Host>(&mut self, slot: usize, host: &mut H) {
        let server = self.server(slot);
        let objects = &self.objects[server];
        let turn = match self.params.quota {
            Quota::Asked => self.next[server],
            Quota::Retrieved if self.done[server] < objects.len() => self.next[server] % objects.len(),
            Quota::Retrieved => return,
        };
        if let Some(&size) = objects.get(turn) {
            self.next[server] += 1;
            self.fetch(slot, size, host);
        }
    }

    /// True when nothing more is needed for the page.
    fn page_complete(&self) -> bool {
        match self.params.quota {
            Quota::Asked => self.active == 0,
            Quota::Retrieved => {
                let whole = self.done.iter().zip(&self.objects).all(|(done, objects)| *done >= objects.len());
                self.active == 0 || self.phase == Phase::Objects && whole
            }
        }
    }

    /// What is still under way goes on without the page.
    fn let_stray(&mut self) {
        for slot in &mut self.slots {
            if slot.busy {
                if let Some(conn) = slot.conn.take() {
                    self.conns.remove(conn);
                    self.strays.insert(conn, *slot);
                }
                *slot = Slot::default();
            }
        }
        self.active = 0;
    }

    /// A connection without a page is answered, and closed when it has its object.
    fn stray_received<H: Host>(&mut self, conn: ConnId, side: Side, bytes: u64, host: &mut H) {
        let request = self.params.request.0;
        let Some(slot) = self.strays.get_mut(&conn) else { return };
        match side {
            Side::Server => {
                let before = slot.asked < request;
                slot.asked += bytes;
                if before && slot.asked >= request {
                    let size = slot.size;
                    host.write(conn, Side::Server, size);
                    host.close(conn, Side::Server);
                }
            }
            Side::Client => {
                slot.got += bytes;
                if slot.got >= slot.size {
                    self.strays.remove(&conn);
                    host.close(conn, Side::Client);
                    if self.params.persistent {
                        host.close(conn, Side::Server);
                    }
                }
            }
        }
    }

    fn complete<H: Host>(&mut self, slot: usize, host: &mut H) {
        let s = &mut self.slots[slot];
        s.busy = false;
        self.bytes += s.size;
        self.active -= 1;
        let finished = if self.params.persistent { None } else { s.conn.take() };
        if self.phase == Phase::Objects {
            let server = self.server(slot);
            self.done[server] += 1;
            if self.done[server] <= self.objects[server].len() {
                self.loaded += 1;
            }
            self.fetch_next(slot, host);
        } else {
            self.phase = Phase::Objects;
            let (servers, each) = (self.params.servers as usize, self.params.connections_per_server as usize);
            match self.params.open_order {
                OpenOrder::Interleaved => {
                    for c in 0..each {
                        for s in 0..servers {
                            self.fetch_next(s * each + c, host);
                        }
                    }
                }
                OpenOrder::ByServer => (0..servers * each).for_each(|i| self.fetch_next(i, host)),
            }
        }
        // what the page needs next leaves before the farewell to what it has
        if let Some(conn) = finished {
            self.conns.remove(conn);
            host.close(conn, Side::Client);
        }
        self.end_page_if_idle(host);
    }

    fn end_page_if_idle<H: Host>(&mut self, host: &mut H) {
        if !self.page_complete() {
            return;
        }
        self.let_stray();
        self.phase = Phase::Think;
        self.pages += 1;
        host.page_loaded(self.started, self.loaded, self.bytes);
        // only persistent connections are still open here
        for slot in &mut self.slots {
            if let Some(conn) = slot.conn.take() {
                self.conns.remove(conn);
                host.close(conn, Side::Client);
                host.close(conn, Side::Server);
            }
        }
        if self.params.pages.is_none_or(|n| self.pages < n) {
            let (think, spread) = (self.params.think, self.params.spread());
            let pause = match spread.0 {
                0 => think,
                most => Duration(think.0 - most + host.rng().below(2 * most + 1)),
            };
            host.timer(host.now() + pause, PAGE);
        }
    }
}

impl Application for Web {
    fn start<H: Host>(&mut self, host: &mut H) {
        self.begin_page(host);
    }

    fn timer<H: Host>(&mut self, token: u64, host: &mut H) {
        match token {
            PAGE => self.begin_page(host),
            // a page does not end while a retry is pending, so the slot still waits for it
            // (under the other quota it may have ended without the slot)
            retry => {
                let slot = (retry - RETRY) as usize;
                if self.slots[slot].busy && self.slots[slot].conn.is_none() {
                    self.get(slot, host);
                }
            }
        }
    }

    fn connected<H: Host>(&mut self, _: ConnId, side: Side, host: &mut H) {
        if side == Side::Client && self.phase == (Phase::Html { measured: false }) {
            self.started = host.now();
            self.phase = Phase::Html { measured: true };
        }
    }

    fn received<H: Host>(&mut self, conn: ConnId, side: Side, bytes: u64, host: &mut H) {
        let Some(slot) = self.conns.get(conn) else { return self.stray_received(conn, side, bytes, host) };
        let s = &mut self.slots[slot];
        if !s.busy {
            return;
        }
        match side {
            Side::Client => {
                s.got += bytes;
                debug_assert!(s.got <= s.size, "more bytes arrived than were written");
                if s.got >= s.size {
                    self.complete(slot, host);
                }
            }
            Side::Server => {
                let before = s.asked < self.params.request.0;
                s.asked += bytes;
                if before && s.asked >= self.params.request.0 {
                    host.write(conn, Side::Server, s.size);
                    if !self.params.persistent {
                        host.close(conn, Side::Server);
                    }
                }
            }
        }
    }

    fn closed<H: Host>(&mut self, conn: ConnId, host: &mut H) {
        self.strays.remove(&conn);
        // a connection whose object is complete was forgotten then
        let Some(slot) = self.conns.remove(conn) else { return };
        let s = &mut self.slots[slot];
        s.conn = None;
        if !s.busy {
            return;
        }
        match self.params.on_failure {
            OnFailure::Retry => host.timer(host.now() + RETRY_AFTER, RETRY + slot as u64),
            OnFailure::GiveUp => {
                s.busy = false;
                self.active -= 1;
                self.end_page_if_idle(host);
            }
        }
    }
}
