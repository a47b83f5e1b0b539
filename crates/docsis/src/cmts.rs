//! The CMTS's upstream scheduler for one modem. It decides how many minislots of a MAP each service flow gets, and where in the
//! MAP they lie. L is the Low Latency service flow, C the Classic service flow.
//!
//! ```text
//! proactive   L receives a grant every GGI (Guaranteed Grant Interval) without a request
//! tokens      min(tokens of the AMSR (Aggregate Maximum Sustained Rate), tokens of the peak rate). The buckets are filled at each
//!             MAP; the depth of a bucket is its burst plus the tokens of a MAP interval. A requested grant is charged when granted
//!             (unused bytes are refunded), a proactive grant when used. A service flow with its own rates also has its own
//!             buckets, which limit its requests
//! allocation  all = min(tokens, free minislots, requested) + proactive;  L gets weight/256 of all, or less if L requested less,
//!             or more if C requested less than the rest;  C gets the rest, up to its requests
//! free        free_capacity x MAP interval, in whole minislots; a fraction of a minislot is carried over to the next MAP. A
//!             proactive grant that is larger than the free capacity also uses the free minislots of the next MAPs
//! place       a proactive grant that does not fit into the rest of its MAP continues at the start of the next.  L's requested
//!             minislots begin at the MAP's first proactive grant, or earlier if the MAP would be too short for them.  C's
//!             minislots, and L's in a MAP without proactive grants, begin at a random place (uniform)
//! ```
//!
//! Source: MULPIv3.1 §7, as implemented in docsis-ns3. The specification allows other schedulers.

use crate::bucket::Buckets;
use crate::map::MaxGrant;
use crate::{Bucket, Docsis31Params, MAX_BURST, ShaperParams};
use units::{BitRate, Bytes, Duration, Rng, Time};

/// Index of the Low Latency service flow.
pub(crate) const L: usize = 0;
/// Index of the Classic service flow.
pub(crate) const C: usize = 1;

/// Number of parts in a byte. A part is 1e-9 bit, which 1 bit/s carries in 1 ns.
const PER_BYTE: u128 = 8_000_000_000;

/// The grants in one frame of a MAP, in minislots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrameGrant {
    /// Minislots of L, including its proactive minislots, and of C.
    pub slots: [u64; 2],
    /// L's minislots that were granted without a request.
    pub proactive: u64,
}

