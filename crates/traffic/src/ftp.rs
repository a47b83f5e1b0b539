//! File transfers: endless, repeated, or bursty.
//!
//! Source: CableLabs 2012 §3.2.1 (one endless transfer; five sessions that repeat a moderately sized file; 18.75 MB,
//! then 16 s of silence), ARRIS 2013 (90 MB objects, 4 s apart, ten sessions).
//!
//! Each flow transfers its own files:
//!
//! ```text
//!   start + i*stagger --open, write--> sending --last byte in order at the receiver--> pause --> next file
//! ```
//!
//! A file *starts* when its connection is opened or, on a kept connection, when the file is written. It is *finished*
//! when its last byte has arrived in order at the receiver; then [`Host::file_done`] is called and the pause begins.
//! With `interval`, files start at fixed times instead, but never before the previous file is finished. With a new
//! connection for each file, the sender closes right after writing (its FIN follows the last byte), and the receiver
//! closes when it has received everything.
//!
//! With `length` (netperf's -l), a transfer without a size ends at the time `length` after the start of its flow. Both
//! ends then close. After that, the sender sends only retransmissions, its FIN and, with `rates`, the data that waits
//! unsent in the socket.
//!
//! With `rates`, the application limits a transfer without a size. Every [`TICK`], it writes whole blocks:
//!
//! ```text
//! no limit:  enough to keep 64 kB unsent in the socket
//! limit r:   r * t / 8 bytes in the time t since the limit took effect, but at most 64 kB unsent
//! ```

use crate::conns::Conns;
use crate::demand::times;
use crate::{Application, ConnId, Demand, Direction, Host, OnFailure, Params, RETRY_AFTER, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Problem, Time};
use units::{positive_or_none, require, within};

/// Maximum number of flows of one application. A run has no more than 2^20 flow slots (`FlowId::SLOTS`), and each open
/// flow occupies one of them.
const MAX_FLOWS: u32 = 1 << 20;
/// Interval at which an application with `rates` writes. It is so short that writing [`UNSENT`] bytes per interval
/// suffices for 500 Mbit/s.
const TICK: Duration = Duration::from_millis(1);
/// Maximum number of bytes that an application with `rates` keeps unsent in its socket. While the rate has no limit,
/// the application fills the socket with whole blocks up to this number, once per [`TICK`].
const UNSENT: u64 = 64_000;
/// Size of the blocks that an application with `rates` writes: the payload of a full segment in Linux.
const BLOCK: u64 = 1448;

/// A limit of the rate at which the application writes data. It applies until the next limit takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteRate {
    /// Time at which the limit takes effect, from the start of the flow.
    pub at: Duration,
    /// Rate of the payload from this time on. The rate 0 is a pause. Omitted: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
}

/// File transfers over TCP between the client and its first server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FtpParams {
    /// Number of parallel flows, each with its own files. Default 1.
    pub flows: u32,
    /// Direction of the files. Default `up`.
    pub direction: Direction,
    /// Size of a file in bytes of payload; omitted: one endless transfer.
    pub size: Option<Bytes>,
    /// Duration of a transfer without a `size`; omitted: until the end of the run. Cannot be combined with `size`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Duration>,
    /// Limits of the rate at which the application writes data, in chronological order. If this key is set, each flow
    /// writes at most 510 Mbit/s, even while no limit is in effect. Cannot be combined with `size`. Default none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<WriteRate>,
    /// Number of files per flow; omitted: until the end of the run. Needs `size`.
    pub count: Option<u64>,
    /// Pause between the end of a file and the start of the next file in the same flow. Needs `size`. Default 0s.
    pub pause: Duration,
    /// Largest additional pause before a file. For each file except the first, the additional pause is drawn uniformly
    /// from zero to this value. Needs `size`. Default 0s.
    pub pause_spread: Duration,
    /// Time from the start of a file to the start of the next file in the same flow. If a file takes longer, the next
    /// file starts as soon as that file is finished, and the planned start times of later files do not change. Needs
    /// `size`. Cannot be combined with `pause` or `pause_spread`. Default none.
    pub interval: Option<Duration>,
    /// If true, each file has a new connection. If false, all files of a flow share one connection, and TCP may reduce
    /// its window after a pause (`idle_restart` of the stack). Default true.
    pub new_connection: bool,
    /// Time from the start of one flow to the start of the next. Default 0s.
    pub stagger: Duration,
    /// Response to a connection that fails before its file has arrived: `retry`, or `give_up`, which ends the flow.
    /// Default `retry`.
    pub on_failure: OnFailure,
}

impl Default for FtpParams {
    fn default() -> Self {
        Self {
            flows: 1,
            direction: Direction::Up,
            size: None,
            length: None,
            rates: Vec::new(),
            count: None,
            pause: Duration::ZERO,
            pause_spread: Duration::ZERO,
            interval: None,
            new_connection: true,
            stagger: Duration::ZERO,
            on_failure: OnFailure::Retry,
        }
    }
}

