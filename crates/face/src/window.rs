//! Runs a scenario from its start, and returns the packets of a time window as a binary table.
//!
//! ```text
//! length of the head (4 bytes, little-endian), head (JSON, padded with spaces), columns; each begins at a multiple of 8 bytes
//! head.columns = [[name, type, offset of the first byte from the end of the head, number of values], ...]
//! type: f64, u32, u16 or u8, little-endian
//! ```
//!
//! Times are nanoseconds since the start of the run; infinity means never. A leg is the passage of a packet over one link. The
//! columns of legs contain all legs of the first packet, in the order of its path, then all legs of the second, and so on;
//! `packet.legs` holds the number of legs of each packet.

use scenario::Scenario;
use serde_json::{Value, json};
use sim::lives::{Landmark, Leg, Life, Lives, NAMES};
use sim::{Ended, Sinks, World};
use units::{Problem, Time};

/// A run that records the packets of a window, or searches for a landmark: a drop, a mark or a timeout.
pub struct Window {
    scenario: Scenario,
    world: World<Sinks<'static>>,
    ended: bool,
}

impl Window {
    /// Builds a run that records the packets sent from the time `from` to the time `until`, in nanoseconds. If there are
    /// more than `most` packets, or if their tables exceed 32 MiB, the window ends early.
    ///
    /// Errors: the scenario exceeds a limit.
    pub fn new(scenario: Scenario, from: u64, until: u64, most: usize) -> Result<Self, Problem> {
        let lives = Lives::new(&scenario, Time(from), Time(until), most)?;
        Self::of(scenario, lives)
    }

    /// Builds a run that searches for a landmark after the time `after`, in nanoseconds: the first drop or mark at
    /// `link`, or the first timeout of any sender.
    ///
    /// Errors: the landmark or the link is unknown (a link must be given even for a timeout); the scenario exceeds a limit.
    pub fn find(scenario: Scenario, landmark: &str, link: &str, after: u64) -> Result<Self, Problem> {
        let names = scenario.directed_links();
        let place = names.iter().position(|(name, _)| name == link);
        let place = place.ok_or_else(|| Problem::new("link", format!("unknown link \"{link}\"")))?;
        let link = record::LinkId(place as u16);
        let landmark = match landmark {
            "drop" => Landmark::Drop(link),
            "mark" => Landmark::Mark(link),
            "timeout" => Landmark::Timeout,
            other => {
                return Err(Problem::new("", format!("\"{other}\" is not a landmark (valid: drop, mark, timeout)")));
            }
        };
        let lives = Lives::find(&scenario, landmark, Time(after))?;
        Self::of(scenario, lives)
    }

    fn of(scenario: Scenario, lives: Lives) -> Result<Self, Problem> {
        let world = World::recorded(&scenario, (Some(lives), (None, None)))?;
        Ok(Self { scenario, world, ended: false })
    }

    /// Runs one slice. Returns 1 if the window is recorded, the landmark is found or the run has ended; otherwise the
    /// elapsed fraction of the time from 0 to the end of the window. In a search, this fraction stays near 0.
    pub fn go_on(&mut self) -> f64 {
        let mut done = 0.0;
        let ended = self.world.run_observed(|world| {
            done = world.now().secs() / 1e-9_f64.max(lives(world).until().secs());
            false
        });
        self.ended = ended == Ended::Finished || lives(&self.world).is_done(self.world.now());
        if self.ended { 1.0 } else { done.min(1.0 - f64::EPSILON) }
    }

    /// Returns the time of the landmark in nanoseconds, if it was found.
    pub fn found(&self) -> Option<u64> {
        lives(&self.world).found().map(|t| t.0)
    }

    /// Returns the window's table in binary form.
    pub fn table(&self) -> Vec<u8> {
        let lives = lives(&self.world);
        let rows = Rows::new(lives);
        let mut columns = Columns::default();
        rows.write(lives, &mut columns);
        senders(lives, &mut columns);
        let head = json!({
            "from_ns": lives.from().0,
            "until_ns": lives.until().0.min(self.scenario.duration.0),
            "shortened": lives.is_shortened(),
            "links": links(&self.scenario, lives),
            "apps": apps(&self.scenario),
            "flows": flows(&self.scenario, lives),
            "states": lives.states(),
            "columns": columns.list,
        });
        columns.after(&head)
    }
}

/// Returns the sink in which a window's run records packets.
fn lives<'a>(world: &'a World<Sinks<'static>>) -> &'a Lives {
    world.sink().0.as_ref().expect("the run of a window has this sink")
}

/// The packets of a window in the order in which they were sent, and their legs. A leg is a packet's passage over one
/// link.
struct Rows<'a> {
    packets: Vec<(u32, &'a Life)>,
    /// For each packet in `packets`, its legs in the order in which the packet entered the links' queues.
    legs: Vec<Vec<&'a Leg>>,
}

impl<'a> Rows<'a> {
    fn new(lives: &'a Lives) -> Self {
        let all = lives.packets().iter().enumerate().map(|(i, life)| (i as u32, life));
        let mut packets: Vec<(u32, &Life)> = all.filter(|(i, _)| lives.has(*i)).collect();
        packets.sort_by_key(|(i, life)| (life.sent, *i));
        let mut place = vec![usize::MAX; lives.packets().len()];
        packets.iter().enumerate().for_each(|(at, (i, _))| place[*i as usize] = at);
        let mut legs = vec![Vec::new(); packets.len()];
        for leg in lives.legs() {
            if let Some(of) = place.get(leg.packet as usize).and_then(|at| legs.get_mut(*at)) {
                of.push(leg);
            }
        }
        legs.iter_mut().for_each(|of| of.sort_by_key(|leg| leg.entered));
        Self { packets, legs }
    }

