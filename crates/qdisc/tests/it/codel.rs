//! Tests of CoDel against its closed form, and of the differences between its versions.

use packet::{Backlog, DropReason, Ecn, FateSink, FlowTable, LinkView, MarkReason, PacketMeta, Point};
use qdisc::law::codel::{Codel, CodelParams, CodelState, Reentry, Sojourn, Variant};
use qdisc::law::{Law, LawParams, Selector, Verdict, View};
use qdisc::{Context, Params, Queue};
use units::{BitRate, Bytes, Duration, Rng, Time};

const MS: u64 = 1_000_000;

#[derive(Default)]
struct Fates {
    dropped: Vec<(DropReason, Point)>,
    marked: Vec<(MarkReason, Point)>,
}

impl FateSink for Fates {
    fn dropped(&mut self, _: &PacketMeta, reason: DropReason, point: Point) {
        self.dropped.push((reason, point));
    }
    fn marked(&mut self, _: &PacketMeta, reason: MarkReason, point: Point) {
        self.marked.push((reason, point));
    }
}

/// Enqueues `n` packets at time 0, and dequeues one every 10 us from 1 s on. Returns the times of drops and marks in ms,
/// and all fates.
fn interventions(params: &CodelParams, ecn: Ecn, n: usize) -> (Vec<f64>, Fates) {
    let mut queue = Queue::new(params.build());
    let (mut rng, link, flows) = (Rng::named(1, "q"), LinkView::plain(BitRate(1_000_000_000)), FlowTable::default());
    let mut fates = Fates::default();
    let mut packet = PacketMeta { size: 1500, ..Default::default() };
    packet.set_ecn(ecn);
    for _ in 0..n {
        queue.enqueue(
            packet,
            &mut Context { now: Time(0), rng: &mut rng, link: &link, flows: &flows, fate: &mut fates },
        );
    }
    let mut times = Vec::new();
    let mut now = Time(1000 * MS);
    loop {
        let before = fates.dropped.len() + fates.marked.len();
        let cx = &mut Context { now, rng: &mut rng, link: &link, flows: &flows, fate: &mut fates };
        if queue.dequeue(cx).is_none() {
            break;
        }
        times.extend((before..fates.dropped.len() + fates.marked.len()).map(|_| now.secs() * 1e3));
        now += Duration::from_micros(10);
    }
    (times, fates)
}

fn unlimited() -> CodelParams {
    CodelParams { limit: Some("1000000p".parse().unwrap()), ..Default::default() }
}

#[test]
fn constant_backlog_is_dropped_on_the_square_root_schedule() {
    // The n-th drop is at t0 + 100 ms x sum_{k=1}^{n-1} 1/sqrt(k), so the gaps are 100, 70.71, 57.74, 50 ms ... The first
    // dequeue, at 1000 ms, finds a delay above target, so t0 = 1100 ms; ACM Queue waits for a second interval, so its t0 =
    // 1200 ms.
    for (variant, t0) in
        [(Variant::Rfc8289, 1100.0), (Variant::Draft01, 1100.0), (Variant::Kmn, 1100.0), (Variant::AcmQueue, 1200.0)]
    {
        let params = CodelParams { variant, ..unlimited() };
        let (times, fates) = interventions(&params, Ecn::NotEct, 150_000);
        let mut expected = t0;
        assert!(times.len() > 30, "{variant:?}: {}", times.len());
        for (n, t) in times.iter().enumerate() {
            // a drop happens at the first dequeue at or after the time when the drop is due, and dequeues are 10 us
            // apart
            assert!((-1e-6..0.0101).contains(&(t - expected)), "{variant:?} drop {n}: {t} not {expected}");
            expected += 100.0 / ((n + 1) as f64).sqrt();
        }
        assert!(fates.dropped.iter().all(|f| *f == (DropReason::EarlyHead, Point::Dequeue)));
    }
}

#[test]
fn linux_takes_one_newton_step_per_drop() {
    // The estimate x of 1/sqrt(n) starts at 1, and each later drop sets x <- x (3 - n x^2) / 2, which gives 1/2 for n = 2, 9/16
    // for n = 3 and 0.48779 for n = 4. So the gaps are 100, 50, 56.25 and 48.78 ms. The first drop is strictly after an interval.
    let (times, _) = interventions(&CodelParams { variant: Variant::Linux, ..unlimited() }, Ecn::NotEct, 150_000);
    for (t, expected) in times.iter().zip([1100.01, 1200.01, 1250.01, 1306.26, 1355.04]) {
        assert!((t - expected).abs() < 0.02, "{t} not {expected}");
    }
}

#[test]
fn ecn_marks_on_the_same_schedule() {
    let params = CodelParams { ecn: true, ..unlimited() };
    let (marks, fates) = interventions(&params, Ecn::Ect0, 60_000);
    assert!(fates.dropped.is_empty() && fates.marked.iter().all(|m| *m == (MarkReason::Law, Point::Dequeue)));
    let (drops, _) = interventions(&CodelParams { ecn: true, ..unlimited() }, Ecn::NotEct, 60_000);
    assert_eq!(marks[..8], drops[..8]);
}

