//! Validates a scenario before anything is built from it. Each part has its own rules; the rules in this file concern
//! several parts.

use crate::app::App;
use crate::declare::Scenario;
use crate::delivery_check::check_sizes;
use crate::nearest::unknown;
use crate::network::{Network, nodes, number};
use crate::trace::{Interval, MOST_MOMENTS};
use units::{Duration, Problem, shown};

const MAX_NODES: usize = 4096;
/// Maximum number of links, where a link with `both_ways` counts once.
const MAX_LINKS: usize = 16_384;
const MAX_APPS: usize = 16_384;
/// Maximum number of TCP stacks, of routes, and of names in a `record` list.
const MAX_LIST: usize = 16_384;
/// Maximum number of characters in a name.
const MAX_NAME: usize = 128;
/// Maximum duration of a run: 50 days. The key of an event holds times up to 52 days.
const MAX_DURATION: Duration = Duration(50 * 24 * 3_600 * 1_000_000_000);
/// Maximum number of bins in a series. At this number, the series of one link take 64 MB.
const MAX_BINS: u64 = 1_000_000;

impl Scenario {
    /// Returns the problems of this scenario; none if it can be built. Some checks are made only if earlier ones find
    /// no problem.
    pub(crate) fn validate(&self) -> Vec<Problem> {
        let mut problems = self.check_names();
        if !problems.is_empty() {
            // if any names are invalid, only those problems are reported, because all other messages contain names
            return problems;
        }
        if self.duration.is_zero() {
            problems.push(Problem::new("duration", "0s is not valid; expected a duration above zero"));
        }
        if self.duration > MAX_DURATION {
            let message = format!("{} is not valid; expected at most {MAX_DURATION} (50 days)", self.duration);
            problems.push(Problem::new("duration", message));
        }
        if self.link.is_empty() {
            problems.push(Problem::new("link", "there is no link; expected at least one [link.NAME] table"));
        }
        let listed = |names: &Option<Vec<String>>| names.as_ref().map_or(0, Vec::len);
        for (what, n, most) in [
            ("link", self.link.len(), MAX_LINKS),
            ("app", self.app.len(), MAX_APPS),
            ("tcp", self.tcp.len(), MAX_LIST),
            ("route", self.route.len(), MAX_LIST),
            ("record.links", listed(&self.record.links), MAX_LIST),
            ("record.apps", listed(&self.record.apps), MAX_LIST),
        ] {
            if n > most {
                problems.push(Problem::new(what, format!("{n} is too many; at most {most} are possible")));
            }
        }
        for (name, link) in &self.link {
            let late =
                link.changes.iter().enumerate().filter(|(_, change)| change.at > self.duration).map(|(i, change)| {
                    let message = format!("{} is later than the end of the run, {}", change.at, self.duration);
                    Problem::new(format!("changes.{i}.at"), message)
                });
            problems.extend(link.validate().into_iter().chain(late).map(|p| p.under(name).under("link")));
        }
        for (name, stack) in &self.tcp {
            if let Err(p) = stack.resolve().and_then(|s| s.validate()) {
                problems.push(p.under(name).under("tcp"));
            }
        }
        self.check_record(&mut problems);
        self.check_trace(&mut problems);
        if let Some(grade) = &self.grade {
            grade.check(&mut problems);
        }
        if problems.is_empty() {
            // names are resolved only if the scenario has no other problem
            self.check_network(&mut problems);
        }
        problems
    }

