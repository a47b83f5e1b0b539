//! The placement of a scenario on the bench: the namespace and the addresses of each host. Also checks that the
//! scenario can run live.
//!
//! Nodes with applications are *hosts* (without applications, the two leaves of the network); every other node is a
//! place inside the bench where links meet. Hosts are divided between the two namespaces so that the two ends of every
//! application are in different namespaces (a 2-colouring, with the first application's `from` on the left). Packets
//! travel from host to host along the scenario's routes, through every link and queue, as in the simulator.
//!
//! A scenario that cannot run live is refused, with a message that gives the reason. It cannot run live if, for
//! example, it has TCP stacks other than the kernel's, applications whose ends cannot be separated, packets larger than
//! the MTU, or paths faster than a limit (by default [`MEASURED`]).

use crate::ecn::EcnUse;
use crate::tun::MTU;
use port::Service;
use scenario::{Link, Network, NetworkApp, Scenario};
use std::collections::BTreeMap;
use tcp::{CongestionControl, HyStart};
use traffic::Traffic;
use units::{BitRate, Bytes, Duration, Problem};

/// Highest rate at which measurements have shown the bench to stay within its limit on lateness (docs/live.md).
pub(crate) const MEASURED: BitRate = BitRate(1_000_000_000);

/// Minimum size of a datagram, in bytes: 20 for the IPv4 header, 8 for the UDP header, 8 for the datagram's number and
/// 8 for the time stamp.
const LEAST_DATAGRAM: u64 = 44;

/// One of the two namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The side to which the first application's `from` node belongs.
    Left,
    /// The side to which the first application's `to` nodes belong.
    Right,
}

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Self::Left, Self::Right];

    /// Returns the opposite side.
    pub const fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
        }
    }
}

/// An application on the bench.
#[derive(Clone, Debug)]
pub struct AppPlan {
    /// Listening port of each server.
    pub ports: Vec<u16>,
    /// The kernel's congestion control for the client and for the servers.
    pub congestion: [String; 2],
    /// ECN of the client's and of the servers' stack: true if the stack uses ECN.
    pub ecn: [bool; 2],
    /// The application's place in the network.
    pub placed: NetworkApp,
}

/// A scenario prepared for the bench.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Nodes, links and routes. Node i has the host number i + 1, which is the last 16 bits of the node's addresses.
    pub network: Network,
    /// Side of each node that is a host; `None` for other nodes.
    pub side: Vec<Option<Side>>,
    /// Applications in name order.
    pub apps: Vec<AppPlan>,
    /// Minimum round-trip propagation delay between two communicating hosts.
    pub rtt: Duration,
}

/// Port of the first server. Each pair of application and server has its own port.
const FIRST_PORT: u16 = 5001;

impl Plan {
    /// Plans a scenario. With `congestion`, every application uses the kernel's stack with this congestion control,
    /// whatever stack the scenario gives it. `limit` is the highest rate that a path may have.
    ///
    /// Errors: a part of the scenario cannot run live. The error names the path of this part and the reason.
    pub fn new(scenario: &Scenario, congestion: Option<&str>, limit: BitRate) -> Result<Self, Problem> {
        let network = scenario.network()?;
        if scenario.trace.is_some() {
            return Err(Problem::new(
                "trace",
                "a live run keeps no trace; simulate the scenario, or leave `trace` out",
            ));
        }
        let (side, apps) = (vec![None; network.nodes.len()], network.apps.clone());
        let mut plan = Self { network, side, apps: Vec::new(), rtt: Duration::MAX };
        let mut port = FIRST_PORT;
        for placed in apps {
            let (app, name) = (&placed.declared, &placed.name);
            let at = |p: Problem| p.under(name).under("app");
            app.traffic.ready().and_then(|()| check_sizes(&app.traffic)).map_err(|p| at(p.under("traffic")))?;
            let server = app.tcp_server.as_deref().unwrap_or(&app.tcp);
            let kernel = |key: &str, name: &str, stack: u16| match congestion {
                Some(cc) => Ok((cc.to_owned(), false)),
                None if is_udp(&app.traffic) => Ok(("cubic".to_owned(), false)),
                None => {
                    kernel_stack(&plan.network.stacks[usize::from(stack)], name).map_err(|p| at(Problem::new(key, p)))
                }
            };
            let [client_stack, server_stack] = placed.offered;
            let client = kernel("tcp", &app.tcp, client_stack)?;
            let server = kernel("tcp_server", server, server_stack)?;
            let (congestion, ecn) = ([client.0, server.0], [client.1, server.1]);
            let ports: Vec<u16> = (port..).take(app.to.len()).collect();
            port += ports.len() as u16;
            plan.apps.push(AppPlan { ports, congestion, ecn, placed });
        }
        plan.take_sides()?;
        plan.check_paths(limit)?;
        Ok(plan)
    }

