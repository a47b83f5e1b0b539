//! Classifiers, which select the queue that a packet joins.
//!
//! ```text
//! hash            queue = h(flow), one of n                                flows that collide share a queue
//! serial search   group = h(flow), one of G; its first unused queue of k   full group: flows share a queue (WhenFull)
//! isolated        a queue for each flow, but one for all flows with the same code point of shared_dscp
//! prio            queue = band of the first matching filter; if none matches, band of the packet's type of service
//! ```
//!
//! A flow is one direction of a connection; the other direction, with the 5-tuple reversed, counts as a separate flow.
//! With `hash` and serial search, a flow keeps its queue while one of its packets waits. So the flow's packets stay in
//! order when the hash is perturbed, or when a queue of its group becomes free.
//!
//! Source: McKenney 1990; ARRIS 2013 (64 groups x 4); RFC 8290 §4.1.
//! Departs: SFQ as published reorders a flow when the hash is perturbed; here, the flow moves only when none of its
//! packets is queued. Serial search differs from set-associative hashing (CAKE) only when a group is full.

use super::PrioParams;
use super::hash::{HashKey, hash, place};
use super::queues::{NONE, Queues};
use crate::Context;
use crate::declared::params;
use packet::{Flags, FlowId, FlowTuple, PacketMeta, Protocol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Problem, Time, ensure};

/// Maximum number of queues. A larger number is refused as a likely mistake.
const MOST_QUEUES: u64 = 1 << 20;

/// Assignment of packets to queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[serde(remote = "Self")]
#[schemars(transform = units::words::<ClassifierSpec>)]
pub enum ClassifierSpec {
    /// A hash of header fields selects one of `queues` queues.
    Hash(HashParams),
    /// A hash selects a group of queues. A flow takes the first unused queue of the group, and keeps it while the flow
    /// is active.
    SerialSearch(SerialSearchParams),
    /// Every flow has a queue of its own, unless its code point is in `shared_dscp`.
    Isolated(IsolatedParams),
    /// Each queue is a priority band. A packet's type of service or a filter selects its band (tc prio). Use this
    /// classifier with the scheduler `strict_priority`.
    Prio(PrioParams),
}

units::word_or_table!(ClassifierSpec);

params! {
    /// Parameters of plain hashing. A hash of a packet's header fields and of a random number, the salt, selects the
    /// packet's queue.
    pub struct HashParams {
        /// Number of queues.
        queues: u32 = 1024,
        /// Header fields whose hash selects a packet's queue.
        key: HashKey = HashKey::FiveTuple,
        /// Time between changes of the hash's salt. After a change, a flow keeps its queue until all of its queued
        /// packets have left. Its next packet is hashed with the new salt. Null: never.
        perturb: Option<Duration> = None,
        /// Reserves the last queue for UDP packets. The hash distributes all other packets over the other queues.
        datagrams_apart: bool = false,
    }
}

/// The queue that a new flow shares if all queues of its group are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// The first queue of the group.
    First,
    /// The group's queue with the fewest bytes.
    LeastLoaded,
    /// A queue of the group, selected by further bits of the hash, as in CAKE.
    Hashed,
}

params! {
    /// Parameters of hashing with serial search. A hash assigns each flow to a group of queues, and a new flow takes
    /// the first unused queue of its group.
    pub struct SerialSearchParams {
        /// Number of groups of queues. A hash assigns each flow to a group.
        groups: u32 = 64,
        /// Number of queues in each group.
        ways: u32 = 4,
        /// The queue that a new flow shares if all queues of its group are in use. ARRIS 2013 does not specify this queue.
        when_full: WhenFull = WhenFull::First,
        /// Time for which a flow keeps its queue after its last packet has left. With 0s, the queue is free for another
        /// flow at once. With a longer time, flows share queues more often. ARRIS 2013 does not specify this time.
        timeout: Duration = Duration::ZERO,
        /// Header fields whose hash selects a flow's group.
        key: HashKey = HashKey::FiveTuple,
    }
}

params! {
    /// Parameters of perfect isolation: each flow has a queue of its own.
    pub struct IsolatedParams {
        /// Code points (DSCPs, set by `app.NAME.dscp`, 0 to 63) whose flows do not have queues of their own. All flows
        /// with the same listed code point share one queue.
        shared_dscp: Vec<u8> = Vec::new(),
    }
}

