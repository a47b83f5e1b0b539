//! Validation of a trace before anything is built.

use crate::declare::{Link, Scenario};
use crate::trace::{Interval, MOST_MOMENTS};
use units::{Duration, Problem};

/// Returns true if a link can hold a queue, and so is included in "all".
pub fn can_queue(link: &Link) -> bool {
    link.rate.is_some() || link.service != port::Service::Plain
}

impl Scenario {
    pub(crate) fn check_trace(&self, problems: &mut Vec<Problem>) {
        let Some(trace) = &self.trace else { return };
        if let Interval::Every(every) = trace.interval {
            let moments = self.duration.0.checked_div(every.0).unwrap_or(u64::MAX);
            if moments > MOST_MOMENTS {
                let least = Duration(self.duration.0 / MOST_MOMENTS + 1);
                let message = format!("{every} gives more than {MOST_MOMENTS} readings; expected at least {least}");
                problems.push(Problem::new("trace.interval", message));
            }
        }
        let links: Vec<String> = self.directed_links().into_iter().map(|(n, _)| n).collect();
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        let apps: Vec<&str> = self.app.keys().map(String::as_str).collect();
        trace.links.check("trace.links", "link", &links, problems);
        trace.queues.check("trace.queues", "link", &links, problems);
        trace.flows.check("trace.flows", "application", &apps, problems);
        trace.packets.check("trace.packets", "link", &links, problems);
    }
}
