//! The scenario's applications over kernel sockets.
//!
//! The applications are the state machines of `traffic`, as in the simulator, but they use the kernel's sockets. `open`
//! is a non-blocking connect from the client's address in one namespace to the server's address in the other. `write`
//! queues bytes, which are sent as the socket accepts data. `received` reports a read, `close` sends a FIN after the
//! queued bytes, and `datagram` sends a UDP packet with a number and a time stamp. `ping` is ICMP echo over the
//! kernel's ping sockets, answered by the kernel of the other side. Its round-trip time is the time between the system
//! calls that send the request and receive the reply, not the time that the application measures.
//!
//! One thread serves all sockets of both namespaces: a socket belongs to the namespace in which it was created, whichever
//! namespace the thread is in.
//!
//! Departs: events that the kernel does not report are not counted (`fast_recoveries`). When one end of a connection
//! fails, the sockets of both ends are closed at once.

mod conn;
mod host;
mod page;
mod poll;
mod state;
mod stream;

use self::state::{AppEvent, HostState};
use crate::app_counters::Claim;
use crate::clock::Clock;
use crate::link::Shared;
use crate::namespace::Namespace;
use crate::plan::{Plan, Side};
use host::LiveHost;
use page::Pages;
use poll::Token;
use rustix::event::{Timespec, epoll};
use scenario::Scenario;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use traffic::Application;
use units::{Duration, Time};

/// Maximum number of bytes in one read.
const READ: usize = 256 * 1024;

/// Minimum width of the bins at whose ends TCP_INFO is sampled.
const SAMPLE: Duration = Duration::from_millis(10);

/// The applications and their host.
pub(crate) struct Programs {
    pub(crate) machines: Vec<traffic::App>,
    pub(crate) state: HostState,
    pages: Pages,
    next_sample: Time,
    bin: Duration,
}

impl Programs {
    /// Opens every listener. Must be called on the thread that will serve the sockets.   Errors: a socket cannot be
    /// created.
    pub(crate) fn new(
        scenario: &Scenario,
        plan: &Plan,
        namespaces: [Namespace; 2],
        clock: Clock,
        duration: Duration,
        claims: Sender<Claim>,
    ) -> io::Result<Self> {
        crate::fault::at("programs")?;
        let bin = scenario.bin();
        let mut state = HostState {
            clock,
            now: Time::ZERO,
            namespaces,
            inside: None,
            side: plan.side.clone(),
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            claims,
            services: Vec::new(),
            arrivals: traffic::Arrivals::default(),
            conns: Vec::new(),
            free: Vec::new(),
            generation: Vec::new(),
            awaited: BTreeMap::new(),
            apps: Vec::new(),
            app_events: VecDeque::new(),
            echo_rtt: None,
            tally: crate::app_counters::tally(scenario, plan, duration).map_err(|p| io::Error::other(p.to_string()))?,
            buffer: vec![0; READ],
        };
        let mut machines = Vec::new();
        for (i, app) in plan.apps.iter().enumerate() {
            let machine = app.placed.declared.traffic.build();
            state.add(i, app, &machine)?;
            machines.push(machine);
        }
        let mut pages = Pages::default();
        for side in Side::BOTH {
            state.enter(side)?;
            pages.listen(&state.epoll, &plan.hosts(side))?;
        }
        Ok(Self { machines, state, pages, next_sample: Time(bin.max(SAMPLE).0), bin: bin.max(SAMPLE) })
    }

    /// Serves the sockets until `end`, or until stopped.
    pub(crate) fn run(&mut self, end: Time, shared: &Shared) -> io::Result<()> {
        crate::sys::sharp_timers();
        let mut events = Vec::with_capacity(256);
        while !shared.stop.load(Ordering::Relaxed) {
            let now = self.state.clock.now();
            if now >= end {
                break;
            }
            self.fire(now);
            if now >= self.next_sample {
                self.state.sample(now);
                // if a sample comes too late for its bin, this bin stays empty
                self.next_sample = Time((now.0 / self.bin.0 + 1) * self.bin.0);
            }
            let next = self.state.next_timer().0.min(self.next_sample).min(end);
            let wait = next.since(self.state.clock.now()).0.min(100_000_000);
            let wait = Timespec { tv_sec: 0, tv_nsec: wait as _ };
            match epoll::wait(&self.state.epoll, rustix::buffer::spare_capacity(&mut events), Some(&wait)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
            for event in events.drain(..) {
                let data = event.data;
                self.event(Token::unpack(data.u64()), event.flags);
            }
        }
        let now = self.state.clock.now().min(end);
        self.state.finish(now);
        Ok(())
    }

    /// Fires the timers that are due, in time order; at equal times, in the order of applications.   Bound: each
    /// iteration removes at least one timer.
    fn fire(&mut self, now: Time) {
        loop {
            let (at, app) = self.state.next_timer();
            if at > now {
                return;
            }
            // the application sees the time at which its start or timer was due, even if the clock is already past that
            // time
            self.state.now = at;
            self.state.begin_if_due();
            if let Some((_, due)) = self.state.apps[app].timers.take(at) {
                due.call(&mut self.machines[app], &mut LiveHost { state: &mut self.state, app });
            }
            self.notify();
        }
    }

    fn event(&mut self, token: Token, flags: epoll::EventFlags) {
        self.state.now = self.state.clock.now();
        self.state.begin_if_due();
        match token {
            Token::Listener(service) => self.state.accept(service),
            Token::Conn(slot, end) => self.state.ready(slot, end, flags),
            Token::Datagram(service, end) => {
                // each datagram is delivered before the next datagram is read, because reading a datagram overwrites
                // `echo_rtt`
                while let Some((app, event)) = self.state.datagram_in(service, end) {
                    self.state.app_events.push_back((app, event));
                    self.notify();
                }
            }
            Token::PageListener(i) => self.pages.accept(&self.state.epoll, i),
            Token::Page(i) => self.pages.ready(i, &mut self.state.buffer),
        }
        self.notify();
    }

    /// Delivers all queued events to the applications.   Bound: the applications' callbacks can add only `Closed`
    /// events, at most one per connection.
    fn notify(&mut self) {
        while let Some((app, event)) = self.state.app_events.pop_front() {
            let counts = self.state.apps[app].counts;
            let host = &mut LiveHost { state: &mut self.state, app };
            let machine = &mut self.machines[app];
            match event {
                AppEvent::Connected(conn, side) => machine.connected(conn, side, host),
                AppEvent::Received(conn, side, bytes) if counts => machine.received(conn, side, bytes, host),
                AppEvent::Datagram(side, number) if counts => {
                    // the ECN field of a received datagram is unknown. Only media applications read the field, and
                    // `plan` refuses them
                    machine.datagram_received(side, number, packet::Ecn::NotEct, host);
                }
                AppEvent::Received(..) | AppEvent::Datagram(..) => {}
                AppEvent::Closed(conn) => {
                    self.state.release(conn);
                    let host = &mut LiveHost { state: &mut self.state, app };
                    machine.closed(conn, host);
                }
            }
        }
    }
}
