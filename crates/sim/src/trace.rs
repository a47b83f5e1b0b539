//! Writes a run as traces: the state of links and senders over time, and the fate of every packet.
//!
//! ```text
//! at intervals      a row for every selected link, queue and sender, with the state just before the events of that moment
//! at every change   a row for a link or sender after each event that changed its state
//! packets           a row for each record of a selected link, for each packet with payload that reaches its host, and for
//!                   each packet that arrives after its connection has ended
//! ```
//!
//! Tracing draws no random number and changes no result, except the number of events: with a trace, departures are events on
//! every link.

use packet::{FlowId, Item, Reading, Unit, Value};
use record::trace::{Chunk, FateTable, NO_WORD, ReadingTable};
use record::{FlowOwner, Mask, Probed, Record, Sink, Subject};
use scenario::{Interval, Scenario, can_queue};
use std::cell::Cell;
use units::{Duration, Time};

/// The settings and last readings of one link. `law`, `queues` and `packets` are true if the tables `links`, `queues` and
/// `packets` have rows for this link.
#[derive(Clone, Debug, Default)]
struct TracedLink {
    name: String,
    law: bool,
    queues: bool,
    packets: bool,
    /// Sojourn time of the last packet that left the link's queue.
    sojourn: Option<Duration>,
    seen: LastValues,
}

/// The values from the last reading of a link or sender. They are stored only if a reading is taken at every change.
type LastValues = Vec<u64>;

/// A sink that builds the tables `links`, `queues`, `flows` and `packets`, and passes them to `out` in chunks.
pub struct Trace<F: FnMut(Chunk)> {
    /// Time between two readings; `None` if a reading is taken at every change.
    interval: Option<Duration>,
    next: Time,
    mask: Mask,
    links: Vec<TracedLink>,
    apps: Vec<(String, bool)>,
    /// For each slot of the connection table: the id and the owner of the flow in this slot, and the last values of the
    /// senders at both ends of the flow.
    flows: Vec<(FlowId, FlowOwner, [LastValues; 2])>,
    link_rows: ReadingTable,
    queue_rows: ReadingTable,
    flow_rows: ReadingTable,
    fates: FateTable,
    out: F,
}

impl<F: FnMut(Chunk)> Trace<F> {
    /// Returns the trace that a valid scenario requests; `None` if the scenario selects nothing to trace.
    pub fn new(scenario: &Scenario, out: F) -> Option<Self> {
        let requested = scenario.trace.as_ref()?;
        let traced = |(name, link): (String, scenario::Link)| {
            let all = can_queue(&link);
            let queues = requested.queues.has(&name, all);
            let (law, packets) = (requested.links.has(&name, all), requested.packets.has(&name, true));
            TracedLink { name, law, queues, packets, ..TracedLink::default() }
        };
        let links: Vec<TracedLink> = scenario.directed_links().into_iter().map(traced).collect();
        let apps: Vec<(String, bool)> =
            scenario.app.keys().map(|n| (n.clone(), requested.flows.has(n, true))).collect();
        let packets = links.iter().any(|l| l.packets);
        let read = links.iter().any(|l| l.law || l.queues) || apps.iter().any(|(_, wanted)| *wanted);
        if !packets && !read {
            return None;
        }
        let interval = if let Interval::Every(every) = requested.interval { Some(every) } else { None };
        let names = links.iter().map(|l| l.name.clone()).collect();
        let fates = FateTable::new(names, apps.iter().map(|(name, _)| name.clone()).collect());
        let (link_rows, queue_rows, flow_rows) =
            (ReadingTable::new("links"), ReadingTable::new("queues"), ReadingTable::new("flows"));
        Some(Self {
            interval,
            next: if interval.is_some() && read { Time::ZERO } else { Time::NEVER },
            mask: match packets {
                true => Mask::ALL.without(Mask::SENDER),
                false if links.iter().any(|l| l.law) => Mask::DEQUEUED,
                false => Mask::NONE,
            },
            links,
            apps,
            flows: Vec::new(),
            link_rows,
            queue_rows,
            flow_rows,
            fates,
            out,
        })
    }

    /// Passes the remaining rows to `out`.
    pub fn finish(mut self) {
        for rows in [&mut self.link_rows, &mut self.queue_rows, &mut self.flow_rows] {
            rows.take().into_iter().for_each(&mut self.out);
        }
        self.fates.take().into_iter().for_each(&mut self.out);
    }

    fn owner(&self, flow: FlowId) -> FlowOwner {
        let none = FlowOwner { app: NO_WORD, flow: u32::MAX, connection: u32::MAX };
        self.flows.get(flow.slot()).filter(|(is, ..)| *is == flow).map_or(none, |(_, owner, _)| *owner)
    }

