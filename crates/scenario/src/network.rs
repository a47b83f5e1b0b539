//! A scenario resolved into a network: numbered nodes, one-way links, next hops, and applications at their nodes.
//!
//! Numbers replace names here. The checks of a scenario, the simulator and the live bench all use a network. A node's
//! number is its index among the sorted names, a link's number its index in [`Scenario::directed_links`], and an
//! application's number its index in [`Scenario::app`].

use crate::app::App;
use crate::declare::Scenario;
use crate::link::{Link, can_queue};
use crate::nearest::unknown;
use measure::{LinkMeter, LinkMeterParams};
use packet::NodeId;
use port::{Port, PortSpec};
use record::LinkId;
use std::collections::BTreeMap;
use tcp::TcpParams;
use units::{Duration, Problem, Rng, Time};

/// Value in [`Routes`] if no link leads to the destination.
pub const NO_LINK: u16 = u16::MAX;

/// A link in one direction.
#[derive(Clone, Debug)]
pub struct NetworkLink {
    /// Name of the link. With `both_ways`, the name of the link in the reverse direction begins with `~`.
    pub name: String,
    /// Node with the queue.
    pub from: u16,
    /// Node at the far end.
    pub to: u16,
    /// The port's specification: its queue, the service that takes packets from the queue, and the wire.
    pub port: PortSpec,
    /// Changes, in time order.
    pub changes: Vec<(Time, port::Change)>,
    /// True if series and distributions are recorded.
    pub recorded: bool,
    /// The link's declaration.
    pub declared: Link,
}

impl NetworkLink {
    /// Builds the link's port in its idle state. `number` is the link's number.   Errors: those of [`Port::build`].
    pub fn build_port(&self, number: u16, seed: u64) -> Result<Port, Problem> {
        let at = format!("link.{}", self.name);
        Port::build(&self.port, LinkId(number), seed, &at).map_err(|p| p.under(&at))
    }

    /// Builds the link in its idle state. `number` is the link's number, `duration` the duration of the run, and
    /// `carrier` the object that carries the link's packets: a port, or a faster implementation of simple links.
    pub fn build<C>(
        &self,
        number: u16,
        scenario: &Scenario,
        duration: Duration,
        carrier: C,
    ) -> Result<port::Link<C>, Problem> {
        let params = LinkMeterParams {
            link: LinkId(number),
            start: Time::ZERO,
            duration,
            bin: scenario.bin(),
            warm_up: Time(scenario.record.warm_up.0),
        };
        let meter = self.recorded.then(|| LinkMeter::new(params)).transpose()?;
        let (name, to, before) = (self.name.clone(), NodeId(self.to), Box::default());
        Ok(port::Link { name, to, carrier, meter: meter.map(Box::new), before })
    }
}

/// An application, with numbers in place of the names of its nodes and TCP stacks.
#[derive(Clone, Debug)]
pub struct NetworkApp {
    /// Name of the application.
    pub name: String,
    /// Node of the client.
    pub from: u16,
    /// Nodes of the servers.
    pub to: Vec<u16>,
    /// Stacks of the client and of the servers after their negotiation, as indices into [`Network::stacks`]. For
    /// traffic that is always datagrams ([`traffic::Traffic::is_datagrams`]), these are the stacks as declared.
    pub stacks: [u16; 2],
    /// The same stacks as declared, before the two ends negotiate.
    pub offered: [u16; 2],
    /// Start time, as drawn with the scenario's seed.
    pub start: Time,
    /// The application's `stop`, from which it starts nothing new; [`Time::NEVER`] if it has no `stop`.
    pub stop: Time,
    /// The application's random stream.
    pub rng: Rng,
    /// True if series of the application's flows are recorded.
    pub recorded: bool,
    /// The application's declaration.
    pub declared: App,
}

/// The next link on the way from each node to every other node.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// Numbers of links, indexed by `node * nodes + destination`.
    next: Vec<u16>,
    nodes: usize,
}

impl Routes {
    /// Returns the link over which a packet at node `at` continues to the destination `to`; [`NO_LINK`] if there is
    /// none.
    #[inline(always)]
    pub fn next(&self, at: NodeId, to: NodeId) -> u16 {
        self.next[usize::from(at.0) * self.nodes + usize::from(to.0)]
    }
}

