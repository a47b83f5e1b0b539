//! A stack that sends 1200 bytes every millisecond, behind CoDel with ECN.

use net::{Datagram, Duration, Ecn, Endpoint, Network, Time, Transmit};
use std::net::SocketAddr;

/// The destination and the time of the next datagram. Without a destination, the stack only receives.
struct Ticker(Option<SocketAddr>, Time);

impl Endpoint for Ticker {
    fn handle(&mut self, now: Time, datagram: Datagram) {
        if datagram.ecn == Ecn::Ce {
            println!("{now}: marked");
        }
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        let to = self.0.filter(|_| self.1 <= now)?;
        self.1 = now + Duration::from_millis(1);
        Some(Transmit { to, ecn: Ecn::Ect0, bytes: vec![0; 1200] })
    }
    fn next_timeout(&mut self) -> Option<Time> {
        self.0.map(|_| self.1)
    }
    fn on_timeout(&mut self, _: Time) {}
}

fn main() {
    let mut network = Network::from_toml(include_str!("ticker.toml")).expect("a valid scenario");
    let server = network.add_endpoint("server", Ticker(None, Time::ZERO)).expect("a node");
    network.add_endpoint("client", Ticker(Some(server), Time::ZERO)).expect("a node");
    network.run().unwrap_or_else(|failure| println!("{failure}"));
    println!("{}", network.outcome().expect("it has run").summary["apps"]["client"]["goodput_mbit"]);
}
