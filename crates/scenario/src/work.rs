//! Upper bounds on the work of a scenario, computed before it runs: packets and memory.
//!
//! ```text
//!   round      = shortest round trip: propagation, and 40 bytes on each wire
//!   by window  = connections * receive window / MSS * (time from the application's start / round + 1)
//!   by rate    = rate of the slowest link of the path * time from the application's start, in segments
//!   data       = smallest of by window, by rate and the application's demand, in segments
//!   packets    = 2 * data, as many ACKs, and 8 for each transfer
//!   together   = connections * receive window / MSS, at most the demand, if no link of the path spaces packets in time
//! ```
//!
//! The factor of two allows for losses and their retransmissions. Transfers with the same slowest link share its rate. Traffic
//! that nothing limits (no rate, delay, pause or count) would be sent forever without advancing the simulated time.
//! Such a scenario is refused, and so is a scenario with more packets than [`Scenario::max_packets`], more packets at
//! one moment than [`MOST_TOGETHER`], or more memory than [`MOST_BYTES`].

use crate::declare::Scenario;
use crate::link::Link;
use crate::network::{Network, NetworkApp, NetworkLink};
use port::Service;
use std::collections::BTreeMap;
use tcp::TcpParams;
use traffic::Direction;
use units::{BitRate, Bytes, Duration, Problem};

/// Default of [`Scenario::max_packets`]: about as many as a run can process in a few hours.
const MOST_PACKETS: u64 = 100_000_000_000;
/// Maximum number of packets that may arrive at the same moment. The simulator processes them in one step, and a step
/// cannot be cancelled.
const MOST_TOGETHER: f64 = 100_000.0;
/// Maximum memory in bytes that may be allocated for a scenario before it starts.
const MOST_BYTES: u64 = 1_000_000_000;

/// Number of packets of a transfer that are not part of its data: handshake, request and close.
const PER_PIECE: f64 = 8.0;
/// Size of an ACK on the wire, in bytes. An ACK is the smallest TCP packet.
const ACK: u64 = 40;
/// Size of a full packet on the wire, in bytes.
const FULL: u64 = 1500;

/// The path between an application and one of its servers.
struct Path {
    /// Shortest round-trip time.
    round: Duration,
    /// Index and rate of the slowest link in each direction; `None` if no link in this direction has a rate.
    slowest: [Option<(usize, BitRate)>; 2],
    /// True if no link in either direction takes time to send a packet, so that a whole window arrives at one moment.
    at_once: bool,
}

/// The packets that an application may send.
struct Packets {
    /// Packets in the whole run, including replies.
    all: f64,
    /// Number of packets that may arrive at the same moment.
    together: f64,
    /// Index of the link that limits the application's rate. In the direction of the data, the slowest link of each
    /// path limits this path; the fastest of these links limits the application. With data in both directions, a path
    /// counts with the faster of its two slowest links. `None` if a path has no link with a rate in a direction of the
    /// data.
    slowest: Option<usize>,
}

impl Scenario {
    /// Refuses a scenario that never ends, or that needs too many packets, in all or at one moment, or too many MAPs.
    /// Names and routes must be valid.
    pub(crate) fn check_work(&self, network: &Network, problems: &mut Vec<Problem>) {
        let most = self.max_packets.unwrap_or(MOST_PACKETS) as f64;
        // groups the applications by the link that limits their rate. A value holds the packets of the whole group,
        // then the packets and the name of the application that may send the most
        let mut shared: BTreeMap<Option<usize>, (f64, f64, &str)> = BTreeMap::new();
        let mut at_once = None;
        for app in &network.apps {
            let name = app.name.as_str();
            let Packets { all: packets, together, slowest } = self.packets(app, network);
            if packets.is_infinite() {
                let message = "never ends: no link between the nodes takes time, and nothing else slows the traffic down; give one \
                               a `rate` or a `delay`, or the traffic a `count` or a pause";
                problems.push(Problem::new("traffic", message).under(name).under("app"));
                return;
            }
            at_once = at_once.or((together > MOST_TOGETHER).then_some((name, together)));
            let entry = shared.entry(slowest).or_insert((0.0, 0.0, name));
            if packets > entry.1 {
                (entry.1, entry.2) = (packets, name);
            }
            entry.0 += packets;
        }
        let mut sum = 0.0;
        for (slowest, (packets, largest, name)) in shared {
            let carried = slowest.map_or(f64::INFINITY, |i| self.carried(&network.links[i].declared));
            // the link carries at most `carried` packets, but an application sends its datagrams even if the link cannot
            // carry them. So the bound for the group is no lower than the packets of its largest application
            sum += packets.min(carried.max(largest));
            if sum > most {
                let message = format!(
                    "may take {} packets until {}; expected at most {most:.0}: shorten the run, slow a link down, or raise \
                     `max_packets`",
                    about(sum),
                    self.duration
                );
                problems.push(Problem::new("traffic", message).under(name).under("app"));
                return;
            }
        }
        if let Some((name, together)) = at_once {
            let message = format!(
                "up to {} packets may arrive at one moment; expected at most {MOST_TOGETHER:.0}: no link on the path has a \
                 `rate`, so only the receive windows limit TCP; give a link a `rate`, the transfer a `size`, or the stack a \
                 smaller `receive_window`",
                about(together)
            );
            problems.push(Problem::new("traffic", message).under(name).under("app"));
        }
        self.check_maps(network, most, problems);
    }

