//! Tests of RED and its variants against closed forms and worked arithmetic.

use packet::{Backlog, Ecn, LinkView, MarkReason, PacketMeta};
use qdisc::law::ared::{Adaptation, AredParams};
use qdisc::law::early::{Average, ByteMode, IdleDecay, Ramp, Spacing, Weight, Zone};
use qdisc::law::red::{Red, RedParams, RedVariant};
use qdisc::law::wred::{RampParams, Rio, WredParams};
use qdisc::law::{Law, LawParams, Verdict, View};
use units::{BitRate, Duration, Limit, Prob, Rng, Time};

const MS: u64 = 1_000_000;

fn p(x: f64) -> Prob {
    Prob::new(x).unwrap()
}

fn packet(ecn: Ecn) -> PacketMeta {
    let mut packet = PacketMeta { size: 1000, ..Default::default() };
    packet.set_ecn(ecn);
    packet
}

/// Lets `law` decide about a packet (`what`) that arrives after `ms` milliseconds and finds `packets` packets of 1000
/// bytes in the queue.
fn arrive(law: &mut impl Law, ms: u64, packets: u32, what: &PacketMeta, rng: &mut Rng) -> Verdict {
    let link = LinkView::plain(BitRate(8_000_000));
    let backlog = Backlog { packets, bytes: u64::from(packets) * 1000 };
    law.arrive(what, &View { now: Time(ms * MS), backlog, sojourn: Duration::ZERO, link: &link }, rng)
}

/// Returns the parameters of a RED without averaging, whose p_b is 0.1 while 10 packets are queued.
fn tenth(spacing: Spacing) -> RedParams {
    RedParams { weight: Some(1.0), probability: Some(p(0.2)), spacing: Some(spacing), ..Default::default() }
}

/// Computes the distribution of the gaps, the numbers of packets from one drop to the next, from p_a (`Spacing::spread`):
/// P(n) = p_a(n) x product of (1 - p_a(i)) for i < n.
fn gap_distribution(spacing: Spacing, p_b: f64) -> Vec<f64> {
    let (mut alive, mut gaps) = (1.0, Vec::new());
    while alive > 1e-12 && gaps.len() < 1000 {
        let p_a = spacing.spread(p_b, spacing.first_count() + gaps.len() as f64);
        gaps.push(alive * p_a);
        alive *= 1.0 - p_a;
    }
    gaps
}

#[test]
fn gaps_are_uniform() {
    for inverse in [2, 5, 10, 50, 128] {
        let p_b = 1.0 / f64::from(inverse);
        let n = inverse as usize;
        // Floyd & Jacobson's method 2: the gap is uniform on {1 ... 1/p_b}
        let gaps = gap_distribution(Spacing::Uniform, p_b);
        assert_eq!(gaps.len(), n);
        assert!(gaps.iter().all(|g| (g - p_b).abs() < 1e-9), "{gaps:?}");
        // with `Wait`, the gap is uniform on {1/p_b ... 2/p_b - 1}
        let gaps = gap_distribution(Spacing::Wait, p_b);
        assert_eq!(gaps.len(), 2 * n - 1);
        assert!(gaps[..n - 1].iter().all(|g| *g == 0.0) && gaps[n - 1..].iter().all(|g| (g - p_b).abs() < 1e-9));
        // in ALTQ, the gap is uniform on {1 ... 2/p_b - 1}
        let gaps = gap_distribution(Spacing::Stretched, p_b);
        assert_eq!(gaps.len(), 2 * n - 1);
        assert!(gaps.iter().all(|g| (g - 1.0 / (2.0 * n as f64 - 1.0)).abs() < 1e-9), "{gaps:?}");
    }
    // with Floyd & Jacobson's method 1, the gap is geometric, so for p_b = 0.1 the probability of a gap of 3 is 0.9 x
    // 0.9 x 0.1
    assert!((gap_distribution(Spacing::Geometric, 0.1)[2] - 0.081).abs() < 1e-12);
}

