//! The summary: single values in nested JSON objects.
//!
//! Links are in `links.rs`, applications in `apps.rs`, the delay added under load and its grade in `graded.rs`.

use super::account::Account;
use super::statistics::{DELAYS, delays, object, put};
use crate::Histogram;
use packet::{Kind, measures};
use serde_json::{Map, Value};
use units::Duration;

/// The live bench's report on a run, including whether the numbers of the run may be used.
#[derive(Clone, Copy, Debug)]
pub struct Verdict<'a> {
    /// True if the numbers of the run may be used.
    pub valid: bool,
    /// Lateness with which each packet left the bench.
    pub lateness: &'a Histogram,
    /// For each packet of a host, the longest time that it may have waited in a device before the bench read it, without
    /// the time to wake the packet thread.
    pub unread: &'a Histogram,
    /// Minimum round-trip propagation time between hosts that communicate.
    pub rtt: Duration,
    /// True if the packet thread ran under SCHED_FIFO.
    pub real_time: bool,
    /// True if the kernel accepted the request to let idle processors poll instead of halt.
    pub awake: bool,
    /// Number of packets discarded because they could not be parsed, were longer than the MTU, or were not from a host on
    /// one side to a host on the other side.
    pub foreign: u64,
    /// Number of packets that could not be written to the TUN device on the destination's side.
    pub unwritten: u64,
    /// Exit code of the command; `None` if there is no command, or if the run ended first.
    pub exit_code: Option<i32>,
}

measures! {
    /// Measures of every run.
    pub(super) const RUN = fn run(a: &Account<'_>) -> Value {
        "name": Kind::ONE, "name", "Name of the scenario." => a.name;
        "seed": Kind::ONE, "seed", "Seed of the run." => a.seed;
        "version": Kind::ONE, "version", "Version of the compiled simulator." => env!("CARGO_PKG_VERSION");
        "duration_s": Kind::S, "duration",
            "Simulated time." => seconds(a.duration);
        "warm_up_s": Kind::S, "warm up", "Time at the start that the summary leaves out." => seconds(a.warm_up);
        "events": Kind::ONE, "events", "Events handled by the simulator in the whole run." => a.events;
        "flow_gone_packets": Kind::PACKETS, "flow gone",
            "Packets that arrived at a host for a connection that no longer existed. The links count them as delivered."
            => a.tally.flow_gone;
        "fairness": Kind::scale("0 to 1").more().rank(22), "Jain's fairness",
            "Jain's index over the goodput of all flows that always have more to send (see Fairness and grade, below). \
             Null if there are fewer than two such flows, or if none of them has goodput." => a.fairness(&a.tally.apps);
    }
    /// Measures of a live run (docs/live.md).
    pub(super) const LIVE = fn live(v: &Verdict<'_>) -> Value {
        "valid": Kind::ONE, "live, valid", "True if the numbers of a live run may be used." => v.valid;
        "lateness_ms": Kind::MS, "live, lateness", "Lateness of every packet that left the bench.", DELAYS => object(delays(v.lateness));
        "unread_ms": Kind::MS, "live, unread",
            "Per packet, the longest time that it may have waited in a namespace's device before the bench read it: the time \
             since the device was last empty, without the time to wake the packet thread.", DELAYS => object(delays(v.unread));
        "rtt_ms": Kind::MS, "live, round trip",
            "Shortest round-trip propagation time between two hosts that exchange data." => v.rtt.millis();
        "real_time": Kind::ONE, "live, real time", "True if the packet thread ran under SCHED_FIFO." => v.real_time;
        "processors_awake": Kind::ONE, "live, processors awake", "True if processors were kept from going idle." => v.awake;
        "foreign_packets": Kind::PACKETS, "live, foreign",
            "Packets from a namespace that are not for a host on the other side (multicast, router solicitations)." => v.foreign;
        "unwritten_packets": Kind::PACKETS, "live, unwritten",
            "Packets that a namespace's device did not accept (the device is down)." => v.unwritten;
        "command_exit_code": Kind::ONE, "live, command exit code",
            "Exit code of the command; null if there is no command, or if the run ended first." => v.exit_code;
    }
}

/// Converts to seconds with a single rounding, so that 60 s gives exactly 60. A multiplication by 1e-9 could change the last digit.
fn seconds(d: Duration) -> f64 {
    d.0 as f64 / 1e9
}

impl Verdict<'_> {
    /// Returns the measures under `live` in the summary.
    pub fn summary(&self) -> Map<String, Value> {
        let mut of = Map::new();
        put(&mut of, live(self));
        of
    }
}

impl Account<'_> {
    pub(super) fn summary(&self) -> Value {
        let links: Value = self.links.iter().map(|link| (link.name.to_owned(), self.link_summary(link))).collect();
        let apps = self.tally.apps.iter().enumerate();
        let apps: Value = apps.map(|(i, app)| (app.name.clone(), self.app_summary(i))).collect();
        let mut v = Map::new();
        put(&mut v, run(self));
        put(&mut v, [("latency", self.grading.latency(self)), ("links", links), ("apps", apps)]);
        v.into()
    }
}
