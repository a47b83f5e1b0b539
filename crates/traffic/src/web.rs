//! A user who loads web pages.
//!
//! Source: doc 001 §3.2.3 and Appendix A; SPEC 4.3.
//!
//! ```text
//!   think --> GET html (server 1) --> 6 connections to each of 4 servers, one object at a time each --> think
//!                    page load time = |--------------- html requested ... last object's last byte ---------------|
//! ```
//!
//! A connection *slot* fetches the next object of its server as soon as its object is complete, in the same event, until
//! the server's objects are used up; so a server never has more than `connections_per_server` transfers at once. One object
//! is one GET of `request` bytes from the client, answered with the object's bytes as soon as the GET has arrived whole.
//!
//! *Closing*. With a connection for each object, the server closes right after writing its answer (its FIN follows the last
//! byte) and the client closes when it has everything, right after it has asked for what comes next. With `persistent`, each slot keeps its connection for the page (the
//! html's is the first slot of server 1) and both sides close all of them when the page is done.
//!
//! *Failing*. A connection that ends before its object is complete is retried a second later with the same object
//! (`on_failure = "retry"`), or given up: the object is missing, its slot is dead for this page and the server's other slots
//! take what is left. A page is reported when nothing of it is under way any more; with fewer objects than it should have,
//! it was not loaded. (ns-2 retries SYNs for ever, so there nothing fails.)
//!
//! Not stated in doc 001, hence parameters: the size of a GET, whether connections are kept, the order in which the 24
//! connections open, and whether a page load begins with the SYN or with the GET (20 ms apart for server 1).

use crate::conns::Conns;
use crate::{Application, ConnId, Host, OnFailure, RETRY_AFTER, Side};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::{Bytes, Duration, Problem, Rng, Time, math};

/// Most servers, most connections per server.
const MAX_SERVERS: u32 = 64;
/// Most objects of one page.
const MAX_OBJECTS: u32 = 100_000;

/// Size of the html file of Appendix A in bytes.
pub const LISTED_HTML: u64 = 102_400;

/// The 25 object sizes in bytes of each of the four servers.   Source: doc 001 Appendix A.
///
/// They sum to 121 151 + 60 683 + 276 266 + 156 302 = 614 402 (not the 614 400 that the text aims at; SPEC 6).
#[rustfmt::skip]
pub const LISTED: [[u32; 25]; 4] = [
    [
        2997, 3225, 7679, 22, 4742, 1763, 224, 401, 1299, 11, 1859, 533, 7432, 49238, 1685, 23627, 860, 79, 2591, 39,
        734, 8342, 459, 233, 1077,
    ],
    [
        5009, 1643, 1048, 510, 6679, 769, 961, 132, 457, 3175, 5744, 2548, 2527, 420, 235, 256, 175, 1961, 235,
        10030, 3098, 6201, 740, 901, 5229,
    ],
    [
        7105, 6683, 1017, 116, 190, 2424, 22, 828, 91289, 91, 797, 4892, 297, 1652, 547, 6169, 781, 276, 774, 147107,
        182, 249, 449, 51, 2278,
    ],
    [
        355, 3815, 9498, 645, 544, 2931, 12393, 85, 12229, 826, 28522, 1595, 41, 4019, 1062, 2457, 1144, 1127, 2662,
        8649, 51108, 2511, 186, 4380, 3518,
    ],
];

/// What a page consists of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Page {
    /// Objects of one size, the same number on each server (doc 001 §3.2.3).
    Uniform(Uniform),
    /// The sizes of Appendix A: html 102 400 B and 100 objects, 614 402 B in all, on four servers.
    Listed,
    /// Sizes drawn as Appendix A draws them.
    Lognormal(Lognormal),
}

impl Default for Page {
    fn default() -> Self {
        Self::Uniform(Uniform::default())
    }
}

