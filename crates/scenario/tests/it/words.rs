//! Tests the short form of a table ("keyword or table" in docs/scenario.md). A word such as `'fq_codel'` stands for the
//! table `{ fq_codel = {} }`, in which every parameter has its default. A queue's text may also set parameters, as with
//! tc. The message about an invalid word says what is valid.

use scenario::read::{self, Format};

fn scenario(traffic: &str, queue: &str) -> Result<String, String> {
    let text = format!(
        "duration = '10s'\nlink.a = {{ from = 'x', to = 'y', both_ways = true, rate = '1mbit', queue = {queue} }}\n\
         app.b = {{ from = 'x', to = ['y', 'y', 'y', 'y'], stop = '5s', traffic = {traffic} }}"
    );
    let read = read::scenario(&text, Format::Toml, &[]);
    read.map(|s| s.canonical()).map_err(|p| p.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_word_stands_for_the_table_of_its_defaults() {
    for (traffic, queue, long_traffic, long_queue) in [
        ("'voip'", "'fq_codel'", "{ voip = {} }", "{ fq_codel = {} }"),
        ("'ping'", "'sfq + pie'", "{ ping = {} }", "{ sfq = { law = { pie = {} } } }"),
        ("'voip'", "'fq_codel limit 1000p ecn'", "{ voip = {} }", "{ fq_codel = { limit = '1000p', ecn = true } }"),
        ("{ web = { page = 'lognormal' } }", "'red'", "{ web = { page = { lognormal = {} } } }", "{ red = {} }"),
        (
            "{ short = { size = 'pareto' } }",
            "{ fair = { classifier = 'hash', scheduler = 'drr', overflow = 'longest' } }",
            "{ short = { size = { pareto = {} } } }",
            "{ fair = { classifier = { hash = {} }, scheduler = { drr = {} }, overflow = { longest = {} } } }",
        ),
    ] {
        let short = scenario(traffic, queue).unwrap();
        assert_eq!(short, scenario(long_traffic, long_queue).unwrap());
        let again = read::scenario(&short, Format::Json, &[]).unwrap();
        assert_eq!(again.canonical(), short, "the canonical text is a fixed point");
    }
}

#[test]
fn what_is_wrong_is_named_with_what_is_valid() {
    for (traffic, queue, parts) in [
        ("'cbr'", "'red'", ["app.b.traffic", "\"cbr\" needs parameters; expected a table, { cbr = .. }"]),
        ("'pin'", "'red'", ["app.b.traffic", "did you mean \"ping\"?"]),
        ("7", "'red'", ["app.b.traffic", "expected one of \"ftp\""]),
        ("'ping'", "'fq_codel limmit 5'", ["link.a.queue: unknown keyword \"limmit\"", "did you mean \"limit\"?"]),
        ("'ping'", "'fq_codle limit 5'", ["link.a.queue", "did you mean \"fq_codel\"?"]),
        ("'ping'", "'cake bandwidth 20mbit'", ["queue.cake.bandwidth: 20mbit is not valid", "at most the link's rate"]),
        ("'ping'", "'codel variant linus'", ["link.a.queue: unknown keyword \"linus\"", "did you mean \"linux\"?"]),
        ("'ping'", "{ fair = { scheduler = 'drrr' } }", ["fair.scheduler", "did you mean \"drr\"?"]),
        ("'ping'", "{ fair = { classifier = 'hsh' } }", ["fair.classifier", "did you mean \"hash\"?"]),
        ("'ping'", "{ sfq = { overflow = 'longst' } }", ["sfq.overflow", "did you mean \"longest\"?"]),
        ("'ping'", "{ fair = { classifier = { hash = { quees = 1 } } } }", ["classifier.hash", "mean \"queues\"?"]),
    ] {
        let refusal = scenario(traffic, queue).unwrap_err();
        for part in parts {
            assert!(refusal.contains(part), "{traffic} {queue}: {refusal}");
        }
    }
}

#[test]
fn queues_in_words_are_shown_as_tables() {
    for (text, table) in [
        ("codel", r#"{"codel":{}}"#),
        ("codel limit 100 target 7ms", r#"{"codel":{"limit":"100p","target":"7ms"}}"#),
        ("pfifo limit 20", r#"{"droptail":{"limit":"20p"}}"#),
        ("sfq_hss + pie target 7ms", r#"{"sfq_hss":{"law":{"pie":{"target":"7ms"}}}}"#),
        ("sfq + none", r#"{"sfq":{"law":"none"}}"#),
        // an invalid string stays unchanged here; the error is reported when the scenario is read
        ("codel + pie", r#""codel + pie""#),
        ("kodel limit 5", r#""kodel limit 5""#),
    ] {
        let mut tree = serde_json::json!({ "link": { "a": { "queue": text }, "b": {} }, "name": "x" });
        read::queues_as_tables(&mut tree);
        assert_eq!(tree["link"]["a"]["queue"].to_string(), table, "{text}");
    }
    read::queues_as_tables(&mut serde_json::json!({ "link": 5 }));
}
