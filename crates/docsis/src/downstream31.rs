//! The CMTS's downstream to a DOCSIS 3.1 modem: a shaper, deficit round robin between two service flows, and OFDM
//! symbols. L is the Low Latency service flow, C the Classic service flow.
//!
//! ```text
//! flow      a service flow may send if it has a packet and, if it has its own rates, enough tokens.  While both have
//!           packets, they take turns, and a flow sends while its deficit is above 0. A turn adds 16 B x weight to L's
//!           deficit, or 16 B x (256 - weight) to C's; each packet sent subtracts its bytes. A turn that lacks tokens
//!           continues when they arrive; meanwhile, the other flow takes turns.  While only one flow has packets, both
//!           deficits are 0
//! time      a packet is sent when the aggregate's buckets hold its bytes and the channel has sent all earlier packets
//! symbols   the packet occupies the channel at the channel's rate, from the next symbol on or, if the channel is busy, behind
//!           the earlier packets. By default it arrives 105 us after the start of its last symbol: the delays of the
//!           pipeline (encoder, channel, decoder: 60 us) and of the interleaver (45 us)
//! ```
//!
//! Source: MULPIv3.1 §7.7.3.2 (weights), as implemented in docsis-ns3. The quanta differ: in docsis-ns3, a weight of
//! 230 gives a ratio of 230 to 256 between L and C; here it gives L a share of 230/256.
//! Units: rates and weights count Ethernet frames without the MAC header; the channel's rate includes it.
//! Departs: packets are not fragmented; codewords, their padding and the CMTS's traffic to other modems are not modelled.

use crate::bucket::Buckets;
use crate::{Action, C, Docsis31Params, L, ShaperParams, TokenBucket};
use packet::{PacketMeta, ServiceFlow, docsis_frame, ethernet_frame};
use units::{BitRate, Bytes, Duration, Time};

/// Bytes that a turn adds to a flow's deficit per unit of its weight. The weights of L and C add up to 256.
const QUANTUM: i64 = 16;

/// Deficit round robin between L and C.
#[derive(Clone, Debug, PartialEq)]
struct Rounds {
    quantum: [i64; 2],
    deficit: [i64; 2],
    turn: usize,
}

impl Rounds {
    fn new(weight: u8) -> Self {
        let weight = i64::from(weight);
        Self { quantum: [QUANTUM * weight, QUANTUM * (256 - weight)], deficit: [0; 2], turn: C }
    }

    /// Chooses the flow that sends next and, if both have packets, charges it for its frame. `frames` holds the sizes in
    /// bytes of the next frames of L and C, or 0 for an empty queue. `may` holds true for each flow that has a frame and
    /// tokens for it; at least one must be true.
    ///
    /// A flow that waits for tokens keeps its debt; otherwise it would get more than its share. It also keeps the unused
    /// part of its turn; otherwise it would get less. It cannot save more than this part, because its next turn begins only
    /// after the current turn has ended.
    ///
    /// Bound of the loop: a deficit is never more than one frame below zero, and each turn adds at least 16 bytes.
    fn pick(&mut self, frames: [u64; 2], may: [bool; 2]) -> usize {
        if frames.contains(&0) {
            // when both have packets again, the first turn is L's
            (self.deficit, self.turn) = ([0; 2], C);
            return if may[L] { L } else { C };
        }
        let ready = |rounds: &Self, flow: usize| rounds.deficit[flow] > 0 && may[flow];
        if ready(self, 1 - self.turn) {
            self.turn = 1 - self.turn;
        }
        while !ready(self, self.turn) {
            self.turn = 1 - self.turn;
            if self.deficit[self.turn] <= 0 {
                self.deficit[self.turn] += self.quantum[self.turn];
            }
        }
        self.deficit[self.turn] -= frames[self.turn] as i64;
        self.turn
    }
}

