//! The quality of a telephone call at its listener.
//!
//! ```text
//!   lost   = dropped;  a packet in transit at the end is neither lost nor late
//!   late   = arrived with  delay - min delay of the call > late_after
//!   plr    = (lost + late) / (arrived + lost)
//!   jitter = RFC 3550 §6.4.1:  J += (|D| - J) / 16,  D = difference in delay of consecutive arrivals
//! ```
//!
//! The measured call begins at the end of the warm-up, so packets that arrive earlier do not count towards its minimum
//! delay. `bursts.rs` computes the burst ratio.
//!
//! Source: CableLabs 2012 §3.2.2, which does not define the jitter above which a packet is late. Here, it is the delay
//! above the minimum. This agrees with the paper's results for a buffer of 21 packets, which adds about 50 ms: no
//! packet is late.
//!
//! # Counting late packets without storing delays
//!
//! The minimum m is known only at the end, but the first delay is an upper bound: 0 <= m <= first. So the limit m +
//! late_after lies in [late_after, first + late_after]. Delays below this range are never late, and delays above it are
//! always late. Delays within the range are counted in 65 536 bins of width first/65536 (the levels of `bursts.rs`), so
//! memory has a bound, however long the call is. Only delays within one bin above the limit may be misclassified, as on
//! time. The width of a bin is 0.1 us if the first delay is 6 ms, and 15 us if it is a second.

use crate::Histogram;
use crate::bursts::{Bursts, Dropped, LEVELS, LOST};
use crate::emodel::{self, Codec};
use std::collections::BTreeMap;
use traffic::VoipParams;
use units::{Duration, Time};

/// Measures a call's quality packet by packet.
#[derive(Clone, Debug, PartialEq)]
pub struct VoipMeter {
    late_after: Duration,
    network_delay: Duration,
    codec: Codec,
    warm_up: Time,
    /// Delays of the packets that arrived after the warm-up.
    delays: Histogram,
    /// Width of a bin in nanoseconds: the delay of the first packet after the warm-up (an upper bound on the minimum
    /// delay), divided by the number of bins and rounded up.
    width: u64,
    /// The number of delays at each level at which there are any. Level i+1 is the range (late_after + i width, late_after +
    /// (i+1) width]. Level 0 has the delays below all these ranges, which are on time. [`LOST`] has the delays above them,
    /// which are late.
    levels: BTreeMap<u32, u64>,
    last_delay: u64,
    /// Interarrival jitter in 1/16 ns.
    jitter: u64,
    bursts: Bursts,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VoipSummary {
    /// Packets that were dropped, as a percentage of those that arrived or were dropped.
    pub lost_percent: f64,
    /// Packets that arrived late, as a percentage of the packets that arrived or were dropped.
    pub late_percent: f64,
    /// Sum of `lost_percent` and `late_percent`.
    pub plr_percent: f64,
    /// Interarrival jitter at the end of the call (RFC 3550); `None` if no packet arrived after the warm-up.
    pub jitter: Option<Duration>,
    /// Mean length of the runs of lost or late packets, divided by the mean length that they would have if losses were
    /// independent; 1 if no packet or every packet was lost or late.
    pub burst_ratio: f64,
    /// E-model rating, 0 to 100, by the formulas of G.107. It depends on the sum of mean delay and network delay, on
    /// the percentage of packets lost or late (`plr_percent`), on the burst ratio and on the codec.
    pub r_g107: f64,
    pub mos_g107: f64,
    /// E-model rating, 0 to 100, by the formula in CableLabs 2012. It depends on the sum of mean delay and network
    /// delay, and on the percentage of packets lost or late (`plr_percent`).
    pub r: f64,
    pub mos: f64,
    /// E-model rating, 0 to 100, from `plr_percent` alone. CableLabs 2012 appears to have computed the MOS that it
    /// prints from this rating.
    pub r_loss_only: f64,
    pub mos_loss_only: f64,
}

impl VoipMeter {
    /// Returns an empty meter for one direction of a call with parameters `p`.
    pub(crate) fn new(p: &VoipParams, warm_up: Time) -> Self {
        Self {
            late_after: p.late_after,
            network_delay: p.network_delay,
            codec: Codec { ie: p.ie, bpl: p.bpl },
            warm_up,
            delays: Histogram::default(),
            width: 1,
            levels: BTreeMap::new(),
            last_delay: 0,
            jitter: 0,
            bursts: Bursts::new(p.late_after.0 / p.interval.0.max(1)),
        }
    }