impl HashParams {
    fn validate(&self) -> Result<(), Problem> {
        let n = self.queues;
        ensure!(n > 0, "queues", "0 is not valid; expected at least 1");
        ensure!(u64::from(n) <= MOST_QUEUES, "queues", "{n} is not valid; expected at most {MOST_QUEUES}");
        let enough = n > 1 || !self.datagrams_apart;
        ensure!(enough, "queues", "1 is not valid with datagrams_apart, which reserves one; expected at least 2");
        let never = self.perturb == Some(Duration::ZERO);
        ensure!(!never, "perturb", "0s is not valid; expected a positive duration, or null for never");
        Ok(())
    }

    /// Returns the index of a flow's queue.
    fn place(&self, tuple: &FlowTuple, salt: u32) -> usize {
        let last = self.queues - 1;
        if !self.datagrams_apart {
            place(hash(tuple, self.key, salt), self.queues) as usize
        } else if tuple.protocol == Protocol::UDP {
            last as usize
        } else {
            place(hash(tuple, self.key, salt), last) as usize
        }
    }
}

impl SerialSearchParams {
    fn validate(&self) -> Result<(), Problem> {
        let (groups, ways) = (self.groups, self.ways);
        ensure!(groups > 0, "groups", "0 is not valid; expected at least 1");
        ensure!(ways > 0, "ways", "0 is not valid; expected at least 1");
        let fits = u64::from(groups) * u64::from(ways) <= MOST_QUEUES;
        ensure!(fits, "groups", "{groups} x {ways} queues are not valid; expected at most {MOST_QUEUES}");
        Ok(())
    }
}

impl IsolatedParams {
    fn validate(&self) -> Result<(), Problem> {
        for (i, dscp) in self.shared_dscp.iter().enumerate() {
            let path = format!("shared_dscp.{i}");
            ensure!(*dscp <= 63, path, "{dscp} is not valid; expected a code point from 0 to 63");
        }
        Ok(())
    }
}

impl ClassifierSpec {
    /// Returns an error that names the first invalid parameter, if there is one.
    pub(crate) fn validate(&self) -> Result<(), Problem> {
        match self {
            Self::Hash(p) => p.validate().map_err(|p| p.under("hash")),
            Self::SerialSearch(p) => p.validate().map_err(|p| p.under("serial_search")),
            Self::Isolated(p) => p.validate().map_err(|p| p.under("isolated")),
            Self::Prio(p) => p.validate().map_err(|p| p.under("prio")),
        }
    }

    /// Returns the number of queues among which a flow with a given hash may be placed: with serial search, all queues
    /// of the group; otherwise 1.
    pub(crate) fn ways(&self) -> u32 {
        if let Self::SerialSearch(p) = self { p.ways } else { 1 }
    }

    /// Returns the maximum number of queues; `None` if every flow has its own queue.
    pub fn queues(&self) -> Option<u32> {
        match self {
            Self::Hash(p) => Some(p.queues),
            Self::SerialSearch(p) => Some(p.groups * p.ways),
            Self::Isolated(_) => None,
            Self::Prio(p) => Some(p.bands),
        }
    }
}

/// State of one direction of the connection that occupies a slot of the flow table.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Session {
    last: Time,
    queue: u32,
    waiting: u32,
    generation: u16,
    /// The classifier's `epoch` when the hash chose the queue. If the classifier's epoch is different now, the salt has
    /// changed since.
    epoch: u16,
}

const STRANGER: Session = Session { last: Time::ZERO, queue: NONE, waiting: 0, generation: 0, epoch: 0 };

/// A classifier with its state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Classifier {
    spec: ClassifierSpec,
    /// Queue numbers, or [`NONE`] for queues that do not exist yet. The index depends on the kind of classifier.
    /// `hash`: the result of hashing the flow. `serial_search`: group x ways + way. `isolated`: the code point, because
    /// only shared queues are stored here. `prio` uses only the length of the vector.
    places: Vec<u32>,
    /// Two sessions for each slot of the flow table, one for each direction. See [`index`].
    sessions: Vec<Session>,
    /// Bit n is set if all flows with code point n share a queue (`shared_dscp`).
    shared: u64,
    salt: Option<u32>,
    epoch: u16,
    /// Time of the next change of the salt.
    perturb_at: Time,
}

/// Returns the index in `sessions` of one direction of `flow`.
#[inline]
fn index(flow: FlowId, reverse: bool) -> usize {
    2 * flow.slot() + usize::from(reverse)
}

