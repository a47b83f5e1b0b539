//! The summary of an application.

use super::account::{Account, mbit, ms};
use super::graded::PingGrade;
use super::statistics::{DELAYS, OVER_TIME, delays, object, over_time, put};
use crate::bursts::Dropped;
use crate::files::FileTimes;
use crate::percentile::Sorted;
use crate::tally::{AppTally, Counts, Row};
use crate::voip::VoipSummary;
use crate::{Echoes, Histogram, Jitter, PageLoads, VoipMeter, class, jain, variation};
use packet::{Kind, Measure, measures};
use serde_json::{Map, Value};
use units::Duration;

/// Maximum number of flows of an application for which the summary lists the rate of each flow. The table `flows`
/// always has all flows.
const EACH: usize = 32;

/// Measure of the rate of each flow. Its key is the number of the flow.
pub(super) const EACH_FLOW: &[Measure] = &[Measure {
    key: "*",
    kind: Kind::MBIT.more(),
    words: "*",
    doc: "Goodput of flow N, counted from 0; for applications with at most 32 flows.",
    parts: &[],
}];

/// An application and the counters of its flows.
struct Counted<'a> {
    app: &'a AppTally,
    rows: &'a [Row],
    /// The measured time.
    time: Duration,
}

impl Counted<'_> {
    fn sum(&self, direction: usize, of: fn(Counts) -> u64) -> u64 {
        self.rows.iter().map(|r| of(r.directions[direction].counts())).sum()
    }

    fn both(&self, of: fn(Counts) -> u64) -> u64 {
        self.sum(0, of) + self.sum(1, of)
    }

    fn dropped(&self, directions: &[usize]) -> Dropped {
        let counts = || directions.iter().flat_map(|&i| self.rows.iter().map(move |row| &row.directions[i]));
        let after = counts().map(|d| d.counts().dropped).sum();
        Dropped { before: counts().map(|d| d.total.dropped).sum::<u64>() - after, after }
    }

    fn goodput(&self, direction: usize) -> u64 {
        self.sum(direction, |d| d.goodput_bytes)
    }
}

/// The flows of an application with several flows. `bytes` holds the goodput of each flow, both directions together;
/// `time` is the measured time.
struct Flows<'a> {
    bytes: &'a [u64],
    time: Duration,
}

impl Flows<'_> {
    fn rate(&self, bytes: Option<&u64>) -> Option<f64> {
        bytes.map(|b| mbit(*b, self.time))
    }
}