    /// Rejects names that are too long or contain unprintable characters, and names of links that begin with `~`, which
    /// marks a reverse link.
    fn check_names(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut check = |path: &str, what: &str, name: &str| {
            let message = if let Some(c) = name.chars().find(|c| units::is_unprintable(*c)) {
                format!(
                    "the {what}'s name has the control character U+{:04X}; expected printable characters",
                    u32::from(c)
                )
            } else if name.chars().nth(MAX_NAME).is_some() {
                format!("the {what}'s name has {} characters; expected at most {MAX_NAME}", name.chars().count())
            } else if what == "link" && name.starts_with('~') {
                "the link's name begins with ~, which stands for the reverse direction of a link with `both_ways`; \
                 expected another name"
                    .to_owned()
            } else {
                return;
            };
            problems.push(Problem::new(path, message));
        };
        check("name", "scenario", &self.name);
        for (name, link) in &self.link {
            let at = format!("link.{}", shown(name));
            check(&at, "link", name);
            check(&format!("{at}.from"), "node", &link.from);
            check(&format!("{at}.to"), "node", &link.to);
        }
        self.app.keys().for_each(|name| check(&format!("app.{}", shown(name)), "application", name));
        self.tcp.keys().for_each(|name| check(&format!("tcp.{}", shown(name)), "stack", name));
        problems
    }

    fn check_record(&self, problems: &mut Vec<Problem>) {
        let bins = self.duration.0.checked_div(self.bin().0).unwrap_or(u64::MAX);
        if bins > MAX_BINS {
            let least = Duration(self.duration.0 / MAX_BINS + 1);
            let message = format!("{} gives more than {MAX_BINS} bins; expected at least {least}", self.bin());
            problems.push(Problem::new("record.interval", message));
        }
        let warm_up = self.record.warm_up;
        if warm_up >= self.duration && !warm_up.is_zero() {
            let message = format!("{warm_up} is not valid; expected less than the duration, {}", self.duration);
            problems.push(Problem::new("record.warm_up", message));
        }
        let (links, apps) = self.names();
        let listed = |names: &'_ Option<Vec<String>>| names.clone().unwrap_or_default();
        check_listed("record.links", "link", &listed(&self.record.links), &links, problems);
        check_listed("record.apps", "application", &listed(&self.record.apps), &apps, problems);
    }

    fn check_network(&self, problems: &mut Vec<Problem>) {
        let links = self.directed_links();
        let nodes = nodes(&links);
        if nodes.len() > MAX_NODES {
            problems.push(Problem::new("link", format!("{} nodes are too many; at most {MAX_NODES}", nodes.len())));
            return;
        }
        for (i, route) in self.route.iter().enumerate() {
            let at = format!("route.{i}");
            for (key, name) in [("at", &route.at), ("to", &route.to)] {
                if let Err(p) = number(&nodes, name) {
                    problems.push(p.under(key).under(&at));
                }
            }
            if self.route[..i].iter().any(|other| (&other.at, &other.to) == (&route.at, &route.to)) {
                let message =
                    format!("the route from \"{}\" to \"{}\" is listed twice", shown(&route.at), shown(&route.to));
                problems.push(Problem::new(&at, message));
            }
            match links.iter().find(|(n, _)| *n == route.via) {
                None => {
                    let known: Vec<&str> = links.iter().map(|(n, _)| n.as_str()).collect();
                    problems.push(Problem::new(format!("{at}.via"), unknown("link", &route.via, &known)));
                }
                Some((_, link)) if link.from != route.at => {
                    let message = format!(
                        "link \"{}\" starts at \"{}\", not at \"{}\"",
                        shown(&route.via),
                        shown(&link.from),
                        shown(&route.at)
                    );
                    problems.push(Problem::new(format!("{at}.via"), message));
                }
                Some(_) => {}
            }
        }
        for (name, app) in &self.app {
            problems.extend(self.check_app(app, &nodes).into_iter().map(|p| p.under(name).under("app")));
        }
        if !problems.is_empty() {
            return;
        }
        match Network::resolve(self) {
            Err(problem) => problems.push(problem),
            Ok(network) => {
                check_reachable(&network, problems);
                if problems.is_empty() {
                    check_sizes(&network, problems);
                    self.check_memory(problems);
                    self.check_work(&network, problems);
                }
            }
        }
    }

