//! Large bursts: many bytes at once, over TCP or as datagrams.
//!
//! Source: ARRIS 2013, Considerations for all schemes ("single large bursts").
//!
//! ```text
//!   burst b (b = 0, 1, ...) begins at  start + b * interval
//!   TCP: a new connection; all `bytes` are written at once, then the sender closes; the congestion window sets the pace
//!   UDP: ceil(bytes / packet) datagrams at the same time, back to back into the first queue
//! ```
//!
//! A burst is *finished* when all of its bytes have arrived at the receiver; then [`Host::file_done`] is called. A UDP burst that
//! loses a datagram is never finished; its datagrams still count in `datagrams_sent` and `datagrams_received`.

use crate::conns::Conns;
use crate::demand::times;
use crate::params::divided;
use crate::{Application, ConnId, Demand, Direction, Host, Params, Role, cbr};
use packet::{Ecn, Kind, Measure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::{Bytes, Duration, Problem, Time};
use units::{positive, positive_or_none, require, within};

/// Maximum number of datagrams in one burst. With packets of 1500 bytes, this is 98 MB.
const MAX_DATAGRAMS: u64 = 1 << 16;
/// Maximum number of incomplete UDP bursts to keep: bursts of which some datagrams have arrived, but not all. The
/// oldest is dropped to make room. By then, 65 536 later bursts have begun to arrive, so the oldest has probably lost a
/// datagram.
const INCOMPLETE: usize = 65_536;

/// Transport of a burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A TCP connection for each burst.
    #[default]
    Tcp,
    /// UDP datagrams. All datagrams of a burst are sent at the same time.
    Udp,
}

/// Large bursts between the client and its first server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BurstParams {
    /// Size of a burst. With TCP, it is the payload; with UDP, the bytes on the wire. Default 1MB.
    pub bytes: Bytes,
    /// Transport: `tcp` or `udp`. Default `tcp`.
    pub transport: Transport,
    /// Size of a datagram in bytes on the wire, including headers. The last datagram of a burst may be smaller. Used
    /// only with UDP. Default 1500.
    pub packet: Bytes,
    /// Direction of the bursts. Default `up`.
    pub direction: Direction,
    /// Time from the start of a burst to the start of the next; omitted: a single burst.
    pub interval: Option<Duration>,
    /// Number of bursts; omitted: until the end of the run. More than one burst needs `interval`.
    pub count: Option<u64>,
}

impl Default for BurstParams {
    fn default() -> Self {
        Self {
            bytes: Bytes(1_000_000),
            transport: Transport::Tcp,
            packet: Bytes(1500),
            direction: Direction::Up,
            interval: None,
            count: None,
        }
    }
}

impl Params for BurstParams {
    type App = Burst;

    fn validate(&self) -> Result<(), Problem> {
        positive("bytes", self.bytes)?;
        within("packet", self.packet, Bytes(1), cbr::MAX_SIZE)?;
        if self.transport == Transport::Udp {
            within("bytes", self.bytes, Bytes(1), Bytes(MAX_DATAGRAMS * self.packet.0))?;
        }
        positive_or_none("interval", self.interval)?;
        positive_or_none("count", self.count)?;
        let repeats = self.count.is_some_and(|n| n > 1);
        require(!repeats || self.interval.is_some(), "count", "needs `interval`: without it there is one burst")
    }

    fn demand(&self, span: Duration, _: Duration) -> Demand {
        let bursts = self.interval.map_or(1.0, |interval| times(span, interval, self.count));
        match self.transport {
            Transport::Tcp => Demand {
                direction: Some(self.direction),
                connections: bursts,
                bytes: bursts * self.bytes.0 as f64,
                pieces: bursts,
            },
            Transport::Udp => Demand::datagrams(bursts * self.bytes.0.div_ceil(self.packet.0) as f64),
        }
    }

    fn datagram_sizes(&self) -> Vec<(&'static str, Bytes)> {
        match self.transport {
            Transport::Tcp => Vec::new(),
            Transport::Udp => divided("bytes", self.bytes, self.packet),
        }
    }

    fn build(&self) -> Burst {
        Burst {
            params: self.clone(),
            start: Time::ZERO,
            next: 0,
            conns: Conns::default(),
            incomplete: BTreeMap::new(),
            sent: 0,
            received: 0,
            failed: 0,
        }
    }
}

/// A burst over TCP that has not fully arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unfinished {
    number: u64,
    /// Payload bytes received.
    received: u64,
}

/// The application with [`BurstParams`].
#[derive(Clone, Debug, PartialEq)]
pub struct Burst {
    params: BurstParams,
    start: Time,
    next: u64,
    /// For each connection, the burst that the connection carries.
    conns: Conns<Unfinished>,
    /// Number of datagrams that have arrived, for each UDP burst of which some have arrived, but not all. A burst that
    /// loses a datagram never finishes, so only the latest [`INCOMPLETE`] bursts are kept.
    incomplete: BTreeMap<u64, u64>,
    sent: u64,
    received: u64,
    failed: u64,
}

