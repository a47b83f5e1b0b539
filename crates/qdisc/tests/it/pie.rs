//! Tests of PIE and DOCSIS-PIE: first updates, tables, bursts and states, worked out by hand.

use packet::{Backlog, Ecn, LinkView, MarkReason, PacketMeta};
use proptest::prelude::*;
use qdisc::law::docsis_pie::{Burst, DocsisPie, DocsisPieParams};
use qdisc::law::pi::{Dice, Gains, Tuning};
use qdisc::law::pie::{DelayEstimate, JudgedBy, Pie, PieParams, PieVariant};
use qdisc::law::{Law, LawParams, Verdict, View};
use units::{BitRate, Bytes, Duration, Limit, Prob, Rng, Time};

const MS: u64 = 1_000_000;

/// A law that a test calls step by step, as a queue would.
struct Bench<L> {
    law: L,
    rng: Rng,
    link: LinkView,
}

impl<L: Law> Bench<L> {
    fn new(law: L) -> Self {
        Self { law, rng: Rng::named(1, "q"), link: LinkView::plain(BitRate(10_000_000)) }
    }

    fn view(&self, us: u64, bytes: u64, sojourn_ms: u64) -> View<'static> {
        // a view borrows the link, so each call leaks a copy of the link (32 bytes)
        let link = Box::leak(Box::new(self.link));
        let backlog = Backlog { packets: bytes.div_ceil(1500) as u32, bytes };
        View { now: Time(us * 1000), backlog, sojourn: Duration::from_millis(sojourn_ms), link }
    }

    fn arrive(&mut self, us: u64, bytes: u64) -> Verdict {
        self.arrive_as(us, bytes, 1500, Ecn::NotEct)
    }

    fn arrive_as(&mut self, us: u64, bytes: u64, size: u16, ecn: Ecn) -> Verdict {
        let mut packet = PacketMeta { size, ..Default::default() };
        packet.set_ecn(ecn);
        let view = self.view(us, bytes, 0);
        self.law.arrive(&packet, &view, &mut self.rng)
    }

    fn left(&mut self, us: u64, bytes_behind: u64, sojourn_ms: u64) {
        let view = self.view(us, bytes_behind, sojourn_ms);
        self.law.left(&PacketMeta { size: 1500, ..Default::default() }, &view);
    }

    /// Runs the next update with `bytes` queued, and returns its time in us.
    fn tick(&mut self, bytes: u64) -> u64 {
        let at = self.law.next_tick().expect("a clock that runs").0 / 1000;
        let view = self.view(at, bytes, 0);
        self.law.tick(&view);
        at
    }
}

#[track_caller]
fn close(seen: f64, expected: f64) {
    assert!((seen - expected).abs() <= 1e-9 * expected.abs(), "{seen:e} not {expected:e}");
}

#[test]
fn the_tuning_tables() {
    // the table of RFC 8033 §4.2, which RFC 8034 §A.2 extends above 0.1
    for (drop_prob, pie, docsis, coarse) in [
        (0.0, 1.0 / 2048.0, 1.0 / 2048.0, 1.0 / 8.0),
        (9.9e-7, 1.0 / 2048.0, 1.0 / 2048.0, 1.0 / 8.0),
        (1e-6, 1.0 / 512.0, 1.0 / 512.0, 1.0 / 8.0),
        (1e-5, 1.0 / 128.0, 1.0 / 128.0, 1.0 / 8.0),
        (1e-4, 1.0 / 32.0, 1.0 / 32.0, 1.0 / 8.0),
        (1e-3, 1.0 / 8.0, 1.0 / 8.0, 1.0 / 8.0),
        (0.01, 0.5, 0.5, 0.5),
        (0.1, 1.0, 2.0, 1.0),
        (1.0, 1.0, 8.0, 1.0),
        (10.0, 1.0, 32.0, 1.0),
    ] {
        assert_eq!(Tuning::Rfc8033.factor(drop_prob), pie, "{drop_prob}");
        assert_eq!(Tuning::Rfc8034.factor(drop_prob), docsis, "{drop_prob}");
        assert_eq!(Tuning::Coarse.factor(drop_prob), coarse, "{drop_prob}");
        assert_eq!(Tuning::None.factor(drop_prob), 1.0);
    }
}

