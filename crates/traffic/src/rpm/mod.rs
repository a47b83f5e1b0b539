//! Responsiveness under working conditions: the number of round trips per minute while the link is saturated.
//!
//! Source: draft-ietf-ippm-responsiveness-09. The doc comments of [`RpmParams`] give the draft's names for the parameters.
//!
//! ```text
//!   load       INP connections at the start, INC more after each interval (ID), up to MNP, in each loaded direction
//!   probes     a pair every 1/MPS s, or less often if PTC requires it: a foreign probe (a new connection: TCP, TLS, GET) and a self
//!              probe (a GET on a load-generating connection, drawn uniformly)
//!   goodput    moving average of interval i = bytes of the last MAD intervals / (MAD x ID); saturated when stable
//!   then RPM   computed from the probes answered in the last MAD intervals; the result is the first stable value
//! ```
//!
//! `score.rs` has the arithmetic, `connection.rs` the steps of a connection. The test has two stages: goodput, then
//! RPM. Each ends when its measure is stable, or after `stage_intervals`, the draft's time limit. The confidence in a
//! measure is as in the draft: low (its stage has fewer than MAD intervals), medium (not stable), high (stable).
//!
//! Departs: in the first interval, the probe rate is derived from the goodput so far. While there is load, at least one
//! pair per second is sent, regardless of PTC. After the result, probes end and the load continues to the end of the
//! run. A failed load-generating connection does not end the test, and no longer counts towards MNP.

mod build;
mod connection;
mod params;
mod score;
#[cfg(test)]
mod tests;

#[cfg(test)]
use params::Load;
pub(crate) use params::{FOREIGN_BYTES, RpmParams, SELF_BYTES};

use crate::conns::Conns;
use crate::{Application, ConnId, Direction, Host, Role};
use connection::{Connection, Purpose, Step};
use packet::{Kind, Measure};
use score::{RecentSamples, Sample, Score, is_stable};
use units::{Duration, Time};

/// Maximum number of outstanding foreign probes. Additional foreign probes are skipped.
const MOST_PROBES: u32 = 1000;
/// Maximum time between pairs of probes, in seconds. Without this limit, the RPM of four intervals on a slow line would
/// be computed from a few samples only.
const SLOWEST: f64 = 1.0;

/// Timer tokens.
const INTERVAL: u64 = 0;
const PROBE: u64 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Goodput,
    Responsiveness,
    Over,
}

/// The progress of one measure: the goodput in one direction, or the responsiveness. `values` holds a value for each
/// interval of the stage in which the measure is computed, and `stable` is the result of [`is_stable`] after the newest
/// value.
#[derive(Clone, Debug, Default, PartialEq)]
struct Progress {
    values: Vec<f64>,
    stable: bool,
}

impl Progress {
    fn confidence(&self, mad: u32) -> &'static str {
        match self.values.len() < mad as usize {
            _ if self.stable => "high",
            true => "low",
            false => "medium",
        }
    }
}

/// The results of one interval.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    ends: Time,
    /// Load-generating connections whose load was running at the end of the interval, in all loaded directions.
    connections: usize,
    /// Goodput of the load in bit/s, down and up.
    goodput: [f64; 2],
    /// Score of the probes that were answered in the last `moving_average` intervals.
    score: Score,
    foreign_probes: usize,
    self_probes: usize,
}

/// The application with [`RpmParams`].
#[derive(Clone, Debug, PartialEq)]
pub struct Rpm {
    p: RpmParams,
    start: Time,
    conns: Conns<Connection>,
    /// Load-generating connections in the order in which their load began.
    loads: Vec<ConnId>,
    /// Number of outstanding foreign probes.
    probes: u32,
    /// Number of foreign probes skipped because too many were outstanding.
    skipped: u64,
    /// Number of connections that failed.
    failed: u64,
    /// Bytes of load received in each interval, down and up. The last entry is the current interval.
    received: Vec<[u64; 2]>,
    goodput: [Progress; 2],
    rpm: Progress,
    stage: Stage,
    samples: RecentSamples,
    /// Duration of the first connection's TCP handshake, before the test loads the path.
    idle: Option<Duration>,
    rows: Vec<Row>,
}

/// Returns the index of `way` in arrays that hold one value for down and one for up, in this order.
fn index(way: Direction) -> usize {
    usize::from(way == Direction::Up)
}

