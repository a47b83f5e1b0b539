//! Every mistake a user can make in a file is one clear line: path, value, what is valid, the nearest name.

use scenario::Scenario;
use scenario::read::{self, Format};

const GOOD: &str = r#"
duration = "10s"
[link.up]
from = "home"
to = "server"
rate = "5mbit"
delay = "10ms"
queue.codel = { limit = "417p" }
[link.down]
from = "server"
to = "home"
rate = "20mbit"
delay = "10ms"
[app.upload]
from = "home"
to = ["server"]
tcp = "mine"
traffic.ftp = {}
[tcp.mine]
preset = "linux-6"
ack_every = 1
"#;

/// The lines that a changed text is refused with.
fn refused(old: &str, new: &str) -> Vec<String> {
    assert!(GOOD.contains(old), "the test's own text has no {old:?}");
    let text = GOOD.replacen(old, new, 1);
    match read::scenario(&text, Format::Toml, &[]) {
        Ok(_) => panic!("accepted: {new}"),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

fn set(path: &str, value: &str) -> Result<Scenario, Vec<String>> {
    read::scenario(GOOD, Format::Toml, &[(path.into(), value.into())])
        .map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

#[test]
fn the_good_text_is_good_and_its_canonical_form_is_a_fixed_point() {
    let scenario = read::scenario(GOOD, Format::Toml, &[]).unwrap();
    let canonical = scenario.canonical();
    let again = read::scenario(&canonical, Format::Json, &[]).unwrap();
    assert_eq!(again, scenario);
    assert_eq!(again.canonical(), canonical);
    assert_eq!(scenario.stack("mine").unwrap().ack_every, 1);
}

#[test]
fn an_endless_transfer_cannot_stop() {
    let lines = refused("traffic.ftp = {}", "stop = \"5s\"\ntraffic.ftp = {}");
    assert_eq!(lines, ["app.upload.stop: a transfer without a size never ends, so it cannot stop; give it a size"]);
    assert!(read::scenario(&GOOD.replace("ftp = {}", "ftp.size = \"1MB\"\nstop = \"5s\""), Format::Toml, &[]).is_ok());
}

#[test]
fn unknown_names_come_with_the_nearest_known() {
    let cases = [
        (
            "from = \"home\"\nto = \"server\"\nrate",
            "form = \"home\"\nto = \"server\"\nrate",
            "link.up: unknown key \"form\"; did you mean \"from\"?",
        ),
        ("queue.codel", "queue.codle", "link.up.queue: unknown word \"codle\"; did you mean \"codel\"?"),
        ("limit = \"417p\"", "limt = \"417p\"", "link.up.queue.codel: unknown key \"limt\"; did you mean \"limit\"?"),
        ("tcp = \"mine\"", "tcp = \"mein\"", "app.upload.tcp: unknown TCP stack \"mein\"; did you mean \"mine\"?"),
        (
            "to = [\"server\"]",
            "to = [\"serverr\"]",
            "app.upload.to.0: unknown node \"serverr\"; did you mean \"server\"?",
        ),
        (
            "ack_every = 1",
            "ack_evry = 1",
            "tcp.mine.ack_evry: unknown parameter \"ack_evry\"; did you mean \"ack_every\"?",
        ),
        (
            "preset = \"linux-6\"",
            "preset = \"linux6\"",
            "tcp.mine.preset: unknown preset \"linux6\"; did you mean \"linux-6\"?",
        ),
    ];
    for (old, new, start) in cases {
        let lines = refused(old, new);
        assert!(lines[0].starts_with(start), "{new}\n  got  {}\n  want {start}", lines[0]);
        assert!(!lines[0].contains('\n'));
    }
}

#[test]
fn bad_values_name_path_value_and_what_is_valid() {
    let cases = [
        ("rate = \"5mbit\"", "rate = \"5mbps\"", "link.up.rate", "\"5mbit\" for bits, or \"40mbit\""),
        ("rate = \"5mbit\"", "rate = -5", "link.up.rate", "-5 is negative"),
        ("rate = \"5mbit\"", "rate = \"-5mbit\"", "link.up.rate", "\"-5mbit\""),
        ("rate = \"5mbit\"", "rate = 0", "link.up.rate", "above zero"),
        ("delay = \"10ms\"", "delay = 10", "link.up.delay", "10 has no unit"),
        ("duration = \"10s\"", "duration = \"0s\"", "duration", "above zero"),
        ("duration = \"10s\"", "", "", "\"duration\" is missing"),
        ("limit = \"417p\"", "limit = \"0p\"", "link.up.queue.codel.limit", "0p is not valid"),
        ("limit = \"417p\"", "limit = \"10B\"", "link.up.queue.codel.limit", "at least 28B, the smallest IP packet"),
        ("limit = \"417p\"", "limit = \"10us\"", "link.up.queue.codel.limit", "10us (6B at 5mbit) is not valid"),
        ("traffic.ftp = {}", "traffic.ftp = { flows = 0 }", "app.upload.traffic.ftp.flows", "expected 1 to"),
        ("to = \"server\"\nrate = \"5mbit\"", "to = \"home\"\nrate = \"5mbit\"", "link.up.to", "to itself"),
    ];
    for (old, new, path, part) in cases {
        let lines = refused(old, new);
        assert!(lines[0].starts_with(path) && lines[0].contains(part), "{new}: {}", lines[0]);
    }
}

#[test]
fn a_network_without_a_way_back_is_refused() {
    let text =
        GOOD.replace("[link.down]\nfrom = \"server\"\nto = \"home\"", "[link.down]\nfrom = \"server\"\nto = \"moon\"");
    let problems = read::scenario(&text, Format::Toml, &[]).unwrap_err();
    let line = problems[0].to_string();
    assert!(line.starts_with("app.upload: there is no route from \"server\" to \"home\""), "{line}");
}

#[test]
fn a_truncated_file_is_named_with_its_line() {
    let cut = &GOOD[..GOOD.find("codel = {").unwrap() + 9];
    let line = read::scenario(cut, Format::Toml, &[]).unwrap_err()[0].to_string();
    assert!(line.starts_with("line 8: not valid TOML"), "{line}");
    let line = read::scenario("{\"duration\": ", Format::Json, &[]).unwrap_err()[0].to_string();
    assert!(line.starts_with("line 1: not valid JSON"), "{line}");
}

#[test]
fn schedules_go_forward() {
    let change = |list: &str| set("link.up.changes", list);
    assert!(change("[{ at = \"1s\", rate = \"1mbit\" }, { at = \"2s\", rate = \"2mbit\" }]").is_ok());
    let lines = change("[{ at = \"2s\", rate = \"1mbit\" }, { at = \"1s\", rate = \"2mbit\" }]").unwrap_err();
    assert!(
        lines[0].starts_with("link.up.changes.1.at: 1s lies in the past of the change before it (2s)"),
        "{}",
        lines[0]
    );
    let lines = change("[{ at = \"11s\", rate = \"1mbit\" }]").unwrap_err();
    assert!(lines[0].contains("after the end of the run"), "{}", lines[0]);
}

#[test]
fn the_modem_refuses_a_zero_map_interval() {
    let lines =
        set("link.up.docsis", "{ flow = { max_sustained_rate = \"5mbit\" }, map_interval = \"0s\" }").unwrap_err();
    assert!(lines[0].starts_with("link.up.docsis.map_interval"), "{}", lines[0]);
}

#[test]
fn overrides_reach_every_corner() {
    let s = set("link.up.queue", "{ droptail = { limit = \"21p\" } }").unwrap();
    assert_eq!(s.link["up"].queue.name(), "droptail");
    assert_eq!(set("app.upload.to.0", "server").unwrap().app["upload"].to, ["server"]);
    assert_eq!(set("seed", "7").unwrap().seed, 7);
    assert_eq!(set("name", "no-quotes-needed").unwrap().name, "no-quotes-needed");
    assert!(set("", "1").is_err() && set("a..b", "1").is_err() && set("seed.x", "1").is_err());
    assert!(set("app.upload.to.9", "x").unwrap_err()[0].contains("not an index below 1"));
}

#[test]
fn all_problems_are_told_at_once() {
    let text = GOOD.replace("rate = \"5mbit\"", "rate = 0").replace("limit = \"417p\"", "limit = \"0p\"");
    assert_eq!(read::scenario(&text, Format::Toml, &[]).unwrap_err().len(), 2);
}

#[test]
fn the_schema_names_every_table() {
    let schema: serde_json::Value = serde_json::from_str(&Scenario::json_schema()).unwrap();
    for key in ["name", "seed", "duration", "link", "app", "tcp", "route", "record"] {
        assert!(schema["properties"].get(key).is_some(), "{key}");
    }
    assert!(schema["$defs"].get("Qdisc").is_some());
}
