//! The parts from which RED, Adaptive RED, WRED and RIO are built: the average, the ramp and the spacing of drops.
//!
//! ```text
//! average   queue not idle      avg <- (1 - w) avg + w q
//!           idle since t0       avg <- (1 - w)^m avg, m = (now - t0) / (time to send a typical packet); Linux: linux_rest
//! ramp      avg < min           p_b = 0
//!           min <= avg < max    p_b = max_p (avg - min) / (max - min)
//!           max <= avg          p_b = 1;  gentle: p_b rises from max_p at max to 1 at 2 max
//! spacing   p_a = f(p_b, packets since the last drop), so that drops are evenly spaced (see Spacing)
//! ```
//!
//! Source: Floyd & Jacobson, ToN 1(4) 1993; the behaviour of ns-2's queue/red.cc and ALTQ's altq_red.c.
//! Units: the average is in packets or bytes, like the thresholds ([`Measure`]).

use super::View;
use packet::{PacketMeta, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Duration, Limit, Problem, Rng, Time, ensure, math};

/// The quantity in which a threshold is given: packets, bytes or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    Packets,
    Bytes,
    /// The thresholds are times. The queue and its average are then measured in bytes, and [`amount`] converts each
    /// threshold to the number of bytes that the link sends in that time. LRED is an exception: it compares such
    /// thresholds with the sojourn time.
    Time,
}

impl Measure {
    pub(crate) fn of(limit: Limit) -> Self {
        match limit {
            Limit::Packets(_) => Self::Packets,
            Limit::Bytes(_) => Self::Bytes,
            Limit::Time(_) => Self::Time,
        }
    }

    /// Returns the length of the queue that an arrival finds: in packets if the thresholds are numbers of packets,
    /// otherwise in bytes.
    #[inline]
    pub(crate) fn queue(self, view: &View<'_>) -> f64 {
        match self {
            Self::Packets => f64::from(view.backlog.packets),
            Self::Bytes | Self::Time => view.backlog.bytes as f64,
        }
    }

    /// Returns the unit of the average, which is also the unit of the thresholds after conversion by [`amount`].
    pub(crate) fn unit(self) -> Unit {
        if self == Self::Packets { Unit::Packets } else { Unit::Bytes }
    }
}

/// Converts a threshold to a number of packets or bytes. A time is converted to bytes at the link rate `rate`.
pub(crate) fn amount(limit: Limit, rate: BitRate) -> f64 {
    match limit {
        Limit::Packets(n) => f64::from(n),
        Limit::Bytes(b) => b.0 as f64,
        Limit::Time(span) => rate.bytes_in(span) as f64,
    }
}

/// An arbitrary link rate. Validation converts thresholds that are times to bytes at this rate, only to compare them
/// with each other or with 0.
pub(crate) const ANY_RATE: BitRate = BitRate(8_000_000_000);

/// Refuses thresholds of different kinds (packets, bytes or time), and a minimum that is not below the maximum.
pub(crate) fn thresholds(min: (&str, Limit), max: (&str, Limit)) -> Result<(), Problem> {
    let ((min_name, min), (max_name, max)) = (min, max);
    let same = Measure::of(min) == Measure::of(max);
    ensure!(
        same,
        max_name,
        "{max} is not valid with {min_name} = {min}; expected both of one kind (packets, bytes or time)"
    );
    let rising = amount(min, ANY_RATE) < amount(max, ANY_RATE);
    ensure!(rising, min_name, "{min} is not valid with {max_name} = {max}; expected a threshold below {max}");
    Ok(())
}

/// Refuses a weight outside (0, 1].
pub(crate) fn weight(name: &str, w: f64) -> Result<(), Problem> {
    ensure!(w > 0.0 && w <= 1.0, name, "{w} is not valid; expected a weight above 0 and at most 1 (1: no averaging)");
    Ok(())
}

/// Change of the average during an idle period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdleDecay {
    /// avg <- (1 - w)^m avg, where m is the length of the idle period in units of `packet_time`, not rounded. The idle
    /// period begins when the last packet leaves the queue (Floyd & Jacobson).
    Decay,
    /// Like `decay`, but m is rounded down, and the idle period begins when the link polls the queue and finds it
    /// empty. The packet that ends the idle period adds a sample of 0, so avg is multiplied by 1 - w once more (ns-2,
    /// ALTQ).
    DecayAndSample,
    /// Linux: the idle period begins when the link polls the queue and finds it empty. As in the kernel, the average
    /// then falls linearly to half its value. After that, it is halved again and again, much more slowly than with
    /// `decay`. With the example of tc-red(8) (`avpkt` 1000, `bandwidth` 10mbit, w 1/32), the average
    /// falls to half within 17 ms, stays there until 819 ms, and is then a quarter until 1.2 s. With `decay`, it is a
    /// quarter after only 35 ms. Behind a shaper that never polls an empty queue, such as HTB, there is no idle period: the average
    /// changes only when an arrival adds a sample.
    DecayOnceAsked,
}

