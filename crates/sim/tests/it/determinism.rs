//! Tests rule 9 of docs/architecture.md: the same scenario and seed give the same bytes in every repetition, on one
//! thread or two, in debug and release builds. Links and applications that are added to a scenario do not change the
//! random numbers that the others draw.

use crate::common::{D04_APPS, Dice, Ear, Numbers, modem, number, read, run, said};
use packet::Point;
use record::{Mask, Record};
use scenario::Scenario;
use sim::{Outcome, World};

/// The expected results of every build on every machine. The header of the file describes its lines.
const GOLDEN: &str = include_str!("../golden_outcomes.txt");

/// Returns the 64-bit FNV-1a hash of a text.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns the scenarios of the golden file, in its order.
fn cases() -> Vec<(String, String)> {
    let mut cases = vec![
        ("modem-droptail".to_owned(), modem("droptail = { limit = \"21p\" }", 20, D04_APPS)),
        ("modem-codel".to_owned(), modem("codel = { limit = \"417p\" }", 20, D04_APPS)),
    ];
    for n in 0..6 {
        let numbers = if n % 2 == 0 { Numbers::Round } else { Numbers::Odd };
        cases.push((format!("random-{n}"), Dice::new(5000 + n, numbers, true).scenario()));
    }
    cases
}

fn line(name: &str, outcome: &Outcome) -> String {
    let sum = |part: &str, key: &str| {
        let parts = outcome.summary[part].as_object().unwrap();
        parts.values().map(|of| of[key].as_u64().unwrap()).sum::<u64>()
    };
    let links = |key| sum("links", key);
    let apps = |key| sum("apps", key);
    let p99 = outcome.summary["links"].as_object().unwrap().values();
    let p99 = p99.filter_map(|l| l["sojourn_ms"]["p99"].as_f64()).fold(0.0, f64::max);
    let goodput = (apps("goodput_bytes") + apps("goodput_bytes_reverse")) as f64 / 1e6;
    let mut bare = outcome.clone();
    bare.summary.as_object_mut().unwrap().remove("version");
    format!(
        "{name:<16} {:>8} {:>7} {goodput:>8.3} {:>7} {:>5} {p99:>9.3} {:016x}",
        links("delivered_packets"),
        links("dropped_packets"),
        apps("retransmits"),
        apps("timeouts"),
        hash(&said(&bare))
    )
}

#[test]
fn results_are_those_of_the_golden_file() {
    let ours: Vec<String> = cases().iter().map(|(name, toml)| line(name, &run(toml))).collect();
    let golden: Vec<&str> = GOLDEN.lines().filter(|l| !l.starts_with('#')).collect();
    let (ours, golden) = (ours.join("\n"), golden.join("\n"));
    assert!(ours == golden, "results have changed; if this is intended, the golden file must now be\n{ours}\n");
}

#[test]
fn twice_the_same_and_another_seed_another() {
    let toml = modem("codel = { limit = \"417p\" }", 10, D04_APPS);
    let first = said(&run(&toml));
    assert_eq!(first, said(&run(&toml)));
    // a run in single steps must have the same outcome as a whole run
    let s = read(&toml);
    let mut world = World::build(&s).unwrap();
    while world.step() {}
    world.run(|_| true);
    assert_eq!(first, said(&world.outcome(&s)));
    let random = Dice::new(7, Numbers::Odd, true).scenario();
    let other = random.replacen("seed = ", "seed = 9", 1);
    assert_ne!(said(&run(&random)), said(&run(&other)));
}

#[test]
fn two_threads_at_once_are_as_one() {
    let runs: Vec<String> = (0..8).map(|n| Dice::new(6000 + n, Numbers::Odd, true).scenario()).collect();
    let alone: Vec<String> = runs.iter().map(|toml| said(&run(toml))).collect();
    let both = std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..2).map(|_| scope.spawn(|| runs.iter().map(|toml| said(&run(toml))).collect::<Vec<_>>())).collect();
        workers.into_iter().map(|w| w.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(both.iter().all(|texts| *texts == alone));
}

