//! Echo requests, as sent by `ping`.
//!
//! Source: RFC 792 (echo and echo reply), RFC 2681 (round-trip delay).
//!
//! ```text
//!   request k leaves `from` at  start + k * interval;  the server answers at once with the same number of bytes
//!   RTT k = arrival of reply k - departure of request k
//! ```
//!
//! With `after_answer`, the next request leaves when the answer arrives, as in netperf's UDP_RR, which flent's RRUL
//! tests can use as their UDP probe. If there is no answer within `timeout`, the next request leaves after `timeout`.
//! An answer that arrives later still gives a sample, but does not trigger a request. It no longer counts once 65 536
//! later requests are unanswered. The probe rate falls as the round trip grows. So a percentile over samples gives too
//! little weight to times with long round trips.
//!
//! ```text
//!   request k + 1 leaves at the arrival of reply k, or `timeout` after request k
//! ```
//!
//! If a probe has no answer, the request or its reply was dropped, or is still in flight at the end. The number of
//! drops in the summary distinguishes these two cases. Queues do not recognise probes: they treat a probe like any
//! datagram of the same size and DSCP. For example, a buffer limited in bytes more often has room for a small probe
//! than for a full segment.
//!
//! On Ethernet, a packet of Linux's `ping` has 98 bytes: 56 of data, 8 of ICMP, 20 of IP, and 14 of Ethernet.

use crate::demand::times;
use crate::{Application, Demand, Host, Params, Role, cbr};
use packet::Ecn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::{Bytes, Duration, Problem, Time};
use units::{positive, positive_or_none, within};

/// Maximum number of unanswered requests whose departure times are kept.
const KEPT: usize = 65_536;

/// Echo requests, answered by the first server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PingParams {
    /// Time between requests. With `after_answer`, only the default of `start_spread` depends on it. Default 1s.
    pub interval: Duration,
    /// Size of a request, and of its reply, in bytes on the wire, including headers. Default 98.
    pub size: Bytes,
    /// Number of requests; omitted: until the end of the run.
    pub count: Option<u64>,
    /// If true, the next request leaves when the answer to the last request arrives. If false, one request leaves per
    /// `interval`. Default false.
    pub after_answer: bool,
    /// With `after_answer`: time after which the next request leaves even without an answer. Default 1s.
    pub timeout: Duration,
}

impl Default for PingParams {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(1),
            size: Bytes(98),
            count: None,
            after_answer: false,
            timeout: Duration::from_secs(1),
        }
    }
}

impl Params for PingParams {
    type App = Ping;

    fn validate(&self) -> Result<(), Problem> {
        positive("interval", self.interval)?;
        positive("timeout", self.timeout)?;
        within("size", self.size, Bytes(1), cbr::MAX_SIZE)?;
        positive_or_none("count", self.count)
    }

    fn demand(&self, span: Duration, round: Duration) -> Demand {
        // each cycle has a request and a reply
        let cycle = if self.after_answer { round.min(self.timeout) } else { self.interval };
        Demand::datagrams(2.0 * times(span, cycle, self.count))
    }

    fn start_spread(&self) -> Duration {
        self.interval
    }

    fn datagram_sizes(&self) -> Vec<(&'static str, Bytes)> {
        vec![("size", self.size)]
    }

    fn build(&self) -> Ping {
        Ping { params: self.clone(), start: Time::ZERO, next: 0, unanswered: BTreeMap::new() }
    }
}

/// The application with [`PingParams`].
#[derive(Clone, Debug, PartialEq)]
pub struct Ping {
    params: PingParams,
    start: Time,
    next: u64,
    /// With `after_answer`: departure times of the last [`KEPT`] requests without an answer. Otherwise empty, because request k
    /// leaves at start + k x interval.
    unanswered: BTreeMap<u64, Time>,
}

impl Ping {
    fn send<H: Host>(&mut self, host: &mut H) {
        host.probe(self.next, None);
        host.datagram(0, Role::Client, self.params.size.0 as u16, self.next);
        self.next += 1;
        if self.params.after_answer {
            self.unanswered.insert(self.next - 1, host.now());
            if self.unanswered.len() > KEPT {
                self.unanswered.pop_first();
            }
            // the token is the number of the next request. If the answer arrives before the timeout, the next request
            // is sent and increments `next`. When this timer then fires, its token differs from `next`, so nothing is
            // sent
            host.timer(host.now() + self.params.timeout, self.next);
        } else if self.params.count.is_none_or(|n| self.next < n) {
            host.timer(self.start + self.params.interval * self.next, 0);
        }
    }
}

impl Application for Ping {
    fn start<H: Host>(&mut self, host: &mut H) {
        self.start = host.now();
        self.send(host);
    }

    fn timer<H: Host>(&mut self, token: u64, host: &mut H) {
        if token == 0 || token == self.next && self.params.count.is_none_or(|n| self.next < n) {
            self.send(host);
        }
    }