impl Rpm {
    fn new(p: RpmParams) -> Self {
        let samples = RecentSamples::new(p.moving_average);
        Self {
            p,
            start: Time::ZERO,
            conns: Conns::default(),
            loads: Vec::new(),
            probes: 0,
            skipped: 0,
            failed: 0,
            received: vec![[0; 2]],
            goodput: [Progress::default(), Progress::default()],
            rpm: Progress::default(),
            stage: Stage::Goodput,
            samples,
            idle: None,
            rows: Vec::new(),
        }
    }

    fn open<H: Host>(&mut self, purpose: Purpose, host: &mut H) {
        let id = host.open(0, 0);
        self.conns.insert(id, Connection::new(id, purpose, host.now()));
    }

    /// Returns the number of load-generating connections in this direction, including those that are connecting.
    fn count(&self, way: Direction) -> u32 {
        self.conns.states().filter(|c| c.purpose == Purpose::Load(way)).count() as u32
    }

    fn add_load<H: Host>(&mut self, more: u32, host: &mut H) {
        for way in self.p.direction.ways() {
            for _ in 0..more.min(self.p.most.saturating_sub(self.count(*way))) {
                self.open(Purpose::Load(*way), host);
            }
        }
    }

    /// Sends a pair of probes.
    fn probe<H: Host>(&mut self, host: &mut H) {
        // probes are sent only under load
        if self.loads.is_empty() {
            return;
        }
        if self.probes < MOST_PROBES {
            self.probes += 1;
            self.open(Purpose::Probe, host);
        } else {
            self.skipped += 1;
        }
        let conn = self.loads[host.rng().below(self.loads.len() as u64) as usize];
        if let Some(connection) = self.conns.get_mut(conn) {
            connection.probe(&self.p, host);
        }
    }

    /// Returns the time until the next pair of probes. The draft limits the pairs per second (MPS, `probes_per_second`)
    /// and the share of the goodput that probes use (PTC, `probe_share`). PTC applies to the lowest goodput of the
    /// loaded directions in the last complete interval or, in the first interval, so far.
    fn gap(&self, now: Time) -> Duration {
        let finished = self.received.len() - 1;
        let (received, time) = match finished {
            0 => (self.received[0], now.since(self.start)),
            n => (self.received[n - 1], self.p.interval),
        };
        let slowest = self.p.direction.ways().iter().map(|way| received[index(*way)]).min().unwrap_or(0);
        let share = self.p.probe_share * slowest as f64 / time.secs().max(1e-3);
        let by_share = (FOREIGN_BYTES + SELF_BYTES) as f64 / share;
        Duration::from_secs_f64(by_share.min(SLOWEST).max(1.0 / f64::from(self.p.probes_per_second)))
    }

    /// Ends an interval.
    fn interval<H: Host>(&mut self, host: &mut H) {
        let (mad, id) = (self.p.moving_average as usize, self.p.interval.secs());
        let score = self.samples.score(self.p.trim, self.p.tls);
        let newest = self.received[self.received.len() - 1];
        self.rows.push(Row {
            ends: host.now(),
            connections: self.loads.len(),
            goodput: newest.map(|bytes| bytes as f64 * 8.0 / id),
            score,
            foreign_probes: self.samples.count(Sample::HttpForeign),
            self_probes: self.samples.count(Sample::HttpLoaded),
        });
        let recent = &self.received[self.received.len().saturating_sub(mad)..];
        match self.stage {
            Stage::Goodput => {
                for way in self.p.direction.ways() {
                    let bytes: u64 = recent.iter().map(|received| received[index(*way)]).sum();
                    let progress = &mut self.goodput[index(*way)];
                    progress.values.push(bytes as f64 / (mad as f64 * id));
                    progress.stable = is_stable(&progress.values, self.p.moving_average, self.p.tolerance);
                }
                let ways = self.p.direction.ways();
                let stable = ways.iter().all(|way| self.goodput[index(*way)].stable);
                if stable || self.received.len() as u64 >= u64::from(self.p.stage_intervals) {
                    self.stage = Stage::Responsiveness;
                }
            }
            Stage::Responsiveness => {
                self.rpm.values.push(score.rpm);
                self.rpm.stable = is_stable(&self.rpm.values, self.p.moving_average, self.p.tolerance);
                if self.rpm.stable || self.rpm.values.len() as u64 >= u64::from(self.p.stage_intervals) {
                    self.stage = Stage::Over;
                }
            }
            Stage::Over => {}
        }
        if self.stage != Stage::Over {
            self.received.push([0; 2]);
            self.samples.next();
            self.add_load(self.p.add, host);
            host.timer(self.start + self.p.interval * self.received.len() as u64, INTERVAL);
        }
    }

