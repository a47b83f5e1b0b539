//! Tests that every built-in congestion controller reports its state under the same names throughout a transfer, and that
//! estimates match the path.

use crate::pipe::{Fate, Pipe};
use packet::{Item, Reading, Value};
use std::collections::BTreeMap;
use tcp::{CongestionControl, Endpoint, Recovery, Segment, TcpParams};
use units::{Duration, Rng, Time};

fn read(end: &Endpoint, p: &TcpParams, now: Time) -> Vec<(String, String)> {
    let mut columns = Vec::new();
    let mut take = |item: Item<'_>| {
        let Item::Value(name, unit, value) = item else { panic!("a sender has no queues") };
        let value = match value {
            Value::Number(n) => n.map_or("-".to_owned(), |n| n.to_string()),
            Value::Flag(flag) => flag.to_string(),
            Value::Word(word) => word.to_owned(),
        };
        columns.push((format!("{name}{}", unit.suffix()), value));
    };
    end.read(p, &mut Reading::new(now, false, &mut take));
    columns
}

/// Returns the state of the sender every 100 ms during a transfer of 20 s. The path carries 6 Mbit/s with an RTT of 40 ms, and
/// loses one data packet in five hundred, at random.
fn rows_of(p: &TcpParams) -> Vec<BTreeMap<String, String>> {
    let mut dice = Rng::named(3, "air");
    let fate = move |from: usize, s: &Segment| {
        if from == 0 && s.len > 0 && dice.chance(0.002) { Fate::Drop } else { Fate::Pass }
    };
    let mut pipe = Pipe::new(p, Duration::from_millis(2), Duration::from_millis(20), 20, fate);
    let first = read(&pipe.ends[0], p, Time::ZERO);
    pipe.connect();
    pipe.write(u64::MAX);
    let mut rows = Vec::new();
    for tenth in 1..200u64 {
        let now = Time(tenth * 100_000_000);
        while pipe.step(now).is_some() {}
        let columns = read(&pipe.ends[0], p, now);
        let names = |columns: &[(String, String)]| columns.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&columns), names(&first), "the columns never change");
        let row: BTreeMap<String, String> = columns.iter().cloned().collect();
        assert_eq!(row.len(), columns.len(), "{columns:?}");
        rows.push(row);
    }
    rows
}

fn stack(congestion_control: CongestionControl) -> TcpParams {
    // controllers that require ECN have a preset of the same name
    let base = TcpParams::preset(congestion_control.word()).filter(|p| p.ecn.ecn);
    let base = base.unwrap_or_else(|| TcpParams::preset("linux-6").unwrap());
    let p = base.with(|p| {
        p.control.congestion_control = congestion_control;
        p.detection.recovery = Recovery::Sack;
    });
    p.validate().unwrap();
    p
}

#[test]
fn every_controller_reports_its_state() {
    let common = rows_of(&stack(CongestionControl::Reno))[0].len();
    // the values of an external controller depend on its code
    for &control in CongestionControl::ALL.iter().filter(|c| **c != CongestionControl::Python) {
        let rows = rows_of(&stack(control));
        let own = rows[0].len() - common;
        let none = [CongestionControl::Reno, CongestionControl::Fixed].contains(&control);
        assert_eq!(own == 0, none, "{} reports nothing", control.word());
        let window = |row: &BTreeMap<String, String>| row["cwnd_bytes"].parse::<f64>().unwrap();
        assert!(rows.iter().all(|row| window(row) >= 1448.0), "{}", control.word());
        assert!(rows.iter().any(|row| row["state"] != "open" || row["srtt_ms"] != "-"));
    }
}

#[test]
fn estimates_match_the_path() {
    // 1500 bytes in 2 ms is 6 Mbit/s; 1448 of these bytes are payload, which makes 5.79 Mbit/s. The RTT is 40 + 2 = 42 ms plus the
    // queueing delay
    let rows = rows_of(&stack(CongestionControl::Bbr));
    let last = rows.last().unwrap();
    let number = |name: &str| last[name].parse::<f64>().unwrap();
    assert!((5.2..6.4).contains(&number("btl_bw_mbit")), "{last:?}");
    assert!((40.0..50.0).contains(&number("rt_prop_ms")), "{last:?}");
    assert!(["probe_bw", "probe_rtt"].contains(&last["bbr_mode"].as_str()));
    let rows = rows_of(&stack(CongestionControl::Westwood));
    let bwe: f64 = rows.last().unwrap()["bwe_mbit"].parse().unwrap();
    assert!((2.0..6.4).contains(&bwe), "{bwe}");
}
