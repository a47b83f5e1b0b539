//! Scenarios for the tests of worlds, in TOML, written by hand or by a seeded generator.
#![allow(dead_code)] // each test file uses only some of these items

use record::{Mask, Record, Sink};
use scenario::Scenario;
use scenario::read::{Format, scenario};
use sim::{Column, Outcome, World};
use std::fmt::Write;
use units::{Duration, Rng, Time};

/// Parses a scenario. Sets `start_spread` and the `think_spread` of web users to 0 where the text does not set them. If
/// the scenario is invalid, panics with a list of its problems.
pub(crate) fn read(toml: &str) -> Scenario {
    let mut read = scenario(toml, Format::Toml, &[]).unwrap_or_else(|p| panic!("{p:#?}\n{toml}"));
    read.start_spread.get_or_insert(Duration::ZERO);
    for app in read.app.values_mut() {
        if let traffic::Traffic::Web(web) = &mut app.traffic {
            web.think_spread.get_or_insert(Duration::ZERO);
        }
    }
    read
}

/// Runs a scenario to its end, without a sink.
pub(crate) fn run(toml: &str) -> Outcome {
    let s = read(toml);
    let mut w = World::build(&s).unwrap();
    w.run(|_| true);
    w.outcome(&s)
}

/// A sink that keeps the records that a mask selects. With any mask other than [`Mask::NONE`], no link is on the fast path.
/// Tests share this sink, because the whole simulator is compiled again for each type of sink.
pub(crate) struct Ear {
    mask: Mask,
    pub records: Vec<(Time, Record)>,
}

impl Ear {
    pub(crate) fn new(mask: Mask) -> Self {
        Self { mask, records: Vec::new() }
    }
}

impl Sink for Ear {
    fn mask(&self) -> Mask {
        self.mask
    }
    fn put(&mut self, now: Time, record: Record) {
        self.records.push((now, record));
    }
}

/// Returns the summary without the number of events, as text.
fn summary(outcome: &Outcome) -> String {
    let mut summary = outcome.summary.clone();
    summary.as_object_mut().unwrap().remove("events");
    format!("{summary:#}")
}

/// Returns true if two outcomes have the same bits, except the number of events.
pub(crate) fn equal(one: &Outcome, other: &Outcome) -> bool {
    one.tables == other.tables && summary(one) == summary(other)
}

/// Returns the whole outcome except the number of events, as text.
pub(crate) fn said(outcome: &Outcome) -> String {
    let mut text = summary(outcome) + "\n";
    for table in &outcome.tables {
        for (name, column) in &table.columns {
            writeln!(text, "{} {name} {column:?}", table.name).unwrap();
        }
    }
    text
}

/// Returns a number in the summary by its path (`links.up.offered_packets`).
pub(crate) fn number(outcome: &Outcome, path: &str) -> f64 {
    let v = path.split('.').fold(&outcome.summary, |v, key| &v[key]);
    v.as_f64().unwrap_or_else(|| panic!("no number at {path}: {v}"))
}

pub(crate) fn column<'a>(outcome: &'a Outcome, table: &str, name: &str) -> &'a Column {
    let table = outcome.tables.iter().find(|t| t.name == table).expect("a table of this name");
    &table.columns.iter().find(|c| c.0 == name).expect("a column of this name").1
}

/// Returns the values of the numeric column `name`, from the rows in which the text column `key` has the value `is`.
pub(crate) fn series(outcome: &Outcome, table: &str, name: &str, key: &str, is: &str) -> Vec<f64> {
    let (Column::Text(keys), values) = (column(outcome, table, key), column(outcome, table, name)) else {
        panic!("{key} is not text")
    };
    let at = |i: usize| match values {
        Column::F64(v) => v[i],
        Column::U64(v) => v[i] as f64,
        Column::Text(_) | Column::Unknown(_) => panic!("{name} is no number"),
    };
    (0..keys.len()).filter(|&i| keys[i] == *is).map(at).collect()
}

