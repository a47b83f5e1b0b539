//! DualPI2's parameters: their checks, and the constants of each version.

use super::pi2::{Base, Draws, Pi2};
use super::turns::Turns;
use crate::Room;
use crate::law::pie::check_step;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Limit, Prob, Problem};

/// Linux's largest packet on Ethernet, bytes.
const FRAME: u64 = 1514;
/// Packet size for which RFC 9332's limit keeps room, bytes.
const MTU: u64 = 1500;
/// Upper bound of both gains, 1/s.
const MOST_GAIN: f64 = 1e4;

/// A published version: defaults for the parameters that are null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dualpi2Variant {
    /// Linux sch_dualpi2 (6.17): its integers, a step of 1 ms after the coupled law, independent draws, 10 % for C, no coupled
    /// marks or drops while less than two frames are left.
    #[default]
    Linux,
    /// RFC 9332 Appendix A: real numbers, a ramp from 0.8 to 1.2 ms, evenly spaced marks, 1/16 for C, a limit of 250 ms.
    Rfc9332,
}

/// How L marks for its own queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Native {
    /// Every packet above `step_thresh`.
    Step,
    /// With a probability that grows from 0 at `min_th` to 1 at `max_th`.
    Ramp,
}

/// Parameters of DualPI2. Those that default to null take the value of `variant`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dualpi2Params {
    /// Published version, from which parameters that are null take their values.
    pub variant: Dualpi2Variant,
    /// How much may wait in both queues together; null: 10000p, 250ms (rfc9332, which keeps room for a packet of 1500 bytes).
    pub limit: Option<Limit>,
    /// A second limit on both queues together, in bytes; null: two frames of 1514 bytes for each packet of `limit` (linux), none
    /// (rfc9332).
    pub memory_limit: Option<Bytes>,
    /// Target delay of the controller, for the head that has waited longer of the two queues.
    pub target: Duration,
    /// Longest round-trip time at which the controller must be stable: where they are null, `tupdate`, `alpha` and `beta` are
    /// min(target, rtt_max/3), 0.1 tupdate/rtt_max^2 and 0.3/rtt_max; null: 100ms (rfc9332), the kernel's constants (linux).
    pub rtt_max: Option<Duration>,
    /// Time between updates of the probability, at least 100us; null: 16ms, 15ms (rfc9332).
    pub tupdate: Option<Duration>,
    /// Weight of the distance from the target, in 1/s; null: 41/256 = 0.16, 0.15 (rfc9332).
    pub alpha: Option<f64>,
    /// Weight of the change since the last update, in 1/s; null: 819/256 = 3.2, 3 (rfc9332).
    pub beta: Option<f64>,
    /// k: packets in L are marked with k p', those in C with p'^2. Linux: a whole number from 1 to 255.
    pub coupling_factor: f64,
    /// How L marks for its own queue; null: step, ramp (rfc9332).
    pub native: Option<Native>,
    /// step: packets of L that waited longer than this are marked, or that leave more packets than this behind ("5p").
    pub step_thresh: Limit,
    /// step: applies only to packets that found at least this many in L on arrival.
    pub min_qlen_step: u32,
    /// ramp: delay at which it begins.
    pub min_th: Duration,
    /// ramp: delay from which every packet is marked.
    pub max_th: Duration,
    /// ramp: no marks while at most this many packets are in L, including the departing one (Th_len).
    pub th_len: u32,
    /// C's share of the link, in bytes, while both wait; null: 0.1, 0.0625 (rfc9332).
    pub classic_protection: Option<Prob>,
    /// Replaces shares by one FIFO order over both queues, with L's packets treated as this much older (RFC 9332: 50ms);
    /// null: shares.
    pub time_shift: Option<Duration>,
    /// How a probability becomes marks and drops; null: independent, recur (rfc9332).
    pub draws: Option<Draws>,
    /// When k p' exceeds 1, drop in L with p'^2 and mark the rest, and drop in C regardless of the ECN field; false: p' is capped
    /// at 1/k, and the queues grow to the limit.
    pub drop_overload: bool,
    /// Mark and drop by the coupled law on arrival, instead of at the head. The step and the ramp are always at the head.
    pub drop_early: bool,
    /// Coupled marks and drops only while at least this much else is queued; null: 3028B, two frames, 0B (rfc9332).
    pub least_backlog: Option<Bytes>,
    /// Packets go to L if their ECN field has one of these bits: 1 is ECT(1) and CE, 2 ECT(0) and CE, 3 any but Not-ECT.
    pub ecn_mask: u8,
    /// Differentiated services code points that go to L regardless of their ECN field, such as 45, non-queue-building (NQB).
    pub l_dscp: Vec<u8>,
    /// Packets in L because of their code point alone are neither marked nor dropped (Linux's class 2); false: Linux treats
    /// them as L's, rfc9332 as C's.
    pub l_dscp_exempt: bool,
    /// Split packets of several segments (`tso`) on arrival; false: each is one packet in its queue.
    pub split_gso: bool,
}

