//! The declarations: a scenario's tables, as they are written.

use crate::expect::Expect;
use crate::grading::Grade;
use crate::nearest;
use crate::stack::Stack;
use crate::trace::Trace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::{BitRate, Bytes, Duration, Prob, Problem};

/// A network, the applications on it, and how long to run them.
///
/// Tables are keyed by name and run in the order of their names, so the order in a file never matters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What results are called.
    #[serde(default = "default_name")]
    pub name: String,
    /// Seed of every random stream.
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
    /// TCP stacks of one's own, by name: a preset and what differs from it.
    #[serde(default)]
    pub tcp: BTreeMap<String, Stack>,
    /// Routes that differ from the shortest path (by number of links, then by link name).
    #[serde(default)]
    pub route: Vec<Route>,
    /// What to measure.
    #[serde(default)]
    pub record: Record,
    /// What of the run's inside to keep, moment by moment (docs/traces.md). No other result depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// How the delay that load adds is graded; without it as `scale = "p99"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// Most packets that a run may take by an estimate that is made before it starts; a scenario that may take more is refused.
    /// Default 100000000000, some hours of computing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_packets: Option<u64>,
    /// What the run is expected to measure, by the dotted paths of its summary (`*` stands for anything): a comparison such as
    /// ">= 4.0", "< 50" or "0.9 .. 1". Judged by `bloatlab check`; no run depends on it.
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
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Node where the queue is.
    pub from: String,
    /// Node at the far end.
    pub to: String,
    /// A second link with the same parameters leads back, under the name of this one with `~` in front.
    #[serde(default)]
    pub both_ways: bool,
    /// Bits per second on the wire; without it, serialisation takes no time.
    #[serde(default)]
    pub rate: Option<BitRate>,
    /// Propagation delay.
    #[serde(default)]
    pub delay: Duration,
    /// Most that is added to a packet's propagation delay: uniform between nothing and this, drawn for each packet.
    #[serde(default)]
    pub jitter: Duration,
    /// What is added to it by unpunctual hosts: percentiles, as `summary.live.lateness_ms` has them.
    #[serde(default)]
    pub lateness: Option<port::Lateness>,
    /// A packet with less jitter overtakes those sent before it. Otherwise it waits behind them: close packets arrive
    /// together, as late as the latest.
    #[serde(default)]
    pub reorder: bool,
    /// Probability that a packet is lost on the wire, behind the queue.
    #[serde(default)]
    pub loss: Prob,
    /// Packets that are lost on the wire, whatever `loss` is: by number, from 1, in the order in which they leave the queue for
    /// the wire. Of a link with `both_ways` each direction counts for itself.
    #[serde(default)]
    pub lose: Vec<u64>,
    /// The queue discipline.
    #[serde(default = "default_queue")]
    pub queue: qdisc::Spec,
    /// A shaper between the queue and the wire: the table of a dual token bucket, or HTB.
    #[serde(default)]
    pub shaper: Option<port::Shaper>,
    /// A DOCSIS 3.0 upstream service flow between the queue and the wire.
    #[serde(default)]
    pub docsis: Option<docsis::DocsisParams>,
    /// A DOCSIS 3.1 upstream (or, with `downstream`, a CMTS's downstream) between the queue and the wire: one service flow, or an
    /// aggregate with a Low Latency one. Its channel has a rate of its own, so the link has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub docsis31: Option<docsis::Docsis31Params>,
    /// Opportunities to send in place of a rate: a recorded trace of a radio link, or a model of one (docs/links.md).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<port::Delivery>,
    /// Changes on a schedule, in order of time.
    #[serde(default)]
    pub changes: Vec<Change>,
}

/// Drop-tail of 1000 packets, as Linux's `txqueuelen`.
fn default_queue() -> qdisc::Spec {
    qdisc::Spec::Droptail(Default::default())
}

