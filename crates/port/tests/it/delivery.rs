//! Tests of links with opportunities. The departures on recorded traces are compared with results worked out by hand,
//! and with the results of a second method. Each delivery model is compared with the trace that it writes.

use crate::common::{Bench, ms, read};
use packet::{DropReason, OpportunityCounts};
use port::Port;
use proptest::prelude::*;
use record::LinkId;
use units::{Duration, Time};

/// Returns a link with the discipline `queue` that plays a trace with an opportunity at each time in `lines`, in ms.
/// `more` holds further keys of the trace.
fn link(lines: &[u64], queue: &str, more: &str) -> Bench {
    let text: Vec<String> = lines.iter().map(u64::to_string).collect();
    Bench::new(&format!(
        "queue = {{ {queue} }}\n[service.delivery.trace]\nfile = 'a'\nsource = '''\n{}\n'''\n{more}",
        text.join("\n")
    ))
}

fn arrivals(b: &Bench) -> Vec<(u64, Time)> {
    b.out.iter().map(|p| (p.seq, p.stamp)).collect()
}

const LONG: &str = "droptail = { limit = '100000p' }";

#[test]
fn two_packets_of_1500_bytes_and_one_opportunity() {
    // the opportunity of 1504 B at 10 ms sends the first packet and 4 B of the second packet. The opportunity at 20 ms sends
    // the other 1496 B, and has room for a third packet of 8 B
    let mut b = link(&[10], LONG, "");
    b.burst(ms(1.0), 2, 1500);
    b.run(ms(10.0));
    assert_eq!((arrivals(&b), b.port.backlog().packets), (vec![(0, ms(10.0))], 0));
    b.burst(ms(11.0), 1, 8);
    b.run(ms(40.0));
    assert_eq!(arrivals(&b)[1..], [(1, ms(20.0)), (2, ms(20.0))]);
    let c = b.port.opportunities(ms(40.5)).unwrap();
    assert_eq!((c.count, c.used, c.bytes, c.used_bytes), (4, 2, 4 * 1504, 3008));
    // an opportunity of 1500 B sends the first packet, and no byte of the second
    let mut b = link(&[10], LONG, "opportunity = 1500");
    b.burst(ms(1.0), 2, 1500);
    b.run(ms(40.0));
    assert_eq!(arrivals(&b), [(0, ms(10.0)), (1, ms(20.0))]);
}

#[test]
fn opportunities_at_the_same_time_count_as_one() {
    // the line at 10 ms ends a round, and the two lines at 0 ms begin the next round at the same time. So 3 x 1504 B can be
    // sent at 10, 20 and 30 ms
    let mut b = link(&[0, 0, 10], LONG, "");
    b.burst(ms(1.0), 3, 1504);
    b.run(ms(35.0));
    assert_eq!(arrivals(&b), [(0, ms(10.0)), (1, ms(10.0)), (2, ms(10.0))]);
    let c = b.port.opportunities(ms(35.0)).unwrap();
    assert_eq!((c.count, c.used, c.bytes, c.used_bytes), (4, 1, 11 * 1504, 3 * 1504));
}

