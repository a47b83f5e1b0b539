//! Tests that every mistake in a file is reported in one clear line: the path, the value, the valid values and the
//! nearest name.

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

/// Returns the error lines for `GOOD` with `old` replaced by `new`.
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
    assert_eq!(scenario.stack("mine").unwrap().receiver.ack_every, 1);
}

#[test]
fn scales_of_grades() {
    let refused = |scale: &str| set("grade.scale", scale).unwrap_err();
    assert_eq!(
        refused("wavform"),
        [
            "grade.scale: unknown scale \"wavform\"; did you mean \"waveform\"? (known: p99, dslreports, waveform, vrecipes, rpm)"
        ]
    );
    assert_eq!(
        refused("[]"),
        ["grade.scale: an empty list is not valid; expected 1 to 26 grades, or the name of a scale"]
    );
    assert_eq!(
        refused("[{ grade = 'a', below = '30ms' }, { grade = 'b', below = '30ms' }, { grade = 'c' }]"),
        ["grade.scale.1.below: 30ms is not valid; expected more than 30ms, the limit of the previous grade"]
    );
    assert_eq!(
        refused("[{ grade = 'a', below = '0s' }, { grade = 'c' }]"),
        ["grade.scale.0.below: 0s is not valid; expected more than 0s"]
    );
    assert_eq!(
        refused("[{ grade = 'a', below = '1ms' }, { grade = 'b' }, { grade = 'a' }]"),
        [
            "grade.scale.1.below: is missing; only the last grade has no limit",
            "grade.scale.2.grade: \"a\" is listed twice"
        ]
    );
    assert_eq!(
        refused("[{ grade = 'a', below = '1ms' }]"),
        ["grade.scale.0.below: 1ms is not valid; the last grade has no limit, because it covers the rest"]
    );
    assert_eq!(refused("[{ grade = '' }]"), ["grade.scale.0.grade: \"\" is not valid; expected 1 to 24 characters"]);
    assert_eq!(
        refused("[{ grade = 'a', belov = '1ms' }]"),
        ["grade.scale.0: unknown key \"belov\"; did you mean \"below\"? (valid: grade, below)"]
    );
    assert!(
        refused("5")[0].starts_with("grade.scale: 5 is not valid; expected the name of a scale, or a list of grades")
    );
    for good in ["waveform", "[{ grade = 'a', below = '1ms' }, { grade = 'b' }]"] {
        let scenario = set("grade.scale", good).unwrap();
        assert_eq!(read::scenario(&scenario.canonical(), Format::Json, &[]).unwrap(), scenario);
    }
}

#[test]
fn an_endless_transfer_cannot_stop() {
    let lines = refused("traffic.ftp = {}", "stop = \"5s\"\ntraffic.ftp = {}");
    assert_eq!(
        lines,
        ["app.upload.stop: a transfer without a size does not stop; give it a size, or `length` instead of `stop`"]
    );
    assert!(read::scenario(&GOOD.replace("ftp = {}", "ftp.size = \"1MB\"\nstop = \"5s\""), Format::Toml, &[]).is_ok());
}

#[test]
fn only_datagrams_of_some_traffic_have_an_ecn_field() {
    let rest = "expected voip, ping, game, cbr, proshare or media (for TCP, set `ecn` of the stack)";
    for (name, traffic) in [("ftp", "{}"), ("burst", "{ transport = \"udp\" }")] {
        let lines = refused("traffic.ftp = {}", &format!("datagram_ecn = \"ect1\"\ntraffic.{name} = {traffic}"));
        assert_eq!(lines, [format!("app.upload.datagram_ecn: {name} does not have it; {rest}")]);
    }
}

#[test]
fn two_stacks_that_cannot_run_together_are_named() {
    let refused = |client: &str, changes: &[(&str, &str)]| {
        let ends = [("app.upload.tcp", client), ("app.upload.tcp_server", "mine")];
        let set: Vec<_> = ends.iter().chain(changes).map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        read::scenario(GOOD, Format::Toml, &set).map_err(|p| p[0].to_string())
    };
    let newreno = [
        ("tcp.mine.recovery", "newreno"),
        ("tcp.mine.loss_detection", "dupthresh"),
        ("tcp.mine.undo", "none"),
        ("tcp.mine.frto", "false"),
    ];
    let without_stamps = [("tcp.mine.timestamps", "false")];
    let start = "app.upload.tcp_server: ";
    assert_eq!(
        refused("bbr", &newreno).unwrap_err(),
        format!(
            "{start}\"bbr\" cannot run with \"mine\" at the other end, because they differ in `recovery`: bbr estimates \
             the path from SACK; expected recovery = \"sack\""
        )
    );
    assert_eq!(
        refused("ledbat", &without_stamps).unwrap_err(),
        format!(
            "{start}\"ledbat\" cannot run with \"mine\" at the other end, because they differ in `timestamps`: false is not \
             valid with ledbat: it measures delay with timestamps"
        )
    );
    assert!(refused("linux-6", &newreno).is_ok() && refused("bbr", &without_stamps).is_ok());
}