/// A page of equal objects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Uniform {
    /// Size of the html file in bytes. Default 100KB.
    pub html: Bytes,
    /// Objects on each server. Default 25.
    pub per_server: u32,
    /// Size of an object in bytes. Default 25KB.
    pub size: Bytes,
}

impl Default for Uniform {
    fn default() -> Self {
        Self { html: Bytes(100_000), per_server: 25, size: Bytes(25_000) }
    }
}

/// A page of log-normal objects, scaled to a total.
///
/// x_i normal(`log10_mean`, `log10_sd`), k = `total` / sum 10^x_i, size_i = round(k 10^x_i), at least 1 byte (the document
/// does not say what to do with 0; an empty object could not be seen to arrive). Object i lives on server i modulo servers.
/// The draws come from the application's own random stream.   Source: doc 001 Appendix A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Lognormal {
    /// Size of the html file in bytes. Default 102400.
    pub html: Bytes,
    /// Objects on all servers together. Default 100.
    pub objects: u32,
    /// Mean of the decimal logarithm of the size in bytes, before scaling. Default 3.34.
    pub log10_mean: f64,
    /// Standard deviation of the decimal logarithm of the size. Default 0.84.
    pub log10_sd: f64,
    /// Bytes of all objects together; each page is scaled to it. Default 614400.
    pub total: Bytes,
    /// Draw new sizes for each page, or keep the first page's. Default `once` (the document lists one set).
    pub draw: Draw,
}

impl Default for Lognormal {
    fn default() -> Self {
        Self {
            html: Bytes(LISTED_HTML),
            objects: 100,
            log10_mean: 3.34,
            log10_sd: 0.84,
            total: Bytes(614_400),
            draw: Draw::Once,
        }
    }
}

/// When the sizes of a log-normal page are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    /// Once in a run, before the first page.
    #[default]
    Once,
    /// Before each page.
    EachPage,
}

/// In which order a page's connections open once the html is complete; all in the same moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OpenOrder {
    /// One to each server, then the second to each, and so on. A full queue that drops the last SYNs hurts all servers.
    #[default]
    Interleaved,
    /// All of server 1, then all of server 2, and so on. A full queue that drops the last SYNs hurts the last server.
    ByServer,
}

/// The moment from which a page load is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MeasureFrom {
    /// The user's click: the html's connection is opened.
    #[default]
    Open,
    /// The html's connection is established at the client, and the GET leaves.
    Connected,
}

/// What "until 25 objects have been retrieved from each server" counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quota {
    /// Objects asked for: each is asked for once, and the page waits for the slowest connection.
    #[default]
    Asked,
    /// Objects retrieved: a connection that is done asks again while its server's objects are not all there, so the others
    /// make up for one that is stuck in its handshake. What is under way when the page is complete finishes unwatched.
    Retrieved,
}

/// Web browsing: one user, one page at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebParams {
    /// What a page consists of: `{ uniform = {...} }` (default), `"listed"` or `{ lognormal = {...} }`.
    pub page: Page,
    /// Servers; the first has the html. The application's `to` names as many. Default 4.
    pub servers: u32,
    /// Connections to each server that fetch objects at the same time. Default 6.
    pub connections_per_server: u32,
    /// Size of a GET in bytes of payload. Not stated in doc 001; 200 to 250 fits its tables (SPEC 3.6). Default 250.
    pub request: Bytes,
    /// Time from a loaded page to the next GET. Default 5s.
    pub think: Duration,
    /// Pages to load; without it, until the end. Default none.
    pub pages: Option<u64>,
    /// Keep each connection for all objects of its slot in one page (true), or open one for each object (false, which fits
    /// doc 001: SPEC 3.6). Default false.
    pub persistent: bool,
    /// What ends the fetching from a server: `asked` (default) or `retrieved`.
    pub quota: Quota,
    /// Order in which the connections open: `interleaved` (default) or `by_server`.
    pub open_order: OpenOrder,
    /// Start of a page load: `open` (default) or `connected`.
    pub measure_from: MeasureFrom,
    /// What to do when a connection fails: `retry` (default) or `give_up`.
    pub on_failure: OnFailure,
}

