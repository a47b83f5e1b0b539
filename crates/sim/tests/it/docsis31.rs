//! Tests the DOCSIS 3.1 modem and Low Latency DOCSIS under traffic: whether delays have the expected order of
//! magnitude, how the queues share the link, and which settings are refused. L is the low-latency queue, C the classic
//! queue.

use crate::common::{number, run};
use scenario::read::{Format, scenario};
use sim::Outcome;

/// Returns a scenario like the residential case in CableLabs' white paper, but smaller: a game sends 128 bytes every 33 +- 3 ms
/// beside four uploads.
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
    // the maximum delay of a game packet is the sum of a grant interval (2.025 ms), the grant's preparation (0.135 ms), the
    // packet's frame (0.135 ms) and the propagation (0.04 ms)
    assert!(number(&proactive, "apps.game.delay_ms.max") <= 2.025 + 0.135 + 0.135 + 0.04, "{delays:?}");
    // the uploads fill the link in all cases
    for o in [&pie, &requests, &proactive] {
        let goodput = number(o, "apps.bulk.goodput_mbit");
        assert!((45.0..51.5).contains(&goodput), "{goodput}");
    }
    // the game needs 31 kbit/s of the 5 Mbit/s of proactive grants, so nearly all of these grants are unused
    let grants = |key: &str| number(&proactive, &format!("links.up.grants.L.{key}_bytes"));
    assert_eq!(grants("granted"), grants("used") + grants("unused"));
    assert!(grants("used") < grants("proactive") / 20.0);
}

#[test]
fn queue_protection_sends_a_blast_to_the_other_queue() {
    let blast = "[app.blast]\nfrom = 'home'\nto = ['cmts']\ndscp = 45\nstart = '5s'\n\
                 traffic.cbr = { rate = '80mbit', size = 1200 }\n";
    let of = |protection: bool, estimate: &str| {
        let queue = format!("{{ docsis_lld = {{ queue_protection = {protection}, delay_estimate = '{estimate}' }} }}");
        run(&home(&modem(&queue, &format!(", low_latency = {{ {PGS} }}")), blast))
    };
    // the virtual queue does not count packets that wait for grants. So with the estimate `virtual_queue`, L may also
    // hold the part of the flood that arrives while a request is served, which takes 1.62 ms plus a MAP interval of
    // 2.025 ms
    for (estimate, less) in [("bytes", 0.0), ("virtual_queue", 1.62 + 2.025)] {
        let (with, without) = (of(true, estimate), of(false, estimate));
        let sanctioned = |o: &Outcome| number(o, "links.up.classes.sanctioned.offered_packets");
        let sent = number(&with, "apps.blast.datagrams_sent");
        assert!(sanctioned(&with) > 0.3 * sent && sanctioned(&without) == 0.0, "{} of {sent}", sanctioned(&with));
        // without protection, the flood fills the buffer of L except for 2000 bytes, which are kept free. The whole
        // buffer holds 10 ms of traffic
        assert!((8.0..25.0).contains(&game(&without)), "{}", game(&without));
        assert!(game(&with) - less < game(&without) / 2.0, "{estimate}: {} {}", game(&with), game(&without));
        // the game is never sanctioned: all its packets arrive
        assert_eq!(number(&with, "apps.game.dropped_packets"), 0.0);
    }
}

/// Runs four uploads with CUBIC and four with Prague; returns the two goodputs in Mbit/s, and the share of marks made by the
/// ramp.
fn two_kinds(estimate: &str, rate: &str) -> ([f64; 2], f64) {
    let prague =
        "[app.scalable]\nfrom = 'home'\nto = ['net']\ntcp = 'prague'\nstart = '1s'\ntraffic.ftp = { flows = 4 }\n";
    let low_latency =
        format!(", low_latency = {{ guaranteed_grant_rate = '{rate}', guaranteed_grant_interval = '945us' }}");
    let up = modem(&format!("{{ docsis_lld = {{ delay_estimate = '{estimate}' }} }}"), &low_latency);
    let o = run(&home(&up, prague).replace("duration = '40s'", "duration = '70s'"));
    let goodput = ["bulk", "scalable"].map(|app| number(&o, &format!("apps.{app}.goodput_mbit")));
    let marks = |reason: &str| number(&o, &format!("links.up.classes.L.marked_packets.{reason}"));
    assert!((45.0..51.5).contains(&goodput.iter().sum::<f64>()), "{goodput:?}");
    (goodput, marks("step") / (marks("step") + marks("law")))
}

#[test]
fn prague_in_one_queue_and_cubic_in_the_other_share_the_aggregate() {
    for rate in ["5mbit", "25mbit"] {
        let ([classic, scalable], ramp) = two_kinds("virtual_queue", rate);
        assert!((0.5..2.0).contains(&(scalable / classic)), "{rate}: {scalable} {classic}");
        // nearly all marks come from the coupling
        assert!(ramp < 0.05, "{rate}: {ramp}");
    }
}

