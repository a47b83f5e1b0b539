//! Tests of LRED and COBALT, which decide about the packet at the head of the queue. The expected probabilities at the
//! corners of LRED's curves, and COBALT's counts and probabilities, are worked out by hand.

use packet::{Backlog, DropReason, Ecn, FateSink, FlowTable, LinkView, MarkReason, PacketMeta, Point};
use qdisc::law::cobalt::{Cobalt, CobaltParams};
use qdisc::law::lred::{Curve, Lred, LredParams};
use qdisc::law::{Law, LawParams, Verdict, View};
use qdisc::{Context, Params, Queue};
use units::{BitRate, Bytes, Duration, Limit, Prob, Rng, Time};

const MS: u64 = 1_000_000;

fn p(x: f64) -> Prob {
    Prob::new(x).unwrap()
}

fn ms(n: u64) -> Limit {
    Limit::Time(Duration::from_millis(n))
}

/// Lets `law` decide about a packet of 1500 bytes that leaves the head of the queue, with this sojourn time and
/// `behind` packets behind it.
fn head(law: &mut impl Law, now_us: u64, sojourn_ms: u64, behind: u32, ecn: Ecn, rng: &mut Rng) -> Verdict {
    let link = LinkView { downstream_delay: Duration::from_millis(4), ..LinkView::plain(BitRate(5_000_000)) };
    let backlog = Backlog { packets: behind, bytes: u64::from(behind) * 1500 };
    let mut packet = PacketMeta { size: 1500, ..Default::default() };
    packet.set_ecn(ecn);
    let view = View { now: Time(now_us * 1000), backlog, sojourn: Duration::from_millis(sojourn_ms), link: &link };
    law.head(&packet, &view, rng)
}

#[test]
fn corners_of_lred_s_curves() {
    let law = |curve, min_th, max_th| LredParams { curve, min_th, max_th, ..Default::default() }.law();
    let t = f64::from(MS as u32);
    // curve 10c with the values of Figure 11: MINth 200 ms, MAXth 400 ms, Pmin 1 %, Pmax 5 %
    let c = law(Curve::C10, ms(200), ms(400));
    for (x, expected) in
        [(0.0, 0.0), (199.999, 0.0), (200.0, 0.01), (300.0, 0.03), (400.0, 0.05), (400.001, 0.05), (9e9, 0.05)]
    {
        assert!((c.probability(x * t) - expected).abs() < 1e-12, "10c at {x} ms: {}", c.probability(x * t));
    }
    // curves 10a and 10b have no step at MINth, and a probability of 1 above MAXth
    let a = law(Curve::A10, Limit::Packets(20), Limit::Packets(40));
    let b = law(Curve::B10, ms(20), ms(40));
    for (x, expected) in [(19.999, 0.0), (20.0, 0.0), (30.0, 0.025), (40.0, 0.05), (40.001, 1.0)] {
        assert!((a.probability(x) - expected).abs() < 1e-12, "10a at {x}");
        assert!((b.probability(x * t) - expected).abs() < 1e-12, "10b at {x} ms");
    }
}

/// Lets `law` decide about 100 000 identical packets at the head of the queue, and returns the share that is dropped.
fn share(law: &mut Lred, sojourn_ms: u64, behind: u32) -> f64 {
    let mut rng = Rng::named(1, "q");
    let n = 100_000;
    let drops = (0..n).filter(|_| head(law, 0, sojourn_ms, behind, Ecn::Ect0, &mut rng) == Verdict::Drop).count();
    drops as f64 / f64::from(n)
}

