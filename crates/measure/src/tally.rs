//! Counters and measures of end hosts: per flow ([`Row`]) and per application ([`AppTally`]).
//!
//! Direction 0 is forward, from the application's client to its server; 1 is reverse.

mod counts;
mod row;

pub use counts::{Counts, Known, ReceiverCounts, SenderCounts};
pub use row::{Direction, PathSeries, Row, RowSeries, SenderState};

use crate::{Echoes, FileDone, Files, Histogram, Jitter, PageLoads, VoipMeter};
use packet::{FlowId, PacketMeta};
use std::ops::Range;
use traffic::Traffic;
use units::{Duration, Problem, Time};

/// Maximum number of rows for which an application keeps series. An application with more rows has no series.
pub const ROWS_WITH_SERIES: usize = 32;

/// Maximum number of SYNs whose times are kept, enough for several hundred pages.
const SYNS_KEPT: usize = 65_536;

/// The counters and measures of an application.
#[derive(Clone, Debug)]
pub struct AppTally {
    /// Name of the application in the scenario.
    pub name: String,
    /// The application's kind of traffic.
    pub kind: &'static str,
    /// Index of the application's first row.
    pub first_row: usize,
    /// Number of rows.
    pub rows: usize,
    /// One-way delays of packets with payload that arrived after the warm-up, forward and reverse.
    pub delay: Box<[Histogram; 2]>,
    /// Jitter of datagrams, forward and reverse.
    pub jitter: [Jitter; 2],
    /// Quality meters of a call, one for each direction with speech.
    pub voip: Vec<VoipMeter>,
    /// True if the application's flows always have more to send.
    pub greedy: bool,
    /// For a game: a packet is late if its delay exceeds the minimum delay after the warm-up by more than this time.
    /// `None` for other applications. (The meters in `voip` have their own limit.)
    pub late_after: Option<Duration>,
    /// Page loads.
    pub pages: Option<PageLoads>,
    /// Number of objects in a complete page, if the application loads pages.
    page_objects: u32,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Datagrams sent before the warm-up ended.
    pub datagrams_before: u64,
    /// Files (or messages) finished, and their times.
    pub files: Box<Files>,
    /// Echo requests.
    pub echoes: Option<Box<Echoes>>,
    /// For a ping whose requests wait for answers: maximum time to wait before the next request is sent. `None` for
    /// other applications.
    pub timeout: Option<Duration>,
}

impl AppTally {
    /// Returns the quality meter of a call for the packets in `direction`; `None` if the application is not a call. If
    /// only one side speaks, both directions have the same meter.
    pub fn stream(&mut self, direction: usize) -> Option<&mut VoipMeter> {
        let last = self.voip.len().checked_sub(1)?;
        self.voip.get_mut(direction.min(last))
    }
}

/// Counters and measures of all end hosts.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Applications, in name order.
    pub apps: Vec<AppTally>,
    /// Flows, in the order of applications.
    pub rows: Vec<Row>,
    /// The first [`SYNS_KEPT`] SYNs sent by clients, including retransmissions. Each entry holds the application, the
    /// number of the connection and the time.
    pub syns: Vec<(u16, u32, Time)>,
    /// Packets that arrived after the warm-up, when their connection had already ended.
    pub flow_gone: u64,
    /// True if any row has series.
    pub has_series: bool,
    /// End of the warm-up. Series and lists include earlier events; sums and distributions do not, except those of the
    /// idle path in `Echoes`.
    pub warm_up: Time,
    /// The period in which applications other than ping load the network.
    pub load: Range<Time>,
    /// The counters that this run's senders report.
    pub known: Known,
    /// True after [`Tally::begin`].
    pub begun: bool,
}