    /// Returns the score at the end of the last interval. Before the first interval has ended, returns the score of the samples
    /// so far.
    fn score(&self) -> Score {
        self.rows.last().map_or_else(|| self.samples.score(self.p.trim, self.p.tls), |row| row.score)
    }

    /// Returns the confidence in the goodput and in the responsiveness.
    fn confidence(&self) -> [&'static str; 2] {
        let mad = self.p.moving_average;
        let of = |way: &Direction| self.goodput[index(*way)].confidence(mad);
        let ways = self.p.direction.ways().iter();
        let least = ways.map(of).min_by_key(|word| ["low", "medium", "high"].iter().position(|w| w == word));
        [least.unwrap_or("low"), self.rpm.confidence(mad)]
    }
}

impl Application for Rpm {
    fn start<H: Host>(&mut self, host: &mut H) {
        self.start = host.now();
        self.add_load(self.p.initial, host);
        host.timer(self.start + self.p.interval, INTERVAL);
        host.timer(self.start + Duration::from_secs_f64(1.0 / f64::from(self.p.probes_per_second)), PROBE);
    }

    fn timer<H: Host>(&mut self, token: u64, host: &mut H) {
        if token == INTERVAL {
            return self.interval(host);
        }
        if self.stage != Stage::Over {
            self.probe(host);
            host.timer(host.now() + self.gap(host.now()), PROBE);
        }
    }

    fn connected<H: Host>(&mut self, conn: ConnId, role: Role, host: &mut H) {
        let Some(connection) = self.conns.get_mut(conn) else { return };
        if role == Role::Client
            && let Step::Tcp(took) = connection.connected(&self.p, host)
        {
            self.idle.get_or_insert(took);
            if connection.purpose == Purpose::Probe {
                self.samples.record(Sample::Tcp, took);
            }
        }
    }

    fn received<H: Host>(&mut self, conn: ConnId, role: Role, bytes: u64, host: &mut H) {
        let Some(connection) = self.conns.get_mut(conn) else { return };
        let mut done = Vec::new();
        let step = connection.received(role, bytes, &self.p, host, &mut done);
        match (step, connection.purpose) {
            (Step::Tls(took), Purpose::Probe) => self.samples.record(Sample::Tls, took),
            (Step::Http(took), _) => self.samples.record(Sample::HttpForeign, took),
            (Step::LoadBegan, _) => self.loads.push(conn),
            (Step::LoadReceived(bytes), Purpose::Load(way)) => {
                if let Some(newest) = self.received.last_mut() {
                    newest[index(way)] += bytes;
                }
            }
            _ => {}
        }
        if self.stage != Stage::Over {
            done.into_iter().for_each(|took| self.samples.record(Sample::HttpLoaded, took));
        }
    }

    fn closed<H: Host>(&mut self, conn: ConnId, _: &mut H) {
        let Some(connection) = self.conns.remove(conn) else { return };
        self.loads.retain(|load| *load != conn);
        if connection.purpose == Purpose::Probe {
            self.probes -= 1;
        }
        self.failed += u64::from(!connection.is_over());
    }

    const MEASURES: &'static [&'static [Measure]] = &[RESPONSIVENESS, CONFIDENCE];

    fn figures(&self, _: Time, _: Time) -> Vec<(&'static str, f64)> {
        responsiveness(self, &self.score(), self.rows.last()).into()
    }

    fn words(&self) -> Vec<(&'static str, &'static str)> {
        let [goodput, rpm] = self.confidence();
        confidence(rpm, goodput).into()
    }

    fn columns(&self) -> Vec<(&'static str, Vec<f64>)> {
        let of = |value: fn(&Row) -> f64| self.rows.iter().map(value).collect();
        vec![
            ("t_s", of(|r| r.ends.secs())),
            ("load_connections", of(|r| r.connections as f64)),
            ("goodput_down_mbit", of(|r| r.goodput[0] * 1e-6)),
            ("goodput_up_mbit", of(|r| r.goodput[1] * 1e-6)),
            ("foreign_probes", of(|r| r.foreign_probes as f64)),
            ("self_probes", of(|r| r.self_probes as f64)),
            ("tcp_ms", of(|r| r.score.tm[0])),
            ("tls_ms", of(|r| r.score.tm[1])),
            ("http_foreign_ms", of(|r| r.score.tm[2])),
            ("http_loaded_ms", of(|r| r.score.tm[3])),
            ("foreign_rpm", of(|r| r.score.foreign)),
            ("loaded_rpm", of(|r| r.score.loaded)),
            ("rpm", of(|r| r.score.rpm)),
        ]
    }
}

