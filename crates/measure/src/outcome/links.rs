//! The summary of a link.

use super::account::{Account, ClassCounts, LinkAccount, LinkCounts, mbit};
use super::statistics::{DELAYS, LENGTHS, delays, lengths, object, put};
use crate::LinkMeter;
use packet::{ClassCount, DropReason, GrantCounts, Kind, Measure, OpportunityCounts, measures};
use serde_json::{Map, Value};
use units::Duration;

/// Number of drops for each reason. The keys are the strings that [`DropReason::name`] returns.
const REASONS: &[Measure] = &[Measure { key: "*", kind: Kind::PACKETS, words: "*", doc: "", parts: &[] }];

measures! {
    /// Measures of every link.
    pub(super) const LINK = fn link(l: &LinkAccount<'_>, m: &LinkCounts) -> Value {
        "offered_packets": Kind::PACKETS, "offered", "Packets that arrived at the link's queue." => m.offered.packets;
        "offered_bytes": Kind::BYTES, "offered", "Bytes of `offered_packets`." => m.offered.bytes;
        "delivered_packets": Kind::PACKETS, "delivered", "Packets that arrived at the far end." => m.delivered.packets;
        "delivered_bytes": Kind::BYTES, "delivered", "Bytes of `delivered_packets`." => m.delivered.bytes;
        "dropped_packets": Kind::PACKETS.rank(27), "dropped",
            "Packets dropped by the queue, by a modem's transmit queue, by a policer or on the wire." => m.dropped.packets;
        "dropped_bytes": Kind::BYTES, "dropped", "Bytes of `dropped_packets`." => m.dropped.bytes;
        "drops": Kind::PACKETS, "drops",
            "Drops by reason. If the queue has no room, it drops the arriving packet (`tail_full`), or the packet at the \
             head (`head_full`) or tail (`push_out`) of a queue. The control law drops the arriving packet (`early_tail`) \
             or the packet at the head (`early_head`). Other reasons: the modem's transmit queue is full \
             (`transmit_queue_full`), CAKE removes a redundant ACK (`ack_filter`), the link loses the packet or its \
             policer drops it (`link_loss`). `flow_gone` is always 0.", REASONS
            => drops(m);
        "marked_packets": Kind::PACKETS.rank(29), "marked", "Packets marked with CE (ECN)."
            => m.marked;
        "at_start_packets": Kind::PACKETS, "at start",
            "Packets in the queue or on their way to the far end when the warm-up ends."
            => u64::from(l.before.backlog.packets) + l.before.in_flight;
        "backlog_packets": Kind::PACKETS, "backlog", "Packets still in the queue at the end." => m.backlog.packets;
        "backlog_bytes": Kind::BYTES, "backlog", "Bytes of `backlog_packets`." => m.backlog.bytes;
        "in_flight_packets": Kind::PACKETS, "in flight",
            "Packets on their way at the end of the run: being sent, in a modem's transmit queue, or on the wire."
            => m.in_flight;
        "utilisation": Kind::scale("0 to 1").rank(26), "use of the rate",
            "Delivered bits as a share of the bits that the link could carry at its rate. With a shaper or modem, the \
             sustained rate counts, so bursts may raise the share above 1. With recorded or modelled delivery: \
             `delivered_bytes` divided by `delivery.bytes`."
            => l.utilisation(m);
    }
    /// Measures of a recorded link.
    pub(super) const RECORDED = fn recorded(full: &LinkMeter, grade: Option<&str>) -> Value {
        "sojourn_ms": Kind::MS.less().rank_by("p99", 24), "time in queue",
            "Queueing delay of the packets that left the queue.", DELAYS => object(delays(&full.sojourn));
        "grade": Kind::scale("A+ to F"), "grade",
            "Grade of the queue, from `sojourn_ms`. Null if more packets still wait at the end than have left the queue." => grade;
        "queue_packets": Kind::PACKETS.less().rank_by("max", 25), "queue length", "Length of the queue.", LENGTHS
            => object(lengths(&full.queue));
    }
    /// Measures of a discipline's class.
    pub(super) const CLASS = fn class(c: &ClassCount) -> Value {
        "offered_packets": Kind::PACKETS, "offered",
            "Packets that arrived for a class. The classes are those of cbt, dcbt and cbq, the tins of cake, and the queues L and C \
             of dualpi2 and docsis_lld. The class `sanctioned` counts the packets that docsis_lld moved from L to C." => c.offered.packets;
        "offered_bytes": Kind::BYTES, "offered", "Bytes of `offered_packets`." => c.offered.bytes;
        "delivered_packets": Kind::PACKETS, "delivered", "Packets of the class that left the queue." => c.delivered.packets;
        "delivered_bytes": Kind::BYTES, "delivered", "Bytes of `delivered_packets`." => c.delivered.bytes;
        "dropped_packets": Kind::PACKETS.rank(28), "dropped", "Packets of the class that were dropped." => c.dropped.packets;
        "dropped_bytes": Kind::BYTES, "dropped", "Bytes of `dropped_packets`." => c.dropped.bytes;
    }
    /// Numbers of marked packets of a class: those marked by the discipline's control law, and those marked by its step
    /// (or ramp).
    const CLASS_MARKS = fn class_marks(law: u64, step: u64) -> Value {
        "law": Kind::SAME, "law", "Packets of the class marked by the (coupled) law of dualpi2 or docsis_lld." => law;
        "step": Kind::SAME, "step", "Packets of the class marked by the step (or ramp) of dualpi2 or docsis_lld." => step;
    }
    /// Measures of a class whose packets the discipline can mark.
    pub(super) const MARKING_CLASS = fn marking_class(marks: [u64; 2]) -> Value {
        "marked_packets": Kind::PACKETS, "marked", "", CLASS_MARKS => object(class_marks(marks[0], marks[1]));
    }
    /// Measures of a service flow of a DOCSIS 3.1 modem. `time` is the measured time, and `capacity` is the number of
    /// bits that the link can carry at its rate during that time.
    pub(super) const GRANTS = fn grants(g: GrantCounts, time: Duration, capacity: Option<f64>) -> Value {
        "requested_bytes": Kind::BYTES, "requested",
            "Bytes requested by a service flow (L or C) of a DOCSIS 3.1 modem, including MAC headers." => g.requested;
        "granted_bytes": Kind::BYTES, "granted", "Bytes granted." => g.granted;
        "proactive_bytes": Kind::BYTES, "proactive", "Bytes granted without a request." => g.proactive;
        "used_bytes": Kind::BYTES, "used", "Granted bytes that carried data." => g.used;
        "unused_bytes": Kind::BYTES, "unused", "Granted bytes that carried no data." => unused(g);
        "unused_mbit": Kind::MBIT, "unused", "`unused_bytes` as a rate." => mbit(unused(g), time);
        "unused_percent": Kind::PERCENT.less(), "unused",
            "`unused_bytes` as a share of `granted_bytes`." => unused_of(g, g.granted as f64);
        "unused_of_rate_percent": Kind::PERCENT.less(), "unused of rate",
            "`unused_mbit` as a share of the link's sustained rate. Unused grants take capacity from the shared channel, not from \
             this rate."
            => capacity.and_then(|bits| unused_of(g, bits / 8.0));
    }
    /// Measures of a link that has no rate, but sends at recorded or modelled delivery opportunities (docs/links.md).
    pub(super) const DELIVERY = fn delivery(o: &OpportunityCounts, time: Duration) -> Value {
        "mean_mbit": Kind::MBIT, "mean",
            "Mean rate at which a link with recorded or modelled delivery (docs/links.md) could send." => mbit(o.bytes, time);
        "opportunities": Kind::ONE, "opportunities",
            "Number of milliseconds with at least one opportunity (a time at which the link can send)." => o.count;
        "used": Kind::ONE, "used", "Number of milliseconds in which packets were sent." => o.used;
        "bytes": Kind::BYTES, "bytes", "Bytes that the opportunities could carry." => o.bytes;
        "used_bytes": Kind::BYTES, "used", "Bytes sent." => o.used_bytes;
        "wasted_bytes": Kind::BYTES, "wasted", "`delivery.bytes` minus `delivery.used_bytes`." => o.bytes - o.used_bytes;
        "longest_gap_ms": Kind::MS, "longest gap", "Longest time without an opportunity in the whole run." => o.longest_gap.millis();
        "gaps_over_100ms": Kind::ONE, "gaps over 100ms",
            "Number of gaps of more than 100 ms without an opportunity." => o.long_gaps;
        "gap_drops": Kind::PACKETS, "gap drops",
            "Packets that the queue dropped during a gap of more than 100 ms, or later if they had waited in such a gap." => o.gap_drops;
    }
}