    /// Returns whether none, some or all of the TCP applications' stacks use ECN.
    pub(crate) fn ecn(&self) -> EcnUse {
        let tcp = self.apps.iter().filter(|a| !is_udp(&a.placed.declared.traffic));
        let all: Vec<bool> = tcp.flat_map(|a| a.ecn).collect();
        match (all.contains(&true), all.contains(&false)) {
            (false, _) => EcnUse::Never,
            (true, true) => EcnUse::Sometimes,
            (true, false) => EcnUse::Always,
        }
    }

    /// Returns the nodes that are hosts of one side.
    pub fn hosts(&self, side: Side) -> Vec<u16> {
        (0..self.network.nodes.len() as u16).filter(|n| self.side[usize::from(*n)] == Some(side)).collect()
    }

    /// Assigns each host to a side, so that the two ends of every application are on different sides (a 2-colouring).
    ///
    /// Bound: every iteration places at least one host.
    fn take_sides(&mut self) -> Result<(), Problem> {
        if self.apps.is_empty() {
            return self.take_leaves();
        }
        // each iteration places one host on the left, and then all hosts that applications connect to this host,
        // directly or through other hosts. After that, no application connects an unplaced host to a placed host, so
        // the first host of the next iteration may be on either side
        while let Some(app) = self.apps.iter().find(|a| self.side[usize::from(a.placed.from)].is_none()) {
            self.side[usize::from(app.placed.from)] = Some(Side::Left);
            self.spread()?;
        }
        Ok(())
    }

    /// Places the other end of every application that has exactly one end placed, until no such application remains.
    ///
    /// Bound: each iteration except the last places at least one host.
    fn spread(&mut self) -> Result<(), Problem> {
        loop {
            let mut moved = false;
            for app in &self.apps {
                for (i, to) in app.placed.to.iter().enumerate() {
                    let (a, b) = (self.side[usize::from(app.placed.from)], self.side[usize::from(*to)]);
                    match (a, b) {
                        (Some(a), Some(b)) if a == b => {
                            let (from, to) = (self.name(app.placed.from), self.name(*to));
                            let message = format!(
                                "\"{from}\" and \"{to}\" fall into the same namespace, because of the other applications; \
                                 in a live run, the two ends of every application must be in different namespaces"
                            );
                            return Err(Problem::new(format!("app.{}.to.{i}", app.placed.name), message));
                        }
                        (Some(a), None) => self.side[usize::from(*to)] = Some(a.other()),
                        (None, Some(b)) => self.side[usize::from(app.placed.from)] = Some(b.other()),
                        _ => continue,
                    }
                    moved |= a.is_none() || b.is_none();
                }
            }
            if !moved {
                return Ok(());
            }
        }
    }

    /// Assigns the two leaves of a scenario without applications to the sides. (A leaf is a node with a single
    /// neighbour.) A leaf at which the first link begins is on the left, and a leaf at which the first link ends is on
    /// the right. If the first link touches no leaf, the leaf that comes first in the list of nodes is on the left.
    fn take_leaves(&mut self) -> Result<(), Problem> {
        let neighbours = |n: u16| {
            let ends = self.network.links.iter().map(|l| (l.from, l.to));
            let mut all: Vec<u16> =
                ends.filter_map(|(a, b)| if a == n { Some(b) } else { (b == n).then_some(a) }).collect();
            all.sort_unstable();
            all.dedup();
            all.len()
        };
        let leaves: Vec<u16> = (0..self.network.nodes.len() as u16).filter(|n| neighbours(*n) == 1).collect();
        let [a, b] = leaves[..] else {
            let message = format!(
                "without applications the bench needs exactly two nodes at the edge, and there are {}; add an [app] that names \
                 the two ends",
                leaves.len()
            );
            return Err(Problem::new("link", message));
        };
        let first = &self.network.links[0];
        let left = if first.from == b || first.to == a { b } else { a };
        self.side[usize::from(left)] = Some(Side::Left);
        self.side[usize::from(a + b - left)] = Some(Side::Right);
        Ok(())
    }

    /// Returns the pairs of communicating hosts: the ends of every application or, if there are no applications, the two leaves.
    fn pairs(&self) -> Vec<(u16, u16)> {
        if self.apps.is_empty() {
            return vec![(self.hosts(Side::Left)[0], self.hosts(Side::Right)[0])];
        }
        self.apps.iter().flat_map(|a| a.placed.to.iter().map(|to| (a.placed.from, *to))).collect()
    }

    fn name(&self, node: u16) -> &str {
        &self.network.nodes[usize::from(node)]
    }

