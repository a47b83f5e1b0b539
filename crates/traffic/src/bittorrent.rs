//! A BitTorrent-like swarm as one member sees it: many connections, with a few active at a time.
//!
//! Source: ARRIS 2013 (up to about fifty peers, about ten active); BEP 3 (messages, choking, optimistic unchoking);
//! Cohen, Incentives Build Robustness in BitTorrent, 2003 (rounds of 10 s, optimistic unchoke for 30 s).
//!
//! ```text
//!   peer i is at server  i mod (number of servers);  its connection opens at  start + i * stagger  and is kept
//!   a peer that is unchoked keeps `pipeline` requests (17 B) outstanding; each is answered with a block of 16 KiB + 13 B
//!   every `round`:  unchoke the  active - 1  peers that exchanged most in the last round, and one optimistic peer; choke
//!                   the rest. The optimistic peer is drawn from the other peers every `optimistic_rounds` rounds, and
//!                   when the last one drawn is no longer among them
//! ```
//!
//! `from` is the member under study, which uploads; with `download`, an unchoked peer also sends blocks to the member.
//! With `download`, peers are ranked by the blocks received from them; otherwise by the blocks sent to them, as a seed
//! does. While fewer than `active` peers are unchoked, a peer that connects is unchoked at once. After a choke,
//! requests in flight are refused, but blocks already written are still sent. A request is outstanding until its block
//! has arrived or it is refused. On a slow line, a block may take longer to arrive than a choke lasts; its request is
//! then still outstanding after the next unchoke. After the stop, neither blocks nor requests are sent.
//!
//! The scenario chooses the TCP: `tcp = "ledbat"`, as in most clients (uTP), or any other.
//!
//! Departs: peers never lose interest, join or leave (a lost connection is reopened a second later). There are no
//! pieces, no rarest-first selection and no endgame, because the content of blocks does not affect queues.

use crate::conns::Conns;
use crate::demand::times;
use crate::{Application, ConnId, Demand, Host, Params, RETRY_AFTER, Role};
use packet::{Kind, Measure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Bytes, Duration, Problem, Time};
use units::{positive, within};

const MAX_PEERS: u32 = 1000;
/// Message sizes in bytes, including the length prefix.   Source: BEP 3.
const CHOKE: u64 = 5;
const REQUEST: u64 = 17;
const PIECE_HEADER: u64 = 13;

/// One member of a BitTorrent swarm, at `from`. The member's peers are distributed over the servers. At any time,
/// some of the peers are unchoked: these may request blocks from the member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BittorrentParams {
    /// Number of connected peers. Default 50.
    pub peers: u32,
    /// Number of peers that are unchoked at any time. One of them is drawn at random (optimistic unchoke); the others are
    /// those that received most data from the member in the last round (with `download`: those that sent most data
    /// to it). Default 10.
    pub active: u32,
    /// Payload of a block in bytes. Default 16KiB.
    pub block: Bytes,
    /// Number of unanswered requests that an unchoked peer keeps at the member. With `download`, the member keeps the
    /// same number of unanswered requests at each unchoked peer. Default 5.
    pub pipeline: u32,
    /// Length of a round. After each round, the unchoked peers are selected again. Default 10s.
    pub round: Duration,
    /// Number of rounds after which the optimistic unchoke is drawn again. It is drawn again earlier, at the end of a
    /// round, if its peer has disconnected or gets one of the other places (see `active`). Default 3.
    pub optimistic_rounds: u32,
    /// True if unchoked peers also send blocks to the member at `from`. Default false.
    pub download: bool,
    /// Time from the first connection attempt of one peer to that of the next. Default 100ms.
    pub stagger: Duration,
    /// Number of servers over which the peers are distributed. The application's `to` must name at least as many.
    /// Default 1.
    pub servers: u32,
}

