//! Classifiers: the queue that a packet joins.
//!
//! ```text
//! hash            queue = h(flow) of n                                   flows that collide share it
//! serial search   group = h(flow) of G; the first unused queue of its k  full: share one (WhenFull)
//! isolated        a queue for each flow                                  code points listed in shared_dscp: one each
//! prio            queue = band of the packet's type of service, or of the filter that matches it
//! ```
//!
//! A flow is one direction of a connection: packets that travel back are another flow, with the 5-tuple reversed. While a
//! packet of a flow waits, the flow keeps its queue: neither perturbation nor a freed queue of its group reorders it.
//!
//! Source: McKenney 1990; ARRIS 2013 (64 groups x 4); RFC 8290 §4.1.3.
//! Departs: SFQ as published reorders a flow when the hash is perturbed; here the flow moves once none of its packets wait.
//! Serial search and set-associative hashing (CAKE) differ only in a full group.

use super::PrioParams;
use super::hash::{HashKey, hash, place};
use super::least::at_least_one;
use super::queues::{NONE, Queues};
use crate::Cx;
use packet::{Flags, FlowId, FlowTuple, PacketMeta, Protocol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Problem, Time};

/// Most queues; more are refused as a likely slip.
const MOST_QUEUES: u64 = 1 << 20;

/// How packets are assigned to queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[serde(remote = "Self")]
#[schemars(transform = units::words::<ClassifierSpec>)]
pub enum ClassifierSpec {
    /// A hash chooses among a number of queues.
    Hash(HashParams),
    /// A hash chooses a group; the first unused queue in it is taken and kept while the session lasts.
    SerialSearch(SerialSearchParams),
    /// Every flow has a queue of its own.
    Isolated(IsolatedParams),
    /// Bands by type of service, code point, protocol, ports or addresses (tc prio); for `strict_priority`.
    Prio(PrioParams),
}

units::word_or_table!(ClassifierSpec);

impl Default for ClassifierSpec {
    fn default() -> Self {
        Self::Hash(HashParams::default())
    }
}

/// Parameters of plain hashing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HashParams {
    /// Number of queues.
    pub queues: u32,
    /// Header fields that are hashed.
    pub key: HashKey,
    /// Time between changes of the hash's salt; null: never.
    pub perturb: Option<Duration>,
    /// Datagrams (UDP) share the last queue; everything else is hashed among the others.
    pub datagrams_apart: bool,
}

impl Default for HashParams {
    fn default() -> Self {
        Self { queues: 1024, key: HashKey::default(), perturb: None, datagrams_apart: false }
    }
}

/// The queue that a further session shares in a full group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// The first of the group.
    #[default]
    First,
    /// The one with the fewest bytes.
    LeastLoaded,
    /// The one that further bits of the hash select, as in CAKE.
    Hashed,
}

/// Parameters of hashing with serial search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SerialSearchParams {
    /// Groups that the hash chooses among.
    pub groups: u32,
    /// Queues in each group.
    pub ways: u32,
    /// The queue that a further session shares in a full group; ARRIS 2013 does not specify it.
    pub when_full: WhenFull,
    /// Time for which a session keeps its queue after its last packet has left. 0s frees queues soonest, so that fewest collide;
    /// ARRIS 2013 does not specify it.
    pub timeout: Duration,
    /// Header fields that are hashed.
    pub key: HashKey,
}

impl Default for SerialSearchParams {
    fn default() -> Self {
        Self { groups: 64, ways: 4, when_full: WhenFull::default(), timeout: Duration::ZERO, key: HashKey::default() }
    }
}

/// Parameters of perfect isolation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IsolatedParams {
    /// Forced collision: all flows with the same code point in this list (`app.NAME.dscp`, 0 to 63) share one queue.
    pub shared_dscp: Vec<u8>,
}

impl HashParams {
    /// Reports the first invalid parameter, by field name.
    fn validate(&self) -> Result<(), Problem> {
        at_least_one("queues", self.queues)?;
        if u64::from(self.queues) > MOST_QUEUES {
            return Err(Problem::new(
                "queues",
                format!("{} is not valid; expected at most {MOST_QUEUES}", self.queues),
            ));
        }
        if self.datagrams_apart && self.queues == 1 {
            return Err(Problem::new("queues", "1 is not valid with one set apart for datagrams; expected at least 2"));
        }
        if self.perturb.is_some_and(Duration::is_zero) {
            return Err(Problem::new("perturb", "0s is not valid; expected a positive duration, or null for never"));
        }
        Ok(())
    }
}

impl HashParams {
    /// Index of a flow's queue.
    fn place(&self, tuple: &FlowTuple, salt: u32) -> usize {
        let last = self.queues - 1;
        if !self.datagrams_apart {
            place(hash(tuple, self.key, salt), self.queues) as usize
        } else if tuple.protocol == Protocol::Udp {
            last as usize
        } else {
            place(hash(tuple, self.key, salt), last) as usize
        }
    }
}

