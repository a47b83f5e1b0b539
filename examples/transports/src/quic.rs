//! quinn-proto as an endpoint: a client that sends one endless stream, and a server that reads it.

use crate::plaintext::Plain;
use bytes::Bytes;
use net::{Datagram, Ecn, Endpoint, Time, Transmit};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent, Dir, EcnCodepoint,
    EndpointConfig, Event, ServerConfig, StreamEvent, StreamId, ValidationTokenConfig,
};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Data that the client writes whenever there is room.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// Generates connection IDs by counting, so that two runs have the same IDs. Each endpoint starts its count at a different
/// number.
struct Numbered(u64);

impl ConnectionIdGenerator for Numbered {
    fn generate_cid(&mut self) -> ConnectionId {
        self.0 += 1;
        ConnectionId::new(&self.0.to_be_bytes())
    }
    fn cid_len(&self) -> usize {
        8
    }
    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// A QUIC stack with at most one connection.
pub struct Quic {
    /// The `Instant` that represents virtual time 0. Any value will do, because only differences are used.
    epoch: Instant,
    endpoint: quinn_proto::Endpoint,
    /// The server to which the client connects at its start.
    server: Option<(SocketAddr, ClientConfig)>,
    connection: Option<(ConnectionHandle, Connection)>,
    stream: Option<StreamId>,
    /// Datagrams that the endpoint itself sends in reply.
    answers: VecDeque<Transmit>,
    /// Number of bytes read by the server.
    pub read: u64,
}

impl Quic {
    /// Returns a server that reads the client's stream.
    pub fn server() -> Self {
        let mut config = ServerConfig::new(Arc::new(Plain), Arc::new(Plain));
        // no validation tokens, because they contain the time of day
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        config.validation_token_config(tokens);
        Self::new(2, Some(Arc::new(config)), None)
    }

    /// Returns a client that sends to `server` endlessly.
    pub fn client(server: SocketAddr) -> Self {
        let mut config = ClientConfig::new(Arc::new(Plain));
        config.initial_dst_cid_provider(Arc::new(|| ConnectionId::new(&[3; 8])));
        Self::new(1, None, Some((server, config)))
    }

    fn new(number: u8, config: Option<Arc<ServerConfig>>, server: Option<(SocketAddr, ClientConfig)>) -> Self {
        let mut own = EndpointConfig::new(Arc::new(Plain));
        own.rng_seed(Some([number; 32])).cid_generator(move || Box::new(Numbered(u64::from(number) << 56)));
        let endpoint = quinn_proto::Endpoint::new(Arc::new(own), config, true, None);
        // this reads the clock once, to fix the origin of time
        #[allow(clippy::disallowed_methods)]
        let epoch = Instant::now();
        Self { epoch, endpoint, server, connection: None, stream: None, answers: VecDeque::new(), read: 0 }
    }

    fn instant(&self, now: Time) -> Instant {
        self.epoch + Duration::from_nanos(now.0)
    }

    /// Handles the connection's events. Then the client writes as much data as there is room for, and the server reads.
    fn handle_events(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected if connection.side().is_client() => self.stream = connection.streams().open(Dir::Uni),
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    self.stream = connection.streams().accept(Dir::Uni);
                }
                Event::ConnectionLost { reason } => panic!("the connection is lost: {reason}"),
                _ => {}
            }
        }
        let Some(stream) = self.stream else { return };
        if connection.side().is_client() {
            while let Ok(n) = connection.send_stream(stream).write_chunks(&mut [Bytes::from_static(&ZEROS)])
                && n.bytes > 0
            {}
        } else if let Ok(mut chunks) = connection.recv_stream(stream).read(true) {
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                self.read += chunk.bytes.len() as u64;
            }
            let _ = chunks.finalize();
        }
    }
}

impl Endpoint for Quic {
    fn handle(&mut self, now: Time, Datagram { from, ecn, bytes }: Datagram) {
        let (now, mut answer) = (self.instant(now), Vec::new());
        let ecn = EcnCodepoint::from_bits(ecn as u8);
        match self.endpoint.handle(now, from, None, ecn, Bytes::from(bytes).into(), &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.endpoint.accept(incoming, now, &mut answer, None).ok();
            }
            Some(DatagramEvent::Response(transmit)) => self.answers.push_back(datagram(&transmit, answer)),
            None => {}
        }
        self.handle_events();
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        let now = self.instant(now);
        if let Some((address, config)) = self.server.take() {
            self.connection = Some(self.endpoint.connect(now, config, address, "server").expect("a valid address"));
        }
        let (_, connection) = self.connection.as_mut()?;
        let mut bytes = Vec::with_capacity(1500);
        let transmit = connection.poll_transmit(now, 1, &mut bytes)?;
        Some(datagram(&transmit, bytes))
    }

    fn next_timeout(&mut self) -> Option<Time> {
        let at = self.connection.as_mut()?.1.poll_timeout()?;
        Some(Time(at.saturating_duration_since(self.epoch).as_nanos() as u64))
    }

    fn on_timeout(&mut self, now: Time) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(self.epoch + Duration::from_nanos(now.0));
        }
        self.handle_events();
    }
}

fn datagram(transmit: &quinn_proto::Transmit, mut bytes: Vec<u8>) -> Transmit {
    bytes.truncate(transmit.size);
    let ecn = match transmit.ecn {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    };
    Transmit { to: transmit.destination, ecn, bytes }
}
