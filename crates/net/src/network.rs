//! A scenario with endpoints, run step by step.

use crate::endpoint::{Datagram, Endpoint, Framing, Transmit};
use crate::guard::{Failure, Misbehaviour, Moment, call};
use packet::{Ecn, header};
use record::{Sink, pcap};
use scenario::Scenario;
use scenario::read::{Format, scenario};
use sim::capture::Capture;
use sim::{Outcome, Sinks, Steps, Wake, World};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use traffic::{EndpointParams, Traffic};
use units::{Problem, Time, shown};

/// UDP port of the first endpoint. Each additional endpoint gets the next port.
const FIRST_PORT: u16 = 4433;
/// Maximum number of endpoints.
const MOST_ENDPOINTS: usize = 1000;

/// Builds the sink of a run from its scenario.
type MakeSink<S> = Box<dyn FnOnce(&Scenario) -> Result<S, Problem> + Send>;

/// A scenario's network, with endpoints at its nodes.
///
/// The network is built when it first runs or is forked, or by [`Network::build`]. Endpoints must be added before.
pub struct Network<S: Sink = ()> {
    scenario: Scenario,
    nodes: Vec<String>,
    endpoints: Vec<Place>,
    sink: Option<MakeSink<S>>,
    steps: Steps<S>,
    world: Option<World<S>>,
    /// The latest time up to which the caller has run the network.
    reached: Time,
    failure: Option<Failure>,
    /// The reason why the network cannot be built.
    refused: Option<Problem>,
}

/// An endpoint at its node.
struct Place {
    /// Name of the endpoint's application.
    name: String,
    node: String,
    address: SocketAddr,
    mtu: usize,
    code: Box<dyn Endpoint + Send>,
    framing: Framing,
    /// Index that the simulated world gives to the endpoint's application.
    app: u16,
    /// Indices of the endpoints at other nodes, in the order in which the application's `to` lists their nodes.
    peers: Vec<usize>,
    /// Time of the next wake that is not obsolete; `NEVER` if there is none. The first wake is at the start of the run.
    armed: Time,
    moment: Moment,
}

impl Network {
    /// Creates a network from a scenario in TOML.   Errors: all problems of the scenario.
    pub fn from_toml(text: &str) -> Result<Self, Vec<Problem>> {
        Self::new(scenario(text, Format::Toml, &[])?).map_err(|p| vec![p])
    }

    /// Creates a network from a scenario, without endpoints.   Errors: the scenario is invalid.
    pub fn new(scenario: Scenario) -> Result<Self, Problem> {
        let nodes = scenario.network()?.nodes;
        let sink: MakeSink<()> = Box::new(|_| Ok(()));
        let steps = Steps::unrecorded();
        Ok(Self {
            scenario,
            nodes,
            endpoints: Vec::new(),
            sink: Some(sink),
            steps,
            world: None,
            reached: Time::ZERO,
            failure: None,
            refused: None,
        })
    }

    /// Captures whole packets at both ends of `link`, or of the slowest link if `link` is `None`, with [`sim::capture`].
    /// [`Network::into_sink`] returns the capture.
    #[must_use]
    pub fn capture<W: Write + Send + 'static>(self, link: Option<&str>, files: [W; 2]) -> Network<Capture<W>> {
        let link = link.map(str::to_owned);
        self.with_sink(move |scenario| Capture::new(scenario, link.as_deref(), files, pcap::WHOLE))
    }

    /// Sends the records of the run to the sink that `make` builds.
    #[must_use]
    pub fn with_sink<T: Sink>(self, make: impl FnOnce(&Scenario) -> Result<T, Problem> + Send + 'static) -> Network<T> {
        self.with_steps(Box::new(make), Steps::of_sink())
    }

    /// Sends the records of the run to the [`Sinks`] that `make` builds. Unlike [`Network::with_sink`], this function
    /// uses the event loop that is already compiled in the crate `sim`, so the caller's crate does not compile another
    /// copy.
    #[must_use]
    pub fn record<'a>(
        self,
        make: impl FnOnce(&Scenario) -> Result<Sinks<'a>, Problem> + Send + 'static,
    ) -> Network<Sinks<'a>> {
        self.with_steps(Box::new(make), Steps::recorded())
    }

    fn with_steps<T: Sink>(self, make: MakeSink<T>, steps: Steps<T>) -> Network<T> {
        let Self { scenario, nodes, endpoints, .. } = self;
        let (sink, reached) = (Some(make), Time::ZERO);
        Network { scenario, nodes, endpoints, sink, steps, world: None, reached, failure: None, refused: None }
    }
}

