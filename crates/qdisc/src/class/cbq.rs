//! CBQ: each class has a queue and a share of the link.
//!
//! ```text
//!   deficit round robin   on a class's turn: deficit += quantum_c;  sends while deficit >= head;  if empty: deficit <- 0
//!                         quantum_c = 1500 B * share_c / smallest share
//!   a class that may not borrow: sends only while also clear_c <= now; after a packet of s bytes:
//!                         clear_c <- max(clear_c, now - burst - round) + 8 s / (share_c * rate)
//!                         while it waits for clear_c: deficit <- min(deficit, quantum_c + head)
//!                         an arrival at its empty queue: clear_c <- max(clear_c, now - burst)
//!                         rate changes from r to r': clear_c <- now + (clear_c - now) r / r'
//!   burst                 time that two packets of 1500 B take at share_c * rate
//!   round                 time in which the link sends all quanta, and the largest packet once per class
//! ```
//!
//! With `borrow` (the default), a class may also use capacity that the other classes leave unused, so the link is never
//! idle while such a class has packets. Without `borrow`, a class gets its share and no more. While its queue is empty,
//! it may accumulate the credit of a burst. While it has packets, it may also accumulate the credit of a round, because
//! it waits up to a round for the turns of the other classes. Its clock, clear_c, runs at the class's share of the
//! link's sustained rate. If the link is slower than its sustained rate while all classes have packets, the deficits
//! divide the link, and the clock delays no class. Each class's queue drops at its tail, or early by RED on its own
//! occupancy.
//!
//! Source: Parris, Jeffay & Smith, MMCN 1999 (queues per class with weighted round robin, which is the upper bound in
//! the paper's comparison); Shreedhar & Varghese 1995 for the scheduler.
//! Departs: ALTQ's CBQ estimates each class's rate from its idle time (gain 31/32) and regulates classes over their
//! limit; `maxidle` limits their credit. Ours needs no estimator: deficit round robin gives the shares exactly, and a
//! class that may not borrow is shaped.

use super::average::Sampling;
use super::classify::{Classifier, Match, mmcn1999};
use super::occupancy::{Occupancy, Red, RedTest, Unit, WEIGHT, check_packet, check_weight};
use crate::declared::params;
use crate::{ClassProbe, Context, Fifo, Params, QueueDiscipline, Room};
use packet::{Backlog, DropReason, PacketMeta, Point, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Limit, Prob, Problem, Time, ensure};

/// Quantum of the class with the smallest share, in bytes. It is the size of a full Ethernet packet, so that even this
/// class can send such a packet in every turn.
const QUANTUM: f64 = 1500.0;
/// Maximum credit that a class without `borrow` accumulates while its queue is empty, in packets of `QUANTUM` bytes.
const BURST_PACKETS: u64 = 2;

/// One class of traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CbqClass")]
pub struct Class {
    /// Name of the class.
    pub name: String,
    /// The packets that belong to the class; by default, all packets that no other class matches.
    #[serde(rename = "match", default)]
    pub matches: Match,
    /// Guaranteed share of the link, at least 0.001. The shares of all classes must add up to 1.
    pub share: Prob,
    /// Lets the class also use capacity that other classes leave unused. If false, the class is limited to its share.
    /// Default true.
    #[serde(default = "yes")]
    pub borrow: bool,
    /// Maximum length of the class's queue. Default 60p.
    #[serde(default = "limit")]
    pub limit: Limit,
    /// RED on the average length of the class's queue; by default, no early drops.
    #[serde(default)]
    pub red: Option<RedTest>,
    /// Weight of a new sample in RED's average, which is a moving average. Default 0.002.
    #[serde(default = "super::occupancy::weight")]
    pub weight: f64,
}

fn yes() -> bool {
    true
}
fn limit() -> Limit {
    Limit::Packets(60)
}

