//! TCP connections: writing, reading, closing, and reading the kernel's counters.

use super::conn::{Closing, End, sender_state};
use super::poll::Token;
use super::state::{AppEvent, HostState};
use crate::sys::tcp_info;
use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown, sockopt};
use std::os::fd::OwnedFd;
use traffic::{ConnId, Role};
use units::Time;

/// The payload sent on every connection; its content does not matter.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// Maximum number of reads or writes per event, so that one connection does not starve others.
const TURNS: usize = 16;

const ROLES: [Role; 2] = [Role::Client, Role::Server];

/// Returns the number of bytes to write to a socket that may hold `limit` unsent bytes: 0 if the limit is reached,
/// otherwise at least one segment.
fn room(socket: &OwnedFd, limit: u32) -> usize {
    let info = tcp_info(socket).unwrap_or_default();
    match limit.saturating_sub(info.unsent) {
        0 => 0,
        room => (room.max(info.mss) as usize).min(ZEROS.len()),
    }
}

/// Removes the socket of an end from epoll if the end has sent and received everything. Otherwise, epoll would report
/// the socket's hang-up again and again until the other end is done, too.
fn unwatch(poll: &OwnedFd, end: &End) {
    if let Some(socket) = end.socket.as_ref().filter(|_| end.eof && end.closing == Closing::FinSent) {
        // an error is harmless: a socket that stays in epoll only costs time
        let _ = epoll::delete(poll, socket);
    }
}

impl HostState {
    /// Returns the slot of a connection; `None` if the connection no longer exists.
    pub(super) fn slot(&self, id: ConnId) -> Option<usize> {
        let slot = (id.0 & 0xf_ffff) as usize;
        self.conns.get(slot)?.as_ref().filter(|c| c.id == id).map(|_| slot)
    }

    pub(super) fn write(&mut self, id: ConnId, side: Role, bytes: u64) {
        let Some(slot) = self.slot(id) else { return };
        let end = side as usize;
        if let Some(conn) = &mut self.conns[slot] {
            conn.ends[end].to_send = conn.ends[end].to_send.saturating_add(bytes);
        }
        self.send_pending(slot, end);
    }

    /// Returns the stream offset up to which `side` may write so that `notsent_lowat` bytes are unsent; for endless
    /// data, the offset of the next byte to write. Also limits the unsent bytes in the socket to `notsent_lowat`; the
    /// last write may exceed this limit by less than a segment.
    pub(super) fn write_offset(&mut self, id: ConnId, side: Role, notsent_lowat: u64) -> u64 {
        let Some(conn) = self.slot(id).and_then(|slot| self.conns[slot].as_mut()) else { return 0 };
        let end = &mut conn.ends[side as usize];
        end.limit_unsent(notsent_lowat.clamp(1, u64::from(u32::MAX)) as u32);
        let Some(socket) = &end.socket else { return end.accepted.saturating_add(notsent_lowat) };
        if end.to_send == u64::MAX {
            return end.accepted;
        }
        let unsent = tcp_info(socket).map_or(0, |info| u64::from(info.unsent));
        end.accepted.saturating_sub(unsent).saturating_add(notsent_lowat)
    }

    pub(super) fn close(&mut self, id: ConnId, side: Role) {
        let Some(slot) = self.slot(id) else { return };
        let end = side as usize;
        if let Some(conn) = &mut self.conns[slot] {
            if conn.ends[end].closing == Closing::No {
                conn.ends[end].closing = Closing::Requested;
            }
            // closing ends an endless stream: the socket gets no more bytes than it has already accepted
            if conn.ends[end].to_send == u64::MAX {
                conn.ends[end].to_send = 0;
            }
        }
        self.send_pending(slot, end);
    }