#[test]
fn linux_counts_the_marks_of_both_rules() {
    // Marks remove no packet, so CoDel marks the same packets with and without a ce_threshold. All 100 000 packets are
    // above the threshold of 1 ms. In Linux, a packet that both rules mark counts as two marks; elsewhere, as one.
    let marks = |variant, ce_threshold| {
        let params = CodelParams { ecn: true, variant, ce_threshold, ..unlimited() };
        let marked = interventions(&params, Ecn::Ect0, 100_000).1.marked;
        let steps = marked.iter().filter(|(reason, _)| *reason == MarkReason::Step).count();
        (marked.len() - steps, steps)
    };
    let threshold = Some(Duration::from_millis(1));
    for (variant, twice) in [(Variant::Linux, true), (Variant::Rfc8289, false)] {
        let (codel, none) = marks(variant, None);
        assert!(codel > 10 && none == 0, "{codel} {none}");
        let steps = if twice { 100_000 } else { 100_000 - codel };
        assert_eq!(marks(variant, threshold), (codel, steps), "{variant:?}");
    }
}

#[test]
fn in_linux_the_selector_sees_the_mark_of_codel() {
    // Linux reads the DSCP and ECN byte after CoDel has marked the packet, so the packet is CE (3) for the selector
    let marks = |variant, selector: &str, ecn| {
        let ce_threshold = Some(Duration::from_millis(1));
        let ce_threshold_selector = Some(selector.parse().unwrap());
        let params = CodelParams { ecn: true, variant, ce_threshold, ce_threshold_selector, ..unlimited() };
        let marked = interventions(&params, ecn, 100_000).1.marked;
        let steps = marked.iter().filter(|(reason, _)| *reason == MarkReason::Step).count();
        (marked.len() - steps, steps)
    };
    for variant in [Variant::Linux, Variant::Rfc8289] {
        // all packets are above the threshold, but none is marked twice: in Linux, a packet that CoDel has marked is no
        // longer ECT(1), so it is not selected; in the other variants, no packet has two marks
        let (codel, steps) = marks(variant, "0x1/0x3", Ecn::Ect1);
        assert!(codel > 10, "{codel}");
        assert_eq!(codel + steps, 100_000, "{variant:?}");
    }
    // a selector of CE chooses the packets that CoDel marks, which arrived as ECT(0)
    let (codel, steps) = marks(Variant::Linux, "0x3/0x3", Ecn::Ect0);
    assert_eq!((codel > 10, steps), (true, codel));
}

#[test]
fn ce_threshold_marks_every_capable_packet_above_it() {
    let params =
        CodelParams { target: Duration::from_secs(10), ce_threshold: Some(Duration::from_millis(1001)), ..unlimited() };
    // packets leave at 1000, 1000.01 ... 1001.99 ms, and the 99 packets after 1001.00 ms have waited longer than 1001 ms
    let (times, fates) = interventions(&params, Ecn::Ect1, 200);
    assert_eq!((times.len(), fates.marked[0]), (99, (MarkReason::Step, Point::Dequeue)));
    assert!(interventions(&params, Ecn::NotEct, 200).0.is_empty());
    // with the selector for ECT(1), the threshold does not apply to ECT(0) and Not-ECT
    let l4s = CodelParams { ce_threshold_selector: Some(Selector::ECT1), ..params };
    assert_eq!([Ecn::Ect1, Ecn::Ect0, Ecn::NotEct].map(|ecn| interventions(&l4s, ecn, 200).0.len()), [99, 0, 0]);
    let lone = CodelParams { ce_threshold: None, ..l4s };
    assert!(Params::validate(&lone).unwrap_err().message.contains("needs a ce_threshold"));
}

/// Lets `law` decide about a packet that leaves the head of the queue at `ms`, with this sojourn time and `behind`
/// bytes behind it.
fn head(law: &mut Codel, ms: f64, sojourn_ms: u64, behind: u64, link: &LinkView) -> Verdict {
    let now = Time((ms * 1e6) as u64);
    let backlog = Backlog { packets: (behind / 1500) as u32, bytes: behind };
    let view = View { now, backlog, sojourn: Duration::from_millis(sojourn_ms), link };
    law.head(&PacketMeta { size: 1500, ..Default::default() }, &view, &mut Rng::named(1, "q"))
}

/// Keeps the delay above target until the law has dropped `drops` packets, and then below target, which ends the
/// dropping state. After `pause_ms`, the delay rises above target again. Returns the time in ms from this second rise
/// until the law re-enters the dropping state, and the law's state at that time.
fn reenter(params: &CodelParams, drops: u32, pause_ms: f64) -> (f64, CodelState) {
    let link = LinkView::plain(BitRate(5_000_000));
    let mut law = params.law();
    let (mut t, mut seen) = (0.0, 0);
    while seen < drops {
        seen += u32::from(head(&mut law, t, 50, 30_000, &link) == Verdict::Drop);
        t += 0.01;
    }
    head(&mut law, t, 50, 30_000, &link);
    head(&mut law, t, 1, 30_000, &link);
    assert!(!law.state().dropping && law.state().first_above_time.is_none());
    let start = t + pause_ms;
    t = start;
    while head(&mut law, t, 50, 30_000, &link) != Verdict::Drop {
        t += 0.01;
    }
    (t - start, law.state().clone())
}

