//! The result of a live run. The summary and the tables are built as for a simulation, from an [`Account`]; the summary
//! also has the section `live`.
//!
//! `summary.live` holds the verdict. A run is invalid if the 99th percentile of the lateness of its packets exceeds
//! 1 ms, or 5 % of the minimum round-trip propagation delay between two communicating hosts, if that delay is not 0. A
//! run is also invalid if the bench was overloaded. For each packet read from a device, the bench records the time since this device was last
//! empty, because the packet may have waited for this long. If the median of these times exceeds 1 ms, the bench was
//! overloaded. The table `conversations` lists the first 65 536 5-tuples that entered the bench, including those of the
//! user's own programs.

use crate::flows::Flow;
use crate::link::{Exits, LinkThread};
use crate::plan::{Plan, Side, addresses};
use crate::programs::Programs;
use measure::{Account, Column, Outcome, Table, Verdict};
use packet::Protocol;
use record::Sink;
use scenario::Scenario;
use serde_json::{Value, json};
use units::{Duration, Time};

/// In a valid run, neither the 99th percentile of the packets' lateness nor the median of [`Exits::unread`] (the times
/// for which packets may have waited in a device) exceeds this limit.
const LATE: Duration = Duration::from_millis(1);

/// In a valid run, the 99th percentile of the packets' lateness does not exceed this percentage of the minimum
/// round-trip propagation delay, unless that delay is 0.
const LATE_PERCENT: u64 = 5;

pub(crate) struct FinishedRun<'a, S: Sink> {
    pub scenario: &'a Scenario,
    pub plan: &'a Plan,
    pub link: LinkThread<S>,
    pub programs: Programs,
    pub code: Option<i32>,
    /// True if idle processors were kept from halting during the run, so that they wake without delay.
    pub awake: bool,
}

/// Builds the summary and the tables.
pub(crate) fn outcome<S: Sink>(parts: FinishedRun<'_, S>) -> Outcome {
    let FinishedRun { scenario, plan, mut link, programs, code, awake } = parts;
    let ended = link.ended;
    let mut tally = programs.state.tally;
    crate::app_counters::join(&mut tally, std::mem::take(&mut link.exits.app_counters.tally));
    let machines = programs.machines.iter().zip(&plan.apps);
    let figures = machines.map(|(m, app)| traffic::Application::figures(m, ended, app.placed.stop)).collect();
    let words = programs.machines.iter().map(traffic::Application::words).collect();
    let columns = programs.machines.iter().map(traffic::Application::columns).collect();
    let warm_up = scenario.record.warm_up.min(Duration(ended.0));
    let links = link.bench.links.iter().zip(&plan.network.links);
    let links = links.map(|(l, link)| l.account(ended, link.declared.capacity(warm_up, Duration(ended.0))));
    let mut outcome = Account {
        name: &scenario.name,
        seed: scenario.seed,
        duration: Duration(ended.0),
        warm_up,
        events: link.exits.handled,
        links: links.collect(),
        grading: scenario.grading(),
        tally: &tally,
        figures,
        words,
        columns,
    }
    .outcome();
    outcome.summary["live"] = verdict(plan, &link, code, awake);
    outcome.tables.push(conversations(&link.bench.flows.all));
    outcome.tables.iter_mut().for_each(|t| cut(t, ended));
    // `drain` asserts that every packet that remains in the bench is in a queue
    link.bench.drain();
    outcome
}

/// Returns the reason why a run is invalid if its packets were too late; `None` if they were punctual. `p99` is the
/// 99th percentile of the packets' lateness, and `rtt` is the minimum round-trip propagation delay.
fn too_late(p99: Option<Duration>, rtt: Duration) -> Option<String> {
    let p99 = p99?;
    let share = Duration(rtt.0 / 100 * LATE_PERCENT);
    if p99 > LATE {
        Some(format!("lateness p99 {:.3} ms is above {} ms", p99.millis(), LATE.millis()))
    } else if !rtt.is_zero() && p99 > share {
        let (p99, share, rtt) = (p99.millis(), share.millis(), rtt.millis());
        Some(format!(
            "lateness p99 {p99:.3} ms is above {share:.3} ms, {LATE_PERCENT} % of the round trip of {rtt:.3} ms"
        ))
    } else {
        None
    }
}

/// Returns the reason why a run is invalid if the bench was overloaded; `None` if it was not. `median` is the median of
/// [`Exits::unread`], the times for which packets may have waited in a device.
fn overload(median: Option<Duration>) -> Option<String> {
    let median = median.filter(|m| *m > LATE)?.millis();
    Some(format!(
        "the bench is overloaded: half of the packets may have waited {median:.3} ms or longer until it read them"
    ))
}

