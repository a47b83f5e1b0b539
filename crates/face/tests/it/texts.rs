//! Tests that scenarios written as TOML are read back as the same scenarios.

use face::toml;
use scenario::{Scenario, read};
use serde_json::json;
use std::fs;
use std::path::PathBuf;

fn examples() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let entries = fs::read_dir(folder).expect("examples").map(|e| e.expect("an entry").path());
    let mut files: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    assert!(files.len() >= 6, "{files:?}");
    files
}

fn scenario(text: &str) -> Scenario {
    read::scenario(text, read::Format::Toml, &[]).expect(text)
}

/// Returns the scenario, TOML with all keys of `text`, and TOML without keys that have their default.
fn both_ways(text: &str) -> (Scenario, String, String) {
    let tree = read::parse(text, read::Format::Toml).expect("TOML");
    let given = scenario(text);
    let sparse = toml::sparse(&given).expect("a tree");
    (given, toml::text(&tree).expect("TOML"), toml::text(&sparse).expect("TOML"))
}

#[test]
fn every_example_is_read_back_as_the_same_scenario() {
    for file in examples() {
        let (given, as_given, sparse) = both_ways(&fs::read_to_string(&file).expect("text"));
        assert_eq!(scenario(&as_given), given, "{as_given}");
        assert_eq!(scenario(&sparse), given, "{sparse}");
        assert!(sparse.len() <= as_given.len(), "{}: {} and {}", file.display(), sparse.len(), as_given.len());
    }
}

#[test]
fn sparse_toml_has_the_keys_that_a_person_would_write() {
    let (_, _, sparse) = both_ways(
        r#"
        duration = "60s"
        seed = 1                                       # a default
        [link.up]
        from = "home"
        to = "isp"
        both_ways = true
        rate = "5mbit"
        loss = 0.0
        queue = { codel = { target = "10ms", interval = "100ms" } }
        [app."a call"]
        from = "home"
        to = ["isp"]
        traffic = "voip"
        "#,
    );
    let expected = r#"duration = "60s"

[app."a call"]
from = "home"
to = ["isp"]
traffic.voip = {}

[link.up]
both_ways = true
from = "home"
queue.codel = { target = "10ms" }
rate = "5mbit"
to = "isp"
"#;
    assert_eq!(sparse, expected);
}

#[test]
fn names_and_texts_of_any_kind_survive() {
    let name = "<script>alert(1)</script> \"q\" \\ \u{7f} \u{1} \u{e9} \u{1f4e6}";
    let tree = json!({
        "name": name, "duration": "1s",
        "link": { "a b.c": { "from": "x y", "to": "z", "rate": 5_000_000, "loss": 1e-7 } },
        "app": { name: { "from": "x y", "to": ["z"], "traffic": { "cbr": { "rate": "1mbit" } } } },
    });
    let text = toml::text(&tree).expect("TOML");
    let back = read::parse(&text, read::Format::Toml).expect(&text);
    assert_eq!(back, tree);
}

#[test]
fn values_that_toml_does_not_have_are_refused_at_their_path() {
    let refused = |tree| toml::text(&tree).expect_err("no TOML").to_string();
    assert_eq!(
        refused(json!({ "seed": u64::MAX })),
        "seed: 18446744073709551615 is too large for TOML; expected at most 9223372036854775807"
    );
    assert_eq!(
        refused(json!({ "link": { "up": { "lose": [1, null] } } })),
        "link.up.lose.1: null is not a value in TOML"
    );
    assert_eq!(refused(json!([])), "expected a table of a scenario's keys");
}