/// A scheduled task of a run: the end of the warm-up, or a change to a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Task {
    /// The end of the warm-up.
    Begin,
    /// A change to the link with this number.
    Change(u16, port::Change),
}

/// A scenario with its names resolved to numbers.
#[derive(Clone, Debug)]
pub struct Network {
    /// Node names, sorted; a name's index is the node's number.
    pub nodes: Vec<String>,
    /// Links, in name order.
    pub links: Vec<NetworkLink>,
    /// The next hops of packets.
    pub routes: Routes,
    /// Applications, in name order.
    pub apps: Vec<NetworkApp>,
    /// The TCP stacks that applications name, each as declared, and as negotiated with each different stack at the far
    /// end.
    pub stacks: Vec<TcpParams>,
}

impl Scenario {
    /// Returns the network of this scenario.   Errors: the first problem found in the scenario.
    pub fn network(&self) -> Result<Network, Problem> {
        match self.validate().into_iter().next() {
            Some(problem) => Err(problem),
            None => Network::resolve(self),
        }
    }
}

impl Network {
    /// Resolves all names. Does not check reachability.   Errors: the first unknown name; a stack that is invalid or
    /// cannot be negotiated.
    pub(crate) fn resolve(scenario: &Scenario) -> Result<Self, Problem> {
        let declared = scenario.directed_links();
        let nodes = nodes(&declared);
        let links = declared.into_iter().map(|(name, link)| {
            let at = |key: &str, p: Problem| p.under(key).under(&name).under("link");
            Ok(NetworkLink {
                from: number(&nodes, &link.from).map_err(|p| at("from", p))?,
                to: number(&nodes, &link.to).map_err(|p| at("to", p))?,
                port: link.for_port(),
                changes: link.changes.iter().map(|c| (Time(c.at.0), c.for_port())).collect(),
                recorded: match &scenario.record.links {
                    Some(list) => list.contains(&name),
                    None => can_queue(&link),
                },
                declared: link,
                name,
            })
        });
        let links: Vec<NetworkLink> = links.collect::<Result<_, Problem>>()?;
        let mut network = Self { routes: Routes::default(), apps: Vec::new(), stacks: Vec::new(), nodes, links };
        network.routes = network.resolve_routes(scenario)?;
        network.place_apps(scenario)?;
        Ok(network)
    }

    /// Returns the link over which a packet at node `at` continues to the destination `to`.
    fn hop(&self, at: u16, to: u16) -> Option<u16> {
        let link = self.routes.next(NodeId(at), NodeId(to));
        (link != NO_LINK).then_some(link)
    }

    /// Returns the end of the warm-up and the link changes, latest first, because the caller takes them from the end of
    /// the vector. If several tasks have the same time, the caller thus takes the end of the warm-up first, and then the
    /// changes in the order of the links' names.
    pub fn tasks(&self, warm_up: Duration) -> Vec<(Time, Task)> {
        let begin = (!warm_up.is_zero()).then_some((Time(warm_up.0), Task::Begin));
        let changes = (0..)
            .zip(&self.links)
            .flat_map(|(i, link)| link.changes.iter().map(move |(at, change)| (*at, Task::Change(i, *change))));
        let mut tasks: Vec<_> = begin.into_iter().chain(changes).collect();
        tasks.sort_by_key(|(at, _)| *at);
        tasks.reverse();
        tasks
    }

    /// Returns the links from `a` to `b`.   Errors: the node from which no link leads on, or `None` if the routes form a cycle.
    pub fn path(&self, a: u16, b: u16) -> Result<Vec<u16>, Option<u16>> {
        let (mut path, mut at) = (Vec::new(), a);
        // the loop is bounded, because a longer path would use a link twice
        while path.len() <= self.links.len() {
            if at == b {
                return Ok(path);
            }
            let link = self.hop(at, b).ok_or(Some(at))?;
            path.push(link);
            at = self.links[usize::from(link)].to;
        }
        Err(None)
    }

