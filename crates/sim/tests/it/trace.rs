//! Tests that a trace agrees with the result of its run, and that tracing does not change the result.

use crate::common::{STALE, number, read};
use packet::DropReason;
use record::trace::{Chunk, Data};
use scenario::Scenario;
use sim::World;
use sim::trace::Trace;
use std::collections::BTreeMap;

const LINE: &str = r#"
duration = "10s"
[link.up]
from = "a"
to = "b"
rate = "5mbit"
delay = "20ms"
queue.codel = { limit = "100p" }
[link.down]
from = "b"
to = "a"
rate = "20mbit"
delay = "20ms"
queue.fq_codel = {}
[app.ftp]
from = "a"
to = ["b"]
tcp = "cubic"
traffic.ftp = {}
[app.page]
from = "a"
to = ["b"]
traffic.short = {}
[app.call]
from = "a"
to = ["b"]
traffic.voip = {}
"#;

/// The rows of every table, column by column.
type Tables = BTreeMap<&'static str, Vec<Chunk>>;

fn traced(s: &Scenario) -> (Tables, sim::Outcome) {
    let mut tables = Tables::new();
    let mut trace = Trace::new(s, |chunk: Chunk| tables.entry(chunk.table).or_default().push(chunk)).unwrap();
    let mut world = World::with_sink(s, &mut trace).unwrap();
    world.run(|_| true);
    let outcome = world.outcome(s);
    drop(world);
    trace.finish();
    (tables, outcome)
}

fn with(trace: &str) -> Scenario {
    read(&format!("{trace}\n{LINE}"))
}

/// Sends a UDP flow over a link with these keys. Returns the rows of table `links`, one for each change of the link.
fn changes(keys: &str) -> Vec<Chunk> {
    let text = format!(
        "duration = '2s'\ntrace = {{ links = ['up'], interval = 'change' }}\n[link.up]\nfrom = 'a'\nto = 'b'\n{keys}\n\
         [link.down]\nfrom = 'b'\nto = 'a'\n[app.x]\nfrom = 'a'\nto = ['b']\nstart_spread = '0s'\n\
         traffic.cbr = {{ rate = '6mbit', size = '1500B' }}\n"
    );
    traced(&read(&text)).0.remove("links").unwrap_or_default()
}

#[test]
fn a_link_without_a_law_has_a_row_for_each_change_of_its_backlog() {
    let rows = changes("rate = '5mbit'\nqueue.droptail = { limit = '20p' }");
    let (offered, backlog) = (numbers(&rows, "offered_packets"), numbers(&rows, "backlog_packets"));
    // 6 Mbit/s are 500 packets/s, or 1000 in 2 s, and each has a row. The link sends 5 Mbit/s, so the queue fills up
    assert!(offered.len() >= 1000, "{}", offered.len());
    assert!((1..1000).all(|n| offered.contains(&f64::from(n))), "each packet is offered");
    assert!((0..=20).all(|n| backlog.contains(&f64::from(n))), "every length of the queue is seen");
}

#[test]
fn every_kind_of_link_has_its_rate_in_the_trace() {
    let flow = "flow = { max_sustained_rate = '5mbit' }";
    for keys in [
        "rate = '5mbit'".to_owned(),
        "shaper = { max_sustained_rate = '5mbit' }".to_owned(),
        "shaper.htb = { rate = '5mbit' }".to_owned(),
        format!("docsis = {{ {flow} }}"),
        format!("docsis = {{ {flow}, model = 'docsis_link_2013' }}"),
        format!("docsis31 = {{ {flow} }}"),
        format!("docsis31 = {{ {flow}, downstream = {{}} }}"),
        "delivery.trace = { file = 'x', opportunity = 6250, source = '+10' }".to_owned(),
    ] {
        let rates = numbers(&changes(&keys), "rate_mbit");
        assert!(!rates.is_empty() && rates.iter().all(|rate| *rate == 5.0), "{keys}: {rates:?}");
    }
}

fn numbers(chunks: &[Chunk], name: &str) -> Vec<f64> {
    chunks
        .iter()
        .flat_map(|c| match c.column(name) {
            Some(Data::F64(v)) => v.clone(),
            Some(Data::U64(v)) => v.iter().map(|x| *x as f64).collect(),
            Some(Data::Flag(v)) => v.iter().map(|x| f64::from(*x)).collect(),
            other => panic!("{name}: {other:?}"),
        })
        .collect()
}

fn words(chunks: &[Chunk], name: &str) -> Vec<String> {
    chunks
        .iter()
        .flat_map(|c| match c.column(name) {
            Some(Data::Word(v, of)) => {
                v.iter().map(|i| of.get(usize::from(*i)).cloned().unwrap_or_default()).collect::<Vec<_>>()
            }
            other => panic!("{name}: {other:?}"),
        })
        .collect()
}

