//! Implements [`Params`] for web users: it validates the parameters, computes an upper bound on a user's traffic, and
//! builds the application.

use super::params::{LISTED, LISTED_HTML, MAX_OBJECTS, MAX_SERVERS, Page, WebParams};
use super::{Phase, Slot, Web};
use crate::conns::Conns;
use crate::demand::times;
use crate::{Demand, Direction, Params};
use units::{Duration, Problem, Time};
use units::{positive, positive_or_none, require, within};

impl Params for WebParams {
    type App = Web;

    fn validate(&self) -> Result<(), Problem> {
        within("servers", self.servers, 1, MAX_SERVERS)?;
        within("connections_per_server", self.connections_per_server, 1, 1024)?;
        within("html_server", self.html_server, 1, self.servers)?;
        positive("request", self.request)?;
        positive_or_none("pages", self.pages)?;
        match &self.page {
            Page::Uniform(u) => {
                positive("page.uniform.html", u.html)?;
                positive("page.uniform.size", u.size)?;
                within("page.uniform.per_server", u.per_server, 0, MAX_OBJECTS / self.servers)?;
            }
            Page::Listed => {
                let message = format!("{} is not valid; the listed page is on {} servers", self.servers, LISTED.len());
                require(self.servers as usize == LISTED.len(), "servers", message)?;
            }
            Page::Lognormal(l) => {
                positive("page.lognormal.html", l.html)?;
                positive("page.lognormal.total", l.total)?;
                within("page.lognormal.objects", l.objects, 1, MAX_OBJECTS)?;
                // for every draw of x, 10^x must be a finite number above 0. In an `f64`, x must therefore lie between
                // -307 and 308. Within the bounds below, these limits are more than 40 standard deviations from the
                // mean
                within("page.lognormal.log10_mean", l.log10_mean, -100.0, 100.0)?;
                within("page.lognormal.log10_sd", l.log10_sd, 0.0, 5.0)?;
            }
        }
        let message = format!("{} is not valid; expected at most think, {}", self.spread(), self.think);
        require(self.spread() <= self.think, "think_spread", message)
    }

    fn demand(&self, span: Duration, round: Duration) -> Demand {
        // a page takes at least one handshake, which lasts at least `round`, and a pause of at least `least` follows
        let least = self.think.saturating_sub(self.spread());
        let pages = times(span, least + round, self.pages);
        let servers = f64::from(self.servers);
        let (objects, bytes) = match &self.page {
            Page::Uniform(u) => {
                let objects = servers * f64::from(u.per_server);
                (objects, u.html.0 as f64 + objects * u.size.0 as f64)
            }
            Page::Listed => {
                let sizes = LISTED.iter().flatten();
                (sizes.clone().count() as f64, LISTED_HTML as f64 + sizes.map(|s| *s as f64).sum::<f64>())
            }
            Page::Lognormal(l) => (f64::from(l.objects), l.html.0 as f64 + l.total.0 as f64),
        };
        Demand {
            direction: Some(Direction::Down),
            connections: servers * f64::from(self.connections_per_server),
            bytes: pages * (bytes + (objects + 1.0) * self.request.0 as f64),
            pieces: pages * (objects + 1.0),
        }
    }

    fn build(&self) -> Web {
        let slots = (self.servers * self.connections_per_server) as usize;
        Web {
            params: self.clone(),
            html: match &self.page {
                Page::Uniform(u) => u.html.0,
                Page::Listed => LISTED_HTML,
                Page::Lognormal(l) => l.html.0,
            },
            objects: match &self.page {
                Page::Uniform(u) => vec![vec![u.size.0; u.per_server as usize]; self.servers as usize],
                Page::Listed => LISTED.iter().map(|s| s.iter().map(|&b| u64::from(b)).collect()).collect(),
                // the sizes are drawn when the first page starts, because the random stream does not exist before then
                Page::Lognormal(_) => Vec::new(),
            },
            next: vec![0; self.servers as usize],
            done: vec![0; self.servers as usize],
            detached: Conns::default(),
            slots: vec![Slot::default(); slots],
            conns: Conns::default(),
            phase: Phase::Think,
            started: Time::ZERO,
            active: 0,
            loaded: 0,
            bytes: 0,
            pages: 0,
        }
    }

    fn servers(&self) -> usize {
        self.servers as usize
    }
}