fn verdict<S: Sink>(plan: &Plan, link: &LinkThread<S>, code: Option<i32>, awake: bool) -> Value {
    let Exits { lateness, unread, .. } = &link.exits;
    let late = too_late(lateness.percentile(99.0), plan.rtt).or_else(|| overload(unread.percentile(50.0)));
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut verdict = json!({
        "invalid_because": late, "kernel": kernel.trim(),
        "left": addresses(plan, Side::Left), "right": addresses(plan, Side::Right),
        "congestion": plan.apps.iter().map(|a| (a.placed.name.clone(), json!(a.congestion))).collect::<serde_json::Map<_, _>>(),
    });
    let numbers = Verdict {
        valid: late.is_none(),
        lateness,
        unread,
        rtt: plan.rtt,
        real_time: link.real_time,
        awake,
        foreign: link.bench.foreign,
        unwritten: link.exits.unwritten,
        exit_code: code,
    };
    verdict.as_object_mut().into_iter().for_each(|of| of.extend(numbers.summary()));
    verdict
}

/// Returns the table of the flows, in the order in which their first packets arrived.
fn conversations(flows: &[Flow]) -> Table {
    let text = |of: fn(&Flow) -> String| Column::Text(flows.iter().map(of).collect());
    let number = |of: fn(&Flow) -> u64| Column::U64(flows.iter().map(of).collect());
    let protocol = |f: &Flow| match f.key.protocol {
        Protocol::ICMP => "icmp".to_owned(),
        Protocol::TCP => "tcp".to_owned(),
        Protocol::UDP => "udp".to_owned(),
        Protocol::DCCP => "dccp".to_owned(),
        Protocol::SCTP => "sctp".to_owned(),
        Protocol::UDP_LITE => "udplite".to_owned(),
        Protocol(number) => number.to_string(),
    };
    let columns = vec![
        ("protocol", text(protocol)),
        ("src", text(|f| f.key.src.to_string())),
        ("sport", number(|f| f.key.sport.into())),
        ("dst", text(|f| f.key.dst.to_string())),
        ("dport", number(|f| f.key.dport.into())),
        ("packets", number(|f| f.directions[0].packets)),
        ("wire_bytes", number(|f| f.directions[0].bytes)),
        ("dropped_packets", number(|f| f.directions[0].dropped)),
        ("packets_reverse", number(|f| f.directions[1].packets)),
        ("wire_bytes_reverse", number(|f| f.directions[1].bytes)),
        ("dropped_packets_reverse", number(|f| f.directions[1].dropped)),
    ];
    Table { name: "conversations", columns }
}

/// Removes the bins of a series that begin at or after the end of the run. (A command may end the run early.)
fn cut(table: &mut Table, ended: Time) {
    if !table.name.ends_with("_series") {
        return;
    }
    let Some(keep) = table.columns.iter().find_map(|(name, column)| match column {
        Column::F64(t) if *name == "t_s" => Some(t.iter().map(|t| *t < ended.secs()).collect::<Vec<bool>>()),
        _ => None,
    }) else {
        return;
    };
    for (_, column) in &mut table.columns {
        let mut kept = keep.iter().copied();
        let mut wanted = || kept.next().unwrap_or(false);
        match column {
            Column::U64(v) => v.retain(|_| wanted()),
            Column::F64(v) => v.retain(|_| wanted()),
            Column::Text(v) => v.retain(wanted),
            Column::Unknown(rows) => *rows = (0..*rows).filter(|_| wanted()).count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_of_lateness() {
        let us = Duration::from_micros;
        assert_eq!(too_late(None, us(4000)), None);
        // 5 % of 4 ms is 200 us
        assert_eq!(too_late(Some(us(200)), us(4000)), None);
        assert!(too_late(Some(us(201)), us(4000)).unwrap().contains("5 %"));
        // a float cannot hold 0.1 ms exactly, but the message must still say 0.100 ms
        assert!(too_late(Some(us(30)), us(100)).unwrap().ends_with("5 % of the round trip of 0.100 ms"));
        // if the round trip takes 20 ms or more, or 0 ms, the limit is 1 ms
        assert_eq!(too_late(Some(us(1000)), us(100_000)), None);
        assert!(too_late(Some(us(1001)), us(100_000)).unwrap().contains("above 1 ms"));
        assert_eq!(too_late(Some(us(1000)), Duration::ZERO), None);
    }

    #[test]
    fn the_rule_of_overload() {
        assert_eq!(overload(None), None);
        assert_eq!(overload(Some(LATE)), None);
        assert!(overload(Some(Duration(LATE.0 + 1))).unwrap().contains("1.000 ms"));
    }

    #[test]
    fn bins_after_the_end_are_cut() {
        let mut t = Table {
            name: "queue_series",
            columns: vec![
                ("link", Column::Text(["a"; 3].into_iter().collect())),
                ("t_s", Column::F64(vec![0.0, 1.0, 2.0])),
            ],
        };
        cut(&mut t, Time(1_500_000_000));
        assert_eq!(t.columns[1].1, Column::F64(vec![0.0, 1.0]));
        assert_eq!(t.columns[0].1, Column::Text(["a"; 2].into_iter().collect()));
    }
}
