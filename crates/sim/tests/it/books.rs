//! Tests conservation: every packet, every stored packet body, every connection slot and every web page is accounted
//! for.

use crate::common::{Dice, Numbers, STALE, number, read, run};
use sim::World;

fn balanced(world: &World, what: &str) {
    for (i, b) in world.books().enumerate() {
        assert_eq!(b.offered, b.delivered + b.dropped + b.queued + b.in_flight, "{what}, link {i}: {b:?}");
    }
}

#[test]
fn every_link_balances_at_every_look() {
    for n in 0..40 {
        let numbers = if n % 2 == 0 { Numbers::Round } else { Numbers::Odd };
        let s = read(&Dice::new(2000 + n, numbers, true).scenario());
        let mut world = World::build(&s).unwrap();
        let mut steps = 0;
        while world.step() {
            steps += 1;
            if steps % 89 == 0 {
                balanced(&world, &format!("{n} at {}", world.now()));
            }
        }
        world.run(|_| true);
        balanced(&world, &format!("{n} at the end"));
    }
}

#[test]
fn packets_sent_arrive_or_are_dropped_or_are_in_the_network() {
    let mut seen = 0;
    for n in 0..80 {
        let toml = Dice::new(3000 + n, Numbers::Round, true).scenario();
        if !toml.contains("[link.neck]") {
            continue; // in other topologies, hosts also forward packets
        }
        seen += 1;
        let s = read(&toml);
        let mut world = World::build(&s).unwrap();
        world.run(|_| true);
        let outcome = world.outcome(&s);
        let books: Vec<_> = world.books().collect();
        let names: Vec<String> = s.directed_links().into_iter().map(|(name, _)| name).collect();
        let sent: u64 = names.iter().zip(&books).filter(|(n, _)| n.ends_with("_out")).map(|(_, b)| b.offered).sum();
        let dropped: u64 = books.iter().map(|b| b.dropped).sum();
        let inside: u64 = books.iter().map(|b| b.queued + b.in_flight).sum();
        let apps = outcome.summary["apps"].as_object().unwrap();
        let of = |key: &str| apps.values().map(|a| a[key].as_u64().unwrap()).sum::<u64>();
        let home = of("packets") + of("packets_reverse") + number(&outcome, "flow_gone_packets") as u64;
        assert_eq!(sent, home + dropped + inside, "{n}");
        // every drop is counted for its application
        assert_eq!(dropped, of("dropped_packets"), "{n}");
    }
    assert!(seen > 20);
}

/// Lossy links, and applications that all end long before the run does.
const QUIET: &str = r#"
duration = "900s"
[link.up]
from = "a"
to = "b"
rate = "5mbit"
delay = "20ms"
loss = 0.02
queue.droptail = { limit = "20p" }
[link.down]
from = "b"
to = "a"
rate = "5mbit"
delay = "20ms"
loss = 0.02
[app.ftp]
from = "a"
to = ["b"]
tcp = "linux-6"
traffic.ftp = { flows = 4, size = "300KB", count = 5 }
[app.kept]
from = "a"
to = ["b"]
tcp = "rfc"
traffic.ftp = { flows = 2, size = "100KB", count = 5, new_connection = false, direction = "down", pause = "2s" }
[app.web]
from = "a"
to = ["b"]
tcp = "ns2-fulltcp-sack"
traffic.web = { servers = 1, pages = 5, page = { uniform = { html = "10KB", size = "5KB", per_server = 20 } } }
[app.game]
from = "a"
to = ["b"]
stop = "100s"
traffic.messages = { interval = "500ms" }
[app.cbr]
from = "a"
to = ["b"]
traffic.cbr = { rate = "1mbit", count = 5000 }
"#;

#[test]
fn when_everything_is_quiet_nothing_is_left() {
    let s = read(QUIET);
    let mut world = World::build(&s).unwrap();
    let mut most = 0;
    while world.step() {
        most = most.max(world.bodies());
    }
    world.run(|_| true);
    let outcome = world.outcome(&s);
    assert!(most > 0);
    assert_eq!(world.bodies(), 0, "every body belongs to a packet");
    assert!(world.books().all(|b| b.queued + b.in_flight == 0));
    assert_eq!(number(&outcome, "apps.ftp.files.done"), 20.0);
    assert_eq!(number(&outcome, "apps.ftp.goodput_bytes"), 20.0 * 300_000.0);
    assert_eq!(number(&outcome, "apps.kept.goodput_bytes_reverse"), 10.0 * 100_000.0);
    assert_eq!(number(&outcome, "apps.web.web.pages"), 5.0);
    assert_eq!(number(&outcome, "apps.cbr.packets") + number(&outcome, "apps.cbr.dropped_packets"), 5000.0);
    // the slots of finished transfers are reused. At any time, `ftp` has at most 4 open connections, `kept` 2, `web` 7
    // and `game` 1, and the datagrams of `cbr` have a slot: 15 in all. Connections that are still closing also have
    // slots
    assert!(world.slots() <= 24, "{}", world.slots());
}