    /// Computes the next link from each node to each destination, along the path with the fewest links. Among equal
    /// paths, the link whose name sorts first is used. The explicit routes of the scenario then override the computed
    /// next links.
    fn resolve_routes(&self, scenario: &Scenario) -> Result<Routes, Problem> {
        let nodes = self.nodes.len();
        let mut into: Vec<Vec<u16>> = vec![Vec::new(); nodes];
        for (i, link) in self.links.iter().enumerate() {
            into[usize::from(link.to)].push(i as u16);
        }
        let mut next = vec![NO_LINK; nodes * nodes];
        // for each node, the last destination whose search reached the node
        let mut reached = vec![usize::MAX; nodes];
        for to in 0..nodes {
            // breadth-first search, backwards from the destination
            reached[to] = to;
            let mut frontier = vec![to];
            while !frontier.is_empty() {
                let mut hops: Vec<u16> = frontier.iter().flat_map(|n| into[*n].iter().copied()).collect();
                hops.sort_unstable();
                frontier.clear();
                for link in hops {
                    let from = usize::from(self.links[usize::from(link)].from);
                    if reached[from] != to {
                        reached[from] = to;
                        next[from * nodes + to] = link;
                        frontier.push(from);
                    }
                }
            }
        }
        for (i, route) in scenario.route.iter().enumerate() {
            let at = |key: &str, p: Problem| p.under(key).under(&i.to_string()).under("route");
            let node = number(&self.nodes, &route.at).map_err(|p| at("at", p))?;
            let to = number(&self.nodes, &route.to).map_err(|p| at("to", p))?;
            let via = self.links.iter().position(|l| l.name == route.via).ok_or_else(|| {
                let known: Vec<&str> = self.links.iter().map(|l| l.name.as_str()).collect();
                at("via", Problem::new("", unknown("link", &route.via, &known)))
            })?;
            next[usize::from(node) * nodes + usize::from(to)] = via as u16;
        }
        Ok(Routes { next, nodes })
    }

    fn place_apps<'a>(&mut self, scenario: &'a Scenario) -> Result<(), Problem> {
        // the numbers of the stacks resolved so far, by the name of the stack and the name of its peer
        let mut known: BTreeMap<[&str; 2], u16> = BTreeMap::new();
        for (name, app) in &scenario.app {
            let at = |key: &str, p: Problem| p.under(key).under(name).under("app");
            let mut stack = |key: &str, own: &'a str, peer: &'a str| {
                if let Some(i) = known.get(&[own, peer]) {
                    return Ok(*i);
                }
                let resolved = scenario.stack(own).and_then(|stack| match own == peer {
                    true => Ok(stack),
                    false => stack.negotiated(&scenario.stack(peer)?),
                });
                let i = self.stacks.len() as u16;
                self.stacks.push(resolved.map_err(|p| at(key, p))?);
                known.insert([own, peer], i);
                Ok::<u16, Problem>(i)
            };
            let (client, server) = (app.tcp.as_str(), app.tcp_server.as_deref().unwrap_or(&app.tcp));
            let offered = [stack("tcp", client, client)?, stack("tcp_server", server, server)?];
            let stacks = match app.traffic.is_datagrams() {
                true => offered,
                false => [stack("tcp", client, server)?, stack("tcp_server", server, client)?],
            };
            let to = app
                .to
                .iter()
                .enumerate()
                .map(|(i, node)| number(&self.nodes, node).map_err(|p| at("to", p.under(&i.to_string()))));
            self.apps.push(NetworkApp {
                from: number(&self.nodes, &app.from).map_err(|p| at("from", p))?,
                to: to.collect::<Result<_, _>>()?,
                stacks,
                offered,
                start: scenario.begins(name, app),
                stop: app.stop.map_or(Time::NEVER, |stop| Time(stop.0)),
                rng: Rng::named(scenario.seed, &format!("app.{name}")),
                recorded: scenario.record.apps.as_ref().is_none_or(|list| list.contains(name)),
                name: name.clone(),
                declared: app.clone(),
            });
        }
        Ok(())
    }
}

