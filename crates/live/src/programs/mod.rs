//! The scenario's applications over kernel sockets.
//!
//! The machines are those of `traffic`, the same that the simulator runs; here their host is the kernel. `open` is a
//! non-blocking connect from the client's address in its namespace to the server's in the other, `write` is a byte counter
//! that is sent as the socket takes it, `received` is what a read returns, `close` is a FIN, `datagram` is a UDP packet that
//! carries its number and the moment at which it was sent. `ping` is ICMP echo over the kernel's ping sockets, answered by
//! the far kernel; its round trip is taken between the system calls, not by the machine.
//!
//! One thread serves all sockets of both namespaces: a socket belongs to the namespace in which its thread was when it was
//! made, wherever it is used.
//!
//! Departs: what the kernel keeps to itself is not counted (`fast_recoveries`); the way back of a failed connection is a
//! reset.

mod conn;
mod host;
mod page;

use crate::clock::Clock;
use crate::ends::{Claim, Owner, Ports};
use crate::link::Shared;
use crate::plan::{AppPlan, Plan, Side};
use crate::space::Space;
use crate::tun::v4;
use conn::{Conn, End};
use host::LiveHost;
use measure::{Rows, Tally};
use packet::FlowId;
use page::Pages;
use rustix::event::{Timespec, epoll};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, ipproto};
use scenario::Scenario;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use traffic::{Application, ConnId, Timers};
use units::{Duration, Rng, Time};

/// Most bytes that one read takes.
const READ: usize = 256 * 1024;

/// Shortest time between two samples of TCP_INFO.
const SAMPLE: Duration = Duration::from_millis(10);

/// Waiting connections of a listener.
const BACKLOG: i32 = 4096;

/// What an event of epoll is about: kind in the top byte, index below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// Listener of (application, server).
    Listener(usize),
    /// Connection, end.
    Conn(usize, usize),
    /// Datagram socket of (application, server), end.
    Datagram(usize, usize),
    /// Listener of the page server.
    PageListener(usize),
    /// A client of the page server.
    Page(usize),
}

impl Token {
    fn pack(self) -> epoll::EventData {
        let (kind, index, end) = match self {
            Self::Listener(i) => (0u64, i, 0),
            Self::Conn(i, end) => (1, i, end),
            Self::Datagram(i, end) => (2, i, end),
            Self::PageListener(i) => (3, i, 0),
            Self::Page(i) => (4, i, 0),
        };
        epoll::EventData::new_u64(kind << 56 | (index as u64) << 1 | end as u64)
    }

    fn unpack(data: u64) -> Self {
        let (index, end) = ((data << 8 >> 9) as usize, (data & 1) as usize);
        match data >> 56 {
            0 => Self::Listener(index),
            1 => Self::Conn(index, end),
            2 => Self::Datagram(index, end),
            3 => Self::PageListener(index),
            _ => Self::Page(index),
        }
    }
}

/// What an application is to be told once the call that caused it is over.
#[derive(Clone, Copy, Debug)]
enum AppEvent {
    Connected(ConnId, traffic::Side),
    Received(ConnId, traffic::Side, u64),
    Datagram(traffic::Side, u64),
    Closed(ConnId),
}

/// One server of one application.
struct Service {
    app: usize,
    /// Where it listens.
    at: SocketAddrV4,
    listener: Option<OwnedFd>,
    /// Client's and server's datagram socket, made when first used.
    datagram: [Option<OwnedFd>; 2],
    /// Row of its datagrams.
    row: u32,
    /// Pings instead of datagrams.
    echo: bool,
}

/// What the host keeps for an application.
struct AppState {
    plan: AppPlan,
    rng: Rng,
    /// First of its services.
    services: usize,
    timers: Timers,
    rows: Rows,
    opened: u32,
    counts: bool,
}

/// Everything but the machines.
pub(crate) struct Core {
    clock: Clock,
    /// The moment of the event that is being handled.
    now: Time,
    spaces: [Space; 2],
    inside: Option<Side>,
    side: Vec<Option<Side>>,
    epoll: OwnedFd,
    claims: Sender<Claim>,
    services: Vec<Service>,
    conns: Vec<Option<Conn>>,
    free: Vec<u32>,
    generation: Vec<u32>,
    /// Connections that wait to be accepted, by (service, client's port).
    awaited: BTreeMap<(usize, u16), u32>,
    apps: Vec<AppState>,
    app_events: VecDeque<(usize, AppEvent)>,
    /// The round trip of the echo reply that is being handled.
    echo_rtt: Option<Duration>,
    pub(crate) tally: Tally,
    buffer: Vec<u8>,
}

