//! Sockets and their epoll registration.

use rustix::event::epoll;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use std::io;
use std::os::fd::OwnedFd;

pub(super) const BACKLOG: i32 = 4096;

/// Identifies the socket to which an epoll event belongs. `pack` writes a token into 64 bits: the kind of socket into
/// the top byte, the end (0 or 1) into the lowest bit, and the index between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// The listener of a service (one server of one application).
    Listener(usize),
    /// A connection and one of its ends.
    Conn(usize, usize),
    /// The datagram socket of a service, and the end to which it belongs.
    Datagram(usize, usize),
    /// A page server's listener.
    PageListener(usize),
    /// A page server's client.
    Page(usize),
}

impl Token {
    pub(crate) fn pack(self) -> epoll::EventData {
        let (kind, index, end) = match self {
            Self::Listener(i) => (0u64, i, 0),
            Self::Conn(i, end) => (1, i, end),
            Self::Datagram(i, end) => (2, i, end),
            Self::PageListener(i) => (3, i, 0),
            Self::Page(i) => (4, i, 0),
        };
        epoll::EventData::new_u64(kind << 56 | (index as u64) << 1 | end as u64)
    }

    pub(crate) fn unpack(data: u64) -> Self {
        let (index, end) = ((data << 8 >> 9) as usize, (data & 1) as usize);
        match data >> 56 {
            0 => Self::Listener(index),
            1 => Self::Conn(index, end),
            2 => Self::Datagram(index, end),
            3 => Self::PageListener(index),
            _ => Self::Page(index),
        }
    }
}

pub(super) fn tcp_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?)
}

pub(super) fn watch(poll: &OwnedFd, fd: &OwnedFd, token: Token, flags: epoll::EventFlags) -> io::Result<()> {
    Ok(epoll::add(poll, fd, token.pack(), flags)?)
}
