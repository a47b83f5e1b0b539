//! The declarations: a scenario's tables, as written in a file.

use crate::expect::Expect;
use crate::grading::Grade;
use crate::nearest;
use crate::service::LinkKeys;
use crate::stack::Stack;
use crate::trace::Trace;
use port::Service;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use units::{BitRate, Bytes, Duration, Prob, Problem};

/// A network, the applications on it, and how long to run them.
///
/// Tables are keyed by name and run in the order of their names, so the order in a file never matters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the results.
    #[serde(default = "default_name")]
    pub name: String,
    /// Seed of all random streams.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Simulated time.
    pub duration: Duration,
    /// `start_spread` of the applications that have none of their own: `"0s"` starts each exactly at its `start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_spread: Option<Duration>,
    /// Links, by name. Nodes exist by being an end of a link.
    pub link: BTreeMap<String, Link>,
    /// Applications, by name.
    #[serde(default)]
    pub app: BTreeMap<String, App>,
    /// User-defined TCP stacks, by name: a preset and the parameters that differ from it.
    #[serde(default)]
    pub tcp: BTreeMap<String, Stack>,
    /// Routes that differ from the shortest path (by number of links, then by link name).
    #[serde(default)]
    pub route: Vec<Route>,
    /// Measurements to record.
    #[serde(default)]
    pub record: Record,
    /// Internal state to trace over time (docs/traces.md). No other result depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// Grading of the delay that load adds; by default `scale = "p99"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// Most packets that a run may take, by an estimate before it starts; a scenario that may take more is refused.
    /// Default 100000000000, some hours of computing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_packets: Option<u64>,
    /// Expected measures, by the dotted paths of the summary (`*` matches any name): a comparison such as
    /// ">= 4.0", "< 50" or "0.9 .. 1". Evaluated by `bloatlab check`; no run depends on it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expect: BTreeMap<String, Expect>,
}

fn default_name() -> String {
    "scenario".to_owned()
}
fn default_seed() -> u64 {
    1
}

/// A one-way link from one node to another: a queue, something that serves it, and a propagation delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Link {
    /// Node where the queue is.
    pub from: String,
    /// Node at the far end.
    pub to: String,
    /// Adds a second link with the same parameters in the other direction, named like this one with `~` in front.
    #[serde(default)]
    pub both_ways: bool,
    /// Bits per second on the wire; without it, serialisation takes no time.
    #[serde(default)]
    pub rate: Option<BitRate>,
    /// Propagation delay.
    #[serde(default)]
    pub delay: Duration,
    /// Greatest addition to a packet's propagation delay: uniform between zero and this, drawn for each packet.
    #[serde(default)]
    pub jitter: Duration,
    /// Addition to the propagation delay by late hosts: percentiles, as in `summary.live.lateness_ms`.
    #[serde(default)]
    pub lateness: Option<port::Lateness>,
    /// Lets jitter reorder packets. If false, order is kept: a packet with less jitter waits for those sent before it,
    /// and close packets arrive together, as late as the latest.
    #[serde(default)]
    pub reorder: bool,
    /// Probability that a packet is lost on the wire, behind the queue.
    #[serde(default)]
    pub loss: Prob,
    /// Packets that are lost on the wire, whatever `loss` is: by number, from 1, in the order in which they leave the queue for
    /// the wire. With `both_ways`, each direction counts its own packets.
    #[serde(default)]
    pub lose: Vec<u64>,
    /// The queue discipline.
    #[serde(default = "default_queue")]
    pub queue: qdisc::Spec,
    /// The service that takes packets from the queue.
    #[serde(flatten, with = "crate::service")]
    #[schemars(with = "crate::service::Keys<'static>")]
    pub service: Service,
    /// Changes on a schedule, in order of time.
    #[serde(default)]
    pub changes: Vec<Change>,
}

/// All keys of a link.
static KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let schema = schemars::schema_for!(Link);
    let properties = schema.get("properties").and_then(serde_json::Value::as_object);
    properties.into_iter().flat_map(|p| p.keys().map(|key| &*key.clone().leak())).collect()
});

impl Serialize for Link {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, s)
    }
}

impl<'de> Deserialize<'de> for Link {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Link;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Link, A::Error> {
                let mut found = None;
                let link =
                    Link::deserialize(MapAccessDeserializer::new(LinkKeys { map, known: &KEYS, found: &mut found }))?;
                Ok(Link { service: found.map_or(Service::Plain, |(_, service)| service), ..link })
            }
        }
        d.deserialize_map(V)
    }
}

