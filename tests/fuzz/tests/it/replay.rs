//! Regression tests: every test run replays all stored inputs, and tries some new inputs.

use fuzz::engine::{Campaign, Until, attempt, read_corpus};
use fuzz::{TARGETS, Target, Verdict};
use std::path::PathBuf;

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

#[test]
fn every_kept_input_holds() {
    for target in TARGETS {
        for (path, input) in read_corpus(&corpus(), target).unwrap() {
            attempt(target, &input).unwrap_or_else(|message| panic!("{}: {message}", path.display()));
        }
    }
}

#[test]
fn every_folder_of_the_corpus_is_that_of_a_target() {
    for entry in std::fs::read_dir(corpus()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(Target::named(&name).is_some(), "{name} is not a target");
    }
}

/// Tries the first inputs of seed 1. No input may fail. Six targets must also accept more than a fifth of their inputs.
#[test]
fn a_slice_of_fresh_inputs_holds() {
    let empty = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("no-corpus");
    for target in TARGETS {
        let count = if target.name == "scenario" { 60 } else { 200 };
        let campaign = Campaign { target, seed: 1, until: Until::Count(count), corpus: &empty, grown: None };
        let report = campaign.run(|_| {}).unwrap();
        assert_eq!(report.finding.map(|f| f.0), None, "{}", target.name);
        if ["scenario", "build", "queue", "law", "receiver", "sender"].contains(&target.name) {
            assert!(5 * report.accepted > report.tried, "{}: {} of {}", target.name, report.accepted, report.tried);
        }
    }
}

#[test]
fn an_input_that_fails_is_made_smaller_and_saved() {
    let target = Target {
        name: "planted",
        minute: 0,
        about: "fails for any input with a 7 in it",
        longest: 64,
        text: false,
        run: |bytes| {
            assert!(!bytes.contains(&7), "a seven");
            Verdict::Accepted
        },
        start: Vec::new,
    };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("planted");
    let campaign = Campaign { target: &target, seed: 1, until: Until::Count(10_000), corpus: &folder, grown: None };
    let report = campaign.run(|_| {}).unwrap();
    let (message, path) = report.finding.expect("a seven among ten thousand inputs");
    assert!(message.ends_with("a seven"), "{message}");
    assert_eq!(std::fs::read(&path).unwrap(), [7]);
    std::fs::remove_dir_all(folder).unwrap();
}
