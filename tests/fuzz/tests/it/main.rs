//! Tests with random scenarios and inputs: clones of worlds, pasts (initial segments that several runs share), and a
//! replay of the corpus.

mod fork;
mod past;
mod replay;

use sim::{Ended, Outcome, World};

/// Number of slices of [`sim::WORK_PER_SLICE`] after which a scenario counts as too long for these tests.
const MOST_SLICES: u32 = 2;

/// Returns the number of scenarios of a test: `BLOATLAB_FORKS`, by default 60.
fn count() -> usize {
    std::env::var("BLOATLAB_FORKS").map_or(60, |n| n.parse().expect("a number of scenarios"))
}

/// Runs to the end; returns false for a run that is too long.
fn finish(world: &mut World) -> bool {
    let mut slices = 0;
    let ended = world.run(|_| {
        slices += 1;
        slices < MOST_SLICES
    });
    ended == Ended::Finished
}

/// Returns true if two outcomes have the same bits. The summaries are compared as text, in which 0 differs from -0.
fn equal(one: &Outcome, other: &Outcome) -> bool {
    let summary = |of: &Outcome| of.summary.to_string();
    one.tables == other.tables && summary(one) == summary(other)
}

/// Panics if two outcomes differ, and shows the first difference.
fn same(what: &str, one: &Outcome, other: &Outcome) {
    if !equal(one, other) {
        let [one, other] = [one, other].map(|of| format!("{}\n{:?}", of.summary, of.tables));
        let at = one.bytes().zip(other.bytes()).position(|(a, b)| a != b).unwrap_or(0);
        let part = |of: &str| of.chars().skip(at.saturating_sub(200)).take(300).collect::<String>();
        panic!("{what} differs:\n{}\n{}", part(&one), part(&other));
    }
}