#[test]
fn an_aggregate_of_wifi_has_at_most_mpdus_packets() {
    for (mpdus, size) in [(1, 50), (1, 1504), (5, 50), (5, 1000)] {
        let mut b = Bench::new(&format!(
            "queue = {{ {LONG} }}\nservice = {{ delivery = {{ wifi = {{ rate = '1gbit', mpdus = {mpdus} }} }} }}"
        ));
        b.burst(ms(0.0), 20_000, size);
        b.run(ms(200.0));
        let c = b.port.opportunities(ms(200.5)).unwrap();
        // several turns may end in the same ms, but each turn has the bytes of `mpdus` packets of 1504 B
        let turns = c.bytes / (mpdus * 1504);
        assert!(turns > 50, "{turns}");
        assert_eq!(b.out.len() as u64, turns * mpdus, "{mpdus} packets of {size} B");
    }
    // at 10 Mbit/s, `txop` (4 ms) limits an aggregate to the bytes of 3 packets of 1504 B. These bytes hold more than 64
    // packets of 50 B, so `mpdus` (64) limits their number
    let mut b = Bench::new(&format!(
        "queue = {{ {LONG} }}\nservice = {{ delivery = {{ wifi = {{ rate = '10mbit', stations = 0 }} }} }}"
    ));
    b.burst(ms(0.0), 20_000, 50);
    b.run(ms(200.0));
    let turns = b.port.opportunities(ms(200.5)).unwrap().bytes / (3 * 1504);
    assert_eq!(b.out.len() as u64, turns * 64);
    // a turn carries 1504 B of one packet, so a packet of 3000 B takes two turns
    let mut b = Bench::new(&format!(
        "queue = {{ {LONG} }}\nservice = {{ delivery = {{ wifi = {{ rate = '1gbit', mpdus = 1 }} }} }}"
    ));
    b.burst(ms(0.0), 2000, 3000);
    b.run(ms(200.0));
    let turns = b.port.opportunities(ms(200.5)).unwrap().bytes / 1504;
    assert!(turns > 50 && b.out.len() as u64 == turns / 2, "{turns}");
}

#[test]
fn an_arrival_in_the_same_millisecond_has_missed_it() {
    let mut b = link(&[10, 13], LONG, "");
    b.burst(ms(10.0), 1, 1500);
    // this packet is in time for the opportunity at 13 ms. In mahimahi, the packet is in time too: mahimahi reads a
    // clock in whole milliseconds, and this clock shows 12 ms at 12.999 ms
    b.burst(ms(12.999), 1, 4);
    b.run(ms(13.0));
    assert_eq!(arrivals(&b), [(0, ms(13.0)), (1, ms(13.0))]);
    // an opportunity comes before an arrival at the same time, whatever the order of the host's calls
    let mut b = link(&[10], LONG, "");
    b.poll(ms(10.0));
    b.burst(ms(10.0), 1, 1500);
    b.run(ms(20.0));
    assert_eq!(arrivals(&b), [(0, ms(20.0))]);
}

#[test]
fn a_saturated_link_carries_lines_times_1504_bytes_per_period() {
    // each line of the trace is an opportunity of 1504 B, so 7 lines per period of 31 ms carry 7 x 1504 x 8 / 31 ms =
    // 2.717 Mbit/s. One second contains 32 whole periods and the first 8 ms of the 33rd, in which there are three
    // opportunities: two at 3 ms, and one at 8 ms
    let lines = [3, 3, 8, 20, 20, 20, 31];
    let mut b = link(&lines, LONG, "");
    b.burst(Time::ZERO, 1000, 1504);
    for round in 1..=20u64 {
        b.run(ms(31.0 * round as f64));
        assert_eq!(b.port.counters().delivered.bytes, 7 * 1504 * round);
    }
    b.run(ms(1000.0));
    assert_eq!(b.out.len(), 7 * 32 + 3);
    assert_eq!(b.port.link_view(ms(0.0)).rate.0, 7 * 1504 * 8 * 1000 / 31);
    // the 7 x 32 + 3 = 227 opportunities can carry 227 x 1504 = 341 408 bytes. A packet of 1500 bytes may be split
    // between opportunities, so none of these bytes is left unused
    let mut b = link(&lines, LONG, "");
    b.burst(Time::ZERO, 1000, 1500);
    b.run(ms(1000.0));
    assert_eq!((b.out.len(), b.port.opportunities(ms(1000.0)).unwrap().used_bytes), (227 * 1504 / 1500, 227 * 1504));
}

#[test]
fn an_idle_link_has_no_moments() {
    let mut b = link(&[10], LONG, "");
    assert_eq!(b.port.deadline(), Time::NEVER);
    b.burst(ms(101.0), 1, 1500);
    assert_eq!(b.port.deadline(), ms(110.0));
    b.run(Time(1 << 50));
    assert_eq!((arrivals(&b), b.port.deadline()), (vec![(0, ms(110.0))], Time::NEVER));
    let c = b.port.opportunities(ms(1000.0)).unwrap();
    assert_eq!((c.count, c.used, c.longest_gap), (99, 1, Duration::from_millis(10)));
}