impl Burst {
    fn datagrams(&self) -> u64 {
        self.params.bytes.0.div_ceil(self.params.packet.0)
    }

    fn begins(&self, number: u64) -> Time {
        self.start + self.params.interval.unwrap_or(Duration::ZERO) * number
    }

    fn burst<H: Host>(&mut self, host: &mut H) {
        let (number, role) = (self.next, self.params.direction.sender());
        self.next += 1;
        match self.params.transport {
            Transport::Tcp => {
                let conn = host.open(0, 0);
                self.conns.insert(conn, Unfinished { number, received: 0 });
                host.write(conn, role, self.params.bytes.0);
                host.close(conn, role);
            }
            Transport::Udp => {
                let (n, packet) = (self.datagrams(), self.params.packet.0);
                // bound: MAX_DATAGRAMS
                for i in 0..n {
                    let size = packet.min(self.params.bytes.0 - i * packet);
                    host.datagram(0, role, size as u16, number * n + i);
                }
                self.sent += n;
            }
        }
        if let Some(interval) = self.params.interval
            && self.params.count.is_none_or(|n| self.next < n)
        {
            host.timer(self.start + interval * self.next, 0);
        }
    }

    fn finished<H: Host>(&self, number: u64, host: &mut H) {
        host.file_done(self.begins(number), self.params.bytes.0);
    }
}

impl Application for Burst {
    fn start<H: Host>(&mut self, host: &mut H) {
        self.start = host.now();
        self.burst(host);
    }

    fn timer<H: Host>(&mut self, _: u64, host: &mut H) {
        self.burst(host);
    }

    fn received<H: Host>(&mut self, conn: ConnId, role: Role, bytes: u64, host: &mut H) {
        if role == self.params.direction.receiver()
            && let Some(open) = self.conns.get_mut(conn)
        {
            open.received += bytes;
            let Unfinished { number, received } = *open;
            if received >= self.params.bytes.0 {
                self.finished(number, host);
                self.conns.remove(conn);
                host.close(conn, role);
            }
        }
    }

    fn datagram_received<H: Host>(&mut self, _: Role, number: u64, _: Ecn, host: &mut H) {
        self.received += 1;
        let n = self.datagrams();
        let burst = number / n;
        let arrived = self.incomplete.get(&burst).map_or(1, |arrived| arrived + 1);
        if arrived == n {
            self.incomplete.remove(&burst);
            self.finished(burst, host);
            return;
        }
        self.incomplete.insert(burst, arrived);
        if self.incomplete.len() > INCOMPLETE {
            self.incomplete.pop_first();
        }
    }

    fn closed<H: Host>(&mut self, conn: ConnId, _: &mut H) {
        // a connection leaves the map when its burst has arrived, so a connection that is still in the map has failed
        self.failed += u64::from(self.conns.remove(conn).is_some());
    }

    const MEASURES: &'static [&'static [Measure]] = &[BEGUN, OVER_TCP, OVER_UDP];

    fn figures(&self, _: Time, _: Time) -> Vec<(&'static str, f64)> {
        let mut all = begun(self).to_vec();
        match self.params.transport {
            Transport::Tcp => all.extend(over_tcp(self)),
            Transport::Udp => all.extend(over_udp(self)),
        }
        all
    }
}

