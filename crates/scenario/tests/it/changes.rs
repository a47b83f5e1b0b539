//! Tests the messages for changes that a link cannot make. Each message says what to write instead.

use scenario::read::{self, Format};

/// Reads a scenario with this link, whose `key` changes to 5 Mbit/s. Returns the scenario's problems, one per line.
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

#[test]
fn a_change_is_checked_at_the_rates_of_the_changes_before_it() {
    let read = |changes: &str| {
        let text = format!(
            "duration = '9s'\n\
             link.down = {{ from = 'b', to = 'a' }}\n\
             link.up = {{ from = 'a', to = 'b', shaper = {{ max_sustained_rate = '5mbit', peak_traffic_rate = '20mbit' }}, \
             changes = [{changes}] }}\n"
        );
        read::scenario(&text, Format::Toml, &[]).map_err(|all| all.iter().map(ToString::to_string).collect::<String>())
    };
    let (raise, peak) = ("{ at = '5s', max_sustained_rate = '50mbit' }", "{ at = '3s', peak_traffic_rate = '60mbit' }");
    let why = "50mbit is not valid; expected at most the peak rate, 20mbit, or a new peak_traffic_rate";
    assert_eq!(read(raise).unwrap_err(), format!("link.up.changes.0.max_sustained_rate: {why}"));
    let mut link = read(&format!("{peak}, {raise}")).unwrap().link["up"].clone();
    // a change that is made during the run must not make a later change impossible
    let at = |text: &str| text.parse::<units::Duration>().unwrap();
    let lower = |time: &str| scenario::Change {
        at: at(time),
        peak_traffic_rate: Some(units::BitRate(40_000_000)),
        ..Default::default()
    };
    let refused = link.schedule(lower("4s")).unwrap_err().to_string();
    assert!(
        refused.ends_with("the peak rate, 40mbit, or a new peak_traffic_rate (in the link's change at 5s)"),
        "{refused}"
    );
    assert!(
        link.schedule(lower("6s")).unwrap_err().to_string().ends_with("expected at least the sustained rate, 50mbit")
    );
    assert!(link.schedule(lower("1s")).is_ok(), "the change at 3s sets another peak");
}