params! {
    /// Parameters of CBQ (class-based queueing). Each class has its own queue and a share of the link. The defaults
    /// suit the traffic of MMCN 1999: three classes, each with a limit of 60 packets. TCP has 80 % of the link and is
    /// managed by RED. UDP and ICMP packets with DSCP 34 or 46 are the class "tagged", which has 15 %, because the six
    /// video conferences of MMCN 1999, at 210 kbit/s each, need 12.6 % of the paper's link of 10 Mbit/s. All other
    /// packets have 5 %.
    pub struct CbqParams {
        /// Size of a typical packet. It determines how fast the average of a class falls while the class has nothing
        /// queued.
        packet: Bytes = Bytes(1000),
        /// The classes. The `match` of a class selects its packets. Every packet must match a class. If packets match
        /// two classes, one match must contain the other; the packets belong to the class with the narrower match.
        classes: Vec<Class> = Class::of_mmcn1999(),
    }
}

impl Class {
    fn of_mmcn1999() -> Vec<Self> {
        let class = |(name, matches), share, red| Self {
            name,
            matches,
            share: Prob::constant(share),
            borrow: true,
            limit: limit(),
            red,
            weight: WEIGHT,
        };
        let [tcp, tagged, other] = mmcn1999();
        vec![class(tcp, 0.8, Some(RedTest::default())), class(tagged, 0.15, None), class(other, 0.05, None)]
    }
}

impl Params for CbqParams {
    type Discipline = Cbq;
    fn limit(&self) -> Option<Limit> {
        // each class has its own limit. If all these limits count packets, their sum is the limit of the whole queue.
        // If not, the limit of the whole queue is unknown
        let packets = |c: &Class| if let Limit::Packets(n) = c.limit { Some(n) } else { None };
        self.classes.iter().map(packets).try_fold(0u32, |sum, n| Some(sum.saturating_add(n?))).map(Limit::Packets)
    }
    fn validate(&self) -> Result<(), Problem> {
        check_packet(self.packet)?;
        Classifier::validate(self.classes.iter().map(|c| (c.name.as_str(), &c.matches)))?;
        for (i, class) in self.classes.iter().enumerate() {
            let check = || {
                Room::validate(class.limit, false)?;
                check_weight("weight", class.weight)?;
                // The class with the smallest share has a quantum of 1500 B, and larger shares have proportionally
                // larger quanta. With shares of 0.001 or more, no quantum exceeds 1.5 MB.
                let share = class.share;
                ensure!(share.get() >= 0.001, "share", "{share} is not valid; expected at least 0.001");
                class.red.as_ref().map_or(Ok(()), |red| red.validate(class.limit).map_err(|p| p.under("red")))
            };
            check().map_err(|p: Problem| p.under(&format!("classes.{i}")))?;
        }
        let sum: f64 = self.classes.iter().map(|c| c.share.get()).sum();
        ensure!((sum - 1.0).abs() <= 1e-9, "classes", "the shares add up to {sum:.6}; expected 1");
        Ok(())
    }
    fn build(&self) -> Cbq {
        let least = self.classes.iter().map(|c| c.share.get()).fold(1.0, f64::min);
        let leaf = |c: &Class| Leaf {
            name: c.name.clone(),
            share: c.share.get(),
            borrow: c.borrow,
            quantum: (QUANTUM * c.share.get() / least) as u64,
            room: Room::new(c.limit, false),
            fifo: Fifo::default(),
            red: c.red.as_ref().map(Red::new),
            occupancy: Occupancy::new(
                c.red.as_ref().map_or(Unit::Packets, RedTest::unit),
                c.weight,
                Sampling::Arrivals,
                self.packet.0,
            ),
            deficit: 0,
            clear: Time::ZERO,
        };
        let leaves: Vec<Leaf> = self.classes.iter().map(leaf).collect();
        Cbq {
            classifier: Classifier::new(self.classes.iter().map(|c| &c.matches)),
            turns: VecDeque::with_capacity(self.classes.len()),
            in_turn: false,
            backlog: Backlog::default(),
            quanta: leaves.iter().map(|leaf| leaf.quantum).sum(),
            leaves,
            largest: 0,
            rate: BitRate(0),
            wake: None,
        }
    }
    fn validate_at(&self, rate: BitRate) -> Result<(), Problem> {
        let at = |(i, c): (usize, &Class)| Room::holds_at(&format!("classes.{i}.limit"), Some(c.limit), rate);
        self.classes.iter().enumerate().try_for_each(at)
    }
}

