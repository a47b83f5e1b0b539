//! Tests of `[expect]`, and of the result folder that Python reads.

use crate::stacks::{Ticker, scenario};
use net::Network;

/// Returns a network with a sender of 1.6 Mbit/s. `lines` are the lines of its `[expect]` table.
fn expecting(lines: &str) -> Network {
    let mut network = Network::from_toml(&(scenario("\"droptail\"") + lines)).unwrap();
    let to = network.add_endpoint("server", Ticker::new(None)).unwrap();
    network.add_endpoint("client", Ticker::new(Some(to))).unwrap();
    network
}

/// Runs the network of [`expecting`], and returns the problems that [`Network::check`] reports, each as one line.
fn problems(lines: &str) -> Vec<String> {
    let mut network = expecting(lines);
    network.run().unwrap();
    network.check().err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

#[test]
fn expectations_are_met_or_named_with_what_was_measured() {
    assert_eq!(problems("[expect]\n\"apps.client.datagrams_sent\" = \"== 1000\"\n"), [""; 0]);
    assert_eq!(
        problems("[expect]\n\"apps.client.datagrams_sent\" = \"< 1000\"\n\"apps.*.goodput_mbit\" = \">= 0\"\n"),
        ["expect.apps.client.datagrams_sent: measured 1000; expected < 1000"]
    );
    // the expectation "< 0" cannot hold, so there is one problem for each of the two links
    assert_eq!(problems("[expect]\n\"links.*.dropped_bytes\" = \"< 0\"\n").len(), 2);
    // the server sends no datagrams, so their delay has no value
    assert_eq!(
        problems("[expect]\n\"apps.server.delay_ms.p99\" = \"< 50\"\n"),
        ["expect.apps.server.delay_ms.p99: measured no value; expected < 50"]
    );
}

#[test]
fn an_expectation_of_nothing_is_a_problem() {
    assert_eq!(
        problems("[expect]\n\"apps.client.datagram_sent\" = \"== 1000\"\n"),
        [
            "expect.apps.client.datagram_sent: the summary has no such number; did you mean \"apps.client.datagrams_sent\"?"
        ]
    );
    let none = problems("");
    assert!(none.len() == 1 && none[0].starts_with("expect: the scenario has no [expect] table; add one"), "{none:?}");
    let early = expecting("").check().unwrap_err();
    assert_eq!(early[0].to_string(), "expect: the network has not run yet; run it first");
}

#[test]
fn a_saved_run_has_the_same_bytes_twice() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("saved");
    let saved = || {
        let mut network = expecting("");
        assert!(network.save(&folder).unwrap_err().to_string().contains("run it first"));
        network.run().unwrap();
        network.save(&folder).unwrap();
        let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
        (network, ["scenario.resolved.json", "summary.json", "tables/flows.json"].map(read))
    };
    let (network, files) = saved();
    assert_eq!(files, saved().1);
    let summary: serde_json::Value = serde_json::from_str(&files[1]).unwrap();
    assert_eq!(summary, network.outcome().unwrap().summary);
    let rows: serde_json::Value = serde_json::from_str(&files[2]).unwrap();
    let apps: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["app"].as_str().unwrap()).collect();
    assert!(apps.contains(&"cubic"), "{apps:?}");
    std::fs::remove_file(folder.join("summary.json")).unwrap();
    std::fs::create_dir(folder.join("summary.json")).unwrap();
    let refused = network.save(&folder).unwrap_err().to_string();
    assert!(refused.contains("summary.json: "), "{refused}");
    std::fs::remove_dir(folder.join("summary.json")).unwrap();
}