#[test]
fn the_law_drops_at_those_gaps() {
    // For p_b = 0.1, each row has the minimum, maximum and mean gap, and the standard deviation of the gaps. Gaps are uniform
    // on 1 ... 10, 10 ... 19 or 1 ... 19.
    for (spacing, least, most, mean, sd) in [
        (Spacing::Uniform, 1, 10, 5.5, 2.87),
        (Spacing::OneDraw, 1, 10, 5.5, 2.87),
        (Spacing::Wait, 10, 19, 14.5, 2.87),
        (Spacing::Stretched, 1, 19, 10.0, 5.48),
    ] {
        let (mut law, mut rng) = (tenth(spacing).law(), Rng::named(1, "q"));
        let (mut gaps, mut gap) = (Vec::new(), 0);
        for _ in 0..200_000 {
            gap += 1;
            if arrive(&mut law, 0, 10, &packet(Ecn::NotEct), &mut rng) == Verdict::Drop {
                gaps.push(gap);
                gap = 0;
            }
        }
        let (min, max) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
        assert_eq!((*min, *max), (least, most), "{spacing:?}");
        let n = gaps.len() as f64;
        let seen = gaps.iter().sum::<i32>() as f64 / n;
        assert!((seen - mean).abs() < 5.0 * sd / n.sqrt(), "{spacing:?}: mean gap {seen}");
    }
}

/// Returns the share of gaps of each length, if p_b is 0.02 for the first ten packets of a gap and 0.05 after that.
fn gaps_of_a_rising_probability(spacing: Spacing) -> Vec<f64> {
    // p_b rises from 0 at 5 packets to 0.1 at 15, so it is 0.02 while 7 packets are queued, and 0.05 while 10 packets are
    // queued
    let red = RedParams { probability: Some(p(0.1)), ..tenth(spacing) };
    let (mut law, mut rng) = (red.law(), Rng::named(1, "q"));
    let (mut counts, mut gap, n) = (vec![0u32; 60], 0, 200_000);
    for _ in 0..n {
        while {
            gap += 1;
            let waiting = if gap <= 10 { 7 } else { 10 };
            arrive(&mut law, 0, waiting, &packet(Ecn::NotEct), &mut rng) != Verdict::Drop
        } {}
        counts[gap] += 1;
        gap = 0;
    }
    counts.iter().map(|c| f64::from(*c) / f64::from(n)).collect()
}

#[test]
fn one_draw_judges_the_whole_gap_by_the_present_probability() {
    // A gap is longer than n packets with probability 1 - n p, which is 0.98 ... 0.80 for the first ten packets, then 1
    // - 11 x 0.05 = 0.45, 0.40 ... and 0 at packet 20. Three standard errors of 200 000 gaps are 0.0032 at most.
    let gaps = gaps_of_a_rising_probability(Spacing::OneDraw);
    for (n, share) in gaps.iter().enumerate().skip(1) {
        let expected = match n {
            1..=10 => 0.02,
            11 => 0.35,
            12..=20 => 0.05,
            _ => 0.0,
        };
        assert!((share - expected).abs() < 0.0032, "{n}: {share}");
    }
    // Method 2 draws a random number for each packet. 80 % of the gaps are longer than ten packets, and the next packet
    // ends a tenth of these, because p_a is 0.05 / (1 - 10 x 0.05) = 0.1. So the share of gaps of eleven packets is 0.8
    // x 0.1 = 0.08.
    let eleventh = gaps_of_a_rising_probability(Spacing::Uniform)[11];
    assert!((eleventh - 0.08).abs() < 0.002, "{eleventh}");
}