#[test]
fn a_step_up_is_capped_at_two_percent_from_ten_percent_on() {
    let gains = Gains { alpha: 0.125, beta: 1.25, target: Duration::from_millis(15), tuning: Tuning::Rfc8033 };
    let ms = Duration::from_millis;
    // The delay rises from 0 to 100 ms, 85 ms above the target, so the step without the cap would be 0.125 x 0.085 +
    // 1.25 x 0.1 = 0.135625. The cap of 0.02 applies if drop_prob is at least 0.1; just below 0.1, the step is only
    // halved.
    close(gains.step(0.1, ms(100), Duration::ZERO), 0.12);
    close(gains.step(0.0999, ms(100), Duration::ZERO), 0.0999 + 0.135_625 / 2.0);
    // a step down is not limited: if the delay falls from 100 ms to 0, the step is 0.125 x (-0.015) - 1.25 x 0.1 = -0.126875
    close(gains.step(0.5, Duration::ZERO, ms(100)), 0.5 - 0.126_875);
}

#[test]
fn first_updates_by_hand() {
    let mut b = Bench::new(PieParams::default().law());
    b.arrive(0, 0);
    // A step is alpha x (delay - target) + beta x (change of the delay), divided by a number that depends on drop_prob. The delay
    // rises from 0 to 35 ms, and the target is 15 ms. So the step is 0.125 x 0.020 + 1.25 x 0.035 = 0.04625, divided by 2048
    // because drop_prob is below 1e-6.
    b.left(1000, 30_000, 35);
    assert_eq!(b.tick(30_000), 15_000);
    close(b.law.state().drop_prob, 0.04625 / 2048.0);
    // the delay is unchanged, so the step is 0.125 x 0.020 = 0.0025, divided by 128 because drop_prob is from 1e-5 to 1e-4
    assert_eq!(b.tick(30_000), 30_000);
    close(b.law.state().drop_prob, 0.04625 / 2048.0 + 0.0025 / 128.0);
    // the delay rises by 100 ms to 135 ms, so the step is 0.125 x 0.120 + 1.25 x 0.1 = 0.14, again divided by 128
    b.left(31_000, 30_000, 135);
    b.tick(30_000);
    let p = 0.04625 / 2048.0 + 0.0025 / 128.0 + 0.14 / 128.0;
    close(b.law.state().drop_prob, p);
    // The delay falls by 120 ms to the target, so the step is -1.25 x 0.12 = -0.15, divided by 8 because drop_prob is from 1e-3 to
    // 1e-2. The sum would be below 0, so drop_prob becomes 0.
    b.left(46_000, 30_000, 15);
    b.tick(30_000);
    assert_eq!(b.law.state().drop_prob, 0.0);
}

#[test]
fn linux_adds_two_percent_above_250_ms_and_2013_above_200() {
    let after = |variant, ms| {
        let params = PieParams { variant, delay: Some(DelayEstimate::Timestamp), ..Default::default() };
        let mut b = Bench::new(params.law());
        b.arrive(0, 0);
        b.left(1000, 300_000, ms);
        b.tick(300_000);
        b.law.state().drop_prob
    };
    // the delay rises from 0 to d, so the first step is 0.125 x (d - 0.015) + 1.25 d, divided by 2048
    close(after(PieVariant::Rfc8033, 300), (0.125 * 0.285 + 0.375) / 2048.0);
    close(after(PieVariant::Linux, 300), (0.125 * 0.285 + 0.375) / 2048.0 + 0.02);
    close(after(PieVariant::Linux, 250), (0.125 * 0.235 + 0.3125) / 2048.0);
    // the draft of 2013 has a target of 20 ms and a coarser table of factors, so the step is 0.125 x (d - 0.020) + 1.25
    // d, divided by 8
    close(after(PieVariant::Draft2013, 250), (0.125 * 0.230 + 0.3125) / 8.0 + 0.02);
    close(after(PieVariant::Draft2013, 200), (0.125 * 0.180 + 0.25) / 8.0);
}

