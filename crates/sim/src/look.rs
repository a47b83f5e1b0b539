//! Looks into a run: what a sink that reads states is shown, and when.

use crate::conn::{End, Use};
use crate::link::link_id;
use crate::table::Core;
use packet::Reading;
use port::Carries;
use record::{Probed, Sink, Subject};
use tcp::{Endpoint, TcpParams};
use units::Time;

/// One end of a connection and its stack.
struct Sender<'a>(&'a Endpoint, &'a TcpParams);

impl Probed for Sender<'_> {
    fn own(&self, out: &mut Reading<'_>) {
        self.0.read(self.1, out);
    }
}

/// Whom an end is.
fn subject(end: &End, side: usize) -> Subject {
    Subject::Sender { flow: end.flow, reverse: side == 1 }
}

impl<S: Sink> Core<S> {
    /// Reads everything that the sink wants, at each of its moments up to `now`: nothing has happened since.
    #[inline(never)]
    pub(crate) fn look(&mut self, now: Time) {
        while self.net.sink.next_look() <= now {
            let at = self.net.sink.next_look();
            let (links, sink) = (&self.net.links, &mut self.net.sink);
            for (i, link) in links.iter().enumerate() {
                let of = Subject::Link(link_id(i as u16));
                if let Some(port) = link.carrier.port()
                    && sink.wants(of, false)
                {
                    sink.read(at, of, false, port);
                }
            }
            for conn in self.conns.iter().filter(|c| c.used() == Use::Tcp) {
                for (side, end) in conn.ends.iter().enumerate().filter(|(_, end)| end.tcp.has_written()) {
                    let of = subject(end, side);
                    if sink.wants(of, false) {
                        let stack = &self.stacks[usize::from(self.paths[usize::from(end.path)].stack)];
                        sink.read(at, of, false, &Sender(&end.tcp, stack));
                    }
                }
            }
            sink.looked();
        }
    }

    /// One end of a connection may have changed.
    pub(crate) fn look_at_end(&mut self, slot: usize, side: usize) {
        let (now, end) = (self.net.now(), &self.conns[slot].ends[side]);
        let of = subject(end, side);
        if end.tcp.has_written() && self.net.sink.wants(of, true) {
            let stack = &self.stacks[usize::from(self.paths[usize::from(end.path)].stack)];
            self.net.sink.read(now, of, true, &Sender(&end.tcp, stack));
        }
    }
}
