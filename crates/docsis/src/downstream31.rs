//! The CMTS's downstream to a DOCSIS 3.1 modem: a shaper, deficit round robin between two service flows, and OFDM
//! symbols. L is the Low Latency service flow, C the Classic service flow.
//!
//! ```text
//! flow      a service flow may send if it has a packet and, if it has its own rates, enough tokens.  If both may send, the flow
//!           in turn sends while its deficit is above 0. A round adds 16 B x weight to L's deficit and 16 B x (256 - weight)
//!           to C's, and a packet's bytes are subtracted.  While only one flow may send, both deficits are 0
//! time      a packet is sent when the aggregate's buckets hold its bytes and the channel has sent all earlier packets
//! symbols   the packet occupies the channel from the next symbol on, at the channel's rate, and arrives 105 us after the start of
//!           its last symbol: the delays of the pipeline (encoder, channel, decoder: 60 us) and of the interleaver (45 us)
//! ```
//!
//! Source: MULPIv3.1 §7.7.3.2 (weights), by way of docsis-ns3 (facts). The quanta differ: in docsis-ns3, a weight of
//! 230 gives a ratio of 230 to 256 between L and C; here it gives L a share of 230/256.
//! Units: rates and weights count Ethernet frames without the MAC header; the channel's rate includes it.
//! Departs: packets are not fragmented; codewords, their padding and the CMTS's traffic to other modems are not modelled.

use crate::bucket::Buckets;
use crate::{Action, C, Docsis31Params, L, ShaperParams, TokenBucket};
use packet::{PacketMeta, ServiceFlow, docsis_frame, ethernet_frame};
use units::{BitRate, Bytes, Duration, Time};

