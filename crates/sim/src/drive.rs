//! A run that its caller drives: the run can be paused at any time, read and changed.
//!
//! ```text
//! run_before(t)      handles the events before t; the clock stays at the last of these events
//! link, sender,      return a state at t, and change no result; link first updates the accounts up to t, as a sample
//! sent, active       of a series does
//! change, steer      advance the clock to t, then act as an event of that time
//! ```
//!
//! A change at t comes before all other events at t, as does a change in the scenario. If a bin of the series ends at t,
//! the bin is sampled before the change.

use crate::conn::{Conn, End, SlotUse};
use crate::link::Carrier;
use crate::world::World;
use measure::LinkCounts;
use measure::tally::Row;
use port::{Carries, Change, Port};
use scenario::Scenario;
use tcp::Steerable;
use units::{BitRate, Duration, Problem, Time};

pub use tcp::Steer;

/// A link's state at one moment.
#[derive(Clone, Debug)]
pub struct LinkState {
    /// Counters since the start of the run, and the packets that are now in the queue or in flight.
    pub counts: LinkCounts,
    /// Time for which the packet at the head of the queue has waited. If the discipline has several queues, this is the
    /// longest of the times at their heads. `None` if no packet waits, or if the time is not known.
    pub head_sojourn: Option<Duration>,
    /// The link's current rate; `None` if the link has no rate.
    pub rate: Option<BitRate>,
}

/// A TCP sender's state at one moment.
#[derive(Clone, Copy, Debug)]
pub struct TcpState {
    /// True if the sender is at the application's server, false if it is at the client.
    pub reverse: bool,
    /// Number of the connection within its application, from 1.
    pub connection: u32,
    /// Congestion window, slow start threshold, smoothed RTT, retransmission timeout, bytes in flight and congestion
    /// state.
    pub probe: tcp::Probe,
    /// Pacing rate, payload bits per second; `None` if the sender does not pace.
    pub pacing_rate: Option<f64>,
    /// Payload that the peer has acknowledged, bytes.
    pub delivered: u64,
    /// Payload that the peer has SACKed but not yet acknowledged cumulatively, bytes.
    pub sacked: u64,
    /// Counters since the start of the connection.
    pub stats: tcp::Stats,
    /// The MSS, and whether [`World::steer`] can set the pacing rate.
    pub can: Steerable,
}

/// The data that a row of an application has sent in one direction: sums over all connections of the row since the start
/// of the run.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Payload, bytes. For the latest connection, as long as it is open: acknowledged payload. For all other
    /// connections, and after the end of the run for all connections: payload received in order.
    pub delivered: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// CE-marked packets reported by ACKs.
    pub ce_reported: u64,
}

impl World {
    /// Returns the end of the run.
    pub fn end(&self) -> Time {
        self.end
    }

    /// Returns the state of link `i` at `now`. All events before `now` must have been handled.
    pub fn link(&mut self, i: u16, now: Time) -> LinkState {
        let net = &mut self.engine.net;
        net.catch_up_accounts(Time(now.0.saturating_sub(1)));
        let carrier = &net.links[usize::from(i)].carrier;
        let (arrival, rate) = match carrier {
            Carrier::Fifo(fifo) => (fifo.head_arrival(), fifo.rate()),
            Carrier::Chained(chained) => (chained.head_arrival(), chained.rate()),
            Carrier::Port { port, .. } => (port.head_arrival(), port.rate(now)),
        };
        LinkState { counts: carrier.counts(now), head_sojourn: arrival.map(|at| now.since(at)), rate }
    }

    /// Changes link `i` at `now`. All events before `now` must have been handled. `scenario` must be the scenario from which this
    /// world was built.
    ///
    /// Errors: the link's departures are computed in advance, which cannot happen in a world from
    /// [`World::build_driven`]; the scenario or the link's port cannot be built.
    pub fn change(&mut self, now: Time, i: u16, change: Change, scenario: &Scenario) -> Result<(), Problem> {
        let net = &mut self.engine.net;
        let carrier = &net.links[usize::from(i)].carrier;
        let ahead = carrier.port().is_some_and(Port::sends_ahead);
        if ahead || matches!(carrier, Carrier::Chained(_) | Carrier::Port { through: Some(_), .. }) {
            let message =
                "the link's departures are computed in advance; build the run with `World::build_driven`".to_owned();
            return Err(Problem::new(format!("link.{}", net.links[usize::from(i)].name), message));
        }
        net.catch_up_accounts(Time(now.0.saturating_sub(1)));
        net.events.advance(now);
        self.sample_if_due(now);
        let net = &mut self.engine.net;
        if let Carrier::Fifo(_) = net.links[usize::from(i)].carrier {
            let link = &scenario.network()?.links[usize::from(i)];
            net.replace(i, link.build_port(i, scenario.seed)?, link.port.splits_gso());
        }
        net.change(i, change);
        Ok(())
    }

