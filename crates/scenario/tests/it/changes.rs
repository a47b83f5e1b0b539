//! Tests the messages for changes that a link cannot make: each names a change that the link can make.

use scenario::read::{self, Format};

/// Reads a scenario with this link, of which `key` changes to 5 Mbit/s. Returns its problems, one per line.
fn problems(link: &str, key: &str) -> String {
    let text = format!(
        "duration = '1s'\n\
         link.up = {{ from = 'a', to = 'b', {link}, changes = [{{ at = '500ms', {key} = '5mbit' }}] }}\n\
         link.down = {{ from = 'b', to = 'a' }}\n"
    );
    let problems = read::scenario(&text, Format::Toml, &[]).err().unwrap_or_default();
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_link_without_a_rate_names_the_key_that_can_change() {
    let sustained =
        "link.up.changes.0.rate: this link has no rate that could change; expected a change of max_sustained_rate";
    let flow = "flow = { max_sustained_rate = '9mbit' }";
    for link in [
        format!("queue = 'docsis_pie', docsis31 = {{ {flow} }}"),
        format!("queue = 'docsis_pie', docsis31 = {{ {flow}, downstream = {{}} }}"),
        format!("docsis = {{ {flow} }}"),
        "shaper = { max_sustained_rate = '9mbit' }".to_owned(),
        "shaper.htb = { rate = '9mbit' }".to_owned(),
    ] {
        assert_eq!(problems(&link, "rate"), sustained, "{link}");
        assert_eq!(problems(&link, "max_sustained_rate"), "", "{link}");
    }
    assert_eq!(
        problems("delay = '1ms'", "rate"),
        "link.up.changes.0.rate: this link has no rate that could change; give it one"
    );
    assert_eq!(problems("rate = '9mbit'", "rate"), "");
}

#[test]
fn a_link_with_opportunities_changes_neither_rate() {
    let why = "the link has opportunities (delivery) instead of a rate; expected a change of delay, jitter or loss";
    for key in ["rate", "max_sustained_rate", "peak_traffic_rate"] {
        assert_eq!(problems("delivery = 'lte'", key), format!("link.up.changes.0.{key}: {why}"));
    }
}

#[test]
fn a_link_without_a_shaper_changes_its_own_rate() {
    let why = "the link has no shaper and no modem; expected a change of rate, or the key shaper, docsis or docsis31";
    let said = format!("link.up.changes.0.max_sustained_rate: {why}");
    assert_eq!(problems("rate = '9mbit'", "max_sustained_rate"), said);
}
