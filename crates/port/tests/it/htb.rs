//! Tests HTB against its closed form. Packet n of a burst that arrives at an idle link leaves when the debt of the previous
//! packets is paid, at t_n = max(0, (s_1 + .. + s_{n-1} - burst) x 8 / rate), where s_k is the size of packet k. For a token
//! bucket, the sum also includes s_n.

use crate::common::{Bench, ms, read};
use port::{Change, PortSpec};
use units::{BitRate, Time};

/// The time of the first arrivals. Both buckets are full by then.
const START: Time = Time(1_000_000_000);

fn bench(lines: &str) -> Bench {
    Bench::new(&format!("queue = {{ droptail = {{}} }}\n{lines}"))
}

/// Returns the arrival time of each packet at the far end, in ns after `START`.
fn arrivals(b: &mut Bench, end: Time) -> Vec<u64> {
    b.run(end);
    b.out.iter().map(|p| p.stamp.since(START).0).collect()
}

#[test]
fn an_idle_link_lets_frames_go_and_then_collects_the_debt() {
    let mut b = bench("rate = '10mbit'\nservice = { shaper = 'htb' }");
    b.burst(START, 5, 1514);
    // after the first packet, 1600 - 1514 = 86 B of tokens are left, so the second packet also leaves at once. The
    // third packet waits until the resulting debt of 1428 B is paid, at 0.8 us a byte, and each later packet waits
    // until the 1514 B of its predecessor are paid
    assert_eq!(arrivals(&mut b, ms(2000.0)), [0, 0, 1_142_400, 2_353_600, 3_564_800]);
    let bucket = "rate = '1gbit'\nservice = { shaper = { max_sustained_rate = '10mbit', max_traffic_burst = 1600 } }";
    let mut b = bench(bucket);
    b.burst(START, 2, 1514);
    // the second packet waits for the 1428 B of tokens that it lacks; the wire takes 12.112 us per packet
    assert_eq!(arrivals(&mut b, ms(2000.0)), [12_112, 1_142_400 + 12_112]);
}

#[test]
fn the_closed_form_holds_for_any_sizes() {
    let sizes: Vec<u16> = (0..400u32).map(|i| 60 + (i * i * 37 % 1455) as u16).collect();
    for (rate, burst) in [(1_000_000u64, 1600u64), (7_000_003, 15_000), (100_000_000, 1)] {
        let mut b = bench(&format!(
            "rate = {rate}\nservice = {{ shaper = {{ htb = {{ burst = {burst}, cburst = {burst} }} }} }}"
        ));
        sizes.iter().for_each(|s| b.burst(START, 1, *s));
        let mut before = 0u64;
        let expected: Vec<u64> = sizes
            .iter()
            .map(|s| {
                let debt = before.saturating_sub(burst);
                before += u64::from(*s);
                (debt * 8_000_000_000).div_ceil(rate)
            })
            .collect();
        assert_eq!(arrivals(&mut b, Time(1 << 60)), expected, "{rate} bit/s, {burst} B");
    }
}

#[test]
fn packets_wait_in_the_queue_and_a_debt_outlasts_an_idle_time() {
    let mut b = bench("rate = '1mbit'\nservice = { shaper = { htb = { burst = 1, cburst = 1 } } }");
    b.burst(START, 2, 1000);
    b.poll(START);
    // one byte of tokens is enough to send the first packet. The second packet waits in the queue until the debt of 999 B is
    // paid, which takes 7.992 ms
    assert_eq!((b.port.backlog().packets, b.port.deadline()), (1, START + units::Duration(7_992_000)));
    b.run(ms(1008.0));
    // the second packet's debt of 1000 B is paid at 7.992 + 8 = 15.992 ms. A packet that arrives at 10 ms must wait until then;
    // a packet that arrives at 30 ms leaves at once
    b.burst(ms(1010.0), 1, 100);
    b.run(ms(1030.0));
    b.burst(ms(1030.0), 1, 100);
    assert_eq!(arrivals(&mut b, ms(2000.0)), [0, 7_992_000, 15_992_000, 30_000_000]);
}

#[test]
fn an_empty_queue_is_not_polled() {
    // while a link with HTB is idle, RED's average does not change; with a shaper that polls an empty queue, the
    // average decays
    let red = "queue = { red = { min = '5p', max = '15p', weight = 0.1, limit = '100p', idle = 'decay_and_sample' } }";
    let average = |service: &str| {
        let mut b = Bench::new(&format!("{red}\nrate = '8mbit'\nservice = {{ shaper = {service} }}"));
        b.burst(START, 6, 1000);
        b.run(ms(5000.0));
        b.burst(ms(6000.0), 1, 1000);
        let qdisc::Discipline::Red(red) = b.port.queue().discipline() else { panic!() };
        red.law().average()
    };
    let bucket = "{ max_sustained_rate = '8mbit', max_traffic_burst = 1600 }";
    let (kept, decayed) = (average("'htb'"), average(bucket));
    assert!(kept > 0.5 && decayed < 1e-9, "{kept} {decayed}");
}

