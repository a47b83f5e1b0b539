//! The effect of drop-tail and CoDel on a fixed overload, as a table that a reviewer can check. A changed value needs a
//! line in the CHANGELOG.

use crate::common::{Bench, ms};
use units::Time;

/// Offers a packet of 1500 B every 2 ms (6 Mbit/s) to a link of 5 Mbit/s, for 20 s, and again for 10 s after 6 s of silence.
/// Returns a row of the table.
fn overload(queue: &str) -> String {
    let mut b = Bench::new(&format!("rate = '5mbit'\ndelay = '1ms'\nqueue = {{ {queue} }}"));
    for k in (0..10_000).chain(13_000..18_000) {
        let t = ms(f64::from(k) * 2.0);
        b.run(t);
        b.burst(t, 1, 1500);
    }
    b.run(Time(1 << 50));
    let mut waits: Vec<f64> = b.sojourns().iter().map(|d| d.millis()).collect();
    waits.sort_by(f64::total_cmp);
    let quantile = |q: f64| waits[((waits.len() - 1) as f64 * q) as usize];
    let drops = b.port.counters().queue.dropped_total().packets;
    format!("{drops:6} {:9.3} {:9.3} {:9.3}", quantile(0.5), quantile(0.99), quantile(1.0))
}

#[test]
fn overload_by_twenty_percent() {
    // 15 000 packets arrive: 10 000 in a first period of 20 s, and 5000 in a second period of 10 s. The link can send
    // 5e6/12e3 = 416.7 packets per second: 8333 during the first period and 4166 during the second, plus the packets
    // that are still queued at the end of each period. In a full drop-tail queue of 417 packets, a packet waits 417 x
    // 2.4 = 1000.8 ms. With drops from the head, a packet advances one place at each arrival, every 2 ms, so it waits
    // 417 x 2 = 834 ms. To keep the queue short, a discipline must drop one packet in six, or 2500.
    let golden = "\
queue                                              drops    p50_ms    p99_ms    max_ms
droptail = { limit = '417p' }                       1667   999.600  1000.800  1000.800
droptail = { limit = '417p', drop_head = true }     1667   832.800   972.400   999.600
droptail = { limit = '21p' }                        2459    49.600    50.400    50.400
codel = { limit = '417p' }                          2480    39.200   136.000   137.200
codel = { limit = '417p', variant = 'linux' }       2467    35.600   132.000   133.200
codel = { limit = '417p', variant = 'draft01' }     2493    15.200   136.000   137.200
codel = { limit = '417p', variant = 'kmn' }         2494     6.000   136.000   137.200
codel = { limit = '417p', variant = 'acm_queue' }   2439   118.400   153.600   154.000
";
    let mut lines = golden.lines();
    let mut table = format!("{}\n", lines.next().unwrap());
    for line in lines {
        let queue = &line[..49];
        table += &format!("{queue} {}\n", overload(queue.trim()));
    }
    assert_eq!(table, golden, "\n{table}");
}
