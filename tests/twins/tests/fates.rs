//! The simulator and the live bench produce the same records: on a plain link under every discipline without required
//! parameters, and with a shaper, a modem, changes of the link, jitter and impairments.

use record::{LinkId, Record};
use scenario::Scenario;
use scenario::read::{Format, scenario};
use twins::{TimedRecord, replayed, simulated, tuple};
use units::Time;

/// Returns a scenario with three unresponsive flows, which together send 14 Mbit/s, more than the link carries for
/// long. They send at random times, so that no two packets arrive at the same time.
fn overload(link: &str) -> Scenario {
    let mut text = format!("seed = 5\nduration = '4s'\n[link.up]\nfrom = 'a'\nto = 'b'\n{link}\n");
    text += "[link.down]\nfrom = 'b'\nto = 'a'\nrate = '50mbit'\ndelay = '3ms'\n";
    // applications start in the order of their names, so the flow of application n has index (slot) n in the flow table
    for (i, (rate, size)) in [("4mbit", 1400), ("3.2mbit", 700), ("6.8mbit", 1000)].iter().enumerate() {
        text += &format!(
            "[app.a{i}]\nfrom = 'a'\nto = ['b']\nstart = '{}ms'\ndscp = {}\n\
             traffic.cbr = {{ rate = '{rate}', size = {size}, randomize = 0.9 }}\n",
            1 + i,
            8 * i,
        );
    }
    scenario(&text, Format::Toml, &[]).unwrap_or_else(|p| panic!("{p:?}\n{text}"))
}

fn of(records: &[TimedRecord], link: u16) -> Vec<TimedRecord> {
    let is = |r: &Record| match *r {
        Record::Enqueued { link: l, .. }
        | Record::Dequeued { link: l, .. }
        | Record::Dropped { link: l, .. }
        | Record::Marked { link: l, .. } => l == LinkId(link),
        _ => false,
    };
    // datagrams on the live bench have no sequence numbers
    let unnumbered = |(at, mut r): TimedRecord| {
        match &mut r {
            Record::Enqueued { packet, .. }
            | Record::Dequeued { packet, .. }
            | Record::Dropped { packet, .. }
            | Record::Marked { packet, .. }
            | Record::Delivered { packet, .. } => packet.seq = 0,
            Record::Sender { .. } => {}
        }
        (at, r)
    };
    records.iter().filter(|(_, r)| is(r)).copied().map(unnumbered).collect()
}

fn same(what: &str, scenario: &Scenario) {
    let expected = simulated(scenario);
    let tuples: Vec<_> = (0..3).map(|i| tuple(i, i, 0, 1, 8 * i as u8)).collect();
    let got = replayed(scenario, &expected, &tuples);
    for link in 0..2 {
        let (expected, got) = (of(&expected, link), of(&got, link));
        if let Some(i) = (0..expected.len().min(got.len())).find(|i| expected[*i] != got[*i]) {
            panic!("{what}, link {link}, record {i}:\n  simulated {:?}\n  live      {:?}", expected[i], got[i]);
        }
        assert_eq!(expected.len(), got.len(), "{what}, link {link}");
    }
    // the comparison covers many drops and many other records
    let count = |drop: bool| expected.iter().filter(|(_, r)| matches!(r, Record::Dropped { .. }) == drop).count();
    assert!(count(true) > 50 && count(false) > 1000, "{what}: {} drops", count(true));
    assert!(expected.iter().all(|(at, _)| *at < Time(scenario.duration.0)));
}

#[test]
fn every_discipline_on_a_plain_link() {
    let mut tried = 0;
    for q in qdisc::QDISCS {
        let link = format!("rate = '5mbit'\ndelay = '2ms'\nloss = 0.01\nqueue = {{ {} = {{}} }}", q.name);
        let text = format!("duration = '1s'\n[link.up]\nfrom = 'a'\nto = 'b'\n{link}\n");
        // a discipline with a required parameter is skipped
        if scenario(&text, Format::Toml, &[]).is_ok() {
            same(q.name, &overload(&link));
            tried += 1;
        }
    }
    assert!(tried >= 2);
}