/// The weight w of a sample. The logarithm of 1 - w is stored too, so that (1 - w)^m can be computed as
/// exp(m ln(1 - w)), which is cheaper than a general power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight {
    w: f64,
    ln_rest: f64,
}

impl Weight {
    /// Creates a weight from a number in (0, 1].
    pub fn new(w: f64) -> Self {
        Self { w, ln_rest: math::ln(1.0 - w) }
    }

    #[inline]
    pub(crate) fn get(self) -> f64 {
        self.w
    }

    /// Computes (1 - w)^m, the fraction of the average that is left after m samples of zero. m must not be negative.
    #[inline]
    pub fn rest(self, m: f64) -> f64 {
        // with w = 1 and m = 0, m ln(1 - w) would be 0 x ln 0, which is not a number
        if m > 0.0 { math::exp(m * self.ln_rest) } else { 1.0 }
    }
}

/// Duration of a tick of Linux's packet scheduler, the unit of the times that tc sends.   Unit: ns.
const PSCHED_TICK: f64 = 64.0;
/// Highest shift in Linux's table.
const LINUX_MOST: f64 = 31.0;
/// Index of the last cell of Linux's table.
const LINUX_LAST: u64 = 255;

/// Computes the fraction of the average that Linux keeps after an idle period of length `idle`.
///
/// tc computes a table of 256 shifts. Cell i is for idle times of i 2^log us and more; log is the smallest exponent for
/// which the shift would reach 31 before cell 512. A cell holds i 2^log r, rounded down and at most 31, where
/// r = -ln(1 - w) / (packet time); the last cell holds 31. The average decays 15.6 / ln 2 = 22.5 times as slowly as
/// (1 - w)^m, for two reasons. tc computes r for times in ticks of 64 ns, but the kernel looks up a time in
/// microseconds, which is a factor of 15.6. The table holds natural logarithms, but the kernel uses them as shifts,
/// which are powers of 2. While the shift is 0, the average falls linearly to 1/2 in the first half of cell 0, and then
/// stays there.
///
/// Source: Linux red.h (red_calc_qavg_from_idle_time); iproute2 tc_red.c (tc_red_eval_idle_damping).
fn linux_rest(w: Weight, idle: Duration, packet_time: Duration) -> f64 {
    let rate = -w.ln_rest / (packet_time.0 as f64 / PSCHED_TICK).ceil().max(1.0);
    let fits = |log: &u32| LINUX_MOST / rate / ((1u64 << log) as f64) < 512.0;
    let log = (0..32u32).find(fits).unwrap_or(31);
    let us = (idle.0 / 1000).min(LINUX_LAST << log);
    let shift = match us >> log {
        0 => 0.0,
        LINUX_LAST => LINUX_MOST,
        i => ((i << log) as f64 * rate).floor().min(LINUX_MOST),
    };
    if shift == 0.0 {
        return (1.0 - us as f64 / (1u64 << log) as f64).max(0.5);
    }
    1.0 / (1u64 << shift as u32) as f64
}

/// The weighted average of the queue length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Average {
    avg: f64,
    idle_since: Option<Time>,
}

impl Average {
    /// Returns the average, in packets or bytes ([`Measure::unit`]).
    #[inline]
    pub(crate) fn get(&self) -> f64 {
        self.avg
    }

    /// Updates the average on an arrival, and returns the new average. `queue` is the length of the queue that the
    /// arrival found, in packets or bytes, and `packet_time` is the transmission time of a typical packet.
    #[inline]
    pub fn sample(&mut self, queue: f64, now: Time, w: Weight, idle: IdleDecay, packet_time: Duration) -> f64 {
        match self.idle_since.take() {
            Some(t0) if queue == 0.0 => {
                let span = now.since(t0);
                let m = span.0 as f64 / packet_time.0.max(1) as f64;
                self.avg *= match idle {
                    IdleDecay::Decay => w.rest(m),
                    IdleDecay::DecayAndSample => w.rest(m.floor() + 1.0),
                    IdleDecay::DecayOnceAsked => linux_rest(w, span, packet_time),
                };
            }
            _ => self.avg = (1.0 - w.w) * self.avg + w.w * queue,
        }
        self.avg
    }

