//! When a scenario's load begins and ends, which is what its grade is of.

use crate::declare::{App, Scenario};
use crate::grading::Grade;
use measure::Grading;
use traffic::Traffic;
use units::Time;

/// Code points of what can wait: LE, and CS1, which had that part before.   Source: RFC 8622 §3, RFC 3662 §4.
const BACKGROUND: [u8; 2] = [1, 8];

impl Scenario {
    /// How a run of it is graded: the scale, and its load: from the earliest `start` of what is no ping (0 s without any) to the
    /// last `stop` or end of a `length`; and which applications are background.
    pub fn grading(&self) -> Grading {
        let loads = || self.app.values().filter(|app| !matches!(app.traffic, Traffic::Ping(_)));
        let begin = loads().map(|app| Time(app.start.0)).min().unwrap_or(Time::ZERO);
        let end = loads().map(end).max().unwrap_or(Time::NEVER);
        let background = self.app.iter().filter(|(_, app)| BACKGROUND.contains(&app.dscp));
        Grading {
            scale: self.grade.as_ref().map(Grade::scale),
            load: begin..end,
            background: background.map(|(name, _)| name.clone()).collect(),
        }
    }
}

/// When an application has no more to send, whenever the seed lets it start.
fn end(app: &App) -> Time {
    let length = match &app.traffic {
        Traffic::Ftp(ftp) => ftp.length.map(|length| {
            let last = ftp.stagger.0.saturating_mul(u64::from(ftp.flows.max(1) - 1));
            app.start.0.saturating_add(last).saturating_add(length.0)
        }),
        _ => None,
    };
    length.or(app.stop.map(|stop| stop.0)).map_or(Time::NEVER, Time)
}
