//! Tests of the modem: single packets, proactive grants, unused grants and fragments.

use super::*;
use crate::params31::LowLatencyParams;

fn params(low_latency: Option<LowLatencyParams>) -> Docsis31Params {
    let flow = ShaperParams {
        max_sustained_rate: BitRate(50_000_000),
        max_traffic_burst: Bytes(3044),
        peak_traffic_rate: None,
        peak_burst: Bytes(1522),
    };
    Docsis31Params { low_latency, ..Docsis31Params::new(flow) }
}

fn pgs(us: u64) -> Option<LowLatencyParams> {
    Some(LowLatencyParams {
        guaranteed_grant_rate: Some(BitRate(5_000_000)),
        guaranteed_grant_interval: Some(Duration::from_micros(us)),
        ..LowLatencyParams::default()
    })
}

/// Sends packets (time, service flow, size) through a modem. Returns the modem and, for each departure, the packet's number, its
/// service flow, and its delay until the end of its frame.
fn run(p: &Docsis31Params, offers: &[(Time, usize, u16)], end: Time) -> (Modem31, Vec<(u64, usize, Duration)>) {
    let (mut modem, mut rng) = (Modem31::new(p), Rng::named(1, "map"));
    let mut queues: [VecDeque<PacketMeta>; 2] = Default::default();
    let (mut out, mut next) = (Vec::new(), 0);
    loop {
        let offer = offers.get(next).map_or(Time::NEVER, |o| o.0);
        let now = modem.deadline().min(offer);
        if now >= end {
            return (modem, out);
        }
        if offer <= modem.deadline() {
            let (stamp, flow, size) = offers[next];
            queues[flow].push_back(PacketMeta {
                stamp,
                seq: next as u64,
                size,
                class: flow as u8,
                ..Default::default()
            });
            modem.notify(now, &mut rng);
            next += 1;
            continue;
        }
        let frames = |q: &VecDeque<PacketMeta>| q.iter().map(|p| docsis_frame(p.bytes())).sum::<u64>();
        let waiting = [frames(&queues[L]), frames(&queues[C])];
        let mut depart = |p: PacketMeta, end: Time| out.push((p.seq, usize::from(p.class), end.since(p.stamp)));
        match modem.advance(now, waiting, &mut rng, &mut depart) {
            Action::Wait => {}
            Action::Dequeue(ServiceFlow::LowLatency) => modem.dequeued(queues[L].pop_front()),
            Action::Dequeue(ServiceFlow::Classic) => modem.dequeued(queues[C].pop_front()),
        }
    }
}

/// Returns `n` packets of 1500 bytes, which arrive about 50 ms apart, at random times that do not depend on the MAPs.
fn lonely(n: u64, flow: usize) -> Vec<(Time, usize, u16)> {
    let mut rng = Rng::named(9, "offers");
    (0..n).map(|i| (Time(i * 50_000_000 + rng.below(20_000_000)), flow, 1500)).collect()
}

#[test]
fn a_lonely_packet_takes_the_whole_loop() {
    let offers = lonely(4000, C);
    let (modem, out) = run(&params(None), &offers, Time(1 << 60));
    assert_eq!((out.len(), modem.inside()), (4000, 0));
    let ms: Vec<f64> = out.iter().map(|o| o.2.millis()).collect();
    let (least, most) = ms.iter().fold((f64::MAX, 0.0f64), |(a, b), x| (a.min(*x), b.max(*x)));
    // the minimum delay is MinReqGntDelay plus one frame: 1.62 + 0.135 = 1.755 ms. The maximum delay has three parts: a
    // packet that arrives at the start of a MAP waits up to 2 x 2.025 ms for its request, which is sent by the end of
    // the next MAP; then MinReqGntDelay of 1.62 ms passes; and then up to 2 x 2.025 ms pass until the packet's frame
    // ends, because the next MAP begins after up to 2.025 ms, and the grant may be in that MAP's last frame. The sum is
    // 9.72 ms
    assert!((1.755..2.3).contains(&least) && (7.0..9.72).contains(&most), "{least} {most}");
    // the mean delay is the sum of five times:
    //   - 7/12 of a MAP until the request. The request's time is drawn uniformly in the current MAP or, if the drawn
    //     time has already passed, in the next MAP
    //   - MinReqGntDelay
    //   - the time until the next MAP starts. It depends on the frame k of the MAP in which the request is sent; frame
    //     k has the probability ((k + 1/2)/15 + 1/2)/15
    //   - 7 frames from the start of the MAP to the grant
    //   - one frame for the transmission
    let wait = |k: u64| ((15 - (k + 12) % 15) % 15) as f64;
    let to_map: f64 = (0..15).map(|k| ((k as f64 + 0.5) / 15.0 + 0.5) / 15.0 * wait(k)).sum();
    let expected = 2.025 * 7.0 / 12.0 + 1.62 + 0.135 * (to_map + 7.0 + 1.0);
    let mean = ms.iter().sum::<f64>() / 4000.0;
    assert!((mean / expected - 1.0).abs() < 0.03, "{mean} {expected}");
}