/// The modem of CableLabs 2012, without applications: 5 Mbit/s upstream with 10 MB bursts at 20 Mbit/s, its access links, and
/// four servers with round trips of 20, 30, 50 and 100 ms. `{queue}` is the upstream queue, `{seconds}` the duration.
pub(crate) const MODEM: &str = r#"
name = "modem"
duration = "{seconds}s"
[link.lan]
from = "home"
to = "modem"
rate = "1gbit"
both_ways = true
queue.droptail = { limit = "100000p" }
[link.up]
from = "modem"
to = "cmts"
rate = "100mbit"
delay = "1ms"
queue.{queue}
docsis.flow = { max_sustained_rate = "5mbit", max_traffic_burst = "10MB", peak_traffic_rate = "20mbit" }
[link.down]
from = "cmts"
to = "modem"
rate = "100mbit"
delay = "1ms"
shaper = { max_sustained_rate = "20mbit", max_traffic_burst = "20MB", peak_traffic_rate = "50mbit" }
[link.w1]
from = "cmts"
to = "web1"
rate = "1gbit"
delay = "9ms"
both_ways = true
[link.w2]
from = "cmts"
to = "web2"
rate = "1gbit"
delay = "14ms"
both_ways = true
[link.w3]
from = "cmts"
to = "web3"
rate = "1gbit"
delay = "24ms"
both_ways = true
[link.w4]
from = "cmts"
to = "web4"
rate = "1gbit"
delay = "49ms"
both_ways = true
"#;

/// A call, a web user and five bulk uploads, as in case D04 of CableLabs 2012.
pub(crate) const D04_APPS: &str = r#"
[app.voip]
from = "home"
to = ["web1"]
traffic.voip = {}
[app.web]
from = "home"
to = ["web1", "web2", "web3", "web4"]
tcp = "ns2-fulltcp-sack"
start = "1s"
traffic.web = {}
[app.ftp]
from = "home"
to = ["web2"]
tcp = "ns2-cubic-2.6.22"
traffic.ftp = { flows = 5 }
"#;

/// Returns [`MODEM`] with this upstream queue, this duration and these applications.
pub(crate) fn modem(queue: &str, seconds: u32, apps: &str) -> String {
    MODEM.replace("{queue}", queue).replace("{seconds}", &seconds.to_string()) + apps
}

/// The kind of rates, delays and start times in random scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Round rates, delays and start times, so that many events are simultaneous.
    Round,
    /// Arbitrary rates, delays and start times, so that events are simultaneous only by chance.
    Odd,
}

/// Generates random networks with random applications; the same seed (`number` in [`Dice::new`]) gives the same networks.
pub(crate) struct Dice {
    pub rng: Rng,
    pub numbers: Numbers,
    /// True if links with a rate and a drop-tail queue may also have loss, a shaper, a schedule or a DOCSIS modem. With
    /// one of these features, a link is never on the fast path.
    pub any_link: bool,
    /// True if networks may have links with delivery opportunities.
    pub opportunities: bool,
    /// True if shapers are the only features that `any_link` adds.
    pub shapers: bool,
}