/// The schedule of proactive grants.
#[derive(Clone, Debug, PartialEq)]
struct Proactive {
    /// Number of frames from one grant to the next.
    every: u64,
    slots: u64,
    /// Number of the frame in which the next grant begins, counted from the start of the first MAP.
    next: u64,
    /// Minislots of proactive grants that did not fit into the last MAP. The next MAP begins with them.
    owed: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cmts {
    slot_bytes: u64,
    slots_per_frame: u64,
    frames_per_map: u64,
    weight: u64,
    aggregate: Buckets,
    /// The aggregate's Maximum Traffic Burst and peak burst. They are kept because the depths of the buckets also
    /// depend on the rates, which may change.
    bursts: [Bytes; 2],
    map: Duration,
    /// The token buckets of L and of C; `None` for a service flow that only the aggregate's rates limit.
    flows: [Option<Buckets>; 2],
    /// Distribution of the number of bytes that other modems leave free in a MAP.
    free: MaxGrant,
    /// Fraction of a byte that is missing in `free`, which counts whole bytes per MAP.   Unit: 1e-9 bit.
    free_fraction: u64,
    /// Free capacity of earlier MAPs that was less than a whole minislot: bytes, and a fraction of a byte in units of
    /// 1e-9 bit.
    free_rest: (u64, u64),
    /// Minislots of proactive grants for which the MAPs so far had no free capacity. Free minislots of later MAPs pay this
    /// debt first; requests get the rest.
    free_debt: u64,
    proactive: Option<Proactive>,
    /// Bytes requested and not yet granted.
    requests: [u64; 2],
    /// The MAP that was scheduled last, frame by frame.
    frames: Vec<FrameGrant>,
    free_slots: Vec<u64>,
}

/// Returns the depth of a bucket that the scheduler reads only once per MAP: the burst plus the tokens of a MAP
/// interval, because a flow may use both within one interval.
fn depth(rate: BitRate, burst: Bytes, map: Duration) -> Bytes {
    Bytes((burst.0 + rate.bytes_in(map).min(MAX_BURST)).min(MAX_BURST))
}

/// Returns the token buckets of a service flow or an aggregate, with depths for a scheduler that reads them only once
/// per MAP.
fn buckets(flow: &ShaperParams, p: &Docsis31Params) -> Buckets {
    let bucket = |rate: BitRate, burst: Bytes| {
        let rate = p.inflated(rate);
        Bucket::full(rate, depth(rate, burst, p.map()))
    };
    let peak = flow.peak_traffic_rate.map(|peak| bucket(peak, flow.peak_burst));
    Buckets::full(bucket(flow.max_sustained_rate, flow.max_traffic_burst), peak)
}

/// Returns the number of whole bytes for which every bucket holds tokens. Tokens that have arrived since the last fill
/// do not count.
fn available(buckets: &Buckets) -> u64 {
    let tokens = buckets.sustained.bytes_after(Duration::ZERO).0;
    buckets.peak.as_ref().map_or(tokens, |p| tokens.min(p.bytes_after(Duration::ZERO).0))
}

impl Cmts {
    /// Returns a scheduler with full buckets and no requests. The parameters must be valid.
    pub(crate) fn new(p: &Docsis31Params) -> Self {
        let map = p.map();
        let own = p.low_latency.as_ref().map_or([None; 2], |l| [l.flow.as_ref(), l.classic_flow.as_ref()]);
        let free = p.free_capacity.map(|rate| Bytes(rate.bytes_in(map)));
        Self {
            slot_bytes: p.minislot_bytes.0,
            slots_per_frame: p.minislots.into(),
            frames_per_map: p.frames_per_map(),
            weight: p.low_latency.as_ref().map_or(0, |l| l.scheduling_weight.into()),
            aggregate: buckets(&p.flow, p),
            bursts: [p.flow.max_traffic_burst, p.flow.peak_burst],
            map,
            flows: own.map(|flow| flow.map(|flow| buckets(flow, p))),
            free: MaxGrant::new(free, p.free_capacity_variation, 0),
            free_fraction: p.free_capacity.map_or(0, |r| (u128::from(r.0) * u128::from(map.0) % PER_BYTE) as u64),
            free_rest: (0, 0),
            free_debt: 0,
            proactive: p.proactive().map(|(every, slots)| Proactive { every, slots, next: 0, owed: 0 }),
            requests: [0; 2],
            frames: Vec::new(),
            free_slots: Vec::new(),
        }
    }

    pub(crate) fn is_proactive(&self) -> bool {
        self.proactive.is_some()
    }

    /// Returns the numbers of bytes requested and not yet granted, for L and C.
    pub(crate) fn requests(&self) -> [u64; 2] {
        self.requests
    }

    pub(crate) fn request(&mut self, flow: usize, bytes: u64) {
        self.requests[flow] += bytes;
    }

    /// Settles a grant of `flow` that has ended, with `unused` bytes left. The grant contains `proactive` proactive
    /// bytes. Unused bytes count as proactive bytes first, and the rest as requested bytes. Unused requested bytes are
    /// refunded, because requested bytes were charged when they were granted. Used proactive bytes are charged now.
    pub(crate) fn grant_ended(&mut self, flow: usize, proactive: u64, unused: u64) {
        for buckets in std::iter::once(&mut self.aggregate).chain(&mut self.flows[flow]) {
            buckets.charge(proactive.saturating_sub(unused));
            buckets.refund(unused.saturating_sub(proactive));
        }
    }

    fn charge(&mut self, flow: usize, bytes: u64) {
        self.aggregate.charge(bytes);
        self.flows[flow].iter_mut().for_each(|own| own.charge(bytes));
    }

    fn fill(&mut self, now: Time) {
        self.aggregate.fill(now);
        self.flows.iter_mut().flatten().for_each(|own| own.fill(now));
    }

    /// Returns the number of whole bytes for which the aggregate's sustained bucket has tokens at `now`.
    pub(crate) fn tokens(&self, now: Time) -> Bytes {
        self.aggregate.tokens(now)
    }