#[test]
fn with_proactive_grants_a_packet_only_waits_for_the_next_one() {
    for (ggi, frames) in [(2025, 15), (1000, 7), (540, 4)] {
        let low = LowLatencyParams { guaranteed_grant_rate: Some(BitRate(25_000_000)), ..pgs(ggi).unwrap() };
        for prepared in [0, 135] {
            let p = Docsis31Params { burst_preparation: Duration::from_micros(prepared), ..params(Some(low.clone())) };
            let (_, out) = run(&p, &lonely(3000, L), Time(151_000_000_000));
            assert_eq!(out.len(), 3000);
            let most = out.iter().map(|o| o.2).max().unwrap();
            // the delay is longest for a packet that just misses the preparation of a burst. It waits until the next
            // burst is prepared, `frames` frames later; that burst's frame begins `prepared` us after its preparation,
            // and the packet leaves when the frame ends
            let bound = Duration::from_micros(frames * 135 + prepared + 135);
            assert!(most <= bound && most + Duration::from_micros(20) > bound, "{most} {bound}");
            let least = out.iter().map(|o| o.2).min().unwrap();
            assert!(least >= Duration::from_micros(prepared + 135));
        }
    }
}

#[test]
fn requested_grants_are_used_and_proactive_ones_may_be_wasted() {
    // 300 packets arrive at once: 458 400 B of frames take 69.85 ms at 52.5 Mbit/s, after the delay of the request/grant loop
    let offers = vec![(Time(1_000_000), C, 1500); 300];
    let (modem, out) = run(&params(None), &offers, Time(1_000_000_000));
    let [l, c] = modem.counts();
    assert_eq!(l, GrantCounts::default());
    assert_eq!((c.requested, c.used, c.proactive), (300 * 1528, 300 * 1528, 0));
    // at most one minislot (48 B) of each grant stays unused. There is one grant per MAP (2.025 ms), so there are fewer
    // than 50 grants in 80 ms
    assert!(c.granted >= c.used && c.granted - c.used < 48 * 50, "{c:?}");
    let last = out.last().unwrap().2.millis();
    assert!((69.0..80.0).contains(&last), "{last}");
    assert!(out.windows(2).all(|w| w[0].0 < w[1].0), "in order");
    // a modem without packets has proactive grants of 13 minislots every 945 us for a second, and uses none of them
    let (modem, _) = run(&params(pgs(1000)), &[], Time(1_000_000_000));
    let [l, _] = modem.counts();
    assert_eq!((l.granted, l.proactive, l.used), (l.granted, l.granted, 0));
    assert!(l.granted.abs_diff(1_000_000 / 945 * 13 * 48) <= 2 * 13 * 48, "{l:?}");
}

#[test]
fn unused_proactive_grants_give_way_to_the_other_flow() {
    // C always has packets, and gets the whole aggregate of 52.5 Mbit/s, because L uses none of its proactive grants
    let offers: Vec<_> = (0..9000).map(|_| (Time(0), C, 1500)).collect();
    let (modem, _) = run(&params(pgs(2025)), &offers, Time(2_000_000_000));
    let c = modem.counts()[C];
    assert!((c.used as f64 * 8.0 / 2.0 / 52.5e6 - 1.0).abs() < 0.01, "{c:?}");
}

#[test]
fn a_narrow_channel_fragments_packets() {
    // a frame has 4 minislots of 48 B, so a packet of 1528 B takes 8 frames
    let narrow = Docsis31Params { minislots: 4, ..params(None) };
    let flow = ShaperParams { max_sustained_rate: BitRate(5_000_000), ..narrow.flow.clone() };
    let (modem, out) = run(&Docsis31Params { flow, ..narrow }, &[(Time(0), C, 1500); 3], Time(1_000_000_000));
    assert_eq!((out.len(), modem.counts()[C].used), (3, 3 * 1528));
}