#[test]
fn lred_drops_heads_with_the_curve_s_probability() {
    // the standard error of 100 000 draws is 0.0007 at a probability of 0.05; the bound is five standard errors
    for (sojourn, expected) in [(199, 0.0), (200, 0.01), (300, 0.03), (800, 0.05)] {
        let seen = share(&mut LredParams::default().law(), sojourn, 0);
        assert!((seen - expected).abs() < 0.0035, "{sojourn} ms: {seen}");
    }
    // the queue length includes the head. With 19 packets behind the head, it is 20 packets or 30 000 bytes, which is MINth
    for (min_th, max_th) in
        [(Limit::Packets(20), Limit::Packets(40)), (Limit::Bytes(Bytes(30_000)), Limit::Bytes(Bytes(60_000)))]
    {
        let params = LredParams { min_th, max_th, ..Default::default() };
        assert_eq!(share(&mut params.law(), 900, 18), 0.0);
        assert!((share(&mut params.law(), 0, 19) - 0.01).abs() < 0.0035);
        assert!((share(&mut params.law(), 0, 39) - 0.05).abs() < 0.0035);
    }
    // 196 ms in this queue and 4 ms in the transmit queue add up to 200 ms, which is MINth
    let params = LredParams { sojourn: qdisc::law::codel::Sojourn::QueueAndTransmit, ..Default::default() };
    assert!((share(&mut params.law(), 196, 0) - 0.01).abs() < 0.0035);
    assert_eq!(share(&mut params.law(), 195, 0), 0.0);
}

#[test]
fn latency_based_wred_takes_the_profile_of_the_packet() {
    let json = r#"{"profiles": [{"precedence": 4, "min_th": "50ms", "max_th": "100ms", "p_min": 0.1, "p_max": 0.2},
                                {"dscp": 34, "min_th": "600ms", "max_th": "900ms", "p_min": 0.02, "p_max": 0.04}]}"#;
    let params: LredParams = serde_json::from_value(json.parse().unwrap()).unwrap();
    let link = LinkView::plain(BitRate(5_000_000));
    let seen = |dscp: u8, sojourn: u64| {
        let (mut law, mut rng, n) = (params.law(), Rng::named(1, "q"), 50_000);
        // the two lower bits of the byte `tos` are the ECN field
        let packet = PacketMeta { size: 1500, tos: dscp << 2 | 2, ..Default::default() };
        let view =
            View { now: Time(0), backlog: Backlog::default(), sojourn: Duration::from_millis(sojourn), link: &link };
        let drops = (0..n).filter(|_| law.head(&packet, &view, &mut rng) == Verdict::Drop).count();
        drops as f64 / f64::from(n)
    };
    // Each row has a DSCP, a sojourn time in ms, and the expected probability. DSCP 0 has no profile, so the default
    // thresholds of 200 and 400 ms apply. DSCP 32 has the profile of precedence 4. DSCP 34 also has precedence 4, but
    // its own profile overrides the profile of the precedence.
    for (dscp, sojourn, expected) in
        [(0, 150, 0.0), (0, 400, 0.05), (32, 49, 0.0), (32, 75, 0.15), (32, 500, 0.2), (34, 599, 0.0), (34, 750, 0.03)]
    {
        let share = seen(dscp, sojourn);
        // the standard error of 50 000 draws is 0.0018 at a probability of 0.2
        assert!((share - expected).abs() < 0.008, "dscp {dscp} at {sojourn} ms: {share}, expected {expected}");
    }
}

#[test]
fn averaged_lred_sees_the_average() {
    let sure = LredParams { p_min: p(1.0), p_max: p(1.0), weight: 0.5, ..Default::default() };
    let (mut law, mut rng) = (sure.law(), Rng::named(1, "q"));
    // the averages are 100, 250, 175, 187.5, 193.75 and 296.875 ms; each average above MINth, 200 ms, causes a drop
    for (sojourn, dropped) in [(100, false), (400, true), (100, false), (200, false), (200, false), (400, true)] {
        let verdict = head(&mut law, 0, sojourn, 5, Ecn::NotEct, &mut rng);
        assert_eq!(verdict == Verdict::Drop, dropped, "{sojourn}");
    }
}