/// Returns a bench whose PIE has made 60 updates with a delay of 135 ms, so its probability is positive and no burst
/// allowance is left.
fn congested(params: &PieParams) -> Bench<Pie> {
    let mut b = Bench::new(params.law());
    b.arrive(0, 0);
    b.left(1000, 150_000, 135);
    b.left(161_000, 150_000, 135);
    for _ in 0..60 {
        b.tick(150_000);
    }
    b
}

#[test]
fn the_probability_decays_to_nothing_and_the_clock_stops() {
    for (variant, decay) in [(PieVariant::Rfc8033, 0.98), (PieVariant::Linux, 1.0 - 1.0 / 64.0)] {
        let mut b = congested(&PieParams { variant, ..Default::default() });
        b.law.empty(Time(0));
        b.tick(0);
        let before = b.law.state().drop_prob;
        assert!(before > 0.1, "{before}");
        // the current delay and the last one are now 0, so the step is 0.125 x (-0.015) = -0.001875, and after the step
        // drop_prob decays
        b.tick(0);
        close(b.law.state().drop_prob, (before - 0.001_875) * decay);
        let mut updates = 0;
        while b.law.next_tick().is_some() {
            b.tick(0);
            updates += 1;
            assert!(updates < 1000);
        }
        // the allowance is full again, and an arrival resumes the updates, at multiples of 15 ms as before
        assert_eq!(b.law.state().burst_allowance, Duration::from_millis(150));
        b.arrive(100_000_001, 0);
        assert_eq!(b.law.next_tick(), Some(Time(100_005 * MS)));
    }
}

#[test]
fn linux_does_not_decay_while_a_packet_waits() {
    // Every departure leaves an empty queue, so the delay is 0, but a packet waits at every update. RFC 8033 multiplies
    // by 0.98 after each step of 0.125 x (-0.015) = -0.001875. Linux only adds the step.
    for (variant, decay) in [(PieVariant::Rfc8033, 0.98), (PieVariant::Linux, 1.0)] {
        let mut b = congested(&PieParams { variant, ..Default::default() });
        b.left(2_000_000, 0, 135);
        b.tick(1500);
        for _ in 0..3 {
            let before = b.law.state().drop_prob;
            assert!(before > 0.1, "{before}");
            b.tick(1500);
            close(b.law.state().drop_prob, (before - 0.001_875) * decay);
        }
    }
}

#[test]
fn in_linux_the_probability_exceeds_one() {
    // The delay stays at 40 ms. From 10 % on, each update adds 0.125 x 0.025 = 0.003125. Linux has no bound at 1; only the
    // overflow of 64 bits, at 256, sets the probability back to 1.
    for (variant, bounded) in [(PieVariant::Rfc8033, true), (PieVariant::Linux, false)] {
        let mut b = congested(&PieParams { variant, ..Default::default() });
        b.left(2_000_000, 3000, 40);
        b.tick(3000);
        let start = b.law.state().drop_prob;
        assert!(start > 0.1 && start < 1.0, "{start}");
        (0..1000).for_each(|_| _ = b.tick(3000));
        let seen = b.law.state().drop_prob;
        if bounded {
            assert_eq!(seen, 1.0);
        } else {
            assert!((seen - start - 3.125).abs() < 1e-6, "{seen}");
        }
    }
}

#[test]
fn a_burst_is_allowed_for_ten_updates() {
    let mut b = Bench::new(PieParams::default().law());
    b.arrive(0, 0);
    b.left(1000, 1_500_000, 900);
    let mut first_drop = None;
    for update in 1..100 {
        let at = b.tick(1_500_000);
        assert_eq!(b.law.state().burst_allowance.millis(), 150.0 - 15.0 * f64::from(update.min(10)));
        if first_drop.is_none() && (0..2000).any(|_| b.arrive(at, 1_500_000) == Verdict::Drop) {
            first_drop = Some(update);
        }
    }
    // the tenth update uses up the rest of the 150 ms, and the probability is then far above 1/2000, so one of the 2000
    // arrivals is dropped
    assert_eq!(first_drop, Some(10));
}