impl Default for Dualpi2Params {
    /// tc-dualpi2(8).
    fn default() -> Self {
        Self {
            variant: Dualpi2Variant::default(),
            limit: None,
            memory_limit: None,
            target: Duration::from_millis(15),
            rtt_max: None,
            tupdate: None,
            alpha: None,
            beta: None,
            coupling_factor: 2.0,
            native: None,
            step_thresh: Limit::Time(Duration::from_millis(1)),
            min_qlen_step: 0,
            min_th: Duration::from_micros(800),
            max_th: Duration::from_micros(1200),
            th_len: 1,
            classic_protection: None,
            time_shift: None,
            draws: None,
            drop_overload: true,
            drop_early: false,
            least_backlog: None,
            ecn_mask: 1,
            l_dscp: Vec::new(),
            l_dscp_exempt: false,
            split_gso: true,
        }
    }
}

/// DualPI2's constants, resolved.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Config {
    pub linux: bool,
    pub tupdate: Duration,
    pub native: Native,
    pub step_thresh: Limit,
    pub min_qlen_step: usize,
    pub ramp: (Duration, Duration),
    pub th_len: usize,
    pub drop_early: bool,
    pub least_backlog: u64,
    pub ecn_mask: u8,
    /// A bit for each code point that goes to L.
    pub l_dscp: u64,
    pub l_dscp_exempt: bool,
    /// Least size at which the limit counts an arrival, bytes.
    pub least_size: u16,
}

impl Dualpi2Params {
    fn linux(&self) -> bool {
        self.variant == Dualpi2Variant::Linux
    }

    pub(super) fn config(&self) -> Config {
        let linux = self.linux();
        Config {
            linux,
            tupdate: self.tupdate(),
            native: self.native.unwrap_or(if linux { Native::Step } else { Native::Ramp }),
            step_thresh: self.step_thresh,
            min_qlen_step: self.min_qlen_step as usize,
            ramp: (self.min_th, self.max_th),
            th_len: self.th_len as usize,
            drop_early: self.drop_early,
            least_backlog: self.least_backlog.map_or(if linux { 2 * FRAME } else { 0 }, |b| b.0),
            ecn_mask: self.ecn_mask,
            l_dscp: self.l_dscp.iter().fold(0, |bits, d| bits | 1 << (d & 63)),
            l_dscp_exempt: self.l_dscp_exempt,
            least_size: if linux { 0 } else { MTU as u16 },
        }
    }

    /// The round-trip time from which the gains are computed; `None` for the kernel's own constants.
    fn rtt_max(&self) -> Option<Duration> {
        self.rtt_max.or((!self.linux()).then_some(Duration::from_millis(100)))
    }

    fn tupdate(&self) -> Duration {
        let derived = self.rtt_max().map(|rtt| self.target.min(Duration(rtt.0 / 3)));
        self.tupdate.or(derived).unwrap_or(Duration::from_millis(16))
    }

    /// alpha and beta, 1/s.   Source: RFC 9332 Appendix A; Linux's constants.
    fn gains(&self) -> (f64, f64) {
        let (alpha, beta) = match self.rtt_max().map(Duration::secs) {
            Some(rtt) => (0.1 * self.tupdate().secs() / (rtt * rtt), 0.3 / rtt),
            None => (41.0 / 256.0, 819.0 / 256.0),
        };
        (self.alpha.unwrap_or(alpha), self.beta.unwrap_or(beta))
    }

    pub(super) fn pi2(&self) -> Pi2 {
        let (alpha, beta) = self.gains();
        let base = if self.linux() { Base::integer(alpha, beta) } else { Base::Real { p: 0.0, alpha, beta } };
        let draws = self.draws.unwrap_or(if self.linux() { Draws::Independent } else { Draws::Recur });
        Pi2::new(base, self.coupling_factor, self.target, self.drop_overload, draws)
    }