impl Default for WebParams {
    fn default() -> Self {
        Self {
            page: Page::default(),
            servers: 4,
            connections_per_server: 6,
            request: Bytes(250),
            think: Duration::from_secs(5),
            pages: None,
            persistent: false,
            quota: Quota::default(),
            open_order: OpenOrder::default(),
            measure_from: MeasureFrom::default(),
            on_failure: OnFailure::default(),
        }
    }
}

impl WebParams {
    /// Refuses what cannot run.
    pub fn validate(&self) -> Result<(), Problem> {
        let range = |field: &str, v: u32, max: u32| match v {
            0 => Err(Problem::new(field, format!("0 is not valid; expected 1 to {max}"))),
            v if v > max => Err(Problem::new(field, format!("{v} is not valid; expected 1 to {max}"))),
            _ => Ok(()),
        };
        let some = |field: &str, v: Bytes| match v.0 {
            0 => Err(Problem::new(field, "0B is not valid; expected at least 1 byte")),
            _ => Ok(()),
        };
        range("servers", self.servers, MAX_SERVERS)?;
        range("connections_per_server", self.connections_per_server, 1024)?;
        some("request", self.request)?;
        if self.pages == Some(0) {
            return Err(Problem::new(
                "pages",
                "0 is not valid; expected at least 1, or no number to go on until the end",
            ));
        }
        match &self.page {
            Page::Uniform(u) => {
                some("page.uniform.html", u.html)?;
                some("page.uniform.size", u.size)?;
                if u64::from(u.per_server) * u64::from(self.servers) > u64::from(MAX_OBJECTS) {
                    let message = format!("{} is not valid; a page has at most {MAX_OBJECTS} objects", u.per_server);
                    return Err(Problem::new("page.uniform.per_server", message));
                }
            }
            Page::Listed => {
                if self.servers as usize != LISTED.len() {
                    let message =
                        format!("{} is not valid; the listed page lies on {} servers", self.servers, LISTED.len());
                    return Err(Problem::new("servers", message));
                }
            }
            Page::Lognormal(l) => {
                some("page.lognormal.html", l.html)?;
                some("page.lognormal.total", l.total)?;
                range("page.lognormal.objects", l.objects, MAX_OBJECTS)?;
                // 10^x must stay a finite number of bytes whatever is drawn: 40 sigma in either direction
                if !(l.log10_mean.is_finite() && l.log10_mean.abs() <= 100.0) {
                    let message = format!("{} is not valid; expected -100 to 100", l.log10_mean);
                    return Err(Problem::new("page.lognormal.log10_mean", message));
                }
                if !(0.0..=5.0).contains(&l.log10_sd) {
                    let message = format!("{} is not valid; expected 0 to 5", l.log10_sd);
                    return Err(Problem::new("page.lognormal.log10_sd", message));
                }
            }
        }
        Ok(())
    }

    /// The machine in its first state.
    pub fn build(&self) -> Web {
        let slots = (self.servers * self.connections_per_server) as usize;
        Web {
            params: self.clone(),
            html: match &self.page {
                Page::Uniform(u) => u.html.0,
                Page::Listed => LISTED_HTML,
                Page::Lognormal(l) => l.html.0,
            },
            objects: match &self.page {
                Page::Uniform(u) => vec![vec![u.size.0; u.per_server as usize]; self.servers as usize],
                Page::Listed => LISTED.iter().map(|s| s.iter().map(|&b| u64::from(b)).collect()).collect(),
                // drawn when the first page starts: only then is there a random stream
                Page::Lognormal(_) => Vec::new(),
            },
            next: vec![0; self.servers as usize],
            done: vec![0; self.servers as usize],
            strays: BTreeMap::new(),
            slots: vec![Slot::default(); slots],
            conns: Conns::default(),
            phase: Phase::Think,
            started: Time::ZERO,
            active: 0,
            loaded: 0,
            bytes: 0,
            pages: 0,
        }
    }
}