impl SerialSearchParams {
    /// Reports the first invalid parameter, by field name.
    fn validate(&self) -> Result<(), Problem> {
        at_least_one("groups", self.groups)?;
        at_least_one("ways", self.ways)?;
        let n = u64::from(self.groups) * u64::from(self.ways);
        if n > MOST_QUEUES {
            let message =
                format!("{} x {} queues are not valid; expected at most {MOST_QUEUES}", self.groups, self.ways);
            return Err(Problem::new("groups", message));
        }
        Ok(())
    }
}

impl IsolatedParams {
    /// Reports the first invalid parameter, by field name.
    fn validate(&self) -> Result<(), Problem> {
        match self.shared_dscp.iter().position(|d| *d > 63) {
            Some(i) => {
                let message = format!("{} is not valid; expected a code point from 0 to 63", self.shared_dscp[i]);
                Err(Problem::new(format!("shared_dscp.{i}"), message))
            }
            None => Ok(()),
        }
    }
}

impl ClassifierSpec {
    /// Reports the first invalid parameter, by field name.
    pub(crate) fn validate(&self) -> Result<(), Problem> {
        match self {
            Self::Hash(p) => p.validate().map_err(|p| p.under("hash")),
            Self::SerialSearch(p) => p.validate().map_err(|p| p.under("serial_search")),
            Self::Isolated(p) => p.validate().map_err(|p| p.under("isolated")),
            Self::Prio(p) => p.validate().map_err(|p| p.under("prio")),
        }
    }

    /// Queues of a group among which a session may be placed.
    pub(crate) fn ways(&self) -> u32 {
        if let Self::SerialSearch(p) = self { p.ways } else { 1 }
    }

    /// Greatest number of queues; `None`: one for every flow.
    pub fn queues(&self) -> Option<u32> {
        match self {
            Self::Hash(p) => Some(p.queues),
            Self::SerialSearch(p) => Some(p.groups * p.ways),
            Self::Isolated(_) => None,
            Self::Prio(p) => Some(p.bands),
        }
    }
}

/// State of one direction of a flow-table slot.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Session {
    last: Time,
    queue: u32,
    waiting: u32,
    generation: u16,
    /// Salt under which the queue was chosen.
    epoch: u16,
}

const STRANGER: Session = Session { last: Time::ZERO, queue: NONE, waiting: 0, generation: 0, epoch: 0 };

/// A classifier with its state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Classifier {
    spec: ClassifierSpec,
    /// Queue numbers by hash value or (group, way); for `isolated`, of the shared queues by code point.
    places: Vec<u32>,
    /// By slot and direction.
    sessions: Vec<Session>,
    /// Code points whose flows share a queue, as bits.
    shared: u64,
    salt: Option<u32>,
    epoch: u16,
    /// Time of the next change of the salt.
    perturb_at: Time,
}

/// Slot and direction of the flow that `packet` belongs to.
#[inline]
fn index(flow: FlowId, reverse: bool) -> usize {
    2 * flow.slot() + usize::from(reverse)
}

impl Classifier {
    /// A classifier that has seen no flow. `spec` is valid.
    pub(crate) fn new(spec: ClassifierSpec) -> Self {
        let (places, shared) = match &spec {
            ClassifierSpec::Isolated(p) => (64, p.shared_dscp.iter().fold(0, |bits, d| bits | 1 << d)),
            _ => (spec.queues().unwrap_or(0) as usize, 0),
        };
        let places = vec![NONE; places];
        Self { spec, places, shared, sessions: Vec::new(), salt: None, epoch: 0, perturb_at: Time::NEVER }
    }

    /// Returns the queue that `packet` joins; the caller then calls [`Classifier::joined`] if the packet is accepted.
    pub(crate) fn classify(&mut self, packet: &PacketMeta, queues: &mut Queues, cx: &mut Cx<'_>) -> u32 {
        if let ClassifierSpec::Prio(p) = &self.spec {
            return self.band(p.band(packet, cx.flows), packet, queues);
        }
        let reverse = packet.flags.has(Flags::REVERSE);
        let i = index(packet.flow, reverse);
        if i >= self.sessions.len() {
            self.sessions.resize(i + 1, STRANGER);
        }
        let generation = packet.flow.generation() as u16;
        let shared = self.shared >> (packet.tos >> 2) & 1 == 1;
        if self.sessions[i].generation != generation {
            // packets of the slot's previous flow may still wait, but they are not this flow's
            let last = self.sessions[i].queue;
            let own = matches!(self.spec, ClassifierSpec::Isolated(_)) && !self.places.contains(&last);
            let kept = if own { last } else { NONE };
            if kept != NONE && queues[kept].fifo.is_empty() {
                queues.renew(kept);
            }
            self.sessions[i] = Session { queue: kept, generation, ..STRANGER };
        }
        let salt = self.salt(cx);
        let Self { spec, places, sessions, epoch, .. } = self;
        let session = &mut sessions[i];
        let tuple = || {
            let forward = cx.flows.get(packet.flow);
            if reverse { forward.reversed() } else { forward }
        };
        let known = session.queue != NONE;
        session.queue = match spec {
            ClassifierSpec::Hash(p) => {
                if known && (session.epoch == *epoch || session.waiting > 0) {
                    return session.queue;
                }
                session.epoch = *epoch;
                queues.at(&mut places[p.place(&tuple(), salt)])
            }
            ClassifierSpec::SerialSearch(p) => {
                if known && (session.waiting > 0 || cx.now < session.last + p.timeout) {
                    return session.queue;
                }
                search(p, places, queues, &tuple(), salt, (i as u32, generation), cx.now)
            }
            ClassifierSpec::Isolated(_) if shared => queues.at(&mut places[usize::from(packet.tos >> 2)]),
            ClassifierSpec::Isolated(_) => queues.at(&mut session.queue),
            ClassifierSpec::Prio(_) => unreachable!("bands are no sessions"),
        };
        session.queue
    }

