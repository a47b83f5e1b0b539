//! Short flows: small transfers with random arrivals, as on a busy web.
//!
//! Source: ARRIS 2013, section "Considerations for all schemes", which names "short-lived flows". The arrival model
//! (Poisson arrivals, independent sizes) is the usual one in flow-level studies.
//!
//! ```text
//!   time between arrivals:  exponential with mean `interval`
//!   size:  fixed | exponential | Pareto, F(x) = 1 - (min/x)^shape, where sizes above max are reduced to max
//!   up:    open, write, FIN                              finished at the server
//!   down:  open, GET of `request` bytes, response, FIN   finished at the client
//!   offered load = mean size / interval
//! ```
//!
//! Each transfer has its own connection. A transfer *starts* when it arrives (its SYN leaves) and is *finished* when its last
//! byte has arrived in order; [`Host::file_done`] then reports the flow completion time, including the handshake. While
//! `max_open` transfers are in progress, an arrival is refused, and the refusal is counted. Without this limit, the number of
//! flows on an overloaded link would grow without bound. A failed connection ends its transfer.

use crate::conns::Conns;
use crate::demand::times;
use crate::{Application, ConnId, Demand, Direction, Host, Params, Role};
use packet::{Kind, Measure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Problem, Rng, Time, math};
use units::{positive, positive_or_none, require, within};

/// Upper bound on `max_open`.
const MAX_OPEN: u32 = 65_536;

/// Size of a transfer, in bytes of payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[serde(remote = "Self")]
#[schemars(transform = units::words::<Size>)]
pub enum Size {
    /// A fixed size.
    Fixed(Bytes),
    /// An exponential distribution. The value is its mean; each size is at least 1 byte.
    Exponential(Bytes),
    /// Pareto: most transfers are small, a few are large.
    Pareto(Pareto),
}

units::word_or_table!(Size);

/// A Pareto distribution with a maximum size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pareto {
    /// Smallest size. Default 4KB.
    pub min: Bytes,
    /// Largest size. A larger draw is reduced to this size. Default 1MB.
    pub max: Bytes,
    /// Exponent of the distribution. The smaller the exponent, the more transfers are large. Default 1.2.
    pub shape: f64,
}

impl Pareto {
    /// Returns the mean of the capped distribution, which is the integral of P(X > x) up to `max`.
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
                // x solves F(x) = u, where F(x) = 1 - (min/x)^shape is the distribution function and u is uniform in
                // [0, 1). 1 - u lies in (0, 1], so the power is finite
                let x = p.min.0 as f64 * math::pow(1.0 - rng.unit(), -1.0 / p.shape);
                if x < p.max.0 as f64 { x as u64 } else { p.max.0 }
            }
        }
    }

    fn validate(&self) -> Result<(), Problem> {
        match self {
            Self::Fixed(size) => positive("fixed", *size),
            Self::Exponential(mean) => positive("exponential", *mean),
            Self::Pareto(p) => {
                positive("pareto.min", p.min)?;
                let message = format!("{} is not valid; expected at least min = {}", p.max, p.min);
                require(p.min <= p.max, "pareto.max", message)?;
                within("pareto.shape", p.shape, 0.1, 100.0)
            }
        }
    }
}

/// Short TCP transfers with Poisson arrivals between the client and its first server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ShortParams {
    /// Mean time between two arrivals. Default 100ms.
    pub interval: Duration,
    /// Distribution of sizes. Default `{ fixed = "14KB" }`, ten segments.
    pub size: Size,
    /// Direction of the transfers. Default `down`.
    pub direction: Direction,
    /// Size of the request for a download, in bytes of payload. With 0, there is no request. Default 300.
    pub request: Bytes,
    /// Number of arrivals, including refused transfers; omitted: until the end of the run.
    pub count: Option<u64>,
    /// Largest number of transfers in progress at a time. Further transfers are refused. Default 1000.
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
        positive("interval", self.interval)?;
        self.size.validate().map_err(|p| p.under("size"))?;
        positive_or_none("count", self.count)?;
        within("max_open", self.max_open, 1, MAX_OPEN)
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
        Short { params: self.clone(), conns: Conns::default(), arrivals: 0, refused: 0, failed: 0 }
    }
}

/// A transfer in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Transfer {
    started: Time,
    size: u64,
    /// Bytes of the request that have not reached the server yet.
    request_left: u64,
    /// Bytes of the transfer that have not reached the receiver yet.
    left: u64,
}

/// The application with [`ShortParams`].
#[derive(Clone, Debug, PartialEq)]
pub struct Short {
    params: ShortParams,
    conns: Conns<Transfer>,
    arrivals: u64,
    refused: u64,
    failed: u64,
}

impl Short {
    fn next_arrival<H: Host>(&self, host: &mut H) {
        if self.params.count.is_none_or(|n| self.arrivals < n) {
            let wait = math::exponential(host.rng(), self.params.interval.secs());
            // the wait is at least 1 ns, so that time advances between arrivals
            host.timer(host.now() + Duration::from_secs_f64(wait).max(Duration(1)), 0);
        }
    }