measures! {
    /// Measures of every application.
    pub(super) const APP = fn app_measures(c: &Counted<'_>, timeouts: Option<u64>, fast_recoveries: Option<u64>) -> Value {
        "kind": Kind::ONE, "kind", "Kind of the application: the key of its `traffic` (`bloatlab list apps`)." => c.app.kind;
        "flows": Kind::ONE, "flows", "Number of the application's flows. The table `flows` has a row for each direction of each flow." => c.app.rows;
        "packets": Kind::PACKETS, "packets", "Packets that arrived at the far host." => c.sum(0, |d| d.packets);
        "packets_reverse": Kind::PACKETS, "packets back", "Packets that arrived in the reverse direction." => c.sum(1, |d| d.packets);
        "wire_bytes": Kind::BYTES, "wire", "Bytes of `packets`, headers included." => c.sum(0, |d| d.wire_bytes);
        "wire_bytes_reverse": Kind::BYTES, "wire back", "Bytes of `packets_reverse`, headers included." => c.sum(1, |d| d.wire_bytes);
        "goodput_bytes": Kind::BYTES.more(), "goodput", "Payload that arrived in order." => c.goodput(0);
        "goodput_bytes_reverse": Kind::BYTES.more(), "goodput back", "Payload that arrived in order in the reverse direction." => c.goodput(1);
        "goodput_mbit": Kind::MBIT.more().rank(16), "goodput",
            "`goodput_bytes` as a rate over the measured time (the run without the warm-up)."
            => mbit(c.goodput(0), c.time);
        "goodput_mbit_reverse": Kind::MBIT.more().rank(17), "goodput back",
            "`goodput_bytes_reverse` as a rate over the measured time."
            => mbit(c.goodput(1), c.time);
        "dropped_packets": Kind::PACKETS, "dropped",
            "Packets dropped by queues and links, both directions." => c.both(|d| d.dropped);
        "retransmits": Kind::ONE, "retransmits", "Retransmitted segments, both directions." => c.both(|d| d.retransmits);
        "timeouts": Kind::ONE.less().rank(18), "timeouts",
            "Retransmission timeouts, both directions; null in live runs before Linux 6.7." => timeouts;
        "fast_recoveries": Kind::ONE, "fast recoveries",
            "Number of times that a sender entered fast recovery, both directions; null in live runs." => fast_recoveries;
        "delay_ms": Kind::MS.less().rank_by("p99", 13), "delay", "One-way delay of packets with payload.", DELAYS
            => object(delays(&c.app.delay[0]));
        "delay_ms_reverse": Kind::MS.less().rank_by("p99", 15), "delay back",
            "One-way delay of packets with payload on the way back.", DELAYS => object(delays(&c.app.delay[1]));
    }
    /// Measure of every application of a run in which at least one transport uses ECN and reports CE marks.
    pub(super) const MARKED = fn marked(c: &Counted<'_>) -> Value {
        "ce_packets": Kind::PACKETS, "ce",
            "CE-marked packets reported to the senders, both directions; only with `ecn` or your own transport (docs/transports.md)."
            => c.both(|d| d.ce_packets);
    }
    /// Statistics of the goodput of an application's flows. The goodput of a flow is the sum of both directions.
    const RATES = fn rates(f: &Flows<'_>) -> Value {
        "min": Kind::SAME, "minimum",
            "Goodput of the slowest flow, both directions together."
            => f.rate(f.bytes.iter().min());
        "mean": Kind::SAME, "mean", "Mean goodput of the flows." => mbit(f.bytes.iter().sum(), f.time) / f.bytes.len() as f64;
        "max": Kind::SAME, "maximum", "Goodput of the fastest flow." => f.rate(f.bytes.iter().max());
        "cv": Kind::VARIATION, "coefficient of variation",
            "Coefficient of variation of the flows' goodput; Jain's index is 1 / (1 + cv²)." => variation(f.bytes);
    }
    /// Measures of an application with several flows.
    pub(super) const SEVERAL = fn several(index: Option<f64>, f: &Flows<'_>) -> Value {
        "fairness": Kind::scale("0 to 1").more(), "Jain's fairness",
            "Jain's index over the goodput of the application's flows that always have more to send. Absent if the \
             application has one flow; null if it has fewer than two such flows, or if none of them has goodput."
            => index;
        "flow_goodput_mbit": Kind::MBIT.more(), "flow goodput", "", RATES => object(rates(f));
    }
    /// Measures of an application that sends datagrams.
    pub(super) const DATAGRAMS = fn datagrams(sent: u64, jitter: &[Jitter; 2]) -> Value {
        "datagrams_sent": Kind::PACKETS, "datagrams sent", "Datagrams sent by both ends: UDP, or ICMP for a ping." => sent;
        "jitter_ms": Kind::MS.less(), "jitter",
            "Mean absolute difference between the one-way delays of successive datagrams to the server."
            => ms(jitter[0].mean());
        "jitter_ms_reverse": Kind::MS.less(), "jitter back", "`jitter_ms` of datagrams on the way back." => ms(jitter[1].mean());
    }
    /// Measures of the files or messages of an application, and of the times that they took.
    pub(super) const FILES = fn files(all: &Histogram, times: &FileTimes<'_>) -> Value {
        "done": Kind::ONE.more(), "file, done",
            "Number of files, messages, video segments, short transfers and bursts that arrived completely." => all.count();
        "exact": Kind::ONE, "file, exact",
            "True if the median and percentiles are exact, false if they come from a histogram (see Percentiles, below)." => times.exact();
        "mean_s": Kind::S.less(), "file, mean",
            "Mean transfer time, from the opening of the connection to the arrival of the last byte. If the connection is \
             already open, the time begins when the data are requested (video) or written." => all.mean().map(Duration::secs);
        "median_s": Kind::S.less().rank(10), "file, median",
            "Median transfer time."
            => times.median().map(Duration::secs);
        "p95_s": Kind::S.less(), "file, 95 %",
            "95th percentile of the transfer time." => times.percentile(95.0).map(Duration::secs);
        "p99_s": Kind::S.less(), "file, 99 %",
            "99th percentile of the transfer time." => times.percentile(99.0).map(Duration::secs);
        "p99_9_s": Kind::S.less(), "file, 99.9 %",
            "99.9th percentile of the transfer time." => times.percentile(99.9).map(Duration::secs);
        "max_s": Kind::S.less(), "file, maximum", "Longest transfer time." => all.max().map(Duration::secs);
        "cv": Kind::VARIATION, "file, coefficient of variation",
            "Coefficient of variation of the transfer times." => times.variation();
    }
    /// Measures of one stream of a call. A packet still in transit at the end is neither lost nor late.
    pub(super) const VOIP = fn voip(meter: &VoipMeter, s: Option<&VoipSummary>, sent: u64, judged: u64) -> Value {
        "sent": Kind::PACKETS, "sent", "Packets sent by the call." => sent;
        "judged": Kind::PACKETS, "judged",
            "Packets that were received or dropped. If there are none, all shares and ratings are null." => judged;
        "received": Kind::PACKETS, "received", "Packets that arrived." => meter.arrived();
        "lost_percent": Kind::PERCENT.less(), "lost", "Share of the judged packets that were dropped." => s.map(|s| s.lost_percent);
        "late_percent": Kind::PERCENT.less(), "late",
            "Share of the judged packets whose delay exceeded the shortest delay of the call by more than `late_after`."
            => s.map(|s| s.late_percent);
        "plr_percent": Kind::PERCENT.less().rank(2), "lost or late", "Share of the judged packets that were lost or late." => s.map(|s| s.plr_percent);
        "delay_ms": Kind::MS.less().rank_by("p99", 14), "delay", "One-way delay.", DELAYS => object(delays(meter.delays()));
        "jitter_ms": Kind::MS.less(), "jitter by RFC 3550", "Interarrival jitter at the end of the call (RFC 3550)." => ms(s.and_then(|s| s.jitter));
        "r": Kind::scale("0 to 100").more().least(0.1), "R",
            "Rating factor R of the E-model from loss and delay, in Cole and Rosenbluth's simplified form for G.711; \
             100 is best (see Voice, below)." => s.map(|s| s.r);
        "mos": MOS.rank(1), "MOS", "Mean opinion score (MOS) computed from `r`." => s.map(|s| s.mos);
        "burst_ratio": Kind::ONE.less(), "burst ratio",
            "Mean number of consecutive packets that were lost or late, divided by the number to expect if losses were \
             independent." => s.map(|s| s.burst_ratio);
        "r_g107": Kind::scale("0 to 100").more().least(0.1), "R by G.107",
            "Rating factor R by ITU-T G.107, from loss, bursts and delay (see Voice, below)."
            => s.map(|s| s.r_g107);
        "mos_g107": MOS, "MOS by G.107", "Mean opinion score (MOS) computed from `r_g107`." => s.map(|s| s.mos_g107);
        "r_loss_only": Kind::scale("0 to 100").more().least(0.1), "R, loss only",
            "As `r`, but without delay. The MOS values printed in CableLabs 2012 appear to be based on it."
            => s.map(|s| s.r_loss_only);
        "mos_loss_only": MOS, "MOS, loss only",
            "Mean opinion score (MOS) computed from `r_loss_only`." => s.map(|s| s.mos_loss_only);
    }
    /// Measures of one direction of a game, in which `dropped` packets were dropped. A packet is late if its delay
    /// exceeds the shortest by more than `late_after`.
    pub(super) const GAME = fn game(delay: &Histogram, late_after: Duration, dropped: u64) -> Value {
        "lost_percent": Kind::PERCENT.less(), "lost",
            "Share of this direction's packets that were dropped. `up` is from the player to the server, `down` from the \
             server to the player."
            => of_settled(delay, dropped, dropped as f64);
        "late_percent": Kind::PERCENT.less(), "late",
            "Share of this direction's packets whose delay exceeded the shortest delay in this direction by more than \
             `late_after`."
            => of_settled(delay, dropped, late(delay, late_after));
    }
    /// Measures of echo requests. `lost` is the number of dropped requests and replies. A request or reply still in transit
    /// at the end is neither answered nor lost.
    pub(super) const PING = fn ping(echoes: &Echoes, grade: &PingGrade<'_>, lost: u64) -> Value {
        "sent": Kind::PACKETS, "sent", "Echo requests that left." => echoes.count();
        "answered": Kind::PACKETS, "answered", "Replies that came back." => echoes.rtt().count();
        "lost": Kind::PACKETS, "lost",
            "Requests and replies that were dropped. An exchange still in progress at the end is neither answered nor \
             lost." => lost;
        "lost_percent": Kind::PERCENT.less().rank(12), "lost", "`ping.lost` as a share of the echo requests that were answered or lost."
            => 100.0 * lost as f64 / (echoes.rtt().count() + lost) as f64;
        "rtt_ms": Kind::MS.less().rank_by("p99", 11), "round trip", "Round-trip time.", DELAYS => object(delays(echoes.rtt()));
        "induced_ms": Kind::MS.less(), "delay added by load",
            "Mean delay added by load: the mean of `ping.rtt_ms` minus the shortest round trip of the whole run. The \
             scales `waveform` and `vrecipes` define it differently (see Fairness and grade, below)."
            => ms(grade.added);
        "induced_p99_ms": Kind::MS.less(), "delay added by load, 99 %",
            "Delay added by load at the 99th percentile: `ping.rtt_ms.p99` minus the shortest round trip of the \
             whole run."
            => ms(grade.p99);
        "grade": Kind::scale("A+ to F"), "grade",
            "Grade of the ping, on the scenario's scale." => grade.grade;
    }
    /// Measures of an application that sends each echo request when the previous request is answered, or `timeout` after
    /// the previous request.
    pub(super) const ONE_BY_ONE = fn one_by_one(echoes: &Echoes, timeout: Duration) -> Value {
        "rtt_over_time_ms": Kind::MS.less(), "round trip over time",
            "Round-trip time of a ping with `after_answer`, weighted by time (docs/workloads.md).", OVER_TIME
            => object(over_time(echoes.rtt(), timeout));
    }
    /// The responsiveness class of an `rpm` application.
    pub(super) const RPM_CLASS = fn rpm_class(rpm: f64) -> Value {
        "class": Kind::ONE, "class",
            "Class of the responsiveness `rpm.rpm`, in round trips per minute: poor below 300, fair below 1000, good below \
             6000, otherwise excellent." => class(rpm);
    }
    /// Statistics of page load times.
    const PAGE_LOADS = fn page_loads(times: &Sorted) -> Value {
        "median": Kind::SAME, "median", "Median page load time." => times.median().map(Duration::secs);
        "mad": Kind::SAME, "median deviation",
            "Median absolute deviation of the page load times from their median." => times.mad().map(Duration::secs);
        "mean": Kind::SAME, "mean", "Mean." => times.mean().map(Duration::secs);
        "p95": Kind::SAME, "95 %", "95th percentile." => times.percentile(95.0).map(Duration::secs);
        "p99": Kind::SAME, "99 %", "99th percentile." => times.percentile(99.0).map(Duration::secs);
        "p99_9": Kind::SAME, "99.9 %", "99.9th percentile." => times.percentile(99.9).map(Duration::secs);
        "cv": Kind::VARIATION, "coefficient of variation", "Coefficient of variation." => times.variation();
        "min": Kind::SAME, "minimum", "Shortest." => times.percentile(0.0).map(Duration::secs);
        "max": Kind::SAME, "maximum", "Longest." => times.percentile(100.0).map(Duration::secs);
    }
    /// Measures of page loads.
    pub(super) const WEB = fn web(p: &PageLoads) -> Value {
        "pages": Kind::ONE.more(), "pages", "Pages loaded completely." => p.count();
        "abandoned": Kind::ONE.less().rank(9), "abandoned",
            "Pages that ended with objects missing." => p.abandoned_count();
        "page_load_s": Kind::S.less().rank_by("median", 8), "page load", "", PAGE_LOADS => object(page_loads(&p.times()));
    }
}