/// The applications and their host.
pub(crate) struct Programs {
    pub(crate) machines: Vec<traffic::App>,
    pub(crate) core: Core,
    pages: Pages,
    next_sample: Time,
    bin: Duration,
}

impl Programs {
    /// Opens every listener. Call it on the thread that will run it.   Errors: a socket that cannot be made.
    pub fn new(
        scenario: &Scenario,
        plan: &Plan,
        spaces: [Space; 2],
        clock: Clock,
        duration: Duration,
        claims: Sender<Claim>,
    ) -> io::Result<Self> {
        crate::fault::at("programs")?;
        let bin = scenario.bin();
        let mut core = Core {
            clock,
            now: Time::ZERO,
            spaces,
            inside: None,
            side: plan.side.clone(),
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            claims,
            services: Vec::new(),
            conns: Vec::new(),
            free: Vec::new(),
            generation: Vec::new(),
            awaited: BTreeMap::new(),
            apps: Vec::new(),
            app_events: VecDeque::new(),
            echo_rtt: None,
            tally: crate::ends::tally(scenario, plan, duration).map_err(|p| io::Error::other(p.to_string()))?,
            buffer: vec![0; READ],
        };
        let mut machines = Vec::new();
        for (i, app) in plan.apps.iter().enumerate() {
            let machine = app.placed.declared.traffic.build();
            core.add(i, app, &machine)?;
            machines.push(machine);
        }
        let mut pages = Pages::default();
        for side in Side::BOTH {
            core.enter(side)?;
            pages.listen(&core.epoll, &plan.hosts(side))?;
        }
        Ok(Self { machines, core, pages, next_sample: Time(bin.max(SAMPLE).0), bin: bin.max(SAMPLE) })
    }

    /// Serves until told to stop, or until `end`.
    pub fn run(&mut self, end: Time, shared: &Shared) -> io::Result<()> {
        crate::sys::sharp_timers();
        let mut events = Vec::with_capacity(256);
        while !shared.stop.load(Ordering::Relaxed) {
            let now = self.core.clock.now();
            if now >= end {
                break;
            }
            self.fire(now);
            if now >= self.next_sample {
                self.core.sample(now);
                // bins that were missed stay empty
                self.next_sample = Time((now.0 / self.bin.0 + 1) * self.bin.0);
            }
            let next = self.core.next_timer().0.min(self.next_sample).min(end);
            let wait = next.since(self.core.clock.now()).0.min(100_000_000);
            let wait = Timespec { tv_sec: 0, tv_nsec: wait as _ };
            match epoll::wait(&self.core.epoll, rustix::buffer::spare_capacity(&mut events), Some(&wait)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
            for event in events.drain(..) {
                let data = event.data;
                self.event(Token::unpack(data.u64()), event.flags);
            }
        }
        let now = self.core.clock.now().min(end);
        self.core.finish(now);
        Ok(())
    }

    /// Timers that are due, by moment, then by application. Bound: those that were set before `now`, each once.
    fn fire(&mut self, now: Time) {
        loop {
            let (at, app) = self.core.next_timer();
            if at > now {
                return;
            }
            // what a machine does at its start or timer happens at the moment for which it was set
            self.core.now = at;
            self.core.begin_if_due();
            if let Some((_, due)) = self.core.apps[app].timers.take(at) {
                due.call(&mut self.machines[app], &mut LiveHost { core: &mut self.core, app });
            }
            self.notify();
        }
    }

    fn event(&mut self, token: Token, flags: epoll::EventFlags) {
        self.core.now = self.core.clock.now();
        self.core.begin_if_due();
        match token {
            Token::Listener(service) => self.core.accept(service),
            Token::Conn(slot, end) => self.core.ready(slot, end, flags),
            Token::Datagram(service, end) => {
                // each datagram is told before the next is read: an echo's round trip belongs to it alone
                while let Some((app, event)) = self.core.datagram_in(service, end) {
                    self.core.app_events.push_back((app, event));
                    self.notify();
                }
            }
            Token::PageListener(i) => self.pages.accept(&self.core.epoll, i),
            Token::Page(i) => self.pages.ready(i, &mut self.core.buffer),
        }
        self.notify();
    }

    /// Tells applications what has happened. Bound: an event comes of a system call's answer, or ends a connection.
    fn notify(&mut self) {
        while let Some((app, event)) = self.core.app_events.pop_front() {
            let counts = self.core.apps[app].counts;
            let host = &mut LiveHost { core: &mut self.core, app };
            let machine = &mut self.machines[app];
            match event {
                AppEvent::Connected(conn, side) => machine.connected(conn, side, host),
                AppEvent::Received(conn, side, bytes) if counts => machine.received(conn, side, bytes, host),
                AppEvent::Datagram(side, number) if counts => machine.datagram_received(side, number, host),
                AppEvent::Received(..) | AppEvent::Datagram(..) => {}
                AppEvent::Closed(conn) => {
                    self.core.forget(conn);
                    let host = &mut LiveHost { core: &mut self.core, app };
                    machine.closed(conn, host);
                }
            }
        }
    }
}

fn tcp_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?)
}

