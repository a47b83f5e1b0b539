//! Validation, demand and construction of the test from its parameters.

use super::Rpm;
use super::params::RpmParams;
use crate::demand::times;
use crate::{Demand, Params};
use units::{Bytes, Duration, Problem};

/// Refuses a number outside [least, most].
fn within(field: &str, value: u32, least: u32, most: u32) -> Result<(), Problem> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Problem::new(field, format!("{value} is not valid; expected {least} to {most}")))
}

impl Params for RpmParams {
    type App = Rpm;

    fn validate(&self) -> Result<(), Problem> {
        within("most", self.most, 1, 1000)?;
        within("initial", self.initial, 1, self.most)?;
        within("add", self.add, 0, 1000)?;
        within("moving_average", self.moving_average, 2, 100)?;
        within("probes_per_second", self.probes_per_second, 1, 1000)?;
        within("stage_intervals", self.stage_intervals, self.moving_average, 10_000)?;
        if self.interval < Duration::from_millis(100) || self.interval > Duration::from_secs(600) {
            return Err(Problem::new("interval", format!("{} is not valid; expected 100ms to 10min", self.interval)));
        }
        if !(self.trim > 0.0 && self.trim <= 100.0) {
            return Err(Problem::new("trim", format!("{} is not valid; expected more than 0, at most 100", self.trim)));
        }
        for (field, value) in [("tolerance", self.tolerance), ("probe_share", self.probe_share)] {
            if !(value > 0.0 && value <= 1.0) {
                return Err(Problem::new(field, format!("{value} is not valid; expected more than 0, at most 1")));
            }
        }
        let sizes = [
            ("client_hello", self.client_hello, 1),
            ("server_hello", self.server_hello, 1),
            ("request", self.request, 1),
            ("response", self.response, 1),
            ("notsent_lowat", self.notsent_lowat, 0),
        ];
        for (field, size, least) in sizes {
            if size.0 < least || size.0 > 1 << 30 {
                let message = format!("{size} is not valid; expected {least}B to {}", Bytes(1 << 30));
                return Err(Problem::new(field, message));
            }
        }
        Ok(())
    }

    fn demand(&self, span: Duration, _: Duration) -> Demand {
        let pairs = times(span, Duration(1_000_000_000 / u64::from(self.probes_per_second)), None);
        let ways = self.direction.ways();
        Demand {
            direction: if let [one] = ways { Some(*one) } else { None },
            connections: f64::from(self.most) * ways.len() as f64,
            bytes: f64::INFINITY,
            pieces: 2.0 * pairs,
        }
    }

    fn build(&self) -> Rpm {
        Rpm::new(self.clone())
    }
}
