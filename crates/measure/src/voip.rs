//! The quality of a telephone call at its listener.
//!
//! ```text
//!   lost   = sent - arrived
//!   late   = arrived with  delay - min delay of the call > late_after
//!   plr    = (lost + late) / sent
//!   jitter = RFC 3550 §6.4.1:  J += (|D| - J) / 16,  D = difference in delay of consecutive arrivals
//! ```
//!
//! The burst ratio of G.107 is the mean length of runs of lost or late packets, divided by the mean length that runs
//! would have if losses were independent, 1 / (1 - p). Here p is the fraction of packets that were lost or late, and a
//! packet is late if its delay exceeds the minimum delay so far by more than late_after.
//!
//! Source: CableLabs 2012 §3.2.2. CableLabs 2012 does not define the jitter above which a packet is late. Delay above the minimum
//! is the most plausible interpretation, and agrees with its rows for 21 packets (at most 50 ms of queue, so no packet is late).
//!
//! # Counting late packets without storing delays
//!
//! The minimum m is known only at the end, but the first delay is an upper bound: 0 <= m <= first. So the limit m + late_after
//! lies in [late_after, first + late_after]. Delays below this range are never late, and delays above it always are. Delays
//! within it are counted in 65 536 bins of width first/65536, so memory does not depend on the length of the call. Only delays
//! within one bin above the limit may be misclassified (as on time). The width of a bin is 0.1 us if the first delay is 6 ms, and
//! 15 us if it is a second.

use crate::Histogram;
use crate::emodel::{self, Codec};
use units::{Duration, Time};

/// Number of bins for the delays that are late or on time depending on the minimum delay of the call.
const BINS: usize = 65_536;

/// Measures a call's quality packet by packet.
#[derive(Clone, Debug, PartialEq)]
pub struct VoipMeter {
    late_after: Duration,
    network_delay: Duration,
    codec: Codec,
    delays: Histogram,
    /// Delay of the first packet that arrived, which is an upper bound on the minimum delay of the call; `None` before
    /// the first arrival.
    first: Option<u64>,
    /// Width of a bin in nanoseconds.
    width: u64,
    /// Element i is the number of delays in (late_after + i width, late_after + (i+1) width].
    bins: Vec<u32>,
    /// Number of delays above the last bin, which are certainly late.
    above: u64,
    last_delay: u64,
    /// Interarrival jitter in 1/16 ns.
    jitter: u64,
    next: u64,
    runs: Runs,
}

/// Runs of packets that were not played out because they were lost or late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Runs {
    /// Length of the current run.
    length: u64,
    /// Number of runs of missed packets that have ended.
    ended: u64,
    /// Number of missed packets in the runs that have ended.
    missed: u64,
    /// Packets played out.
    played: u64,
}

impl Runs {
    fn miss(&mut self, packets: u64) {
        self.length += packets;
    }

    fn play(&mut self) {
        self.played += 1;
        if self.length > 0 {
            self.ended += 1;
            self.missed += self.length;
            self.length = 0;
        }
    }

