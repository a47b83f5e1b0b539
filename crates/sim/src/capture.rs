//! Writes a simulation as two capture files, which hold the packets at each end of a link.
//!
//! ```text
//!   node `from` --- left.pcap --- queue, link ... link, queue --- right.pcap --- node `to`
//! ```
//!
//! All links between the two nodes are captured, including links that are parallel to the chosen link. `left` holds the
//! packets that arrive at the queues of links from `from` to `to` (including those dropped there), and the packets that
//! reach `from` over links from `to`. `right` holds the packets that reach `to` over links from `from`, and the packets
//! that arrive at the queues of links from `to` to `from`. The live bench captures in the same places. Time 0 of the
//! run is 1 January 1970.
//!
//! Headers are as on a real host: IPv4 with DSCP and ECN, and with the addresses and ports that classifiers use. Nodes
//! and applications are numbered in name order, nodes from 0 and applications from 1: 10.0.x.y is node number x * 256 +
//! y, and the servers of an application use its number as their port. TCP has the sequence numbers of the run (the
//! initial number is 0), flags, window, MSS, window scale, SACK blocks, AccECN counters and time stamps (in us) as
//! simulated. Pings are ICMP echo messages; other datagrams are UDP. Payload is zeros. Datagrams of endpoints that the
//! program supplies are exceptions: they have the ports that the program chooses, and contain their real bytes.
//! Usually, only the first [`KEPT`] bytes of each packet are kept.
//!
//! Departs: a packet is as long as its real headers and payload, even if the preset assumes other header sizes
//! (ns-2: 10 bytes for a time stamp, none for options). Datagrams are as long as in the simulation, which may include Ethernet
//! framing.
//!
//! Source: RFC 9293 §3.1, RFC 7323 §2, §3, RFC 2018 §2, §3, RFC 3168 §6.1.1.

use packet::craft::{self, Ip, Tcp};
use packet::{Flags, FlowTuple, PacketMeta, header};
use record::pcap::Pcap;
use record::{CapturedPacket, LinkEnd, Mask, Record, Sink};
use scenario::{Link, NetworkLink, Scenario};
use std::io::{self, Write};
use std::net::Ipv4Addr;
use tcp::{AccEcnOption, Recovery, Segment, TcpParams};
use units::{BitRate, Problem, Time};

/// Number of bytes that a capture usually keeps of each packet. The headers of a packet are always shorter.
pub const KEPT: u32 = 128;

/// Size of a datagram's headers, bytes: IPv4 (20) with UDP (8) or ICMP echo (8).
const DATAGRAM_HEADERS: u16 = 28;

/// A sink that captures the packets at both ends of a link.
#[derive(Debug)]
pub struct Capture<W: Write> {
    /// The capture at the left node, and the capture at the right node.
    files: [Pcap<W>; 2],
    /// For each link, the index in `files` of the file that captures the link's `from` end; `None` for a link that does
    /// not join the two nodes of the capture.
    near: Vec<Option<usize>>,
    apps: Vec<App>,
    bytes: Vec<u8>,
    failed: io::Result<()>,
}

/// Properties of an application that determine the headers of its packets. The simulated packets do not contain these
/// properties.
#[derive(Clone, Debug)]
struct App {
    ping: bool,
    /// The client's and the servers' stacks after negotiation.
    stacks: [TcpParams; 2],
    /// The same stacks before negotiation.
    offered: [TcpParams; 2],
}

impl<W: Write> Capture<W> {
    /// Returns a sink that captures at both ends of `link`, and writes the headers of both files. The node `from` of
    /// the link is on the left. `None` chooses the slowest link or, of several such links, the first in the order of
    /// names. The speed of a link is its sustained rate or, if lower, its own `rate`. The files keep the first `kept`
    /// bytes of each packet.
    ///
    /// Errors: an invalid scenario; an unknown link; a file that cannot be written. [`Capture::finish`] reports later
    /// write errors.
    pub fn new(scenario: &Scenario, link: Option<&str>, files: [W; 2], kept: u32) -> Result<Self, Problem> {
        let network = scenario.network()?;
        let links = &network.links;
        let NetworkLink { from, to, .. } = *chosen(links, link)?;
        let near = links.iter().map(|l| match (l.from == from && l.to == to, l.from == to && l.to == from) {
            (true, _) => Some(0),
            (_, true) => Some(1),
            _ => None,
        });
        let apps = network.apps.iter().map(|app| App {
            ping: app.declared.traffic.name() == "ping",
            stacks: app.stacks.map(|stack| network.stacks[usize::from(stack)].clone()),
            offered: app.offered.map(|stack| network.stacks[usize::from(stack)].clone()),
        });
        let [left, right] = files.map(|f| Pcap::new(f, kept));
        let cannot = |e: io::Error| Problem::new("", format!("the capture cannot be written: {e}"));
        let files = [left.map_err(cannot)?, right.map_err(cannot)?];
        Ok(Self { files, near: near.collect(), apps: apps.collect(), bytes: Vec::new(), failed: Ok(()) })
    }

