//! Start times of applications.
//!
//! ```text
//!   begins = start + U,   U uniform in [0, spread] ns, from the stream "start.NAME" of the seed
//!   spread = start_spread of the application, or else of the scenario, or else the default of its traffic
//! ```
//!
//! The start is always before the application's `stop`. Without a spread, all seeds give the same run unless the scenario contains
//! other randomness.

use crate::app::App;
use crate::declare::Scenario;
use units::{Duration, Rng, Time};

impl Scenario {
    /// Returns the time at which application `name` starts under this scenario's seed.
    pub(crate) fn begins(&self, name: &str, app: &App) -> Time {
        let spread = app.start_spread.or(self.start_spread).unwrap_or_else(|| app.traffic.start_spread());
        let before_stop = app.stop.map_or(spread, |stop| Duration(stop.0.saturating_sub(app.start.0 + 1)));
        match spread.min(before_stop).0 {
            0 => Time(app.start.0),
            most => Time(app.start.0 + Rng::named(self.seed, &format!("start.{name}")).below(most.saturating_add(1))),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::read::{Format, scenario};

    fn begins(seed: u64, more: &str, app: &str) -> u64 {
        let text = format!(
            "seed = {seed}\nduration = \"60s\"\n{more}\n[link.up]\nfrom = \"a\"\nto = \"b\"\nboth_ways = true\nrate = \"1mbit\"\n\
             [app.x]\nfrom = \"a\"\nto = [\"b\"]\nstart = \"5s\"\n{app}\n"
        );
        let s = scenario(&text, Format::Toml, &[]).unwrap();
        s.begins("x", &s.app["x"]).0 - 5_000_000_000
    }

    #[test]
    fn seeds_fill_the_spread() {
        for (app, spread) in [
            ("traffic.ftp = {}", 100_000_000),
            ("traffic.voip = {}", 20_000_000),
            ("traffic.ping = { interval = \"200ms\" }", 200_000_000),
            ("traffic.cbr = { rate = \"1mbit\", size = 1000 }", 8_000_000),
            ("start_spread = \"3s\"\ntraffic.ftp = {}", 3_000_000_000),
        ] {
            let all: Vec<u64> = (0..400).map(|seed| begins(seed, "", app)).collect();
            assert!(all.iter().all(|&u| u <= spread), "{app}");
            // the mean of 400 uniform starts is half the spread; its standard error is 0.289 / sqrt(400) = 0.0145 of the spread,
            // and five standard errors are 0.073
            let mean = all.iter().sum::<u64>() as f64 / 400.0 / spread as f64;
            assert!((mean - 0.5).abs() < 0.073, "{app}: {mean}");
        }
    }

    #[test]
    fn zero_on_request_and_never_past_the_stop() {
        let none = "start_spread = \"0s\"";
        let poisson = "traffic.cbr = { rate = \"1mbit\", arrivals = \"poisson\" }";
        for seed in 0..20 {
            assert_eq!(begins(seed, none, "traffic.ftp = {}"), 0);
            assert_eq!(begins(seed, "", &format!("{none}\ntraffic.ftp = {{}}")), 0);
            assert_eq!(begins(seed, "", poisson), 0);
            let stop = "stop = \"5001ms\"\ntraffic.short = {}";
            assert!(begins(seed, "", stop) < 1_000_000);
        }
        assert_ne!(begins(1, none, "start_spread = \"1s\"\ntraffic.ftp = {}"), 0);
    }
}
