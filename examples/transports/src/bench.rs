//! A bottleneck, with one of the stacks, alone or beside our CUBIC.

use crate::quic::Quic;
use crate::smol::Smol;
use net::{Failure, Network, Outcome};

/// The queues by name, in scenario syntax, with ECN marking where the discipline supports it.
pub const QUEUES: [(&str, &str); 4] = [
    ("droptail", "{ droptail = { limit = \"100ms\" } }"),
    ("codel", "{ codel = { ecn = true } }"),
    ("cake", "{ cake = {} }"),
    ("dualpi2", "\"dualpi2\""),
];

/// A stack in this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// quinn-proto with its defaults.
    Quinn,
    /// smoltcp with its CUBIC.
    Smoltcp,
}

/// An experiment.
#[derive(Clone, Copy, Debug)]
pub struct Bench<'a> {
    /// The stack used by the client and the server.
    pub stack: Stack,
    /// The bottleneck's queue, as written in a scenario.
    pub queue: &'a str,
    /// Rate of the bottleneck in Mbit/s. The round trip is 40 ms.
    pub mbit: u32,
    /// Duration in seconds.
    pub seconds: u32,
    /// Whether to add a transfer by our CUBIC, with ECN, over the same bottleneck.
    pub beside_cubic: bool,
}

impl Bench<'_> {
    /// Returns the scenario.
    pub fn scenario(&self) -> String {
        let Self { queue, mbit, seconds, beside_cubic, .. } = self;
        let mut text = format!(
            "name = \"transports\"\nduration = \"{seconds}s\"\nstart_spread = \"0s\"\n\
             [link.up]\nfrom = \"client\"\nto = \"server\"\nrate = \"{mbit}mbit\"\ndelay = \"20ms\"\nqueue = {queue}\n\
             [link.down]\nfrom = \"server\"\nto = \"client\"\nrate = \"{mbit}mbit\"\ndelay = \"20ms\"\n"
        );
        if *beside_cubic {
            text += "[tcp.cubic_ecn]\npreset = \"linux-6\"\necn = true\n\
                     [app.cubic]\nfrom = \"client\"\nto = [\"server\"]\ntcp = \"cubic_ecn\"\ntraffic = \"ftp\"\n";
        }
        text
    }

    /// Returns the network, with the stack at the nodes `client` and `server`.
    pub fn network(&self) -> Network {
        let mut network = Network::from_toml(&self.scenario()).expect("a valid scenario");
        match self.stack {
            Stack::Quinn => {
                let server = network.add_endpoint("server", Quic::server());
                let client = Quic::client(server.expect("a node"));
                network.add_endpoint("client", client).expect("a node");
            }
            Stack::Smoltcp => {
                let [client, server] = ["client", "server"].map(|node| network.address(node).expect("a node"));
                network.add_endpoint("server", Smol::server(server)).expect("a node");
                network.add_endpoint("client", Smol::client(client, server)).expect("a node");
            }
        }
        network
    }

    /// Runs the experiment to its end.   Errors: a stack misbehaved.
    pub fn run(&self) -> Result<Outcome, Failure> {
        let mut network = self.network();
        network.run()?;
        Ok(network.outcome().expect("a network that has run"))
    }
}

/// Returns a number for an application from the summary.
pub fn number(outcome: &Outcome, app: &str, key: &str) -> f64 {
    outcome.summary["apps"][app][key].as_f64().unwrap_or(f64::NAN)
}