#[test]
fn the_linux_variant_has_tcs_names_and_defaults() {
    // tc-red(8): max = limit / 4 = 50 000, min = max / 3 = 16 666, burst = (2 min + max) / (3 avpkt) = 83 332 / 3000 = 27;
    // quotients are rounded down. w is the largest power of 1/2 with 27 + 1 - 16.67 = 11.33 <= (1 - (1 - w)^27) / w. The
    // right-hand side is 13.2 for w = 1/16, and only 7.8 for w = 1/8.
    let red = RedParams { variant: RedVariant::Linux, limit: Some("200KB".parse().unwrap()), ..Default::default() };
    red.validate().unwrap();
    let (mut law, mut rng) = (red.law(), Rng::named(1, "q"));
    arrive(&mut law, 0, 1, &packet(Ecn::NotEct), &mut rng);
    let ramp = law.ramp().unwrap();
    assert_eq!((ramp.min, ramp.max, ramp.max_p, law.weight()), (16_666.0, 50_000.0, 0.02, Some(0.0625)));
    // With a burst of 100 and a min of 15 packets, burst + 1 - min is 100 + 1 - 15 = 86, so (1 - (1 - w)^100) / w must
    // be at least 86. For w = 1/256 it is only 82.9; for w = 1/512 it is 90.9.
    let lab = RedParams {
        min: Some("22710B".parse().unwrap()),
        max: Some("45420B".parse().unwrap()),
        avpkt: Some("1514B".parse().unwrap()),
        burst: Some(100),
        ..red.clone()
    };
    let mut law = lab.law();
    arrive(&mut law, 0, 1, &packet(Ecn::NotEct), &mut rng);
    assert_eq!(law.weight(), Some(1.0 / 512.0));
    let only_max = RedParams { max: Some(Limit::Packets(30)), ..red.clone() };
    only_max.validate().unwrap();
    assert_eq!(RedParams { min: Some("5ms".parse().unwrap()), ..red }.validate().unwrap_err().path, "weight");
}

#[test]
fn linux_halves_the_average_of_an_idle_queue() {
    // tc-red(8)'s example: a packet of 1000 bytes takes 800 us at 10 Mbit/s, which is 12 500 ticks, and w = 1/32. tc
    // computes a table of shifts: after an idle time in cell i, the average is shifted right by the number in this cell.
    // r = -ln(31/32) / 12 500 = 2.5399e-6, and 31 / r = 12.205e6 needs 373 cells of 2^15 us. Cell i holds 0.083227 i,
    // rounded down: 1 from cell 13 (426 ms), 2 from cell 25 (819 ms), 3 from cell 37 (1212 ms). In cell 0, the average
    // falls linearly.
    let (w, packet_time, idle) = (Weight::new(1.0 / 32.0), Duration::from_micros(800), IdleDecay::DecayOnceAsked);
    for (ms, expected) in [
        (0, 1.0),
        (8, 1.0 - 8000.0 / 32_768.0),
        (17, 0.5),
        (50, 0.5),
        (425, 0.5),
        (818, 0.5),
        (820, 0.25),
        (1211, 0.25),
        (1213, 0.125),
        (8355, 1.0 / f64::from(1u32 << 21)),
        (100_000, 1.0 / f64::from(1u32 << 31)),
    ] {
        let mut a = Average::default();
        a.sample(320_000.0, Time(0), w, idle, packet_time);
        a.left(0, Time(MS), idle);
        a.empty(Time(MS));
        let left = a.sample(0.0, Time((1 + ms) * MS), w, idle, packet_time) / 10_000.0;
        assert!((left - expected).abs() < 1e-12, "{ms} ms: {left} not {expected}");
    }
}

