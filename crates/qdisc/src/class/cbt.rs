//! CBT: class-based thresholds.
//!
//! ```text
//!   arrival of a packet of class c     avg_c <- weighted average of what class c has queued
//!     RED class                        drop with RED's probability for avg_c alone
//!     threshold class                  drop iff avg_c >= th_c
//!     any class                        drop iff the buffer is full
//!   service                            one FIFO, so the delay of an accepted packet is total bytes / C   (C: link rate)
//!   share of class c                   B_c = C * q_c / sum_j q_j   (allocation law; q_c: class c's queued bytes)
//! ```
//!
//! The state, one occupancy per class, does not grow with the number of flows. Thresholds are in packets or bytes.
//!
//! Source: Parris, Jeffay & Smith, MMCN 1999.
//! Departs: the paper gives the weight of the average only for the TCP class; the other classes use RED's 0.002 by default. While
//! a class has nothing queued, its average decays with every packet time that passes, like the average of an idle RED queue;
//! without this decay, the average would stay constant.

use super::active::Active;
use super::average::Sampling;
use super::classify::{Classifier, Match, mmcn1999};
use super::occupancy::{Occupancy, Red, RedTest, Unit, WEIGHT, check_packet, check_weight, threshold};
use crate::declared::params;
use crate::{ClassProbe, Context, Fifo, Params, QueueDiscipline, Room};
use packet::{Backlog, DropReason, PacketMeta, Point, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Limit, Problem, ensure};

/// The rule that decides which arrivals of a class are dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ClassTest")]
pub enum Test {
    /// RED on the class's average. The keys are those of the table "RED within a class".
    Red(RedTest),
    /// Drops every arrival while the class's average is at or above this threshold. The threshold is in packets ("10p")
    /// or bytes ("10KB").
    Threshold(Limit),
    /// Only in dcbt, with the required key `slack`, a number above 0. Drops an arrival if the class's average is at or
    /// above `slack` times the class's share, and the average of the whole queue is at or above dcbt's `min_th`. The
    /// share is the average of the whole queue, divided by the number of all active flows and multiplied by the number
    /// of the class's active flows.
    Share {
        /// Number of fair shares that the class may have queued.
        slack: f64,
    },
}

/// One class of traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CbtClass")]
pub struct Class {
    /// Name of the class.
    pub name: String,
    /// The packets that belong to the class; by default, all packets that no other class matches.
    #[serde(rename = "match", default)]
    pub matches: Match,
    /// The rule that decides which arrivals of the class are dropped. Each rule tests the class's average, which is the
    /// average length of the class's part of the queue.
    pub test: Test,
    /// Weight of a new sample in the class's average, which is a moving average. Default 0.002.
    #[serde(default = "super::occupancy::weight")]
    pub weight: f64,
    /// When a sample is added to the class's average. Default arrivals.
    #[serde(default)]
    pub sampling: Sampling,
}

impl Class {
    /// Returns the three classes of MMCN 1999; class i has the test `tests[i]`.
    pub(crate) fn of_mmcn1999(tests: [Test; 3]) -> Vec<Self> {
        let class =
            |((name, matches), test)| Self { name, matches, test, weight: WEIGHT, sampling: Sampling::Arrivals };
        mmcn1999().into_iter().zip(tests).map(class).collect()
    }

    fn validate(&self, limit: Limit, dynamic: bool) -> Result<(), Problem> {
        check_weight("weight", self.weight)?;
        match &self.test {
            Test::Red(red) => red.validate(limit).map_err(|p| p.under("test.red")),
            Test::Threshold(th) => threshold("test.threshold", *th, limit).map(|_| ()),
            Test::Share { slack } => {
                let none = "cbt does not count flows; expected red or threshold, or dcbt instead";
                ensure!(dynamic, "test.share", "{none}");
                let above = slack.is_finite() && *slack > 0.0;
                ensure!(above, "test.share.slack", "{slack} is not valid; expected above 0");
                Ok(())
            }
        }
    }
}

fn packets(most: u32) -> Test {
    Test::Threshold(Limit::Packets(most))
}

params! {
    /// Parameters of CBT (class-based thresholds). All classes share one queue. CBT drops arrivals of a class according
    /// to the average length of the class's part of the queue. The default classes are those of MMCN 1999. TCP is
    /// managed by RED (`min_th` 15p, `max_th` 30p, `max_p` 0.1). UDP and ICMP packets with DSCP 34 or 46 are the class
    /// "tagged", which has a threshold of 10 packets. All other packets have a threshold of 2 packets.
    pub struct CbtParams {
        /// Maximum length of the queue: packets ("60p"), bytes ("60KB") or time at the link's rate ("50ms").
        limit: Limit = Limit::Packets(60),
        /// Size of a typical packet. It determines how fast the average of a class falls while the class has nothing
        /// queued. For a class whose key `sampling` is `"time"`, it also determines how often the average is sampled.
        packet: Bytes = Bytes(1000),
        /// The classes. The `match` of a class selects its packets. Every packet must match a class. If packets match
        /// two classes, one match must contain the other; the packets belong to the class with the narrower match.
        classes: Vec<Class> = Class::of_mmcn1999([Test::Red(RedTest::default()), packets(10), packets(2)]),
    }
}

