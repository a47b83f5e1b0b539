//! From a scenario to a world.

use crate::codec::Bodies;
use crate::conn::Path;
use crate::event::{Events, Target};
use crate::fifo::{Capacity, Fifo};
use crate::meter::LinkMeter;
use crate::net::{Kind, Link, NO_LINK, Net, link_id};
use crate::pages;
use crate::table::{AppState, Core};
use crate::tags::Tags;
use crate::world::{AppSlot, ClockTask, World};
use measure::{LinkMeterParams, Rows, Tally};
use packet::{Flags, FlowTable, NodeId};
use port::Port;
use record::{Mask, Sink};
use scenario::Scenario;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tcp::{Segment, TcpParams};
use traffic::{Application, Timers};
use units::{Limit, Problem, Rng, Time};

impl World<()> {
    /// A world that keeps measures and nothing else.   Errors: the first problem of the scenario.
    pub fn build(scenario: &Scenario) -> Result<Self, Problem> {
        World::with_sink(scenario, ())
    }
}

impl<S: Sink> World<S> {
    /// A world whose records go to `sink`.
    ///
    /// A sink that asks for records of links, or for packets, takes the plain links off their fast path; every result stays the same.
    pub fn with_sink(scenario: &Scenario, sink: S) -> Result<Self, Problem> {
        if let Some(problem) = scenario.validate().into_iter().next() {
            return Err(problem);
        }
        let links = scenario.directed_links();
        let names: BTreeSet<&str> = links.iter().flat_map(|(_, l)| [l.from.as_str(), l.to.as_str()]).collect();
        let node: BTreeMap<&str, u16> = names.iter().enumerate().map(|(i, n)| (*n, i as u16)).collect();
        let end = Time(scenario.duration.0);
        let bin = scenario.bin();

        let mut events = Events::new(links.len());
        let mut tasks = Vec::new();
        if !scenario.record.warm_up.is_zero() {
            // first among the chores of its moment, and before every event of it
            tasks.push((Time(scenario.record.warm_up.0), ClockTask::Begin));
        }
        let mut built = Vec::new();
        let unwatched = sink.mask() == Mask::NONE && !S::PACKETS && !S::PROBES;
        for (i, (name, link)) in links.iter().enumerate() {
            let recorded = match &scenario.record.links {
                Some(list) => list.contains(name),
                None => scenario::can_queue(link),
            };
            let params = LinkMeterParams {
                link: link_id(i as u16),
                limit: queue_cap(link),
                start: Time::ZERO,
                duration: scenario.duration,
                bin,
                warm_up: Time(scenario.record.warm_up.0),
            };
            built.push(Link {
                name: name.clone(),
                to: NodeId(node[link.to.as_str()]),
                kind: if unwatched && let Some(fifo) = fast_path(link) {
                    Kind::Fifo(Box::new(fifo))
                } else {
                    let at = format!("link.{name}");
                    let port = Port::build(&link.for_port(), link_id(i as u16), scenario.seed, &at)
                        .map_err(|p| p.under(&at))?;
                    let lazy = unwatched && port.can_wait();
                    Kind::Port { port: Box::new(port), work: Time::NEVER, armed: Time::NEVER, lazy }
                },
                meter: LinkMeter::new(recorded.then_some(params))?,
            });
            tasks.extend(link.changes.iter().map(|c| (Time(c.at.0), ClockTask::Change(i as u16, c.for_port()))));
        }
        // stable: changes of one moment happen in the order of link names; the list is taken from its end
        tasks.sort_by_key(|(at, _)| *at);
        for (at, _) in &tasks {
            events.push(*at, Target::Clock);
        }
        tasks.reverse();

        let nodes = node.len();
        let mut next = vec![NO_LINK; nodes * nodes];
        for ((at, to), link) in scenario.routing() {
            next[usize::from(node[at.as_str()]) * nodes + usize::from(node[to.as_str()])] = link as u16;
        }
        let is_port = |i: &u16| matches!(built[usize::from(*i)].kind, Kind::Port { .. });
        let ports = (0..built.len() as u16).filter(is_port).collect();
        let net = Net {
            events,
            links: built,
            next,
            nodes,
            bodies: Bodies::default(),
            tags: Tags::default(),
            flows: FlowTable::default(),
            sink,
            flow_drops: Vec::new(),
            arrived: Vec::new(),
            ports,
        };
        let mut world =
            Self { apps: Vec::new(), core: empty_core(net), end, over: false, bin, next_sample: Time(bin.0), tasks };
        world.core.tally.warm_up = Time(scenario.record.warm_up.0);
        world.add_apps(scenario, &node)?;
        world.core.conns = pages::table(world.core.tally.rows.len());
        world.core.net.events.push(world.next_sample, Target::Clock);
        Ok(world)
    }