    /// Refuses a DOCSIS link if more than `most` of its MAP intervals fit into the run. A MAP is the message that
    /// allocates the upstream for one interval.
    fn check_maps(&self, network: &Network, most: f64, problems: &mut Vec<Problem>) {
        let modem = |link: &NetworkLink| match &link.port.service {
            Service::Docsis(modem) => Some(("docsis.map_interval", modem.map_interval)),
            Service::Docsis31(modem) => Some(("docsis31.map_interval", modem.map())),
            _ => None,
        };
        let ticks = network.links.iter().filter_map(|link| Some((&link.name, modem(link)?)));
        for (name, (path, interval)) in ticks {
            if self.duration.0 as f64 / interval.0 as f64 > most {
                let message = format!("{interval} is not valid; a run of {} would take too many MAPs", self.duration);
                problems.push(Problem::new(path, message).under(name).under("link"));
            }
        }
    }

    /// Returns an upper bound on the number of packets that cross a link in the run: twice the number of segments that
    /// the link can carry, to allow for losses, and the same number of ACKs.
    fn carried(&self, link: &Link) -> f64 {
        let rate = top_rate(link, self.duration).map_or(f64::INFINITY, |rate| rate.0 as f64);
        // every segment has at least its headers, 40 bytes
        4.0 * rate * self.duration.secs() / 8.0 / ACK as f64
    }

    fn packets(&self, placed: &NetworkApp, network: &Network) -> Packets {
        let app = &placed.declared;
        let start = app.start.0.min(self.duration.0);
        let span = Duration(app.stop.map_or(self.duration.0, |s| s.0.min(self.duration.0)).saturating_sub(start));
        let [client, server] = placed.stacks.map(|stack| &network.stacks[usize::from(stack)]);
        let segment = u64::from(client.wire.mss.min(server.wire.mss));
        // the rates of a path are upper bounds on the mean rates over the time `left`. This time ends with the run,
        // because transfers in progress at `stop` continue. It does not begin with the run, because the mean rate of a
        // whole run would be too low for a recorded trace that carries most of its bytes near the end
        let left = Duration(self.duration.0.saturating_sub(start));
        let paths: Vec<Path> = placed.to.iter().map(|to| path(network, placed.from, *to, left)).collect();
        let round = paths.iter().map(|p| p.round).min().unwrap_or_default();
        let demand = app.traffic.demand(span, round);
        let mut fastest = Some((usize::MAX, BitRate(0)));
        for path in &paths {
            let [there, back] = path.slowest;
            let slowest = match demand.direction {
                Some(Direction::Up) => there,
                Some(Direction::Down) => back,
                None => there.zip(back).map(|(a, b)| if a.1 >= b.1 { a } else { b }),
            };
            fastest = fastest.zip(slowest).map(|(a, b)| if a.1 >= b.1 { a } else { b });
        }
        let slowest = fastest.map(|(i, _)| i);
        if demand.connections == 0.0 {
            return Packets { all: demand.pieces, together: 0.0, slowest };
        }
        let window = window(client).max(window(server)) as f64 / segment as f64;
        let left = left.0 as f64;
        let rounds = if round.is_zero() { f64::INFINITY } else { left / round.0 as f64 + 1.0 };
        let by_window = demand.connections * window * rounds;
        let by_rate = fastest.map_or(f64::INFINITY, |(_, rate)| rate.0 as f64 * left * 1e-9 / 8.0 / segment as f64);
        let data = (demand.bytes / segment as f64).min(by_window).min(by_rate);
        let at_once = paths.iter().any(|path| path.at_once);
        let together = if at_once { (demand.connections * window).min(demand.bytes / segment as f64) } else { 0.0 };
        Packets { all: 4.0 * data + PER_PIECE * demand.pieces, together, slowest }
    }
}

/// Returns the largest window of a stack in bytes: its maximum receive window or, if smaller, its `window_clamp`, but
/// at least one segment.
fn window(stack: &TcpParams) -> u64 {
    let clamp = stack.window.window_clamp.map_or(u64::MAX, |segments| u64::from(segments) * u64::from(stack.wire.mss));
    stack.receiver.most_window().min(clamp).max(u64::from(stack.wire.mss))
}

/// Returns an upper bound on the mean rate of a link over any period of length `span`; `None` if serialisation takes no
/// time.
fn top_rate(link: &Link, span: Duration) -> Option<BitRate> {
    match &link.service {
        Service::Delivery(delivery) => return Some(delivery.max_rate_over(span)),
        Service::Docsis31(modem) => return Some(modem.channel()),
        _ => {}
    }
    let changed = link.changes.iter().filter_map(|c| c.rate).max();
    link.rate.map(|rate| changed.map_or(rate, |c| c.max(rate)))
}