    fn datagram_received<H: Host>(&mut self, role: Role, number: u64, _: Ecn, host: &mut H) {
        match role {
            Role::Server => host.datagram(0, Role::Server, self.params.size.0 as u16, number),
            Role::Client if self.params.after_answer => {
                if let Some(sent) = self.unanswered.remove(&number) {
                    host.probe(number, Some(host.now().since(sent)));
                }
                // only the answer to the newest request triggers the next request. It is due now, but a timer sends it:
                // the host drops timers that are due at the application's stop or later, so no request is sent after
                // the stop
                if number + 1 == self.next {
                    host.timer(host.now(), self.next);
                }
            }
            Role::Client => {
                let sent = self.start + self.params.interval * number;
                host.probe(number, Some(host.now().since(sent)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fake::Fake;

    const MS: u64 = 1_000_000;

    #[test]
    fn each_answered_probe_takes_one_round_trip() {
        // the fake network takes 25 ms each way. Datagrams 0 to 3 are requests 0 and 1 and their replies. Datagram 4 is request
        // 2, which is lost and has no reply. Datagrams 5 and 6 are request 3 and its reply, which is lost
        let mut fake = Fake::new(&[50 * MS]);
        fake.lost = [4, 6].into();
        let params = PingParams { interval: Duration::from_millis(100), count: Some(6), ..Default::default() };
        params.validate().unwrap();
        fake.run(&mut params.build(), Time(10_000 * MS));
        let answered: Vec<u64> = fake.probes.iter().filter(|p| p.1.is_some()).map(|p| p.0).collect();
        assert_eq!(answered, [0, 1, 4, 5]);
        assert!(fake.probes.iter().all(|p| p.1.is_none_or(|rtt| rtt == Duration::from_millis(50))));
        assert_eq!(fake.probes.iter().filter(|p| p.1.is_none()).count(), 6);
        let requests: Vec<u64> = fake.datagrams.iter().filter(|d| d.1 == Role::Client).map(|d| d.0.0 / MS).collect();
        assert_eq!(requests, [0, 100, 200, 300, 400, 500]);
        assert!(fake.datagrams.iter().all(|d| d.2 == 98));
    }

    #[test]
    fn replies_match_their_requests_in_a_round_trip_longer_than_the_interval() {
        let mut fake = Fake::new(&[1000 * MS]);
        let params = PingParams { interval: Duration::from_millis(300), count: Some(5), ..Default::default() };
        fake.run(&mut params.build(), Time(10_000 * MS));
        let rtts: Vec<_> = fake.probes.iter().filter_map(|p| p.1.map(|rtt| (p.0, rtt.0 / MS))).collect();
        assert_eq!(rtts, [(0, 1000), (1, 1000), (2, 1000), (3, 1000), (4, 1000)]);
    }

    #[test]
    fn the_next_request_waits_for_the_answer_or_its_timeout() {
        // the round trip takes 50 ms. Requests leave at 0, 50 and 100 ms. The third request (datagram 4) is lost, so the next
        // request leaves at 100 + 300 ms
        let mut fake = Fake::new(&[50 * MS]);
        fake.lost = [4].into();
        let params = PingParams {
            after_answer: true,
            timeout: Duration::from_millis(300),
            count: Some(5),
            ..Default::default()
        };
        fake.run(&mut params.build(), Time(10_000 * MS));
        let requests: Vec<u64> = fake.datagrams.iter().filter(|d| d.1 == Role::Client).map(|d| d.0.0 / MS).collect();
        assert_eq!(requests, [0, 50, 100, 400, 450]);
        let rtts: Vec<_> = fake.probes.iter().filter_map(|p| p.1.map(|rtt| (p.0, rtt.0 / MS))).collect();
        assert_eq!(rtts, [(0, 50), (1, 50), (3, 50), (4, 50)]);
    }

    #[test]
    fn an_answer_after_the_timeout_counts_for_its_own_request() {
        // requests leave at 0, 20, 40, 60 and 80 ms, because no answer arrives within the timeout. The answers to the first
        // three arrive at 50, 70 and 90 ms. By then, later requests have left, so no request follows. Request 3 is
        // lost. It is datagram 5, because requests 0 to 2 and the replies to requests 0 and 1 leave before it. The
        // answer to request 4 arrives at 130 ms
        let mut fake = Fake::new(&[50 * MS]);
        fake.lost = [5].into();
        let params =
            PingParams { after_answer: true, timeout: Duration::from_millis(20), count: Some(5), ..Default::default() };
        fake.run(&mut params.build(), Time(10_000 * MS));
        let requests: Vec<u64> = fake.datagrams.iter().filter(|d| d.1 == Role::Client).map(|d| d.0.0 / MS).collect();
        assert_eq!(requests, [0, 20, 40, 60, 80]);
        let rtts: Vec<_> = fake.probes.iter().filter_map(|p| p.1.map(|rtt| (p.0, rtt.0 / MS))).collect();
        assert_eq!(rtts, [(0, 50), (1, 50), (2, 50), (4, 50)]);
    }

    #[test]
    fn lost_requests_take_limited_memory() {
        // a request leaves every 1 ms, and all 70 000 are lost
        let mut fake = Fake::new(&[50 * MS]);
        fake.lost = (0..70_000).collect();
        let params = PingParams { after_answer: true, timeout: Duration::from_millis(1), ..Default::default() };
        let mut app = params.build();
        fake.run(&mut app, Time(70_000 * MS));
        assert_eq!((fake.datagrams.len(), app.unanswered.len()), (70_000, 65_536));
        assert_eq!(app.unanswered.first_key_value(), Some((&4464, &Time(4464 * MS))));
    }

    #[test]
    fn refusals_name_the_field() {
        let bad = |p: PingParams| p.validate().unwrap_err().path;
        assert_eq!(bad(PingParams { interval: Duration::ZERO, ..Default::default() }), "interval");
        assert_eq!(bad(PingParams { size: Bytes(70_000), ..Default::default() }), "size");
        assert_eq!(bad(PingParams { count: Some(0), ..Default::default() }), "count");
        assert_eq!(bad(PingParams { timeout: Duration::ZERO, ..Default::default() }), "timeout");
    }
}
