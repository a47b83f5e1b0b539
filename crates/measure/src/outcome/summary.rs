//! The summary: everything that fits on a page.
//!
//! ```text
//!   fairness       Jain's index over the goodput of flows that always have more to send, both directions of each together
//! ```
//!
//! What load adds, and its grade: `graded.rs`.

use super::account::{Account, ClassCounts, LinkAccount, mbit, ms};
use crate::files::FileSummary;
use crate::pages::PageSummary;
use crate::tally::{AppTally, Counts, Row};
use crate::{Histogram, Probes, VoipMeter, class, jain, variation};
use packet::{ClassCount, DropReason, GrantCounts, OpportunityCounts};
use serde_json::{Map, Value, json};
use units::Duration;

/// Most flows of an application whose rates stand one by one in the summary; the table `flows` has all.
const EACH: usize = 32;

/// A distribution of delays: count, and in ms min, mean, percentiles and max; its coefficient of variation.
pub fn delay_json(h: &Histogram) -> Value {
    json!({
        "count": h.count(), "min": ms(h.min()), "mean": ms(h.mean()), "p50": ms(h.percentile(50.0)),
        "p90": ms(h.percentile(90.0)), "p95": ms(h.percentile(95.0)), "p99": ms(h.percentile(99.0)),
        "p99_9": ms(h.percentile(99.9)), "p99_99": ms(h.percentile(99.99)), "max": ms(h.max()), "cv": h.variation(),
    })
}

fn class_json(ClassCounts { counts, marked }: &ClassCounts) -> Value {
    let ClassCount { offered, delivered, dropped } = counts;
    let mut class = json!({
        "offered_packets": offered.packets, "offered_bytes": offered.bytes,
        "delivered_packets": delivered.packets, "delivered_bytes": delivered.bytes,
        "dropped_packets": dropped.packets, "dropped_bytes": dropped.bytes,
    });
    if let Some([law, step]) = marked {
        class["marked_packets"] = json!({ "law": law, "step": step });
    }
    class
}

/// A stream of a call of which so many were sent and dropped. A packet that is still on its way at the end is neither lost nor late.
fn voip_json(voip: &VoipMeter, sent: u64, dropped: u64) -> Value {
    let settled = voip.arrived() + dropped;
    let s = voip.summary(settled);
    json!({
        "sent": sent, "judged": settled, "received": s.arrived, "lost_percent": s.lost_percent,
        "late_percent": s.late_percent, "plr_percent": s.plr_percent, "r": s.r, "mos": s.mos,
        "burst_ratio": s.burst_ratio, "r_g107": s.r_g107, "mos_g107": s.mos_g107,
        "r_loss_only": s.r_loss_only, "mos_loss_only": s.mos_loss_only, "delay_ms": delay_json(voip.delays()),
        "jitter_ms": ms(Some(s.jitter)),
    })
}

/// What was lost and what came late of the datagrams of one direction, percent of those that arrived or were dropped.
fn late_json(delay: &Histogram, late_after: Duration, dropped: u64) -> Value {
    let (arrived, least) = (delay.count() as f64, delay.min().unwrap_or_default());
    let settled = arrived + dropped as f64;
    let late = arrived * (1.0 - delay.share_at_most(least + late_after));
    let percent = |n: f64| (settled > 0.0).then(|| 100.0 * n / settled);
    json!({ "lost_percent": percent(dropped as f64), "late_percent": percent(late.max(0.0)) })
}

/// Files or messages, and how long they took.
fn files_json(files: &FileSummary) -> Value {
    json!({
        "done": files.count, "exact": files.exact, "mean_s": files.mean.map(Duration::secs),
        "median_s": files.median.map(Duration::secs), "p95_s": files.p95.map(Duration::secs),
        "p99_s": files.p99.map(Duration::secs), "p99_9_s": files.p99_9.map(Duration::secs),
        "max_s": files.max.map(Duration::secs), "cv": files.cv,
    })
}