impl Classifier {
    /// Creates a classifier with no sessions from a valid `spec`.
    pub(crate) fn new(spec: ClassifierSpec) -> Self {
        let (places, shared) = match &spec {
            ClassifierSpec::Isolated(p) => (64, p.shared_dscp.iter().fold(0, |bits, d| bits | 1 << d)),
            _ => (spec.queues().unwrap_or(0) as usize, 0),
        };
        let places = vec![NONE; places];
        Self { spec, places, shared, sessions: Vec::new(), salt: None, epoch: 0, perturb_at: Time::NEVER }
    }

    /// Returns the queue that `packet` joins. If the packet is accepted, the caller then calls [`Classifier::joined`].
    pub(crate) fn classify(&mut self, packet: &PacketMeta, queues: &mut Queues, cx: &mut Context<'_>) -> u32 {
        if let ClassifierSpec::Prio(p) = &self.spec {
            return self.band(p.band(packet, cx.flows), packet, queues);
        }
        let i = self.session(packet);
        let generation = packet.flow.generation() as u16;
        let shared = self.shared >> (packet.tos >> 2) & 1 == 1;
        if self.sessions[i].generation != generation {
            // The session is new, or holds the state of another flow in this slot. `waiting` will not count packets that
            // are already queued.
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
        let tuple = || packet.tuple(cx.flows);
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

    /// Returns the queue of `band`. The first call creates the queues of all bands, so that each band and its queue
    /// have the same number.
    fn band(&mut self, band: u32, packet: &PacketMeta, queues: &mut Queues) -> u32 {
        while queues.len() < self.places.len() as u32 {
            queues.add();
        }
        let i = self.session(packet);
        self.sessions[i].queue = band;
        band
    }

    /// Returns the index of the session of `packet`; adds the session if it is new.
    #[inline]
    fn session(&mut self, packet: &PacketMeta) -> usize {
        let i = index(packet.flow, packet.flags.has(Flags::REVERSE));
        if i >= self.sessions.len() {
            self.sessions.resize(i + 1, STRANGER);
        }
        i
    }

    /// Records that `packet` was accepted.
    #[inline]
    pub(crate) fn joined(&mut self, packet: &PacketMeta, now: Time) {
        let session = &mut self.sessions[index(packet.flow, packet.flags.has(Flags::REVERSE))];
        session.waiting += 1;
        session.last = now;
    }

    /// Records that `packet`, which had been accepted, was sent or dropped.
    #[inline]
    pub(crate) fn left(&mut self, packet: &PacketMeta, now: Time) {
        let session = &mut self.sessions[index(packet.flow, packet.flags.has(Flags::REVERSE))];
        if session.generation == packet.flow.generation() as u16 {
            // The subtraction saturates, because `waiting` can be lower than the number of the flow's queued packets.
            // `classify` resets the session, with `waiting` = 0, whenever a packet arrives whose generation differs from
            // the session's. If packets of an old flow, a new flow and again the old flow arrive in one slot, the second
            // reset gives the session back to the old flow. `waiting` then does not count the packets that the old flow
            // already had in the queue, and the packet that leaves here may be one of them.
            session.waiting = session.waiting.saturating_sub(1);
            session.last = now;
        }
    }

    /// Returns a flow's queue; `None` if no packet of the flow has arrived.
    pub(crate) fn queue_of(&self, flow: FlowId, reverse: bool) -> Option<u32> {
        self.sessions.get(index(flow, reverse)).map(|s| s.queue).filter(|q| *q != NONE)
    }

    /// Returns the group of queue `i` if the classifier uses serial search, otherwise `i` itself.
    pub(crate) fn group_of(&self, i: u32) -> u32 {
        match &self.spec {
            ClassifierSpec::SerialSearch(p) => {
                let place = self.places.iter().position(|q| *q == i).unwrap_or_default() as u32;
                place / p.ways
            }
            _ => i,
        }
    }

    /// Returns the current salt. Draws the salt from the discipline's random stream on first use, and draws a new one on
    /// the first use after each interval of `perturb`.
    #[inline]
    fn salt(&mut self, cx: &mut Context<'_>) -> u32 {
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

/// Returns the first free queue of the group to which the flow is hashed. If none is free, returns the queue that the
/// flow shares according to `when_full`.   Bound: examines each queue of the group at most twice.
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
        // a queue that has an owner is free again once it is empty and has not been active for `timeout`
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