    /// Flushes both files.   Errors: the first write error of the capture.
    pub fn finish(self) -> io::Result<[W; 2]> {
        self.failed?;
        let [left, right] = self.files;
        Ok([left.finish()?, right.finish()?])
    }
}

/// Checks that a capture can be made at `link`, before its files are created.   Errors: an unknown link; an invalid scenario.
pub fn check(scenario: &Scenario, link: Option<&str>) -> Result<(), Problem> {
    chosen(&scenario.network()?.links, link).map(drop)
}

/// Returns the link with this name; without a name, the slowest link.
fn chosen<'a>(links: &'a [NetworkLink], link: Option<&str>) -> Result<&'a NetworkLink, Problem> {
    match link {
        Some(name) => links.iter().find(|l| l.name == name).ok_or_else(|| unknown(name, links)),
        None => slowest(links).ok_or_else(|| Problem::new("link", "there is no link to capture at")),
    }
}

fn unknown(name: &str, links: &[NetworkLink]) -> Problem {
    let known: Vec<&str> = links.iter().map(|l| l.name.as_str()).collect();
    let hint = scenario::nearest(name, &known).map(|n| format!("; did you mean \"{n}\"?")).unwrap_or_default();
    Problem::new("capture", format!("unknown link \"{name}\"{hint} (known: {})", known.join(", ")))
}

/// Returns the link with the lowest rate. Of several such links, returns the first in the order of names, with reverse
/// links last. The rate is the link's sustained rate or, if lower, its own `rate`.
fn slowest(links: &[NetworkLink]) -> Option<&NetworkLink> {
    let rate = |l: &Link| l.sustained_rate().into_iter().chain(l.rate).min().unwrap_or(BitRate(u64::MAX));
    // "up" and its reverse link "~up" have the same rate, and "up" must be chosen
    links.iter().min_by_key(|l| (rate(&l.declared), l.name.starts_with('~')))
}

impl<W: Write> Sink for Capture<W> {
    fn mask(&self) -> Mask {
        Mask::NONE
    }

    fn put(&mut self, _: Time, _: Record) {}

    fn packets(&self) -> bool {
        true
    }

    fn packet(&mut self, now: Time, captured: &CapturedPacket<'_>) {
        let Some(near) = self.near[usize::from(captured.link.0)] else { return };
        let file = match captured.end {
            LinkEnd::Near => near,
            LinkEnd::Far => 1 - near,
        };
        if self.failed.is_ok() {
            write(&mut self.bytes, &self.apps, captured);
            self.failed = self.files[file].put(now.0, &self.bytes);
        }
    }
}

fn write(out: &mut Vec<u8>, apps: &[App], captured: &CapturedPacket<'_>) {
    let CapturedPacket { packet, tuple, segment, bytes, .. } = *captured;
    let back = packet.flags.has(Flags::REVERSE);
    // the destination port is the number of the application, counted from 1
    let app = apps.get(usize::from(tuple.dport).wrapping_sub(1));
    let tuple = if back { tuple.reversed() } else { tuple };
    let to = Ip { src: Ipv4Addr::from(tuple.src).into(), dst: Ipv4Addr::from(tuple.dst).into(), tos: packet.tos };
    if let Some(bytes) = bytes {
        return write_bytes(out, to, tuple, bytes, packet);
    }
    match (segment, app) {
        (Some(segment), Some(app)) => {
            let side = usize::from(back);
            write_tcp(out, to, tuple, &app.stacks[side], &app.offered[side], segment);
        }
        _ => {
            let payload = usize::from(packet.size.saturating_sub(DATAGRAM_HEADERS));
            if app.is_some_and(|a| a.ping) {
                // a request and its reply have the same identifier
                craft::echo(out, to, back, captured.tuple.sport, packet.seq as u16, payload);
            } else {
                craft::udp(out, to, (tuple.sport, tuple.dport), payload);
            }
        }
    }
}