/// Performs the checks common to CBT and D-CBT.
pub(super) fn validate(limit: Limit, packet: Bytes, classes: &[Class], dynamic: bool) -> Result<(), Problem> {
    Room::validate(limit, false)?;
    check_packet(packet)?;
    Classifier::validate(classes.iter().map(|c| (c.name.as_str(), &c.matches)))?;
    for (i, class) in classes.iter().enumerate() {
        class.validate(limit, dynamic).map_err(|p| p.under(&format!("classes.{i}")))?;
    }
    Ok(())
}

impl Params for CbtParams {
    type Discipline = Cbt;
    fn limit(&self) -> Option<Limit> {
        Some(self.limit)
    }
    fn validate(&self) -> Result<(), Problem> {
        validate(self.limit, self.packet, &self.classes, false)
    }
    fn build(&self) -> Cbt {
        Cbt::new(self.limit, self.packet, &self.classes, None)
    }
}

/// The test of a class at run time: RED with its state, a fixed threshold in the class's unit, or the number of fair
/// shares that the class may have queued.
#[derive(Clone, Debug, PartialEq)]
enum Gate {
    Red(Red),
    Threshold(f64),
    Share(f64),
}

#[derive(Clone, Debug, PartialEq)]
struct Account {
    name: String,
    gate: Gate,
    occupancy: Occupancy,
}

/// The queue of CBT and D-CBT.
#[derive(Clone, Debug, PartialEq)]
pub struct Cbt {
    room: Room,
    fifo: Fifo,
    classifier: Classifier,
    accounts: Vec<Account>,
    /// The active flows, from which D-CBT computes the shares of its classes; `None` under CBT.
    active: Option<Active>,
}

impl Cbt {
    pub(super) fn new(limit: Limit, packet: Bytes, classes: &[Class], active: Option<Active>) -> Self {
        let shared = active.as_ref().map_or(Unit::Packets, Active::unit);
        let account = |c: &Class| {
            let (gate, unit) = match &c.test {
                Test::Red(red) => (Gate::Red(Red::new(red)), red.unit()),
                Test::Threshold(Limit::Bytes(b)) => (Gate::Threshold(b.0 as f64), Unit::Bytes),
                Test::Threshold(Limit::Packets(n)) => (Gate::Threshold(f64::from(*n)), Unit::Packets),
                Test::Threshold(Limit::Time(_)) => (Gate::Threshold(0.0), Unit::Packets),
                Test::Share { slack } => (Gate::Share(*slack), shared),
            };
            Account { name: c.name.clone(), gate, occupancy: Occupancy::new(unit, c.weight, c.sampling, packet.0) }
        };
        Self {
            room: Room::new(limit, false),
            fifo: Fifo::default(),
            classifier: Classifier::new(classes.iter().map(|c| &c.matches)),
            accounts: classes.iter().map(account).collect(),
            active,
        }
    }

    /// Passes the backlog, which has changed, to the average of the whole queue (D-CBT only).
    fn changed(&mut self, cx: &Context<'_>) {
        if let Some(active) = &mut self.active {
            active.now_queued(self.fifo.backlog(), cx.now, cx.link);
        }
    }

    /// Returns the threshold of a class: a fixed number, or `slack` times the class's share of the whole queue's
    /// average (see [`Active::share`]). Returns `None` if the class uses RED.
    fn threshold(&self, class: usize) -> Option<f64> {
        match &self.accounts[class].gate {
            Gate::Red(_) => None,
            Gate::Threshold(th) => Some(*th),
            Gate::Share(slack) => self.active.as_ref().map(|a| slack * a.share(class as u8)),
        }
    }
}

impl QueueDiscipline for Cbt {
    fn enqueue(&mut self, mut packet: PacketMeta, cx: &mut Context<'_>) {
        let backlog = self.fifo.backlog();
        let class = self.classifier.classify(&packet, cx);
        packet.class = class;
        if let Some(active) = &mut self.active {
            active.arrival(&packet, cx.now, cx.link);
        }
        let Account { gate, occupancy, .. } = &mut self.accounts[usize::from(class)];
        let avg = occupancy.arrival(&packet, cx.now, cx.link);
        let early = match gate {
            Gate::Red(red) => red.test(avg, cx.rng),
            Gate::Threshold(th) => avg >= *th,
            Gate::Share(slack) => self.active.as_ref().is_some_and(|a| a.congested() && avg >= *slack * a.share(class)),
        };
        let fate = if early {
            DropReason::EarlyTail
        } else if !self.room.fits(backlog, &packet, cx.link) {
            DropReason::TailFull
        } else {
            occupancy.joined(&packet, cx.now, cx.link);
            self.fifo.push(packet);
            return self.changed(cx);
        };
        occupancy.dropped(&packet);
        cx.fate.dropped(&packet, fate, Point::Enqueue);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Option<PacketMeta> {
        let packet = self.fifo.pop()?;
        self.accounts[usize::from(packet.class)].occupancy.left(&packet, cx.now, cx.link);
        self.changed(cx);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn probe(&self, out: &mut Reading<'_>) {
        if let Some(active) = &self.active {
            active.probe(out);
        }
        let each = out.queues();
        for (i, account) in self.accounts.iter().enumerate().filter(|_| each) {
            let unit = account.occupancy.unit().of_probe();
            out.queue_of(&account.name, account.occupancy.queued());
            out.value("avg", unit, Some(account.occupancy.average()));
            out.value("threshold", unit, self.threshold(i));
        }
    }

    fn classes(&self) -> Vec<ClassProbe<'_>> {
        self.accounts.iter().map(|a| ClassProbe { name: &a.name, counts: a.occupancy.counts(), marked: None }).collect()
    }
}