    /// Changes the aggregate's rates, which include MAC headers, from `now` on; `None` keeps the present rate. The buckets
    /// keep their tokens, up to their new depths.
    pub(crate) fn set_rates(&mut self, now: Time, rate: Option<BitRate>, peak: Option<BitRate>) {
        self.fill(now);
        let [burst, peak_burst] = self.bursts;
        if let Some(rate) = rate {
            self.aggregate.sustained.reshape(rate, depth(rate, burst, self.map));
        }
        if let (Some(bucket), Some(rate)) = (&mut self.aggregate.peak, peak) {
            bucket.reshape(rate, depth(rate, peak_burst, self.map));
        }
    }

    /// Divides the `free` minislots of a MAP, of which `proactive` already belong to L. Returns the numbers of minislots for L
    /// and C.
    ///
    /// Source: docsis-ns3. Its rule is written here as a formula.
    fn allocate(&self, free: u64, proactive: u64) -> [u64; 2] {
        let slots = |bytes: u64| bytes.div_ceil(self.slot_bytes);
        let own = |flow: usize| self.flows[flow].as_ref().map_or(u64::MAX, |own| slots(available(own)));
        let want_c = slots(self.requests[C]).min(own(C));
        let more_l = slots(self.requests[L]).saturating_sub(proactive).min(own(L));
        let all = slots(available(&self.aggregate)).min(free.saturating_sub(proactive)).min(want_c + more_l);
        let share = ((all + proactive) * self.weight / 256).saturating_sub(proactive);
        let more_l = more_l.min(share.max(all.saturating_sub(want_c)));
        [proactive + more_l, want_c.min(all - more_l)]
    }

    /// Draws the number of minislots that other modems leave free in a MAP; `u64::MAX` if there is no limit. Bytes that
    /// do not fill a minislot are carried over to the next MAP.
    fn draw_free(&mut self, rng: &mut Rng) -> u64 {
        let left = self.free.draw(rng);
        if left == u64::MAX {
            return left;
        }
        let (bytes, fraction) = (self.free_rest.0 + left, self.free_rest.1 + self.free_fraction);
        let bytes = bytes + fraction / PER_BYTE as u64;
        self.free_rest = (bytes % self.slot_bytes, fraction % PER_BYTE as u64);
        bytes / self.slot_bytes
    }

    /// Gives `slots` free minislots of the MAP to `flow`, after skipping the first `skip` free minislots. Returns the number of
    /// minislots for which there is no room.
    fn place(&mut self, flow: usize, mut slots: u64, mut skip: u64) -> u64 {
        for (frame, free) in self.frames.iter_mut().zip(&mut self.free_slots) {
            let skipped = skip.min(*free);
            skip -= skipped;
            let taken = slots.min(*free - skipped);
            frame.slots[flow] += taken;
            *free -= taken;
            slots -= taken;
        }
        slots
    }

    /// Schedules, at time `now`, the MAP that begins with frame `first` (counted from the start of the first MAP). Returns the
    /// grants of its frames.
    pub(crate) fn map(&mut self, now: Time, first: u64, rng: &mut Rng) -> &[FrameGrant] {
        self.fill(now);
        let frames = self.frames_per_map as usize;
        self.frames.clear();
        self.frames.resize(frames, FrameGrant::default());
        self.free_slots.clear();
        self.free_slots.resize(frames, self.slots_per_frame);
        let (proactive, earliest) = self.place_proactive(first);
        let whole = self.frames_per_map * self.slots_per_frame;
        let needed = self.free_debt + proactive;
        let free = self.draw_free(rng).min(whole);
        self.free_debt = needed.saturating_sub(free);
        let free = proactive + free.saturating_sub(needed);
        let [l, c] = self.allocate(free, proactive);
        self.charge(L, (l - proactive) * self.slot_bytes);
        self.charge(C, c * self.slot_bytes);
        for (flow, slots) in [(L, l), (C, c)] {
            self.requests[flow] = self.requests[flow].saturating_sub(slots * self.slot_bytes);
        }
        for (flow, slots) in [(L, l - proactive), (C, c)] {
            let room = self.free_slots.iter().sum::<u64>();
            let slots = slots.min(room);
            if slots == 0 {
                continue;
            }
            let skip = match earliest.filter(|_| flow == L) {
                Some(frame) => self.free_slots[..frame].iter().sum::<u64>().min(room - slots),
                None => rng.below(room - slots + 1),
            };
            self.place(flow, slots, skip);
        }
        &self.frames
    }

