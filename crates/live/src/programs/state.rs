//! The state of the host on which the applications run: sockets, connections, timers and counters.

use super::conn::{Conn, End};
use super::poll::{BACKLOG, Token, tcp_socket, watch};
use crate::app_counters::{Claim, Owner, Ports};
use crate::clock::Clock;
use crate::ecn;
use crate::namespace::Namespace;
use crate::plan::{AppPlan, Side};
use crate::sys::set_mark;
use crate::tun::v4;
use measure::Tally;
use packet::Protocol;
use rustix::event::epoll;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, ipproto};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;
use std::sync::mpsc::Sender;
use traffic::{Application, Arrivals, ConnId, Timers};
use units::{Duration, Rng, Time};

/// An event for an application. `Programs::notify` delivers the event after the code that queued it has returned.
#[derive(Clone, Copy, Debug)]
pub(super) enum AppEvent {
    Connected(ConnId, traffic::Role),
    Received(ConnId, traffic::Role, u64),
    Datagram(traffic::Role, u64),
    Closed(ConnId),
}

/// One server of one application.
pub(super) struct Service {
    pub(super) app: usize,
    /// Address at which the server listens.
    pub(super) at: SocketAddrV4,
    pub(super) listener: Option<OwnedFd>,
    /// Datagram sockets of client and server, created on first use.
    pub(super) datagram: [Option<OwnedFd>; 2],
    /// Row of counters for the application's datagrams.
    pub(super) row: u32,
    /// True if the application sends pings instead of datagrams.
    pub(super) echo: bool,
}

/// The host's state for one application.
pub(super) struct AppState {
    pub(super) plan: AppPlan,
    pub(super) rng: Rng,
    /// Index of the application's first service.
    pub(super) services: usize,
    pub(super) timers: Timers,
    pub(super) opened: u32,
    pub(super) counts: bool,
}

/// The host's state, without the applications' own state machines (`Programs::machines`).
pub(crate) struct HostState {
    pub(super) clock: Clock,
    /// Time of the current event.
    pub(super) now: Time,
    pub(super) namespaces: [Namespace; 2],
    pub(super) inside: Option<Side>,
    pub(super) side: Vec<Option<Side>>,
    pub(super) epoll: OwnedFd,
    pub(super) claims: Sender<Claim>,
    pub(super) services: Vec<Service>,
    /// The datagrams that have arrived, by service and direction.
    pub(super) arrivals: Arrivals,
    pub(super) conns: Vec<Option<Conn>>,
    pub(super) free: Vec<u32>,
    pub(super) generation: Vec<u32>,
    /// Slots of the connections that the server has not yet accepted. The key is the service and the client's port.
    pub(super) awaited: BTreeMap<(usize, u16), u32>,
    pub(super) apps: Vec<AppState>,
    pub(super) app_events: VecDeque<(usize, AppEvent)>,
    /// Round-trip time of the current echo reply, from the system call that sent the request to the one that received
    /// the reply.
    pub(super) echo_rtt: Option<Duration>,
    pub(crate) tally: Tally,
    pub(super) buffer: Vec<u8>,
}

