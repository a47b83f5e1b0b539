//! Implements [`Host`], the interface through which applications open connections and send data, with real sockets.

use super::state::{AppEvent, HostState, Service};
use packet::FlowId;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use traffic::{ConnId, Host, Role};
use units::{Duration, Rng, Time};

/// The [`Host`] that an application receives in a callback. It is built for each callback.
pub(super) struct LiveHost<'a> {
    pub state: &'a mut HostState,
    pub app: usize,
}

impl Host for LiveHost<'_> {
    fn now(&self) -> Time {
        self.state.now
    }

    fn rng(&mut self) -> &mut Rng {
        &mut self.state.apps[self.app].rng
    }

    fn open(&mut self, peer: usize, row: usize) -> ConnId {
        self.state.open(self.app, peer, row)
    }

    fn write(&mut self, conn: ConnId, side: Role, bytes: u64) {
        self.state.write(conn, side, bytes);
    }

    fn write_offset(&mut self, conn: ConnId, side: Role, notsent_lowat: u64) -> u64 {
        self.state.write_offset(conn, side, notsent_lowat)
    }

    fn close(&mut self, conn: ConnId, side: Role) {
        self.state.close(conn, side);
    }

    fn datagram(&mut self, peer: usize, side: Role, size: u16, number: u64) {
        self.state.datagram_out(self.app, peer, side, size, number);
    }

    fn datagram_ecn(&self) -> packet::Ecn {
        packet::Ecn::from_bits(self.state.apps[self.app].plan.placed.declared.datagram_ecn())
    }

    fn timer(&mut self, at: Time, token: u64) {
        self.state.apps[self.app].timers.set(at, token);
    }

    fn late_timer(&mut self, at: Time, token: u64) {
        self.state.apps[self.app].timers.set_late(at, token);
    }

    fn stop(&self) -> Time {
        self.state.apps[self.app].timers.stop()
    }

    fn page_loaded(&mut self, started: Time, objects: u32, _bytes: u64) {
        self.state.tally.page_loaded(self.app, started, objects, self.state.now);
    }

    fn file_done(&mut self, started: Time, bytes: u64) {
        self.state.tally.file_done(self.app, started, bytes, self.state.now);
    }

    fn probe(&mut self, number: u64, rtt: Option<Duration>) {
        // `rtt` counts from the time for which the request was scheduled. `echo_rtt` counts from the system call that
        // sends the request to the system call that receives the reply, like the time that the `ping` program prints
        let rtt = rtt.map(|rtt| self.state.echo_rtt.unwrap_or(rtt));
        let now = self.state.now;
        self.state.tally.probe(self.app, number, now, rtt);
    }
}

/// Bytes of a datagram in front of its padding: 8 for the datagram's number and 8 for the time stamp.
const STAMP: usize = 16;

/// Length of an ICMP echo request's header, bytes.
const ECHO: usize = 8;

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_be_bytes)
}

impl HostState {
    /// Sends a datagram of `size` bytes, including the headers of IPv4 and UDP (or ICMP).
    fn datagram_out(&mut self, app: usize, peer: usize, side: Role, size: u16, number: u64) {
        let (service, end) = (self.apps[app].services + peer, side as usize);
        if self.datagram_socket(service, end).is_err() {
            return;
        }
        let Service { echo, datagram, .. } = &self.services[service];
        let Some(socket) = &datagram[end] else { return };
        self.tally.apps[app].datagrams += 1;
        let header = if *echo { ECHO } else { 0 };
        // the kernel adds the headers of IPv4 (20 bytes) and UDP (8 bytes). It does not add the header of an ICMP echo
        // (8 bytes), which is part of the data passed to the socket
        let length = usize::from(size).saturating_sub(28).max(STAMP) + header;
        let packet = &mut self.buffer[..length];
        packet.fill(0);
        if *echo {
            packet[0] = 8;
            packet[6..8].copy_from_slice(&(number as u16).to_be_bytes());
        }
        packet[header..header + 8].copy_from_slice(&number.to_be_bytes());
        packet[header + 8..header + 16].copy_from_slice(&self.clock.now().0.to_be_bytes());
        // if the socket buffer is full, the datagram is dropped, as for any program
        let _ = send(socket, packet, SendFlags::empty());
    }

    /// Receives the next datagram of a socket, and skips second copies; returns the application and the event for it.
    pub(super) fn datagram_in(&mut self, service: usize, end: usize) -> Option<(usize, AppEvent)> {
        let Service { app, echo, datagram, .. } = &self.services[service];
        let socket = datagram[end].as_ref()?;
        let header = if *echo { ECHO } else { 0 };
        // bounded: one iteration per pending datagram
        let (length, number) = loop {
            let (length, _) = recv(socket, &mut self.buffer[..], RecvFlags::empty()).ok()?;
            let number = u64_at(&self.buffer[..length], header)?;
            if !self.arrivals.again(FlowId::new(service as u32, 0), end == 0, number) {
                break (length, number);
            }
        };
        let now = self.clock.now();
        let delay = now.since(Time(u64_at(&self.buffer[..length], header + 8)?));
        let (app, echo, side) = (*app, *echo, if end == 0 { Role::Client } else { Role::Server });
        self.now = now;
        let direction = 1 - end;
        let row = self.services[service].row;
        self.arrived(row, direction, now, (length - header) as u64);
        self.echo_rtt = echo.then_some(delay);
        if let Some(voip) = self.tally.apps[app].stream(direction) {
            voip.arrival(number, now - delay, now);
        }
        Some((app, AppEvent::Datagram(side, number)))
    }
}
