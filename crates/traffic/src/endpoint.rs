//! A transport whose code the calling program supplies (with the crate `bloatlab-net`). This application represents the
//! transport in a scenario.
//!
//! The program's code sends and receives the datagrams between `from` and the nodes in `to`. The application itself
//! sends nothing: at its start, and whenever its timer expires, it notifies the program's code. A program that has no
//! such code refuses the scenario.
//!
//! Source: none; the user supplies the transport.

use crate::{Application, Demand, Host, Params};
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Problem, within};

/// Minimum and maximum MTU, bytes. Every IPv4 host accepts 576 bytes (RFC 791 §3.1). The length of an IP packet has
/// 16 bits.
const MTU: [Bytes; 2] = [Bytes(576), Bytes(65_535)];

fn default_mtu() -> Bytes {
    Bytes(1500)
}

/// Parameters of a transport whose code the calling program supplies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointParams {
    /// Largest IP packet in bytes. A larger packet ends the run. Default 1500.
    #[serde(default = "default_mtu")]
    pub mtu: Bytes,
    /// UDP port of the program's code at `from`.
    pub port: u16,
    /// UDP ports of the program's code at the nodes in `to`.
    pub peer_ports: Vec<u16>,
    /// True once the program has supplied the code.
    #[serde(skip)]
    pub supplied: bool,
}

impl EndpointParams {
    /// Returns parameters with the default MTU. They are marked as supplied, because the caller provides the code.
    pub fn supplied(port: u16, peer_ports: Vec<u16>) -> Self {
        Self { mtu: default_mtu(), port, peer_ports, supplied: true }
    }
}

impl Params for EndpointParams {
    type App = Endpoint;

    fn validate(&self) -> Result<(), Problem> {
        within("mtu", self.mtu, MTU[0], MTU[1])
    }

    fn demand(&self, _: Duration, _: Duration) -> Demand {
        // the program's code determines the number of packets, so no bound is known, and the demand leaves them out
        Demand::datagrams(0.0)
    }

    fn start_spread(&self) -> Duration {
        Duration::ZERO
    }

    fn servers(&self) -> usize {
        self.peer_ports.len()
    }

    fn build(&self) -> Endpoint {
        Endpoint
    }
}

/// The application that [`EndpointParams`] configures.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint;

impl Application for Endpoint {
    fn start<H: Host>(&mut self, host: &mut H) {
        host.wake();
    }
    fn timer<H: Host>(&mut self, _: u64, host: &mut H) {
        host.wake();
    }
    fn counts(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_program_supplies_code() {
        let read: EndpointParams = serde_json::from_str(r#"{ "port": 4433, "peer_ports": [4434] }"#).unwrap();
        assert_eq!(EndpointParams { supplied: true, ..read.clone() }, EndpointParams::supplied(4433, vec![4434]));
        assert!(!read.supplied);
        let small = EndpointParams { mtu: Bytes(575), ..read };
        assert_eq!(small.validate().unwrap_err().path, "mtu");
    }
}