/// Writes a datagram that has real bytes. If the bytes are a whole IP packet, only its ECN field is updated; otherwise
/// the bytes become the payload of a UDP packet.
fn write_bytes(out: &mut Vec<u8>, to: Ip, tuple: FlowTuple, bytes: &[u8], packet: &PacketMeta) {
    if bytes.len() == usize::from(packet.size) {
        out.clear();
        out.extend_from_slice(bytes);
        header::set_tos(out, bytes[1] & !3 | packet.tos & 3);
    } else {
        craft::datagram(out, to, (tuple.sport, tuple.dport), bytes);
    }
}

fn write_tcp(out: &mut Vec<u8>, to: Ip, tuple: FlowTuple, stack: &TcpParams, offered: &TcpParams, segment: &Segment) {
    let syn = segment.flags.has(Flags::SYN);
    // a SYN carries the options that its sender offers; all other segments carry only options that both ends have
    let stack = if syn && !segment.has_ack { offered } else { stack };
    let mut bits = if segment.has_ack { 0x10 } else { 0 };
    let all = [
        (Flags::SYN, 0x02),
        (Flags::FIN, 0x01),
        (Flags::PSH, 0x08),
        (Flags::ECE, 0x40),
        (Flags::CWR, 0x80),
        (Flags::AE, 0x100),
    ];
    for (flag, bit) in all {
        if segment.flags.has(flag) {
            bits |= bit;
        }
    }
    let mut options = Options::new();
    if syn {
        options.mss(offered.mss_option().min(65_535) as u16);
    }
    if syn && stack.detection.recovery == Recovery::Sack {
        options.put(&[4, 2]);
    }
    if stack.wire.timestamps {
        options.timestamps(segment.ts_val, segment.ts_ecr);
    }
    let window = segment.window().map_or(stack.first_window(), u64::from);
    // the window of a SYN is never scaled. The handshake negotiates the scale, so without a handshake no window is
    // scaled
    let shift = if stack.opening.handshake { stack.receiver.window_scale() as u8 } else { 0 };
    if syn {
        options.put(&[3, 3, shift]);
    } else {
        options.sack(segment);
        options.accecn(&segment.accecn());
    }
    let header = Tcp {
        ports: (tuple.sport, tuple.dport),
        seq: segment.seq as u32,
        ack: if segment.has_ack { segment.ack as u32 } else { 0 },
        bits,
        window: (window >> if syn { 0 } else { shift }).min(65_535) as u16,
        options: options.padded(),
    };
    craft::tcp(out, to, &header, segment.len as usize);
}

/// TCP options under construction: at most 40 bytes. NOPs before time stamps and SACK blocks make these options end on a
/// word boundary, as in Linux.
#[derive(Debug)]
struct Options {
    bytes: [u8; 44],
    length: usize,
}

impl Options {
    fn new() -> Self {
        Self { bytes: [0; 44], length: 0 }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    /// Adds NOPs so that an option of `length` bytes, if added next, ends on a word boundary.
    fn align(&mut self, length: usize) {
        while !(self.length + length).is_multiple_of(4) {
            self.put(&[1]);
        }
    }

    fn mss(&mut self, mss: u16) {
        self.put(&[2, 4]);
        self.put(&mss.to_be_bytes());
    }

    fn timestamps(&mut self, val: u32, ecr: u32) {
        self.align(10);
        self.put(&[8, 10]);
        self.put(&val.to_be_bytes());
        self.put(&ecr.to_be_bytes());
    }

    /// Adds AccECN's counters, 3 bytes each.   Source: RFC 9768 §3.2.3.
    fn accecn(&mut self, option: &AccEcnOption) {
        let n = usize::from(option.fields);
        if n == 0 {
            return;
        }
        let AccEcnOption { e0b, ceb, e1b, ect1_first, .. } = *option;
        let (kind, counters) = if ect1_first { (174, [e1b, ceb, e0b]) } else { (172, [e0b, ceb, e1b]) };
        self.put(&[kind, 2 + 3 * n as u8]);
        counters[..n].iter().for_each(|c| self.put(&c.to_be_bytes()[1..]));
    }

    fn sack(&mut self, segment: &Segment) {
        let blocks = segment.sack.as_slice();
        if blocks.is_empty() {
            return;
        }
        self.align(2 + 8 * blocks.len());
        self.put(&[5, 2 + 8 * blocks.len() as u8]);
        for block in blocks {
            self.put(&(block.start as u32).to_be_bytes());
            self.put(&(block.end as u32).to_be_bytes());
        }
    }

    /// Returns all options, padded to a whole word with NOPs.
    fn padded(&mut self) -> &[u8] {
        self.align(0);
        &self.bytes[..self.length]
    }
}