    /// Sends pending data of a connection's `end` until the socket would block or its limit on unsent bytes is reached,
    /// but with at most [`TURNS`] writes. If all data has been sent and the FIN was requested, sends the FIN.
    pub(super) fn send_pending(&mut self, slot: usize, end: usize) {
        let Some(conn) = &mut self.conns[slot] else { return };
        let e = &mut conn.ends[end];
        let Some(socket) = e.socket.as_ref().filter(|_| e.connected) else { return };
        let mut blocked = false;
        let mut failed = false;
        for _ in 0..TURNS {
            if e.to_send == 0 {
                break;
            }
            let room = e.notsent_lowat.map_or(ZEROS.len(), |limit| room(socket, limit));
            if room == 0 {
                break;
            }
            let n = e.to_send.min(room as u64) as usize;
            match send(socket, &ZEROS[..n], SendFlags::NOSIGNAL) {
                Ok(sent) => {
                    e.accepted += sent as u64;
                    if e.to_send != u64::MAX {
                        e.to_send -= sent as u64;
                    }
                }
                Err(Errno::AGAIN) => {
                    blocked = true;
                    break;
                }
                Err(Errno::INTR) => {}
                Err(_) => {
                    failed = true;
                    break;
                }
            }
        }
        blocked |= e.to_send > 0;
        if blocked != e.wants_write && !failed {
            let flags = if blocked { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
            // an end that has received the FIN needs no more input events
            let flags = if e.eof { flags - EventFlags::IN } else { flags };
            failed = epoll::modify(&self.epoll, socket, Token::Conn(slot, end).pack(), flags).is_err();
            e.wants_write = blocked;
        }
        if e.to_send == 0 && e.closing == Closing::Requested && !failed {
            e.closing = Closing::FinSent;
            failed = shutdown(socket, Shutdown::Write).is_err();
            unwatch(&self.epoll, e);
        }
        if failed {
            self.end_connection(slot);
        } else {
            self.end_if_done(slot);
        }
    }

    /// Handles an epoll event on the socket of a connection's `end`.
    pub(super) fn ready(&mut self, slot: usize, end: usize, flags: EventFlags) {
        let Some(conn) = &mut self.conns[slot] else { return };
        let (app, id) = (conn.app, conn.id);
        let e = &mut conn.ends[end];
        let Some(socket) = &e.socket else { return };
        if !e.connected && flags.intersects(EventFlags::OUT | EventFlags::ERR | EventFlags::HUP) {
            match sockopt::socket_error(socket) {
                Ok(Ok(())) => {
                    (e.connected, e.wants_write) = (true, true);
                    self.app_events.push_back((app, AppEvent::Connected(id, ROLES[end])));
                }
                _ => return self.end_connection(slot),
            }
        }
        if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) && !self.read(slot, end) {
            return self.end_connection(slot);
        }
        self.send_pending(slot, end);
    }

    /// Reads available data; returns false if the connection has failed.
    fn read(&mut self, slot: usize, end: usize) -> bool {
        let Some(conn) = &mut self.conns[slot] else { return true };
        let e = &mut conn.ends[end];
        let Some(socket) = &e.socket else { return true };
        let mut got = 0;
        let mut good = true;
        for _ in 0..TURNS {
            if e.eof {
                break;
            }
            match recv(socket, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((0, _)) => {
                    e.eof = true;
                    let flags = if e.wants_write { EventFlags::OUT } else { EventFlags::empty() };
                    good = epoll::modify(&self.epoll, socket, Token::Conn(slot, end).pack(), flags).is_ok();
                    unwatch(&self.epoll, e);
                    break;
                }
                Ok((n, _)) => got += n as u64,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(_) => {
                    good = false;
                    break;
                }
            }
        }
        if got > 0 {
            let (app, id, row) = (conn.app, conn.id, conn.row);
            // the direction is the number of the end that sent the data. The server (end 1) reads data from the client
            // (end 0), so the direction is 0, forward
            self.arrived(row, 1 - end, self.now, got);
            self.app_events.push_back((app, AppEvent::Received(id, ROLES[end], got)));
        }
        good
    }

