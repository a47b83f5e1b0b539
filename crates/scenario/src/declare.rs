//! The declaration of a scenario: its tables, as written in a file. The modules `link` and `app` declare links and
//! applications.

use crate::app::App;
use crate::expect::Expect;
use crate::grading::Grade;
use crate::link::Link;
use crate::stack::{Stack, unknown_stack};
use crate::trace::Trace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::{Duration, Problem};

/// A network, the applications on it, and the duration of the run.
///
/// Links, applications and TCP stacks are processed in the order of their names, so their order in a file does not
/// matter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the scenario, which is stored in its results.
    #[serde(default = "default_name")]
    pub name: String,
    /// Seed of all random numbers. With another seed, the same scenario runs with other random numbers.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Simulated time.
    pub duration: Duration,
    /// Width of the interval from which the start of each application is drawn at random; null: depends on the traffic
    /// of each application. The interval begins at the application's `start`. With `"0s"`, every application starts
    /// exactly at its `start`. An application with its own `start_spread` ignores this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_spread: Option<Duration>,
    /// Links, by name. Nodes are not declared: a node exists if a link begins or ends at it.
    pub link: BTreeMap<String, Link>,
    /// Applications, by name.
    #[serde(default)]
    pub app: BTreeMap<String, App>,
    /// Your own TCP stacks, by name. Each consists of a preset and of the parameters that differ from the preset.
    #[serde(default)]
    pub tcp: BTreeMap<String, Stack>,
    /// Fixed next hops. All other packets take the path with the fewest links. If several paths have equally few links,
    /// a node uses the link whose name sorts first.
    #[serde(default)]
    pub route: Vec<Route>,
    /// Measurements to record.
    #[serde(default)]
    pub record: Record,
    /// Internal state to record over time (docs/traces.md).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// How to grade the delay that the traffic adds. Default: `scale = "p99"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// Maximum number of packets in a run. A scenario that may need more is refused before it starts. The default takes
    /// some hours to compute. Packets of transports that you write yourself (docs/transports.md) do not count. Default:
    /// 100000000000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_packets: Option<u64>,
    /// Expected values of measures. Each key is the dotted path of a measure in the summary of the result, where `*`
    /// matches any text. Each value is a comparison such as ">= 4.0", "< 50" or "0.9 .. 1". `bloatlab check` evaluates
    /// the comparisons; they do not affect the run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expect: BTreeMap<String, Expect>,
}

fn default_name() -> String {
    "scenario".to_owned()
}
fn default_seed() -> u64 {
    1
}

/// A fixed next hop: at node `at`, packets with the destination `to` leave by link `via`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The node at which the route applies.
    pub at: String,
    /// The destination of the packets.
    pub to: String,
    /// The link by which these packets leave.
    pub via: String,
}

/// Measurements that the run records. A time series divides the run into intervals of equal length, called bins. Unless
/// `interval` is set, there are about 6000 bins, however long the run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Width of a bin of the time series. The last bin may be narrower. Default: 1/6000 of the duration.
    #[serde(default)]
    pub interval: Option<Duration>,
    /// Links for which time series and distributions are recorded. All other links have counters only. Default: every
    /// link with a rate, a shaper, a modem or a `delivery`.
    #[serde(default)]
    pub links: Option<Vec<String>>,
    /// Applications whose flows are recorded as time series: windows, rates and others. Default: all.
    #[serde(default)]
    pub apps: Option<Vec<String>>,
    /// Length of the warm-up, at the start of the run. The summary leaves it out, except in the measures whose
    /// descriptions say that they cover the whole run (docs/results.md). Time series and tables of single events cover
    /// the whole run.
    #[serde(default)]
    pub warm_up: Duration,
}

impl Scenario {
    /// Returns a scenario's JSON Schema, generated from these declarations.
    pub fn json_schema() -> String {
        let schema = schemars::schema_for!(Scenario);
        serde_json::to_string_pretty(&schema).unwrap_or_default()
    }

    /// Returns the canonical form: JSON with keys in a fixed order, and one spelling for every value. Defaults are
    /// filled in; a few optional keys without a value are omitted. Equal scenarios give equal bytes, and parsing the
    /// form gives the same scenario.
    pub fn canonical(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the stack with this name: a stack defined in this scenario, or a preset.
    pub fn stack(&self, name: &str) -> Result<tcp::TcpParams, Problem> {
        match self.tcp.get(name) {
            Some(own) => own.resolve().map_err(|p| p.under(name).under("tcp")),
            None => tcp::TcpParams::preset(name).ok_or_else(|| {
                let known: Vec<&str> =
                    self.tcp.keys().map(String::as_str).chain(tcp::PRESETS.iter().map(|p| p.0)).collect();
                Problem::new("", unknown_stack("TCP stack", name, &known))
            }),
        }
    }

    /// Returns the bin width of the series.
    pub fn bin(&self) -> Duration {
        self.record.interval.unwrap_or(Duration((self.duration.0 / 6000).max(1)))
    }

    /// Returns all links as (name, link) in name order, with the reverse links of `both_ways` added.
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
