//! A user who loads web pages.
//!
//! Source: CableLabs 2012 §3.2.3 and Appendix A.
//!
//! ```text
//!   think --> GET html (one server) --> 6 connections to each of 4 servers, one object at a time each --> think
//!                    page load time = |--------------- html requested ... last object's last byte ---------------|
//! ```
//!
//! A connection *slot* fetches the objects of its server one after another. It requests the next object as soon as the
//! previous one is complete, in the same event, until all objects of the server have been requested (or, with `quota =
//! "retrieved"`, until as many have arrived). So a page never has more than `connections_per_server` transfers from a
//! server at once. An object is fetched by one GET of `request` bytes from the client; the server sends the object when
//! the whole GET has arrived.
//!
//! *Closing*. With a connection for each object, the server closes the connection right after writing the object (its
//! FIN follows the last byte). The client closes when it has received everything, right after sending its next request.
//! With `persistent`, each slot keeps its connection for the page (the html uses the first slot of its server), and
//! both sides close idle connections at the end of the page. If a transfer is still in progress then (`quota =
//! "retrieved"`), its connection closes when the object is complete.
//!
//! *Failing*. If a connection ends before its object is complete, the object is requested again a second later
//! (`on_failure = "retry"`), or given up. After giving up, the slot is unused for the rest of the page, and the
//! server's other slots fetch the remaining objects. A page is reported when it needs no further transfer; a page with
//! too few objects does not count as loaded. (ns-2 retries SYNs for ever, so no connection fails there.)
//!
//! Not stated in CableLabs 2012, and therefore parameters: the size of a GET, whether connections are kept, the order in which
//! the 24 connections open, and the start of a page load, at the SYN or at the GET (20 ms apart for server 1).

mod build;
mod params;
#[cfg(test)]
mod tests;

pub(crate) use params::{Draw, MeasureFrom, OpenOrder, Page, Quota, WebParams};

use crate::conns::Conns;
use crate::{Application, ConnId, Host, OnFailure, RETRY_AFTER, Role};
use units::{Duration, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No page is being loaded.
    Think,
    /// The html is being loaded over the first slot of its server. `measured` is true if the measured time of the page
    /// load has begun. With [`MeasureFrom::Connected`], the measured time begins when the connection is established.
    Html { measured: bool },
    /// The objects are being loaded.
    Objects,
}

/// One of the `connections_per_server` slots of a server. A slot has at most one open connection, and fetches one
/// object at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slot {
    conn: Option<ConnId>,
    /// True if an object is being loaded, or is waiting to be retried.
    busy: bool,
    /// Size of the object.
    size: u64,
    /// Bytes of the GET received by the server.
    request_received: u64,
    /// Bytes of the object received by the client.
    received: u64,
}

/// Token of the timer that starts a page. The token for the retry of slot i is `RETRY + i`.
const PAGE: u64 = 0;
const RETRY: u64 = 1;

/// The application with [`WebParams`].
#[derive(Clone, Debug, PartialEq)]
pub struct Web {
    params: WebParams,
    html: u64,
    /// Object sizes, by server.
    objects: Vec<Vec<u64>>,
    /// For each server, the index of the object that is requested next. With [`Quota::Retrieved`], this
    /// number keeps growing and is taken modulo the number of objects.
    next: Vec<usize>,
    /// For each server, the number of objects that have arrived. An object that arrives twice counts twice.
    done: Vec<usize>,
    /// Transfers still in progress when their page ended.
    detached: Conns<Slot>,
    /// The slots; slot c of server s is number s * connections_per_server + c.
    slots: Vec<Slot>,
    conns: Conns<usize>,
    phase: Phase,
    started: Time,
    /// Number of busy slots.
    active: usize,
    /// Number of the page's completed objects. For each server, it counts no more objects than the server has.
    loaded: u32,
    /// Total size in bytes of the page's html and objects that have arrived. An object that arrives twice counts twice.
    bytes: u64,
    /// Number of finished pages.
    pages: u64,
}

impl Web {
    #[cfg(test)]
    pub(crate) fn objects_per_page(&self) -> u32 {
        self.params.objects_per_page()
    }

    fn server(&self, slot: usize) -> usize {
        slot / self.params.connections_per_server as usize
    }

    /// Returns the slot that fetches the html, which is the first slot of its server.
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

    /// Starts to fetch an object in `slot`.
    fn fetch<H: Host>(&mut self, slot: usize, size: u64, host: &mut H) {
        debug_assert!(!self.slots[slot].busy);
        self.active += 1;
        self.slots[slot].busy = true;
        self.slots[slot].size = size;
        self.get(slot, host);
    }