    fn arrival<H: Host>(&mut self, host: &mut H) {
        self.arrivals += 1;
        // a size is drawn for a refused arrival too, so that a refusal does not change the sizes of later transfers
        let size = self.params.size.draw(host.rng());
        if self.conns.len() >= self.params.max_open as usize {
            self.refused += 1;
            return;
        }
        let down = self.params.direction == Direction::Down;
        let request_left = if down { self.params.request.0 } else { 0 };
        let conn = host.open(0, 0);
        self.conns.insert(conn, Transfer { started: host.now(), size, request_left, left: size });
        if request_left > 0 {
            host.write(conn, Role::Client, request_left);
        } else {
            self.send(conn, size, host);
        }
    }

    fn send<H: Host>(&self, conn: ConnId, size: u64, host: &mut H) {
        let role = self.params.direction.sender();
        host.write(conn, role, size);
        host.close(conn, role);
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

    fn received<H: Host>(&mut self, conn: ConnId, role: Role, bytes: u64, host: &mut H) {
        let Some(t) = self.conns.get_mut(conn) else { return };
        if role == self.params.direction.receiver() {
            t.left = t.left.saturating_sub(bytes);
            if t.left == 0 {
                let (started, size) = (t.started, t.size);
                self.conns.remove(conn);
                host.file_done(started, size);
                host.close(conn, role);
            }
        } else if t.request_left > 0 {
            t.request_left = t.request_left.saturating_sub(bytes);
            if t.request_left == 0 {
                let size = t.size;
                self.send(conn, size, host);
            }
        }
    }

    fn closed<H: Host>(&mut self, conn: ConnId, _: &mut H) {
        // a connection leaves the map when its transfer has arrived, so a connection that is still in the map has
        // failed
        self.failed += u64::from(self.conns.remove(conn).is_some());
    }

    const MEASURES: &'static [&'static [Measure]] = &[TRANSFERS];

    fn figures(&self, _: Time, _: Time) -> Vec<(&'static str, f64)> {
        transfers(self).into()
    }
}

packet::measures! {
    /// Counts of the transfers.
    const TRANSFERS = fn transfers(s: &Short) -> f64 {
        "arrivals": Kind::ONE, "arrivals",
            "Transfers that were due to begin, including refused ones. `files` has those that finished after the warm-up. All keys of `short` cover the whole run."
            => s.arrivals as f64;
        "refused": Kind::ONE.less().rank(21), "refused", "Transfers refused because `max_open` transfers were in progress."
            => s.refused as f64;
        "failed": Kind::ONE.less().rank(20), "failed", "Transfers whose connection failed." => s.failed as f64;
        "under_way": Kind::ONE, "under way", "Transfers in progress at the end."
            => s.conns.len() as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fake::Fake;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_transfer_down_takes_two_round_trips_and_one_up_takes_one_and_a_half() {
        // a download takes 20 ms for the handshake, 10 for the request and 10 for the answer; an upload takes 20 ms for the
        // handshake and 10 for the data
        for (direction, took) in [(Direction::Down, 40), (Direction::Up, 30)] {
            let mut fake = Fake::new(&[20 * MS]);
            let params = ShortParams { direction, count: Some(500), ..Default::default() };
            let mut app = params.build();
            fake.run(&mut app, Time(1_000_000 * MS));
            assert_eq!((fake.files.len(), fake.open_now()), (500, 0));
            assert!(fake.files.iter().all(|f| f.1.since(f.0).0 == took * MS && f.2 == 14_000), "{direction:?}");
            // 500 gaps of 100 ms on average take 50 s, with a standard error of 100 sqrt(500) ms = 2.2 s; the bound is five
            // standard errors
            let last = fake.files[499].0.secs();
            assert!((last - 50.0).abs() < 11.0, "{last}");
        }
    }

    #[test]
    fn sizes_have_the_mean_of_their_distribution() {
        let mut rng = Rng::named(3, "short");
        let mut mean = |size: &Size| (0..100_000).map(|_| size.draw(&mut rng)).sum::<u64>() as f64 / 1e5;
        assert_eq!(mean(&Size::Fixed(Bytes(5))), 5.0);
        // the mean of 100 000 samples is 20 000, with a standard error of 63; rounding down to whole bytes lowers the
        // mean by half a byte
        assert!((mean(&Size::Exponential(Bytes(20_000))) - 20_000.0).abs() < 320.0);
        // a Pareto distribution with the shape a and the minimum m, capped at M, has the mean
        // (a m - m^a M^(1-a)) / (a - 1). With a = 2, m = 1000 and M = 100 000, this is 2000 - 1000^2/100 000 = 1990.
        // The second moment is m^2 (1 + 2 ln(M/m)) = 10.2e6, so the standard error of 100 000 samples is
        // sqrt(10.2e6 - 1990^2)/316 = 7.9
        let pareto = Pareto { min: Bytes(1000), max: Bytes(100_000), shape: 2.0 };
        let m = mean(&Size::Pareto(pareto));
        assert!((m - 1990.0).abs() < 40.0, "{m}");
    }

    #[test]
    fn beyond_max_open_arrivals_are_refused() {
        // a transfer lasts 40 ms and the next transfer arrives after 1 ms on average, so this is an M/D/2/2 queue with
        // an offered load of a = 40 erlangs. By Erlang's B formula, which holds for any distribution of service times,
        // the share of refused transfers is B = 0.9512
        let mut fake = Fake::new(&[20 * MS]);
        let params =
            ShortParams { interval: Duration::from_millis(1), max_open: 2, count: Some(20_000), ..Default::default() };
        let mut app = params.build();
        fake.run(&mut app, Time(1_000_000 * MS));
        let figures = app.figures(Time::ZERO, Time::NEVER);
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