fn watch(poll: &OwnedFd, fd: &OwnedFd, token: Token, flags: epoll::EventFlags) -> io::Result<()> {
    Ok(epoll::add(poll, fd, token.pack(), flags)?)
}

impl Core {
    fn add(&mut self, i: usize, app: &AppPlan, machine: &traffic::App) -> io::Result<()> {
        let traffic = &app.placed.declared.traffic;
        let (first_row, rows) = (self.tally.apps[i].first_row, self.tally.apps[i].rows);
        let services = self.services.len();
        for (to, port) in app.placed.to.iter().zip(&app.ports) {
            let at = SocketAddrV4::new(v4(to + 1), *port);
            let echo = traffic.name() == "ping";
            let listener = if crate::plan::is_udp(traffic) { None } else { Some(self.listen(*to, at, app)?) };
            if let Some(listener) = &listener {
                watch(&self.epoll, listener, Token::Listener(self.services.len()), epoll::EventFlags::IN)?;
            }
            self.services.push(Service { app: i, at, listener, datagram: [None, None], row: 0, echo });
        }
        self.apps.push(AppState {
            plan: app.clone(),
            rng: app.placed.rng.clone(),
            services,
            timers: Timers::new(app.placed.start, app.placed.stop),
            rows: Rows::new(first_row, rows),
            opened: 0,
            counts: machine.counts(),
        });
        Ok(())
    }

    /// Moves this thread into the namespace of `side`.
    fn enter(&mut self, side: Side) -> io::Result<()> {
        if self.inside != Some(side) {
            self.spaces[side.index()].enter()?;
            self.inside = Some(side);
        }
        Ok(())
    }

    fn enter_node(&mut self, node: u16) -> io::Result<()> {
        self.enter(self.side[usize::from(node)].unwrap_or(Side::Left))
    }

    fn listen(&mut self, node: u16, at: SocketAddrV4, app: &AppPlan) -> io::Result<OwnedFd> {
        self.enter_node(node)?;
        let fd = tcp_socket()?;
        congestion(&fd, &app.congestion[1])?;
        net::sockopt::set_ip_tos(&fd, app.placed.declared.dscp << 2)?;
        net::bind(&fd, &at)?;
        net::listen(&fd, BACKLOG)?;
        Ok(fd)
    }

    /// The row of a new flow, and its number in its application.
    fn take_row(&mut self, app: usize) -> (u32, u32) {
        let state = &mut self.apps[app];
        state.opened += 1;
        (state.rows.take(), state.opened)
    }

    /// The first timer of all applications: its moment, and whose it is.
    fn next_timer(&self) -> (Time, usize) {
        self.apps.iter().enumerate().map(|(i, app)| (app.timers.next(), i)).min().unwrap_or((Time::NEVER, 0))
    }

    /// Tells the bench whose packets these ports' are; before the first of them.
    fn claim(&self, protocol: u8, client: u16, server: u16, app: usize, row: u32, number: u32) {
        let owner = Owner { app: app as u16, row, number };
        // the bench is gone only when the run is over
        let _ = self.claims.send((Ports { protocol, client, server }, owner));
    }