impl Default for BittorrentParams {
    fn default() -> Self {
        Self {
            peers: 50,
            active: 10,
            block: Bytes(16_384),
            pipeline: 5,
            round: Duration::from_secs(10),
            optimistic_rounds: 3,
            download: false,
            stagger: Duration::from_millis(100),
            servers: 1,
        }
    }
}

impl Params for BittorrentParams {
    type App = Bittorrent;

    fn validate(&self) -> Result<(), Problem> {
        within("peers", self.peers, 1, MAX_PEERS)?;
        within("active", self.active, 1, self.peers)?;
        within("pipeline", self.pipeline, 1, 1000)?;
        within("optimistic_rounds", self.optimistic_rounds, 1, 1000)?;
        within("servers", self.servers, 1, self.peers)?;
        within("block", self.block, Bytes(1), Bytes(1 << 24))?;
        positive("round", self.round)
    }

    fn demand(&self, span: Duration, _: Duration) -> Demand {
        let peers = f64::from(self.peers);
        Demand {
            direction: None,
            connections: peers,
            bytes: f64::INFINITY,
            pieces: peers * times(span, self.round, None),
        }
    }

    fn build(&self) -> Bittorrent {
        Bittorrent {
            params: self.clone(),
            peers: vec![Peer::default(); self.peers as usize],
            conns: Conns::default(),
            round: 0,
            optimistic: None,
            blocks: [0; 2],
            unchokes: 0,
        }
    }

    fn servers(&self) -> usize {
        self.servers as usize
    }
}

/// A message between the member and a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    Choke,
    Unchoke,
    Request,
    Block,
}

/// A peer and its connection. Each array has one entry for what the member (client) sends, followed by one for what the
/// peer (server) sends.
#[derive(Clone, Debug, Default, PartialEq)]
struct Peer {
    conn: Option<ConnId>,
    connected: bool,
    /// True if the member has unchoked the peer.
    unchoked: bool,
    /// True if the unchoke has arrived at the peer.
    unchoke_arrived: bool,
    /// Messages written but not fully received, oldest first, each with the number of bytes still to arrive.
    wire: [VecDeque<(Message, u64)>; 2],
    /// Outstanding requests. Each is counted until its block has arrived or it is refused.
    outstanding: [u32; 2],
    /// Blocks that arrived in this round.
    blocks: [u64; 2],
}

/// The application with [`BittorrentParams`].
#[derive(Clone, Debug, PartialEq)]
pub struct Bittorrent {
    params: BittorrentParams,
    peers: Vec<Peer>,
    conns: Conns<usize>,
    round: u64,
    optimistic: Option<usize>,
    /// Number of blocks that peers received from the member, and number that the member received from peers.
    blocks: [u64; 2],
    unchokes: u64,
}

/// Token of the timer that ends a round. Token `i + 1` belongs to the timer that opens the connection of peer `i`.
const ROUND: u64 = 0;

impl Bittorrent {
    fn send<H: Host>(&mut self, i: usize, role: Role, message: Message, host: &mut H) {
        let size = match message {
            Message::Choke | Message::Unchoke => CHOKE,
            Message::Request => REQUEST,
            Message::Block => PIECE_HEADER + self.params.block.0,
        };
        let peer = &mut self.peers[i];
        if let Some(conn) = peer.conn {
            peer.wire[role as usize].push_back((message, size));
            host.write(conn, role, size);
        }
    }

    /// Sends a request from the side `role`, unless this side has `pipeline` requests outstanding.
    fn request<H: Host>(&mut self, i: usize, role: Role, host: &mut H) {
        let outstanding = &mut self.peers[i].outstanding[role as usize];
        if *outstanding < self.params.pipeline {
            *outstanding += 1;
            self.send(i, role, Message::Request, host);
        }
    }

    fn open<H: Host>(&mut self, i: usize, host: &mut H) {
        let conn = host.open(i % self.params.servers as usize, 0);
        self.conns.insert(conn, i);
        self.peers[i] = Peer { conn: Some(conn), ..Peer::default() };
    }