    /// Records packet `number` (from 0), which was sent at `sent` and arrived at `arrived`. Each packet arrives at most once.
    pub fn arrival(&mut self, number: u64, sent: Time, arrived: Time) {
        let delay = arrived.since(sent);
        let ns = delay.0;
        if arrived < self.warm_up {
            return self.bursts.warm_up(number);
        }
        if self.arrived() == 0 {
            self.width = ns.div_ceil(LEVELS as u64).max(1);
            self.last_delay = ns;
        }
        self.delays.record(delay);
        let level = self.level(ns);
        *self.levels.entry(level).or_default() += 1;
        // J += |D| - (J + 8) / 16 with J in sixteenths (RFC 3550 §A.8)
        self.jitter = (self.jitter + ns.abs_diff(self.last_delay)).saturating_sub((self.jitter + 8) >> 4);
        self.last_delay = ns;
        self.bursts.arrival(number, level);
    }

    /// Returns the level of a delay of `ns`.
    fn level(&self, ns: u64) -> u32 {
        let above = ns.saturating_sub(self.late_after.0);
        above.div_ceil(self.width).min(u64::from(LOST)) as u32
    }

    /// Returns the highest level that is not late, judged by the minimum delay of all packets that have arrived so far.
    ///
    /// A delay in level i exceeds late_after by more than (i-1) width and at most i width. A delay is late if it
    /// exceeds late_after by more than the minimum delay. In the level whose range contains late_after plus
    /// the minimum delay, late packets cannot be distinguished from others, so all packets of this level count as on
    /// time.
    fn limit(&self) -> u32 {
        self.delays.min().unwrap_or_default().0.div_ceil(self.width).min(LEVELS as u64) as u32
    }

    pub(crate) fn arrived(&self) -> u64 {
        self.delays.count()
    }

    /// Returns the distribution of one-way delays.
    pub(crate) fn delays(&self) -> &Histogram {
        &self.delays
    }

    /// Returns the largest error in detecting late packets: a packet whose delay exceeds the limit by no more than this
    /// duration may count as on time.
    #[cfg(test)]
    fn resolution(&self) -> Duration {
        Duration(self.width - 1)
    }

    /// Returns the number of packets that arrived late, judged by the minimum delay so far.
    fn late(&self) -> u64 {
        self.levels.range(self.limit() + 1..).map(|(_, &n)| n).sum()
    }