#[test]
fn bytes_that_wait_for_grants_cost_prague_its_share() {
    // With the setting `bytes`, the queueing delay is estimated as the time that all waiting bytes take at MAX_RATE,
    // including bytes that only wait for a grant. These bytes alone can make the estimate longer than MAXTH (the delay
    // from which the ramp marks every packet), so most marks come from the ramp, not from the coupling. If half of the
    // rate is granted proactively, few packets wait for requested grants
    let ([classic, scalable], ramp) = two_kinds("bytes", "5mbit");
    assert!(scalable < 0.4 * classic && ramp > 0.5, "{scalable} {classic} {ramp}");
    let ([classic, scalable], fewer) = two_kinds("bytes", "25mbit");
    assert!((0.5..2.0).contains(&(scalable / classic)) && fewer < ramp, "{scalable} {classic} {fewer}");
}

#[test]
fn incompatible_settings_are_refused_with_a_message() {
    let problem = |up: &str| {
        let problems = scenario(&home(up, ""), Format::Toml, &[]).unwrap_err();
        problems.first().map(ToString::to_string).unwrap_or_default()
    };
    for (up, words) in [
        (modem("'fq_codel'", ", low_latency = {}"), "link.up.queue: fq_codel has no L queue"),
        (modem("'docsis_lld'", ""), "link.up.queue: docsis_lld needs docsis31.low_latency"),
        (format!("rate = '100mbit', {}", lld("")), "link.up.rate: 100mbit is not valid with docsis31"),
        (lld("guaranteed_grant_rate = '60mbit'"), "link.up.docsis31.low_latency.guaranteed_grant_rate: 60mbit"),
        (
            lld("").replace("50mbit", "640mbit"),
            "link.up.docsis31.flow.max_sustained_rate: 640mbit is not valid on a channel",
        ),
        (
            format!("rate = '100mbit', queue = 'docsis_lld', docsis = {{ {FLOW} }}"),
            "link.up.queue: a DOCSIS 3.0 modem has one service flow",
        ),
        (
            format!("{}, docsis = {{ {FLOW} }}", lld("")),
            "link.up.docsis31: a link has one of shaper, docsis, docsis31 and delivery; this one already has docsis",
        ),
        (
            format!("{}, shaper = {{ max_sustained_rate = '9mbit' }}", lld("")),
            "link.up.shaper: a link has one of shaper, docsis, docsis31 and delivery; this one already has docsis31",
        ),
        (
            "rate = '1gbit', queue = 'docsis_pie', docsis31 = { flow.max_sustained_rate = '9mbit', downstream = {} }"
                .to_owned(),
            "link.up.rate: 1gbit is not valid with docsis31, whose channel has 1700mbit (downstream.channel)",
        ),
        (
            "queue = 'docsis_pie', docsis31 = { flow.max_sustained_rate = '9mbit', downstream = {}, minislots = 9 }"
                .to_owned(),
            "link.up.docsis31.minislots: applies only to an upstream",
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

/// Runs the downstream of a home with a game and the applications `more`.
fn downstream(down: &str, more: &str) -> Outcome {
    run(&format!(
        "duration = '30s'\nrecord.warm_up = '10s'\n\
         link.far = {{ from = 'net', to = 'cmts', both_ways = true, delay = '10ms', rate = '1gbit' }}\n\
         link.down = {{ from = 'cmts', to = 'home', delay = '40us', {down} }}\n\
         link.up = {{ from = 'home', to = 'cmts', rate = '100mbit', delay = '40us' }}\n\
         [app.game]\nfrom = 'cmts'\nto = ['home']\ndscp = 45\n\
         traffic.cbr = {{ rate = '110kbit', size = 450 }}\n{more}"
    ))
}

fn downloads(name: &str, stack: &str, n: u32) -> String {
    format!(
        "[app.{name}]\nfrom = 'home'\nto = ['net']\ntcp = '{stack}'\n\
         traffic.ftp = {{ flows = {n}, direction = 'down' }}\n"
    )
}

/// Returns the TOML keys that make link `down` the downstream of a CMTS at 100 Mbit/s.
fn cmts(queue: &str, low_latency: &str) -> String {
    format!("queue = {queue}, docsis31 = {{ flow.max_sustained_rate = '100mbit', downstream = {{}}{low_latency} }}")
}

#[test]
fn downstream_a_game_passes_eight_downloads() {
    let bulk = downloads("bulk", "linux-6", 8);
    let tail = downstream(&cmts("{ droptail = { limit = '250ms' } }", ""), &bulk);
    let pie = downstream(&cmts("'docsis_pie'", ""), &bulk);
    let lld = downstream(&cmts("'docsis_lld'", ", low_latency = {}"), &bulk);
    let delays = [&tail, &pie, &lld].map(game);
    // with drop-tail, the expected delay is most of the buffer's 250 ms; with DOCSIS-PIE, it is about the target of 10
    // ms. In the L queue, a packet may wait until the tokens for a packet of the other queue have arrived (121 us).
    // Then it spends 105 us in the pipeline and the interleaver, and 40 us on the wire. This takes about 266 us, to
    // which up to two symbols of 22.5 us each are added
    assert!(delays[0] > 100.0 && delays[1] < 40.0 && delays[2] < 0.35, "{delays:?}");
    assert!(number(&lld, "apps.game.delay_ms.min") >= 0.145, "{}", number(&lld, "apps.game.delay_ms.min"));
    for o in [&tail, &pie, &lld] {
        // a frame of 1518 bytes carries an IP packet of 1500
        let used = number(o, "links.down.utilisation");
        assert!((0.95..1500.0 / 1518.0 + 1e-3).contains(&used), "{used}");
    }
}

#[test]
fn downstream_prague_and_cubic_share_by_coupling() {
    let both = downloads("classic", "linux-6", 2) + &downloads("scalable", "prague", 2);
    let o = downstream(&cmts("'docsis_lld'", ", low_latency = {}"), &both);
    let [classic, scalable] =
        ["classic", "scalable"].map(|app| number(&o, &format!("apps.{app}.goodput_mbit_reverse")));
    assert!((0.5..2.0).contains(&(scalable / classic)), "{scalable} {classic}");
    assert!(classic + scalable > 88.0, "{scalable} {classic}");
    // at this rate, MAXTH (the delay from which the ramp marks every packet) is 1 ms, so the L queue stays short
    assert!(game(&o) < 2.0, "{}", game(&o));
}

#[test]
fn service_flows_keep_to_their_own_rates() {
    // each queue receives a flood of 80 Mbit/s, but L has a rate of 10 Mbit/s and C a rate of 60 Mbit/s
    let blast = |name: &str, dscp: u8, way: [&str; 2]| {
        let [from, to] = way;
        format!(
            "[app.{name}]\nfrom = '{from}'\nto = ['{to}']\ndscp = {dscp}\n\
             traffic.cbr = {{ rate = '80mbit', size = 1500 }}\n"
        )
    };
    let own = ", low_latency = { flow.max_sustained_rate = '10mbit', classic_flow.max_sustained_rate = '60mbit' }";
    let queue = "{ docsis_lld = { queue_protection = false } }";
    let pair = |way: [&str; 2]| blast("low", 45, way) + &blast("classic", 0, way);
    let down = downstream(&cmts(queue, own), &pair(["cmts", "home"]));
    let up = modem(queue, own).replace("50mbit", "100mbit");
    let up = run(&home(&up, &pair(["home", "cmts"])).replace("[app.game]", "[app.other]"));
    // the configured rates count the bytes of Ethernet frames. Upstream, the CMTS grants 1.05 times the configured
    // rate, to allow for MAC headers. A full frame has 1518 bytes, or 1528 with the MAC header, so the configured rate
    // needs grants of only 1528 / 1518 = 1.0066 times this rate. C sends more frames in the rest of its grants. L does
    // not, because its virtual queue is full and drains at 10 Mbit/s
    let granted = 1.05 * 1518.0 / 1528.0;
    for (o, link, expected) in [(&down, "down", [10.0, 60.0]), (&up, "up", [10.0, 60.0 * granted])] {
        for (class, mbit) in ["L", "C"].iter().zip(expected) {
            let sent = number(o, &format!("links.{link}.classes.{class}.delivered_bytes")) * 8e-6;
            let seconds = number(o, "duration_s") - number(o, "warm_up_s");
            let rate = sent / seconds * 1518.0 / 1500.0;
            assert!((rate / mbit - 1.0).abs() < 0.01, "{link} {class}: {rate}");
        }
    }
}

#[test]
fn the_pair_takes_turns_behind_a_shaper() {
    // a game and eight downloads share the downstream of a CMTS at 100 Mbit/s
    let text = "duration = '20s'\nrecord.warm_up = '5s'\n\
        link.down = { from = 'net', to = 'home', rate = '1gbit', delay = '5ms', queue = 'docsis_lld', \
                      shaper = { max_sustained_rate = '100mbit' } }\n\
        link.up = { from = 'home', to = 'net', rate = '100mbit', delay = '5ms' }\n\
        app.bulk = { from = 'home', to = ['net'], traffic.ftp = { flows = 8, direction = 'down' } }\n\
        [app.game]\nfrom = 'net'\nto = ['home']\ndscp = 45\ntraffic.cbr = { rate = '110kbit', size = 450 }\n";
    let o = run(text);
    // the maximum delay is the sum of 5 ms of propagation, one packet of the other queue at 100 Mbit/s (0.12 ms), and the depth
    // of the token bucket
    assert!(number(&o, "apps.game.delay_ms.max") < 5.0 + 0.5, "{}", number(&o, "apps.game.delay_ms.max"));
    assert!(number(&o, "links.down.utilisation") > 0.97);
}