/// Drop-tail of 1000 packets, as Linux's `txqueuelen`.
fn default_queue() -> qdisc::Spec {
    qdisc::Spec::Droptail(Default::default())
}

/// A change of a link at a moment of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Time of the change.
    pub at: Duration,
    /// New link rate; the rate of an HTB that has none of its own.
    #[serde(default)]
    pub rate: Option<BitRate>,
    /// New propagation delay, for packets that leave from then on.
    #[serde(default)]
    pub delay: Option<Duration>,
    /// New jitter, for packets that leave from then on.
    #[serde(default)]
    pub jitter: Option<Duration>,
    /// New loss probability.
    #[serde(default)]
    pub loss: Option<Prob>,
    /// New Maximum Sustained Traffic Rate of the shaper or service flow; new rate of an HTB that has its own.
    #[serde(default)]
    pub max_sustained_rate: Option<BitRate>,
    /// New Peak Traffic Rate of the shaper or service flow; new ceil of an HTB that has one.
    #[serde(default)]
    pub peak_traffic_rate: Option<BitRate>,
    /// New mean of the modem's largest grant per MAP.
    #[serde(default)]
    pub max_grant: Option<Bytes>,
}

impl Change {
    /// Converts to a port's change.
    pub(crate) fn for_port(&self) -> port::Change {
        port::Change {
            rate: self.rate,
            delay: self.delay,
            jitter: self.jitter,
            loss: self.loss,
            max_sustained_rate: self.max_sustained_rate,
            peak_traffic_rate: self.peak_traffic_rate,
            max_grant: self.max_grant,
        }
    }
}

impl Link {
    /// Bits that this link may carry in [`from`, `to`): by its rate, or by the Maximum Sustained Traffic Rate of its
    /// shaper or modem if that is lower. Changes count from their time on. `None` without a rate.
    ///
    /// Bursts are not included: a link may carry more than this while its bucket lasts.
    pub fn capacity(&self, from: Duration, to: Duration) -> Option<f64> {
        if matches!(self.service, Service::Delivery(_)) {
            // a link with opportunities counts its capacity itself
            return None;
        }
        let (mut rate, mut sustained) = (self.rate, self.service.own_rate());
        let mut at = from;
        let mut bits = 0.0;
        let last = Change { at: to, ..Change::default() };
        for change in self.changes.iter().chain([&last]) {
            let until = change.at.clamp(from, to);
            let now = rate.into_iter().chain(sustained).chain(self.queue.shapes()).min()?;
            bits += now.0 as f64 * until.saturating_sub(at).secs();
            at = until;
            rate = change.rate.or(rate);
            sustained = change.max_sustained_rate.or(sustained);
        }
        Some(bits)
    }

    /// The long-term rate at which the queue is served: that of the shaper or service flow, else of the wire.
    pub(crate) fn served_rate(&self) -> Option<BitRate> {
        self.service.own_rate().or(self.rate)
    }

    /// The long-term rate of the link: the rate at which the queue is served, or the rate to which the queue shapes if lower.
    pub fn sustained_rate(&self) -> Option<BitRate> {
        self.served_rate().into_iter().chain(self.queue.shapes()).min()
    }

    /// Converts to the specification of a port.
    pub(crate) fn for_port(&self) -> port::PortSpec {
        port::PortSpec {
            rate: self.rate,
            delay: self.delay,
            jitter: self.jitter,
            lateness: self.lateness,
            reorder: self.reorder,
            loss: self.loss,
            lose: self.lose.clone(),
            queue: self.queue.clone(),
            service: self.service.clone(),
        }
    }
}

