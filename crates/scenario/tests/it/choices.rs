//! Tests `--set` with a path into a queue or into an application's traffic. Both are tables with a single key.

use scenario::Scenario;
use scenario::read::{self, Format};

fn with(queue: &str, sets: &[(&str, &str)]) -> Result<Scenario, String> {
    let text = format!(
        "duration = \"10s\"\n[link.up]\nfrom = \"a\"\nto = \"b\"\nrate = \"5mbit\"\nboth_ways = true\nqueue = {queue}\n\
         [app.up]\nfrom = \"a\"\nto = [\"b\"]\ntraffic.ftp = {{}}\n"
    );
    let sets: Vec<_> = sets.iter().map(|(p, v)| ((*p).to_owned(), (*v).to_owned())).collect();
    read::scenario(&text, Format::Toml, &sets).map_err(|problems| {
        assert_eq!(problems.len(), 1);
        problems[0].to_string()
    })
}

#[test]
fn a_parameter_of_another_discipline_says_what_to_write() {
    let error = with("{ droptail = { limit = '21p' } }", &[("link.up.queue.codel.target", "5ms")]).unwrap_err();
    let write = "link.up.queue={ codel = { target = \"5ms\" } }";
    assert_eq!(
        error,
        format!("link.up.queue: is \"droptail\", so \"codel\" cannot be set inside it; write --set '{write}'")
    );
    let (path, value) = write.split_once('=').unwrap();
    let done = with("\"droptail\"", &[(path, value)]).unwrap();
    assert_eq!(done.link["up"].queue.name(), "codel");
    let error = with("\"droptail\"", &[("link.up.queue.codel.ecn", "true")]).unwrap_err();
    assert!(error.ends_with("write --set 'link.up.queue={ codel = { ecn = true } }'"), "{error}");
    let error = with("\"codel\"", &[("link.up.queue.fair.law.codel.target", "1ms")]).unwrap_err();
    assert!(error.ends_with("={ fair = { law = { codel = { target = \"1ms\" } } } }'"), "{error}");
    let error = with("\"codel\"", &[("app.up.traffic.voip.interval", "10ms")]).unwrap_err();
    assert!(error.ends_with("write --set 'app.up.traffic={ voip = { interval = \"10ms\" } }'"), "{error}");
}

#[test]
fn a_parameter_without_its_discipline_says_where_it_goes() {
    let error = with("\"droptail\"", &[("link.up.queue.limit", "5p")]).unwrap_err();
    assert!(error.ends_with("write --set 'link.up.queue.droptail.limit=5p'"), "{error}");
}

#[test]
fn a_name_with_dots_is_quoted() {
    let text =
        "duration = \"10s\"\n[link.\"a..b\"]\nfrom = \"a\"\nto = \"b\"\nrate = \"5mbit\"\nqueue = \"droptail\"\n";
    let with = |path: &str, value: &str| read::scenario(text, Format::Toml, &[(path.to_owned(), value.to_owned())]);
    assert_eq!(with("link.\"a..b\".rate", "7mbit").unwrap().link["a..b"].rate, Some(units::BitRate(7_000_000)));
    let error = with("link.\"a..b\".queue.limit", "5p").unwrap_err()[0].to_string();
    assert!(error.ends_with("write --set 'link.\"a..b\".queue.droptail.limit=5p'"), "{error}");
    let error = with("link.\"\".rate", "5mbit").unwrap_err()[0].to_string();
    assert!(error.starts_with("--set needs path=value"), "{error}");
}

#[test]
fn a_word_takes_parameters_as_its_table_does() {
    let sets = [("link.up.queue.codel.target", "7ms")];
    assert_eq!(with("\"codel\"", &sets), with("{ codel = {} }", &sets));
    assert_ne!(with("\"codel\"", &sets), with("\"codel\"", &[]));
    // two overrides, one after the other, as on a command line
    let both = [("link.up.queue", "codel"), ("link.up.queue.codel.target", "7ms")];
    assert_eq!(with("\"droptail\"", &both), with("\"codel\"", &sets));
}

#[test]
fn a_queue_in_the_words_of_tc_takes_parameters_too() {
    let sets = [("link.up.queue", "codel limit 100 ecn"), ("link.up.queue.codel.target", "7ms")];
    let table = with("{ codel = { limit = '100p', ecn = true, target = '7ms' } }", &[]);
    assert_eq!(with("\"droptail\"", &sets), table);
    let error = with("\"pfifo limit 20\"", &[("link.up.queue.codel.target", "5ms")]).unwrap_err();
    assert!(error.starts_with("link.up.queue: is \"droptail\""), "{error}");
    assert!(error.ends_with("write --set 'link.up.queue={ codel = { target = \"5ms\" } }'"), "{error}");
}

#[test]
fn a_brace_too_few_is_no_name_of_a_queue() {
    let error = with("\"droptail\"", &[("link.up.queue", "{ droptail = { limit = \"250p\" }")]).unwrap_err();
    assert!(error.starts_with("link.up.queue: \"{ droptail"), "{error}");
    assert!(error.contains("is not TOML"), "{error}");
}
