//! D-CBT: class-based thresholds that follow the number of active flows.
//!
//! ```text
//!   active     a flow with a packet that arrived within the last `active_for`;  n_c flows of class c,  N flows in all
//!   share_c  = avg * n_c / N                  avg: weighted average of the whole queue
//!   arrival of a class under `share`          drop iff avg >= min_th and avg_c >= slack_c * share_c
//!   everything else                           as in CBT
//! ```
//!
//! Source: Chung & Claypool, NOSSDAV 2000 (we have only its abstract); MMCN 1999 (future work).
//! Departs: the details are our design. (1) Shares are counted in the units of `min_th`, bytes by default, because counting packets
//! would disadvantage flows that send small packets. (2) Tagged traffic has a slack of 2, because it sends bursts (the packets of a
//! video frame). (3) Inactive flows are removed only at arrivals, at most four times per `active_for`. So with steady
//! traffic, a flow stops being active between 1 and 1.25 times `active_for` after its last packet. (4) TCP keeps CBT's
//! RED on its own occupancy.
//!
//! The state is one occupancy per class and one time stamp per active flow.

use super::active::Active;
use super::cbt::{self, Cbt, Class, Test};
use super::occupancy::{RedTest, Unit, WEIGHT, check_weight, threshold};
use crate::Params;
use crate::declared::params;
use units::{Bytes, Duration, Limit, Problem, positive};

fn share(slack: f64) -> Test {
    Test::Share { slack }
}

params! {
    /// Parameters of D-CBT (class-based thresholds that follow the number of active flows). All classes share one
    /// queue. A class's share is the average length of the whole queue times the fraction of the active flows that
    /// belong to the class. The default classes are those of MMCN 1999. TCP is managed by RED (`min_th` 15p, `max_th`
    /// 30p, `max_p` 0.1). UDP and ICMP packets with DSCP 34 or 46 are the class "tagged", which has a threshold of
    /// twice its share (`slack` 2). All other packets have a threshold of their share (`slack` 1).
    pub struct DcbtParams {
        /// Maximum length of the queue: packets ("60p"), bytes ("60KB") or time at the link's rate ("50ms").
        limit: Limit = Limit::Packets(60),
        /// Size of a typical packet. It determines how fast the average of a class falls while the class has nothing
        /// queued, and how fast the average of the whole queue falls while the queue is empty. For a class whose key
        /// `sampling` is `"time"`, it also determines how often the average of the class is sampled.
        packet: Bytes = Bytes(1000),
        /// Average length of the whole queue below which the test `share` drops no packets. Its unit, packets or bytes,
        /// is also the unit in which shares are counted.
        min_th: Limit = Limit::Bytes(Bytes(15_000)),
        /// Weight of a new sample in the average length of the whole queue, which is a moving average.
        weight: f64 = WEIGHT,
        /// Time for which a flow counts as active after its last packet. The actual time is up to a quarter longer.
        active_for: Duration = Duration::from_secs(1),
        /// The classes. The `match` of a class selects its packets. Every packet must match a class. If packets match
        /// two classes, one match must contain the other; the packets belong to the class with the narrower match.
        classes: Vec<Class> = Class::of_mmcn1999([Test::Red(RedTest::default()), share(2.0), share(1.0)]),
    }
}

impl DcbtParams {
    /// Creates the tracker of active flows, which starts without any flow.
    fn active(&self) -> Active {
        let min_th = threshold("min_th", self.min_th, self.limit).unwrap_or((0.0, Unit::Packets));
        Active::new(min_th, self.weight, self.packet.0, self.active_for, self.classes.len())
    }
}

impl Params for DcbtParams {
    type Discipline = Cbt;
    fn limit(&self) -> Option<Limit> {
        Some(self.limit)
    }
    fn validate(&self) -> Result<(), Problem> {
        cbt::validate(self.limit, self.packet, &self.classes, true)?;
        check_weight("weight", self.weight)?;
        threshold("min_th", self.min_th, self.limit)?;
        positive("active_for", self.active_for)
    }
    fn build(&self) -> Cbt {
        Cbt::new(self.limit, self.packet, &self.classes, Some(self.active()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::{Backlog, FlowId, LinkView, PacketMeta};
    use units::{BitRate, Time};

    #[test]
    fn shares_follow_who_is_active() {
        let p = DcbtParams { weight: 1.0, min_th: Limit::Packets(5), ..DcbtParams::default() };
        let mut active = p.active();
        let link = LinkView::plain(BitRate(10_000_000));
        active.now_queued(Backlog { packets: 30, bytes: 30_000 }, Time::ZERO, &link);
        let mut arrive = |flow, class, s: u64| {
            let packet = PacketMeta { flow: FlowId(flow), class, size: 1000, ..Default::default() };
            active.arrival(&packet, Time(s * 1_000_000_000), &link);
            (active.share(0), active.share(1), active.share(2))
        };
        for flow in 0..3 {
            arrive(flow, 0, 0);
        }
        arrive(3, 1, 0);
        // flow 4, of class 2, is the fifth active flow. The classes now have 3, 1 and 1 of the 5 flows, so their shares
        // of the average of 30 packets are 18, 6 and 6
        assert_eq!(arrive(4, 2, 0), (18.0, 6.0, 6.0));
        // two seconds later, only flow 0, which sends now, is active
        assert_eq!(arrive(0, 0, 2), (30.0, 0.0, 0.0));
        // the latest packet of flow 0 is of class 1, so the flow no longer counts as a flow of class 0
        assert_eq!(arrive(0, 1, 2), (0.0, 30.0, 0.0));
    }

    #[test]
    fn bad_parameters() {
        let bad = |p: DcbtParams| p.validate().unwrap_err().path;
        DcbtParams::default().validate().unwrap();
        assert_eq!(bad(DcbtParams { min_th: Limit::Packets(61), ..Default::default() }), "min_th");
        assert_eq!(bad(DcbtParams { active_for: Duration::ZERO, ..Default::default() }), "active_for");
        let mut p = DcbtParams::default();
        p.classes[1].test = Test::Share { slack: 0.0 };
        assert_eq!(bad(p), "classes.1.test.share.slack");
    }
}
