//! Tests that docs/adding-a-controller.md quotes the compiled source unchanged, and that a new line in cc/list.rs has
//! the effects that the page promises.

use crate::pipe::{Fate, Pipe};
use tcp::{CongestionControl, Segment, TcpParams};
use units::{Duration, Rng, Time};

const DOC: &str = include_str!("../../../../docs/adding-a-controller.md");
const LIST: &str = include_str!("../../src/cc/list.rs");

/// Returns the Rust code blocks of docs/adding-a-controller.md.
fn blocks() -> Vec<&'static str> {
    DOC.split("```rust\n").skip(1).map(|rest| rest.split("```\n").next().unwrap()).collect()
}

#[test]
fn the_page_shows_the_file_and_the_line_as_they_are() {
    let [file, line, keys] = blocks()[..] else { panic!("expected three blocks of Rust") };
    let ours = include_str!("../../src/cc/westwood.rs").split("\n#[cfg(test)]").next().unwrap();
    // the module doc of the file contains ```, which ends the first block early. So this block is compared with the start of
    // the file, and the page must contain the whole file up to its unit tests
    assert!(
        DOC.contains(ours) && ours.starts_with(file.split("```").next().unwrap()),
        "docs/adding-a-controller.md is stale"
    );
    let vegas = include_str!("../../src/cc/tests/vegas.rs");
    assert!(vegas.contains(keys), "the keys in docs/adding-a-controller.md are not those in cc/tests/vegas.rs");
    assert!(LIST.contains(line), "the line in docs/adding-a-controller.md is not the one in cc/list.rs");
}

#[test]
fn one_line_makes_the_word() {
    let p: TcpParams = serde_json::from_str("{\"congestion_control\": \"westwood\"}").unwrap();
    assert_eq!(
        (p.control.congestion_control, p.control.congestion_control.word()),
        (CongestionControl::Westwood, "westwood")
    );
    p.validate().unwrap();
    let schema = schemars::schema_for!(TcpParams).to_value().to_string();
    assert!(schema.contains("Grieco & Mascolo 2004"));
    assert!(CongestionControl::ALL.contains(&p.control.congestion_control));
}

/// Returns the number of segments delivered in a minute over a 6 Mbit/s path with an RTT of 40 ms and random loss of one packet in
/// a hundred.
fn delivered(congestion_control: CongestionControl, seed: u64) -> u64 {
    let p = TcpParams::preset("reno").unwrap().with(|p| p.control.congestion_control = congestion_control);
    let mut dice = Rng::named(seed, "air");
    let fate = move |from: usize, s: &Segment| {
        if from == 0 && s.len > 0 && dice.chance(0.01) { Fate::Drop } else { Fate::Pass }
    };
    let mut pipe = Pipe::new(&p, Duration::from_millis(2), Duration::from_millis(20), 20, fate);
    pipe.connect();
    pipe.write(u64::MAX);
    while pipe.step(Time(60_000_000_000)).is_some() {}
    pipe.ends[0].acked() / u64::from(p.wire.mss)
}

#[test]
fn losses_that_no_queue_causes_cost_westwood_less_than_reno() {
    // The path can carry 500 segments per second, or 30 000 in a minute. According to its response function, Reno sends
    // at most 12.2 segments per RTT. If the RTT is 45 ms (40 ms, plus transmission and queueing), this is 16 300
    // segments in a minute.
    let sum = |control| (1..=3).map(|seed| delivered(control, seed)).sum::<u64>() / 3;
    let (reno, westwood) = (sum(CongestionControl::Reno), sum(CongestionControl::Westwood));
    assert!((10_000..18_000).contains(&reno), "{reno}");
    assert!(westwood > reno * 4 / 3 && westwood < 30_000, "{westwood} {reno}");
}
