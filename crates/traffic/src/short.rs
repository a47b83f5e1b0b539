//! Short flows: small transfers that come and go, as those of a busy web.
//!
//! Source: ARRIS 2013, Considerations for all schemes ("short-lived flows"); the arrival model is the usual one of the
//! flow-level literature (Poisson arrivals, sizes drawn independently).
//!
//! ```text
//!   time between arrivals:  exponential with mean `interval`
//!   size:  fixed | exponential, mean m | Pareto, F(x) = 1 - (min/x)^shape, cut at max
//!   up:    open, write, FIN                              finished at the server
//!   down:  open, GET of `request` bytes, answer, FIN     finished at the client
//!   offered load = mean size / interval
//! ```
//!
//! Each transfer has a connection of its own. A transfer *starts* when it arrives (its SYN leaves) and is *finished* when
//! its last byte has arrived in order: [`Host::file_done`] gives the flow completion time, handshake included. When
//! `max_open` transfers are under way an arrival is refused and counted: without that bound an overloaded line would
//! collect flows for ever. A connection that fails takes its transfer with it.

use crate::conns::Conns;
use crate::demand::times;
use crate::{Application, ConnId, Demand, Direction, Host, Params, Side};
use packet::{Kind, Measure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Problem, Rng, Time, math};

/// Largest `max_open`.
const MAX_OPEN: u32 = 65_536;

/// How large a transfer is, in bytes of payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[serde(remote = "Self")]
#[schemars(transform = units::words::<Size>)]
pub enum Size {
    /// Always this.
    Fixed(Bytes),
    /// Exponential with this mean, at least 1 byte.
    Exponential(Bytes),
    /// Pareto: most are small, a few are large.
    Pareto(Pareto),
}

units::word_or_table!(Size);

/// A Pareto distribution cut at a largest size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pareto {
    /// Smallest size. Default 4KB.
    pub min: Bytes,
    /// Largest size: what is drawn above it becomes this. Default 1MB.
    pub max: Bytes,
    /// Exponent; 1 to 2 has a mean but (uncut) no variance. Default 1.2.
    pub shape: f64,
}

impl Pareto {
    /// Mean of what is drawn: the integral of P(X > x) up to `max`, where it is cut.
    fn mean(&self) -> f64 {
        let (min, max, a) = (self.min.0 as f64, self.max.0 as f64, self.shape);
        if a == 1.0 {
            min + min * math::ln(max / min)
        } else {
            min + min * (1.0 - math::pow(min / max, a - 1.0)) / (a - 1.0)
        }
    }
}

impl Default for Pareto {
    fn default() -> Self {
        Self { min: Bytes(4_000), max: Bytes(1_000_000), shape: 1.2 }
    }
}

impl Size {
    fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Self::Fixed(b) => b.0,
            Self::Exponential(mean) => (math::exponential(rng, mean.0 as f64) as u64).max(1),
            Self::Pareto(p) => {
                // F^-1(1 - u) with 1 - u in (0, 1]
                let x = p.min.0 as f64 * math::pow(1.0 - rng.unit(), -1.0 / p.shape);
                if x < p.max.0 as f64 { x as u64 } else { p.max.0 }
            }
        }
    }

    fn validate(&self) -> Result<(), Problem> {
        match self {
            Self::Fixed(Bytes(0)) => Err(Problem::new("fixed", "0B is not valid; expected at least 1 byte")),
            Self::Exponential(Bytes(0)) => {
                Err(Problem::new("exponential", "0B is not valid; expected a mean of at least 1 byte"))
            }
            Self::Pareto(p) if p.min.0 == 0 => {
                Err(Problem::new("pareto.min", "0B is not valid; expected at least 1 byte"))
            }
            Self::Pareto(p) if p.max < p.min => {
                Err(Problem::new("pareto.max", format!("{} is not valid; expected at least min = {}", p.max, p.min)))
            }
            Self::Pareto(p) if !(0.1..=100.0).contains(&p.shape) => {
                Err(Problem::new("pareto.shape", format!("{} is not valid; expected 0.1 to 100", p.shape)))
            }
            _ => Ok(()),
        }
    }
}

/// Short TCP transfers with Poisson arrivals between the client and its first server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ShortParams {
    /// Mean time between arrivals. Default 100ms.
    pub interval: Duration,
    /// Sizes. Default `{ fixed = "14KB" }`, ten segments.
    pub size: Size,
    /// Which way the transfers go. Default `down`.
    pub direction: Direction,
    /// Payload of the request that a transfer down answers; 0 for none. Default 300B.
    pub request: Bytes,
    /// Transfers in all; without it, until the end. Default none.
    pub count: Option<u64>,
    /// Most transfers under way at once; arrivals beyond are refused. Default 1000.
    pub max_open: u32,
}

