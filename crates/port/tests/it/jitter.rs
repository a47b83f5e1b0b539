//! Tests of random delay on the wire: jitter is uniform and does not change which packets are lost, lateness has its
//! percentiles, and packets stay in order unless `reorder` is set.

use crate::common::{Bench, ms};
use port::Change;
use units::{Duration, Time};

/// Returns a link of 1 Gbit/s (12 us for 1500 bytes) with 10 ms of delay and 4 ms of jitter.
fn link(more: &str) -> Bench {
    Bench::new(&format!(
        "rate = '1gbit'\ndelay = '10ms'\njitter = '4ms'\nqueue = {{ droptail = {{ limit = '100000p' }} }}\n{more}"
    ))
}

/// Returns the arrival times in order of sequence number.
fn arrivals(b: &Bench) -> Vec<Time> {
    let mut all: Vec<(u64, Time)> = b.out.iter().map(|p| (p.seq, p.stamp)).collect();
    all.sort_unstable();
    all.into_iter().map(|(_, at)| at).collect()
}

#[test]
fn delays_are_uniform() {
    let mut b = link("");
    for i in 0..10_000 {
        b.burst(Time(i * 20_000_000), 1, 1500);
        b.run(Time((i + 1) * 20_000_000));
    }
    let mut tenths = [0u32; 10];
    let mut sum = 0.0;
    for (i, at) in arrivals(&b).iter().enumerate() {
        // the packet's delay minus 12 us of transmission and 10 ms of propagation, in ns
        let jitter = at.0 - i as u64 * 20_000_000 - 12_000 - 10_000_000;
        assert!(jitter <= 4_000_000);
        tenths[(jitter / 400_001) as usize] += 1;
        sum += jitter as f64;
    }
    // the mean jitter is 2 ms with a standard deviation of 4 / sqrt(12) / 100 = 0.0115 ms. Each tenth of the range has 1000 packets
    // on average, with a standard deviation of 30. The bounds are five standard deviations
    assert!((sum / 1e4 / 1e6 - 2.0).abs() < 0.058, "{}", sum / 1e10);
    assert!(tenths.iter().all(|n| (850..=1150).contains(n)), "{tenths:?}");
}

#[test]
fn packets_wait_behind_the_latest_unless_they_may_overtake() {
    let (mut kept, mut free) = (link(""), link("reorder = true"));
    for b in [&mut kept, &mut free] {
        b.burst(Time::ZERO, 2000, 1500);
        b.run(Time(1 << 40));
        assert!(b.out.windows(2).all(|w| w[0].stamp <= w[1].stamp), "passed on in the order of time");
    }
    assert!(kept.out.windows(2).all(|w| w[0].seq < w[1].seq));
    let overtaken = free.out.windows(2).filter(|w| w[0].seq > w[1].seq).count();
    // 333 packets leave within the 4 ms of jitter, so of two packets that arrive one after the other, either may have been sent
    // first, with about equal probability
    assert!((800..1200).contains(&overtaken), "{overtaken}");
    // both links drew the same delays. On the link that keeps order, a packet arrives no earlier than the packets sent before
    // it
    let mut latest = Time::ZERO;
    let behind: Vec<Time> = arrivals(&free)
        .into_iter()
        .map(|at| {
            latest = latest.max(at);
            latest
        })
        .collect();
    assert_eq!(arrivals(&kept), behind);
}

#[test]
fn the_same_packets_are_lost_with_and_without() {
    let lost = |jitter: &str| {
        let mut b = Bench::new(&format!(
            "rate = '1gbit'\nloss = 0.2\njitter = '{jitter}'\nqueue = {{ droptail = {{ limit = '100000p' }} }}"
        ));
        b.burst(Time::ZERO, 1000, 1500);
        b.run(Time(1 << 40));
        b.fates.0
    };
    assert_eq!(lost("0ms"), lost("9ms"));
    assert!(lost("0ms").len() > 100);
}

#[test]
fn it_comes_and_goes_on_a_schedule() {
    let mut b = Bench::new("rate = '1gbit'\ndelay = '10ms'\nqueue = { droptail = {} }");
    let set = |b: &mut Bench, at: Time, jitter: u64| {
        b.port.change(at, Change { jitter: Some(Duration::from_millis(jitter)), ..Change::default() });
    };
    let delay = |b: &mut Bench, at: Time| {
        b.burst(at, 1, 1500);
        b.run(at + Duration::from_secs(1));
        b.out[b.out.len() - 1].stamp.since(at)
    };
    let plain = Duration::from_micros(10_012);
    assert_eq!(delay(&mut b, ms(0.0)), plain);
    set(&mut b, ms(2000.0), 50);
    let late = delay(&mut b, ms(2000.0));
    assert!(late > plain && late <= plain + Duration::from_millis(50), "{late}");
    set(&mut b, ms(4000.0), 0);
    assert_eq!(delay(&mut b, ms(4000.0)), plain);
}

#[test]
fn a_lateness_has_its_percentiles() {
    let late = "lateness = { min = '1us', p50 = '14us', p90 = '26us', p95 = '40us', p99 = '140us', p99_9 = '1640us' }";
    let mut b =
        Bench::new(&format!("rate = '1gbit'\ndelay = '10ms'\nqueue = {{ droptail = {{ limit = '10p' }} }}\n{late}"));
    for i in 0..10_000 {
        b.burst(Time(i * 20_000_000), 1, 1500);
        b.run(Time((i + 1) * 20_000_000));
    }
    // the delay of each packet in us, minus 12 us of transmission and 10 ms of propagation
    let late: Vec<f64> =
        (0u64..).zip(arrivals(&b)).map(|(i, at)| at.0 as f64 / 1e3 - (i * 20_000 + 10_012) as f64).collect();
    assert!(late.iter().all(|l| (1.0..=1640.0).contains(l)));
    // on average, 10^4 (1 - q) of 10^4 packets exceed the quantile q, with a standard deviation of 100 sqrt(q (1 - q)). The bounds
    // are five standard deviations
    for (us, above, sd) in [(14.0, 5000, 50), (26.0, 1000, 30), (40.0, 500, 22), (140.0, 100, 10)] {
        let found = late.iter().filter(|l| **l > us).count();
        assert!(found.abs_diff(above) <= 5 * sd, "{found} above {us} us");
    }
    // 890 us is midway between the 99th percentile (140 us) and the 99.9th (1640 us), so 0.55 % of the packets exceed
    // it
    let found = late.iter().filter(|l| **l > 890.0).count();
    assert!(found.abs_diff(55) <= 37, "{found}");
}