#[test]
fn gaps_are_counted() {
    // the gaps are 0-200, 200-201 and 201-500 ms, and in the second round 500-700, 700-701 and 701-1000 ms
    let mut b = link(&[200, 201, 500], LONG, "");
    b.run(ms(1000.0));
    let c = b.port.opportunities(ms(1000.5)).unwrap();
    assert_eq!((c.count, c.long_gaps, c.longest_gap), (6, 4, Duration::from_millis(299)));
    assert_eq!((c.used, c.used_bytes), (0, 0));
}

#[test]
fn a_gap_counts_while_it_lasts() {
    // one opportunity in each of the first 300 ms, then a gap until 2000 ms
    let lines: Vec<u64> = (1..=300).chain([2000]).collect();
    let mut b = link(&lines, LONG, "opportunity = 1500");
    let gaps = |b: &Bench, at: f64, before: OpportunityCounts| {
        let c = b.port.opportunities(ms(at)).unwrap().since(before);
        (c.long_gaps, c.longest_gap.0 / 1_000_000)
    };
    let start = OpportunityCounts::default();
    assert_eq!(gaps(&b, 400.0, start), (0, 100));
    assert_eq!(gaps(&b, 1900.0, start), (1, 1600));
    // a packet that waits makes no difference
    b.run(ms(1000.0));
    b.burst(ms(1000.0), 1, 1500);
    assert_eq!(gaps(&b, 1900.0, start), (1, 1600));
    // a gap counts in full if the warm-up ends within it, because the gap itself ends after the warm-up
    let warmed = b.port.opportunities(ms(1000.0)).unwrap();
    assert_eq!(gaps(&b, 1900.0, warmed), (1, 1600));
    b.run(ms(2050.0));
    assert_eq!((gaps(&b, 2050.0, start), gaps(&b, 2050.0, warmed)), ((1, 1700), (1, 1700)));
}

#[test]
fn codel_drops_after_a_gap_by_its_own_law() {
    // A packet arrives in each ms. An opportunity occurs in each ms, except for a gap from 200 to 500 ms. From 500 ms
    // on, the head of the queue has waited 299.5 ms, less 1 ms for each drop so far. This is above the target, so the
    // first drop comes one interval later, and drop k + 1 comes 100 ms / sqrt(k) after drop k. The drops up to 1500 ms
    // are at 600, 700, 770.7, 828.4, 878.4, 923.1, 964.0, 1001.8, 1037.1, 1070.5, 1102.1, ...
    let lines: Vec<u64> = (1..=200).chain(500..=3000).collect();
    let mut b = link(&lines, "codel = { limit = '1000p' }", "opportunity = 1500");
    for k in 0..1500 {
        b.run(ms(f64::from(k) + 0.5));
        b.burst(ms(f64::from(k) + 0.5), 1, 1500);
    }
    let mut due = 600.0;
    let mut by_hand = 0;
    while due <= 1499.0 {
        by_hand += 1;
        due += 100.0 / f64::from(by_hand).sqrt();
    }
    assert_eq!(b.dropped(DropReason::EarlyHead), by_hand as usize);
    assert!((22..=28).contains(&by_hand), "{by_hand}");
    // the packets that CoDel drops at 600, 700 and 771 ms arrived in the gap, at 300.5, 401.5 and 473.5 ms. The packet
    // dropped at 829 ms arrived after the gap, at 532.5 ms
    assert_eq!(b.port.opportunities(ms(1499.0)).unwrap().gap_drops, 3);
    // CoDel drops nothing: before the gap each packet leaves within 1 ms, and only one packet waits in the gap
    let mut b = link(&lines, "codel = { limit = '1000p' }", "opportunity = 1500");
    for k in 0..201 {
        b.run(ms(f64::from(k) + 0.5));
        b.burst(ms(f64::from(k) + 0.5), 1, 1500);
    }
    b.run(ms(1000.0));
    assert_eq!((b.fates.0.len(), b.out.len(), b.out[200].stamp), (0, 201, ms(500.0)));
}