impl Default for ShortParams {
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(100),
            size: Size::Fixed(Bytes(14_000)),
            direction: Direction::Down,
            request: Bytes(300),
            count: None,
            max_open: 1000,
        }
    }
}

impl Params for ShortParams {
    type App = Short;

    fn validate(&self) -> Result<(), Problem> {
        if self.interval.is_zero() {
            return Err(Problem::new("interval", "0s is not valid; expected more than 0s"));
        }
        self.size.validate().map_err(|p| p.under("size"))?;
        if self.count == Some(0) {
            return Err(Problem::new(
                "count",
                "0 is not valid; expected at least 1, or no count to go on until the end",
            ));
        }
        if self.max_open == 0 || self.max_open > MAX_OPEN {
            return Err(Problem::new("max_open", format!("{} is not valid; expected 1 to {MAX_OPEN}", self.max_open)));
        }
        Ok(())
    }

    fn demand(&self, span: Duration, _: Duration) -> Demand {
        let transfers = times(span, self.interval, self.count);
        let mean = match &self.size {
            Size::Fixed(size) | Size::Exponential(size) => size.0 as f64,
            Size::Pareto(p) => p.mean(),
        };
        let bytes = transfers * (mean + self.request.0 as f64);
        Demand {
            direction: Some(self.direction),
            connections: transfers.min(f64::from(self.max_open)),
            bytes,
            pieces: transfers,
        }
    }

    fn build(&self) -> Short {
        Short {
            params: self.clone(),
            slots: Vec::new(),
            free: Vec::new(),
            conns: Conns::default(),
            arrivals: 0,
            refused: 0,
            failed: 0,
        }
    }
}

/// A transfer under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Transfer {
    started: Time,
    size: u64,
    /// Bytes of the request that have yet to arrive at the server.
    asking: u64,
    /// Bytes that have yet to arrive at the receiver.
    left: u64,
}

/// The machine of [`ShortParams`].
#[derive(Clone, Debug, PartialEq)]
pub struct Short {
    params: ShortParams,
    slots: Vec<Transfer>,
    free: Vec<usize>,
    conns: Conns,
    arrivals: u64,
    refused: u64,
    failed: u64,
}

impl Short {
    fn next_arrival<H: Host>(&self, host: &mut H) {
        if self.params.count.is_none_or(|n| self.arrivals < n) {
            let wait = math::exponential(host.rng(), self.params.interval.secs());
            // above zero, so that time moves on
            host.timer(host.now() + Duration::from_secs_f64(wait).max(Duration(1)), 0);
        }
    }

    fn arrival<H: Host>(&mut self, host: &mut H) {
        self.arrivals += 1;
        // drawn for refused arrivals, too: who gets through changes nobody's size
        let size = self.params.size.draw(host.rng());
        if self.slots.len() - self.free.len() >= self.params.max_open as usize {
            self.refused += 1;
            return;
        }
        let down = self.params.direction == Direction::Down;
        let asking = if down { self.params.request.0 } else { 0 };
        let transfer = Transfer { started: host.now(), size, asking, left: size };
        let slot = self.free.pop().unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push(transfer);
        } else {
            self.slots[slot] = transfer;
        }
        let conn = host.open(0);
        self.conns.insert(conn, slot);
        if asking > 0 {
            host.write(conn, Side::Client, asking);
        } else {
            self.send(conn, size, host);
        }
    }

    fn send<H: Host>(&self, conn: ConnId, size: u64, host: &mut H) {
        let side = self.params.direction.sender();
        host.write(conn, side, size);
        host.close(conn, side);
    }
}

impl Application for Short {
    fn start<H: Host>(&mut self, host: &mut H) {
        self.next_arrival(host);
    }

    fn timer<H: Host>(&mut self, _: u64, host: &mut H) {
        self.arrival(host);
        self.next_arrival(host);
    }

    fn received<H: Host>(&mut self, conn: ConnId, side: Side, bytes: u64, host: &mut H) {
        let Some(slot) = self.conns.get(conn) else { return };
        let t = &mut self.slots[slot];
        if side == self.params.direction.receiver() {
            t.left = t.left.saturating_sub(bytes);
            if t.left == 0 {
                let (started, size) = (t.started, t.size);
                self.conns.remove(conn);
                self.free.push(slot);
                host.file_done(started, size);
                host.close(conn, side);
            }
        } else if t.asking > 0 {
            t.asking = t.asking.saturating_sub(bytes);
            if t.asking == 0 {
                let size = t.size;
                self.send(conn, size, host);
            }
        }
    }

    fn closed<H: Host>(&mut self, conn: ConnId, _: &mut H) {
        // known only if it ended before its transfer had arrived
        if let Some(slot) = self.conns.remove(conn) {
            self.free.push(slot);
            self.failed += 1;
        }
    }

