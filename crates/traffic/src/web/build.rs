//! Validation, demand and construction of a web user from its parameters.

use super::params::{LISTED, LISTED_HTML, MAX_OBJECTS, MAX_SERVERS, Page, WebParams};
use super::{Phase, Slot, Web};
use crate::conns::Conns;
use crate::demand::times;
use crate::{Demand, Direction, Params};
use std::collections::BTreeMap;
use units::{Bytes, Duration, Problem, Time};

impl Params for WebParams {
    type App = Web;

    fn validate(&self) -> Result<(), Problem> {
        let range = |field: &str, v: u32, max: u32| match v {
            0 => Err(Problem::new(field, format!("0 is not valid; expected 1 to {max}"))),
            v if v > max => Err(Problem::new(field, format!("{v} is not valid; expected 1 to {max}"))),
            _ => Ok(()),
        };
        let some = |field: &str, v: Bytes| match v.0 {
            0 => Err(Problem::new(field, "0B is not valid; expected at least 1 byte")),
            _ => Ok(()),
        };
        range("servers", self.servers, MAX_SERVERS)?;
        range("connections_per_server", self.connections_per_server, 1024)?;
        range("html_server", self.html_server, self.servers)?;
        some("request", self.request)?;
        if self.pages == Some(0) {
            return Err(Problem::new(
                "pages",
                "0 is not valid; expected at least 1, or no number to go on until the end",
            ));
        }
        match &self.page {
            Page::Uniform(u) => {
                some("page.uniform.html", u.html)?;
                some("page.uniform.size", u.size)?;
                if u64::from(u.per_server) * u64::from(self.servers) > u64::from(MAX_OBJECTS) {
                    let message = format!("{} is not valid; a page has at most {MAX_OBJECTS} objects", u.per_server);
                    return Err(Problem::new("page.uniform.per_server", message));
                }
            }
            Page::Listed => {
                if self.servers as usize != LISTED.len() {
                    let message =
                        format!("{} is not valid; the listed page lies on {} servers", self.servers, LISTED.len());
                    return Err(Problem::new("servers", message));
                }
            }
            Page::Lognormal(l) => {
                some("page.lognormal.html", l.html)?;
                some("page.lognormal.total", l.total)?;
                range("page.lognormal.objects", l.objects, MAX_OBJECTS)?;
                // 10^x must be a finite number of bytes for every draw: 40 sigma in either direction
                if !(l.log10_mean.is_finite() && l.log10_mean.abs() <= 100.0) {
                    let message = format!("{} is not valid; expected -100 to 100", l.log10_mean);
                    return Err(Problem::new("page.lognormal.log10_mean", message));
                }
                if !(0.0..=5.0).contains(&l.log10_sd) {
                    let message = format!("{} is not valid; expected 0 to 5", l.log10_sd);
                    return Err(Problem::new("page.lognormal.log10_sd", message));
                }
            }
        }
        if self.spread() > self.think {
            let message = format!("{} is not valid; expected at most think, {}", self.spread(), self.think);
            return Err(Problem::new("think_spread", message));
        }
        Ok(())
    }

    fn demand(&self, span: Duration, round: Duration) -> Demand {
        // a page takes at least a handshake
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
                (sizes.clone().count() as f64, sizes.map(|s| *s as f64).sum())
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
                // drawn when the first page starts, because there is no random stream before
                Page::Lognormal(_) => Vec::new(),
            },
            next: vec![0; self.servers as usize],
            done: vec![0; self.servers as usize],
            detached: BTreeMap::new(),
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