    pub(super) fn turns(&self) -> Turns {
        let share = self.classic_protection.map_or(if self.linux() { 0.1 } else { 0.0625 }, Prob::get);
        self.time_shift.map_or_else(|| Turns::weighted(share), Turns::Shifted)
    }

    pub(super) fn memory(&self) -> Option<Limit> {
        let implied = match self.all() {
            Limit::Packets(n) if self.linux() => Some(Bytes(u64::from(n) * 2 * FRAME)),
            _ => None,
        };
        self.memory_limit.or(implied).map(Limit::Bytes)
    }

    pub(super) fn all(&self) -> Limit {
        let default = if self.linux() { Limit::Packets(10_000) } else { Limit::Time(Duration::from_millis(250)) };
        self.limit.unwrap_or(default)
    }

    /// Checks the range of each number.
    fn numbers(&self) -> Result<(), Problem> {
        for (name, gain) in [("alpha", self.alpha), ("beta", self.beta)] {
            if let Some(gain) = gain.filter(|g| !(*g > 0.0 && *g <= MOST_GAIN)) {
                return Err(Problem::new(
                    name,
                    format!("{gain} is not valid; expected above 0 and at most {MOST_GAIN} (1/s)"),
                ));
            }
        }
        let (alpha, beta) = self.gains();
        if let Some(gain) = [alpha, beta].into_iter().find(|gain| *gain > MOST_GAIN) {
            let message = format!(
                "gives a gain of {gain:.1e} (1/s); expected at most {MOST_GAIN}: a longer rtt_max or a shorter tupdate"
            );
            return Err(Problem::new("rtt_max", message));
        }
        let k = self.coupling_factor;
        if self.linux() && (k.fract() != 0.0 || !(1.0..=255.0).contains(&k)) {
            let message = format!("{k} is not valid; expected a whole number from 1 to 255, or variant = \"rfc9332\"");
            return Err(Problem::new("coupling_factor", message));
        }
        if !(k > 0.0 && k <= 255.0) {
            return Err(Problem::new("coupling_factor", format!("{k} is not valid; expected above 0 and at most 255")));
        }
        if !(1..=3).contains(&self.ecn_mask) {
            let message = format!(
                "{} is not valid; expected 1 (ECT(1) and CE), 2 (ECT(0) and CE) or 3 (any but Not-ECT)",
                self.ecn_mask
            );
            return Err(Problem::new("ecn_mask", message));
        }
        if let Some(dscp) = self.l_dscp.iter().find(|d| **d > 63) {
            return Err(Problem::new("l_dscp", format!("{dscp} is not valid; expected 0 to 63")));
        }
        Ok(())
    }

    /// Checks combinations of parameters.
    fn combinations(&self) -> Result<(), Problem> {
        if let Limit::Bytes(b) = self.step_thresh {
            let message = format!("{b} is not valid; expected a time (\"1ms\") or packets (\"5p\")");
            return Err(Problem::new("step_thresh", message));
        }
        if self.min_th >= self.max_th {
            let message = format!("{} is not valid; expected above min_th ({})", self.max_th, self.min_th);
            return Err(Problem::new("max_th", message));
        }
        if self.time_shift.is_some() && self.classic_protection.is_some() {
            let message = "shares and a shift are two ways to take turns; expected time_shift or classic_protection";
            return Err(Problem::new("time_shift", message));
        }
        if self.drop_early && self.config().native == Native::Ramp {
            let message =
                "true is not valid with a ramp, which marks at the head; expected false, or native = \"step\"";
            return Err(Problem::new("drop_early", message));
        }
        if self.l_dscp_exempt && self.l_dscp.is_empty() {
            return Err(Problem::new("l_dscp_exempt", "true needs l_dscp; expected code points there, such as [45]"));
        }
        Ok(())
    }

    /// Reports the first invalid parameter.
    pub(super) fn check(&self) -> Result<(), Problem> {
        Room::validate(self.all(), false)?;
        if let Some(memory) = self.memory_limit {
            Room::validate(Limit::Bytes(memory), false).map_err(|p| Problem::new("memory_limit", p.message))?;
        }
        for (name, d) in [("target", Some(self.target)), ("rtt_max", self.rtt_max)] {
            if d.is_some_and(Duration::is_zero) {
                return Err(Problem::new(name, "0s is not valid; expected a positive duration"));
            }
        }
        check_step("tupdate", self.tupdate())?;
        self.numbers()?;
        self.combinations()
    }
}