#[test]
fn shaped_and_changed_on_the_way() {
    let shaper = "rate = '100mbit'\ndelay = '2ms'\nqueue.codel = {}\n\
                  shaper = { max_sustained_rate = '4mbit', max_traffic_burst = '100KB', peak_traffic_rate = '20mbit' }";
    same("shaper", &overload(shaper));
    let modem = "rate = '100mbit'\ndelay = '2ms'\nqueue.codel = { limit = '100p' }\n\
                 docsis = { flow = { max_sustained_rate = '4mbit', max_traffic_burst = '100KB', peak_traffic_rate = '20mbit' } }";
    same("modem", &overload(modem));
    let changes = "rate = '8mbit'\ndelay = '2ms'\nqueue.droptail = { limit = '20p' }\n\
                   changes = [{ at = '1s', rate = '2mbit' }, { at = '2s', rate = '9mbit', delay = '9ms', loss = 0.2 }]";
    same("changes", &overload(changes));
}

#[test]
fn jitter_and_impairments_shake_both_worlds_alike() {
    // the jitter and impairments of link `in` decide when packets arrive at the queue of link `out`
    for more in [
        "",
        "reorder = true\n",
        "loss = 0.05\nchanges = [{ at = '2s', jitter = '300us' }]\n",
        "impairments.policer = { rate = '12mbit', burst = '30KB' }\n",
        "impairments.burst_loss = { p = '1%', r = '20%' }\n",
        "impairments.retransmission = { failure = '10%', delay = '5ms', attempts = 3 }\n",
        "impairments.reordering = { chance = '2%', by = '7ms' }\n",
        "impairments.batches = '10ms'\n",
        "impairments.duplicates = '5%'\n",
    ] {
        let first = format!("[link.in]\nfrom = 'a'\nto = 'r'\nrate = '15mbit'\ndelay = '2ms'\njitter = '3ms'\n{more}");
        let out = "[link.out]\nfrom = 'r'\nto = 'b'\nrate = '5mbit'\nqueue.codel = { limit = '50p' }\n";
        let mut text =
            format!("seed = 5\nduration = '4s'\n{first}{out}[link.back]\nfrom = 'b'\nto = 'a'\nrate = '50mbit'\n");
        for (i, (rate, size)) in [("4mbit", 1400), ("3.2mbit", 700), ("6.8mbit", 1000)].iter().enumerate() {
            text += &format!(
                "[app.a{i}]\nfrom = 'a'\nto = ['b']\nstart = '{}ms'\n\
                 traffic.cbr = {{ rate = '{rate}', size = {size}, randomize = 0.9 }}\n",
                1 + i,
            );
        }
        let scenario = scenario(&text, Format::Toml, &[]).unwrap_or_else(|p| panic!("{p:?}\n{text}"));
        let expected = simulated(&scenario);
        let tuples: Vec<_> = (0..3).map(|i| tuple(i, i, 0, 1, 0)).collect();
        // links are numbered in the order of their names: 0 is `back`, 1 is `in`, and 2 is `out`
        let entering = of(&expected, 1);
        let got = replayed(&scenario, &entering, &tuples);
        for link in [1, 2] {
            let (expected, got) = (of(&expected, link), of(&got, link));
            assert_eq!(expected.iter().zip(&got).find(|(a, b)| a != b), None, "{more}, link {link}");
            assert_eq!(expected.len(), got.len(), "{more}, link {link}");
        }
        let drops = of(&expected, 2).iter().filter(|(_, r)| matches!(r, Record::Dropped { .. })).count();
        assert!(drops > 50 && of(&expected, 2).len() > 2000, "{drops}");
    }
}