/// The downstream's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Downstream31 {
    shaper: TokenBucket,
    flow: ShaperParams,
    /// The token buckets of L and of C; `None` for a service flow that only the aggregate's rates limit.
    own: [Option<Buckets>; 2],
    rounds: Rounds,
    low_latency: bool,
    channel: BitRate,
    symbol: Duration,
    /// Time from the start of a packet's last symbol to its arrival.
    pipeline: Duration,
    /// Time of the next [`Downstream31::advance`]; `NEVER` while idle.
    dequeue_at: Time,
    /// Earliest possible time of the next dequeue.
    free_at: Time,
    /// Time up to which the channel is occupied.
    busy_until: Time,
    /// The flow that [`Downstream31::advance`] has chosen, until [`Downstream31::dequeued`].
    chosen: Option<usize>,
    /// The packet that leaves at `dequeue_at`, and the time from which the aggregate has enough tokens for it.
    held: Option<(PacketMeta, Time)>,
    /// Time at which the channel has sent the packets before `held`.
    busy_before: Time,
}

impl Downstream31 {
    /// Returns an idle downstream. The parameters must be valid, and `p.downstream` must be set.
    pub fn new(p: &Docsis31Params) -> Self {
        let own = p.low_latency.as_ref().map_or([None, None], |l| [l.flow.as_ref(), l.classic_flow.as_ref()]);
        let of = p.downstream.clone().unwrap_or_default();
        Self {
            shaper: TokenBucket::new(&p.flow),
            flow: p.flow.clone(),
            own: own.map(|flow| flow.map(Buckets::of)),
            rounds: Rounds::new(p.low_latency.as_ref().map_or(1, |l| l.scheduling_weight)),
            low_latency: p.low_latency.is_some(),
            channel: of.channel,
            symbol: of.symbol,
            pipeline: p.downstream_pipeline.max(of.symbol) + p.downstream_interleaver,
            dequeue_at: Time::NEVER,
            free_at: Time::ZERO,
            busy_until: Time::ZERO,
            chosen: None,
            held: None,
            busy_before: Time::ZERO,
        }
    }

    /// Reports that packets have arrived. They need not wait for the tokens of the other flow.
    #[inline]
    pub fn notify(&mut self, now: Time) {
        self.dequeue_at = self.dequeue_at.min(now.max(self.free_at));
    }