/// An application: its client, its servers and its traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct App {
    /// Node of the client.
    pub from: String,
    /// Nodes of the servers, in the order in which the application numbers them.
    pub to: Vec<String>,
    /// Start time: the seed draws a moment from `start` to `start` + `start_spread`.
    #[serde(default)]
    pub start: Duration,
    /// How far seeds move the start. Default: the scenario's `start_spread`; without one the time from packet to packet of what
    /// sends regularly (`voip`, `ping`, `messages`, `cbr` at constant distances), so that its phase is drawn, but at most 1s; 0s of
    /// `proshare` and of other `cbr`, which draw their own; 100ms of everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_spread: Option<Duration>,
    /// Time from which it starts nothing new; transfers in progress may finish (an endless transfer does not stop: `length` ends
    /// it). By default the end of the run.
    #[serde(default)]
    pub stop: Option<Duration>,
    /// TCP stack of both ends: a congestion control (`cubic`, `reno`, `bbr`: the stack of `linux-6` with it), a preset, or a name
    /// from `tcp`.
    #[serde(default = "default_stack")]
    pub tcp: String,
    /// TCP stack of the servers, if different.
    #[serde(default)]
    pub tcp_server: Option<String>,
    /// Differentiated services code point of its packets, 0 to 63.
    #[serde(default)]
    pub dscp: u8,
    /// ECN field of its datagrams (voip, ping, game, cbr, proshare), which do not respond to marks: not_ect (the default), ect0
    /// or ect1, as in L4S traffic. TCP's is set by its stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagram_ecn: Option<DatagramEcn>,
    /// Its traffic.
    pub traffic: traffic::Traffic,
}

/// ECN field of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DatagramEcn {
    /// Not ECN-capable: dropped where ECN-capable packets are marked.
    #[default]
    NotEct,
    /// ECT(0), classic.
    Ect0,
    /// ECT(1), L4S.
    Ect1,
}

impl App {
    /// The ECN field of its datagrams, as in the IP header.
    pub fn datagram_ecn(&self) -> u8 {
        match self.datagram_ecn.unwrap_or_default() {
            DatagramEcn::NotEct => 0,
            DatagramEcn::Ect0 => 2,
            DatagramEcn::Ect1 => 1,
        }
    }
}

fn default_stack() -> String {
    "linux-6".to_owned()
}

/// A fixed next hop: packets at node `at` that are going to node `to` leave by link `via`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The node that decides.
    pub at: String,
    /// The destination.
    pub to: String,
    /// The link to take.
    pub via: String,
}

/// Measurements to record. Memory does not grow with the run's length: series have a fixed number of bins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Width of a bin of the series; by default a 6000th of the duration.
    #[serde(default)]
    pub interval: Option<Duration>,
    /// Links with series and distributions (counters are kept for all); by default every link that can hold a queue:
    /// one with a rate, a shaper or a modem.
    #[serde(default)]
    pub links: Option<Vec<String>>,
    /// Applications with series of each flow (windows, rates); by default all.
    #[serde(default)]
    pub apps: Option<Vec<String>>,
    /// Time at the start that the summary leaves out of every counter, rate and distribution. Tables of single events
    /// and series cover the whole run.
    #[serde(default)]
    pub warm_up: Duration,
}

impl Scenario {
    /// The JSON Schema of a scenario, generated from these declarations.
    pub fn json_schema() -> String {
        let schema = schemars::schema_for!(Scenario);
        serde_json::to_string_pretty(&schema).unwrap_or_default()
    }

    /// The canonical form: every default filled in, keys in one order, units in one spelling. Equal scenarios give equal
    /// bytes; parsing it returns the same scenario.
    pub fn canonical(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The stack of this name: one of this scenario's own, or a preset.
    pub fn stack(&self, name: &str) -> Result<tcp::TcpParams, Problem> {
        match self.tcp.get(name) {
            Some(own) => own.resolve().map_err(|p| p.under(name).under("tcp")),
            None => tcp::TcpParams::preset(name).ok_or_else(|| {
                let known: Vec<&str> =
                    self.tcp.keys().map(String::as_str).chain(tcp::PRESETS.iter().map(|p| p.0)).collect();
                Problem::new("", nearest::unknown("TCP stack", name, &known))
            }),
        }
    }

    /// Width of a bin of the series.
    pub fn bin(&self) -> Duration {
        self.record.interval.unwrap_or(Duration((self.duration.0 / 6000).max(1)))
    }

    /// All links with `both_ways` unfolded: (name, link), in order of names.
    pub fn directed_links(&self) -> Vec<(String, Link)> {
        let mut all = BTreeMap::new();
        for (name, link) in &self.link {
            if link.both_ways {
                let back = Link { from: link.to.clone(), to: link.from.clone(), both_ways: false, ..link.clone() };
                all.insert(format!("~{name}"), back);
            }
            all.insert(name.clone(), Link { both_ways: false, ..link.clone() });
        }
        all.into_iter().collect()
    }
}