#[test]
fn the_average_by_hand() {
    let packet_time = Duration::from_millis(1);
    for (idle, whole, fraction) in [
        // an average of 5 decays to (1/2)^3 x 5 in 3 packet times, and to (1/2)^2.5 x 5 in 2.5 packet times
        (IdleDecay::Decay, 0.625, 5.0 * 0.176_776_695_296_636_9),
        // 2.5 packet times are rounded down to 2. In addition, the arrival adds a sample of 0 packets to the average,
        // which halves the average once more.
        (IdleDecay::DecayAndSample, 0.3125, 0.625),
        // the packet time is 15 625 ticks, so r = ln 2 / 15 625 = 4.436e-5. 31 / r = 698 805 needs 342 cells of 2^11 us. Cell 1
        // holds 2048 r = 0.09, rounded down to 0, so the linear part applies, which ends at a half after 1024 us.
        (IdleDecay::DecayOnceAsked, 2.5, 2.5),
    ] {
        for (gap_us, expected) in [(3000u64, whole), (2500, fraction)] {
            let mut a = Average::default();
            let at = |a: &mut Average, q, us: u64| a.sample(q, Time(us * 1000), Weight::new(0.5), idle, packet_time);
            assert_eq!(at(&mut a, 4.0, 0), 2.0);
            assert_eq!(at(&mut a, 8.0, 0), 5.0);
            // the last packet leaves at 1 ms. The link finds the queue empty at once and again at 2 ms, which does not
            // restart the idle period
            a.left(0, Time(1_000_000), idle);
            a.empty(Time(1_000_000));
            a.empty(Time(2_000_000));
            let seen = at(&mut a, 0.0, 1000 + gap_us);
            assert!((seen - expected).abs() < 1e-12, "{idle:?} {gap_us}: {seen}");
            // the queue is busy again, so the next arrival gives an ordinary sample
            assert!((at(&mut a, 2.0, 9000) - (expected / 2.0 + 1.0)).abs() < 1e-12);
        }
    }
    // The queue is empty while its last packet is being sent. Floyd & Jacobson count this time as idle, but ns-2's idle
    // period begins only when the link requests a packet and finds the queue empty. Here the link has not requested a
    // packet, so there is no idle period. After 9 ms, the sample of 0 only halves the average, from 4 to 2.
    let mut a = Average::default();
    let half = Weight::new(0.5);
    a.sample(8.0, Time(0), half, IdleDecay::DecayAndSample, packet_time);
    a.left(0, Time(0), IdleDecay::DecayAndSample);
    assert_eq!(a.sample(0.0, Time(9 * MS), half, IdleDecay::DecayAndSample, packet_time), 2.0);
    // with weight 1, nothing is left of the average after any idle time above zero
    assert_eq!((Weight::new(1.0).rest(3.0), Weight::new(1.0).rest(0.0)), (0.0, 1.0));
}

#[test]
fn corners_of_the_ramp() {
    let ramp = |gentle| Ramp { min: 5.0, max: 15.0, max_p: 0.1, gentle };
    for (avg, classic, gentle) in [
        (4.999, Zone::Low, Zone::Low),
        (5.0, Zone::Early(0.0), Zone::Early(0.0)),
        (10.0, Zone::Early(0.05), Zone::Early(0.05)),
        (15.0, Zone::Forced, Zone::Early(0.1)),
        (22.5, Zone::Forced, Zone::Early(0.55)),
        (30.0, Zone::Forced, Zone::Forced),
    ] {
        assert_eq!((ramp(false).zone(avg), ramp(true).zone(avg)), (classic, gentle), "{avg}");
    }
}

fn started(params: &RedParams, rate: u64) -> Red {
    let mut law = params.law();
    let link = LinkView::plain(BitRate(rate));
    let view = View { now: Time(0), backlog: Backlog::default(), sojourn: Duration::ZERO, link: &link };
    law.arrive(&PacketMeta::default(), &view, &mut Rng::named(1, "q"));
    law
}