    /// Records that a packet has left the queue, and that `packets` packets remain in it.
    #[inline]
    pub fn left(&mut self, packets: u32, now: Time, idle: IdleDecay) {
        if packets == 0 && idle == IdleDecay::Decay {
            self.idle_since = Some(now);
        }
    }

    /// Records that the link found the queue empty. This starts the idle period, unless it has started already.
    #[inline]
    pub fn empty(&mut self, now: Time) {
        self.idle_since.get_or_insert(now);
    }
}

/// The drop probability as a function of the average. The thresholds and the average have the same unit: packets or
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// Average below which no packet is dropped early.
    pub min: f64,
    /// Upper threshold: p_b is 1 while the average is at or above `max` (with `gentle`, at or above twice `max`).
    pub max: f64,
    /// p_b just below `max`.
    pub max_p: f64,
    /// True if p_b rises from `max_p` at `max` to 1 at twice `max`.
    pub gentle: bool,
}

/// The average's position relative to the thresholds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Zone {
    /// Below the minimum threshold: every packet is kept.
    Low,
    /// On the ramp: drops with this probability (p_b), spaced by [`Spacing`].
    Early(f64),
    /// Above the ramp: p_b is 1.
    Forced,
}

impl Ramp {
    /// Returns the zone of `avg`.
    #[inline]
    pub fn zone(&self, avg: f64) -> Zone {
        if avg < self.min {
            Zone::Low
        } else if avg < self.max {
            Zone::Early(self.max_p * (avg - self.min) / (self.max - self.min))
        } else if self.gentle && avg < 2.0 * self.max {
            Zone::Early(self.max_p + (1.0 - self.max_p) * (avg - self.max) / self.max)
        } else {
            Zone::Forced
        }
    }
}

/// Computation of p_a, the drop probability of one packet, from p = p_b and count, the number of packets since the last drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// p_a = p. The gap, which is the number of packets from one drop to the next, is geometrically distributed with
    /// mean 1/p.
    Geometric,
    /// p_a = p / (1 - count p). The gap between drops is uniformly distributed on 1 ... 1/p (Floyd & Jacobson, method
    /// 2).
    Uniform,
    /// p_a = p / (2 - count p). The gap between drops is uniformly distributed on 1 ... 2/p - 1 (ALTQ).
    Stretched,
    /// Like `stretched`, but p_a = 0 while count p < 1. The gap between drops is uniformly distributed on 1/p ... 2/p -
    /// 1 (ns-2 `wait_`).
    Wait,
    /// One random number u from [0, 1) is drawn for each gap between drops. The gap ends when count p >= u (Linux). At
    /// a constant p, the gap is uniformly distributed on 1 ... 1/p, as with `uniform`. If p changes, the new p applies
    /// to the whole gap, including packets already counted.
    OneDraw,
}

impl Spacing {
    /// Computes p_a. `count` is the number of packets since the last drop, starting at [`Self::first_count`]. With
    /// [`ByteMode::Counted`], a packet counts as its size divided by the mean packet size.
    #[inline]
    pub fn spread(self, p: f64, count: f64) -> f64 {
        let (cp, whole) = (
            count * p,
            match self {
                Self::Geometric => return p,
                // for `OneDraw`, the result is the probability that the gap ends at this packet, provided that p has
                // been constant since the last drop. `Count` does not call this function for `OneDraw`: it compares
                // count x p with the random draw
                Self::Uniform | Self::OneDraw => 1.0,
                Self::Stretched | Self::Wait => 2.0,
            },
        );
        if self == Self::Wait && cp < 1.0 {
            0.0
        } else if whole - cp <= p {
            // exactly 1, so that the last packet of the gap is dropped in spite of rounding errors
            1.0
        } else {
            p / (whole - cp)
        }
    }

    /// Returns the value of `count` for the first packet after a drop.
    ///
    /// Method 2 of Floyd & Jacobson counts the packets kept since the drop, starting at 0, so that the gap is uniform
    /// on 1 ... 1/p. The code of ns-2 and ALTQ also counts the packet whose drop is being decided, so its count starts
    /// at 1.
    #[inline]
    pub fn first_count(self) -> f64 {
        if matches!(self, Self::Uniform | Self::OneDraw) { 0.0 } else { 1.0 }
    }
}

/// Effect of a packet's size on its drop probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ByteMode {
    /// Packet mode: the probability does not depend on the packet's size.
    Off,
    /// The ramp's probability p is multiplied by size / `avpkt` before `spacing` is applied (Floyd & Jacobson).
    Scaled,
    /// Each packet adds size / `avpkt` to count instead of 1. Except with `one_draw`, p_a is also multiplied by size /
    /// `avpkt` (ns-2 `bytes_`).
    Counted,
}