    fn set<H: Host>(&mut self, i: usize, unchoked: bool, host: &mut H) {
        if self.peers[i].unchoked != unchoked {
            self.peers[i].unchoked = unchoked;
            self.unchokes += u64::from(unchoked);
            self.send(i, Role::Client, if unchoked { Message::Unchoke } else { Message::Choke }, host);
        }
    }

    /// Chooses the unchoked peers for the round that begins now.
    fn choose<H: Host>(&mut self, host: &mut H) {
        let by = usize::from(self.params.download);
        let mut order: Vec<usize> = (0..self.peers.len()).filter(|&i| self.peers[i].connected).collect();
        // the sort is stable, so peers with the same number of blocks keep the order of their numbers
        order.sort_by_key(|&i| std::cmp::Reverse(self.peers[i].blocks[by]));
        let regular = order.len().min(self.params.active as usize - 1);
        let (mut chosen, others) = (order[..regular].to_vec(), &order[regular..]);
        let due = self.round.is_multiple_of(u64::from(self.params.optimistic_rounds));
        if due || !self.optimistic.is_some_and(|o| others.contains(&o)) {
            self.optimistic = match others.len() {
                0 => None,
                n => Some(others[host.rng().below(n as u64) as usize]),
            };
        }
        chosen.extend(self.optimistic);
        for i in 0..self.peers.len() {
            self.peers[i].blocks = [0; 2];
            if self.peers[i].connected {
                self.set(i, chosen.contains(&i), host);
            }
        }
    }

    fn next_round<H: Host>(&mut self, host: &mut H) {
        host.timer(host.now() + self.params.round, ROUND);
        self.round += 1;
    }

    /// Handles the complete arrival of a message that the side `from` sent.
    fn arrived<H: Host>(&mut self, i: usize, from: Role, message: Message, host: &mut H) {
        let stopped = host.now() >= host.stop();
        match message {
            Message::Choke => self.peers[i].unchoke_arrived = false,
            Message::Unchoke => {
                self.peers[i].unchoke_arrived = true;
                let requests = if stopped { 0 } else { self.params.pipeline };
                for _ in 0..requests {
                    self.request(i, Role::Server, host);
                    if self.params.download {
                        self.request(i, Role::Client, host);
                    }
                }
            }
            Message::Request => {
                // the member answers a peer's request if the member has unchoked the peer. The peer answers the
                // member's request if the unchoke has arrived at the peer
                let may = if from == Role::Server { self.peers[i].unchoked } else { self.peers[i].unchoke_arrived };
                if may && !stopped {
                    self.send(i, from.other(), Message::Block, host);
                } else {
                    self.peers[i].outstanding[from as usize] -= 1;
                }
            }
            Message::Block => {
                self.peers[i].outstanding[from.other() as usize] -= 1;
                self.blocks[from as usize] += 1;
                self.peers[i].blocks[from as usize] += 1;
                if self.peers[i].unchoke_arrived && !stopped {
                    self.request(i, from.other(), host);
                }
            }
        }
    }
}

impl Application for Bittorrent {
    fn start<H: Host>(&mut self, host: &mut H) {
        let start = host.now();
        self.next_round(host);
        for i in 0..self.peers.len() {
            if i == 0 || self.params.stagger.is_zero() {
                self.open(i, host);
            } else {
                host.timer(start + self.params.stagger * i as u64, i as u64 + 1);
            }
        }
    }

    fn timer<H: Host>(&mut self, token: u64, host: &mut H) {
        match token.checked_sub(1) {
            Some(i) => self.open(i as usize, host),
            None => {
                self.choose(host);
                self.next_round(host);
            }
        }
    }