/// Page loads.
fn web_json(pages: &PageSummary) -> Value {
    json!({
        "pages": pages.count, "abandoned": pages.abandoned,
        "page_load_s": {
            "median": pages.median.map(Duration::secs), "mad": pages.mad.map(Duration::secs),
            "mean": pages.mean.map(Duration::secs), "p95": pages.p95.map(Duration::secs),
            "p99": pages.p99.map(Duration::secs), "p99_9": pages.p99_9.map(Duration::secs), "cv": pages.cv,
            "min": pages.min.map(Duration::secs), "max": pages.max.map(Duration::secs),
        },
    })
}

/// What a service flow was granted in `time`, and what of it nobody used: against the grants, and against the `capacity` in bits that
/// the link's rate has in that time.
fn grants_json(g: GrantCounts, time: Duration, capacity: Option<f64>) -> Value {
    let unused = g.granted.saturating_sub(g.used);
    let percent = |of: f64| (of > 0.0).then(|| 100.0 * unused as f64 / of);
    json!({
        "requested_bytes": g.requested, "granted_bytes": g.granted, "proactive_bytes": g.proactive,
        "used_bytes": g.used, "unused_bytes": unused, "unused_mbit": mbit(unused, time),
        "unused_percent": percent(g.granted as f64),
        "unused_of_rate_percent": capacity.and_then(|bits| percent(bits / 8.0)),
    })
}

/// What a link with opportunities could have sent, and what it sent.
fn opportunities_json(o: &OpportunityCounts, time: Duration) -> Value {
    json!({
        "mean_mbit": mbit(o.bytes, time), "opportunities": o.count, "used": o.used, "bytes": o.bytes,
        "used_bytes": o.used_bytes, "wasted_bytes": o.bytes - o.used_bytes, "longest_gap_ms": o.longest_gap.millis(),
        "gaps_over_100ms": o.long_gaps, "gap_drops": o.gap_drops,
    })
}

/// Seconds, rounded once: 60 s are 60, where a product with 1e-9 has another last digit.
fn seconds(d: Duration) -> f64 {
    d.0 as f64 / 1e9
}

/// The payload of a flow, both directions.
fn goodput(row: &Row) -> u64 {
    row.directions.iter().map(|d| d.counts().goodput_bytes).sum()
}

/// Jain's index over the goodput of flows; `None` for fewer than two, and before anything has arrived.
fn fairness(flows: &[u64]) -> Option<f64> {
    let shares: Vec<f64> = flows.iter().map(|&bytes| bytes as f64).collect();
    (shares.len() > 1 && shares.iter().any(|s| *s > 0.0)).then(|| jain(&shares))
}