/// The kind used for mean opinion scores.
const MOS: Kind = Kind::scale("1 to 4.5").more().least(0.01);

/// Returns the number of packets whose delay exceeds the shortest by more than `late_after`. If this limit lies inside a
/// bin, all packets of the bin count as late, unless no packet exceeds the limit.
fn late(delay: &Histogram, late_after: Duration) -> f64 {
    let least = delay.min().unwrap_or_default();
    (delay.count() as f64 * (1.0 - delay.share_at_most(least + late_after))).max(0.0)
}

/// Returns `n` packets as a percentage of the packets that arrived or were dropped.
fn of_settled(delay: &Histogram, dropped: u64, n: f64) -> Option<f64> {
    let settled = delay.count() as f64 + dropped as f64;
    (settled > 0.0).then(|| 100.0 * n / settled)
}

/// Returns the goodput of a flow in bytes, summed over both directions.
fn goodput(row: &Row) -> u64 {
    row.directions.iter().map(|d| d.counts().goodput_bytes).sum()
}

/// Returns true if a flow has begun: a counter of the flow is above 0, counting the warm-up too.
fn has_begun(row: &Row) -> bool {
    row.directions.iter().any(|d| d.total != Counts::default())
}

/// Returns Jain's index over the goodput of flows; `None` if there are fewer than two flows, or if no payload has
/// arrived.
fn fairness(flows: &[u64]) -> Option<f64> {
    let shares: Vec<f64> = flows.iter().map(|&bytes| bytes as f64).collect();
    (shares.len() > 1 && shares.iter().any(|s| *s > 0.0)).then(|| jain(&shares))
}

