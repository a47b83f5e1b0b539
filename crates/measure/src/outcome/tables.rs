//! The tables of a result.

use super::account::{Account, Column, Table, mbit, ms};
use crate::tally::{AppTally, Direction};
use crate::{LinkMeter, PageLoads};

const WAYS: [&str; 2] = ["forward", "reverse"];

/// Builds a table column by column.
macro_rules! table {
    ($name:literal, $rows:expr, { $($column:literal: $kind:ident = |$row:pat_param| $value:expr),+ $(,)? }) => {
        Table {
            name: $name,
            columns: vec![$(($column, Column::$kind($rows.iter().map(|$row| $value).collect()))),+],
        }
    };
}

/// One direction of a flow. The table `flows` has one row for each direction of a flow.
#[derive(Clone, Copy)]
struct FlowRow<'a> {
    app: &'a str,
    /// Number of the flow within its application.
    flow: u64,
    /// "forward" or "reverse".
    direction: &'static str,
    of: &'a Direction,
}

impl Account<'_> {
    /// Returns every direction of every flow.
    fn flow_rows(&self) -> impl Iterator<Item = FlowRow<'_>> {
        self.tally.rows.iter().enumerate().flat_map(|(i, row)| {
            let app = &self.tally.apps[usize::from(row.app)];
            let flow = (i - app.first_row) as u64;
            WAYS.iter().zip(&row.directions).map(move |(direction, of)| FlowRow { app: &app.name, flow, direction, of })
        })
    }

    /// Returns the entries of all applications' lists; `list` returns the list of one application. Each entry is paired
    /// with its application.
    fn by_app<'a, T>(&'a self, list: impl Fn(&'a AppTally) -> &'a [T]) -> Vec<(&'a AppTally, &'a T)> {
        self.tally.apps.iter().flat_map(|app| list(app).iter().map(move |entry| (app, entry))).collect()
    }

    pub(super) fn links_table(&self) -> Table {
        let rows: Vec<_> = self.links.iter().map(|l| (l.name, l.counts())).collect();
        table!("links", rows, {
            "link": Text = |(name, _)| *name,
            "offered_packets": U64 = |(_, l)| l.offered.packets,
            "offered_bytes": U64 = |(_, l)| l.offered.bytes,
            "delivered_packets": U64 = |(_, l)| l.delivered.packets,
            "delivered_bytes": U64 = |(_, l)| l.delivered.bytes,
            "dropped_packets": U64 = |(_, l)| l.dropped.packets,
            "dropped_bytes": U64 = |(_, l)| l.dropped.bytes,
            "marked_packets": U64 = |(_, l)| l.marked,
        })
    }

    pub(super) fn flows_table(&self) -> Table {
        let tally = self.tally;
        let rows: Vec<_> = self.flow_rows().map(|row| (row, row.of.counts())).collect();
        let mut flows = table!("flows", rows, {
            "app": Text = |(row, _)| row.app,
            "flow": U64 = |(row, _)| row.flow,
            "direction": Text = |(row, _)| row.direction,
            "packets": U64 = |(.., d)| d.packets,
            "wire_bytes": U64 = |(.., d)| d.wire_bytes,
            "goodput_bytes": U64 = |(.., d)| d.goodput_bytes,
            "goodput_mbit": F64 = |(.., d)| mbit(d.goodput_bytes, self.measured()),
            "dropped_packets": U64 = |(.., d)| d.dropped,
            "retransmits": U64 = |(.., d)| d.retransmits,
            "timeouts": U64 = |(.., d)| d.timeouts,
            "fast_recoveries": U64 = |(.., d)| d.fast_recoveries,
        });
        if tally.known.ce_packets {
            let counts = rows.iter().map(|(.., d)| d.ce_packets);
            flows.columns.push(("ce_packets", Column::U64(counts.collect())));
        }
        for (name, column) in &mut flows.columns {
            let known = match *name {
                "timeouts" => tally.known.timeouts,
                "fast_recoveries" => tally.known.fast_recoveries,
                _ => true,
            };
            if !known {
                *column = Column::Unknown(rows.len());
            }
        }
        flows
    }

    pub(super) fn pages_table(&self) -> Table {
        let rows = self.by_app(|app| app.pages.as_ref().map_or(&[], PageLoads::kept));
        table!("pages", rows, {
            "app": Text = |(app, _)| app.name.as_str(),
            "start_s": F64 = |(_, page)| page.started.secs(),
            "load_s": F64 = |(_, page)| page.took.secs(),
        })
    }

    pub(super) fn files_table(&self) -> Table {
        let rows = self.by_app(|app| app.files.kept());
        table!("files", rows, {
            "app": Text = |(app, _)| app.name.as_str(),
            "start_s": F64 = |(_, f)| f.started.secs(),
            "took_s": F64 = |(_, f)| f.took.secs(),
            "bytes": U64 = |(_, f)| f.bytes,
        })
    }

    pub(super) fn pings_table(&self) -> Table {
        let rows = self.by_app(|app| app.echoes.as_ref().map_or(&[], |echoes| echoes.kept()));
        table!("pings", rows, {
            "app": Text = |(app, _)| app.name.as_str(),
            "t_s": F64 = |(_, k)| k.sent.secs(),
            "rtt_ms": F64 = |(_, k)| ms(k.rtt),
        })
    }

    /// Returns one table for each kind of application that reports time series of its own. All applications of a kind
    /// have the same columns.
    pub(super) fn own_tables(&self) -> Vec<Table> {
        let of_kind = |kind| {
            let apps = || {
                self.tally
                    .apps
                    .iter()
                    .zip(&self.columns)
                    .filter(move |(app, columns)| app.kind == kind && !columns.is_empty())
            };
            let (_, first) = apps().next()?;
            let names = apps().flat_map(|(app, columns)| columns[0].1.iter().map(|_| app.name.as_str()));
            let mut table = Table { name: kind, columns: vec![("app", Column::Text(names.collect()))] };
            for (place, (name, _)) in first.iter().enumerate() {
                let values = apps().flat_map(|(_, columns)| columns[place].1.iter().copied());
                table.columns.push((name, Column::F64(values.collect())));
            }
            Some(table)
        };
        traffic::APPS.iter().filter_map(|app| of_kind(app.name)).collect()
    }

    pub(super) fn syn_times(&self) -> Table {
        let tally = self.tally;
        table!("syn_times", tally.syns, {
            "app": Text = |(app, ..)| tally.apps[usize::from(*app)].name.as_str(),
            "connection": U64 = |(_, number, _)| u64::from(*number),
            "t_s": F64 = |(.., t)| t.secs(),
        })
    }

    /// Returns the name and the meter of each recorded link.
    fn recorded(&self) -> impl Iterator<Item = (&str, &LinkMeter)> {
        self.links.iter().filter_map(|l| l.meter.map(|m| (l.name, m)))
    }

    pub(super) fn queue_series(&self) -> Table {
        let rows: Vec<_> =
            self.recorded().flat_map(|(name, m)| (0..m.series.len()).map(move |i| (name, m, i))).collect();
        table!("queue_series", rows, {
            "link": Text = |(name, ..)| *name,
            "t_s": F64 = |(_, m, i)| m.series.begin(*i).secs(),
            "queue_packets_mean": F64 = |(_, m, i)| m.series.queue_mean(*i),
            "queue_packets": F64 = |(_, m, i)| m.series.queue_end(*i),
            "sojourn_ms_mean": F64 = |(_, m, i)| m.series.sojourn_mean(*i) * 1e-6,
            "sojourn_ms_max": F64 = |(_, m, i)| m.series.sojourn_max(*i) * 1e-6,
            "sent_packets": F64 = |(_, m, i)| m.series.sent_packets(*i),
            "sent_bytes": F64 = |(_, m, i)| m.series.sent_bytes(*i),
            "dropped_packets": F64 = |(_, m, i)| m.series.dropped_packets(*i),
            "marked_packets": F64 = |(_, m, i)| m.series.marked_packets(*i),
        })
    }

    pub(super) fn flow_series(&self) -> Table {
        let used = self.flow_rows().filter(|row| row.of.total.packets > 0);
        let series = used.filter_map(|row| Some((row, row.of.series.as_deref()?)));
        let rows: Vec<_> = series.flat_map(|(row, s)| (0..s.wire.len()).map(move |bin| (row, s, bin))).collect();
        table!("flow_series", rows, {
            "app": Text = |(row, ..)| row.app,
            "flow": U64 = |(row, ..)| row.flow,
            "direction": Text = |(row, ..)| row.direction,
            "t_s": F64 = |(_, s, bin)| s.wire.begin(*bin).secs(),
            "wire_bytes": F64 = |(_, s, bin)| s.wire.get(*bin),
            "goodput_bytes": F64 = |(_, s, bin)| s.goodput.get(*bin),
            "cwnd_bytes": F64 = |(_, s, bin)| s.cwnd.get(*bin),
            "ssthresh_bytes": F64 = |(_, s, bin)| finite(s.ssthresh.get(*bin)),
            "srtt_ms": F64 = |(_, s, bin)| s.srtt.get(*bin) * 1e-6,
            "delay_ms_mean": F64 = |(_, s, bin)| s.delay.get(*bin) * 1e-6,
            "delay_ms_max": F64 = |(_, s, bin)| s.delay_max.get(*bin) * 1e-6,
            "dropped_packets": F64 = |(_, s, bin)| s.dropped.get(*bin),
        })
    }

    pub(super) fn model_series(&self) -> Table {
        let models = self.flow_rows().filter_map(|row| Some((row, row.of.series.as_deref()?.path.as_deref()?)));
        let bins = models.flat_map(|(row, m)| (0..m.mode.len()).map(move |bin| (row, m, bin)));
        let rows: Vec<_> = bins.filter(|(_, m, bin)| m.mode.get(*bin).is_finite()).collect();
        table!("model_series", rows, {
            "app": Text = |(row, ..)| row.app,
            "flow": U64 = |(row, ..)| row.flow,
            "direction": Text = |(row, ..)| row.direction,
            "t_s": F64 = |(_, m, bin)| m.mode.begin(*bin).secs(),
            "mode": Text = |(_, m, bin)| m.mode_at(*bin),
            "pacing_bps": F64 = |(_, m, bin)| m.pacing.get(*bin),
            "btl_bw_bps": F64 = |(_, m, bin)| m.btl_bw.get(*bin),
            "rt_prop_ms": F64 = |(_, m, bin)| m.rt_prop.get(*bin) * 1e-6,
        })
    }

    pub(super) fn queue_histogram(&self) -> Table {
        let rows: Vec<_> = self
            .recorded()
            .flat_map(|(name, m)| m.queue.bins().map(move |(packets, time)| (name, packets, time, m.queue.time())))
            .collect();
        table!("queue_histogram", rows, {
            "link": Text = |(name, ..)| *name,
            "packets": U64 = |(_, packets, ..)| u64::from(*packets),
            "time_share": F64 = |(_, _, time, all)| time.secs() / all.secs(),
        })
    }

    pub(super) fn sojourn_histogram(&self) -> Table {
        let rows: Vec<_> = self.recorded().flat_map(|(name, m)| m.sojourn.bins().map(move |bin| (name, bin))).collect();
        table!("sojourn_histogram", rows, {
            "link": Text = |(name, _)| *name,
            "lower_ms": F64 = |(_, (lower, ..))| lower.millis(),
            "upper_ms": F64 = |(_, (_, upper, _))| upper.millis(),
            "count": U64 = |(_, (.., count))| *count,
        })
    }

    pub(super) fn delay_histogram(&self) -> Table {
        let rows: Vec<_> = self
            .tally
            .apps
            .iter()
            .flat_map(|app| {
                let delays = WAYS.into_iter().zip(app.delay.iter());
                delays.flat_map(move |(direction, h)| h.bins().map(move |bin| (app, direction, bin)))
            })
            .collect();
        table!("delay_histogram", rows, {
            "app": Text = |(app, ..)| app.name.as_str(),
            "direction": Text = |(_, direction, _)| *direction,
            "lower_ms": F64 = |(.., (lower, ..))| lower.millis(),
            "upper_ms": F64 = |(.., (_, upper, _))| upper.millis(),
            "count": U64 = |(.., (.., count))| *count,
        })
    }
}

/// Returns the slow-start threshold `bytes`, or NaN if the threshold is infinite.
fn finite(bytes: f64) -> f64 {
    if bytes >= 1e18 { f64::NAN } else { bytes }
}