#[test]
fn unknown_names_come_with_the_nearest_known() {
    let cases = [
        (
            "from = \"home\"\nto = \"server\"\nrate",
            "form = \"home\"\nto = \"server\"\nrate",
            "link.up: unknown key \"form\"; did you mean \"from\"?",
        ),
        ("queue.codel", "queue.codle", "link.up.queue: unknown keyword \"codle\"; did you mean \"codel\"?"),
        ("limit = \"417p\"", "limt = \"417p\"", "link.up.queue.codel: unknown key \"limt\"; did you mean \"limit\"?"),
        ("tcp = \"mine\"", "tcp = \"mein\"", "app.upload.tcp: unknown TCP stack \"mein\"; did you mean \"mine\"?"),
        (
            "tcp = \"mine\"",
            "tcp = \"westwood\"",
            "app.upload.tcp: \"westwood\" is a congestion control, not a TCP stack; choose it in a stack of your own: \
             tcp.NAME = { preset = \"linux-6\", congestion_control = \"westwood\" }",
        ),
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
        (
            "preset = \"linux-6\"",
            "preset = \"fixed\"",
            "tcp.mine.preset: \"fixed\" is a congestion control, not a preset; choose it in a stack of your own: ",
        ),
    ];
    for (old, new, start) in cases {
        let lines = refused(old, new);
        assert!(lines[0].starts_with(start), "{new}\n  got  {}\n  want {start}", lines[0]);
        assert!(!lines[0].contains('\n'));
    }
}

#[test]
fn stacks_that_cannot_communicate_are_refused() {
    let linux = "preset = \"linux-6\"";
    for (client, server, said) in [
        (linux, "ns2-reno", "`handshake`: no connection opens if it is false at only one end"),
        ("preset = \"ns2-reno\"", "linux-6", "`handshake`: no connection opens if it is false at only one end"),
        ("preset = \"ns2-reno\"\necn = true", "ns2-reno", "`ecn`: without a handshake, ECN is not negotiated"),
        ("preset = \"ledbat\"", "ns2-fulltcp-sack", ""),
        ("preset = \"ns2-reno\"", "ns2-cubic-2.6.22", ""),
        ("preset = \"linux-6\"\necn = true", "linux-6", ""),
    ] {
        let text = GOOD.replace(linux, client);
        let found = read::scenario(&text, Format::Toml, &[("app.upload.tcp_server".into(), server.into())]);
        let lines: Vec<_> = found.err().iter().flatten().map(ToString::to_string).collect();
        match said {
            "" => assert!(lines.is_empty(), "{client}: {lines:?}"),
            said => assert!(
                lines.len() == 1 && lines[0].starts_with("app.upload.tcp_server: ") && lines[0].contains(said),
                "{lines:?}"
            ),
        }
    }
}

