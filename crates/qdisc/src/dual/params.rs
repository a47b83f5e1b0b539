//! DualPI2's parameters, their checks, and the constants of each version.

use super::pi2::{Base, Draws, Pi2, kernel_gain};
use super::turns::Turns;
use crate::Room;
use crate::declared::params;
use crate::law::pie::check_step;
use Dualpi2Variant::{Linux, Rfc9332};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Limit, Prob, Problem, ensure, positive, positive_or_none, within};

/// Linux's largest Ethernet frame, bytes.
const FRAME: u64 = 1514;
/// Size of a full packet, bytes. If packets are already queued, RFC 9332's limit accepts an arrival only if a full
/// packet would fit.
const MTU: u64 = 1500;
/// Upper bound of both gains, 1/s.
const MOST_GAIN: f64 = 1e4;
/// Linux's smallest gain, 1/s. All gains in Linux are multiples of it.
const LEAST_GAIN: f64 = 1.0 / 256.0;

/// A published version. It determines the values of the parameters that are omitted (null).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dualpi2Variant {
    /// Linux sch_dualpi2 (6.17): integer arithmetic, independent draws, a share of 10 % for C, and a step of 1 ms in
    /// addition to the coupled law. While fewer bytes than two full frames remain queued, the coupled law marks and
    /// drops nothing.
    Linux,
    /// RFC 9332 Appendix A: real numbers, a ramp from 0.8 to 1.2 ms, evenly spaced marks, a share of 1/16 for C, a limit
    /// of 250 ms.
    Rfc9332,
}

/// How packets of L are marked because of L's own delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Native {
    /// Marks packets that exceed the threshold `step_thresh`.
    Step,
    /// Marks with a probability that rises from 0 at `min_th` to 1 at `max_th`, or with k p' if this is larger.
    Ramp,
}

