//! The charts of a result: series reduced to as many bins as a screen can show, and distributions as curves.
//!
//! All data comes from the result's tables, except the delays in the two queues of a dual-queue discipline. Merging bins
//! keeps sums and maxima exact. Units: ms, Mbit/s, s. A mean or a maximum over no values is null.

use crate::calls::calls;
use crate::tables::{counts, numbers, runs, table, texts};
use scenario::Scenario;
use serde_json::{Map, Value, json};
use sim::{Outcome, QueueDelays, Table};
use std::collections::BTreeMap;
use units::Duration;

/// Maximum number of flows of one application in one direction that are drawn as separate curves. If there are more, one
/// curve shows their sum.
const MOST_FLOWS: usize = 8;

/// Returns the charts of a result, with at most `points` bins.
///
/// `t_s` holds the start of each drawn bin. `links.NAME` contains `delay_ms` (mean sojourn time of the packets that
/// left the queue in the bin), `delay_ms_max`, `queue_packets` (for a series bin, the mean queue or the queue at the
/// end, whichever is larger; for a drawn bin, the maximum over its series bins), `dropped` and `marked` (packets in
/// the bin), and the `cdf` of sojourn times. With a dual-queue discipline it also contains `wait_l_ms` and
/// `wait_c_ms`, the means of `queue_delays`. `flows` contains a curve per direction of each flow with a series: the
/// rate on the wire in `mbit`. An application with more than [`MOST_FLOWS`] flows has one curve per direction, whose
/// `flow` is null. `delays` contains the `cdf` of the one-way delay per application and direction, and `calls` the
/// fate of each frame of a call.
pub(crate) fn charts<'a>(
    outcome: &Outcome,
    scenario: &Scenario,
    queue_delays: impl Iterator<Item = (&'a str, &'a QueueDelays)>,
    points: usize,
) -> Value {
    let queue_delays = queue_delays.collect();
    let series = Bins::new(scenario, points);
    json!({
        "t_s": series.begins(),
        "width_s": series.width_s,
        "links": links(outcome, &queue_delays, &series),
        "flows": flows(outcome, &series),
        "delays": delays(outcome),
        "calls": calls(outcome, scenario),
    })
}

/// The layout of the drawn bins. A drawn bin merges `group` consecutive bins of a series. The last drawn bin also takes
/// the bins that are left over: alone, they could make a very short bin, and a rate over a very short bin is
/// meaningless.
struct Bins {
    /// Number of series bins merged into one drawn bin.
    group: usize,
    /// Number of bins in the series.
    count: usize,
    /// Number of drawn bins.
    drawn: usize,
    /// Width of every drawn bin except the last, s.
    width_s: f64,
    /// Duration of the run, s.
    end_s: f64,
}

impl Bins {
    fn new(scenario: &Scenario, points: usize) -> Self {
        let (bin, end) = (scenario.bin().0.max(1), scenario.duration.0);
        let group = end.div_ceil(bin).div_ceil(points.max(1) as u64).max(1);
        let width = bin.saturating_mul(group);
        Self {
            group: group as usize,
            count: end.div_ceil(bin) as usize,
            drawn: (end / width).max(1) as usize,
            width_s: Duration(width.min(end)).secs(),
            end_s: scenario.duration.secs(),
        }
    }

    fn begins(&self) -> Vec<f64> {
        (0..self.drawn).map(|i| i as f64 * self.width_s).collect()
    }

    /// Splits `values`, which holds one value per series bin, into one chunk per drawn bin.
    fn chunks<'a, T>(&self, values: &'a [T]) -> impl Iterator<Item = &'a [T]> {
        let (group, drawn, all) = (self.group, self.drawn, values.len());
        (0..drawn).map(move |i| {
            let end = if i + 1 == drawn { all } else { ((i + 1) * group).min(all) };
            &values[(i * group).min(end)..end]
        })
    }

    /// Returns the rate in each drawn bin in Mbit/s, from the bytes in each series bin.
    fn rates(&self, bytes: &[f64]) -> Vec<f64> {
        let span = |i: usize| if i + 1 == self.drawn { self.end_s - i as f64 * self.width_s } else { self.width_s };
        self.chunks(bytes).enumerate().map(|(i, chunk)| chunk.iter().sum::<f64>() * 8e-6 / span(i)).collect()
    }

    /// Returns the weighted mean of the values in each drawn bin, or `None` for a bin without values.
    fn means(&self, values: &[f64], weights: &[f64]) -> Vec<Option<f64>> {
        let pairs: Vec<(f64, f64)> = values.iter().copied().zip(weights.iter().copied()).collect();
        let mean = |chunk: &[(f64, f64)]| {
            let known = || chunk.iter().filter(|(v, w)| v.is_finite() && *w > 0.0);
            let weight: f64 = known().map(|(_, w)| w).sum();
            (weight > 0.0).then(|| known().map(|(v, w)| v * w).sum::<f64>() / weight)
        };
        self.chunks(&pairs).map(mean).collect()
    }

    fn sums(&self, values: &[f64]) -> Vec<f64> {
        self.chunks(values).map(|chunk| chunk.iter().sum()).collect()
    }

    /// Returns the maximum of each drawn bin, or `None` for a bin without values.
    fn greatest(&self, values: &[f64]) -> Vec<Option<f64>> {
        let most = |chunk: &[f64]| chunk.iter().copied().filter(|v| v.is_finite()).reduce(f64::max);
        self.chunks(values).map(most).collect()
    }
}

