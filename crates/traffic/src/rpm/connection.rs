//! One connection of the test: TCP, TLS, then one GET or a load that carries GETs.
//!
//! ```text
//!   client                              server
//!   SYN                 ------------->
//!                       <-------------  SYN-ACK                      tcp = until here, from the SYN
//!   ClientHello         ------------->
//!                       <-------------  ServerHello, certificates    tls = until here, from the ClientHello
//!   GET (or POST)       ------------->
//!                       <-------------  answer                       http = until here, from the GET
//! ```
//!
//! On a load-generating connection a transfer without end follows the GET (down) or the POST (up). A self probe's GET goes
//! over the same connection, as a stream of HTTP/2 between the load's: what takes the loaded direction (the answer of a
//! download, the GET of an upload) is written behind what the socket holds unsent, and has arrived when the stream has come
//! so far.
//!
//! Departs: TLS' Finished and the SETTINGS of HTTP/2 ride with the GET and cost no bytes. The bytes of a self probe in the
//! loaded direction are bytes of the load's stream.

use super::params::RpmParams;
use crate::{ConnId, Direction, Host, Side};
use std::collections::VecDeque;
use units::{Duration, Time};

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// A foreign probe.
    Probe,
    /// Load in this direction.
    Load(Direction),
}

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Tcp,
    ClientHello,
    ServerHello,
    Request,
    Response,
    Loading,
    Over,
}

/// What has been measured by an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Nothing.
    Nothing,
    /// The TCP handshake took so long.
    Tcp(Duration),
    /// TLS.
    Tls(Duration),
    /// The GET of a foreign probe, which is over.
    Http(Duration),
    /// The load begins.
    Begins,
    /// So many bytes of the load came.
    Load(u64),
}

/// One connection.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Connection {
    pub id: ConnId,
    pub usage: Use,
    stage: Stage,
    /// When the present step of the handshake or of the GET began.
    since: Time,
    /// Bytes of the present message that have yet to arrive.
    left: u64,
    /// After the load began, by receiving side: bytes that came, and where the last message ends.
    came: [u64; 2],
    ends: [u64; 2],
    /// Self probes that wait for a message to arrive at a side: where it ends, and when the probe began.
    waiting: [VecDeque<(u64, Time)>; 2],
}

/// The place of a side in an array.
fn at(side: Side) -> usize {
    usize::from(side == Side::Server)
}

impl Connection {
    pub(super) fn new(id: ConnId, usage: Use, now: Time) -> Self {
        let waiting = [VecDeque::new(), VecDeque::new()];
        Self { id, usage, stage: Stage::Tcp, since: now, left: 0, came: [0; 2], ends: [0; 2], waiting }
    }

    /// Whether it has done what it was for.
    pub(super) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// `side` sends a message that belongs to the handshake or to the GET.
    fn say<H: Host>(&mut self, stage: Stage, side: Side, bytes: u64, host: &mut H) {
        (self.stage, self.left) = (stage, bytes);
        host.write(self.id, side, bytes);
    }

    /// The client has its SYN-ACK.
    pub(super) fn connected<H: Host>(&mut self, p: &RpmParams, host: &mut H) -> Heard {
        let took = host.now().since(self.since);
        self.since = host.now();
        if p.tls {
            self.say(Stage::ClientHello, Side::Client, p.client_hello.0, host);
        } else {
            self.say(Stage::Request, Side::Client, p.request.0, host);
        }
        Heard::Tcp(took)
    }

    /// `bytes` came to `side`. Finished self probes go to `done`.
    pub(super) fn received<H: Host>(
        &mut self,
        side: Side,
        bytes: u64,
        p: &RpmParams,
        host: &mut H,
        done: &mut Vec<Duration>,
    ) -> Heard {
        if self.stage == Stage::Loading {
            return self.loading(side, bytes, p, host, done);
        }
        self.left = self.left.saturating_sub(bytes);
        if self.left > 0 {
            return Heard::Nothing;
        }
        let took = host.now().since(self.since);
        match (self.stage, self.usage) {
            (Stage::ClientHello, _) => self.say(Stage::ServerHello, Side::Server, p.server_hello.0, host),
            (Stage::ServerHello, _) => {
                self.since = host.now();
                self.say(Stage::Request, Side::Client, p.request.0, host);
                return Heard::Tls(took);
            }
            (Stage::Request, Use::Probe) => self.say(Stage::Response, Side::Server, p.response.0, host),
            (Stage::Request, Use::Load(way)) => {
                self.stage = Stage::Loading;
                // the socket has its limit before it is filled
                host.writes_land_at(self.id, way.sender(), p.notsent_lowat.0);
                host.write(self.id, way.sender(), u64::MAX);
                return Heard::Begins;
            }
            (Stage::Response, _) => {
                self.stage = Stage::Over;
                host.close(self.id, Side::Client);
                host.close(self.id, Side::Server);
                return Heard::Http(took);
            }
            (Stage::Tcp | Stage::Loading | Stage::Over, _) => {}
        }
        Heard::Nothing
    }

    /// A self probe begins.
    pub(super) fn probe<H: Host>(&mut self, p: &RpmParams, host: &mut H) {
        let now = host.now();
        self.message(Side::Client, p.request.0, now, p, host);
    }

    /// `side` sends a message of a self probe that began at `began`.
    fn message<H: Host>(&mut self, side: Side, bytes: u64, began: Time, p: &RpmParams, host: &mut H) {
        let Use::Load(way) = self.usage else { return };
        let to = at(side.other());
        let begins = if side == way.sender() {
            // the stream's offset there counts from the connection's first byte: see `base`
            let base = self.base(way, p);
            host.writes_land_at(self.id, side, p.notsent_lowat.0).saturating_sub(base).max(self.ends[to])
        } else {
            host.write(self.id, side, bytes);
            self.ends[to]
        };
        self.ends[to] = begins.saturating_add(bytes);
        self.waiting[to].push_back((self.ends[to], began));
    }

    /// What the sender of the load had sent before it.
    fn base(&self, way: Direction, p: &RpmParams) -> u64 {
        match way {
            Direction::Up => p.request.0 + if p.tls { p.client_hello.0 } else { 0 },
            Direction::Down if p.tls => p.server_hello.0,
            Direction::Down => 0,
        }
    }

    /// Bytes of the load, or of self probes against it, came to `side`.
    fn loading<H: Host>(
        &mut self,
        side: Side,
        bytes: u64,
        p: &RpmParams,
        host: &mut H,
        done: &mut Vec<Duration>,
    ) -> Heard {
        let here = at(side);
        self.came[here] += bytes;
        while let Some((end, began)) = self.waiting[here].front().copied()
            && end <= self.came[here]
        {
            self.waiting[here].pop_front();
            match side {
                Side::Server => self.message(Side::Server, p.response.0, began, p, host),
                Side::Client => done.push(host.now().since(began)),
            }
        }
        match self.usage {
            Use::Load(way) if way.receiver() == side => Heard::Load(bytes),
            _ => Heard::Nothing,
        }
    }
}