params! {
    /// Parameters of DualPI2, with tc's defaults and most of tc's names. Some defaults depend on `variant`. L is the
    /// low-latency queue, and C is the classic queue. A controller computes a probability p' from the delay of the
    /// queues (see `target`). With k as the `coupling_factor`, the *coupled law* marks packets of L with probability k
    /// p', and marks or drops packets of C with probability p'^2. In addition, packets of L are marked because of L's
    /// own delay, by a step or a ramp (`native`). tc has other names for `memory_limit` (memlimit), `drop_overload`
    /// (drop_on_overload) and `drop_early` (drop_enqueue). Instead of `ecn_mask` 1 and 3, tc has the keywords l4s_ect
    /// and any_ect.
    pub struct Dualpi2Params as p {
        /// Published version of the algorithm. The defaults of some parameters depend on it.
        variant: Dualpi2Variant = Linux,
        /// Maximum length of both queues together. With rfc9332, an arrival of less than 1500 bytes needs as much room
        /// as one of 1500 bytes, unless both queues are empty. Null: 10000p (linux), 250ms (rfc9332).
        limit: Option<Limit> = None => match p.variant {
            Linux => Limit::Packets(10_000),
            Rfc9332 => Limit::Time(Duration::from_millis(250)),
        },
        /// Maximum length of both queues together in bytes, in addition to `limit`; null: two frames of 1514 bytes for each
        /// packet of `limit` (linux with a `limit` in packets), otherwise no such limit.
        memory_limit: Option<Bytes> = None,
        /// Target delay of the controller. It is compared with the sojourn time of the packet at the head of L or of C,
        /// whichever is longer.
        target: Duration = Duration::from_millis(15),
        /// Longest round-trip time at which the controller must be stable. It determines the defaults of three keys:
        /// `tupdate` = min(target, rtt_max/3), `alpha` = 0.1 tupdate/rtt_max^2, `beta` = 0.3/rtt_max. With variant
        /// linux and no `rtt_max`, these three defaults are the constants of the kernel. tc's `max_rtt` sets `rtt_max`,
        /// and tc's `typical_rtt` sets `target`. Null: 100ms (rfc9332), none (linux).
        rtt_max: Option<Duration> = None,
        /// Time between updates of the probability, at least 100us; null: 16ms, 15ms (rfc9332).
        tupdate: Option<Duration> = None => {
            // tc sets the interval in whole microseconds
            let unit = if p.is_linux() { 1000 } else { 1 };
            let derived = p.rtt_max().map(|rtt| p.target.min(Duration(rtt.0 / 3 / unit * unit)));
            derived.unwrap_or(Duration::from_millis(16))
        },
        /// Integral gain, in 1/s: each update adds `alpha` × (delay - `target`) to p'. With variant linux, `alpha` and
        /// `beta` are rounded down to a multiple of 1/256, as in tc, and must be at least 1/256. Null: 41/256 = 0.16,
        /// 0.15 (rfc9332).
        alpha: Option<f64> = None => match p.rtt_max().map(Duration::secs) {
            Some(rtt) => 0.1 * p.tupdate().secs() / (rtt * rtt),
            None => 41.0 / 256.0,
        },
        /// Proportional gain, in 1/s: each update adds `beta` × (delay - delay at the last update) to p'; null: 819/256
        /// = 3.2, 3 (rfc9332).
        beta: Option<f64> = None => p.rtt_max().map_or(819.0 / 256.0, |rtt| 0.3 / rtt.secs()),
        /// Coupling factor k of the coupled law: above 0 and at most 255. With variant linux, it must be a whole
        /// number.
        coupling_factor: f64 = 2.0,
        /// How packets of L are marked because of L's own delay. A packet that is marked by the coupled law and by the
        /// step counts as two marks, as in the kernel's statistics. Null: step (linux), ramp (rfc9332).
        native: Option<Native> = None => if p.variant == Linux { Native::Step } else { Native::Ramp },
        /// If `native` is step: sojourn time above which a packet of L is marked. The threshold can also be a number of
        /// packets, such as "5p": a packet is then marked if it leaves more than five packets behind in L.
        step_thresh: Limit = Limit::Time(Duration::from_millis(1)),
        /// If `native` is step: the step applies only to packets that found at least this many packets in L on arrival.
        min_qlen_step: u32 = 0,
        /// If `native` is ramp: delay above which marks begin.
        min_th: Duration = Duration::from_micros(800),
        /// If `native` is ramp: delay at and above which every packet is marked.
        max_th: Duration = Duration::from_micros(1200),
        /// If `native` is ramp: the ramp marks nothing while L holds at most this many packets, including the departing
        /// packet. The RFC calls this number Th_len.
        th_len: u32 = 1,
        /// C's share of the bytes sent while both queues have packets; null: 0.1, 0.0625 (rfc9332).
        classic_protection: Option<Prob> = None => Prob::constant(if p.variant == Linux { 0.1 } else { 0.0625 }),
        /// Head start of L. When both queues have packets, the packet that arrived first is sent first, but a packet of
        /// L counts as if it had arrived earlier by this time (RFC 9332: 50ms). Not valid with `classic_protection`.
        /// Null: no head start; `classic_protection` divides the link.
        time_shift: Option<Duration> = None,
        /// How packets are chosen for a mark or a drop at a given probability. Null: independent (linux), recur
        /// (rfc9332).
        draws: Option<Draws> = None => if p.variant == Linux { Draws::Independent } else { Draws::Recur },
        /// Drops packets on overload, that is, when k p' reaches 1. L then drops packets with probability p'^2 and
        /// marks the others (`l_dscp_exempt` has the exceptions). C drops packets with probability p'^2, even if they
        /// are ECN-capable. If false, p' is limited to 1/k, and the queues may grow to their limit.
        drop_overload: bool = true,
        /// Applies the coupled law when a packet arrives, instead of when the packet leaves. The step still applies
        /// when the packet leaves. Not valid if `native` is ramp.
        drop_early: bool = false,
        /// The coupled law and the ramp mark or drop a packet only if both queues together hold at least this many
        /// bytes besides the packet. 3028B are two frames of 1514 bytes. Null: 3028B, 0B (rfc9332).
        least_backlog: Option<Bytes> = None => Bytes(if p.variant == Linux { 2 * FRAME } else { 0 }),
        /// Selects the packets that go to L by their ECN field. 1: ECT(1) and CE. 2: ECT(0) and CE; with rfc9332, the
        /// ECT(1) packets, which then go to C, are still marked with probability k p'. 3: all except Not-ECT.
        ecn_mask: u8 = 1,
        /// Code points (DSCPs, 0 to 63) whose packets go to L regardless of their ECN field. Code point 45 is
        /// non-queue-building (NQB) traffic.
        l_dscp: Vec<u8> = Vec::new(),
        /// If true, packets that are in L only because of their code point (`l_dscp`) are neither marked nor dropped
        /// early, like packets of class 2 in Linux's dualpi2. If false, they are treated like other packets of L
        /// (linux) or like packets of C (rfc9332). True needs `l_dscp`.
        l_dscp_exempt: bool = false,
        /// Splits packets of several segments (`tcp.NAME.tso`) on arrival. If false, such a packet stays whole, except
        /// on a link with a modem, a token bucket or `delivery`.
        split_gso: bool = true,
    }
}