impl FtpParams {
    /// Returns true if only the network limits the rate of a flow: the flow has no limit of its own, no last file, and no
    /// pauses between files.
    pub(crate) fn greedy(&self) -> bool {
        let silent = self.pause > Duration::ZERO || self.pause_spread > Duration::ZERO || self.interval.is_some();
        self.rates.is_empty() && self.count.is_none() && (self.size.is_none() || !silent)
    }
}

impl Params for FtpParams {
    type App = Ftp;

    fn validate(&self) -> Result<(), Problem> {
        within("flows", self.flows, 1, MAX_FLOWS)?;
        positive_or_none("size", self.size)?;
        positive_or_none("length", self.length)?;
        let both = self.length.is_some() && self.size.is_some();
        require(!both, "length", "excludes `size`: a file ends with its last byte")?;
        let both = !self.rates.is_empty() && self.size.is_some();
        require(!both, "rates", "excludes `size`: limits apply to a transfer without a size")?;
        let ordered = self.rates.is_sorted_by(|a, b| a.at < b.at);
        require(ordered, "rates", "expected times in ascending order, each once")?;
        positive_or_none("count", self.count)?;
        positive_or_none("interval", self.interval)?;
        let pauses = !(self.pause.is_zero() && self.pause_spread.is_zero());
        let both = self.interval.is_some() && pauses;
        require(!both, "interval", "excludes `pause` and `pause_spread`: set only one kind")?;
        for (field, set) in [
            ("count", self.count.is_some()),
            ("pause", !self.pause.is_zero()),
            ("pause_spread", !self.pause_spread.is_zero()),
            ("interval", self.interval.is_some()),
        ] {
            let valid = self.size.is_some() || !set;
            require(valid, field, "needs `size`: without it the first file never ends")?;
        }
        Ok(())
    }

    fn demand(&self, span: Duration, round: Duration) -> Demand {
        let flows = f64::from(self.flows);
        let Some(size) = self.size else {
            return Demand { direction: Some(self.direction), connections: flows, bytes: f64::INFINITY, pieces: flows };
        };
        let cycle = self.interval.unwrap_or(self.pause + round);
        let files = flows * times(span, cycle.max(round), self.count);
        Demand { direction: Some(self.direction), connections: flows, bytes: files * size.0 as f64, pieces: files }
    }

    fn build(&self) -> Ftp {
        Ftp {
            params: self.clone(),
            flows: vec![
                Flow {
                    conn: None,
                    busy: false,
                    started: Time::ZERO,
                    received: 0,
                    done: 0,
                    limit: Limit::default()
                };
                self.flows as usize
            ],
            conns: Conns::default(),
            start: Time::ZERO,
        }
    }

    fn rows(&self) -> usize {
        self.flows as usize
    }
}

/// The current limit on a flow with `rates`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Limit {
    /// Number of limits that have taken effect.
    place: usize,
    /// Time from which the current limit counts: the first [`TICK`] of this connection at which it was in effect.
    since: Time,
    /// Bytes written on this connection before `since`.
    before: u64,
    /// Bytes written on this connection.
    written: u64,
}

/// A flow, which has up to three timers. The timer that begins the next file may be pending while the flow is not
/// `busy`; its token is the flow's index. With n flows, the token of the timer that ends the flow after its `length` is
/// the index plus n, and the token of the timer for the next write (with `rates`) is the index plus 2n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flow {
    conn: Option<ConnId>,
    /// True if a file is being transferred.
    busy: bool,
    /// Start of the current file.
    started: Time,
    /// Bytes of the current file received so far.
    received: u64,
    /// Number of finished files.
    done: u64,
    limit: Limit,
}

/// The application with [`FtpParams`].
#[derive(Clone, Debug, PartialEq)]
pub struct Ftp {
    params: FtpParams,
    flows: Vec<Flow>,
    conns: Conns<usize>,
    start: Time,
}

impl Ftp {
    #[cfg(test)]
    pub(crate) fn files_done(&self) -> u64 {
        self.flows.iter().map(|f| f.done).sum()
    }

    fn end_of(&self, i: usize) -> Option<Time> {
        Some(self.begin_of(i) + self.params.length?)
    }

    fn begin_of(&self, i: usize) -> Time {
        self.start + self.params.stagger * i as u64
    }

    fn begin<H: Host>(&mut self, i: usize, host: &mut H) {
        if let Some(end) = self.end_of(i) {
            // the timer that reopens a failed connection may fire after the end of the flow, and must then do nothing
            if host.now() >= end {
                return;
            }
            if host.now() == self.begin_of(i) {
                host.timer(end, (self.flows.len() + i) as u64);
            }
        }
        let (sender, size) = (self.params.direction.sender(), self.params.size);
        let flow = &mut self.flows[i];
        let conn = match flow.conn {
            Some(conn) => conn,
            None => {
                let conn = host.open(0, i);
                self.conns.insert(conn, i);
                conn
            }
        };
        let (now, done) = (host.now(), flow.done);
        let limit = Limit { since: now, ..Limit::default() };
        *flow = Flow { conn: Some(conn), busy: true, started: now, received: 0, done, limit };
        if !self.params.rates.is_empty() {
            self.feed(i, host);
            return;
        }
        host.write(conn, sender, size.map_or(u64::MAX, |s| s.0));
        if self.params.new_connection && size.is_some() {
            host.close(conn, sender);
        }
    }