#[test]
fn presets_and_automatic_values() {
    let set = |variant, rate| {
        let law = started(&RedParams { variant, ..Default::default() }, rate);
        let r = law.ramp().unwrap();
        (r.min, r.max, r.max_p, r.gentle, law.weight().unwrap())
    };
    assert_eq!(set(RedVariant::Floyd93, 8_000_000), (5.0, 15.0, 0.02, false, 0.002));
    // the values of MMCN 1999
    assert_eq!(set(RedVariant::Altq, 8_000_000), (15.0, 30.0, 0.1, false, 0.002));
    let limit = |variant| RedParams { variant, ..Default::default() }.default_limit();
    assert_eq!((limit(RedVariant::Altq), limit(RedVariant::Ns2)), (Limit::Packets(60), Limit::Packets(50)));
    // At 10 Mbit/s, the link's rate in ns-2 is c = 2500 packets of 500 bytes per second. min is half of what the link
    // sends in the target delay of 5 ms: 0.005 x 2500 / 2 = 6.25 packets. rtt is 0.1 s, so 10 rtt c = 2500, and the
    // weight is 1 - e^(-1/2500).
    let (min, max, max_p, gentle, w) = set(RedVariant::Ns2, 10_000_000);
    assert_eq!((min, max, max_p, gentle), (3125.0, 9375.0, 0.1, true));
    assert!((w - 0.000_399_920_01).abs() < 1e-12, "{w}");
    // at 100 kbit/s, c is 25 packets per second. min has its least value, 5 packets. rtt is 3/25 = 0.12 s, so 10 rtt c
    // = 30, and the weight is 1 - e^(-1/30)
    let (min, _, _, _, w) = set(RedVariant::Ns2, 100_000);
    assert!(min == 2500.0 && (w - 0.032_783_899_517_994).abs() < 1e-12, "{w}");
    // if the link is stopped (rate 0), thresholds and weight still have valid values
    for variant in [RedVariant::Floyd93, RedVariant::Ns2] {
        let (min, max, _, _, w) = set(variant, 0);
        assert!(min < max && w > 0.0 && w <= 1.0, "{variant:?}: {min} {max} {w}");
    }
    // tc's w is the largest power of 1/2 with burst + 1 - min <= (1 - (1 - w)^burst) / w. For burst 20 and min 15, the
    // left-hand side is 20 + 1 - 15 = 6. The right-hand side is (1 - (7/8)^20) / (1/8) = 7.4 for w = 1/8, but only (1 -
    // (3/4)^20) / (1/4) = 3.99 for w = 1/4.
    let tc = RedParams { variant: RedVariant::Altq, burst: Some(20), ..Default::default() };
    assert_eq!(started(&tc, 8_000_000).weight(), Some(0.125));
    // thresholds in time depend on the rate: 30 ms is 30 000 bytes at 8 Mbit/s, and 60 000 at 16 Mbit/s
    let ms = |n| Some(Limit::Time(Duration::from_millis(n)));
    let timed = RedParams { min: ms(10), max: ms(30), ..Default::default() };
    assert_eq!(started(&timed, 8_000_000).ramp().unwrap().max, 30_000.0);
    assert_eq!(started(&timed, 16_000_000).ramp().unwrap().max, 60_000.0);
}

#[test]
fn ecn_marks_and_harddrop_does_not() {
    let mut rng = Rng::named(1, "q");
    let red = |harddrop| RedParams { ecn: true, harddrop, ..tenth(Spacing::Uniform) };
    for (harddrop, queue, ecn, expected) in [
        (None, 15, Ecn::Ect0, Verdict::Mark(MarkReason::Law)),
        (Some(true), 15, Ecn::Ect0, Verdict::Drop),
        (None, 15, Ecn::NotEct, Verdict::Drop),
    ] {
        let verdict = arrive(&mut red(harddrop).law(), 0, queue, &packet(ecn), &mut rng);
        assert_eq!(verdict, expected, "{harddrop:?} {ecn:?}");
    }
    // on the ramp, an ECN-capable packet is marked exactly when a packet that is not ECN-capable would be dropped
    let verdicts = |ecn| {
        let (mut law, mut rng) = (red(Some(true)).law(), Rng::named(1, "q"));
        (0..100).map(|_| arrive(&mut law, 0, 10, &packet(ecn), &mut rng)).collect::<Vec<_>>()
    };
    let (marks, drops) = (verdicts(Ecn::Ect1), verdicts(Ecn::NotEct));
    assert!(drops.contains(&Verdict::Drop) && !marks.contains(&Verdict::Drop));
    assert!(marks.iter().zip(&drops).all(|(m, d)| (*m == Verdict::Pass) == (*d == Verdict::Pass)));
}

