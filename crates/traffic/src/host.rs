//! The interface between an application and its host.

use packet::{Ecn, Measure, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Rng, Time};

/// Direction of a transfer, as seen from the application's `from`.
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
    pub(crate) const fn sender(self) -> Role {
        match self {
            Self::Up => Role::Client,
            Self::Down => Role::Server,
        }
    }
    pub(crate) const fn receiver(self) -> Role {
        self.sender().other()
    }
}

/// Action when a connection ends before its transfer is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// A new connection opens one second later. `ftp` and `web` start the transfer again from its first byte;
    /// `messages` continues with the next message.
    #[default]
    Retry,
    /// There is no retry. A flow of `ftp` ends, `web` finishes the page without the object, and `messages` sends no
    /// further messages.
    GiveUp,
}

/// Delay before a failed transfer is retried. The delay is above zero, so that time advances even if every connection fails at
/// once.
pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Number that the host gives to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u32);

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end that opened the connection (the application's `from`).
    Client,
    /// The end that accepted the connection (one of the application's `to`).
    Server,
}

impl Role {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// The services that a host offers to an application. The application uses the network, the clock and random numbers
/// only through this trait.
pub trait Host {
    /// Returns the current event's time.
    fn now(&self) -> Time;
    /// Returns the application's random stream.
    fn rng(&mut self) -> &mut Rng;
    /// Opens a TCP connection to server number `peer` (an index into the application's `to`). Connecting starts at once; data
    /// written before the connection is established waits. The connection's traffic is counted in row `row` of the
    /// application; `row` is less than `Params::rows`.
    fn open(&mut self, peer: usize, row: usize) -> ConnId;
    /// Appends `bytes` bytes to the stream that `role` sends. If `bytes` is `u64::MAX`, the stream is endless.
    fn write(&mut self, conn: ConnId, role: Role, bytes: u64);
    /// Returns the stream offset up to which `role` may write: the number of bytes sent plus `notsent_lowat`. With this
    /// limit, at most `notsent_lowat` bytes wait unsent in the socket. A host with kernel sockets also sets the socket
    /// option TCP_NOTSENT_LOWAT. For an endless stream, such a host returns the offset of the next byte that it will
    /// write, which may be lower.
    fn write_offset(&mut self, conn: ConnId, role: Role, notsent_lowat: u64) -> u64;
    /// Closes the sending direction of `role`: a FIN follows the written data or, in an endless stream, the data sent
    /// so far.
    fn close(&mut self, conn: ConnId, role: Role);
    /// Sends a datagram of `size` bytes on the wire between the client and the server with the number `peer`. `role` is
    /// the side that sends it. If the datagram arrives, the other side receives `number` in `datagram_received`.
    fn datagram(&mut self, peer: usize, role: Role, size: u16, number: u64);
    /// Returns the ECN field that the host sets in the datagrams it sends.
    fn datagram_ecn(&self) -> Ecn;
    /// Sets a timer: the host calls [`Application::timer`] with `token` at the time `at`, unless `at` is at the
    /// application's stop or later. `at` must not be in the past. Timers cannot be cancelled.
    fn timer(&mut self, at: Time, token: u64);
    /// Sets a timer that fires even at the application's stop or later. The application needs such timers to finish the
    /// work that it began before the stop.
    fn late_timer(&mut self, at: Time, token: u64);
    /// Reports that the web page requested at `started` needs no further transfers. If `objects` is less than the
    /// page's number of objects, the page is incomplete, because transfers were given up.
    fn page_loaded(&mut self, started: Time, objects: u32, bytes: u64);
    /// Reports that a file transfer is finished: all its `bytes` have arrived at the other side.
    fn file_done(&mut self, started: Time, bytes: u64);
    /// Reports a probe. If `rtt` is `None`, probe `number` (0, 1, 2, ...) is being sent now. Otherwise, probe `number`
    /// has been answered, and `rtt` is the time from its departure to the answer. A probe is answered at most once.
    fn probe(&mut self, number: u64, rtt: Option<Duration>);
    /// Returns the application's stop time, from which it starts nothing new. Timers due at this time or later are
    /// dropped, except late timers.
    fn stop(&self) -> Time;
    /// Makes the host call the program's own transport code ([`endpoint`](crate::endpoint)). The application calls this
    /// function when it has started, and when its timer has expired. Hosts without such code do nothing.
    fn wake(&mut self) {}
}

/// An application: a state machine driven by events.
pub trait Application {
    /// Starts the application.
    fn start<H: Host>(&mut self, host: &mut H);
    /// Handles a timer set by [`Host::timer`] or [`Host::late_timer`].
    fn timer<H: Host>(&mut self, token: u64, host: &mut H);
    /// Handles the completion of the handshake on the `role` side of `conn`.
    fn connected<H: Host>(&mut self, _conn: ConnId, _role: Role, _host: &mut H) {}
    /// Handles the arrival of `bytes` more bytes, in order, at the `role` side of the connection. The host calls this
    /// function only if [`Application::counts`] returns true.
    fn received<H: Host>(&mut self, _conn: ConnId, _role: Role, _bytes: u64, _host: &mut H) {}
    /// Handles the arrival of a datagram at the `role` side. The datagram carries the number from [`Host::datagram`],
    /// and `_ecn` is its ECN field on arrival. The host calls this function only if [`Application::counts`] returns
    /// true.
    fn datagram_received<H: Host>(&mut self, _role: Role, _number: u64, _ecn: Ecn, _host: &mut H) {}
    /// Handles the termination of `conn`: either both sides have closed the connection, or it has failed. The host may
    /// give the id to a new connection after this call.
    fn closed<H: Host>(&mut self, _conn: ConnId, _host: &mut H) {}
    /// Returns true if the host must call `received` and `datagram_received`. Applications that ignore these events,
    /// such as endless transfers, return false, so that the host does not call them for every packet.
    fn counts(&self) -> bool {
        true
    }
    /// Returns the end at which the application's rate controller runs, or `None` if the application has no rate
    /// controller. [`Application::read_controller`] reports the controller's state.
    fn controller(&self) -> Option<Role> {
        None
    }
    /// Writes the state of the application's rate controller to `out`.
    fn read_controller(&self, _out: &mut Reading<'_>) {}
    /// Lists that describe the values returned by `figures` and `words`. The summary contains either all the values of
    /// a list or none of them.
    const MEASURES: &'static [&'static [Measure]] = &[];
    /// Returns the application's own numbers for the summary, each with its key; NaN means no value. If a number has a
    /// unit, the key ends in the unit. `_stop` is the application's stop, as from [`Host::stop`].
    fn figures(&self, _now: Time, _stop: Time) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
    /// Returns the application's own text values for the summary, each with its key.
    fn words(&self) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }
    /// Returns the application's own series, as columns of equal length.
    fn columns(&self) -> Vec<(&'static str, Vec<f64>)> {
        Vec::new()
    }
}