/// Number of bytes by which a flow's deficit grows at each turn of the flow, for every 1/256 of the flow's weight.
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

    /// Returns the flow that sends next. `may` holds true for each of L and C that may send; at least one must be true.
    ///
    /// Bound of the loop: a deficit is never more than one frame below zero, and each turn adds at least 16 bytes.
    fn pick(&mut self, may: [bool; 2]) -> usize {
        if may != [true; 2] {
            // when both may send again, L goes first
            (self.deficit, self.turn) = ([0; 2], C);
            return if may[L] { L } else { C };
        }
        while self.deficit[self.turn] <= 0 {
            self.turn = 1 - self.turn;
            self.deficit[self.turn] += self.quantum[self.turn];
        }
        self.turn
    }

    fn sent(&mut self, flow: usize, bytes: u64, may: [bool; 2]) {
        if may == [true; 2] {
            self.deficit[flow] -= bytes as i64;
        }
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
    /// Time of the next dequeue; `NEVER` while no packet waits.
    dequeue_at: Time,
    /// Earliest possible time of the next dequeue.
    free_at: Time,
    /// Time up to which the channel is occupied.
    busy_until: Time,
    /// The flow from which the next packet is dequeued, and whether L and C were each allowed to send when the flow was
    /// chosen.
    chosen: Option<(usize, [bool; 2])>,
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
        }
    }

    /// Reports that packets wait in the queue.
    #[inline]
    pub fn notify(&mut self, now: Time) {
        if self.dequeue_at == Time::NEVER {
            self.dequeue_at = now.max(self.free_at);
        }
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
        let mut may = [false; 2];
        let mut wait = Duration(u64::MAX);
        for flow in [L, C] {
            if heads[flow] == 0 {
                continue;
            }
            let own = self.own[flow].as_mut().map_or(Duration::ZERO, |own| {
                own.fill(now);
                own.wait(ethernet_frame(heads[flow]))
            });
            may[flow] = own.is_zero();
            wait = wait.min(own);
        }
        if may == [false; 2] {
            self.dequeue_at = if heads == [0; 2] { Time::NEVER } else { now + wait };
            return Action::Wait;
        }
        let flow = self.rounds.pick(may);
        self.chosen = Some((flow, may));
        Action::Dequeue(if flow == L { ServiceFlow::LowLatency } else { ServiceFlow::Classic })
    }

    /// Sends the packet that [`Action::Dequeue`] requested, if there is one. Returns the packet with its arrival time.
    pub fn dequeued(&mut self, now: Time, packet: Option<PacketMeta>) -> Option<(PacketMeta, Time)> {
        let chosen = self.chosen.take();
        let (Some((flow, may)), Some(packet)) = (chosen, packet) else {
            self.dequeue_at = Time::NEVER;
            return None;
        };
        let bytes = ethernet_frame(packet.bytes());
        self.rounds.sent(flow, bytes, may);
        if let Some(own) = &mut self.own[flow] {
            own.charge(bytes);
        }
        let allowed = now + self.shaper.take(now, bytes);
        let begin = self.next_symbol(allowed).max(self.busy_until);
        self.busy_until = begin + self.channel.time_for(docsis_frame(packet.bytes())).max(Duration(1));
        // `last` is the start of the symbol that carries the packet's last byte. A packet that ends at a symbol
        // boundary ends in the earlier symbol
        let last = Time(self.busy_until.0.saturating_sub(1) / self.symbol.0 * self.symbol.0);
        self.free_at = allowed.max(Time(self.busy_until.0.saturating_sub(self.symbol.0)));
        self.dequeue_at = self.free_at;
        Some((packet, last + self.pipeline))
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
    /// unlimited peak rate stays unlimited.
    pub fn set_rates(&mut self, now: Time, rate: Option<BitRate>, peak: Option<BitRate>) {
        self.shaper.set_rates(now, rate, peak);
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

    /// Returns the order in which L and C send `n` packets, if both flows always have packets waiting. L's packets have
    /// `l` bytes, and C's packets have `c` bytes.
    fn order(weight: u8, l: u64, c: u64, n: usize) -> String {
        let mut rounds = Rounds::new(weight);
        let one = |_| {
            let flow = rounds.pick([true; 2]);
            rounds.sent(flow, [l, c][flow], [true; 2]);
            if flow == L { 'L' } else { 'C' }
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

    /// Returns the arrival time and the flow of each packet sent before `end`. The queues selected by `wants` always hold packets
    /// of 1500 bytes.
    fn saturate(p: &Docsis31Params, wants: [bool; 2], end: Time) -> Vec<(Time, usize)> {
        let mut down = Downstream31::new(p);
        let mut out = Vec::new();
        down.notify(Time::ZERO);
        while down.deadline() < end {
            let now = down.deadline();
            if let Action::Dequeue(of) = down.advance(now, wants.map(|w| if w { 1500 } else { 0 })) {
                let flow = if of == ServiceFlow::LowLatency { L } else { C };
                let (_, at) = down.dequeued(now, Some(PacketMeta { size: 1500, ..Default::default() })).unwrap();
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
        let both = saturate(&p, [true, true], s);
        let (l, c) = (count(&both, L), count(&both, C));
        assert!((l + c - 82_347.0).abs() < 3.0, "{l} {c}");
        assert!((l / (l + c) - 230.0 / 256.0).abs() < 1e-3, "{l} {c}");
        for wants in [[true, false], [false, true]] {
            assert!((saturate(&p, wants, s).len() as f64 - 82_347.0).abs() < 3.0);
        }
        // without a Low Latency service flow, there is one queue
        assert_eq!(count(&saturate(&params(100, None), [false, true], s), L), 0.0);
    }

    #[test]
    fn a_service_flow_is_limited_to_its_own_rate() {
        let s = Time(10_000_000_000);
        // L's own rate is 20 Mbit/s and the aggregate's is 100 Mbit/s. So L sends 20 Mbit/s x 10 s / 12 144 bit = 16
        // 469 frames, and two more in its burst; C sends the rest
        let low = LowLatencyParams { flow: Some(flow(20)), ..LowLatencyParams::default() };
        let out = saturate(&params(100, Some(low)), [true, true], s);
        assert!((count(&out, L) - 16_471.0).abs() < 3.0 && (out.len() as f64 - 82_347.0).abs() < 3.0, "{}", out.len());
        // without packets of C, the channel is sometimes idle, because L never sends more than its burst and rate allow
        let low = LowLatencyParams { flow: Some(flow(20)), ..LowLatencyParams::default() };
        let out = saturate(&params(100, Some(low)), [true, false], s);
        assert!((out.len() as f64 - 16_471.0).abs() < 3.0, "{}", out.len());
        for (i, (at, _)) in out.iter().enumerate() {
            let most = 3044.0 + 20e6 / 8.0 * at.secs();
            assert!(1518.0 * (i + 1) as f64 <= most, "{i} {at}");
        }
        // both flows have their own rates: 20 Mbit/s for L and 30 Mbit/s for C
        let (l, c) = (Some(flow(20)), Some(flow(30)));
        let low = LowLatencyParams { flow: l, classic_flow: c, ..LowLatencyParams::default() };
        let out = saturate(&params(100, Some(low)), [true, true], s);
        let expected = [16_471.0, 24_706.0];
        assert!((0..2).all(|f| (count(&out, f) - expected[f]).abs() < 3.0), "{} {}", count(&out, L), count(&out, C));
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
            let (_, at) = down.dequeued(now, Some(PacketMeta { size: 1500, ..Default::default() })).unwrap();
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
            at.push(down.dequeued(now, Some(PacketMeta { size: 1500, ..Default::default() })).unwrap().1.0);
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
        assert_eq!((down.dequeued(Time(5), queue.front().copied()), down.deadline()), (None, Time::NEVER));
    }
}
