//! What a run comes to: a summary, and tables of columns.
//!
//! Numbers that have no value (the median of nothing) are null in the summary and NaN in a table. Column and key names end
//! in their unit; `wire` counts every header, `goodput` payload that arrived in order.

use crate::tally::{Direction, Model, Tally};
use crate::{Histogram, LinkMeter};
use packet::{Backlog, DropReason};
use serde_json::{Map, Value, json};
use units::{BitRate, Duration};

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Whole numbers.
    U64(Vec<u64>),
    /// Real numbers.
    F64(Vec<f64>),
    /// Names.
    Text(Vec<String>),
}

/// Columns of equal length, each with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Name and values.
    pub columns: Vec<(&'static str, Column)>,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Everything that fits on a page.
    pub summary: Value,
    /// The rest.
    pub tables: Vec<Table>,
}

/// Builds a table column by column.
macro_rules! table {
    ($name:literal, $rows:expr, { $($column:literal: $kind:ident = |$row:pat_param| $value:expr),+ $(,)? }) => {
        Table {
            name: $name,
            columns: vec![$(($column, Column::$kind($rows.iter().map(|$row| $value).collect()))),+],
        }
    };
}

fn ms(d: Option<Duration>) -> f64 {
    d.map_or(f64::NAN, Duration::millis)
}

/// A distribution of delays: count, and in ms min, mean, percentiles and max.
pub fn delay_json(h: &Histogram) -> Value {
    json!({
        "count": h.count(), "min": ms(h.min()), "mean": ms(h.mean()), "p50": ms(h.percentile(50.0)),
        "p90": ms(h.percentile(90.0)), "p95": ms(h.percentile(95.0)), "p99": ms(h.percentile(99.0)),
        "p99_9": ms(h.percentile(99.9)), "max": ms(h.max()),
    })
}

fn class_json([offered, delivered, dropped]: &[Count; 3]) -> Value {
    json!({
        "offered_packets": offered.packets, "offered_bytes": offered.bytes,
        "delivered_packets": delivered.packets, "delivered_bytes": delivered.bytes,
        "dropped_packets": dropped.packets, "dropped_bytes": dropped.bytes,
    })
}

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

impl Count {
    /// Counts a packet of `size` bytes.
    #[inline]
    pub fn add(&mut self, size: u16) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }
}

/// What a run knows of one link.
#[derive(Clone, Debug)]
pub struct LinkAccount<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its rate at the start.
    pub rate: Option<BitRate>,
    /// Arrivals at the queue.
    pub offered: Count,
    /// Arrivals at the far end.
    pub delivered: Count,
    /// Drops, whatever the reason.
    pub dropped: Count,
    /// Dropped packets by reason, in the order of [`DropReason::ALL`].
    pub drops: [u64; DropReason::ALL.len()],
    /// Packets marked with CE.
    pub marked: u64,
    /// In its queue.
    pub backlog: Backlog,
    /// The classes of its discipline, if it has any: name, and offered, delivered and dropped.
    pub classes: Vec<(&'a str, [Count; 3])>,
    /// Series and distributions, if it is recorded.
    pub meter: Option<&'a LinkMeter>,
}

/// All that a run, simulated or live, gives account of.
#[derive(Clone, Debug)]
pub struct Account<'a> {
    /// Name of the scenario.
    pub name: &'a str,
    /// Its seed.
    pub seed: u64,
    /// How long it ran.
    pub duration: Duration,
    /// Events that were handled.
    pub events: u64,
    /// Every link, in the order of names.
    pub links: Vec<LinkAccount<'a>>,
    /// Applications and flows.
    pub tally: &'a Tally,
    /// By application, what only its machine knows.
    pub figures: Vec<Vec<(&'static str, f64)>>,
}

