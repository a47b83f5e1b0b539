//! Implements [`Params`] for the responsiveness test: it validates the parameters, computes an upper bound on the
//! test's traffic, and builds the application.

use super::Rpm;
use super::params::RpmParams;
use crate::demand::times;
use crate::{Demand, Params};
use units::{Bytes, Duration, Problem};
use units::{positive, within};

impl Params for RpmParams {
    type App = Rpm;

    fn validate(&self) -> Result<(), Problem> {
        within("most", self.most, 1, 1000)?;
        within("initial", self.initial, 1, self.most)?;
        within("add", self.add, 0, 1000)?;
        within("moving_average", self.moving_average, 2, 100)?;
        within("probes_per_second", self.probes_per_second, 1, 1000)?;
        within("stage_intervals", self.stage_intervals, self.moving_average, 10_000)?;
        within("interval", self.interval, Duration::from_millis(100), Duration::from_secs(600))?;
        for (field, value, most) in
            [("trim", self.trim, 100.0), ("tolerance", self.tolerance, 1.0), ("probe_share", self.probe_share, 1.0)]
        {
            positive(field, value)?;
            within(field, value, 0.0, most)?;
        }
        for (field, size, least) in [
            ("client_hello", self.client_hello, 1),
            ("server_hello", self.server_hello, 1),
            ("request", self.request, 1),
            ("response", self.response, 1),
            ("notsent_lowat", self.notsent_lowat, 0),
        ] {
            within(field, size, Bytes(least), Bytes(1 << 30))?;
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