/// Returns the sorted names of the nodes at the ends of all links.
pub(crate) fn nodes(links: &[(String, Link)]) -> Vec<String> {
    let mut names: Vec<String> = links.iter().flat_map(|(_, l)| [l.from.clone(), l.to.clone()]).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns a node's number.   Errors: an unknown node.
pub(crate) fn number(nodes: &[String], name: &str) -> Result<u16, Problem> {
    nodes.binary_search_by(|n| n.as_str().cmp(name)).map(|i| i as u16).map_err(|_| {
        let known: Vec<&str> = nodes.iter().map(String::as_str).collect();
        Problem::new("", unknown("node", name, &known))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{Format, scenario};

    /// Two paths between a and b: the link "direct", and the links "one" and "two" through c. Every link has a reverse link.
    const DIAMOND: &str = "duration = '1s'\n\
        [link.direct]\nfrom = 'a'\nto = 'b'\nboth_ways = true\nrate = '1mbit'\n\
        [link.one]\nfrom = 'a'\nto = 'c'\ndelay = '1ms'\nboth_ways = true\n[link.two]\nfrom = 'c'\nto = 'b'\ndelay = '1ms'\nboth_ways = true\n\
        [app.x]\nfrom = 'a'\nto = ['b', 'c']\ntraffic = 'ftp'\nstart_spread = '0s'\nstart = '100ms'\n\
        [app.y]\nfrom = 'c'\nto = ['b']\ntcp = 'rfc'\ntcp_server = 'linux-6'\ntraffic.ftp = { size = '1MB', count = 1 }\n";

    fn network(more: &str) -> Network {
        scenario(&format!("{DIAMOND}{more}"), Format::Toml, &[]).unwrap().network().unwrap()
    }

    #[test]
    fn names_become_numbers() {
        let n = network("");
        assert_eq!(n.nodes, ["a", "b", "c"]);
        let links: Vec<_> = n.links.iter().map(|l| (l.name.as_str(), l.from, l.to, l.recorded)).collect();
        let expected = [
            ("direct", 0, 1, true),
            ("one", 0, 2, false),
            ("two", 2, 1, false),
            ("~direct", 1, 0, true),
            ("~one", 2, 0, false),
            ("~two", 1, 2, false),
        ];
        assert_eq!(links, expected);
        let apps: Vec<_> = n.apps.iter().map(|a| (a.name.as_str(), a.from, a.to.as_slice(), a.stacks)).collect();
        // stacks are numbered in the order of first use: linux-6 is 0, rfc is 1. These are the numbers of the stacks
        // as declared. As negotiated with each other, rfc is 2 and linux-6 is 3
        assert_eq!(apps, [("x", 0, &[1, 2][..], [0, 0]), ("y", 2, &[1][..], [2, 3])]);
        assert_eq!([n.apps[0].offered, n.apps[1].offered], [[0, 0], [1, 0]]);
        assert_eq!((n.stacks.len(), n.apps[0].start, n.apps[0].stop), (4, Time(100_000_000), Time::NEVER));
    }

    #[test]
    fn shortest_paths_then_routes() {
        let name = |n: &Network, path: Result<Vec<u16>, Option<u16>>| {
            path.map(|p| p.iter().map(|i| n.links[usize::from(*i)].name.clone()).collect::<Vec<_>>())
        };
        let n = network("");
        assert_eq!(name(&n, n.path(0, 1)).unwrap(), ["direct"]);
        assert_eq!(name(&n, n.path(1, 2)).unwrap(), ["~two"]);
        let n = network("[[route]]\nat = 'a'\nto = 'b'\nvia = 'one'\n");
        assert_eq!(name(&n, n.path(0, 1)).unwrap(), ["one", "two"]);
        assert_eq!((n.path(0, 0), n.hop(0, 2)), (Ok(vec![]), Some(1)));
    }

    #[test]
    fn where_a_path_ends_without_its_node() {
        let text = DIAMOND.replace("both_ways = true", "").split("[app.x]").next().unwrap().to_owned();
        let n = Network::resolve(&crate::typed::typed(crate::parse::parse(&text, Format::Toml).unwrap()).unwrap());
        // all links are one-way now, and none of them begins at b
        assert_eq!(n.unwrap().path(1, 0), Err(Some(1)));
        let round = "[[route]]\nat = 'a'\nto = 'b'\nvia = 'one'\n[[route]]\nat = 'c'\nto = 'b'\nvia = '~one'\n";
        let text = format!("{}{round}", DIAMOND.split("[app.x]").next().unwrap());
        let n = Network::resolve(&crate::typed::typed(crate::parse::parse(&text, Format::Toml).unwrap()).unwrap());
        assert_eq!(n.unwrap().path(0, 1), Err(None));
    }
}