#[test]
fn nothing_is_dropped_from_two_packets_or_when_the_delay_was_low() {
    let mut b = congested(&PieParams::default());
    let drops = |b: &mut Bench<Pie>, bytes| (0..1000).filter(|_| b.arrive(2_000_000, bytes) == Verdict::Drop).count();
    assert!(drops(&mut b, 2001) > 0);
    assert_eq!(drops(&mut b, 2000), 0);
    // nothing is dropped, because the delay of 7 ms is below half the target, 7.5 ms, and drop_prob is below 0.2
    let mut b = Bench::new(PieParams { tuning: Some(Tuning::None), ..Default::default() }.law());
    b.arrive(0, 0);
    b.left(1000, 150_000, 80);
    (0..12).for_each(|_| _ = b.tick(150_000));
    let before = b.law.state().drop_prob;
    assert!(before > 0.15, "{before}");
    b.left(1000, 150_000, 7);
    b.tick(150_000);
    let p = b.law.state().drop_prob;
    assert!(p > 0.0 && p < 0.2, "{p}");
    assert_eq!(drops(&mut b, 150_000), 0);
}

#[test]
fn linux_spares_less_than_two_packets_and_judges_by_the_present_delay() {
    let linux = PieParams { variant: PieVariant::Linux, derandomize: Some(false), ..Default::default() };
    let drops = |b: &mut Bench<Pie>, bytes| (0..1000).filter(|_| b.arrive(2_000_000, bytes) == Verdict::Drop).count();
    let mut b = congested(&linux);
    assert!(drops(&mut b, 3028) > 0, "two packets of 1514 are not less than two");
    assert_eq!(drops(&mut b, 3027), 0);
    // RFC 8033 also spares exactly two packets: with `spared` = 2 x 1514 bytes, nothing is dropped at 3028 bytes
    let mut b = congested(&PieParams { spared: Some(Bytes(3028)), ..linux.clone() });
    assert_eq!(drops(&mut b, 3028), 0);
    // Since the last update, the delay has fallen to 7 ms, below half the target. Linux judges by the present delay, so
    // it drops nothing from now on. RFC 8033 judges by the delay at the last update, so it still drops until the next
    // update.
    for (judged_by, expected) in [(JudgedBy::Present, false), (JudgedBy::LastUpdate, true)] {
        let mut b =
            Bench::new(PieParams { judged_by: Some(judged_by), tuning: Some(Tuning::None), ..linux.clone() }.law());
        b.arrive(0, 0);
        b.left(1000, 150_000, 80);
        b.left(201_000, 150_000, 80);
        (0..12).for_each(|_| _ = b.tick(150_000));
        let p = b.law.state().drop_prob;
        assert!(p > 0.1 && p < 0.2, "{p}");
        b.left(1000, 150_000, 7);
        assert_eq!(drops(&mut b, 150_000) > 0, expected, "{judged_by:?}");
    }
}

#[test]
fn departures_use_up_linux_burst_allowance() {
    let mut b = Bench::new(PieParams { variant: PieVariant::Linux, ..Default::default() }.law());
    b.arrive(0, 0);
    // Updates do not reduce the allowance of 150 ms. The times between the four departures, 40, 60 and 100 ms, reduce
    // the allowance to 110, 50 and 0 ms.
    (0..20).for_each(|_| _ = b.tick(150_000));
    for (ms, left) in [(300, 150), (340, 110), (400, 50), (500, 0)] {
        b.left(ms * 1000, 150_000, 80);
        assert_eq!(b.law.state().burst_allowance, Duration::from_millis(left), "{ms} ms");
    }
}

#[test]
fn drops_have_the_probability_and_bytemode_scales_it() {
    // the share of drops in 100 000 draws has a standard error of at most 0.0016
    for (bytemode, size, scale) in [(false, 500, 1.0), (true, 500, 0.5), (true, 1500, 1.5)] {
        let mut b = congested(&PieParams { bytemode, ..Default::default() });
        let p = b.law.state().drop_prob * scale;
        let n = 100_000;
        let drops = (0..n).filter(|_| b.arrive_as(2_000_000, 150_000, size, Ecn::NotEct) == Verdict::Drop).count();
        assert!((drops as f64 / f64::from(n) - p.min(1.0)).abs() < 0.008, "{bytemode} {size}: {drops} at {p}");
    }
}

