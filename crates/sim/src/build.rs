//! Builds a world from a scenario.

use crate::chain::{self, Role};
use crate::codec::Bodies;
use crate::conn::Path;
use crate::engine::{AppState, Engine};
use crate::event::{Events, Target};
use crate::link::{self, Carrier};
use crate::net::Net;
use crate::pages;
use crate::segment_tags::SegmentTags;
use crate::tsq::{self, Tsq};
use crate::world::{CATCH_UP, World};
use measure::Tally;
use packet::{Flags, FlowTable, NodeId};
use port::{Carries, Port, Service};
use record::{Mask, Sink};
use scenario::{NetworkApp, Scenario, Task};
use std::collections::VecDeque;
use std::ops::Range;
use tcp::{Segment, TcpParams};
use traffic::{Application, Arrivals, Timers};
use units::{Problem, Rng, Time};

impl World<()> {
    /// Builds a world without a sink. Such a world computes the measures and records nothing else. Its state can be
    /// read at any time, but links that form chains cannot be changed.
    ///
    /// Errors: the first problem found in the scenario; an external algorithm that has not been supplied; a trace that
    /// has not been read.
    pub fn build(scenario: &Scenario) -> Result<Self, Problem> {
        World::with_sink(scenario, ())
    }

    /// Builds a world without a sink, for a run that the caller may pause and whose links the caller may
    /// change.   Errors: those of [`World::build`].
    pub fn build_driven(scenario: &Scenario) -> Result<Self, Problem> {
        let (mut world, schedule) = Self::unscheduled(scenario, (), false)?;
        world.schedule(&schedule, Time::ZERO..Time::NEVER);
        Ok(world)
    }
}

/// The events that are known before the run: the tasks of a scenario and the start times of its applications.
pub(crate) struct Schedule {
    /// The link changes and the end of the warm-up, latest first.
    tasks: Vec<(Time, Task)>,
    /// The applications' start times.
    pub starts: Vec<Time>,
}

impl<S: Sink> World<S> {
    /// Builds a world whose records go to `sink`.
    ///
    /// If `sink` requests records of any kind, captures packets, or reads the state of links and senders, plain links
    /// do not use their fast path. This does not change the results, except the number of events.
    pub fn with_sink(scenario: &Scenario, sink: S) -> Result<Self, Problem> {
        let (mut world, schedule) = Self::unscheduled(scenario, sink, true)?;
        world.schedule(&schedule, Time::ZERO..Time::NEVER);
        Ok(world)
    }

    /// Schedules the tasks and the starts of applications that fall within `during`. All tasks and starts before
    /// `during` must have happened already.
    pub(crate) fn schedule(&mut self, schedule: &Schedule, during: Range<Time>) {
        debug_assert!(self.tasks.is_empty(), "an earlier task has not happened");
        let events = &mut self.engine.net.events;
        for task in schedule.tasks.iter().filter(|(at, _)| during.contains(at)) {
            self.tasks.push(*task);
            events.push_ranked(task.0, 1, Target::Clock);
        }
        for (i, at) in schedule.starts.iter().enumerate().filter(|(_, at)| during.contains(at)) {
            self.engine.apps[i].pending = *at;
            events.push_ranked(*at, 2 + i, Target::App(i as u16));
        }
    }

    /// Builds a world in which no tasks or application starts are scheduled yet. If `chains` is true, links may form
    /// chains, and the caller cannot change the links of a chain.
    pub(crate) fn unscheduled(scenario: &Scenario, sink: S, chains: bool) -> Result<(Self, Schedule), Problem> {
        let network = scenario.network()?;
        for (name, stack) in &scenario.tcp {
            stack.ready().map_err(|p| p.under(name).under("tcp"))?;
        }
        let end = Time(scenario.duration.0);
        let bin = scenario.bin();

        let tasks = network.tasks(scenario.record.warm_up);
        let mut built = Vec::new();
        let observed = sink.mask() != Mask::NONE || sink.packets() || sink.probes();
        let tsq_nodes = tsq::nodes(&network);
        let roles = chain::roles(&network, &tsq_nodes, link::lasting_kind);
        let fed = chain::roles(&network, &tsq_nodes, link::kind);
        let first = network.links.iter().zip(&fed).map(|(link, role)| role.fed || link::has_bucket(link)).collect();
        for (i, link) in network.links.iter().enumerate() {
            let counted = tsq_nodes.contains(&link.from);
            let role = if chains { roles[i] } else { Role::default() };
            built.push(link::build(link, i as u16, scenario, observed || counted, chains, role)?);
        }
        let numbers = |which: fn(&Carrier) -> bool| {
            (0..).zip(&built).filter(|(_, link)| which(&link.carrier)).map(|(i, _)| i).collect()
        };
        let ports = numbers(|carrier| matches!(carrier, Carrier::Port { .. }));
        let chained = numbers(|carrier| matches!(carrier, Carrier::Chained(_)));
        let opportunities = network.links.iter().any(|link| matches!(link.port.service, Service::Delivery(_)));
        let duplicates = built.iter().any(|link| link.carrier.port().is_some_and(Port::may_duplicate));
        let net = Net {
            events: Events::new(first, |i| built[i].carrier.has_arrivals()),
            links: built,
            routes: network.routes,
            bodies: Bodies::default(),
            tags: SegmentTags::default(),
            flows: FlowTable::default(),
            sink,
            flow_drops: Vec::new(),
            sent: Vec::new(),
            arrived: Vec::new(),
            ports,
            chained,
            tsq: Tsq::default(),
            queue_delays: Vec::new(),
            arrivals: duplicates.then(Arrivals::default),
        };
        let mut world = Self {
            apps: Vec::new(),
            engine: engine(net, network.stacks),
            end,
            over: false,
            bin,
            next_sample: if bin.is_zero() { Time::NEVER } else { end.min(Time(bin.0)) },
            next_catch_up: if opportunities { Time(CATCH_UP.0) } else { Time::NEVER },
            tasks: Vec::new(),
        };
        world.engine.tally.warm_up = Time(scenario.record.warm_up.0);
        world.engine.tally.load = scenario.load();
        world.engine.tally.known.ce_packets = world.engine.stacks.iter().any(|stack| stack.ecn.ecn)
            || network.apps.iter().any(|app| app.declared.traffic.has_own_ecn());
        world.add_apps(scenario, &network.apps)?;
        world.engine.conns = pages::table(world.engine.tally.rows.len());
        world.schedule_sample();
        if opportunities {
            world.engine.net.events.push(world.next_catch_up, Target::Clock);
        }
        Ok((world, Schedule { tasks, starts: network.apps.iter().map(|app| app.start).collect() }))
    }