/// A change of a link at a moment of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When.
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
    /// As a port takes it.
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
    /// Bits that this link may carry in [`from`, `to`): those of its rate, or of the Maximum Sustained Traffic Rate of its
    /// shaper or modem if that is less. Changes count from their moment on. `None` without a rate.
    ///
    /// A burst is on top of a sustained rate: a link may carry more than this while its bucket lasts.
    pub fn capacity(&self, from: Duration, to: Duration) -> Option<f64> {
        if self.delivery.is_some() {
            // what a link with opportunities could carry, it counts itself
            return None;
        }
        let (mut rate, mut sustained) = (self.rate, self.shaped_rate());
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

    /// The sustained rate of a shaper or service flow that has one of its own, the mean of a link with opportunities.
    fn shaped_rate(&self) -> Option<BitRate> {
        if let Some(delivery) = &self.delivery {
            return Some(delivery.mean_rate());
        }
        let flow = self.service_flow().map(|flow| flow.max_sustained_rate);
        self.shaper.as_ref().map_or(flow, port::Shaper::own_rate)
    }

    /// The shaping of its modem, if it has one.
    pub fn service_flow(&self) -> Option<&docsis::ShaperParams> {
        let older = self.docsis.as_ref().map(|d| &d.flow);
        self.docsis31.as_ref().map_or(older, |d| Some(&d.flow))
    }

    /// The rate at which the queue is asked, in the long run: of the shaper or service flow, else of the wire.
    pub(crate) fn served_rate(&self) -> Option<BitRate> {
        self.shaped_rate().or(self.rate)
    }

    /// The rate in the long run: the one at which the queue is asked, or its own where it shapes.
    pub fn sustained_rate(&self) -> Option<BitRate> {
        self.served_rate().into_iter().chain(self.queue.shapes()).min()
    }

    /// As a port is built.
    pub(crate) fn for_port(&self) -> port::PortSpec {
        let service = match (&self.shaper, &self.docsis, &self.docsis31, &self.delivery) {
            (Some(shaper), ..) => port::Service::Shaper(shaper.clone()),
            (None, Some(docsis), ..) => port::Service::Docsis(docsis.clone()),
            (None, None, Some(docsis), _) => port::Service::Docsis31(Box::new(docsis.clone())),
            (None, None, None, Some(delivery)) => port::Service::Delivery(delivery.clone()),
            (None, None, None, None) => port::Service::Plain,
        };
        port::PortSpec {
            rate: self.rate,
            delay: self.delay,
            jitter: self.jitter,
            lateness: self.lateness,
            reorder: self.reorder,
            loss: self.loss,
            lose: self.lose.clone(),
            queue: self.queue.clone(),
            service,
        }
    }
}

/// An application: where it runs, whom it talks to, and what it does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct App {
    /// Node of the client.
    pub from: String,
    /// Nodes of the servers, in the order in which the application numbers them.
    pub to: Vec<String>,
    /// When it starts: the seed draws a moment from `start` to `start` + `start_spread`.
    #[serde(default)]
    pub start: Duration,
    /// How far seeds move the start. Default: the scenario's `start_spread`; without one the time from packet to packet of what
    /// sends regularly (`voip`, `ping`, `messages`, `cbr` at constant distances), so that its phase is drawn, but at most 1s; 0s of
    /// `proshare` and of other `cbr`, which draw their own; 100ms of everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_spread: Option<Duration>,
    /// When it stops asking for more; what is under way may finish (so an endless transfer does not stop: `length` ends it). Without it, the
    /// end of the run.
    #[serde(default)]
    pub stop: Option<Duration>,
    /// TCP stack of both ends: a congestion control (`cubic`, `reno`, `bbr`: the stack of `linux-6` with it), a preset, or a name
    /// from `tcp`.
    #[serde(default = "default_stack")]
    pub tcp: String,
    /// TCP stack of the servers, if another one.
    #[serde(default)]
    pub tcp_server: Option<String>,
    /// Differentiated services code point of its packets, 0 to 63.
    #[serde(default)]
    pub dscp: u8,
    /// ECN field of its datagrams (voip, ping, game, cbr, proshare), which never answer a mark: not_ect (the default), ect0 or
    /// ect1, as L4S traffic has it. TCP's is its stack's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagram_ecn: Option<DatagramEcn>,
    /// What it does.
    pub traffic: traffic::Traffic,
}

/// ECN field of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DatagramEcn {
    /// Not ECN-capable: dropped where others are marked.
    #[default]
    NotEct,
    /// ECT(0), classic.
    Ect0,
    /// ECT(1), L4S.
    Ect1,
}

impl App {
    /// The ECN field of its datagrams, as the IP header has it.
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

/// What to measure. Memory does not grow with the run's length: series have a fixed number of bins.
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
    /// What happens before this is left out of the summary: of every counter, rate and distribution. Tables of single events
    /// and series hold the whole run.
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
    /// bytes; parsing it gives the scenario back.
    pub fn canonical(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The stack that `name` means: one of this scenario's own, or a preset.
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