    fn connected<H: Host>(&mut self, conn: ConnId, role: Role, host: &mut H) {
        if role == Role::Client
            && let Some(i) = self.conns.get(conn)
        {
            self.peers[i].connected = true;
            let active = self.peers.iter().filter(|p| p.unchoked).count();
            if active < self.params.active as usize && host.now() < host.stop() {
                self.set(i, true, host);
            }
        }
    }

    fn received<H: Host>(&mut self, conn: ConnId, role: Role, bytes: u64, host: &mut H) {
        let Some(i) = self.conns.get(conn) else { return };
        let from = role.other();
        let mut bytes = bytes;
        // the loop ends, because each iteration either removes a message from the list or uses up the bytes that have
        // arrived
        while let Some((message, left)) = self.peers[i].wire[from as usize].front_mut() {
            if bytes < *left {
                *left -= bytes;
                break;
            }
            bytes -= *left;
            let message = *message;
            self.peers[i].wire[from as usize].pop_front();
            self.arrived(i, from, message, host);
            if bytes == 0 {
                break;
            }
        }
    }

    fn closed<H: Host>(&mut self, conn: ConnId, host: &mut H) {
        if let Some(i) = self.conns.remove(conn) {
            self.peers[i] = Peer::default();
            host.timer(host.now() + RETRY_AFTER, i as u64 + 1);
        }
    }

    const MEASURES: &'static [&'static [Measure]] = &[EXCHANGE];

    fn figures(&self, _: Time, _: Time) -> Vec<(&'static str, f64)> {
        exchange(self).into()
    }
}