    fn open(&mut self, app: usize, peer: usize) -> ConnId {
        let (row, number) = self.take_row(app);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.conns.push(None);
            self.generation.push(0);
            (self.conns.len() - 1) as u32
        });
        self.generation[slot as usize] = (self.generation[slot as usize] + 1) & 0xfff;
        let id = ConnId(slot | self.generation[slot as usize] << 20);
        let service = self.apps[app].services + peer;
        let mut conn = Conn { id, app, service, row, port: 0, ends: [End::default(), End::default()] };
        match self.connect(slot as usize, &mut conn, number) {
            Ok(()) => {
                self.tally.rows[row as usize].latest = FlowId(id.0);
                self.conns[slot as usize] = Some(conn);
            }
            Err(_) => {
                self.conns[slot as usize] = Some(conn);
                self.app_events.push_back((app, AppEvent::Closed(id)));
            }
        }
        id
    }

    fn connect(&mut self, slot: usize, conn: &mut Conn, number: u32) -> io::Result<()> {
        let state = &self.apps[conn.app];
        let (node, dscp, cc) =
            (state.plan.placed.from, state.plan.placed.declared.dscp, state.plan.congestion[0].clone());
        self.enter_node(node)?;
        let fd = tcp_socket()?;
        congestion(&fd, &cc)?;
        net::sockopt::set_ip_tos(&fd, dscp << 2)?;
        net::bind(&fd, &SocketAddrV4::new(v4(node + 1), 0))?;
        let local = SocketAddrV4::try_from(net::getsockname(&fd)?)?;
        conn.port = local.port();
        let at = self.services[conn.service].at;
        self.claim(6, conn.port, at.port(), conn.app, conn.row, number);
        match net::connect(&fd, &at) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(e) => return Err(e.into()),
        }
        self.awaited.insert((conn.service, conn.port), slot as u32);
        watch(&self.epoll, &fd, Token::Conn(slot, 0), epoll::EventFlags::IN | epoll::EventFlags::OUT)?;
        conn.ends[0].socket = Some(fd);
        Ok(())
    }

    fn accept(&mut self, service: usize) {
        // bound: the connections that wait
        loop {
            let Some(listener) = &self.services[service].listener else { return };
            let Ok(fd) = net::accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) else { return };
            let peer = net::getpeername(&fd).ok().flatten().and_then(|a| SocketAddrV4::try_from(a).ok());
            // of a client that has given up meanwhile
            let Some(slot) = peer.and_then(|p| self.awaited.remove(&(service, p.port()))) else { continue };
            let slot = slot as usize;
            let Some(conn) = &mut self.conns[slot] else { continue };
            if watch(&self.epoll, &fd, Token::Conn(slot, 1), epoll::EventFlags::IN).is_err() {
                continue;
            }
            let end = &mut conn.ends[1];
            (end.socket, end.connected) = (Some(fd), true);
            let (app, id) = (conn.app, conn.id);
            self.app_events.push_back((app, AppEvent::Connected(id, traffic::Side::Server)));
            self.push(slot, 1);
        }
    }

    /// The socket of (service, end) for datagrams.
    fn datagram_socket(&mut self, service: usize, end: usize) -> io::Result<()> {
        if self.services[service].datagram[end].is_some() {
            return Ok(());
        }
        let Service { app, at, echo, .. } = self.services[service];
        let state = &self.apps[app];
        let placed = &state.plan.placed;
        let (from, tos) = (placed.from, placed.declared.dscp << 2 | placed.declared.datagram_ecn());
        let to = placed.to[service - state.services];
        let client = SocketAddrV4::new(v4(from + 1), 0);
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let protocol = if echo { Some(ipproto::ICMP) } else { None };
        // the server's socket first: a datagram must not find its port closed
        for side in [1, 0] {
            if side == 1 && echo {
                continue;
            }
            self.enter_node(if side == 1 { to } else { from })?;
            let fd = net::socket_with(AddressFamily::INET, SocketType::DGRAM, flags, protocol)?;
            net::sockopt::set_ip_tos(&fd, tos)?;
            net::bind(&fd, if side == 1 { &at } else { &client })?;
            watch(&self.epoll, &fd, Token::Datagram(service, side), epoll::EventFlags::IN)?;
            self.services[service].datagram[side] = Some(fd);
        }
        let [Some(client), server] = &self.services[service].datagram else { return Ok(()) };
        let local = SocketAddrV4::try_from(net::getsockname(client)?)?;
        net::connect(client, &SocketAddrV4::new(*at.ip(), if echo { 0 } else { at.port() }))?;
        if let Some(server) = server {
            net::connect(server, &local)?;
        }
        let (row, number) = self.take_row(app);
        match echo {
            true => self.claim(1, local.port(), local.port(), app, row, number),
            false => self.claim(17, local.port(), at.port(), app, row, number),
        }
        self.services[service].row = row;
        Ok(())
    }
}

/// Sets the congestion control of a socket.   Errors: the kernel does not let this namespace have it.
fn congestion(fd: &OwnedFd, name: &str) -> io::Result<()> {
    net::sockopt::set_tcp_congestion(fd, name).map_err(|e| {
        let e = io::Error::from(e);
        io::Error::new(e.kind(), format!("TCP congestion control \"{name}\": {e}"))
    })
}