#[test]
fn count_on_reentry_is_each_versions_own() {
    let count = |variant, drops, pause| reenter(&CodelParams { variant, ..unlimited() }, drops, pause).1.count;
    // After ten drops, count is 10 and lastcount is 1. If the law re-enters soon afterwards, RFC 8289 and Linux resume with
    // count - 1 = 9, draft-01 and kmn with count - 2 = 8.
    assert_eq!(count(Variant::Rfc8289, 10, 200.0), 9);
    assert_eq!(count(Variant::Linux, 10, 200.0), 9);
    assert_eq!(count(Variant::Draft01, 10, 200.0), 8);
    assert_eq!(count(Variant::Kmn, 10, 200.0), 8);
    // if count - 2 exceeds 126, ns-2's kmn version resumes with 0.9844 x count, in this case 0.9844 x 200 = 196.88
    assert_eq!(count(Variant::Kmn, 200, 200.0), 196);
    // The old count matters only if the law re-enters within 16 intervals after drop_next (RFC 8289) or within 8
    // (draft-01). drop_next is at most 100/sqrt(10) = 32 ms ahead when the dropping state ends, and the law re-enters
    // 100 ms after the pause. So the pauses of 1400 and 600 ms are short enough, and 1700 and 900 ms are too long.
    assert_eq!((count(Variant::Rfc8289, 10, 1400.0), count(Variant::Rfc8289, 10, 1700.0)), (9, 1));
    assert_eq!((count(Variant::Draft01, 10, 600.0), count(Variant::Draft01, 10, 900.0)), (8, 1));
    // In ACM Queue, this window is only one interval (100 ms), which the pause of 200 ms exceeds. So the delay must be
    // above target for two intervals before re-entry, and count restarts at 1.
    assert_eq!(count(Variant::AcmQueue, 10, 200.0), 1);
    // after two drops, count - lastcount is 1, so the law resumes with count 1
    assert_eq!(count(Variant::Rfc8289, 2, 200.0), 1);
    let params = CodelParams { reentry: Some(Reentry::MinusTwo), window: Some(16), ..unlimited() };
    assert_eq!(reenter(&params, 10, 1400.0).1.count, 8);
}

#[test]
fn partial_parole_waits_interval_over_root_count() {
    let wait = |variant| reenter(&CodelParams { variant, ..unlimited() }, 16, 200.0).0;
    assert!((wait(Variant::Kmn) - 25.0).abs() < 0.02, "{}", wait(Variant::Kmn));
    assert!((wait(Variant::Draft01) - 100.0).abs() < 0.02);
}

#[test]
fn nothing_is_dropped_while_a_packet_or_less_waits_behind() {
    for (params, behind, drops) in [
        (unlimited(), 1514, false),
        (unlimited(), 1515, true),
        (CodelParams { variant: Variant::AcmQueue, ..unlimited() }, 511, false),
        (CodelParams { variant: Variant::AcmQueue, ..unlimited() }, 512, true),
        (CodelParams { variant: Variant::Draft01, ..unlimited() }, 1500, false),
        (CodelParams { variant: Variant::Draft01, ..unlimited() }, 1501, true),
        (CodelParams { max_packet: Some(Bytes(9000)), ..unlimited() }, 9000, false),
    ] {
        let link = LinkView::plain(BitRate(5_000_000));
        let mut law = params.law();
        let dropped = (0..50).any(|i| head(&mut law, f64::from(i) * 10.0, 50, behind, &link) == Verdict::Drop);
        assert_eq!(dropped, drops, "{params:?} {behind}");
    }
}

#[test]
fn sojourn_can_include_the_transmit_queue() {
    let link = LinkView { downstream_delay: Duration::from_millis(4), ..LinkView::plain(BitRate(5_000_000)) };
    for (sojourn, drops) in [(Sojourn::Queue, false), (Sojourn::QueueAndTransmit, true)] {
        let mut law = CodelParams { sojourn, ..unlimited() }.law();
        let dropped = (0..50).any(|i| head(&mut law, f64::from(i) * 10.0, 3, 30_000, &link) == Verdict::Drop);
        assert_eq!(dropped, drops, "3 ms here + 4 ms behind against a target of 5 ms");
    }
}

#[test]
fn newton_converges_to_the_root() {
    // after about 40 drops in a row, the 16-bit estimate of 1/sqrt(count) is within 1 % of the exact value
    let (exact, newton) = (Variant::Rfc8289, Variant::Linux);
    let spacing = |variant| {
        let (t, _) = interventions(&CodelParams { variant, ..unlimited() }, Ecn::NotEct, 150_000);
        t[45] - t[35]
    };
    assert!((spacing(newton) / spacing(exact) - 1.0).abs() < 0.01);
}