/// Two lossy links with several uses of random numbers: loss, log-normal pages, jittered datagrams, random pauses.
const ISLAND: &str = r#"
duration = "20s"
record.interval = "100ms"
[link.m_up]
from = "m"
to = "n"
rate = "5mbit"
delay = "10ms"
loss = 0.01
queue.codel = { limit = "100p" }
[link.m_down]
from = "n"
to = "m"
rate = "5mbit"
delay = "10ms"
loss = 0.02
[app.m_web]
from = "m"
to = ["n"]
traffic.web = { servers = 1, think = "500ms", page = { lognormal = { total = "100KB", draw = "each_page" } } }
[app.m_cbr]
from = "m"
to = ["n"]
traffic.cbr = { rate = "1mbit", randomize = 1 }
[app.m_ftp]
from = "m"
to = ["n"]
tcp = "rfc"
traffic.ftp = { size = "50KB", pause = "100ms", pause_spread = "200ms" }
"#;

/// A second network. Some names of its links, applications and nodes sort before the names in the first network, some after
/// them.
const NEIGHBOURS: &str = r#"
[link.a_line]
from = "a"
to = "z"
rate = "3mbit"
delay = "7ms"
loss = 0.03
both_ways = true
[link.z_line]
from = "q"
to = "z"
rate = "3mbit"
loss = 0.03
both_ways = true
[app.a_web]
from = "a"
to = ["z"]
traffic.web = { servers = 1, think = "300ms", page = { lognormal = { total = "100KB", draw = "each_page" } } }
[app.z_cbr]
from = "q"
to = ["a"]
traffic.cbr = { rate = "1mbit", randomize = 0.7 }
"#;

/// Returns the results of the first network: its links, its applications, and its rows in every table.
fn first_network(outcome: &Outcome) -> String {
    let mut text = String::new();
    for part in ["links", "apps"] {
        let all = outcome.summary[part].as_object().unwrap();
        all.iter().filter(|(k, _)| k.starts_with("m_")).for_each(|(k, v)| text += &format!("{k} {v}\n"));
    }
    for table in &outcome.tables {
        let sim::Column::Text(keys) = &table.columns[0].1 else { panic!("{} has no names", table.name) };
        for (name, column) in &table.columns {
            for i in (0..keys.len()).filter(|&i| keys[i].starts_with("m_")) {
                let value = match column {
                    sim::Column::U64(v) => v[i].to_string(),
                    sim::Column::F64(v) => format!("{:?}", v[i]),
                    sim::Column::Text(v) => v[i].to_owned(),
                    sim::Column::Unknown(_) => "unknown".to_owned(),
                };
                text += &format!("{} {name} {value}\n", table.name);
            }
        }
    }
    text
}

#[test]
fn neighbours_change_nobody_s_numbers() {
    let alone = run(ISLAND);
    let among = run(&format!("{ISLAND}{NEIGHBOURS}"));
    assert!(number(&alone, "apps.m_web.web.pages") >= 3.0 && number(&among, "apps.a_web.web.pages") >= 3.0);
    assert!(number(&alone, "links.m_up.drops.link_loss") > 10.0);
    let (alone, among) = (first_network(&alone), first_network(&among));
    for (a, b) in alone.lines().zip(among.lines()) {
        assert_eq!(a, b);
    }
    assert_eq!(alone.len(), among.len());
}

#[test]
fn a_flow_more_draws_no_one_else_s_numbers() {
    // another flow on the same path changes all delays, but neither the random pages nor the times at which datagrams are sent
    let more = "[app.a_ftp]\nfrom = \"m\"\nto = [\"n\"]\ntraffic.ftp = {}\n";
    let drawn = |toml: &str| {
        let s: Scenario = read(toml);
        let mut world = World::with_sink(&s, Ear::new(Mask::ENQUEUED.with(Mask::DROPPED))).unwrap();
        world.run(|_| true);
        // selects the arrivals of the jittered source's datagrams at a queue, including datagrams that are dropped
        // there. These datagrams are recognised by their size: they have 1000 bytes, and no TCP packet has this size
        let arrives = |record: &Record| match record {
            Record::Enqueued { packet, .. } | Record::Dropped { packet, point: Point::Enqueue, .. } => {
                packet.size == 1000
            }
            _ => false,
        };
        let heard = world.sink().records.iter().filter(|(_, record)| arrives(record));
        heard.map(|(now, _)| *now).collect::<Vec<_>>()
    };
    let (alone, among) = (drawn(ISLAND), drawn(&format!("{ISLAND}{more}")));
    assert!(alone.len() > 2400, "{}", alone.len());
    assert_eq!(alone, among);
}