    fn read_link(&mut self, now: Time, i: usize, state: &dyn Probed) {
        let Self { links, link_rows, queue_rows, out, .. } = self;
        let link = &links[i];
        let begin = |rows: &mut ReadingTable| {
            rows.begin();
            rows.put("t", Unit::Seconds, Value::Number(Some(now.secs())));
            rows.put("link", Unit::One, Value::Word(&link.name));
        };
        begin(link_rows);
        let mut put = |item: Item<'_>| {
            if let Item::Value(name, unit, value) = item {
                link_rows.put(name, unit, value);
            }
        };
        state.around(&mut Reading::new(now, false, &mut put));
        link_rows.put("sojourn", Unit::Milliseconds, Value::Number(link.sojourn.map(Duration::millis)));
        let mut inside = false;
        let mut put = |item: Item<'_>| match item {
            Item::Queue(name) => {
                if std::mem::replace(&mut inside, true) {
                    queue_rows.end();
                }
                begin(queue_rows);
                queue_rows.put("queue", Unit::One, Value::Word(name));
            }
            Item::Value(name, unit, value) if inside => queue_rows.put(name, unit, value),
            Item::Value(name, unit, value) => link_rows.put(name, unit, value),
        };
        state.own(&mut Reading::new(now, link.queues, &mut put));
        if inside {
            queue_rows.end();
        }
        if link.law {
            link_rows.end();
        } else {
            link_rows.abandon();
        }
        for rows in [link_rows, queue_rows] {
            if rows.is_full() {
                rows.take().into_iter().for_each(&mut *out);
            }
        }
    }

    fn read_sender(&mut self, now: Time, flow: FlowId, reverse: bool, state: &dyn Probed) {
        let owner = self.owner(flow);
        let Self { apps, flow_rows, .. } = self;
        flow_rows.begin();
        flow_rows.put("t", Unit::Seconds, Value::Number(Some(now.secs())));
        flow_rows.put("app", Unit::One, Value::Word(&apps[usize::from(owner.app)].0));
        flow_rows.put("flow", Unit::One, Value::Number(Some(owner.flow.into())));
        flow_rows.put("connection", Unit::One, Value::Number(Some(owner.connection.into())));
        flow_rows.put("direction", Unit::One, Value::Word(if reverse { "reverse" } else { "forward" }));
        let mut put = |item: Item<'_>| {
            if let Item::Value(name, unit, value) = item {
                flow_rows.put(name, unit, value);
            }
        };
        state.own(&mut Reading::new(now, false, &mut put));
        flow_rows.end();
        if flow_rows.is_full() {
            flow_rows.take().into_iter().for_each(&mut self.out);
        }
    }
}

/// Returns true if the state of a link or sender differs from the last values in `seen`, and stores the new values
/// there. If a link's discipline has no state of its own (such as drop-tail), the link's backlog and counts are
/// compared.
fn changed(now: Time, seen: &mut LastValues, state: &dyn Probed) -> bool {
    let (at, mut differs) = (Cell::new(0), false);
    let mut compare = |item: Item<'_>| {
        let Item::Value(_, _, value) = item else { return };
        let bits = match value {
            Value::Number(x) => x.map_or(u64::MAX, f64::to_bits),
            Value::Flag(so) => so.into(),
            // an FNV-1a hash, which is sufficient for a few short words
            Value::Word(word) => {
                word.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
            }
        };
        match seen.get_mut(at.get()) {
            Some(old) => differs |= std::mem::replace(old, bits) != bits,
            None => {
                seen.push(bits);
                differs = true;
            }
        }
        at.set(at.get() + 1);
    };
    state.own(&mut Reading::new(now, false, &mut compare));
    if at.get() == 0 {
        state.around(&mut Reading::new(now, false, &mut compare));
    }
    differs
}

impl<F: FnMut(Chunk)> Sink for Trace<F> {
    fn mask(&self) -> Mask {
        self.mask
    }

    fn put(&mut self, now: Time, record: Record) {
        if let Record::Dequeued { link, sojourn, .. } = record {
            self.links[usize::from(link.0)].sojourn = Some(sojourn);
        }
        let (link, flow) = match record {
            Record::Enqueued { link, packet, .. }
            | Record::Dequeued { link, packet, .. }
            | Record::Dropped { link, packet, .. }
            | Record::Marked { link, packet, .. } => (Some(link), packet.flow),
            Record::Delivered { packet, .. } => (None, packet.flow),
            Record::Sender { flow, .. } => (None, flow),
        };
        // if a packet reaches its host after its connection has ended, the host drops the packet, and the record names
        // no link
        let link = link.and_then(|link| self.links.get(usize::from(link.0)));
        if self.mask == Mask::DEQUEUED || link.is_some_and(|l| !l.packets) {
            return;
        }
        let owner = self.owner(flow);
        self.fates.put(now, &record, owner);
        if self.fates.is_full() {
            self.fates.take().into_iter().for_each(&mut self.out);
        }
    }

    fn probes(&self) -> bool {
        true
    }

    fn next_reading(&self) -> Time {
        self.next
    }

    fn reading_done(&mut self) {
        self.next = self.interval.map_or(Time::NEVER, |interval| self.next + interval);
    }

    #[inline]
    fn wants(&self, of: Subject, changed: bool) -> bool {
        changed == self.interval.is_none()
            && match of {
                Subject::Link(link) => {
                    let link = &self.links[usize::from(link.0)];
                    link.law || link.queues
                }
                Subject::Sender { flow, .. } => {
                    self.apps.get(usize::from(self.owner(flow).app)).is_some_and(|(_, wanted)| *wanted)
                }
            }
    }

    fn read(&mut self, now: Time, of: Subject, is_change: bool, state: &dyn Probed) {
        let seen = match of {
            Subject::Link(link) => &mut self.links[usize::from(link.0)].seen,
            Subject::Sender { flow, reverse } => &mut self.flows[flow.slot()].2[usize::from(reverse)],
        };
        if is_change && !changed(now, seen, state) {
            return;
        }
        match of {
            Subject::Link(link) => self.read_link(now, usize::from(link.0), state),
            Subject::Sender { flow, reverse } => self.read_sender(now, flow, reverse, state),
        }
    }

    fn opened(&mut self, flow: FlowId, owner: FlowOwner) {
        if self.flows.len() <= flow.slot() {
            self.flows.resize_with(flow.slot() + 1, Default::default);
        }
        self.flows[flow.slot()] = (flow, owner, Default::default());
    }
}
