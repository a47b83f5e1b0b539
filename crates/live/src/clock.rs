//! The wall clock: monotonic, in nanoseconds since the start of the run.

use rustix::thread::nanosleep;
use rustix::time::{ClockId, clock_gettime};
use units::{Duration, Time};

/// A clock that reads zero at the start of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start_ns: u64,
    /// Wall-clock time at the start, in ns since 1970, for captures.
    pub epoch_ns: u64,
}

#[allow(clippy::disallowed_methods, reason = "the one place where a clock is read")]
fn read(id: ClockId) -> u64 {
    let t = clock_gettime(id);
    // the monotonic and the real-time clock count from a moment in the past, so seconds and nanoseconds are never
    // negative
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start_ns: read(ClockId::Monotonic), epoch_ns: read(ClockId::Realtime) }
    }

    /// Returns the time since the start.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        Time(read(ClockId::Monotonic).saturating_sub(self.start_ns))
    }
}

/// Sleeps for 20 ms.
pub(crate) fn pause() {
    let span = rustix::time::Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    let _ = nanosleep(&span);
}

/// Converts a timeout to the type that `poll` expects, and limits it to 100 ms, so that a waiting thread soon responds
/// to a request to stop.
pub(crate) fn at_most_100ms(d: Duration) -> rustix::event::Timespec {
    rustix::event::Timespec { tv_sec: 0, tv_nsec: d.0.min(100_000_000) as _ }
}