impl Dualpi2Params {
    pub(super) fn is_linux(&self) -> bool {
        self.variant == Linux
    }

    /// Returns the round-trip time from which `tupdate`, `alpha` and `beta` are computed, or `None` if they default to
    /// the kernel's constants.
    fn rtt_max(&self) -> Option<Duration> {
        self.rtt_max.or((self.variant == Rfc9332).then_some(Duration::from_millis(100)))
    }

    /// Returns the code points whose packets go to L, one bit for each.
    pub(super) fn l_dscp_bits(&self) -> u64 {
        self.l_dscp.iter().fold(0, |bits, d| bits | 1 << (d & 63))
    }

    /// Returns the minimum size, in bytes, that the limit assumes for an arrival while other packets are queued.
    pub(super) fn least_size(&self) -> u16 {
        if self.is_linux() { 0 } else { MTU as u16 }
    }

    pub(super) fn pi2(&self) -> Pi2 {
        let (alpha, beta) = (self.alpha(), self.beta());
        let base = if self.is_linux() { Base::integer(alpha, beta) } else { Base::Real { p: 0.0, alpha, beta } };
        Pi2::new(base, self.coupling_factor, self.target, self.drop_overload, self.draws())
    }

    pub(super) fn turns(&self) -> Turns {
        self.time_shift.map_or_else(|| Turns::weighted(self.classic_protection().get()), Turns::Shifted)
    }

    pub(super) fn memory(&self) -> Option<Limit> {
        let implied = match self.limit() {
            Limit::Packets(n) if self.is_linux() => Some(Bytes(u64::from(n) * 2 * FRAME)),
            _ => None,
        };
        self.memory_limit.or(implied).map(Limit::Bytes)
    }

    /// Returns equivalent parameters without `rtt_max`. If the values of `tupdate`, `alpha` and `beta` follow from it,
    /// they are set explicitly, because tc has keywords for them. With variant linux, gains that are set are rounded as
    /// in the kernel.
    pub(crate) fn explicit(&self) -> Self {
        let mut explicit = self.clone();
        if explicit.rtt_max.take().is_some() || !self.is_linux() {
            explicit.tupdate = Some(self.tupdate());
            explicit.alpha = Some(self.alpha());
            explicit.beta = Some(self.beta());
        }
        if self.is_linux() {
            explicit.alpha = explicit.alpha.map(kernel_gain);
            explicit.beta = explicit.beta.map(kernel_gain);
        }
        explicit
    }