impl Account<'_> {
    pub(super) fn summary(&self) -> Value {
        let links: Map<String, Value> =
            self.links.iter().map(|link| (link.name.to_owned(), self.link_summary(link))).collect();
        let apps: Map<String, Value> =
            self.tally.apps.iter().enumerate().map(|(i, app)| (app.name.clone(), self.app_summary(i))).collect();
        json!({
            "name": self.name, "seed": self.seed, "duration_s": seconds(self.duration),
            "warm_up_s": seconds(self.warm_up),
            "version": env!("CARGO_PKG_VERSION"), "events": self.events, "flow_gone_packets": self.tally.flow_gone,
            "fairness": self.fairness(), "latency": self.grading.latency(self), "links": links, "apps": apps,
        })
    }

    fn rows(&self, app: &AppTally) -> &[Row] {
        &self.tally.rows[app.first_row..app.first_row + app.rows]
    }

    /// Over the flows that always have more to send: others leave at a rate of their own, whatever the network has for them.
    fn fairness(&self) -> Option<f64> {
        let greedy = self.tally.apps.iter().filter(|app| app.greedy);
        fairness(&greedy.flat_map(|app| self.rows(app)).map(goodput).collect::<Vec<_>>())
    }

    fn link_summary(&self, link: &LinkAccount<'_>) -> Value {
        let m = link.counts();
        // one discipline alone filters ACKs: elsewhere the reason is not told
        let rare = |r: DropReason| r == DropReason::AckFilter && m.drops[r as usize] == 0;
        let told = DropReason::ALL.iter().filter(|r| !rare(**r));
        let drops: Map<String, Value> = told.map(|r| (r.name().to_owned(), m.drops[*r as usize].into())).collect();
        let mut v = json!({
            "offered_packets": m.offered.packets, "offered_bytes": m.offered.bytes,
            "delivered_packets": m.delivered.packets, "delivered_bytes": m.delivered.bytes,
            "dropped_packets": m.dropped.packets, "dropped_bytes": m.dropped.bytes, "drops": drops,
            "at_start_packets": u64::from(link.before.backlog.packets) + link.before.in_flight,
            "in_flight_packets": m.in_flight, "marked_packets": m.marked, "backlog_packets": m.backlog.packets, "backlog_bytes": m.backlog.bytes,
            "utilisation": link.capacity.map(|bits| m.delivered.bytes as f64 * 8.0 / bits),
        });
        if !link.classes.is_empty() {
            let classes = link.classes.iter().zip(&m.classes);
            v["classes"] = classes.map(|(name, counts)| ((*name).to_owned(), class_json(counts))).collect();
        }
        if !link.service_flows.is_empty() {
            let flows = link.service_flows.iter().zip(&m.grants);
            v["grants"] = flows
                .map(|(name, grants)| ((*name).to_owned(), grants_json(*grants, self.measured(), link.capacity)))
                .collect();
        }
        if let Some(o) = &m.opportunities {
            v["utilisation"] = json!((o.bytes > 0).then(|| m.delivered.bytes as f64 / o.bytes as f64));
            v["delivery"] = opportunities_json(o, self.measured());
        }
        if let Some(full) = link.meter {
            v["sojourn_ms"] = delay_json(&full.sojourn);
            v["grade"] = json!(link.graded(self.grading.scale()).and_then(|d| self.grading.scale().added(d)));
            v["queue_packets"] = json!({ "mean": full.queue.mean(), "max": full.queue.max() });
        }
        v
    }

    fn app_summary(&self, i: usize) -> Value {
        let app = &self.tally.apps[i];
        let rows = self.rows(app);
        let sum = |direction: usize, of: fn(Counts) -> u64| {
            rows.iter().map(|r| of(r.directions[direction].counts())).sum::<u64>()
        };
        let both = |of: fn(Counts) -> u64| sum(0, of) + sum(1, of);
        let mut v = json!({
            "kind": app.kind, "flows": app.rows,
            "wire_bytes": sum(0, |d| d.wire_bytes), "wire_bytes_reverse": sum(1, |d| d.wire_bytes),
            "goodput_bytes": sum(0, |d| d.goodput_bytes), "goodput_bytes_reverse": sum(1, |d| d.goodput_bytes),
            "goodput_mbit": mbit(sum(0, |d| d.goodput_bytes), self.measured()),
            "goodput_mbit_reverse": mbit(sum(1, |d| d.goodput_bytes), self.measured()),
            "packets": sum(0, |d| d.packets), "packets_reverse": sum(1, |d| d.packets),
            "dropped_packets": both(|d| d.dropped), "retransmits": both(|d| d.retransmits),
            "timeouts": self.tally.known.timeouts.then(|| both(|d| d.timeouts)),
            "fast_recoveries": self.tally.known.fast_recoveries.then(|| both(|d| d.fast_recoveries)),
            "delay_ms": delay_json(&app.delay[0]), "delay_ms_reverse": delay_json(&app.delay[1]),
        });
        if self.tally.known.ce_packets {
            v["ce_packets"] = json!(both(|d| d.ce_packets));
        }
        self.add_flows(app, &mut v);
        let sent = app.datagrams - app.datagrams_before;
        if app.datagrams > 0 {
            v["datagrams_sent"] = sent.into();
            v["jitter_ms"] = json!(app.jitter[0].mean().map(Duration::millis));
            v["jitter_ms_reverse"] = json!(app.jitter[1].mean().map(Duration::millis));
        }
        let files = app.files.summary();
        if files.count > 0 {
            v["files"] = files_json(&files);
        }
        for (stream, (name, voip)) in ["voip", "voip_reverse"].into_iter().zip(&app.voip).enumerate() {
            // both speakers send at the same moments
            let (dropped, streams) = (|d: Counts| d.dropped, app.voip.len() as u64);
            let dropped = if streams == 1 { both(dropped) } else { sum(stream, dropped) };
            v[name] = voip_json(voip, sent / streams, dropped);
        }
        if let Some(late_after) = app.late_after {
            let way = |i: usize| late_json(&app.delay[i], late_after, sum(i, |d| d.dropped));
            v[app.kind] = json!({ "up": way(0), "down": way(1) });
        }
        if let Some(probes) = &app.probes {
            v["ping"] = self.ping_json(probes, both(|d| d.dropped), app.one_by_one);
        }
        if let Some(figures) = self.figures.get(i).filter(|f| !f.is_empty()) {
            v[app.kind] = figures.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
            for (name, word) in self.words.get(i).into_iter().flatten() {
                v[app.kind][*name] = json!(word);
            }
            if let Some((_, rpm)) = figures.iter().find(|(name, _)| *name == "rpm") {
                v[app.kind]["class"] = json!(class(*rpm));
            }
        }
        if let Some(pages) = &app.pages {
            v["web"] = web_json(&pages.summary());
        }
        v
    }

    /// What each flow of an application achieved, where there are several.
    fn add_flows(&self, app: &AppTally, v: &mut Value) {
        let flows: Vec<u64> = self.rows(app).iter().map(goodput).collect();
        let Some(index) = fairness(&flows) else { return };
        let rate = |bytes: Option<&u64>| bytes.map(|b| mbit(*b, self.measured()));
        v["fairness"] = json!(app.greedy.then_some(index));
        let mean = mbit(flows.iter().sum(), self.measured()) / flows.len() as f64;
        v["flow_goodput_mbit"] = json!({
            "min": rate(flows.iter().min()), "mean": mean, "max": rate(flows.iter().max()), "cv": variation(&flows),
        });
        if flows.len() <= EACH {
            let each = flows.iter().enumerate().map(|(flow, bytes)| (flow.to_string(), json!(rate(Some(bytes)))));
            v["flow_goodput_mbit"]["each"] = each.collect();
        }
    }

    /// Echo requests, of which so many were lost: one that is still on its way at the end is neither answered nor lost.
    fn ping_json(&self, probes: &Probes, lost: u64, one_by_one: bool) -> Value {
        let (judged, rtt) = (self.grading.judge(probes), probes.rtt());
        let answered = rtt.count();
        let mut ping = json!({
            "sent": probes.count(), "answered": answered, "lost": lost,
            "lost_percent": 100.0 * lost as f64 / (answered + lost) as f64, "rtt_ms": delay_json(rtt),
            "induced_ms": ms(judged.added), "induced_p99_ms": ms(judged.p99), "grade": judged.grade,
        });
        if one_by_one {
            let over_time = |p: f64| ms(rtt.percentile_of_time(p));
            ping["rtt_over_time_ms"] = json!({
                "mean": ms(rtt.mean_of_time()), "p50": over_time(50.0), "p95": over_time(95.0),
                "p99": over_time(99.0), "p99_9": over_time(99.9), "p99_99": over_time(99.99),
            });
        }
        ping
    }
}
