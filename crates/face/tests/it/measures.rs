//! Tests that every key of a summary has one declaration, and that every declaration is a key of some summary. The declarations
//! of live runs (`live.`) are left out. Each statistic of a distribution, such as its mean, is a key of its own.

use measure::{Declared, declared};
use packet::Unit;
use scenario::read;
use serde_json::Value;
use std::collections::BTreeSet;

/// A scenario in which applications of every kind share one link.
const APPLICATIONS: &str = r#"
    duration = "8s"
    record.warm_up = "1s"
    link.up = { from = "a", to = "b", rate = "5mbit", delay = "10ms", both_ways = true }
    app.ftp = { from = "a", to = ["b"], traffic.ftp = { flows = 2 } }
    app.game = { from = "a", to = ["b"], traffic.game = {} }
    app.messages = { from = "a", to = ["b"], traffic.messages = {} }
    app.bittorrent = { from = "a", to = ["b"], traffic.bittorrent = {} }
    app.video = { from = "a", to = ["b"], traffic.video = {} }
    app.short = { from = "a", to = ["b"], traffic.short = {} }
    app.tcp_burst = { from = "a", to = ["b"], traffic.burst = { transport = "tcp" } }
    app.udp_burst = { from = "a", to = ["b"], traffic.burst = { transport = "udp" } }
    app.ping = { from = "a", to = ["b"], dscp = 8, traffic.ping = { after_answer = true } }
    app.cbr = { from = "a", to = ["b"], traffic.cbr = { rate = "100kbit" } }
    app.media = { from = "a", to = ["b"], traffic.media = {} }
    app.proshare = { from = "a", to = ["b"], traffic.proshare = {} }
    app.voip = { from = "a", to = ["b"], traffic.voip = { direction = "both" } }
    app.rpm = { from = "a", to = ["b"], traffic.rpm = {} }
    app.web = { from = "a", to = ["b"], traffic.web = { servers = 1 } }
"#;

/// Each entry is a list of overrides for one run of [`APPLICATIONS`]. The overrides select grading scales, ECN, and
/// queue disciplines with classes, because these add keys to the summary or replace keys. The first entry overrides
/// nothing.
const SETS: &[&[(&str, &str)]] = &[
    &[],
    &[("grade.scale", "rpm")],
    &[("grade.scale", "waveform"), ("app.ftp.tcp", "prague"), ("link.up.queue", "dualpi2")],
    &[("link.up.queue", "{ cake = { bandwidth = \"4mbit\" } }")],
];

fn example(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    std::fs::read_to_string(path).expect("an example")
}

fn summary(text: &str, sets: &[(&str, &str)]) -> Value {
    let sets: Vec<_> = sets.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    let scenario = read::scenario(text, read::Format::Toml, &sets).expect("a scenario");
    face::measure(&scenario, &mut |_| true).expect("a run").1.summary
}

/// Collects the paths of all leaves of a summary. Names that the scenario chooses are replaced by `*`.
fn paths(prefix: &str, of: &Value, found: &mut BTreeSet<String>) {
    let Value::Object(keys) = of else {
        found.insert(prefix.to_owned());
        return;
    };
    for (key, value) in keys {
        let named = matches!(prefix, "links" | "apps")
            || ["links.*.classes", "links.*.grants", "links.*.drops", "apps.*.flow_goodput_mbit.each"]
                .contains(&prefix);
        let key = if named { "*" } else { key };
        paths(&if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") }, value, found);
    }
}

/// Returns the declarations that have no parts; for a declaration with parts, those of its parts.
fn leaves(of: &[Declared]) -> Vec<&Declared> {
    of.iter().flat_map(|d| if d.parts.is_empty() { vec![d] } else { leaves(&d.parts) }).collect()
}

#[test]
fn a_key_is_declared_once_and_a_declaration_is_a_key() {
    let mut found = BTreeSet::new();
    SETS.iter().for_each(|sets| paths("", &summary(APPLICATIONS, sets), &mut found));
    let short = [("duration", "3s"), ("record.warm_up", "1s")];
    paths("", &summary(&example("low-latency-docsis.toml"), &short), &mut found);
    let recorded = r#"
        duration = "3s"
        link.down = { from = "a", to = "b", delay = "10ms", delivery.lte = {} }
        link.up = { from = "b", to = "a", rate = "5mbit", delay = "10ms" }
        app.ftp = { from = "a", to = ["b"], traffic.ftp = {} }
    "#;
    paths("", &summary(recorded, &[]), &mut found);
    let all = declared();
    let declared: Vec<&str> = leaves(&all).iter().map(|d| d.path.as_str()).collect();
    let once: BTreeSet<&str> = declared.iter().copied().collect();
    assert_eq!(once.len(), declared.len(), "declared twice: {declared:?}");
    // keys that begin with `live.` occur only in the summaries of live runs
    let of_summaries: BTreeSet<&str> = once.iter().copied().filter(|path| !path.starts_with("live.")).collect();
    assert_eq!(found.iter().map(String::as_str).collect::<BTreeSet<_>>(), of_summaries);
}

/// If a key's name ends in the suffix of a unit (before `_reverse`), the key's value has this unit; the number
/// `gaps_over_100ms` is exempt. Conversely, the name of a key whose value is in ms, s, Mbit/s or percent ends in such a
/// suffix; keys inside an object whose name contains `_mbit` are exempt.
#[test]
fn a_name_that_ends_in_a_unit_has_it() {
    let all = declared();
    for d in &all {
        let stem = d.path.trim_end_matches("_reverse");
        let ends = Unit::NAMED.iter().find(|unit| stem.ends_with(unit.suffix()));
        if let Some(unit) = ends.filter(|_| !d.path.ends_with("gaps_over_100ms")) {
            assert_eq!(d.unit, *unit, "{}", d.path);
        }
        if matches!(d.unit, Unit::Milliseconds | Unit::Seconds | Unit::Mbit | Unit::Percent) {
            // the key of a single flow's rate has no suffix, but it is inside the object `flow_goodput_mbit`, whose name
            // has the unit
            let above = d.path.rsplit_once('.').map_or("", |(above, _)| above);
            assert!(ends.is_some() || above.contains("_mbit"), "{}", d.path);
        }
    }
}

/// The ranks of the measures are consecutive, and at most one statistic of a distribution has a rank.
#[test]
fn ranks_are_consecutive() {
    let all = declared();
    let ranked: Vec<_> = leaves(&all).into_iter().filter(|d| d.rank.is_some()).collect();
    assert!(ranked.len() > 20);
    for d in &all {
        let below = leaves(std::slice::from_ref(d)).iter().filter(|leaf| leaf.rank.is_some()).count();
        assert!(below <= 1, "{}: {below} statistics represent it", d.path);
    }
    // both streams of a call have the same measures with the same ranks, so the reverse stream is left out
    let called = |d: &&&Declared| !d.path.starts_with("apps.*.voip_reverse.");
    let mut places: Vec<_> = ranked.iter().filter(called).map(|d| (d.rank, d.path.as_str())).collect();
    places.sort_unstable();
    let consecutive = places.iter().zip(1..).all(|((rank, _), place)| *rank == Some(place));
    assert!(consecutive, "expected the ranks 1, 2, 3 ... once each: {places:?}");
}