impl Lognormal {
    /// One page's sizes by server.
    fn draw(&self, servers: usize, rng: &mut Rng) -> Vec<Vec<u64>> {
        let raw: Vec<f64> =
            (0..self.objects).map(|_| math::pow(10.0, math::normal(rng, self.log10_mean, self.log10_sd))).collect();
        let k = self.total.0 as f64 / raw.iter().sum::<f64>();
        let mut sizes = vec![Vec::new(); servers];
        for (i, x) in raw.iter().enumerate() {
            sizes[i % servers].push(((k * x + 0.5) as u64).max(1));
        }
        sizes
    }
}

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
    /// Objects of a whole page, html not counted: what `Host::page_loaded` reports for a page that was loaded.
    pub fn objects_per_page(&self) -> u32 {
        match &self.params.page {
            Page::Uniform(u) => u.per_server * self.params.servers,
            Page::Listed => 100,
            Page::Lognormal(l) => l.objects,
        }
    }

    /// Pages reported so far.
    pub fn pages_done(&self) -> u64 {
        self.pages
    }

    fn server(&self, slot: usize) -> usize {
        slot / self.params.connections_per_server as usize
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
        self.fetch(0, self.html, host);
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
            host.timer(host.now() + self.params.think, PAGE);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    const MS: u64 = 1_000_000;
    const S: u64 = 1000 * MS;
    /// Round trips of doc 001 §3.2.3.
    const RTT: [u64; 4] = [20 * MS, 30 * MS, 50 * MS, 100 * MS];

    fn run(params: WebParams, fake: &mut Fake, until: u64) -> Web {
        params.validate().unwrap();
        let mut app = params.build();
        fake.run(&mut app, Time(until));
        app
    }

    /// The greatest number of connections to `peer` that were not yet closed by both sides.
    fn most_at_once(fake: &Fake, peer: usize) -> i32 {
        let mut steps: Vec<(Time, i32)> = Vec::new();
        for o in fake.opened.iter().filter(|o| o.peer == peer) {
            steps.push((o.at, 1));
            if let Some(end) = o.closed {
                steps.push((end, -1));
            }
        }
        // a slot closes and opens in one event: closings first
        steps.sort_unstable();
        steps
            .iter()
            .scan(0, |n, s| {
                Some({
                    *n += s.1;
                    *n
                })
            })
            .max()
            .unwrap()
    }

    #[test]
    fn the_page_of_document_001() {
        let mut fake = Fake::new(&RTT);
        fake.piece = 1460;
        run(WebParams::default(), &mut fake, 600 * S);
        // In the fake network an object takes two round trips. html: 40 ms; server 4: ceil(25/6) = 5 rounds of 200 ms.
        let plt = 1040 * MS;
        // a page every 6.04 s: the last that is complete before 600 s starts at 99 * 6.04 = 597.96 s
        assert_eq!(fake.pages.len(), 100);
        for (i, &(start, end, objects, bytes)) in fake.pages.iter().enumerate() {
            assert_eq!((start.0, end.0 - start.0), (i as u64 * (plt + 5 * S), plt));
            // 100 objects of 25 kB and 100 kB of html
            assert_eq!((objects, bytes), (100, 2_600_000));
        }
        assert_eq!(fake.opened.len(), 101 * 100);
        for peer in 0..4 {
            assert_eq!(most_at_once(&fake, peer), 6);
        }
        // 101 GETs of 250 B a page
        let up: u64 = fake.writes.iter().filter(|w| w.side == Side::Client).map(|w| w.bytes).sum();
        assert_eq!(up, 101 * 250 * 100);
        assert_eq!(fake.open_now(), 0);
    }

    #[test]
    fn the_order_of_opening() {
        for (order, first) in [(OpenOrder::Interleaved, [0, 1, 2, 3, 0, 1]), (OpenOrder::ByServer, [0, 0, 0, 0, 0, 0])]
        {
            let mut fake = Fake::new(&RTT);
            run(WebParams { open_order: order, pages: Some(1), ..Default::default() }, &mut fake, 100 * S);
            let peers: Vec<usize> = fake.opened[1..7].iter().map(|o| o.peer).collect();
            assert_eq!(peers, first);
            // html, then 24 at the moment it is complete
            assert!(fake.opened[1..25].iter().all(|o| o.at == Time(40 * MS)));
            assert!(fake.opened[25].at > Time(40 * MS));
        }
    }

    #[test]
    fn persistent_connections_save_the_handshakes() {
        let mut fake = Fake::new(&RTT);
        let params = WebParams { persistent: true, pages: Some(2), ..Default::default() };
        run(params, &mut fake, 100 * S);
        // html 40 ms; server 4: 200 ms for the first object of a slot, 100 ms for each of four more
        assert_eq!(fake.pages.iter().map(|p| (p.1.0 - p.0.0) / MS).collect::<Vec<_>>(), [640, 640]);
        assert_eq!((fake.opened.len(), fake.open_now()), (48, 0));
        assert!((0..4).all(|p| most_at_once(&fake, p) == 6));
    }

    #[test]
    fn a_page_load_may_be_measured_from_the_get() {
        let mut fake = Fake::new(&RTT);
        let params = WebParams { measure_from: MeasureFrom::Connected, pages: Some(1), ..Default::default() };
        run(params, &mut fake, 100 * S);
        assert_eq!(fake.pages[0].0, Time(20 * MS));
    }

    #[test]
    fn the_listed_page() {
        let sums: Vec<u32> = LISTED.iter().map(|s| s.iter().sum()).collect();
        assert_eq!(sums, [121_151, 60_683, 276_266, 156_302]);
        assert_eq!(sums.iter().sum::<u32>(), 614_402);
        assert_eq!(LISTED.iter().flatten().min(), Some(&11));
        assert_eq!(LISTED.iter().flatten().max(), Some(&147_107));
        let mut fake = Fake::new(&RTT);
        run(WebParams { page: Page::Listed, pages: Some(1), ..Default::default() }, &mut fake, 100 * S);
        assert_eq!((fake.pages[0].2, fake.pages[0].3), (100, 614_402 + 102_400));
        let e = WebParams { page: Page::Listed, servers: 3, ..Default::default() }.validate().unwrap_err();
        assert_eq!(e.path, "servers");
    }

    #[test]
    fn log_normal_pages_have_their_total_and_shape() {
        let page = |draw| Page::Lognormal(Lognormal { draw, ..Default::default() });
        for draw in [Draw::Once, Draw::EachPage] {
            let mut fake = Fake::new(&RTT);
            run(WebParams { page: page(draw), pages: Some(40), ..Default::default() }, &mut fake, 1000 * S);
            assert_eq!(fake.pages.len(), 40);
            // each of the 100 sizes is rounded to the byte: at most 50 B off (a few more where 0 became 1)
            assert!(fake.pages.iter().all(|p| p.2 == 100 && p.3.abs_diff(614_400 + 102_400) < 60));
            let sizes: Vec<u64> = fake
                .writes
                .iter()
                .filter(|w| w.side == Side::Server && w.bytes != LISTED_HTML)
                .map(|w| w.bytes)
                .collect();
            assert_eq!(sizes.len(), 4000);
            // scaling shifts the mean of the logarithm but keeps its deviation: 0.84, standard error 0.84/sqrt(2n)
            let n = if draw == Draw::Once { 100 } else { 4000 };
            let logs: Vec<f64> = sizes[..n].iter().map(|&s| math::log10(s as f64)).collect();
            let mean = logs.iter().sum::<f64>() / n as f64;
            let sd = (logs.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64).sqrt();
            assert!((sd - 0.84).abs() < 4.0 * 0.84 / (2.0 * n as f64).sqrt() + 0.02, "{sd}");
            // one set for all pages, or many
            let mut all = sizes;
            all.sort_unstable();
            all.dedup();
            assert!(if draw == Draw::Once { all.len() <= 100 } else { all.len() > 1000 });
        }
    }

    #[test]
    fn failed_connections_are_retried() {
        // the sixth object connection (to server 1) fails after 3 s: its object comes at 40 ms + 3 s + 1 s + 40 ms
        let mut fake = Fake::new(&RTT).failing(&[5], 3 * S);
        run(WebParams { pages: Some(1), ..Default::default() }, &mut fake, 100 * S);
        assert_eq!(fake.pages, [(Time(0), Time(4080 * MS), 100, 2_600_000)]);
    }

    #[test]
    fn given_up_objects_are_missing() {
        let params = WebParams { pages: Some(1), on_failure: OnFailure::GiveUp, ..Default::default() };
        let mut fake = Fake::new(&RTT).failing(&[5], 3 * S);
        run(params.clone(), &mut fake, 100 * S);
        assert_eq!(fake.pages, [(Time(0), Time(3040 * MS), 99, 2_575_000)]);
        // without its html a page has nothing; the next one follows
        let mut fake = Fake::new(&RTT).failing(&[0], 3 * S);
        run(WebParams { pages: Some(2), ..params.clone() }, &mut fake, 100 * S);
        assert_eq!(fake.pages, [(Time(0), Time(3 * S), 0, 0), (Time(8 * S), Time(9040 * MS), 100, 2_600_000)]);
        // all six connections to server 1 fail: 19 of its objects are never asked for
        let first: Vec<usize> = (0..6).map(|c| 1 + 4 * c).collect();
        let mut fake = Fake::new(&RTT).failing(&first, 3 * S);
        run(params, &mut fake, 100 * S);
        assert_eq!(fake.pages[0].2, 75);
    }

    #[test]
    fn small_pages() {
        let page = Page::Uniform(Uniform { html: Bytes(1), per_server: 0, size: Bytes(1) });
        let mut fake = Fake::new(&[20 * MS]);
        run(WebParams { page, servers: 1, pages: Some(3), think: Duration::ZERO, ..Default::default() }, &mut fake, S);
        assert_eq!(
            fake.pages.iter().map(|p| (p.0.0 / MS, p.1.0 / MS, p.2)).collect::<Vec<_>>(),
            [(0, 40, 0), (40, 80, 0), (80, 120, 0)]
        );
        // more connections than objects
        let page = Page::Uniform(Uniform { html: Bytes(1), per_server: 2, size: Bytes(1) });
        let mut fake = Fake::new(&[20 * MS]);
        run(WebParams { page, servers: 1, pages: Some(1), ..Default::default() }, &mut fake, S);
        assert_eq!((fake.opened.len(), fake.pages[0].2), (3, 2));
    }

    #[test]
    fn text_forms_and_refusals() {
        let p: WebParams = serde_json::from_str(r#"{"page": "listed", "request": 300, "think": "1s"}"#).unwrap();
        assert_eq!((p.page, p.request), (Page::Listed, Bytes(300)));
        let p: WebParams = serde_json::from_str(r#"{"page": {"lognormal": {"draw": "each_page"}}}"#).unwrap();
        assert_eq!(p.page, Page::Lognormal(Lognormal { draw: Draw::EachPage, ..Default::default() }));
        assert!(serde_json::from_str::<WebParams>(r#"{"sizes": 3}"#).is_err());
        let bad = |p: WebParams| p.validate().unwrap_err().path;
        assert_eq!(bad(WebParams { request: Bytes(0), ..Default::default() }), "request");
        let page = Page::Lognormal(Lognormal { log10_sd: f64::NAN, ..Default::default() });
        assert_eq!(bad(WebParams { page, ..Default::default() }), "page.lognormal.log10_sd");
        let page = Page::Uniform(Uniform { per_server: u32::MAX, ..Default::default() });
        assert_eq!(bad(WebParams { page, ..Default::default() }), "page.uniform.per_server");
    }
}