    fn add_apps(&mut self, scenario: &Scenario, apps: &[NetworkApp]) -> Result<(), Problem> {
        for (i, app) in apps.iter().enumerate() {
            let traffic = &app.declared.traffic;
            traffic.ready().map_err(|p| p.under("traffic").under(&app.name).under("app"))?;
            let machine = traffic.build();
            let rows = traffic.rows();
            let series = app.recorded.then_some((scenario.duration, self.bin));
            self.engine.tally.add_app(&app.name, traffic, rows, series)?;
            let first_path = self.add_paths(i as u16, app, machine.counts())?;
            self.engine.apps.push(AppState {
                rng: app.rng.clone(),
                controllers: Rng::named(scenario.seed, &format!("app.{}.tcp", app.name)).bits(),
                timers: Timers::new(app.start, app.stop),
                pending: Time::NEVER,
                first_path,
                opened: 0,
                udp: vec![None; app.to.len()],
            });
            self.apps.push(machine);
        }
        Ok(())
    }

    /// Adds the forward and reverse paths between the client of application `i` and each of its servers; returns the
    /// index of the first path. `counts` is the value of [`Path::counts`] for all these paths.
    fn add_paths(&mut self, i: u16, app: &NetworkApp, counts: bool) -> Result<u16, Problem> {
        let engine = &mut self.engine;
        let first = engine.paths.len();
        if first + 2 * app.to.len() > usize::from(u16::MAX) {
            let message = "too many servers; expected at most 32767 for all applications together".to_owned();
            return Err(Problem::new(format!("app.{}.to", app.name), message));
        }
        // the last row belongs to this application, because the application's rows have just been added. Either all
        // rows of an application have series, or none of them has
        let series = engine.tally.rows.last().is_some_and(|row| row.directions[0].series.is_some());
        let [header, server_header] = app.stacks.map(|stack| engine.headers[usize::from(stack)]);
        let reads = app.stacks.map(|stack| engine.stacks[usize::from(stack)].reads_ack_time());
        for server in &app.to {
            let forward = Path {
                at: NodeId(app.from),
                peer: NodeId(*server),
                direction: Flags::default(),
                dscp: app.declared.dscp,
                datagram_ecn: app.declared.datagram_ecn(),
                stack: app.stacks[0],
                peer_header: server_header,
                app: i,
                counts,
                series,
                ack_time: reads[1],
            };
            let (direction, stack) = (Flags::REVERSE, app.stacks[1]);
            let reverse = Path {
                at: forward.peer,
                peer: forward.at,
                direction,
                stack,
                peer_header: header,
                ack_time: reads[0],
                ..forward
            };
            engine.paths.extend([forward, reverse]);
        }
        Ok(first as u16)
    }
}

/// Builds the engine without applications.
fn engine<S>(net: Net<S>, stacks: Vec<TcpParams>) -> Engine<S> {
    Engine {
        net,
        conns: Vec::new(),
        paths: Vec::new(),
        free_slots: Vec::new(),
        draining_slots: VecDeque::new(),
        headers: stacks.iter().map(|stack| stack.wire.packet_size(&Segment::default())).collect(),
        stacks,
        apps: Vec::new(),
        app_events: VecDeque::new(),
        deferred_acks: Vec::new(),
        tally: Tally::default(),
        next_port: 1024,
        wakes: Vec::new(),
    }
}