impl HostState {
    pub(super) fn add(&mut self, i: usize, app: &AppPlan, machine: &traffic::App) -> io::Result<()> {
        let traffic = &app.placed.declared.traffic;
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
            opened: 0,
            counts: machine.counts(),
        });
        Ok(())
    }

    /// Moves this thread into the namespace of `side`.
    pub(super) fn enter(&mut self, side: Side) -> io::Result<()> {
        if self.inside != Some(side) {
            self.namespaces[side.index()].enter()?;
            self.inside = Some(side);
        }
        Ok(())
    }

    pub(super) fn enter_node(&mut self, node: u16) -> io::Result<()> {
        self.enter(self.side[usize::from(node)].unwrap_or(Side::Left))
    }

    pub(super) fn listen(&mut self, node: u16, at: SocketAddrV4, app: &AppPlan) -> io::Result<OwnedFd> {
        self.enter_node(node)?;
        let fd = bound_socket(app, 1, at)?;
        net::listen(&fd, BACKLOG)?;
        Ok(fd)
    }

    /// Returns two numbers for a new flow of `app`: the index of its row among the rows of all applications, and the
    /// flow's number within `app`. `row` is the index among the rows of `app`.
    fn row_and_number(&mut self, app: usize, row: usize) -> (u32, u32) {
        let state = &mut self.apps[app];
        state.opened += 1;
        ((self.tally.apps[app].first_row + row) as u32, state.opened)
    }

    /// Returns the time and the application of the earliest timer.
    pub(super) fn next_timer(&self) -> (Time, usize) {
        self.apps.iter().enumerate().map(|(i, app)| (app.timers.next(), i)).min().unwrap_or((Time::NEVER, 0))
    }

    /// Reports to the bench that `app` owns these ports. Must be called before the first packet is sent.
    pub(super) fn claim(&self, protocol: Protocol, client: u16, server: u16, app: usize, row: u32, number: u32) {
        let owner = Owner { app: app as u16, row, number };
        // sending fails only when the packet thread has ended
        let _ = self.claims.send((Ports { protocol, client, server }, owner));
    }

    pub(super) fn open(&mut self, app: usize, peer: usize, row: usize) -> ConnId {
        let (row, number) = self.row_and_number(app, row);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.conns.push(None);
            self.generation.push(0);
            (self.conns.len() - 1) as u32
        });
        self.generation[slot as usize] = (self.generation[slot as usize] + 1) & 0xfff;
        let id = ConnId(slot | self.generation[slot as usize] << 20);
        let service = self.apps[app].services + peer;
        let mut conn = Conn { id, app, service, row, number, port: 0, ends: [End::default(), End::default()] };
        if self.connect(slot as usize, &mut conn).is_err() {
            self.app_events.push_back((app, AppEvent::Closed(id)));
        }
        self.conns[slot as usize] = Some(conn);
        id
    }

    pub(super) fn connect(&mut self, slot: usize, conn: &mut Conn) -> io::Result<()> {
        let node = self.apps[conn.app].plan.placed.from;
        self.enter_node(node)?;
        let fd = bound_socket(&self.apps[conn.app].plan, 0, SocketAddrV4::new(v4(node + 1), 0))?;
        let local = SocketAddrV4::try_from(net::getsockname(&fd)?)?;
        conn.port = local.port();
        let at = self.services[conn.service].at;
        self.claim(Protocol::TCP, conn.port, at.port(), conn.app, conn.row, conn.number);
        match net::connect(&fd, &at) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(e) => return Err(e.into()),
        }
        self.awaited.insert((conn.service, conn.port), slot as u32);
        watch(&self.epoll, &fd, Token::Conn(slot, 0), epoll::EventFlags::IN | epoll::EventFlags::OUT)?;
        conn.ends[0].socket = Some(fd);
        Ok(())
    }

    pub(super) fn accept(&mut self, service: usize) {
        // bounded: one iteration per pending connection
        loop {
            let Some(listener) = &self.services[service].listener else { return };
            let Ok(fd) = net::accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) else { return };
            let peer = net::getpeername(&fd).ok().flatten().and_then(|a| SocketAddrV4::try_from(a).ok());
            // the client may have given up after the kernel completed the handshake
            let Some(slot) = peer.and_then(|p| self.awaited.remove(&(service, p.port()))) else { continue };
            let slot = slot as usize;
            let Some(conn) = &mut self.conns[slot] else { continue };
            if watch(&self.epoll, &fd, Token::Conn(slot, 1), epoll::EventFlags::IN).is_err() {
                continue;
            }
            let end = &mut conn.ends[1];
            (end.socket, end.connected) = (Some(fd), true);
            if let Some(limit) = end.notsent_lowat.take() {
                end.limit_unsent(limit);
            }
            let (app, id) = (conn.app, conn.id);
            self.app_events.push_back((app, AppEvent::Connected(id, traffic::Role::Server)));
            self.send_pending(slot, 1);
        }
    }

    /// Creates the datagram sockets of a service, unless the socket of `end` already exists. A service for pings has
    /// only the client's socket, because the kernel itself answers the pings.
    pub(super) fn datagram_socket(&mut self, service: usize, end: usize) -> io::Result<()> {
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
        // the server's socket is created first, so that no datagram arrives at a closed port
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
        let (row, number) = self.row_and_number(app, 0);
        match echo {
            true => self.claim(Protocol::ICMP, local.port(), local.port(), app, row, number),
            false => self.claim(Protocol::UDP, local.port(), at.port(), app, row, number),
        }
        self.services[service].row = row;
        Ok(())
    }
}

/// Creates a TCP socket for the client (`end` 0) or a server (1) of an application in the current namespace, sets the
/// socket's congestion control, ECN and DSCP, and binds it to the address `at`.
fn bound_socket(app: &AppPlan, end: usize, at: SocketAddrV4) -> io::Result<OwnedFd> {
    let fd = tcp_socket()?;
    congestion(&fd, &app.congestion[end])?;
    if app.ecn[end] {
        set_mark(&fd, u32::from(ecn::MARK))?;
    }
    net::sockopt::set_ip_tos(&fd, app.placed.declared.dscp << 2)?;
    net::bind(&fd, &at)?;
    Ok(fd)
}

/// Sets the congestion control of a socket.   Errors: the kernel does not allow this congestion control in the
/// namespace.
fn congestion(fd: &OwnedFd, name: &str) -> io::Result<()> {
    net::sockopt::set_tcp_congestion(fd, name).map_err(|e| {
        let e = io::Error::from(e);
        io::Error::new(e.kind(), format!("TCP congestion control \"{name}\": {e}"))
    })
}
