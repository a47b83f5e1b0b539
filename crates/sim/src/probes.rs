//! Lets the sink read the states of links and senders, at the times that it requests or after each change.

use crate::conn::{End, SlotUse};
use crate::engine::{AppState, Engine};
use crate::link::link_id;
use packet::Reading;
use port::Carries;
use record::{Probed, Sink, Subject};
use tcp::{Endpoint, TcpParams};
use traffic::{App, Application, Role};
use units::Time;

/// One end of a connection and its stack.
struct Sender<'a>(&'a Endpoint, &'a TcpParams);

impl Probed for Sender<'_> {
    fn own(&self, out: &mut Reading<'_>) {
        self.0.read(self.1, out);
    }
}

/// An application with its own rate controller.
struct Controlled<'a>(&'a App);

impl Probed for Controlled<'_> {
    fn own(&self, out: &mut Reading<'_>) {
        self.0.read_controller(out);
    }
}

fn subject(end: &End, side: usize) -> Subject {
    Subject::Sender { flow: end.flow, reverse: side == 1 }
}

/// Returns the subject under which the sink reads an application's own controller: the sender of the datagrams whose
/// rate the controller sets. Returns `None` if the application has no controller of its own, or has not yet sent a
/// datagram.
fn controlled(app: &App, state: &AppState) -> Option<Subject> {
    let (role, flow) = (app.controller()?, (*state.udp.first()?)?);
    Some(Subject::Sender { flow, reverse: role == Role::Server })
}

impl<S: Sink> Engine<S> {
    /// Takes the readings that the sink requests, at each requested time up to `now`. No event lies between these times
    /// and `now`, so the current state is also the state at these times.
    #[inline(never)]
    pub(crate) fn read_probes(&mut self, now: Time, apps: &[App]) {
        while self.net.sink.next_reading() <= now {
            let at = self.net.sink.next_reading();
            let (links, sink) = (&self.net.links, &mut self.net.sink);
            for (i, link) in links.iter().enumerate() {
                let of = Subject::Link(link_id(i as u16));
                if let Some(port) = link.carrier.port()
                    && sink.wants(of, false)
                {
                    sink.read(at, of, false, port);
                }
            }
            for conn in self.conns.iter().filter(|c| c.used() == SlotUse::Tcp) {
                for (side, end) in conn.ends.iter().enumerate().filter(|(_, end)| end.tcp.has_written()) {
                    let of = subject(end, side);
                    if sink.wants(of, false) {
                        let stack = &self.stacks[usize::from(self.paths[usize::from(end.path)].stack)];
                        sink.read(at, of, false, &Sender(&end.tcp, stack));
                    }
                }
            }
            for (app, state) in apps.iter().zip(&self.apps) {
                if let Some(of) = controlled(app, state)
                    && sink.wants(of, false)
                {
                    sink.read(at, of, false, &Controlled(app));
                }
            }
            sink.reading_done();
        }
    }

    /// Lets the sink read an application's controller, which may have changed.
    pub(crate) fn read_changed_app(&mut self, i: u16, app: &App) {
        let now = self.net.now();
        if let Some(of) = controlled(app, &self.apps[usize::from(i)])
            && self.net.sink.wants(of, true)
        {
            self.net.sink.read(now, of, true, &Controlled(app));
        }
    }

    /// Lets the sink read the sender at one end of a connection, because its state may have changed.
    pub(crate) fn read_changed_sender(&mut self, slot: usize, side: usize) {
        let (now, end) = (self.net.now(), &self.conns[slot].ends[side]);
        let of = subject(end, side);
        if end.tcp.has_written() && self.net.sink.wants(of, true) {
            let stack = &self.stacks[usize::from(self.paths[usize::from(end.path)].stack)];
            self.net.sink.read(now, of, true, &Sender(&end.tcp, stack));
        }
    }
}