#[test]
fn lred_s_integral_term_comes_and_goes() {
    // The gain is 1 per second, and heads are 100 ms apart. At twice the target, p_i grows by 0.1 per head; without
    // delay, it falls by 0.1. The curve adds almost nothing because it rises from 0 at min_th to 1 at 400 s.
    let params = LredParams { integral: 1.0, p_min: p(0.0), p_max: p(1.0), max_th: ms(400_000), ..Default::default() };
    let (mut law, mut rng) = (params.law(), Rng::named(1, "q"));
    let mut see = |law: &mut Lred, n: u64, sojourn| head(law, n * 100_000, sojourn, 5, Ecn::NotEct, &mut rng);
    assert_eq!(
        see(&mut law, 0, 400),
        Verdict::Pass,
        "no time has passed: p_i = 0, and the curve's 0.0005 does not hit"
    );
    for n in 1..=10 {
        see(&mut law, n, 400);
    }
    assert!((11..31).all(|n| see(&mut law, n, 400) == Verdict::Drop), "p_i = 1");
    for n in 31..41 {
        see(&mut law, n, 0);
    }
    assert!((41..61).all(|n| see(&mut law, n, 0) == Verdict::Pass), "p_i = 0");
    // Ten seconds later, a head at twice the target raises p_i by only 0.1, because a step is at most 100 ms long;
    // without this limit, p_i would rise to 1. A delay equal to the target then leaves p_i at 0.1, so on average 10 of
    // 100 heads are dropped, with a standard deviation of 3.
    see(&mut law, 161, 400);
    let drops = (162..262).filter(|n| see(&mut law, *n, 200) == Verdict::Drop).count();
    assert!((1..20).contains(&drops), "p_i = 0.1: {drops}");
}

#[derive(Default)]
struct Fates(Vec<(u64, DropReason, Point)>);

impl FateSink for Fates {
    fn dropped(&mut self, packet: &PacketMeta, reason: DropReason, point: Point) {
        self.0.push((packet.seq, reason, point));
    }
    fn marked(&mut self, _: &PacketMeta, _: MarkReason, _: Point) {}
}

#[test]
fn lred_tests_the_next_head_as_well() {
    // Packets arrive every 100 ms. A dequeue at 1000 ms drops the packets that have waited for 500 ms or more, and returns the
    // next packet.
    let params = LredParams { min_th: ms(500), max_th: ms(501), p_min: p(1.0), p_max: p(1.0), ..Default::default() };
    let mut queue = Queue::new(params.build());
    let (mut rng, link, flows) = (Rng::named(1, "q"), LinkView::plain(BitRate(5_000_000)), FlowTable::default());
    let mut fates = Fates::default();
    for seq in 0..10 {
        let now = Time(seq * 100 * MS);
        let packet = PacketMeta { seq, size: 1500, ..Default::default() };
        queue.enqueue(packet, &mut Context { now, rng: &mut rng, link: &link, flows: &flows, fate: &mut fates });
    }
    let cx = &mut Context { now: Time(1000 * MS), rng: &mut rng, link: &link, flows: &flows, fate: &mut fates };
    assert_eq!(queue.dequeue(cx).map(|packet| packet.seq), Some(6));
    let expected: Vec<_> = (0..6).map(|seq| (seq, DropReason::EarlyHead, Point::Dequeue)).collect();
    assert_eq!(fates.0, expected);
}

