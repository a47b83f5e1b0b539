//! Calls foreign code (the methods of an endpoint), and enforces the limits of an endpoint.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use units::Time;

/// Maximum number of timeouts for an endpoint at one moment. A correct stack needs only a few timeouts to handle
/// all timers that are due.
pub const MOST_TIMEOUTS: u32 = 1000;
/// Maximum number of datagrams that an endpoint may send at one moment. If a datagram has 1200 bytes, this is a window
/// of about 80 MB.
pub const MOST_SENT: u32 = 65_536;
/// Maximum number of characters of a panic message in a [`Failure`].
const MOST_TEXT: usize = 200;

/// The misbehaviour of an endpoint that ended a run. `Display` prints it in one line, unless a [`Fault`] has several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Name of the endpoint's application.
    pub endpoint: String,
    /// Time at which the run ended.
    pub at: Time,
    /// Name of the method that misbehaved.
    pub method: &'static str,
    /// What the endpoint did, as a phrase that begins with a verb.
    pub action: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "endpoint \"{}\" at {:.9} s: {}", self.endpoint, self.at.secs(), self.action)
    }
}

impl std::error::Error for Failure {}

/// A panic payload with which an endpoint reports its own failure. The endpoint passes a `Fault` to
/// `std::panic::resume_unwind`. The text of the `Fault` becomes [`Failure::action`]. Adapters for other languages use
/// this type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(pub String);

/// The misbehaviour of an endpoint during a call.
#[derive(Debug)]
pub(crate) struct Misbehaviour {
    pub(crate) method: &'static str,
    pub(crate) action: String,
}

impl Misbehaviour {
    pub(crate) fn new(method: &'static str, action: impl Into<String>) -> Self {
        Self { method, action: action.into() }
    }
}

/// Counts of one endpoint's timeouts and datagrams at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moment {
    now: Time,
    timeouts: u32,
    sent: u32,
}

impl Moment {
    /// Restarts the counts if time has advanced.
    fn at(&mut self, now: Time) -> &mut Self {
        if self.now != now {
            *self = Self { now, ..Self::default() };
        }
        self
    }

    /// Counts a timeout.   Errors: the endpoint has had more than [`MOST_TIMEOUTS`] timeouts at the time `now`.
    pub(crate) fn timeout(&mut self, now: Time) -> Result<(), Misbehaviour> {
        self.at(now).timeouts += 1;
        if self.timeouts <= MOST_TIMEOUTS {
            return Ok(());
        }
        let action = format!("asked {MOST_TIMEOUTS} times in a row for a timeout that is not in the future");
        Err(Misbehaviour::new("next_timeout", action))
    }

    /// Counts a datagram.   Errors: the endpoint has sent more than [`MOST_SENT`] datagrams at the time `now`.
    pub(crate) fn sent(&mut self, now: Time) -> Result<(), Misbehaviour> {
        self.at(now).sent += 1;
        if self.sent <= MOST_SENT {
            return Ok(());
        }
        let action = format!("sent {MOST_SENT} datagrams at one moment, and there are more");
        Err(Misbehaviour::new("poll_transmit", action))
    }
}

/// Calls foreign code.   Errors: the code panics, or unwinds with a [`Fault`].
pub(crate) fn call<T>(method: &'static str, code: impl FnOnce() -> T) -> Result<T, Misbehaviour> {
    // a panic may leave the endpoint in a broken state, but after it only `fork` is called. A panic in `fork` does not
    // end the run, but `fork` cannot change the endpoint
    catch_unwind(AssertUnwindSafe(code)).map_err(|payload| {
        let action = match payload.downcast::<Fault>() {
            Ok(fault) => fault.0,
            Err(panic) => format!("panicked in {method}: {}", message(&*panic)),
        };
        Misbehaviour::new(method, action)
    })
}

/// Returns a panic's message as one line.
fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("without a message");
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MOST_TEXT).collect()
}