#[test]
fn slots_are_used_again() {
    let slots = |seconds: u32| {
        let s = read(&format!(
            r#"
            duration = "{seconds}s"
            [link.line]
            from = "a"
            to = "b"
            rate = "10mbit"
            delay = "10ms"
            both_ways = true
            [app.web]
            from = "a"
            to = ["b", "b", "b", "b"]
            traffic.web = {{ think = "2s", page = {{ uniform = {{ html = "2KB", size = "1KB", per_server = 25 }} }} }}
            "#
        ));
        let mut world = World::build(&s).unwrap();
        world.run(|_| true);
        let pages = number(&world.outcome(&s), "apps.web.web.pages");
        // a page takes about 0.5 s to load and 2 s to read, so there is more than one page every 3 s
        assert!(pages > f64::from(seconds) / 3.0, "{pages}");
        world.slots()
    };
    // the slots hold 6 connections to each of 4 servers, and connections that are still closing
    let short = slots(600);
    assert_eq!(slots(6000), short);
    assert!((24..=72).contains(&short), "{short}");
}

/// The stack of clients that give up 100 ms after their only SYN. It is appended to the scenarios below.
const GIVES_UP: &str = r#"
[tcp.hasty]
preset = "rfc"
initial_rto = "100ms"
syn_retries = 0
"#;

/// Clients that give up before a server can respond. The SYN of such a client is still in flight while other clients
/// open connections.
const HASTY: &str = r#"
duration = "320s"
[link.line]
from = "a"
to = "b"
rate = "10mbit"
delay = "400ms"
both_ways = true
[app.hasty]
from = "a"
to = ["b"]
tcp = "hasty"
stop = "300s"
traffic.ftp = { size = "2KB", flows = 4, stagger = "170ms" }
[app.up]
from = "a"
to = ["b"]
stop = "300s"
traffic.ftp = { size = "2KB", flows = 3, stagger = "130ms" }
[app.down]
from = "a"
to = ["b"]
stop = "300s"
traffic.ftp = { size = "2KB", flows = 3, direction = "down" }
"#;

#[test]
fn late_packets_of_a_connection_that_is_gone_disturb_nobody() {
    let s = read(&format!("{HASTY}{GIVES_UP}"));
    let mut world = World::build(&s).unwrap();
    world.run(|_| true);
    let outcome = world.outcome(&s);
    // each of the four clients connects about 270 times, once every 1.1 s, and every SYN arrives after the client has given up
    assert!(number(&outcome, "flow_gone_packets") > 1000.0);
    assert_eq!(number(&outcome, "apps.hasty.packets"), 0.0);
    assert_eq!(world.bodies(), 0);
    assert!(world.slots() <= 16, "{}", world.slots());
    // each file of the other clients arrives complete, and exactly once; a file takes several round trips of 0.8 s
    for (app, goodput) in [("up", "goodput_bytes"), ("down", "goodput_bytes_reverse")] {
        let files = number(&outcome, &format!("apps.{app}.files.done"));
        assert!(files > 250.0, "{files}");
        assert_eq!(number(&outcome, &format!("apps.{app}.{goodput}")), files * 2000.0);
        assert_eq!(number(&outcome, &format!("apps.{app}.retransmits")), 0.0);
    }
}

#[test]
fn late_packets_keep_the_addresses_and_the_application_of_their_connection() {
    let s = read(STALE);
    let mut world = World::build(&s).unwrap();
    world.run(|_| true);
    let outcome = world.outcome(&s);
    let gone = number(&outcome, "flow_gone_packets");
    assert!(gone > 10.0, "{gone}");
    let dropped = |of: &str| number(&outcome, &format!("{of}.dropped_packets"));
    assert_eq!([dropped("links.m"), dropped("links.~m"), dropped("apps.y")], [0.0; 3]);
    let of_x = ["l1", "~l1", "l2", "~l2"].map(|link| dropped(&format!("links.{link}")));
    assert_eq!(dropped("apps.x"), of_x.iter().sum::<f64>());
    assert_eq!(number(&outcome, "links.l2.classes.to_y.offered_packets"), 0.0);
    assert!(number(&outcome, "links.l2.classes.rest.offered_packets") > 10_000.0);
}