    /// Returns the mean length of the runs that have ended, divided by the mean length that they would have if losses
    /// were independent. Returns 1 if no run has ended yet.
    fn ratio(&self) -> f64 {
        if self.ended == 0 {
            return 1.0;
        }
        let share = self.missed as f64 / (self.missed + self.played) as f64;
        self.missed as f64 / self.ended as f64 * (1.0 - share)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VoipSummary {
    /// Packets that never arrived, as a percentage of those sent.
    pub lost_percent: f64,
    /// Packets that arrived late, as a percentage of those sent.
    pub late_percent: f64,
    /// Packets lost or late, as a percentage of those sent.
    pub plr_percent: f64,
    /// Interarrival jitter at the end of the call (RFC 3550); `None` if no packet arrived.
    pub jitter: Option<Duration>,
    /// Mean length of loss bursts, divided by the mean length that they would have if losses were independent.
    pub burst_ratio: f64,
    /// E-model rating, 0 to 100, by the formulas of G.107. It depends on the sum of mean delay and network delay, on
    /// the percentage of packets lost or late (`plr_percent`), on the burst ratio and on the codec.
    pub r_g107: f64,
    pub mos_g107: f64,
    /// E-model rating, 0 to 100, from the sum of mean delay and network delay, and from the percentage of packets lost
    /// or late (`plr_percent`).
    pub r: f64,
    pub mos: f64,
    /// E-model rating, 0 to 100, from `plr_percent` alone. CableLabs 2012 appears to have computed the MOS that it
    /// prints from this rating.
    pub r_loss_only: f64,
    pub mos_loss_only: f64,
}

impl VoipMeter {
    /// Returns an empty meter. All parameters have the values of the fields in `traffic::VoipParams`.
    pub(crate) fn new(late_after: Duration, network_delay: Duration, codec: Codec) -> Self {
        Self {
            late_after,
            network_delay,
            codec,
            delays: Histogram::default(),
            first: None,
            width: 1,
            bins: vec![0; BINS],
            above: 0,
            last_delay: 0,
            jitter: 0,
            next: 0,
            runs: Runs::default(),
        }
    }

    /// Records packet `number` (from 0), which was sent at `sent` and arrived at `arrived`. Each packet arrives at most once.
    pub fn arrival(&mut self, number: u64, sent: Time, arrived: Time) {
        let delay = arrived.since(sent);
        let ns = delay.0;
        self.delays.record(delay);
        if self.first.is_none() {
            self.first = Some(ns);
            self.width = ns.div_ceil(BINS as u64).max(1);
            self.last_delay = ns;
        }
        if ns > self.late_after.0 {
            match self.bins.get_mut(((ns - self.late_after.0 - 1) / self.width) as usize) {
                Some(n) => *n = n.saturating_add(1),
                None => self.above += 1,
            }
        }
        // J += |D| - (J + 8) / 16 with J in sixteenths (RFC 3550 §A.8)
        self.jitter = (self.jitter + ns.abs_diff(self.last_delay)).saturating_sub((self.jitter + 8) >> 4);
        self.last_delay = ns;
        if number < self.next {
            return; // this packet was overtaken, and has been counted as missed
        }
        if self.arrived() > 1 {
            self.runs.miss(number - self.next);
        }
        self.next = number + 1;
        let late = self.delays.min().is_some_and(|min| ns > min.0 + self.late_after.0);
        if late { self.runs.miss(1) } else { self.runs.play() }
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

    /// Returns the number of packets that arrived late, judged by the minimum delay of all packets that have arrived so
    /// far.
    fn late(&self) -> u64 {
        let Some(min) = self.delays.min() else { return 0 };
        // Bin i counts the delays for which x = delay - late_after is in (i width, (i+1) width]. A packet is late if x
        // is larger than the minimum delay. In the bin whose range contains the minimum delay, late packets cannot be
        // distinguished from others, so all packets of this bin count as on time.
        let from = (min.0.div_ceil(self.width) as usize).min(BINS);
        self.bins[from..].iter().map(|&n| u64::from(n)).sum::<u64>() + self.above
    }

    /// Returns the statistics of a call of `sent` packets; `None` for a call without packets.
    pub(crate) fn summary(&self, sent: u64) -> Option<VoipSummary> {
        let arrived = self.arrived();
        let percent = |n: u64| 100.0 * n as f64 / sent as f64;
        let (lost, late) = (sent.saturating_sub(arrived), self.late());
        let loss = percent(lost + late) / 100.0;
        let delay = self.delays.mean().unwrap_or(Duration::ZERO) + self.network_delay;
        let burst_ratio = self.runs.ratio();
        // ratings range from 0 to 100
        let scale = |r: f64| r.clamp(0.0, 100.0);
        let r = scale(emodel::r_value(delay, loss));
        let r_loss_only = scale(emodel::r_value(Duration::ZERO, loss));
        let r_g107 = scale(emodel::r_g107(delay, self.codec, loss, burst_ratio));
        (sent > 0).then(|| VoipSummary {
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

    fn meter() -> VoipMeter {
        VoipMeter::new(Duration::from_millis(60), Duration::from_millis(20), Codec { ie: 0.0, bpl: 4.3 })
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
        let s = m.summary(10).unwrap();
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
        let s = meter().summary(5).unwrap();
        assert_eq!((s.lost_percent, s.jitter), (100.0, None));
        assert_eq!(meter().summary(0), None);
    }

    #[test]
    fn jitter_settles_at_the_mean_difference() {
        // delays alternate between two values that differ by 8 ms, so |D| is always 8 ms, and J converges to 8 ms with a time
        // constant of 16 packets
        let delays: Vec<u64> = (0..1000).map(|i| 10 * MS + (i % 2) * 8 * MS).collect();
        let mut m = meter();
        feed(&mut m, &delays);
        assert!(m.summary(1000).unwrap().jitter.unwrap().0.abs_diff(8 * MS) < 10);
        let mut m = meter();
        feed(&mut m, &[5 * MS; 100]);
        assert_eq!(m.summary(100).unwrap().jitter, Some(Duration::ZERO));
    }

    #[test]
    fn both_ratings() {
        // with 1 % lost and a delay of 100 + 20 ms, R = 94.2 - 0.024*120 - 30 ln 1.15. R for the loss alone is 2.88 higher
        let mut m = meter();
        feed(&mut m, &[100 * MS; 99]);
        let s = m.summary(100).unwrap();
        assert!((s.r_loss_only - s.r - 2.88).abs() < 1e-9);
        assert!((s.r_loss_only - (94.2 - 30.0 * units::math::ln(1.15))).abs() < 1e-9);
        assert!(s.mos < s.mos_loss_only);
    }

    #[test]
    fn ratings_stay_on_their_scale() {
        // with a delay of half an hour and all packets late, the formula's R is far below 0
        let mut m = meter();
        feed(&mut m, &[1, 1_800_000 * MS, 1_800_000 * MS]);
        let s = m.summary(100).unwrap();
        assert_eq!((s.r, s.mos, s.r_g107, s.mos_g107), (0.0, 1.0, 0.0, 1.0));
        assert!((0.0..=100.0).contains(&s.r_loss_only));
    }

    #[test]
    fn bursts_are_longer_than_chance_has_them() {
        let burst_ratio = |numbers: &[u64]| {
            let mut m = meter();
            numbers.iter().for_each(|&n| m.arrival(n, Time(n * 20 * MS), Time(n * 20 * MS + 10 * MS)));
            m.summary(100).unwrap().burst_ratio
        };
        // Packets 3-6 and 8-9 of 0-11 are lost, in runs of 4 and 2 packets, so the mean length is 3. If half of all
        // packets were lost independently of each other, the mean length would be 2.
        assert_eq!(burst_ratio(&[0, 1, 2, 7, 10, 11]), 1.5);
        // Packets 1, 3 and 5 of 0-6 are lost, in three runs of 1 packet. If 3/7 of all packets were lost independently
        // of each other, the mean length would be 7/4.
        assert_eq!(burst_ratio(&[0, 2, 4, 6]), 4.0 / 7.0);
        assert_eq!(burst_ratio(&[0, 1, 2]), 1.0);
        // independent losses of 10 % give a ratio near 1
        let mut rng = Rng::named(3, "bursts");
        let played: Vec<u64> = (0..100_000).filter(|_| rng.unit() > 0.1).collect();
        assert!((burst_ratio(&played) - 1.0).abs() < 0.02);
        // late packets count as lost: the delays of the fourth and the fifth packet are 70 ms above the minimum delay,
        // so these two of the 6 packets form one run
        let mut m = meter();
        feed(&mut m, &[10 * MS, 10 * MS, 10 * MS, 80 * MS, 80 * MS, 10 * MS]);
        assert!((m.summary(6).unwrap().burst_ratio - 2.0 * 4.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn an_overtaken_packet_counts_as_a_run_of_one() {
        let mut m = meter();
        for (n, at) in [(0, 10), (2, 50), (1, 55), (3, 70), (4, 90), (6, 130), (5, 135), (7, 150)] {
            m.arrival(n, Time(n * 20 * MS), Time(at * MS));
        }
        // No packet is lost, but packets 1 and 5 of 0-7 arrive too late to be played in order. These are two runs of 1 packet,
        // and 6 of 8 packets are played.
        assert_eq!((m.summary(8).unwrap().lost_percent, m.summary(8).unwrap().burst_ratio), (0.0, 6.0 / 8.0));
    }
}