    /// Writes as much data on flow `i` as `rates` permits at this time, and sets the timer for the next write.
    fn feed<H: Host>(&mut self, i: usize, host: &mut H) {
        let (now, begin, sender) = (host.now(), self.begin_of(i), self.params.direction.sender());
        let rates = &self.params.rates;
        let flow = &mut self.flows[i];
        let Some(conn) = flow.conn else { return };
        let place = rates.partition_point(|r| begin + r.at <= now);
        let limit = &mut flow.limit;
        if limit.place != place {
            *limit = Limit { place, since: now, before: limit.written, ..*limit };
        }
        let rate = place.checked_sub(1).and_then(|p| rates[p].rate);
        let due =
            rate.map_or(u64::MAX, |r| r.bytes_in(now.since(limit.since)).saturating_sub(limit.written - limit.before));
        let mut blocks = due / BLOCK;
        if blocks > 0 {
            let room = host.write_offset(conn, sender, UNSENT).saturating_sub(limit.written);
            blocks = blocks.min(room / BLOCK);
        }
        if blocks > 0 {
            limit.written += blocks * BLOCK;
            host.write(conn, sender, blocks * BLOCK);
        }
        host.timer(now + TICK, (2 * self.flows.len() + i) as u64);
    }

    /// Ends flow `i` when its `length` has passed, and closes its connection in both directions.
    fn end<H: Host>(&mut self, i: usize, host: &mut H) {
        let flow = &mut self.flows[i];
        flow.busy = false;
        if let Some(conn) = flow.conn.take() {
            self.conns.remove(conn);
            host.close(conn, self.params.direction.sender());
            host.close(conn, self.params.direction.receiver());
        }
    }

    fn finished<H: Host>(&mut self, i: usize, conn: ConnId, size: u64, host: &mut H) {
        let flow = &mut self.flows[i];
        flow.busy = false;
        flow.done += 1;
        let last = self.params.count.is_some_and(|n| flow.done >= n);
        let started = flow.started;
        if self.params.new_connection || last {
            flow.conn = None;
            self.conns.remove(conn);
        }
        host.file_done(started, size);
        if last && !self.params.new_connection {
            host.close(conn, self.params.direction.sender());
        }
        if self.params.new_connection || last {
            host.close(conn, self.params.direction.receiver());
        }
        if !last {
            let next = self.next_file(i, host);
            // even without a pause, a timer starts the next file: the host fires no timer after the application's stop,
            // so no file starts after the stop
            host.timer(next, i as u64);
        }
    }

    /// Returns the start of the next file of flow `i`, after a file is finished.
    fn next_file<H: Host>(&self, i: usize, host: &mut H) -> Time {
        match self.params.interval {
            Some(interval) => (self.begin_of(i) + interval * self.flows[i].done).max(host.now()),
            None => {
                let extra = match self.params.pause_spread.0 {
                    0 => 0,
                    spread => host.rng().below(spread.saturating_add(1)),
                };
                host.now() + self.params.pause + Duration(extra)
            }
        }
    }
}

impl Application for Ftp {
    fn start<H: Host>(&mut self, host: &mut H) {
        self.start = host.now();
        for i in 0..self.flows.len() {
            if i == 0 || self.params.stagger.is_zero() {
                self.begin(i, host);
            } else {
                host.timer(self.begin_of(i), i as u64);
            }
        }
    }

    fn timer<H: Host>(&mut self, token: u64, host: &mut H) {
        let (kind, i) = (token as usize / self.flows.len(), token as usize % self.flows.len());
        match kind {
            0 => self.begin(i, host),
            1 => self.end(i, host),
            _ => self.feed(i, host),
        }
    }

    fn received<H: Host>(&mut self, conn: ConnId, role: Role, bytes: u64, host: &mut H) {
        let (Some(i), Some(size)) = (self.conns.get(conn), self.params.size) else { return };
        if role != self.params.direction.receiver() {
            return;
        }
        let flow = &mut self.flows[i];
        flow.received += bytes;
        debug_assert!(flow.received <= size.0, "more bytes arrived than were written");
        if flow.busy && flow.received >= size.0 {
            self.finished(i, conn, size.0, host);
        }
    }

    fn closed<H: Host>(&mut self, conn: ConnId, host: &mut H) {
        // a connection that has carried its last file, or whose flow has ended, has already been removed from `conns`
        let Some(i) = self.conns.remove(conn) else { return };
        let flow = &mut self.flows[i];
        flow.conn = None;
        // if the connection failed between two files, there is nothing to do: the timer that begins the next file is
        // pending, and a new connection then opens
        if flow.busy {
            flow.busy = false;
            if self.params.on_failure == OnFailure::Retry {
                host.timer(host.now() + RETRY_AFTER, i as u64);
            }
        }
    }

    fn counts(&self) -> bool {
        self.params.size.is_some()
    }
}

#[cfg(test)]
mod tests;