impl Account<'_> {
    fn rows(&self, app: &AppTally) -> &[Row] {
        &self.tally.rows[app.first_row..app.first_row + app.rows]
    }

    /// Returns the fairness among the flows of `apps` that have begun and always have more to send. Flows of other
    /// kinds are left out: their application limits their rate, not the network.
    pub(super) fn fairness(&self, apps: &[AppTally]) -> Option<f64> {
        let rows = apps.iter().filter(|app| app.greedy).flat_map(|app| self.rows(app));
        fairness(&rows.filter(|row| has_begun(row)).map(goodput).collect::<Vec<_>>())
    }

    pub(super) fn app_summary(&self, i: usize) -> Value {
        let app = &self.tally.apps[i];
        let c = Counted { app, rows: self.rows(app), time: self.measured() };
        let (known, mut v) = (&self.tally.known, Map::new());
        let timeouts = known.timeouts.then(|| c.both(|d| d.timeouts));
        put(&mut v, app_measures(&c, timeouts, known.fast_recoveries.then(|| c.both(|d| d.fast_recoveries))));
        if known.ce_packets {
            put(&mut v, marked(&c));
        }
        self.add_flows(&c, &mut v);
        let sent = app.datagrams - app.datagrams_before;
        if app.datagrams > 0 {
            put(&mut v, datagrams(sent, &app.jitter));
        }
        let all = app.files.all();
        if all.count() > 0 {
            v.insert("files".to_owned(), object(files(all, &app.files.times())));
        }
        for (stream, (name, meter)) in ["voip", "voip_reverse"].into_iter().zip(&app.voip).enumerate() {
            // if both sides speak, they send at the same times, so each side sent half of the datagrams
            let streams = app.voip.len() as u64;
            let dropped = if streams == 1 { c.dropped(&[0, 1]) } else { c.dropped(&[stream]) };
            let (judged, summary) = (meter.arrived() + dropped.after, meter.summary(dropped));
            v.insert(name.to_owned(), object(voip(meter, summary.as_ref(), sent / streams, judged)));
        }
        if let Some(late_after) = app.late_after {
            let way = |i: usize| object(game(&app.delay[i], late_after, c.sum(i, |d| d.dropped)));
            v.insert(app.kind.to_owned(), object([("up", way(0)), ("down", way(1))]));
        }
        if let Some(echoes) = &app.echoes {
            let mut of = Map::new();
            put(&mut of, ping(echoes, &self.grading.grade_ping(echoes, &self.tally.load), c.both(|d| d.dropped)));
            if let Some(timeout) = app.timeout {
                put(&mut of, one_by_one(echoes, timeout));
            }
            v.insert("ping".to_owned(), of.into());
        }
        if let Some(of) = self.figures(i) {
            v.insert(app.kind.to_owned(), of.into());
        }
        if let Some(pages) = &app.pages {
            v.insert("web".to_owned(), object(web(pages)));
        }
        v.into()
    }

    /// Returns the measures specific to an application's kind.
    fn figures(&self, i: usize) -> Option<Map<String, Value>> {
        let figures = self.figures.get(i).filter(|f| !f.is_empty())?;
        let mut of: Map<String, Value> =
            figures.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        of.extend(self.words.get(i).into_iter().flatten().map(|(name, word)| ((*name).to_owned(), (*word).into())));
        if let Some((_, rpm)) = figures.iter().find(|(name, _)| *name == "rpm") {
            put(&mut of, rpm_class(*rpm));
        }
        Some(of)
    }

    /// Adds the fairness and the goodput of the application's flows. Adds nothing if there are fewer than two flows, or
    /// if no payload has arrived.
    fn add_flows(&self, c: &Counted<'_>, v: &mut Map<String, Value>) {
        let bytes: Vec<u64> = c.rows.iter().map(goodput).collect();
        if fairness(&bytes).is_none() {
            return;
        }
        let flows = Flows { bytes: &bytes, time: c.time };
        put(v, several(self.fairness(std::slice::from_ref(c.app)), &flows));
        if bytes.len() <= EACH {
            let each =
                bytes.iter().enumerate().map(|(flow, bytes)| (flow.to_string(), Value::from(flows.rate(Some(bytes)))));
            v["flow_goodput_mbit"]["each"] = each.collect();
        }
    }
}
