//! smoltcp as an endpoint: a client that sends endlessly over TCP, and a server that reads. Both send whole IPv4 packets.
//!
//! smoltcp has no ECN, and no selective acknowledgement as a sender.

use net::{Datagram, Ecn, Endpoint, Framing, Time, Transmit};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpCidr};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};

/// The server's port.
const PORT: u16 = 80;
const CLIENT_PORT: u16 = 49_152;
/// Size of each buffer in bytes. It limits the window.
const BUFFER: usize = 1 << 20;
/// Data that the client writes whenever there is room.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// A device without limits: two queues of IP packets.
#[derive(Default)]
struct Queues {
    received: VecDeque<Vec<u8>>,
    to_send: VecDeque<Vec<u8>>,
}

/// A received packet.
struct Received(Vec<u8>);

/// A permission to send a packet.
struct Sending<'a>(&'a mut VecDeque<Vec<u8>>);

impl smoltcp::phy::RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl smoltcp::phy::TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut packet = vec![0; length];
        let result = write(&mut packet);
        self.0.push_back(packet);
        result
    }
}

impl Device for Queues {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sending<'_>)> {
        Some((Received(self.received.pop_front()?), Sending(&mut self.to_send)))
    }
    fn transmit(&mut self, _: Instant) -> Option<Sending<'_>> {
        Some(Sending(&mut self.to_send))
    }
    fn capabilities(&self) -> DeviceCapabilities {
        let mut is = DeviceCapabilities::default();
        is.medium = Medium::Ip;
        is.max_transmission_unit = 1500;
        is.checksum = ChecksumCapabilities::default();
        is
    }
}

/// A TCP stack with one socket.
pub struct Smol {
    device: Queues,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    /// The server to which the client connects at its start.
    server: Option<Ipv4Addr>,
    is_client: bool,
    /// True until the first call, in which the stack opens its socket.
    is_new: bool,
    /// Number of bytes read by the server.
    pub read: u64,
}

impl Smol {
    /// Returns a server at `own` that reads all data.
    pub fn server(own: Ipv4Addr) -> Self {
        Self::new(own, None)
    }

    /// Returns a client at `own` that sends to `server` endlessly.
    pub fn client(own: Ipv4Addr, server: Ipv4Addr) -> Self {
        Self::new(own, Some(server))
    }

    fn new(own: Ipv4Addr, server: Option<Ipv4Addr>) -> Self {
        let mut device = Queues::default();
        let mut interface = Interface::new(Config::new(HardwareAddress::Ip), &mut device, Instant::ZERO);
        // all nodes are in 10.0.0.0/8
        interface
            .update_ip_addrs(|addresses| addresses.push(IpCidr::new(own.into(), 8)).expect("room for one address"));
        let buffer = || SocketBuffer::new(vec![0; BUFFER]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_congestion_control(CongestionControl::Cubic);
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        Self { device, interface, sockets, socket, server, is_client: server.is_some(), is_new: true, read: 0 }
    }

    /// Runs the stack at `now`: packets in, application, packets out.
    fn poll(&mut self, now: Time) {
        let at = instant(now);
        if std::mem::take(&mut self.is_new) {
            let socket = self.sockets.get_mut::<Socket>(self.socket);
            match self.server.take() {
                Some(server) => {
                    socket.connect(self.interface.context(), (server, PORT), CLIENT_PORT).expect("a new socket");
                }
                None => socket.listen(PORT).expect("a new socket"),
            }
        }
        self.interface.poll(at, &mut self.device, &mut self.sockets);
        let socket = self.sockets.get_mut::<Socket>(self.socket);
        if self.is_client {
            while socket.can_send() && socket.send_slice(&ZEROS).is_ok_and(|n| n > 0) {}
        } else {
            while socket.can_recv()
                && socket.recv(|data| (data.len(), data.len())).is_ok_and(|n| add(&mut self.read, n))
            {}
        }
        self.interface.poll(at, &mut self.device, &mut self.sockets);
    }
}

/// Adds `n` bytes to a sum; returns whether there were any.
fn add(sum: &mut u64, n: usize) -> bool {
    *sum += n as u64;
    n > 0
}

/// Returns the time in smoltcp's unit, microseconds, rounded down.
fn instant(now: Time) -> Instant {
    Instant::from_micros((now.0 / 1000) as i64)
}

impl Endpoint for Smol {
    fn handle(&mut self, now: Time, datagram: Datagram) {
        self.device.received.push_back(datagram.bytes);
        self.poll(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        if self.is_new {
            self.poll(now);
        }
        let bytes = self.device.to_send.pop_front()?;
        let to = Ipv4Addr::new(bytes[16], bytes[17], bytes[18], bytes[19]);
        Some(Transmit { to: SocketAddr::new(to.into(), 0), ecn: Ecn::NotEct, bytes })
    }

    fn next_timeout(&mut self) -> Option<Time> {
        let at = self.interface.poll_at(Instant::ZERO, &self.sockets)?;
        Some(Time(at.total_micros().max(0) as u64 * 1000))
    }

    fn on_timeout(&mut self, now: Time) {
        self.poll(now);
    }

    fn framing(&self) -> Framing {
        Framing::Ipv4
    }
}