#[test]
fn cobalt_raises_its_count_by_drops_and_takes_it_back_one_by_one() {
    let (mut law, mut rng) = (CobaltParams { first_interval: true, ..Default::default() }.law(), Rng::named(1, "q"));
    let mut see = |law: &mut Cobalt, us, sojourn| {
        let verdict = head(law, us, sojourn, 10, Ecn::NotEct, &mut rng);
        (verdict == Verdict::Drop, law.state().count, law.state().drop_next.0 / 1000)
    };
    // while count is 0, drop_next is an interval ahead of now
    assert_eq!(see(&mut law, 900_000, 0), (false, 0, 1_000_000));
    // the delay is above target from 1 s on, so the first drop is due at 1.1 s, after an interval
    assert_eq!(see(&mut law, 1_000_000, 10), (false, 1, 1_100_000));
    assert_eq!(see(&mut law, 1_099_999, 10), (false, 1, 1_100_000));
    // the gaps are 100/sqrt(2) = 70.711 ms, 100/sqrt(3) = 57.735 ms and 100/sqrt(4) = 50 ms
    assert_eq!(see(&mut law, 1_100_000, 10), (true, 2, 1_170_710));
    assert_eq!(see(&mut law, 1_100_000, 10), (false, 2, 1_170_710));
    assert_eq!(see(&mut law, 1_171_000, 10), (true, 3, 1_228_445));
    assert_eq!(see(&mut law, 1_229_000, 10), (true, 4, 1_278_445));
    // From now on, the delay is 5 ms, which is not above target. Each time drop_next is reached, count falls by one,
    // and drop_next advances by 100/sqrt(count) ms, just as after a drop.
    assert_eq!(see(&mut law, 1_230_000, 5), (false, 4, 1_278_445));
    assert_eq!(see(&mut law, 1_279_000, 5), (false, 3, 1_336_180));
    // by 1408 ms, two decrements are due, at 1336.18 and at 1336.18 + 70.711 = 1406.89. The next is due 100 ms later, at 1506.89
    assert_eq!(see(&mut law, 1_408_000, 5), (false, 1, 1_506_891));
    // the delay is above target again, and count is 1, so the next drop is due after a full interval
    assert_eq!(see(&mut law, 1_450_000, 10), (false, 1, 1_550_000));
    assert_eq!(see(&mut law, 1_460_000, 5), (false, 1, 1_550_000));
    // count falls to 0, and drop_next is an interval ahead of now again
    assert_eq!(see(&mut law, 1_551_000, 5), (false, 0, 1_651_000));
}

#[test]
fn cobalt_drops_the_second_packet_above_target_the_first_time() {
    // A packet leaves every millisecond, and its delay is above target. CAKE drops the packet after the first one, and
    // then waits for 100/sqrt(2) = 70.71, 100/sqrt(3) = 57.74 and 100/sqrt(4) = 50 ms. ns-3 (`first_interval`) waits for
    // 100 ms before its first drop.
    for (first_interval, expected) in [(false, [1, 71, 129, 179]), (true, [100, 171, 229, 279])] {
        let mut rng = Rng::named(1, "q");
        let mut law = CobaltParams { first_interval, ..Default::default() }.law();
        head(&mut law, 900_000, 0, 10, Ecn::NotEct, &mut rng);
        let drops: Vec<_> = (0..300u64)
            .filter(|n| head(&mut law, 1_000_000 + n * 1000, 10, 10, Ecn::NotEct, &mut rng) == Verdict::Drop)
            .collect();
        assert_eq!(drops[..4], expected, "first_interval {first_interval}");
        // The delay now stays at 0 for so long that count falls to 0. When the delay then rises above target again, both
        // variants (CAKE and ns-3) wait for one interval, 100 ms, before the first drop.
        (20..300).for_each(|n| _ = head(&mut law, n * 100_000, 0, 10, Ecn::NotEct, &mut rng));
        assert_eq!(law.state().count, 0);
        let again =
            (0..300u64).find(|n| head(&mut law, 29_950_000 + n * 1000, 10, 10, Ecn::NotEct, &mut rng) == Verdict::Drop);
        assert_eq!(again, Some(100));
    }
}