    fn add_apps(&mut self, scenario: &Scenario, node: &BTreeMap<&str, u16>) -> Result<(), Problem> {
        let mut stacks: BTreeMap<&str, u16> = BTreeMap::new();
        for (name, app) in &scenario.app {
            let mut stack = |name: &'_ str| -> Result<u16, Problem> {
                let known = scenario.stack(name)?;
                let i = self.core.stacks.len() as u16;
                self.core.tally.known.ce_packets |= known.ecn;
                self.core.headers.push(known.wire_size(&Segment::default()));
                self.core.stacks.push(known);
                Ok(i)
            };
            let mut index = |name: &'_ str| match stacks.get(name) {
                Some(i) => Ok(*i),
                None => stack(name),
            };
            let client = index(&app.tcp).map_err(|p| p.under(&format!("app.{name}.tcp")))?;
            let server_name = app.tcp_server.as_deref().unwrap_or(&app.tcp);
            let server_stack = if server_name == app.tcp {
                client
            } else {
                index(server_name).map_err(|p| p.under(&format!("app.{name}.tcp_server")))?
            };
            stacks.insert(&app.tcp, client);
            stacks.insert(server_name, server_stack);
            let machine = app.traffic.build();
            let i = self.apps.len() as u16;
            let listed = scenario.record.apps.as_ref().is_none_or(|list| list.contains(name));
            let rows = app.traffic.rows();
            let series = listed.then_some((scenario.duration, self.bin));
            let first_row = self.core.tally.add_app(name, &app.traffic, rows, series)?;
            let first_path = self.add_paths(i, name, app, node, [client, server_stack], machine.counts())?;
            let state = AppState {
                rng: Rng::named(scenario.seed, &format!("app.{name}")),
                controllers: Rng::named(scenario.seed, &format!("app.{name}.tcp")).bits(),
                timers: Timers::new(scenario.begins(name, app), app.stop.map_or(Time::NEVER, |s| Time(s.0))),
                pending: Time::NEVER,
                first_path,
                rows: Rows::new(first_row, rows),
                opened: 0,
                udp: vec![None; app.to.len()],
            };
            self.core.apps.push(state);
            self.apps.push(AppSlot { machine });
            self.core.arm_app(i);
        }
        Ok(())
    }

    /// The paths of application `i` to each server, there and back; returns the index of the first.
    fn add_paths(
        &mut self,
        i: u16,
        name: &str,
        app: &scenario::App,
        node: &BTreeMap<&str, u16>,
        stacks: [u16; 2],
        counts: bool,
    ) -> Result<u16, Problem> {
        let core = &mut self.core;
        let first = core.paths.len();
        if first + 2 * app.to.len() > usize::from(u16::MAX) {
            let message = "too many servers; expected at most 32767 for all applications together".to_owned();
            return Err(Problem::new(format!("app.{name}.to"), message));
        }
        // rows are added in order, so the last one is of this application, and all of one application have series or none has
        let series = core.tally.rows.last().is_some_and(|row| row.directions[0].series.is_some());
        let [header, server_header] = stacks.map(|stack| core.headers[usize::from(stack)]);
        let reads = stacks.map(|stack| core.stacks[usize::from(stack)].reads_ack_time());
        for server in &app.to {
            let there = Path {
                at: NodeId(node[app.from.as_str()]),
                peer: NodeId(node[server.as_str()]),
                direction: Flags::default(),
                dscp: app.dscp,
                datagram_ecn: app.datagram_ecn(),
                stack: stacks[0],
                peer_header: server_header,
                app: i,
                counts,
                series,
                ack_time: reads[1],
            };
            let (direction, stack) = (Flags::REVERSE, stacks[1]);
            let back = Path {
                at: there.peer,
                peer: there.at,
                direction,
                stack,
                peer_header: header,
                ack_time: reads[0],
                ..there
            };
            core.paths.extend([there, back]);
        }
        Ok(first as u16)
    }
}

fn empty_core<S>(net: Net<S>) -> Core<S> {
    Core {
        net,
        conns: Vec::new(),
        paths: Vec::new(),
        free_slots: Vec::new(),
        stacks: Vec::<TcpParams>::new(),
        headers: Vec::new(),
        apps: Vec::new(),
        app_events: VecDeque::new(),
        deferred_acks: Vec::new(),
        tally: Tally::default(),
        next_port: 1024,
    }
}

/// Packets for which the distribution of the queue's length has a bin of its own.
fn queue_cap(link: &scenario::Link) -> u32 {
    let segments = if let qdisc::Spec::Droptail(p) = &link.queue { u32::from(p.super_segment) } else { 1 };
    match link.queue.limit() {
        Some(Limit::Packets(n)) => n.saturating_mul(segments),
        _ => 4096,
    }
}

/// A link that can be computed at enqueue, if this is one.
fn fast_path(link: &scenario::Link) -> Option<Fifo> {
    let qdisc::Spec::Droptail(p) = &link.queue else { return None };
    let served = link.shaper.is_some() || link.docsis.is_some();
    let random = link.loss.get() > 0.0 || !link.lose.is_empty() || !link.jitter.is_zero() || link.lateness.is_some();
    if served || random || !link.changes.is_empty() || p.drop_head || p.super_segment > 1 {
        return None;
    }
    let short = u64::from(p.ns2_off_by_one);
    let capacity = match p.limit {
        Limit::Packets(n) => Capacity::Packets(n - short as u32),
        Limit::Bytes(b) => Capacity::Bytes(b.0 - short),
        Limit::Time(t) => Capacity::Bytes(link.rate?.bytes_in(t).saturating_sub(short)),
    };
    Some(Fifo::new(link.rate, link.delay, capacity))
}
