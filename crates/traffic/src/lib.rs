//! Applications as sans-I/O machines: what they open, write and count, told by events, without knowing a network.

use units::{Rng, Time};

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
    /// `side` has no more to send: FIN after what was written.
    fn close(&mut self, conn: ConnId, side: Side);
    /// Sends a UDP datagram of `size` bytes on the wire to server `peer`. `number` comes back in `datagram`.
    fn datagram(&mut self, peer: usize, size: u16, number: u64);
    /// Calls `timer(token)` at `at` (now or later). There is no cancelling: remember what a token meant.
    fn timer(&mut self, at: Time, token: u64);
    /// A web page finished loading (or the run's page was abandoned): start and end.
    fn page_loaded(&mut self, started: Time, objects: u32, bytes: u64);
    /// A file transfer finished: all `bytes` acknowledged by delivery to the other side.
    fn file_done(&mut self, started: Time, bytes: u64);
}

/// An application: a machine fed with events.
pub trait Application {
    /// The application's start time has come.
    fn start<H: Host>(&mut self, host: &mut H);
    /// A timer asked for by `Host::timer`.
    fn timer<H: Host>(&mut self, token: u64, host: &mut H);
    /// The handshake of `conn` is complete, seen at `side`.
    fn connected<H: Host>(&mut self, conn: ConnId, side: Side, host: &mut H);
    /// `bytes` more of the stream arrived in order at `side`. Not called for applications whose `counts_bytes` is false.
    fn received<H: Host>(&mut self, conn: ConnId, side: Side, bytes: u64, host: &mut H);
    /// Both directions of `conn` are finished, or it failed; the id may be reused after this call.
    fn closed<H: Host>(&mut self, conn: ConnId, host: &mut H);
    /// Whether `received` must be called; endless transfers say no, which keeps them off the packet path.
    fn counts_bytes(&self) -> bool {
        true
    }
}