#[test]
fn ecn_marks_below_its_threshold_only() {
    let verdicts = |ecn, mark_ecnth, packet| {
        let mark_ecnth = Prob::new(mark_ecnth).unwrap();
        let mut b = congested(&PieParams { ecn, mark_ecnth, ..Default::default() });
        let all: Vec<_> = (0..1000).map(|_| b.arrive_as(2_000_000, 150_000, 1500, packet)).collect();
        (all.contains(&Verdict::Drop), all.contains(&Verdict::Mark(MarkReason::Law)))
    };
    assert_eq!(verdicts(true, 1.0, Ecn::Ect0), (false, true));
    assert_eq!(verdicts(true, 0.1, Ecn::Ect0), (true, false));
    assert_eq!(verdicts(true, 1.0, Ecn::NotEct), (true, false));
    assert_eq!(verdicts(false, 1.0, Ecn::Ect0), (true, false));
}

#[test]
fn dice_never_drop_early_and_never_wait_long() {
    // With a probability of 1/16 per packet, accu_prob is 0.8125 after 13 packets, 0.875 after 14, and 8.5 after 136. A
    // drop is possible from 0.85 on, and certain from 8.5 on.
    for seed in 0..200 {
        let (mut dice, mut rng) = (Dice::default(), Rng::named(seed, "q"));
        let mut gap = 0;
        loop {
            gap += 1;
            dice.add(0.0625);
            if dice.roll(0.0625, &mut rng) {
                break;
            }
        }
        assert!((14..=136).contains(&gap), "{gap}");
        assert_eq!(dice.accu_prob, 0.0);
    }
    // with probability 0, a packet is dropped only because accu_prob reaches 8.5
    let mut dice = Dice { accu_prob: 8.4375 };
    assert!(!dice.roll(0.0, &mut Rng::named(1, "q")));
    dice.add(0.0625);
    assert!(dice.roll(0.0, &mut Rng::named(1, "q")));
}

#[test]
fn linux_forgets_the_sum_of_probabilities_when_it_refills_the_allowance() {
    for (variant, forgets) in [(PieVariant::Rfc8033, false), (PieVariant::Linux, true)] {
        let mut b = congested(&PieParams { variant, derandomize: Some(true), ..Default::default() });
        let p = b.law.state().drop_prob;
        assert!(p > 0.2 && p < 0.85, "{p}");
        assert_eq!(b.arrive(2_000_000, 150_000), Verdict::Pass, "the sum is below 0.85");
        close(b.law.state().dice.accu_prob, p);
        b.law.empty(Time(0));
        while b.law.next_tick().is_some() {
            b.tick(0);
        }
        assert_eq!(b.law.state().burst_allowance, Duration::from_millis(150));
        close(b.law.state().dice.accu_prob, if forgets { 0.0 } else { p });
    }
}

#[test]
fn the_departure_rate_of_2013() {
    // 1500 bytes leave every 1.2 ms, which is 800 ns per byte. The first departure begins a cycle. The next seven add 10 500
    // bytes, which reaches the cycle's threshold of 10 000.
    let mut b = Bench::new(PieParams { variant: PieVariant::Draft2013, ..Default::default() }.law());
    b.arrive(0, 0);
    for n in 0..8u64 {
        b.left(1000 + n * 1200, 30_000, 99);
    }
    assert_eq!(b.tick(30_000), 30_000);
    // 30 000 bytes take 24 ms, 4 ms above the target of 20 ms, so the step is 0.125 x 0.004 + 1.25 x 0.024 = 0.0305, divided by
    // 8
    assert_eq!(b.law.state().qdelay_old, Duration::from_millis(24));
    close(b.law.state().drop_prob, 0.0305 / 8.0);
    // Now packets leave at half the rate, so the next sample is 1600 ns per byte. With a weight of 0.5, the average
    // becomes 1200 ns per byte, or 36 ms for 30 000 bytes.
    for n in 0..7u64 {
        b.left(11_800 + n * 2400, 30_000, 99);
    }
    b.tick(30_000);
    assert_eq!(b.law.state().qdelay_old, Duration::from_millis(36));
    // a cycle begins only while enough bytes are queued, and without a cycle there is no estimate of the rate
    let mut b = Bench::new(PieParams { variant: PieVariant::Draft2013, ..Default::default() }.law());
    b.arrive(0, 0);
    (0..100).for_each(|n| b.left(n * 1200, 9999, 99));
    b.tick(9999);
    assert_eq!(b.law.state().qdelay_old, Duration::ZERO);
}