    /// Returns the statistics of the packets that arrived or were dropped after the warm-up; `None` if there are none.
    pub(crate) fn summary(&self, dropped: Dropped) -> Option<VoipSummary> {
        let arrived = self.arrived();
        let judged = arrived + dropped.after;
        let percent = |n: u64| 100.0 * n as f64 / judged as f64;
        let (lost, late) = (dropped.after, self.late());
        let loss = percent(lost + late) / 100.0;
        let delay = self.delays.mean().unwrap_or(Duration::ZERO) + self.network_delay;
        let burst_ratio = self.bursts.ratio(self.limit(), late, dropped);
        // ratings range from 0 to 100
        let scale = |r: f64| r.clamp(0.0, 100.0);
        let r = scale(emodel::r_value(delay, loss));
        let r_loss_only = scale(emodel::r_value(Duration::ZERO, loss));
        let r_g107 = scale(emodel::r_g107(delay, self.codec, loss, burst_ratio));
        (judged > 0).then(|| VoipSummary {
            lost_percent: percent(lost),
            late_percent: percent(late),
            plr_percent: percent(lost + late),
            jitter: (arrived > 0).then_some(Duration(self.jitter >> 4)),
            burst_ratio,
            r_g107,
            mos_g107: emodel::mos(r_g107),
            r,
            mos: emodel::mos(r),
            r_loss_only,
            mos_loss_only: emodel::mos(r_loss_only),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rng;

    const MS: u64 = 1_000_000;

    /// Returns the meter of a G.711 call with 20 ms of speech per packet. A packet is late if its delay exceeds the
    /// minimum by more than 60 ms.
    fn meter() -> VoipMeter {
        VoipMeter::new(&VoipParams::default(), Time::ZERO)
    }

    fn dropped(after: u64) -> Dropped {
        Dropped { before: 0, after }
    }

    fn feed(m: &mut VoipMeter, delays: &[u64]) {
        for (i, &d) in delays.iter().enumerate() {
            let sent = Time(i as u64 * 20 * MS);
            m.arrival(i as u64, sent, Time(sent.0 + d));
        }
    }

    #[test]
    fn late_is_judged_by_the_minimum_of_the_whole_call() {
        // The minimum delay of 10 ms comes last. The four packets with a delay above 10 + 60 ms are late. If the first
        // delay were used instead of the minimum, only the two packets with a delay above 40 + 60 ms would be late.
        let mut m = meter();
        feed(&mut m, &[40 * MS, 70 * MS, 71 * MS, 100 * MS, 101 * MS, 500 * MS, 10 * MS]);
        assert_eq!(m.late(), 4);
        let s = m.summary(dropped(3)).unwrap();
        assert_eq!((m.arrived(), s.lost_percent, s.late_percent, s.plr_percent), (7, 30.0, 40.0, 70.0));
        assert_eq!((m.delays().min().unwrap().0, m.delays().max().unwrap().0), (10 * MS, 500 * MS));
        // the mean is (40 + 70 + 71 + 100 + 101 + 500 + 10) / 7 = 892/7 ms
        assert_eq!(m.delays().mean().unwrap().0, (892 * MS + 3) / 7);
    }

    #[test]
    fn the_border_is_exact_up_to_the_resolution() {
        let mut rng = Rng::named(9, "voip");
        for round in 0..200 {
            let top = 1 + rng.below(300 * MS);
            let delays: Vec<u64> = (0..500).map(|_| rng.below(top)).collect();
            let mut m = meter();
            feed(&mut m, &delays);
            let min = delays.iter().min().unwrap();
            let border = min + 60 * MS;
            let exact = delays.iter().filter(|&&d| d > border).count() as u64;
            let sure = delays.iter().filter(|&&d| d > border + m.resolution().0).count() as u64;
            assert!((sure..=exact).contains(&m.late()), "round {round}");
            assert!(m.resolution().0 <= top / 65_536 + 1);
        }
    }

    #[test]
    fn the_first_delay_may_be_huge_or_nothing() {
        let mut m = meter();
        feed(&mut m, &[0, 60 * MS, 60 * MS + 1]);
        assert_eq!((m.late(), m.resolution()), (1, Duration::ZERO));
        let mut m = meter();
        feed(&mut m, &[10_000 * MS, MS, 10_000 * MS]);
        assert_eq!(m.late(), 2);
        assert!(m.resolution() < Duration::from_micros(160));
        let s = meter().summary(dropped(5)).unwrap();
        assert_eq!((s.lost_percent, s.jitter), (100.0, None));
        assert_eq!(meter().summary(dropped(0)), None);
    }

    #[test]
    fn jitter_settles_at_the_mean_difference() {
        // delays alternate between two values that differ by 8 ms, so |D| is always 8 ms, and J converges to 8 ms with a time
        // constant of 16 packets
        let delays: Vec<u64> = (0..1000).map(|i| 10 * MS + (i % 2) * 8 * MS).collect();
        let mut m = meter();
        feed(&mut m, &delays);
        assert!(m.summary(dropped(0)).unwrap().jitter.unwrap().0.abs_diff(8 * MS) < 10);
        let mut m = meter();
        feed(&mut m, &[5 * MS; 100]);
        assert_eq!(m.summary(dropped(0)).unwrap().jitter, Some(Duration::ZERO));
    }

    #[test]
    fn both_ratings() {
        // with 1 % lost and a delay of 100 + 20 ms, R = 94.2 - 0.024*120 - 30 ln 1.15. R for the loss alone is 2.88 higher
        let mut m = meter();
        feed(&mut m, &[100 * MS; 99]);
        let s = m.summary(dropped(1)).unwrap();
        assert!((s.r_loss_only - s.r - 2.88).abs() < 1e-9);
        assert!((s.r_loss_only - (94.2 - 30.0 * units::math::ln(1.15))).abs() < 1e-9);
        assert!(s.mos < s.mos_loss_only);
    }

    #[test]
    fn ratings_stay_on_their_scale() {
        // with a mean delay of 20 minutes, and 99 % of the packets lost or late, the formula's R is far below 0
        let mut m = meter();
        feed(&mut m, &[1, 1_800_000 * MS, 1_800_000 * MS]);
        let s = m.summary(dropped(97)).unwrap();
        assert_eq!((s.r, s.mos, s.r_g107, s.mos_g107), (0.0, 1.0, 0.0, 1.0));
        assert!((0.0..=100.0).contains(&s.r_loss_only));
    }

    /// Returns the burst ratio of a call. Letter k of `fates` is the fate of packet k: `p` played (10 ms), `l` late
    /// (80 ms), `.` dropped.
    fn burst_ratio(fates: &str) -> f64 {
        let mut m = meter();
        for (k, fate) in (0..).zip(fates.bytes()).filter(|(_, fate)| *fate != b'.') {
            let sent = Time(k * 20 * MS);
            m.arrival(k, sent, sent + Duration(if fate == b'p' { 10 * MS } else { 80 * MS }));
        }
        m.summary(dropped(fates.bytes().filter(|&fate| fate == b'.').count() as u64)).unwrap().burst_ratio
    }

    #[test]
    fn bursts_are_longer_than_chance_has_them() {
        // Runs of 4 and 2 packets, so the mean length is 3. If half of all packets were lost independently of each
        // other, the mean length would be 2.
        assert_eq!(burst_ratio("ppp....p..pp"), 1.5);
        // Three runs of 1 packet. If 3/7 of all packets were lost independently, the mean length would be 7/4.
        assert_eq!(burst_ratio("p.p.p.p"), 4.0 / 7.0);
        assert_eq!(burst_ratio("ppp"), 1.0);
        // independent losses of 10 % give a ratio near 1
        let mut rng = Rng::named(3, "bursts");
        let chance: String = (0..100_000).map(|_| if rng.unit() > 0.1 { 'p' } else { '.' }).collect();
        assert!((burst_ratio(&chance) - 1.0).abs() < 0.02);
        // late packets are missed, too: one run of two packets among six
        assert!((burst_ratio("pppllp") - 2.0 * 4.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn a_run_at_either_end_of_the_call_counts() {
        // One run of 5 among 10 packets has a mean length of 5, wherever it is. With independent losses, the mean would
        // be 2.
        for fates in ["p.....pppp", "ppppp.....", ".....ppppp", "ppppp..lll", "lll..ppppp", "ppp.l.l.pp"] {
            assert!((burst_ratio(fates) - 2.5).abs() < 1e-12, "{fates}");
        }
        // two runs, at the two ends: a mean length of 2.5
        assert!((burst_ratio("..ppppp.l.") - 1.25).abs() < 1e-12);
        // if no packet was played, the ratio is 1 by definition
        assert_eq!((burst_ratio("....")), 1.0);
    }

    #[test]
    fn an_overtaken_packet_that_arrives_in_time_is_not_missed() {
        let mut m = meter();
        for (n, at) in [(0, 10), (2, 50), (1, 55), (3, 70), (4, 90), (6, 130), (5, 135), (7, 150)] {
            m.arrival(n, Time(n * 20 * MS), Time(at * MS));
        }
        assert_eq!(m.summary(dropped(0)).unwrap().burst_ratio, 1.0);
        // packet 8 takes 100 ms, 90 ms more than the minimum, and arrives after four later packets: one run of one
        // packet among 13
        for (n, at) in [(9, 190), (10, 210), (11, 230), (12, 250), (8, 260)] {
            m.arrival(n, Time(n * 20 * MS), Time(at * MS));
        }
        assert!((m.summary(dropped(0)).unwrap().burst_ratio - 12.0 / 13.0).abs() < 1e-12);
    }

    #[test]
    fn an_overtaken_packet_in_transit_at_the_end_is_not_missed() {
        // packets 4 and 7 are lost; packet 8 is in transit and does not count: two runs of one packet among nine
        let mut m = meter();
        for n in [0, 1, 2, 3, 5, 6, 9] {
            m.arrival(n, Time(n * 20 * MS), Time(n * 20 * MS + 10 * MS));
        }
        assert!((m.summary(dropped(2)).unwrap().burst_ratio - 7.0 / 9.0).abs() < 1e-12);
        // if packets 4 and 7 are in transit too, no packet is missed
        assert_eq!(m.summary(dropped(0)).unwrap().burst_ratio, 1.0);
    }

    #[test]
    fn runs_are_judged_by_the_minimum_of_the_whole_call() {
        // The fastest packet (10 ms) comes last. So the six packets of 90 ms before it are late: one run of six of the eight
        // packets. The packet of 60 ms is played.
        let mut m = meter();
        feed(&mut m, &[60 * MS, 90 * MS, 90 * MS, 90 * MS, 90 * MS, 90 * MS, 90 * MS, 10 * MS]);
        let s = m.summary(dropped(0)).unwrap();
        assert_eq!((s.late_percent, s.burst_ratio), (75.0, 6.0 * 0.25));
    }

    #[test]
    fn the_fastest_packet_is_one_after_the_warm_up() {
        // The warm-up contains packets 0-49, which take 10 ms. Packets 50-99 take 100 and 170 ms in turn. The slower
        // ones are late: 25 runs of one packet. If half of all packets were late independently, the mean would be 2.
        let mut m = VoipMeter::new(&VoipParams::default(), Time(1000 * MS));
        feed(&mut m, &[vec![10 * MS; 50], [100 * MS, 170 * MS].repeat(25)].concat());
        let s = m.summary(dropped(0)).unwrap();
        assert_eq!((m.arrived(), s.late_percent, s.burst_ratio), (50, 50.0, 0.5));
        assert_eq!(m.delays().min().unwrap().0, 100 * MS);
    }

    #[test]
    fn a_run_that_begins_in_the_warm_up_counts_from_its_end() {
        // The call is measured from packet 50 on. If packets 45-54 are lost, the 5 that are lost after the warm-up are one
        // run, among the 50 packets 50-99. If only 45-49 are lost, nothing is lost after the warm-up.
        let burst_ratio = |lost: std::ops::Range<u64>, after: &[u64]| {
            let mut m = VoipMeter::new(&VoipParams::default(), Time(1000 * MS));
            for n in (0..100).filter(|n| !lost.contains(n) && !after.contains(n)) {
                m.arrival(n, Time(n * 20 * MS), Time(n * 20 * MS + 10 * MS));
            }
            let before = lost.clone().filter(|&n| n < 50).count() as u64;
            let after = lost.filter(|&n| n >= 50).count() as u64 + after.len() as u64;
            m.summary(Dropped { before, after }).unwrap().burst_ratio
        };
        assert!((burst_ratio(45..55, &[]) - 5.0 * 0.9).abs() < 1e-12);
        assert_eq!(burst_ratio(45..50, &[]), 1.0);
        // one run of 4 at the end
        assert!((burst_ratio(45..50, &[96, 97, 98, 99]) - 4.0 * 0.92).abs() < 1e-12);
        // runs of 5, 1 and 4 packets: 10 of 50 in three runs
        assert!((burst_ratio(45..55, &[70, 96, 97, 98, 99]) - 10.0 / 3.0 * 0.8).abs() < 1e-12);
        // the loss of packets 20-29 does not matter
        assert!((burst_ratio(20..30, &[50, 51]) - 2.0 * 0.96).abs() < 1e-12);
    }

    /// In random calls with losses and reordering, the meter's burst ratio equals the ratio computed from a list of all
    /// packets.
    #[test]
    fn the_runs_are_those_of_the_list_of_all_packets() {
        let mut rng = Rng::named(4, "runs");
        for round in 0..500 {
            let n = 1 + rng.below(60);
            let most = 1 + rng.below(200);
            let mut fates: Vec<Option<u64>> =
                (0..n).map(|_| (rng.unit() > 0.3).then(|| 10 + rng.below(most))).collect();
            fates.iter_mut().take(rng.below(10) as usize).for_each(|d| *d = None);
            let mut arrivals: Vec<(u64, u64)> =
                (0..).zip(&fates).filter_map(|(k, d)| Some((20 * k + (*d)?, k))).collect();
            arrivals.sort_unstable();
            let mut m = meter();
            arrivals.iter().for_each(|&(at, k)| m.arrival(k, Time(20 * k * MS), Time(at * MS)));
            let least = fates.iter().flatten().min();
            let missed: Vec<bool> = fates.iter().map(|d| d.is_none_or(|d| d > least.unwrap() + 60)).collect();
            let runs: Vec<usize> = missed.chunk_by(|a, b| a == b).filter(|run| run[0]).map(<[bool]>::len).collect();
            let p = runs.iter().sum::<usize>() as f64 / n as f64;
            let expected = match runs.len() {
                0 => 1.0,
                _ if p == 1.0 => 1.0,
                k => runs.iter().sum::<usize>() as f64 / k as f64 / (1.0 / (1.0 - p)),
            };
            let lost = fates.iter().filter(|d| d.is_none()).count() as u64;
            let found = m.summary(dropped(lost)).unwrap().burst_ratio;
            assert!((found - expected).abs() < 1e-9, "round {round}: {found} for {expected}, {fates:?}");
        }
    }
}
