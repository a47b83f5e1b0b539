//! The grading of a scenario, and the period in which it loads the network.

use crate::app::App;
use crate::declare::Scenario;
use crate::grading::Grade;
use measure::Grading;
use std::ops::Range;
use traffic::Traffic;
use units::Time;

/// Code points of background traffic: LE and its predecessor CS1.   Source: RFC 8622 §3, RFC 3662 §4.
const BACKGROUND: [u8; 2] = [1, 8];

impl Scenario {
    /// Returns the period in which applications other than ping load the network. It begins at the earliest `start` of
    /// these applications, and ends when the last of them reaches its `stop`, or the end of its `length`. The end is
    /// [`Time::NEVER`] if one of them has neither. Without such applications, the period is from 0 s to `NEVER`.
    pub fn load(&self) -> Range<Time> {
        let loads = || self.app.values().filter(|app| !matches!(app.traffic, Traffic::Ping(_)));
        let begin = loads().map(|app| Time(app.start.0)).min().unwrap_or(Time::ZERO);
        begin..loads().map(end).max().unwrap_or(Time::NEVER)
    }

    /// Returns the grading of a run: the scale and the background applications.
    pub fn grading(&self) -> Grading {
        let background = self.app.iter().filter(|(_, app)| BACKGROUND.contains(&app.dscp));
        Grading {
            scale: self.grade.as_ref().map(Grade::scale),
            background: background.map(|(name, _)| name.clone()).collect(),
        }
    }
}

/// Returns the time from which an application starts nothing new, not counting its start spread; [`Time::NEVER`] if it
/// has neither a `length` nor a `stop`.
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