#[test]
fn linux_averages_whole_departure_rates() {
    let delay = Some(DelayEstimate::DepartureRate);
    let mut b = Bench::new(PieParams { variant: PieVariant::Linux, delay, ..Default::default() }.law());
    b.arrive(0, 0);
    // 1500 bytes leave every 1.2 ms (18 750 ticks of 64 ns), 10 Mbit/s. Rates are whole numbers of 1/256 byte per tick.
    // The first cycle has 11 packets in 10 gaps: 16 500 x 256 / 187 500 = 22.5. The second has 11 packets in 11 gaps:
    // 20.48. The average becomes 22 - 22/8 + 20/8 = 22 - 2 + 2 = 22.
    let mut now = 1000;
    let mut leave = |b: &mut Bench<Pie>, packets: u64, gap: u64| {
        for _ in 0..packets {
            b.left(now, 30_000, 99);
            now += gap;
        }
    };
    let delay = |b: &mut Bench<Pie>| {
        b.tick(30_000);
        b.law.state().qdelay_old
    };
    // a rate of n is n x 15 625 000 / 256 bytes/s, so 30 000 bytes take 491.52 ms / n
    let of = |n: f64| Duration((491_520_000.0 / n + 0.5) as u64);
    leave(&mut b, 11, 1200);
    assert_eq!(delay(&mut b), of(22.0));
    // the allowance of 150 ms has lost the duration of the cycle, 12 ms; updates do not reduce it
    assert_eq!(b.law.state().burst_allowance, Duration::from_millis(138));
    assert_eq!(delay(&mut b), of(22.0));
    leave(&mut b, 11, 1200);
    assert_eq!(delay(&mut b), of(22.0));
    // The link slows to 2 Mbit/s: 6 ms per packet. The samples are 4, and 4/8 is 0 in whole numbers, so the average falls by an
    // eighth of itself, rounded down, and stops at 7. (The first of these packets still has a gap of 1.2 ms.)
    for expected in [20.0, 18.0, 16.0, 14.0, 13.0, 12.0, 11.0, 10.0, 9.0, 8.0, 7.0, 7.0] {
        leave(&mut b, 11, 6000);
        assert_eq!(delay(&mut b), of(expected));
    }
    // an arrival is judged by the delay of the last update, 70 ms. The present backlog of 3050 bytes takes 7.1 ms, which is below
    // half of the target.
    let p = b.law.state().drop_prob;
    assert!(p > 0.001 && p < 0.2 && b.law.state().burst_allowance.is_zero(), "{p}");
    let drops = (0..2000).filter(|_| b.arrive(now, 3050) == Verdict::Drop).count();
    assert!(drops > 0);
}

#[test]
fn activation_waits_for_its_share_of_the_buffer() {
    let third = Prob::new(1.0 / 3.0).unwrap();
    let params = PieParams { limit: Some(Limit::Packets(30)), activation: third, ..Default::default() };
    let mut b = Bench::new(params.law());
    b.arrive(0, 9 * 1500);
    b.left(1000, 9 * 1500, 500);
    (0..20).for_each(|_| _ = b.tick(9 * 1500));
    assert!(!b.law.state().active && b.law.state().drop_prob == 0.0);
    b.arrive(301_000, 10 * 1500);
    assert!(b.law.state().active);
    b.left(302_000, 10 * 1500, 500);
    b.tick(10 * 1500);
    assert!(b.law.state().drop_prob > 0.0);
}

fn modem(limit: Limit) -> Bench<DocsisPie> {
    let mut b = Bench::new(DocsisPieParams { limit: Some(limit), ..Default::default() }.law());
    b.link = LinkView {
        rate: BitRate(5_000_000),
        peak_rate: BitRate(20_000_000),
        tokens: Bytes(10_000),
        downstream_delay: Duration::ZERO,
    };
    b
}

