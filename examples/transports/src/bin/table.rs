//! Prints the results for quinn and smoltcp behind each queue: their rows of the table in docs/transports.md.

use transports::bench::{Bench, QUEUES, Stack, number};

fn main() {
    println!(
        "| stack | queue | alone: Mbit/s | p99 delay, ms | dropped | marked | beside CUBIC: Mbit/s | CUBIC, Mbit/s | Jain |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for stack in [Stack::Quinn, Stack::Smoltcp] {
        for (name, queue) in QUEUES {
            let bench = Bench { stack, queue, mbit: 20, seconds: 60, beside_cubic: false };
            let alone = bench.run();
            let beside = Bench { beside_cubic: true, ..bench }.run();
            let (Ok(alone), Ok(beside)) = (&alone, &beside) else {
                println!("| {stack:?} | {name} | {:?} {:?} |", alone.err(), beside.err());
                continue;
            };
            let own = |key: &str| number(alone, "client", key);
            let [a, b] = ["client", "cubic"].map(|app| number(beside, app, "goodput_mbit"));
            let jain = (a + b) * (a + b) / (2.0 * (a * a + b * b));
            println!(
                "| {stack:?} | {name} | {:.1} | {:.0} | {} | {} | {a:.1} | {b:.1} | {jain:.2} |",
                own("goodput_mbit"),
                alone.summary["apps"]["client"]["delay_ms"]["p99"].as_f64().unwrap_or(f64::NAN),
                own("dropped_packets"),
                own("ce_packets"),
            );
            if std::env::args().any(|a| a == "-v") {
                println!("{}", alone.summary["apps"]);
            }
        }
    }
}