    /// Checks that neither gain becomes 0 in Linux's arithmetic.
    fn gains_of_linux(&self) -> Result<(), Problem> {
        for (name, own, gain) in [("alpha", self.alpha, self.alpha()), ("beta", self.beta, self.beta())] {
            let fits = kernel_gain(gain) > 0.0;
            ensure!(
                fits || own.is_none(),
                name,
                "{gain} is not valid; expected at least {LEAST_GAIN} (1/256 per second), or variant = \"rfc9332\""
            );
            ensure!(
                fits,
                "rtt_max",
                "gives {name} = {gain:.2e} (1/s), which is 0 in Linux's units of 1/256; expected a shorter rtt_max, or \
                 variant = \"rfc9332\""
            );
        }
        Ok(())
    }

    fn numbers(&self) -> Result<(), Problem> {
        for (name, gain) in [("alpha", self.alpha), ("beta", self.beta)] {
            let fits = gain.is_none_or(|gain| gain > 0.0 && gain <= MOST_GAIN);
            let gain = gain.unwrap_or_default();
            ensure!(fits, name, "{gain} is not valid; expected above 0 and at most {MOST_GAIN} (1/s)");
        }
        let gain = self.alpha().max(self.beta());
        ensure!(
            gain <= MOST_GAIN,
            "rtt_max",
            "gives a gain of {gain:.1e} (1/s); expected at most {MOST_GAIN}: a longer rtt_max or a shorter tupdate"
        );
        if self.is_linux() {
            self.gains_of_linux()?;
        }
        let k = self.coupling_factor;
        let fits = k > 0.0 && k <= 255.0;
        let valid = match (self.is_linux(), fits) {
            (true, true) => "a whole number from 1 to 255, or variant = \"rfc9332\"",
            (true, false) => "a whole number from 1 to 255",
            (false, _) => "above 0 and at most 255",
        };
        let whole = k.fract() == 0.0 || !self.is_linux();
        ensure!(fits && whole, "coupling_factor", "{k} is not valid; expected {valid}");
        let mask = self.ecn_mask;
        ensure!(
            (1..=3).contains(&mask),
            "ecn_mask",
            "{mask} is not valid; expected 1 (ECT(1) and CE), 2 (ECT(0) and CE) or 3 (any but Not-ECT)"
        );
        self.l_dscp.iter().try_for_each(|dscp| within("l_dscp", *dscp, 0, 63))
    }

    fn combinations(&self) -> Result<(), Problem> {
        let step = self.step_thresh;
        let comparable = !matches!(step, Limit::Bytes(_));
        ensure!(comparable, "step_thresh", "{step} is not valid; expected a time (\"1ms\") or packets (\"5p\")");
        let (min, max) = (self.min_th, self.max_th);
        ensure!(min < max, "max_th", "{max} is not valid; expected above min_th ({min})");
        ensure!(
            self.time_shift.is_none() || self.classic_protection.is_none(),
            "time_shift",
            "shares and a shift are two ways to take turns; expected only one of time_shift and classic_protection"
        );
        ensure!(
            !self.drop_early || self.native() == Native::Step,
            "drop_early",
            "true is not valid with a ramp, which marks at the head; expected false, or native = \"step\""
        );
        let listed = !self.l_dscp_exempt || !self.l_dscp.is_empty();
        ensure!(listed, "l_dscp_exempt", "true needs l_dscp; expected code points there, such as [45]");
        Ok(())
    }

    /// Checks the parameters.   Errors: the first invalid parameter.
    pub(super) fn check(&self) -> Result<(), Problem> {
        Room::validate(self.limit(), false)?;
        Room::holds("memory_limit", self.memory_limit.map(Limit::Bytes))?;
        positive("target", self.target)?;
        positive_or_none("rtt_max", self.rtt_max)?;
        check_step("tupdate", self.tupdate())?;
        self.numbers()?;
        self.combinations()
    }
}