#[test]
fn names_of_another_place_lead_there() {
    let codel = "queue.codel = { limit = \"417p\" }";
    for (old, new, start) in [
        (codel, "queue = 'fifo'", "link.up.queue: unknown keyword \"fifo\"; did you mean \"pfifo\" or \"bfifo\"?"),
        (
            codel,
            "queue.fifo = {}",
            "link.up.queue: unknown keyword \"fifo\"; did you mean queue = \"pfifo\" or queue = \"bfifo\"?",
        ),
        (
            codel,
            "docsis = { max_sustained_rate = '5mbit' }",
            "link.up.docsis: unknown key \"max_sustained_rate\"; did you mean docsis.flow.max_sustained_rate?",
        ),
        (
            "ack_every = 1",
            "accecn = true",
            "tcp.mine.accecn: unknown parameter \"accecn\"; did you mean `ecn_feedback = \"accecn\"`?",
        ),
        (
            "traffic.ftp = {}",
            "traffic.ftpp = {}",
            "app.upload.traffic: unknown keyword \"ftpp\"; did you mean \"ftp\"?",
        ),
        (
            "[link.down]\nfrom = \"server\"\nto = \"home\"",
            "[link.down]\nfrom = \"server\"\nto = \"office\"",
            "app.upload: there is no route from \"server\" to \"home\" (stuck at \"server\"); add a link that leads there, or \
             `both_ways = true` to one that leads back: every application needs a path in both directions",
        ),
    ] {
        let lines = refused(old, new);
        assert!(lines[0].starts_with(start), "{new}\n  got  {}\n  want {start}", lines[0]);
    }
    for (path, start) in [
        (
            "link.dwn.rate",
            "link.dwn: unknown link \"dwn\"; did you mean \"down\"? (known: down, up), or give it all its keys",
        ),
        ("app.call.dscp", "app.call: unknown application \"call\" (known: upload), or give it all its keys"),
        ("app.upload.traffic.ftpp.flows", "app.upload.traffic: unknown keyword \"ftpp\"; did you mean \"ftp\"?"),
    ] {
        let lines = set(path, "5").unwrap_err();
        assert!(lines[0].starts_with(start), "{path}\n  got  {}\n  want {start}", lines[0]);
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
        ("duration = \"10s\"", "duration = \"4320001s\"", "duration", "at most 4320000s (50 days)"),
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
fn what_is_accepted_is_accepted_again() {
    // these numbers are near limits: sizes of 9 PB - 1, 2^53 - 1 and 2^53 + 1 bytes, delays of 2^52 + 1 and 2^53 + 1
    // ns, and rates of 1 Pbit/s - 1 bit/s, 1 Pbit/s + 1 bit/s and 2^63 - 1 bit/s
    for (path, value, good) in [
        ("app.upload.traffic.ftp.size", "8999999999999999", true),
        ("app.upload.traffic.ftp.size", "9007199254740991", false),
        ("app.upload.traffic.ftp.size", "9007199254740993", false),
        ("app.upload.traffic.ftp.size", "\"9007199254740993B\"", false),
        ("link.up.delay", "\"4503599627370497ns\"", true),
        ("link.up.delay", "\"9007199254740993ns\"", true),
        ("link.up.rate", "999999999999999", true),
        ("link.up.rate", "1000000000000001", false),
        ("link.up.rate", "9223372036854775807", false),
        ("link.up.rate", "1e300", false),
        ("link.up.loss", "0.1000000000000000055", true),
        ("link.up.loss", "-0.0", true),
    ] {
        match set(path, value) {
            Ok(scenario) => {
                assert!(good, "{path} = {value} was accepted");
                let canonical = scenario.canonical();
                let again = read::scenario(&canonical, Format::Json, &[]).unwrap_or_else(|p| panic!("{path}: {p:?}"));
                assert_eq!((again.canonical(), again), (canonical, scenario), "{path} = {value}");
            }
            Err(lines) => assert!(!good && lines[0].starts_with(path), "{path} = {value}: {lines:?}"),
        }
    }
}

#[test]
fn lines_are_in_the_users_words() {
    let cases = [
        ("link.up", "[]", "link.up: a list is not valid; expected a table"),
        ("link.up", "7", "link.up: 7 is not valid; expected a table"),
        ("app", "\"none\"", "app: \"none\" is not valid; expected a table"),
        ("app.upload.to", "{}", "app.upload.to: a table is not valid; expected a list"),
        ("app.upload.to", "\"net\"", "app.upload.to: \"net\" is not valid; expected a list, such as [\"net\"]"),
        ("app.upload.dscp", "256", "app.upload.dscp: 256 is not valid; expected a whole number from 0 to 255"),
        (
            "app.upload.traffic",
            "{ ftp = {}, ping = {} }",
            "app.upload.traffic: \"ping\" is one key too many; expected one of \"ftp\", \"game\"",
        ),
        (
            "app.upload.traffic.ftp.new_connection",
            "1",
            "app.upload.traffic.ftp.new_connection: 1 is not valid; expected true or false",
        ),
        (
            "link.up.queue",
            "{ codel = {}, pie = {} }",
            "link.up.queue: \"pie\" is one key too many; expected a discipline: a table of one key",
        ),
        ("link.up.loss", "nan", "link.up.loss: NaN is not valid; expected a finite number or a string"),
        ("duration", "1979-05-27", "duration: 1979-05-27 is not valid; expected a finite number or a string"),
        ("seed", "-1", "seed: -1 is not valid; expected a whole number from 0 to 9223372036854775807"),
    ];
    for (path, value, line) in cases {
        let lines = set(path, value).unwrap_err();
        assert!(lines[0].starts_with(line), "{path} = {value}\n  got  {}\n  want {line}", lines[0]);
    }
}

#[test]
fn what_was_written_is_clipped_and_escaped() {
    let long = "x".repeat(100_000);
    let strange = "\u{1b}[2J\u{202e}\r";
    for bad in [long.as_str(), strange] {
        let quoted = serde_json::to_string(bad).unwrap();
        let texts = [
            format!("{{\"duration\": {quoted}, \"link\": {{}}}}"),
            format!("{{\"duration\": \"1s\", {quoted}: 1}}"),
            format!("{{\"duration\": \"1s\", \"link\": {{{quoted}: 1}}}}"),
            format!("{{\"duration\": \"1s\", \"link\": {{\"a\": {{\"from\": {quoted}, \"to\": {quoted}}}}}}}"),
            format!(
                "{{\"duration\": \"1s\", \"link\": {{\"a\": {{\"from\": \"x\", \"to\": \"y\", \"queue\": {quoted}}}}}}}"
            ),
            format!(
                "{{\"duration\": \"1s\", \"link\": {{\"a\": {{\"from\": \"x\", \"to\": \"y\", \"loss\": {quoted}}}}}}}"
            ),
        ];
        for text in texts {
            for problem in read::scenario(&text, Format::Json, &[]).unwrap_err() {
                let line = problem.to_string();
                assert!(
                    line.chars().count() < 700 && !line.contains(|c: char| c.is_control() || c == '\u{202e}'),
                    "{line:?}"
                );
            }
        }
        let lines = set(bad, "1").unwrap_err();
        assert!(lines[0].chars().count() < 700 && !lines[0].contains(char::is_control), "{lines:?}");
    }
}

#[test]
fn names_are_short_and_printable() {
    let with = |name: &str, node: &str, link: &str, app: &str| {
        let [name, node, link, app] = [name, node, link, app].map(|n| serde_json::to_string(n).unwrap());
        let text = format!(
            "name = {name}\nduration = '1s'\n[link.{link}]\nfrom = {node}\nto = 'b'\nboth_ways = true\nrate = '1mbit'\n\
             [app.{app}]\nfrom = {node}\nto = ['b']\ntraffic = 'ftp'\n"
        );
        let read = read::scenario(&text, Format::Toml, &[]);
        read.map(drop).map_err(|p| p.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    assert_eq!(with("mein Heim", "Käse", "_x", "=x"), Ok(()));
    let escape = "x\u{1b}]52;c;aGk=\u{7}";
    for (lines, start) in [
        (with(escape, "a", "l", "f"), "name: the scenario's name has the control character U+001B; expected printable"),
        (with("n", escape, "l", "f"), "link.l.from: the node's name has the control character U+001B"),
        (with("n", "a", escape, "f"), "link.x\\u001b]52;c;aGk=\\u0007: the link's name has the control character"),
        (with("n", "a", "~l", "f"), "link.~l: the link's name begins with ~, which stands for the reverse direction"),
        (with("n", "a", "l", "\u{202e}"), "app.\\u202e: the application's name has the control character U+202E"),
        (with("n", "a", &"x".repeat(129), "f"), "link.xxx"),
    ] {
        let lines = lines.unwrap_err();
        assert!(lines[0].starts_with(start), "{}", lines[0]);
    }
    assert_eq!(with("n", "a", &"x".repeat(128), "f"), Ok(()));
    let long = with("n", "a", "l", &"ü".repeat(1_000_000)).unwrap_err();
    assert!(long[0].ends_with("the application's name has 1000000 characters; expected at most 128"), "{long:?}");
}

#[test]
fn lateness_that_falls_is_refused_before_the_build() {
    let value = "{ p50 = '2us', p90 = '1us', p95 = '3us', p99 = '4us', p99_9 = '5us' }";
    let lines = set("link.up.lateness", value).unwrap_err();
    assert_eq!(lines, ["link.up.lateness.p90: 1us is not valid; expected at least 2us, the percentile before it"]);
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
    let line = |json: &str| read::scenario(json, Format::Json, &[]).unwrap_err()[0].to_string();
    assert!(line("{\"duration\": ").starts_with("line 1: not valid JSON"));
}

#[test]
fn schedules_go_forward() {
    let change = |list: &str| set("link.up.changes", list);
    assert!(change("[{ at = \"1s\", rate = \"1mbit\" }, { at = \"2s\", rate = \"2mbit\" }]").is_ok());
    let lines = change("[{ at = \"2s\", rate = \"1mbit\" }, { at = \"1s\", rate = \"2mbit\" }]").unwrap_err();
    assert!(
        lines[0].starts_with("link.up.changes.1.at: 1s is earlier than the previous change, at 2s"),
        "{}",
        lines[0]
    );
    let lines = change("[{ at = \"11s\", rate = \"1mbit\" }]").unwrap_err();
    assert!(lines[0].contains("later than the end of the run"), "{}", lines[0]);
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
    for large in ["9223372036854775808", "18446744073709551615", "100000000000000000000"] {
        let lines = set("seed", large).unwrap_err();
        assert_eq!(lines, [format!("seed: {large} is an integer beyond 9223372036854775807")]);
    }
    assert_eq!(set("name", "no-quotes-needed").unwrap().name, "no-quotes-needed");
    assert!(set("", "1").is_err() && set("a..b", "1").is_err() && set("seed.x", "1").is_err());
    assert!(set("app.upload.to.9", "x").unwrap_err()[0].contains("not an index below 1"));
}

#[test]
fn all_problems_are_reported_at_once() {
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

/// Reads a scenario with two nodes, a link without rate and delay, and this traffic.
fn timeless(traffic: &str) -> Result<Scenario, Vec<String>> {
    let text = format!(
        "duration = '10s'\nlink.l = {{ from = 'a', to = 'b', both_ways = true }}\n\
         app.x = {{ from = 'a', to = ['b', 'b', 'b', 'b'], traffic.{traffic} }}\n"
    );
    read::scenario(&text, Format::Toml, &[]).map_err(|p| p.iter().map(ToString::to_string).collect())
}

#[test]
fn what_never_ends_is_refused() {
    for endless in [
        "ftp = {}",
        "ftp = { size = '1KB' }",
        "ftp = { size = '1KB', new_connection = false, direction = 'down' }",
        "web = { think = '0s' }",
        "bittorrent = {}",
    ] {
        let lines = timeless(endless).unwrap_err();
        assert!(lines[0].starts_with("app.x.traffic: never ends: no link") && lines[0].contains("`rate` or a `delay`"));
    }
    for ends in [
        "ftp = { size = '1KB', count = 3 }",
        "ftp = { size = '1KB', pause = '1ms' }",
        "ftp = { size = '1KB', interval = '1ms' }",
        "web = {}",
        "web = { think = '0s', pages = 2 }",
        "video = {}",
        "short = {}",
        "game = {}",
        "messages = {}",
        "ping = {}",
        "burst = {}",
    ] {
        timeless(ends).unwrap_or_else(|lines| panic!("{ends}: {lines:?}"));
    }
}

#[test]
fn a_window_that_arrives_at_one_moment_is_bounded() {
    let run = |rate: &str, flows: u32, more: &str| {
        let text = format!(
            "duration = '500ms'\n[link.a]\nfrom = 'x'\nto = 'y'\nboth_ways = true\ndelay = '10us'\n{rate}\n\
             [app.f]\nfrom = 'x'\nto = ['y']\ntraffic.ftp = {{ flows = {flows}{more} }}\n"
        );
        read::scenario(&text, Format::Toml, &[]).map_err(|p| p.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    // 64 windows of 6 291 456 B, sent in segments of 1448 B, are about 278 075 packets, which is more than may arrive
    // at one moment
    for rate in ["", "rate = '1000tbit'"] {
        let lines = run(rate, 64, "").unwrap_err();
        assert!(lines[0].starts_with("app.f.traffic: up to 278"), "{lines:?}");
        assert!(lines[0].contains("expected at most 100000: no link on the path has a `rate`"), "{lines:?}");
    }
    run("rate = '1gbit'", 64, "").unwrap();
    run("", 64, ", size = '1MB', count = 1").unwrap();
    run("", 20, "").unwrap();
}

#[test]
fn a_run_is_bounded_before_it_starts() {
    let lines = timeless("cbr = { rate = '1tbit', size = 28 }").unwrap_err();
    // a datagram of 28 bytes takes 0.2 ns, less than the resolution of time
    assert!(lines[0].starts_with("app.x.traffic.cbr.rate"), "{lines:?}");
    let lines = timeless("ping = { interval = '1ns', size = 28 }").map(|_| ());
    assert_eq!(lines, Ok(()), "10^10 requests and their answers take some minutes");
    let text = GOOD.replace("\"10s\"", "\"1200h\"").replace("\"5mbit\"", "\"500mbit\"");
    let lines = read::scenario(&text, Format::Toml, &[]).map(|_| ()).unwrap_err();
    // 500 Mbit/s for 50 days is 1.865 x 10^11 segments of 1448 bytes. The estimate doubles the segments for losses, and
    // adds an ACK for each: 7.46 x 10^11 packets, shown as 7 x 10^11
    assert!(lines[0].to_string().contains("may take about 7 x 10^11 packets until 4320000s"), "{}", lines[0]);
    assert_eq!(lines[0].path, "app.upload.traffic");
    let more = format!("max_packets = 1_000_000_000_000\n{text}");
    assert!(read::scenario(&more, Format::Toml, &[]).is_ok());
    // no link has a rate, so TCP may send a window of 2 GiB in each round trip of 2 ns
    let text = "duration = '10s'\nlink.l = { from = 'a', to = 'b', both_ways = true, delay = '1ns' }\n\
                tcp.big = { preset = 'rfc', receive_window = '2GiB' }\n\
                app.x = { from = 'a', to = ['b'], tcp = 'big', traffic.ftp = {} }\n";
    assert!(read::scenario(text, Format::Toml, &[]).unwrap_err()[0].message.starts_with("may take about"));
}

#[test]
fn a_run_is_bounded_by_what_a_link_carries_after_a_late_start() {
    // the trace carries all of its 10 000 x 1504 bytes at 10 s, which is the end of the run. The transfer starts at 9.9
    // s, but may still get all of these bytes. The bound is 4 x (2 x 10 000 x 1504 / 1448) + 8 packets: the segments of
    // two rounds of the trace (the transfer may overlap two of them), four times to allow for losses and ACKs, and 8
    // packets for the handshake, the request and the close
    let text = "duration = '10s'\nmax_packets = 30_000\n[link.l]\nfrom = 'a'\nto = 'b'\n\
                delivery.trace.source = '+10000x10000'\n[link.back]\nfrom = 'b'\nto = 'a'\n\
                [app.x]\nfrom = 'a'\nto = ['b']\nstart = '9.9s'\ntraffic.ftp = {}\n";
    let problems = read::scenario(text, Format::Toml, &[]).map(|_| ()).unwrap_err();
    assert!(problems[0].message.starts_with("may take 83102 packets"), "{problems:?}");
}

#[test]
fn memory_is_bounded_before_it_is_allocated() {
    let lines = set("record.interval", "\"100us\"").map(|_| ());
    assert_eq!(lines, Ok(()));
    let flows = [("app.upload.traffic.ftp.flows", "1048576"), ("record.interval", "\"1s\"")];
    let flows = flows.map(|(path, value)| (path.to_owned(), value.to_owned()));
    let problems = read::scenario(GOOD, Format::Toml, &flows).unwrap_err();
    assert!(
        problems[0].path == "app.upload" && problems[0].message.contains("expected at most 1.0 GB"),
        "{problems:?}"
    );
    let rows = [("app.upload.traffic.ftp.flows", "32"), ("record.interval", "\"10us\"")];
    let rows = rows.map(|(path, value)| (path.to_owned(), value.to_owned()));
    let problems = read::scenario(GOOD, Format::Toml, &rows).unwrap_err();
    assert!(problems[0].message.contains("`record.interval`"), "{problems:?}");
}

#[test]
fn expectations_are_comparisons_under_quoted_paths() {
    let with = |expect: &str| {
        let text = format!("duration = '1s'\n[link.a]\nfrom = 'x'\nto = 'y'\n[expect]\n{expect}\n");
        scenario::read::scenario(&text, scenario::read::Format::Toml, &[])
    };
    let good = with("\"links.a.sojourn_ms.p99\" = '<50'").unwrap();
    assert!(good.canonical().ends_with(r#""expect":{"links.a.sojourn_ms.p99":"< 50"}}"#), "{}", good.canonical());
    let none = with("").unwrap().canonical();
    assert!(!none.contains("expect"), "a scenario without expectations keeps its text and its hash: {none}");
    for (expect, part) in [
        ("\"a.b\" = '=> 4'", "expect.a.b: \"=> 4\" is not valid; expected a comparison"),
        ("\"a.b\" = 4", "expect.a.b: 4 is not valid; expected a comparison"),
        ("a.b = '>= 4'", "a path stands in quotes"),
    ] {
        let problems = with(expect).unwrap_err();
        assert!(problems[0].to_string().contains(part), "{}", problems[0]);
    }
}

#[test]
fn a_trace_names_what_there_is() {
    let with = |trace: &str| read::scenario(&format!("{trace}\n{GOOD}"), Format::Toml, &[]);
    let line = |trace: &str| with(&format!("trace = {{ {trace} }}")).unwrap_err()[0].to_string();
    let kept = with("trace = { links = true, flows = [\"upload\"] }").unwrap().canonical();
    let text = r#""trace":{"links":true,"queues":false,"flows":["upload"],"packets":false,"interval":"10ms"}"#;
    assert!(kept.contains(text), "{kept}");
    assert!(!with("").unwrap().canonical().contains("trace"), "a scenario without a trace keeps its text and its hash");
    assert_eq!(with("trace.interval = \"change\"").unwrap().trace.unwrap().interval, scenario::Interval::Change);
    for (trace, part) in [
        ("links = [\"upp\"]", "trace.links: unknown link \"upp\"; did you mean \"up\"?"),
        ("flows = [\"uplod\"]", "trace.flows: unknown application \"uplod\"; did you mean \"upload\"?"),
        ("links = 3", "trace.links: 3 is not valid; expected true, false or a list of names"),
        ("link = true", "trace: unknown key \"link\"; did you mean \"links\"?"),
        ("interval = \"10\"", "trace.interval: \"10\" is not valid; expected a duration (\"10ms\") or \"change\""),
        ("interval = 10", "trace.interval: 10 is not valid; expected a duration (\"10ms\") or \"change\""),
        ("interval = \"1ns\"", "trace.interval: 1ns gives more than 1000000 readings; expected at least "),
        ("interval = \"0s\"", "trace.interval: 0s gives more than 1000000 readings; expected at least "),
    ] {
        assert!(line(trace).starts_with(part), "{trace}: {}", line(trace));
    }
}

#[test]
fn a_key_that_a_table_of_a_link_lacks_is_named() {
    for (table, error) in [
        ("docsis = {}", "link.up.docsis: the key \"flow\" is missing"),
        ("docsis31 = { flow = {} }", "link.up.docsis31.flow: the key \"max_sustained_rate\" is missing"),
    ] {
        assert_eq!(refused("rate = \"5mbit\"", table), [error]);
    }
}

#[test]
fn a_route_is_listed_once() {
    let route = "[[route]]\nat = \"home\"\nto = \"server\"\nvia = \"up\"\n";
    let lines = refused("[link.down]", &format!("{route}{route}[link.down]"));
    assert_eq!(lines, ["route.1: the route from \"home\" to \"server\" is listed twice"]);
}

#[test]
fn a_keyword_that_needs_a_table_says_so() {
    let class = |test: &str| {
        refused("codel = { limit = \"417p\" }", &format!("cbt.classes = [{{ name = \"a\", test = {test} }}]"))
    };
    let at = "link.up.queue.cbt.classes.0.test";
    assert_eq!(class("\"red\""), [format!("{at}.red: a keyword alone is not valid; expected a table")]);
    assert_eq!(class("\"share\""), [format!("{at}.share: a keyword alone is not valid; expected a table")]);
}

/// At 100 kbit/s, 2 ms are 25 bytes, less than the smallest IP packet.
#[test]
fn a_limit_in_time_is_checked_at_the_shapers_rate_on_a_link_without_a_rate() {
    let lines = refused(
        "rate = \"5mbit\"\ndelay = \"10ms\"\nqueue.codel = { limit = \"417p\" }",
        "queue.cake = { bandwidth = \"100kbit\", limit = \"2ms\" }",
    );
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("link.up.queue.cake.limit: 2ms (25B at 100kbit) is not valid"), "{lines:?}");
}