impl Account<'_> {
    /// Summary and tables.
    pub fn outcome(&self) -> Outcome {
        let mut links = Map::new();
        for link in &self.links {
            links.insert(link.name.to_owned(), self.link_summary(link));
        }
        let mut apps = Map::new();
        for (i, app) in self.tally.apps.iter().enumerate() {
            apps.insert(app.name.clone(), self.app_summary(i));
        }
        let summary = json!({
            "name": self.name, "seed": self.seed, "duration_s": self.duration.secs(),
            "version": env!("CARGO_PKG_VERSION"), "events": self.events, "flow_gone_packets": self.tally.flow_gone,
            "links": links, "apps": apps,
        });
        let tables = vec![
            self.links_table(),
            self.flows_table(),
            self.pages_table(),
            self.files_table(),
            self.pings_table(),
            self.syn_times(),
            self.queue_series(),
            self.flow_series(),
            self.model_series(),
            self.queue_histogram(),
            self.sojourn_histogram(),
            self.delay_histogram(),
        ];
        Outcome { summary, tables }
    }

    fn link_summary(&self, m: &LinkAccount<'_>) -> Value {
        let drops: Map<String, Value> =
            DropReason::ALL.iter().map(|r| (r.name().to_owned(), m.drops[*r as usize].into())).collect();
        let mut v = json!({
            "offered_packets": m.offered.packets, "offered_bytes": m.offered.bytes,
            "delivered_packets": m.delivered.packets, "delivered_bytes": m.delivered.bytes,
            "dropped_packets": m.dropped.packets, "dropped_bytes": m.dropped.bytes, "drops": drops,
            "marked_packets": m.marked, "backlog_packets": m.backlog.packets, "backlog_bytes": m.backlog.bytes,
            "utilisation": m.rate.map(|r| m.delivered.bytes as f64 * 8.0 / (r.0 as f64 * self.duration.secs())),
        });
        if !m.classes.is_empty() {
            v["classes"] = m.classes.iter().map(|(name, counts)| ((*name).to_owned(), class_json(counts))).collect();
        }
        if let Some(full) = m.meter {
            v["sojourn_ms"] = delay_json(&full.sojourn);
            v["queue_packets"] = json!({ "mean": full.queue.mean(), "max": full.queue.max() });
        }
        v
    }

    fn app_summary(&self, i: usize) -> Value {
        let app = &self.tally.apps[i];
        let rows = &self.tally.rows[app.first_row..app.first_row + app.rows];
        let sum = |way: usize, of: fn(&Direction) -> u64| rows.iter().map(|r| of(&r.ways[way])).sum::<u64>();
        let both = |of: fn(&Direction) -> u64| sum(0, of) + sum(1, of);
        let mut v = json!({
            "kind": app.kind, "flows": app.rows,
            "wire_bytes": sum(0, |d| d.wire_bytes), "wire_bytes_reverse": sum(1, |d| d.wire_bytes),
            "goodput_bytes": sum(0, |d| d.goodput_bytes), "goodput_bytes_reverse": sum(1, |d| d.goodput_bytes),
            "packets": sum(0, |d| d.packets), "packets_reverse": sum(1, |d| d.packets),
            "dropped_packets": both(|d| d.dropped), "retransmits": both(|d| d.retransmits),
            "timeouts": both(|d| d.timeouts), "fast_recoveries": both(|d| d.fast_recoveries),
            "delay_ms": delay_json(&app.delay[0]), "delay_ms_reverse": delay_json(&app.delay[1]),
        });
        if app.datagrams > 0 {
            v["datagrams_sent"] = app.datagrams.into();
            v["jitter_ms"] = json!(app.jitter[0].mean().map(Duration::millis));
            v["jitter_ms_reverse"] = json!(app.jitter[1].mean().map(Duration::millis));
        }
        if app.files.count() > 0 {
            v["files"] = json!({
                "done": app.files.count(), "mean_s": app.files.mean().map(Duration::secs),
                "median_s": app.files.percentile(50.0).map(Duration::secs),
                "p95_s": app.files.percentile(95.0).map(Duration::secs),
                "p99_s": app.files.percentile(99.0).map(Duration::secs),
                "max_s": app.files.max().map(Duration::secs),
            });
        }
        if let Some(voip) = &app.voip {
            // a packet that is still on its way at the end is neither lost nor late
            let settled = voip.arrived() + both(|d| d.dropped);
            let s = voip.summary(settled);
            v["voip"] = json!({
                "sent": app.datagrams, "judged": settled, "received": s.arrived, "lost_percent": s.lost_percent,
                "late_percent": s.late_percent, "plr_percent": s.plr_percent, "r": s.r, "mos": s.mos,
                "r_loss_only": s.r_loss_only, "mos_loss_only": s.mos_loss_only, "delay_ms": delay_json(voip.delays()),
                "jitter_ms": ms(Some(s.jitter)),
            });
        }
        if let Some(probes) = &app.probes {
            // a probe that is still on its way at the end is neither answered nor lost
            let (answered, lost) = (probes.rtt().count(), both(|d| d.dropped));
            v["ping"] = json!({
                "sent": probes.count(), "answered": answered, "lost": lost,
                "lost_percent": 100.0 * lost as f64 / (answered + lost) as f64, "rtt_ms": delay_json(probes.rtt()),
            });
        }
        if let Some(figures) = self.figures.get(i).filter(|f| !f.is_empty()) {
            v[app.kind] = figures.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        }
        if let Some(pages) = &app.pages {
            let s = pages.summary();
            v["web"] = json!({
                "pages": s.count, "abandoned": s.abandoned,
                "page_load_s": {
                    "median": s.median.map(Duration::secs), "mad": s.mad.map(Duration::secs),
                    "mean": s.mean.map(Duration::secs), "p95": s.p95.map(Duration::secs),
                    "min": s.min.map(Duration::secs), "max": s.max.map(Duration::secs),
                },
            });
        }
        v
    }

    fn links_table(&self) -> Table {
        table!("links", self.links, {
            "link": Text = |l| l.name.to_owned(),
            "offered_packets": U64 = |l| l.offered.packets,
            "offered_bytes": U64 = |l| l.offered.bytes,
            "delivered_packets": U64 = |l| l.delivered.packets,
            "delivered_bytes": U64 = |l| l.delivered.bytes,
            "dropped_packets": U64 = |l| l.dropped.packets,
            "dropped_bytes": U64 = |l| l.dropped.bytes,
            "marked_packets": U64 = |l| l.marked,
        })
    }

    fn flows_table(&self) -> Table {
        let tally = self.tally;
        let rows: Vec<_> = tally
            .rows
            .iter()
            .enumerate()
            .flat_map(|(i, r)| {
                let app = &tally.apps[usize::from(r.app)];
                [(app, i - app.first_row, "forward", &r.ways[0]), (app, i - app.first_row, "reverse", &r.ways[1])]
            })
            .collect();
        table!("flows", rows, {
            "app": Text = |(app, ..)| app.name.clone(),
            "flow": U64 = |(_, flow, ..)| *flow as u64,
            "direction": Text = |(_, _, direction, _)| (*direction).to_owned(),
            "packets": U64 = |(.., d)| d.packets,
            "wire_bytes": U64 = |(.., d)| d.wire_bytes,
            "goodput_bytes": U64 = |(.., d)| d.goodput_bytes,
            "dropped_packets": U64 = |(.., d)| d.dropped,
            "retransmits": U64 = |(.., d)| d.retransmits,
            "timeouts": U64 = |(.., d)| d.timeouts,
            "fast_recoveries": U64 = |(.., d)| d.fast_recoveries,
        })
    }

    fn pages_table(&self) -> Table {
        let rows: Vec<_> = self
            .tally
            .apps
            .iter()
            .flat_map(|app| app.pages.iter().flat_map(move |p| p.kept().iter().map(move |page| (app, page))))
            .collect();
        table!("pages", rows, {
            "app": Text = |(app, _)| app.name.clone(),
            "start_s": F64 = |(_, page)| page.started.secs(),
            "load_s": F64 = |(_, page)| page.took.secs(),
        })
    }

    fn files_table(&self) -> Table {
        let apps = &self.tally.apps;
        let rows: Vec<_> = apps.iter().flat_map(|app| app.files_kept.iter().map(move |f| (app, f))).collect();
        table!("files", rows, {
            "app": Text = |(app, _)| app.name.clone(),
            "start_s": F64 = |(_, f)| f.started.secs(),
            "took_s": F64 = |(_, f)| f.took.secs(),
            "bytes": U64 = |(_, f)| f.bytes,
        })
    }

    fn pings_table(&self) -> Table {
        let apps = &self.tally.apps;
        let rows: Vec<_> = apps
            .iter()
            .flat_map(|app| app.probes.iter().flat_map(move |p| p.kept().iter().map(move |k| (app, k))))
            .collect();
        table!("pings", rows, {
            "app": Text = |(app, _)| app.name.clone(),
            "t_s": F64 = |(_, k)| k.sent.secs(),
            "rtt_ms": F64 = |(_, k)| ms(k.rtt),
        })
    }

    fn syn_times(&self) -> Table {
        let tally = self.tally;
        table!("syn_times", tally.syns, {
            "app": Text = |(app, ..)| tally.apps[usize::from(*app)].name.clone(),
            "connection": U64 = |(_, number, _)| u64::from(*number),
            "t_s": F64 = |(.., t)| t.secs(),
        })
    }

    /// Recorded links with their meters.
    fn recorded(&self) -> impl Iterator<Item = (&str, &LinkMeter)> {
        self.links.iter().filter_map(|l| l.meter.map(|m| (l.name, m)))
    }

    fn queue_series(&self) -> Table {
        let rows: Vec<_> =
            self.recorded().flat_map(|(name, m)| (0..m.queue_series.len()).map(move |i| (name, m, i))).collect();
        table!("queue_series", rows, {
            "link": Text = |(name, ..)| (*name).to_owned(),
            "t_s": F64 = |(_, m, i)| m.queue_series.begin(*i).secs(),
            "queue_packets_mean": F64 = |(_, m, i)| m.queue_series.get(*i),
            "queue_packets": F64 = |(_, m, i)| m.queue_series.at_end(*i),
            "sojourn_ms_mean": F64 = |(_, m, i)| m.sojourn_series.get(*i) * 1e-6,
            "sojourn_ms_max": F64 = |(_, m, i)| m.sojourn_max_series.get(*i) * 1e-6,
            "sent_packets": F64 = |(_, m, i)| f64::from(m.sojourn_series.count(*i)),
            "sent_bytes": F64 = |(_, m, i)| m.bytes_series.get(*i),
            "dropped_packets": F64 = |(_, m, i)| m.drop_series.get(*i),
        })
    }

    fn flow_series(&self) -> Table {
        let tally = self.tally;
        let rows: Vec<_> = tally
            .rows
            .iter()
            .enumerate()
            .flat_map(|(i, row)| row.ways.iter().enumerate().map(move |(way, d)| (i, row, way, d)))
            .filter(|(.., d)| d.packets > 0)
            .flat_map(|(i, row, way, d)| {
                let app = &tally.apps[usize::from(row.app)];
                let bins = d.series.as_deref().map_or(0, |s| s.wire.len());
                let series = d.series.as_deref();
                (0..bins).filter_map(move |bin| series.map(|s| (app, i - app.first_row, way, s, bin)))
            })
            .collect();
        table!("flow_series", rows, {
            "app": Text = |(app, ..)| app.name.clone(),
            "flow": U64 = |(_, flow, ..)| *flow as u64,
            "direction": Text = |(_, _, way, ..)| ["forward", "reverse"][*way].to_owned(),
            "t_s": F64 = |(_, _, _, s, bin)| s.wire.begin(*bin).secs(),
            "wire_bytes": F64 = |(_, _, _, s, bin)| s.wire.get(*bin),
            "goodput_bytes": F64 = |(_, _, _, s, bin)| s.goodput.get(*bin),
            "cwnd_bytes": F64 = |(_, _, _, s, bin)| s.cwnd.get(*bin),
            "ssthresh_bytes": F64 = |(_, _, _, s, bin)| finite(s.ssthresh.get(*bin)),
            "srtt_ms": F64 = |(_, _, _, s, bin)| s.srtt.get(*bin) * 1e-6,
            "delay_ms_mean": F64 = |(_, _, _, s, bin)| s.delay.get(*bin) * 1e-6,
            "delay_ms_max": F64 = |(_, _, _, s, bin)| s.delay_max.get(*bin) * 1e-6,
            "dropped_packets": F64 = |(_, _, _, s, bin)| s.dropped.get(*bin),
        })
    }

    fn model_series(&self) -> Table {
        let tally = self.tally;
        let rows: Vec<_> = tally
            .rows
            .iter()
            .enumerate()
            .flat_map(|(i, row)| row.ways.iter().enumerate().map(move |(way, d)| (i, row, way, d)))
            .filter_map(|(i, row, way, d)| Some((i, row, way, d.series.as_deref()?.model.as_deref()?)))
            .flat_map(|(i, row, way, m)| {
                let app = &tally.apps[usize::from(row.app)];
                let known = (0..m.mode.len()).filter(|bin| m.mode.get(*bin).is_finite());
                known.map(move |bin| (app, i - app.first_row, way, m, bin))
            })
            .collect();
        table!("model_series", rows, {
            "app": Text = |(app, ..)| app.name.clone(),
            "flow": U64 = |(_, flow, ..)| *flow as u64,
            "direction": Text = |(_, _, way, ..)| ["forward", "reverse"][*way].to_owned(),
            "t_s": F64 = |(.., m, bin)| m.mode.begin(*bin).secs(),
            "mode": Text = |(.., m, bin)| Model::MODES[m.mode.get(*bin) as usize].to_owned(),
            "pacing_bps": F64 = |(.., m, bin)| m.pacing.get(*bin),
            "btl_bw_bps": F64 = |(.., m, bin)| m.btl_bw.get(*bin),
            "rt_prop_ms": F64 = |(.., m, bin)| m.rt_prop.get(*bin) * 1e-6,
        })
    }

    fn queue_histogram(&self) -> Table {
        let rows: Vec<_> = self
            .recorded()
            .flat_map(|(name, m)| m.queue.bins().map(move |(packets, time)| (name, packets, time, m.queue.time())))
            .collect();
        table!("queue_histogram", rows, {
            "link": Text = |(name, ..)| (*name).to_owned(),
            "packets": U64 = |(_, packets, ..)| u64::from(*packets),
            "time_share": F64 = |(_, _, time, all)| time.secs() / all.secs(),
        })
    }

    fn sojourn_histogram(&self) -> Table {
        let rows: Vec<_> = self.recorded().flat_map(|(name, m)| m.sojourn.bins().map(move |bin| (name, bin))).collect();
        table!("sojourn_histogram", rows, {
            "link": Text = |(name, _)| (*name).to_owned(),
            "lower_ms": F64 = |(_, (lower, ..))| lower.millis(),
            "upper_ms": F64 = |(_, (_, upper, _))| upper.millis(),
            "count": U64 = |(_, (.., count))| *count,
        })
    }

    fn delay_histogram(&self) -> Table {
        let rows: Vec<_> = self
            .tally
            .apps
            .iter()
            .flat_map(|app| {
                ["forward", "reverse"]
                    .into_iter()
                    .zip(app.delay.iter())
                    .flat_map(move |(direction, h)| h.bins().map(move |bin| (app, direction, bin)))
            })
            .collect();
        table!("delay_histogram", rows, {
            "app": Text = |(app, ..)| app.name.clone(),
            "direction": Text = |(_, direction, _)| (*direction).to_owned(),
            "lower_ms": F64 = |(.., (lower, ..))| lower.millis(),
            "upper_ms": F64 = |(.., (_, upper, _))| upper.millis(),
            "count": U64 = |(.., (.., count))| *count,
        })
    }
}

/// An infinite threshold has no number.
fn finite(bytes: f64) -> f64 {
    if bytes >= 1e18 { f64::NAN } else { bytes }
}