    /// Places the proactive grants of the MAP that begins with frame `first`. Returns the number of minislots that
    /// these grants take, and the index within the MAP of the frame that holds the first grant. The index is `None` if
    /// the MAP has no proactive grant.
    fn place_proactive(&mut self, first: u64) -> (u64, Option<usize>) {
        let Some(mut p) = self.proactive.take() else { return (0, None) };
        if p.next < first {
            // skips the grants of MAPs that were never scheduled
            p.next += (first - p.next).div_ceil(p.every) * p.every;
        }
        let (end, mut earliest) = (first + self.frames_per_map, (p.owed > 0).then_some(0));
        p.owed = self.place(L, p.owed, 0);
        while p.next < end {
            let frame = (p.next - first) as usize;
            earliest.get_or_insert(frame);
            let skip = self.free_slots[..frame].iter().sum();
            p.owed += self.place(L, p.slots, skip);
            p.next += p.every;
        }
        self.proactive = Some(p);
        let mut all = 0;
        for frame in &mut self.frames {
            frame.proactive = frame.slots[L];
            all += frame.proactive;
        }
        (all, earliest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShaperParams;
    use crate::params31::LowLatencyParams;

    fn cmts_flow(mbit: u64) -> ShaperParams {
        ShaperParams {
            max_sustained_rate: BitRate(mbit * 1_000_000),
            max_traffic_burst: Bytes(3044),
            peak_traffic_rate: None,
            peak_burst: Bytes(1522),
        }
    }

    fn cmts(mbit: u64, low_latency: Option<LowLatencyParams>) -> Cmts {
        Cmts::new(&Docsis31Params { low_latency, ..Docsis31Params::new(cmts_flow(mbit)) })
    }

    fn pgs(mbit: u64, us: u64) -> Option<LowLatencyParams> {
        Some(LowLatencyParams {
            guaranteed_grant_rate: Some(BitRate(mbit * 1_000_000)),
            guaranteed_grant_interval: Some(Duration::from_micros(us)),
            ..LowLatencyParams::default()
        })
    }

    fn sum(frames: &[FrameGrant]) -> ([u64; 2], u64) {
        frames.iter().fold(([0; 2], 0), |(s, p), f| ([s[0] + f.slots[0], s[1] + f.slots[1]], p + f.proactive))
    }

    #[test]
    fn shares_of_a_map_by_hand() {
        let mut m = cmts(50, Some(LowLatencyParams::default()));
        let mut allocate = |l: u64, c: u64, proactive: u64| {
            m.requests = [l * 48, c * 48];
            m.allocate(276, proactive)
        };
        // the tokens, 3044 B + 52.5 Mbit/s x 2.025 ms / 8 = 16 333 B or 341 minislots, are enough for all 276 free minislots.
        // If each flow requests more than 276 minislots, L gets 276 x 230/256 = 247.97, rounded down
        assert_eq!(allocate(1000, 1000, 0), [247, 29]);
        // if L requests less than its share, C gets the rest; if C requests little, L gets the rest
        assert_eq!(allocate(100, 1000, 0), [100, 176]);
        assert_eq!(allocate(1000, 10, 0), [266, 10]);
        assert_eq!(allocate(100, 100, 0), [100, 100]);
        // proactive minislots belong to L, even without a request
        assert_eq!(allocate(0, 1000, 28), [28, 248]);
        assert_eq!(allocate(30, 1000, 28), [30, 246]);
        assert_eq!(allocate(0, 0, 28), [28, 0]);
        // a single service flow
        let mut m = cmts(50, None);
        m.requests = [0, 1000 * 48];
        assert_eq!(m.allocate(276, 0), [0, 276]);
    }

    #[test]
    fn proactive_grants_lie_on_their_grid() {
        // a grant comes every 7 frames of 135 us, and a MAP has 15 frames. So the grants are in frames 0, 7, 14 of the first
        // MAP, 6, 13 of the second MAP, 5, 12 of the third and 4, 11 of the fourth
        let mut m = cmts(50, pgs(5, 1000));
        let mut rng = Rng::named(1, "mac");
        let mut at = Vec::new();
        for map in 0..4 {
            let frames = m.map(Time(map * 2_025_000), map * 15, &mut rng);
            at.extend(frames.iter().enumerate().filter(|(_, f)| f.proactive > 0).map(|(i, f)| (i, f.proactive)));
        }
        // a grant carries 5.25 Mbit/s x 945 us / 8 = 620.2 B, so it has 13 minislots
        let frames: Vec<_> = [0, 7, 14, 6, 13, 5, 12, 4, 11].iter().map(|i| (*i, 13)).collect();
        assert_eq!(at, frames);
        // the MAPs between the fourth MAP and frame 105 are never scheduled. The grants nevertheless stay 7 frames
        // apart: frames 105 (15 x 7), 112 and 119 have a grant
        let (_, all) = sum(m.map(Time(1 << 40), 105, &mut rng));
        assert_eq!(all, 3 * 13);
    }

    #[test]
    fn the_guaranteed_rate_is_granted_whatever_its_interval() {
        // 200 Mbit/s with MAC headers are 210 Mbit/s: 24 806.25 B or 517 minislots every 945 us (7 frames), which fill 2.2
        // frames. So grants that begin in frame 13 or 14 of a MAP of 15 frames continue in the next MAP
        for (us, every, slots) in [(945, 7, 517), (2025, 15, 1108), (135, 1, 74), (1350, 10, 739)] {
            let mut m = cmts(300, pgs(200, us));
            let mut rng = Rng::named(1, "mac");
            let maps = 7 * every;
            let mut all = 0;
            for map in 0..maps {
                all += sum(m.map(Time(map * 2_025_000), map * 15, &mut rng)).1;
            }
            assert_eq!(all, 7 * 15 * slots, "every {us} us");
        }
        // the grant of frame 14 fills this frame with 235 minislots. The next MAP begins with the other 282, and its own grants
        // begin in frames 6 and 13. The grant of frame 13 fills the last two frames of its MAP
        let mut m = cmts(300, pgs(200, 945));
        let mut rng = Rng::named(1, "mac");
        m.map(Time(0), 0, &mut rng);
        let frames = m.map(Time(2_025_000), 15, &mut rng).iter().map(|f| f.proactive).collect::<Vec<_>>();
        assert_eq!(frames, [235, 47, 0, 0, 0, 0, 235, 235, 47, 0, 0, 0, 0, 235, 235]);
    }

    #[test]
    fn any_free_capacity_is_granted_in_the_long_run() {
        for kbit in [1, 100, 180, 500, 1000, 5000] {
            let flow = cmts_flow(50);
            let free = Some(BitRate(kbit * 1000));
            let p = Docsis31Params { free_capacity: free, ..Docsis31Params::new(flow) };
            let mut m = Cmts::new(&p);
            let mut rng = Rng::named(1, "mac");
            let mut slots = 0;
            m.request(C, 1 << 40);
            for map in 0..10_000 {
                slots += sum(m.map(Time(map * 2_025_000), map * 15, &mut rng)).0[C];
            }
            // 10 000 MAPs of 2.025 ms carry 20.25 s x rate / 8 bytes, rounded down to whole minislots
            assert_eq!(slots, kbit * 20_250 / 8 / 48, "{kbit} kbit/s");
        }
    }

    #[test]
    fn proactive_grants_use_the_free_capacity_of_other_maps() {
        // 10 Mbit/s of free capacity are 2531.25 B per MAP, or 52 minislots. Proactive grants of 5 Mbit/s (5.25 Mbit/s with MAC
        // headers) come in every MAP, or in every eighth MAP. In the second case, a grant comes every 16.2 ms (120 frames) and
        // has 222 minislots, more than are free in a MAP. C gets the rest of the free capacity, at most 4.75 Mbit/s
        for us in [2025, 16_200] {
            let free_capacity = Some(BitRate(10_000_000));
            let p = Docsis31Params { low_latency: pgs(5, us), free_capacity, ..Docsis31Params::new(cmts_flow(50)) };
            p.validate().unwrap();
            let (mut m, mut rng, mut all) = (Cmts::new(&p), Rng::named(1, "mac"), [0; 2]);
            let maps = 8000;
            m.request(C, 1 << 40);
            for map in 0..maps {
                let (slots, proactive) = sum(m.map(Time(map * 2_025_000), map * 15, &mut rng));
                m.grant_ended(L, proactive * 48, proactive * 48);
                (0..2).for_each(|flow| all[flow] += slots[flow] * 48);
            }
            let [l, c] = all.map(|bytes| bytes as f64 * 8.0 / (maps as f64 * 2.025e-3) / 1e6);
            // a grant is rounded up to whole minislots
            assert!((5.25..5.45).contains(&l) && (l + c - 10.0).abs() < 0.02, "every {us} us: {l} {c}");
        }
    }

    #[test]
    fn requests_are_granted_at_the_aggregates_rate() {
        // C always has requests. L has 5 Mbit/s of proactive grants, which are not charged because L uses none of them.
        // So C gets the whole aggregate rate of 50 Mbit/s, or 52.5 Mbit/s with MAC headers
        let mut m = cmts(50, pgs(5, 2025));
        let mut rng = Rng::named(1, "mac");
        let (mut c, maps) = (0, 1000);
        for map in 0..maps {
            m.request(C, 20_000);
            let ([_, slots], proactive) = sum(m.map(Time(map * 2_025_000), map * 15, &mut rng));
            m.grant_ended(L, proactive * 48, proactive * 48);
            c += slots * 48;
        }
        let rate = c as f64 * 8.0 / (maps as f64 * 2.025e-3);
        assert!((rate / 52.5e6 - 1.0).abs() < 0.003, "{rate}");
    }

    #[test]
    fn a_service_flow_is_limited_to_its_own_rate() {
        // each flow requests `wants` bytes per MAP. The aggregate's rate is 50 Mbit/s, or 52.5 Mbit/s with MAC headers.
        // The closure returns the rates of L and C in Mbit/s without MAC headers
        let grants = |own: [Option<u64>; 2], wants: [u64; 2], ggr: Option<u64>| {
            let flow = |mbit: u64| ShaperParams {
                max_sustained_rate: BitRate(mbit * 1_000_000),
                max_traffic_burst: Bytes(3044),
                peak_traffic_rate: None,
                peak_burst: Bytes(1522),
            };
            let [l, c] = own.map(|mbit| mbit.map(flow));
            let ggr = ggr.map(|mbit| BitRate(mbit * 1_000_000));
            let low = LowLatencyParams { flow: l, classic_flow: c, guaranteed_grant_rate: ggr, ..Default::default() };
            let mut m = cmts(50, Some(low));
            let mut rng = Rng::named(1, "mac");
            let (mut sent, maps) = ([0; 2], 2000);
            for map in 0..maps {
                wants.iter().enumerate().for_each(|(flow, bytes)| m.request(flow, *bytes));
                let (slots, proactive) = sum(m.map(Time(map * 2_025_000), map * 15, &mut rng));
                // every proactive grant is used
                m.grant_ended(L, proactive * 48, 0);
                (0..2).for_each(|flow| sent[flow] += slots[flow] * 48);
            }
            sent.map(|bytes| bytes as f64 * 8.0 / (maps as f64 * 2.025e-3) / 1.05e6)
        };
        let close = |a: [f64; 2], b: [f64; 2]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 0.01 * 50.0);
        let much = [20_000; 2];
        // the weight gives L 50 x 230/256 = 44.9 Mbit/s, and C 5.1 Mbit/s
        assert!(close(grants([None, None], much, None), [44.9, 5.1]));
        assert!(close(grants([Some(10), None], much, None), [10.0, 40.0]));
        assert!(close(grants([Some(10), Some(20)], much, None), [10.0, 20.0]));
        assert!(close(grants([None, Some(2)], much, None), [48.0, 2.0]));
        // only L has requests
        assert!(close(grants([Some(10), Some(20)], [20_000, 0], None), [10.0, 0.0]));
        // proactive grants also count towards L's own rate
        assert!(close(grants([Some(10), None], much, Some(5)), [10.0, 40.0]));
    }

    #[test]
    fn a_place_skips_taken_minislots() {
        let mut m = cmts(50, None);
        m.frames = vec![FrameGrant::default(); 3];
        m.free_slots = vec![10, 0, 10];
        m.place(C, 6, 8);
        assert_eq!(m.frames.iter().map(|f| f.slots[C]).collect::<Vec<_>>(), [2, 0, 4]);
        assert_eq!(m.free_slots, [8, 0, 6]);
    }
}