#[test]
fn nothing_happens_otherwise_because_of_it() {
    let plain = read(LINE);
    let mut world = World::build(&plain).unwrap();
    world.run(|_| true);
    // the number of events may differ, because traced links are not on the fast path
    let told = |outcome: &sim::Outcome| {
        let mut summary = outcome.summary.clone();
        summary["events"] = 0.into();
        summary
    };
    let untraced = world.outcome(&plain);
    for trace in [
        "trace = { links = true, queues = true, flows = true, packets = true }",
        "trace = { links = true, queues = true, flows = true, interval = \"change\" }",
        "trace = { flows = [\"ftp\"], interval = \"1ms\" }",
    ] {
        let (_, outcome) = traced(&with(trace));
        assert_eq!(told(&outcome), told(&untraced), "{trace}");
        // the tables are compared as text, because empty bins of a series are NaN
        assert!(format!("{:?}", outcome.tables) == format!("{:?}", untraced.tables), "{trace}");
    }
}

#[test]
fn only_selected_tables_exist() {
    assert!(Trace::new(&read(LINE), |_| ()).is_none());
    assert!(Trace::new(&with("trace = {}"), |_| ()).is_none());
    let (tables, _) = traced(&with("trace = { links = [\"up\"], interval = \"100ms\" }"));
    assert_eq!(tables.keys().copied().collect::<Vec<_>>(), ["links"]);
    // in 10 s there are 100 readings, one every 100 ms from 0 on; the end is not part of the run
    let t = numbers(&tables["links"], "t_s");
    assert_eq!((t.len(), t[0], t[1], t[99]), (100, 0.0, 0.1, 9.9));
    assert!(words(&tables["links"], "link").iter().all(|l| l == "up"));
}

#[test]
fn every_change_of_codel_is_a_row() {
    let (tables, outcome) = traced(&with("trace = { links = [\"up\"], interval = \"change\" }"));
    let rows = &tables["links"];
    let (count, dropping) = (numbers(rows, "count"), numbers(rows, "dropping"));
    let (t, drop_next) = (numbers(rows, "t_s"), numbers(rows, "drop_next_s"));
    assert!(t.is_sorted() && t.len() > 50, "{}", t.len());
    // RFC 8289 §5.6: while CoDel is dropping, the next drop follows after interval / sqrt(count)
    let mut steps = 0;
    for i in 1..t.len() {
        if dropping[i - 1] == 1.0 && dropping[i] == 1.0 && count[i] == count[i - 1] + 1.0 {
            let step = drop_next[i] - drop_next[i - 1];
            assert!((step - 0.1 / count[i].sqrt()).abs() < 1e-8, "{} {}", count[i], step);
            steps += 1;
        }
    }
    assert!(steps > 10, "{steps}");
    // the number of dropped packets in the last row of the trace differs from the result by at most one
    let dropped = outcome.summary["links"]["up"]["dropped_packets"].as_f64().unwrap();
    let last = *numbers(rows, "dropped_packets").last().unwrap();
    assert!((dropped - last).abs() <= 1.0, "{dropped} {last}");
}

/// With `interval = "change"`, a trace has a row only after an event that changes the state of the link. The end of a
/// bin does not change this state, so the rows do not depend on the length of the bins (`record.interval`).
#[test]
fn changes_do_not_depend_on_bins() {
    for queue in ["fq_codel", "dualpi2"] {
        let line = LINE.replace("queue.codel = { limit = \"100p\" }", &format!("queue.{queue} = {{}}"));
        let rows = |interval: &str| {
            let record =
                format!("record.interval = \"{interval}\"\ntrace = {{ links = [\"up\"], interval = \"change\" }}");
            let (tables, _) = traced(&read(&format!("{record}\n{line}")));
            (numbers(&tables["links"], "t_s"), format!("{:?}", tables["links"]))
        };
        let ((coarse_t, coarse), (fine_t, fine)) = (rows("10s"), rows("1ms"));
        assert_eq!(coarse_t.len(), fine_t.len(), "{queue}");
        assert!(coarse == fine, "{queue}");
    }
}

/// A link without a rate has no queue, so it is not in the table `links`, but its packets are in the table `packets`.
#[test]
fn the_packets_of_a_link_without_a_rate_are_traced() {
    let wire = "[link.wire]\nfrom = \"b\"\nto = \"c\"\nboth_ways = true\nlose = [7]\n";
    let text = LINE.replace("to = [\"b\"]", "to = [\"c\"]");
    let (tables, _) = traced(&read(&format!("trace = {{ packets = true, links = true }}\n{text}{wire}")));
    let links_of = |table: &str| std::collections::BTreeSet::from_iter(words(&tables[table], "link"));
    let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
    // the row of a delivered packet names no link, because the packet is at its host
    assert_eq!(links_of("packets"), names(&["", "down", "up", "wire", "~wire"]));
    assert_eq!(links_of("links"), names(&["down", "up"]));
    let rows = &tables["packets"];
    let (link, reason) = (words(rows, "link"), words(rows, "reason"));
    assert_eq!(link.iter().zip(&reason).filter(|(l, r)| *l == "wire" && *r == "link_loss").count(), 1);
}