    /// Iterates over the open connections in row `row` of application `app`, and their slots.
    fn connections(&self, app: usize, row: usize) -> impl Iterator<Item = (usize, &Conn)> {
        let of = &self.engine.tally.apps[app];
        let number = of.first_row + row;
        let own = move |conn: &Conn| conn.used() == SlotUse::Tcp && conn.info.row as usize == number;
        let valid = row < of.rows;
        self.engine.conns.iter().enumerate().filter(move |(_, conn)| valid && own(conn))
    }

    /// Returns the numbers of the connections in row `row` of application `app` over which payload may still arrive. A
    /// connection that both ends have closed is left out as soon as all payload has arrived, although its last ACKs may
    /// still be in flight.
    pub fn active(&self, app: usize, row: usize) -> Vec<u32> {
        let done = |[a, b]: &[End; 2]| a.tcp.all_received_by(&b.tcp) && b.tcp.all_received_by(&a.tcp);
        let active = self.connections(app, row).filter(|(_, conn)| !done(&conn.ends));
        let mut numbers: Vec<u32> = active.map(|(_, conn)| conn.info.number).collect();
        numbers.sort_unstable(); // slots are in no order
        numbers
    }

    /// Finds the sender whose state [`World::sender`] returns. Returns the slot of the connection and the side of the
    /// sender; `None` if no connection is open.
    fn connection(&self, app: usize, row: usize) -> Option<(usize, usize)> {
        let (slot, conn) = self.connections(app, row).max_by_key(|(_, conn)| conn.info.number)?;
        let side = usize::from(!conn.ends[0].tcp.has_written() && conn.ends[1].tcp.has_written());
        Some((slot, side))
    }

    /// Returns the state of one of the two senders of the latest open connection in row `row` of application
    /// `app`: the sender on the server's side if only the server has written data, otherwise the sender on the client's
    /// side. Returns `None` if no connection is open.
    pub fn sender(&self, app: usize, row: usize) -> Option<TcpState> {
        let (slot, side) = self.connection(app, row)?;
        let conn = &self.engine.conns[slot];
        let end = &conn.ends[side];
        let stack = &self.engine.stacks[usize::from(self.engine.paths[usize::from(end.path)].stack)];
        Some(TcpState {
            reverse: side == 1,
            connection: conn.info.number,
            probe: end.tcp.probe(stack),
            pacing_rate: end.tcp.pacing_rate().map(|bytes| 8.0 * bytes),
            delivered: end.tcp.acked(),
            sacked: end.tcp.sacked(),
            stats: end.tcp.stats(),
            can: end.tcp.steerable(stack),
        })
    }

    /// Returns the data that row `row` of application `app` has sent from its client or, if `reverse`, from its servers.
    pub fn sent(&self, app: usize, row: usize, reverse: bool) -> Sent {
        let Row { latest, directions, .. } = &self.engine.tally.rows[self.engine.tally.apps[app].first_row + row];
        let closed = directions[usize::from(reverse)].total;
        let mut sent = Sent {
            delivered: closed.goodput_bytes,
            retransmits: closed.retransmits,
            timeouts: closed.timeouts,
            ce_reported: closed.ce_packets,
        };
        // after the end of the run, the totals include the open connections, because `finish` has added them
        let open = (!self.over).then(|| self.connections(app, row));
        for (_, conn) in open.into_iter().flatten() {
            let (end, peer) = (&conn.ends[usize::from(reverse)], &conn.ends[usize::from(!reverse)]);
            let (_, own) = end.account();
            // an application may open its next connection before the last ACKs of the previous connection arrive. So for an
            // earlier connection, the payload that the peer has received counts, not the acknowledged payload
            let is_latest = conn.ends[0].flow == *latest;
            sent.delivered += if is_latest { end.tcp.acked() } else { peer.tcp.stats().bytes_received };
            sent.retransmits += own.retransmits;
            sent.timeouts += own.timeouts;
            sent.ce_reported += own.ce_packets;
        }
        sent
    }

    /// At `now`, sets a value of the sender that [`World::sender`] returns, and sends the segments that the new value
    /// allows. All events before `now` must have been handled. Returns false if no connection is open.
    pub fn steer(&mut self, now: Time, app: usize, row: usize, set: Steer) -> bool {
        let Some((slot, side)) = self.connection(app, row) else { return false };
        self.engine.net.events.advance(now);
        self.sample_if_due(now);
        self.engine.with_end(slot, side, |tcp, stack, now, wire| tcp.steer(stack, now, set, wire));
        true
    }
}