#[test]
fn the_ceil_holds_while_the_burst_lasts() {
    // packets of 1000 B take 1 ms each, at `ceil`, until they have used the burst of 10 000 B and the tokens that
    // arrive meanwhile; then they take 4 ms each, at `rate`
    let htb = "service = { shaper = { htb = { ceil = '8mbit', burst = 10000, cburst = 1 } } }";
    let mut b = bench(&format!("rate = '2mbit'\n{htb}"));
    b.burst(START, 20, 1000);
    let expected = (0..20u64).map(|n| {
        let (ceil, rate) = ((n * 1000).saturating_sub(1) * 1000, (n * 1000).saturating_sub(10_000) * 4000);
        ceil.max(rate)
    });
    assert_eq!(arrivals(&mut b, ms(3000.0)), expected.collect::<Vec<_>>());
}

#[test]
fn an_interface_behind_it_takes_one_packet_at_a_time() {
    // the interface sends at 8 Mbit/s, so a packet of 1000 B takes 1 ms. Without the interface, the burst would let five packets
    // leave at once
    let htb = "service = { shaper = { htb = { rate = '2mbit', burst = 4000, cburst = 4000 } } }";
    let mut b = bench(&format!("rate = '8mbit'\n{htb}"));
    b.burst(START, 8, 1000);
    // packet n starts when the interface is free and the debt of its predecessors, n x 1000 - 4000 B, is paid at 4 us a
    // byte; the packet ends 1 ms later
    let expected = (0..8u64).map(|n| (n * 1_000_000).max((n * 1000).saturating_sub(4000) * 4000) + 1_000_000);
    assert_eq!(arrivals(&mut b, ms(3000.0)), expected.collect::<Vec<_>>());
}

#[test]
fn a_debt_is_paid_at_the_new_rate() {
    let mut b = bench("rate = '1mbit'\nservice = { shaper = { htb = { burst = 1, cburst = 1 } } }");
    b.burst(START, 3, 1001);
    b.run(ms(1004.0));
    // the first packet leaves a debt of 1000 B. 500 B of it is paid in 4 ms at 1 Mbit/s, and the other 500 B in 1 ms at 4 Mbit/s.
    // Then the debt of the second packet, 1001 B, takes 2.002 ms
    b.port.change(ms(1004.0), Change { rate: Some(BitRate(4_000_000)), ..Change::default() });
    assert_eq!(arrivals(&mut b, ms(2000.0)), [0, 5_000_000, 7_002_000]);
    assert_eq!(b.port.link_view(ms(2000.0)).rate, BitRate(4_000_000));
    let own = "rate = '1gbit'\nservice = { shaper = { htb = { rate = '1mbit', burst = 1, cburst = 1 } } }";
    let mut b = bench(own);
    b.burst(START, 2, 1001);
    b.run(ms(1004.0));
    b.port.change(ms(1004.0), Change { max_sustained_rate: Some(BitRate(4_000_000)), ..Change::default() });
    // each packet of 1001 B takes 8.008 us on the 1 Gbit/s interface
    assert_eq!(arrivals(&mut b, ms(2000.0)), [8_008, 5_008_008]);
}

#[test]
fn words_tables_and_errors() {
    let read = |text: &str| read(&format!("queue = {{ droptail = {{}} }}\n{text}"));
    let word = read("rate = '5mbit'\nservice = { shaper = 'htb' }").unwrap();
    assert_eq!(word, read("rate = '5mbit'\nservice = { shaper = { htb = {} } }").unwrap());
    let back: PortSpec = serde_json::from_value(serde_json::to_value(&word).unwrap()).unwrap();
    assert_eq!(back, word);
    let bucket = read("service = { shaper = { max_sustained_rate = '5mbit' } }").unwrap();
    let back: PortSpec = serde_json::from_value(serde_json::to_value(&bucket).unwrap()).unwrap();
    assert_eq!(back, bucket);
    let refusal = |text: &str| match read(text) {
        Err(e) => e.to_string(),
        Ok(spec) => spec.validate().unwrap_err().to_string(),
    };
    for (text, what) in [
        ("service = { shaper = 'htb' }", "shaper.htb.rate: neither the class nor the link has a rate"),
        ("service = { shaper = 'tbf' }", "unknown variant `tbf`, expected `htb`"),
        ("service = { shaper = { htb = { brust = 1 } } }", "unknown field `brust`, expected one of `rate`, `ceil`"),
        ("service = { shaper = { max_sustained_rat = 1 } }", "unknown field `max_sustained_rat`"),
        ("rate = 1\nservice = { shaper = { htb = { burst = '0B' } } }", "shaper.htb.burst: 0B is not valid"),
        ("rate = '2mbit'\nservice = { shaper = { htb = { ceil = '1mbit' } } }", "at least the rate, 2Mbit"),
        ("rate = 1\nservice = { shaper = { htb = {}, rate = 1 } }", "\"rate\" is not valid with htb"),
    ] {
        let message = refusal(text).to_lowercase();
        assert!(message.contains(&what.to_lowercase()), "{text}: {message}");
    }
    let change = Change { max_sustained_rate: Some(BitRate(1)), ..Change::default() };
    assert_eq!(change.validate(&word).unwrap_err().path, "max_sustained_rate");
}