#[test]
fn fates_balance_and_have_names() {
    let (tables, outcome) = traced(&with("trace = { packets = [\"up\"] }"));
    let rows = &tables["packets"];
    let (fate, link, reason) = (words(rows, "fate"), words(rows, "link"), words(rows, "reason"));
    let count = |of: &str| fate.iter().filter(|f| *f == of).count() as u64;
    let up = &outcome.summary["links"]["up"];
    let tail = (0..fate.len()).filter(|i| fate[*i] == "dropped" && reason[*i] != "early_head").count() as u64;
    assert_eq!(count("enqueued") + tail, up["offered_packets"].as_u64().unwrap());
    assert_eq!(count("dropped"), up["dropped_packets"].as_u64().unwrap());
    assert!(count("delivered") > 1000);
    for i in 0..fate.len() {
        assert_eq!(link[i], if fate[i] == "delivered" { "" } else { "up" });
        let known = DropReason::ALL.iter().any(|r| r.name() == reason[i]);
        assert_eq!(fate[i] == "dropped", known, "{} {}", fate[i], reason[i]);
    }
    let apps = words(rows, "app");
    assert!(["ftp", "page", "call"].iter().all(|app| apps.iter().any(|a| a == app)));
    // a call sends a packet every 20 ms, and packets are numbered within their flow
    let (seq, direction) = (numbers(rows, "seq"), words(rows, "direction"));
    let call: Vec<usize> = (0..fate.len())
        .filter(|i| apps[*i] == "call" && fate[*i] == "dequeued" && direction[*i] == "forward")
        .collect();
    assert!(call.len() > 400 && call.windows(2).all(|w| seq[w[1]] > seq[w[0]]), "{}", call.len());
}

#[test]
fn late_packets_of_a_connection_have_its_application() {
    let (tables, outcome) = traced(&read(STALE));
    let rows = &tables["packets"];
    let (app, link, reason) = (words(rows, "app"), words(rows, "link"), words(rows, "reason"));
    let gone: Vec<usize> = (0..app.len()).filter(|i| reason[*i] == "flow_gone").collect();
    assert_eq!(gone.len() as f64, number(&outcome, "flow_gone_packets"));
    assert!(gone.len() > 10 && gone.iter().all(|i| app[*i] == "x" && link[*i].is_empty()));
    for (app, link) in app.iter().zip(&link).filter(|(_, link)| !link.is_empty()) {
        assert_eq!(app, if link.ends_with('m') { "y" } else { "x" });
    }
}

#[test]
fn the_files_of_a_flow_have_its_number() {
    // two flows, 300 ms apart, with a file every second: odd connections belong to flow 0, even ones to flow 1
    let files = "ftp = { flows = 2, size = \"10kB\", interval = \"1s\", stagger = \"300ms\" }";
    let scenario = read(&format!("trace = {{ flows = true }}\n{}", LINE.replacen("ftp = {}", files, 1)));
    let (tables, _) = traced(&scenario);
    let flows = &tables["flows"];
    let (app, flow, connection) = (words(flows, "app"), numbers(flows, "flow"), numbers(flows, "connection"));
    let own: Vec<usize> = (0..app.len()).filter(|i| app[*i] == "ftp").collect();
    assert!(own.iter().any(|i| connection[*i] == 19.0));
    assert!(own.iter().all(|i| flow[*i] == (connection[*i] - 1.0) % 2.0));
}

#[test]
fn senders_and_queues_are_told_apart() {
    let (tables, _) = traced(&with("trace = { flows = true, queues = [\"down\"], interval = \"50ms\" }"));
    let flows = &tables["flows"];
    let (app, connection) = (words(flows, "app"), numbers(flows, "connection"));
    // the application `ftp` has one connection, and `page` opens many connections
    let mut ends: Vec<(String, u64)> = app.iter().cloned().zip(connection.iter().map(|c| *c as u64)).collect();
    ends.sort();
    ends.dedup();
    assert_eq!(ends.iter().filter(|(app, _)| app == "ftp").count(), 1);
    assert!(ends.iter().filter(|(app, _)| app == "page").count() > 1, "{ends:?}");
    assert!(app.iter().all(|a| a != "call"), "datagrams have no sender state");
    let (cwnd, state) = (numbers(flows, "cwnd_bytes"), words(flows, "state"));
    assert!(cwnd.iter().all(|w| *w >= 1448.0) && state.iter().any(|s| s == "recovery"));
    // the table has rows of a flow queue only while the queue is active, and every row has a `count`
    let queues = &tables["queues"];
    assert!(words(queues, "link").iter().all(|l| l == "down"));
    assert!(!tables.contains_key("links"));
    assert!(numbers(queues, "count").iter().all(|c| *c >= 0.0));
}