    fn check_app(&self, app: &App, nodes: &[String]) -> Vec<Problem> {
        let ends = std::iter::once(("from".to_owned(), &app.from))
            .chain(app.to.iter().enumerate().map(|(i, server)| (format!("to.{i}"), server)));
        let mut problems: Vec<Problem> =
            ends.filter_map(|(key, node)| number(nodes, node).err().map(|p| p.under(&key))).collect();
        problems.extend(app.validate());
        for (key, stack) in [("tcp", Some(&app.tcp)), ("tcp_server", app.tcp_server.as_ref())] {
            problems.extend(stack.and_then(|stack| self.stack(stack).err()).map(|p| p.under(key)));
        }
        if let Some(server) =
            app.tcp_server.as_ref().filter(|server| **server != app.tcp && !app.traffic.is_datagrams())
            && let (Ok(a), Ok(b)) = (self.stack(&app.tcp), self.stack(server))
        {
            let ends = [(&app.tcp, server, a.negotiated(&b)), (server, &app.tcp, b.negotiated(&a))];
            problems.extend(ends.into_iter().find_map(|(own, peer, negotiated)| {
                let p = negotiated.err()?;
                let (own, peer) = (shown(own), shown(peer));
                let message = format!(
                    "\"{own}\" cannot run with \"{peer}\" at the other end, because they differ in `{}`: {}",
                    p.path, p.message
                );
                Some(Problem::new("tcp_server", message))
            }));
        }
        problems
    }

    /// Checks that `trace` does not request too many readings, and that the links and applications that it names exist.
    fn check_trace(&self, problems: &mut Vec<Problem>) {
        let Some(trace) = &self.trace else { return };
        if let Interval::Every(every) = trace.interval {
            let moments = self.duration.0.checked_div(every.0).unwrap_or(u64::MAX);
            if moments > MOST_MOMENTS {
                let least = Duration(self.duration.0 / MOST_MOMENTS + 1);
                let message = format!("{every} gives more than {MOST_MOMENTS} readings; expected at least {least}");
                problems.push(Problem::new("trace.interval", message));
            }
        }
        let (links, apps) = self.names();
        for (key, what, chosen, known) in [
            ("links", "link", &trace.links, &links),
            ("queues", "link", &trace.queues, &links),
            ("flows", "application", &trace.flows, &apps),
            ("packets", "link", &trace.packets, &links),
        ] {
            check_listed(&format!("trace.{key}"), what, chosen.names(), known, problems);
        }
    }

    /// Returns the names of all links, including the reverse links, and the names of all applications.
    fn names(&self) -> (Vec<String>, Vec<String>) {
        let links = self.directed_links().into_iter().map(|(name, _)| name).collect();
        (links, self.app.keys().cloned().collect())
    }
}

/// Adds a problem at `path` for each of the `names` that is not in `known`.
fn check_listed(path: &str, what: &str, names: &[String], known: &[String], problems: &mut Vec<Problem>) {
    let all: Vec<&str> = known.iter().map(String::as_str).collect();
    let strangers = names.iter().filter(|name| !known.contains(name));
    problems.extend(strangers.map(|name| Problem::new(path, unknown(what, name, &all))));
}

/// Checks that routes lead from every application to its servers and back, by following the routes as a packet would.
/// Adds only the first problem.
fn check_reachable(network: &Network, problems: &mut Vec<Problem>) {
    let name = |node: u16| shown(&network.nodes[usize::from(node)]);
    for app in &network.apps {
        for server in &app.to {
            for (a, b) in [(app.from, *server), (*server, app.from)] {
                let message = match network.path(a, b) {
                    Ok(_) => continue,
                    Err(Some(stuck)) => format!(
                        "there is no route from \"{}\" to \"{}\" (stuck at \"{}\"); add a link that leads there, or \
                         `both_ways = true` to one that leads back: every application needs a path in both directions, \
                         also one that sends only one way",
                        name(a),
                        name(b),
                        name(stuck)
                    ),
                    Err(None) => format!("the routes from \"{}\" to \"{}\" form a cycle", name(a), name(b)),
                };
                problems.push(Problem::new("", message).under(&app.name).under("app"));
                return;
            }
        }
    }
}