    /// The queue of band `band`. Band and queue numbers are equal, so all queues are made at once.
    fn band(&mut self, band: u32, packet: &PacketMeta, queues: &mut Queues) -> u32 {
        while queues.len() < self.places.len() as u32 {
            queues.add();
        }
        let i = index(packet.flow, packet.flags.has(Flags::REVERSE));
        if i >= self.sessions.len() {
            self.sessions.resize(i + 1, STRANGER);
        }
        self.sessions[i].queue = band;
        band
    }

    /// Records that `packet` was accepted.
    #[inline]
    pub(crate) fn joined(&mut self, packet: &PacketMeta, now: Time) {
        let session = &mut self.sessions[index(packet.flow, packet.flags.has(Flags::REVERSE))];
        session.waiting += 1;
        session.last = now;
    }

    /// Records that `packet`, which had joined, was sent or dropped.
    #[inline]
    pub(crate) fn left(&mut self, packet: &PacketMeta, now: Time) {
        let session = &mut self.sessions[index(packet.flow, packet.flags.has(Flags::REVERSE))];
        if session.generation == packet.flow.generation() as u16 {
            // a late packet of the slot's previous flow may have reset the count
            session.waiting = session.waiting.saturating_sub(1);
            session.last = now;
        }
    }

    /// The queue of a flow; `None` if it has not been seen.
    pub(crate) fn queue_of(&self, flow: FlowId, reverse: bool) -> Option<u32> {
        self.sessions.get(index(flow, reverse)).map(|s| s.queue).filter(|q| *q != NONE)
    }

    /// The group of queue `i` (serial search), or `i` itself.
    pub(crate) fn group_of(&self, i: u32) -> u32 {
        match &self.spec {
            ClassifierSpec::SerialSearch(p) => {
                let place = self.places.iter().position(|q| *q == i).unwrap_or_default() as u32;
                place / p.ways
            }
            _ => i,
        }
    }

    /// The current salt: drawn from the queue's own random stream, and again every `perturb`.
    #[inline]
    fn salt(&mut self, cx: &mut Cx<'_>) -> u32 {
        match self.salt {
            Some(salt) if cx.now < self.perturb_at => salt,
            _ => {
                let salt = cx.rng.bits() as u32;
                if self.salt.replace(salt).is_some() {
                    self.epoch = self.epoch.wrapping_add(1);
                }
                if let ClassifierSpec::Hash(HashParams { perturb: Some(every), .. }) = self.spec {
                    self.perturb_at = cx.now + every;
                }
                salt
            }
        }
    }
}

/// The first unused queue of the session's group, or one to share.   Bound: each way is examined once.
fn search(
    p: &SerialSearchParams,
    places: &mut [u32],
    queues: &mut Queues,
    tuple: &FlowTuple,
    salt: u32,
    session: (u32, u16),
    now: Time,
) -> u32 {
    let h = hash(tuple, p.key, salt);
    let first = (place(h, p.groups) * p.ways) as usize;
    let ways = &mut places[first..first + p.ways as usize];
    for way in ways.iter_mut() {
        let i = queues.at(way);
        let queue = &mut queues[i];
        // a queue that is kept for a session was active within its timeout
        let free = queue.owner.0 == NONE || queue.fifo.is_empty() && now >= queue.last_active + p.timeout;
        if free {
            if std::mem::replace(&mut queue.owner, session) != session {
                queues.renew(i);
            }
            return i;
        }
    }
    match p.when_full {
        WhenFull::First => ways[0],
        WhenFull::Hashed => ways[(h % p.ways) as usize],
        WhenFull::LeastLoaded => {
            ways.iter().copied().min_by_key(|i| queues[*i].fifo.backlog().bytes).unwrap_or(ways[0])
        }
    }
}