/// Clients that give up while their server is still answering: its SYN-ACKs take longer than the client waits.
const DEAF: &str = r#"
duration = "60s"
[tcp.patient]
preset = "rfc"
initial_rto = "100ms"
[link.go]
from = "a"
to = "b"
rate = "10mbit"
delay = "5ms"
[link.back]
from = "b"
to = "a"
rate = "10mbit"
delay = "300ms"
loss = 0.9
[app.hasty]
from = "a"
to = ["b"]
tcp = "hasty"
tcp_server = "patient"
traffic.ftp = { size = "2KB", flows = 4, stagger = "170ms" }
"#;

#[test]
fn the_server_of_a_client_that_gave_up_sends_no_more() {
    let s = read(&format!("{DEAF}{GIVES_UP}"));
    let mut world = World::build(&s).unwrap();
    world.run(|_| true);
    let outcome = world.outcome(&s);
    assert!(number(&outcome, "flow_gone_packets") > 10.0);
    assert_eq!(number(&outcome, "apps.hasty.goodput_bytes"), 0.0);
    assert!(world.slots() <= 16, "{}", world.slots());
}

/// Clients as in [`HASTY`], whose SYNs wait behind a flood of a higher priority. The first 50 SYNs wait until the end; the
/// queue has no room for the others.
const STARVED: &str = r#"
duration = "100s"
[link.line]
from = "a"
to = "b"
both_ways = true
rate = "1mbit"
[link.line.queue.fair]
classifier.prio.filters = [{ match = { dscp = [46] }, band = 0 }]
scheduler = "strict_priority"
queue_limit = "50p"
[app.flood]
from = "a"
to = ["b"]
dscp = 46
traffic.cbr = { rate = "2mbit" }
[app.hasty]
from = "a"
to = ["b"]
start = "1s"
tcp = "hasty"
traffic.ftp = { size = "2KB", flows = 4, stagger = "170ms" }
"#;

#[test]
fn packets_that_wait_for_ever_keep_few_slots() {
    let s = read(&format!("{STARVED}{GIVES_UP}"));
    let mut world = World::build(&s).unwrap();
    world.run(|_| true);
    let dropped = number(&world.outcome(&s), "apps.hasty.dropped_packets");
    assert!(dropped > 200.0, "{dropped} connections found no room for their SYNs");
    // 50 slots for the SYNs that wait, one for the flood, and a few for the other connections
    assert!((51..=80).contains(&world.slots()), "{}", world.slots());
}

#[test]
fn a_page_with_missing_objects_was_not_loaded() {
    let page = |on_failure: &str, loss: f64| {
        run(&format!(
            r#"
            duration = "600s"
            [tcp.faint]
            preset = "linux-6"
            syn_retries = 0
            syn_linear_timeouts = 0
            [link.up]
            from = "a"
            to = "b"
            delay = "10ms"
            rate = "10mbit"
            loss = {loss}
            [link.down]
            from = "b"
            to = "a"
            delay = "10ms"
            rate = "10mbit"
            [app.web]
            from = "a"
            to = ["b"]
            tcp = "faint"
            traffic.web = {{ servers = 1, think = "1s", pages = 60, on_failure = "{on_failure}", page = {{ uniform = {{ html = "2KB", size = "2KB", per_server = 10 }} }} }}
            "#
        ))
    };
    let given_up = page("give_up", 0.05);
    let (pages, abandoned) = (number(&given_up, "apps.web.web.pages"), number(&given_up, "apps.web.web.abandoned"));
    // each of the 11 objects of a page fails with a probability of about 5 %, so a page is complete with a probability of
    // 0.95^11 = 57 %, which gives 34 of 60 pages
    assert_eq!(pages + abandoned, 60.0);
    assert!((20.0..48.0).contains(&pages), "{pages}");
    let shown = crate::common::series(&given_up, "pages", "load_s", "app", "web").len();
    assert_eq!(shown as f64, pages);
    for whole in [page("retry", 0.05), page("give_up", 0.0)] {
        assert_eq!((number(&whole, "apps.web.web.pages"), number(&whole, "apps.web.web.abandoned")), (60.0, 0.0));
    }
}