#[test]
fn docsis_pie_predicts_the_delay_from_the_tokens() {
    for (tokens, queue, us) in [
        // the tokens cover the whole queue, so 8000 B are sent at the peak rate of 20 Mbit/s
        (10_000, 8000, 3200),
        // 10 000 B are sent at 20 Mbit/s and 5000 B at 5 Mbit/s
        (10_000, 15_000, 12_000),
        (0, 15_000, 24_000),
        (0, 0, 0),
    ] {
        let mut b = modem(Limit::Bytes(Bytes(60_000)));
        b.link.tokens = Bytes(tokens);
        b.arrive(0, queue);
        assert_eq!(b.tick(queue), 16_000);
        assert_eq!(b.law.state().qdelay_old, Duration::from_micros(us));
    }
}

#[test]
fn docsis_pie_first_updates_by_hand() {
    let mut b = modem(Limit::Bytes(Bytes(60_000)));
    b.arrive(0, 0);
    // the delay rises from 0 to 12 ms, 2 ms above the target of 10 ms, so the step is 0.25 x 0.002 + 2.5 x 0.012 = 0.0305,
    // divided by 2048
    b.tick(15_000);
    close(b.law.state().drop_prob, 0.0305 / 2048.0);
    // the delay rises by 16 ms to 28 ms, so the step is 0.25 x 0.018 + 2.5 x 0.016 = 0.0445, divided by 128 because
    // drop_prob is between 1e-5 and 1e-4
    b.tick(25_000);
    close(b.law.state().drop_prob, 0.0305 / 2048.0 + 0.0445 / 128.0);
    // the delay falls to 3.2 ms. The sum of drop_prob and the step would be negative, so drop_prob becomes 0
    b.tick(8000);
    b.tick(8000);
    assert_eq!(b.law.state().drop_prob, 0.0);
    // The delay rises by 240.8 ms to 244 ms, so the step is 0.25 x 0.234 + 2.5 x 0.2408 = 0.6605, divided by 2048, plus 0.02
    // because the delay is above 200 ms.
    b.tick(160_000);
    close(b.law.state().drop_prob, 0.6605 / 2048.0 + 0.02);
    // drop_prob never exceeds 0.85 x 1024 / 64 = 13.6
    for _ in 0..2000 {
        b.tick(1_000_000);
    }
    assert_eq!(b.law.state().drop_prob, 13.6);
}

#[test]
fn docsis_pie_states() {
    // the buffer has 60 000 bytes, so the law is inactive below 20 000
    let mut b = modem(Limit::Bytes(Bytes(60_000)));
    b.link.tokens = Bytes(0);
    b.arrive(0, 0);
    for _ in 0..100 {
        let at = b.tick(19_999);
        assert_eq!(b.arrive(at, 19_999), Verdict::Pass);
        assert_eq!(b.law.state().burst, Burst::Inactive);
    }
    assert!(b.law.state().drop_prob > 0.01);
    // At a third of the buffer, the burst protection enters its state QUENCH. The first drop changes the state to
    // PROTECT and grants an allowance, during which drop_prob is 0.
    let mut at = b.tick(20_000);
    let mut verdict = b.arrive(at, 20_000);
    assert!(b.law.state().burst != Burst::Inactive);
    for _ in 0..1000 {
        if verdict == Verdict::Drop {
            break;
        }
        assert_eq!(b.law.state().burst, Burst::Quench);
        verdict = b.arrive(at, 20_000);
    }
    assert_eq!((verdict, b.law.state().burst), (Verdict::Drop, Burst::Protect));
    assert_eq!(b.law.state().burst_allowance, Duration::from_millis(142));
    // the allowance of 142 ms lasts for nine updates of 16 ms
    for n in 1..=9 {
        at = b.tick(40_000);
        assert_eq!(b.law.state().drop_prob, 0.0);
        assert_eq!(b.law.state().burst_allowance.millis(), (142.0 - 16.0 * f64::from(n)).max(0.0));
        assert_eq!(b.arrive(at, 40_000), Verdict::Pass);
    }
    b.tick(40_000);
    assert!(b.law.state().drop_prob > 0.0);
    // The queue is empty now. As soon as drop_prob is 0 and the current delay and the last one are low, the state
    // becomes QUENCH. After more than a second in QUENCH, it becomes INACTIVE.
    let mut quench = None;
    for _ in 0..2000 {
        let before = b.law.state().burst;
        at = b.tick(0);
        match (before, b.law.state().burst) {
            (Burst::Protect, Burst::Quench) => quench = Some(at),
            (_, Burst::Inactive) => break,
            _ => {}
        }
    }
    assert_eq!(at - quench.unwrap(), 63 * 16_000);
    // an inactive law with an empty queue has no more updates
    assert_eq!(b.law.next_tick(), None);
}

