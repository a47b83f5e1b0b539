//! The DOCSIS 3.1 modem and Low Latency DOCSIS under traffic: orders of magnitude, shares, and what is refused.

mod common;
use common::{number, run};
use scenario::read::{Format, scenario};
use sim::Outcome;

/// The residential case of CableLabs' white paper in small: a game of 128 bytes each 33 +- 3 ms upstream, beside four uploads.
fn home(up: &str, more: &str) -> String {
    format!(
        "duration = '40s'\n\
         record.warm_up = '10s'\n\
         link.up = {{ from = 'home', to = 'cmts', delay = '40us', {up} }}\n\
         link.down = {{ from = 'cmts', to = 'home', delay = '40us', rate = '500mbit' }}\n\
         link.far = {{ from = 'cmts', to = 'net', both_ways = true, delay = '10ms', rate = '1gbit' }}\n\
         app.bulk = {{ from = 'home', to = ['net'], start = '1s', traffic.ftp = {{ flows = 4 }} }}\n\
         [app.game]\nfrom = 'home'\nto = ['cmts']\ndscp = 45\n\
         traffic.cbr = {{ rate = '31030bit', size = 128, arrivals = 'random_walk', randomize = '9.1%' }}\n{more}"
    )
}

const FLOW: &str = "flow = { max_sustained_rate = '50mbit' }";

fn modem(queue: &str, low_latency: &str) -> String {
    format!("queue = {queue}, docsis31 = {{ {FLOW}{low_latency} }}")
}

fn lld(low_latency: &str) -> String {
    modem("'docsis_lld'", &format!(", low_latency = {{ {low_latency} }}"))
}

const PGS: &str = "guaranteed_grant_rate = '5mbit'";

fn game(o: &Outcome) -> f64 {
    number(o, "apps.game.delay_ms.p99")
}

#[test]
fn a_games_delay_is_an_order_of_magnitude_below_that_of_one_queue() {
    let of = |up: &str| run(&home(up, ""));
    let (pie, requests, proactive) = (of(&modem("'docsis_pie'", "")), of(&lld("")), of(&lld(PGS)));
    let delays = [&pie, &requests, &proactive].map(game);
    assert!(delays[2] < delays[0] / 10.0 && delays[1] < delays[0] / 3.0, "{delays:?}");
    // the bound: a grant each 2.025 ms, its preparation, its frame, the propagation
    assert!(number(&proactive, "apps.game.delay_ms.max") <= 2.025 + 0.135 + 0.135 + 0.04, "{delays:?}");
    // the uploads have the link, whatever there is beside them
    for o in [&pie, &requests, &proactive] {
        let goodput = number(o, "apps.bulk.goodput_mbit");
        assert!((45.0..51.5).contains(&goodput), "{goodput}");
    }
    // 31 kbit/s of 5 Mbit/s: nearly all that is granted unasked is waste
    let grants = |key: &str| number(&proactive, &format!("links.up.grants.L.{key}_bytes"));
    assert_eq!(grants("granted"), grants("used") + grants("unused"));
    assert!(grants("used") < grants("proactive") / 20.0);
}

#[test]
fn queue_protection_sends_a_blast_to_the_other_queue() {
    let blast = "[app.blast]\nfrom = 'home'\nto = ['cmts']\ndscp = 45\nstart = '5s'\n\
                 traffic.cbr = { rate = '80mbit', size = 1200 }\n";
    let of = |protection: bool| {
        let queue = format!("{{ docsis_lld = {{ queue_protection = {protection} }} }}");
        run(&home(&modem(&queue, &format!(", low_latency = {{ {PGS} }}")), blast))
    };
    let (with, without) = (of(true), of(false));
    let sanctioned = |o: &Outcome| number(o, "links.up.classes.sanctioned.offered_packets");
    let sent = number(&with, "apps.blast.datagrams_sent");
    assert!(sanctioned(&with) > 0.3 * sent && sanctioned(&without) == 0.0, "{} of {sent}", sanctioned(&with));
    // unprotected, L is full: 10 ms of buffer, less the 2000 bytes that are kept free
    assert!((8.0..25.0).contains(&game(&without)), "{}", game(&without));
    assert!(game(&with) < game(&without) / 2.0, "{} {}", game(&with), game(&without));
    // the game itself is never sanctioned: its packets all arrive
    assert_eq!(number(&with, "apps.game.dropped_packets"), 0.0);
}