/// The decision on one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Early {
    Keep,
    /// The packet is dropped or marked early.
    Unforced,
    /// The packet is dropped (or marked, without `harddrop`) because the average is above the ramp.
    Forced,
}

/// The rules for early drops, except for the average and the ramp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rules {
    /// Distribution of the gaps between drops.
    pub spacing: Spacing,
    /// Effect of a packet's size on its drop probability.
    pub byte_mode: ByteMode,
    /// MEAN_PKTSIZE, bytes.
    pub avpkt: u64,
    /// While at most this many packets are queued, the law drops nothing, whatever the average; 0 disables this
    /// exception.
    pub min_queue: u32,
    /// True if a packet on the ramp is kept while count is `None` (see [`Count`]). Usually, this is the first packet
    /// that arrives after the average has risen to `min`.
    pub first_passes: bool,
}

/// The state of the gap between two early drops.
///
/// The first field is count, the number of packets since the last drop (with [`ByteMode::Counted`], their total size
/// divided by the mean packet size). It is `None` while there is no gap, for example because the average is below the
/// minimum threshold. The second field is the random draw for this gap, which only [`Spacing::OneDraw`] uses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count(Option<f64>, f64);

impl Count {
    /// Returns count, the number of packets since the last drop; `None` while there is no gap (see [`Count`]).
    pub(crate) fn get(&self) -> Option<f64> {
        self.0
    }

    /// Decides whether to keep `packet`, which finds `waiting` packets in the queue.
    #[inline]
    pub(crate) fn decide(
        &mut self,
        rules: &Rules,
        zone: Zone,
        packet: &PacketMeta,
        waiting: u32,
        rng: &mut Rng,
    ) -> Early {
        let p = match zone {
            Zone::Low => {
                self.0 = None;
                return Early::Keep;
            }
            _ if waiting <= rules.min_queue && rules.min_queue > 0 => {
                self.0 = None;
                return Early::Keep;
            }
            Zone::Forced => {
                // with `OneDraw` (Linux), a forced drop ends the gap, like an average below the minimum threshold. In
                // both cases Linux sets count to -1, which is `None` here
                self.0 = (rules.spacing != Spacing::OneDraw).then(|| rules.spacing.first_count());
                return Early::Forced;
            }
            Zone::Early(p) if rules.spacing == Spacing::OneDraw => return self.one_draw(rules, p, packet, rng),
            Zone::Early(p) => p,
        };
        let size = packet.bytes() as f64 / rules.avpkt as f64;
        let step = if rules.byte_mode == ByteMode::Counted { size } else { 1.0 };
        let count = match self.0 {
            None if rules.first_passes => {
                self.0 = Some(rules.spacing.first_count() + step);
                return Early::Keep;
            }
            None => rules.spacing.first_count(),
            Some(count) => count,
        };
        let p_a = match rules.byte_mode {
            ByteMode::Off => rules.spacing.spread(p, count),
            ByteMode::Scaled => rules.spacing.spread((p * size).min(1.0), count),
            ByteMode::Counted => (rules.spacing.spread(p, count) * size).min(1.0),
        };
        if rng.chance(p_a) {
            self.0 = Some(rules.spacing.first_count());
            return Early::Unforced;
        }
        self.0 = Some(count + step);
        Early::Keep
    }

    /// Decides whether to keep `packet` if the spacing is [`Spacing::OneDraw`]. The packet is first added to count. If
    /// count x p then reaches the gap's random draw, the packet is dropped, and the next gap begins with a new draw. With
    /// `first_passes`, a packet that arrives while count is `None` begins a gap, but is kept and not counted.
    #[inline]
    fn one_draw(&mut self, rules: &Rules, p: f64, packet: &PacketMeta, rng: &mut Rng) -> Early {
        let size = packet.bytes() as f64 / rules.avpkt as f64;
        let (step, p) = match rules.byte_mode {
            ByteMode::Off => (1.0, p),
            ByteMode::Scaled => (1.0, (p * size).min(1.0)),
            ByteMode::Counted => (size, p),
        };
        if self.0.is_none() {
            self.1 = rng.unit();
            if rules.first_passes {
                self.0 = Some(0.0);
                return Early::Keep;
            }
        }
        let count = self.0.unwrap_or(0.0) + step;
        if count * p < self.1 {
            self.0 = Some(count);
            return Early::Keep;
        }
        *self = Self(Some(0.0), rng.unit());
        Early::Unforced
    }
}