/// One class: its settings, its queue, and its credit in the round robin.
#[derive(Clone, Debug, PartialEq)]
struct Leaf {
    name: String,
    share: f64,
    borrow: bool,
    quantum: u64,
    room: Room,
    fifo: Fifo,
    red: Option<Red>,
    occupancy: Occupancy,
    /// Credit in the round robin, in bytes.
    deficit: u64,
    /// Earliest time at which the class's next packet may leave. Used only if the class may not borrow.
    clear: Time,
}

impl Leaf {
    /// Returns the time that `bytes` take at the class's share of the link's `rate`.
    fn span(&self, bytes: u64, rate: BitRate) -> Duration {
        Duration((rate.time_for(bytes).0 as f64 / self.share) as u64)
    }

    /// Returns the time in which the class receives the credit of a burst.
    fn burst(&self, rate: BitRate) -> Duration {
        self.span(BURST_PACKETS * QUANTUM as u64, rate)
    }

    /// Limits the credit of a class that may not borrow to the credit that it receives in the time `most`.
    fn keep(&mut self, most: Duration, now: Time) {
        self.clear = self.clear.max(Time(now.0.saturating_sub(most.0)));
    }

    /// When the link's rate changes, adapts `clear` of a class that may not borrow. `factor` is the old rate divided by
    /// the new rate. The class keeps its credit or debt in bytes, so the time that these bytes take is multiplied by
    /// `factor`.
    fn rescale(&mut self, factor: f64, now: Time) {
        let scaled = |span: Duration| Duration((span.0 as f64 * factor) as u64);
        self.clear = if self.clear > now {
            now + scaled(self.clear.since(now))
        } else {
            Time(now.0.saturating_sub(scaled(now.since(self.clear)).0))
        };
    }
}

/// The queues of CBQ and their round robin.
#[derive(Clone, Debug, PartialEq)]
pub struct Cbq {
    classifier: Classifier,
    leaves: Vec<Leaf>,
    /// The classes that have packets queued, in the order of their turns. The class at the front has the current turn.
    turns: VecDeque<u8>,
    /// True once the front class has received its quantum for this turn.
    in_turn: bool,
    backlog: Backlog,
    /// Sum of the quanta of all classes, in bytes.
    quanta: u64,
    /// Size of the largest packet that was queued so far, in bytes.
    largest: u64,
    /// The link's rate to which `clear` of every class is scaled; zero until the link has had a rate.
    rate: BitRate,
    /// The earliest time at which a waiting class may send. It is set if the last dequeue sent nothing although packets
    /// wait.
    wake: Option<Time>,
}

impl Cbq {
    fn next_turn(&mut self) {
        self.turns.rotate_left(1);
        self.in_turn = false;
    }

    /// Applies a change of the link's rate to the classes that may not borrow. A rate of zero is ignored, because no
    /// packet is sent then.
    fn follow(&mut self, rate: BitRate, now: Time) {
        if rate == self.rate || rate.0 == 0 {
            return;
        }
        if self.rate.0 > 0 {
            let factor = self.rate.0 as f64 / rate.0 as f64;
            self.leaves.iter_mut().for_each(|leaf| leaf.rescale(factor, now));
        }
        self.rate = rate;
    }