#[test]
fn ns2_spares_the_first_packet_and_the_last_one() {
    let mut rng = Rng::named(1, "q");
    let red = RedParams {
        variant: RedVariant::Altq,
        weight: Some(1.0),
        min: Some(Limit::Packets(1)),
        max: Some(Limit::Packets(2)),
        ..Default::default()
    };
    let mut law = red.law();
    // with 2 packets queued, the average is at max, so the arrival is dropped; with one packet queued, nothing is dropped early
    assert_eq!(arrive(&mut law, 0, 2, &packet(Ecn::NotEct), &mut rng), Verdict::Drop);
    assert_eq!(arrive(&mut law, 0, 1, &packet(Ecn::NotEct), &mut rng), Verdict::Pass);
    // with probability 1 on the ramp, the first packet on the ramp passes, and the second is dropped
    let early =
        RedParams { probability: Some(p(1.0)), max: Some(Limit::Packets(3)), spacing: Some(Spacing::Geometric), ..red };
    let sure = RedParams { min: Some(Limit::Packets(1)), gentle: Some(true), ..early };
    let mut law = sure.law();
    assert_eq!(arrive(&mut law, 0, 3, &packet(Ecn::NotEct), &mut rng), Verdict::Pass);
    assert_eq!(arrive(&mut law, 0, 3, &packet(Ecn::NotEct), &mut rng), Verdict::Drop);
}

#[test]
fn small_packets_are_dropped_less_in_byte_mode() {
    let rate = |byte_mode, size| {
        let red = RedParams { byte_mode: Some(byte_mode), ..tenth(Spacing::Geometric) };
        let (mut law, mut rng) = (red.law(), Rng::named(1, "q"));
        let small = PacketMeta { size, ..Default::default() };
        let n = 100_000;
        let drops = (0..n).filter(|_| arrive(&mut law, 0, 10, &small, &mut rng) == Verdict::Drop).count();
        drops as f64 / f64::from(n)
    };
    // p_b is 0.1 for packets of avpkt = 1000 bytes; the standard error of 100 000 draws is 0.001 at 0.1
    for (mode, size, expected) in [
        (ByteMode::Off, 250, 0.1),
        (ByteMode::Scaled, 250, 0.025),
        (ByteMode::Counted, 250, 0.025),
        (ByteMode::Scaled, 1500, 0.15),
    ] {
        let seen = rate(mode, size);
        assert!((seen - expected).abs() < 0.005, "{mode:?} {size}: {seen}");
    }
}

fn ared(adaptation: Adaptation, max_p: f64) -> AredParams {
    AredParams {
        adaptation,
        min: Some(Limit::Packets(10)),
        max: Some(Limit::Packets(30)),
        weight: Some(1.0),
        probability: p(max_p),
        ..Default::default()
    }
}

