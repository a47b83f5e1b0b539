//! Tests of the stacks behind every queue.

use net::Network;
use sha2::{Digest, Sha256};
use transports::bench::{Bench, QUEUES, Stack, number};

const STACKS: [Stack; 2] = [Stack::Quinn, Stack::Smoltcp];
/// SHA-256 of the captures, by stack and queue. Debug and release builds give the same captures.
const HASHES: &str = include_str!("captures.sha256");

fn bench(stack: Stack, queue: &str, beside_cubic: bool) -> Bench<'_> {
    Bench { stack, queue, mbit: 10, seconds: 10, beside_cubic }
}

#[test]
fn a_transfer_fills_the_line_behind_every_queue() {
    for stack in STACKS {
        for (name, queue) in QUEUES {
            let outcome = bench(stack, queue, false).run().unwrap();
            let goodput = number(&outcome, "client", "goodput_mbit");
            // smoltcp sends its whole window again after each loss, so it gets little throughput from a queue with early drops
            // (docs/transports.md)
            let least = if stack == Stack::Quinn { 8.0 } else { 1.0 };
            assert!((least..10.0).contains(&goodput), "{stack:?} behind {name}: {goodput}");
            let marked = number(&outcome, "client", "ce_packets");
            // only quinn has ECN, and drop-tail never marks
            assert_eq!(marked > 0.0, stack == Stack::Quinn && name != "droptail", "{stack:?} behind {name}: {marked}");
        }
    }
}

#[test]
fn a_transfer_shares_the_line_with_our_cubic() {
    for stack in STACKS {
        for (name, queue) in QUEUES {
            let outcome = bench(stack, queue, true).run().unwrap();
            let [own, cubic] = ["client", "cubic"].map(|app| number(&outcome, app, "goodput_mbit"));
            let sum = if stack == Stack::Quinn { 8.5 } else { 5.0 };
            assert!(own > 1.0 && cubic > 1.5 && own + cubic > sum, "{stack:?} behind {name}: {own}, {cubic}");
        }
    }
}

/// Returns the SHA-256 of both files of a capture at the bottleneck.
fn capture(network: Network) -> String {
    let mut network = network.capture(Some("up"), [Vec::new(), Vec::new()]);
    network.run().unwrap();
    let files = network.into_sink().unwrap().finish().unwrap();
    Sha256::digest(files.concat()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn captures_are_the_same_in_every_run_and_build() {
    let mut found = String::new();
    for stack in STACKS {
        for (name, queue) in QUEUES {
            let run = || capture(Bench { seconds: 3, ..bench(stack, queue, true) }.network());
            let hash = run();
            assert_eq!(hash, run(), "{stack:?} behind {name}");
            found += &format!("{hash}  {stack:?} {name}\n");
        }
    }
    assert!(found == HASHES, "the captures are not those of tests/captures.sha256:\n{found}");
}