/// Returns the path from `a` to `b` and back, found by following the routes.
fn path(network: &Network, a: u16, b: u16, span: Duration) -> Path {
    let mut path = Path { round: Duration::ZERO, slowest: [None, None], at_once: true };
    for (direction, (from, to)) in [(a, b), (b, a)].into_iter().enumerate() {
        for i in network.path(from, to).unwrap_or_default() {
            let link = &network.links[usize::from(i)].declared;
            let least = link.changes.iter().filter_map(|c| c.delay).min().map_or(link.delay, |d| d.min(link.delay));
            path.round += least;
            path.at_once &= link.sustained_rate().is_none_or(|rate| rate.time_for(FULL).is_zero());
            if let Some(rate) = top_rate(link, span) {
                path.round += rate.time_for(ACK);
                if path.slowest[direction].is_none_or(|(_, known)| rate < known) {
                    path.slowest[direction] = Some((usize::from(i), rate));
                }
            }
        }
    }
    path
}

/// Formats a number. From a million on, the number is rounded, as in "about 3 x 10^12".
fn about(n: f64) -> String {
    let digits = units::math::log10(n) as i32;
    if digits < 6 {
        format!("{n:.0}")
    } else {
        format!("about {:.0} x 10^{digits}", n / units::math::pow(10.0, f64::from(digits)))
    }
}

/// Memory of a histogram that has a value in every bin, in bytes.
const HISTOGRAM: u64 = 275_000;
/// Memory of a link in bytes: first the memory for each bin of its series, then the memory for its histogram and for
/// the distribution of its queue's length, with 10 000 lengths.
const LINK: [u64; 2] = [72, HISTOGRAM + 80_000];
/// Memory of each direction of a flow in bytes: first the memory for each bin of its series, then the memory for
/// everything else.
const ROW: [u64; 2] = [132, 1_500];
/// Memory of a flow's counters and of the flow's connection, in bytes. Each direction of the flow adds `ROW`.
const FLOW: u64 = 2_000;
/// Memory of an application in bytes, not counting its flows: the delays in both directions, and the times of files or
/// probes.
const APP: u64 = 3 * HISTOGRAM + 25_000;
/// Maximum number of flows of an application with series. An application with more flows has no series.
const ROWS_WITH_SERIES: usize = 32;

impl Scenario {
    /// Returns an upper bound on the memory of the simulator's state before the run starts, plus the memory of the
    /// results. Packets are not included. Also returns the path of the link or application that takes the most memory.
    fn memory(&self) -> (Bytes, String) {
        let bins = self.duration.0.div_ceil(self.bin().0.max(1)).saturating_add(1);
        let links = self.directed_links();
        let mut parts: Vec<(u64, String)> = Vec::new();
        for (name, link) in &links {
            let listed = self.record.links.as_ref().is_none_or(|list| list.contains(name));
            let series = if listed { LINK[0].saturating_mul(bins) } else { 0 };
            let queues = link.queue.fair().and_then(|fair| fair.classifier.queues()).unwrap_or(0);
            let bytes = series.saturating_add(LINK[1]).saturating_add(8 * u64::from(queues));
            parts.push((bytes, format!("link.{}", units::shown(name))));
        }
        for (name, app) in &self.app {
            let rows = app.traffic.rows();
            let listed = self.record.apps.as_ref().is_none_or(|list| list.contains(name));
            let series = if listed && rows <= ROWS_WITH_SERIES { 2 * ROW[0].saturating_mul(bins) } else { 0 };
            let row = series.saturating_add(FLOW + 2 * ROW[1]);
            parts.push((row.saturating_mul(rows as u64).saturating_add(APP), format!("app.{}", units::shown(name))));
        }
        let nodes: std::collections::BTreeSet<&str> = links.iter().map(|(_, l)| l.from.as_str()).collect();
        let routes = (nodes.len() as u64).pow(2) * 2;
        let sum = parts.iter().fold(routes, |sum, part| sum.saturating_add(part.0));
        let largest = parts.into_iter().max().map_or_else(String::new, |part| part.1);
        (Bytes(sum), largest)
    }

    /// Refuses a scenario that takes more memory than [`MOST_BYTES`] before it starts.
    pub(crate) fn check_memory(&self, problems: &mut Vec<Problem>) {
        let (bytes, largest) = self.memory();
        if bytes.0 > MOST_BYTES {
            let message = format!(
                "this takes {:.1} GB before it starts; expected at most {:.1} GB: fewer flows, links with series \
                 (`record.links`), flows with series (`record.apps`) or bins (`record.interval`)",
                bytes.0 as f64 * 1e-9,
                MOST_BYTES as f64 * 1e-9
            );
            problems.push(Problem::new(largest, message));
        }
    }
}