#[test]
fn adaptive_red_by_hand() {
    let mut rng = Rng::named(1, "q");
    // With Floyd's rule, max_p stays the same while the average is in [10 + 0.4 x 20, 10 + 0.6 x 20] = [18, 22], and
    // otherwise changes at most every 500 ms.
    let mut law = ared(Adaptation::Floyd2001, 0.1).law();
    for (ms, queue, expected) in [
        (499, 25, 0.1),
        (500, 25, 0.11),
        (900, 25, 0.11),
        (1000, 25, 0.12),
        (1500, 20, 0.12),
        (2000, 12, 0.108),
        (2100, 12, 0.108),
    ] {
        arrive(&mut law, ms, queue, &packet(Ecn::NotEct), &mut rng);
        assert!((law.max_p() - expected).abs() < 1e-12, "{ms} ms: {}", law.max_p());
        assert_eq!(law.red().ramp().unwrap().max_p, law.max_p());
    }
    // max_p increases by max_p / 4 or by 0.01, whichever is less, and never leaves its bounds of 0.01 and 0.5
    for (from, queue, expected) in
        [(0.02, 25, 0.025), (0.495, 25, 0.5), (0.5, 25, 0.5), (0.0105, 5, 0.01), (0.01, 5, 0.01)]
    {
        let mut law = ared(Adaptation::Floyd2001, from).law();
        arrive(&mut law, 500, queue, &packet(Ecn::NotEct), &mut rng);
        assert!((law.max_p() - expected).abs() < 1e-12, "{from}: {}", law.max_p());
    }
    // Feng's rule changes max_p only when the average falls below `min` or rises above `max`
    let mut law = ared(Adaptation::Feng1999, 0.12).law();
    for (queue, expected) in
        [(5, 0.12), (20, 0.12), (31, 0.24), (32, 0.24), (20, 0.24), (5, 0.08), (4, 0.08), (31, 0.16)]
    {
        arrive(&mut law, 0, queue, &packet(Ecn::NotEct), &mut rng);
        assert!((law.max_p() - expected).abs() < 1e-12, "queue {queue}: {}", law.max_p());
    }
}

/// Returns the length of the shortest queue at which WRED with `params` drops a packet of `dscp`, for a fixed seed.
fn first_drop(params: &WredParams, dscp: u8) -> u32 {
    let what = PacketMeta { size: 1000, tos: dscp << 2, ..Default::default() };
    (0..100).find(|q| arrive(&mut params.law(), 0, *q, &what, &mut Rng::named(1, "q")) == Verdict::Drop).unwrap()
}

#[test]
fn wred_has_cisco_s_ladder_and_profiles() {
    let mut wred = WredParams { weight: 1.0, probability: p(1.0), spacing: Spacing::Geometric, ..Default::default() };
    // with max_p = 1, the ramp has probability 0 at min, 1/(40 - min) at min + 1, and 1 at 40
    for (precedence, min) in [20, 22, 24, 26, 28, 31, 33, 35].into_iter().enumerate() {
        let seen = first_drop(&wred, precedence as u8 * 8);
        assert!((min + 1..=40).contains(&seen), "precedence {precedence}: {seen}");
        let what = PacketMeta { size: 1000, tos: (precedence as u8) << 5, ..Default::default() };
        let drops = |queue| {
            let (mut law, mut rng) = (wred.law(), Rng::named(1, "q"));
            (0..2000).filter(|_| arrive(&mut law, 0, queue, &what, &mut rng) == Verdict::Drop).count() as f64 / 2000.0
        };
        let slope = 1.0 / f64::from(40 - min);
        assert_eq!((drops(min), drops(40)), (0.0, 1.0));
        // the standard error of the share of drops in 2000 draws is at most sqrt(0.25 / 2000) = 0.0112
        assert!((drops(min + 1) - slope).abs() < 0.05, "precedence {precedence}: {} not {slope}", drops(min + 1));
    }
    // a DSCP's profile overrides its precedence's profile, whatever their order
    wred.profiles = serde_json::from_value(
        r#"[{"dscp":10,"min":"3p","max":"4p","probability":1},{"precedence":1,"min":"7p","max":"8p","probability":1}]"#
            .parse()
            .unwrap(),
    )
    .unwrap();
    LawParams::validate(&wred).unwrap();
    assert_eq!((first_drop(&wred, 10), first_drop(&wred, 12)), (4, 8));
    assert!(first_drop(&wred, 16) > 24);
}

