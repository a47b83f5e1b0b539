//! Tests of strict priority against closed forms: leftover capacity, starvation, and Cobham's waiting times.

use crate::common::{Bench, Source};
use qdisc::Spec;

const MBIT: f64 = 1e6;
const LINK: f64 = 10.0 * MBIT;
/// Code points that go to bands 0, 1 and 2. Their types of service are "minimize delay" (band 0), none (band 1) and
/// "maximize throughput" (band 2).
const BANDS: [u8; 3] = [4, 0, 2];

fn bench() -> Bench {
    let text = r#"{"fair":{"classifier":"prio","scheduler":"strict_priority","limit":"20000p","queue_limit":"2000p"}}"#;
    let spec: Spec = serde_json::from_value(text.parse().unwrap()).unwrap();
    spec.validate().unwrap();
    Bench::new(spec, LINK)
}

fn stream(band: usize, rate: f64) -> Source {
    Source::udp(rate, 1000).dscp(BANDS[band])
}

#[test]
fn a_band_gets_what_those_before_it_leave_and_starves_if_that_is_nothing() {
    // the link sends 10 Mbit/s. Bands 0 and 1 get the 6 and 3 Mbit/s that they offer. Band 2 offers 8 Mbit/s and gets
    // the remaining 1 Mbit/s
    let run = bench().run(&[stream(0, 6.0 * MBIT), stream(1, 3.0 * MBIT), stream(2, 8.0 * MBIT)], 10.0, 60.0);
    for (band, rate) in [6.0, 3.0, 1.0].into_iter().enumerate() {
        assert!((run.rate(band) / MBIT - rate).abs() < 0.002, "{band}: {}", run.rate(band));
    }
    assert_eq!((run.dropped(0), run.dropped(1)), (0, 0));
    // band 0 offers more than the link carries, so when its queue has filled, no other band sends a packet
    let run = bench().run(&[stream(0, 12.0 * MBIT), stream(1, MBIT), stream(2, MBIT)], 10.0, 60.0);
    assert_eq!((run.rate(1), run.rate(2)), (0.0, 0.0));
    assert!((run.rate(0) / LINK - 1.0).abs() < 1e-3 && (run.loss(0) - 1.0 / 6.0).abs() < 1e-3, "{}", run.loss(0));
}

#[test]
fn waiting_times_are_cobhams() {
    // Cobham 1954, without preemption: the mean wait of a packet in band k is W_k = R / ((1 - s_{k-1}) (1 - s_k)),
    // where s_k is the load of bands 0 ... k together, and R = total load x 0.8 ms / 2. By Little's law, the mean
    // number of packets that wait in band k is W_k times the band's rate in packets per second.
    let loads = [0.3, 0.25, 0.25];
    let sources: Vec<Source> = loads.iter().enumerate().map(|(i, l)| stream(i, l * LINK).poisson()).collect();
    let run = bench().run(&sources, 10.0, 1000.0);
    let service = 0.8e-3;
    let residual = loads.iter().sum::<f64>() * service / 2.0;
    let mut before = 0.0;
    for (band, load) in loads.into_iter().enumerate() {
        let wait = residual / ((1.0 - before) * (1.0 - before - load));
        let (seen, expected) = (run.mean_packets(band), load / service * wait);
        assert!((seen / expected - 1.0).abs() < 0.04, "band {band}: {seen} packets wait, not {expected}");
        before += load;
    }
}