impl<S: Sink> Network<S> {
    /// Returns the address of a node, if there is such a node.
    pub fn address(&self, node: &str) -> Option<Ipv4Addr> {
        let number = self.nodes.iter().position(|name| name == node)?;
        Some(Ipv4Addr::from(0x0a00_0000 | number as u32))
    }

    /// Adds an endpoint at a node, with an MTU of 1500 bytes, and returns its address. Its application is named after the node;
    /// if that name is taken, a number is appended (`client-2`).
    ///
    /// Errors: the node is unknown, there are too many endpoints, or the network has already been built.
    pub fn add_endpoint(
        &mut self,
        node: &str,
        endpoint: impl Endpoint + Send + 'static,
    ) -> Result<SocketAddr, Problem> {
        self.add_named(&self.free_name(node), node, 1500, endpoint)
    }

    /// Returns the name of a node, with a number appended if an application already has this name.
    pub fn free_name(&self, node: &str) -> String {
        let numbered = (2..).map(|n| format!("{node}-{n}"));
        std::iter::once(node.to_owned()).chain(numbered).find(|name| !self.is_taken(name)).unwrap_or_default()
    }

    fn is_taken(&self, name: &str) -> bool {
        self.scenario.app.contains_key(name) || self.endpoints.iter().any(|e| e.name == name)
    }

    /// Adds an endpoint whose application is called `name`, and whose IP packets are at most `mtu` bytes long; returns its
    /// address.
    ///
    /// Errors: those of [`Network::add_endpoint`], or the name is taken.
    pub fn add_named(
        &mut self,
        name: &str,
        node: &str,
        mtu: u16,
        endpoint: impl Endpoint + Send + 'static,
    ) -> Result<SocketAddr, Problem> {
        let refused = |message: String| Err(Problem::new(format!("endpoint.{}", shown(name)), message));
        let Some(ip) = self.address(node) else {
            let known: Vec<&str> = self.nodes.iter().map(String::as_str).collect();
            let hint = scenario::nearest(node, &known).map(|n| format!("; did you mean \"{n}\"?")).unwrap_or_default();
            return refused(format!("unknown node \"{}\"{hint} (known: {})", shown(node), known.join(", ")));
        };
        if self.world.is_some() {
            return refused("the network has already run; add endpoints before".to_owned());
        }
        if self.endpoints.len() == MOST_ENDPOINTS {
            return refused(format!("at most {MOST_ENDPOINTS} endpoints are possible"));
        }
        if self.is_taken(name) {
            return refused("another application has this name".to_owned());
        }
        let address = SocketAddr::new(ip.into(), FIRST_PORT + self.endpoints.len() as u16);
        self.endpoints.push(Place {
            name: name.to_owned(),
            node: node.to_owned(),
            address,
            mtu: usize::from(mtu),
            framing: endpoint.framing(),
            code: Box::new(endpoint),
            app: 0,
            peers: Vec::new(),
            armed: Time::ZERO,
            moment: Moment::default(),
        });
        Ok(address)
    }

    /// Returns the scenario. After [`Network::build`], the scenario contains an application for each endpoint.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Returns the time of the last event.
    pub fn now(&self) -> Time {
        self.world.as_ref().map_or(Time::ZERO, World::now)
    }

    /// Builds the network, unless it is built already.   Errors: the first problem of the endpoints, the scenario or the
    /// sink.
    pub fn build(&mut self) -> Result<(), Problem> {
        if let Some(problem) = &self.refused {
            return Err(problem.clone());
        }
        let Some(make) = self.sink.take() else { return Ok(()) };
        let built = self.build_with(make);
        self.refused = built.as_ref().err().cloned();
        built
    }

    fn build_with(&mut self, make: MakeSink<S>) -> Result<(), Problem> {
        for i in 0..self.endpoints.len() {
            let own = &self.endpoints[i];
            let others = |e: &Place| e.node != own.node;
            let peers: Vec<usize> = (0..self.endpoints.len()).filter(|j| others(&self.endpoints[*j])).collect();
            let of = |j: &usize| &self.endpoints[*j];
            let app = app(own, peers.iter().map(of).collect::<Vec<_>>().as_slice())?;
            self.scenario.app.insert(own.name.clone(), app);
            self.endpoints[i].peers = peers;
        }
        let world = (self.steps.build)(&self.scenario, make(&self.scenario)?)?;
        for endpoint in &mut self.endpoints {
            endpoint.app = world.app_index(&endpoint.name).unwrap_or_default();
        }
        self.world = Some(world);
        Ok(())
    }