    fn check_paths(&mut self, limit: BitRate) -> Result<(), Problem> {
        if let Some(modem) = self.network.links.iter().find(|l| matches!(l.port.service, Service::Docsis31(_))) {
            let message = "the bench is not punctual enough for the frames of 135us of a DOCSIS 3.1 modem; simulate it (bloatlab \
                           run), or use a shaper with the same discipline";
            return Err(Problem::new(format!("link.{}.docsis31", modem.name), message));
        }
        for (a, b) in self.pairs() {
            let mut rtt = Duration::ZERO;
            for (a, b) in [(a, b), (b, a)] {
                let path = self.network.path(a, b).unwrap_or_default();
                let link = |i: u16| &self.network.links[usize::from(i)];
                if path.is_empty() {
                    let (a, b) = (self.name(a), self.name(b));
                    let message = format!("there is no way from \"{a}\" to \"{b}\"; the bench needs both directions");
                    return Err(Problem::new("link", message));
                }
                let slowest = path.iter().filter_map(|l| greatest_rate(&link(*l).declared)).min();
                if slowest.is_none_or(|r| r > limit) {
                    let name = &link(path[0]).name;
                    let rate = slowest.map_or_else(|| "no rate at all".to_owned(), |r| r.to_string());
                    let message = format!(
                        "the path has {rate}, but the bench has been measured up to {limit} only; give the bottleneck a lower \
                         rate, or raise the limit with --max-rate and check the verdict on lateness in the result"
                    );
                    return Err(Problem::new(format!("link.{name}.rate"), message));
                }
                rtt = path.iter().fold(rtt, |sum, l| sum + link(*l).port.delay);
            }
            self.rtt = self.rtt.min(rtt);
        }
        Ok(())
    }
}

/// Returns the highest rate that a link has at any time during the run, not counting changes of a shaper's rates;
/// `None` if the link has no rate. For a link with a delivery model or trace, returns the mean rate, because the peak
/// rate says little about the load on the bench. (If packets are late during a peak, the run becomes invalid.)
fn greatest_rate(link: &Link) -> Option<BitRate> {
    let wire = link.rate.map(|r| link.changes.iter().filter_map(|c| c.rate).fold(r, BitRate::max));
    let peak = match &link.service {
        Service::Delivery(delivery) => return Some(delivery.mean_rate()),
        Service::Shaper(shaper) => shaper.peak_on(wire),
        other => other.flow().and_then(|flow| flow.peak_traffic_rate),
    };
    wire.into_iter().chain(peak).min()
}

/// Returns the name of the kernel's congestion control that corresponds to `stack`, and whether the stack uses ECN.
///
/// Errors: the stack has properties that only the simulator supports.
fn kernel_stack(stack: &tcp::TcpParams, name: &str) -> Result<(String, bool), String> {
    let kernel = tcp::TcpParams::default().with(|p| {
        p.control.congestion_control = stack.control.congestion_control;
        // in the kernel, only CUBIC has HyStart. So with any other congestion control, a stack without HyStart does not
        // differ from the kernel's
        if p.control.congestion_control != CongestionControl::Cubic && stack.control.shared.hystart == HyStart::Off {
            p.control.shared.hystart = HyStart::Off;
        }
        p.ecn.ecn = stack.ecn.ecn;
    });
    let tree = |p: &tcp::TcpParams| serde_json::to_value(p).unwrap_or_default();
    let cc = tree(stack)["congestion_control"].as_str().unwrap_or_default().to_owned();
    let (a, b) = (tree(stack), tree(&kernel));
    let differs: Vec<&str> = a
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, value)| b.get(key.as_str()) != Some(value))
        .map(|(key, _)| key.as_str())
        .collect();
    let simulated = cc.starts_with("cubic-");
    if differs.is_empty() && !simulated {
        return Ok((cc, stack.ecn.ecn));
    }
    let what = if simulated { format!("congestion control {cc}") } else { differs.join(", ") };
    Err(format!(
        "\"{name}\" exists only in simulation ({what}); a live run uses the kernel's own TCP: \"linux-6\", or --cong reno, cubic or \
         bbr in place of every stack"
    ))
}

/// Checks that datagrams fit into the MTU, because fragments would differ from the simulator's packets, and that they
/// have room for a number and a time stamp. Refuses media applications.
fn check_sizes(traffic: &Traffic) -> Result<(), Problem> {
    if let Traffic::Media(_) = traffic {
        let message = "runs only in simulation: the bench's programs cannot read the ECN field of a datagram";
        return Err(Problem::new("media", message));
    }
    let valid = Bytes(LEAST_DATAGRAM)..=Bytes(MTU as u64);
    let Some((key, size)) = traffic.datagram_sizes().into_iter().find(|(_, size)| !valid.contains(size)) else {
        return Ok(());
    };
    let message = format!(
        "a datagram of {size} cannot be live; expected {} (IPv4 and UDP headers, a number and a time) to {} (the MTU)",
        valid.start(),
        valid.end()
    );
    Err(Problem::new(format!("{}.{key}", traffic.name()), message))
}

/// Returns true if an application opens no TCP connection.
pub(crate) fn is_udp(traffic: &Traffic) -> bool {
    // an application that can use either TCP or UDP has datagram sizes only if it uses UDP
    let udp = traffic::APPS.iter().any(|a| a.name == traffic.name() && a.transport == "udp");
    udp || !traffic.datagram_sizes().is_empty()
}

/// Returns the IPv4 address of each host of `side` by the host's name, for messages and results.
pub(crate) fn addresses(plan: &Plan, side: Side) -> BTreeMap<String, String> {
    let of = |n: u16| (plan.name(n).to_owned(), crate::tun::v4(n + 1).to_string());
    plan.hosts(side).into_iter().map(of).collect()
}