#[test]
fn prague_in_one_queue_and_cubic_in_the_other_share_the_aggregate() {
    let prague =
        "[app.scalable]\nfrom = 'home'\nto = ['net']\ntcp = 'prague'\nstart = '1s'\ntraffic.ftp = { flows = 4 }\n";
    let of = |rate: &str| {
        let low_latency = format!("guaranteed_grant_rate = '{rate}', guaranteed_grant_interval = '945us'");
        run(&home(&lld(&low_latency), prague).replace("duration = '40s'", "duration = '70s'"))
    };
    let shares = |o: &Outcome| (number(o, "apps.bulk.goodput_mbit"), number(o, "apps.scalable.goodput_mbit"));
    // what waits for a request's grant is a queue, too, and is marked: unasked grants are what lets L have its share
    let (few, o) = (shares(&of("5mbit")), of("25mbit"));
    let (classic, scalable) = shares(&o);
    assert!((0.5..2.0).contains(&(scalable / classic)), "{scalable} {classic}");
    assert!(few.1 / few.0 < scalable / classic, "{few:?}");
    assert!((45.0..51.5).contains(&(scalable + classic)), "{scalable} {classic}");
    let marked = |reason: &str| number(&o, &format!("links.up.classes.L.marked_packets.{reason}"));
    assert!(marked("law") > 100.0 && marked("step") > 100.0, "{} {}", marked("law"), marked("step"));
}

#[test]
fn what_does_not_go_together_is_refused_in_a_line() {
    let problem = |up: &str| {
        let problems = scenario(&home(up, ""), Format::Toml, &[]).unwrap_err();
        problems.first().map(ToString::to_string).unwrap_or_default()
    };
    for (up, words) in [
        (modem("'fq_codel'", ", low_latency = {}"), "link.up.queue: fq_codel has one queue"),
        (modem("'docsis_lld'", ""), "link.up.queue: docsis_lld needs docsis31.low_latency"),
        (format!("rate = '100mbit', {}", lld("")), "link.up.rate: 100mbit does not go with docsis31"),
        (lld("guaranteed_grant_rate = '60mbit'"), "link.up.docsis31.low_latency.guaranteed_grant_rate: 60mbit"),
        (
            lld("").replace("50mbit", "640mbit"),
            "link.up.docsis31.flow.max_sustained_rate: 640mbit is not valid on a channel",
        ),
        (
            format!("rate = '100mbit', queue = 'docsis_lld', docsis = {{ {FLOW} }}"),
            "link.up.queue: a DOCSIS 3.0 modem has one service flow",
        ),
        (format!("{}, docsis = {{ {FLOW} }}", lld("")), "link.up.docsis31: a link has one modem"),
        (
            format!("{}, shaper = {{ max_sustained_rate = '9mbit' }}", lld("")),
            "link.up.shaper: a link has a shaper or a modem",
        ),
        (
            format!("{}, changes = [{{ at = '1s', max_sustained_rate = '700mbit' }}]", lld("")),
            "link.up.changes.0.max_sustained_rate: 700mbit is not valid on a channel",
        ),
    ] {
        let told = problem(&up);
        assert!(told.starts_with(words) && !told.contains('\n'), "{told}");
    }
}

#[test]
fn the_pair_takes_turns_behind_a_shaper() {
    // a CMTS's downstream: a game and eight downloads through 100 Mbit/s
    let text = "duration = '20s'\nrecord.warm_up = '5s'\n\
        link.down = { from = 'net', to = 'home', rate = '1gbit', delay = '5ms', queue = 'docsis_lld', \
                      shaper = { max_sustained_rate = '100mbit' } }\n\
        link.up = { from = 'home', to = 'net', rate = '100mbit', delay = '5ms' }\n\
        app.bulk = { from = 'home', to = ['net'], traffic.ftp = { flows = 8, direction = 'down' } }\n\
        [app.game]\nfrom = 'net'\nto = ['home']\ndscp = 45\ntraffic.cbr = { rate = '110kbit', size = 450 }\n";
    let o = run(text);
    // one packet of the other queue at 100 Mbit/s, 0.12 ms, and what the token bucket holds
    assert!(number(&o, "apps.game.delay_ms.max") < 5.0 + 0.5, "{}", number(&o, "apps.game.delay_ms.max"));
    assert!(number(&o, "links.down.utilisation") > 0.97);
}