packet::measures! {
    /// The exchange with the swarm.
    const EXCHANGE = fn exchange(b: &Bittorrent) -> f64 {
        "connected": Kind::ONE, "connected", "Peers connected at the end. All keys of `bittorrent` cover the whole run."
            => b.peers.iter().filter(|p| p.connected).count() as f64;
        "unchokes": Kind::ONE, "unchokes", "Number of times that a peer was unchoked, which allows it to request data." => b.unchokes as f64;
        "blocks_sent": Kind::ONE, "blocks sent", "Blocks that arrived at peers." => b.blocks[0] as f64;
        "blocks_received": Kind::ONE, "blocks received", "Blocks that arrived from peers." => b.blocks[1] as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fake::Fake;

    const MS: u64 = 1_000_000;
    const S: u64 = 1000 * MS;

    fn unchoked(app: &Bittorrent) -> Vec<usize> {
        (0..app.peers.len()).filter(|&i| app.peers[i].unchoked).collect()
    }

    #[test]
    fn one_peer_exchanges_its_pipeline_every_round_trip() {
        // the handshake takes 20 ms, the unchoke 10, the requests 10 and the first blocks 10; then 5 blocks arrive every 20 ms.
        // So from 50 ms to 10 s, blocks arrive (10 000 - 50) / 20 + 1 = 498.5 times, rounded down to 498. The run ends
        // before the first selection of peers, at 10 s
        let params = BittorrentParams { peers: 1, active: 1, ..Default::default() };
        params.validate().unwrap();
        let mut fake = Fake::new(&[20 * MS]);
        let mut app = params.build();
        fake.run(&mut app, Time(10 * S));
        assert_eq!(app.blocks, [498 * 5, 0]);
        // the peer first sends five requests, and then one request for each block
        let requested = fake.writes.iter().filter(|w| w.role == Role::Server).map(|w| w.bytes).sum::<u64>();
        assert_eq!(requested, 17 * (5 + 498 * 5));
        // with `download`, the peer also sends blocks: more than four fifths of the number of blocks that the member
        // sends
        let mut fake = Fake::new(&[20 * MS]);
        let mut app = BittorrentParams { download: true, ..params }.build();
        fake.run(&mut app, Time(10 * S));
        assert!(app.blocks[1] > 400 * 5 && app.blocks[0] == 498 * 5, "{:?}", app.blocks);
    }

    #[test]
    fn ten_of_fifty_are_active_and_the_optimistic_one_changes_every_third_round() {
        let mut app = BittorrentParams::default().build();
        let mut fake = Fake::new(&[20 * MS]);
        fake.run(&mut app, Time(9 * S));
        // the first ten peers to connect are unchoked until the first selection, at 10 s
        assert_eq!(unchoked(&app), (0..10).collect::<Vec<_>>());
        let mut seen = std::collections::BTreeSet::new();
        let mut changes = 0;
        let mut last = None;
        for seconds in 1..=30 {
            let mut app = BittorrentParams::default().build();
            Fake::new(&[20 * MS]).run(&mut app, Time((5 + 10 * seconds) * S));
            assert_eq!(unchoked(&app).len(), 10);
            seen.extend(app.optimistic);
            changes += u64::from(app.optimistic != last);
            last = app.optimistic;
        }
        // the optimistic peer is drawn in the first of 30 rounds, because there is no optimistic peer yet, and then in
        // rounds 3, 6 ... 30. A draw may select the previous peer again
        assert!((8..=11).contains(&changes), "{changes}");
        assert!(seen.len() >= 7, "{seen:?}");
    }

    #[test]
    fn the_regular_places_go_to_those_that_took_most() {
        let mut app = BittorrentParams { peers: 6, active: 3, ..Default::default() }.build();
        let mut fake = Fake::new(&[20 * MS]);
        fake.run(&mut app, Time(S));
        for (i, blocks) in [5, 90, 0, 7, 80, 1].into_iter().enumerate() {
            app.peers[i].blocks = [blocks, 0];
        }
        app.round = 1;
        app.optimistic = Some(2);
        app.choose(&mut fake);
        // peers 1 and 4 received the most blocks. Peer 2 stays the optimistic peer, because no draw is due in round 1
        assert_eq!(unchoked(&app), [1, 2, 4]);
    }

    #[test]
    fn a_choked_peer_falls_silent_and_so_does_a_stopped_swarm() {
        let params = BittorrentParams { peers: 1, active: 1, ..Default::default() };
        let mut app = params.build();
        let mut fake = Fake::new(&[20 * MS]);
        fake.run(&mut app, Time(S));
        let before = app.blocks[0];
        app.set(0, false, &mut fake);
        app.arrived(0, Role::Client, Message::Choke, &mut fake);
        let written = fake.writes.len();
        app.arrived(0, Role::Server, Message::Request, &mut fake);
        app.arrived(0, Role::Client, Message::Block, &mut fake);
        // of five outstanding requests, one was refused, and the block of another has arrived
        assert_eq!(app.peers[0].outstanding, [0, 3]);
        assert_eq!((fake.writes.len(), app.blocks[0]), (written, before + 1));
        // a stopped swarm writes nothing more. At the stop, at 1.91 s, the first round of 10 s is not over, and the last
        // connection, begun at 1.9 s, is not yet open
        let params = BittorrentParams { peers: 20, active: 20, ..Default::default() };
        let written = |until| {
            let mut fake = Fake::new(&[20 * MS]);
            fake.stop = Time(1910 * MS);
            let mut app = params.build();
            fake.run(&mut app, Time(until));
            (fake.writes.len(), app.unchokes)
        };
        assert_eq!(written(1910 * MS), written(60 * S));
        assert!(written(60 * S).0 > 1000);
    }

    #[test]
    fn refusals_name_the_field() {
        let bad = |p: BittorrentParams| p.validate().unwrap_err().path;
        assert_eq!(bad(BittorrentParams { peers: 0, ..Default::default() }), "peers");
        assert_eq!(bad(BittorrentParams { active: 51, ..Default::default() }), "active");
        assert_eq!(bad(BittorrentParams { block: Bytes(0), ..Default::default() }), "block");
        assert_eq!(bad(BittorrentParams { round: Duration::ZERO, ..Default::default() }), "round");
        assert_eq!(bad(BittorrentParams { servers: 60, ..Default::default() }), "servers");
    }
}