    /// Sends the GET for the slot's object.
    fn get<H: Host>(&mut self, slot: usize, host: &mut H) {
        let peer = self.server(slot);
        let s = &mut self.slots[slot];
        (s.request_received, s.received) = (0, 0);
        let conn = match s.conn {
            Some(conn) => conn,
            None => {
                let conn = host.open(peer, 0);
                s.conn = Some(conn);
                self.conns.insert(conn, slot);
                conn
            }
        };
        host.write(conn, Role::Client, self.params.request.0);
    }

    /// Fetches the next object of the slot's server, if there is one.
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

    /// Returns true if the page needs no further transfers.
    fn page_complete(&self) -> bool {
        match self.params.quota {
            Quota::Asked => self.active == 0,
            Quota::Retrieved => {
                let whole = self.done.iter().zip(&self.objects).all(|(done, objects)| *done >= objects.len());
                self.active == 0 || self.phase == Phase::Objects && whole
            }
        }
    }

    /// Detaches the transfers that are still in progress, so that they no longer belong to the page.
    fn detach_transfers(&mut self) {
        for slot in &mut self.slots {
            if slot.busy {
                if let Some(conn) = slot.conn.take() {
                    self.conns.remove(conn);
                    self.detached.insert(conn, *slot);
                }
                *slot = Slot::default();
            }
        }
        self.active = 0;
    }

    /// Handles bytes on a detached connection, which closes when its object is complete.
    fn detached_received<H: Host>(&mut self, conn: ConnId, role: Role, bytes: u64, host: &mut H) {
        let request = self.params.request.0;
        let Some(slot) = self.detached.get_mut(conn) else { return };
        match role {
            Role::Server => {
                let before = slot.request_received < request;
                slot.request_received += bytes;
                if before && slot.request_received >= request {
                    let size = slot.size;
                    host.write(conn, Role::Server, size);
                    host.close(conn, Role::Server);
                }
            }
            Role::Client => {
                slot.received += bytes;
                if slot.received >= slot.size {
                    self.detached.remove(conn);
                    host.close(conn, Role::Client);
                    if self.params.persistent {
                        host.close(conn, Role::Server);
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
        // the client sends the page's next requests first, and only then closes the finished connection
        if let Some(conn) = finished {
            self.conns.remove(conn);
            host.close(conn, Role::Client);
        }
        self.end_page_if_idle(host);
    }

    fn end_page_if_idle<H: Host>(&mut self, host: &mut H) {
        if !self.page_complete() {
            return;
        }
        self.detach_transfers();
        self.phase = Phase::Think;
        self.pages += 1;
        host.page_loaded(self.started, self.loaded, self.bytes);
        // any connection that is still in a slot is persistent
        for slot in &mut self.slots {
            if let Some(conn) = slot.conn.take() {
                self.conns.remove(conn);
                host.close(conn, Role::Client);
                host.close(conn, Role::Server);
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
            // with the quota `asked`, a page does not end while a slot waits for its retry, so the slot still has an
            // object to request. With `retrieved`, the page may have ended since the timer was set. Then the slot is
            // idle, or already fetches for the next page
            retry => {
                let slot = (retry - RETRY) as usize;
                if self.slots[slot].busy && self.slots[slot].conn.is_none() {
                    self.get(slot, host);
                }
            }
        }
    }

    fn connected<H: Host>(&mut self, conn: ConnId, role: Role, host: &mut H) {
        // a connection detached from an earlier page may be established while this page still waits for its html
        // connection
        let html = self.slots[self.html_slot()].conn == Some(conn);
        if role == Role::Client && html && self.phase == (Phase::Html { measured: false }) {
            self.started = host.now();
            self.phase = Phase::Html { measured: true };
        }
    }

    fn received<H: Host>(&mut self, conn: ConnId, role: Role, bytes: u64, host: &mut H) {
        let Some(slot) = self.conns.get(conn) else { return self.detached_received(conn, role, bytes, host) };
        let s = &mut self.slots[slot];
        if !s.busy {
            return;
        }
        match role {
            Role::Client => {
                s.received += bytes;
                debug_assert!(s.received <= s.size, "more bytes arrived than were written");
                if s.received >= s.size {
                    self.complete(slot, host);
                }
            }
            Role::Server => {
                let before = s.request_received < self.params.request.0;
                s.request_received += bytes;
                if before && s.request_received >= self.params.request.0 {
                    host.write(conn, Role::Server, s.size);
                    if !self.params.persistent {
                        host.close(conn, Role::Server);
                    }
                }
            }
        }
    }

    fn closed<H: Host>(&mut self, conn: ConnId, host: &mut H) {
        self.detached.remove(conn);
        // the client removes a connection from `conns` before closing it, so a connection found here was not closed by
        // the client
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