#[test]
fn rio_averages_in_packets_apart() {
    let ramp = |min, max| RampParams { min: Limit::Packets(min), max: Limit::Packets(max), probability: p(0.1) };
    let rio = Rio { in_dscp: vec![10], r#in: ramp(5, 6), out: ramp(5, 6) };
    let params = WredParams { weight: 1.0, rio: Some(rio), ..Default::default() };
    LawParams::validate(&params).unwrap();
    let (mut law, mut rng) = (params.law(), Rng::named(1, "q"));
    let (inside, out) = (PacketMeta { size: 1000, tos: 40, ..Default::default() }, packet(Ecn::NotEct));
    // ten packets are queued, and two of them are in-packets. An out-packet is dropped, because the average of all
    // packets is 10, but an in-packet is not, because the average of in-packets is only 2.
    for q in 0..2 {
        assert_eq!(arrive(&mut law, 0, q, &inside, &mut rng), Verdict::Pass);
    }
    assert_eq!(arrive(&mut law, 0, 10, &out, &mut rng), Verdict::Drop);
    assert_eq!(arrive(&mut law, 0, 10, &inside, &mut rng), Verdict::Pass);
    assert_eq!(law.averages(), (10.0, 2.0));
    // The law passed the third in-packet and counted three, but then the queue's limit refuses this packet, so
    // `overflow` lowers the count to two again. Then an in-packet leaves, and the count is one.
    law.overflow(Time(0));
    let link = LinkView::plain(BitRate(8_000_000));
    let backlog = Backlog { packets: 9, bytes: 9000 };
    law.left(&inside, &View { now: Time(0), backlog, sojourn: Duration::ZERO, link: &link });
    arrive(&mut law, 0, 9, &inside, &mut rng);
    assert_eq!(law.averages().1, 1.0);
}

#[test]
fn refusals() {
    let refused = |json: &str| {
        let spec: qdisc::Spec = serde_json::from_value(json.parse().unwrap()).unwrap();
        let problem = spec.validate().unwrap_err();
        assert!(problem.message.contains("expected") || problem.message.contains("not valid"), "{problem}");
        problem.path
    };
    assert_eq!(refused(r#"{"red":{"min":"15p","max":"15p"}}"#), "red.min");
    assert_eq!(refused(r#"{"red":{"min":"15p","max":"30KB"}}"#), "red.max");
    assert_eq!(refused(r#"{"red":{"min":"15p"}}"#), "red.max");
    assert_eq!(refused(r#"{"red":{"variant":"ns2","max":"15p"}}"#), "red.min");
    assert_eq!(refused(r#"{"red":{"weight":0}}"#), "red.weight");
    assert_eq!(refused(r#"{"red":{"weight":1.5}}"#), "red.weight");
    assert_eq!(refused(r#"{"red":{"limit":"0p"}}"#), "red.limit");
    assert_eq!(refused(r#"{"red":{"avpkt":0}}"#), "red.avpkt");
    assert_eq!(refused(r#"{"red":{"variant":"altq","burst":3}}"#), "red.burst");
    assert!(serde_json::from_value::<qdisc::Spec>(r#"{"red":{"probability":1.5}}"#.parse().unwrap()).is_err());
    assert_eq!(refused(r#"{"ared":{"bottom":0.6}}"#), "ared.bottom");
    assert_eq!(refused(r#"{"ared":{"min":"3p","max":"2p"}}"#), "ared.min");
    assert_eq!(refused(r#"{"ared":{"interval":"0s"}}"#), "ared.interval");
    assert_eq!(refused(r#"{"wred":{"ladder_max":"0p"}}"#), "wred.ladder_max");
    let profile = |fields: &str| format!(r#"{{"wred":{{"profiles":[{{{fields},"probability":0.1}}]}}}}"#);
    assert_eq!(refused(&profile(r#""min":"3p","max":"4p""#)), "wred.profiles.0");
    assert_eq!(refused(&profile(r#""dscp":64,"min":"3p","max":"4p""#)), "wred.profiles.0.dscp");
    assert_eq!(refused(&profile(r#""dscp":6,"min":"5p","max":"4p""#)), "wred.profiles.0.min");
}