impl Tally {
    /// Adds an application with `rows` flows; returns the row of its first flow. `series` holds the duration of the run
    /// and the width of a bin, if series are wanted.
    pub fn add_app(
        &mut self,
        name: &str,
        traffic: &Traffic,
        rows: usize,
        series: Option<(Duration, Duration)>,
    ) -> Result<usize, Problem> {
        let app = self.apps.len() as u16;
        let first_row = self.rows.len();
        let voip = match traffic {
            Traffic::Voip(p) => {
                let streams = p.direction.speakers().into_iter().filter(|speaks| *speaks).count();
                (0..streams).map(|_| VoipMeter::new(p, self.warm_up)).collect()
            }
            _ => Vec::new(),
        };
        self.apps.push(AppTally {
            name: name.to_owned(),
            kind: traffic.name(),
            first_row,
            rows,
            delay: Box::default(),
            jitter: Default::default(),
            voip,
            greedy: traffic.greedy(),
            late_after: if let Traffic::Game(p) = traffic { Some(p.late_after) } else { None },
            pages: matches!(traffic, Traffic::Web(_)).then(|| PageLoads::new(self.warm_up)),
            page_objects: if let Traffic::Web(p) = traffic { p.objects_per_page() } else { 0 },
            datagrams: 0,
            datagrams_before: 0,
            files: Box::new(Files::new(self.warm_up)),
            echoes: None,
            timeout: if let Traffic::Ping(p) = traffic { p.after_answer.then_some(p.timeout) } else { None },
        });
        for _ in 0..rows {
            let mut directions = [Direction::default(), Direction::default()];
            if let Some((duration, bin)) = series.filter(|_| rows <= ROWS_WITH_SERIES) {
                for direction in &mut directions {
                    direction.series = Some(Box::new(RowSeries::new(duration, bin)?));
                }
                self.has_series = true;
            }
            self.rows.push(Row { app, latest: FlowId::default(), directions });
        }
        Ok(first_row)
    }

    /// Takes over the state of `past`, the tally of an earlier run that this run continues. Both runs have the same
    /// applications. An application for which `started` returns false had not started in the earlier run. Its
    /// parameters may differ between the two runs, so its state is not taken from `past`.
    pub fn continue_from(&mut self, past: Tally, started: impl Fn(usize) -> bool) {
        let mut rows = past.rows;
        // the loop starts with the last application, because `split_off` cuts rows off the end of the list
        for (i, app) in past.apps.into_iter().enumerate().rev() {
            let its_rows = rows.split_off(app.first_row);
            if started(i) {
                let first_row = self.apps[i].first_row;
                self.apps[i] = AppTally { first_row, ..app };
                self.rows.splice(first_row..first_row + its_rows.len(), its_rows);
            }
        }
        (self.syns, self.flow_gone, self.begun) = (past.syns, past.flow_gone, past.begun);
    }

    /// Adds the size of a packet that arrived at its end host to the row's series, if the row has series.
    pub fn arrived_series(&mut self, row: u32, direction: usize, now: Time, size: u16) {
        if let Some(series) = &mut self.rows[row as usize].directions[direction].series {
            series.wire.add(now, u64::from(size));
        }
    }

    /// Records a SYN sent by a client.
    pub fn syn(&mut self, app: u16, number: u32, now: Time) {
        if self.syns.len() < SYNS_KEPT {
            self.syns.push((app, number, now));
        }
    }

    /// Adds payload that arrived in order to the row's series, if the row has series.
    pub fn goodput_series(&mut self, row: u32, direction: usize, now: Time, bytes: u64) {
        if let Some(series) = &mut self.rows[row as usize].directions[direction].series {
            series.goodput.add(now, bytes);
        }
    }

    /// Records the one-way delay of a packet with payload that arrives at `now`, unless the warm-up is still under way.
    #[inline]
    pub fn delay(&mut self, app: u16, direction: usize, now: Time, delay: Duration) {
        if now >= self.warm_up {
            self.apps[usize::from(app)].delay[direction].record(delay);
        }
    }

    /// Adds the one-way delay to the row's series, if the row has one.
    pub fn delay_series(&mut self, row: u32, direction: usize, now: Time, delay: Duration) {
        if let Some(series) = &mut self.rows[row as usize].directions[direction].series {
            series.delay.mean(now, delay.0);
            series.delay_max.max(now, delay.0);
        }
    }

    /// Counts `packets` dropped packets of a row. The series counts them in the bin that contains the time `within`.
    pub fn dropped(&mut self, row: u32, direction: usize, within: Time, packets: u64) {
        let direction = &mut self.rows[row as usize].directions[direction];
        direction.total.dropped += packets;
        if let Some(series) = &mut direction.series {
            series.dropped.add(within, packets);
        }
    }

