//! Validation of a scenario before anything is built from it.

use crate::declare::{App, Link, Scenario};
use crate::delivery_check::check_sizes;
use crate::nearest::unknown;
use crate::network::{Network, nodes, number};
use units::{BitRate, Duration, Problem, shown};

/// Most nodes, links and applications that a world can number.
const MAX_NODES: usize = 4096;
const MAX_LINKS: usize = 16_384;
const MAX_APPS: usize = 16_384;
/// Most TCP stacks, routes, and names in a list of `record`.
const MAX_LIST: usize = 16_384;
/// Most characters of a name.
const MAX_NAME: usize = 128;
/// Most bins of a series: 1 000 000 bins of one series take about 32 MB.
const MAX_BINS: u64 = 1_000_000;

impl Scenario {
    /// Everything that is wrong with this scenario; empty if it can be built.
    pub(crate) fn validate(&self) -> Vec<Problem> {
        let mut problems = self.check_names();
        if !problems.is_empty() {
            // all other messages repeat names
            return problems;
        }
        if self.duration.is_zero() {
            problems.push(Problem::new("duration", "0s is not valid; expected a duration above zero"));
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
            problems.extend(check_link(link, self.duration).into_iter().map(|p| p.under(name).under("link")));
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
            // names resolve only in a network whose parts are sound
            self.check_network(&mut problems);
        }
        problems
    }

    /// Rejects names that are too long, or contain characters that control a terminal.
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
        let links: Vec<String> = self.directed_links().into_iter().map(|(n, _)| n).collect();
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        let apps: Vec<&str> = self.app.keys().map(String::as_str).collect();
        for (path, what, given, known) in [
            ("record.links", "link", &self.record.links, &links),
            ("record.apps", "application", &self.record.apps, &apps),
        ] {
            for name in given.iter().flatten() {
                if !known.contains(&name.as_str()) {
                    problems.push(Problem::new(path, unknown(what, name, known)));
                }
            }
        }
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
        let mut problems = Vec::new();
        let named = std::iter::once(("from".to_owned(), &app.from))
            .chain(app.to.iter().enumerate().map(|(i, n)| (format!("to.{i}"), n)));
        for (key, name) in named {
            if let Err(p) = number(nodes, name) {
                problems.push(p.under(&key));
            } else if key != "from" && *name == app.from {
                problems.push(Problem::new(
                    key,
                    format!("\"{}\" is the application's own node; expected another one", shown(name)),
                ));
            }
        }
        if app.dscp > 63 {
            problems.push(Problem::new("dscp", format!("{} is not valid; expected 0 to 63", app.dscp)));
        }
        use traffic::Traffic;
        let datagrams = matches!(
            app.traffic,
            Traffic::Voip(_) | Traffic::Ping(_) | Traffic::Game(_) | Traffic::Cbr(_) | Traffic::Proshare(_)
        );
        if app.datagram_ecn.is_some() && !datagrams {
            let message = "its traffic is TCP's, whose ECN is set by `ecn` of the stack; expected voip, ping, game, cbr or proshare";
            problems.push(Problem::new("datagram_ecn", message));
        }
        if app.stop.is_some_and(|s| s <= app.start) {
            problems.push(Problem::new("stop", format!("expected a time after the start at {}", app.start)));
        }
        if app.stop.is_some() && matches!(&app.traffic, traffic::Traffic::Ftp(p) if p.size.is_none()) {
            let message = "a transfer without a size does not stop; give it a size, or a length";
            problems.push(Problem::new("stop", message));
        }
        if app.stop.is_some() && matches!(&app.traffic, Traffic::Rpm(_)) {
            let message = "its load never ends, so it cannot stop; let it be the end of the run";
            problems.push(Problem::new("stop", message));
        }
        for (key, stack) in [("tcp", Some(&app.tcp)), ("tcp_server", app.tcp_server.as_ref())] {
            if let Some(Err(p)) = stack.map(|s| self.stack(s)) {
                problems.push(p.under(key));
            }
        }
        if let (Ok(client), Ok(server)) =
            (self.stack(&app.tcp), self.stack(app.tcp_server.as_ref().unwrap_or(&app.tcp)))
            && (client.reads_ack_time() || server.reads_ack_time())
            && !(client.wire.timestamps && server.wire.timestamps)
        {
            let message = "one end runs ledbat, which needs `timestamps` at both: the other's clock is in its ACKs";
            problems.push(Problem::new("tcp_server", message));
        }
        if let Err(p) = app.traffic.validate() {
            problems.push(p.under("traffic"));
        }
        let needs = app.traffic.servers();
        if app.to.len() < needs {
            let message = format!("{} given; this traffic needs at least {needs}", app.to.len());
            problems.push(Problem::new("to", message));
        }
        problems
    }
}

/// Follows the routes of every application there and back, as packets will.
fn check_reachable(network: &Network, problems: &mut Vec<Problem>) {
    let name = |node: u16| shown(&network.nodes[usize::from(node)]);
    for app in &network.apps {
        for server in &app.to {
            for (a, b) in [(app.from, *server), (*server, app.from)] {
                let message = match network.path(a, b) {
                    Ok(_) => continue,
                    Err(Some(stuck)) => format!(
                        "there is no route from \"{}\" to \"{}\" (stuck at \"{}\"); add a link that leads there, or \
                         `both_ways = true` to one that leads back: every application needs a way there and back, \
                         also one that sends only one way",
                        name(a),
                        name(b),
                        name(stuck)
                    ),
                    Err(None) => format!("the routes from \"{}\" to \"{}\" go in a circle", name(a), name(b)),
                };
                problems.push(Problem::new("", message).under(&app.name).under("app"));
                return;
            }
        }
    }
}

fn check_link(link: &Link, duration: Duration) -> Vec<Problem> {
    let mut problems = Vec::new();
    if link.from == link.to {
        problems.push(Problem::new("to", format!("a link from \"{}\" to itself leads nowhere", shown(&link.from))));
    }
    if link.rate == Some(BitRate(0)) {
        problems.push(Problem::new(
            "rate",
            "0bit is not valid; expected a rate above zero, or no rate at all for an infinite one",
        ));
    }
    // a discipline that shapes is compared with the busiest moment of a link with opportunities, a limit in time with its mean
    let peak = link.service.delivery().filter(|_| link.queue.shapes().is_some()).map(port::Delivery::peak_rate);
    let rate = peak.or(link.served_rate()).filter(|r| r.0 > 0);
    let at_rate = |()| rate.map_or(Ok(()), |rate| link.queue.validate_at(rate));
    if let Err(p) = link.queue.validate().and_then(at_rate) {
        problems.push(p.under("queue"));
    }
    let spec = link.for_port();
    problems.extend(spec.validate_service().err());
    problems.extend(spec.validate_wire().err());
    let mut last = Duration::ZERO;
    for (i, change) in link.changes.iter().enumerate() {
        let at = format!("changes.{i}");
        if change.at < last {
            problems.push(Problem::new(
                format!("{at}.at"),
                format!("{} lies in the past of the change before it ({last})", change.at),
            ));
        }
        last = last.max(change.at);
        if change.at > duration {
            problems.push(Problem::new(
                format!("{at}.at"),
                format!("{} lies after the end of the run ({duration})", change.at),
            ));
        }
        if change.rate.is_some() && link.rate.is_none() {
            problems.push(Problem::new(format!("{at}.rate"), "this link has no rate that could change; give it one"));
        }
        if let Err(p) = change.for_port().validate(&spec) {
            problems.push(p.under(&at));
        }
    }
    problems
}