impl Dice {
    pub(crate) fn new(number: u64, numbers: Numbers, any_link: bool) -> Self {
        Self { rng: Rng::named(number, "dice"), numbers, any_link, opportunities: false, shapers: false }
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.below(of.len() as u64) as usize]
    }

    fn rate(&mut self, least: u64, most: u64) -> String {
        match self.numbers {
            Numbers::Round => {
                let all = [1, 2, 5, 10, 20, 100];
                let fit: Vec<u64> = all.into_iter().filter(|r| (least..=most).contains(r)).collect();
                format!("{}mbit", self.pick(&fit))
            }
            Numbers::Odd => format!("{}bit", least * 1_000_000 + self.rng.below((most - least) * 1_000_000)),
        }
    }

    fn delay(&mut self) -> String {
        match self.numbers {
            Numbers::Round => self.pick(&["0s", "1ms", "1ms", "5ms", "10ms"]).to_owned(),
            Numbers::Odd => format!("{}ns", self.rng.below(15_000_000)),
        }
    }

    fn queue(&mut self) -> String {
        let off = self.rng.below(2) == 0;
        let limit = match self.rng.below(4) {
            0 => format!("{}p", 2 + self.rng.below(9)),
            1 => format!("{}p", 10 + self.rng.below(60)),
            2 => format!("{}B", 3000 + self.rng.below(60_000)),
            _ => format!("{}us", 12_000 + self.rng.below(60_000)),
        };
        format!("queue.droptail = {{ limit = \"{limit}\", ns2_off_by_one = {off} }}")
    }

    fn link(&mut self, text: &mut String, name: &str, from: &str, to: &str, rate: Option<(u64, u64)>) {
        writeln!(text, "[link.{name}]\nfrom = \"{from}\"\nto = \"{to}\"").unwrap();
        writeln!(text, "delay = \"{}\"", self.delay()).unwrap();
        match rate {
            Some(_) if self.opportunities && self.rng.below(3) == 0 => {
                // the times in this trace are whole milliseconds, so that opportunities and arrivals are often
                // simultaneous
                let trace = "delivery.trace = { source = \"+1x3 +0 +2x2 +5\", opportunity = \"1514B\" }";
                writeln!(text, "{trace}\nqueue.droptail = {{ limit = \"{}p\" }}", 2 + self.rng.below(60)).unwrap();
            }
            Some((least, most)) => {
                let rate = self.rate(least, most);
                let any = self.shapers && self.rng.below(2) == 0;
                let queue = if any { format!("queue.{}", self.discipline()) } else { self.queue() };
                writeln!(text, "rate = \"{rate}\"\n{queue}").unwrap();
                if self.any_link {
                    self.special(text);
                }
            }
            None => writeln!(text, "queue.droptail = {{ limit = \"5000p\" }}").unwrap(),
        }
    }

    /// With a probability of 2/3, adds a feature that the fast path does not support, so the link must be a port.
    fn special(&mut self, text: &mut String) {
        if self.shapers {
            return self.shaper(text);
        }
        match self.rng.below(6) {
            0 => writeln!(text, "loss = 0.02").unwrap(),
            1 => writeln!(
                text,
                "shaper = {{ max_sustained_rate = \"2mbit\", max_traffic_burst = \"50KB\", peak_traffic_rate = \"8mbit\" }}"
            )
            .unwrap(),
            2 => writeln!(
                text,
                "changes = [{{ at = \"2s\", rate = \"3mbit\", delay = \"7ms\" }}, {{ at = \"4s\", rate = \"10mbit\", loss = 0.01 }}]"
            )
            .unwrap(),
            3 => writeln!(
                text,
                "docsis.flow = {{ max_sustained_rate = \"5mbit\", max_traffic_burst = \"100KB\", peak_traffic_rate = \"20mbit\" }}"
            )
            .unwrap(),
            _ => {}
        }
    }

    /// With a probability of 2/3, adds a shaper.
    fn shaper(&mut self, text: &mut String) {
        match self.rng.below(3) {
            0 => {
                let (burst, peak) = (self.pick(&["3KB", "50KB"]), self.pick(&["", ", peak_traffic_rate = \"8mbit\""]));
                let flow = format!("max_sustained_rate = \"2mbit\", max_traffic_burst = \"{burst}\"{peak}");
                writeln!(text, "shaper = {{ {flow} }}").unwrap();
            }
            1 => {
                let rate = self.pick(&["2mbit", "4mbit"]);
                writeln!(text, "shaper.htb = {{ rate = \"{rate}\", ceil = \"4mbit\" }}").unwrap();
            }
            _ => {}
        }
    }

    /// Returns a scenario of 6 s with a random network and random applications.
    pub(crate) fn scenario(&mut self) -> String {
        let mut text = self.head();
        let hosts = if self.rng.below(2) == 0 { self.dumbbell(&mut text) } else { self.mesh(&mut text) };
        self.apps(&mut text, &hosts);
        text
    }

    /// Returns a random tree with its applications, for 6 s. On each path, there are two links before the bottleneck and two
    /// behind it.
    pub(crate) fn tree(&mut self) -> String {
        let mut text = self.head();
        let hosts = self.two_links_each(&mut text);
        self.apps(&mut text, &hosts);
        text
    }

    /// Returns a random line of links with its applications, for 6 s. Most links in the middle have a discipline that
    /// needs a port. Some of these ports have a tail: often there is only one host at an end of the line, so all
    /// packets of a port go on to the same host.
    pub(crate) fn line(&mut self) -> String {
        let mut text = self.head();
        let access = if self.rng.below(3) == 0 { None } else { Some((10, 100)) };
        let mut hosts = Vec::new();
        for (side, hub) in [("a", "l"), ("b", "r")] {
            let several = self.rng.below(4) == 0;
            for i in 0..1 + u64::from(several) {
                let mut at = format!("{side}{i}");
                hosts.push(at.clone());
                for n in 0..1 + self.rng.below(2) {
                    // links are numbered in the order of their names. `c` comes before the name of the link at the hub (`m`),
                    // and `z` after it, so numbers rise or fall along a path
                    let name = self.pick(&["c", "z"]);
                    let next = format!("{side}{i}r{n}");
                    self.link(&mut text, &format!("{name}_{at}_out"), &at, &next, access);
                    self.link(&mut text, &format!("{name}_{at}_in"), &next, &at, access);
                    at = next;
                }
                if self.rng.below(3) > 0 {
                    self.link(&mut text, &format!("m_{at}_out"), &at, hub, access);
                    self.managed(&mut text, &format!("m_{at}_in"), hub, &at);
                } else {
                    self.managed(&mut text, &format!("m_{at}_out"), &at, hub);
                    self.link(&mut text, &format!("m_{at}_in"), hub, &at, access);
                }
            }
        }
        self.managed(&mut text, "neck", "l", "r");
        self.managed(&mut text, "back", "r", "l");
        self.apps(&mut text, &hosts);
        if self.rng.below(3) == 0 {
            // with this stack, packets have several segments, which some disciplines (such as CAKE) split
            text = text.replace("tcp = \"linux-6\"", "tcp = \"offload\"");
            text += "[tcp.offload]\npreset = \"linux-6\"\ntso = true\ngso_max_segs = 17\n";
        }
        text
    }

    /// Returns a random discipline. Each of them needs a port, except `droptail` without `drop_head`.
    fn discipline(&mut self) -> &'static str {
        let queue = self.pick(&[
            "codel = { limit = \"40p\" }",
            "codel = { limit = \"1000p\" }",
            "fq_codel = {}",
            "pie = {}",
            "red = { limit = \"30p\" }",
            "droptail = { limit = \"20p\", drop_head = true }",
            "droptail = { limit = \"20p\" }",
            "sfq = {}",
            "cake = {}",
            "docsis_pie = {}",
            "dualpi2 = {}",
        ]);
        let shaped = queue == "cake = {}" && self.rng.below(2) == 0;
        if shaped { "cake = { bandwidth = \"1mbit\" }" } else { queue }
    }

    /// Writes a link with a random discipline.
    fn managed(&mut self, text: &mut String, name: &str, from: &str, to: &str) {
        let (rate, delay) = (self.rate(1, 10), self.delay());
        let queue = self.discipline();
        writeln!(text, "[link.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}\"\ndelay = \"{delay}\"")
            .unwrap();
        writeln!(text, "queue.{queue}").unwrap();
    }

    fn head(&mut self) -> String {
        format!(
            "name = \"random\"\nduration = \"6s\"\nrecord.interval = \"10ms\"\nseed = {}\n",
            1 + self.rng.below(1000)
        )
    }

    /// Writes a bottleneck; returns the number of hosts on each side, and the range of the rates of their links.
    fn bottleneck(&mut self, text: &mut String) -> (u64, Option<(u64, u64)>) {
        let n = 2 + self.rng.below(3);
        let access = if self.rng.below(3) == 0 { None } else { Some((10, 100)) };
        self.link(text, "neck", "l", "r", Some((1, 10)));
        self.link(text, "back", "r", "l", Some((1, 100)));
        (n, access)
    }

    /// Writes n hosts, a bottleneck, and n hosts behind it. Each host has an access link to the bottleneck, and an
    /// access link from it.
    fn dumbbell(&mut self, text: &mut String) -> Vec<String> {
        let (n, access) = self.bottleneck(text);
        let mut hosts = Vec::new();
        for i in 0..n {
            for (side, hub) in [("a", "l"), ("b", "r")] {
                let host = format!("{side}{i}");
                self.link(text, &format!("{host}_out"), &host, hub, access);
                self.link(text, &format!("{host}_in"), hub, &host, access);
                hosts.push(host);
            }
        }
        hosts
    }

    /// Writes n hosts, a bottleneck, and n hosts behind it, with a router between each host and the bottleneck. Packets
    /// that several hosts send at the same time may reach the bottleneck at the same time, even if their times on each
    /// link differ.
    fn two_links_each(&mut self, text: &mut String) -> Vec<String> {
        let (n, access) = self.bottleneck(text);
        let mut hosts = Vec::new();
        for i in 0..n {
            for (side, hub) in [("a", "l"), ("b", "r")] {
                let (host, router) = (format!("{side}{i}"), format!("{side}{i}r"));
                // in half of the paths, the two links have names, and therefore numbers, in the reverse order
                let [first, second] = if self.rng.below(2) == 0 { ["p", "q"] } else { ["q", "p"] };
                self.link(text, &format!("{first}_{host}_out"), &host, &router, access);
                self.link(text, &format!("{second}_{host}_out"), &router, hub, access);
                self.link(text, &format!("{first}_{host}_in"), hub, &router, access);
                self.link(text, &format!("{second}_{host}_in"), &router, &host, access);
                hosts.push(host);
            }
        }
        hosts
    }

    /// Writes a ring of nodes with a few chords; every node is a host.
    fn mesh(&mut self, text: &mut String) -> Vec<String> {
        let n = 4 + self.rng.below(3);
        let mut joined = std::collections::BTreeSet::new();
        for i in 0..n {
            joined.insert((i, (i + 1) % n));
        }
        for _ in 0..2 {
            let (a, b) = (self.rng.below(n), self.rng.below(n));
            if a != b && !joined.contains(&(b, a)) {
                joined.insert((a, b));
            }
        }
        for (a, b) in joined {
            self.link(text, &format!("m{a}_{b}"), &format!("n{a}"), &format!("n{b}"), Some((1, 20)));
            self.link(text, &format!("m{b}_{a}"), &format!("n{b}"), &format!("n{a}"), Some((1, 20)));
        }
        (0..n).map(|i| format!("n{i}")).collect()
    }

    fn apps(&mut self, text: &mut String, hosts: &[String]) {
        for i in 0..2 + self.rng.below(5) {
            let from = self.rng.below(hosts.len() as u64) as usize;
            // in a dumbbell, the list of hosts alternates between the two sides, so an odd number of steps in the list
            // leads to a host on the other side. A path between two hosts on the same side may have no link with a
            // rate, so nothing would limit a flow
            let to = (from + 1 + 2 * self.rng.below(hosts.len() as u64 / 2) as usize) % hosts.len();
            let to = if to == from { (from + 1) % hosts.len() } else { to };
            let (from, to) = (&hosts[from], &hosts[to]);
            let tcp = self.pick(&["linux-6", "rfc", "ns2-cubic-2.6.22", "ns2-reno", "ns2-fulltcp-sack"]);
            let start = match self.numbers {
                Numbers::Round => self.pick(&["0s", "0s", "1s"]).to_owned(),
                Numbers::Odd => format!("{}us", self.rng.below(2_000_000)),
            };
            let traffic = self.pick(&[
                "ftp = { flows = 2 }",
                "ftp = { size = \"20KB\", pause = \"50ms\", flows = 2, direction = \"down\" }",
                "ftp = { flows = 3, direction = \"down\" }",
                "cbr = { rate = \"1mbit\", size = 500 }",
                "cbr = { rate = \"2mbit\", size = 1500, randomize = 0.5 }",
                "cbr = { rate = \"2mbit\", size = 1250 }",
                "voip = {}",
                "web = { servers = 1, think = \"100ms\", page = { uniform = { html = \"5KB\", size = \"4KB\", per_server = 10 } } }",
                "web = { servers = 1, think = \"100ms\", page = { lognormal = { total = \"60KB\", draw = \"each_page\" } } }",
                "messages = { interval = \"300ms\" }",
            ]);
            writeln!(
                text,
                "[app.x{i}]\nfrom = \"{from}\"\nto = [\"{to}\"]\nstart = \"{start}\"\ntcp = \"{tcp}\"\ntraffic.{traffic}"
            )
            .unwrap();
        }
    }
}

/// Two applications with many short downloads over different links. Packets of `x` are lost, duplicated or late, so some of
/// them travel after their connections have ended, when connections of `y` begin. Only `x` uses the links `l1`, `l2` and their
/// reverse links, and only `y` uses the DSCP 10.
pub(crate) const STALE: &str = r#"
duration = "20s"
trace.packets = true
[link.l1]
from = "a"
to = "b"
both_ways = true
rate = "20mbit"
delay = "20ms"
loss = 0.01
impairments = { reordering = { chance = 0.2, by = "25ms" }, duplicates = 0.05 }
[link.l2]
from = "b"
to = "c"
both_ways = true
rate = "20mbit"
delay = "2ms"
loss = 0.3
[link.l2.queue.cbq]
classes = [{ name = "to_y", share = 0.5, match = { dport = [2] } }, { name = "rest", share = 0.5 }]
[link.m]
from = "a"
to = "d"
both_ways = true
rate = "50mbit"
delay = "5ms"
[app.x]
from = "a"
to = ["c"]
traffic.short = { interval = "11ms", direction = "down" }
[app.y]
from = "a"
to = ["d"]
dscp = 10
traffic.short = { interval = "7ms", direction = "down" }
"#;