#[test]
fn refusals() {
    let refused = |json: &str| {
        let spec: qdisc::Spec = serde_json::from_value(json.parse().unwrap()).unwrap();
        let problem = spec.validate().unwrap_err();
        assert!(problem.message.contains("expected"), "{problem}");
        problem.path
    };
    assert_eq!(refused(r#"{"pie":{"tupdate":"0s"}}"#), "pie.tupdate");
    assert_eq!(refused(r#"{"pie":{"target":"0s"}}"#), "pie.target");
    assert_eq!(refused(r#"{"pie":{"alpha":-1}}"#), "pie.alpha");
    assert_eq!(refused(r#"{"pie":{"limit":"0p"}}"#), "pie.limit");
    assert_eq!(refused(r#"{"pie":{"dq_threshold":0}}"#), "pie.dq_threshold");
    assert_eq!(refused(r#"{"pie":{"dq_weight":0}}"#), "pie.dq_weight");
    assert_eq!(refused(r#"{"pie":{"activation":0.5}}"#), "pie.activation");
    assert!(serde_json::from_value::<qdisc::Spec>(r#"{"pie":{"mark_ecnth":1.5}}"#.parse().unwrap()).is_err());
    assert_eq!(refused(r#"{"docsis_pie":{"interval":"0s"}}"#), "docsis_pie.interval");
    assert_eq!(refused(r#"{"pie":{"tupdate":"99999ns"}}"#), "pie.tupdate");
    assert_eq!(refused(r#"{"sfq_hss":{"law":{"docsis_pie":{"interval":"2ns"}}}}"#), "sfq_hss.law.docsis_pie.interval");
    assert_eq!(refused(r#"{"docsis_pie":{"beta":0}}"#), "docsis_pie.beta");
}

/// An input of a law: an arrival, a departure (with its sojourn time in ms) or the passage of time (in ms).
#[derive(Clone, Debug)]
enum Moment {
    Arrive,
    Left(u64),
    Wait(u64),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_clock_that_stands_still_is_like_one_that_runs(
        moments in prop::collection::vec(
            prop_oneof![
                3 => Just(Moment::Arrive),
                3 => (0u64..60).prop_map(Moment::Left),
                2 => (0u64..400).prop_map(Moment::Wait),
            ],
            1..200,
        ),
        linux in any::<bool>(),
    ) {
        let variant = if linux { PieVariant::Linux } else { PieVariant::Rfc8033 };
        let law = PieParams { variant, ..Default::default() }.law();
        let (mut sleeper, mut runner) = (Bench::new(law.clone()), Bench::new(law));
        let (mut now, mut packets) = (0u64, 0u64);
        for moment in moments {
            match moment {
                Moment::Arrive => {
                    let verdicts = (sleeper.arrive(now, packets * 1500), runner.arrive(now, packets * 1500));
                    prop_assert_eq!(verdicts.0, verdicts.1);
                    packets += u64::from(verdicts.0 == Verdict::Pass);
                }
                Moment::Left(_) if packets == 0 => {
                    sleeper.law.empty(Time(now * 1000));
                    runner.law.empty(Time(now * 1000));
                }
                Moment::Left(sojourn) => {
                    packets -= 1;
                    sleeper.left(now, packets * 1500, sojourn);
                    runner.left(now, packets * 1500, sojourn);
                }
                Moment::Wait(ms) => {
                    for update in now / 15_000 + 1..=(now + ms * 1000) / 15_000 {
                        let view = runner.view(update * 15_000, packets * 1500, 0);
                        runner.law.tick(&view);
                        if sleeper.law.next_tick() == Some(view.now) {
                            sleeper.law.tick(&view);
                        }
                    }
                    now += ms * 1000;
                }
            }
            let (a, b) = (sleeper.law.state(), runner.law.state());
            prop_assert_eq!((a.drop_prob, a.qdelay_old, a.burst_allowance), (b.drop_prob, b.qdelay_old, b.burst_allowance));
            prop_assert_eq!(a.dice, b.dice);
        }
    }
}