fn unused(g: GrantCounts) -> u64 {
    g.granted.saturating_sub(g.used)
}

fn unused_of(g: GrantCounts, all: f64) -> Option<f64> {
    (all > 0.0).then(|| 100.0 * unused(g) as f64 / all)
}

/// Returns the drops by reason. The reason `ack_filter` is omitted while its count is 0, because only one discipline filters ACKs.
fn drops(m: &LinkCounts) -> Map<String, Value> {
    let rare = |r: DropReason| r == DropReason::AckFilter && m.drops[r as usize] == 0;
    let reasons = DropReason::ALL.iter().filter(|r| !rare(**r));
    reasons.map(|r| (r.name().to_owned(), m.drops[*r as usize].into())).collect()
}

fn class_summary(ClassCounts { counts, marked }: &ClassCounts) -> Value {
    let mut of = Map::new();
    put(&mut of, class(counts));
    if let Some(marks) = marked {
        put(&mut of, marking_class(*marks));
    }
    of.into()
}

impl LinkAccount<'_> {
    fn utilisation(&self, m: &LinkCounts) -> Option<f64> {
        match &m.opportunities {
            Some(o) => (o.bytes > 0).then(|| m.delivered.bytes as f64 / o.bytes as f64),
            None => self.capacity.map(|bits| m.delivered.bytes as f64 * 8.0 / bits),
        }
    }
}

impl Account<'_> {
    pub(super) fn link_summary(&self, l: &LinkAccount<'_>) -> Value {
        let (m, mut v) = (l.counts(), Map::new());
        put(&mut v, link(l, &m));
        if !l.classes.is_empty() {
            let classes = l.classes.iter().zip(&m.classes);
            let classes: Value = classes.map(|(name, counts)| ((*name).to_owned(), class_summary(counts))).collect();
            v.insert("classes".to_owned(), classes);
        }
        if !l.service_flows.is_empty() {
            let flows = l.service_flows.iter().zip(&m.grants);
            let granted = |g: &GrantCounts| object(grants(*g, self.measured(), l.capacity));
            v.insert("grants".to_owned(), flows.map(|(name, g)| ((*name).to_owned(), granted(g))).collect());
        }
        if let Some(o) = &m.opportunities {
            v.insert("delivery".to_owned(), object(delivery(o, self.measured())));
        }
        if let Some(full) = l.meter {
            let scale = self.grading.scale();
            put(&mut v, recorded(full, l.graded(scale).and_then(|d| scale.added(d))));
        }
        v.into()
    }
}