#[test]
fn cobalt_goes_on_with_the_count_it_has() {
    let mut rng = Rng::named(1, "q");
    let mut law = CobaltParams { ecn: true, first_interval: true, ..Default::default() }.law();
    let mut see = |law: &mut Cobalt, us, sojourn, ecn| {
        let verdict = head(law, us, sojourn, 10, ecn, &mut rng);
        (verdict, law.state().count, law.state().drop_next.0 / 1000)
    };
    see(&mut law, 900_000, 0, Ecn::NotEct);
    for us in [1_000_000, 1_100_000, 1_171_000, 1_229_000] {
        see(&mut law, us, 10, Ecn::NotEct);
    }
    assert_eq!((law.state().count, law.state().drop_next.0 / 1000), (4, 1_278_445));
    // the delay falls to the target, and rises above target again at 1250 ms. The next drop is due 100 / sqrt(4) = 50 ms
    // after that
    see(&mut law, 1_240_000, 5, Ecn::NotEct);
    assert_eq!(see(&mut law, 1_250_000, 10, Ecn::NotEct), (Verdict::Pass, 4, 1_300_000));
    // The dequeue at 1500 ms drops a packet 200 ms after the drop was due. The next drop is due at 1300 + 100 / sqrt(5)
    // = 1344.72, which has passed, so it may follow at once.
    assert_eq!(see(&mut law, 1_500_000, 10, Ecn::NotEct), (Verdict::Drop, 5, 1_344_721));
    // After a mark, the next mark would be due at 1344.72 + 100 / sqrt(6) = 1385.55, which has also passed. COBALT does
    // not catch up on late marks, so drop_next becomes the current time.
    let mark = Verdict::Mark(MarkReason::Law);
    assert_eq!(see(&mut law, 1_500_000, 10, Ecn::Ect0), (mark, 6, 1_500_000));
    // an empty queue lowers count by one if drop_next is due. Then drop_next is 1500 + 100 / sqrt(5) = 1544.72
    law.empty(Time(1_499 * MS));
    assert_eq!((law.state().count, law.state().drop_next), (6, Time(1_500 * MS)));
    law.empty(Time(1_510 * MS));
    assert_eq!((law.state().count, law.state().drop_next.0 / 1000), (5, 1_544_721));
}

#[test]
fn cobalt_marks_with_codel_and_never_drops_the_last_packet() {
    let mut rng = Rng::named(1, "q");
    let mut due = |ecn, behind, packet| {
        let mut law = CobaltParams { ecn, ..Default::default() }.law();
        // this is the first packet above target of a new queue, so the next one is marked or, if it is not the last one,
        // dropped
        head(&mut law, 1_000_000, 10, behind, packet, &mut rng);
        head(&mut law, 1_100_000, 10, behind, packet, &mut rng)
    };
    assert_eq!(due(true, 10, Ecn::Ect0), Verdict::Mark(MarkReason::Law));
    assert_eq!(due(true, 0, Ecn::Ect0), Verdict::Mark(MarkReason::Law));
    assert_eq!(due(true, 10, Ecn::NotEct), Verdict::Drop);
    assert_eq!(due(false, 10, Ecn::Ect0), Verdict::Drop);
    assert_eq!(due(false, 0, Ecn::NotEct), Verdict::Pass);
    let ce_threshold = Some(Duration::from_millis(3));
    let mut law = CobaltParams { ce_threshold, ..Default::default() }.law();
    assert_eq!(head(&mut law, 0, 4, 1, Ecn::Ect1, &mut rng), Verdict::Mark(MarkReason::Step));
    assert_eq!(head(&mut law, 0, 3, 1, Ecn::Ect1, &mut rng), Verdict::Pass);
}

#[test]
fn blue_steps_once_per_target() {
    let mut law = CobaltParams::default().law();
    let blue = |law: &Cobalt| (law.state().p_drop * 4096.0).round();
    // an overflow raises the probability by 1/256 = 16/4096 if the last step was more than 5 ms ago
    for (at, expected) in [(10, 16.0), (12, 16.0), (15, 16.0), (16, 32.0), (100, 48.0)] {
        law.overflow(Time(at * MS));
        assert_eq!(blue(&law), expected, "{at} ms");
    }
    // an overflow also starts CoDel's dropping at once
    assert_eq!((law.state().dropping, law.state().count, law.state().drop_next), (true, 1, Time(100 * MS)));
    // an empty queue lowers the probability by 1/4096
    for (at, expected) in [(104, 48.0), (106, 47.0), (110, 47.0), (112, 46.0)] {
        law.empty(Time(at * MS));
        assert_eq!(blue(&law), expected, "{at} ms");
    }
    (0..1000u64).for_each(|n| law.empty(Time((200 + 6 * n) * MS)));
    assert_eq!(law.state().p_drop, 0.0);
    // the probability never exceeds 1, and BLUE drops even ECN-capable packets
    (0..1000u64).for_each(|n| law.overflow(Time((10_000 + 6 * n) * MS)));
    assert_eq!(law.state().p_drop, 1.0);
    let mut rng = Rng::named(1, "q");
    assert_eq!(head(&mut law, 20_000_000, 0, 10, Ecn::Ect0, &mut rng), Verdict::Drop);
    // ns-3: for BLUE, a sojourn time above 400 ms counts as an overflow
    let mut law = CobaltParams { blue_threshold: Some(Duration::from_millis(400)), ..Default::default() }.law();
    head(&mut law, 10_000, 400, 10, Ecn::NotEct, &mut rng);
    assert_eq!(blue(&law), 0.0);
    head(&mut law, 10_000, 401, 10, Ecn::NotEct, &mut rng);
    assert_eq!(blue(&law), 16.0);
}