    /// Returns the time at which [`Downstream31::advance`] must be called next; `NEVER` while idle.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.dequeue_at
    }

    /// Chooses the flow from which the caller must dequeue the next packet. `now` must be [`Downstream31::deadline`].
    /// `heads` holds the sizes in bytes of the next IP packets of L and C, or 0 for an empty queue. Without a
    /// low-latency flow, there is only C's queue, and the caller may pass any positive number if this queue is not
    /// empty.
    pub fn advance(&mut self, now: Time, heads: [u64; 2]) -> Action {
        debug_assert!(now == self.dequeue_at);
        let frames = heads.map(|bytes| if bytes == 0 { 0 } else { ethernet_frame(bytes) });
        let mut may = [false; 2];
        let mut wait = Duration(u64::MAX);
        for flow in [L, C] {
            if frames[flow] == 0 {
                continue;
            }
            let own = self.own[flow].as_mut().map_or(Duration::ZERO, |own| {
                own.fill(now);
                own.wait(frames[flow])
            });
            may[flow] = own.is_zero();
            wait = wait.min(own);
        }
        if may == [false; 2] {
            self.dequeue_at = if heads == [0; 2] { Time::NEVER } else { now + wait };
            return Action::Wait;
        }
        let flow = self.rounds.pick(frames, may);
        self.chosen = Some(flow);
        Action::Dequeue(if flow == L { ServiceFlow::LowLatency } else { ServiceFlow::Classic })
    }

    /// Accepts the packet that [`Action::Dequeue`] requested, if there is one. It leaves at the next
    /// [`Downstream31::deadline`].
    pub fn dequeued(&mut self, now: Time, packet: Option<PacketMeta>) {
        let chosen = self.chosen.take();
        let (Some(flow), Some(packet)) = (chosen, packet) else {
            self.dequeue_at = Time::NEVER;
            return;
        };
        let bytes = ethernet_frame(packet.bytes());
        if let Some(own) = &mut self.own[flow] {
            own.charge(bytes);
        }
        let allowed = now + self.shaper.take(now, bytes);
        self.busy_before = self.busy_until;
        self.hold(packet, allowed);
    }

    /// Sends `packet` as soon as the channel has sent all earlier packets, but not before the first symbol that begins
    /// at or after `allowed`, the time from which the aggregate has enough tokens for it.
    fn hold(&mut self, packet: PacketMeta, allowed: Time) {
        let begin = self.next_symbol(allowed).max(self.busy_before);
        self.busy_until = begin + self.channel.time_for(docsis_frame(packet.bytes())).max(Duration(1));
        self.free_at = allowed.max(Time(self.busy_until.0.saturating_sub(self.symbol.0)));
        self.dequeue_at = self.free_at;
        self.held = Some((packet, allowed));
    }

    /// Returns the packet that leaves at [`Downstream31::deadline`], with its arrival time. The caller must call this function
    /// before [`Downstream31::advance`].
    pub fn sent(&mut self) -> Option<(PacketMeta, Time)> {
        let (packet, _) = self.held.take()?;
        // the start of the symbol that carries the packet's last byte. A packet that ends at a symbol boundary ends in the
        // earlier symbol
        let last = Time(self.busy_until.0.saturating_sub(1) / self.symbol.0 * self.symbol.0);
        Some((packet, last + self.pipeline))
    }

    /// Returns true if a packet has been dequeued and has not left.
    pub fn holds(&self) -> bool {
        self.held.is_some()
    }

    /// Returns the first symbol boundary at or after `t`.
    fn next_symbol(&self, t: Time) -> Time {
        Time(t.0.div_ceil(self.symbol.0) * self.symbol.0)
    }

    /// Returns the current rate-shaping parameters.
    pub fn flow(&self) -> &ShaperParams {
        &self.flow
    }

    /// Returns true if there is a Low Latency service flow.
    pub fn has_low_latency(&self) -> bool {
        self.low_latency
    }

    /// Returns the number of whole bytes for which the aggregate's sustained bucket has tokens at `now`. These bytes
    /// may leave at the peak rate.
    pub fn tokens(&self, now: Time) -> Bytes {
        self.shaper.tokens(now)
    }

    /// Changes the aggregate's rates, which must be positive, from `now` on; `None` keeps the present rate. An
    /// unlimited peak rate stays unlimited. A packet that waits for tokens waits for them at the new rate.
    pub fn set_rates(&mut self, now: Time, rate: Option<BitRate>, peak: Option<BitRate>) {
        let wait = self.shaper.set_rates(now, rate, peak);
        if let Some((packet, _)) = self.held.filter(|held| held.1 > now) {
            self.hold(packet, now + wait);
        }
        self.flow.max_sustained_rate = self.shaper.rate();
        self.flow.peak_traffic_rate = self.shaper.peak_rate();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DownstreamParams;
    use crate::params31::LowLatencyParams;
    use std::collections::VecDeque;

    fn flow(mbit: u64) -> ShaperParams {
        ShaperParams {
            max_sustained_rate: BitRate(mbit * 1_000_000),
            max_traffic_burst: Bytes(3044),
            peak_traffic_rate: None,
            peak_burst: Bytes(1522),
        }
    }

    fn params(mbit: u64, low_latency: Option<LowLatencyParams>) -> Docsis31Params {
        let downstream = Some(DownstreamParams::default());
        let p = Docsis31Params { low_latency, downstream, ..Docsis31Params::new(flow(mbit)) };
        p.validate().unwrap();
        p
    }

    /// Sends a packet of `size` bytes, and returns its arrival time.
    fn arrival(down: &mut Downstream31, now: Time, size: u16) -> Time {
        down.dequeued(now, Some(PacketMeta { size, ..Default::default() }));
        down.sent().unwrap().1
    }

    /// Returns the order in which L and C send `n` packets, if both flows always have packets waiting. L's packets have
    /// `l` bytes, and C's packets have `c` bytes.
    fn order(weight: u8, l: u64, c: u64, n: usize) -> String {
        let mut rounds = Rounds::new(weight);
        let one = |_| {
            if rounds.pick([l, c], [true; 2]) == L { 'L' } else { 'C' }
        };
        (0..n).map(one).collect()
    }

    #[test]
    fn turns_by_hand() {
        // a turn adds 3680 bytes to L's deficit or 416 bytes to C's, and each packet then subtracts 1518 bytes. The
        // deficits in each turn, before the first packet and after each packet, are:
        //   L: 3680, 2162, 644, -874;  C: 416, -1102;  L: 2806, 1288, -230;  C: -686;
        //   L: 3450, 1932, 414, -1104;  C: -270;  L: 2576, 1058, -460;  C: 146, -1372
        assert_eq!(order(230, 1518, 1518, 13), "LLLCLLLLLLLCL");
        // with a weight of 128 of 256, a turn adds 2048 bytes to either deficit. Each turn of L is followed by a turn
        // of C with the same deficits. L's turns are:
        //   L: 2048, 530, -988;  L: 1060, -458;  L: 1590, 72, -1446
        assert_eq!(order(128, 1518, 1518, 11), "LLCCLCLLCCL");
    }

    #[test]
    fn bytes_are_shared_by_weight_whatever_the_sizes() {
        for (weight, l, c) in [(230, 1518, 1518), (230, 64, 1518), (230, 1518, 64), (26, 1518, 300), (255, 1518, 9018)]
        {
            let order = order(weight, l, c, 200_000);
            let sent = |who, size| order.chars().filter(|o| *o == who).count() as f64 * size as f64;
            let (l, c) = (sent('L', l), sent('C', c));
            let share = l / (l + c);
            assert!((share - f64::from(weight) / 256.0).abs() < 1e-3, "{weight}: {share}");
        }
    }

    /// Returns the arrival time and the flow of each packet sent before `end`. At each time, `sizes` returns the sizes in
    /// bytes of the packets that the queues of L and C hold; a queue with a size of 0 is empty.
    fn saturate(p: &Docsis31Params, sizes: impl Fn(Time) -> [u16; 2], end: Time) -> Vec<(Time, usize)> {
        let mut down = Downstream31::new(p);
        let mut out = Vec::new();
        down.notify(Time::ZERO);
        while down.deadline() < end {
            let now = down.deadline();
            let sizes = sizes(now);
            if let Action::Dequeue(of) = down.advance(now, sizes.map(u64::from)) {
                let flow = if of == ServiceFlow::LowLatency { L } else { C };
                let at = arrival(&mut down, now, sizes[flow]);
                assert!(out.last().is_none_or(|(before, _)| *before <= at), "in order");
                out.push((at, flow));
            }
        }
        out
    }

    fn count(out: &[(Time, usize)], flow: usize) -> f64 {
        out.iter().filter(|o| o.1 == flow).count() as f64
    }

    #[test]
    fn two_flows_share_the_aggregates_rate_by_weight_and_one_alone_gets_it_all() {
        let p = params(100, Some(LowLatencyParams::default()));
        let s = Time(10_000_000_000);
        // the aggregate carries 100 Mbit/s x 10 s / 12 144 bit = 82 345 frames, and two more in the burst
        let both = saturate(&p, |_| [1500; 2], s);
        let (l, c) = (count(&both, L), count(&both, C));
        assert!((l + c - 82_347.0).abs() < 3.0, "{l} {c}");
        assert!((l / (l + c) - 230.0 / 256.0).abs() < 1e-3, "{l} {c}");
        for sizes in [[1500, 0], [0, 1500]] {
            assert!((saturate(&p, |_| sizes, s).len() as f64 - 82_347.0).abs() < 3.0);
        }
        // without a Low Latency service flow, there is one queue
        assert_eq!(count(&saturate(&params(100, None), |_| [0, 1500], s), L), 0.0);
    }

    #[test]
    fn a_service_flow_is_limited_to_its_own_rate() {
        let s = Time(10_000_000_000);
        // L's own rate is 20 Mbit/s, and the aggregate's is 100 Mbit/s. So L sends 20 Mbit/s x 10 s / 12 144 bit =
        // 16 469 frames, and two more in its burst; C sends the rest
        let low = LowLatencyParams { flow: Some(flow(20)), ..LowLatencyParams::default() };
        let out = saturate(&params(100, Some(low)), |_| [1500; 2], s);
        assert!((count(&out, L) - 16_471.0).abs() < 3.0 && (out.len() as f64 - 82_347.0).abs() < 3.0, "{}", out.len());
        // without packets of C, part of the aggregate's rate stays unused, because L never sends more than its burst
        // and rate allow
        let low = LowLatencyParams { flow: Some(flow(20)), ..LowLatencyParams::default() };
        let out = saturate(&params(100, Some(low)), |_| [1500, 0], s);
        assert!((out.len() as f64 - 16_471.0).abs() < 3.0, "{}", out.len());
        for (i, (at, _)) in out.iter().enumerate() {
            let most = 3044.0 + 20e6 / 8.0 * at.secs();
            assert!(1518.0 * (i + 1) as f64 <= most, "{i} {at}");
        }
        // both flows have their own rates: 20 Mbit/s for L and 30 Mbit/s for C
        let (l, c) = (Some(flow(20)), Some(flow(30)));
        let low = LowLatencyParams { flow: l, classic_flow: c, ..LowLatencyParams::default() };
        let out = saturate(&params(100, Some(low)), |_| [1500; 2], s);
        let expected = [16_471.0, 24_706.0];
        assert!((0..2).all(|f| (count(&out, f) - expected[f]).abs() < 3.0), "{} {}", count(&out, L), count(&out, C));
    }

    #[test]
    fn shares_of_flows_with_own_rates_follow_a_closed_form() {
        const ALL: f64 = 50.0;
        let own = |mbit: u64| (mbit > 0).then(|| flow(mbit));
        let rates = [0, 1, 4, 6, 10, 26, 46];
        let grid = rates.iter().flat_map(|l| rates.iter().map(move |c| (*l, *c)));
        for (l, c) in grid {
            for (weight, sizes) in [(230, [1500; 2]), (230, [200, 1500]), (128, [1500; 2]), (26, [1500, 200])] {
                let low = LowLatencyParams {
                    flow: own(l),
                    classic_flow: own(c),
                    scheduling_weight: weight,
                    ..LowLatencyParams::default()
                };
                let p = params(50, Some(low));
                // a flow gets its share or what the other flow leaves, whichever is more, but at most its own rate
                let limit = |mbit: u64| if mbit == 0 { ALL } else { mbit as f64 };
                let share = ALL * f64::from(weight) / 256.0;
                let expected =
                    [limit(l).min(share.max(ALL - limit(c))), limit(c).min((ALL - share).max(ALL - limit(l)))];
                // the flows begin together, with full buckets, or one of them has used up its tokens when the other begins
                for late in [None, Some(L), Some(C)] {
                    let [other, begin, end] = [100, 200, 1200].map(|ms| Time(ms * 1_000_000));
                    let waiting =
                        |now: Time| [L, C].map(|of| if late == Some(of) && now < other { 0 } else { sizes[of] });
                    let mut out = saturate(&p, waiting, end);
                    out.retain(|(at, _)| *at > begin);
                    let mbit = [L, C].map(|of| count(&out, of) * f64::from(sizes[of] + 18) * 8.0 / 1e6);
                    let near = |of: usize| (mbit[of] - expected[of]).abs() < 0.03 + 0.01 * expected[of];
                    // no capacity is lost. The tolerance is three bursts of two frames, which are 0.024 Mbit/s each
                    let all = [mbit, expected].map(|m| m[L] + m[C]);
                    assert!((all[0] - all[1]).abs() < 0.08, "{l} {c} {weight} {sizes:?} {late:?}: {all:?}");
                    assert!(near(L) && near(C), "{l} {c} {weight} {sizes:?} {late:?}: {mbit:?}, not {expected:?}");
                }
            }
        }
    }

    #[test]
    fn a_flow_whose_tokens_come_after_its_turn_still_gets_its_share() {
        // C's bucket holds one frame, so C never sends two frames in a row. From 26 Mbit/s on, the bucket allows every second
        // frame of the aggregate, whose rate is 50 Mbit/s. C's share is 102/256
        for mbit in [26, 30, 40, 49] {
            let own = ShaperParams { max_traffic_burst: Bytes(1522), ..flow(mbit) };
            let low =
                LowLatencyParams { classic_flow: Some(own), scheduling_weight: 154, ..LowLatencyParams::default() };
            let out = saturate(&params(50, Some(low)), |_| [1500; 2], Time(1_000_000_000));
            let share = count(&out, C) / out.len() as f64;
            assert!((share - 102.0 / 256.0).abs() < 0.004, "{mbit}: {share}");
        }
    }

    #[test]
    fn a_flow_that_waits_for_tokens_saves_little_credit() {
        // with 50 Mbit/s, L gets its own rate, 8 Mbit/s, which is far below its share. From 1 s on, the aggregate has 10
        // Mbit/s, so each flow gets 5 Mbit/s: 41 frames of 1518 bytes in 100 ms. L has saved at most one turn, so it
        // gets at most 2048 bytes ahead of C. That is 1024 bytes more for L and 1024 less for C, which is less than a frame
        let low = LowLatencyParams { flow: Some(flow(8)), scheduling_weight: 128, ..LowLatencyParams::default() };
        let mut down = Downstream31::new(&params(50, Some(low)));
        let (change, end) = (Time(1_000_000_000), Time(1_100_000_000));
        let mut sent = [0; 2];
        down.notify(Time::ZERO);
        while down.deadline() < end {
            let now = down.deadline();
            if now >= change && down.flow().max_sustained_rate != BitRate(10_000_000) {
                down.set_rates(now, Some(BitRate(10_000_000)), None);
            }
            if let Action::Dequeue(of) = down.advance(now, [1500; 2]) {
                sent[usize::from(of == ServiceFlow::Classic)] += u32::from(now >= change);
                arrival(&mut down, now, 1500);
            }
        }
        assert!((40..=43).contains(&sent[0]) && (39..=42).contains(&sent[1]), "{sent:?}");
    }

    #[test]
    fn a_packet_of_one_flow_does_not_wait_for_the_tokens_of_the_other() {
        let low = LowLatencyParams { classic_flow: Some(flow(1)), ..LowLatencyParams::default() };
        let mut down = Downstream31::new(&params(100, Some(low)));
        down.notify(Time::ZERO);
        // C's burst of 3044 bytes holds two frames of 1518 bytes, and 8 bytes
        for _ in 0..2 {
            let now = down.deadline();
            assert_eq!(down.advance(now, [0, 1500]), Action::Dequeue(ServiceFlow::Classic));
            arrival(&mut down, now, 1500);
        }
        // the next frame needs 1510 bytes more, which arrive in 12.08 ms at 1 Mbit/s
        assert_eq!((down.deadline(), down.advance(Time::ZERO, [0, 1500])), (Time::ZERO, Action::Wait));
        assert_eq!(down.deadline(), Time(12_080_000));
        let now = Time(1_000_000);
        down.notify(now);
        assert_eq!((down.deadline(), down.advance(now, [1500, 1500])), (now, Action::Dequeue(ServiceFlow::LowLatency)));
    }

    #[test]
    fn a_lonely_packet_takes_symbols_pipeline_and_interleaver() {
        // symbols are 22.5 us long. A packet waits for the start of the next symbol, and arrives 60 us (pipeline) plus
        // 45 us (interleaver) after the start of that symbol
        let p = params(300, None);
        for offset in [0, 1, 10_000, 22_499, 22_500] {
            let mut down = Downstream31::new(&p);
            let now = Time(1_000_012_500 + offset);
            down.notify(now);
            assert_eq!((down.deadline(), down.advance(now, [0, 1])), (now, Action::Dequeue(ServiceFlow::Classic)));
            let at = arrival(&mut down, now, 1500);
            let symbol = now.0.div_ceil(22_500) * 22_500;
            assert_eq!(at, Time(symbol + 105_000));
            assert!(at.since(now) < Duration(127_500));
            // the queue is empty now
            let now = down.deadline();
            assert_eq!((down.advance(now, [0, 0]), down.deadline()), (Action::Wait, Time::NEVER));
        }
    }

    #[test]
    fn a_burst_goes_at_the_channels_rate_and_shares_symbols() {
        // 1528 B take 7.191 us at 1700 Mbit/s, so three packets fit into a symbol of 22.5 us, and the fourth packet ends in the
        // next symbol
        let burst = ShaperParams { max_traffic_burst: Bytes(100_000), ..flow(300) };
        let p = Docsis31Params { flow: burst, ..params(300, None) };
        let mut down = Downstream31::new(&p);
        down.notify(Time::ZERO);
        let mut at = Vec::new();
        for _ in 0..8 {
            let now = down.deadline();
            assert_eq!(down.advance(now, [0, 1]), Action::Dequeue(ServiceFlow::Classic));
            at.push(arrival(&mut down, now, 1500).0);
        }
        let symbols: Vec<u64> = at.iter().map(|t| (t - 105_000) / 22_500).collect();
        assert_eq!(symbols, [0, 0, 0, 1, 1, 1, 2, 2]);
    }

    #[test]
    fn upstream_parameters_are_refused_by_name() {
        let problem = |p: Docsis31Params| p.validate().unwrap_err().to_string();
        let low = |ggr: u64| {
            Some(LowLatencyParams { guaranteed_grant_rate: Some(BitRate(ggr)), ..LowLatencyParams::default() })
        };
        let p = params(300, None);
        assert!(
            problem(Docsis31Params { map_interval: Duration::from_millis(1), ..p.clone() })
                .starts_with("map_interval: applies only to an upstream")
        );
        assert!(
            problem(Docsis31Params { low_latency: low(1_000_000), ..p.clone() })
                .starts_with("low_latency.guaranteed_grant_rate: applies only to an upstream")
        );
        let fast = Docsis31Params { flow: flow(1701), ..p.clone() };
        assert!(
            problem(fast).starts_with("flow.max_sustained_rate: 1701mbit is not valid; expected at most the channel")
        );
        let none = DownstreamParams { channel: BitRate(0), ..DownstreamParams::default() };
        assert!(problem(Docsis31Params { downstream: Some(none), ..p }).starts_with("downstream.channel: 0bit"));
        let own = LowLatencyParams { flow: Some(flow(4)), ..low(5_000_000).unwrap() };
        let up = Docsis31Params { low_latency: Some(own), ..Docsis31Params::new(flow(50)) };
        assert!(
            problem(up)
                .starts_with("low_latency.guaranteed_grant_rate: 5mbit is not valid; expected at most the service")
        );
    }

    #[test]
    fn an_empty_queue_stops_the_downstream() {
        // `advance` is called as if a packet waited, but the dequeue finds an empty queue
        let mut down = Downstream31::new(&params(300, None));
        let queue: VecDeque<PacketMeta> = VecDeque::new();
        down.notify(Time(5));
        assert_eq!(down.advance(Time(5), [0, 1]), Action::Dequeue(ServiceFlow::Classic));
        down.dequeued(Time(5), queue.front().copied());
        assert_eq!((down.sent(), down.deadline()), (None, Time::NEVER));
    }
}
