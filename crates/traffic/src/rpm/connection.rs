//! One connection of the test: TCP, TLS, then either a single GET, or a load with GETs in between.
//!
//! ```text
//!   client                              server
//!   SYN                 ------------->
//!                       <-------------  SYN-ACK                      tcp = from the SYN to here
//!   ClientHello         ------------->
//!                       <-------------  ServerHello, certificates    tls = from the ClientHello to here
//!   GET (or POST)       ------------->
//!                       <-------------  response                     http = from the GET to here
//! ```
//!
//! On a load-generating connection, an endless transfer follows the GET (down) or the POST (up). The GET of a self probe uses
//! the same connection, as another HTTP/2 stream. In the loaded direction, the probe's message (the response in a download, the
//! GET in an upload) is written after the unsent bytes of the socket. The message has arrived when all bytes up to its end have
//! been received.
//!
//! Departs: TLS's Finished and HTTP/2's SETTINGS are sent with the GET and have no bytes of their own. The bytes of a self probe
//! in the loaded direction are part of the load's stream.

use super::params::RpmParams;
use crate::{ConnId, Direction, Host, Role};
use std::collections::VecDeque;
use units::{Duration, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A foreign probe.
    Probe,
    /// Generates load in this direction.
    Load(Direction),
}

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

/// The result of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The event has none of the results below, for example because a message has arrived only in part.
    Incomplete,
    /// Duration of the TCP handshake.
    Tcp(Duration),
    /// Duration of the TLS handshake.
    Tls(Duration),
    /// Duration of the finished GET of a foreign probe.
    Http(Duration),
    /// The load has started.
    LoadBegan,
    /// Bytes of the load received.
    LoadReceived(u64),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Connection {
    pub id: ConnId,
    pub purpose: Purpose,
    stage: Stage,
    /// Start of the current TCP or TLS handshake, or of the GET if the handshakes are over.
    since: Time,
    /// Bytes of the current message that have not arrived yet.
    left: u64,
    /// Bytes that each side has received since the load began, indexed by [`Role`].
    received: [u64; 2],
    /// Position in the stream at which the newest self-probe message ends, counted in bytes from the start of the load.
    /// There is one stream per direction, indexed by the receiver's [`Role`].
    ends: [u64; 2],
    /// Self-probe messages that have not completely arrived yet, oldest first, indexed by the receiver's [`Role`]. Each
    /// entry holds the position at which the message ends (as in `ends`), and the time at which its probe began.
    waiting: [VecDeque<(u64, Time)>; 2],
}

impl Connection {
    pub(super) fn new(id: ConnId, purpose: Purpose, now: Time) -> Self {
        let waiting = [VecDeque::new(), VecDeque::new()];
        Self { id, purpose, stage: Stage::Tcp, since: now, left: 0, received: [0; 2], ends: [0; 2], waiting }
    }

    /// Returns true if this is the connection of a foreign probe and the response to its GET has arrived.
    pub(super) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Enters `stage`, in which `role` sends one message: its part of the TLS handshake, the GET or POST, or the
    /// response.
    fn send<H: Host>(&mut self, stage: Stage, role: Role, bytes: u64, host: &mut H) {
        (self.stage, self.left) = (stage, bytes);
        host.write(self.id, role, bytes);
    }

    /// Handles the SYN-ACK at the client.
    pub(super) fn connected<H: Host>(&mut self, p: &RpmParams, host: &mut H) -> Step {
        let took = host.now().since(self.since);
        self.since = host.now();
        if p.tls {
            self.send(Stage::ClientHello, Role::Client, p.client_hello.0, host);
        } else {
            self.send(Stage::Request, Role::Client, p.request.0, host);
        }
        Step::Tcp(took)
    }

    /// Handles the receipt of `bytes` bytes by `role`. Appends the durations of finished self probes to `done`.
    pub(super) fn received<H: Host>(
        &mut self,
        role: Role,
        bytes: u64,
        p: &RpmParams,
        host: &mut H,
        done: &mut Vec<Duration>,
    ) -> Step {
        if self.stage == Stage::Loading {
            return self.loading(role, bytes, p, host, done);
        }
        self.left = self.left.saturating_sub(bytes);
        if self.left > 0 {
            return Step::Incomplete;
        }
        let took = host.now().since(self.since);
        match (self.stage, self.purpose) {
            (Stage::ClientHello, _) => self.send(Stage::ServerHello, Role::Server, p.server_hello.0, host),
            (Stage::ServerHello, _) => {
                self.since = host.now();
                self.send(Stage::Request, Role::Client, p.request.0, host);
                return Step::Tls(took);
            }
            (Stage::Request, Purpose::Probe) => self.send(Stage::Response, Role::Server, p.response.0, host),
            (Stage::Request, Purpose::Load(way)) => {
                self.stage = Stage::Loading;
                // `write_offset` limits the unsent data of a kernel socket, so it must come before the write
                host.write_offset(self.id, way.sender(), p.notsent_lowat.0);
                host.write(self.id, way.sender(), u64::MAX);
                return Step::LoadBegan;
            }
            (Stage::Response, _) => {
                self.stage = Stage::Over;
                host.close(self.id, Role::Client);
                host.close(self.id, Role::Server);
                return Step::Http(took);
            }
            (Stage::Tcp | Stage::Loading | Stage::Over, _) => {}
        }
        Step::Incomplete
    }

    /// Starts a self probe.
    pub(super) fn probe<H: Host>(&mut self, p: &RpmParams, host: &mut H) {
        let now = host.now();
        self.message(Role::Client, p.request.0, now, p, host);
    }

    /// Sends a message from `role` for a self probe that began at `began`. In the loaded direction, the message is a
    /// part of the load, so nothing is written.
    fn message<H: Host>(&mut self, role: Role, bytes: u64, began: Time, p: &RpmParams, host: &mut H) {
        let Purpose::Load(way) = self.purpose else { return };
        let to = role.other() as usize;
        let begins = if role == way.sender() {
            // `write_offset` counts from the first byte of the connection, but the positions in this file count from the start
            // of the load
            let base = self.base(way, p);
            host.write_offset(self.id, role, p.notsent_lowat.0).saturating_sub(base).max(self.ends[to])
        } else {
            host.write(self.id, role, bytes);
            self.ends[to]
        };
        self.ends[to] = begins.saturating_add(bytes);
        self.waiting[to].push_back((self.ends[to], began));
    }

    /// Returns the number of bytes that the load's sender had sent when the load began.
    fn base(&self, way: Direction, p: &RpmParams) -> u64 {
        match way {
            Direction::Up => p.request.0 + if p.tls { p.client_hello.0 } else { 0 },
            Direction::Down if p.tls => p.server_hello.0,
            Direction::Down => 0,
        }
    }

    /// Handles bytes that `role` received after the load began. In the loaded direction, they belong to the load's
    /// stream; in the opposite direction, they belong to self probes.
    fn loading<H: Host>(
        &mut self,
        role: Role,
        bytes: u64,
        p: &RpmParams,
        host: &mut H,
        done: &mut Vec<Duration>,
    ) -> Step {
        let here = role as usize;
        self.received[here] += bytes;
        while let Some((end, began)) = self.waiting[here].front().copied()
            && end <= self.received[here]
        {
            self.waiting[here].pop_front();
            match role {
                Role::Server => self.message(Role::Server, p.response.0, began, p, host),
                Role::Client => done.push(host.now().since(began)),
            }
        }
        match self.purpose {
            Purpose::Load(way) if way.receiver() == role => Step::LoadReceived(bytes),
            _ => Step::Incomplete,
        }
    }
}
