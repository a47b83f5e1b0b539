//! A run as traces: the state of links and senders, moment by moment, and the fate of every packet.
//!
//! ```text
//! at each moment of the interval   every chosen link, queue and sender is a row, as it was just before the events of the moment
//! or at every change               a link after each event at it that changed its law, a sender after each that changed it
//! packets                          a row for each record of a chosen link, and for each packet that reaches its host
//! ```
//!
//! Tracing does not change the run: it adds no event and draws no random number.

use packet::{FlowId, Item, Reading, Unit, Value};
use record::trace::{Chunk, Fates, NO_WORD, Readings};
use record::{Mask, Probed, Record, Sink, Subject, Whose};
use scenario::{Interval, Scenario, can_queue};
use units::{Duration, Time};

/// The settings and last readings of one traced link.
#[derive(Clone, Debug, Default)]
struct Watched {
    name: String,
    law: bool,
    queues: bool,
    packets: bool,
    /// Sojourn time of the packet that left last.
    sojourn: Option<Duration>,
    seen: Seen,
}

/// The values of the last row of a link or sender that is read at every change.
type Seen = Vec<u64>;

/// The sink that builds the tables `links`, `queues`, `flows` and `packets`, and passes them to `out` in chunks.
pub struct Trace<F: FnMut(Chunk)> {
    /// Time between two readings; none: read at every change.
    interval: Option<Duration>,
    next: Time,
    mask: Mask,
    links: Vec<Watched>,
    apps: Vec<(String, bool)>,
    /// By slot of the flow: its id, its owner, and the last values of its ends.
    flows: Vec<(FlowId, Whose, [Seen; 2])>,
    link_rows: Readings,
    queue_rows: Readings,
    flow_rows: Readings,
    fates: Fates,
    out: F,
}

impl<F: FnMut(Chunk)> Trace<F> {
    /// The trace that a valid scenario requests; none if it requests nothing.
    pub fn new(scenario: &Scenario, out: F) -> Option<Self> {
        let asked = scenario.trace.as_ref()?;
        let watched = |(name, link): (String, scenario::Link)| {
            let all = can_queue(&link);
            let queues = asked.queues.has(&name, all);
            let (law, packets) = (asked.links.has(&name, all), asked.packets.has(&name, all));
            Watched { name, law, queues, packets, ..Watched::default() }
        };
        let links: Vec<Watched> = scenario.directed_links().into_iter().map(watched).collect();
        let apps: Vec<(String, bool)> = scenario.app.keys().map(|n| (n.clone(), asked.flows.has(n, true))).collect();
        let packets = links.iter().any(|l| l.packets);
        let read = links.iter().any(|l| l.law || l.queues) || apps.iter().any(|(_, wanted)| *wanted);
        if !packets && !read {
            return None;
        }
        let interval = if let Interval::Every(every) = asked.interval { Some(every) } else { None };
        let names = links.iter().map(|l| l.name.clone()).collect();
        let fates = Fates::new(names, apps.iter().map(|(name, _)| name.clone()).collect());
        let (link_rows, queue_rows, flow_rows) =
            (Readings::new("links"), Readings::new("queues"), Readings::new("flows"));
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

    /// Hands over what is left.
    pub fn finish(mut self) {
        for rows in [&mut self.link_rows, &mut self.queue_rows, &mut self.flow_rows] {
            rows.take().into_iter().for_each(&mut self.out);
        }
        self.fates.take().into_iter().for_each(&mut self.out);
    }

    fn whose(&self, flow: FlowId) -> Whose {
        let none = Whose { app: NO_WORD, flow: u32::MAX, connection: u32::MAX };
        self.flows.get(flow.slot()).filter(|(is, ..)| *is == flow).map_or(none, |(_, whose, _)| *whose)
    }

    fn read_link(&mut self, now: Time, i: usize, state: &dyn Probed) {
        let Self { links, link_rows, queue_rows, out, .. } = self;
        let link = &links[i];
        let begin = |rows: &mut Readings| {
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
        let whose = self.whose(flow);
        let Self { apps, flow_rows, .. } = self;
        flow_rows.begin();
        flow_rows.put("t", Unit::Seconds, Value::Number(Some(now.secs())));
        flow_rows.put("app", Unit::One, Value::Word(&apps[usize::from(whose.app)].0));
        flow_rows.put("flow", Unit::One, Value::Number(Some(whose.flow.into())));
        flow_rows.put("connection", Unit::One, Value::Number(Some(whose.connection.into())));
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

/// Returns true if the reading changed since `seen`, and updates `seen`.
fn changed(now: Time, seen: &mut Seen, state: &dyn Probed) -> bool {
    let (mut at, mut differs) = (0, false);
    let mut compare = |item: Item<'_>| {
        let Item::Value(_, _, value) = item else { return };
        let bits = match value {
            Value::Number(x) => x.map_or(u64::MAX, f64::to_bits),
            Value::Flag(so) => so.into(),
            // FNV-1a: words are few, and short
            Value::Word(word) => {
                word.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
            }
        };
        match seen.get_mut(at) {
            Some(old) => differs |= std::mem::replace(old, bits) != bits,
            None => {
                seen.push(bits);
                differs = true;
            }
        }
        at += 1;
    };
    state.own(&mut Reading::new(now, false, &mut compare));
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
            Record::Enqueued { link, flow, .. }
            | Record::Dequeued { link, flow, .. }
            | Record::Dropped { link, flow, .. }
            | Record::Marked { link, flow, .. } => (Some(link), flow),
            Record::Delivered { flow, .. } | Record::Sender { flow, .. } => (None, flow),
        };
        // a packet dropped at no link arrived at an end that no longer exists
        let link = link.and_then(|link| self.links.get(usize::from(link.0)));
        if self.mask == Mask::DEQUEUED || link.is_some_and(|l| !l.packets) {
            return;
        }
        let whose = self.whose(flow);
        self.fates.put(now, &record, whose);
        if self.fates.is_full() {
            self.fates.take().into_iter().for_each(&mut self.out);
        }
    }

    const PROBES: bool = true;

    fn next_look(&self) -> Time {
        self.next
    }

    fn looked(&mut self) {
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
                    self.apps.get(usize::from(self.whose(flow).app)).is_some_and(|(_, wanted)| *wanted)
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

    fn opened(&mut self, flow: FlowId, whose: Whose) {
        if self.flows.len() <= flow.slot() {
            self.flows.resize_with(flow.slot() + 1, Default::default);
        }
        self.flows[flow.slot()] = (flow, whose, Default::default());
    }
}