    /// Runs until `t`, or until the end of the scenario if that is earlier. All events up to `t` are processed. Does
    /// nothing if `t` has passed.
    ///
    /// Errors: an endpoint misbehaved, so the run has ended. Every later call returns the same error.
    ///
    /// Panics if the network cannot be built. [`Network::build`] returns the problem instead.
    pub fn run_until(&mut self, t: Time) -> Result<(), Failure> {
        self.build().unwrap_or_else(|problem| panic!("the network cannot be built: {problem}"));
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let Some(world) = &mut self.world else { return Ok(()) };
        while (self.steps.run_to_wake)(world, t) {
            for wake in world.take_wakes() {
                if let Err((i, Misbehaviour { method, action })) =
                    wake_one(world, &self.steps, &mut self.endpoints, wake)
                {
                    let endpoint = self.endpoints[i].name.clone();
                    let failure = Failure { endpoint, at: world.now(), method, action };
                    (self.steps.stop)(world);
                    self.failure = Some(failure.clone());
                    return Err(failure);
                }
            }
        }
        self.reached = self.reached.max(t);
        if t >= Time(self.scenario.duration.0 - 1) {
            (self.steps.finish_if_done)(world);
        }
        Ok(())
    }

    /// Runs to the end of the scenario.   Errors and panics: those of [`Network::run_until`].
    pub fn run(&mut self) -> Result<(), Failure> {
        self.run_until(Time::NEVER)
    }

    /// Returns the result of the run so far, with the summary and the tables that every run has. If a misbehaving
    /// endpoint has ended the run, the result covers the time until then. Returns `None` before the network is built.
    pub fn outcome(&self) -> Option<Outcome> {
        Some(self.world.as_ref()?.outcome_at(&self.scenario, self.reached))
    }

    /// Returns the sink of the run, for example its capture; `None` before the network is built.
    pub fn into_sink(self) -> Option<S> {
        Some(self.world?.into_sink())
    }
}

impl<S: Sink + Clone> Network<S> {
    /// Returns a second network in the same state, which shares nothing with this one. Builds the network, if it is not
    /// built yet.
    ///
    /// Errors: those of [`Network::build`]; an endpoint does not implement [`Endpoint::fork`], or panics in `fork`.
    pub fn fork(&mut self) -> Result<Self, Problem> {
        let copied = |place: &Place| {
            let copy = call("fork", || place.code.fork()).map_err(|misbehaviour| misbehaviour.action);
            let copy = copy.and_then(|copy| {
                copy.ok_or_else(|| "this stack cannot be forked; implement Endpoint::fork".to_owned())
            });
            copy.map_err(|action| Problem::new(format!("endpoint.{}", shown(&place.name)), action))
        };
        let copies = self.endpoints.iter().map(copied).collect::<Result<_, _>>()?;
        self.fork_with(copies)
    }

    /// Like [`Network::fork`], but the caller supplies the copies of the endpoints, in the order in which the endpoints
    /// were added.
    ///
    /// Errors: those of [`Network::build`].   Panics if the number of copies differs from the number of endpoints.
    pub fn fork_with(&mut self, copies: Vec<Box<dyn Endpoint + Send>>) -> Result<Self, Problem> {
        assert_eq!(copies.len(), self.endpoints.len(), "a copy of each endpoint");
        self.build()?;
        let places = self.endpoints.iter().zip(copies).map(|(own, code)| Place {
            name: own.name.clone(),
            node: own.node.clone(),
            peers: own.peers.clone(),
            code,
            ..*own
        });
        Ok(Self {
            scenario: self.scenario.clone(),
            nodes: self.nodes.clone(),
            endpoints: places.collect(),
            sink: None,
            steps: self.steps,
            world: self.world.clone(),
            reached: self.reached,
            failure: self.failure.clone(),
            refused: self.refused.clone(),
        })
    }
}

/// Returns the application that represents an endpoint in the scenario.
fn app(own: &Place, peers: &[&Place]) -> Result<scenario::App, Problem> {
    let at = || format!("endpoint.{}", shown(&own.name));
    if peers.is_empty() {
        return Err(Problem::new(at(), "there is no endpoint at another node; add one that it can reach"));
    }
    let ports = peers.iter().map(|peer| peer.address.port()).collect();
    let params =
        EndpointParams { mtu: units::Bytes(own.mtu as u64), ..EndpointParams::supplied(own.address.port(), ports) };
    let nodes: Vec<&str> = peers.iter().map(|peer| peer.node.as_str()).collect();
    // missing keys get the same defaults as in a scenario file. The code of an endpoint is first called at the start of
    // the run, so the scenario's `start_spread` does not apply
    let tree = serde_json::json!({
        "from": own.node, "to": nodes, "start_spread": "0s", "traffic": { "endpoint": &params },
    });
    let mut app = scenario::read::app(tree).map_err(|p| Problem::new(at(), p.to_string()))?;
    app.traffic = Traffic::Endpoint(params);
    Ok(app)
}