    fn write(&self, lives: &Lives, out: &mut Columns) {
        let life = || self.packets.iter().map(|(_, life)| *life);
        out.times("packet.sent", life().map(|l| l.sent));
        out.times("packet.arrived", life().map(|l| l.arrived));
        out.times("packet.acknowledged", life().map(|l| l.acknowledged));
        out.f64("packet.seq", life().map(|l| l.seq as f64));
        out.f64("packet.end", life().map(|l| l.end as f64));
        let legs = || self.legs.iter().flatten();
        out.times("leg.entered", legs().map(|l| l.entered));
        out.times("leg.left", legs().map(|l| l.left));
        out.times("leg.arrived", legs().map(|l| l.arrived));
        out.times("leg.dropped", legs().map(|l| l.dropped));
        out.times("leg.marked", legs().map(|l| l.marked));
        out.u32("packet.flow", life().map(|l| l.flow));
        out.u16("packet.size", life().map(|l| l.size));
        out.u16("packet.flags", life().map(|l| l.flags));
        out.u16("leg.link", legs().map(|l| l.link));
        out.u16("leg.line", legs().map(|l| lives.subqueue(l)));
        out.u8("packet.legs", self.legs.iter().map(|of| of.len().min(255) as u8));
        out.u8("packet.ecn", life().map(|l| l.ecn));
        out.u8("packet.again", life().map(|l| l.again.into()));
        out.u8("leg.reason", legs().map(|l| l.drop_reason));
    }
}

/// Writes the states of senders, in time order.
fn senders(lives: &Lives, out: &mut Columns) {
    let rows = || lives.sender_rows().iter();
    out.times("sender.t", rows().map(|b| b.at));
    for (i, name) in NAMES.iter().enumerate() {
        out.f64(&format!("sender.{name}"), rows().map(|b| b.values[i]));
    }
    out.u32("sender.flow", rows().map(|b| b.flow));
    out.u8("sender.state", rows().map(|b| b.state));
}

fn links(scenario: &Scenario, lives: &Lives) -> Value {
    let link = |(i, (name, link)): (usize, (String, scenario::Link))| {
        let modem = matches!(link.service, port::Service::Docsis(_) | port::Service::Docsis31(_));
        json!({
            "name": name,
            "from": link.from,
            "to": link.to,
            "delay_ns": link.delay.0,
            "modem": modem,
            "discipline": link.queue.name(),
            "lines": lives.subqueues(i),
        })
    };
    scenario.directed_links().into_iter().enumerate().map(link).collect()
}

fn apps(scenario: &Scenario) -> Value {
    let app = |name: &String| {
        let app = &scenario.app[name];
        let late = if let traffic::Traffic::Voip(p) = &app.traffic { Some(p.late_after.0) } else { None };
        json!({ "name": name, "kind": app.traffic.name(), "late_after_ns": late })
    };
    scenario.app.keys().map(app).collect()
}

fn flows(scenario: &Scenario, lives: &Lives) -> Value {
    let names: Vec<&String> = scenario.app.keys().collect();
    let flow = |of: &sim::lives::DirectedFlow| {
        let owner = of.owner;
        json!([
            names.get(usize::from(owner.app)),
            owner.flow,
            owner.connection,
            u8::from(of.reverse),
            of.least.0 as f64
        ])
    };
    lives.flows().iter().map(flow).collect()
}

/// Columns under construction.
#[derive(Default)]
struct Columns {
    list: Vec<Value>,
    bytes: Vec<u8>,
}

impl Columns {
    fn put<const N: usize>(&mut self, name: &str, kind: &str, values: impl Iterator<Item = [u8; N]>) {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let first = self.bytes.len();
        values.for_each(|value| self.bytes.extend_from_slice(&value));
        self.list.push(json!([name, kind, first, (self.bytes.len() - first) / N]));
    }
    fn f64(&mut self, name: &str, values: impl Iterator<Item = f64>) {
        self.put(name, "f64", values.map(f64::to_le_bytes));
    }
    fn times(&mut self, name: &str, values: impl Iterator<Item = Time>) {
        self.f64(name, values.map(|t| if t == Time::NEVER { f64::INFINITY } else { t.0 as f64 }));
    }
    fn u32(&mut self, name: &str, values: impl Iterator<Item = u32>) {
        self.put(name, "u32", values.map(u32::to_le_bytes));
    }
    fn u16(&mut self, name: &str, values: impl Iterator<Item = u16>) {
        self.put(name, "u16", values.map(u16::to_le_bytes));
    }
    fn u8(&mut self, name: &str, values: impl Iterator<Item = u8>) {
        self.put(name, "u8", values.map(|v| [v]));
    }
    /// Returns the table in binary form: the length of the head, the head as JSON, and the columns.
    fn after(self, head: &Value) -> Vec<u8> {
        let mut text = head.to_string();
        while !(text.len() + 4).is_multiple_of(8) {
            text.push(' ');
        }
        let mut all = Vec::with_capacity(4 + text.len() + self.bytes.len());
        all.extend_from_slice(&(text.len() as u32).to_le_bytes());
        all.extend_from_slice(text.as_bytes());
        all.extend_from_slice(&self.bytes);
        all
    }
}
