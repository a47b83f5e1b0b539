//! What an application may ask of its host, and what it is told.

use packet::Measure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Rng, Time};

/// Which way a transfer goes, seen from the application's `from`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the client (`from`) to the server (`to`).
    #[default]
    Up,
    /// From the server (`to`) to the client (`from`).
    Down,
}

impl Direction {
    /// The end that sends the data.
    pub(crate) const fn sender(self) -> Side {
        match self {
            Self::Up => Side::Client,
            Self::Down => Side::Server,
        }
    }
    /// The end that receives the data.
    pub(crate) const fn receiver(self) -> Side {
        self.sender().other()
    }
}

/// What to do when a connection ends before its transfer is complete (the host gave up, or was told to).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The same transfer starts again from its first byte over a new connection, one second later.
    #[default]
    Retry,
    /// The transfer is given up and nothing takes its place.
    GiveUp,
}

/// How long a failed transfer waits before it is tried again; above zero, so that a host that refuses every connection at
/// once cannot hold time still.
pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A connection, as the host numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u32);

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that opened it (the application's `from`).
    Client,
    /// The end that answered (one of the application's `to`).
    Server,
}

impl Side {
    /// The opposite end.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// What an application may ask of its host. All effects of an application pass through here.
pub trait Host {
    /// The moment of the event that is being handled.
    fn now(&self) -> Time;
    /// The application's own random stream.
    fn rng(&mut self) -> &mut Rng;
    /// Opens a TCP connection to server number `peer` (index into the application's `to`). Connecting starts at once;
    /// what is written before it is established waits.
    fn open(&mut self, peer: usize) -> ConnId;
    /// Appends `bytes` to the stream that `side` sends; `u64::MAX` never ends.
    fn write(&mut self, conn: ConnId, side: Side, bytes: u64);
    /// Where a byte that `side` wrote now between those of a write without end would stand in its stream: behind all that
    /// has left, and behind `notsent_lowat` bytes (TCP_NOTSENT_LOWAT) that its socket holds unsent. From the first call on a
    /// socket of a kernel holds no more.
    fn writes_land_at(&mut self, conn: ConnId, side: Side, notsent_lowat: u64) -> u64;
    /// `side` has no more to send: FIN after what was written; after a write without end, FIN after what has left.
    fn close(&mut self, conn: ConnId, side: Side);
    /// `side` sends a datagram of `size` bytes on the wire, between the client and server `peer`. `number` comes back in
    /// `datagram_received` at the other side, if it arrives.
    fn datagram(&mut self, peer: usize, side: Side, size: u16, number: u64);
    /// Calls `timer(token)` at `at` (now or later). There is no cancelling: remember what a token meant.
    fn timer(&mut self, at: Time, token: u64);
    /// Nothing of a web page that was asked for at `started` is under way any more. With fewer `objects` than the page
    /// has, it was abandoned, not loaded.
    fn page_loaded(&mut self, started: Time, objects: u32, bytes: u64);
    /// A file transfer finished: all `bytes` acknowledged by delivery to the other side.
    fn file_done(&mut self, started: Time, bytes: u64);
    /// Probe `number` (0, 1, 2, ...) leaves now; or, with `rtt`, it has been answered, once at most, so long after it left.
    fn probe(&mut self, number: u64, rtt: Option<Duration>);
}

/// An application: a machine fed with events.
pub trait Application {
    /// The application's start time has come.
    fn start<H: Host>(&mut self, host: &mut H);
    /// A timer asked for by `Host::timer`.
    fn timer<H: Host>(&mut self, token: u64, host: &mut H);
    /// The handshake of `conn` is complete, seen at `side`.
    fn connected<H: Host>(&mut self, _conn: ConnId, _side: Side, _host: &mut H) {}
    /// `bytes` more of the stream arrived in order at `side`. Called only if the application `counts`.
    fn received<H: Host>(&mut self, _conn: ConnId, _side: Side, _bytes: u64, _host: &mut H) {}
    /// A datagram arrived at `side`. Called only if the application `counts`.
    fn datagram_received<H: Host>(&mut self, _side: Side, _number: u64, _host: &mut H) {}
    /// Both directions of `conn` are finished, or it failed; the id may be reused after this call.
    fn closed<H: Host>(&mut self, _conn: ConnId, _host: &mut H) {}
    /// Whether `received` and `datagram_received` must be called; endless transfers say no, which keeps them off the packet
    /// path.
    fn counts(&self) -> bool {
        true
    }
    /// The declarations of what `figures` and `words` give, each list as a whole or not at all.
    const MEASURES: &'static [&'static [Measure]] = &[];
    /// What only the machine knows, for the summary: names that end in their unit, and numbers (NaN for none).
    fn figures(&self, _now: Time) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
    /// The same in words.
    fn words(&self) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }
    /// The same over time: columns of equal length.
    fn columns(&self) -> Vec<(&'static str, Vec<f64>)> {
        Vec::new()
    }
}