/// Calls the endpoint that receives the datagram of `wake` or, if there is no datagram, the endpoint that the
/// wake is for. Ignores an obsolete wake.
///
/// Errors: an endpoint misbehaved. The error holds the endpoint's index and the misbehaviour.
fn wake_one<S: Sink>(
    world: &mut World<S>,
    steps: &Steps<S>,
    all: &mut [Place],
    wake: Wake,
) -> Result<(), (usize, Misbehaviour)> {
    let index = |app: u16| all.iter().position(|e| e.app == app).unwrap_or_default();
    let now = world.now();
    let (to, datagram) = match wake {
        Wake::Due { app } => (index(app), None),
        Wake::Datagram { app, peer, ecn, mut bytes } => {
            let sender = &all[index(app)];
            if sender.framing == Framing::Ipv4 {
                write_ecn(&mut bytes, ecn);
            }
            (sender.peers[usize::from(peer)], Some(Datagram { from: sender.address, ecn, bytes }))
        }
    };
    let is_due = datagram.is_none();
    if let Some(datagram) = datagram {
        call("handle", || all[to].code.handle(now, datagram)).map_err(|misbehaviour| (to, misbehaviour))?;
    } else if all[to].armed != now {
        // this wake is obsolete: wakes cannot be cancelled, and an earlier wake was scheduled in the meantime
        return Ok(());
    } else {
        all[to].armed = Time::NEVER;
    }
    serve(world, steps, all, to, is_due).map_err(|misbehaviour| (to, misbehaviour))
}

/// Sends the datagrams of endpoint `i`, handles its timeouts that are due, and schedules its next wake. If `is_due` is
/// true, the first timeout is handled before any datagram is sent; otherwise, datagrams are sent first.
fn serve<S: Sink>(
    world: &mut World<S>,
    steps: &Steps<S>,
    all: &mut [Place],
    i: usize,
    is_due: bool,
) -> Result<(), Misbehaviour> {
    let now = world.now();
    let mut fire = is_due && next_timeout(&mut all[i])?.is_some_and(|at| at <= now);
    // bounded: at most MOST_TIMEOUTS timeouts at one moment
    loop {
        if fire {
            all[i].moment.timeout(now)?;
            call("on_timeout", || all[i].code.on_timeout(now))?;
        }
        // bounded: at most MOST_SENT datagrams at one moment
        while let Some(transmit) = call("poll_transmit", || all[i].code.poll_transmit(now))? {
            all[i].moment.sent(now)?;
            send(world, steps, all, i, transmit).map_err(|action| Misbehaviour::new("poll_transmit", action))?;
        }
        let Some(at) = next_timeout(&mut all[i])? else { return Ok(()) };
        fire = at <= now;
        if !fire {
            let endpoint = &mut all[i];
            if at < endpoint.armed {
                endpoint.armed = at;
                (steps.wake_at)(world, endpoint.app, at);
            }
            return Ok(());
        }
    }
}

fn next_timeout(endpoint: &mut Place) -> Result<Option<Time>, Misbehaviour> {
    call("next_timeout", || endpoint.code.next_timeout())
}

/// Sends a datagram of endpoint `i`.   Errors: the datagram cannot be sent. The error becomes [`Failure::action`].
fn send<S: Sink>(
    world: &mut World<S>,
    steps: &Steps<S>,
    all: &[Place],
    i: usize,
    transmit: Transmit,
) -> Result<(), String> {
    let Transmit { to, ecn, mut bytes } = transmit;
    let own = &all[i];
    let size = bytes.len() + own.framing.headers();
    if size > own.mtu {
        return Err(format!("sent an IP packet of {size} bytes, more than the MTU of {} bytes", own.mtu));
    }
    if own.framing == Framing::Ipv4 {
        if header::parse(&bytes).is_none() || bytes[0] >> 4 != 4 {
            return Err(format!("sent {size} bytes that are not an IPv4 packet"));
        }
        write_ecn(&mut bytes, ecn);
    }
    let is = |address: SocketAddr| match own.framing {
        Framing::Udp => address == to,
        Framing::Ipv4 => address.ip() == to.ip(),
    };
    let Some(peer) = own.peers.iter().position(|peer| is(all[*peer].address)) else {
        return Err(format!("sent a datagram to {to}, but no endpoint of another node has this address"));
    };
    let ports = (own.address.port(), all[own.peers[peer]].address.port());
    (steps.send_bytes)(world, own.app, peer, ports, ecn, size as u16, bytes);
    Ok(())
}

/// Writes the ECN field of an IPv4 packet.
fn write_ecn(packet: &mut [u8], ecn: Ecn) {
    let tos = packet[1] & !3 | ecn as u8;
    if tos != packet[1] {
        header::set_tos(packet, tos);
    }
}