    /// Removes and returns the packet at the head of the front class.
    fn send(&mut self, cx: &Context<'_>) -> Option<PacketMeta> {
        let round = self.quanta + self.largest * self.leaves.len() as u64;
        let leaf = &mut self.leaves[usize::from(*self.turns.front()?)];
        let packet = leaf.fifo.pop()?;
        leaf.deficit -= packet.bytes();
        if !leaf.borrow {
            leaf.keep(leaf.burst(self.rate) + self.rate.time_for(round), cx.now);
            leaf.clear += leaf.span(packet.bytes(), self.rate);
        }
        leaf.occupancy.left(&packet, cx.now, cx.link);
        self.backlog.remove(packet.bytes());
        if leaf.fifo.backlog().packets == 0 {
            leaf.deficit = 0;
            self.turns.pop_front();
            self.in_turn = false;
        }
        Some(packet)
    }
}

impl QueueDiscipline for Cbq {
    fn enqueue(&mut self, mut packet: PacketMeta, cx: &mut Context<'_>) {
        let class = self.classifier.classify(&packet, cx);
        packet.class = class;
        self.follow(cx.link.rate, cx.now);
        let leaf = &mut self.leaves[usize::from(class)];
        let avg = leaf.occupancy.arrival(&packet, cx.now, cx.link);
        let fate = if leaf.red.as_mut().is_some_and(|red| red.test(avg, cx.rng)) {
            DropReason::EarlyTail
        } else if !leaf.room.fits(leaf.fifo.backlog(), &packet, cx.link) {
            DropReason::TailFull
        } else {
            if leaf.fifo.backlog().packets == 0 {
                self.turns.push_back(class);
                if !leaf.borrow {
                    leaf.keep(leaf.burst(self.rate), cx.now);
                }
            }
            self.largest = self.largest.max(packet.bytes());
            leaf.occupancy.joined(&packet, cx.now, cx.link);
            leaf.fifo.push(packet);
            self.backlog.add(packet.bytes());
            return;
        };
        leaf.occupancy.dropped(&packet);
        cx.fate.dropped(&packet, fate, Point::Enqueue);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Option<PacketMeta> {
        self.follow(cx.link.rate, cx.now);
        self.wake = None;
        // bound: in every turn, a class gets at least 1500 bytes of credit. A packet has at most 65 535 bytes, so after
        // at most 44 turns, a class that may send has enough credit for the packet at its head. If no class may send,
        // the loop ends after one round
        let mut shut = 0;
        while let Some(&front) = self.turns.front().filter(|_| shut < self.turns.len()) {
            let leaf = &mut self.leaves[usize::from(front)];
            if !self.in_turn {
                leaf.deficit += leaf.quantum;
                self.in_turn = true;
            }
            let head = leaf.fifo.front().map_or(0, PacketMeta::bytes);
            if !leaf.borrow && cx.now < leaf.clear {
                // a class that waits for its clock also gets quanta, so that later it can send what the clock allows.
                // Without the cap, its deficit would grow on; the deficit of a class with `borrow` stays below the cap
                leaf.deficit = leaf.deficit.min(leaf.quantum + head);
                self.wake = Some(self.wake.map_or(leaf.clear, |w| w.min(leaf.clear)));
                shut += 1;
            } else if leaf.deficit >= head {
                self.wake = None;
                return self.send(cx);
            } else {
                shut = 0;
            }
            self.next_turn();
        }
        None
    }

    fn next_wake(&self) -> Option<Time> {
        self.wake
    }

    fn wake(&mut self, _cx: &mut Context<'_>) {
        // the host calls dequeue next if the link is idle
        self.wake = None;
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn probe(&self, out: &mut Reading<'_>) {
        out.number("active_classes", self.turns.len() as u32);
        let each = out.queues();
        for leaf in self.leaves.iter().filter(|_| each) {
            out.queue_of(&leaf.name, leaf.fifo.backlog());
            out.value("avg", leaf.occupancy.unit().of_probe(), Some(leaf.occupancy.average()));
            out.bytes("deficit", leaf.deficit);
            out.moment("clear", Some(leaf.clear).filter(|_| !leaf.borrow));
        }
    }

    fn classes(&self) -> Vec<ClassProbe<'_>> {
        self.leaves.iter().map(|l| ClassProbe { name: &l.name, counts: l.occupancy.counts(), marked: None }).collect()
    }
}