packet::measures! {
    /// The responsiveness and the values from which it is computed.
    const RESPONSIVENESS = fn responsiveness(r: &Rpm, score: &Score, last: Option<&Row>) -> f64 {
        "rpm": Kind::ONE.more().rank(3), "round trips per minute",
            "Responsiveness under load: the mean of `foreign_rpm` and `loaded_rpm` (docs/responsiveness.md). All keys of `rpm` cover the \
             whole run."
            => score.rpm;
        "foreign_rpm": Kind::ONE.more(), "foreign RPM", "Round trips per minute on new connections." => score.foreign;
        "loaded_rpm": Kind::ONE.more(), "loaded RPM", "Round trips per minute on load-generating connections." => score.loaded;
        "tcp_ms": Kind::MS.less(), "TCP",
            "Trimmed mean (`trim`) of the TCP handshake times of foreign probes in the last `moving_average` intervals."
            => score.tm[Sample::Tcp as usize];
        "tls_ms": Kind::MS.less(), "TLS",
            "Trimmed mean of the TLS handshake times of the same probes."
            => score.tm[Sample::Tls as usize];
        "http_foreign_ms": Kind::MS.less(), "HTTP foreign", "Trimmed mean of the GET times of the same probes."
            => score.tm[Sample::HttpForeign as usize];
        "http_loaded_ms": Kind::MS.less(), "HTTP loaded",
            "Trimmed mean of the GET times of self probes in the same intervals."
            => score.tm[Sample::HttpLoaded as usize];
        "idle_ms": Kind::MS.less(), "idle", "TCP handshake time of the first connection, before any load."
            => r.idle.map_or(f64::NAN, Duration::millis);
        "goodput_down_mbit": Kind::MBIT.more(), "goodput down",
            "Goodput of the load to the client in the last `moving_average` intervals." => r.goodput_mbit(Direction::Down);
        "goodput_up_mbit": Kind::MBIT.more(), "goodput up",
            "Goodput of the load to the server in the last `moving_average` intervals." => r.goodput_mbit(Direction::Up);
        "intervals": Kind::ONE, "intervals", "Number of intervals until the test or the run ended."
            => r.rows.len() as f64;
        "connections": Kind::ONE, "connections", "Load-generating connections at the end." => r.loads.len() as f64;
        "foreign_probes": Kind::ONE, "foreign probes", "Foreign probes answered in the last `moving_average` intervals."
            => last.map_or(0.0, |row| row.foreign_probes as f64);
        "self_probes": Kind::ONE, "self probes", "Self probes answered in the last `moving_average` intervals."
            => last.map_or(0.0, |row| row.self_probes as f64);
        "failed_connections": Kind::ONE, "failed connections", "Connections that failed." => r.failed as f64;
        "probes_left_out": Kind::ONE, "probes left out",
            "Foreign probes that were not sent because a thousand were outstanding." => r.skipped as f64;
    }
    /// The confidence in the result.
    const CONFIDENCE = fn confidence(rpm: &'static str, goodput: &'static str) -> &'static str {
        "confidence": Kind::ONE, "confidence",
            "Confidence in `rpm.rpm`: high if it was stable, medium if it was not, low if it was measured in fewer than \
             `moving_average` intervals."
            => rpm;
        "goodput_confidence": Kind::ONE, "goodput confidence", "Confidence in the goodput, on the same scale." => goodput;
    }
}

impl Rpm {
    /// Returns the mean goodput of the load in one direction over the last `moving_average` intervals; NaN if that
    /// direction has no load, or no interval has ended. Unit: Mbit/s.
    fn goodput_mbit(&self, way: Direction) -> f64 {
        let recent = &self.rows[self.rows.len().saturating_sub(self.p.moving_average as usize)..];
        let sum: f64 = recent.iter().map(|row| row.goodput[index(way)]).sum();
        if self.p.direction.ways().contains(&way) { sum / recent.len() as f64 * 1e-6 } else { f64::NAN }
    }
}