#[test]
fn drops_of_a_gap_are_those_that_waited_in_it() {
    // the queue has room for two packets. Opportunities are at 10, 20, 50 and 250 ms, then at 260, 270, 300 and 500 ms: only
    // the gaps before 250 and 500 ms are long
    let mut b = link(&[10, 20, 50, 250], "droptail = { limit = '2p' }", "opportunity = 1500");
    let gap_drops = |b: &Bench, at: f64| b.port.opportunities(ms(at)).unwrap().gap_drops;
    // before the first long gap, three packets arrive at once, and two of them find room; the drop of the third does not count
    b.burst(ms(1.0), 3, 1500);
    assert_eq!((b.fates.0.len(), gap_drops(&b, 1.5)), (1, 0));
    // at 100 ms, the link is idle and was last polled 50 ms ago. Three packets arrive during the gap, and the third is
    // dropped at once, so this drop counts
    b.run(ms(100.0));
    b.burst(ms(100.0), 3, 1500);
    assert_eq!((b.fates.0.len(), gap_drops(&b, 100.5)), (2, 1));
    // a drop after the gap does not count
    b.run(ms(260.5));
    b.burst(ms(260.5), 3, 1500);
    assert_eq!((b.fates.0.len(), gap_drops(&b, 261.0)), (3, 1));
    // the opportunity at 550 ms is the last before a long gap. Packets that arrive at 550 ms miss this opportunity, so
    // they arrive in the gap, and the drop of the third packet counts as a drop in the gap
    b.run(ms(550.0));
    b.burst(ms(550.0), 3, 1500);
    assert_eq!((b.fates.0.len(), gap_drops(&b, 551.0)), (4, 2));
}

#[test]
fn a_drop_that_waited_through_two_gaps_counts_once() {
    // each opportunity sends one packet, and the gaps are 150 ms. The oldest packet is dropped to make room for the newest
    let mut b = link(&[150], "droptail = { limit = '2p', drop_head = true }", "opportunity = 1500");
    b.burst(ms(1.0), 2, 1500);
    b.run(ms(160.0));
    b.burst(ms(160.0), 1, 1500);
    assert_eq!(b.port.opportunities(ms(160.0)).unwrap().gap_drops, 0);
    b.burst(ms(170.0), 1, 1500);
    assert_eq!(b.port.opportunities(ms(170.0)).unwrap().gap_drops, 1);
}

#[test]
fn invalid_deliveries_are_refused() {
    let problem = |text: &str| {
        let spec = read(&format!("queue = {{ droptail = {{}} }}\n{text}")).unwrap();
        let p = Port::build(&spec, LinkId(0), 1, "x").unwrap_err();
        format!("{}: {}", p.path, p.message)
    };
    let missing = problem("service = { delivery = { trace = { file = 'lte.down' } } }");
    assert!(missing.starts_with("delivery.trace.file: \"lte.down\" has not been read"), "{missing}");
    let small = problem("service = { delivery = { trace = { source = '+1', opportunity = 27 } } }");
    assert!(small.starts_with("delivery.trace.opportunity: 27B is not valid"), "{small}");
    assert!(problem("service = { delivery = { trace = {} } }").starts_with("delivery.trace.file: is missing"));
    let falls = "queue = 'droptail'\nservice = { delivery = { trace = { source = '+1 -2' } } }";
    let message = read(falls).unwrap_err().to_string();
    assert!(message.contains("line 2: \"-2\" is not valid; expected +MS or +MSxCOUNT"), "{message}");
}

