//! Golden results of every discipline with its defaults, in two small scenarios. They show which
//! disciplines a change affects, and how.

use crate::common::{number, run};
use qdisc::QDISCS;

/// The expected results. The header of the file explains the columns and their units.
const GOLDEN: &str = include_str!("../golden_disciplines.txt");

/// Returns a scenario of 30 s with 5 Mbit/s up and 20 ms each way: four uploads with ECN, and the applications in `beside`.
fn scenario(queue: &str, beside: &str) -> String {
    format!(
        "duration = '30s'\n\
         link.up = {{ from = 'home', to = 'net', rate = '5mbit', delay = '20ms', queue = '{queue}' }}\n\
         link.down = {{ from = 'net', to = 'home', rate = '50mbit', delay = '20ms' }}\n\
         app.bulk = {{ from = 'home', to = ['net'], tcp = 'ecn', traffic.ftp = {{ flows = 4 }} }}\n\
         {beside}\
         tcp.ecn = {{ preset = 'linux-6', ecn = true }}\n"
    )
}

const GAME: &str = "app.game = { from = 'home', to = ['net'], tcp = 'linux-6', traffic.messages = {} }\n";

/// A call of 87.2 kbit/s with a DSCP, and an unresponsive flood without a DSCP.
const DATAGRAMS: &str = "app.call = { from = 'home', to = ['net'], dscp = 46, traffic.voip = {} }\n\
                         app.blast = { from = 'home', to = ['net'], traffic.cbr = { rate = '3mbit', size = 1000 } }\n";

fn line(queue: &str) -> String {
    let o = run(&scenario(queue, GAME));
    let whole = |path: &str| number(&o, path) as u64;
    format!(
        "{queue:<16} {:>6} {:>6} {:>8.2} {:>8.2} {:>8.2} {:>8.1} {:>8.1}",
        whole("links.up.dropped_packets"),
        whole("links.up.marked_packets"),
        number(&o, "links.up.sojourn_ms.p50"),
        number(&o, "links.up.sojourn_ms.p99"),
        number(&o, "apps.bulk.goodput_bytes") / 1e6,
        number(&o, "apps.game.delay_ms.p50"),
        number(&o, "apps.game.delay_ms.p99"),
    )
}

fn datagrams_line(queue: &str) -> String {
    let o = run(&scenario(queue, DATAGRAMS));
    let lost = |app: &str| {
        100.0 * number(&o, &format!("apps.{app}.dropped_packets")) / number(&o, &format!("apps.{app}.datagrams_sent"))
    };
    format!(
        "{queue:<16} {:>6} {:>8.2} {:>8.2} {:>8.2} {:>8.2} {:>8.1}",
        number(&o, "links.up.marked_packets") as u64,
        number(&o, "links.up.sojourn_ms.p50"),
        number(&o, "apps.bulk.goodput_bytes") / 1e6,
        lost("blast"),
        lost("call"),
        number(&o, "apps.call.delay_ms.p99"),
    )
}

#[test]
fn every_discipline_does_what_its_line_says() {
    let compositions = ["sfq_hss + lred", "sfq_hss + pie"];
    let names = || QDISCS.iter().map(|q| q.name).chain(compositions);
    let ours: Vec<String> = names().map(line).chain(names().map(datagrams_line)).collect();
    let golden: Vec<&str> = GOLDEN.lines().filter(|l| !l.starts_with('#')).collect();
    let (ours, golden) = (ours.join("\n"), golden.join("\n"));
    assert!(ours == golden, "results have changed; if this is intended, the golden file must now be\n{ours}\n");
}
