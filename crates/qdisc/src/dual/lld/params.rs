//! Parameters of the two queues of Low Latency DOCSIS, and their checks.

use crate::Room;
use crate::declared::params;
use crate::law::LawParams;
use crate::law::docsis_pie::DocsisPieParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Limit, Problem, ensure, within};

/// Upper limit of MAXTH and of CRITICALqL. A TLV holds each of them as a 16-bit number of microseconds.
const LONGEST: Duration = Duration(65_535_000);

/// How the delay of the Low Latency queue is estimated when a packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelayEstimate {
    /// The time that the queued bytes take at MAX_RATE. MAX_RATE is the Maximum Sustained Rate of the aggregate or of
    /// the Low Latency service flow, whichever is lower. A CMTS uses this estimate, as did modems before 2023.
    Bytes,
    /// The delay of a virtual queue that gets the same packets and is emptied at MAX_RATE. Unlike the real delay, it
    /// does not include the time for which bytes wait only because the modem must request grants from the CMTS.
    VirtualQueue,
}

params! {
    /// Parameters of the two coupled queues of Low Latency DOCSIS, the Classic queue and the Low Latency queue. Each
    /// queue belongs to a service flow, and both service flows together are the aggregate. Packets with ECT(1), CE or a
    /// code point in `l_dscp` go to the Low Latency queue. When such a packet arrives, *queue protection* redirects it
    /// to the Classic queue if the packet's flow causes too much delay. Names in capitals are those of the DOCSIS
    /// specification. The rates come from the modem or shaper behind the queues.
    pub struct DocsisLldParams {
        /// Code points (DSCPs, 0 to 63) whose packets go to the Low Latency queue regardless of their ECN field. Code
        /// point 45 is non-queue-building (NQB) traffic; operators often add 46 (EF).
        l_dscp: Vec<u8> = vec![45],
        /// MAXTH: delay of the Low Latency queue at and above which ECN-capable packets are marked with probability 1.
        /// Below MAXTH, the marking probability follows a ramp (`lg_range`). The delay at which the ramp begins is at
        /// least the transmission time of two 2000-byte packets, or 65.535ms if that is less. On a slow link, MAXTH is
        /// raised accordingly.
        max_th: Duration = Duration::from_micros(1000),
        /// LG_RANGE: the ramp of marking probabilities begins 2^lg_range ns below MAXTH (`max_th`); 19 gives 0.52 ms.
        lg_range: u8 = 19,
        /// How the Low Latency queue's delay is estimated. Null: virtual_queue in a modem (which must request grants),
        /// otherwise bytes.
        delay_estimate: Option<DelayEstimate> = None,
        /// Coupling factor k: packets of the Low Latency queue are marked with a probability of at least k times the
        /// square root of the Classic queue's drop probability.
        coupling_factor: f64 = 2.0,
        /// Buffer of the Low Latency queue; null: 10ms at the aggregate's sustained rate, at least 40000B.
        l_limit: Option<Limit> = None,
        /// Share of the Low Latency queue while both queues have packets, in 256ths. The estimate of the Classic
        /// queue's delay assumes that the Low Latency queue takes at most this share. The share also divides the link
        /// between the queues, except in a DOCSIS 3.1 modem or CMTS, which has its own `scheduling_weight`.
        scheduling_weight: u8 = 230,
        /// Turns on queue protection. It acts only while the Low Latency queue's delay exceeds CRITICALqL
        /// (`critical_ql`).
        queue_protection: bool = true,
        /// CRITICALqL: while the Low Latency queue's delay is at most this time, queue protection redirects no packets
        /// to the Classic queue. Null: MAXTH, as raised on a slow link (`max_th`).
        critical_ql: Option<Duration> = None,
        /// CRITICALqLSCORE: critical score of a flow. A flow's score is the time after which its congested bytes have
        /// aged away (see `lg_aging`). An arriving packet of the flow is redirected to the Classic queue if two
        /// conditions hold: the Low Latency queue's delay exceeds CRITICALqL, and delay × score exceeds CRITICALqL ×
        /// CRITICALqLSCORE.
        critical_ql_score: Duration = Duration::from_micros(4000),
        /// LG_AGING: rate at which a flow's congested bytes age away, 2^lg_aging bytes per 2^30 ns; 19 gives 0.49 MB/s.
        /// The congested bytes measure how much the flow contributes to the queue. Each packet of the flow adds its
        /// size times the marking probability of the ramp.
        lg_aging: u8 = 19,
        /// BI_SIZE: queue protection keeps the scores of flows in 2^bucket_id_size buckets, with one flow in each
        /// bucket. Flows that find no free bucket share one additional bucket.
        bucket_id_size: u8 = 5,
        /// ATTEMPTS: number of buckets (see `bucket_id_size`) in which queue protection looks for a place for a flow, 1
        /// to 8. `attempts` × `bucket_id_size` must be at most 32.
        attempts: u8 = 2,
        /// Parameters of the Classic queue's DOCSIS-PIE, with the same keys as the discipline `docsis_pie`. If `limit`
        /// is not set, it is 100ms at the sustained or the peak rate of the Classic service flow, whichever is higher.
        /// If this service flow has no rates of its own, the peak rate of the aggregate applies, or the sustained rate
        /// of the aggregate if its peak rate is unlimited.
        classic: DocsisPieParams = DocsisPieParams::default(),
    }
}

impl DocsisLldParams {
    /// Returns an error that names the first invalid parameter, if there is one.
    pub(super) fn check(&self) -> Result<(), Problem> {
        self.l_dscp.iter().try_for_each(|dscp| within("l_dscp", *dscp, 0, 63))?;
        for (name, d) in [("max_th", self.max_th), ("critical_ql", self.critical_ql.unwrap_or_default())] {
            ensure!(d <= LONGEST, name, "{d} is not valid; expected at most {LONGEST}");
        }
        within("lg_range", self.lg_range, 0, 25)?;
        within("coupling_factor", self.coupling_factor, 0.0, 25.5)?;
        Room::holds("l_limit", self.l_limit)?;
        within("scheduling_weight", self.scheduling_weight, 1, 255)?;
        within("lg_aging", self.lg_aging, 1, 30)?;
        within("bucket_id_size", self.bucket_id_size, 0, 14)?;
        within("attempts", self.attempts, 1, 8)?;
        let (n, bits) = (self.attempts, self.bucket_id_size);
        ensure!(
            n * bits <= 32,
            "attempts",
            "{n} is not valid: a hash has 32 bits for attempts x bucket_id_size; expected at most {}",
            32 / bits
        );
        let limit = self.classic.limit.map_or(Ok(()), |limit| Room::validate(limit, false));
        self.classic.validate().and(limit).map_err(|p| p.under("classic"))
    }
}