#[test]
fn refusals() {
    let refused = |json: &str| {
        let spec: qdisc::Spec = serde_json::from_value(json.parse().unwrap()).unwrap();
        let problem = spec.validate().unwrap_err();
        assert!(problem.message.contains("expected"), "{problem}");
        problem.to_string()
    };
    let problem = refused(r#"{"lred":{"min_th":"400ms","max_th":"200ms"}}"#);
    assert!(problem.starts_with("lred.min_th: 400ms is not valid with max_th = 200ms"), "{problem}");
    assert!(refused(r#"{"lred":{"min_th":"20p"}}"#).starts_with("lred.max_th: 400ms"));
    assert!(refused(r#"{"lred":{"curve":"10a"}}"#).starts_with("lred.min_th: 200ms"));
    assert!(refused(r#"{"lred":{"integral":2}}"#).starts_with("lred.integral: 2 is not valid; expected 0 to 1"));
    assert!(refused(r#"{"lred":{"integral":0.1,"min_th":"0ms"}}"#).starts_with("lred.min_th: 0 is not valid"));
    assert!(refused(r#"{"lred":{"curve":"10b","min_th":"2p","max_th":"3p"}}"#).starts_with("lred.min_th: 2p"));
    assert!(refused(r#"{"lred":{"p_min":0.5}}"#).starts_with("lred.p_min: 0.5"));
    assert!(refused(r#"{"lred":{"weight":0}}"#).starts_with("lred.weight: 0"));
    assert!(refused(r#"{"lred":{"limit":"0p"}}"#).starts_with("lred.limit: 0p"));
    let profile = |more: &str| {
        refused(&format!(
            r#"{{"lred":{{"profiles":[{{"min_th":"1ms","max_th":"2ms","p_min":0.1,"p_max":0.2{more}}}]}}}}"#
        ))
    };
    for which in ["", r#","dscp":32,"precedence":4"#] {
        assert!(profile(which).starts_with("lred.profiles.0: expected either dscp or precedence"));
    }
    assert!(profile(r#","dscp":64"#).starts_with("lred.profiles.0.dscp: 64 is not valid"));
    assert!(profile(r#","precedence":8"#).starts_with("lred.profiles.0.precedence: 8 is not valid"));
    let kinds = r#"{"lred":{"profiles":[{"dscp":1,"min_th":"1p","max_th":"2p","p_min":0.1,"p_max":0.2}]}}"#;
    assert!(refused(kinds).starts_with("lred.profiles.0.min_th: 1p is not valid with min_th = 200ms"));
    let order = r#"{"lred":{"profiles":[{"dscp":1,"min_th":"1ms","max_th":"2ms","p_min":0.3,"p_max":0.2}]}}"#;
    assert!(refused(order).starts_with("lred.profiles.0.p_min: 0.3 is not valid"));
    let both =
        r#"{"lred":{"integral":0.1,"profiles":[{"dscp":1,"min_th":"1ms","max_th":"2ms","p_min":0.1,"p_max":0.2}]}}"#;
    assert!(refused(both).starts_with("lred.integral: is not valid with profiles"));
    assert!(serde_json::from_value::<qdisc::Spec>(r#"{"lred":{"p_max":1.01}}"#.parse().unwrap()).is_err());
    assert!(refused(r#"{"cobalt":{"interval":"0s"}}"#).starts_with("cobalt.interval: 0s"));
    assert!(refused(r#"{"cobalt":{"target":"0s"}}"#).starts_with("cobalt.target: 0s"));
}