    /// Records the arrival of a datagram.
    pub fn datagram(&mut self, row: u32, direction: usize, now: Time, packet: &PacketMeta, delay: Duration) {
        // the payload is the packet without its IPv4 and UDP headers; a packet smaller than these headers has no payload
        let payload = packet.bytes().saturating_sub(28);
        let total = &mut self.rows[row as usize].directions[direction].total;
        total.packets += 1;
        total.wire_bytes += packet.bytes();
        total.goodput_bytes += payload;
        self.arrived_series(row, direction, now, packet.size);
        self.goodput_series(row, direction, now, payload);
        let app = self.rows[row as usize].app;
        self.delay(app, direction, now, delay);
        self.delay_series(row, direction, now, delay);
        let app = &mut self.apps[usize::from(app)];
        if now >= self.warm_up {
            app.jitter[direction].arrival(delay);
        }
        if let Some(voip) = app.stream(direction) {
            voip.arrival(packet.seq, now - delay, now);
        }
    }

    /// Counts a datagram that arrived with a CE mark.
    pub fn marked(&mut self, row: u32, direction: usize) {
        self.rows[row as usize].directions[direction].total.ce_packets += 1;
    }

    /// Adds the final counters of one end of a connection, when it closes or the run ends: the sender's counters to `direction`,
    /// the receiver's to the opposite direction.
    pub fn retire(&mut self, row: u32, direction: usize, receiver: ReceiverCounts, sender: SenderCounts) {
        let directions = &mut self.rows[row as usize].directions;
        directions[1 - direction].total.received(receiver);
        directions[direction].total.sent(sender);
    }

    /// Ends the warm-up: excludes the counts so far from the results. The counts of an open connection are added to its
    /// row only when the connection closes or the run ends, so [`Tally::under_way`] excludes the counts of open
    /// connections.
    pub fn begin(&mut self) {
        self.begun = true;
        self.rows
            .iter_mut()
            .flat_map(|row| &mut row.directions)
            .for_each(|d| d.before = (d.total != Counts::default()).then(|| Box::new(d.total)));
        self.apps.iter_mut().for_each(|app| app.datagrams_before = app.datagrams);
    }

    /// Calls [`Tally::begin`] as soon as the warm-up is over, and only once.
    pub fn begin_if_due(&mut self, now: Time) {
        if !self.begun && now >= self.warm_up {
            self.begin();
        }
    }

    /// Excludes from the results the counts that one end of a connection has reached at the end of the warm-up, if the
    /// connection is still open. [`Tally::retire`] later adds the final counters of the connection, which cover its
    /// whole lifetime.
    pub fn under_way(&mut self, row: u32, direction: usize, receiver: ReceiverCounts, sender: SenderCounts) {
        let directions = &mut self.rows[row as usize].directions;
        directions[1 - direction].before.get_or_insert_default().received(receiver);
        directions[direction].before.get_or_insert_default().sent(sender);
    }

    /// Records that a page load of `app`, which began at `started`, has ended. The page counts as loaded if all its
    /// objects arrived, and as abandoned otherwise.
    pub fn page_loaded(&mut self, app: usize, started: Time, objects: u32, now: Time) {
        let app = &mut self.apps[app];
        if let Some(pages) = &mut app.pages {
            if objects >= app.page_objects { pages.loaded(started, now) } else { pages.abandoned(now) }
        }
    }

    /// Records that `app` completed the transfer of a file of `bytes` bytes, which it began at `started`.
    pub fn file_done(&mut self, app: usize, started: Time, bytes: u64, now: Time) {
        self.apps[app].files.done(FileDone { started, took: now.since(started), bytes });
    }

    /// Records an echo request of `app` if `rtt` is `None`, otherwise the reply to a request.
    pub fn probe(&mut self, app: usize, number: u64, now: Time, rtt: Option<Duration>) {
        let echoes = self.apps[app].echoes.get_or_insert_with(|| Box::new(Echoes::new(self.warm_up)));
        match rtt {
            None => echoes.sent(now),
            Some(rtt) => echoes.answered(number, now, rtt, &self.load),
        }
    }

    /// Records the sender's state at the end of a bin.
    pub fn sample(&mut self, row: u32, direction: usize, bin_end: Time, state: SenderState) {
        if let Some(series) = &mut self.rows[row as usize].directions[direction].series {
            series.sample(bin_end - Duration::from_nanos(1), state);
        }
    }
}