packet::measures! {
    /// Measures of bursts over either transport.
    const BEGUN = fn begun(b: &Burst) -> f64 {
        "bursts": Kind::ONE, "bursts",
            "Bursts that began. `files` has those that arrived completely after the warm-up. All keys of `burst` cover the whole run." => b.next as f64;
    }
    /// Measures over TCP.
    const OVER_TCP = fn over_tcp(b: &Burst) -> f64 {
        "failed": Kind::ONE.less().rank(19), "failed", "Bursts over TCP whose connection failed." => b.failed as f64;
    }
    /// Measures over UDP.
    const OVER_UDP = fn over_udp(b: &Burst) -> f64 {
        "datagrams_sent": Kind::PACKETS, "datagrams sent", "Datagrams sent by bursts over UDP." => b.sent as f64;
        "datagrams_received": Kind::PACKETS, "datagrams received", "Datagrams of bursts that arrived." => b.received as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fake::Fake;

    const MS: u64 = 1_000_000;

    #[test]
    fn datagrams_leave_at_once_and_the_last_has_the_remaining_bytes() {
        // 10 000 B are sent in six full packets of 1500 B and a last packet of 1000 B
        let params =
            BurstParams { bytes: Bytes(10_000), transport: Transport::Udp, count: Some(1), ..Default::default() };
        params.validate().unwrap();
        let mut fake = Fake::new(&[20 * MS]);
        let mut app = params.build();
        fake.run(&mut app, Time(1000 * MS));
        let sizes: Vec<u16> = fake.datagrams.iter().map(|d| d.2).collect();
        assert_eq!(sizes, [1500, 1500, 1500, 1500, 1500, 1500, 1000]);
        assert!(fake.datagrams.iter().all(|d| d.0 == Time::ZERO && d.1 == Role::Client));
        assert_eq!(fake.files, [(Time::ZERO, Time(10 * MS), 10_000)]);
        assert_eq!(
            app.figures(Time::ZERO, Time::NEVER),
            [("bursts", 1.0), ("datagrams_sent", 7.0), ("datagrams_received", 7.0)]
        );
    }

    #[test]
    fn a_burst_that_loses_a_datagram_is_never_finished() {
        let params = BurstParams {
            bytes: Bytes(3000),
            transport: Transport::Udp,
            interval: Some(Duration::from_millis(100)),
            count: Some(3),
            ..Default::default()
        };
        let mut fake = Fake::new(&[20 * MS]);
        fake.lost = [3].into();
        let mut app = params.build();
        fake.run(&mut app, Time(1000 * MS));
        let files: Vec<u64> = fake.files.iter().map(|f| f.0.0 / MS).collect();
        assert_eq!(files, [0, 200]);
        assert_eq!(app.figures(Time::ZERO, Time::NEVER)[2], ("datagrams_received", 5.0));
    }

    #[test]
    fn any_number_of_bursts_may_be_in_flight() {
        // two datagrams leave every 1 ms, and take 300 ms to arrive. The datagrams of the first 20 ms take another
        // 50 ms, so later bursts overtake them
        let params = BurstParams {
            bytes: Bytes(3000),
            transport: Transport::Udp,
            interval: Some(Duration::from_millis(1)),
            ..Default::default()
        };
        let mut fake = Fake::new(&[600 * MS]);
        fake.extra = |t| if t.0 < 20 * MS { 50 * MS } else { 0 };
        let mut app = params.build();
        fake.run(&mut app, Time(1000 * MS));
        // the burst that begins at 699 ms arrives at 999 ms, just before the end of the run
        let mut starts: Vec<u64> = fake.files.iter().map(|f| f.0.0 / MS).collect();
        starts.sort_unstable();
        assert!(starts.iter().copied().eq(0..700), "{} bursts", starts.len());
        assert_eq!(app.figures(Time::ZERO, Time::NEVER)[2], ("datagrams_received", 1400.0));
        assert!(app.incomplete.is_empty());
    }

    #[test]
    fn incomplete_bursts_take_limited_memory() {
        // each of 70 000 bursts loses its second datagram
        let params = BurstParams {
            bytes: Bytes(3000),
            transport: Transport::Udp,
            interval: Some(Duration(1000)),
            count: Some(70_000),
            ..Default::default()
        };
        let mut fake = Fake::new(&[MS]);
        fake.lost = (0..70_000).map(|burst| 2 * burst + 1).collect();
        let mut app = params.build();
        fake.run(&mut app, Time(1000 * MS));
        assert_eq!((fake.files.len(), app.incomplete.len()), (0, 65_536));
        assert_eq!(app.incomplete.first_key_value(), Some((&4464, &1)));
    }

    #[test]
    fn tcp_bursts_have_a_connection_each() {
        let interval = Some(Duration::from_millis(25));
        let params = BurstParams { interval, count: Some(3), direction: Direction::Down, ..Default::default() };
        let mut fake = Fake::new(&[20 * MS]);
        fake.run(&mut params.build(), Time(1000 * MS));
        // the handshake takes 20 ms, and the data then needs 10 ms to reach the client. So the second burst begins (at
        // 25 ms) before the first has arrived (at 30 ms)
        let files: Vec<_> = fake.files.iter().map(|f| (f.0.0 / MS, f.1.0 / MS)).collect();
        assert_eq!(files, [(0, 30), (25, 55), (50, 80)]);
        assert_eq!((fake.opened.len(), fake.open_now()), (3, 0));
    }

    #[test]
    fn refusals_name_the_field() {
        let bad = |p: BurstParams| p.validate().unwrap_err().path;
        assert_eq!(bad(BurstParams { bytes: Bytes(0), ..Default::default() }), "bytes");
        assert_eq!(bad(BurstParams { packet: Bytes(0), ..Default::default() }), "packet");
        assert_eq!(bad(BurstParams { count: Some(2), ..Default::default() }), "count");
        assert_eq!(bad(BurstParams { interval: Some(Duration::ZERO), ..Default::default() }), "interval");
        let many = BurstParams { bytes: Bytes(200_000_000), transport: Transport::Udp, ..Default::default() };
        assert_eq!(bad(many), "bytes");
    }
}