    const MEASURES: &'static [&'static [Measure]] = &[TRANSFERS];

    fn figures(&self, _: Time) -> Vec<(&'static str, f64)> {
        transfers(self).into()
    }
}

packet::measures! {
    /// What became of the transfers.
    const TRANSFERS = fn transfers(s: &Short) -> f64 {
        "arrivals": Kind::ONE, "arrivals", "Transfers that arrived; `files` holds those that were finished." => s.arrivals as f64;
        "refused": Kind::ONE.less().rank(19), "refused", "Of these, refused because `max_open` were under way."
            => s.refused as f64;
        "failed": Kind::ONE.less().rank(18), "failed", "Flows whose connection failed." => s.failed as f64;
        "under_way": Kind::ONE, "under way", "Of these, those under way at the end."
            => (s.slots.len() - s.free.len()) as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_transfer_down_takes_two_and_a_half_round_trips_of_the_fake_network() {
        // handshake 20 ms, request 10 ms, answer 10 ms; up: handshake 20, data 10
        for (direction, took) in [(Direction::Down, 40), (Direction::Up, 30)] {
            let mut fake = Fake::new(&[20 * MS]);
            let params = ShortParams { direction, count: Some(500), ..Default::default() };
            let mut app = params.build();
            fake.run(&mut app, Time(1_000_000 * MS));
            assert_eq!((fake.files.len(), fake.open_now()), (500, 0));
            assert!(fake.files.iter().all(|f| f.1.since(f.0).0 == took * MS && f.2 == 14_000), "{direction:?}");
            // 500 gaps of mean 100 ms: 50 s, standard error 100 sqrt(500) ms = 2.2 s; five of them
            let last = fake.files[499].0.secs();
            assert!((last - 50.0).abs() < 11.0, "{last}");
        }
    }

    #[test]
    fn sizes_have_the_mean_of_their_distribution() {
        let mut rng = Rng::named(3, "short");
        let mut mean = |size: &Size| (0..100_000).map(|_| size.draw(&mut rng)).sum::<u64>() as f64 / 1e5;
        assert_eq!(mean(&Size::Fixed(Bytes(5))), 5.0);
        // 20 000, standard error 63; whole bytes take half a byte off
        assert!((mean(&Size::Exponential(Bytes(20_000))) - 20_000.0).abs() < 320.0);
        // Pareto cut at max: a m / (a-1) - m^a M^(1-a) / (a-1) with a = 2, m = 1000, M = 100 000:
        // 2000 - 1000^2/100 000 = 1990; second moment m^2 (1 + 2 ln(M/m)) = 10.2e6, so the standard error is
        // sqrt(10.2e6 - 1990^2)/316 = 7.9
        let pareto = Pareto { min: Bytes(1000), max: Bytes(100_000), shape: 2.0 };
        let m = mean(&Size::Pareto(pareto));
        assert!((m - 1990.0).abs() < 40.0, "{m}");
    }

    #[test]
    fn beyond_max_open_arrivals_are_refused() {
        // a transfer lasts 40 ms and the next comes after 1 ms on average: two at a time is what M/M/2/2's cousin
        // M/D/2/2 lets through; Erlang B (insensitive to the service time's shape) with a = 40: B = 0.9512
        let mut fake = Fake::new(&[20 * MS]);
        let params =
            ShortParams { interval: Duration::from_millis(1), max_open: 2, count: Some(20_000), ..Default::default() };
        let mut app = params.build();
        fake.run(&mut app, Time(1_000_000 * MS));
        let figures = app.figures(Time::ZERO);
        assert_eq!(figures[0], ("arrivals", 20_000.0));
        let refused = figures[1].1 / 20_000.0;
        let erlang_b = 800.0 / (1.0 + 40.0 + 800.0);
        assert!((refused - erlang_b).abs() < 0.01, "{refused} {erlang_b}");
        assert_eq!(fake.files.len() as f64, 20_000.0 - figures[1].1);
    }

    #[test]
    fn refusals_name_the_field() {
        let bad = |p: ShortParams| p.validate().unwrap_err().path;
        assert_eq!(bad(ShortParams { interval: Duration::ZERO, ..Default::default() }), "interval");
        assert_eq!(bad(ShortParams { size: Size::Fixed(Bytes(0)), ..Default::default() }), "size.fixed");
        let pareto = Pareto { shape: f64::NAN, ..Default::default() };
        assert_eq!(bad(ShortParams { size: Size::Pareto(pareto), ..Default::default() }), "size.pareto.shape");
        assert_eq!(bad(ShortParams { max_open: 0, ..Default::default() }), "max_open");
    }
}
