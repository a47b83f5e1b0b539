//! Helpers for the tests: a simple transport stack, a scenario in which it runs, and functions that read results.

use net::{Datagram, Duration, Ecn, Endpoint, Network, Outcome, Time, Transmit};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// Returns a scenario with a bottleneck of 10 Mbit/s and a round trip of 20 ms. CUBIC shares the bottleneck with the
/// endpoints.
pub(crate) fn scenario(queue: &str) -> String {
    format!(
        "name = \"bottleneck\"\nduration = \"5s\"\nstart_spread = \"0s\"\n\
         [link.up]\nfrom = \"client\"\nto = \"server\"\nrate = \"10mbit\"\ndelay = \"10ms\"\nqueue = {queue}\n\
         [link.down]\nfrom = \"server\"\nto = \"client\"\nrate = \"10mbit\"\ndelay = \"10ms\"\n\
         [app.cubic]\nfrom = \"client\"\nto = [\"server\"]\ntcp = \"cubic\"\ntraffic = \"ftp\"\n"
    )
}

/// The datagrams that a stack has received: arrival time, ECN field and bytes.
pub(crate) type Log = Arc<Mutex<Vec<(Time, Ecn, Vec<u8>)>>>;

/// A stack that sends a numbered datagram of 1000 bytes every `interval`, and records what it receives.
pub(crate) struct Ticker {
    pub to: Option<SocketAddr>,
    pub interval: Duration,
    pub next: Time,
    pub sent: u64,
    pub log: Log,
}

impl Ticker {
    /// Returns a stack that sends to `to`, or only receives.
    pub(crate) fn new(to: Option<SocketAddr>) -> Self {
        Self { to, interval: Duration::from_millis(5), next: Time::ZERO, sent: 0, log: Log::default() }
    }
}

impl Endpoint for Ticker {
    fn handle(&mut self, now: Time, datagram: Datagram) {
        self.log.lock().unwrap().push((now, datagram.ecn, datagram.bytes));
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        let to = self.to.filter(|_| self.next <= now)?;
        self.next += self.interval;
        let mut bytes = vec![0xab; 1000];
        bytes[..8].copy_from_slice(&self.sent.to_be_bytes());
        self.sent += 1;
        Some(Transmit { to, ecn: Ecn::Ect0, bytes })
    }

    fn next_timeout(&mut self) -> Option<Time> {
        self.to.map(|_| self.next)
    }

    fn on_timeout(&mut self, _: Time) {}
}

/// Returns a network in which the client sends to the server, and the log of the server's stack.
pub(crate) fn ticking(queue: &str) -> (Network, Log) {
    let mut network = Network::from_toml(&scenario(queue)).unwrap();
    let receiver = Ticker::new(None);
    let log = receiver.log.clone();
    let to = network.add_endpoint("server", receiver).unwrap();
    network.add_endpoint("client", Ticker::new(Some(to))).unwrap();
    (network, log)
}

/// Returns the number under `key` in the summary of application `app`.
pub(crate) fn number(outcome: &Outcome, app: &str, key: &str) -> f64 {
    let value = &outcome.summary["apps"][app][key];
    value.as_f64().unwrap_or_else(|| panic!("no {key} of {app} in {}", outcome.summary["apps"]))
}

/// Returns the whole result as text, so that two results compare equal even if both have a missing value (NaN).
pub(crate) fn text(network: &Network) -> String {
    format!("{:?}", network.outcome().unwrap())
}
