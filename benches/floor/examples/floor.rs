//! Prints the floor, the cost of a minimal dumbbell, for cases like those of docs/speed.md. Each figure is from the
//! fastest of five runs.
//! Usage: `cargo run --release -p bloatlab-floor --example floor`.

fn main() {
    println!("case flows bottleneck_packets events ns_per_packet ns_per_event");
    for (case, rate, access, flows, window, seconds) in [
        ("S1", 5_000_000, 1_000_000_000, 10, 40, 600.0),
        ("S2", 100_000_000, 1_000_000_000, 10, 200, 60.0),
        ("S2", 100_000_000, 1_000_000_000, 100, 20, 60.0),
        ("S3", 1_000_000_000, 10_000_000_000, 10, 800, 10.0),
        ("S3", 1_000_000_000, 10_000_000_000, 1000, 8, 10.0),
        ("S3", 1_000_000_000, 10_000_000_000, 4000, 2, 10.0),
    ] {
        let runs = (0..5).map(|_| floor::dumbbell(rate, access, flows, window, seconds));
        if let Some(r) = runs.min_by_key(|r| r.cpu_ns) {
            let per_event = r.cpu_ns as f64 / r.events as f64;
            println!("{case} {flows} {} {} {:.1} {per_event:.1}", r.bottleneck_packets, r.events, r.ns_per_packet());
        }
    }
}
