//! Prints the CPU time for 60 simulated seconds of quinn-proto at 100 Mbit/s: behind each queue, and with the same two
//! endpoints joined by a plain loop.
//!
//! The loop has no queue discipline. Like the link, it sends at 100 Mbit/s and delivers each datagram 20 ms later.

use net::{Datagram, Endpoint, Time, Transmit};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use transports::bench::{Bench, QUEUES, Stack, number};
use transports::quic::Quic;

/// Propagation delay in nanoseconds.
const DELAY: u64 = 20_000_000;
/// Duration in nanoseconds.
const END: u64 = 60_000_000_000;
/// Time to send a byte at 100 Mbit/s, in nanoseconds.
const BYTE: u64 = 80;
/// Maximum time that a datagram may wait for the link, in nanoseconds: 100 ms, as in a drop-tail queue of that length. A
/// datagram that would wait longer is dropped.
const LIMIT: u64 = 100_000_000;

/// Returns this process's CPU time in seconds.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |i: usize| fields[i].parse::<f64>().unwrap_or_default();
    // user and system time, in ticks of 10 ms
    (ticks(11) + ticks(12)) / 100.0
}

/// Runs two endpoints, joined by a loop; returns the number of bytes read by the server.
fn alone() -> u64 {
    let addresses = [1, 2].map(|n| ([10, 0, 0, n], 4433).into());
    let client = Quic::client(addresses[1]);
    let mut ends = [client, Quic::server()];
    let mut in_flight: BTreeMap<(u64, u64), (usize, Datagram)> = BTreeMap::new();
    let mut timers = BinaryHeap::from([Reverse((0, 0_usize))]);
    let (mut number, mut free) = (0, [0; 2]);
    loop {
        let arrival = in_flight.first_key_value().map_or(u64::MAX, |((at, _), _)| *at);
        let timer = timers.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
        let now = arrival.min(timer);
        if now >= END {
            return ends[1].read;
        }
        let (i, end);
        if arrival <= timer {
            let (_, (to, datagram)) = in_flight.pop_first().expect("an arrival");
            (i, end) = (to, &mut ends[to]);
            end.handle(Time(now), datagram);
        } else {
            let Some(Reverse((_, of))) = timers.pop() else { continue };
            (i, end) = (of, &mut ends[of]);
            if end.next_timeout().is_some_and(|at| at.0 <= now) {
                end.on_timeout(Time(now));
            }
        }
        while let Some(Transmit { ecn, bytes, .. }) = end.poll_transmit(Time(now)) {
            if free[i] > now + LIMIT {
                continue;
            }
            free[i] = free[i].max(now) + BYTE * (bytes.len() as u64 + 28);
            number += 1;
            in_flight.insert((free[i] + DELAY, number), (1 - i, Datagram { from: addresses[i], ecn, bytes }));
        }
        if let Some(at) = end.next_timeout() {
            let at = at.0.max(now);
            if timers.iter().all(|Reverse((known, of))| *of != i || *known > at) {
                timers.push(Reverse((at, i)));
            }
        }
    }
}

fn main() {
    let begun = cpu();
    let bytes = alone();
    let own = cpu() - begun;
    println!("alone: {own:.2} s of CPU for {:.1} Mbit/s", bytes as f64 * 8.0 / 60e6);
    for (name, queue) in QUEUES {
        let begun = cpu();
        let bench = Bench { stack: Stack::Quinn, queue, mbit: 100, seconds: 60, beside_cubic: false };
        match bench.run() {
            Ok(outcome) => {
                let (cost, goodput) = (cpu() - begun, number(&outcome, "client", "goodput_mbit"));
                println!("{name}: {cost:.2} s of CPU for {goodput:.1} Mbit/s, {:.2} times", cost / own);
            }
            Err(failure) => println!("{name}: {failure}"),
        }
    }
}