    /// Ends a connection if both ends have sent and received everything.
    fn end_if_done(&mut self, slot: usize) {
        let Some(conn) = &self.conns[slot] else { return };
        if conn.ends.iter().all(|e| e.closing == Closing::FinSent && e.eof) {
            self.end_connection(slot);
        }
    }

    /// Ends a connection that is complete or has failed: reads its counters, closes its sockets and queues the event.
    fn end_connection(&mut self, slot: usize) {
        self.count(slot);
        let Some(conn) = &mut self.conns[slot] else { return };
        let had = conn.ends.iter().any(|e| e.socket.is_some());
        let (app, id, key) = (conn.app, conn.id, (conn.service, conn.port));
        for end in &mut conn.ends {
            end.socket = None;
        }
        if self.awaited.get(&key) == Some(&(slot as u32)) {
            self.awaited.remove(&key);
        }
        if had {
            self.app_events.push_back((app, AppEvent::Closed(id)));
        }
    }

    /// Frees the slot of a closed connection, just before its application is notified.
    pub(super) fn release(&mut self, id: ConnId) {
        let Some(slot) = self.slot(id) else { return };
        if self.conns[slot].take().is_some() {
            self.free.push(slot as u32);
        }
    }

    /// Reads the kernel's counters of a connection, and adds their growth since the last reading to the tally.
    pub(super) fn count(&mut self, slot: usize) {
        let Some(conn) = &mut self.conns[slot] else { return };
        for (direction, end) in conn.ends.iter_mut().enumerate() {
            let Some(info) = end.socket.as_ref().and_then(|s| tcp_info(s).ok()) else { continue };
            let total = &mut self.tally.rows[conn.row as usize].directions[direction].total;
            total.retransmits += u64::from(info.retransmits.saturating_sub(end.last_info.retransmits));
            total.timeouts += u64::from(info.timeouts.saturating_sub(end.last_info.timeouts));
            total.ce_packets += u64::from(info.delivered_ce.saturating_sub(end.last_info.delivered_ce));
            end.last_info = info;
        }
    }

    /// Begins the measurement if the warm-up is over. The kernel's counters are read first, so that the tally can
    /// exclude everything that the kernel counted during the warm-up.
    pub(super) fn begin_if_due(&mut self) {
        if !self.tally.begun && self.now >= self.tally.warm_up {
            (0..self.conns.len()).for_each(|slot| self.count(slot));
            self.tally.begin();
        }
    }

    /// Counts `bytes` of payload, read at `now`, as goodput in `direction`.
    pub(super) fn arrived(&mut self, row: u32, direction: usize, now: Time, bytes: u64) {
        self.tally.rows[row as usize].directions[direction].total.goodput_bytes += bytes;
        self.tally.goodput_series(row, direction, now, bytes);
    }

    /// Adds a sample of the senders' state (such as the congestion window) to each row of counters that has series.
    /// Called at the end of a bin and at the end of the run.
    pub(super) fn sample(&mut self, now: Time) {
        // if several connections share a row, only the latest open connection is sampled
        let mut latest = vec![0; self.tally.rows.len()];
        for conn in self.conns.iter().flatten().filter(|conn| conn.ends.iter().any(|end| end.connected)) {
            let number = &mut latest[conn.row as usize];
            *number = conn.number.max(*number);
        }
        for slot in 0..self.conns.len() {
            let Some(conn) = &self.conns[slot] else { continue };
            let number = conn.row;
            if latest[number as usize] != conn.number || self.tally.rows[number as usize].directions[0].series.is_none()
            {
                continue;
            }
            self.count(slot);
            let Some(conn) = &self.conns[slot] else { continue };
            for (direction, end) in conn.ends.iter().enumerate().filter(|(_, e)| e.connected) {
                self.tally.sample(number, direction, now, sender_state(&end.last_info));
            }
        }
    }

    /// Takes the last sample and reads the kernel's counters for the last time. Called at the end of the run.
    pub(super) fn finish(&mut self, now: Time) {
        self.sample(now);
        for slot in 0..self.conns.len() {
            self.count(slot);
        }
    }
}