fn links(outcome: &Outcome, queue_delays: &BTreeMap<&str, &QueueDelays>, bins: &Bins) -> Value {
    let mut found = Map::new();
    let series = table(outcome, "queue_series");
    let curves = cdfs(table(outcome, "sojourn_histogram"), &["link"]);
    for (name, rows) in runs(&texts(series, "link")) {
        let of = |column| &numbers(series, column)[rows.clone()];
        let cdf = curves.get(&vec![name.to_owned()]).cloned();
        // a queue that is empty at the end of every bin may still hold packets between the ends
        let (ends, means) = (of("queue_packets"), of("queue_packets_mean"));
        let longest: Vec<f64> = ends.iter().zip(means).map(|(end, mean)| end.max(*mean)).collect();
        let mut charts = json!({
            "delay_ms": bins.means(of("sojourn_ms_mean"), of("sent_packets")),
            "delay_ms_max": bins.greatest(of("sojourn_ms_max")),
            "queue_packets": bins.greatest(&longest),
            "dropped": bins.sums(of("dropped_packets")),
            "marked": bins.sums(of("marked_packets")),
            "cdf": cdf,
        });
        if let Some(of) = queue_delays.get(name) {
            for (key, values) in ["wait_l_ms", "wait_c_ms"].into_iter().zip(&of.ms) {
                charts[key] = json!(bins.means(values, &vec![1.0; values.len()]));
            }
        }
        found.insert(name.to_owned(), charts);
    }
    Value::Object(found)
}

/// The flows of one application in one direction: each flow's number, and the flow's rate in each drawn bin, in Mbit/s.
type FlowRates = Vec<(u64, Vec<f64>)>;

fn flows(outcome: &Outcome, bins: &Bins) -> Value {
    let series = table(outcome, "flow_series");
    let (apps, ways) = (texts(series, "app"), texts(series, "direction"));
    let (flow, bytes) = (counts(series, "flow"), numbers(series, "wire_bytes"));
    // all rows of one flow in one direction are consecutive, and there is one row per bin
    let mut lines: BTreeMap<(&str, &str), FlowRates> = BTreeMap::new();
    for start in (0..apps.len()).step_by(bins.count.max(1)) {
        let own = &bytes[start..(start + bins.count).min(bytes.len())];
        if own.iter().any(|b| *b > 0.0) {
            let rates = bins.rates(own);
            lines.entry((apps[start], ways[start])).or_default().push((flow[start], rates));
        }
    }
    let line = |app: &str, way: &str, flow: Option<u64>, of: usize, mbit: Vec<f64>| json!({ "app": app, "direction": way, "flow": flow, "flows": of, "mbit": mbit });
    let mut found = Vec::new();
    for ((app, way), flows) in lines {
        let of = flows.len();
        if of > MOST_FLOWS {
            let mut sum = vec![0.0; bins.drawn];
            flows.iter().for_each(|(_, rates)| sum.iter_mut().zip(rates).for_each(|(s, r)| *s += r));
            found.push(line(app, way, None, of, sum));
        } else {
            found.extend(flows.into_iter().map(|(flow, rates)| line(app, way, Some(flow), of, rates)));
        }
    }
    Value::Array(found)
}

fn delays(outcome: &Outcome) -> Value {
    let curves = cdfs(table(outcome, "delay_histogram"), &["app", "direction"]);
    let curve = |(names, cdf): (Vec<String>, Value)| json!({ "app": names[0], "direction": names[1], "cdf": cdf });
    curves.into_iter().map(curve).collect()
}

/// Returns the cumulative distribution of each histogram in a table. The keys are the texts in the columns `names`,
/// which identify a histogram. In a distribution, `ms` holds upper limits of bins, and `share` the fraction of all
/// values up to each limit.
fn cdfs(of: Option<&Table>, names: &[&str]) -> BTreeMap<Vec<String>, Value> {
    let (upper, count) = (numbers(of, "upper_ms"), counts(of, "count"));
    let mut bins: BTreeMap<Vec<String>, Vec<(f64, u64)>> = BTreeMap::new();
    let names: Vec<_> = names.iter().map(|name| texts(of, name)).collect();
    for i in 0..upper.len() {
        let name = names.iter().map(|texts| texts[i].to_owned()).collect();
        bins.entry(name).or_default().push((upper[i], count[i]));
    }
    let curve = |(name, bins): (Vec<String>, Vec<(f64, u64)>)| {
        let (ms, shares) = thinned(&bins);
        (name, json!({ "ms": ms, "share": shares }))
    };
    bins.into_iter().map(curve).collect()
}

/// Returns the upper limit and the cumulative share of the bins that a chart can distinguish. A bin is kept if its limit is at
/// least 1 % above the limit of the last bin kept, or its share at least 0.2 percentage points higher. The last bin is always
/// kept.
fn thinned(bins: &[(f64, u64)]) -> (Vec<f64>, Vec<f64>) {
    let all: u64 = bins.iter().map(|b| b.1).sum();
    let (mut below, mut last) = (0, (0.0, 0.0));
    let mut kept = Vec::new();
    for (i, (ms, n)) in bins.iter().enumerate() {
        below += n;
        let share = below as f64 / all as f64;
        if i + 1 == bins.len() || *ms >= 1.01 * last.0 || share >= last.1 + 0.002 {
            last = (*ms, share);
            kept.push(last);
        }
    }
    kept.into_iter().unzip()
}