proptest! {
    /// Departures agree with those computed by counting bytes instead of packets. If A bytes arrived and S bytes were sent before
    /// an opportunity of b bytes, then min(A, S + b) bytes have been sent after it. A packet leaves with the opportunity that sends
    /// its last byte.
    #[test]
    fn departures_are_those_of_the_bytes(
        gaps in prop::collection::vec(0u64..9, 2..40),
        packets in prop::collection::vec((0u64..6_000, 1u16..=1504), 1..200),
        start in 0u64..300,
    ) {
        let mut lines: Vec<u64> = gaps.iter().scan(0, |t, g| { *t += g; Some(*t) }).collect();
        lines.push(lines[lines.len() - 1] + 1);
        let period = *lines.last().unwrap();
        let mut b = link(&lines, LONG, &format!("start = '{start}ms'"));
        let (mut now, mut arrived, mut expected) = (0u64, Vec::new(), Vec::new());
        for (gap, size) in packets {
            now += gap; // us
            b.run(Time(now * 1000));
            b.burst(Time(now * 1000), 1, size);
            arrived.push((now, u64::from(size)));
        }
        let (mut sent, mut total, mut k) = (0u64, 0u64, 0usize);
        let mut covered: Vec<u64> = Vec::new();
        for (_, size) in &arrived { total += size; covered.push(total); }
        // each iteration of the inner loop is one opportunity; the loops end when every packet has been sent
        'rounds: for round in 0u64.. {
            for line in &lines {
                let Some(at) = (round * period + line).checked_sub(start % period) else { continue };
                let there: u64 = arrived.iter().filter(|(t, _)| *t < at * 1000).map(|a| a.1).sum();
                sent = there.min(sent + 1504).max(sent);
                while k < covered.len() && covered[k] <= sent {
                    expected.push((k as u64, Time(at * 1_000_000)));
                    k += 1;
                }
                if k == covered.len() { break 'rounds }
            }
        }
        b.run(Time(expected.last().unwrap().1.0 + 1));
        prop_assert_eq!(arrivals(&b), expected);
    }
}

#[test]
fn a_file_that_cannot_be_written_is_refused_with_its_reason() {
    let refusal = |service: &str, span: Duration| {
        let delivery: port::Delivery = serde_json::from_value(toml::from_str(service).unwrap()).unwrap();
        delivery.file(1, "up", span).unwrap_err().to_string()
    };
    // the trace has an opportunity at 0 and at 100 ms in each round
    let trace = "[trace]\nsource = '+0 +100'";
    assert_eq!(
        refusal(trace, Duration::from_millis(50)),
        "duration: 50ms has opportunities only at 0 ms; expected a longer time"
    );
    assert_eq!(
        refusal(trace, Duration::from_secs(1_000_001)),
        "duration: 1000001s is not valid; expected at most 1000000s, the longest trace"
    );
    assert_eq!(
        refusal("[trace]\nsource = '+100'", Duration::from_millis(50)),
        "duration: 50ms has no opportunity; expected a longer time"
    );
}

#[test]
fn a_model_and_the_file_that_it_writes_are_the_same_link() {
    for (name, table) in [
        ("lte", "{ way = 'up' }"),
        ("wifi", "{ stations = 2 }"),
        // a turn takes about 0.4 ms on average, so most milliseconds contain several turns
        ("wifi", "{ stations = 0, mpdus = 1, txop = '1ms' }"),
        ("starlink", "{ delay_swing = '0s' }"),
    ] {
        let spec = format!("queue = {{ {LONG} }}\nservice = {{ delivery = {{ {name} = {table} }} }}");
        let delivery: port::Delivery =
            serde_json::from_value(toml::from_str(&format!("{name} = {table}")).unwrap()).unwrap();
        let file = delivery.file(1, "up", Duration::from_secs(20)).unwrap();
        let mut played =
            Bench::new(&format!("queue = {{ {LONG} }}\n[service.delivery.trace]\nsource = '''\n{file}'''"));
        let mut model = Bench::named(&spec, "link.up");
        for b in [&mut played, &mut model] {
            for k in 0..18_000u64 {
                let now = Time(k * 1_000_100);
                b.run(now);
                b.burst(now, 1 + (k % 3) as usize, 1500);
            }
        }
        assert_eq!(arrivals(&played), arrivals(&model), "{name}");
        assert_eq!(played.port.opportunities(ms(18_000.0)), model.port.opportunities(ms(18_000.0)), "{name}");
        assert!(played.out.len() > 4000, "{name}: {}", played.out.len());
        assert_ne!(delivery.file(2, "up", Duration::from_secs(20)).unwrap(), file, "{name}: another seed");
    }
}
